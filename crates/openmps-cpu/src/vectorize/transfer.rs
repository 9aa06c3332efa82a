//! The shape of an instruction's result from the shapes of its operands.

use openmps_llvm::{BinaryOp, CastOp, Instruction, IntPredicate, Module, Opcode, PlainOp, Type, TypeKind, Value};

use super::marker::{LANE_INDEX, Marker, OUTER_FILLED, OUTER_MEMORY};
use super::shape::{Affine, Shape};

/// Lanes of a SIMD-group.
const WIDTH: u64 = 32;

/// The shape of `instruction`; none while too little is known of its operands. `shape` tells what is known, lanes lie in rows of
/// `row_lanes`; phis and accesses of private memory are not asked here.
pub(super) fn shape_of<'m>(
    module: &Module<'m>,
    row_lanes: u32,
    instruction: Instruction<'m>,
    shape: &dyn Fn(Value<'m>) -> Option<Shape>,
) -> Option<Shape> {
    let operand = |index: u32| shape(instruction.operand(index));
    match instruction.opcode() {
        Opcode::Binary(op) if instruction.ty().int_bits().is_some_and(|bits| (2..=64).contains(&bits)) => {
            let (left, right) = (operand(0)?, operand(1)?);
            Some(binary(instruction, op, left, right))
        }
        Opcode::Cast(op) => Some(cast(instruction, op, operand(0)?)),
        Opcode::Plain(PlainOp::GetElementPtr) => address(module, instruction, shape),
        Opcode::Plain(PlainOp::Select) => {
            let (condition, yes, no) = (operand(0)?, operand(1)?, operand(2)?);
            let met = yes.meet(no);
            Some(if condition.is_uniform() && !met.is_checked() { met } else { Shape::Varying })
        }
        Opcode::Plain(PlainOp::Freeze) => {
            let shape = operand(0)?;
            Some(if shape.is_checked() { Shape::Varying } else { shape })
        }
        Opcode::Plain(PlainOp::Load) => Some(if operand(0)?.is_uniform() { Shape::Uniform } else { Shape::Varying }),
        Opcode::Plain(PlainOp::Alloca | PlainOp::AtomicRmw | PlainOp::AtomicCmpXchg) => Some(Shape::Varying),
        Opcode::Plain(PlainOp::Call) => call(instruction, row_lanes, shape),
        Opcode::Plain(PlainOp::ICmp) if compares_simdgroups(instruction, operand(0)?, operand(1)?) => {
            Some(Shape::Uniform)
        }
        Opcode::Binary(_) | Opcode::Plain(_) => all_uniform(instruction.operands().into_iter(), shape),
    }
}

fn all_uniform<'m>(
    mut operands: impl Iterator<Item = Value<'m>>,
    shape: &dyn Fn(Value<'m>) -> Option<Shape>,
) -> Option<Shape> {
    let mut unknown = false;
    let varies = operands.any(|operand| match shape(operand) {
        None => {
            unknown = true;
            false
        }
        Some(shape) => !shape.is_uniform(),
    });
    if varies {
        Some(Shape::Varying)
    } else if unknown {
        None
    } else {
        Some(Shape::Uniform)
    }
}

/// Whether a comparison of a number that counts the lanes of whole SIMD-groups with a constant is the same for all of them: the
/// constant lies between two SIMD-groups.
fn compares_simdgroups(test: Instruction<'_>, left: Shape, right: Shape) -> bool {
    use IntPredicate as P;
    let is_aligned = |shape: Shape| matches!(shape, Shape::Affine(affine) if affine.aligned && !affine.checked);
    let (constant, is_left) = match (is_aligned(left), is_aligned(right)) {
        (true, false) => (test.operand(1).as_const_int(), true),
        (false, true) => (test.operand(0).as_const_int(), false),
        _ => return false,
    };
    let (Some(constant), Some(predicate)) = (constant, test.int_predicate()) else { return false };
    match predicate {
        P::Eq | P::Ne => false,
        P::Ult | P::Uge | P::Slt | P::Sge if is_left => constant.is_multiple_of(WIDTH),
        P::Ugt | P::Ule | P::Sgt | P::Sle if !is_left => constant.is_multiple_of(WIDTH),
        P::Ult | P::Uge | P::Slt | P::Sge | P::Ugt | P::Ule | P::Sgt | P::Sle => constant % WIDTH == WIDTH - 1,
    }
}

