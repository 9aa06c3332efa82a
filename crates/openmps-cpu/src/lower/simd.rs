//! SIMD-group and quad operations: calls of the runtime, which lets the lanes meet.
//!
//! The first operand of each call is the operation's site, its place in program order. It is written as [`UNNUMBERED_SITE`] here and
//! numbered after inlining, when the places are known.

use super::text::{Body, Ty, Value};
use super::{Declaration, Lanes, Lowered};
use crate::lanes::{Element, LaneOperation};
use crate::vectorize::Marker;

/// Stands for the site until sites are numbered.
const UNNUMBERED_SITE: u32 = 0;

/// The constant part of a lane operation.
pub(super) struct LaneCall {
    pub(super) operation: LaneOperation,
    pub(super) element: Element,
    /// Elements of the vector.
    pub(super) count: u32,
    /// 32 for SIMD-groups, 4 for quads.
    pub(super) width: u32,
}

impl LaneCall {
    /// The operation as the runtime reads it.
    pub(super) fn code(&self) -> u32 {
        let Self { operation, element, count, width } = self;
        *operation as u32 | (*element as u32) << 8 | count << 16 | width << 24
    }
}

/// Calls the runtime with the address of the operation's words.
pub(super) fn lane_call(
    body: &mut Body,
    call: &LaneCall,
    operand: Option<&Value>,
    modulo: Option<&Value>,
    words: &str,
) {
    let code = call.code();
    let number = |body: &mut Body, value: Option<&Value>| match value {
        Some(value) => body.cast("zext", value, &Ty::scalar("i32")).name,
        None => "0".to_owned(),
    };
    let (operand, modulo) = (number(body, operand), number(body, modulo));
    body.line(format_args!(
        "call void @openmps_lane(i32 {UNNUMBERED_SITE}, i32 {code}, i32 {operand}, i32 {modulo}, ptr {words}) convergent"
    ));
}

/// The operation and the width of its group.
fn operation_of(declaration: &Declaration) -> Option<(LaneOperation, u32)> {
    use LaneOperation as Op;
    let (name, _) = declaration.parts();
    let (name, width) = match name.strip_prefix("simd_") {
        Some(name) => (name, 32),
        None => (name.strip_prefix("quad_")?, 4),
    };
    let operation = match name {
        "sum" => Op::Sum,
        "product" => Op::Product,
        "min" => Op::Min,
        "max" => Op::Max,
        "and" => Op::And,
        "or" => Op::Or,
        "xor" => Op::Xor,
        "prefix_inclusive_sum" => Op::PrefixInclusiveSum,
        "prefix_exclusive_sum" => Op::PrefixExclusiveSum,
        "prefix_inclusive_product" => Op::PrefixInclusiveProduct,
        "prefix_exclusive_product" => Op::PrefixExclusiveProduct,
        "all" => Op::All,
        "any" => Op::Any,
        "ballot" => Op::Ballot,
        "vote_all" => Op::VoteAll,
        "vote_any" => Op::VoteAny,
        "active_threads_mask" => Op::ActiveThreadsMask,
        "is_first" => Op::IsFirst,
        "broadcast" => Op::Broadcast,
        "broadcast_first" => Op::BroadcastFirst,
        "shuffle" => Op::Shuffle,
        "shuffle_up" => Op::ShuffleUp,
        "shuffle_down" => Op::ShuffleDown,
        "shuffle_xor" => Op::ShuffleXor,
        "shuffle_rotate_up" => Op::ShuffleRotateUp,
        "shuffle_rotate_down" => Op::ShuffleRotateDown,
        "shuffle_and_fill_up" => Op::ShuffleAndFillUp,
        "shuffle_and_fill_down" => Op::ShuffleAndFillDown,
        _ => return None,
    };
    Some((operation, width))
}

