//! Random kernels on every engine and in an interpreter: the differential test of the engines.
//!
//! A seed makes a library of kernels (`generate`) in a small language (`program`), which becomes Metal source text (`render`), is
//! compiled by our front end, and runs on the engines with many grids and inputs (`check`). The results must be those of a plain
//! interpreter of the small language (`interpret`, `scalar`), bit for bit; only NaNs are alike. `reduce` makes a kernel that fails
//! small. Leaves out textures, matrices, tensors, and functions whose results are bounded by ulps only (`accuracy` has those).
//!
//! `./dev fuzz engine` runs it for as long as asked, in processes of its own since generated code may crash or hang; a test of the
//! crate runs a fixed number of kernels.

mod check;
mod generate;
mod interpret;
mod memory;
mod program;
pub mod reduce;
mod render;
mod scalar;

pub use check::{
    Difference, KERNELS, LAUNCHES, Tally, Verdict, check_fast_kernel, check_kernel, check_library, source,
};