/// The largest number of an integer type of at most 64 bits.
fn type_max(bits: u32) -> u64 {
    u64::MAX >> (64 - bits)
}

fn binary(instruction: Instruction<'_>, op: BinaryOp, left: Shape, right: Shape) -> Shape {
    use BinaryOp as B;
    if left.is_uniform() && right.is_uniform() {
        return Shape::Uniform;
    }
    let (Some(left_steps), Some(right_steps)) = (left.strides(), right.strides()) else { return Shape::Varying };
    let constant = instruction.operand(1).as_const_int();
    match (op, left, right) {
        (B::Add, _, _) => sum(instruction, left, right),
        (B::Or, _, _) if instruction.is_disjoint() => sum(instruction, left, right),
        (B::Sub, Shape::Affine(a), Shape::Uniform) => Shape::Affine(Affine {
            signed: a.signed && instruction.has_no_signed_wrap(),
            aligned: a.aligned && constant.is_some_and(|c| c.is_multiple_of(WIDTH)),
            checked: a.checked,
            ..Affine::plain(a.stride, a.rows)
        }),
        (B::Sub, _, _) => {
            let checked = left.is_checked() || right.is_checked();
            let stride = left_steps.0.wrapping_sub(right_steps.0);
            let rows = left_steps.1.zip(right_steps.1).map(|(left, right)| left.wrapping_sub(right));
            steps_or_none(stride, rows, checked)
        }
        (B::Mul, Shape::Affine(a), _) if constant.is_some() => {
            constant.map_or(Shape::Varying, |c| product(instruction, a, c))
        }
        (B::Shl, Shape::Affine(a), _) if constant.is_some_and(|c| c < 64) => {
            constant.map_or(Shape::Varying, |c| product(instruction, a, 1 << c))
        }
        (_, Shape::Affine(a), _) if a.aligned && !a.checked => {
            constant.map_or(Shape::Varying, |c| of_aligned(op, a, c, instruction.ty()))
        }
        _ if left.is_shared_by_rows() && right.is_shared_by_rows() => of_rows(instruction, op),
        _ => Shape::Varying,
    }
}

/// The result of operands that all lanes of a row share: each row's is computed by itself. What could do harm in rows without active
/// lanes is not.
fn of_rows(instruction: Instruction<'_>, op: BinaryOp) -> Shape {
    use BinaryOp as B;
    let bits = instruction.ty().int_bits().unwrap_or(64);
    let own = Affine { unsigned_max: Some(type_max(bits)), signed: true, ..Affine::plain(0, None) };
    match op {
        B::Mul | B::And | B::Or | B::Xor => Shape::Affine(own),
        B::Shl | B::LShr | B::AShr if instruction.operand(1).as_const_int().is_some() => Shape::Affine(own),
        _ => Shape::Varying,
    }
}

