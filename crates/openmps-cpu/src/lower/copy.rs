//! `air.simdgroup_async_copy_*` and `air.wait_simdgroup_events`: copies that a SIMD-group makes once, at the call. Waiting for
//! them has nothing left to wait for.
//!
//! Operands of the 2-D form: element size and alignment, target, elements a row, 1, target's tile (width, height), source,
//! elements a row, 1, source's tile, offset, clamp mode. The 1-D form has element size and alignment, target, source, elements.

use super::simd::{LaneCall, lane_call};
use super::text::{Body, Ty, Value};
use super::{Declaration, Lowered};
use crate::lanes::{COPY_WORDS, Element, LaneOperation};

/// Whether the lanes make a copy together in this function.
pub(super) fn is_copy(declaration: &Declaration) -> bool {
    declaration.parts().0.starts_with("simdgroup_async_copy_")
}

pub(super) fn lower(declaration: &Declaration, body: &mut Body) -> Option<Lowered> {
    let words = match declaration.parts().0 {
        "simdgroup_async_copy_2d" => tile_words(declaration, body)?,
        "simdgroup_async_copy_1d" => row_words(declaration, body)?,
        "wait_simdgroup_events" => return Some(Lowered::Void),
        _ => return None,
    };
    let address = body.value(&Ty::scalar("ptr"), format_args!("alloca [{COPY_WORDS} x i64], align 8"));
    for (number, word) in (0..).zip(&words) {
        let place = body.word_address(&address, number);
        body.line(format_args!("store {word}, {place}"));
    }
    let call = LaneCall { operation: LaneOperation::Copy, element: Element::U64, count: 0, width: 32 };
    lane_call(body, &call, None, None, &address.name);
    Some(Lowered::Value(Value::new(declaration.result.clone()?, "null")))
}

/// The words of [`crate::lanes::copy`], from the operands of the 2-D form.
fn tile_words(declaration: &Declaration, body: &mut Body) -> Option<[Value; COPY_WORDS]> {
    let parameter = |index| declaration.parameter(index);
    let (target_tile, source_tile, offset) = (parameter(5)?, parameter(9)?, parameter(10)?);
    let mode = body.cast("zext", &parameter(11)?, &Ty::scalar("i64"));
    Some([
        parameter(0)?,
        address_word(body, &parameter(2)?),
        parameter(3)?,
        body.extract(&target_tile, 0),
        body.extract(&target_tile, 1),
        address_word(body, &parameter(6)?),
        parameter(7)?,
        body.extract(&source_tile, 0),
        body.extract(&source_tile, 1),
        body.extract(&offset, 0),
        body.extract(&offset, 1),
        mode,
    ])
}

/// A row is a tile of height 1.
fn row_words(declaration: &Declaration, body: &mut Body) -> Option<[Value; COPY_WORDS]> {
    let number = |value| Value::int(&Ty::scalar("i64"), value);
    let count = declaration.parameter(4)?;
    Some([
        declaration.parameter(0)?,
        address_word(body, &declaration.parameter(2)?),
        count.clone(),
        count.clone(),
        number(1),
        address_word(body, &declaration.parameter(3)?),
        count.clone(),
        count,
        number(1),
        number(0),
        number(0),
        number(0),
    ])
}

fn address_word(body: &mut Body, pointer: &Value) -> Value {
    body.value(&Ty::scalar("i64"), format_args!("ptrtoint {pointer} to i64"))
}
