//! Reads of `constant` arguments give the same whenever they are done.
//!
//! Nothing writes to the constant address space while a kernel runs. PyTorch however binds a buffer that a kernel changes in place to
//! `constant T*`, too; so only reads at a constant offset are marked, those of `constant uint& size` and of structures of
//! parameters. Loops need not read them again after each store. Runs after inlining.

use openmps_llvm::{Function, Instruction, PlainOp, Value};

/// AIR's number of the constant address space.
const CONSTANT_SPACE: u32 = 2;
/// LLVM's mark.
const INVARIANT: &str = "invariant.load";

/// Marks the reads of `function`.
pub(super) fn run(function: Function<'_>) {
    for load in function.instructions().into_iter().filter(|it| it.opcode().is(PlainOp::Load)) {
        let pointer = load.operand(0);
        if load.is_volatile() || pointer.ty().address_space() != Some(CONSTANT_SPACE) {
            continue;
        }
        // The mark is that of the load of the argument's own address.
        if let Some(argument) = argument(pointer) {
            load.set_metadata(INVARIANT, argument.metadata(INVARIANT));
        }
    }
}

/// The load of the address that `pointer` is at a constant distance from.
fn argument(pointer: Value<'_>) -> Option<Instruction<'_>> {
    let mut pointer = pointer;
    loop {
        let instruction = pointer.as_instruction()?;
        if instruction.opcode().is(PlainOp::Load) {
            return Some(instruction).filter(|load| load.metadata(INVARIANT).is_some());
        }
        let is_fixed = instruction.opcode().is(PlainOp::GetElementPtr)
            && instruction.operands().iter().skip(1).all(|index| index.as_const_int().is_some());
        if !is_fixed {
            return None;
        }
        pointer = instruction.operand(0);
    }
}

#[cfg(test)]
mod tests {
    use openmps_llvm::Context;

    use super::*;

    #[test]
    fn reads_at_fixed_places_are_marked() {
        let context = Context::new();
        let text = "define void @f(ptr %arguments, i64 %i) {
  %a0 = load ptr addrspace(2), ptr %arguments, !invariant.load !0
  %a1 = load ptr addrspace(1), ptr %arguments, !invariant.load !0
  %size = load i32, ptr addrspace(2) %a0
  %field.at = getelementptr { i32, i32 }, ptr addrspace(2) %a0, i64 0, i32 1
  %field = load i32, ptr addrspace(2) %field.at
  %element.at = getelementptr i32, ptr addrspace(2) %a0, i64 %i
  %element = load i32, ptr addrspace(2) %element.at
  %device = load i32, ptr addrspace(1) %a1
  ret void
}
!0 = !{}
";
        let module = context.parse_ir(text).unwrap();
        let function = module.function("f").unwrap();
        run(function);
        module.verify().unwrap();
        let marked: Vec<String> = function
            .instructions()
            .into_iter()
            .filter(|it| it.opcode().is(PlainOp::Load) && it.metadata(INVARIANT).is_some())
            .map(|it| it.as_value().name())
            .collect();
        assert_eq!(marked, ["a0", "a1", "size", "field"]);
    }
}
