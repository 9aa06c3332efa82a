//! The contract of front ends: source text in, AIR and signatures out.

use serde::{Deserialize, Serialize};

use crate::air::VerifiedAir;
use crate::error::{CompileError, Diagnostic};
use crate::signature::KernelSignature;

/// The Metal Shading Language version to compile for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum LanguageVersion {
    /// `__METAL_VERSION__` 310.
    Metal3_1,
    /// `__METAL_VERSION__` 320: what PyTorch asks for on macOS 15.
    #[default]
    Metal3_2,
    /// `__METAL_VERSION__` 400.
    Metal4_0,
}

/// `MTLMathMode`: what the compiler may assume about floating point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum MathMode {
    /// NaN, infinities and signed zeros are honoured, precise functions: PyTorch's default.
    #[default]
    Safe,
    /// Reassociation, reciprocals and fast functions (`PYTORCH_MPS_FAST_MATH`).
    Fast,
}

/// How to compile source text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CompileOptions {
    /// Language version.
    pub language_version: LanguageVersion,
    /// Floating-point rules.
    pub math_mode: MathMode,
}

/// A compiled library: one AIR module with the signatures of its kernels, sorted by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompiledSource {
    /// The module that holds every kernel.
    pub air: VerifiedAir,
    /// Its kernels, sorted by host name.
    pub kernels: Vec<KernelSignature>,
    /// Warnings about the source.
    pub warnings: Vec<Diagnostic>,
}

/// A library that a compiler made before: bitcode of each function, by name.
pub trait PrecompiledLibrary: Send + Sync {
    /// Names of its kernels, in the file's order.
    fn kernel_names(&self) -> Vec<String>;

    /// The bitcode, which nobody has verified, of the kernel `name`; `None` where there is none of this name.
    ///
    /// # Errors
    /// What is wrong with the file, and where.
    fn bitcode(&self, name: &str) -> Result<Option<Vec<u8>>, String>;
}

/// Turns Metal source text into AIR.
pub trait SourceCompiler: Send + Sync {
    /// Compiles one translation unit, all includes except the standard library's already expanded.
    ///
    /// # Errors
    /// [`CompileError::Diagnostics`] for invalid source, [`CompileError::Internal`] when the compiler itself fails.
    fn compile_source(&self, source: &str, options: &CompileOptions) -> Result<CompiledSource, CompileError>;
}
