//! Development only: what the tests of several crates share.
//!
//! [`fuzzing`]: the bodies of the fuzz targets, which `fuzz/` runs under libFuzzer and this crate's tests run over the seeds and
//! random mutations of them. [`machine`]: Metal source text compiled and run in this process. [`accuracy`]: the errors of the
//! math functions. [`differential`]: random kernels on every engine and in an interpreter. [`pipelines`]: a pipeline for every kernel of real libraries. Nothing here is part of the product.
#![forbid(unsafe_code)]

pub mod accuracy;
pub mod differential;
pub mod fuzzing;
pub mod library;
pub mod machine;
pub mod pipelines;
