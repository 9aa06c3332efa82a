//! Metal Shading Language to AIR: rewriting, clang, the standard library headers, diagnostics.
//!
//! [`MslCompiler`] takes one source string, as `torch.mps.compile_shader` does, and returns verified AIR with the
//! signatures of its kernels, or diagnostics in the coordinates of that string. It runs clang in the calling process,
//! which is meant to be the compiler process: clang can crash.
//!
//! Dependencies: `blake3` names precompiled headers by what they depend on.
#![forbid(unsafe_code)]

pub mod compiler;
pub mod diagnostics;
pub mod driver;
pub mod limits;
pub mod options;
pub mod rewrite;

pub use compiler::{MslCompiler, UnverifiedAir};
pub use driver::{Driver, DriverConfig, PendingHeader};
