//! Functions of floats as polynomials without a call, so that LLVM can compute several threads at once: most of `air.fast_*`, and
//! those precise functions whose bounds they keep. `precise` has the others.
//!
//! Bounds are those of the Metal Shading Language specification, tables 8.1 and 8.2; the book's table of errors has what is
//! measured. Kernels rely on more than the bounds of fast functions: infinities, NaN and zeros give what they give in the precise
//! ones, since masks are `exp(-INFINITY)`. Fast sines and cosines stay in [-1, 1] for every operand and lose their accuracy slowly
//! beyond 10⁵. Coefficients are minimax for the relative error (Remez exchange), which is beside each with its interval.

use std::f32::consts;

use openmps_engine::coefficients::{COS, EXP2, LOG, LOG2_E, ROOT_BITS, SIN, WHOLE};

use super::root;
use super::text::{Body, Ty, Value};

/// log2(1 + r) = r · P(r) for 1 + r in [√½, √2]: 2^-25.2.
const LOG2: [f32; 9] = [
    consts::LOG2_E,
    -0.721_347_33,
    0.480_910_63,
    -0.360_703_68,
    0.287_916_24,
    -0.238_944_83,
    0.215_715_66,
    -0.207_269_74,
    0.125_836_9,
];
/// tanh(x) = x + x³ · P(x²) for |x| to 0.55: 2^-24.7.
const TANH: [f32; 4] = [-0.333_329_47, 0.133_207_25, -0.052_671_812, 0.016_437_583];

/// log2(10) as float and the rest.
const LOG2_10: [f32; 2] = [consts::LOG2_10, 7.059_537e-8];
/// π/2 in three parts, so that its multiples up to 2²² cancel to float accuracy.
const HALF_PI: [f32; 3] = [consts::FRAC_PI_2, -4.371_139e-8, -1.715_124_5e-15];

/// The precise function `operation` of floats, or `None` where no polynomial here keeps its bound. Whole powers of two and their
/// binary logarithms are exact.
pub(super) fn precise(body: &mut Body, operation: &str, x: &Value) -> Option<Value> {
    matches!(operation, "exp" | "exp2" | "log" | "log2" | "tanh").then(|| fast(body, operation, x))?
}

/// The fast function `operation` of floats, or `None` where the precise one serves.
pub(super) fn fast(body: &mut Body, operation: &str, x: &Value) -> Option<Value> {
    Some(match operation {
        "cos" => turn(body, x).cosine(body),
        "cospi" => half_turn(body, x).cosine(body),
        "exp" => exponential(body, x, LOG2_E, [-87.9, 89.0]),
        "exp10" => exponential(body, x, LOG2_10, [-38.1, 38.6]),
        "exp2" => exp2(body, x),
        "log" => log(body, x),
        "log10" => {
            let binary = log2(body, x);
            body.binary("fmul", &binary, &Value::float(&x.ty, consts::LOG10_2))
        }
        "log2" => log2(body, x),
        "rsqrt" => root::reciprocal(body, x),
        "sin" => turn(body, x).sine(body),
        "sinpi" => half_turn(body, x).sine(body),
        "tan" => turn(body, x).tangent(body),
        "tanh" => tanh(body, x),
        "tanpi" => {
            let turn = half_turn(body, x);
            let tangent = turn.tangent(body);
            turn.at_poles(body, &tangent)
        }
        _ => return None,
    })
}

/// The fast function `operation` of two floats, or `None` where the precise one serves.
pub(super) fn fast_binary(body: &mut Body, operation: &str, x: &Value, y: &Value) -> Option<Value> {
    match operation {
        "pow" => Some(pow(body, x, y)),
        "powr" => {
            let logarithm = log2(body, x);
            let exponent = body.binary("fmul", y, &logarithm);
            Some(exp2(body, &exponent))
        }
        _ => None,
    }
}

