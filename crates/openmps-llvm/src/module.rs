//! Modules: reading, writing, verifying, linking, and what they contain.

use std::cell::RefCell;
use std::fmt;
use std::ptr::NonNull;

use llvm_sys::analysis::{LLVMVerifierFailureAction, LLVMVerifyModule};
use llvm_sys::bit_writer::LLVMWriteBitcodeToMemoryBuffer;
use llvm_sys::core::{
    LLVMAddFunction, LLVMAddGlobalInAddressSpace, LLVMAddNamedMetadataOperand, LLVMCloneModule, LLVMDeleteFunction,
    LLVMDeleteGlobal, LLVMDisposeModule, LLVMGetDataLayoutStr, LLVMGetFirstFunction, LLVMGetFirstGlobal,
    LLVMGetFirstGlobalAlias, LLVMGetFirstGlobalIFunc, LLVMGetGlobalParent, LLVMGetIntrinsicDeclaration,
    LLVMGetModuleInlineAsm, LLVMGetNamedFunctionWithLength, LLVMGetNamedGlobalWithLength,
    LLVMGetNamedMetadataNumOperands, LLVMGetNamedMetadataOperands, LLVMGetNextFunction, LLVMGetNextGlobal,
    LLVMGetNextGlobalAlias, LLVMGetNextGlobalIFunc, LLVMGetTarget, LLVMLookupIntrinsicID, LLVMPrintModuleToString,
    LLVMSetDataLayout, LLVMSetTarget,
};
use llvm_sys::debuginfo::LLVMStripModuleDebugInfo;
use llvm_sys::linker::LLVMLinkModules2;
use llvm_sys::target::{
    LLVMABIAlignmentOfType, LLVMABISizeOfType, LLVMGetModuleDataLayout, LLVMOffsetOfElement, LLVMStoreSizeOfType,
};
use llvm_sys::{LLVMModule, LLVMValue};

use crate::builder::Builder;
use crate::context::Context;
use crate::diagnostics::Error;
use crate::function::Function;
use crate::global::Global;
use crate::graveyard::Graveyard;
use crate::handle::count;
use crate::instruction::Instruction;
use crate::metadata::Metadata;
use crate::string::{ObjectCode, borrowed, c_text, owned};
use crate::ty::Type;
use crate::value::Value;

unsafe extern "C" {
    /// `csrc/constructors.cpp`.
    fn openmps_llvm_fold_constructors(module: *mut LLVMModule) -> usize;
    // `csrc/module.cpp`.
    fn openmps_llvm_clear_named_metadata(module: *mut LLVMModule, name: *const std::ffi::c_char, size: usize);
    fn openmps_llvm_clone_definitions(
        module: *mut LLVMModule,
        kept: *const *mut LLVMValue,
        count: usize,
    ) -> *mut LLVMModule;
}

/// A module of a context. Handles to its parts borrow it; what deletes parts takes it by `&mut`, so no handle is left then.
pub struct Module<'ctx> {
    context: &'ctx Context,
    /// Invariant: live, owned, part of `context`.
    raw: NonNull<LLVMModule>,
    graveyard: RefCell<Graveyard>,
}

/// The elements of one of LLVM's linked lists.
fn list<T: Copy>(first: Option<T>, next: impl Fn(T) -> Option<T>) -> Vec<T> {
    std::iter::successors(first, |element| next(*element)).collect()
}

impl<'ctx> Module<'ctx> {
    /// Takes a module that LLVM has just made in `context`.
    pub(crate) fn take(context: &'ctx Context, raw: *mut LLVMModule) -> Self {
        let raw = NonNull::new(raw).expect("LLVM returns a module here");
        Self { context, raw, graveyard: RefCell::default() }
    }

    pub(crate) fn raw(&self) -> *mut LLVMModule {
        self.raw.as_ptr()
    }

