//! Scalar types and what operators compute on their bit patterns, by the interpreter's own arithmetic.
//!
//! A bit pattern is the low bits of a `u64`, the rest zero. Integers wrap, shifts take their amount modulo the width, conversions
//! to integers saturate, subnormal f32 operands and results are zero, and every result of floats is rounded once. The named
//! functions (`popcount`, `rhadd`, `floor`) are the references of the intrinsic table.

use openmps_air::element::{Bf16, Element, F16, Format as _, low_bits};
use openmps_air::intrinsics::{Reference, lookup};

/// A scalar type of MSL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scalar {
    Bool,
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    F16,
    Bf16,
    F32,
}

impl Scalar {
    /// Every type that memory holds.
    pub(super) const STORED: [Self; 11] = [
        Self::I8,
        Self::U8,
        Self::I16,
        Self::U16,
        Self::I32,
        Self::U32,
        Self::I64,
        Self::U64,
        Self::F16,
        Self::Bf16,
        Self::F32,
    ];

    pub(super) fn bits(self) -> u32 {
        match self {
            Self::Bool => 1,
            Self::I8 | Self::U8 => 8,
            Self::I16 | Self::U16 | Self::F16 | Self::Bf16 => 16,
            Self::I32 | Self::U32 | Self::F32 => 32,
            Self::I64 | Self::U64 => 64,
        }
    }

    /// Bytes in memory.
    pub(super) fn bytes(self) -> usize {
        self.bits().div_ceil(8) as usize
    }

    pub(super) fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::Bf16 | Self::F32)
    }

    pub(super) fn is_integer(self) -> bool {
        self != Self::Bool && !self.is_float()
    }

    pub(super) fn is_signed(self) -> bool {
        matches!(self, Self::I8 | Self::I16 | Self::I32 | Self::I64)
    }

    /// MSL's name.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::I8 => "char",
            Self::U8 => "uchar",
            Self::I16 => "short",
            Self::U16 => "ushort",
            Self::I32 => "int",
            Self::U32 => "uint",
            Self::I64 => "long",
            Self::U64 => "ulong",
            Self::F16 => "half",
            Self::Bf16 => "bfloat",
            Self::F32 => "float",
        }
    }

    /// The unsigned integer of the same width.
    pub(super) fn unsigned(self) -> Self {
        match self.bits() {
            1 => Self::Bool,
            8 => Self::U8,
            16 => Self::U16,
            32 => Self::U32,
            _ => Self::U64,
        }
    }

    fn element(self) -> Element {
        match self {
            Self::Bool => Element::I1,
            Self::I8 | Self::U8 => Element::I8,
            Self::I16 | Self::U16 => Element::I16,
            Self::I32 | Self::U32 => Element::I32,
            Self::I64 | Self::U64 => Element::I64,
            Self::F16 => Element::F16,
            Self::Bf16 => Element::Bf16,
            Self::F32 => Element::F32,
        }
    }

    /// The type in names of AIR: with a sign letter where `has_sign`.
    pub(super) fn suffix(self, has_sign: bool) -> String {
        let letter = if !has_sign || !self.is_integer() { "" } else { if self.is_signed() { ".s" } else { ".u" } };
        format!("{letter}.{}", self.element())
    }

    /// Whether a conversion rounds at most once on every CPU: wide integers become bfloat by way of f32.
    pub(super) fn converts_exactly(self, to: Self) -> bool {
        !(to == Self::Bf16 && self.is_integer() && self.bits() > 16)
    }

    /// The number with the bit pattern `bits`, of an integer type or `bool`.
    fn integer(self, bits: u64) -> i128 {
        let value = i128::from(bits);
        if self.is_signed() && bits >> (self.bits() - 1) & 1 == 1 { value - (1 << self.bits()) } else { value }
    }

    /// The bit pattern of `value` modulo the width.
    fn wrapped(self, value: i128) -> u64 {
        u64::try_from(value & ((1 << self.bits()) - 1)).expect("masked to at most 64 bits")
    }

    /// The number with the bit pattern `bits` of a float type; subnormal f32 (which bfloat computes in) count as zero.
    fn float(self, bits: u64) -> f64 {
        match self {
            Self::F16 => F16::decode(bits),
            Self::Bf16 => f64::from(flush(narrow(Bf16::decode(bits)))),
            _ => f64::from(flush(f32::from_bits(u32::try_from(bits).expect("32 bits")))),
        }
    }

    /// The bit pattern of `value`, rounded as an operation of the type rounds.
    fn rounded(self, value: f64) -> u64 {
        match self {
            Self::F16 => F16::encode(value),
            Self::Bf16 => Bf16::encode(f64::from(flush(narrow(value)))),
            _ if value.is_nan() => 0x7fc0_0000,
            _ => u64::from(flush(narrow(value)).to_bits()),
        }
    }

    /// Whether two bit patterns are the same value: every NaN is the same as every other.
    pub(super) fn same(self, a: u64, b: u64) -> bool {
        a == b || (self.is_float() && self.float(a).is_nan() && self.float(b).is_nan())
    }
}

