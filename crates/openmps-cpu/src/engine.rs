//! The engine: generates, loads and keeps kernels.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use openmps_engine::{AirHash, CompiledKernel, Engine, EngineError, EngineOptions, KernelSignature, VerifiedAir};

use crate::kernel::{self, CpuKernel};

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

type Key = (AirHash, String);

/// Runs AIR kernels on the host's cores.
pub struct CpuEngine {
    generator: Arc<dyn CodeGenerator>,
    kernels: Mutex<BTreeMap<Key, Arc<dyn CompiledKernel>>>,
}

impl CpuEngine {
    /// An engine that asks `generator` for machine code.
    #[must_use]
    pub fn new(generator: Arc<dyn CodeGenerator>) -> Self {
        Self { generator, kernels: Mutex::new(BTreeMap::new()) }
    }
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
        let key = (air.hash(), signature.name.clone());
        let kept = self.kernels.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        // Another signature for the same symbol would be read wrongly by the code that is kept.
        if let Some(kernel) = kept.filter(|kernel| kernel.signature() == signature) {
            return Ok(kernel);
        }
        let object = self.generator.generate(air, signature, options)?;
        let kernel = CpuKernel::new(signature.clone(), &object)
            .map_err(|error| EngineError::Internal(format!("kernel '{}': {error}", signature.name)))?;
        let kernel = kernel::share(kernel);
        let mut kernels = self.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        if kernels.len() >= KERNELS_MAX {
            kernels.clear();
        }
        kernels.insert(key, Arc::clone(&kernel));
        Ok(kernel)
    }
}
