//! Vectors that are another view of an integer's bits become shifts of the integer.
//!
//! `as_type<uint2>` of a `long`, and what compares all components of a vector as one number, leave a bitcast between an integer and
//! a vector whose elements the scalarizer has taken apart otherwise. A value of vector type that differs between lanes has
//! no vector form, an integer has. Runs behind the last pass that would make bitcasts of the shifts again, and leaves dead code.
//!
//! Little-endian, as all of AIR. Leaves vectors alone that are made or used in another way than element by element.

use openmps_llvm::{Builder, CastOp, Function, Instruction, Opcode, PlainOp, Type, TypeKind, Value};

/// Widest integer that is taken apart.
const BITS_MAX: u32 = 64;

/// Rewrites all such vectors of `function`; whether there were some.
pub(super) fn run<'m>(builder: &Builder<'m>, function: Function<'m>) -> bool {
    let mut has_changed = false;
    for instruction in function.instructions() {
        let replacement = match instruction.opcode() {
            Opcode::Plain(PlainOp::ExtractElement) => unpacked(builder, instruction),
            Opcode::Cast(CastOp::BitCast) if instruction.ty().int_bits().is_some() => {
                builder.position_before(instruction);
                packed(builder, instruction.operand(0), instruction.ty())
            }
            Opcode::Binary(_) | Opcode::Cast(_) | Opcode::Plain(_) => None,
        };
        if let Some(replacement) = replacement {
            instruction.as_value().replace_all_uses_with(replacement);
            has_changed = true;
        }
    }
    has_changed
}

/// Bits of a scalar that an integer can have a part of.
fn bits(ty: Type<'_>) -> Option<u32> {
    match ty.kind() {
        TypeKind::Integer(bits) => Some(bits),
        TypeKind::Half | TypeKind::BFloat => Some(16),
        TypeKind::Float => Some(32),
        _ => None,
    }
}

/// One element of a bitcast.
fn unpacked<'m>(builder: &Builder<'m>, extract: Instruction<'m>) -> Option<Value<'m>> {
    let (vector, index) = (extract.operand(0), extract.operand(1).as_const_int()?);
    let cast = vector.as_instruction().filter(|it| it.opcode() == Opcode::Cast(CastOp::BitCast))?;
    let width = bits(extract.ty())?;
    let total = width * vector.ty().lanes();
    let shift = u64::from(width).checked_mul(index).filter(|&shift| shift < u64::from(total))?;
    if total > BITS_MAX {
        return None;
    }
    builder.position_before(extract);
    let whole_ty = builder.context().int(total);
    let source = cast.operand(0);
    let whole = match source.ty().kind() {
        TypeKind::Integer(_) => source,
        TypeKind::Vector(..) => packed(builder, source, whole_ty)?,
        TypeKind::Double => builder.bitcast(source, whole_ty),
        _ => return None,
    };
    let shifted = if shift == 0 { whole } else { builder.lshr(whole, whole_ty.const_int(shift)) };
    let part = builder.zext_or_trunc(shifted, builder.context().int(width));
    Some(if part.ty() == extract.ty() { part } else { builder.bitcast(part, extract.ty()) })
}

/// The integer whose bits are those of a vector that was put together element by element.
fn packed<'m>(builder: &Builder<'m>, vector: Value<'m>, ty: Type<'m>) -> Option<Value<'m>> {
    let TypeKind::Vector(element, lanes) = vector.ty().kind() else { return None };
    let width = bits(element)?;
    if width * lanes > BITS_MAX {
        return None;
    }
    let elements = elements(vector, lanes)?;
    let mut whole = ty.zero();
    for (number, element) in (0..).zip(elements) {
        let part = if element.ty().int_bits().is_some() {
            element
        } else {
            builder.bitcast(element, builder.context().int(width))
        };
        let part = builder.zext_or_trunc(part, ty);
        let place = ty.const_int(u64::from(width) * number);
        whole = if number == 0 { part } else { builder.or(whole, builder.shl(part, place)) };
    }
    Some(whole)
}

/// The elements of a chain of insertions at constant places.
fn elements<'m>(vector: Value<'m>, lanes: u32) -> Option<Vec<Value<'m>>> {
    let mut elements = vec![None; lanes as usize];
    let mut rest = vector;
    while elements.contains(&None) {
        let insert = rest.as_instruction().filter(|it| it.opcode().is(PlainOp::InsertElement))?;
        let place = usize::try_from(insert.operand(2).as_const_int()?).ok()?;
        elements.get_mut(place)?.get_or_insert(insert.operand(1));
        rest = insert.operand(0);
    }
    elements.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use openmps_llvm::{Context, PassOptions};

    use super::*;

    fn rewritten(body: &str) -> String {
        let context = Context::new();
        let text = format!("define void @f(i64 %a, half %h, i1 %b, i1 %c, ptr %p) {{\n{body}\n  ret void\n}}\n");
        let mut module = context.parse_ir(&text).expect("it is IR");
        let function = module.function("f").expect("it is there");
        run(&module.builder(), function);
        module.verify().expect("it is valid");
        module.run_passes("function(dce)", None, PassOptions::default()).expect("dce runs");
        module.to_string()
    }

    #[test]
    fn elements_of_an_integer_are_shifts_and_back() {
        let text = rewritten(
            "  %v = bitcast i64 %a to <2 x i32>
  %x = extractelement <2 x i32> %v, i64 1
  %y = extractelement <2 x i32> %v, i64 0
  %w0 = insertelement <2 x i32> poison, i32 %x, i64 0
  %w1 = insertelement <2 x i32> %w0, i32 %y, i64 1
  %back = bitcast <2 x i32> %w1 to i64
  store i64 %back, ptr %p",
        );
        assert!(!text.contains("<2 x"), "{text}");
        assert!(text.contains("lshr i64 %a, 32") && text.contains("shl i64"), "{text}");
    }

    #[test]
    fn truth_values_and_halves_are_packed() {
        let text = rewritten(
            "  %v0 = insertelement <2 x i1> poison, i1 %b, i64 0
  %v1 = insertelement <2 x i1> %v0, i1 %c, i64 1
  %both = bitcast <2 x i1> %v1 to i2
  %all = icmp eq i2 %both, -1
  store i1 %all, ptr %p
  %w0 = insertelement <2 x half> poison, half %h, i64 0
  %w1 = insertelement <2 x half> %w0, half %h, i64 1
  %word = bitcast <2 x half> %w1 to <4 x i8>
  %byte = extractelement <4 x i8> %word, i64 3
  store i8 %byte, ptr %p",
        );
        assert!(!text.contains(" x i1>") && !text.contains(" x half>") && !text.contains(" x i8>"), "{text}");
        assert!(text.contains("shl i2") && text.contains("lshr i32 %"), "{text}");
    }

    #[test]
    fn a_vector_of_unknown_elements_stays() {
        let text = rewritten(
            "  %v = load <2 x i32>, ptr %p
  %a2 = bitcast <2 x i32> %v to i64
  store i64 %a2, ptr %p",
        );
        assert!(text.contains("bitcast <2 x i32> %v to i64"), "{text}");
    }
}
