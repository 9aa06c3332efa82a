//! Development only: what the tests of several crates share.
//!
//! So far [`fuzzing`]: the bodies of the fuzz targets, which `fuzz/` runs under libFuzzer and this crate's tests run over the
//! seeds and random mutations of them. Nothing here is part of the product.
#![forbid(unsafe_code)]

pub mod fuzzing;
