//! The scalar types of AIR's names, and their bit patterns as numbers.
//!
//! A bit pattern is the low bits of a `u64`, the rest zero. Floating-point numbers are computed in f64 and rounded once.

use std::fmt;

/// A scalar type as AIR spells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Element {
    /// `f16`, IEEE half.
    F16,
    /// `bf16`, the upper half of an IEEE single.
    Bf16,
    /// `f32`, IEEE single.
    F32,
    /// `i1`, a truth value.
    I1,
    /// `i8`.
    I8,
    /// `i16`.
    I16,
    /// `i32`.
    I32,
    /// `i64`.
    I64,
}

impl Element {
    /// Every scalar type.
    pub const ALL: [Self; 8] = [Self::F16, Self::Bf16, Self::F32, Self::I1, Self::I8, Self::I16, Self::I32, Self::I64];

    /// AIR's spelling.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
            Self::F32 => "f32",
            Self::I1 => "i1",
            Self::I8 => "i8",
            Self::I16 => "i16",
            Self::I32 => "i32",
            Self::I64 => "i64",
        }
    }

    /// Width in bits.
    #[must_use]
    pub fn bits(self) -> u32 {
        match self {
            Self::I1 => 1,
            Self::I8 => 8,
            Self::F16 | Self::Bf16 | Self::I16 => 16,
            Self::F32 | Self::I32 => 32,
            Self::I64 => 64,
        }
    }

    /// Whether it is a floating-point type.
    #[must_use]
    pub fn is_float(self) -> bool {
        match self {
            Self::F16 | Self::Bf16 | Self::F32 => true,
            Self::I1 | Self::I8 | Self::I16 | Self::I32 | Self::I64 => false,
        }
    }
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The sign letter of an integer form, or the kind letter of a conversion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Sign {
    /// `s`.
    Signed,
    /// `u`.
    Unsigned,
}

impl Sign {
    /// AIR's letter.
    #[must_use]
    pub fn letter(self) -> char {
        match self {
            Self::Signed => 's',
            Self::Unsigned => 'u',
        }
    }
}

/// The low `bits` bits of `value`.
#[must_use]
pub fn low_bits(value: u64, bits: u32) -> u64 {
    if bits >= 64 { value } else { value & ((1 << bits) - 1) }
}

/// A floating-point format of 16 or 32 bits.
pub trait Format {
    /// Its name in AIR.
    const ELEMENT: Element;
    /// Bits of the exponent.
    const EXPONENT_BITS: u32;
    /// Bits of the fraction, without the implicit one.
    const FRACTION_BITS: u32;
    /// The sign bit.
    const SIGN_BIT: u64 = 1 << (Self::EXPONENT_BITS + Self::FRACTION_BITS);
    /// Positive infinity.
    const INFINITY: u64 = ((1 << Self::EXPONENT_BITS) - 1) << Self::FRACTION_BITS;
    /// The largest number below 1: the bit pattern before that of 1.
    const LARGEST_BELOW_ONE: u64 = (((1 << (Self::EXPONENT_BITS - 1)) - 1) << Self::FRACTION_BITS) - 1;
    /// A quiet NaN.
    const NAN: u64 = Self::INFINITY | 1 << (Self::FRACTION_BITS - 1);

    /// The number with bit pattern `bits`, exactly.
    fn decode(bits: u64) -> f64 {
        decode(bits, Self::EXPONENT_BITS, Self::FRACTION_BITS)
    }

    /// The bit pattern nearest to `value`, ties to even; overflow gives infinity, NaN gives [`NAN`](Self::NAN).
    fn encode(value: f64) -> u64 {
        encode(value, Self::EXPONENT_BITS, Self::FRACTION_BITS)
    }
}

/// `f16`.
pub enum F16 {}
/// `bf16`.
pub enum Bf16 {}
/// `f32`.
pub enum F32 {}

impl Format for F16 {
    const ELEMENT: Element = Element::F16;
    const EXPONENT_BITS: u32 = 5;
    const FRACTION_BITS: u32 = 10;
}

impl Format for Bf16 {
    const ELEMENT: Element = Element::Bf16;
    const EXPONENT_BITS: u32 = 8;
    const FRACTION_BITS: u32 = 7;
}

