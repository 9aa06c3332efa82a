//! Multinomial draws with replacement: a search in each row's cumulated weights.

use super::element::Dtype;
use super::slab::{Input, Output};
use super::{DistributionError, check_size};
use crate::generator::philox::{Philox, uniform as unit};

/// Blocks that `rows * samples` draws take: a quarter, rounded up.
#[must_use]
pub fn multinomial_blocks(draws: u64) -> u64 {
    draws.div_ceil(4)
}

/// Draws `samples` category numbers (int64) for each row of `weights`, a matrix of `rows` rows of floats that need not sum
/// to 1. Takes [`multinomial_blocks`] of `rows * samples`.
///
/// # Errors
/// [`DistributionError::Unsupported`]; [`DistributionError::Size`] where the sizes do not belong together.
pub fn multinomial(
    out: &mut Output,
    philox: Philox,
    weights: &Input,
    rows: usize,
    samples: usize,
) -> Result<(), DistributionError> {
    const KERNEL: &str = "multinomial_with_replacement";
    let unsupported = |dtype| DistributionError::Unsupported { kernel: KERNEL, dtype };
    let values = weights.floats().ok_or(unsupported(weights.dtype()))?;
    if out.dtype() != Dtype::Int64 {
        return Err(unsupported(out.dtype()));
    }
    check_size(KERNEL, "output", out.len(), rows * samples)?;
    if out.is_empty() {
        return Ok(());
    }
    let categories = weights.len() / rows;
    check_size(KERNEL, "weights", weights.len(), rows * categories.max(1))?;

    let mut cumulated = vec![0.0_f32; categories];
    for (row, drawn) in out.as_slice::<i64>().chunks_mut(samples).enumerate() {
        let mut sum = 0.0;
        for (category, cumulated) in cumulated.iter_mut().enumerate() {
            sum += values.get(row * categories + category);
            *cumulated = sum;
        }
        for (sample, category) in drawn.iter_mut().enumerate() {
            let index = row * samples + sample;
            let word = philox.words((index / 4) as u64)[index % 4];
            let point = unit(word) * sum;
            let found = cumulated.partition_point(|&cumulated| cumulated <= point).min(categories - 1);
            *category = i64::try_from(found).unwrap_or_else(|_| unreachable!("an index of a vector fits i64"));
        }
    }
    Ok(())
}
