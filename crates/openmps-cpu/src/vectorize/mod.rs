//! Whole-function vectorisation: 32 threads of a SIMD-group become one call on vectors of 32 elements.
//!
//! - `graph`: order of blocks, loops, post-dominators.
//! - `shape`, `transfer`, `analysis`: which values lanes share, which differ by a constant step; where lanes part.
//! - `across`: whether a row's threads write far from each other.
//! - `private`: variables of a thread that are laid out lane by lane.
//! - `group`: accesses of a thread that lie side by side.
//! - `outer`: blocks of sums of matrices.
//! - `emit`: the vector form.
//! - `together`: whether threads pass the same barriers.
//! - `marker`: names of lane operations on the way here.
//! - `choice`: what is worth it.
//! - `refusal`: what is left to the scalar engine.
//!
//! Guarantees: one call does what the threads would do one instruction after the other in lockstep; a lane that is not active
//! touches no memory. What has no vector form is refused, never done wrongly. The method is Ralf Karrenberg's ("Automatic SIMD
//! vectorization of SSA-based control flow graphs", 2015) with two copies of every block in place of linearised flow alone.

#[cfg(feature = "codegen")]
mod across;
#[cfg(feature = "codegen")]
mod analysis;
#[cfg(feature = "codegen")]
mod choice;
#[cfg(feature = "codegen")]
mod emit;
#[cfg(feature = "codegen")]
mod graph;
#[cfg(feature = "codegen")]
mod group;
#[cfg(feature = "codegen")]
mod marker;
#[cfg(feature = "codegen")]
mod outer;
#[cfg(feature = "codegen")]
mod private;
mod refusal;
#[cfg(feature = "codegen")]
mod run;
#[cfg(feature = "codegen")]
mod shape;
#[cfg(feature = "codegen")]
mod together;
#[cfg(feature = "codegen")]
mod transfer;

#[cfg(feature = "codegen")]
pub(crate) use choice::{Request, Size, Slots, is_too_large};
#[cfg(feature = "codegen")]
pub(crate) use graph::has_loop;
#[cfg(feature = "codegen")]
pub(crate) use marker::{MATRIX_LOAD, MATRIX_STORE, Marker};
#[cfg(feature = "codegen")]
pub(crate) use outer::unrolled_latches;
pub use refusal::Refusal;
#[cfg(feature = "codegen")]
pub(crate) use run::{Barriers, LANES_SYMBOL, run};

#[cfg(all(test, feature = "codegen"))]
mod tests;
