//! Conversions: `air.convert.<dk>.<dst>.<sk>.<src>`, kinds `f`, `s`, `u`; truth values are `u.i1`.
//!
//! Float to integer truncates, saturates, and gives 0 for NaN (MSL 8.6 for NaN; the rest MSL leaves undefined, and hardware
//! is reported to saturate). Anything to a truth value compares with zero, so NaN is true. Integers to float round once, to
//! even. Integers widen by the kind of the source.

use super::integer::{number, saturated, wrapped};
use super::{Operation, Reference, Row, Slot};
use crate::element::{Bf16, Element, F16, F32, Format, Sign, integer_to_odd};

/// A number on its way between types.
#[derive(Clone, Copy)]
enum Number {
    Float(f64),
    Integer(i128),
}

/// A scalar type with its kind.
trait Kind {
    const ELEMENT: Element;
    const SIGN: Option<Sign>;
    fn load(bits: u64) -> Number;
    fn store(number: Number) -> u64;
}

struct Float<F>(std::marker::PhantomData<F>);
enum Int<const BITS: u32, const SIGNED: bool> {}
enum Truth {}

impl<F: Format> Kind for Float<F> {
    const ELEMENT: Element = F::ELEMENT;
    const SIGN: Option<Sign> = None;

    fn load(bits: u64) -> Number {
        Number::Float(F::decode(bits))
    }

    fn store(number: Number) -> u64 {
        F::encode(match number {
            Number::Float(value) => value,
            Number::Integer(value) => integer_to_odd(value),
        })
    }
}

impl<const BITS: u32, const SIGNED: bool> Kind for Int<BITS, SIGNED> {
    const ELEMENT: Element = match BITS {
        8 => Element::I8,
        16 => Element::I16,
        32 => Element::I32,
        _ => Element::I64,
    };
    const SIGN: Option<Sign> = Some(if SIGNED { Sign::Signed } else { Sign::Unsigned });

    fn load(bits: u64) -> Number {
        Number::Integer(number::<BITS, SIGNED>(bits))
    }

    fn store(number: Number) -> u64 {
        match number {
            // `as` truncates, saturates and turns NaN into 0: exactly this function's rule.
            #[expect(clippy::cast_possible_truncation, reason = "saturating is the rule")]
            Number::Float(value) => saturated::<BITS, SIGNED>(value as i128),
            Number::Integer(value) => wrapped::<BITS>(value),
        }
    }
}

impl Kind for Truth {
    const ELEMENT: Element = Element::I1;
    const SIGN: Option<Sign> = Some(Sign::Unsigned);

    fn load(bits: u64) -> Number {
        Number::Integer(i128::from(bits & 1))
    }

    fn store(number: Number) -> u64 {
        u64::from(match number {
            Number::Float(value) => value != 0.0,
            Number::Integer(value) => value != 0,
        })
    }
}

pub(super) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    rows_to::<Float<F16>>(&mut rows);
    rows_to::<Float<Bf16>>(&mut rows);
    rows_to::<Float<F32>>(&mut rows);
    rows_to::<Truth>(&mut rows);
    rows_to::<Int<8, true>>(&mut rows);
    rows_to::<Int<8, false>>(&mut rows);
    rows_to::<Int<16, true>>(&mut rows);
    rows_to::<Int<16, false>>(&mut rows);
    rows_to::<Int<32, true>>(&mut rows);
    rows_to::<Int<32, false>>(&mut rows);
    rows_to::<Int<64, true>>(&mut rows);
    rows_to::<Int<64, false>>(&mut rows);
    rows
}

fn rows_to<D: Kind>(rows: &mut Vec<Row>) {
    rows.push(row::<D, Float<F16>>());
    rows.push(row::<D, Float<Bf16>>());
    rows.push(row::<D, Float<F32>>());
    rows.push(row::<D, Truth>());
    rows.push(row::<D, Int<8, true>>());
    rows.push(row::<D, Int<8, false>>());
    rows.push(row::<D, Int<16, true>>());
    rows.push(row::<D, Int<16, false>>());
    rows.push(row::<D, Int<32, true>>());
    rows.push(row::<D, Int<32, false>>());
    rows.push(row::<D, Int<64, true>>());
    rows.push(row::<D, Int<64, false>>());
}

fn row<D: Kind, S: Kind>() -> Row {
    let letter = |sign: Option<Sign>| sign.map_or('f', Sign::letter);
    let name = format!("air.convert.{}.{}.{}.{}", letter(D::SIGN), D::ELEMENT, letter(S::SIGN), S::ELEMENT);
    let reference = Reference::Unary(|bits| D::store(S::load(bits)));
    let mut row = Row::pure(name, Operation::Convert, D::ELEMENT, reference);
    row.sign = D::SIGN;
    row.source = Some((S::ELEMENT, S::SIGN));
    row.with_signature(Slot::Lifted(D::ELEMENT), vec![Slot::Lifted(S::ELEMENT)])
}
