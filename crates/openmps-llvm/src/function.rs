//! Functions: parameters, blocks, linkage.

use llvm_sys::core::{
    LLVMAppendBasicBlockInContext, LLVMCountParams, LLVMGetFirstBasicBlock, LLVMGetFunctionCallConv, LLVMGetGC,
    LLVMGetIntrinsicID, LLVMGetLinkage, LLVMGetNextBasicBlock, LLVMGetParam, LLVMGetSection, LLVMGetTypeContext,
    LLVMGlobalGetValueType, LLVMHasPrefixData, LLVMHasPrologueData, LLVMIntrinsicGetName, LLVMIsDeclaration,
    LLVMSetFunctionCallConv, LLVMSetLinkage, LLVMSetSection, LLVMTypeOf,
};
use llvm_sys::{LLVMLinkage, LLVMType, LLVMValue};

use crate::block::Block;
use crate::handle::handle;
use crate::instruction::Instruction;
use crate::opcode::PlainOp;
use crate::string::{borrowed, c_text};
use crate::ty::Type;
use crate::value::Value;

unsafe extern "C" {
    /// `csrc/function.cpp`.
    fn openmps_llvm_clone_function(function: *mut LLVMValue) -> *mut LLVMValue;
    /// `csrc/function.cpp`.
    fn openmps_llvm_move_blocks(to: *mut LLVMValue, from: *mut LLVMValue);
    /// `csrc/function.cpp`.
    fn openmps_llvm_add_parameter(function: *mut LLVMValue, ty: *mut LLVMType) -> *mut LLVMValue;
}

handle! {
    /// A function, defined or declared.
    Function, LLVMValue
}

/// Who sees a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Linkage {
    /// Everyone; one definition.
    External,
    /// Everyone; any of several equal definitions.
    WeakOdr,
    /// The module alone.
    Internal,
    /// The module alone, without a symbol.
    Private,
    /// One of LLVM's others (`linkonce`, `common`, `appending`, …).
    Other,
}

impl Linkage {
    pub(crate) fn from_raw(raw: LLVMLinkage) -> Self {
        match raw {
            LLVMLinkage::LLVMExternalLinkage => Self::External,
            LLVMLinkage::LLVMWeakODRLinkage => Self::WeakOdr,
            LLVMLinkage::LLVMInternalLinkage => Self::Internal,
            LLVMLinkage::LLVMPrivateLinkage => Self::Private,
            _ => Self::Other,
        }
    }

    pub(crate) fn to_raw(self) -> LLVMLinkage {
        match self {
            Self::External => LLVMLinkage::LLVMExternalLinkage,
            Self::WeakOdr => LLVMLinkage::LLVMWeakODRLinkage,
            Self::Internal => LLVMLinkage::LLVMInternalLinkage,
            Self::Private => LLVMLinkage::LLVMPrivateLinkage,
            Self::Other => panic!("a linkage that is set has a name"),
        }
    }
}

/// `fastcc`, the convention of AIR's internal functions.
pub const FAST_CALL: u32 = 8;
/// The C convention.
pub const C_CALL: u32 = 0;

