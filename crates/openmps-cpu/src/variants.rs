//! The codes of a vectorised kernel for threadgroups that its first code cannot run, or runs with most lanes
//! idle: each is made when a launch first wants it.
//!
//! Guarantees: where hot kernels are compiled in the background no launch waits for vector code, and each is asked for at most once a
//! process; what an earlier process has made is taken from the cache.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use openmps_engine::{EngineChoice, EngineError, EngineOptions, KernelSignature, SimdgroupRows, VerifiedAir};

use crate::engine::{CodeGenerator, generate, load};
use crate::kernel::CpuKernel;
use crate::tier::Heat;

/// Codes beside the first one: rows of 1, 2, 4, 8 and 16 threads, a row with an end, and any.
const COUNT: usize = 7;

/// What codes are made of.
#[derive(Clone)]
pub(crate) struct Source {
    pub(crate) generator: Arc<dyn CodeGenerator>,
    pub(crate) air: VerifiedAir,
    pub(crate) signature: KernelSignature,
    pub(crate) options: EngineOptions,
}

impl Source {
    fn options(&self, rows: SimdgroupRows) -> EngineOptions {
        EngineOptions { rows, ..self.options.clone() }
    }

    /// Vector code that an earlier process has made.
    fn cached(&self, rows: SimdgroupRows) -> Option<CpuKernel> {
        let object = self.generator.cached(&self.air, &self.signature, &self.options(rows))?;
        load(&self.signature, &object).ok().filter(CpuKernel::is_vectorized)
    }

    /// None where the compiler refuses or fails.
    fn vector(&self, rows: SimdgroupRows, is_urgent: bool) -> Option<CpuKernel> {
        let options = self.options(rows);
        let object = if is_urgent {
            self.generator.generate(&self.air, &self.signature, &options)
        } else {
            self.generator.generate_in_background(&self.air, &self.signature, &options)
        };
        object.and_then(|object| load(&self.signature, &object)).ok().filter(CpuKernel::is_vectorized)
    }

    fn scalar(&self) -> Result<CpuKernel, EngineError> {
        let options = EngineOptions { engine: EngineChoice::Scalar, ..self.options.clone() };
        generate(self.generator.as_ref(), &self.air, &self.signature, &options)
    }
}

/// One code.
#[derive(Default)]
struct Slot {
    /// The id of the process that has asked; 0 when none has.
    asked: AtomicU32,
    code: OnceLock<Option<CpuKernel>>,
}

/// The codes of one kernel.
pub(crate) struct Variants {
    source: Source,
    heat: Heat,
    scalar: OnceLock<Result<Arc<CpuKernel>, EngineError>>,
    slots: [Slot; COUNT],
    this: Weak<Self>,
}

impl Variants {
    /// No code but `scalar`, if that is there.
    pub(crate) fn new(source: Source, heat: Heat, scalar: Option<Arc<CpuKernel>>) -> Arc<Self> {
        let scalar = scalar.map_or_else(OnceLock::new, |code| OnceLock::from(Ok(code)));
        let slots = Default::default();
        Arc::new_cyclic(|this| Self { source, heat, scalar, slots, this: Weak::clone(this) })
    }

    /// Scalar code, which runs every threadgroup.
    ///
    /// # Errors
    /// What the compiler says.
    pub(crate) fn scalar(&self) -> Result<&CpuKernel, EngineError> {
        let made = self.scalar.get_or_init(|| self.source.scalar().map(Arc::new));
        made.as_ref().map(AsRef::as_ref).map_err(Clone::clone)
    }

    /// Vector code for `rows`, none while there is none.
    pub(crate) fn vector(&self, rows: SimdgroupRows) -> Option<&CpuKernel> {
        let slot = &self.slots[slot_number(rows)?];
        match &self.heat {
            Heat::Always => slot.code.get_or_init(|| self.source.vector(rows, true)).as_ref(),
            Heat::Measured(background) => {
                if let Some(code) = slot.code.get() {
                    return code.as_ref();
                }
                let own = std::process::id();
                let asked = slot.asked.load(Ordering::Relaxed);
                // In a forked child the parent's request will never be answered.
                let is_asked = asked == own;
                if is_asked || slot.asked.compare_exchange(asked, own, Ordering::Relaxed, Ordering::Relaxed).is_err() {
                    return None;
                }
                if let Some(code) = self.source.cached(rows) {
                    return slot.code.get_or_init(|| Some(code)).as_ref();
                }
                let this = Weak::clone(&self.this);
                background.submit(Box::new(move || {
                    if let Some(this) = this.upgrade() {
                        this.make(rows);
                    }
                }));
                None
            }
        }
    }

    fn make(&self, rows: SimdgroupRows) {
        let Some(number) = slot_number(rows) else { return };
        // Nobody else sets it: one process asks once.
        let _ = self.slots[number].code.set(self.source.vector(rows, false));
    }
}

/// None for the code that every kernel begins with.
fn slot_number(rows: SimdgroupRows) -> Option<usize> {
    match rows {
        SimdgroupRows::Whole => None,
        SimdgroupRows::Short(threads) => usize::try_from(threads.checked_ilog2()?).ok().filter(|&log| log < COUNT - 2),
        SimdgroupRows::One => Some(COUNT - 2),
        SimdgroupRows::Any => Some(COUNT - 1),
    }
}
