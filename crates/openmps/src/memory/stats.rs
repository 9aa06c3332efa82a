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
    /// The hard limit; none if there is none.
    pub high_watermark: Option<u64>,
}

impl Gauges {
    /// As four words.
    pub(crate) fn words(self) -> [u64; 4] {
        [self.allocated, self.reserved, self.peak, self.high_watermark.unwrap_or(u64::MAX)]
    }

    /// Undoes [`words`](Self::words); none for another number of words.
    pub(crate) fn from_words(words: &[u64]) -> Option<Self> {
        let &[allocated, reserved, peak, limit] = words else { return None };
        Some(Self { allocated, reserved, peak, high_watermark: (limit != u64::MAX).then_some(limit) })
    }
}

/// [`Gauges`] that the lock's holder publishes.
#[derive(Debug, Default)]
pub(super) struct PublishedGauges([AtomicU64; 4]);

impl PublishedGauges {
    pub(super) fn publish(&self, stats: &Stats, high_watermark: Option<u64>) {
        let (allocated, reserved) = (stats.allocated, stats.reserved.current);
        let gauges = Gauges { allocated: allocated.current, reserved, peak: allocated.peak, high_watermark };
        for (place, word) in self.0.iter().zip(gauges.words()) {
            place.store(word, Ordering::Relaxed);
        }
    }

    pub(super) fn read(&self) -> Gauges {
        let words: [u64; 4] = std::array::from_fn(|index| self.0[index].load(Ordering::Relaxed));
        Gauges::from_words(&words).unwrap_or_default()
    }
}
