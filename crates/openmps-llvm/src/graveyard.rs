//! Erased instructions, kept until no handle to them can be left.
//!
//! Handles are copyable, so an erased instruction may still be named somewhere. It is therefore unlinked, its operands
//! replaced by `poison` (targets of branches by an empty block), and freed only when the module is borrowed mutably.

use llvm_sys::core::{
    LLVMAddFunction, LLVMAppendExistingBasicBlock, LLVMBasicBlockAsValue, LLVMCreateBasicBlockInContext,
    LLVMDeleteFunction, LLVMDeleteInstruction, LLVMInstructionRemoveFromParent, LLVMSetOperand,
};
use llvm_sys::prelude::{LLVMBasicBlockRef, LLVMModuleRef, LLVMValueRef};

use crate::context::Context;
use crate::instruction::Instruction;
use crate::string::c_text;
use crate::ty::TypeKind;

/// Invariant: `erased` are live instructions outside any block that nothing else frees; `target` is a live block outside
/// any function.
#[derive(Default)]
pub(crate) struct Graveyard {
    erased: Vec<LLVMValueRef>,
    target: Option<LLVMBasicBlockRef>,
}

impl Graveyard {
    /// Unlinks `instruction`, which is in a block and which nothing uses any more.
    pub(crate) fn unlink(&mut self, context: &Context, instruction: Instruction<'_>) {
        for index in 0..instruction.operand_count() {
            let ty = instruction.operand(index).ty();
            let substitute = match ty.kind() {
                TypeKind::Label => self.target(context),
                TypeKind::Metadata => continue,
                _ => ty.poison().raw(),
            };
            // SAFETY: instruction and substitute are live; the index is in range.
            unsafe { LLVMSetOperand(instruction.raw(), index, substitute) }
        }
        // SAFETY: live by the invariant of `Instruction`, and in a block.
        unsafe { LLVMInstructionRemoveFromParent(instruction.raw()) }
        self.erased.push(instruction.raw());
    }

    /// The block that unlinked branches go to.
    fn target(&mut self, context: &Context) -> LLVMValueRef {
        let name = c_text("erased");
        // SAFETY: the context is live; the name is copied.
        let make = || unsafe { LLVMCreateBasicBlockInContext(context.raw(), name.as_ptr()) };
        let block = *self.target.get_or_insert_with(make);
        // SAFETY: live by the invariant of `Graveyard`.
        unsafe { LLVMBasicBlockAsValue(block) }
    }

    /// Frees everything. `module` is the live module that the instructions came from, and no handle to them is left.
    pub(crate) fn bury(self, context: &Context, module: LLVMModuleRef) {
        for instruction in self.erased {
            // SAFETY: live, unlinked and unused by the invariant of `Graveyard`.
            unsafe { LLVMDeleteInstruction(instruction) }
        }
        let Some(block) = self.target else { return };
        // LLVM-C deletes a block only together with a function that it is in.
        let name = c_text("openmps.erased");
        let ty = context.function(context.void(), &[]);
        // SAFETY: module and type are live; the name is copied.
        let function = unsafe { LLVMAddFunction(module, name.as_ptr(), ty.raw()) };
        // SAFETY: both are live; the block is in no function by the invariant of `Graveyard`.
        unsafe { LLVMAppendExistingBasicBlock(function, block) }
        // SAFETY: made above; nothing uses it, and the instructions that named its block are gone.
        unsafe { LLVMDeleteFunction(function) }
    }
}
