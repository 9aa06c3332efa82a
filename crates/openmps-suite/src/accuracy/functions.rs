//! The functions of the specification's tables: how MSL calls each, its exact value, where to look, and its bounds.

use super::bounds::Bound::{self, CorrectlyRounded, Ulps, UlpsAt};
use super::exact::{self, Exact, Question};
use super::format::Type;
use crate::machine::Random;

/// One row of the tables 8.1, 8.2 and 8.3 of the specification.
#[derive(Clone, Copy, Debug)]
pub struct Function {
    /// As the table has it, with what tells several results of one function apart.
    pub name: &'static str,
    /// Operands.
    pub arity: usize,
    /// MSL statements that set `r` from `x`, `y` and `z`; `M` stands for the namespace and `T` for the type.
    pub body: &'static str,
    /// The exact value for operands.
    pub exact: fn(Question, &[f64]) -> Exact,
    /// Operands where errors are likely to be large.
    pub focus: fn(&mut Random) -> [f64; 3],
    /// Table 8.1.
    pub precise: Bound,
    /// Table 8.2; `None` for functions that have no fast form.
    pub fast: Option<Bound>,
    /// Table 8.3.
    pub half: Bound,
}

/// Table 8.3 for every function that is not exact. It lacks `pow` and `powr`, which are held to the same.
const HALF: Bound = Ulps(1.0);

fn four(_: &[f64]) -> f64 {
    4.0
}

/// 3 + ⌊|2x|⌋, the bound of fast `exp` and `exp2`.
fn exponential(operands: &[f64]) -> f64 {
    3.0 + (2.0 * operands[0]).abs().floor()
}

/// What exp2(t) with t = x · log2(10) can have by the table: its own bound, and half an ulp of t, at most |t| · 2⁻²⁴ · ln 2
/// relative, so below |t| ulps.
fn exponential_of_ten(operands: &[f64]) -> f64 {
    let t = (operands[0] * std::f64::consts::LOG2_10).abs();
    3.0 + (2.0 * t).floor() + t
}

/// What exp2(t) with t = y · log2(x) can have: exp2's own bound, and 2 ulp of the logarithm and half an ulp of the product,
/// at most 2.5 · |t| · 2⁻²³ · ln 2 relative, so below 4 · |t| ulps.
fn power(operands: &[f64]) -> f64 {
    let t = (operands[1] * operands[0].abs().log2()).abs();
    if t.is_finite() { 3.0 + (2.0 * t).floor() + 4.0 * t } else { 0.0 }
}

/// Errors of the reduction by multiples of π grow beyond.
const TURNS_DOMAIN: f64 = 1e5;

fn tangent(operands: &[f64]) -> f64 {
    if operands[0].abs() <= TURNS_DOMAIN { 6.0 } else { f64::INFINITY }
}

const fn ours(formula: &'static str, ulps: fn(&[f64]) -> f64, text: &'static str) -> Option<Bound> {
    Some(Bound::Ours { formula, ulps, text })
}

const fn within_pi(domain: f64, text: &'static str) -> Option<Bound> {
    // The float nearest to π is above it, and the domain is meant to have it.
    Some(Bound::Within { domain, distance: 1.0 / 8192.0, text })
}

const SINE: Option<Bound> = within_pi(3.141_592_8, "2⁻¹³ absolute in [−π, π]");
const SINE_OF_PI: Option<Bound> = within_pi(1.0, "2⁻¹³ absolute in [−1, 1]");

/// A transcendental function of one operand.
const fn unary(
    name: &'static str,
    body: &'static str,
    exact: fn(Question, &[f64]) -> Exact,
    focus: fn(&mut Random) -> [f64; 3],
    precise: f64,
    fast: Option<Bound>,
) -> Function {
    Function { name, arity: 1, body, exact, focus, precise: Ulps(precise), fast, half: HALF }
}

/// A function with an exact or correctly rounded result in both modes.
const fn simple(
    name: &'static str,
    arity: usize,
    body: &'static str,
    exact: fn(Question, &[f64]) -> Exact,
    focus: fn(&mut Random) -> [f64; 3],
    bound: Bound,
) -> Function {
    Function { name, arity, body, exact, focus, precise: bound, fast: Some(bound), half: bound }
}