/// A sum, or an `or` that is one.
fn sum(instruction: Instruction<'_>, left: Shape, right: Shape) -> Shape {
    let is_or = instruction.is_disjoint();
    let bits = instruction.ty().int_bits().unwrap_or(64);
    let (unsigned_flag, signed_flag) =
        (is_or || instruction.has_no_unsigned_wrap(), is_or || instruction.has_no_signed_wrap());
    let (affine, other) = match (left, right) {
        (Shape::Affine(a), Shape::Uniform) => (a, instruction.operand(1)),
        (Shape::Uniform, Shape::Affine(b)) => (b, instruction.operand(0)),
        (Shape::Affine(a), Shape::Affine(b)) => {
            let checked = a.checked || b.checked;
            let bound = a.unsigned_max.zip(b.unsigned_max).and_then(|(a, b)| a.checked_add(b));
            let bound = bound.filter(|&bound| bound <= type_max(bits));
            let signed = bound.is_some_and(|bound| bound <= type_max(bits) / 2);
            let rows = a.rows.zip(b.rows).map(|(a, b)| a.wrapping_add(b));
            return match steps_or_none(a.stride.wrapping_add(b.stride), rows, checked) {
                Shape::Affine(sum) => Shape::Affine(Affine { unsigned_max: bound, signed, ..sum }),
                shared => shared,
            };
        }
        _ => return Shape::Varying,
    };
    let constant = other.as_const_int();
    let bound = affine.unsigned_max.zip(constant).and_then(|(max, c)| max.checked_add(c));
    let bound = bound.filter(|&bound| bound <= type_max(bits));
    let flagged = (unsigned_flag && affine.counts_up() && affine.unsigned_max.is_some()).then(|| type_max(bits));
    let unsigned_max = bound.or(flagged);
    Shape::Affine(Affine {
        stride: affine.stride,
        rows: affine.rows,
        unsigned_max,
        signed: (signed_flag && affine.signed) || unsigned_max.is_some_and(|max| max <= type_max(bits) / 2),
        aligned: affine.aligned && is_multiple_of_width(other),
        checked: affine.checked,
    })
}

/// Whether a uniform number is a multiple of 32 by how it is made.
fn is_multiple_of_width(value: Value<'_>) -> bool {
    if let Some(constant) = value.as_const_int() {
        return constant.is_multiple_of(WIDTH);
    }
    let Some(instruction) = value.as_instruction() else { return false };
    let constant = || instruction.operand(1).as_const_int();
    match instruction.opcode() {
        Opcode::Binary(BinaryOp::Shl) => constant().is_some_and(|c| c >= 5),
        Opcode::Binary(BinaryOp::Mul) => constant().is_some_and(|c| c.is_multiple_of(WIDTH)),
        Opcode::Binary(BinaryOp::And) => constant().is_some_and(|c| c.is_multiple_of(WIDTH)),
        Opcode::Binary(_) | Opcode::Cast(_) | Opcode::Plain(_) => false,
    }
}

fn product(instruction: Instruction<'_>, a: Affine, factor: u64) -> Shape {
    let bits = instruction.ty().int_bits().unwrap_or(64);
    let factor_signed = (factor << (64 - bits)).cast_signed() >> (64 - bits);
    let (stride, rows) = (a.stride.wrapping_mul(factor_signed), a.rows.map(|rows| rows.wrapping_mul(factor_signed)));
    if (stride, rows) == (0, Some(0)) {
        return Shape::Varying;
    }
    let bound = a.unsigned_max.and_then(|max| max.checked_mul(factor)).filter(|&bound| bound <= type_max(bits));
    let flagged = instruction.has_no_unsigned_wrap() && a.counts_up() && a.unsigned_max.is_some();
    let unsigned_max = bound.or(flagged.then(|| type_max(bits)));
    Shape::Affine(Affine {
        stride,
        rows,
        unsigned_max,
        signed: (instruction.has_no_signed_wrap() && a.signed)
            || unsigned_max.is_some_and(|max| max <= type_max(bits) / 2),
        aligned: false,
        checked: a.checked,
    })
}