/// The element type that the name states, by sign, and the LLVM type.
fn element_of(ty: &Ty, signed: bool) -> Option<Element> {
    Some(match (ty.scalar.as_str(), signed) {
        ("float", _) => Element::F32,
        ("half", _) => Element::F16,
        ("bfloat", _) => Element::Bf16,
        ("i1", _) => Element::I1,
        ("i8", true) => Element::I8,
        ("i16", true) => Element::I16,
        ("i32", true) => Element::I32,
        ("i64", true) => Element::I64,
        ("i8", false) => Element::U8,
        ("i16", false) => Element::U16,
        ("i32", false) => Element::U32,
        ("i64", false) => Element::U64,
        _ => return None,
    })
}

/// Whether lanes wait for each other in this function.
pub(super) fn is_lane_operation(declaration: &Declaration) -> bool {
    let (name, _) = declaration.parts();
    operation_of(declaration).is_some() || name.starts_with("simdgroup_matrix_8x8")
}

pub(super) fn lower(declaration: &Declaration, body: &mut Body) -> Option<Lowered> {
    let (_, parts) = declaration.parts();
    let (operation, width) = operation_of(declaration)?;
    let result = declaration.result.clone()?;
    let signed = parts.contains(&"s");
    let data = declaration.parameter(0);
    // Operations without a value still have a word for their result.
    let ty = data.as_ref().map_or_else(|| result.clone(), |data| data.ty.clone());
    let element = element_of(&ty, signed)?;
    let has_fill = matches!(operation, LaneOperation::ShuffleAndFillUp | LaneOperation::ShuffleAndFillDown);
    let fill = if has_fill { Some(declaration.parameter(1).filter(|fill| fill.ty == ty)?) } else { None };
    let first_number = if has_fill { 2 } else { 1 };
    let operand = declaration.parameter(first_number);
    let modulo = if has_fill { declaration.parameter(first_number + 1) } else { None };

    if declaration.lanes == Lanes::Lockstep {
        let marker = Marker { operation, element, width };
        return Some(Lowered::Value(in_lockstep(body, marker, &result, [data, fill], [operand, modulo])));
    }
    let words = ty.lanes * if has_fill { 2 } else { 1 };
    let address = body.value(&Ty::scalar("ptr"), format_args!("alloca [{words} x i64], align 8"));
    for (vector, first) in [(data, 0), (fill, ty.lanes)] {
        let Some(vector) = vector else { continue };
        for lane in 0..ty.lanes {
            let scalar = body.extract(&vector, lane);
            let word = body.word_of(&scalar);
            let place = body.word_address(&address, first + lane);
            body.line(format_args!("store {word}, {place}"));
        }
    }
    let call = LaneCall { operation, element, count: ty.lanes, width };
    lane_call(body, &call, operand.as_ref(), modulo.as_ref(), &address.name);
    let value = body.per_lane(&result, |body, lane| {
        let place = body.word_address(&address, lane);
        let word = body.value(&Ty::scalar("i64"), format_args!("load i64, {place}"));
        body.scalar_of(&word, &result.lane())
    });
    Some(Lowered::Value(value))
}

/// A call for each element of the vector.
fn in_lockstep(
    body: &mut Body,
    marker: Marker,
    result: &Ty,
    vectors: [Option<Value>; 2],
    numbers: [Option<Value>; 2],
) -> Value {
    let numbers: Vec<Value> =
        numbers.iter().flatten().map(|number| body.cast("zext", number, &Ty::scalar("i32"))).collect();
    body.per_lane(result, |body, lane| {
        let mut operands: Vec<Value> = vectors.iter().flatten().map(|vector| body.extract(vector, lane)).collect();
        operands.extend(numbers.iter().cloned());
        marked(body, marker, &result.lane(), &operands)
    })
}

/// A call that the vectoriser replaces.
pub(super) fn marked(body: &mut Body, marker: Marker, result: &Ty, operands: &[Value]) -> Value {
    let name = marker.name();
    let types: Vec<String> = operands.iter().map(|operand| operand.ty.to_string()).collect();
    // Convergent: which lanes take part depends on where it stands. Not to be merged with another one or left out either.
    body.declare(format!(
        "declare {result} @{name}({}) convergent nounwind willreturn memory(inaccessiblemem: readwrite)\n",
        types.join(", ")
    ));
    let operands: Vec<&Value> = operands.iter().collect();
    body.call(result, &name, &operands)
}
