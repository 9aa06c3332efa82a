//! The contract of engines: AIR in, something dispatchable out.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::air::VerifiedAir;
use crate::bindings::Bindings;
use crate::error::{DispatchError, EngineError};
use crate::grid::Grid;
use crate::signature::KernelSignature;

/// What changes the generated code beside the AIR itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct EngineOptions {
    /// A folder for the module after every pass (`OPENMPS_DEBUG=dump`).
    pub dump_dir: Option<String>,
    /// Verify the module after every pass (`OPENMPS_DEBUG=verify`).
    pub verify_each_pass: bool,
    /// Which code the CPU engine makes (`OPENMPS_ENGINE`).
    pub engine: EngineChoice,
    /// Which threadgroups vector code is for.
    pub rows: SimdgroupRows,
}

/// How a SIMD-group, 32 threads in the order of the linear index, lies in the rows of a threadgroup: what vector code of the CPU
/// engine is made for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum SimdgroupRows {
    /// In one row, and rows are whole SIMD-groups. Of kernels without barriers the code is that of [`One`](Self::One).
    #[default]
    Whole,
    /// In one row: rows are whole SIMD-groups, or there is one row.
    One,
    /// In whole rows of this many threads: 1, 2, 4, 8 or 16. All threads of a SIMD-group have the same place in z.
    Short(u8),
    /// Anyhow.
    Any,
}

/// Which code the CPU engine makes of a kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum EngineChoice {
    /// Vectors where they are worth their time of compilation, else one thread after the other.
    Auto,
    /// One thread after the other: the reference.
    #[default]
    Scalar,
    /// The threads of a SIMD-group together, wherever that can be done.
    Vector,
}

/// What Metal's pipeline state tells about a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelProperties {
    /// Most threads of one threadgroup.
    pub max_total_threads_per_threadgroup: u32,
    /// Threads of one SIMD-group; 32 on every engine of ours.
    pub thread_execution_width: u32,
    /// Bytes of threadgroup memory that the kernel declares itself.
    pub static_threadgroup_memory_length: u32,
}

/// Called once when a dispatch has finished, on whatever thread finished it.
pub type Completion = Box<dyn FnOnce(Result<(), DispatchError>) + Send>;

/// Compiles kernels for one kind of device.
pub trait Engine: Send + Sync {
    /// A short name: `cpu`, `cuda`, `recording`.
    fn name(&self) -> &'static str;

    /// Does a part of what running kernels have left to do, on a thread that has to wait for them; whether there was something. An
    /// engine that works on threads of the host only may have such work.
    fn assist(&self) -> bool {
        false
    }

    /// Builds one kernel of `air`. May take milliseconds; results are cached by the engine.
    ///
    /// # Errors
    /// See [`EngineError`].
    fn compile(
        &self,
        air: &VerifiedAir,
        signature: &KernelSignature,
        options: &EngineOptions,
    ) -> Result<Arc<dyn CompiledKernel>, EngineError>;
}

/// A kernel ready to run.
pub trait CompiledKernel: Send + Sync {
    /// What was compiled.
    fn signature(&self) -> &KernelSignature;

    /// Limits and sizes.
    fn properties(&self) -> KernelProperties;

    /// Runs the kernel over `grid`. The caller is a stream, which has already ordered this after everything before it and
    /// keeps bound buffers alive until `completion`. An engine whose device is asynchronous returns at once; the CPU engine
    /// works on the calling thread and its pool, and calls `completion` before it returns.
    fn dispatch(&self, bindings: &Bindings, grid: &Grid, completion: Completion);
}
