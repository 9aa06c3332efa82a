//! Kernels: what a library's function looks like to a caller, and how a launch gets into a stream.

use std::sync::Arc;

use openmps_engine::{
    ArgumentKind, Bindings, CompiledKernel, DispatchError, EngineError, Grid, KernelProperties, KernelSignature,
    Presence, SamplerIndex, TextureIndex,
};

use crate::capture::{self, LaunchNotes, Recipe, TensorNote};
use crate::library::LibraryError;
use crate::profile::{self, LaunchTensors, NameId};
use crate::settings::Settings;
use crate::stream::{Command, Retained, Stream};
use crate::{engines, frontends};

/// Lets kernels that start from now on use `count` threads of the host, at most `OMP_NUM_THREADS` and the CPUs that the process
/// may use, whichever is more; 0 for as many as is usual. `OPENMPS_DEBUG=serial` stays in force.
pub fn use_threads(count: usize) {
    crate::engines::use_threads(count);
}

/// A compiled kernel; clones share it.
#[derive(Clone)]
pub struct Kernel {
    compiled: Arc<dyn CompiledKernel>,
    /// Where captures are enabled.
    recipe: Option<Arc<Recipe>>,
    /// Its name in profiles.
    label: NameId,
    /// Its library's source, which a trace looks up as long as a kernel is there.
    _source_text: Option<Arc<str>>,
}

/// What a caller says about the tensors of a launch.
#[derive(Debug, Default)]
pub struct Notes {
    /// For a capture, by buffer index.
    pub captured: Vec<(u32, TensorNote)>,
    /// For the profiler.
    pub profiled: LaunchTensors,
}

impl Kernel {
    /// The pipeline `compiled` of the source or library that `source` names, with its text for traces.
    pub(crate) fn new(
        compiled: Arc<dyn CompiledKernel>,
        recipe: Option<Arc<Recipe>>,
        source: &Arc<str>,
        source_text: Option<Arc<str>>,
    ) -> Self {
        let label = profile::pipeline(&compiled.signature().name, source, source_text.as_ref());
        Self { compiled, recipe, label, _source_text: source_text }
    }

    /// The kernel `name` of a module of AIR (LLVM bitcode) whose function constants have their values, for the process's engine.
    ///
    /// # Errors
    /// [`LibraryError::Create`] where there is no reader of AIR or no engine, [`LibraryError::NoSuchKernel`],
    /// [`LibraryError::Pipeline`].
    pub fn from_air(bitcode: &[u8], name: &str) -> Result<Self, LibraryError> {
        let loader = frontends::air_loader().map_err(LibraryError::Create)?;
        let engine = engines::engine().map_err(LibraryError::Create)?;
        let failed = |error: EngineError| LibraryError::Pipeline(error.to_string());
        let loaded = loader.load(bitcode).map_err(failed)?;
        let signature = loaded.kernels.iter().find(|kernel| kernel.name == name);
        let signature = signature.ok_or_else(|| LibraryError::NoSuchKernel(name.into()))?;
        let options = engines::options(Settings::process());
        let compiled = engine.compile(&loaded.air, signature, &options).map_err(failed)?;
        Ok(Self::new(compiled, None, &"AIR".into(), None))
    }

    /// The host name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.signature().name
    }

    /// What it takes.
    #[must_use]
    pub fn signature(&self) -> &KernelSignature {
        self.compiled.signature()
    }

    /// Limits and sizes.
    #[must_use]
    pub fn properties(&self) -> KernelProperties {
        self.compiled.properties()
    }

    /// Queues a launch over `grid` in `stream` and returns its position. The allocator's blocks at the base addresses in
    /// `retained` stay out of reuse until it has run. A grid without threads is checked and then launches nothing.
    ///
    /// # Errors
    /// [`LibraryError::EmptyGroup`], [`LibraryError::GroupTooLarge`] and [`LibraryError::Dispatch`] before anything is
    /// queued; [`LibraryError::Stream`] after it has run, when the profiler waits for each operation.
    pub fn encode(
        &self,
        stream: Stream,
        bindings: Bindings,
        retained: &[*const u8],
        grid: Grid,
    ) -> Result<u64, LibraryError> {
        self.encode_with_notes(stream, bindings, retained, grid, Notes::default())
    }

    /// As [`encode`](Self::encode); a capture and the profiler also get what the caller says about the tensors that it binds.
    ///
    /// # Errors
    /// As [`encode`](Self::encode).
    pub fn encode_with_notes(
        &self,
        stream: Stream,
        bindings: Bindings,
        retained: &[*const u8],
        grid: Grid,
        notes: Notes,
    ) -> Result<u64, LibraryError> {
        self.check_grid(&grid)?;
        check_bindings(self.signature(), &bindings)?;
        if grid.is_empty() {
            return Ok(stream.position());
        }
        if profile::sees_commands() {
            profile::launch(self.label, notes.profiled);
        }
        let tensors = notes.captured;
        let notes = self.recipe.as_ref().filter(|_| capture::is_capturing());
        let notes = notes.map(|recipe| Box::new(LaunchNotes { recipe: Arc::clone(recipe), tensors }));
        let command = Command::dispatch_with(Arc::clone(&self.compiled), bindings, grid, notes)
            .retaining(Retained::blocks(retained))
            .labelled(self.label);
        let position = stream.encode(command);
        if profile::waits_until_completed() {
            stream.synchronize()?;
        }
        Ok(position)
    }

    fn check_grid(&self, grid: &Grid) -> Result<(), LibraryError> {
        if grid.group.contains(&0) {
            return Err(LibraryError::EmptyGroup { kernel: self.name().into(), size: grid.group });
        }
        let max = self.properties().max_total_threads_per_threadgroup;
        // Three factors of 32 bits may not fit 64; a product that overflows is too large in any case.
        let threads = grid.group.iter().try_fold(1u64, |product, &size| product.checked_mul(u64::from(size)));
        if threads.is_none_or(|threads| threads > u64::from(max)) {
            return Err(LibraryError::GroupTooLarge { max });
        }
        Ok(())
    }
}

/// Whether everything that the kernel takes is there, and textures fit.
fn check_bindings(signature: &KernelSignature, bindings: &Bindings) -> Result<(), DispatchError> {
    for argument in &signature.arguments {
        if argument.presence == Presence::Absent {
            continue;
        }
        let (index, bound) = match argument.kind {
            ArgumentKind::Buffer { index, .. } | ArgumentKind::ArgumentBuffer { index, .. } => {
                (index, bindings.buffer(index).is_some())
            }
            ArgumentKind::ThreadgroupMemory { index } => (index, bindings.threadgroup_memory_bytes(index).is_some()),
            ArgumentKind::Texture { index, count, .. } => {
                for index in index.0..index.0 + count.unwrap_or(1) {
                    bindings.texture_argument(&signature.name, argument, TextureIndex(index))?;
                }
                continue;
            }
            ArgumentKind::Sampler { index, count } => {
                for index in index.0..index.0 + count.unwrap_or(1) {
                    bindings.sampler_argument(&signature.name, argument, SamplerIndex(index))?;
                }
                continue;
            }
            ArgumentKind::VisibleFunctionTable { .. } | ArgumentKind::Builtin { .. } => continue,
        };
        if !bound {
            let (kernel, argument) = (signature.name.clone(), argument.name.clone());
            return Err(DispatchError::Unbound { kernel, index: index.0, argument });
        }
    }
    Ok(())
}
