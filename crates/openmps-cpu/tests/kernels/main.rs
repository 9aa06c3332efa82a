//! Kernels as LLVM IR text against references in Rust, on random inputs, through the whole engine: SIMD-groups as vectors. The target
//! `scalar` runs the same with one thread after the other.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "tests: a failure shows the place, a run its seed")]
#![expect(clippy::type_complexity, reason = "tables of a name and a reference")]

mod alignment;
mod atomics;
mod barriers;
mod built_ins;
mod division;
mod elementwise;
mod errors;
mod floats;
mod harness;
mod lanes;
mod large;
mod libraries;
mod table;
mod tensors;

use openmps_engine::EngineChoice;

/// What kernels become.
const ENGINE: EngineChoice = EngineChoice::Vector;