/// Kernels find their SIMD-group and lane by dividing an aligned position by 32 and masking it with 31.
fn of_aligned(op: BinaryOp, a: Affine, constant: u64, ty: Type<'_>) -> Shape {
    use BinaryOp as B;
    let max = type_max(ty.int_bits().unwrap_or(64));
    let within = |max: u64| Shape::Affine(Affine { unsigned_max: Some(max), signed: true, ..a });
    let is_multiple = constant != 0 && constant.is_multiple_of(WIDTH);
    match op {
        B::LShr | B::AShr if constant >= 5 => Shape::Uniform,
        B::UDiv if is_multiple => Shape::Uniform,
        B::SDiv if is_multiple && constant <= max / 2 && a.unsigned_max.is_some_and(|bound| bound <= max / 2) => {
            Shape::Uniform
        }
        B::And if constant & (WIDTH - 1) == 0 => Shape::Uniform,
        B::And if constant & (WIDTH - 1) == WIDTH - 1 && constant <= max / 2 => within(constant),
        B::URem if is_multiple && constant <= max / 2 => within(constant - 1),
        _ => Shape::Varying,
    }
}

fn cast(instruction: Instruction<'_>, op: CastOp, operand: Shape) -> Shape {
    let Shape::Affine(mut a) = operand else { return operand };
    if let (true, 0, Some(bits)) = (a.is_by_rows(), a.stride, instruction.operand(0).ty().int_bits()) {
        // Lanes of a row do not differ, so that nothing wraps between them.
        (a.unsigned_max, a.signed) = (a.unsigned_max.or(Some(type_max(bits))), true);
    }
    let (from, to) = (instruction.operand(0).ty(), instruction.ty());
    match (op, from.kind(), to.kind()) {
        (CastOp::ZExt, TypeKind::Integer(bits), TypeKind::Integer(_)) if bits > 1 => {
            if instruction.is_non_negative() && a.signed && a.unsigned_max.is_none() {
                return Shape::Affine(Affine { unsigned_max: None, ..a });
            }
            let unsigned_max = Some(a.unsigned_max.unwrap_or(type_max(bits)));
            let checked = a.checked || a.unsigned_max.is_none();
            Shape::Affine(Affine { unsigned_max, signed: true, checked, ..a })
        }
        (CastOp::SExt, TypeKind::Integer(bits), TypeKind::Integer(_)) if bits > 1 => {
            let unsigned_max = a.unsigned_max.filter(|&max| max <= type_max(bits) / 2);
            let is_exact = a.signed || unsigned_max.is_some();
            Shape::Affine(Affine { unsigned_max, signed: true, checked: a.checked || !is_exact, ..a })
        }
        (CastOp::Trunc, TypeKind::Integer(_), TypeKind::Integer(bits)) if bits > 1 => {
            let unsigned_max = a.unsigned_max.filter(|&max| max <= type_max(bits));
            let signed = unsigned_max.is_some_and(|max| max <= type_max(bits) / 2);
            Shape::Affine(Affine { unsigned_max, signed, ..a })
        }
        (CastOp::PtrToInt | CastOp::IntToPtr | CastOp::AddrSpaceCast | CastOp::BitCast, _, _)
            if [from, to].iter().all(|ty| ty.address_space().is_some() || ty.int_bits() == Some(64)) =>
        {
            Shape::Affine(Affine { checked: a.checked, ..Affine::plain(a.stride, a.rows) })
        }
        _ => Shape::Varying,
    }
}

/// Whether `cast` is a zero extension whose operand counts lanes as a signed number: it is a sign extension on active lanes.
pub(super) fn extends_as_signed(cast: Instruction<'_>, operand: Shape) -> bool {
    cast.is_non_negative() && matches!(operand, Shape::Affine(a) if a.signed && a.unsigned_max.is_none())
}

/// The type that each index of an address steps over in bytes, or the constant offset of a field.
pub(super) enum Step<'m> {
    /// Index and bytes.
    Index(Value<'m>, u64),
    /// Bytes.
    Field(u64),
}

