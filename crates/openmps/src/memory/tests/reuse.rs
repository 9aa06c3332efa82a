//! Which block a request gets.

use super::*;

#[test]
fn a_freed_block_is_reused_buffer_and_all() {
    let rig = Rig::new();
    let first = rig.take(1000);
    let id = rig.id(first);
    rig.give(first);
    let second = rig.take(900);
    assert_eq!(second, first);
    let block = rig.block(second);
    assert_eq!((block.id, block.use_count, block.size_bytes, block.requested_bytes), (id, 2, 1024, 900));
}

#[test]
fn blocks_are_aligned_and_heaps_are_filled_in_order() {
    let rig = Rig::new();
    let (a, b) = (rig.take(1), rig.take(300));
    assert_eq!(offset(a, b), 256);
    assert_eq!(offset(b, rig.take(1)), 512);
    let large = rig.take(MIB + 1);
    assert!(large.as_ptr().addr().is_multiple_of(16 << 10));
    assert_eq!(rig.allocator.total_allocated_bytes(), (8 + 32) * MIB);
}

#[test]
fn a_smaller_request_splits_the_small_pool_at_256_bytes() {
    let rig = Rig::new();
    let block = rig.take(1024);
    let _end = rig.take(256);
    rig.give(block);
    let (front, id) = (rig.take(512), rig.block(rig.take(256)).id);
    assert_eq!(front, block);
    assert_eq!(rig.block(front).size_bytes, 512);
    assert_ne!(rig.id(front), id);
}

#[test]
fn the_large_pool_keeps_a_surplus_below_one_mebibyte() {
    let rig = Rig::new();
    let block = rig.take(4 * MIB);
    let id = rig.id(block);
    let _end = rig.take(2 * MIB);
    rig.give(block);
    let again = rig.take(3 * MIB + 64 * 1024);
    assert_eq!(again, block);
    assert_eq!((rig.block(again).size_bytes, rig.id(again)), (4 * MIB, id));
    rig.give(again);
    let cut = rig.take(3 * MIB);
    assert_eq!(cut, block);
    assert_eq!(rig.block(cut).size_bytes, 3 * MIB);
    assert_ne!(rig.id(cut), id);
}

#[test]
fn best_fit_prefers_the_smallest_then_the_lowest() {
    let rig = Rig::new();
    let blocks: Vec<_> = [4096, 256, 2048, 256, 2048, 256].into_iter().map(|bytes| rig.take(bytes)).collect();
    for index in [0, 4, 2] {
        rig.give(blocks[index]);
    }
    rig.hands.switch_to(1); // nothing of its own, so best fit decides
    assert_eq!(rig.take(1500), blocks[2]);
    assert_eq!(rig.take(1500), blocks[2 + 2]);
    assert_eq!(rig.take(1500), blocks[0]);
}

#[test]
fn another_stream_gets_a_new_buffer_over_an_idle_block() {
    let rig = Rig::new();
    let block = rig.take(MIB);
    let id = rig.id(block);
    rig.give(block);
    rig.hands.switch_to(3);
    let other = rig.take(MIB);
    assert_eq!(other, block);
    assert_ne!(rig.id(other), id);
    assert_eq!((rig.block(other).stream, rig.block(other).use_count), (StreamId(3), 1));
}

#[test]
fn a_busy_block_is_reused_by_its_own_stream_only() {
    let rig = Rig::new();
    let block = rig.take(4096);
    rig.retain(block);
    rig.give(block);
    rig.hands.switch_to(1);
    let other = rig.take(4096);
    assert_ne!(other, block);
    rig.hands.switch_to(0);
    let own = rig.take(4096);
    assert_eq!(own, block);
    assert_eq!(rig.block(own).retain_count, 2);
    rig.release(own);
    assert_eq!(rig.block(own).retain_count, 1);
}

#[test]
fn pinned_memory_never_gets_a_busy_block() {
    let rig = Rig::new();
    let block = rig.take(4096);
    rig.retain(block);
    rig.give(block);
    let pinned = rig.try_take(4096, Usage::Pinned).expect("memory for the test");
    assert_ne!(pinned, block);
    assert!(rig.block(pinned).is_pinned());
    rig.release(block);
    assert_eq!(rig.try_take(4096, Usage::Pinned).expect("memory for the test"), block);
}

#[test]
fn a_busy_block_is_not_split() {
    let rig = Rig::new();
    let block = rig.take(4096);
    let _end = rig.take(256);
    rig.retain(block);
    rig.give(block);
    assert_ne!(rig.take(256), block);
    rig.release(block);
    assert_eq!(rig.take(512).as_ptr(), block.as_ptr());
}

#[test]
fn neighbors_are_joined_when_nothing_else_fits() {
    let rig = Rig::new();
    let blocks: Vec<_> = (0..8).map(|_| rig.take(MIB)).collect();
    for index in [1, 2, 3, 5, 6] {
        rig.give(blocks[index]);
    }
    // The ten halves fill the five holes; two of them, freed, are one hole again.
    let halves: Vec<_> = (0..10).map(|_| rig.take(MIB / 2)).collect();
    assert_eq!(rig.allocator.total_allocated_bytes(), 8 * MIB);
    for half in &halves[1..3] {
        rig.give(*half);
    }
    assert_eq!(rig.take(MIB), halves[1]);
    assert_eq!(rig.allocator.total_allocated_bytes(), 8 * MIB);
}

