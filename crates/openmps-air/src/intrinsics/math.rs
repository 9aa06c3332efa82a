//! Floating-point functions: `air.<op>.<type>`, and `air.fast_<op>.f32`.
//!
//! References compute in f64 and round once, so they are correctly rounded but for the few cases where f64's own error of less
//! than one unit straddles a tie. Exact functions are exact. Subnormals are kept; engines may flush them (denorms_disable).
//! A NaN result is the canonical one; which NaN an engine gives is its choice. AIR's `fast_` forms have looser bounds.

use std::f64::consts::PI;

use openmps_engine::AddressSpace;

use super::{Effects, Lift, Operation, Reference, Row, Slot, operations};
use crate::element::{Bf16, Element, F16, F32, Format, sum_to_odd};

operations! {
    /// Floating-point functions.
    MathOperation {
        Acos = "acos",
        Acosh = "acosh",
        Asin = "asin",
        Asinh = "asinh",
        Atan = "atan",
        Atanh = "atanh",
        Ceil = "ceil",
        Cos = "cos",
        Cosh = "cosh",
        /// cos(πx).
        Cospi = "cospi",
        Exp = "exp",
        Exp2 = "exp2",
        Exp10 = "exp10",
        /// Clears the sign bit.
        Fabs = "fabs",
        Floor = "floor",
        /// The smaller of x − floor(x) and the largest number below 1; NaN for infinities.
        Fract = "fract",
        Log = "log",
        Log2 = "log2",
        Log10 = "log10",
        /// To the nearest whole number, ties to even.
        Rint = "rint",
        /// To the nearest whole number, ties away from zero.
        Round = "round",
        Rsqrt = "rsqrt",
        /// fmin(fmax(x, 0), 1), so NaN gives 0.
        Saturate = "saturate",
        /// −1, 1, or the zero given; 0 for NaN.
        Sign = "sign",
        Sin = "sin",
        Sinh = "sinh",
        /// sin(πx).
        Sinpi = "sinpi",
        Sqrt = "sqrt",
        Tan = "tan",
        Tanh = "tanh",
        /// tan(πx).
        Tanpi = "tanpi",
        Trunc = "trunc",
        /// Of y and x, in this order.
        Atan2 = "atan2",
        Copysign = "copysign",
        Divide = "divide",
        /// x − y where x > y, else +0; NaN where an operand is.
        Fdim = "fdim",
        /// The larger operand; the other one where one is NaN. +0 is larger than −0 here, which MSL leaves open.
        Fmax = "fmax",
        /// The smaller operand; the other one where one is NaN. −0 is smaller than +0 here, which MSL leaves open.
        Fmin = "fmin",
        /// The remainder of the division that truncates; the sign of x.
        Fmod = "fmod",
        /// The neighbour of x in the direction of y.
        Nextafter = "nextafter",
        Pow = "pow",
        /// Like pow by exp2(y · log2(x)): NaN for negative x, where an operand is, and for 0⁰, ∞⁰ and 1^∞ (OpenCL C 7.5.1).
        Powr = "powr",
        /// 0 where x < edge (the first operand), else 1.
        Step = "step",
        /// fmin(fmax(x, low), high).
        Clamp = "clamp",
        /// a · b + c, rounded once.
        Fma = "fma",
        /// fmax(x, fmax(y, z)).
        Fmax3 = "fmax3",
        /// The middle one, by fmin and fmax.
        Fmedian3 = "fmedian3",
        /// fmin(x, fmin(y, z)).
        Fmin3 = "fmin3",
        /// x + (y − x) · a.
        Mix = "mix",
        /// x · 2ⁿ; n is an i32.
        Ldexp = "ldexp",
        /// The exponent as i32; the least i32 for 0 and NaN, the largest for infinities.
        Ilogb = "ilogb",
        /// Stores the exponent (i32) and returns the fraction, of magnitude 0.5 to 1.
        Frexp = "frexp",
        /// Stores the whole part and returns the rest, both with the sign of x.
        Modf = "modf",
        /// Stores the cosine and returns the sine.
        Sincos = "sincos",
        /// The dot product of two vectors.
        Dot = "dot",
    }
}

pub(super) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for operation in MathOperation::ALL {
        rows.push(row::<F32>(*operation, true));
        rows.push(row::<F32>(*operation, false));
        rows.push(row::<F16>(*operation, false));
        rows.push(row::<Bf16>(*operation, false));
    }
    rows
}

