//! The engine: generates, loads and keeps kernels.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use openmps_engine::{
    AirHash, CompiledKernel, Engine, EngineChoice, EngineError, EngineOptions, KernelSignature, VerifiedAir,
};

use crate::background::Background;
use crate::kernel::{self, CpuKernel};
use crate::pool;
use crate::tier::{Ask, Heat, TieredKernel};
use crate::variants::{Source, Variants};
use crate::vectorize::Refusal;

/// Most kernels kept; the largest known library has 19,455. One takes a few pages.
const KERNELS_MAX: usize = 4096;

/// Makes a relocatable object of one kernel: in process with LLVM, or in another process, or from a cache on disk.
pub trait CodeGenerator: Send + Sync {
    /// The bytes of an ELF relocatable object that follows [`crate::abi`]. Under [`EngineChoice::Auto`] it holds vector code, or why
    /// there is none.
    ///
    /// # Errors
    /// See [`EngineError`].
    fn generate(
        &self,
        air: &VerifiedAir,
        signature: &KernelSignature,
        options: &EngineOptions,
    ) -> Result<Vec<u8>, EngineError>;

    /// What [`generate`](Self::generate) would return, if it is known without generating.
    fn cached(&self, air: &VerifiedAir, signature: &KernelSignature, options: &EngineOptions) -> Option<Vec<u8>> {
        let _ = (air, signature, options);
        None
    }

    /// As [`generate`](Self::generate), for a caller in no hurry: others do not wait for it.
    ///
    /// # Errors
    /// See [`EngineError`].
    fn generate_in_background(
        &self,
        air: &VerifiedAir,
        signature: &KernelSignature,
        options: &EngineOptions,
    ) -> Result<Vec<u8>, EngineError> {
        self.generate(air, signature, options)
    }
}

type Key = (AirHash, String, EngineChoice);

/// Runs AIR kernels on the host's cores.
pub struct CpuEngine {
    generator: Arc<dyn CodeGenerator>,
    kernels: Mutex<BTreeMap<Key, Arc<dyn CompiledKernel>>>,
    counters: Arc<Counters>,
    heat: Heat,
}

/// What became of the kernels that were asked for as vector code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EngineCounts {
    /// Kernels whose SIMD-groups run together.
    pub vectorized: u64,
    /// Kernels that run one thread after the other, by the reason.
    pub refused: BTreeMap<Refusal, u64>,
    /// Kernels that stay as they are since the compiler failed in the background.
    pub failed: u64,
}

/// [`EngineCounts`] without a lock, which a forked child might find locked.
#[derive(Default)]
struct Counters {
    vectorized: AtomicU64,
    refused: [AtomicU64; Refusal::ALL.len()],
    failed: AtomicU64,
}

impl Counters {
    fn count(&self, kernel: &CpuKernel) {
        match kernel.refusal() {
            Some(reason) => {
                let number = Refusal::ALL.iter().position(|known| *known == reason).expect("all reasons are listed");
                self.refused[number].fetch_add(1, Ordering::Relaxed);
            }
            None if kernel.is_vectorized() => drop(self.vectorized.fetch_add(1, Ordering::Relaxed)),
            None => {}
        }
    }
}

impl CpuEngine {
    /// An engine that asks `generator` for machine code.
    #[must_use]
    pub fn new(generator: Arc<dyn CodeGenerator>) -> Self {
        let heat = Heat::Measured(Background::new());
        Self { generator, kernels: Mutex::default(), counters: Arc::default(), heat }
    }

    /// With [`EngineChoice::Auto`], vector code is made before a kernel's first launch, which waits for it: so that tests and
    /// people who look for a mistake see it at once.
    #[must_use]
    pub fn with_hot_kernels(self) -> Self {
        Self { heat: Heat::Always, ..self }
    }

    /// What became of the kernels so far.
    #[must_use]
    pub fn counts(&self) -> EngineCounts {
        let number = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let refused = Refusal::ALL.into_iter().zip(self.counters.refused.iter().map(number));
        EngineCounts {
            vectorized: number(&self.counters.vectorized),
            refused: refused.filter(|(_, count)| *count > 0).collect(),
            failed: number(&self.counters.failed),
        }
    }

