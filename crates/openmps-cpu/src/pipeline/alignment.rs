//! Makes accesses of vectors need no more than the alignment of an element.
//!
//! Public kernels read `float4` at any `float` (`*(device float4*)(row + i)` with rows of 17), which a GPU's memory allows and
//! an aligned load of x86 answers with a signal. An access without that promise costs the same where the address is aligned,
//! and LLVM finds again what it can prove. Atomic accesses are scalars and keep theirs. Runs before anything optimizes.

use openmps_llvm::{AttributePlace, Instruction, Module, Opcode, PlainOp};

/// Weakens what every load, store and copy of `module` says about its address.
pub(super) fn run(module: &Module<'_>) {
    for function in module.functions() {
        for instruction in function.instructions() {
            match instruction.opcode() {
                Opcode::Plain(PlainOp::Load) => weaken(module, instruction, instruction.ty().lanes()),
                Opcode::Plain(PlainOp::Store) => weaken(module, instruction, instruction.operand(0).ty().lanes()),
                Opcode::Plain(PlainOp::Call) => weaken_copy(instruction),
                Opcode::Plain(_) | Opcode::Binary(_) | Opcode::Cast(_) => {}
            }
        }
    }
}

fn weaken(module: &Module<'_>, access: Instruction<'_>, lanes: u32) {
    if lanes < 2 {
        return;
    }
    let ty = if access.opcode() == Opcode::Plain(PlainOp::Store) { access.operand(0).ty() } else { access.ty() };
    let element = module.alignment_bytes(ty.scalar());
    if access.alignment().is_some_and(|bytes| bytes > element) {
        access.set_alignment(element);
    }
}

/// Structs with vectors in them are copied as bytes.
fn weaken_copy(call: Instruction<'_>) {
    let name = call.called_function().map(|function| function.name()).unwrap_or_default();
    if name.starts_with("llvm.memcpy.") || name.starts_with("llvm.memmove.") {
        call.add_call_attribute(AttributePlace::Parameter(0), "align", 1);
        call.add_call_attribute(AttributePlace::Parameter(1), "align", 1);
    }
}

#[cfg(test)]
mod tests {
    use openmps_llvm::Context;

    use super::*;

    fn after(body: &str) -> String {
        let context = Context::new();
        let text = format!(
            "declare void @llvm.memcpy.p1.p1.i64(ptr addrspace(1), ptr addrspace(1), i64, i1)\n\
             define void @f(ptr addrspace(1) %a, ptr addrspace(1) %b, <4 x float> %v) {{\n{body}\n  ret void\n}}"
        );
        let module = context.parse_ir(&text).unwrap();
        run(&module);
        module.verify().unwrap();
        module.to_string()
    }

    #[test]
    fn vectors_need_the_alignment_of_an_element() {
        let text = after(
            "  store <4 x float> %v, ptr addrspace(1) %a, align 16\n  %x = load <4 x half>, ptr addrspace(1) %b, align 8",
        );
        assert!(text.contains("ptr addrspace(1) %a, align 4"), "{text}");
        assert!(text.contains("ptr addrspace(1) %b, align 2"), "{text}");
    }

    #[test]
    fn scalars_and_what_promises_less_stay() {
        let text = after(
            "  %x = load i64, ptr addrspace(1) %a, align 8\n  store <4 x float> %v, ptr addrspace(1) %b, align 1",
        );
        assert!(text.contains("%a, align 8") && text.contains("%b, align 1"), "{text}");
    }

    #[test]
    fn copies_promise_nothing() {
        let text = after(
            "  call void @llvm.memcpy.p1.p1.i64(ptr addrspace(1) align 16 %a, ptr addrspace(1) align 16 %b, i64 32, i1 false)",
        );
        assert!(text.contains("align 1 %a") && text.contains("align 1 %b"), "{text}");
    }
}
