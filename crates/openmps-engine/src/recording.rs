//! An engine that only records what it is asked: for tests of everything above engines.

use std::sync::{Arc, Mutex, PoisonError};

use crate::air::VerifiedAir;
use crate::bindings::Bindings;
use crate::engine::{CompiledKernel, Completion, Engine, EngineOptions, KernelProperties};
use crate::error::EngineError;
use crate::grid::Grid;
use crate::signature::KernelSignature;

/// One recorded dispatch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dispatch {
    /// The kernel's host name.
    pub kernel: String,
    /// What was bound.
    pub bindings: Bindings,
    /// The shape.
    pub grid: Grid,
}

/// Records dispatches in the order in which streams submit them.
#[derive(Clone, Default)]
pub struct RecordingEngine {
    log: Arc<Mutex<Vec<Dispatch>>>,
}

impl RecordingEngine {
    /// Everything dispatched so far.
    #[must_use]
    pub fn dispatches(&self) -> Vec<Dispatch> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

struct RecordingKernel {
    signature: KernelSignature,
    log: Arc<Mutex<Vec<Dispatch>>>,
}

impl Engine for RecordingEngine {
    fn name(&self) -> &'static str {
        "recording"
    }

    fn compile(
        &self,
        _air: &VerifiedAir,
        signature: &KernelSignature,
        _options: &EngineOptions,
    ) -> Result<Arc<dyn CompiledKernel>, EngineError> {
        Ok(Arc::new(RecordingKernel { signature: signature.clone(), log: Arc::clone(&self.log) }))
    }
}

impl CompiledKernel for RecordingKernel {
    fn signature(&self) -> &KernelSignature {
        &self.signature
    }

    fn properties(&self) -> KernelProperties {
        KernelProperties {
            max_total_threads_per_threadgroup: self.signature.max_total_threads_per_threadgroup.unwrap_or(1024),
            thread_execution_width: 32,
            static_threadgroup_memory_length: self.signature.static_threadgroup_memory_bytes,
        }
    }

    fn dispatch(&self, bindings: &Bindings, grid: &Grid, completion: Completion) {
        let dispatch = Dispatch { kernel: self.signature.name.clone(), bindings: bindings.clone(), grid: *grid };
        self.log.lock().unwrap_or_else(PoisonError::into_inner).push(dispatch);
        completion(Ok(()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_in_order() {
        let engine = RecordingEngine::default();
        let signature = KernelSignature::new("k", vec![]);
        let kernel =
            engine.compile(&VerifiedAir::from_verifier(&b""[..]), &signature, &EngineOptions::default()).unwrap();
        for threads in [1, 2] {
            let grid = Grid { threads: [threads, 1, 1], group: [1, 1, 1] };
            kernel.dispatch(&Bindings::default(), &grid, Box::new(|result| assert_eq!(result, Ok(()))));
        }
        let sizes: Vec<u32> = engine.dispatches().iter().map(|dispatch| dispatch.grid.threads[0]).collect();
        assert_eq!(sizes, [1, 2]);
    }
}
