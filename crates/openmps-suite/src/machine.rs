//! Metal source text run as the product runs it: our front end, then the CPU engine, both in this process.
//!
//! Guarantees: a source that does not compile, a kernel that is missing or a launch that fails ends the caller's test with
//! the compiler's or the engine's own text. Leaves out the runtime (streams, allocator, cache), which has its own tests.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use openmps_cpu::{CpuEngine, LlvmCodeGenerator};
use openmps_engine::{
    Binding, Bindings, BufferIndex, CompileOptions, CompiledKernel, CompiledSource, Engine, EngineError, EngineOptions,
    Grid, KernelSignature, SourceCompiler as _,
};
use openmps_msl::{DriverConfig, MslCompiler};

/// The front end of this process; its precompiled headers are kept in the build folder.
fn compiler() -> &'static MslCompiler {
    static COMPILER: OnceLock<MslCompiler> = OnceLock::new();
    COMPILER.get_or_init(|| {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| here.join("../../target"), PathBuf::from);
        MslCompiler::new(DriverConfig {
            include_dir: here.join("../openmps-msl/include"),
            installed_pch_dir: None,
            pch_cache_dir: Some(target.join("tmp/pch")),
        })
    })
}

fn engine() -> &'static CpuEngine {
    static ENGINE: OnceLock<CpuEngine> = OnceLock::new();
    ENGINE.get_or_init(|| CpuEngine::new(Arc::new(LlvmCodeGenerator)))
}

/// A compiled source text.
#[derive(Debug)]
pub struct Program {
    compiled: CompiledSource,
}

impl Program {
    /// Compiles `source`.
    ///
    /// # Panics
    /// When it does not compile, with the diagnostics.
    #[must_use]
    pub fn new(source: &str, options: &CompileOptions) -> Self {
        let compiled = compiler().compile_source(source, options);
        Self { compiled: compiled.unwrap_or_else(|error| panic!("{error}")) }
    }

    /// Names of the kernels, in the order of the AIR module.
    pub fn kernel_names(&self) -> impl Iterator<Item = &str> {
        self.compiled.kernels.iter().map(|kernel| kernel.name.as_str())
    }

    /// The AIR module as LLVM bitcode.
    #[must_use]
    pub fn bitcode(&self) -> &[u8] {
        self.compiled.air.bitcode()
    }

    /// Machine code of kernel `name`.
    ///
    /// # Panics
    /// When there is no such kernel or the engine cannot build it.
    #[must_use]
    pub fn kernel(&self, name: &str) -> Arc<dyn CompiledKernel> {
        let kernel = self.kernel_on(engine(), name, &EngineOptions::default());
        kernel.unwrap_or_else(|error| panic!("kernel '{name}': {error}"))
    }

    /// The kernels that need no values of function constants.
    pub fn plain_kernels(&self) -> impl Iterator<Item = &KernelSignature> {
        self.compiled.kernels.iter().filter(|kernel| !kernel.needs_specialization())
    }

    /// The object of the kernel with `signature` for `cpu` of LLVM's target `triple`.
    ///
    /// # Errors
    /// What code generation says.
    pub fn object_for(
        &self,
        signature: &KernelSignature,
        triple: &str,
        cpu: &str,
        options: &EngineOptions,
    ) -> Result<Vec<u8>, EngineError> {
        openmps_cpu::cross_compile(triple, cpu, &self.compiled.air, signature, options)
    }

    /// Machine code of kernel `name` from `engine` with `options`.
    ///
    /// # Errors
    /// What the engine says.
    ///
    /// # Panics
    /// When there is no such kernel.
    pub fn kernel_on(
        &self,
        engine: &dyn Engine,
        name: &str,
        options: &EngineOptions,
    ) -> Result<Arc<dyn CompiledKernel>, EngineError> {
        let signature = self.compiled.kernels.iter().find(|kernel| kernel.name == name);
        let signature = signature.unwrap_or_else(|| panic!("no kernel '{name}'"));
        engine.compile(&self.compiled.air, signature, options)
    }
}

/// Buffers and a grid for one launch.
#[derive(Debug, Default)]
pub struct Launch {
    bindings: Bindings,
    count: u32,
}

impl Launch {
    /// No buffers yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Binds `data` to the next buffer index.
    #[must_use]
    pub fn buffer<T>(mut self, data: &mut [T]) -> Self {
        let binding = Binding::Buffer {
            address: data.as_mut_ptr().expose_provenance() as u64,
            size_bytes: size_of_val(data) as u64,
        };
        self.bindings.set(BufferIndex(self.count), binding);
        self.count += 1;
        self
    }

    /// Runs `kernel` on `threads` threads in threadgroups of `group`, and waits.
    ///
    /// # Panics
    /// When the launch fails.
    pub fn run(&self, kernel: &dyn CompiledKernel, threads: u32, group: u32) {
        self.run_grid(kernel, &Grid { threads: [threads, 1, 1], group: [group, 1, 1] });
    }

    /// Runs `kernel` over `grid`, and waits.
    ///
    /// # Panics
    /// When the launch fails.
    pub fn run_grid(&self, kernel: &dyn CompiledKernel, grid: &Grid) {
        let outcome = Arc::new(Mutex::new(None));
        let stored = Arc::clone(&outcome);
        let completion = Box::new(move |result| *stored.lock().unwrap_or_else(PoisonError::into_inner) = Some(result));
        kernel.dispatch(&self.bindings, grid, completion);
        let result = outcome.lock().unwrap_or_else(PoisonError::into_inner).take();
        let result = result.expect("the engine completes before it returns");
        result.unwrap_or_else(|error| panic!("kernel '{}': {error}", kernel.signature().name));
    }
}

/// Random numbers (SplitMix64).
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    /// From `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// A seed from the clock, for a test to print.
    ///
    /// # Panics
    /// When the clock is before 1970.
    #[must_use]
    pub fn fresh_seed() -> u64 {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("the clock is past 1970");
        u64::from(now.subsec_nanos()) << 32 | (now.as_secs() & 0xffff_ffff)
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// 32 random bits.
    ///
    /// # Panics
    /// Never.
    pub fn bits32(&mut self) -> u32 {
        u32::try_from(self.bits() >> 32).expect("32 bits")
    }

    /// Below `limit`.
    ///
    /// # Panics
    /// When `limit` is zero.
    pub fn below(&mut self, limit: u32) -> u32 {
        u32::try_from(self.bits() % u64::from(limit)).expect("below a 32-bit number")
    }

    /// Uniform in [0, 1).
    pub fn unit(&mut self) -> f64 {
        f64::from(self.bits32()) / 4_294_967_296.0
    }

    /// Uniform in [`low`, `high`).
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }
}
