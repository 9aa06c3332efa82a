//! Work that nobody waits for, one piece after the other on a thread that ends with the last of them.
//!
//! Guarantees: [`Background::submit`] never waits for work; a forked child has a queue of its own, since neither the thread nor
//! what waited for it exists there; work that panics ends alone. The thread is not joined: a process that ends takes it along.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;

type Work = Box<dyn FnOnce() + Send>;

/// The queue of this process, and those of the processes that it was forked from.
#[derive(Clone)]
pub(crate) struct Background {
    first: Arc<Queue>,
}

struct Queue {
    owner: u32,
    state: Mutex<State>,
    next: OnceLock<Arc<Queue>>,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Work>,
    has_thread: bool,
}

impl Background {
    /// An empty queue without a thread.
    pub(crate) fn new() -> Self {
        Self { first: Queue::new(std::process::id()) }
    }

    /// Has `work` done some time, or never where no thread can be started.
    pub(crate) fn submit(&self, work: Work) {
        let queue = self.queue();
        let mut state = queue.lock();
        state.waiting.push_back(work);
        if state.has_thread {
            return;
        }
        let own = Arc::clone(&queue);
        let thread = thread::Builder::new().name("openmps-tier".to_owned()).spawn(move || own.work());
        match thread {
            Ok(_) => state.has_thread = true,
            Err(_) => state.waiting.clear(),
        }
    }

    fn queue(&self) -> Arc<Queue> {
        let owner = std::process::id();
        let mut queue = &self.first;
        // A lock that another thread held at the fork stays locked in the child for ever.
        while queue.owner != owner {
            queue = queue.next.get_or_init(|| Queue::new(owner));
        }
        Arc::clone(queue)
    }
}

impl Queue {
    fn new(owner: u32) -> Arc<Self> {
        Arc::new(Self { owner, state: Mutex::default(), next: OnceLock::new() })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does what waits, and forgets the thread in the moment in which nothing does.
    fn work(&self) {
        loop {
            let mut state = self.lock();
            let Some(work) = state.waiting.pop_front() else {
                state.has_thread = false;
                return;
            };
            drop(state);
            // Whoever submitted it goes on without; the panic's hook has told why.
            let _ = catch_unwind(AssertUnwindSafe(work));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(30);

    #[test]
    fn work_is_done_in_order_and_survives_a_panic() {
        let background = Background::new();
        let (sender, receiver) = mpsc::channel();
        for number in 0..3 {
            let sender = sender.clone();
            background.submit(Box::new(move || {
                assert!(number != 1, "work that fails");
                sender.send(number).unwrap();
            }));
        }
        assert_eq!([receiver.recv_timeout(PATIENCE).unwrap(), receiver.recv_timeout(PATIENCE).unwrap()], [0, 2]);
        // A new thread after the first has ended, or the first one.
        background.submit(Box::new(move || sender.send(3).unwrap()));
        assert_eq!(receiver.recv_timeout(PATIENCE).unwrap(), 3);
    }

    #[test]
    fn submitting_does_not_wait() {
        let background = Background::new();
        let (release, held) = mpsc::channel::<()>();
        let (sender, receiver) = mpsc::channel();
        background.submit(Box::new(move || held.recv().unwrap()));
        background.submit(Box::new(move || sender.send(()).unwrap()));
        assert!(receiver.try_recv().is_err(), "the first is held until now");
        release.send(()).unwrap();
        receiver.recv_timeout(PATIENCE).unwrap();
    }
}
