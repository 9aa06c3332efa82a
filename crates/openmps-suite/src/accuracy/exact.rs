//! Values of functions far beyond float: multiple-precision numbers of 192 bits, handed on as a pair of doubles; or, a
//! hundred times faster, what f64's functions give, which is enough to tell where to look closer ([`Effort`]).
//!
//! The operands are floats or halves, held exactly in f64. At operands where a function is not a finite number in the
//! interior of its domain (NaN, infinities, zeros, ends of domains) the value is f64's own, which C23's annex F defines.

use std::cell::RefCell;

use astro_float_num::{BigFloat, Consts, RoundingMode, Sign};

use super::format::Type;

/// A number as the unevaluated sum of two doubles, about 106 bits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exact {
    /// The number rounded to double; NaN and infinities as they are.
    pub high: f64,
    /// What is left.
    pub low: f64,
}

impl Exact {
    /// A double.
    #[must_use]
    pub const fn of(value: f64) -> Self {
        Self { high: value, low: 0.0 }
    }

    /// `a + b`, exactly where no double overflows.
    #[must_use]
    pub fn sum(a: f64, b: f64) -> Self {
        let sum = a + b;
        if !sum.is_finite() {
            return Self::of(sum);
        }
        // Knuth's two-sum.
        let shadow = sum - a;
        Self { high: sum, low: (a - (sum - shadow)) + (b - shadow) }
    }

    fn negated(self) -> Self {
        Self { high: -self.high, low: -self.low }
    }
}

/// How exact a value has to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// As f64's functions have it: within a few units of 2^-53, so an error in ulps of float is right to 10^-7.
    Double,
    /// In multiple precision.
    Multiple,
}

/// Which value is asked for, beside the operands.
#[derive(Clone, Copy, Debug)]
pub struct Question {
    /// The type of the operands.
    pub ty: Type,
    /// How exact the value has to be.
    pub effort: Effort,
}

/// Bits of every intermediate result: float's 24 and some hundred to spare, also after the cancellation near a zero of the
/// sine of a float, which takes at most about 30.
const PRECISION: usize = 192;
const ROUND: RoundingMode = RoundingMode::ToEven;

thread_local! {
    static CONSTANTS: RefCell<Consts> = RefCell::new(Consts::new().expect("some kilobytes of memory"));
}

fn big(value: f64) -> BigFloat {
    BigFloat::from_f64(value, PRECISION)
}

fn with_constants(compute: impl FnOnce(&mut Consts) -> BigFloat) -> BigFloat {
    CONSTANTS.with_borrow_mut(compute)
}

/// The 64 leading bits as a double.
fn leading(value: &BigFloat) -> f64 {
    if value.is_zero() || value.is_nan() || value.is_inf() {
        return if value.is_zero() { 0.0 } else { f64::NAN };
    }
    let (words, exponent) =
        (value.mantissa_digits().expect("a finite number"), value.exponent().expect("a finite number"));
    let word = words.last().expect("a number has a word");
    // Two exact halves, so that one rounding is left.
    let half = |shift: u32| f64::from(u32::try_from(word >> shift & 0xffff_ffff).expect("32 bits"));
    let fraction = (half(32) * 4_294_967_296.0 + half(0)) * 2f64.powi(-64);
    let magnitude = fraction
        * 2f64.powi(exponent.clamp(-1022, 1024) / 2)
        * 2f64.powi(exponent.clamp(-1022, 1024) - exponent.clamp(-1022, 1024) / 2);
    if value.sign() == Some(Sign::Neg) { -magnitude } else { magnitude }
}

fn pair(value: &BigFloat) -> Exact {
    let high = leading(value);
    if !high.is_finite() || high == 0.0 {
        return Exact::of(high);
    }
    Exact { high, low: leading(&value.sub(&big(high), PRECISION, ROUND)) }
}

/// Values of the exponential beyond this are zero or infinity in every type of Metal.
const EXPONENT_MAX: f64 = 700.0;