/// The steps of a `getelementptr`; none where it goes through a scalable type.
pub(super) fn steps<'m>(module: &Module<'m>, address: Instruction<'m>) -> Option<Vec<Step<'m>>> {
    let mut ty = address.gep_source_type()?;
    let mut steps = Vec::new();
    for (number, index) in address.operands().into_iter().skip(1).enumerate() {
        if number > 0 {
            match ty.kind() {
                TypeKind::Struct => {
                    let field = u32::try_from(index.as_const_int()?).ok()?;
                    steps.push(Step::Field(module.field_offset_bytes(ty, field)));
                    ty = *ty.fields().get(field as usize)?;
                    continue;
                }
                TypeKind::Array(element, _) | TypeKind::Vector(element, _) => ty = element,
                _ => return None,
            }
        }
        steps.push(Step::Index(index, module.size_bytes(ty)));
    }
    Some(steps)
}

fn address<'m>(
    module: &Module<'m>,
    instruction: Instruction<'m>,
    shape: &dyn Fn(Value<'m>) -> Option<Shape>,
) -> Option<Shape> {
    let base = shape(instruction.operand(0))?;
    let Some(steps) = steps(module, instruction) else { return Some(Shape::Varying) };
    let mut checked = base.is_checked();
    let Some((mut stride, mut rows)) = base.strides() else { return Some(Shape::Varying) };
    for step in steps {
        let Step::Index(index, bytes) = step else { continue };
        let index_shape = shape(index)?;
        let Some((step, row_step)) = index_shape.strides() else { return Some(Shape::Varying) };
        if let Shape::Affine(affine) = index_shape {
            let bits = index.ty().int_bits().unwrap_or(64);
            let is_exact = affine.signed || affine.unsigned_max.is_some_and(|max| max <= type_max(bits) / 2);
            if bits < 64 && !is_exact {
                return Some(Shape::Varying);
            }
        }
        checked |= index_shape.is_checked();
        let bytes = i64::try_from(bytes).unwrap_or(0);
        stride = stride.wrapping_add(step.wrapping_mul(bytes));
        rows = rows.zip(row_step).map(|(rows, step)| rows.wrapping_add(step.wrapping_mul(bytes)));
    }
    Some(steps_or_none(stride, rows, checked))
}

/// Steps that two others have led to; where none is left that was sure to be there, nothing is known.
fn steps_or_none(stride: i64, rows: Option<i64>, checked: bool) -> Shape {
    match Shape::steps(stride, rows) {
        Shape::Affine(affine) => Shape::Affine(Affine { checked, ..affine }),
        Shape::Uniform | Shape::Varying if checked => Shape::Varying,
        shape => shape,
    }
}

fn call<'m>(instruction: Instruction<'m>, row_lanes: u32, shape: &dyn Fn(Value<'m>) -> Option<Shape>) -> Option<Shape> {
    let Some(function) = instruction.called_function() else { return Some(Shape::Varying) };
    let name = function.name();
    if name == LANE_INDEX {
        return Some(Shape::position(WIDTH - 1, true, row_lanes));
    }
    if name == OUTER_MEMORY || name == OUTER_FILLED {
        return Some(Shape::Uniform);
    }
    let arguments = instruction.arguments();
    if let Some(marker) = Marker::parse(&name) {
        let operand = match marker.operation {
            crate::lanes::LaneOperation::Broadcast => arguments.get(1),
            _ => arguments.first(),
        };
        let operand_is_uniform = match operand {
            None => true,
            Some(&operand) => shape(operand)?.is_uniform(),
        };
        return Some(if marker.is_uniform(operand_is_uniform) { Shape::Uniform } else { Shape::Varying });
    }
    let is_pure = function.is_llvm_intrinsic() || is_pure(function);
    if !is_pure {
        return Some(Shape::Varying);
    }
    all_uniform(arguments.into_iter(), shape)
}

/// Whether a function neither reads nor writes memory, so that one call can stand for those of all lanes.
pub(super) fn is_pure(function: openmps_llvm::Function<'_>) -> bool {
    function.attribute(openmps_llvm::AttributePlace::Function, "memory") == Some(0)
}
