//! Metal libraries: source text or a `.metallib` becomes a set of kernels, and a kernel becomes dispatchable when it is first
//! asked for.
//!
//! A library from source holds one AIR module and its kernels' signatures; one from a `.metallib` knows names, and reads a
//! kernel's module when that is asked for. Pipelines (compiled kernels) are kept, one for each kernel and set of function
//! constants, and each is compiled once; different ones may be compiled at the same time. A [`Kernel`] outlives its library.
//! Texts of errors are PyTorch's.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use openmps_engine::{
    AirLoader, CompileError, CompileOptions, CompiledSource, ConstantValues, Diagnostic, DispatchError, Engine,
    EngineError, KernelSignature, LanguageVersion, LoadedAir, MathMode, PrecompiledLibrary, SourceCompiler,
    VerifiedAir,
};
use thiserror::Error;

use crate::capture::{self, Recipe, RecipeOrigin};
use crate::frontends::Place;
use crate::kernel::Kernel;
use crate::limits::TRACE_SOURCE_BYTES_MAX;
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
    /// The bytes or the file are no compiled library.
    #[error("Failed to load metallib{}: {reason}", path.as_ref().map(|path| format!(" from '{}'", path.display())).unwrap_or_default())]
    Load {
        /// The file, if it was one.
        path: Option<PathBuf>,
        /// What was found, and where.
        reason: String,
    },
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

/// Where the kernels come from.
enum Origin {
    /// Compiled here.
    Source(CompiledSource),
    /// Compiled before.
    Precompiled(Box<dyn PrecompiledLibrary>),
}

/// A kernel with the values of its function constants.
type PipelineKey = (String, ConstantValues);
/// Filled by the first thread that asks, which the others wait for.
type Pipeline = Arc<Mutex<Option<Kernel>>>;

struct Inner {
    origin: Origin,
    engine: Arc<dyn Engine>,
    /// The process's, where none was given.
    loader: Option<Arc<dyn AirLoader>>,
    /// What profiles call the source or the library.
    source_name: Arc<str>,
    pipelines: Mutex<HashMap<PipelineKey, Pipeline>>,
    /// The source text and how it was compiled, where captures are enabled.
    text: Option<(Arc<str>, CompileOptions)>,
    /// The source text, unless traces shall not have it.
    traced_text: Option<Arc<str>>,
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
        let limit = Settings::process().trace_source_limit.unwrap_or(TRACE_SOURCE_BYTES_MAX);
        let is_traced = source.len() as u64 <= limit;
        let text: Option<Arc<str>> = (is_traced || capture::is_enabled()).then(|| source.into());
        let traced_text = text.clone().filter(|_| is_traced);
        let text = text.filter(|_| capture::is_enabled()).map(|text| (text, options.clone()));
        let library = Self::new(Origin::Source(compiled), engine, None, text, "program_source");
        Ok(library.with_traced_text(traced_text))
    }

    /// Opens the compiled library (`.metallib`, or a universal binary with one) in `bytes`, which are copied, for the process's
    /// engine. Kernels are read when they are asked for.
    ///
    /// # Errors
    /// [`LibraryError::Load`].
    pub fn from_metallib(bytes: &[u8]) -> Result<Self, LibraryError> {
        Self::open(Place::Bytes(bytes)).map_err(|reason| LibraryError::Load { path: None, reason })
    }

    /// Opens the compiled library in the file at `path` for the process's engine. The file stays open, and kernels are read
    /// when they are asked for.
    ///
    /// # Errors
    /// [`LibraryError::Load`].
    pub fn from_metallib_file(path: &Path) -> Result<Self, LibraryError> {
        Self::open(Place::File(path)).map_err(|reason| LibraryError::Load { path: Some(path.into()), reason })
    }

    fn open(place: Place<'_>) -> Result<Self, String> {
        let source_name = match place {
            Place::Bytes(_) => "metallib".into(),
            Place::File(path) => path.to_string_lossy().into_owned(),
        };
        let origin = Origin::Precompiled(frontends::open_metallib(place)?);
        Ok(Self::new(origin, engines::engine()?, Some(frontends::air_loader()?), None, &source_name))
    }

    /// The library in `container`, whose modules `loader` reads, for `engine`.
    #[must_use]
    pub fn with_precompiled(
        container: Box<dyn PrecompiledLibrary>,
        loader: Arc<dyn AirLoader>,
        engine: Arc<dyn Engine>,
    ) -> Self {
        Self::new(Origin::Precompiled(container), engine, Some(loader), None, "metallib")
    }

    fn new(
        origin: Origin,
        engine: Arc<dyn Engine>,
        loader: Option<Arc<dyn AirLoader>>,
        text: Option<(Arc<str>, CompileOptions)>,
        source_name: &str,
    ) -> Self {
        let source_name = source_name.into();
        let pipelines = Mutex::default();
        Self { inner: Inner { origin, engine, loader, source_name, pipelines, text, traced_text: None }.into() }
    }

    /// A library that nobody shares yet, with its source for traces.
    fn with_traced_text(mut self, text: Option<Arc<str>>) -> Self {
        if let Some(inner) = Arc::get_mut(&mut self.inner) {
            inner.traced_text = text;
        }
        self
    }

    /// Host names of the kernels, sorted.
    #[must_use]
    pub fn kernel_names(&self) -> Vec<String> {
        match &self.inner.origin {
            Origin::Source(compiled) => compiled.kernels.iter().map(|kernel| kernel.name.clone()).collect(),
            Origin::Precompiled(container) => {
                let mut names = container.kernel_names();
                names.sort();
                names
            }
        }
    }

    /// What the compiler warned of.
    #[must_use]
    pub fn warnings(&self) -> &[Diagnostic] {
        match &self.inner.origin {
            Origin::Source(compiled) => &compiled.warnings,
            Origin::Precompiled(_) => &[],
        }
    }

    /// The kernel with exactly this host name, built on first use. Its function constants have no values: required ones are
    /// missed, others are zero and not defined.
    ///
    /// # Errors
    /// [`LibraryError::NoSuchKernel`], [`LibraryError::Pipeline`].
    pub fn kernel(&self, name: &str) -> Result<Kernel, LibraryError> {
        self.kernel_with_constants(name, &ConstantValues::default())
    }

    /// The kernel with exactly this host name and these values of its function constants, built on first use.
    ///
    /// # Errors
    /// As [`kernel`](Self::kernel), and [`LibraryError::Pipeline`] for a value of the wrong type.
    pub fn kernel_with_constants(&self, name: &str, values: &ConstantValues) -> Result<Kernel, LibraryError> {
        let pipeline = {
            let mut pipelines = self.inner.pipelines.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(pipelines.entry((name.into(), values.clone())).or_default())
        };
        let mut built = pipeline.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kernel) = &*built {
            return Ok(kernel.clone());
        }
        match self.inner.compile(name, values) {
            Ok(kernel) => Ok(built.insert(kernel).clone()),
            Err(error) => {
                // Names that do not exist must not add up.
                let key = (name.to_owned(), values.clone());
                self.inner.pipelines.lock().unwrap_or_else(PoisonError::into_inner).remove(&key);
                Err(error)
            }
        }
    }
}