/// The same without a fast form.
const fn plain(
    name: &'static str,
    arity: usize,
    body: &'static str,
    exact: fn(Question, &[f64]) -> Exact,
    focus: fn(&mut Random) -> [f64; 3],
    bound: Bound,
) -> Function {
    Function { name, arity, body, exact, focus, precise: bound, fast: None, half: bound }
}

fn near(random: &mut Random, low: f64, high: f64) -> [f64; 3] {
    [random.between(low, high), random.between(low, high), random.between(low, high)]
}

/// Order of magnitude between 2^low and 2^high, either sign.
fn scaled(random: &mut Random, low: f64, high: f64) -> f64 {
    let magnitude = random.between(low, high).exp2();
    if random.bits() & 1 == 0 { magnitude } else { -magnitude }
}

fn unit(random: &mut Random) -> [f64; 3] {
    near(random, -1.0, 1.0)
}

fn small_numbers(random: &mut Random) -> [f64; 3] {
    near(random, -40.0, 40.0)
}

fn exponents(random: &mut Random) -> [f64; 3] {
    near(random, -105.0, 90.0)
}

fn binary_exponents(random: &mut Random) -> [f64; 3] {
    near(random, -151.0, 129.0)
}

fn decimal_exponents(random: &mut Random) -> [f64; 3] {
    near(random, -46.0, 39.0)
}

/// Around 1, where logarithms are small.
fn near_one(random: &mut Random) -> [f64; 3] {
    [1.0 + scaled(random, -24.0, 0.0).max(-0.999), 0.0, 0.0]
}

/// A few units to either side of a multiple of π/2, up to the largest ones.
fn near_quarter_turns(random: &mut Random) -> [f64; 3] {
    if random.bits() & 1 == 0 {
        return near(random, -7.0, 7.0);
    }
    let turns = random.between(0.0, 40.0).exp2().round();
    let quarter = turns * std::f64::consts::FRAC_PI_2;
    [quarter * (1.0 + random.between(-2e-7, 2e-7)), 0.0, 0.0]
}

fn near_halves(random: &mut Random) -> [f64; 3] {
    let halves = (scaled(random, 0.0, 22.0) * 2.0).round() / 2.0;
    let offset = scaled(random, -24.0, -1.0);
    [halves + offset, halves - offset, random.between(-3.0, 3.0)]
}

fn pairs(random: &mut Random) -> [f64; 3] {
    let (x, y) = (scaled(random, -40.0, 40.0), scaled(random, -40.0, 40.0));
    [x, y, scaled(random, -80.0, 80.0)]
}

/// Similar numbers, so that differences cancel and quotients are near 1.
fn similar(random: &mut Random) -> [f64; 3] {
    let x = scaled(random, -10.0, 10.0);
    let y = x * (1.0 + scaled(random, -24.0, -2.0));
    [x, y, -x * y * (1.0 + scaled(random, -24.0, -2.0))]
}

fn dividends(random: &mut Random) -> [f64; 3] {
    let y = scaled(random, -20.0, 20.0);
    [y * scaled(random, 0.0, 60.0), y, 0.0]
}

/// Bases and exponents whose power is in float's range.
fn powers(random: &mut Random) -> [f64; 3] {
    let x = if random.bits() & 1 == 0 { random.between(-60.0, 60.0).exp2() } else { near_one(random)[0] };
    let logarithm = x.log2();
    let y = if logarithm == 0.0 { 3.0 } else { random.between(-150.0, 128.0) / logarithm };
    let negative = random.below(8) == 0;
    if negative { [-x, y.round(), 0.0] } else { [x, y, 0.0] }
}

fn scalings(random: &mut Random) -> [f64; 3] {
    [scaled(random, -60.0, 60.0), random.between(-200.0, 200.0).round(), 0.0]
}

fn exponent_of(x: f64) -> i32 {
    i32::try_from(x.to_bits() >> 52 & 0x7ff).expect("11 bits") - 1023
}

fn frexp_fraction(x: f64) -> f64 {
    if x == 0.0 || !x.is_finite() { x } else { x * 2f64.powi(-exponent_of(x) - 1) }
}

fn frexp_exponent(x: f64) -> f64 {
    if x == 0.0 || !x.is_finite() { 0.0 } else { f64::from(exponent_of(x) + 1) }
}

