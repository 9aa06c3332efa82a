//! From a requested size to pool, tier, heap size and block size: PyTorch's rounding, as pure functions.

use crate::limits::{
    HEAP_PART_OF_MEMORY, LARGE_ALIGNMENT_BYTES, LARGE_HEAP_BYTES, LARGE_MIN_SPLIT_BYTES, MAX_SMALL_ALLOC_BYTES,
    MIN_LARGE_ALLOC_BYTES, ROUND_LARGE_BYTES, SMALL_ALIGNMENT_BYTES, SMALL_HEAP_BYTES, XLARGE_HEAP_BYTES,
};

use super::Usage;

/// The three pools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoolKind {
    /// Blocks up to 1 MiB.
    Small,
    /// All larger blocks.
    Large,
    /// Scalar operands.
    Scalar,
}

impl PoolKind {
    pub(super) const ALL: [PoolKind; 3] = [PoolKind::Small, PoolKind::Large, PoolKind::Scalar];

    pub(super) fn index(self) -> usize {
        match self {
            PoolKind::Small => 0,
            PoolKind::Large => 1,
            PoolKind::Scalar => 2,
        }
    }

    /// Whether PyTorch flags the pool as small.
    pub(super) fn is_small(self) -> bool {
        match self {
            PoolKind::Small | PoolKind::Scalar => true,
            PoolKind::Large => false,
        }
    }

    /// Offsets and sizes of blocks are multiples of this.
    pub(super) fn alignment_bytes(self) -> u64 {
        if self.is_small() { SMALL_ALIGNMENT_BYTES } else { LARGE_ALIGNMENT_BYTES }
    }

