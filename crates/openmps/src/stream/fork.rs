//! `fork` while streams work: the child gets empty, idle queues and unlocked locks, the parent notices nothing.
//!
//! Before the fork the forking thread takes every lock of this crate's streams, events, capture, default generator and profiler; after it both
//! sides give them back, the child having reset what referred to threads that it does not have. Locks are taken in the order
//! events, queues, capture, generator, profiler, which is the order in which the rest of the crate nests them; the allocator's handlers,
//! installed after these, have taken its locks before.

use std::cell::RefCell;
use std::sync::{MutexGuard, Once};

use super::QUEUES;
use super::queue::State;
use crate::capture::{self, CaptureGuard};
use crate::event::{EventPool, PoolGuard};
use crate::generator::{self, GeneratorGuard};
use crate::profile;

/// Every lock that is held over a fork.
struct Held {
    events: PoolGuard<'static>,
    queues: Vec<MutexGuard<'static, State>>,
    capture: CaptureGuard,
    #[expect(dead_code, reason = "held, never read")]
    generator: Option<GeneratorGuard<'static>>,
    profile: profile::ForkGuard,
}

thread_local! {
    static HELD: RefCell<Option<Held>> = const { RefCell::new(None) };
}

/// Makes the process fork-safe; the first call does the work.
pub(crate) fn install_handlers() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        // SAFETY: the three functions are `extern "C"`, live as long as the program and do not unwind. The call fails only
        // without memory; then forking is as unsafe as it was before.
        unsafe { libc::pthread_atfork(Some(prepare), Some(parent), Some(child)) };
    });
}

extern "C" fn prepare() {
    let held = Held {
        events: EventPool::shared().lock(),
        queues: QUEUES.iter().map(super::queue::Queue::lock).collect(),
        capture: capture::lock_for_fork(),
        generator: generator::lock_default(),
        profile: profile::lock_for_fork(),
    };
    HELD.with_borrow_mut(|slot| *slot = Some(held));
}

extern "C" fn parent() {
    HELD.with_borrow_mut(|slot| *slot = None);
}

extern "C" fn child() {
    HELD.with_borrow_mut(|slot| {
        if let Some(mut held) = slot.take() {
            held.events.reset_after_fork();
            held.capture.reset_after_fork();
            held.profile.reset_after_fork();
            for (queue, state) in QUEUES.iter().zip(&mut held.queues) {
                queue.reset_after_fork(state);
            }
        }
    });
}
