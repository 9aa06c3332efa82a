//! Gamma and Dirichlet: Marsaglia and Tsang's rejection method in float, 32 blocks for each element.

use super::functions::{fused, ln, pow, sin_cos};
use super::slab::{Floats, Input, Output};
use super::{BLOCKS_PER_ELEMENT, DistributionError, Dtype, check_size, for_floats};
use crate::generator::distributions::element::Element;
use crate::generator::philox::{Philox, uniform as unit};

/// The draws of one element: one block each, from the element's first block on.
struct Draws {
    philox: Philox,
    next: u64,
}

impl Draws {
    fn of_element(philox: Philox, element: usize) -> Self {
        Self { philox, next: element as u64 * BLOCKS_PER_ELEMENT }
    }

    fn words(&mut self) -> [u32; 4] {
        let words = self.philox.words(self.next);
        self.next += 1;
        words
    }

    /// `1 - rand()`, in (0, 1].
    fn unit(&mut self) -> f32 {
        1.0 - unit(self.words()[0])
    }

    /// `randn()`.
    fn normal(&mut self) -> f32 {
        let [first, second, ..] = self.words();
        let radius = (-2.0 * ln(1.0 - unit(first))).sqrt();
        radius * sin_cos(2.0 * std::f32::consts::PI * (1.0 - unit(second))).1
    }
}

/// A gamma value of shape `alpha` and scale 1, at least the smallest normal float; 0 for shape 0.
fn sample(alpha: f32, draws: &mut Draws) -> f32 {
    fused(sample_here, (alpha, draws))
}

#[inline(always)]
fn sample_here((mut alpha, draws): (f32, &mut Draws)) -> f32 {
    if alpha.is_nan() || alpha < 0.0 {
        return f32::NAN;
    }
    if alpha == 0.0 {
        return 0.0;
    }
    let mut scale = 1.0;
    if alpha < 1.0 {
        // A gamma value of shape alpha is one of shape alpha + 1 times u^(1/alpha).
        scale = pow(draws.unit(), 1.0 / alpha);
        alpha += 1.0;
    }
    let d = alpha - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let x = draws.normal();
        // Fused and grouped as in the compiled kernel: a sum near zero shows every other rounding.
        let y = c.mul_add(x, 1.0);
        if y <= 0.0 {
            continue;
        }
        let v = y * (y * y);
        let u = draws.unit();
        let xx = x * x;
        let is_inside = u < (xx * -0.0331).mul_add(xx, 1.0);
        if is_inside || ln(u) < xx.mul_add(0.5, d * ((1.0 - v) + ln(v))) {
            return ((scale * d) * v).max(f32::MIN_POSITIVE);
        }
    }
}

fn shapes<'a>(kernel: &'static str, out: &Output, alpha: &'a Input) -> Result<Floats<'a>, DistributionError> {
    check_size(kernel, "alpha", alpha.len(), out.len())?;
    alpha.floats().ok_or(DistributionError::Unsupported { kernel, dtype: alpha.dtype() })
}

/// Gamma values of the shapes in `alpha`, scale 1. Floats only. Advances the offset by 32 for each element.
///
/// # Errors
/// [`DistributionError::Unsupported`], [`DistributionError::Size`].
pub fn gamma(out: &mut Output, philox: Philox, alpha: &Input) -> Result<(), DistributionError> {
    const KERNEL: &str = "standard_gamma";
    let shapes = shapes(KERNEL, out, alpha)?;
    for_floats!(KERNEL, out.dtype(), T => {
        for (index, element) in out.as_slice::<T>().iter_mut().enumerate() {
            *element = T::from_f32(sample(shapes.get(index), &mut Draws::of_element(philox, index)));
        }
    });
    Ok(())
}

/// Rows of `row` elements that sum to 1: gamma values of the shapes in `alpha`, divided by their row's sum. Floats only.
/// Advances the offset by 32 for each element.
///
/// # Errors
/// [`DistributionError::Unsupported`]; [`DistributionError::Size`], also when the rows do not divide the elements.
pub fn dirichlet(out: &mut Output, philox: Philox, alpha: &Input, row: usize) -> Result<(), DistributionError> {
    const KERNEL: &str = "sample_dirichlet";
    let shapes = shapes(KERNEL, out, alpha)?;
    if out.is_empty() {
        return Ok(());
    }
    let whole_rows = out.len().checked_div(row).map_or(0, |rows| rows * row);
    check_size(KERNEL, "output", out.len(), whole_rows)?;
    let mut values = vec![0.0; row];
    for_floats!(KERNEL, out.dtype(), T => {
        for (number, elements) in out.as_slice::<T>().chunks_mut(row).enumerate() {
            for (column, value) in values.iter_mut().enumerate() {
                let index = number * row + column;
                *value = sample(shapes.get(index), &mut Draws::of_element(philox, index));
            }
            let sum: f32 = values.iter().sum();
            for (element, value) in elements.iter_mut().zip(&values) {
                *element = T::from_f32(value / sum);
            }
        }
    });
    Ok(())
}