#[test]
fn a_busy_block_breaks_the_run_and_a_new_heap_is_made() {
    let rig = Rig::new();
    let blocks: Vec<_> = (0..16).map(|_| rig.take(MIB / 2)).collect();
    for index in [4, 5] {
        rig.give(blocks[index]);
    }
    rig.retain_after_free(blocks[4]);
    let elsewhere = rig.take(MIB);
    assert_eq!(rig.allocator.total_allocated_bytes(), 16 * MIB);
    rig.give(elsewhere);
    rig.release(blocks[4]);
    // Idle now, but the other heap holds a block that fits.
    assert_eq!(rig.take(MIB), elsewhere);
}

impl Rig {
    /// A command that was encoded before the free and is still running.
    fn retain_after_free(&self, address: NonNull<u8>) {
        let address = region::address_of(address.as_ptr());
        let state = self.allocator.lock();
        let (_, record) = state.shared.record_at(address).expect("a block starts there");
        record.retained.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn oversize_blocks_get_heaps_of_their_own() {
    let rig = Rig::with(|options| options.recommended_max_bytes = 8 << 30);
    let block = rig.take(600 * MIB);
    assert_eq!(rig.allocator.total_allocated_bytes(), 608 * MIB); // bucket of 16 MiB
    assert_eq!(rig.block(block).size_bytes, 608 * MIB);
    let exact = rig.take(512 * MIB);
    assert_eq!(rig.block(exact).size_bytes, 512 * MIB);
    assert_eq!(rig.allocator.total_allocated_bytes(), 1120 * MIB);
}

#[test]
fn scalars_have_their_own_heap() {
    let rig = Rig::new();
    let scalar = rig.try_take(8, Usage::Scalar).expect("memory for the test");
    let tensor = rig.take(8);
    assert_eq!(rig.allocator.total_allocated_bytes(), 16 * MIB);
    assert_eq!(rig.block(scalar).usage, Usage::Scalar);
    assert_eq!(rig.block(scalar).size_bytes, 256);
    rig.give(scalar);
    assert_ne!(rig.take(8), scalar);
    rig.give(tensor);
}

#[test]
fn look_ups_know_exact_and_inner_addresses() {
    let rig = Rig::new();
    let (small, large) = (rig.take(1000), rig.take(300 * MIB));
    for (block, bytes) in [(small, 1024), (large, 304 * MIB)] {
        let at = |offset: u64| block.as_ptr().wrapping_add(usize::try_from(offset).expect("small"));
        assert_eq!(rig.allocator.block(at(256)), None);
        assert!(rig.allocator.contains(at(0)));
        for offset in [0, 1, 256, bytes - 1] {
            assert_eq!(rig.allocator.block_containing(at(offset)), Some(rig.block(block)), "offset {offset}");
        }
        assert_eq!(rig.allocator.block_containing(at(bytes)), None);
    }
    let outside = std::ptr::from_ref(&rig).cast();
    assert_eq!(rig.allocator.block(outside), None);
    assert_eq!(rig.allocator.block_containing(outside), None);
    assert!(!rig.allocator.contains(outside) && !rig.allocator.retain(outside));
    rig.give(small);
    assert_eq!(rig.allocator.block(small.as_ptr()), None);
    assert_eq!(rig.allocator.block_containing(small.as_ptr()), None);
}

#[test]
fn the_holders_word_is_empty_at_each_handing_out_and_0_afterwards() {
    let rig = Rig::new();
    let (base, slots) = rig.allocator.slots();
    let slot_of = |block: NonNull<u8>| {
        let unit = (region::address_of(block.as_ptr()) - base) / 256;
        &slots[usize::try_from(unit).expect("an index")]
    };
    let blocks = [rig.take(64), rig.take(64)];
    assert_eq!(slots.first().map(|slot| slot.load(Ordering::Relaxed)), Some(EMPTY_SLOT));
    assert_eq!(slots.last().map(|slot| slot.load(Ordering::Relaxed)), Some(0));
    slot_of(blocks[0]).store(77, Ordering::Relaxed);
    assert_eq!(slot_of(blocks[1]).load(Ordering::Relaxed), EMPTY_SLOT);
    rig.give(blocks[0]);
    assert_eq!(slot_of(blocks[0]).load(Ordering::Relaxed), 0);
    let again = rig.take(64);
    assert_eq!((again, slot_of(again).load(Ordering::Relaxed)), (blocks[0], EMPTY_SLOT));
    rig.give(again);
    rig.give(blocks[1]);
    rig.empty_cache();
    assert_eq!(slots.first().map(|slot| slot.load(Ordering::Relaxed)), Some(0));
}

#[test]
fn memory_can_be_written_from_end_to_end_and_trash_shows() {
    let rig = Rig::with(|options| options.trash = true);
    for bytes in [256, MIB, 11 * MIB] {
        let block = rig.take(bytes);
        let bytes = usize::try_from(bytes).expect("small");
        // SAFETY: the block is this test's and `bytes` long.
        let contents = unsafe { std::slice::from_raw_parts_mut(block.as_ptr(), bytes) };
        assert!(contents.iter().all(|byte| *byte == 0xfb));
        contents.fill(1);
        rig.give(block);
    }
}

#[test]
#[should_panic(expected = "no block of the MPS allocator is handed out at 0x")]
fn freeing_twice_is_found() {
    let rig = Rig::new();
    let block = rig.take(64);
    rig.give(block);
    rig.give(block);
}
