//! Poisson and binomial counts, 32 blocks for each element.
//!
//! The steps are those of the compiled kernels in PyTorch's macOS wheel, in float32 with their fused multiplications: products
//! of uniforms for Poisson means below 10 and sums of geometric gaps for binomial ones, else Hörmann's transformed rejection
//! (PTRS and BTRS). Each step takes the first word of the next block; one that needs more than 32 blocks goes on into those of
//! its neighbors.

use super::element::Element;
use super::functions::{exp, fused, ln};
use super::slab::{Input, Output};
use super::{BLOCKS_PER_ELEMENT, DistributionError, Dtype, check_size, for_floats};
use crate::generator::philox::{Philox, uniform};

/// Means from which rejection is used.
const REJECTION_MEAN_MIN: f32 = 10.0;

/// Uniform values of one element, one block each, from the element's first block on.
struct Draws {
    philox: Philox,
    next: u64,
}

impl Draws {
    fn of_element(philox: Philox, element: usize) -> Self {
        Self { philox, next: element as u64 * BLOCKS_PER_ELEMENT }
    }

    /// Uniform in [0, 1).
    fn unit(&mut self) -> f32 {
        let [word, ..] = self.philox.words(self.next);
        self.next += 1;
        uniform(word)
    }
}

/// `ln(k!)` for a whole k, as `c10/metal/special_math.h` has the logarithm of the gamma function of k + 1.
#[inline(always)]
fn ln_factorial(k: f32) -> f32 {
    const HALF_LN_TWO_PI: f32 = 0.918_938_5;
    const SERIES: [f32; 8] = [
        1.0 / 12.0,
        -1.0 / 360.0,
        1.0 / 1260.0,
        -1.0 / 1680.0,
        1.0 / 1188.0,
        -691.0 / 360_360.0,
        1.0 / 156.0,
        -3617.0 / 122_400.0,
    ];
    let x = k + 1.0;
    if x < 12.0 {
        // Whole factors up to 10! are exact.
        let mut factorial = 1.0;
        let mut factor = 2.0;
        while factor <= k {
            factorial *= factor;
            factor += 1.0;
        }
        return ln(factorial);
    }
    let z = 1.0 / (x * x);
    let sum = SERIES.iter().rev().skip(1).fold(SERIES[7], |sum, coefficient| z * sum + coefficient);
    sum / x + ((x - 0.5).mul_add(ln(x), -x) + HALF_LN_TWO_PI)
}

/// A count with mean `rate`; 0 for what is not positive and finite.
#[inline(always)]
fn poisson_count((rate, draws): (f32, &mut Draws)) -> f32 {
    if !(rate > 0.0 && rate.is_finite()) {
        return 0.0;
    }
    if rate < REJECTION_MEAN_MIN {
        let least = exp(-rate);
        let (mut product, mut count) = (draws.unit(), 0.0);
        while product > least {
            product *= draws.unit();
            count += 1.0;
        }
        return count;
    }
    let ln_rate = ln(rate);
    let b = rate.sqrt().mul_add(2.53, 0.931);
    let a = b.mul_add(0.024_83, -0.059);
    let inverse_alpha = 1.1328 / (b - 3.4) + 1.1239;
    let v_r = 0.9277 - 3.6224 / (b - 2.0);
    loop {
        let u = draws.unit() - 0.5;
        let v = 1.0 - draws.unit();
        let us = 0.5 - u.abs();
        let k = ((a * 2.0 / us + b).mul_add(u, rate) + 0.43).floor();
        if k < 0.0 {
            continue;
        }
        if us >= 0.07 && v <= v_r {
            return k;
        }
        if us < 0.013 && v > us {
            continue;
        }
        let accepted = ln(v) + ln(inverse_alpha) - ln(a / (us * us) + b);
        if accepted <= k.mul_add(ln_rate, -rate) - ln_factorial(k) {
            return k;
        }
    }
}

/// `ln(1 + x)` as Metal's library has no such function: corrected by what `1 + x` lost.
#[inline(always)]
fn ln_1p(x: f32) -> f32 {
    let sum = 1.0 + x;
    if sum == 1.0 {
        return x;
    }
    let log = ln(sum);
    if x > -0.5 && x < 0.5 { x / (sum - 1.0) * log } else { log }
}

