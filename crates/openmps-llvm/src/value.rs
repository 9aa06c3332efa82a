//! Values: what every constant, argument, instruction, function and global has in common.

use std::fmt;

use llvm_sys::LLVMValue;
use llvm_sys::core::{
    LLVMGetFirstUse, LLVMGetNextUse, LLVMGetUser, LLVMGetValueName2, LLVMIsAArgument, LLVMIsABasicBlock,
    LLVMIsAFunction, LLVMIsAGlobalVariable, LLVMIsAInlineAsm, LLVMIsAInstruction, LLVMIsConstant,
    LLVMPrintValueToString, LLVMReplaceAllUsesWith, LLVMSetValueName2, LLVMTypeOf, LLVMValueAsBasicBlock,
};

use crate::block::Block;
use crate::function::Function;
use crate::global::Global;
use crate::handle::handle;
use crate::instruction::Instruction;
use crate::string::{borrowed, owned};
use crate::ty::Type;

handle! {
    /// Anything that an instruction can have as operand.
    Value, LLVMValue
}

impl<'m> Value<'m> {
    /// Its type. Of functions and globals this is a pointer; see their `value_type`.
    #[must_use]
    pub fn ty(self) -> Type<'m> {
        // SAFETY: live by the invariant of `Value`.
        Type::wrap(unsafe { LLVMTypeOf(self.raw()) })
    }

    /// Its name; empty where it has none.
    #[must_use]
    pub fn name(self) -> String {
        let mut len = 0;
        // SAFETY: live by the invariant of `Value`.
        let data = unsafe { LLVMGetValueName2(self.raw(), &raw mut len) };
        // SAFETY: LLVM returns the address and length of the name that the value keeps.
        unsafe { borrowed(data, len) }
    }

    /// Gives it a name; LLVM adds a number where the name is taken.
    pub fn set_name(self, name: &str) {
        // SAFETY: live by the invariant of `Value`; the name is copied.
        unsafe { LLVMSetValueName2(self.raw(), name.as_ptr().cast(), name.len()) }
    }

    /// The instruction that this is.
    #[must_use]
    pub fn as_instruction(self) -> Option<Instruction<'m>> {
        // SAFETY: live by the invariant of `Value`.
        Instruction::wrap_option(unsafe { LLVMIsAInstruction(self.raw()) })
    }

    /// The function that this is.
    #[must_use]
    pub fn as_function(self) -> Option<Function<'m>> {
        // SAFETY: live by the invariant of `Value`.
        Function::wrap_option(unsafe { LLVMIsAFunction(self.raw()) })
    }

    /// The global variable that this is.
    #[must_use]
    pub fn as_global(self) -> Option<Global<'m>> {
        // SAFETY: live by the invariant of `Value`.
        Global::wrap_option(unsafe { LLVMIsAGlobalVariable(self.raw()) })
    }

    /// The basic block that this is.
    #[must_use]
    pub fn as_block(self) -> Option<Block<'m>> {
        // SAFETY: live by the invariant of `Value`.
        if unsafe { LLVMIsABasicBlock(self.raw()) }.is_null() {
            return None;
        }
        // SAFETY: just found to be a block.
        Some(Block::wrap(unsafe { LLVMValueAsBasicBlock(self.raw()) }))
    }

    /// Whether it is a parameter of a function.
    #[must_use]
    pub fn is_argument(self) -> bool {
        // SAFETY: live by the invariant of `Value`.
        !unsafe { LLVMIsAArgument(self.raw()) }.is_null()
    }

    /// Whether it is a constant, which functions and globals are too.
    #[must_use]
    pub fn is_constant(self) -> bool {
        // SAFETY: live by the invariant of `Value`.
        unsafe { LLVMIsConstant(self.raw()) != 0 }
    }

    /// Whether it is inline assembly.
    #[must_use]
    pub fn is_inline_asm(self) -> bool {
        // SAFETY: live by the invariant of `Value`.
        !unsafe { LLVMIsAInlineAsm(self.raw()) }.is_null()
    }

    /// Each use's user, in LLVM's order: an instruction that uses the value twice comes twice.
    #[must_use]
    pub fn users(self) -> Vec<Value<'m>> {
        let mut users = Vec::new();
        // SAFETY: live by the invariant of `Value`.
        let mut link = unsafe { LLVMGetFirstUse(self.raw()) };
        while !link.is_null() {
            // SAFETY: a link of the use list of a live value.
            users.push(Value::wrap(unsafe { LLVMGetUser(link) }));
            // SAFETY: a link of the use list of a live value.
            link = unsafe { LLVMGetNextUse(link) };
        }
        users
    }

    /// Whether nothing uses it.
    #[must_use]
    pub fn is_unused(self) -> bool {
        // SAFETY: live by the invariant of `Value`.
        unsafe { LLVMGetFirstUse(self.raw()) }.is_null()
    }

    /// Makes every user use `other`, of the same type, in its place.
    ///
    /// # Panics
    /// When the types differ.
    pub fn replace_all_uses_with(self, other: Value<'m>) {
        if self == other {
            return;
        }
        assert_eq!(self.ty(), other.ty(), "the replacement has the type of what it replaces");
        // SAFETY: both are live by the invariant of `Value`, different, and of one type.
        unsafe { LLVMReplaceAllUsesWith(self.raw(), other.raw()) }
    }
}

impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // SAFETY: live by the invariant of `Value`; the text is handed over.
        f.write_str(owned(unsafe { LLVMPrintValueToString(self.raw()) }).trim())
    }
}

impl fmt::Debug for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
