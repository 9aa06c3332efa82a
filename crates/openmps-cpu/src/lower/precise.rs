//! Precise functions of floats without a call, so that several threads compute them at once. `math` chooses them, `polynomial` has
//! those that the fast forms share.
//!
//! Bounds are those of the Metal Shading Language specification, table 8.1; the book's table of errors has what is measured. Special
//! values are those of C's annex F. Logarithms that others are made of are computed in double, of which a few bits beyond
//! float's are needed. Coefficients are minimax for the relative error (Remez exchange), which is beside each with its interval.

use std::f32::consts;

use openmps_engine::coefficients::{WIDE_LOG2, WIDE_ROOT_BITS};

use super::angle;
use super::polynomial::{self, Turn, clamp, multiply_add, polynomial};
use super::text::{Body, Value};

/// atan(x) = x + x³ · P(x²) for |x| to 1: 2^-28.5.
const ATAN: [f32; 9] = [
    -0.333_333,
    0.199_985_49,
    -0.142_642_41,
    0.109_521_84,
    -0.084_034_465,
    0.057_957_55,
    -0.031_177_815,
    0.010_914_597,
    -0.001_793_621_3,
];
/// asin(x) = x + x³ · P(x²) for |x| to ½: 2^-27.6.
const ASIN: [f32; 5] = [0.166_667_54, 0.074_952_33, 0.045_478_337, 0.024_141_008, 0.042_230_52];
/// sinh(x) = x + x³ · P(x²) for |x| to 1: 2^-34.
const SINH: [f32; 4] = [0.166_666_67, 0.008_333_350_5, 0.000_198_360_66, 2.817_439_5e-6];
/// π/2 and π as float and the rest.
const HALF_PI: [f32; 2] = [consts::FRAC_PI_2, -4.371_139e-8];
const PI: [f32; 2] = [consts::PI, -8.742_278e-8];
/// Below, x³ times a constant is all that inverse hyperbolic functions differ from x by.
const TINY: f32 = 1.0 / 1024.0;

/// The precise function `operation` of floats, or `None` where it is not here.
pub(super) fn unary(body: &mut Body, operation: &str, x: &Value) -> Option<Value> {
    Some(match operation {
        "acos" => acos(body, x),
        "acosh" => acosh(body, x),
        "asin" => asin(body, x),
        "asinh" => asinh(body, x),
        "atan" => atan(body, x),
        "atanh" => atanh(body, x),
        "cos" => turn(body, x).cosine(body),
        "cosh" => {
            let [growing, falling] = half_exponentials(body, x);
            body.binary("fadd", &growing, &falling)
        }
        // Exactly reduced, so that the fast forms are within the precise bounds.
        "cospi" | "exp10" => polynomial::fast(body, operation, x)?,
        "sinpi" | "tanpi" => {
            let result = polynomial::fast(body, operation, x)?;
            at_zero(body, x, &result)
        }
        "log10" => {
            let double = x.ty.with("double");
            let wide = body.cast("fpext", x, &double);
            let binary = log2(body, &wide);
            let decimal = body.binary("fmul", &binary, &Value::double(&double, std::f64::consts::LOG10_2));
            body.cast("fptrunc", &decimal, &x.ty)
        }
        "sin" => {
            let sine = turn(body, x).sine(body);
            at_zero(body, x, &sine)
        }
        "sinh" => sinh(body, x),
        "tan" => {
            let tangent = wide_turn(body, x).tangent(body);
            let tangent = body.cast("fptrunc", &tangent, &x.ty);
            at_zero(body, x, &tangent)
        }
        _ => return None,
    })
}

/// Sine and cosine.
pub(super) fn sincos(body: &mut Body, x: &Value) -> (Value, Value) {
    let turn = turn(body, x);
    let sine = turn.sine(body);
    (at_zero(body, x, &sine), turn.cosine(body))
}

/// In double, so that results are rounded once.
fn wide_turn(body: &mut Body, x: &Value) -> Turn {
    let (quarters, rest) = angle::reduce(body, x);
    Turn::of(body, quarters, &rest)
}

fn turn(body: &mut Body, x: &Value) -> Turn {
    wide_turn(body, x).narrowed(body, &x.ty)
}

