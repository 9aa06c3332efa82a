//! Textures and samplers from Metal source to memory: compiled in this process, run by the CPU engine through the runtime's public
//! API, compared with plain references on random images.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "tests: a failure shows the place, a run its seed")]

mod access;
mod errors;
mod harness;
mod reference;
mod sampling;
