//! Integer functions: `air.<op>.<s|u>.<type>`, and without sign letter where the sign does not matter.

use super::{Operation, Reference, Row, Slot, operations};
use crate::element::{Element, Sign, low_bits};

operations! {
    /// Integer functions.
    IntegerOperation {
        /// Of the least number of a signed type: that number.
        Abs = "abs",
        /// |x − y| as an unsigned number.
        AbsDiff = "abs_diff",
        /// The sum, at most the largest and at least the least number.
        AddSat = "add_sat",
        /// max(min(x, high), low) for low ≤ high.
        Clamp = "clamp",
        /// (x + y) / 2 rounded down, without overflow.
        Hadd = "hadd",
        Max = "max",
        Min = "min",
        /// The upper half of the product, plus a third operand, wrapping.
        MadHi = "mad_hi",
        /// x · y + z, at most the largest and at least the least number.
        MadSat = "mad_sat",
        /// The upper half of the product.
        MulHi = "mul_hi",
        /// (x + y + 1) / 2 rounded down, without overflow.
        Rhadd = "rhadd",
        /// The difference, at most the largest and at least the least number.
        SubSat = "sub_sat",
        /// Leading zeros; of zero the width. The second operand (i1) would make zero poison, and is always false.
        Clz = "clz",
        /// Trailing zeros; of zero the width. The second operand is as of `clz`.
        Ctz = "ctz",
        /// Ones.
        Popcount = "popcount",
        /// The bits in opposite order.
        ReverseBits = "reverse_bits",
        /// x rotated left by y modulo the width.
        Rotate = "rotate",
    }
}

impl IntegerOperation {
    /// Whether its names have a sign letter.
    #[must_use]
    pub fn has_sign(self) -> bool {
        match self {
            Self::Abs | Self::AbsDiff | Self::AddSat | Self::Clamp | Self::Hadd | Self::Max | Self::Min => true,
            Self::MadHi | Self::MadSat | Self::MulHi | Self::Rhadd | Self::SubSat => true,
            Self::Clz | Self::Ctz | Self::Popcount | Self::ReverseBits | Self::Rotate => false,
        }
    }
}

pub(super) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for operation in IntegerOperation::ALL {
        rows.push(row::<8, true>(*operation, Element::I8));
        rows.push(row::<16, true>(*operation, Element::I16));
        rows.push(row::<32, true>(*operation, Element::I32));
        rows.push(row::<64, true>(*operation, Element::I64));
        if operation.has_sign() {
            rows.push(row::<8, false>(*operation, Element::I8));
            rows.push(row::<16, false>(*operation, Element::I16));
            rows.push(row::<32, false>(*operation, Element::I32));
            rows.push(row::<64, false>(*operation, Element::I64));
        }
    }
    rows
}

fn row<const BITS: u32, const SIGNED: bool>(operation: IntegerOperation, element: Element) -> Row {
    let sign = if SIGNED { Sign::Signed } else { Sign::Unsigned };
    let sign = operation.has_sign().then_some(sign);
    let letter = sign.map(|sign| format!("{}.", sign.letter())).unwrap_or_default();
    let name = format!("air.{}.{letter}{element}", operation.name());
    let reference = reference::<BITS, SIGNED>(operation);
    let mut row = Row::pure(name, Operation::Integer(operation), element, reference);
    row.sign = sign;
    if operation == IntegerOperation::Clz || operation == IntegerOperation::Ctz {
        let lifted = Slot::Lifted(element);
        row = row.with_signature(lifted, vec![lifted, Slot::Scalar(Element::I1)]);
    }
    row
}

/// The number with bit pattern `bits` of an integer of `BITS` bits.
pub(super) fn number<const BITS: u32, const SIGNED: bool>(bits: u64) -> i128 {
    let value = i128::from(low_bits(bits, BITS));
    if SIGNED && value >> (BITS - 1) & 1 == 1 { value - (1 << BITS) } else { value }
}

/// The bit pattern of `value` modulo 2 to the power `BITS`.
pub(super) fn wrapped<const BITS: u32>(value: i128) -> u64 {
    u64::try_from(value & ((1 << BITS) - 1)).expect("masked to at most 64 bits")
}