impl Format for F32 {
    const ELEMENT: Element = Element::F32;
    const EXPONENT_BITS: u32 = 8;
    const FRACTION_BITS: u32 = 23;
}

/// 2 to the power `exponent`, within f64's normal range.
fn power_of_two(exponent: i32) -> f64 {
    let biased = u64::try_from(exponent + 1023).expect("exponents of formats up to f32 are in f64's range");
    f64::from_bits(biased << 52)
}

fn signed(value: u64) -> i32 {
    i32::try_from(value).expect("an exponent field has at most 11 bits")
}

fn decode(bits: u64, exponent_bits: u32, fraction_bits: u32) -> f64 {
    let bias = (1 << (exponent_bits - 1)) - 1;
    let exponent = signed(low_bits(bits >> fraction_bits, exponent_bits));
    let fraction = low_bits(bits, fraction_bits);
    let negative = bits >> (exponent_bits + fraction_bits) & 1 == 1;
    let whole = |value: u64| f64::from(u32::try_from(value).expect("a significand has at most 24 bits"));
    let quantum = |exponent: i32| power_of_two(exponent - bias - signed(u64::from(fraction_bits)));
    let magnitude = if exponent == (1 << exponent_bits) - 1 {
        if fraction == 0 { f64::INFINITY } else { f64::NAN }
    } else if exponent == 0 {
        whole(fraction) * quantum(1)
    } else {
        whole(fraction | 1 << fraction_bits) * quantum(exponent)
    };
    if negative { -magnitude } else { magnitude }
}

fn encode(value: f64, exponent_bits: u32, fraction_bits: u32) -> u64 {
    let infinity: u64 = ((1 << exponent_bits) - 1) << fraction_bits;
    if value.is_nan() {
        return infinity | 1 << (fraction_bits - 1);
    }
    let sign = u64::from(value.is_sign_negative()) << (exponent_bits + fraction_bits);
    let magnitude = value.abs();
    if magnitude.is_infinite() {
        return sign | infinity;
    }
    let least_exponent = 2 - (1 << (exponent_bits - 1));
    let exponent = (signed(magnitude.to_bits() >> 52) - 1023).max(least_exponent);
    // In units of the last place: below 2^(fraction_bits + 1), so exact but for the rounding asked for.
    let units = (magnitude * power_of_two(signed(u64::from(fraction_bits)) - exponent)).round_ties_even();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a whole number from 0 to 2^24")]
    let units = units as u64;
    // The implicit one of `units` adds 1 to the exponent field; a carry out of the fraction does so again.
    let field = u64::try_from(exponent - least_exponent).expect("raised to the least exponent above");
    sign | ((field << fraction_bits) + units).min(infinity)
}

/// `value` with its last bit set where `inexact`: rounding it once more, to a format with fewer than 52 fraction bits,
/// is then like rounding the exact number once ("rounding to odd", Boldo and Melquiond 2008).
fn to_odd(value: f64, error: f64) -> f64 {
    let bits = value.to_bits();
    if error == 0.0 || bits & 1 == 1 || !value.is_finite() {
        return value;
    }
    // The neighbour on the error's side is odd.
    let away = (error > 0.0) == (value > 0.0);
    f64::from_bits(if away { bits + 1 } else { bits - 1 })
}

/// `a + b` rounded to odd.
#[must_use]
pub fn sum_to_odd(a: f64, b: f64) -> f64 {
    let sum = a + b;
    if !sum.is_finite() || sum == 0.0 {
        return sum;
    }
    // Knuth's two-sum: `sum + error` is exactly `a + b`.
    let shadow = sum - a;
    let error = (a - (sum - shadow)) + (b - shadow);
    to_odd(sum, error)
}

/// `value`, of magnitude below 2^64, rounded to odd.
///
/// # Panics
/// Never: both words of the magnitude have 32 bits.
#[must_use]
pub fn integer_to_odd(value: i128) -> f64 {
    let magnitude = value.unsigned_abs();
    let word = |shift: u32| f64::from(u32::try_from(magnitude >> shift & 0xffff_ffff).expect("32 bits"));
    // Each half of a 64-bit integer is exact.
    let sum = sum_to_odd(word(32) * 4_294_967_296.0, word(0));
    if value < 0 { -sum } else { sum }
}
