//! Distributions whose elements are independent and cheap: one block of four words serves four elements.
//!
//! Thread t of the kernel draws block `offset + t` once and fills elements 4t to 4t+3 from its words; 64-bit integers take
//! two words each. The offset advances by the number of threads.

use half::{bf16, f16};

use super::element::{Boolean, Dtype, Element};
use super::functions::{exp, fused, ln, sin_cos, tan};
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
    let blocks = |out: &mut [T]| {
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
    };
    fused(blocks, out);
}

/// Elements that are drawn at once; a multiple of four.
const BATCH: usize = 256;

/// Fills `out` with what `map` makes of uniform values, one a word, in place. It gets whole blocks.
fn fill_batches<T: Element>(out: &mut [T], philox: Philox, map: impl Fn(&mut [f32])) {
    let (mut batch, mut philox) = ([0.0; BATCH], philox);
    for elements in out.chunks_mut(BATCH) {
        let values = &mut batch[..elements.len().next_multiple_of(4)];
        fill(values, philox, |words| words.map(unit));
        map(values);
        for (element, value) in elements.iter_mut().zip(&*values) {
            *element = T::from_f32(*value);
        }
        philox = philox.skip(pointwise_blocks(elements.len() as u64));
    }
}

/// The same for float elements.
fn fill_floats(
    kernel: &'static str,
    out: &mut Output,
    philox: Philox,
    map: impl Fn(&mut [f32]),
) -> Result<(), DistributionError> {
    for_floats!(kernel, out.dtype(), T => fill_batches(out.as_slice::<T>(), philox, map));
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

/// `deviation` times two standard normal values, plus `mean`, from each two uniform values: Box and Muller's transform as in
/// `c10/metal/random.h`.
#[inline(always)]
fn box_muller((units, mean, deviation): (&mut [f32], f32, f32)) {
    for pair in units.as_chunks_mut().0 {
        let [first, second] = *pair;
        let radius = (-2.0 * ln(first.max(f32::EPSILON))).sqrt();
        let (sin, cos) = sin_cos(2.0 * std::f32::consts::PI * second);
        *pair = [deviation.mul_add(radius * cos, mean), deviation.mul_add(radius * sin, mean)];
    }
}

/// Normal with the given mean and standard deviation. Floats only.
///
/// # Errors
/// [`DistributionError::Unsupported`].
pub fn normal(out: &mut Output, philox: Philox, mean: f64, std: f64) -> Result<(), DistributionError> {
    let (mean, std) = (narrow(mean), narrow(std));
    fill_floats("normal", out, philox, |units| fused(box_muller, (units, mean, std)))
}

/// The exponential of a normal value. Floats only.
///
/// # Errors
/// [`DistributionError::Unsupported`].
pub fn log_normal(out: &mut Output, philox: Philox, mean: f64, std: f64) -> Result<(), DistributionError> {
    let (mean, std) = (narrow(mean), narrow(std));
    fill_floats("log_normal", out, philox, |units| {
        fused(box_muller, (&mut *units, mean, std));
        fused(|units: &mut [f32]| units.iter_mut().for_each(|value| *value = exp(*value)), units);
    })
}

/// Exponential with rate `lambda`. Floats only.
///
/// # Errors
/// [`DistributionError::Unsupported`].
pub fn exponential(out: &mut Output, philox: Philox, lambda: f64) -> Result<(), DistributionError> {
    let lambda = narrow(lambda);
    fill_floats("exponential", out, philox, |units| {
        let map = |unit: &mut f32| *unit = -ln(1.0 - unit.min(1.0 - f32::EPSILON)) / lambda;
        fused(|units: &mut [f32]| units.iter_mut().for_each(map), units);
    })
}

/// Cauchy with the given median and scale. Floats only.
///
/// # Errors
/// [`DistributionError::Unsupported`].
pub fn cauchy(out: &mut Output, philox: Philox, median: f64, sigma: f64) -> Result<(), DistributionError> {
    let (median, sigma) = (narrow(median), narrow(sigma));
    fill_floats("cauchy", out, philox, |units| {
        let map = |unit: &mut f32| {
            let within = unit.clamp(f32::EPSILON, 1.0 - f32::EPSILON);
            *unit = sigma.mul_add(tan(std::f32::consts::PI * (within - 0.5)), median);
        };
        fused(|units: &mut [f32]| units.iter_mut().for_each(map), units);
    })
}

/// Number of trials up to the first success of probability `p`. Floats, signed integers and bytes.
///
/// # Errors
/// [`DistributionError::Unsupported`].
pub fn geometric(out: &mut Output, philox: Philox, p: f64) -> Result<(), DistributionError> {
    let log_failure = narrow((-p).ln_1p());
    let trials = |units: &mut [f32]| {
        let map = |unit: &mut f32| *unit = (ln(unit.max(f32::EPSILON)) / log_failure).ceil();
        fused(|units: &mut [f32]| units.iter_mut().for_each(map), units);
    };
    match out.dtype() {
        Dtype::Int8 => fill_batches::<i8>(out.as_slice(), philox, trials),
        Dtype::UInt8 => fill_batches::<u8>(out.as_slice(), philox, trials),
        Dtype::Int16 => fill_batches::<i16>(out.as_slice(), philox, trials),
        Dtype::Int32 => fill_batches::<i32>(out.as_slice(), philox, trials),
        Dtype::Int64 => fill_batches::<i64>(out.as_slice(), philox, trials),
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

/// 1 with probability `p`, else 0. Floats, bool, bytes and signed integers.
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
        dtype @ (Dtype::UInt16 | Dtype::UInt32 | Dtype::UInt64 | Dtype::ComplexFloat | Dtype::ComplexHalf) => {
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
