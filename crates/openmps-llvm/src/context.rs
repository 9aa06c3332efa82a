//! The owner of types, constants and diagnostics; modules are made from it.

use std::ffi::c_void;
use std::ptr::NonNull;

use llvm_sys::LLVMContext;
use llvm_sys::bit_reader::LLVMParseBitcodeInContext2;
use llvm_sys::core::{
    LLVMArrayType2, LLVMBFloatTypeInContext, LLVMContextCreate, LLVMContextDispose, LLVMContextSetDiagnosticHandler,
    LLVMDoubleTypeInContext, LLVMFloatTypeInContext, LLVMFunctionType, LLVMHalfTypeInContext, LLVMIntTypeInContext,
    LLVMModuleCreateWithNameInContext, LLVMPointerTypeInContext, LLVMStructTypeInContext, LLVMVectorType,
    LLVMVoidTypeInContext,
};
use llvm_sys::ir_reader::LLVMParseIRInContext2;

use crate::diagnostics::{Error, Log, record};
use crate::handle::count;
use crate::module::Module;
use crate::string::{c_text, copied_buffer, owned};
use crate::ty::Type;

/// Owns everything that modules share. One thread uses a context at a time.
pub struct Context {
    /// Invariant: live, owned, and only reached through this value and what borrows it.
    raw: NonNull<LLVMContext>,
    /// Boxed, since LLVM holds its address. Dropped after `raw` is disposed.
    log: Box<Log>,
}

impl Default for Context {
    fn default() -> Self {
        Self::new()
    }
}

impl Context {
    /// An empty context whose diagnostics are collected.
    ///
    /// # Panics
    /// When LLVM has no memory left.
    #[must_use]
    pub fn new() -> Self {
        // SAFETY: no preconditions.
        let raw = NonNull::new(unsafe { LLVMContextCreate() }).expect("LLVM makes a context or aborts");
        let log = Box::<Log>::default();
        let address = std::ptr::from_ref::<Log>(&log).cast_mut().cast::<c_void>();
        // SAFETY: the context is live; `log` lives in a box that is dropped after the context.
        unsafe { LLVMContextSetDiagnosticHandler(raw.as_ptr(), Some(record), address) };
        Self { raw, log }
    }

    pub(crate) fn raw(&self) -> *mut LLVMContext {
        self.raw.as_ptr()
    }

    pub(crate) fn log(&self) -> &Log {
        &self.log
    }

