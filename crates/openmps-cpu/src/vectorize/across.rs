//! Whether a row's threads write far from each other, in steps that the launch decides, as when a matrix is transposed.

use openmps_llvm::{BinaryOp, CastOp, Opcode, PlainOp, Value};

use super::analysis::Analysis;
use super::graph::Graph;
use super::shape::Shape;

/// Bytes between two threads from which each writes a cache line of its own.
const LINE_BYTES: u64 = 64;
/// Operations between a position and an address that are looked through.
const DEPTH_MAX: u32 = 16;

/// Whether some store goes to addresses that grow with the lane by a step of a cache line or more, or by one that is not known.
pub(super) fn stores_across<'m>(graph: &Graph<'m>, analysis: &Analysis<'m>) -> bool {
    let stores = graph.blocks.iter().flat_map(|block| block.instructions()).filter(|it| it.opcode().is(PlainOp::Store));
    let mut pointers = stores.map(|store| store.operand(1)).filter(|&pointer| !analysis.private.contains(pointer));
    pointers.any(|pointer| match analysis.shape(pointer) {
        Shape::Uniform => false,
        Shape::Affine(affine) => affine.stride.unsigned_abs() >= LINE_BYTES,
        Shape::Varying => has_steps(analysis, pointer, DEPTH_MAX),
    })
}

/// Whether the value is a sum of what lanes share and positions times what lanes share.
fn has_steps<'m>(analysis: &Analysis<'m>, value: Value<'m>, depth: u32) -> bool {
    if analysis.shape(value) != Shape::Varying {
        return true;
    }
    let Some((instruction, depth)) = value.as_instruction().zip(depth.checked_sub(1)) else { return false };
    let operand = |number: u32| has_steps(analysis, instruction.operand(number), depth);
    let is_shared = |number: u32| analysis.shape(instruction.operand(number)).is_uniform();
    match instruction.opcode() {
        Opcode::Plain(PlainOp::GetElementPtr) => {
            instruction.operands().into_iter().all(|operand| has_steps(analysis, operand, depth))
        }
        Opcode::Cast(CastOp::ZExt | CastOp::SExt | CastOp::Trunc) | Opcode::Plain(PlainOp::Freeze) => operand(0),
        Opcode::Binary(BinaryOp::Add | BinaryOp::Sub | BinaryOp::Or) => operand(0) && operand(1),
        Opcode::Binary(BinaryOp::Mul) => is_shared(0) && operand(1) || is_shared(1) && operand(0),
        Opcode::Binary(BinaryOp::Shl) => is_shared(1) && operand(0),
        Opcode::Binary(_) | Opcode::Cast(_) | Opcode::Plain(_) => false,
    }
}
