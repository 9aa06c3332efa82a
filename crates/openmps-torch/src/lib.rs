//! The plug-in's Rust side: the C ABI of the runtime that the C++ shim in `csrc/` calls.
//!
//! The extension module `_openmps.abi3.so` links this crate, so exactly one shared object holds the runtime's statics; the
//! shim links to that object.

pub mod abi;
