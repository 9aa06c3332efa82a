//! The three counters, the statistics, the watermarks' effects.

use super::*;

#[test]
fn counters_follow_rounded_sizes_and_heaps() {
    let rig = Rig::new();
    let block = rig.take(1000);
    let large = rig.take(8 * MIB + 1);
    let current = rig.allocator.current_allocated_bytes();
    assert_eq!(current, 1024 + 8 * MIB + 256 * 1024);
    assert_eq!(rig.allocator.total_allocated_bytes(), 40 * MIB);
    assert_eq!(rig.allocator.driver_allocated_bytes(), 40 * MIB);
    rig.give(block);
    rig.give(large);
    assert_eq!(rig.allocator.current_allocated_bytes(), 0);
    assert_eq!(rig.allocator.driver_allocated_bytes(), 40 * MIB);
    rig.empty_cache();
    assert_eq!(rig.allocator.driver_allocated_bytes(), 0);
}

#[test]
fn statistics_keep_peaks_and_sums() {
    let rig = Rig::new();
    let blocks = [rig.take(256), rig.take(512)];
    blocks.into_iter().for_each(|block| rig.give(block));
    let allocated = rig.allocator.stats().allocated;
    assert_eq!(allocated, Stat { current: 0, peak: 768, allocated: 768, freed: 768 });
    rig.allocator.reset_peak_stats();
    rig.allocator.reset_accumulated_stats();
    rig.empty_cache();
    let stats = rig.allocator.stats();
    assert_eq!(stats.allocated, Stat::default());
    assert_eq!(stats.reserved, Stat { current: 0, peak: 8 * MIB, allocated: 0, freed: 8 * MIB });
}

#[test]
fn free_memory_is_what_the_driver_has_not_allocated() {
    let rig = Rig::new();
    assert_eq!(rig.allocator.memory_info(), (RECOMMENDED, RECOMMENDED));
    rig.take(1);
    assert_eq!(rig.allocator.memory_info(), (RECOMMENDED - 8 * MIB, RECOMMENDED));
    rig.take(600 * MIB);
    rig.take(600 * MIB);
    assert_eq!(rig.allocator.memory_info(), (0, RECOMMENDED));
}

#[test]
fn the_low_value_shrinks_with_heaps() {
    let rig = Rig::new();
    let limit = 1433; // 1.4 GiB in whole MiB
    assert_eq!(rig.allocator.low_watermark_value(), limit);
    rig.take(1);
    assert_eq!(rig.allocator.low_watermark_value(), limit - 8);
    rig.allocator.set_low_watermark_ratio(0.0).expect("in range");
    assert_eq!(rig.allocator.low_watermark_value(), i64::MAX);
}

#[test]
fn under_pressure_large_requests_get_exact_heaps_and_garbage_is_collected() {
    let rig = Rig::with(|options| (options.recommended_max_bytes, options.low_watermark_ratio) = (4 << 30, 0.25));
    let first = rig.take(100 * MIB); // a heap of 1 GiB, which is the low limit
    assert_eq!(rig.allocator.low_watermark_value(), 0);
    let second = rig.take(1000 * MIB); // pressure: a heap of just its bucket
    assert_eq!(rig.allocator.total_allocated_bytes(), 2032 * MIB);
    rig.give(second);
    // Needs more than any free block, less than the free bytes together: the idle heap goes, a new one comes.
    let third = rig.take(1200 * MIB);
    assert_eq!(rig.allocator.total_allocated_bytes(), 2240 * MIB);
    rig.give(first);
    rig.give(third);
    rig.empty_cache();
    assert_eq!(rig.allocator.total_allocated_bytes(), 0);
}

#[test]
fn idle_heaps_of_the_pool_go_before_memory_is_out() {
    let rig = Rig::with(|options| (options.high_watermark_ratio, options.low_watermark_ratio) = (1.5, 0.0));
    let blocks = [rig.take(600 * MIB), rig.take(600 * MIB)];
    blocks.into_iter().for_each(|block| rig.give(block));
    assert_eq!(rig.allocator.total_allocated_bytes(), 1216 * MIB);
    let large = rig.take(700 * MIB);
    assert_eq!(rig.block(large).size_bytes, 704 * MIB);
    assert_eq!(rig.hands.synchronized.load(Ordering::SeqCst), 0);
    assert_eq!(rig.allocator.total_allocated_bytes(), 704 * MIB);
}

#[test]
fn a_fraction_limits_later_allocations_only() {
    let rig = Rig::new();
    let block = rig.take(600 * MIB);
    rig.allocator.set_high_watermark_ratio(0.1).expect("in range");
    assert_eq!(rig.block(block).requested_bytes, 600 * MIB);
    assert!(rig.try_take(1, Usage::Device).is_err());
    rig.allocator.set_high_watermark_ratio(0.0).expect("unlimited");
    rig.take(1);
}

#[test]
fn emptying_leaves_live_blocks_alone() {
    let rig = Rig::new();
    let kept = rig.take(4096);
    // SAFETY: the block is this test's.
    unsafe { kept.as_ptr().write(42) };
    let gone = rig.take(64 * MIB);
    rig.give(gone);
    rig.empty_cache();
    assert_eq!(rig.allocator.total_allocated_bytes(), 8 * MIB);
    // SAFETY: the block is this test's.
    assert_eq!(unsafe { kept.as_ptr().read() }, 42);
    rig.empty_cache();
}
