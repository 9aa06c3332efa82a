//! Limits of the compiler process, with where their numbers come from.

use std::num::NonZero;
use std::thread;
use std::time::Duration;

/// How long one answer may take by default. The slowest public library in one string (ggml, 689 kernels) takes some five
/// seconds on one core; what is left is for loaded machines.
pub const TIME_MAX_DEFAULT: Duration = Duration::from_secs(120);

/// Address space that the process may use by default, where the machine has twice as much memory. The libraries, their
/// heap and the precompiled headers take less than 1 GiB; the largest known library (19,455 kernels) is 80 MB of bitcode.
pub const MEMORY_BYTES_MAX_DEFAULT: u64 = 8 << 30;

/// The status with which the server ends when it may have no more memory: `ENOMEM`, which it uses for nothing else.
pub const OUT_OF_MEMORY_STATUS: i32 = libc::ENOMEM;

/// The stack on which requests are answered. LLVM recurses over expressions and blocks; untouched pages cost nothing.
pub const STACK_BYTES: usize = 64 << 20;

/// How much the process that builds in the background gives way to others, as `nice` counts: a tenth of a CPU that others want.
pub const BACKGROUND_NICENESS: i32 = 10;

/// Compiler processes that one process has at a time by default, at most: each holds some 100 MB while it waits.
const PROCESSES_MAX: usize = 16;

/// As many compiler processes as this process may use CPUs. They are started only when that many threads ask at once.
pub(crate) fn processes_default() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get).min(PROCESSES_MAX)
}