/// `result`, and the same zero where `x` is one.
fn at_zero(body: &mut Body, x: &Value, result: &Value) -> Value {
    let is_zero = body.compare("fcmp oeq", x, &Value::float(&x.ty, 0.0));
    let zero = body.intrinsic("llvm.copysign", &[&Value::float(&x.ty, 0.0), x]);
    body.select(&is_zero, &zero, result)
}

/// The binary logarithm of a double that is a float, or at least one's square; -∞ of zero, NaN below it.
fn log2(body: &mut Body, x: &Value) -> Value {
    let int = x.ty.as_int();
    let bits = body.cast("bitcast", x, &int);
    // The bits of √½: from there on the exponent field counts.
    let offset = body.binary("sub", &bits, &Value::int(&int, WIDE_ROOT_BITS.cast_signed()));
    let exponent = body.binary("ashr", &offset, &Value::int(&int, 52));
    let exponent = body.cast("trunc", &exponent, &x.ty.with("i32"));
    let exponent = body.cast("sitofp", &exponent, &x.ty);
    let field = body.binary("and", &offset, &Value::int(&int, -0x0010_0000_0000_0000));
    let mantissa = body.binary("sub", &bits, &field);
    let mantissa = body.cast("bitcast", &mantissa, &x.ty);
    let rest = body.binary("fsub", &mantissa, &Value::double(&x.ty, 1.0));
    let mut terms = WIDE_LOG2.iter().rev().map(|coefficient| Value::double(&x.ty, *coefficient));
    let highest = terms.next().expect("a polynomial has a coefficient");
    let inner = terms.fold(highest, |sum, term| multiply_add(body, &sum, &rest, &term));
    let logarithm = multiply_add(body, &inner, &rest, &exponent);
    let zero = Value::double(&x.ty, 0.0);
    let is_zero = body.compare("fcmp oeq", x, &zero);
    let result = body.select(&is_zero, &Value::double(&x.ty, f64::NEG_INFINITY), &logarithm);
    let is_below = body.compare("fcmp olt", x, &zero);
    let result = body.select(&is_below, &Value::double(&x.ty, f64::NAN), &result);
    let is_number = body.compare("fcmp olt", x, &Value::double(&x.ty, f64::INFINITY));
    body.select(&is_number, &result, x)
}

/// The natural logarithm of a double, in float.
fn log(body: &mut Body, x: &Value, factor: f64) -> Value {
    let binary = log2(body, x);
    let natural = body.binary("fmul", &binary, &Value::double(&x.ty, std::f64::consts::LN_2 * factor));
    body.cast("fptrunc", &natural, &x.ty.with("float"))
}

/// x^y for x from 0 up, by way of exp2(y · log2(x)): NaN where that is.
pub(super) fn power(body: &mut Body, x: &Value, y: &Value) -> Value {
    let double = x.ty.with("double");
    let (wide, exponent) = (body.cast("fpext", x, &double), body.cast("fpext", y, &double));
    let logarithm = log2(body, &wide);
    let product = body.binary("fmul", &exponent, &logarithm);
    // -127 for results that are subnormal or less, 128 for infinite ones.
    let low = Value::double(&double, -126.5);
    let is_low = body.compare("fcmp olt", &product, &low);
    let product = body.select(&is_low, &low, &product);
    let high = Value::double(&double, 128.0);
    let is_high = body.compare("fcmp ogt", &product, &high);
    let product = body.select(&is_high, &high, &product);
    let whole = body.intrinsic("llvm.floor", &[&product]);
    let rest = body.binary("fsub", &product, &whole);
    let (whole, rest) = (body.cast("fptrunc", &whole, &x.ty), body.cast("fptrunc", &rest, &x.ty));
    polynomial::power_of_two(body, &whole, &rest)
}

/// C's `pow`.
pub(super) fn pow(body: &mut Body, x: &Value, y: &Value) -> Value {
    let magnitude = body.intrinsic("llvm.fabs", &[x]);
    let power = power(body, &magnitude, y);
    polynomial::signed_power(body, x, y, &power)
}

