//! Metal libraries: source text becomes a set of kernels, and a kernel becomes dispatchable when it is first asked for.
//!
//! A library holds one AIR module and its kernels' signatures. Pipelines (compiled kernels) are made under the library's
//! lock and kept, so that each kernel is compiled once; a [`Kernel`] outlives its library. Texts of errors are PyTorch's.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use openmps_engine::{
    CompileError, CompileOptions, CompiledKernel, CompiledSource, Diagnostic, DispatchError, Engine, EngineError,
    KernelSignature, LanguageVersion, MathMode, SourceCompiler,
};
use thiserror::Error;

use crate::kernel::Kernel;
use crate::settings::Settings;
use crate::stream::StreamError;
use crate::{engines, frontends};

/// Why a library, a kernel or a launch did not come to be.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LibraryError {
    /// The compiler rejected the source; the text is what it printed. PyTorch raises `SyntaxError`.
    #[error("{rendered}")]
    Diagnostics {
        /// Each message.
        diagnostics: Vec<Diagnostic>,
        /// All of them as text, starting with `program_source:<line>:<column>: error: …`.
        rendered: String,
    },
    /// The compiler failed for another reason.
    #[error("Failed to create metal library, error: {0}")]
    Create(String),
    /// The library has no such kernel.
    #[error("Failed to create function state object for: {0}")]
    NoSuchKernel(String),
    /// The engine cannot build the kernel.
    #[error("Failed to created pipeline state object, error: {0}")]
    Pipeline(String),
    /// A threadgroup of this launch is larger than the kernel's limit. PyTorch raises `ValueError`.
    #[error("Threadgroup size exceeds {max} limit")]
    GroupTooLarge {
        /// The kernel's limit.
        max: u32,
    },
    /// A threadgroup has no threads.
    #[error("kernel '{kernel}': threadgroup size {size:?} has a zero")]
    EmptyGroup {
        /// The kernel's name.
        kernel: String,
        /// The size given.
        size: [u32; 3],
    },
    /// The launch lacks something that the kernel takes.
    #[error(transparent)]
    Dispatch(#[from] DispatchError),
    /// Waiting for the launch, as the profiler was asked to, brought up an error.
    #[error(transparent)]
    Stream(#[from] StreamError),
}

impl From<CompileError> for LibraryError {
    fn from(error: CompileError) -> Self {
        match error {
            CompileError::Diagnostics { diagnostics, rendered } => Self::Diagnostics { diagnostics, rendered },
            CompileError::Internal(reason) => Self::Create(reason),
        }
    }
}

static COMPILER_DIRECTORY: OnceLock<PathBuf> = OnceLock::new();

/// Says in which folder the executable `openmps-compiler` and the Metal headers are. Counts before the first compilation;
/// the first call wins.
pub fn set_compiler_directory(folder: PathBuf) {
    // A second caller finds a folder set already; both name the same installation.
    let _ = COMPILER_DIRECTORY.set(folder);
}

/// What [`set_compiler_directory`] was told.
#[cfg(feature = "cpu")]
pub(crate) fn compiler_directory() -> Option<&'static PathBuf> {
    COMPILER_DIRECTORY.get()
}

/// How PyTorch compiles shaders in this process: `PYTORCH_MPS_METAL_VERSION`, else `system_version`, and
/// `PYTORCH_MPS_FAST_MATH`.
#[must_use]
pub fn compile_options(settings: &Settings, system_version: LanguageVersion) -> CompileOptions {
    CompileOptions {
        language_version: settings.metal_version.unwrap_or(system_version),
        math_mode: if settings.fast_math { MathMode::Fast } else { MathMode::Safe },
    }
}

struct Inner {
    compiled: CompiledSource,
    engine: Arc<dyn Engine>,
    pipelines: Mutex<HashMap<String, Arc<dyn CompiledKernel>>>,
}

/// A compiled library; clones share it.
#[derive(Clone)]
pub struct Library {
    inner: Arc<Inner>,
}

impl Library {
    /// Compiles `source` with the process's compiler, for the process's engine.
    ///
    /// # Errors
    /// [`LibraryError::Diagnostics`] for invalid source, [`LibraryError::Create`] for everything else.
    pub fn from_source(source: &str, options: &CompileOptions) -> Result<Self, LibraryError> {
        let compiler = frontends::source_compiler().map_err(LibraryError::Create)?;
        let engine = engines::engine().map_err(LibraryError::Create)?;
        Self::with(compiler.as_ref(), engine, source, options)
    }

    /// Compiles `source` with `compiler` for `engine`.
    ///
    /// # Errors
    /// As [`from_source`](Self::from_source).
    pub fn with(
        compiler: &dyn SourceCompiler,
        engine: Arc<dyn Engine>,
        source: &str,
        options: &CompileOptions,
    ) -> Result<Self, LibraryError> {
        let compiled = compiler.compile_source(source, options)?;
        let inner = Inner { compiled, engine, pipelines: Mutex::default() };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Host names of the kernels, sorted.
    #[must_use]
    pub fn kernel_names(&self) -> Vec<String> {
        self.inner.compiled.kernels.iter().map(|kernel| kernel.name.clone()).collect()
    }

    /// What the compiler warned of.
    #[must_use]
    pub fn warnings(&self) -> &[Diagnostic] {
        &self.inner.compiled.warnings
    }

    /// The kernel with exactly this host name, built on first use.
    ///
    /// # Errors
    /// [`LibraryError::NoSuchKernel`], [`LibraryError::Pipeline`].
    pub fn kernel(&self, name: &str) -> Result<Kernel, LibraryError> {
        let mut pipelines = self.inner.pipelines.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(compiled) = pipelines.get(name) {
            return Ok(Kernel::new(Arc::clone(compiled)));
        }
        let compiled = self.inner.compile(name)?;
        pipelines.insert(name.into(), Arc::clone(&compiled));
        Ok(Kernel::new(compiled))
    }
}

impl Inner {
    fn signature(&self, name: &str) -> Result<&KernelSignature, LibraryError> {
        let kernels = &self.compiled.kernels;
        kernels.iter().find(|kernel| kernel.name == name).ok_or_else(|| LibraryError::NoSuchKernel(name.into()))
    }

    fn compile(&self, name: &str) -> Result<Arc<dyn CompiledKernel>, LibraryError> {
        let signature = self.signature(name)?;
        let compiled = self.engine.compile(&self.compiled.air, signature, &engines::options(Settings::process()));
        compiled.map_err(|error| match error {
            EngineError::NoSuchKernel(_) => LibraryError::NoSuchKernel(name.into()),
            EngineError::Invalid(reason) | EngineError::Unsupported(reason) | EngineError::Internal(reason) => {
                LibraryError::Pipeline(reason)
            }
        })
    }
}

#[cfg(test)]
mod tests;
