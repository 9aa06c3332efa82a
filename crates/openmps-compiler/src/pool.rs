//! The compiler processes of this process: started when needed, reused, replaced when they died, never shared across a fork.
//!
//! Each answers one request at a time. A thread that asks takes one that waits, else starts one, up to
//! [`ProcessLimits::processes`]; beyond these it waits for another thread's request to end. So a program with one thread has
//! one process, and a crash or a limit costs the request that met it and no other.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::process::{ProcessError, ProcessLimits, Server};

/// The servers of this process, and those of the processes that it was forked from.
///
/// A lock that another thread held at the fork stays locked in the child forever, so each process has its own pool.
#[derive(Debug)]
pub(crate) struct ProcessPools {
    executable: PathBuf,
    arguments: Vec<OsString>,
    limits: ProcessLimits,
    first: OnceLock<Box<Pool>>,
}

#[derive(Debug)]
struct Pool {
    owner: u32,
    state: Mutex<State>,
    /// Told when a request has ended.
    ended: Condvar,
    next: OnceLock<Box<Pool>>,
}

#[derive(Debug, Default)]
struct State {
    /// Servers that wait, the one that was used last at the end: those before it become idle for long and end.
    waiting: Vec<Server>,
    /// Requests that are being answered.
    busy: usize,
}

/// The right to have one request answered; given back when it is dropped.
struct Permit<'pool>(&'pool Pool);

impl ProcessPools {
    /// `executable` gets `arguments`, and behind them its memory limit.
    pub(crate) fn new(executable: PathBuf, mut arguments: Vec<OsString>, limits: ProcessLimits) -> Self {
        arguments.extend(["--memory-limit".into(), limits.memory_bytes.to_string().into()]);
        Self { executable, arguments, limits, first: OnceLock::new() }
    }

    /// Sends one request and waits for its answer. `purpose` completes "it died while …".
    pub(crate) fn exchange(&self, request: &[u8], purpose: &str) -> Result<Vec<u8>, ProcessError> {
        let permit = self.pool().permit(self.limits.processes);
        if let Some(mut running) = permit.take_server() {
            match running.exchange(request, self.limits.time) {
                Ok(answer) => {
                    permit.give_back(running);
                    return Ok(answer);
                }
                Err(error) if error.kind() == io::ErrorKind::TimedOut => {
                    return Err(running.obituary(&error, purpose, self.limits));
                }
                // It may have died, or gone because it had nothing to do, since its last request: then a new one is asked.
                Err(_) => drop(running.end()),
            }
        }
        let mut fresh = Server::start(&self.executable, &self.arguments)?;
        match fresh.exchange(request, self.limits.time) {
            Ok(answer) => {
                permit.give_back(fresh);
                Ok(answer)
            }
            Err(error) => Err(fresh.obituary(&error, purpose, self.limits)),
        }
    }

    /// Ids of the processes that wait for a request, the one that answers the next at the end.
    pub(crate) fn waiting_ids(&self) -> Vec<u32> {
        self.pool().lock().waiting.iter().map(Server::id).collect()
    }

    fn pool(&self) -> &Pool {
        let owner = std::process::id();
        let new = || Box::new(Pool { owner, state: Mutex::default(), ended: Condvar::new(), next: OnceLock::new() });
        let mut pool = self.first.get_or_init(new);
        while pool.owner != owner {
            pool = pool.next.get_or_init(new);
        }
        pool
    }
}

impl Pool {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until fewer than `processes` requests are being answered.
    fn permit(&self, processes: usize) -> Permit<'_> {
        let mut state = self.lock();
        while state.busy >= processes.max(1) {
            state = self.ended.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.busy += 1;
        Permit(self)
    }
}

impl Permit<'_> {
    /// A server that waits. Those that have ended by themselves are forgotten.
    fn take_server(&self) -> Option<Server> {
        let mut state = self.0.lock();
        state.waiting.retain_mut(Server::is_running);
        state.waiting.pop()
    }

    fn give_back(&self, server: Server) {
        self.0.lock().waiting.push(server);
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        self.0.lock().busy -= 1;
        self.0.ended.notify_one();
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        if self.owner == std::process::id() {
            state.waiting.drain(..).for_each(|server| drop(server.end()));
        }
    }
}
