//! Float and half as the specification's definition of an ulp sees them.

use openmps_air::element::{F16, F32, Format};

use super::bounds::Error;
use super::exact::Exact;

/// A type whose functions have bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// 32 bits; subnormal operands and results may count as zero (section 8.5).
    Float,
    /// 16 bits.
    Half,
}

impl Type {
    /// MSL's word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Float => "float",
            Self::Half => "half",
        }
    }

    /// The number with this bit pattern.
    #[must_use]
    pub fn decode(self, bits: u64) -> f64 {
        match self {
            Self::Float => F32::decode(bits),
            Self::Half => F16::decode(bits),
        }
    }

    /// The bit pattern nearest to a number.
    #[must_use]
    pub fn encode(self, value: f64) -> u64 {
        match self {
            Self::Float => F32::encode(value),
            Self::Half => F16::encode(value),
        }
    }

    /// Bits of the significand.
    fn digits(self) -> i32 {
        match self {
            Self::Float => 24,
            Self::Half => 11,
        }
    }

    /// The exponent of the least normal number.
    fn exponent_min(self) -> i32 {
        match self {
            Self::Float => -126,
            Self::Half => -14,
        }
    }

    /// The power of two that is the least too large one.
    fn limit(self) -> f64 {
        match self {
            Self::Float => 2f64.powi(128),
            Self::Half => 65536.0,
        }
    }

    /// The largest number below 1.
    #[must_use]
    pub fn largest_below_one(self) -> f64 {
        1.0 - 2f64.powi(-self.digits())
    }

    /// The neighbour of `x` in the direction of `y`.
    #[must_use]
    pub fn next_after(self, x: f64, y: f64) -> f64 {
        if x.is_nan() || y.is_nan() {
            return f64::NAN;
        }
        if x == y {
            return y;
        }
        let bits = self.encode(x);
        if x == 0.0 {
            return self.decode(1).copysign(y);
        }
        self.decode(if (x < y) == (x > 0.0) { bits + 1 } else { bits - 1 })
    }

    /// A subnormal number as zero, for the type that has none.
    #[must_use]
    pub fn flushed(self, value: f64) -> f64 {
        match self {
            Self::Float if value.abs() < 2f64.powi(-126) => 0f64.copysign(value),
            Self::Float | Self::Half => value,
        }
    }

    /// The distance between the two numbers around `exact` (the smaller one at a power of two).
    fn ulp(self, exact: Exact) -> f64 {
        let magnitude = exact.high.abs();
        let mut exponent = i32::try_from(magnitude.to_bits() >> 52).expect("11 bits and no sign") - 1023;
        let is_power_of_two = magnitude.to_bits() << 12 == 0;
        if is_power_of_two && exact.low * exact.high.signum() <= 0.0 {
            exponent -= 1;
        }
        2f64.powi(exponent.clamp(self.exponent_min(), 2000) - self.digits() + 1)
    }

    /// How far `got` is from `exact`. Infinity counts as the power of two that is the least too large one.
    #[must_use]
    pub fn error(self, got: f64, exact: Exact) -> Error {
        if got.is_nan() || exact.high.is_nan() {
            let both = got.is_nan() && exact.high.is_nan();
            let error = if both { 0.0 } else { f64::INFINITY };
            return Error { ulps: error, distance: error };
        }
        let limit = self.limit();
        let got = got.clamp(-limit, limit);
        let exact = if exact.high.abs() >= limit { Exact::of(limit.copysign(exact.high)) } else { exact };
        let distance = ((got - exact.high) - exact.low).abs();
        Error { ulps: distance / self.ulp(exact), distance }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ulp_is_the_gap_around_the_exact_value() {
        let error = |got: f64, exact: Exact| Type::Half.error(got, exact).ulps;
        assert_eq!(error(1.0, Exact::of(1.0)), 0.0);
        assert_eq!(error(1.0 + 2f64.powi(-10), Exact { high: 1.0, low: 1e-20 }).round(), 1.0);
        // At a power of two the gap below counts.
        assert_eq!(error(1.0 + 2f64.powi(-10), Exact::of(1.0)), 2.0);
        assert_eq!(error(2f64.powi(-24), Exact::of(0.0)), 1.0);
        assert_eq!(error(f64::NAN, Exact::of(1.0)), f64::INFINITY);
        assert_eq!(error(f64::NAN, Exact::of(f64::NAN)), 0.0);
        // 65504 is the largest half; from 65520 on numbers round to infinity.
        assert_eq!(error(f64::INFINITY, Exact::of(65520.0)), 0.5);
        assert_eq!(error(f64::INFINITY, Exact::of(1e300)), 0.0);
        assert_eq!(error(65504.0, Exact::of(1e300)), 1.0);
    }

    #[test]
    fn neighbours() {
        assert_eq!(Type::Half.next_after(1.0, 2.0), 1.0 + 2f64.powi(-10));
        assert_eq!(Type::Half.next_after(-1.0, 2.0), -Type::Half.largest_below_one());
        assert_eq!(Type::Float.next_after(0.0, -1.0), -2f64.powi(-149));
        assert_eq!(Type::Float.next_after(f64::INFINITY, 0.0), f64::from(f32::MAX));
    }
}
