//! What streams, events and commands keep from being reused.

use super::*;

#[test]
fn a_recorded_stream_keeps_the_block_until_it_gets_there() {
    let rig = Rig::new();
    let block = rig.take(4096);
    rig.hands.encode(2);
    rig.allocator.record_stream(block.as_ptr(), StreamId(2));
    rig.give(block);
    assert_eq!(rig.allocator.current_allocated_bytes(), 4096);
    assert_eq!(rig.allocator.block(block.as_ptr()), None);
    assert_ne!(rig.take(4096), block);
    rig.hands.finish(2);
    assert_eq!(rig.take(4096), block);
    assert_eq!(rig.allocator.current_allocated_bytes(), 2 * 4096);
}

#[test]
fn every_recorded_stream_must_get_there() {
    let rig = Rig::new();
    let block = rig.take(4096);
    for stream in [2, 5] {
        rig.hands.encode(stream);
        rig.allocator.record_stream(block.as_ptr(), StreamId(stream));
    }
    rig.hands.finish(2);
    // The latest record of a stream counts.
    rig.hands.encode(2);
    rig.allocator.record_stream(block.as_ptr(), StreamId(2));
    rig.give(block);
    rig.hands.finish(5);
    assert_ne!(rig.take(4096), block);
    rig.hands.finish(2);
    rig.allocator.free_inactive_buffers();
    assert_eq!(rig.allocator.current_allocated_bytes(), 4096);
    assert_eq!(rig.take(4096), block);
}

#[test]
fn an_idle_recorded_stream_keeps_nothing() {
    let rig = Rig::new();
    let block = rig.take(4096);
    rig.allocator.record_stream(block.as_ptr(), StreamId(7));
    rig.allocator.record_stream(std::ptr::null(), StreamId(7));
    rig.give(block);
    assert_eq!(rig.allocator.current_allocated_bytes(), 0);
    assert_eq!(rig.take(4096), block);
}

#[test]
fn a_scalar_is_free_after_the_work_encoded_before() {
    let rig = Rig::new();
    let scalar = rig.try_take(4, Usage::Scalar).expect("memory for the test");
    rig.hands.encode(0);
    rig.give(scalar);
    assert_ne!(rig.try_take(4, Usage::Scalar).expect("memory for the test"), scalar);
    rig.hands.finish(0);
    assert_eq!(rig.try_take(4, Usage::Scalar).expect("memory for the test"), scalar);
}

#[test]
fn waiting_for_events_frees_what_waited() {
    let rig = Rig::new();
    let (block, other) = (rig.take(4096), rig.take(4096));
    assert!(!rig.allocator.record_events(&[std::ptr::null()]));
    rig.hands.encode(0);
    assert!(rig.allocator.record_events(&[std::ptr::null(), block.as_ptr()]));
    // Not retained: nothing to wait for.
    assert!(!rig.allocator.wait_for_events(&[block.as_ptr(), other.as_ptr()]));
    rig.retain(block);
    // The wait happens, but this command does not let go.
    assert!(!rig.allocator.wait_for_events(&[block.as_ptr()]));
    assert_eq!(rig.hands.done[0].load(Ordering::SeqCst), 1);
    rig.release(block);
}

#[test]
fn a_heap_with_a_retained_cached_buffer_is_not_released() {
    let rig = Rig::new();
    let block = rig.take(4096);
    rig.retain(block);
    rig.give(block);
    rig.empty_cache();
    assert_eq!(rig.allocator.total_allocated_bytes(), 8 * MIB);
    rig.release(block);
    rig.empty_cache();
    assert_eq!(rig.allocator.total_allocated_bytes(), 0);
    rig.release(block); // the heap is gone: nothing happens
}

#[test]
fn emptying_the_cache_synchronizes_without_the_lock_and_frees_scalars() {
    let rig = Rig::new();
    let scalar = rig.try_take(4, Usage::Scalar).expect("memory for the test");
    rig.hands.encode(0);
    rig.give(scalar);
    rig.empty_cache();
    assert_eq!(rig.hands.synchronized.load(Ordering::SeqCst), 1);
    assert_eq!((rig.allocator.current_allocated_bytes(), rig.allocator.driver_allocated_bytes()), (0, 0));
}

#[test]
fn a_deferred_error_comes_out_of_empty_cache() {
    let rig = Rig::new();
    let block = rig.take(64);
    rig.give(block);
    let error = StreamError::Execution { is_oom: false, code: 3, message: "it failed".into() };
    *rig.hands.error.lock().expect("no test panics here") = Some(error.clone());
    assert_eq!(rig.allocator.empty_cache(), Err(error));
    assert_eq!(rig.allocator.total_allocated_bytes(), 8 * MIB);
    rig.empty_cache();
    assert_eq!(rig.allocator.total_allocated_bytes(), 0);
}

#[test]
fn memory_is_only_out_after_waiting_for_pending_blocks() {
    let rig = Rig::with(|options| options.high_watermark_ratio = 0.0);
    rig.allocator.set_high_watermark_ratio(0.6).expect("in range"); // 614 MiB: one block of 512 MiB
    let block = rig.take(512 * MIB);
    rig.hands.encode(4);
    rig.allocator.record_stream(block.as_ptr(), StreamId(4));
    rig.give(block);
    // Hard limit: the pending heap counts, nothing is reused while over it, so the request fails although it waited.
    assert!(rig.try_take(512 * MIB, Usage::Device).is_err());
    assert_eq!(rig.hands.done[4].load(Ordering::SeqCst), 1);
    // Idle by now: the heap is released and made again.
    rig.take(512 * MIB);
    assert_eq!(rig.allocator.total_allocated_bytes(), 512 * MIB);
}

#[test]
fn a_callback_may_free_memory_when_an_allocation_fails() {
    let rig = Arc::new(Rig::with(|options| (options.high_watermark_ratio, options.low_watermark_ratio) = (1.5, 1.0)));
    let block = rig.take(600 * MIB);
    let (weak, held) = (Arc::downgrade(&rig), Mutex::new(Some(block.as_ptr().expose_provenance())));
    rig.allocator.on_allocation_failed(Box::new(move || {
        if let (Some(rig), Some(address)) = (weak.upgrade(), held.lock().expect("no panic").take()) {
            rig.give(NonNull::new(std::ptr::with_exposed_provenance_mut(address)).expect("a block's address"));
        }
    }));
    let again = rig.take(1000 * MIB);
    assert_eq!(rig.block(again).requested_bytes, 1000 * MIB);
}
