//! Poisson and binomial counts, 32 blocks for each element.
//!
//! PyTorch's kernels are not public, so the values are ours: sequential inversion of one 53-bit uniform for means below 10,
//! else Hörmann's transformed rejection (PTRS and BTRS), in double. Offsets advance as PyTorch's do.

use super::element::Element;
use super::slab::{Input, Output};
use super::{BLOCKS_PER_ELEMENT, DistributionError, Dtype, check_size, for_floats};
use crate::generator::philox::Philox;

/// Means from which rejection is used.
const REJECTION_MEAN_MIN: f64 = 10.0;

/// Uniform values of one element, two words each, from the element's first block on.
struct Draws {
    philox: Philox,
    next: u64,
    words: [u32; 4],
    used: usize,
}

impl Draws {
    fn of_element(philox: Philox, element: usize) -> Self {
        Self { philox, next: element as u64 * BLOCKS_PER_ELEMENT, words: [0; 4], used: 4 }
    }

    /// Uniform in (0, 1) with 53 bits.
    fn unit(&mut self) -> f64 {
        if self.used == 4 {
            self.words = self.philox.words(self.next);
            self.next += 1;
            self.used = 0;
        }
        let [high, low] = [self.words[self.used], self.words[self.used + 1]];
        self.used += 2;
        let bits = (u64::from(high) << 32 | u64::from(low)) >> 12;
        #[expect(clippy::cast_precision_loss, reason = "52 bits and a half are exact")]
        let value = bits as f64 + 0.5;
        value * (1.0 / (1u64 << 52) as f64)
    }
}

/// ln(k!) for a whole k, by Stirling's series from 10 on: better than 1e-13 relative.
fn ln_factorial(k: f64) -> f64 {
    const SMALL: [f64; 10] = [1.0, 1.0, 2.0, 6.0, 24.0, 120.0, 720.0, 5040.0, 40320.0, 362_880.0];
    if k < 10.0 {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "k is whole and from 0 to 9")]
        return SMALL[k as usize].ln();
    }
    let square = 1.0 / (k * k);
    let series = (1.0 / 12.0 - square * (1.0 / 360.0 - square * (1.0 / 1260.0 - square / 1680.0))) / k;
    (k + 0.5) * k.ln() - k + 0.5 * (2.0 * std::f64::consts::PI).ln() + series
}

/// The smallest k whose cumulated probability exceeds `unit`, where `next` gives P(k+1) from k and P(k).
fn invert(mut unit: f64, first: f64, last: f64, next: impl Fn(f64, f64) -> f64) -> f64 {
    let (mut k, mut probability) = (0.0, first);
    while unit > probability && k < last {
        unit -= probability;
        probability = next(k, probability);
        k += 1.0;
    }
    k
}

/// A count with mean `rate`.
fn poisson_count(rate: f64, draws: &mut Draws) -> f64 {
    if rate.is_nan() || rate.is_infinite() {
        return rate.abs();
    }
    if rate <= 0.0 {
        return 0.0;
    }
    if rate < REJECTION_MEAN_MIN {
        // Beyond 110 a mean of 10 has a probability below 2^-200.
        return invert(draws.unit(), (-rate).exp(), 110.0, |k, probability| probability * rate / (k + 1.0));
    }
    let b = 0.931 + 2.53 * rate.sqrt();
    let a = -0.059 + 0.02483 * b;
    let inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
    let v_r = 0.9277 - 3.6224 / (b - 2.0);
    loop {
        let (u, v) = (draws.unit() - 0.5, draws.unit());
        let us = 0.5 - u.abs();
        let k = ((2.0 * a / us + b) * u + rate + 0.43).floor();
        if us >= 0.07 && v <= v_r {
            return k;
        }
        if k < 0.0 || (us < 0.013 && v > us) {
            continue;
        }
        let accepted = (v * inverse_alpha / (a / (us * us) + b)).ln();
        if accepted <= k * rate.ln() - rate - ln_factorial(k) {
            return k;
        }
    }
}