/// A function of one number in multiple precision, where `x` is finite, not zero and inside the domain.
macro_rules! big_unary {
    ($($(#[$doc:meta])* $name:ident($function:expr, $inside:expr, $at_edges:expr);)*) => {$(
        $(#[$doc])*
        #[must_use]
        pub fn $name(question: Question, x: f64) -> Exact {
            let (inside, at_edges): (fn(f64) -> bool, fn(f64) -> f64) = ($inside, $at_edges);
            if question.effort == Effort::Double || !x.is_finite() || x == 0.0 || !inside(x) {
                return Exact::of(at_edges(x));
            }
            let function: fn(&BigFloat, &mut Consts) -> BigFloat = $function;
            pair(&with_constants(|constants| function(&big(x), constants)))
        }
    )*};
}

big_unary! {
    /// Inverse cosine.
    acos(|x, c| x.acos(PRECISION, ROUND, c), |x| x.abs() < 1.0, f64::acos);
    /// Inverse hyperbolic cosine.
    acosh(|x, c| x.acosh(PRECISION, ROUND, c), |x| x > 1.0, f64::acosh);
    /// Inverse sine.
    asin(|x, c| x.asin(PRECISION, ROUND, c), |x| x.abs() < 1.0, f64::asin);
    /// Inverse hyperbolic sine.
    asinh(|x, c| x.asinh(PRECISION, ROUND, c), |_| true, f64::asinh);
    /// Inverse tangent.
    atan(|x, c| x.atan(PRECISION, ROUND, c), |_| true, f64::atan);
    /// Inverse hyperbolic tangent.
    atanh(|x, c| x.atanh(PRECISION, ROUND, c), |x| x.abs() < 1.0, f64::atanh);
    /// Cosine.
    cos(|x, c| x.cos(PRECISION, ROUND, c), |_| true, f64::cos);
    /// Hyperbolic cosine.
    cosh(|x, c| x.cosh(PRECISION, ROUND, c), |x| x.abs() < EXPONENT_MAX, f64::cosh);
    /// Exponential function.
    exp(|x, c| x.exp(PRECISION, ROUND, c), |x| x.abs() < EXPONENT_MAX, f64::exp);
    /// Powers of two.
    exp2(|x, c| big(2.0).pow(x, PRECISION, ROUND, c), |x| x.abs() < 1000.0, f64::exp2);
    /// Powers of ten.
    exp10(|x, c| big(10.0).pow(x, PRECISION, ROUND, c), |x| x.abs() < 300.0, |x| 10f64.powf(x));
    /// Natural logarithm.
    log(|x, c| x.ln(PRECISION, ROUND, c), |x| x > 0.0, f64::ln);
    /// Binary logarithm.
    log2(|x, c| x.log2(PRECISION, ROUND, c), |x| x > 0.0, f64::log2);
    /// Decimal logarithm.
    log10(|x, c| x.log10(PRECISION, ROUND, c), |x| x > 0.0, f64::log10);
    /// Inverse square root.
    rsqrt(|x, _| x.sqrt(PRECISION, ROUND).reciprocal(PRECISION, ROUND), |x| x > 0.0, |x| 1.0 / x.sqrt());
    /// Sine.
    sin(|x, c| x.sin(PRECISION, ROUND, c), |_| true, f64::sin);
    /// Hyperbolic sine.
    sinh(|x, c| x.sinh(PRECISION, ROUND, c), |x| x.abs() < EXPONENT_MAX, f64::sinh);
    /// Square root.
    sqrt(|x, _| x.sqrt(PRECISION, ROUND), |x| x > 0.0, f64::sqrt);
    /// Tangent.
    tan(|x, c| x.tan(PRECISION, ROUND, c), |_| true, f64::tan);
    /// Hyperbolic tangent.
    tanh(|x, c| x.tanh(PRECISION, ROUND, c), |x| x.abs() < 30.0, f64::tanh);
}

/// `x` modulo 2 in [-1, 1], exactly: the half turns that a function of πx sees.
fn half_turns(x: f64) -> f64 {
    x - 2.0 * (x / 2.0).round()
}

fn times_pi(
    question: Question,
    half_turns: f64,
    of_double: fn(f64) -> f64,
    function: impl FnOnce(&BigFloat, &mut Consts) -> BigFloat,
) -> Exact {
    if question.effort == Effort::Double {
        return Exact::of(of_double(half_turns * std::f64::consts::PI));
    }
    pair(&with_constants(|constants| {
        let angle = big(half_turns).mul(&constants.pi(PRECISION, ROUND), PRECISION, ROUND);
        function(&angle, constants)
    }))
}

/// sin(πx).
#[must_use]
pub fn sinpi(question: Question, x: f64) -> Exact {
    if !x.is_finite() {
        return Exact::of(f64::NAN);
    }
    let turns = half_turns(x);
    if turns == turns.round() {
        return Exact::of(0f64.copysign(x));
    }
    times_pi(question, turns, f64::sin, |angle, constants| angle.sin(PRECISION, ROUND, constants))
}

/// cos(πx).
#[must_use]
pub fn cospi(question: Question, x: f64) -> Exact {
    if !x.is_finite() {
        return Exact::of(f64::NAN);
    }
    let turns = half_turns(x).abs();
    if turns == 0.5 {
        return Exact::of(0.0);
    }
    // Near a zero the sine of the rest is as exact as f64 has it; the cosine is not.
    let of_double = |angle: f64| if angle < 1.0 { angle.cos() } else { (std::f64::consts::FRAC_PI_2 - angle).sin() };
    times_pi(question, turns, of_double, |angle, constants| angle.cos(PRECISION, ROUND, constants))
}

/// tan(πx): infinite where the cosine is zero, with the sign of the sine.
#[must_use]
pub fn tanpi(question: Question, x: f64) -> Exact {
    let (sine, cosine) = (sinpi(question, x), cospi(question, x));
    if sine.high == 0.0 || cosine.high == 0.0 || !x.is_finite() {
        return Exact::of(sine.high / cosine.high);
    }
    if question.effort == Effort::Double {
        return Exact::of(sine.high / cosine.high);
    }
    times_pi(question, half_turns(x), f64::tan, |angle, constants| angle.tan(PRECISION, ROUND, constants))
}

/// The angle of (x, y).
#[must_use]
pub fn atan2(question: Question, y: f64, x: f64) -> Exact {
    if question.effort == Effort::Double || !x.is_finite() || !y.is_finite() || x == 0.0 || y == 0.0 {
        return Exact::of(y.atan2(x));
    }
    pair(&with_constants(|constants| {
        let angle = big(y).div(&big(x), PRECISION, ROUND).atan(PRECISION, ROUND, constants);
        let pi = constants.pi(PRECISION, ROUND);
        match (x > 0.0, y > 0.0) {
            (true, _) => angle,
            (false, true) => angle.add(&pi, PRECISION, ROUND),
            (false, false) => angle.sub(&pi, PRECISION, ROUND),
        }
    }))
}

/// The quotient.
#[must_use]
pub fn divide(question: Question, x: f64, y: f64) -> Exact {
    if question.effort == Effort::Double || !x.is_finite() || !y.is_finite() || x == 0.0 || y == 0.0 {
        return Exact::of(x / y);
    }
    pair(&big(x).div(&big(y), PRECISION, ROUND))
}

/// `x` to the power `y`, as C's `pow`.
#[must_use]
pub fn pow(question: Question, x: f64, y: f64) -> Exact {
    let rough = x.powf(y);
    // An edge, or beyond every type of Metal.
    let is_edge = !x.is_finite() || !y.is_finite() || x == 0.0 || y == 0.0;
    if question.effort == Effort::Double || is_edge || !(1e-300..1e300).contains(&rough.abs()) {
        return Exact::of(rough);
    }
    let power = pair(&with_constants(|constants| big(x.abs()).pow(&big(y), PRECISION, ROUND, constants)));
    if rough < 0.0 { power.negated() } else { power }
}

/// `pow` as the formula exp2(y · log2(x)) defines it: NaN for negative `x`, and for 0⁰, ∞⁰ and 1^∞.
#[must_use]
pub fn powr(question: Question, x: f64, y: f64) -> Exact {
    let undefined = (x == 0.0 || x.is_infinite()) && y == 0.0 || x == 1.0 && y.is_infinite();
    if x < 0.0 || x.is_nan() || y.is_nan() || undefined { Exact::of(f64::NAN) } else { pow(question, x.abs(), y) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Random;

    const EXACTLY: Question = Question { ty: Type::Float, effort: Effort::Multiple };

    /// A function here, the same of f64 (the system's library, by other hands), and where to compare them.
    type Pair = (&'static str, fn(Question, f64) -> Exact, fn(f64) -> f64, f64, f64);

    #[test]
    fn values_agree_with_those_of_f64_to_f64_accuracy() {
        let seed = Random::fresh_seed();
        println!("seed {seed}");
        let mut random = Random::new(seed);
        let functions: [Pair; 20] = [
            ("acos", acos, f64::acos, -1.0, 1.0),
            ("acosh", acosh, f64::acosh, 1.0, 1e6),
            ("asin", asin, f64::asin, -1.0, 1.0),
            ("asinh", asinh, f64::asinh, -1e6, 1e6),
            ("atan", atan, f64::atan, -1e6, 1e6),
            // The standard library's loses digits near -1, though not near 1.
            ("atanh", atanh, |x| x.abs().atanh().copysign(x), -1.0, 1.0),
            ("cos", cos, f64::cos, -1e30, 1e30),
            ("cosh", cosh, f64::cosh, -90.0, 90.0),
            ("exp", exp, f64::exp, -100.0, 100.0),
            ("exp2", exp2, f64::exp2, -140.0, 140.0),
            ("exp10", exp10, |x| 10f64.powf(x), -45.0, 45.0),
            ("log", log, f64::ln, 0.0, 1e30),
            ("log2", log2, f64::log2, 0.0, 2.0),
            ("log10", log10, f64::log10, 0.0, 1e5),
            ("rsqrt", rsqrt, |x| 1.0 / x.sqrt(), 0.0, 1e30),
            ("sin", sin, f64::sin, -1e8, 1e8),
            ("sinh", sinh, f64::sinh, -90.0, 90.0),
            ("sqrt", sqrt, f64::sqrt, 0.0, 1e30),
            ("tan", tan, f64::tan, -1e3, 1e3),
            ("tanh", tanh, f64::tanh, -30.0, 30.0),
        ];
        for (name, function, of_double, low, high) in functions {
            for _ in 0..200 {
                let x = random.between(low, high);
                let (exact, double) = (function(EXACTLY, x), of_double(x));
                // A few units of f64: the bounds in the manual of the GNU C library for these functions.
                let close = (exact.high - double).abs() <= 4.0 * f64::EPSILON * double.abs();
                assert!(close, "{name}({x:e}) = {exact:?}, {double:e} in f64");
                assert!(exact.low.abs() <= f64::EPSILON * exact.high.abs(), "{name}({x:e}) = {exact:?}");
            }
        }
        for _ in 0..200 {
            let (x, y) = (random.between(0.0, 50.0), random.between(-20.0, 20.0));
            assert!((pow(EXACTLY, x, y).high / x.powf(y) - 1.0).abs() <= 4.0 * f64::EPSILON, "pow({x}, {y})");
            assert!(
                (atan2(EXACTLY, y, x - 25.0).high - y.atan2(x - 25.0)).abs() <= 8.0 * f64::EPSILON,
                "atan2({y}, {x} - 25)"
            );
        }
    }

    #[test]
    fn the_low_double_carries_on_where_the_high_one_ends() {
        // π/2 = 1.5707963267948966 + 6.123233995736766e-17, the usual two-part constant of libraries.
        let half_turn = atan2(EXACTLY, 1.0, f64::MIN_POSITIVE);
        assert_eq!(half_turn.high, std::f64::consts::FRAC_PI_2);
        assert!((half_turn.low - 6.123_233_995_736_766e-17).abs() < 1e-30);
        assert_eq!(Exact::sum(1.0, -1e-30), Exact { high: 1.0, low: -1e-30 });
    }

    #[test]
    fn edges_of_domains_are_those_of_annex_f() {
        assert_eq!(log(EXACTLY, 0.0).high, f64::NEG_INFINITY);
        assert!(
            log(EXACTLY, -1.0).high.is_nan()
                && acosh(EXACTLY, 0.5).high.is_nan()
                && sin(EXACTLY, f64::INFINITY).high.is_nan()
        );
        assert_eq!(pow(EXACTLY, f64::NAN, 0.0).high, 1.0);
        assert!(powr(EXACTLY, 0.0, 0.0).high.is_nan() && powr(EXACTLY, -1.0, 2.0).high.is_nan());
        assert_eq!(pow(EXACTLY, -2.0, 3.0).high, -8.0);
        assert_eq!((sinpi(EXACTLY, 3.0).high, cospi(EXACTLY, 0.5).high, cospi(EXACTLY, 1.0).high), (0.0, 0.0, -1.0));
        assert_eq!(tanpi(EXACTLY, 0.5).high, f64::INFINITY);
        assert_eq!(exp(EXACTLY, 1e30).high, f64::INFINITY);
    }
}
