//! Basic blocks.

use llvm_sys::LLVMBasicBlock;
use llvm_sys::core::{
    LLVMBasicBlockAsValue, LLVMGetBasicBlockParent, LLVMGetBasicBlockTerminator, LLVMGetFirstInstruction,
    LLVMGetNextInstruction, LLVMGetTypeContext, LLVMInsertBasicBlockInContext, LLVMMoveBasicBlockAfter, LLVMTypeOf,
};

use crate::function::Function;
use crate::handle::handle;
use crate::instruction::Instruction;
use crate::opcode::PlainOp;
use crate::string::c_text;
use crate::value::Value;

handle! {
    /// A basic block of a function.
    Block, LLVMBasicBlock
}

impl<'m> Block<'m> {
    /// As a value of type `label`.
    #[must_use]
    pub fn as_value(self) -> Value<'m> {
        // SAFETY: live by the invariant of `Block`.
        Value::wrap(unsafe { LLVMBasicBlockAsValue(self.raw()) })
    }

    /// Its name; empty where it has none.
    #[must_use]
    pub fn name(self) -> String {
        self.as_value().name()
    }

    /// The function that it is part of.
    #[must_use]
    pub fn function(self) -> Function<'m> {
        // SAFETY: live by the invariant of `Block`.
        Function::wrap(unsafe { LLVMGetBasicBlockParent(self.raw()) })
    }

    /// Its instructions in order, as they are now: a loop over them may insert and erase.
    #[must_use]
    pub fn instructions(self) -> Vec<Instruction<'m>> {
        let mut instructions = Vec::new();
        let mut next = self.first();
        while let Some(instruction) = next {
            instructions.push(instruction);
            // SAFETY: an instruction of a live block.
            next = Instruction::wrap_option(unsafe { LLVMGetNextInstruction(instruction.raw()) });
        }
        instructions
    }

    /// The first instruction.
    #[must_use]
    pub fn first(self) -> Option<Instruction<'m>> {
        // SAFETY: live by the invariant of `Block`.
        Instruction::wrap_option(unsafe { LLVMGetFirstInstruction(self.raw()) })
    }

    /// The first instruction that is no phi.
    #[must_use]
    pub fn first_non_phi(self) -> Option<Instruction<'m>> {
        self.instructions().into_iter().find(|instruction| !instruction.opcode().is(PlainOp::Phi))
    }

    /// The instruction that ends it; `None` while it is being built.
    #[must_use]
    pub fn terminator(self) -> Option<Instruction<'m>> {
        // SAFETY: live by the invariant of `Block`.
        Instruction::wrap_option(unsafe { LLVMGetBasicBlockTerminator(self.raw()) })
    }

    /// The blocks that its terminator may go to, in the terminator's order.
    #[must_use]
    pub fn successors(self) -> Vec<Block<'m>> {
        self.terminator().map(Instruction::successors).unwrap_or_default()
    }

    /// A new empty block before this one.
    #[must_use]
    pub fn insert_before(self, name: &str) -> Block<'m> {
        let name = c_text(name);
        // SAFETY: live by the invariant of `Block`.
        let ty = unsafe { LLVMTypeOf(self.as_value().raw()) };
        // SAFETY: the type of a live value.
        let context = unsafe { LLVMGetTypeContext(ty) };
        // SAFETY: context and block are live; the name is copied.
        Block::wrap(unsafe { LLVMInsertBasicBlockInContext(context, self.raw(), name.as_ptr()) })
    }

    /// Moves it behind `other`, of the same function.
    pub fn move_after(self, other: Block<'m>) {
        // SAFETY: both are live by the invariant of `Block`.
        unsafe { LLVMMoveBasicBlockAfter(self.raw(), other.raw()) }
    }
}

impl std::fmt::Debug for Block<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(&self.as_value(), f)
    }
}
