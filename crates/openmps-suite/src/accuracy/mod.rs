//! Accuracy of the math functions of the Metal standard library as they really run, in ulps, against the specification.
//!
//! Metal source text goes through the front end and the CPU engine ([`crate::machine`]); results are compared with
//! multiple-precision values ([`exact`]) and held against the tables of the specification ([`bounds`], [`functions`]).
//! Operands are corner values, then random ones of a printed seed, half of them random bit patterns and half where errors are
//! likely ([`functions::Function::focus`]); with enough points, half functions of one operand run over all 65,536.
//! `./dev accuracy` prints the table of the book, and the crate's tests run a smaller one over fresh random numbers.
//!
//! Subnormal floats follow section 8.5: a result is right if it is within the bound of the exact value for the operands, or
//! for the operands with subnormal ones as zero, or zero where that value is subnormal.

pub mod bounds;
pub mod exact;
pub mod format;
pub mod functions;
pub mod measure;
pub mod report;