    /// The kernel with other code for threadgroups that its vector code does not suit.
    fn vector(
        &self,
        kernel: CpuKernel,
        air: &VerifiedAir,
        signature: &KernelSignature,
        options: &EngineOptions,
    ) -> Arc<dyn CompiledKernel> {
        self.counters.count(&kernel);
        let heat = match options.engine {
            EngineChoice::Auto => self.heat.clone(),
            EngineChoice::Scalar | EngineChoice::Vector => Heat::Always,
        };
        let variants = Variants::new(self.source(air, signature, options), heat, None);
        kernel::share(kernel.with_variants(variants))
    }

    fn source(&self, air: &VerifiedAir, signature: &KernelSignature, options: &EngineOptions) -> Source {
        let generator = Arc::clone(&self.generator);
        Source { generator, air: air.clone(), signature: signature.clone(), options: options.clone() }
    }

    /// Vector code if an earlier process has made it, else scalar code that may become vector code. Of straight kernels it is both.
    fn tiered(
        &self,
        air: &VerifiedAir,
        signature: &KernelSignature,
        options: &EngineOptions,
    ) -> Result<Arc<dyn CompiledKernel>, EngineError> {
        // One that cannot be loaded is made again when its time comes.
        let known = self.generator.cached(air, signature, options).and_then(|object| load(signature, &object).ok());
        let (vector, refused) = match known {
            Some(code) if code.is_vectorized() && !code.is_straight() => {
                return Ok(self.vector(code, air, signature, options));
            }
            Some(code) if code.is_vectorized() => (Some(code), None),
            other => (None, other),
        };
        let code = generate(self.generator.as_ref(), air, signature, &scalar(options))?;
        let refused = refused.as_ref().or_else(|| code.refusal().and(Some(&code)));
        if refused.is_some() || options.dump_dir.is_some() {
            self.counters.count(refused.unwrap_or(&code));
            return Ok(kernel::share(code));
        }
        let code = Arc::new(code);
        let source = self.source(air, signature, options);
        let vector = vector.map(|vector| {
            self.counters.count(&vector);
            beside_scalar(vector, &code, &source, &self.heat)
        });
        Ok(TieredKernel::new(code, vector, self.heat.clone(), self.ask(air, signature, options)))
    }

    /// Makes the vector code of a kernel.
    fn ask(&self, air: &VerifiedAir, signature: &KernelSignature, options: &EngineOptions) -> Ask {
        let (counters, heat) = (Arc::clone(&self.counters), self.heat.clone());
        let source = self.source(air, signature, options);
        Box::new(move |scalar| {
            let Source { generator, air, signature, options } = &source;
            let object = generator.generate_in_background(air, signature, options);
            let Ok(kernel) = object.and_then(|object| load(signature, &object)) else {
                counters.failed.fetch_add(1, Ordering::Relaxed);
                return None;
            };
            counters.count(&kernel);
            kernel.is_vectorized().then(|| beside_scalar(kernel, scalar, &source, &heat))
        })
    }
}

/// Vector code of a kernel whose scalar code is there for the threadgroups that it does not suit.
fn beside_scalar(vector: CpuKernel, scalar: &Arc<CpuKernel>, source: &Source, heat: &Heat) -> CpuKernel {
    vector.with_variants(Variants::new(source.clone(), heat.clone(), Some(Arc::clone(scalar))))
}

fn scalar(options: &EngineOptions) -> EngineOptions {
    EngineOptions { engine: EngineChoice::Scalar, ..options.clone() }
}

/// Has code made and loads it.
pub(crate) fn generate(
    generator: &dyn CodeGenerator,
    air: &VerifiedAir,
    signature: &KernelSignature,
    options: &EngineOptions,
) -> Result<CpuKernel, EngineError> {
    load(signature, &generator.generate(air, signature, options)?)
}

pub(crate) fn load(signature: &KernelSignature, object: &[u8]) -> Result<CpuKernel, EngineError> {
    CpuKernel::new(signature.clone(), object)
        .map_err(|error| EngineError::Internal(format!("kernel '{}': {error}", signature.name)))
}

impl Engine for CpuEngine {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn assist(&self) -> bool {
        pool::assist()
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
        let kernel = match options.engine {
            EngineChoice::Auto => self.tiered(air, signature, options)?,
            EngineChoice::Scalar => kernel::share(generate(self.generator.as_ref(), air, signature, options)?),
            EngineChoice::Vector => {
                let code = generate(self.generator.as_ref(), air, signature, options)?;
                self.vector(code, air, signature, options)
            }
        };
        let mut kernels = self.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        if kernels.len() >= KERNELS_MAX {
            kernels.clear();
        }
        kernels.insert(key, Arc::clone(&kernel));
        Ok(kernel)
    }
}