/// sign(x) · log(|x| + √(x² + 1)).
fn asinh(body: &mut Body, x: &Value) -> Value {
    let double = x.ty.with("double");
    let magnitude = body.intrinsic("llvm.fabs", &[x]);
    let wide = body.cast("fpext", &magnitude, &double);
    let square = body.intrinsic("llvm.fma", &[&wide, &wide, &Value::double(&double, 1.0)]);
    let root = body.intrinsic("llvm.sqrt", &[&square]);
    let sum = body.binary("fadd", &wide, &root);
    let logarithm = log(body, &sum, 1.0);
    let signed = body.intrinsic("llvm.copysign", &[&logarithm, x]);
    nearly_linear(body, x, &signed, -1.0 / 6.0)
}

/// log(x + √(x² - 1)).
fn acosh(body: &mut Body, x: &Value) -> Value {
    let double = x.ty.with("double");
    let wide = body.cast("fpext", x, &double);
    let square = body.intrinsic("llvm.fma", &[&wide, &wide, &Value::double(&double, -1.0)]);
    let root = body.intrinsic("llvm.sqrt", &[&square]);
    let sum = body.binary("fadd", &wide, &root);
    let logarithm = log(body, &sum, 1.0);
    // The sum of a large negative number and the root is zero.
    let is_below = body.compare("fcmp olt", x, &Value::float(&x.ty, 1.0));
    body.select(&is_below, &Value::float(&x.ty, f32::NAN), &logarithm)
}

/// ½ log((1 + x) / (1 - x)).
fn atanh(body: &mut Body, x: &Value) -> Value {
    let double = x.ty.with("double");
    let wide = body.cast("fpext", x, &double);
    let one = Value::double(&double, 1.0);
    let above = body.binary("fadd", &one, &wide);
    let below = body.binary("fsub", &one, &wide);
    let quotient = body.binary("fdiv", &above, &below);
    let logarithm = log(body, &quotient, 0.5);
    nearly_linear(body, x, &logarithm, 1.0 / 3.0)
}

/// `result`, and x + x³ · `factor` where |x| is below [`TINY`].
fn nearly_linear(body: &mut Body, x: &Value, result: &Value, factor: f32) -> Value {
    let square = body.binary("fmul", x, x);
    let scaled = body.binary("fmul", &square, &Value::float(&x.ty, factor));
    let near = multiply_add(body, &scaled, x, x);
    let magnitude = body.intrinsic("llvm.fabs", &[x]);
    let is_near = body.compare("fcmp olt", &magnitude, &Value::float(&x.ty, TINY));
    let near = body.select(&is_near, &near, result);
    at_zero(body, x, &near)
}

/// x + x³ · P(x²).
fn odd(body: &mut Body, x: &Value, square: &Value, coefficients: &[f32]) -> Value {
    let inner = polynomial(body, square, coefficients);
    let cube = body.binary("fmul", square, x);
    multiply_add(body, &inner, &cube, x)
}

/// `whole` - x, with `whole` in two parts.
fn subtracted(body: &mut Body, whole: [f32; 2], x: &Value) -> Value {
    let [high, low] = whole.map(|part| Value::float(&x.ty, part));
    let difference = body.binary("fsub", &high, x);
    body.binary("fadd", &difference, &low)
}

/// asin of |x| to ½, or of √((1 - |x|) / 2) beyond; and whether it is beyond.
fn inner_asin(body: &mut Body, magnitude: &Value) -> (Value, Value) {
    let half = Value::float(&magnitude.ty, 0.5);
    let is_large = body.compare("fcmp ogt", magnitude, &half);
    let scaled = body.binary("fmul", magnitude, &half);
    let halved = body.binary("fsub", &half, &scaled);
    let square = body.binary("fmul", magnitude, magnitude);
    let square = body.select(&is_large, &halved, &square);
    let root = body.intrinsic("llvm.sqrt", &[&halved]);
    let root = body.select(&is_large, &root, magnitude);
    (odd(body, &root, &square, &ASIN), is_large)
}

fn asin(body: &mut Body, x: &Value) -> Value {
    let magnitude = body.intrinsic("llvm.fabs", &[x]);
    let (inner, is_large) = inner_asin(body, &magnitude);
    let twice = body.binary("fadd", &inner, &inner);
    let large = subtracted(body, HALF_PI, &twice);
    let result = body.select(&is_large, &large, &inner);
    body.intrinsic("llvm.copysign", &[&result, x])
}