/// Fast sine and cosine.
pub(super) fn fast_sincos(body: &mut Body, x: &Value) -> (Value, Value) {
    let turn = turn(body, x);
    (turn.sine(body), turn.cosine(body))
}

pub(super) fn multiply_add(body: &mut Body, a: &Value, b: &Value, c: &Value) -> Value {
    body.intrinsic("llvm.fmuladd", &[a, b, c])
}

/// The polynomial of `x` with these coefficients, lowest first.
pub(super) fn polynomial(body: &mut Body, x: &Value, coefficients: &[f32]) -> Value {
    let mut terms = coefficients.iter().rev().map(|coefficient| Value::float(&x.ty, *coefficient));
    let highest = terms.next().expect("a polynomial has a coefficient");
    terms.fold(highest, |sum, term| multiply_add(body, &sum, x, &term))
}

/// `x` within [`low`, `high`]; NaN stays.
pub(super) fn clamp(body: &mut Body, x: &Value, [low, high]: [f32; 2]) -> Value {
    let (low, high) = (Value::float(&x.ty, low), Value::float(&x.ty, high));
    let is_low = body.compare("fcmp olt", x, &low);
    let x = body.select(&is_low, &low, x);
    let is_high = body.compare("fcmp ogt", &x, &high);
    body.select(&is_high, &high, &x)
}

/// The low bits of `whole`, a whole number of magnitude below 2²², as those of an integer.
fn integer_bits(body: &mut Body, whole: &Value) -> Value {
    let shifted = body.binary("fadd", whole, &Value::float(&whole.ty, WHOLE));
    body.cast("bitcast", &shifted, &whole.ty.as_int())
}

/// 2^(whole + rest), for a whole number from -127 to 128 and a rest in [0, 1): zero for -127, infinity for 128.
pub(super) fn power_of_two(body: &mut Body, whole: &Value, rest: &Value) -> Value {
    let inner = polynomial(body, rest, &EXP2);
    let mantissa = multiply_add(body, &inner, rest, &Value::float(&rest.ty, 1.0));
    let bits = integer_bits(body, whole);
    let biased = body.binary("add", &bits, &Value::int(&bits.ty, 127));
    let field = body.binary("shl", &biased, &Value::int(&bits.ty, 23));
    let scale = body.cast("bitcast", &field, &rest.ty);
    body.binary("fmul", &mantissa, &scale)
}

fn exp2(body: &mut Body, x: &Value) -> Value {
    let x = clamp(body, x, [-126.5, 128.0]);
    let whole = body.intrinsic("llvm.floor", &[&x]);
    let rest = body.binary("fsub", &x, &whole);
    power_of_two(body, &whole, &rest)
}

/// 2^(x · base) with `base` in two parts; beyond `range` the result is zero or infinite.
fn exponential(body: &mut Body, x: &Value, base: [f32; 2], range: [f32; 2]) -> Value {
    let x = clamp(body, x, range);
    let (whole, rest) = split_exponent(body, &x, base);
    power_of_two(body, &whole, &rest)
}

/// Half of e^x for x from -87 to 89.5, without an overflow before the half has one.
pub(super) fn half_exponential(body: &mut Body, x: &Value) -> Value {
    let (whole, rest) = split_exponent(body, x, LOG2_E);
    let whole = body.binary("fadd", &whole, &Value::float(&x.ty, -1.0));
    power_of_two(body, &whole, &rest)
}

/// x · base as a whole number and a rest in [0, 1].
fn split_exponent(body: &mut Body, x: &Value, base: [f32; 2]) -> (Value, Value) {
    let [high, low] = base.map(|part| Value::float(&x.ty, part));
    let product = body.binary("fmul", x, &high);
    let whole = body.intrinsic("llvm.floor", &[&product]);
    let minus_whole = body.value(&whole.ty, format_args!("fneg {whole}"));
    // Fused on every CPU: the rounding of the product would be 40 ulps of the result.
    let rest = body.intrinsic("llvm.fma", &[x, &high, &minus_whole]);
    let rest = body.intrinsic("llvm.fma", &[x, &low, &rest]);
    (whole, rest)
}

