//! Limits of the compiler process, with where their numbers come from.

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