#[expect(clippy::cast_possible_truncation, reason = "this is what rounds to f32")]
fn narrow(value: f64) -> f32 {
    value as f32
}

/// Zero of the same sign for a subnormal number.
fn flush(value: f32) -> f32 {
    if value.is_subnormal() { 0.0_f32.copysign(value) } else { value }
}

/// Operators and functions of one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UnaryOp {
    Neg,
    /// `~` of integers, `!` of bool.
    Not,
    /// A function of the table: the name in MSL, the name in AIR and whether that has a sign letter.
    Function(&'static str, &'static str, bool),
    /// Whether all lanes of a vector of bool are true.
    All,
    /// Whether a lane of a vector of bool is true.
    Any,
}

/// Functions of one integer.
pub(super) const INTEGER_FUNCTIONS: [UnaryOp; 4] = [
    UnaryOp::Function("popcount", "popcount", false),
    UnaryOp::Function("clz", "clz", false),
    UnaryOp::Function("ctz", "ctz", false),
    UnaryOp::Function("reverse_bits", "reverse_bits", false),
];
/// Functions of one float.
pub(super) const FLOAT_FUNCTIONS: [UnaryOp; 7] = [
    UnaryOp::Function("fabs", "fabs", false),
    UnaryOp::Function("floor", "floor", false),
    UnaryOp::Function("ceil", "ceil", false),
    UnaryOp::Function("trunc", "trunc", false),
    UnaryOp::Function("rint", "rint", false),
    UnaryOp::Function("round", "round", false),
    UnaryOp::Function("sqrt", "sqrt", false),
];

/// Operators and functions of two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BinaryOp {
    Add,
    Sub,
    Mul,
    /// By a divisor that [`divisor`] makes harmless, if integers.
    Div,
    Rem,
    And,
    Or,
    Xor,
    Shl,
    Shr,
    Eq,
    Ne,
    Lt,
    Le,
    /// A function of the table, as [`UnaryOp::Function`]; of floats, positive zero is added to its result.
    Function(&'static str, &'static str, bool),
}

/// Functions of two integers.
pub(super) const INTEGER_PAIRS: [BinaryOp; 9] = [
    BinaryOp::Function("min", "min", true),
    BinaryOp::Function("max", "max", true),
    BinaryOp::Function("hadd", "hadd", true),
    BinaryOp::Function("rhadd", "rhadd", true),
    BinaryOp::Function("mulhi", "mul_hi", true),
    BinaryOp::Function("addsat", "add_sat", true),
    BinaryOp::Function("subsat", "sub_sat", true),
    BinaryOp::Function("absdiff", "abs_diff", true),
    BinaryOp::Function("rotate", "rotate", false),
];
/// Functions of two floats.
pub(super) const FLOAT_PAIRS: [BinaryOp; 2] =
    [BinaryOp::Function("min", "fmin", false), BinaryOp::Function("max", "fmax", false)];

impl BinaryOp {
    pub(super) fn is_comparison(self) -> bool {
        matches!(self, Self::Eq | Self::Ne | Self::Lt | Self::Le)
    }
}

