//! The CPU engine: AIR kernels as machine code on the host's cores.
//!
//! With the feature `codegen`, [`LlvmCodeGenerator`] lowers AIR and emits an object; without it the crate only loads and runs
//! objects that another process made. [`CpuEngine`] implements the engine contract over either. A kernel without lane
//! operations is one function over a threadgroup's threads, split at its barriers (`split`); others run each thread as a
//! fiber. This is the scalar engine, the reference of the vectorizing one (`vectorize`); a kernel can begin with the one and go on
//! with the other (`tier`).
//!
//! Unsafe code lives in `jit` (mappings, the jump into generated code), `fiber` and `group` (stacks), `runtime` and `lanes`
//! (functions that generated code calls), `tensor` (tensors at addresses that kernels give), `texture` (texels), `pool` (shared
//! launches) and `kernel` (the call).
//!
//! Dependencies: `object` reads ELF, `libc` gives mmap and futex, `thiserror` writes error texts.

pub mod abi;
mod background;
mod bind;
mod cost;
mod engine;
mod fiber;
mod float;
mod group;
mod jit;
mod kernel;
mod lanes;
#[cfg(feature = "codegen")]
mod lower;
mod outer;
#[cfg(feature = "codegen")]
mod pipeline;
mod pool;
mod rows;
mod runtime;
mod scratch;
#[cfg(feature = "codegen")]
mod split;
mod target;
mod tensor;
mod texture;
mod tier;
mod variants;
mod vectorize;

pub use engine::{CodeGenerator, CpuEngine, EngineCounts};
pub use jit::load::LoadError;
#[cfg(feature = "codegen")]
pub use pipeline::{FiberCodeGenerator, LlvmCodeGenerator, cross_compile};
pub use pool::{limit_threads, thread_count};
pub use target::target_id;
pub use vectorize::Refusal;
