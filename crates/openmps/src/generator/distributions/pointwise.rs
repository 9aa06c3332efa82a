//! Distributions whose elements are independent and cheap: one block of four words serves four elements.
//!
//! Thread t of the kernel draws block `offset + t` once and fills elements 4t to 4t+3 from its words; 64-bit integers take
//! two words each. The offset advances by the number of threads.

use half::{bf16, f16};

use super::element::{Boolean, Complex, Dtype, Element};
use super::slab::Output;
use super::{DistributionError, for_floats};
use crate::generator::philox::{Philox, uniform as unit};

/// Blocks that a pointwise distribution over `elements` elements takes, [`random_int`] excepted: a quarter, rounded up.
#[must_use]
pub fn pointwise_blocks(elements: u64) -> u64 {
    elements.div_ceil(4)
}

/// Blocks that [`random_int`] takes: a quarter of the elements, half of them for 64-bit integers.
#[must_use]
pub fn random_int_blocks(elements: u64, dtype: Dtype) -> u64 {
    elements.div_ceil(if dtype.size_bytes() == 8 { 2 } else { 4 })
}

/// A user's double as the float that kernels get.
#[expect(clippy::cast_possible_truncation, reason = "PyTorch narrows parameters to float")]
pub(super) fn narrow(value: f64) -> f32 {
    value as f32
}

/// Fills `out`, `E` elements from each block.
fn fill<T: Copy, const E: usize>(out: &mut [T], philox: Philox, map: impl Fn([u32; 4]) -> [T; E]) {
    let (whole, rest) = out.as_chunks_mut::<E>();
    let mut block = 0;
    for chunk in whole {
        *chunk = map(philox.words(block));
        block += 1;
    }
    if !rest.is_empty() {
        let last = map(philox.words(block));
        rest.copy_from_slice(&last[..rest.len()]);
    }
}

/// Fills `out` with float elements made from one word each.
fn fill_floats(
    kernel: &'static str,
    out: &mut Output,
    philox: Philox,
    map: impl Fn(u32) -> f32,
) -> Result<(), DistributionError> {
    for_floats!(kernel, out.dtype(), T => fill(out.as_slice::<T>(), philox, |words| words.map(|word| T::from_f32(map(word)))));
    Ok(())
}

/// Uniform in `[from, to)`: what rounds up to `to` is `from`. Floats only.
///
/// # Errors
/// [`DistributionError::Unsupported`].
pub fn uniform(out: &mut Output, philox: Philox, from: f64, to: f64) -> Result<(), DistributionError> {
    let (from, to) = (narrow(from), narrow(to));
    for_floats!("uniform_dist", out.dtype(), T => fill(out.as_slice::<T>(), philox, |words| words.map(|word| {
        below(T::from_f32((to - from).mul_add(unit(word), from)), from, to)
    })));
    Ok(())
}

/// `value`, or `from` where rounding to the element's type made it `to`.
#[expect(clippy::float_cmp, reason = "the kernel compares so")]
fn below<T: Element + Into<f32>>(value: T, from: f32, to: f32) -> T {
    if value.into() == to { T::from_f32(from) } else { value }
}

/// Two standard normal values from two words: Box and Muller's transform as in `c10/metal/random.h`.
fn box_muller(first: u32, second: u32) -> [f32; 2] {
    let radius = (-2.0 * unit(first).max(f32::EPSILON).ln()).sqrt();
    let (sin, cos) = (2.0 * std::f32::consts::PI * unit(second)).sin_cos();
    [radius * cos, radius * sin]
}

/// Fills `out` with float elements made from one standard normal value each.
fn fill_normals(
    kernel: &'static str,
    out: &mut Output,
    philox: Philox,
    map: impl Fn(f32) -> f32,
) -> Result<(), DistributionError> {
    for_floats!(kernel, out.dtype(), T => fill(out.as_slice::<T>(), philox, |[a, b, c, d]| {
        let ([first, second], [third, fourth]) = (box_muller(a, b), box_muller(c, d));
        [first, second, third, fourth].map(|z| T::from_f32(map(z)))
    }));
    Ok(())
}

/// Normal with the given mean and standard deviation. Floats only.
///
/// # Errors
/// [`DistributionError::Unsupported`].
pub fn normal(out: &mut Output, philox: Philox, mean: f64, std: f64) -> Result<(), DistributionError> {
    let (mean, std) = (narrow(mean), narrow(std));
    fill_normals("normal", out, philox, |z| std.mul_add(z, mean))
}

/// The exponential of a normal value. Floats only.
///
/// # Errors
/// [`DistributionError::Unsupported`].
pub fn log_normal(out: &mut Output, philox: Philox, mean: f64, std: f64) -> Result<(), DistributionError> {
    let (mean, std) = (narrow(mean), narrow(std));
    fill_normals("log_normal", out, philox, |z| std.mul_add(z, mean).exp())
}

/// Exponential with rate `lambda`. Floats only.
///
/// # Errors
/// [`DistributionError::Unsupported`].
pub fn exponential(out: &mut Output, philox: Philox, lambda: f64) -> Result<(), DistributionError> {
    let lambda = narrow(lambda);
    fill_floats("exponential", out, philox, |word| -(1.0 - unit(word).min(1.0 - f32::EPSILON)).ln() / lambda)
}

/// Cauchy with the given median and scale. Floats only.
///
/// # Errors
/// [`DistributionError::Unsupported`].
pub fn cauchy(out: &mut Output, philox: Philox, median: f64, sigma: f64) -> Result<(), DistributionError> {
    let (median, sigma) = (narrow(median), narrow(sigma));
    fill_floats("cauchy", out, philox, |word| {
        let unit = unit(word).clamp(f32::EPSILON, 1.0 - f32::EPSILON);
        sigma.mul_add((std::f32::consts::PI * (unit - 0.5)).tan(), median)
    })
}