/// The number of successes in `n` trials of probability `p`.
fn binomial_count(n: f64, p: f64, draws: &mut Draws) -> f64 {
    if n.is_nan() || p.is_nan() || n < 0.0 {
        return f64::NAN;
    }
    let n = n.floor();
    if n == 0.0 || p <= 0.0 {
        return 0.0;
    }
    if p >= 1.0 {
        return n;
    }
    if p > 0.5 {
        return n - binomial_count(n, 1.0 - p, draws);
    }
    let odds = p / (1.0 - p);
    if n * p < REJECTION_MEAN_MIN {
        let none = (n * (-p).ln_1p()).exp();
        return invert(draws.unit(), none, n.min(110.0), |k, probability| probability * odds * (n - k) / (k + 1.0));
    }
    let deviation = (n * p * (1.0 - p)).sqrt();
    let b = 1.15 + 2.53 * deviation;
    let a = -0.0873 + 0.0248 * b + 0.01 * p;
    let v_r = 0.92 - 4.2 / b;
    let alpha = (2.83 + 5.1 / b) * deviation;
    let mode = ((n + 1.0) * p).floor();
    let at_mode = ln_factorial(mode) + ln_factorial(n - mode);
    loop {
        let (u, v) = (draws.unit() - 0.5, draws.unit());
        let us = 0.5 - u.abs();
        let k = ((2.0 * a / us + b) * u + n * p + 0.5).floor();
        if us >= 0.07 && v <= v_r {
            return k;
        }
        if k < 0.0 || k > n {
            continue;
        }
        let accepted = (v * alpha / (a / (us * us) + b)).ln();
        if accepted <= at_mode - ln_factorial(k) - ln_factorial(n - k) + (k - mode) * odds.ln() {
            return k;
        }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "elements are floats")]
fn to_f32(count: f64) -> f32 {
    count as f32
}

/// Poisson counts with the means in `rates`. Floats only. Advances the offset by 32 for each element.
///
/// # Errors
/// [`DistributionError::Unsupported`], [`DistributionError::Size`].
pub fn poisson(out: &mut Output, philox: Philox, rates: &Input) -> Result<(), DistributionError> {
    const KERNEL: &str = "poisson";
    check_size(KERNEL, "rate", rates.len(), out.len())?;
    let rates = rates.floats().ok_or(DistributionError::Unsupported { kernel: KERNEL, dtype: rates.dtype() })?;
    for_floats!(KERNEL, out.dtype(), T => {
        for (index, element) in out.as_slice::<T>().iter_mut().enumerate() {
            let mut draws = Draws::of_element(philox, index);
            *element = T::from_f32(to_f32(poisson_count(f64::from(rates.get(index)), &mut draws)));
        }
    });
    Ok(())
}

/// Successes in `counts` trials of the probabilities in `p`. Floats only. Advances the offset by 32 for each element.
///
/// # Errors
/// [`DistributionError::Unsupported`], [`DistributionError::Size`].
pub fn binomial(out: &mut Output, philox: Philox, counts: &Input, p: &Input) -> Result<(), DistributionError> {
    const KERNEL: &str = "binomial";
    check_size(KERNEL, "count", counts.len(), out.len())?;
    check_size(KERNEL, "prob", p.len(), out.len())?;
    let unsupported = |dtype| DistributionError::Unsupported { kernel: KERNEL, dtype };
    let counts = counts.floats().ok_or(unsupported(counts.dtype()))?;
    let p = p.floats().ok_or(unsupported(p.dtype()))?;
    for_floats!(KERNEL, out.dtype(), T => {
        for (index, element) in out.as_slice::<T>().iter_mut().enumerate() {
            let (n, p) = (f64::from(counts.get(index)), f64::from(p.get(index)));
            *element = T::from_f32(to_f32(binomial_count(n, p, &mut Draws::of_element(philox, index))));
        }
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factorials_agree_with_sums_of_logarithms() {
        let mut sum = 0.0;
        for k in 1..2000 {
            let k = f64::from(k);
            sum += k.ln();
            // The sum itself is off by a few parts in 1e13.
            assert!((ln_factorial(k) - sum).abs() <= 1e-12 * sum.max(1.0), "{k}");
        }
    }
}