/// x = 2^exponent · (1 + rest) with 1 + rest in [√½, √2], for a normal `x` above zero.
fn split(body: &mut Body, x: &Value) -> (Value, Value) {
    let int = x.ty.as_int();
    let bits = body.cast("bitcast", x, &int);
    // The bits of √½: from there on the exponent field counts.
    let offset = body.binary("sub", &bits, &Value::int(&int, i64::from(ROOT_BITS)));
    let exponent = body.binary("ashr", &offset, &Value::int(&int, 23));
    let exponent = body.cast("sitofp", &exponent, &x.ty);
    let field = body.binary("and", &offset, &Value::int(&int, -0x0080_0000));
    let mantissa = body.binary("sub", &bits, &field);
    let mantissa = body.cast("bitcast", &mantissa, &x.ty);
    (exponent, body.binary("fsub", &mantissa, &Value::float(&x.ty, 1.0)))
}

/// `logarithm` where `x` is normal; -∞ for zero, NaN below it, ∞ and NaN for themselves.
fn at_edges(body: &mut Body, x: &Value, logarithm: &Value) -> Value {
    let zero = Value::float(&x.ty, 0.0);
    let is_zero = body.compare("fcmp oeq", x, &zero);
    let result = body.select(&is_zero, &Value::float(&x.ty, f32::NEG_INFINITY), logarithm);
    let is_below = body.compare("fcmp olt", x, &zero);
    let result = body.select(&is_below, &Value::float(&x.ty, f32::NAN), &result);
    let is_number = body.compare("fcmp olt", x, &Value::float(&x.ty, f32::INFINITY));
    body.select(&is_number, &result, x)
}

fn log2(body: &mut Body, x: &Value) -> Value {
    let (exponent, rest) = split(body, x);
    let inner = polynomial(body, &rest, &LOG2);
    let result = multiply_add(body, &inner, &rest, &exponent);
    at_edges(body, x, &result)
}

fn log(body: &mut Body, x: &Value) -> Value {
    let (exponent, rest) = split(body, x);
    let inner = polynomial(body, &rest, &LOG);
    let square = body.binary("fmul", &rest, &rest);
    let cubic = body.binary("fmul", &inner, &rest);
    let factor = body.binary("fadd", &cubic, &Value::float(&x.ty, -0.5));
    let result = multiply_add(body, &square, &factor, &rest);
    let result = multiply_add(body, &exponent, &Value::float(&x.ty, consts::LN_2), &result);
    at_edges(body, x, &result)
}

/// exp2(y · log2|x|) with the sign, the NaN and the ones of C's `pow`.
fn pow(body: &mut Body, x: &Value, y: &Value) -> Value {
    let magnitude = body.intrinsic("llvm.fabs", &[x]);
    let logarithm = log2(body, &magnitude);
    let exponent = body.binary("fmul", y, &logarithm);
    let power = exp2(body, &exponent);
    signed_power(body, x, y, &power)
}