impl<'m> Function<'m> {
    /// As an operand: a pointer.
    #[must_use]
    pub fn as_value(self) -> Value<'m> {
        Value::wrap(self.raw())
    }

    /// Its symbol.
    #[must_use]
    pub fn name(self) -> String {
        self.as_value().name()
    }

    /// Its function type.
    #[must_use]
    pub fn value_type(self) -> Type<'m> {
        // SAFETY: live by the invariant of `Function`.
        Type::wrap(unsafe { LLVMGlobalGetValueType(self.raw()) })
    }

    /// Whether it has no body here.
    #[must_use]
    pub fn is_declaration(self) -> bool {
        // SAFETY: live by the invariant of `Function`.
        unsafe { LLVMIsDeclaration(self.raw()) != 0 }
    }

    /// Whether it is one of LLVM's own intrinsics.
    #[must_use]
    pub fn is_llvm_intrinsic(self) -> bool {
        // SAFETY: live by the invariant of `Function`.
        unsafe { LLVMGetIntrinsicID(self.raw()) != 0 }
    }

    /// The name of LLVM's intrinsic that this is, without the types that it is overloaded for: `llvm.fma`.
    #[must_use]
    pub fn intrinsic_name(self) -> Option<String> {
        // SAFETY: live by the invariant of `Function`.
        let id = unsafe { LLVMGetIntrinsicID(self.raw()) };
        if id == 0 {
            return None;
        }
        let mut len = 0;
        // SAFETY: the number of an intrinsic.
        let data = unsafe { LLVMIntrinsicGetName(id, &raw mut len) };
        // SAFETY: LLVM keeps the names of its intrinsics for ever.
        Some(unsafe { borrowed(data, len) })
    }

    /// Its parameters in order.
    #[must_use]
    pub fn parameters(self) -> Vec<Value<'m>> {
        // SAFETY: live by the invariant of `Function`.
        let len = unsafe { LLVMCountParams(self.raw()) };
        // SAFETY: the index is below the number of parameters.
        (0..len).map(|index| Value::wrap(unsafe { LLVMGetParam(self.raw(), index) })).collect()
    }

    /// Parameter `index`.
    #[must_use]
    pub fn parameter(self, index: u32) -> Option<Value<'m>> {
        // SAFETY: live by the invariant of `Function`.
        let len = unsafe { LLVMCountParams(self.raw()) };
        // SAFETY: the index is below the number of parameters.
        (index < len).then(|| Value::wrap(unsafe { LLVMGetParam(self.raw(), index) }))
    }

    /// Its blocks in order; empty for a declaration.
    #[must_use]
    pub fn blocks(self) -> Vec<Block<'m>> {
        let mut blocks = Vec::new();
        // SAFETY: live by the invariant of `Function`.
        let mut next = Block::wrap_option(unsafe { LLVMGetFirstBasicBlock(self.raw()) });
        while let Some(block) = next {
            blocks.push(block);
            // SAFETY: a block of a live function.
            next = Block::wrap_option(unsafe { LLVMGetNextBasicBlock(block.raw()) });
        }
        blocks
    }

    /// The first block.
    #[must_use]
    pub fn entry(self) -> Option<Block<'m>> {
        // SAFETY: live by the invariant of `Function`.
        Block::wrap_option(unsafe { LLVMGetFirstBasicBlock(self.raw()) })
    }

    /// Every instruction, block by block.
    #[must_use]
    pub fn instructions(self) -> Vec<Instruction<'m>> {
        self.blocks().into_iter().flat_map(Block::instructions).collect()
    }

    /// Every call in the body (no intrinsic left out).
    #[must_use]
    pub fn calls(self) -> Vec<Instruction<'m>> {
        self.instructions().into_iter().filter(|instruction| instruction.opcode().is(PlainOp::Call)).collect()
    }

    /// A copy of the definition in the same module, seen by the module alone. Calls of the function itself in its body stay.
    ///
    /// # Panics
    /// When the function is a declaration.
    #[must_use]
    pub fn duplicate(self, name: &str) -> Self {
        assert!(!self.is_declaration(), "@{} has no body to copy", self.name());
        // SAFETY: a definition, live by the invariant of `Function`.
        let copy = Self::wrap(unsafe { openmps_llvm_clone_function(self.raw()) });
        copy.set_linkage(Linkage::Internal);
        copy.as_value().set_name(name);
        copy
    }

    /// Moves all blocks of `from` behind its own. Handles to them stay good; parameters of `from` that they use have to be
    /// replaced by the caller.
    ///
    /// # Panics
    /// When the functions are the same.
    pub fn take_blocks(self, from: Self) {
        assert_ne!(self, from, "a function cannot take its own blocks");
        // SAFETY: both are live by the invariant of `Function`, and of one module's context.
        unsafe { openmps_llvm_move_blocks(self.raw(), from.raw()) }
    }

    /// The function with one more parameter of type `ty` at the end. It has the name, the blocks and the uses of this one, which
    /// is gone: handles to it and to its parameters must not be used any more.
    ///
    /// # Panics
    /// When the function is a declaration, or something calls it.
    #[must_use]
    pub fn with_parameter(self, ty: Type<'m>) -> Self {
        assert!(!self.is_declaration(), "@{} has no body", self.name());
        let is_call = |user: Value<'m>| user.as_instruction().is_some();
        assert!(!self.as_value().users().into_iter().any(is_call), "@{} is used by code", self.name());
        // SAFETY: both are live by their invariants; no call is left with too few arguments.
        Self::wrap(unsafe { openmps_llvm_add_parameter(self.raw(), ty.raw()) })
    }

    /// Adds an empty block at the end.
    #[must_use]
    pub fn append_block(self, name: &str) -> Block<'m> {
        let name = c_text(name);
        // SAFETY: live by the invariant of `Function`.
        let ty = unsafe { LLVMTypeOf(self.raw()) };
        // SAFETY: the type of a live value.
        let context = unsafe { LLVMGetTypeContext(ty) };
        // SAFETY: context and function are live; the name is copied.
        Block::wrap(unsafe { LLVMAppendBasicBlockInContext(context, self.raw(), name.as_ptr()) })
    }

    /// Who sees it.
    #[must_use]
    pub fn linkage(self) -> Linkage {
        // SAFETY: live by the invariant of `Function`.
        Linkage::from_raw(unsafe { LLVMGetLinkage(self.raw()) })
    }

    /// Sets who sees it.
    ///
    /// # Panics
    /// On [`Linkage::Other`].
    pub fn set_linkage(self, linkage: Linkage) {
        // SAFETY: live by the invariant of `Function`.
        unsafe { LLVMSetLinkage(self.raw(), linkage.to_raw()) }
    }

    /// Its calling convention, LLVM's number.
    #[must_use]
    pub fn call_convention(self) -> u32 {
        // SAFETY: live by the invariant of `Function`.
        unsafe { LLVMGetFunctionCallConv(self.raw()) }
    }

    /// Sets the calling convention; calls need the same.
    pub fn set_call_convention(self, convention: u32) {
        // SAFETY: live by the invariant of `Function`.
        unsafe { LLVMSetFunctionCallConv(self.raw(), convention) }
    }

    /// The name of its garbage collector.
    #[must_use]
    pub fn garbage_collector(self) -> Option<String> {
        // SAFETY: live by the invariant of `Function`.
        let name = unsafe { LLVMGetGC(self.raw()) };
        if name.is_null() {
            return None;
        }
        // SAFETY: LLVM returns null-terminated text that the function keeps.
        Some(unsafe { std::ffi::CStr::from_ptr(name) }.to_string_lossy().into_owned())
    }

    /// Whether data stands before its code or at the start of it.
    #[must_use]
    pub fn has_data(self) -> bool {
        // SAFETY: live by the invariant of `Function`.
        let prefix = unsafe { LLVMHasPrefixData(self.raw()) != 0 };
        // SAFETY: live by the invariant of `Function`.
        prefix || unsafe { LLVMHasPrologueData(self.raw()) != 0 }
    }

    /// Its section; empty where none is set.
    #[must_use]
    pub fn section(self) -> String {
        section(self.raw())
    }

    /// Puts it into `section`; empty removes the mark.
    pub fn set_section(self, section: &str) {
        let section = c_text(section);
        // SAFETY: live by the invariant of `Function`; the name is copied.
        unsafe { LLVMSetSection(self.raw(), section.as_ptr()) }
    }
}

/// The section of a live function or global variable.
pub(crate) fn section(raw: *mut LLVMValue) -> String {
    // SAFETY: callers pass a live global object.
    let text = unsafe { LLVMGetSection(raw) };
    if text.is_null() {
        return String::new();
    }
    // SAFETY: LLVM returns null-terminated text that the object keeps.
    let len = unsafe { std::ffi::CStr::from_ptr(text) }.count_bytes();
    // SAFETY: `len` bytes precede the NUL.
    unsafe { borrowed(text, len) }
}

impl std::fmt::Display for Function<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.as_value().fmt(f)
    }
}

impl std::fmt::Debug for Function<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "@{}", self.name())
    }
}
