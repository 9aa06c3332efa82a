//! The loader of relocatable objects on any bytes: an error or a kernel, which is not run.

use std::sync::Arc;

use openmps_cpu::{CodeGenerator, CpuEngine};
use openmps_engine::{Engine, EngineError, EngineOptions, KernelSignature, VerifiedAir};

/// A code generator whose answer is given.
struct Given(Vec<u8>);

impl CodeGenerator for Given {
    fn generate(&self, _: &VerifiedAir, _: &KernelSignature, _: &EngineOptions) -> Result<Vec<u8>, EngineError> {
        Ok(self.0.clone())
    }
}

/// Loads `input` as the object of a kernel without arguments.
///
/// # Panics
/// When an error has no text or a kernel no threads.
pub fn run(input: &[u8]) {
    match load(input) {
        Ok(threads) => assert!(threads > 0, "a kernel of which no thread can run"),
        Err(error) => assert!(!error.to_string().is_empty(), "an error without a text"),
    }
}

/// Loads an object and says how many threads a threadgroup of its kernel may have.
///
/// # Errors
/// When the loader refuses it.
pub fn load(object: &[u8]) -> Result<u32, EngineError> {
    let engine = CpuEngine::new(Arc::new(Given(object.to_vec())));
    let signature = KernelSignature::new("k", Vec::new());
    // Nobody reads the module: the code generator's answer is given.
    let air = VerifiedAir::from_verifier(&b""[..]);
    let kernel = engine.compile(&air, &signature, &EngineOptions::default())?;
    Ok(kernel.properties().max_total_threads_per_threadgroup)
}
