//! The engine: generates, loads and keeps kernels.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use openmps_engine::{
    AirHash, CompiledKernel, Engine, EngineChoice, EngineError, EngineOptions, KernelSignature, VerifiedAir,
};

use crate::kernel::{self, CpuKernel};
use crate::vectorize::Refusal;

/// Most kernels kept; the largest known library has 19,455. One takes a few pages.
const KERNELS_MAX: usize = 4096;

/// Makes a relocatable object of one kernel: in process with LLVM, or in another process, or from a cache on disk.
pub trait CodeGenerator: Send + Sync {
    /// The bytes of an ELF relocatable object that follows [`crate::abi`].
    ///
    /// # Errors
    /// See [`EngineError`].
    fn generate(
        &self,
        air: &VerifiedAir,
        signature: &KernelSignature,
        options: &EngineOptions,
    ) -> Result<Vec<u8>, EngineError>;
}

type Key = (AirHash, String, EngineChoice);

/// Runs AIR kernels on the host's cores.
pub struct CpuEngine {
    generator: Arc<dyn CodeGenerator>,
    kernels: Mutex<BTreeMap<Key, Arc<dyn CompiledKernel>>>,
    counts: Mutex<EngineCounts>,
}

/// What became of the kernels that were asked for as vector code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EngineCounts {
    /// Kernels whose SIMD-groups run together.
    pub vectorized: u64,
    /// Kernels that run one thread after the other, by the reason.
    pub refused: BTreeMap<Refusal, u64>,
}

impl CpuEngine {
    /// An engine that asks `generator` for machine code.
    #[must_use]
    pub fn new(generator: Arc<dyn CodeGenerator>) -> Self {
        Self { generator, kernels: Mutex::default(), counts: Mutex::default() }
    }

    /// What became of the kernels so far.
    #[must_use]
    pub fn counts(&self) -> EngineCounts {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn count(&self, kernel: &CpuKernel) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        match kernel.refusal() {
            Some(reason) => *counts.refused.entry(reason).or_default() += 1,
            None => counts.vectorized += u64::from(kernel.is_vectorized()),
        }
    }
}

/// Has code made and loads it.
fn generate(
    generator: &dyn CodeGenerator,
    air: &VerifiedAir,
    signature: &KernelSignature,
    options: &EngineOptions,
) -> Result<CpuKernel, EngineError> {
    let object = generator.generate(air, signature, options)?;
    CpuKernel::new(signature.clone(), &object)
        .map_err(|error| EngineError::Internal(format!("kernel '{}': {error}", signature.name)))
}

impl Engine for CpuEngine {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn compile(
        &self,
        air: &VerifiedAir,
        signature: &KernelSignature,
        options: &EngineOptions,
    ) -> Result<Arc<dyn CompiledKernel>, EngineError> {
        let key = (air.hash(), signature.name.clone(), options.engine);
        let kept = self.kernels.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        // Another signature for the same symbol would be read wrongly by the code that is kept.
        if let Some(kernel) = kept.filter(|kernel| kernel.signature() == signature) {
            return Ok(kernel);
        }
        let mut kernel = generate(self.generator.as_ref(), air, signature, options)?;
        if options.engine != EngineChoice::Scalar {
            self.count(&kernel);
            let (generator, air, signature) = (Arc::clone(&self.generator), air.clone(), signature.clone());
            let options = EngineOptions { engine: EngineChoice::Scalar, ..options.clone() };
            kernel = kernel.with_other_code(move || generate(generator.as_ref(), &air, &signature, &options));
        }
        let kernel = kernel::share(kernel);
        let mut kernels = self.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        if kernels.len() >= KERNELS_MAX {
            kernels.clear();
        }
        kernels.insert(key, Arc::clone(&kernel));
        Ok(kernel)
    }
}
