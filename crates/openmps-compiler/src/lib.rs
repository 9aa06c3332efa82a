//! The compiler process: its protocol, its client with the disk cache, and the server.
//!
//! LLVM and clang never live in the user's process: a crash of clang cannot take it along, an idle process stays small,
//! no other LLVM in it clashes with ours, and an answer from the cache needs no LLVM at all. [`Client`] is what the
//! runtime uses; it links no LLVM. The executable `openmps-compiler` (feature `server`) is what it starts.
//!
//! Unsafe code: `process` (a file in memory, a write without SIGPIPE) and `server` (signals, limits, waiting on the
//! socket).
//!
//! Dependencies: `blake3` names cache entries and checks them, `postcard` and `serde` carry plain data between the
//! processes and to the disk, `libc` has the calls that std has not, `thiserror` writes error texts.

pub mod cache;
pub mod client;
mod inspect;
pub mod limits;
mod pool;
mod process;
pub mod protocol;
#[cfg(feature = "server")]
pub mod server;

pub use client::{Client, ClientConfig};
pub use process::{ProcessError, ProcessLimits};
