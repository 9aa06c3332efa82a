//! A forked child can go on allocating: no other thread's half-done work is inherited, since the forking thread holds the
//! allocator's locks across the fork and lets go on both sides.

use std::cell::RefCell;
use std::sync::{MutexGuard, Once, PoisonError};

use super::process::{CONSTRUCTION, existing_allocator};
use super::state::State;

/// Both locks, construction first.
struct Held {
    _state: Option<MutexGuard<'static, State>>,
    _construction: MutexGuard<'static, ()>,
}

thread_local! {
    static HELD: RefCell<Option<Held>> = const { RefCell::new(None) };
}

extern "C" fn before_fork() {
    let construction = CONSTRUCTION.lock().unwrap_or_else(PoisonError::into_inner);
    let state = existing_allocator().map(super::Allocator::lock);
    HELD.set(Some(Held { _state: state, _construction: construction }));
}

extern "C" fn after_fork() {
    HELD.set(None);
}

/// Installs the handlers, once.
pub(super) fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the three functions live as long as the program, take no arguments and may run on any thread that forks.
        let status = unsafe { libc::pthread_atfork(Some(before_fork), Some(after_fork), Some(after_fork)) };
        assert_eq!(status, 0, "pthread_atfork fails only when a few bytes of memory are refused");
    });
}
