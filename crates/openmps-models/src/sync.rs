//! The pool's atomics, cell and futex on loom's model. Who looks for work looks once: time does not exist.

use loom::cell::UnsafeCell;
use loom::sync::atomic::fence;
pub(super) use loom::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use loom::sync::{Condvar, Mutex};

/// As many as a launch of the models has threads.
pub(super) const PARTS_MAX: usize = 2;

/// A core for each participant.
pub(super) fn home(number: usize) -> usize {
    number
}

/// Loom takes sequentially consistent accesses for acquiring and releasing ones and knows fences alone, which stand around them
/// here.
pub(super) struct AtomicU32(loom::sync::atomic::AtomicU32);

impl AtomicU32 {
    pub(super) fn new(value: u32) -> Self {
        Self(loom::sync::atomic::AtomicU32::new(value))
    }

    fn ordered<T>(ordering: Ordering, access: impl FnOnce() -> T) -> T {
        let fenced = || {
            if ordering == Ordering::SeqCst {
                fence(Ordering::SeqCst)
            }
        };
        fenced();
        let result = access();
        fenced();
        result
    }

    pub(super) fn load(&self, ordering: Ordering) -> u32 {
        Self::ordered(ordering, || self.0.load(ordering))
    }

    pub(super) fn store(&self, value: u32, ordering: Ordering) {
        Self::ordered(ordering, || self.0.store(value, ordering));
    }

    pub(super) fn fetch_add(&self, value: u32, ordering: Ordering) -> u32 {
        Self::ordered(ordering, || self.0.fetch_add(value, ordering))
    }

    pub(super) fn fetch_sub(&self, value: u32, ordering: Ordering) -> u32 {
        Self::ordered(ordering, || self.0.fetch_sub(value, ordering))
    }
}

/// Loom tells when one thread uses the place while another does.
pub(super) struct Cell<T>(UnsafeCell<T>);

impl<T> Cell<T> {
    pub(super) fn new(value: T) -> Self {
        Self(UnsafeCell::new(value))
    }

    pub(super) fn with<R>(&self, read: impl FnOnce(*const T) -> R) -> R {
        self.0.with(read)
    }

    pub(super) fn with_mut<R>(&self, write: impl FnOnce(*mut T) -> R) -> R {
        self.0.with_mut(write)
    }
}

/// The word is compared and the sleep begins under one lock, as in the kernel.
pub(super) struct Futex {
    word: AtomicU32,
    lock: Mutex<()>,
    woken: Condvar,
}

impl Futex {
    pub(super) fn new() -> Self {
        Self { word: AtomicU32::new(0), lock: Mutex::new(()), woken: Condvar::new() }
    }

    pub(super) fn word(&self) -> &AtomicU32 {
        &self.word
    }

    pub(super) fn wait(&self, seen: u32) {
        let guard = self.lock.lock().unwrap();
        if self.word.load(Ordering::SeqCst) == seen {
            drop(self.woken.wait(guard).unwrap());
        }
    }

    pub(super) fn wake(&self) {
        let _guard = self.lock.lock().unwrap();
        self.woken.notify_all();
    }
}

pub(super) fn spin_for(work: impl Fn() -> bool) -> bool {
    work()
}

pub(super) fn spin_until(done: impl Fn() -> bool) {
    while !done() {
        loom::thread::yield_now();
    }
}