    /// The smallest surplus that becomes a block of its own.
    pub(super) fn min_split_bytes(self) -> u64 {
        if self.is_small() { SMALL_ALIGNMENT_BYTES } else { LARGE_MIN_SPLIT_BYTES }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tier {
    Small,
    Large,
    XLarge,
    Oversize,
}

fn tier(aligned_bytes: u64, has_pressure: bool) -> Tier {
    if aligned_bytes <= MAX_SMALL_ALLOC_BYTES {
        Tier::Small
    } else if aligned_bytes < MIN_LARGE_ALLOC_BYTES {
        Tier::Large
    } else if aligned_bytes < XLARGE_HEAP_BYTES / 2 && !has_pressure {
        Tier::XLarge
    } else {
        Tier::Oversize
    }
}

/// Size of the heap that is created for a block: its tier's, at most `cap_bytes` (whole slots) or what the block needs.
pub(super) fn heap_bytes(block_bytes: u64, has_pressure: bool, cap_bytes: u64) -> u64 {
    let needed = block_bytes.next_multiple_of(ROUND_LARGE_BYTES);
    let usual = match tier(block_bytes, has_pressure) {
        Tier::Small => SMALL_HEAP_BYTES,
        Tier::Large => LARGE_HEAP_BYTES,
        Tier::XLarge => XLARGE_HEAP_BYTES,
        Tier::Oversize => needed,
    };
    usual.min(cap_bytes.max(needed))
}

/// The largest heap that is made for small blocks' sake on a machine with this much memory.
pub(super) fn heap_cap_bytes(memory_bytes: u64) -> u64 {
    memory_bytes / HEAP_PART_OF_MEMORY / ROUND_LARGE_BYTES * ROUND_LARGE_BYTES
}

/// What a request needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rounded {
    pub(super) pool: PoolKind,
    /// The request, aligned.
    pub(super) aligned_bytes: u64,
    /// The block: the aligned size, in the large pool rounded up to its bucket.
    pub(super) need_bytes: u64,
}

/// Rounds a request, which must be below `max_buffer_length`.
pub(super) fn round(requested_bytes: u64, usage: Usage, max_buffer_length: u64) -> Rounded {
    // Nothing asks for zero bytes through PyTorch; a Rust caller gets the smallest block.
    let requested_bytes = requested_bytes.max(1);
    let is_scalar = usage == Usage::Scalar;
    let alignment = if is_scalar || requested_bytes <= MAX_SMALL_ALLOC_BYTES {
        SMALL_ALIGNMENT_BYTES
    } else {
        LARGE_ALIGNMENT_BYTES
    };
    let aligned_bytes = requested_bytes.next_multiple_of(alignment);
    if is_scalar {
        return Rounded { pool: PoolKind::Scalar, aligned_bytes, need_bytes: aligned_bytes };
    }
    if aligned_bytes <= MAX_SMALL_ALLOC_BYTES {
        return Rounded { pool: PoolKind::Small, aligned_bytes, need_bytes: aligned_bytes };
    }
    let granule = ((1 << aligned_bytes.ilog2()) / 32).max(LARGE_ALIGNMENT_BYTES);
    let bucketed = aligned_bytes.next_multiple_of(granule);
    let is_kept = bucketed < max_buffer_length && tier(bucketed, false) == tier(aligned_bytes, false);
    Rounded { pool: PoolKind::Large, aligned_bytes, need_bytes: if is_kept { bucketed } else { aligned_bytes } }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::MIB;

    const NO_LIMIT: u64 = 1 << 60;

    fn need(requested: u64) -> u64 {
        round(requested, Usage::Device, NO_LIMIT).need_bytes
    }

    #[test]
    fn small_sizes_are_aligned_only() {
        assert_eq!(need(0), 256);
        assert_eq!(need(1), 256);
        assert_eq!(need(256), 256);
        assert_eq!(need(257), 512);
        assert_eq!(need(MIB), MIB);
        assert_eq!(round(MIB, Usage::Device, NO_LIMIT).pool, PoolKind::Small);
        assert_eq!(round(MIB + 1, Usage::Device, NO_LIMIT).pool, PoolKind::Large);
        assert_eq!(round(4, Usage::Scalar, NO_LIMIT).pool, PoolKind::Scalar);
        assert_eq!(round(4, Usage::Pinned, NO_LIMIT).pool, PoolKind::Small);
    }

    #[test]
    fn large_sizes_go_to_buckets_of_a_thirty_second() {
        assert_eq!(need(MIB + 1), MIB + 32 * 1024);
        assert_eq!(need(3 * MIB), 3 * MIB);
        assert_eq!(need(3 * MIB + 1), 3 * MIB + 64 * 1024);
        assert_eq!(need(100 * MIB + 1), 102 * MIB);
    }

    #[test]
    fn a_bucket_stays_in_its_tier_and_below_the_longest_buffer() {
        // 10 MiB - 1 aligns to 10 MiB, which is already the next tier.
        assert_eq!(need(10 * MIB - 1), 10 * MIB);
        // The bucket of 511 MiB + 1 would be 512 MiB: oversize.
        assert_eq!(need(511 * MIB + 1), 511 * MIB + 16 * 1024);
        let rounded = round(100 * MIB + 1, Usage::Device, 102 * MIB);
        assert_eq!(rounded.need_bytes, 100 * MIB + 16 * 1024);
    }

    #[test]
    fn heaps_follow_the_tier() {
        assert_eq!(heap_bytes(256, false, NO_LIMIT), 8 * MIB);
        assert_eq!(heap_bytes(MIB, true, NO_LIMIT), 8 * MIB);
        assert_eq!(heap_bytes(MIB + 16384, true, NO_LIMIT), 32 * MIB);
        assert_eq!(heap_bytes(10 * MIB, false, NO_LIMIT), 1024 * MIB);
        assert_eq!(heap_bytes(10 * MIB, true, NO_LIMIT), 10 * MIB);
        assert_eq!(heap_bytes(11 * MIB, true, NO_LIMIT), 12 * MIB);
        assert_eq!(heap_bytes(512 * MIB, false, NO_LIMIT), 512 * MIB);
        assert_eq!(heap_bytes(512 * MIB - 1, false, NO_LIMIT), 1024 * MIB);
    }

    #[test]
    fn little_memory_makes_small_heaps() {
        let cap = heap_cap_bytes(65 * MIB);
        assert_eq!(cap, 16 * MIB);
        assert_eq!(heap_bytes(256, false, cap), 8 * MIB);
        assert_eq!(heap_bytes(2 * MIB, false, cap), 16 * MIB);
        assert_eq!(heap_bytes(21 * MIB, false, cap), 22 * MIB);
        assert_eq!(heap_bytes(MIB, false, 0), 2 * MIB);
        assert_eq!(heap_cap_bytes(4 << 30), 1 << 30);
    }
}