/// `power`, which is |x|^y where that has a logarithm, with the sign, the NaN and the ones of C's `pow`.
pub(super) fn signed_power(body: &mut Body, x: &Value, y: &Value, power: &Value) -> Value {
    let (zero, one) = (Value::float(&x.ty, 0.0), Value::float(&x.ty, 1.0));
    let magnitude = body.intrinsic("llvm.fabs", &[x]);
    let whole = body.intrinsic("llvm.floor", &[y]);
    let is_whole = body.compare("fcmp oeq", y, &whole);
    let half = body.binary("fmul", y, &Value::float(&x.ty, 0.5));
    let half_whole = body.intrinsic("llvm.floor", &[&half]);
    let is_not_even = body.compare("fcmp one", &half, &half_whole);
    let is_odd = body.binary("and", &is_whole, &is_not_even);
    let signed = body.intrinsic("llvm.copysign", &[power, x]);
    let result = body.select(&is_odd, &signed, power);
    // Below zero, and not minus infinity.
    let is_below = body.compare("fcmp olt", x, &zero);
    let is_finite = body.compare("fcmp one", &magnitude, &Value::float(&x.ty, f32::INFINITY));
    let is_part = body.compare("fcmp one", y, &whole);
    let is_nan = body.binary("and", &is_below, &is_finite);
    let is_nan = body.binary("and", &is_nan, &is_part);
    let result = body.select(&is_nan, &Value::float(&x.ty, f32::NAN), &result);
    // |1|^±∞, 1^NaN, and whatever to the power of zero, are 1.
    let is_infinite = body.intrinsic("llvm.fabs", &[y]);
    let is_infinite = body.compare("fcmp oeq", &is_infinite, &Value::float(&x.ty, f32::INFINITY));
    let is_unit = body.compare("fcmp oeq", &magnitude, &one);
    let is_one = body.binary("and", &is_unit, &is_infinite);
    let is_exactly_one = body.compare("fcmp oeq", x, &one);
    let is_one = body.binary("or", &is_one, &is_exactly_one);
    let is_zeroth = body.compare("fcmp oeq", y, &zero);
    let is_one = body.binary("or", &is_one, &is_zeroth);
    body.select(&is_one, &one, &result)
}

/// An odd polynomial near zero, where 1 - 2 / (e^2x + 1) would cancel.
fn tanh(body: &mut Body, x: &Value) -> Value {
    let magnitude = body.intrinsic("llvm.fabs", &[x]);
    let square = body.binary("fmul", x, x);
    let inner = polynomial(body, &square, &TANH);
    let cube = body.binary("fmul", &square, &magnitude);
    let near = multiply_add(body, &inner, &cube, &magnitude);
    let one = Value::float(&x.ty, 1.0);
    let twice = body.binary("fadd", &magnitude, &magnitude);
    let power = exponential(body, &twice, LOG2_E, [-87.9, 89.0]);
    let sum = body.binary("fadd", &power, &one);
    let quotient = body.binary("fdiv", &Value::float(&x.ty, 2.0), &sum);
    let far = body.binary("fsub", &one, &quotient);
    let is_near = body.compare("fcmp olt", &magnitude, &Value::float(&x.ty, 0.55));
    let result = body.select(&is_near, &near, &far);
    body.intrinsic("llvm.copysign", &[&result, x])
}

/// An angle as a number of quarter turns and a rest, with the rest's sine and cosine.
pub(super) struct Turn {
    /// The low bits of the number of quarter turns.
    quarters: Value,
    sine: Value,
    cosine: Value,
}

/// For an angle in radians.
fn turn(body: &mut Body, x: &Value) -> Turn {
    let quarters = body.binary("fmul", x, &Value::float(&x.ty, consts::FRAC_2_PI));
    let quarters = body.intrinsic("llvm.rint", &[&quarters]);
    let mut rest = x.clone();
    for part in HALF_PI {
        rest = multiply_add(body, &quarters, &Value::float(&x.ty, -part), &rest);
    }
    // Beyond 2²² quarter turns the rest is noise; it must not leave the polynomials' interval.
    let rest = clamp(body, &rest, [-0.8, 0.8]);
    Turn::new(body, &quarters, &rest)
}

/// For an angle in half turns, which is reduced exactly.
fn half_turn(body: &mut Body, x: &Value) -> Turn {
    let turns = body.binary("fmul", x, &Value::float(&x.ty, 0.5));
    let turns = body.intrinsic("llvm.rint", &[&turns]);
    let x = multiply_add(body, &turns, &Value::float(&x.ty, -2.0), x);
    let twice = body.binary("fadd", &x, &x);
    let quarters = body.intrinsic("llvm.rint", &[&twice]);
    let rest = multiply_add(body, &quarters, &Value::float(&x.ty, -0.5), &x);
    let rest = body.binary("fmul", &rest, &Value::float(&x.ty, consts::PI));
    Turn::new(body, &quarters, &rest)
}

