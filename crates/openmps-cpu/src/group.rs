//! Runs the threads of one threadgroup that wait for each other: barriers and SIMD-group operations.
//!
//! Every thread is a fiber of the calling worker. A SIMD-group's lanes run until each has ended or waits. If lanes wait at
//! lane operations, the site that comes first in program order is served with exactly the lanes that wait there as the active
//! ones, and the SIMD-group goes on; lanes that took the longer way thus catch up before others run ahead, which is how
//! divergent lanes meet again. Else all live lanes wait at threadgroup barriers or tensor operations, and the next SIMD-group runs. A
//! tensor operation is served when all threads of its scope wait at it. When every live
//! thread waits, the barrier opens, whichever barrier it is; threads that have returned are not waited for. So no kernel can
//! hang here unless a thread loops for ever by itself.

use std::cell::{Cell, RefCell};

use crate::abi::{GroupContext, SIMD_WIDTH};
use crate::fiber::{STACK_BYTES, Stack, switch};
use crate::jit::call::FiberEntry;
use crate::jit::load::LoadError;
use crate::lanes::{self, LaneRequest};
use crate::tensor::request as tensor;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    New,
    Ready,
    AtLaneOperation,
    AtBarrier,
    AtTensorOperation,
    Done,
}

struct Thread {
    state: Cell<State>,
    stack_pointer: Cell<*mut u8>,
    stack: RefCell<Option<Stack>>,
    request: Cell<LaneRequest>,
    tensor_request: Cell<tensor::Request>,
}

impl Thread {
    const fn new() -> Self {
        Self {
            state: Cell::new(State::New),
            stack_pointer: Cell::new(std::ptr::null_mut()),
            stack: RefCell::new(None),
            request: Cell::new(LaneRequest::NONE),
            tensor_request: Cell::new(tensor::Request::NONE),
        }
    }
}

/// A worker's fibers. Generated code reaches it through a thread-local, so it is shared and made of cells.
struct Fibers {
    threads: RefCell<Vec<Thread>>,
    /// The threads of the running group; empty outside of [`run`]. Points into `threads`, which is not touched meanwhile.
    running: Cell<*const Thread>,
    current: Cell<usize>,
    scheduler: Cell<*mut u8>,
    free_stacks: RefCell<Vec<Stack>>,
}

thread_local! {
    static FIBERS: Fibers = const {
        Fibers {
            threads: RefCell::new(Vec::new()),
            running: Cell::new(std::ptr::null()),
            current: Cell::new(0),
            scheduler: Cell::new(std::ptr::null_mut()),
            free_stacks: RefCell::new(Vec::new()),
        }
    };
}

/// What a fiber kernel needs for each threadgroup.
pub(crate) struct FiberKernel {
    /// The function for one thread.
    pub(crate) entry: FiberEntry,
    /// Bytes of the kernel's own arrays.
    pub(crate) private_bytes: usize,
}

/// Runs `thread_count` threads of `kernel` with `context`.
///
/// # Errors
/// No memory for stacks, or a lane operation that the runtime does not know.
///
/// # Safety
/// As [`Entry::run_group`](crate::jit::call::Entry::run_group): `context` describes memory that fits the kernel.
pub(crate) unsafe fn run(kernel: &FiberKernel, context: &GroupContext, thread_count: usize) -> Result<(), String> {
    FIBERS.with(|fibers| {
        let mut threads = fibers.threads.borrow_mut();
        while threads.len() < thread_count {
            threads.push(Thread::new());
        }
        let group = Group { fibers, threads: &threads[..thread_count], kernel, context };
        fibers.running.set(threads.as_ptr());
        let result = group.run();
        fibers.running.set(std::ptr::null());
        for thread in &threads[..thread_count] {
            fibers.free_stacks.borrow_mut().extend(thread.stack.borrow_mut().take());
        }
        result
    })
}

struct Group<'run> {
    fibers: &'run Fibers,
    threads: &'run [Thread],
    kernel: &'run FiberKernel,
    context: &'run GroupContext,
}

