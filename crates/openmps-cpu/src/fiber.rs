//! Stacks that a worker switches between, so that a thread of a threadgroup can wait in the middle of generated code.
//!
//! Guarantees: a fiber runs only on the worker that made it; each stack ends in a page that faults, where the system has room
//! for so many (see [`GUARDED_THREADS_MAX`]); a finished fiber's stack is used again. Leaves out: unwinding across a switch (generated code never unwinds), migration between workers.

use std::arch::naked_asm;

use crate::abi::GroupContext;
use crate::jit::call::FiberEntry;
use crate::jit::load::LoadError;
use crate::jit::memory::{Mapping, PAGE_BYTES};
use crate::pool;

/// Bytes of a fiber's stack beside what the kernel's own arrays need: spilled registers, runtime functions, libm.
pub(crate) const STACK_BYTES: usize = 64 * 1024;

/// Stacks of neighboring threads start at different places in their pages: else all of them compete for the same few sets of
/// the cache. A cache line each, over one page.
const COLORS: usize = 64;
const COLOR_BYTES: usize = 64;

/// Most pool threads whose stacks get guard pages. A guarded stack takes two of the 65,530 mappings that Linux gives a process,
/// and each pool thread may need 1024 stacks; stacks without guards merge into one mapping.
const GUARDED_THREADS_MAX: usize = 16;

/// Saves the callee-saved registers and the stack pointer of the running context in `*save`, and resumes `target`.
///
/// # Safety
/// - `target` was stored by this function, or made by [`Stack::prepare`], and has not been resumed since.
/// - Its stack is still mapped, and the caller is on the worker that stored it.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn switch(save: *mut *mut u8, target: *mut u8) {
    naked_asm!(
        "push rbp",
        "push rbx",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "mov [rdi], rsp",
        "mov rsp, rsi",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbx",
        "pop rbp",
        "ret",
    )
}

/// Where a new fiber starts: its registers were laid out by [`Stack::prepare`].
#[unsafe(naked)]
unsafe extern "C" fn start() {
    naked_asm!(
        "mov rdi, r12",  // context
        "mov esi, r13d", // thread
        "call r14",      // the kernel
        "call r15",      // the runtime's end of a thread, which does not return
        "ud2",
    )
}

/// One fiber's stack, with a guard page at its low end.
pub(crate) struct Stack {
    mapping: Mapping,
}

impl Stack {
    /// Maps a stack with room for `size_bytes`.
    ///
    /// # Errors
    /// [`LoadError::Map`].
    pub(crate) fn new(size_bytes: usize) -> Result<Self, LoadError> {
        let mapping = Mapping::new(size_bytes + PAGE_BYTES + COLORS * COLOR_BYTES)?;
        if pool::thread_count() <= GUARDED_THREADS_MAX {
            mapping.guard_first_page()?;
        }
        Ok(Self { mapping })
    }

    /// Bytes that a fiber may use.
    pub(crate) fn size_bytes(&self) -> usize {
        self.mapping.size_bytes() - PAGE_BYTES - COLORS * COLOR_BYTES
    }

    /// Lays out a context that, once resumed, calls `entry(context, thread)` and then `finish`. Returns its stack pointer.
    pub(crate) fn prepare(
        &mut self,
        entry: FiberEntry,
        context: *const GroupContext,
        thread: u32,
        finish: extern "C" fn() -> !,
    ) -> *mut u8 {
        let words: [usize; 8] = [
            finish as *const () as usize, // r15
            entry as *const () as usize,  // r14
            thread as usize,              // r13
            context.addr(),               // r12
            0,                            // rbx
            0,                            // rbp: ends a debugger's walk
            start as *const () as usize,  // return address of `switch`
            0,                            // return address of `start`: ends a debugger's walk
        ];
        // After `switch` has popped seven words the stack pointer is a multiple of 16, as the ABI asks before a call.
        let color = thread as usize % COLORS * COLOR_BYTES;
        let first = self.mapping.size_bytes() - color - 72;
        for (index, word) in words.iter().enumerate() {
            self.mapping.write(first + 8 * index, &word.to_le_bytes());
        }
        self.mapping.pointer(first)
    }
}