type Unary = Box<dyn Fn(u64) -> u64>;
type Binary = Box<dyn Fn(u64, u64) -> u64>;

/// What `op` computes on `scalar`; [`UnaryOp::All`] and [`UnaryOp::Any`] are the interpreter's.
pub(super) fn unary(op: UnaryOp, scalar: Scalar) -> Unary {
    let sign = 1_u64 << (scalar.bits() - 1);
    match op {
        UnaryOp::Neg if scalar.is_float() => Box::new(move |a| a ^ sign),
        UnaryOp::Neg => Box::new(move |a| scalar.wrapped(-scalar.integer(a))),
        UnaryOp::Not => Box::new(move |a| low_bits(!a, scalar.bits())),
        UnaryOp::Function(_, air, has_sign) => match reference(air, scalar, has_sign) {
            Reference::Unary(function) => Box::new(function),
            // `clz` and `ctz` have a second operand that is always false.
            Reference::Binary(function) => Box::new(move |a| function(a, 0)),
            other => unreachable!("{air} has one operand, not {other:?}"),
        },
        UnaryOp::All | UnaryOp::Any => Box::new(|a| a),
    }
}

fn reference(air: &str, scalar: Scalar, has_sign: bool) -> Reference {
    let name = format!("air.{air}{}", scalar.suffix(has_sign));
    lookup(&name).unwrap_or_else(|| panic!("{name} is not in the table")).row.reference
}

/// The divisor that is used in place of `b`: odd, and not -1.
fn divisor(scalar: Scalar, b: u64) -> u64 {
    let odd = b | 1;
    if odd == low_bits(u64::MAX, scalar.bits()) { 7 } else { odd }
}

/// What `op` computes on `scalar`.
pub(super) fn binary(op: BinaryOp, scalar: Scalar) -> Binary {
    if let BinaryOp::Function(_, air, has_sign) = op {
        return match reference(air, scalar, has_sign) {
            // Which zero is the least is left open, so zero is added to it.
            Reference::Binary(function) if scalar.is_float() => {
                Box::new(move |a, b| scalar.rounded(scalar.float(function(a, b)) + 0.0))
            }
            Reference::Binary(function) => Box::new(function),
            other => unreachable!("{air} has two operands, not {other:?}"),
        };
    }
    if scalar.is_float() { float_binary(op, scalar) } else { integer_binary(op, scalar) }
}

fn float_binary(op: BinaryOp, scalar: Scalar) -> Binary {
    let arithmetic = move |compute: fn(f64, f64) -> f64| -> Binary {
        Box::new(move |a, b| scalar.rounded(compute(scalar.float(a), scalar.float(b))))
    };
    let comparison = move |compare: fn(&f64, &f64) -> bool| -> Binary {
        Box::new(move |a, b| u64::from(compare(&scalar.float(a), &scalar.float(b))))
    };
    match op {
        BinaryOp::Add => arithmetic(|a, b| a + b),
        BinaryOp::Sub => arithmetic(|a, b| a - b),
        BinaryOp::Mul => arithmetic(|a, b| a * b),
        BinaryOp::Div => arithmetic(|a, b| a / b),
        BinaryOp::Eq => comparison(f64::eq),
        BinaryOp::Ne => comparison(f64::ne),
        BinaryOp::Lt => comparison(f64::lt),
        BinaryOp::Le => comparison(f64::le),
        BinaryOp::Rem | BinaryOp::And | BinaryOp::Or | BinaryOp::Xor | BinaryOp::Shl | BinaryOp::Shr => {
            unreachable!("floats have no {op:?}")
        }
        BinaryOp::Function(..) => unreachable!("found in the table"),
    }
}

