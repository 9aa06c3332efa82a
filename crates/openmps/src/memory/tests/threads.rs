//! Many threads at once: no block is given to two, look-ups of dead addresses are harmless.

use std::sync::atomic::AtomicBool;

use super::*;

/// A small generator of its own, so that the threads differ and every run is the same.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// Marks the first and the last word of a block.
fn mark(rig: &Rig, block: NonNull<u8>, value: u64) {
    for word in ends(rig, block) {
        // SAFETY: the word lies in a block that this thread holds, aligned to 8.
        unsafe { word.write(value) };
    }
}

fn is_marked(rig: &Rig, block: NonNull<u8>, value: u64) -> bool {
    // SAFETY: the words lie in a block that this thread holds, aligned to 8.
    ends(rig, block).into_iter().all(|word| unsafe { word.read() } == value)
}

fn ends(rig: &Rig, block: NonNull<u8>) -> [*mut u64; 2] {
    let last = usize::try_from(rig.block(block).size_bytes).expect("small") - 8;
    [block.as_ptr().cast(), block.as_ptr().wrapping_add(last).cast()]
}

fn live(rig: &Rig, thread: u64, seen: &Mutex<Vec<usize>>) {
    let mut random = Random(thread);
    let mut blocks: Vec<(NonNull<u8>, u64)> = Vec::new();
    for turn in 0..4000 {
        if blocks.len() < 20 && random.below(2) == 0 {
            let bytes = 1 + random.below(if turn % 16 == 0 { 3 * MIB } else { 20_000 });
            let block = rig.take(bytes);
            let value = thread << 32 | turn;
            mark(rig, block, value);
            seen.lock().expect("no test panics here").push(block.as_ptr().expose_provenance());
            blocks.push((block, value));
        } else if !blocks.is_empty() {
            let which = usize::try_from(random.below(blocks.len() as u64)).expect("small");
            let (block, value) = blocks.swap_remove(which);
            assert!(is_marked(rig, block, value), "somebody wrote into the block of thread {thread}");
            rig.give(block);
        }
        if random.below(100) == 0 {
            rig.empty_cache();
        }
    }
    blocks.into_iter().for_each(|(block, _)| rig.give(block));
}

#[test]
fn threads_do_not_share_blocks() {
    let rig = Rig::new();
    let (seen, is_over) = (Mutex::new(Vec::new()), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let workers: Vec<_> = (1..=4)
            .map(|thread| {
                scope.spawn({
                    let (rig, seen) = (&rig, &seen);
                    move || live(rig, thread, seen)
                })
            })
            .collect();
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                let address = seen.lock().expect("no test panics here").pop();
                let address = std::ptr::with_exposed_provenance::<u8>(address.unwrap_or(4096));
                if let Some(block) = rig.allocator.block(address) {
                    assert_eq!(block.base.as_ptr().cast_const(), address);
                }
                rig.allocator.block_containing(address.wrapping_add(100));
            }
        });
        let results: Vec<_> = workers.into_iter().map(|worker| worker.join()).collect();
        is_over.store(true, Ordering::Relaxed);
        assert!(results.iter().all(Result::is_ok), "a worker failed");
    });
    assert_eq!(rig.allocator.current_allocated_bytes(), 0);
    rig.empty_cache();
    assert_eq!(rig.allocator.total_allocated_bytes(), 0);
}