impl Inner {
    fn compile(&self, name: &str, values: &ConstantValues) -> Result<Kernel, LibraryError> {
        let error = |error| match error {
            EngineError::NoSuchKernel(_) => LibraryError::NoSuchKernel(name.into()),
            EngineError::Invalid(reason) | EngineError::Unsupported(reason) | EngineError::Internal(reason) => {
                LibraryError::Pipeline(reason)
            }
        };
        let (module, mut signature) = self.module(name)?;
        let mut air = module.clone();
        if signature.needs_specialization() {
            let loader = self.loader.clone().map_or_else(frontends::air_loader, Ok).map_err(LibraryError::Pipeline)?;
            let specialized = loader.specialize(&air, name, values).map_err(error)?;
            (air, signature) = kernel_of(specialized, name)?;
        }
        let options = engines::options(Settings::process());
        let compiled = self.engine.compile(&air, &signature, &options).map_err(error)?;
        let recipe = self.recipe(module, air, values);
        Ok(Kernel::new(compiled, recipe, &self.source_name, self.traced_text.clone()))
    }

    /// What a capture needs to make the kernel again; `air` is `module` with its function constants set.
    fn recipe(&self, module: VerifiedAir, air: VerifiedAir, values: &ConstantValues) -> Option<Arc<Recipe>> {
        let origin = match &self.text {
            Some((text, options)) => RecipeOrigin::Source { text: Arc::clone(text), options: options.clone() },
            None => RecipeOrigin::Library { module },
        };
        let recipe = || Arc::new(Recipe { origin, constants: values.clone(), air, engine: self.engine.name() });
        capture::is_enabled().then(recipe)
    }

    /// The module of the kernel `name`, with its signature.
    fn module(&self, name: &str) -> Result<(VerifiedAir, KernelSignature), LibraryError> {
        let missing = || LibraryError::NoSuchKernel(name.into());
        match &self.origin {
            Origin::Source(CompiledSource { air, kernels, .. }) => {
                let signature = kernels.iter().find(|kernel| kernel.name == name).ok_or_else(missing)?;
                Ok((air.clone(), signature.clone()))
            }
            Origin::Precompiled(container) => {
                let bitcode = container.bitcode(name).map_err(LibraryError::Pipeline)?.ok_or_else(missing)?;
                let loader =
                    self.loader.clone().map_or_else(frontends::air_loader, Ok).map_err(LibraryError::Pipeline)?;
                let loaded = loader.load(&bitcode).map_err(|error| LibraryError::Pipeline(error.to_string()))?;
                kernel_of(loaded, name)
            }
        }
    }
}

/// The kernel `name` of a module that should have it.
fn kernel_of(loaded: LoadedAir, name: &str) -> Result<(VerifiedAir, KernelSignature), LibraryError> {
    let signature = loaded.kernels.into_iter().find(|kernel| kernel.name == name);
    let missing =
        || LibraryError::Pipeline(format!("the module of kernel '{name}' does not describe a kernel of this name"));
    Ok((loaded.air, signature.ok_or_else(missing)?))
}

#[cfg(test)]
mod tests;