/// What Stirling's formula lacks for `ln(k!)`.
#[inline(always)]
fn stirling_tail(k: f32) -> f32 {
    const SMALL: [f32; 10] = [
        0.081_061_47,
        0.041_340_696,
        0.027_677_925,
        0.020_790_672,
        0.016_644_69,
        0.013_876_129,
        0.011_896_71,
        0.010_411_265,
        0.009_255_462,
        0.008_330_563,
    ];
    if k < 10.0 {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "k is whole and from 0 to 9")]
        return SMALL[k as usize];
    }
    let next = k + 1.0;
    let square = next * next;
    (1.0 / 12.0 - (1.0 / 360.0 - 1.0 / 1260.0 / square) / square) / next
}

/// Hörmann's BTRS for `n` trials of probability `p` up to one half, with `n * p` from 10 on.
#[inline(always)]
fn binomial_by_rejection(n: f32, p: f32, draws: &mut Draws) -> f32 {
    let deviation = (n * p * (1.0 - p)).sqrt();
    let b = deviation.mul_add(2.53, 1.15);
    let a = p.mul_add(0.01, b.mul_add(0.0248, -0.0873));
    let c = n.mul_add(p, 0.5);
    let v_r = 0.92 - 4.2 / b;
    let odds = p / (1.0 - p);
    let alpha = deviation * (5.1 / b + 2.83);
    let mode = ((n + 1.0) * p).floor();
    let above_mode = n - mode + 1.0;
    loop {
        let u = draws.unit() - 0.5;
        let v = draws.unit();
        let us = 0.5 - u.abs();
        let k = (b + a * 2.0 / us).mul_add(u, c).floor();
        if k < 0.0 || k > n {
            continue;
        }
        if us >= 0.07 && v <= v_r {
            return k;
        }
        let accepted = ln(alpha * v / (b + a / (us * us)));
        let above = n - k + 1.0;
        let bound = (mode + 0.5).mul_add(ln((mode + 1.0) / (odds * above_mode)), (n + 1.0) * ln(above_mode / above));
        let bound = (k + 0.5).mul_add(ln(odds * above / (k + 1.0)), bound);
        let bound = bound + stirling_tail(mode) + stirling_tail(n - mode) - stirling_tail(k) - stirling_tail(n - k);
        if accepted <= bound {
            return k;
        }
    }
}

/// Counts the gaps between successes that fit into `n` trials.
#[inline(always)]
fn binomial_by_gaps(n: f32, p: f32, draws: &mut Draws) -> f32 {
    let ln_failure = ln_1p(-p);
    let (mut trials, mut successes) = (0.0, 0.0);
    loop {
        trials += (ln(draws.unit()) / ln_failure).ceil();
        if trials > n {
            return successes;
        }
        successes += 1.0;
    }
}

/// The number of successes in `n` trials of probability `p`.
#[inline(always)]
fn binomial_count((n, p, draws): (f32, f32, &mut Draws)) -> f32 {
    let below_half = |p: f32, draws: &mut Draws| {
        if n * p >= REJECTION_MEAN_MIN { binomial_by_rejection(n, p, draws) } else { binomial_by_gaps(n, p, draws) }
    };
    if n <= 0.0 || p <= 0.0 {
        0.0
    } else if p >= 1.0 {
        n
    } else if n.is_nan() || p.is_nan() {
        // The kernel would draw for ever if it is the count.
        f32::NAN
    } else if p <= 0.5 {
        below_half(p, draws)
    } else {
        n - below_half(1.0 - p, draws)
    }
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
            *element = T::from_f32(fused(poisson_count, (rates.get(index), &mut draws)));
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
            let mut draws = Draws::of_element(philox, index);
            *element = T::from_f32(fused(binomial_count, (counts.get(index), p.get(index), &mut draws)));
        }
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factorials_agree_with_sums_of_logarithms() {
        let mut sum = 0.0_f64;
        for k in 1_u16..2000 {
            sum += f64::from(k).ln();
            let found = f64::from(ln_factorial(f32::from(k)));
            assert!((found - sum).abs() <= 3e-7 * sum.max(1.0), "{k}: {found}, expected {sum}");
        }
    }

    #[test]
    fn tails_complete_stirlings_formula() {
        let mut ln_factorial = 0.0_f64;
        for k in 0_u16..100 {
            let next = f64::from(k) + 1.0;
            let stirling = (f64::from(k) + 0.5) * next.ln() - next + 0.5 * (2.0 * std::f64::consts::PI).ln();
            ln_factorial += f64::from(k.max(1)).ln();
            let expected = ln_factorial - stirling;
            let found = f64::from(stirling_tail(f32::from(k)));
            assert!((found - expected).abs() <= 1e-6 * expected, "{k}: {found}, expected {expected}");
        }
    }
}