impl Group<'_> {
    fn run(&self) -> Result<(), String> {
        for thread in self.threads {
            thread.state.set(State::New);
        }
        loop {
            for first in (0..self.threads.len()).step_by(SIMD_WIDTH) {
                self.advance(first, (first + SIMD_WIDTH).min(self.threads.len()))?;
            }
            if self.serve_tensor_operations()? {
                continue;
            }
            let mut waiting = 0;
            for thread in self.threads {
                match thread.state.get() {
                    State::AtBarrier => {
                        thread.state.set(State::Ready);
                        waiting += 1;
                    }
                    State::Done => {}
                    State::AtTensorOperation => {
                        return Err("a tensor operation waits for threads of its scope that wait elsewhere or have \
                                    returned"
                            .to_owned());
                    }
                    State::New | State::Ready | State::AtLaneOperation => {
                        unreachable!("advance left a thread {:?}", thread.state.get())
                    }
                }
            }
            if waiting == 0 {
                return Ok(());
            }
        }
    }

    /// Runs the SIMD-group of threads `first..end` until every lane has ended or waits at a barrier.
    fn advance(&self, first: usize, end: usize) -> Result<(), String> {
        loop {
            for index in first..end {
                if matches!(self.threads[index].state.get(), State::New | State::Ready) {
                    self.resume(index).map_err(|error| error.to_string())?;
                }
            }
            let lanes = &self.threads[first..end];
            let waiting = || lanes.iter().filter(|lane| lane.state.get() == State::AtLaneOperation);
            let Some(site) = waiting().map(|lane| lane.request.get().site).min() else { return Ok(()) };
            self.serve(lanes, site)?;
        }
    }

    fn serve(&self, lanes: &[Thread], site: u32) -> Result<(), String> {
        let mut requests = [None; SIMD_WIDTH];
        for (lane, slot) in lanes.iter().zip(&mut requests) {
            let request = lane.request.get();
            if lane.state.get() == State::AtLaneOperation && request.site == site {
                *slot = Some(request);
                lane.state.set(State::Ready);
            }
        }
        // SAFETY: every request was stored by a lane that waits inside `wait_at_lane_operation`, whose caller vouches for
        // its `values`; that lane's stack does not move and nobody else runs on this worker.
        unsafe { lanes::serve(&requests) }
    }

    /// Serves every scope whose threads all wait at a tensor operation; returns whether there was one.
    fn serve_tensor_operations(&self) -> Result<bool, String> {
        let waits = |thread: &Thread| thread.state.get() == State::AtTensorOperation;
        let mut served = false;
        let mut index = 0;
        while let Some(thread) = self.threads.get(index) {
            index += 1;
            if !waits(thread) {
                continue;
            }
            let scope = tensor::scope(index - 1, &thread.tensor_request.get(), self.threads.len())?;
            let threads = &self.threads[scope.clone()];
            if !threads.iter().all(waits) {
                continue;
            }
            let requests: Vec<tensor::Request> = threads.iter().map(|thread| thread.tensor_request.get()).collect();
            // SAFETY: every request was stored by a thread that waits inside `wait_at_tensor_operation`, whose caller vouches
            // for its pointers; that thread's stack does not move and nobody else runs on this worker.
            unsafe { tensor::serve(tensor::Members { requests: &requests, first: 0 }) }?;
            threads.iter().for_each(|thread| thread.state.set(State::Ready));
            (served, index) = (true, scope.end);
        }
        Ok(served)
    }

    fn resume(&self, index: usize) -> Result<(), LoadError> {
        let thread = &self.threads[index];
        if thread.state.get() == State::New {
            let mut stack = self.take_stack()?;
            let number = u32::try_from(index).expect("a threadgroup has at most 1024 threads");
            let pointer = stack.prepare(self.kernel.entry, self.context, number, finish);
            thread.stack_pointer.set(pointer);
            *thread.stack.borrow_mut() = Some(stack);
        }
        self.fibers.current.set(index);
        // SAFETY: the pointer was stored by `prepare` just above or by `switch` in `suspend` on this worker, and is resumed
        // once; the stack lives in `thread.stack`.
        unsafe { switch(self.fibers.scheduler.as_ptr(), thread.stack_pointer.get()) };
        if thread.state.get() == State::Done {
            self.fibers.free_stacks.borrow_mut().extend(thread.stack.borrow_mut().take());
        }
        Ok(())
    }

    fn take_stack(&self) -> Result<Stack, LoadError> {
        let needed = STACK_BYTES + self.kernel.private_bytes;
        match self.fibers.free_stacks.borrow_mut().pop() {
            Some(stack) if stack.size_bytes() >= needed => Ok(stack),
            // A smaller one is given back: kernels with large arrays are rare.
            Some(_) | None => Stack::new(needed),
        }
    }
}

/// Suspends the running fiber in `state` until the scheduler resumes it.
fn suspend(state: State, request: LaneRequest) {
    suspend_with(state, |thread| thread.request.set(request));
}

fn suspend_with(state: State, ask: impl FnOnce(&Thread)) {
    FIBERS.with(|fibers| {
        let running = fibers.running.get();
        assert!(!running.is_null(), "a thread can wait only inside of a threadgroup");
        // SAFETY: `running` points to the threads of the group that `run` holds, and `current` is the one it resumed.
        let thread = unsafe { &*running.wrapping_add(fibers.current.get()) };
        thread.state.set(state);
        ask(thread);
        // SAFETY: the scheduler stored its context in `resume` when it switched here, and waits there.
        unsafe { switch(thread.stack_pointer.as_ptr(), fibers.scheduler.get()) };
    });
}

/// Waits until every live thread of the threadgroup waits.
pub(crate) fn wait_at_barrier() {
    suspend(State::AtBarrier, LaneRequest::NONE);
}

/// Waits until the scheduler has served `request`.
///
/// # Safety
/// `request.values` points to as many words as [`lanes::serve`] reads and writes for its operation.
pub(crate) unsafe fn wait_at_lane_operation(request: LaneRequest) {
    suspend(State::AtLaneOperation, request);
}

/// Waits until the scheduler has served `request`, for all threads of its scope together.
///
/// # Safety
/// As [`tensor::serve`].
pub(crate) unsafe fn wait_at_tensor_operation(request: tensor::Request) {
    suspend_with(State::AtTensorOperation, |thread| thread.tensor_request.set(request));
}

/// The linear index of the running thread in its threadgroup.
pub(crate) fn current_thread() -> u32 {
    let index = FIBERS.with(|fibers| fibers.current.get());
    u32::try_from(index).expect("a threadgroup has at most 1024 threads")
}

/// The lane of the running thread.
pub(crate) fn current_lane() -> u32 {
    let index = FIBERS.with(|fibers| fibers.current.get());
    u32::try_from(index % SIMD_WIDTH).expect("below 32")
}

/// Where every fiber ends.
extern "C" fn finish() -> ! {
    suspend(State::Done, LaneRequest::NONE);
    // A panic here could not unwind; nothing resumes a finished thread.
    std::process::abort()
}

#[cfg(test)]
mod tests;