fn acos(body: &mut Body, x: &Value) -> Value {
    let magnitude = body.intrinsic("llvm.fabs", &[x]);
    let (inner, is_large) = inner_asin(body, &magnitude);
    let twice = body.binary("fadd", &inner, &inner);
    let mirrored = subtracted(body, PI, &twice);
    let is_negative = body.compare("fcmp olt", x, &Value::float(&x.ty, 0.0));
    let large = body.select(&is_negative, &mirrored, &twice);
    let signed = body.intrinsic("llvm.copysign", &[&inner, x]);
    let small = subtracted(body, HALF_PI, &signed);
    body.select(&is_large, &large, &small)
}

fn atan(body: &mut Body, x: &Value) -> Value {
    let one = Value::float(&x.ty, 1.0);
    let magnitude = body.intrinsic("llvm.fabs", &[x]);
    let is_large = body.compare("fcmp ogt", &magnitude, &one);
    let inverse = body.binary("fdiv", &one, &magnitude);
    let inner = body.select(&is_large, &inverse, &magnitude);
    let square = body.binary("fmul", &inner, &inner);
    let inner = odd(body, &inner, &square, &ATAN);
    let large = subtracted(body, HALF_PI, &inner);
    let result = body.select(&is_large, &large, &inner);
    body.intrinsic("llvm.copysign", &[&result, x])
}

/// The angle of the point (x, y).
pub(super) fn atan2(body: &mut Body, y: &Value, x: &Value) -> Value {
    let (zero, one) = (Value::float(&x.ty, 0.0), Value::float(&x.ty, 1.0));
    let (height, width) = (body.intrinsic("llvm.fabs", &[y]), body.intrinsic("llvm.fabs", &[x]));
    let is_steep = body.compare("fcmp ogt", &height, &width);
    let above = body.select(&is_steep, &width, &height);
    let below = body.select(&is_steep, &height, &width);
    let quotient = body.binary("fdiv", &above, &below);
    // 0/0 is 0 here, ∞/∞ is 1.
    let is_zero = body.compare("fcmp oeq", &below, &zero);
    let quotient = body.select(&is_zero, &zero, &quotient);
    let is_infinite = body.compare("fcmp oeq", &above, &Value::float(&x.ty, f32::INFINITY));
    let quotient = body.select(&is_infinite, &one, &quotient);
    let square = body.binary("fmul", &quotient, &quotient);
    let inner = odd(body, &quotient, &square, &ATAN);
    let steep = subtracted(body, HALF_PI, &inner);
    let angle = body.select(&is_steep, &steep, &inner);
    let mirrored = subtracted(body, PI, &angle);
    let sign = body.intrinsic("llvm.copysign", &[&one, x]);
    let is_left = body.compare("fcmp olt", &sign, &zero);
    let angle = body.select(&is_left, &mirrored, &angle);
    let angle = body.intrinsic("llvm.copysign", &[&angle, y]);
    let is_nan = body.compare("fcmp uno", x, y);
    let nan = body.binary("fadd", x, y);
    body.select(&is_nan, &nan, &angle)
}

/// Half of e^|x| and of e^-|x|.
fn half_exponentials(body: &mut Body, x: &Value) -> [Value; 2] {
    let magnitude = body.intrinsic("llvm.fabs", &[x]);
    let magnitude = clamp(body, &magnitude, [0.0, 89.5]);
    let growing = polynomial::half_exponential(body, &magnitude);
    let mirrored = body.value(&x.ty, format_args!("fneg {magnitude}"));
    let mirrored = clamp(body, &mirrored, [-87.0, 0.0]);
    let falling = polynomial::half_exponential(body, &mirrored);
    [growing, falling]
}

fn sinh(body: &mut Body, x: &Value) -> Value {
    let [growing, falling] = half_exponentials(body, x);
    let far = body.binary("fsub", &growing, &falling);
    let magnitude = body.intrinsic("llvm.fabs", &[x]);
    let square = body.binary("fmul", x, x);
    let near = odd(body, &magnitude, &square, &SINH);
    let is_near = body.compare("fcmp olt", &magnitude, &Value::float(&x.ty, 1.0));
    let result = body.select(&is_near, &near, &far);
    body.intrinsic("llvm.copysign", &[&result, x])
}
