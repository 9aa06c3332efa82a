//! The machine's memory bandwidth, measured by copying.

use std::thread;
use std::time::Instant;

/// Bytes that each thread copies at a time: more than caches hold together with the other threads' parts.
const COPY_BYTES: usize = 32 << 20;
/// The best of so many runs counts.
const RUNS: usize = 5;

/// Bytes a second that all cores together read and write when they copy.
pub(super) fn measure() -> f64 {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let mut parts: Vec<(Vec<u8>, Vec<u8>)> = (0..threads).map(|_| (vec![1; COPY_BYTES], vec![2; COPY_BYTES])).collect();
    let mut best: f64 = 0.0;
    for _ in 0..RUNS {
        let started = Instant::now();
        thread::scope(|scope| {
            for (source, target) in &mut parts {
                scope.spawn(|| {
                    target.copy_from_slice(source);
                    std::hint::black_box(target);
                });
            }
        });
        let bytes = (2 * COPY_BYTES * threads) as f64;
        best = best.max(bytes / started.elapsed().as_secs_f64());
    }
    best
}
