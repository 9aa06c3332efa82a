//! A forked child can go on allocating: no other thread's half-done work is inherited, since the forking thread holds the
//! allocator's locks across the fork and lets go on both sides. The child has no queued commands, so none holds a block there.

use std::cell::RefCell;
use std::sync::{MutexGuard, Once, PoisonError};

use super::process::{CONSTRUCTION, existing_allocator};
use super::state::State;

/// Both locks, construction first.
struct Held {
    state: Option<MutexGuard<'static, State>>,
    _construction: MutexGuard<'static, ()>,
}

thread_local! {
    static HELD: RefCell<Option<Held>> = const { RefCell::new(None) };
}

extern "C" fn before_fork() {
    let construction = CONSTRUCTION.lock().unwrap_or_else(PoisonError::into_inner);
    let state = existing_allocator().map(super::Allocator::lock);
    HELD.set(Some(Held { state, _construction: construction }));
}

extern "C" fn parent() {
    HELD.set(None);
}

extern "C" fn child() {
    if let Some(Held { state: Some(state), .. }) = HELD.take() {
        state.forget_commands();
    }
}

/// Installs the handlers, once.
pub(super) fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // What is installed first prepares last: the allocator's locks are taken before those of streams, as everywhere else.
        crate::stream::fork::install_handlers();
        // SAFETY: the three functions live as long as the program, take no arguments and may run on any thread that forks.
        let status = unsafe { libc::pthread_atfork(Some(before_fork), Some(parent), Some(child)) };
        assert_eq!(status, 0, "pthread_atfork fails only when a few bytes of memory are refused");
    });
}
