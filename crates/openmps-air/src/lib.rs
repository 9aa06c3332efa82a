//! AIR: the container around it, verification, reflection, and the table of `air.*` intrinsics with their references.
//!
//! [`intrinsics`] needs no LLVM: it says what every function is called, what it takes, and what it computes. [`verify`] turns
//! untrusted bitcode into [`VerifiedAir`](openmps_engine::VerifiedAir), [`reflect`] reads the signatures of its kernels, and
//! [`specialize`] gives function constants their values, and [`count`] makes a kernel that counts what it does by line.
//!
//! [`metallib`] reads and writes the container around bitcode and needs no LLVM either.
//!
//! Left out: ray tracing and multisampled textures.
//!
//! Dependencies: `openmps-engine` has the types that leave here, `openmps-llvm` parses, `thiserror` writes the error texts.
#![forbid(unsafe_code)]

#[cfg(feature = "llvm")]
mod constructors;
#[cfg(feature = "llvm")]
pub mod count;
pub mod element;
#[cfg(feature = "llvm")]
pub mod error;
pub mod intrinsics;
pub mod limits;
pub mod metallib;
#[cfg(feature = "llvm")]
mod reach;
#[cfg(feature = "llvm")]
pub mod reflect;
#[cfg(feature = "llvm")]
pub mod specialize;
#[cfg(feature = "llvm")]
pub mod split;
#[cfg(feature = "llvm")]
pub mod verify;

#[cfg(feature = "llvm")]
pub use count::count;
#[cfg(feature = "llvm")]
pub use error::Error;
#[cfg(feature = "llvm")]
pub use reflect::reflect;
#[cfg(feature = "llvm")]
pub use specialize::specialize;
#[cfg(feature = "llvm")]
pub use split::split;
#[cfg(feature = "llvm")]
pub use verify::{verify, verify_and_reflect};
