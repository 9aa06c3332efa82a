//! Logarithm, exponential, sine, cosine, tangent and power of floats, to the bit as the engine's kernels compute Metal's precise
//! functions: the same polynomials (`openmps_engine::coefficients`), the same roundings. Where the
//! CPU has no fused multiply-add the last place may differ, since kernels round products there.
//!
//! Left out: operands that random numbers never give them. Subnormal ones have no logarithm here, angles are below 2³⁰ and not
//! zero, and bases of powers above zero.

use std::f32::consts;

use openmps_engine::coefficients::{
    COS, EXP2, LOG, LOG2_E, ROOT_BITS, SIN, WHOLE, WIDE_HALF_PI, WIDE_LOG2, WIDE_ROOT_BITS, WIDE_WHOLE,
};

/// Calls `function` as code for CPUs with fused multiply-add if this is one: elsewhere each is a call. What it calls has to be
/// inlined for that, as all functions of this file are; and so has a `function` that is large, which is one with that attribute
/// then and no closure.
#[inline]
pub(super) fn fused<A, R>(function: impl FnOnce(A) -> R, arguments: A) -> R {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2,fma")]
        fn with_features<A, R>(function: impl FnOnce(A) -> R, arguments: A) -> R {
            function(arguments)
        }
        if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
            // SAFETY: this CPU has both features.
            return unsafe { with_features(function, arguments) };
        }
    }
    function(arguments)
}

#[inline(always)]
fn polynomial<const N: usize>(x: f32, coefficients: &[f32; N]) -> f32 {
    coefficients.iter().rev().copied().reduce(|sum, term| sum.mul_add(x, term)).unwrap_or_default()
}

#[inline(always)]
fn wide_polynomial<const N: usize>(x: f64, coefficients: &[f64; N]) -> f64 {
    coefficients.iter().rev().copied().reduce(|sum, term| sum.mul_add(x, term)).unwrap_or_default()
}

/// The natural logarithm.
#[inline(always)]
pub(super) fn ln(x: f32) -> f32 {
    let bits = x.to_bits();
    let offset = bits.wrapping_sub(ROOT_BITS).cast_signed();
    #[expect(clippy::cast_precision_loss, reason = "an exponent has eight bits")]
    let exponent = (offset >> 23) as f32;
    let rest = f32::from_bits(bits.wrapping_sub((offset & -0x0080_0000).cast_unsigned())) - 1.0;
    let cubic = polynomial(rest, &LOG) * rest;
    let inner = (rest * rest).mul_add(cubic + -0.5, rest);
    let result = exponent.mul_add(consts::LN_2, inner);
    if x > 0.0 && x < f32::INFINITY {
        result
    } else if x == 0.0 {
        f32::NEG_INFINITY
    } else if x < 0.0 {
        f32::NAN
    } else {
        x
    }
}

/// 2^(whole + rest) for a whole number from -127 to 128 and a rest from 0 to 1.
#[inline(always)]
fn power_of_two(whole: f32, rest: f32) -> f32 {
    let mantissa = polynomial(rest, &EXP2).mul_add(rest, 1.0);
    mantissa * f32::from_bits((whole + WHOLE).to_bits().wrapping_add(127) << 23)
}

/// e^x.
#[inline(always)]
pub(super) fn exp(x: f32) -> f32 {
    let x = x.clamp(-87.9, 89.0);
    let whole = (x * LOG2_E[0]).floor();
    let rest = x.mul_add(LOG2_E[1], x.mul_add(LOG2_E[0], -whole));
    power_of_two(whole, rest)
}

/// Sine and cosine in double of the angle less a number of quarter turns, and that number's low bits.
#[inline(always)]
fn turn(x: f32) -> (f64, f64, u32) {
    let x = f64::from(x);
    let turns = (x * std::f64::consts::FRAC_2_PI).round_ties_even();
    let rest = (-turns).mul_add(WIDE_HALF_PI[1], (-turns).mul_add(WIDE_HALF_PI[0], x));
    let square = rest * rest;
    let sine = wide_polynomial(square, &SIN.map(f64::from)).mul_add(square * rest, rest);
    let factor = wide_polynomial(square, &COS.map(f64::from)).mul_add(square, -0.5);
    let cosine = factor.mul_add(square, 1.0);
    (sine, cosine, super::super::philox::low((turns + WIDE_WHOLE).to_bits()))
}

