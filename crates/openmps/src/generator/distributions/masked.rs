//! Bernoulli draws with a probability for each element, and dropout.
//!
//! Both use a quarter as many blocks as there are elements but advance the offset by the number of elements, as PyTorch does.

use super::element::{Boolean, Dtype, Element};
use super::pointwise::narrow;
use super::slab::{Floats, Input, Output};
use super::{DistributionError, check_size, for_floats};
use crate::generator::philox::{Philox, uniform as unit};

use half::{bf16, f16};

/// The uniform value of element `index`, with one block for each four elements.
struct Units {
    philox: Philox,
    words: [u32; 4],
}

impl Units {
    fn new(philox: Philox) -> Self {
        Self { philox, words: [0; 4] }
    }

    /// Elements must be asked for in order.
    fn at(&mut self, index: usize) -> f32 {
        if index.is_multiple_of(4) {
            self.words = self.philox.words((index / 4) as u64);
        }
        unit(self.words[index % 4])
    }
}

/// 1 with the probability that `p` has for the element, else 0; dtypes as for [`bernoulli`](super::bernoulli). Advances the
/// offset by the number of elements.
///
/// # Errors
/// [`DistributionError::Unsupported`] for the dtype of `out` or `p`, [`DistributionError::Size`].
pub fn bernoulli_tensor(out: &mut Output, philox: Philox, p: &Input) -> Result<(), DistributionError> {
    const KERNEL: &str = "bernoulli_tensor";
    check_size(KERNEL, "probability", p.len(), out.len())?;
    let p = p.floats().ok_or(DistributionError::Unsupported { kernel: KERNEL, dtype: p.dtype() })?;
    match out.dtype() {
        Dtype::Float32 => draw::<f32>(out, philox, p),
        Dtype::Float16 => draw::<f16>(out, philox, p),
        Dtype::BFloat16 => draw::<bf16>(out, philox, p),
        Dtype::Int8 => draw::<i8>(out, philox, p),
        Dtype::UInt8 => draw::<u8>(out, philox, p),
        Dtype::Int16 => draw::<i16>(out, philox, p),
        Dtype::Int32 => draw::<i32>(out, philox, p),
        Dtype::Int64 => draw::<i64>(out, philox, p),
        Dtype::Bool => draw::<Boolean>(out, philox, p),
        dtype @ (Dtype::UInt16 | Dtype::UInt32 | Dtype::UInt64 | Dtype::ComplexFloat | Dtype::ComplexHalf) => {
            return Err(DistributionError::Unsupported { kernel: KERNEL, dtype });
        }
    }
    Ok(())
}

fn draw<T: Element>(out: &mut Output, philox: Philox, p: Floats<'_>) {
    let mut units = Units::new(philox);
    for (index, element) in out.as_slice::<T>().iter_mut().enumerate() {
        *element = T::from_i64(i64::from(units.at(index) < p.get(index)));
    }
}

/// Keeps each element of `input` with probability `1 - p`, scaled by `1 / (1 - p)`, and puts 0 in place of the others;
/// `mask`, of dtype bool, says which were kept. `out` has the dtype of `input`, a float. Advances the offset by the number of
/// elements.
///
/// # Errors
/// [`DistributionError::DropoutInput`], [`DistributionError::Size`]; [`DistributionError::Unsupported`] where `out` or
/// `mask` has another dtype than it should.
pub fn dropout(
    out: &mut Output,
    mask: &mut Output,
    philox: Philox,
    input: &Input,
    p: f64,
) -> Result<(), DistributionError> {
    const KERNEL: &str = "native_dropout";
    let values = input.floats().ok_or(DistributionError::DropoutInput(input.dtype()))?;
    check_size(KERNEL, "output", out.len(), input.len())?;
    check_size(KERNEL, "mask", mask.len(), input.len())?;
    if out.dtype() != input.dtype() {
        return Err(DistributionError::Unsupported { kernel: KERNEL, dtype: out.dtype() });
    }
    if mask.dtype() != Dtype::Bool {
        return Err(DistributionError::Unsupported { kernel: KERNEL, dtype: mask.dtype() });
    }
    let keep = narrow(1.0 - p);
    let scale = if p >= 1.0 { 0.0 } else { narrow(1.0 / (1.0 - p)) };
    let mask = mask.as_slice::<Boolean>();
    let mut units = Units::new(philox);
    for_floats!(KERNEL, out.dtype(), T => {
        for (index, element) in out.as_slice::<T>().iter_mut().enumerate() {
            let kept = units.at(index) < keep;
            mask[index] = Boolean(u8::from(kept));
            *element = T::from_f32(if kept { values.get(index) * scale } else { 0.0 });
        }
    });
    Ok(())
}
