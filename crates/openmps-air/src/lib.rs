//! AIR: verification, reflection, and the table of `air.*` intrinsics with their references.
//!
//! [`intrinsics`] needs no LLVM: it says what every function is called, what it takes, and what it computes. [`verify`] turns
//! untrusted bitcode into [`VerifiedAir`](openmps_engine::VerifiedAir), and [`reflect`] reads the signatures of its kernels.
//!
//! Left out: the container around bitcode (`.metallib`), textures, Metal 4 tensors, and function constants that the host sets.
//!
//! Dependencies: `openmps-engine` has the types that leave here, `openmps-llvm` parses, `thiserror` writes the error texts.
#![forbid(unsafe_code)]

pub mod element;
pub mod intrinsics;