/// The bit pattern of the number of the type that is nearest to `value`.
pub(super) fn saturated<const BITS: u32, const SIGNED: bool>(value: i128) -> u64 {
    let (least, most) = if SIGNED { (-(1 << (BITS - 1)), (1 << (BITS - 1)) - 1) } else { (0, (1 << BITS) - 1) };
    wrapped::<BITS>(value.clamp(least, most))
}

/// A function on numbers as a reference on bit patterns, wrapping or (`sat`) saturating.
macro_rules! on_numbers {
    (Unary $finish:ident $function:expr) => {
        Reference::Unary(|x| finish!($finish, $function(number::<BITS, SIGNED>(x))))
    };
    (Binary $finish:ident $function:expr) => {
        Reference::Binary(|x, y| finish!($finish, $function(number::<BITS, SIGNED>(x), number::<BITS, SIGNED>(y))))
    };
    (Ternary $finish:ident $function:expr) => {
        Reference::Ternary(|x, y, z| {
            let (x, y, z) = (number::<BITS, SIGNED>(x), number::<BITS, SIGNED>(y), number::<BITS, SIGNED>(z));
            finish!($finish, $function(x, y, z))
        })
    };
}

macro_rules! finish {
    (wrap, $value:expr) => {
        wrapped::<BITS>($value)
    };
    (sat, $value:expr) => {
        saturated::<BITS, SIGNED>($value)
    };
}

fn reference<const BITS: u32, const SIGNED: bool>(operation: IntegerOperation) -> Reference {
    use IntegerOperation as Op;
    match operation {
        Op::Abs => on_numbers!(Unary wrap i128::abs),
        Op::AbsDiff => on_numbers!(Binary wrap |x: i128, y: i128| (x - y).abs()),
        Op::AddSat => on_numbers!(Binary sat |x: i128, y: i128| x + y),
        Op::Clamp => on_numbers!(Ternary wrap |x: i128, low: i128, high: i128| x.min(high).max(low)),
        Op::Hadd => on_numbers!(Binary wrap |x: i128, y: i128| (x + y) >> 1),
        Op::Max => on_numbers!(Binary wrap |x: i128, y: i128| x.max(y)),
        Op::Min => on_numbers!(Binary wrap |x: i128, y: i128| x.min(y)),
        Op::MadHi => on_numbers!(Ternary wrap |x: i128, y: i128, z: i128| high::<BITS>(x, y) + z),
        Op::MadSat => on_numbers!(Ternary sat |x: i128, y: i128, z: i128| product(x, y).saturating_add(z)),
        Op::MulHi => on_numbers!(Binary wrap |x: i128, y: i128| high::<BITS>(x, y)),
        Op::Rhadd => on_numbers!(Binary wrap |x: i128, y: i128| (x + y + 1) >> 1),
        Op::SubSat => on_numbers!(Binary sat |x: i128, y: i128| x - y),
        Op::Clz => Reference::Binary(|x, _| u64::from(low_bits(x, BITS).leading_zeros() - (64 - BITS))),
        Op::Ctz => Reference::Binary(|x, _| u64::from(low_bits(x, BITS).trailing_zeros().min(BITS))),
        Op::Popcount => Reference::Unary(|x| u64::from(low_bits(x, BITS).count_ones())),
        Op::ReverseBits => Reference::Unary(|x| low_bits(x, BITS).reverse_bits() >> (64 - BITS)),
        Op::Rotate => Reference::Binary(|x, by| {
            let (x, by) = (low_bits(x, BITS), by % u64::from(BITS));
            if by == 0 { x } else { low_bits(x << by, BITS) | x >> (u64::from(BITS) - by) }
        }),
    }
}

/// The product, or the largest i128 where that is too small for it: two unsigned 64-bit numbers can have 128 bits.
fn product(x: i128, y: i128) -> i128 {
    x.saturating_mul(y)
}

/// The product's bits from `BITS` on.
fn high<const BITS: u32>(x: i128, y: i128) -> i128 {
    match x.checked_mul(y) {
        Some(product) => product >> BITS,
        None => i128::try_from(x.cast_unsigned().wrapping_mul(y.cast_unsigned()) >> 64).expect("at most 64 bits"),
    }
}