fn ilogb(x: f64) -> f64 {
    if x == 0.0 || x.is_nan() {
        f64::from(i32::MIN)
    } else if x.is_infinite() {
        // The largest integer, as the kernel's conversion to float has it.
        2_147_483_648.0
    } else {
        f64::from(exponent_of(x))
    }
}

fn fract(ty: Type, x: f64) -> Exact {
    let rest = Exact::sum(x, -x.floor());
    // The result is below 1, also where the nearest number is 1.
    let largest = ty.largest_below_one();
    if rest.high > largest { Exact::of(largest) } else { rest }
}

fn larger(x: f64, y: f64) -> f64 {
    if x.is_nan() || x < y { y } else { x }
}

fn smaller(x: f64, y: f64) -> f64 {
    -larger(-x, -y)
}

fn fma(x: f64, y: f64, z: f64) -> Exact {
    // The product of two floats is exact.
    Exact::sum(x * y, z)
}

/// Every row of the tables, in their order.
pub const FUNCTIONS: &[Function] = &[
    simple("x + y", 2, "r = x + y;", |_, v| Exact::sum(v[0], v[1]), similar, CorrectlyRounded),
    simple("x - y", 2, "r = x - y;", |_, v| Exact::sum(v[0], -v[1]), similar, CorrectlyRounded),
    simple("x * y", 2, "r = x * y;", |_, v| Exact::of(v[0] * v[1]), pairs, CorrectlyRounded),
    Function {
        fast: Some(UlpsAt(
            |v| if (-126.0..=126.0).contains(&v[0].abs().log2()) { 1.0 } else { f64::INFINITY },
            "1 ulp for \\|x\\| in [2⁻¹²⁶, 2¹²⁶]",
        )),
        ..simple("1.0 / x", 1, "r = T(1) / x;", |q, v| exact::divide(q, 1.0, v[0]), pairs, CorrectlyRounded)
    },
    Function {
        fast: Some(UlpsAt(
            |v| if (-126.0..=126.0).contains(&v[1].abs().log2()) { 2.5 } else { f64::INFINITY },
            "2.5 ulp for \\|y\\| in [2⁻¹²⁶, 2¹²⁶]",
        )),
        ..simple("x / y", 2, "r = x / y;", |q, v| exact::divide(q, v[0], v[1]), pairs, CorrectlyRounded)
    },
    unary("acos", "r = M::acos(x);", |q, v| exact::acos(q, v[0]), unit, 4.0, Some(Ulps(5.0))),
    unary(
        "acosh",
        "r = M::acosh(x);",
        |q, v| exact::acosh(q, v[0]),
        near_one,
        4.0,
        ours("log(x + sqrt(x * x - 1))", four, "4 ulp"),
    ),
    unary("asin", "r = M::asin(x);", |q, v| exact::asin(q, v[0]), unit, 4.0, Some(Ulps(5.0))),
    unary(
        "asinh",
        "r = M::asinh(x);",
        |q, v| exact::asinh(q, v[0]),
        small_numbers,
        4.0,
        ours("log(x + sqrt(x * x + 1))", four, "4 ulp"),
    ),
    unary("atan", "r = M::atan(x);", |q, v| exact::atan(q, v[0]), small_numbers, 5.0, Some(Ulps(5.0))),
    Function {
        arity: 2,
        ..unary(
            "atan2",
            "r = M::atan2(x, y);",
            |q, v| exact::atan2(q, v[0], v[1]),
            pairs,
            6.0,
            ours("atan(y / x) ± π", |_| 6.0, "6 ulp"),
        )
    },
    unary(
        "atanh",
        "r = M::atanh(x);",
        |q, v| exact::atanh(q, v[0]),
        unit,
        5.0,
        ours("0.5 * log((1 + x) / (1 - x))", |_| 5.0, "5 ulp"),
    ),
    simple("ceil", 1, "r = M::ceil(x);", |_, v| Exact::of(v[0].ceil()), near_halves, CorrectlyRounded),
    plain("copysign", 2, "r = M::copysign(x, y);", |_, v| Exact::of(v[0].copysign(v[1])), pairs, Bound::Exact),
    unary("cos", "r = M::cos(x);", |q, v| exact::cos(q, v[0]), near_quarter_turns, 4.0, SINE),
    unary(
        "cosh",
        "r = M::cosh(x);",
        |q, v| exact::cosh(q, v[0]),
        small_numbers,
        4.0,
        ours("0.5 * (exp(x) + exp(-x))", four, "4 ulp"),
    ),
    unary("cospi", "r = M::cospi(x);", |q, v| exact::cospi(q, v[0]), near_halves, 4.0, SINE_OF_PI),
    unary(
        "exp",
        "r = M::exp(x);",
        |q, v| exact::exp(q, v[0]),
        exponents,
        4.0,
        Some(UlpsAt(exponential, "3 + ⌊\\|2x\\|⌋ ulp")),
    ),
    unary(
        "exp2",
        "r = M::exp2(x);",
        |q, v| exact::exp2(q, v[0]),
        binary_exponents,
        4.0,
        Some(UlpsAt(exponential, "3 + ⌊\\|2x\\|⌋ ulp")),
    ),
    unary(
        "exp10",
        "r = M::exp10(x);",
        |q, v| exact::exp10(q, v[0]),
        decimal_exponents,
        4.0,
        ours("exp2(x * log2(10))", exponential_of_ten, "what that can have"),
    ),
    simple("fabs", 1, "r = M::fabs(x);", |_, v| Exact::of(v[0].abs()), pairs, Bound::Exact),
    plain(
        "fdim",
        2,
        "r = M::fdim(x, y);",
        |_, v| if v[0] <= v[1] { Exact::of(0.0) } else { Exact::sum(v[0], -v[1]) },
        similar,
        CorrectlyRounded,
    ),
    simple("floor", 1, "r = M::floor(x);", |_, v| Exact::of(v[0].floor()), near_halves, CorrectlyRounded),
    Function {
        arity: 3,
        ..plain("fma", 3, "r = M::fma(x, y, z);", |_, v| fma(v[0], v[1], v[2]), similar, CorrectlyRounded)
    },
    simple("fmax", 2, "r = M::fmax(x, y);", |_, v| Exact::of(larger(v[0], v[1])), similar, Bound::Exact),
    simple("fmin", 2, "r = M::fmin(x, y);", |_, v| Exact::of(smaller(v[0], v[1])), similar, Bound::Exact),
    Function {
        fast: ours("undefined", |_| 0.0, "0 ulp"),
        ..simple("fmod", 2, "r = M::fmod(x, y);", |_, v| Exact::of(v[0] % v[1]), dividends, Bound::Exact)
    },
    simple("fract", 1, "r = M::fract(x);", |q, v| fract(q.ty, v[0]), near_halves, CorrectlyRounded),
    plain(
        "frexp, fraction",
        1,
        "int e = 0; r = frexp(x, e);",
        |_, v| Exact::of(frexp_fraction(v[0])),
        pairs,
        Bound::Exact,
    ),
    plain(
        "frexp, exponent",
        1,
        "int e = 0; frexp(x, e); r = T(e);",
        |_, v| Exact::of(frexp_exponent(v[0])),
        pairs,
        Bound::Exact,
    ),
    plain("ilogb", 1, "r = T(ilogb(x));", |_, v| Exact::of(ilogb(v[0])), pairs, Bound::Exact),
    plain(
        "ldexp",
        2,
        "r = ldexp(x, int(y));",
        |_, v| Exact::of(v[0] * 2f64.powi(truncated(v[1]))),
        scalings,
        CorrectlyRounded,
    ),
    unary(
        "log",
        "r = M::log(x);",
        |q, v| exact::log(q, v[0]),
        near_one,
        4.0,
        Some(Bound::Logarithm {
            distance: 1.0 / 2_097_152.0,
            ulps: 3.0,
            text: "2⁻²¹ absolute in [0.5, 2], else 3 ulp",
        }),
    ),
    unary(
        "log2",
        "r = M::log2(x);",
        |q, v| exact::log2(q, v[0]),
        near_one,
        4.0,
        Some(Bound::Logarithm {
            distance: 1.0 / 4_194_304.0,
            ulps: 2.0,
            text: "2⁻²² absolute in [0.5, 2], else 2 ulp",
        }),
    ),
    unary(
        "log10",
        "r = M::log10(x);",
        |q, v| exact::log10(q, v[0]),
        near_one,
        4.0,
        ours("log2(x) * log10(2)", four, "4 ulp"),
    ),
    plain(
        "modf, fraction",
        1,
        "T w = 0; r = modf(x, w);",
        |_, v| Exact::of(if v[0].is_infinite() { 0.0 } else { v[0] - v[0].trunc() }),
        near_halves,
        Bound::Exact,
    ),
    plain("modf, whole", 1, "T w = 0; modf(x, w); r = w;", |_, v| Exact::of(v[0].trunc()), near_halves, Bound::Exact),
    plain(
        "nextafter",
        2,
        "r = M::nextafter(x, y);",
        |q, v| Exact::of(q.ty.next_after(v[0], v[1])),
        similar,
        Bound::Exact,
    ),
    Function {
        arity: 2,
        ..unary(
            "pow",
            "r = M::pow(x, y);",
            |q, v| exact::pow(q, v[0], v[1]),
            powers,
            16.0,
            ours("exp2(y * log2(x))", power, "what that can have, and pow's sign and special values"),
        )
    },
    Function {
        arity: 2,
        ..unary(
            "powr",
            "r = M::powr(x, y);",
            |q, v| exact::powr(q, v[0], v[1]),
            powers,
            16.0,
            ours("exp2(y * log2(x))", power, "what that can have"),
        )
    },
    simple("rint", 1, "r = M::rint(x);", |_, v| Exact::of(v[0].round_ties_even()), near_halves, CorrectlyRounded),
    simple("round", 1, "r = M::round(x);", |_, v| Exact::of(v[0].round()), near_halves, CorrectlyRounded),
    Function {
        fast: Some(Ulps(2.0)),
        ..simple("rsqrt", 1, "r = M::rsqrt(x);", |q, v| exact::rsqrt(q, v[0]), pairs, CorrectlyRounded)
    },
    unary("sin", "r = M::sin(x);", |q, v| exact::sin(q, v[0]), near_quarter_turns, 4.0, SINE),
    unary("sincos, sine", "T w = 0; r = M::sincos(x, w);", |q, v| exact::sin(q, v[0]), near_quarter_turns, 4.0, SINE),
    unary(
        "sincos, cosine",
        "T w = 0; M::sincos(x, w); r = w;",
        |q, v| exact::cos(q, v[0]),
        near_quarter_turns,
        4.0,
        SINE,
    ),
    unary(
        "sinh",
        "r = M::sinh(x);",
        |q, v| exact::sinh(q, v[0]),
        small_numbers,
        4.0,
        ours("0.5 * (exp(x) - exp(-x))", four, "4 ulp"),
    ),
    unary("sinpi", "r = M::sinpi(x);", |q, v| exact::sinpi(q, v[0]), near_halves, 4.0, SINE_OF_PI),
    Function {
        fast: ours("x * rsqrt(x)", |_| 0.5, "correctly rounded"),
        ..simple("sqrt", 1, "r = M::sqrt(x);", |q, v| exact::sqrt(q, v[0]), pairs, CorrectlyRounded)
    },
    unary(
        "tan",
        "r = M::tan(x);",
        |q, v| exact::tan(q, v[0]),
        near_quarter_turns,
        6.0,
        ours("sin(x) * (1 / cos(x))", tangent, "6 ulp to \\|x\\| = 10⁵"),
    ),
    unary(
        "tanh",
        "r = M::tanh(x);",
        |q, v| exact::tanh(q, v[0]),
        small_numbers,
        5.0,
        ours("(t - 1) / (t + 1), t = exp(2x)", |_| 5.0, "5 ulp"),
    ),
    unary(
        "tanpi",
        "r = M::tanpi(x);",
        |q, v| exact::tanpi(q, v[0]),
        near_halves,
        6.0,
        ours("tan(x * π)", |_| 6.0, "6 ulp"),
    ),
    simple("trunc", 1, "r = M::trunc(x);", |_, v| Exact::of(v[0].trunc()), near_halves, CorrectlyRounded),
];

fn truncated(x: f64) -> i32 {
    // NaN converts to 0 (section 8.6), and beyond this every product is zero or infinite.
    #[expect(clippy::cast_possible_truncation, reason = "saturating, and NaN to 0, is the rule")]
    let whole = x as i32;
    whole.clamp(-1000, 1000)
}