/// `value` with the other sign where bit 1 of `quarters` is set.
#[inline(always)]
fn signed(value: f32, quarters: u32) -> f32 {
    f32::from_bits(value.to_bits() ^ (quarters & 2) << 30)
}

/// Sine and cosine.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "the results are floats")]
pub(super) fn sin_cos(x: f32) -> (f32, f32) {
    let (sine, cosine, quarters) = turn(x);
    let (sine, cosine) = if quarters & 1 == 0 { (sine as f32, cosine as f32) } else { (cosine as f32, sine as f32) };
    (signed(sine, quarters), signed(cosine, quarters.wrapping_add(1)))
}

/// The tangent.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "the result is a float")]
pub(super) fn tan(x: f32) -> f32 {
    let (sine, cosine, quarters) = turn(x);
    if quarters & 1 == 0 { (sine / cosine) as f32 } else { -(cosine / sine) as f32 }
}

/// x^y for x above 0.
#[expect(clippy::cast_possible_truncation, reason = "the parts of the exponent are floats")]
pub(super) fn pow(x: f32, y: f32) -> f32 {
    let bits = f64::from(x).to_bits();
    let offset = bits.wrapping_sub(WIDE_ROOT_BITS).cast_signed();
    #[expect(clippy::cast_precision_loss, reason = "an exponent has eleven bits")]
    let exponent = (offset >> 52) as f64;
    let rest = f64::from_bits(bits.wrapping_sub((offset & -0x0010_0000_0000_0000).cast_unsigned())) - 1.0;
    let product = f64::from(y) * wide_polynomial(rest, &WIDE_LOG2).mul_add(rest, exponent);
    let product = product.clamp(-126.5, 128.0);
    power_of_two(product.floor() as f32, (product - product.floor()) as f32)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Largest error of `found` against `expected` over a range of floats, in units of the last place.
    fn worst(range: std::ops::Range<f32>, found: impl Fn(f32) -> f32, expected: impl Fn(f64) -> f64) -> f64 {
        let width = f64::from(range.end) - f64::from(range.start);
        let points = (0..100_000).map(|step| f64::from(range.start) + width * f64::from(step) / 1e5);
        points.fold(0.0, |worst: f64, x| {
            #[expect(clippy::cast_possible_truncation, reason = "the operand is a float")]
            let x = x as f32;
            let expected = expected(f64::from(x));
            let last_place = (expected.abs().log2().floor() - 23.0).exp2();
            worst.max((f64::from(found(x)) - expected).abs() / last_place)
        })
    }

    #[test]
    fn errors_are_those_of_the_kernels() {
        let errors = [
            worst(1e-7..1.0, ln, f64::ln),
            worst(2.0..1e6, ln, f64::ln),
            worst(-80.0..80.0, exp, f64::exp),
            worst(1e-3..6.3, |x| sin_cos(x).0, f64::sin),
            worst(1e-3..6.3, |x| sin_cos(x).1, f64::cos),
            worst(-1.57..-1e-3, tan, f64::tan),
            worst(1e-6..1.0, |x| pow(x, 3.3), |x| x.powf(f64::from(3.3_f32))),
        ];
        for (error, bound) in errors.into_iter().zip([1.2, 0.6, 1.6, 0.6, 0.6, 0.7, 1.4]) {
            assert!(error <= bound, "{errors:?}");
        }
    }

    #[test]
    fn edges() {
        assert!(ln(0.0) == f32::NEG_INFINITY && ln(1.0) == 0.0 && ln(f32::INFINITY) == f32::INFINITY);
        assert!(ln(-1.0).is_nan() && ln(f32::NAN).is_nan());
        assert!(exp(-200.0) == 0.0 && exp(0.0) == 1.0 && exp(200.0).is_infinite());
        assert!(pow(1.0, 7.0) == 1.0 && pow(0.5, 1000.0) == 0.0 && pow(0.25, 0.5) == 0.5);
        assert_eq!(sin_cos(consts::PI).1, -1.0);
    }

    #[test]
    fn fused_code_computes_the_same() {
        for step in 1..1000_u16 {
            let x = f32::from(step) / 1000.0;
            let all = |x| (ln(x), exp(x), sin_cos(x), tan(x));
            assert_eq!(fused(all, x), all(x));
        }
    }
}
