//! Runs kernels given as LLVM IR text: compiles, binds host memory, dispatches.

use std::sync::{Arc, Mutex};

use openmps_cpu::{CodeGenerator, CpuEngine, FiberCodeGenerator, LlvmCodeGenerator};
use openmps_engine::{
    AddressSpace, Argument, ArgumentKind, Binding, Bindings, BufferAccess, BufferIndex, Builtin, BuiltinType,
    CompiledKernel, DispatchError, Engine, EngineChoice, EngineError, EngineOptions, Grid, KernelSignature, Scalar,
    VerifiedAir,
};
use openmps_llvm::Context;

use crate::ENGINE;

/// A buffer argument at `index`.
pub(crate) fn buffer(index: u32) -> ArgumentKind {
    reference(index, None)
}

/// A reference argument at `index` of `size_bytes_min` bytes.
pub(crate) fn reference(index: u32, size_bytes_min: Option<u32>) -> ArgumentKind {
    let (address_space, access) = (AddressSpace::Device, BufferAccess::ReadWrite);
    ArgumentKind::Buffer { index: BufferIndex(index), address_space, access, size_bytes_min }
}

/// Dynamic threadgroup memory at `index`.
pub(crate) fn threadgroup(index: u32) -> ArgumentKind {
    ArgumentKind::ThreadgroupMemory { index: BufferIndex(index) }
}

/// A built-in of `lanes` 32-bit components.
pub(crate) fn builtin(builtin: Builtin, lanes: u8) -> ArgumentKind {
    ArgumentKind::Builtin { builtin, ty: BuiltinType { scalar: Scalar::U32, lanes } }
}

/// A built-in of `lanes` 16-bit components.
pub(crate) fn builtin16(builtin: Builtin, lanes: u8) -> ArgumentKind {
    ArgumentKind::Builtin { builtin, ty: BuiltinType { scalar: Scalar::U16, lanes } }
}

/// The signature of kernel `name`.
pub(crate) fn signature(name: &str, kinds: &[ArgumentKind]) -> KernelSignature {
    let argument = |(position, kind): (usize, &ArgumentKind)| Argument::new(kind.clone(), format!("a{position}"), "");
    KernelSignature::new(name, kinds.iter().enumerate().map(argument).collect())
}

/// The module of `text` as a front end would hand it over.
pub(crate) fn air(text: &str) -> VerifiedAir {
    let context = Context::new();
    let module = context.parse_ir(text).expect("the test's text is LLVM IR");
    module.verify().expect("the test's text is valid");
    VerifiedAir::from_verifier(module.write_bitcode().as_bytes())
}

/// Compiles kernel `k` of `text`.
pub(crate) fn try_compile(text: &str, kinds: &[ArgumentKind]) -> Result<Arc<dyn CompiledKernel>, EngineError> {
    compile_with(Arc::new(LlvmCodeGenerator), ENGINE, text, kinds)
}

/// Compiles kernel `k` of `text` split at its barriers, and as fibers.
pub(crate) fn compile_both_ways(text: &str, kinds: &[ArgumentKind]) -> [Arc<dyn CompiledKernel>; 2] {
    [compile(text, kinds), compile_scalar_ways(text, kinds)[1].clone()]
}

/// As [`compile_both_ways`] with one thread after the other, for what is only defined then.
pub(crate) fn compile_scalar_ways(text: &str, kinds: &[ArgumentKind]) -> [Arc<dyn CompiledKernel>; 2] {
    let generators: [Arc<dyn CodeGenerator>; 2] = [Arc::new(LlvmCodeGenerator), Arc::new(FiberCodeGenerator)];
    generators.map(|generator| {
        let kernel = compile_with(generator, EngineChoice::Scalar, text, kinds);
        kernel.unwrap_or_else(|error| panic!("{error}"))
    })
}

fn compile_with(
    generator: Arc<dyn CodeGenerator>,
    choice: EngineChoice,
    text: &str,
    kinds: &[ArgumentKind],
) -> Result<Arc<dyn CompiledKernel>, EngineError> {
    let engine = CpuEngine::new(generator);
    let dump_dir = std::env::var("OPENMPS_TEST_DUMP_DIR").ok();
    let options = EngineOptions { dump_dir, verify_each_pass: true, engine: choice, ..EngineOptions::default() };
    engine.compile(&air(text), &signature("k", kinds), &options)
}

/// Compiles kernel `k` of `text`, which must work.
pub(crate) fn compile(text: &str, kinds: &[ArgumentKind]) -> Arc<dyn CompiledKernel> {
    try_compile(text, kinds).unwrap_or_else(|error| panic!("{error}"))
}

/// Binds `data` at `index`.
pub(crate) fn bind<T>(bindings: &mut Bindings, index: u32, data: &mut [T]) {
    let size_bytes = size_of_val(data) as u64;
    let address = data.as_mut_ptr().expose_provenance() as u64;
    bindings.set(BufferIndex(index), Binding::Buffer { address, size_bytes });
}

/// Binds a copy of `value`'s bytes at `index`.
pub(crate) fn bind_u32(bindings: &mut Bindings, index: u32, value: u32) {
    bindings.set(BufferIndex(index), Binding::Bytes(Box::new(value.to_le_bytes())));
}

/// Dispatches and returns what the completion got.
pub(crate) fn try_dispatch(
    kernel: &dyn CompiledKernel,
    bindings: &Bindings,
    threads: [u32; 3],
    group: [u32; 3],
) -> Result<(), DispatchError> {
    let result = Arc::new(Mutex::new(None));
    let stored = Arc::clone(&result);
    let completion = Box::new(move |outcome| *stored.lock().unwrap() = Some(outcome));
    kernel.dispatch(bindings, &Grid { threads, group }, completion);
    result.lock().unwrap().take().expect("the engine completes before it returns")
}

/// Dispatches, which must work.
pub(crate) fn dispatch(kernel: &dyn CompiledKernel, bindings: &Bindings, threads: [u32; 3], group: [u32; 3]) {
    try_dispatch(kernel, bindings, threads, group).unwrap_or_else(|error| panic!("{error}"));
}

/// Random numbers (SplitMix64) whose seed a failing test prints.
pub(crate) struct Random {
    state: u64,
}

impl Random {
    /// A fresh seed, printed.
    pub(crate) fn fresh() -> Self {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        let seed = u64::try_from(now.as_nanos() & u128::from(u64::MAX)).unwrap();
        println!("seed {seed}");
        Self { state: seed }
    }

    /// 64 random bits.
    pub(crate) fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// 32 random bits.
    pub(crate) fn bits32(&mut self) -> u32 {
        u32::try_from(self.bits() >> 32).unwrap()
    }

    /// Below `limit`.
    pub(crate) fn below(&mut self, limit: u32) -> u32 {
        u32::try_from(self.bits() % u64::from(limit)).unwrap()
    }

    /// In [-4, 4).
    pub(crate) fn float(&mut self) -> f32 {
        f32::from(u16::try_from(self.bits() >> 48).unwrap()) / 8192.0 - 4.0
    }

    /// `count` floats in [-4, 4).
    pub(crate) fn floats(&mut self, count: usize) -> Vec<f32> {
        (0..count).map(|_| self.float()).collect()
    }
}
