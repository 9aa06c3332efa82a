//! Global variables.

use llvm_sys::LLVMValue;
use llvm_sys::core::{
    LLVMGetAlignment, LLVMGetInitializer, LLVMGetLinkage, LLVMGlobalGetValueType, LLVMIsDeclaration,
    LLVMIsExternallyInitialized, LLVMIsGlobalConstant, LLVMIsThreadLocal, LLVMSetAlignment,
    LLVMSetExternallyInitialized, LLVMSetGlobalConstant, LLVMSetInitializer, LLVMSetLinkage,
};

use crate::function::{Linkage, section};
use crate::handle::handle;
use crate::ty::Type;
use crate::value::Value;

handle! {
    /// A global variable.
    Global, LLVMValue
}

impl<'m> Global<'m> {
    /// Its address as an operand.
    #[must_use]
    pub fn as_value(self) -> Value<'m> {
        Value::wrap(self.raw())
    }

    /// Its symbol.
    #[must_use]
    pub fn name(self) -> String {
        self.as_value().name()
    }

    /// The type of what it holds.
    #[must_use]
    pub fn value_type(self) -> Type<'m> {
        // SAFETY: live by the invariant of `Global`.
        Type::wrap(unsafe { LLVMGlobalGetValueType(self.raw()) })
    }

    /// The address space that it lives in.
    ///
    /// # Panics
    /// When LLVM gives a global another type than a pointer.
    #[must_use]
    pub fn address_space(self) -> u32 {
        self.as_value().ty().address_space().expect("a global is a pointer")
    }

    /// Its initial contents; `None` for a declaration.
    #[must_use]
    pub fn initializer(self) -> Option<Value<'m>> {
        // SAFETY: live by the invariant of `Global`.
        Value::wrap_option(unsafe { LLVMGetInitializer(self.raw()) })
    }

    /// Sets its initial contents.
    pub fn set_initializer(self, value: Value<'m>) {
        // SAFETY: both are live by their invariants.
        unsafe { LLVMSetInitializer(self.raw(), value.raw()) }
    }

    /// Whether it is defined elsewhere.
    #[must_use]
    pub fn is_declaration(self) -> bool {
        // SAFETY: live by the invariant of `Global`.
        unsafe { LLVMIsDeclaration(self.raw()) != 0 }
    }

    /// Whether its contents never change.
    #[must_use]
    pub fn is_constant(self) -> bool {
        // SAFETY: live by the invariant of `Global`.
        unsafe { LLVMIsGlobalConstant(self.raw()) != 0 }
    }

    /// Sets whether its contents never change.
    pub fn set_constant(self, constant: bool) {
        // SAFETY: live by the invariant of `Global`.
        unsafe { LLVMSetGlobalConstant(self.raw(), i32::from(constant)) }
    }

    /// Whether someone else sets its contents before the program starts.
    #[must_use]
    pub fn is_externally_initialized(self) -> bool {
        // SAFETY: live by the invariant of `Global`.
        unsafe { LLVMIsExternallyInitialized(self.raw()) != 0 }
    }

    /// Says whether somebody outside of the module changes its contents before the program starts.
    pub fn set_externally_initialized(self, externally: bool) {
        // SAFETY: live by the invariant of `Global`.
        unsafe { LLVMSetExternallyInitialized(self.raw(), i32::from(externally)) }
    }

    /// Whether each thread of the operating system has its own.
    #[must_use]
    pub fn is_thread_local(self) -> bool {
        // SAFETY: live by the invariant of `Global`.
        unsafe { LLVMIsThreadLocal(self.raw()) != 0 }
    }

    /// Its explicit alignment in bytes; 0 where none is set.
    #[must_use]
    pub fn alignment(self) -> u32 {
        // SAFETY: live by the invariant of `Global`.
        unsafe { LLVMGetAlignment(self.raw()) }
    }

    /// Sets its alignment in bytes, a power of two.
    ///
    /// # Panics
    /// When the alignment is no power of two.
    pub fn set_alignment(self, bytes: u32) {
        assert!(bytes.is_power_of_two(), "alignment {bytes} of @{}", self.name());
        // SAFETY: live by the invariant of `Global`.
        unsafe { LLVMSetAlignment(self.raw(), bytes) }
    }

    /// Who sees it.
    #[must_use]
    pub fn linkage(self) -> Linkage {
        // SAFETY: live by the invariant of `Global`.
        Linkage::from_raw(unsafe { LLVMGetLinkage(self.raw()) })
    }

    /// Sets who sees it.
    ///
    /// # Panics
    /// On [`Linkage::Other`].
    pub fn set_linkage(self, linkage: Linkage) {
        // SAFETY: live by the invariant of `Global`.
        unsafe { LLVMSetLinkage(self.raw(), linkage.to_raw()) }
    }

    /// Its section; empty where none is set.
    #[must_use]
    pub fn section(self) -> String {
        section(self.raw())
    }
}

impl std::fmt::Debug for Global<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(&self.as_value(), f)
    }
}