impl Turn {
    fn new(body: &mut Body, quarters: &Value, rest: &Value) -> Self {
        let quarters = integer_bits(body, quarters);
        Self::of(body, quarters, rest)
    }

    /// From the low bits of the number of quarter turns, and the rest, in whose type sine and cosine are computed.
    pub(super) fn of(body: &mut Body, quarters: Value, rest: &Value) -> Self {
        let square = body.binary("fmul", rest, rest);
        let inner = polynomial(body, &square, &SIN);
        let cube = body.binary("fmul", &square, rest);
        let sine = multiply_add(body, &inner, &cube, rest);
        let inner = polynomial(body, &square, &COS);
        let factor = multiply_add(body, &inner, &square, &Value::float(&rest.ty, -0.5));
        let cosine = multiply_add(body, &factor, &square, &Value::float(&rest.ty, 1.0));
        Self { quarters, sine, cosine }
    }

    /// With sine and cosine rounded to `ty`.
    pub(super) fn narrowed(self, body: &mut Body, ty: &Ty) -> Self {
        let (sine, cosine) = (body.cast("fptrunc", &self.sine, ty), body.cast("fptrunc", &self.cosine, ty));
        Self { quarters: self.quarters, sine, cosine }
    }

    /// Whether the number of quarter turns is odd, so that sine and cosine change places.
    fn is_odd(&self, body: &mut Body) -> Value {
        let bit = body.binary("and", &self.quarters, &Value::int(&self.quarters.ty, 1));
        body.compare("icmp ne", &bit, &Value::int(&self.quarters.ty, 0))
    }

    /// `value` with the other sign where bit 1 of `quarters` is set.
    fn signed(body: &mut Body, value: &Value, quarters: &Value) -> Value {
        let int = quarters.ty.clone();
        let bit = body.binary("and", quarters, &Value::int(&int, 2));
        let sign = body.binary("shl", &bit, &Value::int(&int, 30));
        let bits = body.cast("bitcast", value, &int);
        let flipped = body.binary("xor", &bits, &sign);
        body.cast("bitcast", &flipped, &value.ty)
    }

    pub(super) fn sine(&self, body: &mut Body) -> Value {
        let is_odd = self.is_odd(body);
        let magnitude = body.select(&is_odd, &self.cosine, &self.sine);
        Self::signed(body, &magnitude, &self.quarters)
    }

    pub(super) fn cosine(&self, body: &mut Body) -> Value {
        let is_odd = self.is_odd(body);
        let magnitude = body.select(&is_odd, &self.sine, &self.cosine);
        let next = body.binary("add", &self.quarters, &Value::int(&self.quarters.ty, 1));
        Self::signed(body, &magnitude, &next)
    }

    pub(super) fn tangent(&self, body: &mut Body) -> Value {
        let is_odd = self.is_odd(body);
        let above = body.select(&is_odd, &self.cosine, &self.sine);
        let below = body.select(&is_odd, &self.sine, &self.cosine);
        let quotient = body.binary("fdiv", &above, &below);
        let negated = body.value(&quotient.ty, format_args!("fneg {quotient}"));
        body.select(&is_odd, &negated, &quotient)
    }

    /// `tangent`, and exactly at a pole infinity with the sign of the sine there.
    fn at_poles(&self, body: &mut Body, tangent: &Value) -> Value {
        let is_odd = self.is_odd(body);
        let is_exact = body.compare("fcmp oeq", &self.sine, &Value::float(&self.sine.ty, 0.0));
        let is_pole = body.binary("and", &is_odd, &is_exact);
        let infinity = Self::signed(body, &Value::float(&tangent.ty, f32::INFINITY), &self.quarters);
        body.select(&is_pole, &infinity, tangent)
    }
}
