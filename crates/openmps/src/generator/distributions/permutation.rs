//! Random permutations, by size as PyTorch's: a shuffle, a sort of float keys, or a radix sort of 24-bit keys.
//!
//! The steps are those of the compiled kernels in PyTorch's macOS wheel. The small size is Fisher and Yates' shuffle from the end
//! with one word a step; the middle one a stable ascending sort of uniform floats; the large one a stable sort of 24-bit keys,
//! then the same shuffle inside each run of equal keys, from the block whose number is the run's place.

use half::{bf16, f16};

use super::DistributionError;
use super::element::{Dtype, Element};
use super::slab::Output;
use crate::generator::philox::{Philox, uniform as unit};

/// Largest size that one threadgroup shuffles, for int32 and int64.
const SHUFFLE_MAX: u64 = 384;
/// Smallest size that is sorted by 24-bit keys.
const RADIX_MIN: u64 = 32_768;

/// Which algorithm a size takes.
enum Method {
    Shuffle,
    FloatKeys,
    RadixKeys,
}

fn method(n: u64, dtype: Dtype) -> Method {
    if n <= SHUFFLE_MAX && matches!(dtype, Dtype::Int32 | Dtype::Int64) {
        Method::Shuffle
    } else if n < RADIX_MIN {
        Method::FloatKeys
    } else {
        Method::RadixKeys
    }
}

/// Blocks that [`randperm`] takes.
#[must_use]
pub fn randperm_blocks(n: u64, dtype: Dtype) -> u64 {
    match method(n, dtype) {
        Method::Shuffle => n.saturating_sub(1).div_ceil(4),
        Method::FloatKeys => n.div_ceil(4),
        Method::RadixKeys => n.div_ceil(4) + n,
    }
}

/// The numbers from 0 to one below the number of elements, in random order. Everything but bool and complex numbers. Takes
/// [`randperm_blocks`].
///
/// # Errors
/// [`DistributionError::Unsupported`], [`DistributionError::PermutationSize`].
pub fn randperm(out: &mut Output, philox: Philox) -> Result<(), DistributionError> {
    let n = u32::try_from(out.len()).map_err(|_| DistributionError::PermutationSize(out.len()))?;
    if let dtype @ (Dtype::Bool | Dtype::ComplexFloat | Dtype::ComplexHalf) = out.dtype() {
        return Err(DistributionError::Unsupported { kernel: "randperm", dtype });
    }
    let order = match method(u64::from(n), out.dtype()) {
        Method::Shuffle => shuffled(n, philox),
        Method::FloatKeys => sorted_by_float_keys(n, philox),
        Method::RadixKeys => sorted_by_radix_keys(n, philox),
    };
    match out.dtype() {
        Dtype::Float32 => write::<f32>(out, &order),
        Dtype::Float16 => write::<f16>(out, &order),
        Dtype::BFloat16 => write::<bf16>(out, &order),
        Dtype::Int8 => write::<i8>(out, &order),
        Dtype::UInt8 => write::<u8>(out, &order),
        Dtype::Int16 => write::<i16>(out, &order),
        Dtype::UInt16 => write::<u16>(out, &order),
        Dtype::Int32 => write::<i32>(out, &order),
        Dtype::UInt32 => write::<u32>(out, &order),
        Dtype::Int64 => write::<i64>(out, &order),
        Dtype::UInt64 => write::<u64>(out, &order),
        Dtype::Bool | Dtype::ComplexFloat | Dtype::ComplexHalf => unreachable!("refused above"),
    }
    Ok(())
}

fn write<T: Element>(out: &mut Output, order: &[u32]) {
    for (element, &number) in out.as_slice::<T>().iter_mut().zip(order) {
        *element = T::from_i64(i64::from(number));
    }
}

/// Fisher and Yates' shuffle from the end, with the words of `philox` in order.
fn shuffle<T>(items: &mut [T], philox: Philox) {
    for (step, last) in (1..items.len()).rev().enumerate() {
        let word = philox.words(step as u64 / 4)[step % 4];
        items.swap(last, word as usize % (last + 1));
    }
}

fn shuffled(n: u32, philox: Philox) -> Vec<u32> {
    let mut order: Vec<u32> = (0..n).collect();
    shuffle(&mut order, philox);
    order
}

fn sorted_by_float_keys(n: u32, philox: Philox) -> Vec<u32> {
    let keys: Vec<f32> = (0..n).map(|i| unit(philox.words(u64::from(i / 4))[i as usize % 4])).collect();
    let mut order: Vec<u32> = (0..n).collect();
    order.sort_by(|&a, &b| keys[a as usize].total_cmp(&keys[b as usize]));
    order
}

fn sorted_by_radix_keys(n: u32, philox: Philox) -> Vec<u32> {
    // The key in the upper half, the number in the lower: the 24-bit keys of `random_int` over floats.
    let key = |i: u32| philox.words(u64::from(i / 4))[i as usize % 4] & 0x00FF_FFFF;
    let mut items: Vec<u64> = (0..n).map(|i| u64::from(key(i)) << 32 | u64::from(i)).collect();
    let mut other = vec![0; items.len()];
    for shift in [32, 40, 48] {
        radix_pass(&items, &mut other, shift);
        std::mem::swap(&mut items, &mut other);
    }
    let ties = philox.skip(u64::from(n).div_ceil(4));
    let mut start = 0;
    for run in items.chunk_by_mut(|a, b| a >> 32 == b >> 32) {
        shuffle(run, ties.skip(start as u64));
        start += run.len();
    }
    items.into_iter().map(crate::generator::philox::low).collect()
}

/// Sorts by the eight bits from `shift` on, keeping the order of equal ones.
fn radix_pass(from: &[u64], to: &mut [u64], shift: u32) {
    let digit = |item: u64| usize::try_from(item >> shift & 0xFF).expect("eight bits");
    let mut next = [0_usize; 257];
    for &item in from {
        next[digit(item) + 1] += 1;
    }
    for bucket in 1..257 {
        next[bucket] += next[bucket - 1];
    }
    for &item in from {
        let slot = &mut next[digit(item)];
        to[*slot] = item;
        *slot += 1;
    }
}
