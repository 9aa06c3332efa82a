//! Code generators.

use std::ptr::NonNull;
use std::sync::Once;

use llvm_sys::target::{LLVMCopyStringRepOfTargetData, LLVMDisposeTargetData};
use llvm_sys::target_machine::{
    LLVMCodeGenFileType, LLVMCodeGenOptLevel, LLVMCodeModel, LLVMCreateTargetDataLayout, LLVMCreateTargetMachine,
    LLVMDisposeTargetMachine, LLVMGetDefaultTargetTriple, LLVMGetHostCPUFeatures, LLVMGetHostCPUName,
    LLVMGetTargetFromTriple, LLVMOpaqueTargetMachine, LLVMRelocMode, LLVMTargetMachineEmitToMemoryBuffer,
};

use crate::diagnostics::Error;
use crate::module::Module;
use crate::string::{ObjectCode, c_text, owned};

/// How hard the code generator tries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeGenLevel {
    /// `-O0`.
    None,
    /// `-O1`.
    Less,
    /// `-O2`.
    Default,
    /// `-O3`.
    Aggressive,
}

/// A code generator for one triple, CPU and feature set; makes position-independent code.
pub struct TargetMachine {
    /// Invariant: live and owned.
    raw: NonNull<LLVMOpaqueTargetMachine>,
    triple: String,
    features: String,
}

/// Registers the code generator of the machine that this runs on, with feature `cross` those of all machines that this project
/// knows.
fn initialize() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        #[cfg(any(target_arch = "x86_64", feature = "cross"))]
        {
            use llvm_sys::target::{
                LLVMInitializeX86AsmPrinter, LLVMInitializeX86Target, LLVMInitializeX86TargetInfo,
                LLVMInitializeX86TargetMC,
            };
            // SAFETY: no preconditions; called once.
            unsafe { LLVMInitializeX86TargetInfo() }
            // SAFETY: no preconditions; called once.
            unsafe { LLVMInitializeX86Target() }
            // SAFETY: no preconditions; called once.
            unsafe { LLVMInitializeX86TargetMC() }
            // SAFETY: no preconditions; called once.
            unsafe { LLVMInitializeX86AsmPrinter() }
        }
        #[cfg(any(target_arch = "aarch64", feature = "cross"))]
        {
            use llvm_sys::target::{
                LLVMInitializeAArch64AsmPrinter, LLVMInitializeAArch64Target, LLVMInitializeAArch64TargetInfo,
                LLVMInitializeAArch64TargetMC,
            };
            // SAFETY: no preconditions; called once.
            unsafe { LLVMInitializeAArch64TargetInfo() }
            // SAFETY: no preconditions; called once.
            unsafe { LLVMInitializeAArch64Target() }
            // SAFETY: no preconditions; called once.
            unsafe { LLVMInitializeAArch64TargetMC() }
            // SAFETY: no preconditions; called once.
            unsafe { LLVMInitializeAArch64AsmPrinter() }
        }
    });
}

/// The triple of this machine.
#[must_use]
pub fn host_triple() -> String {
    // SAFETY: no preconditions; the text is handed over.
    owned(unsafe { LLVMGetDefaultTargetTriple() })
}

/// LLVM's name of this machine's CPU (`znver4`).
#[must_use]
pub fn host_cpu() -> String {
    // SAFETY: no preconditions; the text is handed over.
    owned(unsafe { LLVMGetHostCPUName() })
}

/// The features of this machine's CPU (`+avx2,-avx512f,…`).
#[must_use]
pub fn host_features() -> String {
    // SAFETY: no preconditions; the text is handed over.
    owned(unsafe { LLVMGetHostCPUFeatures() })
}

impl TargetMachine {
    /// The generator for the CPU that this runs on.
    ///
    /// # Errors
    /// [`Error::Target`] when this LLVM has none.
    pub fn host(level: CodeGenLevel) -> Result<Self, Error> {
        Self::new(&host_triple(), &host_cpu(), &host_features(), level)
    }

    /// The generator for any CPU of this machine's architecture: the same code everywhere.
    ///
    /// # Errors
    /// [`Error::Target`] when this LLVM has none.
    pub fn generic(level: CodeGenLevel) -> Result<Self, Error> {
        Self::new(&host_triple(), "generic", "", level)
    }

