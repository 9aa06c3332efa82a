//! The allocator of the process: one, on the real streams, also after a fork.

use crate::memory::{Usage, allocator, existing_allocator, is_arena_address};

#[test]
fn there_is_one_and_it_knows_its_addresses() {
    let first = allocator().expect("the test's environment is valid");
    assert!(std::ptr::eq(first, allocator().expect("already made")));
    assert!(existing_allocator().is_some());
    let block = first.allocate(64, Usage::Device).expect("64 bytes");
    assert!(is_arena_address(block.as_ptr()));
    assert!(!is_arena_address(std::ptr::from_ref(&block).cast()));
    assert!(first.driver_allocated_bytes() >= first.current_allocated_bytes());
    // SAFETY: allocated above, used by nothing.
    unsafe { first.free(block) };
}

#[test]
fn a_forked_child_goes_on_allocating() {
    let allocator = allocator().expect("the test's environment is valid");
    let busy = std::sync::atomic::AtomicBool::new(true);
    std::thread::scope(|scope| {
        // Another thread that holds the lock most of the time.
        scope.spawn(|| {
            while busy.load(std::sync::atomic::Ordering::Relaxed) {
                let block = allocator.allocate(4096, Usage::Device).expect("4 KiB");
                // SAFETY: allocated in the line above, used by nothing.
                unsafe { allocator.free(block) };
            }
        });
        for _ in 0..20 {
            assert_eq!(fork_and_allocate(allocator), 0, "the child's exit status");
        }
        busy.store(false, std::sync::atomic::Ordering::Relaxed);
    });
}

/// The exit status of a child that allocates, writes, frees and allocates again; 14 if it hangs.
fn fork_and_allocate(allocator: &'static crate::memory::Allocator) -> i32 {
    // SAFETY: the child calls only the allocator, which is made for this, and leaves by `_exit`.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "fork failed");
    if child == 0 {
        // SAFETY: sets a timer that kills the child if it hangs.
        unsafe { libc::alarm(20) };
        let works = (0..100).all(|_| {
            allocator.allocate(1 << 12, Usage::Device).is_ok_and(|block| {
                // SAFETY: the block is the child's own and 4 KiB long.
                unsafe { block.as_ptr().write_bytes(1, 1 << 12) };
                // SAFETY: allocated above, used by nothing.
                unsafe { allocator.free(block) };
                true
            })
        });
        // SAFETY: ends the child without running the test harness a second time.
        unsafe { libc::_exit(i32::from(!works)) };
    }
    let mut status = 0;
    // SAFETY: waits for the child made above and writes its status to a local.
    let waited = unsafe { libc::waitpid(child, &raw mut status, 0) };
    assert_eq!(waited, child);
    status
}