fn integer_binary(op: BinaryOp, scalar: Scalar) -> Binary {
    let bits = u64::from(scalar.bits());
    let wrapping = move |compute: fn(i128, i128) -> i128| -> Binary {
        Box::new(move |a, b| scalar.wrapped(compute(scalar.integer(a), scalar.integer(b))))
    };
    let comparison = move |compare: fn(&i128, &i128) -> bool| -> Binary {
        Box::new(move |a, b| u64::from(compare(&scalar.integer(a), &scalar.integer(b))))
    };
    match op {
        BinaryOp::Add => wrapping(|a, b| a + b),
        BinaryOp::Sub => wrapping(|a, b| a - b),
        BinaryOp::Mul => wrapping(i128::wrapping_mul),
        BinaryOp::Div => Box::new(move |a, b| scalar.wrapped(scalar.integer(a) / scalar.integer(divisor(scalar, b)))),
        BinaryOp::Rem => Box::new(move |a, b| scalar.wrapped(scalar.integer(a) % scalar.integer(divisor(scalar, b)))),
        BinaryOp::And => Box::new(|a, b| a & b),
        BinaryOp::Or => Box::new(|a, b| a | b),
        BinaryOp::Xor => Box::new(|a, b| a ^ b),
        BinaryOp::Shl => Box::new(move |a, b| low_bits(a << (b % bits), scalar.bits())),
        BinaryOp::Shr => Box::new(move |a, b| scalar.wrapped(scalar.integer(a) >> (b % bits))),
        BinaryOp::Eq => comparison(i128::eq),
        BinaryOp::Ne => comparison(i128::ne),
        BinaryOp::Lt => comparison(i128::lt),
        BinaryOp::Le => comparison(i128::le),
        BinaryOp::Function(..) => unreachable!("found in the table"),
    }
}

/// `fma` of f32.
pub(super) fn fma(a: u64, b: u64, c: u64) -> u64 {
    let number = |bits: u64| flush(f32::from_bits(u32::try_from(bits).expect("32 bits")));
    u64::from(flush(number(a).mul_add(number(b), number(c))).to_bits())
}

/// The conversion from `from` to `to`.
pub(super) fn convert(from: Scalar, to: Scalar) -> Unary {
    match (from.is_float(), to) {
        _ if from == to => Box::new(|a| a),
        (true, Scalar::Bool) => Box::new(move |a| u64::from(from.float(a) != 0.0)),
        (false, Scalar::Bool) => Box::new(|a| u64::from(a != 0)),
        (true, Scalar::F16 | Scalar::Bf16 | Scalar::F32) => Box::new(move |a| to.rounded(from.float(a))),
        (false, Scalar::F16 | Scalar::Bf16 | Scalar::F32) => Box::new(move |a| from_integer(from.integer(a), to)),
        (true, _) => Box::new(move |a| saturated(from.float(a), to)),
        (false, _) => Box::new(move |a| to.wrapped(from.integer(a))),
    }
}

fn from_integer(value: i128, to: Scalar) -> u64 {
    // Rounded to odd first, so that rounding again is like rounding once.
    to.rounded(openmps_air::element::integer_to_odd(value))
}

/// Toward zero, the nearest number of the type outside of its range, 0 for NaN.
fn saturated(value: f64, to: Scalar) -> u64 {
    let bits = to.bits();
    let (least, most) =
        if to.is_signed() { (-(1_i128 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) };
    #[expect(clippy::cast_possible_truncation, reason = "`as` saturates, as meant here")]
    let integer = value as i128;
    to.wrapped(integer.clamp(least, most))
}

/// The bit pattern of a small number, which every type can hold.
pub(super) fn constant(scalar: Scalar, value: i32) -> u64 {
    match scalar {
        Scalar::Bool => u64::from(value != 0),
        Scalar::F16 | Scalar::Bf16 | Scalar::F32 => scalar.rounded(f64::from(value)),
        _ => scalar.wrapped(i128::from(value)),
    }
}

/// The bit pattern of the number of a float type that is nearest to `value`.
pub(super) fn encode(scalar: Scalar, value: f64) -> u64 {
    scalar.rounded(value)
}

/// The number with the bit pattern `bits`, for texts and checks.
pub(super) fn number(scalar: Scalar, bits: u64) -> f64 {
    if scalar.is_float() {
        return scalar.float(bits);
    }
    openmps_air::element::integer_to_odd(scalar.integer(bits))
}