/// Number of trials up to the first success of probability `p`. Floats, signed integers and bytes.
///
/// # Errors
/// [`DistributionError::Unsupported`].
pub fn geometric(out: &mut Output, philox: Philox, p: f64) -> Result<(), DistributionError> {
    let log_failure = narrow((-p).ln_1p());
    let trials = |word| (unit(word).max(f32::EPSILON).ln() / log_failure).ceil();
    match out.dtype() {
        Dtype::Int8 => fill_one_word::<i8>(out, philox, trials),
        Dtype::UInt8 => fill_one_word::<u8>(out, philox, trials),
        Dtype::Int16 => fill_one_word::<i16>(out, philox, trials),
        Dtype::Int32 => fill_one_word::<i32>(out, philox, trials),
        Dtype::Int64 => fill_one_word::<i64>(out, philox, trials),
        Dtype::Float32
        | Dtype::Float16
        | Dtype::BFloat16
        | Dtype::UInt16
        | Dtype::UInt32
        | Dtype::UInt64
        | Dtype::Bool
        | Dtype::ComplexFloat
        | Dtype::ComplexHalf => return fill_floats("geometric", out, philox, trials),
    }
    Ok(())
}

fn fill_one_word<T: Element>(out: &mut Output, philox: Philox, map: impl Fn(u32) -> f32) {
    fill(out.as_slice::<T>(), philox, |words| words.map(|word| T::from_f32(map(word))));
}

/// 1 with probability `p`, else 0. Floats, bool, bytes, signed integers, and complex numbers, whose real part is drawn.
///
/// # Errors
/// [`DistributionError::Unsupported`].
pub fn bernoulli(out: &mut Output, philox: Philox, p: f64) -> Result<(), DistributionError> {
    let p = narrow(p);
    let draw = |word| f32::from(u8::from(unit(word) < p));
    match out.dtype() {
        Dtype::Float32 => fill_one_word::<f32>(out, philox, draw),
        Dtype::Float16 => fill_one_word::<f16>(out, philox, draw),
        Dtype::BFloat16 => fill_one_word::<bf16>(out, philox, draw),
        Dtype::Int8 => fill_one_word::<i8>(out, philox, draw),
        Dtype::UInt8 => fill_one_word::<u8>(out, philox, draw),
        Dtype::Int16 => fill_one_word::<i16>(out, philox, draw),
        Dtype::Int32 => fill_one_word::<i32>(out, philox, draw),
        Dtype::Int64 => fill_one_word::<i64>(out, philox, draw),
        Dtype::Bool => fill_one_word::<Boolean>(out, philox, draw),
        Dtype::ComplexFloat => fill_one_word::<Complex<f32>>(out, philox, draw),
        Dtype::ComplexHalf => fill_one_word::<Complex<f16>>(out, philox, draw),
        dtype @ (Dtype::UInt16 | Dtype::UInt32 | Dtype::UInt64) => {
            return Err(DistributionError::Unsupported { kernel: "bernoulli_scalar", dtype });
        }
    }
    Ok(())
}

/// `base` plus a value modulo `range`, or plus a raw signed value of the element's width (32 bits at least) when `range`, cut
/// to that width, is 0. Everything but complex numbers. Takes [`random_int_blocks`].
///
/// # Errors
/// [`DistributionError::Unsupported`].
pub fn random_int(out: &mut Output, philox: Philox, base: i64, range: u64) -> Result<(), DistributionError> {
    match out.dtype() {
        Dtype::Float32 => fill_narrow::<f32>(out, philox, base, range),
        Dtype::Float16 => fill_narrow::<f16>(out, philox, base, range),
        Dtype::BFloat16 => fill_narrow::<bf16>(out, philox, base, range),
        Dtype::Int8 => fill_narrow::<i8>(out, philox, base, range),
        Dtype::UInt8 => fill_narrow::<u8>(out, philox, base, range),
        Dtype::Int16 => fill_narrow::<i16>(out, philox, base, range),
        Dtype::UInt16 => fill_narrow::<u16>(out, philox, base, range),
        Dtype::Int32 => fill_narrow::<i32>(out, philox, base, range),
        Dtype::UInt32 => fill_narrow::<u32>(out, philox, base, range),
        Dtype::Bool => fill_narrow::<Boolean>(out, philox, base, range),
        Dtype::Int64 => fill_wide::<i64>(out, philox, base, range),
        Dtype::UInt64 => fill_wide::<u64>(out, philox, base, range),
        dtype @ (Dtype::ComplexFloat | Dtype::ComplexHalf) => {
            return Err(DistributionError::Unsupported { kernel: "random_int", dtype });
        }
    }
    Ok(())
}

#[expect(clippy::cast_possible_truncation, reason = "narrow types take the range modulo 2^32")]
fn fill_narrow<T: Element>(out: &mut Output, philox: Philox, base: i64, range: u64) {
    let range = range as u32;
    fill(out.as_slice::<T>(), philox, |words| {
        words.map(|word| {
            let value = word.checked_rem(range).map_or_else(|| i64::from(word.cast_signed()), i64::from);
            T::from_i64(value.wrapping_add(base))
        })
    });
}

fn fill_wide<T: Element>(out: &mut Output, philox: Philox, base: i64, range: u64) {
    fill(out.as_slice::<T>(), philox, |[a, b, c, d]| {
        [(a, b), (c, d)].map(|(high, low)| {
            let word = u64::from(high) << 32 | u64::from(low);
            let value = word.checked_rem(range).unwrap_or(word);
            T::from_i64(value.cast_signed().wrapping_add(base))
        })
    });
}
