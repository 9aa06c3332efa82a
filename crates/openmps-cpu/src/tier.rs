//! A kernel that begins with scalar code and gets vector code when its launches have taken long enough to pay for it.
//!
//! Guarantees: a launch never waits for the compiler; vector code is asked for at most once a process, in the background; where it
//! fails or is refused the scalar code goes on; launches before and after the change give the same bits (see `docs/kernels.md`).
//! Of straight kernels LLVM may have made vectors by itself, which can be as fast: they run whatever their launches show to be faster.
//! The first moment in which asking can pay is when the launches so far have taken as long as compiling takes: whoever stops then
//! has spent at most twice what was needed, whoever goes on gains ever after.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use openmps_engine::{Bindings, CompiledKernel, Completion, Grid, KernelProperties, KernelSignature};

use crate::background::Background;
use crate::kernel::CpuKernel;

/// Run time of a kernel's launches, in nanoseconds of one core, from which its vector code is asked for: the median of what that
/// takes to compile (93 ms over 150 random kernels of PyTorch's library).
pub(crate) const HOT_NANOSECONDS: u64 = 100_000_000;

/// How much more of a thread's time vector code may take before scalar code is taken again, as a part of it.
const TOLERATED_PART: u64 = 8;

/// Nothing was asked for.
const FRESH: u32 = 0;
/// The answer is there, whatever it is. Anything else is the id of the process that has asked.
const SETTLED: u32 = u32::MAX;

/// When vector code is asked for.
#[derive(Clone)]
pub(crate) enum Heat {
    /// In the background, when launches have taken [`HOT_NANOSECONDS`].
    Measured(Background),
    /// Before the first launch, which waits for it: for tests.
    Always,
}

/// Asks for the vector code; none where the kernel stays scalar.
pub(crate) type Ask = Box<dyn Fn(&Arc<CpuKernel>) -> Option<CpuKernel> + Send + Sync>;

pub(crate) struct TieredKernel {
    scalar: Arc<CpuKernel>,
    vector: OnceLock<CpuKernel>,
    state: AtomicU32,
    heat: Heat,
    ask: Ask,
    this: Weak<Self>,
}

impl TieredKernel {
    /// A kernel with scalar code, and vector code if that is known.
    pub(crate) fn new(scalar: Arc<CpuKernel>, vector: Option<CpuKernel>, heat: Heat, ask: Ask) -> Arc<Self> {
        Arc::new_cyclic(|this| Self {
            scalar,
            state: AtomicU32::new(if vector.is_some() { SETTLED } else { FRESH }),
            vector: vector.map_or_else(OnceLock::new, OnceLock::from),
            heat,
            ask,
            this: Weak::clone(this),
        })
    }

    /// Asks for vector code if that is due.
    fn consider(&self) {
        let state = self.state.load(Ordering::Relaxed);
        let is_due = match &self.heat {
            Heat::Always => true,
            Heat::Measured(_) => self.scalar.spent_nanoseconds() >= HOT_NANOSECONDS,
        };
        if state == SETTLED || !is_due {
            return;
        }
        let own = std::process::id();
        // In a forked child the parent's request will never be answered.
        let is_asked = state == own;
        if is_asked || self.state.compare_exchange(state, own, Ordering::Relaxed, Ordering::Relaxed).is_err() {
            return;
        }
        match &self.heat {
            Heat::Always => self.change(),
            Heat::Measured(background) => {
                let this = Weak::clone(&self.this);
                // A kernel that is gone until its turn comes needs no code.
                background.submit(Box::new(move || {
                    if let Some(kernel) = this.upgrade() {
                        kernel.change();
                    }
                }));
            }
        }
    }

    /// The code for the next launch.
    fn code(&self) -> &CpuKernel {
        let Some(vector) = self.vector.get() else { return &self.scalar };
        if !vector.is_straight() || matches!(self.heat, Heat::Always) {
            return vector;
        }
        let is_wanted = is_vector_wanted(self.scalar.recent_picoseconds(), vector.recent_picoseconds());
        if is_wanted { vector } else { &self.scalar }
    }

    /// Launches from now on may run the vector code, if there is one.
    fn change(&self) {
        if let Some(vector) = (self.ask)(&self.scalar) {
            // Nobody else sets it: one process asks once.
            let _ = self.vector.set(vector);
        }
        self.state.store(SETTLED, Ordering::Relaxed);
    }
}

impl CompiledKernel for TieredKernel {
    fn signature(&self) -> &KernelSignature {
        self.scalar.signature()
    }

    fn properties(&self) -> KernelProperties {
        self.scalar.properties()
    }

    fn dispatch(&self, bindings: &Bindings, grid: &Grid, completion: Completion) {
        if matches!(self.heat, Heat::Always) {
            self.consider();
        }
        self.code().dispatch(bindings, grid, completion);
        self.consider();
    }
}

/// Whether a straight kernel's next launch runs vector code, by what a thread took lately in either form.
fn is_vector_wanted(scalar: Option<u64>, vector: Option<u64>) -> bool {
    match (scalar, vector) {
        (None, _) => false,
        (Some(_), None) => true,
        (Some(scalar), Some(vector)) => vector <= scalar.saturating_add(scalar / TOLERATED_PART),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_are_tried_and_the_faster_one_stays() {
        assert!(!is_vector_wanted(None, None));
        assert!(!is_vector_wanted(None, Some(5)));
        assert!(is_vector_wanted(Some(100), None));
        assert!(is_vector_wanted(Some(100), Some(112)));
        assert!(!is_vector_wanted(Some(100), Some(113)));
        // A launch with other arguments makes scalar code slow: the other is taken again.
        assert!(is_vector_wanted(Some(400), Some(113)));
        assert!(is_vector_wanted(Some(u64::MAX), Some(u64::MAX)));
    }
}
