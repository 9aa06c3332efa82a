//! What a launch of a kernel will take: first guessed from its instructions, then learnt from its launches. It decides how
//! many threads work on a launch and when vector code pays; results do not depend on it.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::abi::KernelInfo;

/// Picoseconds of an instruction before anything was measured.
const INSTRUCTION_PICOSECONDS: u64 = 500;
/// How much faster a thread's instruction is when a step is a SIMD-group, as a guess.
const VECTOR_GAIN: u64 = 8;
/// Launches that are measured at the start, and after that one of so many: looking at the clock costs as much as a tenth of an empty
/// launch. A prime, so that of launches that take turns each is met.
const MEASURED_FIRST: u32 = 4;
const MEASURED_EVERY: u32 = 17;
/// Time of a launch from which its threads' share says something about them, and not about launching.
const TELLING_NANOSECONDS: u64 = 2_000;
/// Nothing was measured.
const UNKNOWN: u64 = u64::MAX;

/// What one thread of a kernel costs.
pub(crate) struct Cost {
    picoseconds: AtomicU64,
    launches: AtomicU32,
    /// The last two measurements of launches that tell something, in picoseconds of a thread.
    recent: [AtomicU64; 2],
    /// Nanoseconds of all launches.
    spent: AtomicU64,
}

impl Cost {
    /// The guess.
    pub(crate) fn guess(info: &KernelInfo) -> Self {
        let gain = if info.step_threads > 1 { VECTOR_GAIN } else { 1 };
        let picoseconds = u64::from(info.cost.max(1)) * INSTRUCTION_PICOSECONDS / gain;
        Self {
            picoseconds: AtomicU64::new(picoseconds),
            launches: AtomicU32::new(0),
            recent: [const { AtomicU64::new(UNKNOWN) }; 2],
            spent: AtomicU64::new(0),
        }
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
        if nanoseconds >= TELLING_NANOSECONDS {
            let [last, before] = &self.recent;
            before.store(last.swap(measured, Ordering::Relaxed), Ordering::Relaxed);
        }
        self.spend(nanoseconds);
    }

    /// Picoseconds of a thread in the better of the last two launches that were measured, since a thread that lost its core makes a
    /// launch long; none before there were two.
    pub(crate) fn recent_picoseconds(&self) -> Option<u64> {
        let [last, before] = self.recent.each_ref().map(|time| time.load(Ordering::Relaxed));
        (before != UNKNOWN).then_some(last.min(before))
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
    fn one_slow_launch_and_short_ones_tell_nothing() {
        let cost = Cost::guess(&info(1, 1));
        cost.learn(1000, 4_000);
        assert_eq!(cost.recent_picoseconds(), None);
        for (nanoseconds, recent) in [(3_000, 3_000), (90_000, 3_000), (1_900, 3_000), (5_000, 5_000)] {
            cost.learn(1000, nanoseconds);
            assert_eq!(cost.recent_picoseconds(), Some(recent), "after {nanoseconds}");
        }
    }

    #[test]
    fn few_launches_are_measured() {
        let cost = Cost::guess(&info(1, 1));
        assert_eq!((0..160).filter(|_| cost.is_due()).count(), 13);
    }
}
