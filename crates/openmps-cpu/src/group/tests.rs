//! Fibers driven by Rust functions in place of generated code.

use std::sync::atomic::{AtomicU32, Ordering};

use super::*;

fn context(arguments: &[u64], size: u32) -> GroupContext {
    GroupContext {
        arguments: arguments.as_ptr(),
        threadgroup_memory: std::ptr::null_mut(),
        threads_per_grid: [size, 1, 1],
        groups_per_grid: [1; 3],
        dispatch_size: [size, 1, 1],
        position: [0; 3],
        size: [size, 1, 1],
        frames: std::ptr::null_mut(),
    }
}

fn first_argument(context: *const GroupContext) -> usize {
    // SAFETY: the scheduler passes the context that the test gave to `run`.
    let context = unsafe { &*context };
    // SAFETY: the test's contexts have one argument.
    let word = unsafe { context.arguments.read() };
    usize::try_from(word).unwrap()
}

/// Threads arrive, wait, and check that all arrived; odd ones leave in between.
extern "C" fn arrive_and_check(context: *const GroupContext, thread: u32) {
    let address = std::ptr::with_exposed_provenance::<[AtomicU32; 2]>(first_argument(context));
    // SAFETY: the test passes the address of two counters that outlive the group.
    let counters = unsafe { &*address };
    counters[0].fetch_add(1, Ordering::Relaxed);
    wait_at_barrier();
    let arrived = counters[0].load(Ordering::Relaxed);
    if thread % 2 == 1 {
        return;
    }
    wait_at_barrier();
    counters[1].fetch_add(arrived, Ordering::Relaxed);
}

#[test]
fn barriers_hold_everyone_and_stacks_are_used_again() {
    for threads in [1_u32, 2, 31, 32, 33, 1000, 1024, 5] {
        let counters = [const { AtomicU32::new(0) }; 2];
        let arguments = [counters.as_ptr().expose_provenance() as u64];
        let kernel = FiberKernel { entry: arrive_and_check, private_bytes: 0 };
        // SAFETY: the function above reads one argument, which outlives the call.
        unsafe { run(&kernel, &context(&arguments, threads), threads as usize) }.unwrap();
        assert_eq!(counters[0].load(Ordering::Relaxed), threads);
        assert_eq!(counters[1].load(Ordering::Relaxed), threads * threads.div_ceil(2));
    }
    let stacks = FIBERS.with(|fibers| fibers.free_stacks.borrow().len());
    assert!((1..=1024).contains(&stacks), "{stacks} stacks");
}

extern "C" fn unknown_operation(_: *const GroupContext, _: u32) {
    let mut word = 0;
    let request = LaneRequest { operation: 99, count: 1, values: &raw mut word, ..LaneRequest::NONE };
    // SAFETY: one word, as the request says.
    unsafe { wait_at_lane_operation(request) };
}

#[test]
fn unknown_operations_are_errors_and_spare_the_worker() {
    let kernel = FiberKernel { entry: unknown_operation, private_bytes: 0 };
    // SAFETY: the function above reads no argument.
    let error = unsafe { run(&kernel, &context(&[], 40), 40) }.unwrap_err();
    assert_eq!(error, "lane operation 99 on element 0 is not known");
    barriers_hold_everyone_and_stacks_are_used_again();
}

/// Uses much of its stack.
extern "C" fn deep(context: *const GroupContext, thread: u32) {
    let mut array = [0_u8; 200 * 1024];
    array[thread as usize] = 1;
    wait_at_barrier();
    let sum: u32 = std::hint::black_box(&array).iter().map(|&byte| u32::from(byte)).sum();
    let address = std::ptr::with_exposed_provenance::<AtomicU32>(first_argument(context));
    // SAFETY: the test passes the address of a counter that outlives the group.
    let counter = unsafe { &*address };
    counter.fetch_add(sum, Ordering::Relaxed);
}

#[test]
fn stacks_grow_with_private_arrays() {
    let counter = AtomicU32::new(0);
    let arguments = [std::ptr::from_ref(&counter).expose_provenance() as u64];
    let kernel = FiberKernel { entry: deep, private_bytes: 200 * 1024 };
    // SAFETY: the function above reads one argument, which outlives the call.
    unsafe { run(&kernel, &context(&arguments, 64), 64) }.unwrap();
    assert_eq!(counter.load(Ordering::Relaxed), 64);
}
