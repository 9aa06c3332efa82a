//! Random tensors: each function fills contiguous memory from a seed and a base offset.
//!
//! Values are those of PyTorch's MPS kernels as the engine runs them, bit for bit on CPUs with fused multiply-add. A caller
//! reserves as many blocks as the function's `*_blocks` says and passes what [`Generator::reserve`](super::Generator::reserve)
//! returned; the functions themselves keep no state, so work over one range of elements does not depend on another. Tensors
//! with more than 2^32 elements are the caller's to split.
//!
//! Parameters are the user's doubles, narrowed to float as PyTorch does. Bounds of parameters are checked above, where
//! PyTorch checks them.

mod counts;
mod element;
mod functions;
mod gamma;
mod masked;
mod multinomial;
mod permutation;
mod pointwise;
mod slab;

pub use counts::{binomial, poisson};
pub use element::Dtype;
pub use gamma::{dirichlet, gamma};
pub use masked::{bernoulli_tensor, dropout};
pub use multinomial::{multinomial, multinomial_blocks};
pub use permutation::{randperm, randperm_blocks};
pub use pointwise::{
    bernoulli, cauchy, exponential, geometric, log_normal, normal, pointwise_blocks, random_int, random_int_blocks,
    uniform,
};
pub use slab::{Input, Output};

use thiserror::Error;

/// Blocks that each element of [`gamma`], [`dirichlet`], [`poisson`] and [`binomial`] owns.
pub const BLOCKS_PER_ELEMENT: u64 = 32;

/// Why nothing was drawn.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DistributionError {
    /// The kernel has no form for this dtype; the text is PyTorch's.
    #[error("Failed to create function state object for: {kernel}_{}", .dtype.metal_name())]
    Unsupported {
        /// The kernel's name.
        kernel: &'static str,
        /// The dtype given.
        dtype: Dtype,
    },
    /// Dropout of integers; the text is PyTorch's.
    #[error("native_dropout_mps: input must be a floating-point or complex tensor, got {}", .0.scalar_type())]
    DropoutInput(Dtype),
    /// Two tensors that belong together have different sizes.
    #[error("{kernel}: {what} has {given} elements, expected {expected}")]
    Size {
        /// The function.
        kernel: &'static str,
        /// Which tensor.
        what: &'static str,
        /// Its elements.
        given: usize,
        /// What was expected.
        expected: usize,
    },
    /// More elements than the algorithm's 32-bit indices reach.
    #[error("randperm: n = {0} is beyond 2^32")]
    PermutationSize(usize),
}

/// Checks that `given` is `expected`.
fn check_size(
    kernel: &'static str,
    what: &'static str,
    given: usize,
    expected: usize,
) -> Result<(), DistributionError> {
    if given == expected { Ok(()) } else { Err(DistributionError::Size { kernel, what, given, expected }) }
}

/// Runs `$body` with `$T` bound to the float type of `$dtype`.
macro_rules! for_floats {
    ($kernel:expr, $dtype:expr, $T:ident => $body:expr) => {
        match $dtype {
            Dtype::Float32 => {
                type $T = f32;
                $body
            }
            Dtype::Float16 => {
                type $T = half::f16;
                $body
            }
            Dtype::BFloat16 => {
                type $T = half::bf16;
                $body
            }
            dtype @ (Dtype::Int8
            | Dtype::UInt8
            | Dtype::Int16
            | Dtype::UInt16
            | Dtype::Int32
            | Dtype::UInt32
            | Dtype::Int64
            | Dtype::UInt64
            | Dtype::Bool
            | Dtype::ComplexFloat
            | Dtype::ComplexHalf) => {
                return Err(DistributionError::Unsupported { kernel: $kernel, dtype });
            }
        }
    };
}
use for_floats;

#[cfg(test)]
mod tests;
