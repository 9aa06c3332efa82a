//! One heap: a range of the arena cut into blocks without gaps.

use super::size::PoolKind;
use super::slab::BlockIndex;

/// Index of a heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HeapIndex(pub(super) u32);

/// A heap and what is known about its blocks.
pub(super) struct Heap {
    pub(super) id: u64,
    pub(super) pool: PoolKind,
    pub(super) base: u64,
    pub(super) size_bytes: u64,
    pub(super) free_bytes: u64,
    /// No run of free blocks is longer, busy ones counted as free. Lets hopeless searches skip the heap.
    pub(super) free_run_bound: u64,
    /// The block at offset 0.
    pub(super) first: BlockIndex,
    /// One bit per unit of the pool's alignment: whether a block starts there.
    starts: Vec<u64>,
}

impl Heap {
    pub(super) fn new(id: u64, pool: PoolKind, base: u64, size_bytes: u64, first: BlockIndex) -> Heap {
        let units = usize::try_from(size_bytes / pool.alignment_bytes()).expect("a heap fits the address space");
        let mut heap = Heap {
            id,
            pool,
            base,
            size_bytes,
            free_bytes: size_bytes,
            free_run_bound: size_bytes,
            first,
            starts: vec![0; units.div_ceil(64)],
        };
        heap.set_start(base);
        heap
    }

    fn unit(&self, address: u64) -> usize {
        usize::try_from((address - self.base) / self.pool.alignment_bytes()).expect("a heap fits the address space")
    }

    pub(super) fn set_start(&mut self, address: u64) {
        let unit = self.unit(address);
        self.starts[unit / 64] |= 1 << (unit % 64);
    }

    pub(super) fn clear_start(&mut self, address: u64) {
        let unit = self.unit(address);
        self.starts[unit / 64] &= !(1 << (unit % 64));
    }

    /// The address of the block that `address`, which lies in this heap, is in.
    pub(super) fn start_before(&self, address: u64) -> u64 {
        let unit = self.unit(address);
        let mut word = unit / 64;
        let mut bits = self.starts[word] & (u64::MAX >> (63 - unit % 64));
        while bits == 0 {
            word = word.checked_sub(1).expect("a block starts at offset 0 of every heap");
            bits = self.starts[word];
        }
        let unit = word as u64 * 64 + u64::from(bits.ilog2());
        self.base + unit * self.pool.alignment_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_block_of_an_address_starts_at_the_nearest_mark_below() {
        let base = 1 << 40;
        let mut heap = Heap::new(1, PoolKind::Small, base, 8 << 20, BlockIndex(0));
        heap.set_start(base + 63 * 256);
        heap.set_start(base + 64 * 256);
        for (address, start) in [(0, 0), (255, 0), (62 * 256, 0), (63 * 256 + 1, 63 * 256), (64 * 256, 64 * 256)] {
            assert_eq!(heap.start_before(base + address), base + start);
        }
        assert_eq!(heap.start_before(base + (8 << 20) - 1), base + 64 * 256);
        heap.clear_start(base + 64 * 256);
        assert_eq!(heap.start_before(base + (8 << 20) - 1), base + 63 * 256);
    }
}
