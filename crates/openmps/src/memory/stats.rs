//! The counters behind `torch.accelerator.memory_stats` and the three queries of `torch.mps`, and a copy of the most wanted
//! ones that can be read without the allocator's lock.

use std::sync::atomic::{AtomicU64, Ordering};

/// One counter of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stat {
    /// Now.
    pub current: u64,
    /// The most since the start or [`super::Allocator::reset_peak_stats`].
    pub peak: u64,
    /// Sum of all increases since the start or [`super::Allocator::reset_accumulated_stats`].
    pub allocated: u64,
    /// Sum of all decreases since then.
    pub freed: u64,
}

impl Stat {
    pub(super) fn add(&mut self, bytes: u64) {
        self.current += bytes;
        self.peak = self.peak.max(self.current);
        self.allocated += bytes;
    }

    pub(super) fn sub(&mut self, bytes: u64) {
        self.current -= bytes;
        self.freed += bytes;
    }
}

/// All counters. PyTorch's "active" bytes rise and fall with the allocated ones: a block that waits for a stream counts in
/// both until it is free.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Blocks that are handed out or waiting for a stream, at their rounded size.
    pub allocated: Stat,
    /// Heaps.
    pub reserved: Stat,
    /// Blocks that are handed out or waiting for a stream, by pool: small, large, scalar.
    pub pools: [u64; 3],
}

impl Stats {
    pub(super) fn reset_peak(&mut self) {
        for stat in [&mut self.allocated, &mut self.reserved] {
            stat.peak = stat.current;
        }
    }

    pub(super) fn reset_accumulated(&mut self) {
        for stat in [&mut self.allocated, &mut self.reserved] {
            (stat.allocated, stat.freed) = (0, 0);
        }
    }
}

/// Counters as a trace shows them, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gauges {
    /// Blocks that are handed out.
    pub allocated: u64,
    /// What the driver allocated: heaps.
    pub reserved: u64,
    /// The most that was handed out.
    pub peak: u64,
    /// Blocks that are handed out, by pool: small, large, scalar.
    pub pools: [u64; 3],
    /// The soft limit; none if there is none.
    pub low_watermark: Option<u64>,
    /// The hard limit; none if there is none.
    pub high_watermark: Option<u64>,
}

/// The number of gauges.
pub(crate) const GAUGES: usize = 8;

/// Words of gauges by place; a limit that is not there is the highest number.
mod place {
    pub(super) const ALLOCATED: usize = 0;
    pub(super) const RESERVED: usize = 1;
    pub(super) const PEAK: usize = 2;
    pub(super) const POOLS: usize = 3;
    pub(super) const LOW: usize = 6;
    pub(super) const HIGH: usize = 7;
}

impl Gauges {
    /// As words, in the order of the fields.
    pub(crate) fn words(self) -> [u64; GAUGES] {
        let Self { allocated, reserved, peak, pools: [small, large, scalar], low_watermark, high_watermark } = self;
        let limit = |limit: Option<u64>| limit.unwrap_or(u64::MAX);
        [allocated, reserved, peak, small, large, scalar, limit(low_watermark), limit(high_watermark)]
    }

    fn from_words([allocated, reserved, peak, small, large, scalar, low, high]: [u64; GAUGES]) -> Self {
        let limit = |word| (word != u64::MAX).then_some(word);
        let pools = [small, large, scalar];
        Self { allocated, reserved, peak, pools, low_watermark: limit(low), high_watermark: limit(high) }
    }
}

/// [`Gauges`] that the lock's holder publishes.
#[derive(Debug, Default)]
pub(super) struct PublishedGauges([AtomicU64; GAUGES]);

impl PublishedGauges {
    fn set(&self, place: usize, word: u64) {
        self.0[place].store(word, Ordering::Relaxed);
    }

    /// Blocks were handed out or taken back in `pool`, by its number.
    pub(super) fn publish_allocated(&self, stats: &Stats, pool: usize) {
        self.set(place::ALLOCATED, stats.allocated.current);
        self.set(place::PEAK, stats.allocated.peak);
        self.set(place::POOLS + pool, stats.pools[pool]);
    }

    /// Heaps, peaks or limits have changed.
    pub(super) fn publish(&self, stats: &Stats, low_watermark: Option<u64>, high_watermark: Option<u64>) {
        self.set(place::RESERVED, stats.reserved.current);
        self.set(place::PEAK, stats.allocated.peak);
        self.set(place::LOW, low_watermark.unwrap_or(u64::MAX));
        self.set(place::HIGH, high_watermark.unwrap_or(u64::MAX));
    }

    pub(super) fn read(&self) -> Gauges {
        Gauges::from_words(std::array::from_fn(|index| self.0[index].load(Ordering::Relaxed)))
    }
}