    /// The generator for `cpu` with `features` of `triple`, which must be of this machine's architecture but with feature `cross`.
    ///
    /// # Errors
    /// [`Error::Target`] when this LLVM has none.
    pub fn new(triple: &str, cpu: &str, features: &str, level: CodeGenLevel) -> Result<Self, Error> {
        initialize();
        let no_target = |message: String| Error::Target { triple: triple.to_owned(), message };
        let (c_triple, cpu, c_features) = (c_text(triple), c_text(cpu), c_text(features));
        let (mut target, mut message) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: the triple lives through the call; both results have room.
        let failed = unsafe { LLVMGetTargetFromTriple(c_triple.as_ptr(), &raw mut target, &raw mut message) };
        let message = owned(message);
        if failed != 0 {
            return Err(no_target(message));
        }
        let level = match level {
            CodeGenLevel::None => LLVMCodeGenOptLevel::LLVMCodeGenLevelNone,
            CodeGenLevel::Less => LLVMCodeGenOptLevel::LLVMCodeGenLevelLess,
            CodeGenLevel::Default => LLVMCodeGenOptLevel::LLVMCodeGenLevelDefault,
            CodeGenLevel::Aggressive => LLVMCodeGenOptLevel::LLVMCodeGenLevelAggressive,
        };
        // SAFETY: the target is live (targets are never freed); the texts are copied.
        let raw = unsafe {
            LLVMCreateTargetMachine(
                target,
                c_triple.as_ptr(),
                cpu.as_ptr(),
                c_features.as_ptr(),
                level,
                LLVMRelocMode::LLVMRelocPIC,
                LLVMCodeModel::LLVMCodeModelDefault,
            )
        };
        let raw = NonNull::new(raw).ok_or_else(|| no_target("this LLVM has no code generator for it".to_owned()))?;
        Ok(Self { raw, triple: triple.to_owned(), features: features.to_owned() })
    }

    pub(crate) fn raw(&self) -> *mut LLVMOpaqueTargetMachine {
        self.raw.as_ptr()
    }

    /// The triple that it was made for.
    #[must_use]
    pub fn triple(&self) -> &str {
        &self.triple
    }

    /// The features that it was made for (`+avx2,-avx512f,…`).
    #[must_use]
    pub fn features(&self) -> &str {
        &self.features
    }

    /// Its data layout string, for [`Module::set_data_layout`].
    #[must_use]
    pub fn data_layout(&self) -> String {
        // SAFETY: live by the invariant.
        let layout = unsafe { LLVMCreateTargetDataLayout(self.raw()) };
        // SAFETY: made above; the text is handed over.
        let text = owned(unsafe { LLVMCopyStringRepOfTargetData(layout) });
        // SAFETY: made above, and dropped once.
        unsafe { LLVMDisposeTargetData(layout) }
        text
    }

    /// A relocatable ELF object with the module's code. The code generator changes the module.
    ///
    /// # Errors
    /// [`Error::Target`] with LLVM's message.
    pub fn emit_object(&self, module: &mut Module<'_>) -> Result<ObjectCode, Error> {
        self.emit(module, LLVMCodeGenFileType::LLVMObjectFile)
    }

    /// The module's code as assembly text. The code generator changes the module.
    ///
    /// # Errors
    /// [`Error::Target`] with LLVM's message.
    pub fn emit_assembly(&self, module: &mut Module<'_>) -> Result<ObjectCode, Error> {
        self.emit(module, LLVMCodeGenFileType::LLVMAssemblyFile)
    }

    fn emit(&self, module: &mut Module<'_>, kind: LLVMCodeGenFileType) -> Result<ObjectCode, Error> {
        module.bury();
        module.context().log().take_errors();
        let (mut message, mut buffer) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: machine and module are live; both results have room; `&mut` proves that no handle to the module is left.
        let failed = unsafe {
            LLVMTargetMachineEmitToMemoryBuffer(self.raw(), module.raw(), kind, &raw mut message, &raw mut buffer)
        };
        let message = owned(message);
        let error = |message| Err(Error::Target { triple: self.triple.clone(), message });
        if failed != 0 {
            return error(message);
        }
        let object = ObjectCode::take(buffer);
        if module.context().log().has_errors() {
            return error(module.context().log().take_errors());
        }
        Ok(object)
    }
}

impl Drop for TargetMachine {
    fn drop(&mut self) {
        // SAFETY: owned by the invariant, and dropped once.
        unsafe { LLVMDisposeTargetMachine(self.raw.as_ptr()) }
    }
}
