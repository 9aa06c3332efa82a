//! Kernels as LLVM IR text against references in Rust, on random inputs, through the whole engine.

mod atomics;
mod barriers;
mod built_ins;
mod elementwise;
mod errors;
mod floats;
mod harness;
mod lanes;
mod table;