    /// An empty module.
    #[must_use]
    pub fn create_module(&self, name: &str) -> Module<'_> {
        let name = c_text(name);
        // SAFETY: the context is live; the name lives through the call, which copies it.
        Module::take(self, unsafe { LLVMModuleCreateWithNameInContext(name.as_ptr(), self.raw()) })
    }

    /// Reads bitcode, wrapped or not. The result is not verified.
    ///
    /// # Errors
    /// [`Error::Bitcode`] with LLVM's message.
    pub fn parse_bitcode(&self, bytes: &[u8]) -> Result<Module<'_>, Error> {
        let buffer = copied_buffer(bytes, "bitcode");
        let mut module = std::ptr::null_mut();
        self.log.take_errors();
        // SAFETY: context and buffer are live; the reader copies what it keeps, so the buffer stays ours.
        let failed = unsafe { LLVMParseBitcodeInContext2(self.raw(), buffer.raw(), &raw mut module) };
        if failed != 0 {
            return Err(Error::Bitcode(self.log.take_errors()));
        }
        Ok(Module::take(self, module))
    }

    /// Reads LLVM IR text. The result is verified only as far as the parser does.
    ///
    /// # Errors
    /// [`Error::Text`] with LLVM's message, which has line and column.
    pub fn parse_ir(&self, text: &str) -> Result<Module<'_>, Error> {
        let buffer = copied_buffer(text.as_bytes(), "text");
        let mut module = std::ptr::null_mut();
        let mut message = std::ptr::null_mut();
        // SAFETY: context and buffer are live; this form of the reader leaves the buffer to its caller.
        let failed = unsafe { LLVMParseIRInContext2(self.raw(), buffer.raw(), &raw mut module, &raw mut message) };
        let message = owned(message);
        if failed != 0 {
            return Err(Error::Text(message.trim_end().to_owned()));
        }
        Ok(Module::take(self, module))
    }

    /// `void`.
    #[must_use]
    pub fn void(&self) -> Type<'_> {
        // SAFETY: the context is live.
        Type::wrap(unsafe { LLVMVoidTypeInContext(self.raw()) })
    }

    /// An integer of `bits` bits.
    #[must_use]
    pub fn int(&self, bits: u32) -> Type<'_> {
        // SAFETY: the context is live.
        Type::wrap(unsafe { LLVMIntTypeInContext(self.raw(), bits) })
    }

    /// `i1`.
    #[must_use]
    pub fn i1(&self) -> Type<'_> {
        self.int(1)
    }

    /// `i8`.
    #[must_use]
    pub fn i8(&self) -> Type<'_> {
        self.int(8)
    }

    /// `i16`.
    #[must_use]
    pub fn i16(&self) -> Type<'_> {
        self.int(16)
    }

    /// `i32`.
    #[must_use]
    pub fn i32(&self) -> Type<'_> {
        self.int(32)
    }

    /// `i64`.
    #[must_use]
    pub fn i64(&self) -> Type<'_> {
        self.int(64)
    }

    /// `half`.
    #[must_use]
    pub fn half(&self) -> Type<'_> {
        // SAFETY: the context is live.
        Type::wrap(unsafe { LLVMHalfTypeInContext(self.raw()) })
    }

    /// `bfloat`.
    #[must_use]
    pub fn bfloat(&self) -> Type<'_> {
        // SAFETY: the context is live.
        Type::wrap(unsafe { LLVMBFloatTypeInContext(self.raw()) })
    }

    /// `float`.
    #[must_use]
    pub fn float(&self) -> Type<'_> {
        // SAFETY: the context is live.
        Type::wrap(unsafe { LLVMFloatTypeInContext(self.raw()) })
    }

    /// `double`.
    #[must_use]
    pub fn double(&self) -> Type<'_> {
        // SAFETY: the context is live.
        Type::wrap(unsafe { LLVMDoubleTypeInContext(self.raw()) })
    }

    /// A pointer into `address_space`.
    #[must_use]
    pub fn pointer(&self, address_space: u32) -> Type<'_> {
        // SAFETY: the context is live.
        Type::wrap(unsafe { LLVMPointerTypeInContext(self.raw(), address_space) })
    }

    /// `<lanes x element>`.
    #[must_use]
    pub fn vector<'c>(&'c self, element: Type<'c>, lanes: u32) -> Type<'c> {
        // SAFETY: the element type is live by the invariant of `Type`.
        Type::wrap(unsafe { LLVMVectorType(element.raw(), lanes) })
    }

    /// `[len x element]`.
    #[must_use]
    pub fn array<'c>(&'c self, element: Type<'c>, len: u64) -> Type<'c> {
        // SAFETY: the element type is live by the invariant of `Type`.
        Type::wrap(unsafe { LLVMArrayType2(element.raw(), len) })
    }

    /// A literal struct.
    #[must_use]
    pub fn structure<'c>(&'c self, fields: &[Type<'c>], packed: bool) -> Type<'c> {
        let mut raw: Vec<_> = fields.iter().map(|ty| ty.raw()).collect();
        // SAFETY: context and field types are live; the array lives through the call.
        Type::wrap(unsafe {
            LLVMStructTypeInContext(self.raw(), raw.as_mut_ptr(), count(raw.len()), i32::from(packed))
        })
    }

    /// A function type without variable arguments.
    #[must_use]
    pub fn function<'c>(&'c self, result: Type<'c>, parameters: &[Type<'c>]) -> Type<'c> {
        let mut raw: Vec<_> = parameters.iter().map(|ty| ty.raw()).collect();
        // SAFETY: all types are live by the invariant of `Type`; the array lives through the call.
        Type::wrap(unsafe { LLVMFunctionType(result.raw(), raw.as_mut_ptr(), count(raw.len()), 0) })
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: owned by the invariant; every module and handle borrows this value, so none is left.
        unsafe { LLVMContextDispose(self.raw.as_ptr()) }
    }
}