fn row<F: Format>(operation: MathOperation, fast: bool) -> Row {
    let element = F::ELEMENT;
    let lifted = Slot::Lifted(element);
    let prefix = if fast { "fast_" } else { "" };
    let name = format!("air.{prefix}{}.{element}", operation.name());
    let mut row = Row::pure(name, Operation::Math(operation), element, reference::<F>(operation));
    row.fast = fast;
    if let Reference::WithStore(_) = row.reference {
        row.effects = Effects::ArgumentMemory;
        row = row.with_signature(lifted, vec![lifted, Slot::Pointer(AddressSpace::Thread)]);
    }
    if let Reference::Horizontal(_) = row.reference {
        row.lift = Lift::Horizontal;
        row = row.with_signature(Slot::Scalar(element), vec![lifted, lifted]);
    }
    if operation == MathOperation::Ldexp {
        row = row.with_signature(lifted, vec![lifted, Slot::Lifted(Element::I32)]);
    }
    if operation == MathOperation::Ilogb {
        row = row.with_signature(Slot::Lifted(Element::I32), vec![lifted]);
    }
    row
}

/// A function on numbers as a reference on bit patterns of `F`.
macro_rules! unary {
    ($function:expr) => {
        Reference::Unary(|x| F::encode($function(F::decode(x))))
    };
}

macro_rules! binary {
    ($function:expr) => {
        Reference::Binary(|x, y| F::encode($function(F::decode(x), F::decode(y))))
    };
}

macro_rules! ternary {
    ($function:expr) => {
        Reference::Ternary(|x, y, z| F::encode($function(F::decode(x), F::decode(y), F::decode(z))))
    };
}

fn reference<F: Format>(operation: MathOperation) -> Reference {
    use MathOperation as Op;
    match operation {
        Op::Acos => unary!(f64::acos),
        Op::Acosh => unary!(f64::acosh),
        Op::Asin => unary!(f64::asin),
        Op::Asinh => unary!(f64::asinh),
        Op::Atan => unary!(f64::atan),
        Op::Atanh => unary!(f64::atanh),
        Op::Ceil => unary!(f64::ceil),
        Op::Cos => unary!(f64::cos),
        Op::Cosh => unary!(f64::cosh),
        Op::Cospi => unary!(cospi),
        Op::Exp => unary!(f64::exp),
        Op::Exp2 => unary!(f64::exp2),
        Op::Exp10 => unary!(|x| 10f64.powf(x)),
        Op::Fabs => Reference::Unary(|x| x & !F::SIGN_BIT),
        Op::Floor => unary!(f64::floor),
        Op::Fract => unary!(|x: f64| fract(x, F::decode(F::LARGEST_BELOW_ONE))),
        Op::Log => unary!(f64::ln),
        Op::Log2 => unary!(f64::log2),
        Op::Log10 => unary!(f64::log10),
        Op::Rint => unary!(f64::round_ties_even),
        Op::Round => unary!(f64::round),
        Op::Rsqrt => unary!(|x: f64| 1.0 / x.sqrt()),
        Op::Saturate => unary!(|x| fmin(fmax(x, 0.0), 1.0)),
        Op::Sign => unary!(|x: f64| if x == 0.0 {
            x
        } else if x.is_nan() {
            0.0
        } else {
            x.signum()
        }),
        Op::Sin => unary!(f64::sin),
        Op::Sinh => unary!(f64::sinh),
        Op::Sinpi => unary!(sinpi),
        Op::Sqrt => unary!(f64::sqrt),
        Op::Tan => unary!(f64::tan),
        Op::Tanh => unary!(f64::tanh),
        Op::Tanpi => unary!(|x| sinpi(x) / cospi(x)),
        Op::Trunc => unary!(f64::trunc),
        Op::Atan2 => binary!(f64::atan2),
        Op::Copysign => Reference::Binary(|x, y| x & !F::SIGN_BIT | y & F::SIGN_BIT),
        Op::Divide => binary!(|x, y| x / y),
        Op::Fdim => binary!(fdim),
        Op::Fmax => binary!(fmax),
        Op::Fmin => binary!(fmin),
        Op::Fmod => binary!(|x, y| x % y),
        Op::Nextafter => Reference::Binary(nextafter::<F>),
        Op::Pow => binary!(f64::powf),
        Op::Powr => binary!(powr),
        Op::Step => binary!(|edge, x| if x < edge { 0.0 } else { 1.0 }),
        Op::Clamp => ternary!(|x, low, high| fmin(fmax(x, low), high)),
        Op::Fma => ternary!(|a: f64, b: f64, c| sum_to_odd(a * b, c)),
        Op::Fmax3 => ternary!(|x, y, z| fmax(x, fmax(y, z))),
        Op::Fmedian3 => ternary!(|x, y, z| fmax(fmin(x, y), fmin(fmax(x, y), z))),
        Op::Fmin3 => ternary!(|x, y, z| fmin(x, fmin(y, z))),
        Op::Mix => ternary!(|x: f64, y: f64, a: f64| x + (y - x) * a),
        Op::Ldexp => Reference::Binary(|x, n| F::encode(ldexp(F::decode(x), low_i32(n)))),
        Op::Ilogb => Reference::Unary(|x| i32_bits(ilogb(F::decode(x)))),
        Op::Frexp => Reference::WithStore(frexp::<F>),
        Op::Modf => Reference::WithStore(modf::<F>),
        Op::Sincos => Reference::WithStore(|x| (F::encode(F::decode(x).sin()), F::encode(F::decode(x).cos()))),
        Op::Dot => Reference::Horizontal(dot::<F>),
    }
}

