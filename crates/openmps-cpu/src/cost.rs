//! What a launch of a kernel will take: first guessed from its instructions, then learnt from its launches. It decides how
//! many threads work on a launch and when vector code pays; results do not depend on it.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::abi::KernelInfo;

/// Picoseconds of an instruction before anything was measured.
const INSTRUCTION_PICOSECONDS: u64 = 500;
/// How much faster a thread's instruction is when a step is a SIMD-group, as a guess.
const VECTOR_GAIN: u64 = 8;
/// Launches that are measured at the start, and after that one of so many: looking at the clock costs as much as a tenth of an empty
/// launch.
const MEASURED_FIRST: u32 = 4;
const MEASURED_EVERY: u32 = 16;

/// What one thread of a kernel costs.
pub(crate) struct Cost {
    picoseconds: AtomicU64,
    launches: AtomicU32,
    /// Nanoseconds of all launches.
    spent: AtomicU64,
}

impl Cost {
    /// The guess.
    pub(crate) fn guess(info: &KernelInfo) -> Self {
        let gain = if info.step_threads > 1 { VECTOR_GAIN } else { 1 };
        let picoseconds = u64::from(info.cost.max(1)) * INSTRUCTION_PICOSECONDS / gain;
        Self { picoseconds: AtomicU64::new(picoseconds), launches: AtomicU32::new(0), spent: AtomicU64::new(0) }
    }

    /// Nanoseconds that `threads` threads of the grid take one core.
    pub(crate) fn nanoseconds(&self, threads: u64) -> u64 {
        threads.saturating_mul(self.picoseconds.load(Ordering::Relaxed)) / 1000
    }

    /// Counts a launch; whether it should be measured.
    pub(crate) fn is_due(&self) -> bool {
        let launches = self.launches.fetch_add(1, Ordering::Relaxed);
        launches < MEASURED_FIRST || launches.is_multiple_of(MEASURED_EVERY)
    }

    /// Learns that `threads` threads took all cores together `nanoseconds`. Half of what was known stays, since a kernel's loops
    /// depend on its arguments.
    pub(crate) fn learn(&self, threads: u64, nanoseconds: u64) {
        let measured = nanoseconds.saturating_mul(1000) / threads.max(1);
        let known = self.picoseconds.load(Ordering::Relaxed);
        self.picoseconds.store(u64::midpoint(known, measured), Ordering::Relaxed);
        self.spend(nanoseconds);
    }

    /// Counts a launch that took `nanoseconds`, measured or not.
    pub(crate) fn spend(&self, nanoseconds: u64) {
        self.spent.fetch_add(nanoseconds, Ordering::Relaxed);
    }

    /// What all launches took.
    pub(crate) fn spent_nanoseconds(&self) -> u64 {
        self.spent.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::INFO_WORDS;

    fn info(cost: u32, step_threads: u32) -> KernelInfo {
        KernelInfo { cost, step_threads, ..KernelInfo::from_words([0; INFO_WORDS]) }
    }

    #[test]
    fn measurements_replace_the_guess() {
        let cost = Cost::guess(&info(100, 1));
        assert!(cost.nanoseconds(1000) > Cost::guess(&info(100, 32)).nanoseconds(1000), "vectors are faster");
        (0..64).for_each(|_| cost.learn(1000, 3_000_000));
        let error = cost.nanoseconds(2000).abs_diff(6_000_000);
        assert!(error <= 2, "off by {error} ns");
        cost.learn(0, 0);
        cost.spend(5);
        assert_eq!(cost.spent_nanoseconds(), 64 * 3_000_000 + 5);
    }

    #[test]
    fn few_launches_are_measured() {
        let cost = Cost::guess(&info(1, 1));
        assert_eq!((0..160).filter(|_| cost.is_due()).count(), 13);
    }
}
