//! What a kernel does by line of its source, and a form of it that counts how often it does so.
//!
//! Counts are those of AIR as the front end made it, functions put in and variables in registers: what the source says, before an
//! engine optimises. Left out: what code behind a table of functions does.

use serde::{Deserialize, Serialize};

use crate::air::VerifiedAir;

/// What is done on one line, by one thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineWork {
    /// The line, from 1; 0 where it is not known.
    pub line: u32,
    /// Instructions of AIR.
    pub instructions: u64,
    /// Operations on floating-point numbers: one for each lane of a vector, two for a fused multiplication and addition, one for
    /// a math function, and a thread's share of a product of SIMD-group matrices.
    pub float_operations: u64,
    /// Loads from device and constant memory and reads of textures.
    pub loads: u64,
    /// Stores to device memory and writes of textures.
    pub stores: u64,
    /// Loads from and stores to threadgroup memory.
    pub threadgroup: u64,
    /// Atomic operations.
    pub atomics: u64,
    /// Barriers.
    pub barriers: u64,
}

impl LineWork {
    /// Adds `more`, done `times` times.
    pub fn add(&mut self, more: &Self, times: u64) {
        let pairs = [
            (&mut self.instructions, more.instructions),
            (&mut self.float_operations, more.float_operations),
            (&mut self.loads, more.loads),
            (&mut self.stores, more.stores),
            (&mut self.threadgroup, more.threadgroup),
            (&mut self.atomics, more.atomics),
            (&mut self.barriers, more.barriers),
        ];
        for (sum, count) in pairs {
            *sum = sum.saturating_add(count.saturating_mul(times));
        }
    }
}

/// A kernel that counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CountingAir {
    /// The module, with that kernel.
    pub air: VerifiedAir,
    /// The index of a buffer beside the kernel's own: one 64-bit counter for each of [`blocks`](Self::blocks), which each thread
    /// adds to.
    pub buffer: u32,
    /// The straight pieces of the kernel: what each does, by rising line.
    pub blocks: Vec<Vec<LineWork>>,
    /// Whether the pieces are all that the kernel can do; otherwise it calls functions through tables.
    pub is_whole: bool,
}

impl CountingAir {
    /// The work by rising line, where piece `n` ran `counts[n]` times; pieces without a count did not run.
    #[must_use]
    pub fn by_line(&self, counts: &[u64]) -> Vec<LineWork> {
        let mut lines: std::collections::BTreeMap<u32, LineWork> = std::collections::BTreeMap::new();
        for (block, &times) in self.blocks.iter().zip(counts) {
            for work in block {
                let sum = lines.entry(work.line).or_insert(LineWork { line: work.line, ..LineWork::default() });
                sum.add(work, times);
            }
        }
        lines.into_values().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_summed_over_pieces() {
        let work = |line, loads| LineWork { line, loads, ..LineWork::default() };
        let counting = CountingAir {
            air: VerifiedAir::from_verifier([].as_slice()),
            buffer: 1,
            blocks: vec![vec![work(2, 1), work(5, 3)], vec![work(2, 10)], vec![work(9, 1)]],
            is_whole: true,
        };
        assert_eq!(counting.by_line(&[4, 2]), [work(2, 24), work(5, 12)]);
        assert_eq!(counting.by_line(&[u64::MAX, 0, 0])[0].loads, u64::MAX);
    }
}