/// The larger operand, the other one where one is NaN.
pub(super) fn fmax(x: f64, y: f64) -> f64 {
    if x.is_nan() {
        y
    } else if y.is_nan() || x > y || (x == y && y.is_sign_negative()) {
        x
    } else {
        y
    }
}

/// The smaller operand, the other one where one is NaN.
pub(super) fn fmin(x: f64, y: f64) -> f64 {
    -fmax(-x, -y)
}

fn fract(x: f64, largest: f64) -> f64 {
    let rest = x - x.floor();
    if rest > largest { largest } else { rest }
}

fn fdim(x: f64, y: f64) -> f64 {
    if x <= y { 0.0 } else { x - y }
}

fn powr(x: f64, y: f64) -> f64 {
    let undefined = (x == 0.0 || x.is_infinite()) && y == 0.0 || x == 1.0 && y.is_infinite();
    if x < 0.0 || x.is_nan() || y.is_nan() || undefined { f64::NAN } else { x.abs().powf(y) }
}

/// The quarter turn nearest to `x` half turns, and the angle from there in radians. `x` is finite and not negative.
fn quarter(x: f64) -> (f64, f64) {
    let turn = x % 2.0;
    let quarter = (turn * 2.0).round();
    (quarter % 4.0, (turn - quarter * 0.5) * PI)
}

/// sin(πx), with zeros of the sign of x at whole numbers (C23 7.12.4.13).
fn sinpi(x: f64) -> f64 {
    if !x.is_finite() {
        return f64::NAN;
    }
    let (quarter, angle) = quarter(x.abs());
    let magnitude = match quarter {
        0.0 => angle.sin(),
        1.0 => angle.cos(),
        2.0 => 0.0 - angle.sin(),
        _ => -angle.cos(),
    };
    if x.is_sign_negative() { -magnitude } else { magnitude }
}

/// cos(πx), with +0 where it is zero.
fn cospi(x: f64) -> f64 {
    if !x.is_finite() {
        return f64::NAN;
    }
    let (quarter, angle) = quarter(x.abs());
    match quarter {
        0.0 => angle.cos(),
        1.0 => 0.0 - angle.sin(),
        2.0 => -angle.cos(),
        _ => angle.sin(),
    }
}

/// Beyond this, scaling any number of a format up to f32 gives zero or infinity, and within it f64 is exact.
const LDEXP_EXPONENT_MAX: i32 = 500;

fn ldexp(x: f64, exponent: i32) -> f64 {
    x * 2f64.powi(exponent.clamp(-LDEXP_EXPONENT_MAX, LDEXP_EXPONENT_MAX))
}

/// The exponent field of a finite `x` that is not zero, which is normal in f64.
fn exponent(x: f64) -> i32 {
    i32::try_from(x.to_bits() >> 52 & 0x7ff).expect("11 bits") - 1023
}

fn ilogb(x: f64) -> i32 {
    if x == 0.0 || x.is_nan() {
        i32::MIN
    } else if x.is_infinite() {
        i32::MAX
    } else {
        exponent(x)
    }
}

fn frexp<F: Format>(x: u64) -> (u64, u64) {
    let value = F::decode(x);
    if value == 0.0 || !value.is_finite() {
        return (x, 0);
    }
    let exponent = exponent(value) + 1;
    (F::encode(value * 2f64.powi(-exponent)), i32_bits(exponent))
}

fn modf<F: Format>(x: u64) -> (u64, u64) {
    let value = F::decode(x);
    let rest = if value.is_infinite() { 0.0 } else { value - value.trunc() };
    (F::encode(rest.copysign(value)), F::encode(value.trunc()))
}

fn nextafter<F: Format>(x: u64, y: u64) -> u64 {
    let (from, to) = (F::decode(x), F::decode(y));
    if from.is_nan() || to.is_nan() {
        F::NAN
    } else if from == to {
        y
    } else if from == 0.0 {
        y & F::SIGN_BIT | 1
    } else if (from < to) == (from > 0.0) {
        x + 1
    } else {
        x - 1
    }
}

/// Products of the formats are exact in f64; their sum rounds in f64 and once more.
fn dot<F: Format>(left: &[u64], right: &[u64]) -> u64 {
    F::encode(left.iter().zip(right).map(|(x, y)| F::decode(*x) * F::decode(*y)).sum())
}

fn low_i32(bits: u64) -> i32 {
    u32::try_from(bits & 0xffff_ffff).expect("32 bits").cast_signed()
}

fn i32_bits(value: i32) -> u64 {
    u64::from(value.cast_unsigned())
}
