//! The counters behind `torch.accelerator.memory_stats` and the three queries of `torch.mps`.

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