    /// The context that owns it.
    #[must_use]
    pub fn context(&self) -> &'ctx Context {
        self.context
    }

    /// A copy that changes independently.
    #[must_use]
    pub fn duplicate(&self) -> Module<'ctx> {
        // SAFETY: live by the invariant of `Module`.
        Self::take(self.context, unsafe { LLVMCloneModule(self.raw()) })
    }

    /// A copy in which only the functions and globals in `kept` are defined; it declares the others.
    #[must_use]
    pub fn duplicate_definitions(&self, kept: &[Value<'_>]) -> Module<'ctx> {
        let kept: Vec<*mut LLVMValue> = kept.iter().map(|value| value.raw()).collect();
        // SAFETY: live by the invariant of `Module`; the array lives through the call and is only compared with.
        Self::take(self.context, unsafe { openmps_llvm_clone_definitions(self.raw(), kept.as_ptr(), kept.len()) })
    }

    /// Removes debug locations and everything that they refer to.
    pub fn strip_debug_information(&mut self) {
        // SAFETY: live by the invariant of `Module`; `&mut self` proves that no handle to deleted parts is left.
        unsafe { LLVMStripModuleDebugInfo(self.raw()) };
    }

    /// Checks every rule of LLVM IR.
    ///
    /// # Errors
    /// [`Error::Verify`] with every violation.
    pub fn verify(&self) -> Result<(), Error> {
        let mut message = std::ptr::null_mut();
        let action = LLVMVerifierFailureAction::LLVMReturnStatusAction;
        // SAFETY: live by the invariant of `Module`.
        let broken = unsafe { LLVMVerifyModule(self.raw(), action, &raw mut message) };
        let message = owned(message);
        if broken == 0 { Ok(()) } else { Err(Error::Verify(message.trim_end().to_owned())) }
    }

    /// The module as bitcode.
    #[must_use]
    pub fn write_bitcode(&self) -> ObjectCode {
        // SAFETY: live by the invariant of `Module`.
        ObjectCode::take(unsafe { LLVMWriteBitcodeToMemoryBuffer(self.raw()) })
    }

    /// Moves everything of `other`, of the same context, into this module.
    ///
    /// # Errors
    /// [`Error::Link`], for instance when both define a symbol.
    ///
    /// # Panics
    /// When the contexts differ.
    pub fn link(&mut self, other: Module<'ctx>) -> Result<(), Error> {
        assert!(std::ptr::eq(self.context, other.context), "modules of one context are linked");
        self.bury();
        self.context.log().take_errors();
        let other = other.into_raw();
        // SAFETY: both are live and of one context; LLVM takes over `other`, also when it fails.
        let failed = unsafe { LLVMLinkModules2(self.raw(), other) };
        if failed == 0 { Ok(()) } else { Err(Error::Link(self.context.log().take_errors())) }
    }

    /// Gives the module up without disposing of it.
    fn into_raw(mut self) -> *mut LLVMModule {
        self.bury();
        let raw = self.raw();
        std::mem::forget(self);
        raw
    }

    /// Frees erased instructions; `&mut` proves that no handle to them is left.
    pub(crate) fn bury(&mut self) {
        self.graveyard.take().bury(self.context, self.raw());
    }

    /// The target triple.
    #[must_use]
    pub fn triple(&self) -> String {
        // SAFETY: live by the invariant of `Module`.
        let text = unsafe { LLVMGetTarget(self.raw()) };
        // SAFETY: LLVM returns null-terminated text that the module keeps.
        unsafe { std::ffi::CStr::from_ptr(text) }.to_string_lossy().into_owned()
    }

    /// Sets the target triple.
    pub fn set_triple(&self, triple: &str) {
        let triple = c_text(triple);
        // SAFETY: live by the invariant of `Module`; the text is copied.
        unsafe { LLVMSetTarget(self.raw(), triple.as_ptr()) }
    }

    /// The data layout string.
    #[must_use]
    pub fn data_layout(&self) -> String {
        // SAFETY: live by the invariant of `Module`.
        let text = unsafe { LLVMGetDataLayoutStr(self.raw()) };
        // SAFETY: LLVM returns null-terminated text that the module keeps.
        unsafe { std::ffi::CStr::from_ptr(text) }.to_string_lossy().into_owned()
    }

    /// Sets the data layout; the text is LLVM's own or it aborts.
    pub fn set_data_layout(&self, layout: &str) {
        let layout = c_text(layout);
        // SAFETY: live by the invariant of `Module`; the text is copied.
        unsafe { LLVMSetDataLayout(self.raw(), layout.as_ptr()) }
    }

    /// Inline assembly of the module itself; empty where there is none.
    #[must_use]
    pub fn inline_asm(&self) -> String {
        let mut len = 0;
        // SAFETY: live by the invariant of `Module`.
        let data = unsafe { LLVMGetModuleInlineAsm(self.raw(), &raw mut len) };
        // SAFETY: the module keeps `len` bytes at `data`.
        unsafe { borrowed(data, len) }
    }
}

/// What a module contains.
impl<'ctx> Module<'ctx> {
    /// Every function, declarations too, in order.
    #[must_use]
    pub fn functions(&self) -> Vec<Function<'_>> {
        // SAFETY: live by the invariant of `Module`.
        let first = Function::wrap_option(unsafe { LLVMGetFirstFunction(self.raw()) });
        // SAFETY: a function of a live module.
        list(first, |function| Function::wrap_option(unsafe { LLVMGetNextFunction(function.raw()) }))
    }

    /// The function `name`.
    #[must_use]
    pub fn function(&self, name: &str) -> Option<Function<'_>> {
        // SAFETY: live by the invariant of `Module`; the name lives through the call.
        Function::wrap_option(unsafe { LLVMGetNamedFunctionWithLength(self.raw(), name.as_ptr().cast(), name.len()) })
    }

    /// Declares a function of type `ty`; blocks appended to it define it. LLVM adds a number where the name is taken.
    pub fn add_function<'m>(&'m self, name: &str, ty: Type<'m>) -> Function<'m> {
        let name = c_text(name);
        // SAFETY: module and type are live; the name is copied.
        Function::wrap(unsafe { LLVMAddFunction(self.raw(), name.as_ptr(), ty.raw()) })
    }

    /// The function `name`, declared with type `ty` where it is not there yet.
    pub fn declare<'m>(&'m self, name: &str, ty: Type<'m>) -> Function<'m> {
        self.function(name).unwrap_or_else(|| self.add_function(name, ty))
    }

    /// The declaration of LLVM's intrinsic `name` without type suffix (`llvm.fma`), for these overloaded types.
    ///
    /// # Panics
    /// When LLVM has no such intrinsic.
    pub fn intrinsic<'m>(&'m self, name: &str, overloads: &[Type<'m>]) -> Function<'m> {
        // SAFETY: the name lives through the call.
        let id = unsafe { LLVMLookupIntrinsicID(name.as_ptr().cast(), name.len()) };
        assert_ne!(id, 0, "LLVM has no intrinsic {name}");
        let mut raw: Vec<_> = overloads.iter().map(|ty| ty.raw()).collect();
        // SAFETY: module and types are live; the array lives through the call.
        Function::wrap(unsafe { LLVMGetIntrinsicDeclaration(self.raw(), id, raw.as_mut_ptr(), raw.len()) })
    }

    /// Deletes the function `name`, which nothing may use. Without effect where there is none.
    ///
    /// # Panics
    /// When something uses it.
    pub fn delete_function(&mut self, name: &str) {
        self.bury();
        if let Some(function) = self.function(name) {
            assert!(function.as_value().is_unused(), "@{name} is deleted while something uses it");
            // SAFETY: live and unused; `&mut self` proves that no other handle is left.
            unsafe { LLVMDeleteFunction(function.raw()) }
        }
    }

    /// Every global variable in order.
    #[must_use]
    pub fn globals(&self) -> Vec<Global<'_>> {
        // SAFETY: live by the invariant of `Module`.
        let first = Global::wrap_option(unsafe { LLVMGetFirstGlobal(self.raw()) });
        // SAFETY: a global of a live module.
        list(first, |global| Global::wrap_option(unsafe { LLVMGetNextGlobal(global.raw()) }))
    }

    /// The global variable `name`.
    #[must_use]
    pub fn global(&self, name: &str) -> Option<Global<'_>> {
        // SAFETY: live by the invariant of `Module`; the name lives through the call.
        Global::wrap_option(unsafe { LLVMGetNamedGlobalWithLength(self.raw(), name.as_ptr().cast(), name.len()) })
    }

    /// Adds a global variable without initializer.
    pub fn add_global<'m>(&'m self, name: &str, ty: Type<'m>, address_space: u32) -> Global<'m> {
        let name = c_text(name);
        // SAFETY: module and type are live; the name is copied.
        Global::wrap(unsafe { LLVMAddGlobalInAddressSpace(self.raw(), ty.raw(), name.as_ptr(), address_space) })
    }

    /// Deletes the global variable `name`, which nothing may use. Without effect where there is none.
    ///
    /// # Panics
    /// When something uses it.
    pub fn delete_global(&mut self, name: &str) {
        self.bury();
        if let Some(global) = self.global(name) {
            assert!(global.as_value().is_unused(), "@{name} is deleted while something uses it");
            // SAFETY: live and unused; `&mut self` proves that no other handle is left.
            unsafe { LLVMDeleteGlobal(global.raw()) }
        }
    }

    /// Runs the constructors of `llvm.global_ctors` in order, keeps what they write as initial values, and takes those that ran
    /// off the list. Returns how many could not run: they depend on externally initialized variables, loop, or call what
    /// nothing defines.
    pub fn fold_constructors(&mut self) -> usize {
        self.bury();
        // SAFETY: live by the invariant of `Module`; `&mut self` proves that no handle is left to what it deletes.
        unsafe { openmps_llvm_fold_constructors(self.raw()) }
    }

    /// Every alias in order.
    #[must_use]
    pub fn aliases(&self) -> Vec<Value<'_>> {
        // SAFETY: live by the invariant of `Module`.
        let first = Value::wrap_option(unsafe { LLVMGetFirstGlobalAlias(self.raw()) });
        // SAFETY: an alias of a live module.
        list(first, |alias| Value::wrap_option(unsafe { LLVMGetNextGlobalAlias(alias.raw()) }))
    }

    /// Every indirect function in order.
    #[must_use]
    pub fn ifuncs(&self) -> Vec<Value<'_>> {
        // SAFETY: live by the invariant of `Module`.
        let first = Value::wrap_option(unsafe { LLVMGetFirstGlobalIFunc(self.raw()) });
        // SAFETY: an ifunc of a live module.
        list(first, |ifunc| Value::wrap_option(unsafe { LLVMGetNextGlobalIFunc(ifunc.raw()) }))
    }

    /// The nodes of `!name`; empty where there is no such list.
    #[must_use]
    pub fn named_metadata(&self, name: &str) -> Vec<Metadata<'_>> {
        let name = c_text(name);
        // SAFETY: live by the invariant of `Module`; the name lives through the call.
        let len = unsafe { LLVMGetNamedMetadataNumOperands(self.raw(), name.as_ptr()) };
        let mut raw = vec![std::ptr::null_mut(); len as usize];
        // SAFETY: live by the invariant of `Module`; the array has room for the `len` nodes.
        unsafe { LLVMGetNamedMetadataOperands(self.raw(), name.as_ptr(), raw.as_mut_ptr()) };
        raw.into_iter().map(Metadata::wrap).collect()
    }

    /// Empties `!name`. Without effect where there is no such list.
    pub fn clear_named_metadata(&self, name: &str) {
        // SAFETY: live by the invariant of `Module`; the name lives through the call.
        unsafe { openmps_llvm_clear_named_metadata(self.raw(), name.as_ptr().cast(), name.len()) }
    }

    /// Appends `node` to `!name`.
    pub fn add_named_metadata(&self, name: &str, node: Metadata<'_>) {
        let name = c_text(name);
        // SAFETY: module and node are live; the name is copied.
        unsafe { LLVMAddNamedMetadataOperand(self.raw(), name.as_ptr(), node.raw()) }
    }

    /// Bytes of `ty` in an array: with padding, by the module's data layout.
    ///
    /// # Panics
    /// When the type has no size.
    #[must_use]
    pub fn size_bytes(&self, ty: Type<'_>) -> u64 {
        assert!(ty.is_sized(), "{ty} has no size");
        // SAFETY: live by the invariant of `Module`.
        let layout = unsafe { LLVMGetModuleDataLayout(self.raw()) };
        // SAFETY: the layout of a live module; a sized type, live by the invariant of `Type`.
        unsafe { LLVMABISizeOfType(layout, ty.raw()) }
    }

    /// Bytes that a store of `ty` writes.
    ///
    /// # Panics
    /// When the type has no size.
    #[must_use]
    pub fn store_size_bytes(&self, ty: Type<'_>) -> u64 {
        assert!(ty.is_sized(), "{ty} has no size");
        // SAFETY: live by the invariant of `Module`.
        let layout = unsafe { LLVMGetModuleDataLayout(self.raw()) };
        // SAFETY: the layout of a live module; a sized type, live by the invariant of `Type`.
        unsafe { LLVMStoreSizeOfType(layout, ty.raw()) }
    }

    /// The alignment of `ty` in bytes.
    ///
    /// # Panics
    /// When the type has no size.
    #[must_use]
    pub fn alignment_bytes(&self, ty: Type<'_>) -> u32 {
        assert!(ty.is_sized(), "{ty} has no alignment");
        // SAFETY: live by the invariant of `Module`.
        let layout = unsafe { LLVMGetModuleDataLayout(self.raw()) };
        // SAFETY: the layout of a live module; a sized type, live by the invariant of `Type`.
        unsafe { LLVMABIAlignmentOfType(layout, ty.raw()) }
    }

    /// The byte offset of field `index` of the struct `ty`.
    ///
    /// # Panics
    /// When the type is no struct with such a field.
    #[must_use]
    pub fn field_offset_bytes(&self, ty: Type<'_>, index: u32) -> u64 {
        let len = count(ty.fields().len());
        assert!(index < len && ty.is_sized(), "field {index} of {ty}");
        // SAFETY: live by the invariant of `Module`.
        let layout = unsafe { LLVMGetModuleDataLayout(self.raw()) };
        // SAFETY: the layout of a live module; a sized struct with such a field.
        unsafe { LLVMOffsetOfElement(layout, ty.raw(), index) }
    }

    /// A builder that is not placed yet.
    #[must_use]
    pub fn builder(&self) -> Builder<'_> {
        Builder::new(self)
    }

    /// Takes `instruction` out of its block. Its operands are released; what still uses it uses `poison`. The memory is freed
    /// later, so copies of the handle stay harmless.
    ///
    /// # Panics
    /// When the instruction is in another module.
    pub fn erase(&self, instruction: Instruction<'_>) {
        let Some(block) = instruction.block() else { return };
        // SAFETY: a function of a live block.
        let owner = unsafe { LLVMGetGlobalParent(block.function().raw()) };
        assert_eq!(owner, self.raw(), "{instruction} is erased through another module");
        let value = instruction.as_value();
        if !value.is_unused() {
            value.replace_all_uses_with(value.ty().poison());
        }
        self.graveyard.borrow_mut().unlink(self.context, instruction);
    }
}

impl fmt::Display for Module<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // SAFETY: live by the invariant of `Module`; the text is handed over.
        f.write_str(&owned(unsafe { LLVMPrintModuleToString(self.raw()) }))
    }
}

impl fmt::Debug for Module<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Drop for Module<'_> {
    fn drop(&mut self) {
        self.bury();
        // SAFETY: owned by the invariant; every handle borrows this value, so none is left.
        unsafe { LLVMDisposeModule(self.raw.as_ptr()) }
    }
}
