//! Metal 4 tensors: products and convolutions that the threads of an execution scope compute together.
//!
//! A tensor is a [`Descriptor`](descriptor::Descriptor) in a thread's private memory: address, extents, strides. A cooperative tensor
//! has no memory of its own: each thread of the scope holds some of its elements in its private memory, and [`layout`] says
//! which. The threads meet at an operation (`group.rs`), and the worker computes it for all of them: it converts blocks of the
//! factors to f32 (i32 for integers), multiplies the blocks ([`multiply`]), and writes what came out to where it belongs.
//!
//! Guarantees: reads outside of a tensor's extents give 0 and writes there are dropped; sums of floats are in f32 and round once
//! to the destination's type; what a descriptor says is checked, and what cannot be right ends the launch with an error. Left
//! out: relaxed precision (it permits less than f32, and does not ask for it), tensors behind a handle, index types other than
//! i32 in descriptors. Source of all meanings: Apple-compiled libraries, executed and compared with references.

pub(crate) mod convolution;
pub(crate) mod descriptor;
pub(crate) mod element;
pub(crate) mod entry;
pub(crate) mod layout;
pub(crate) mod matmul;
pub(crate) mod memory;
pub(crate) mod multiply;
pub(crate) mod request;
