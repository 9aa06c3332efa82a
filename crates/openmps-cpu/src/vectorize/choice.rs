//! Whether vector code of a kernel is worth what it takes to compile.
//!
//! The rule of `OPENMPS_ENGINE=auto`, where hot kernels are compiled in the background: a kernel becomes vectors when its threads wait for each other (lane operations, barriers) or
//! when it has a loop that is not unrolled, since LLVM cannot vectorise the loop over threads around either. Straight code is left
//! to LLVM's loop vectorizer, which does as well in a third of the time. A kernel whose vector form would be large stays scalar
//! under either choice, with different limits.

use openmps_engine::{EngineChoice, SimdgroupRows};
use openmps_llvm::{Function, Instruction, Module, PlainOp};

use super::analysis::Analysis;
use super::graph::{Graph, has_loop};
use super::refusal::Refusal;
use crate::abi::SIMD_WIDTH;
use crate::split::MARKER;

/// Most registers that the vector form may write: what its compilation takes goes with them, 0.2 to 0.5 ms each.
const REGISTERS_MAX: u64 = 6000;
/// The same where nobody asked for vectors: compiling takes up to 0.8 s in the background.
const REGISTERS_MAX_AUTO: u64 = 1600;
/// Most blocks: LLVM's time for slots and registers grows with their square (PyTorch's `sort_block_*`, 2,500 blocks:
/// 19 seconds).
const BLOCKS_MAX: usize = 600;
/// Bytes of a register.
const REGISTER_BYTES: u64 = 64;

/// What is asked of the vectoriser.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    /// How SIMD-groups lie in rows.
    pub(crate) rows: SimdgroupRows,
    /// Whether the linear index of each SIMD-group's first thread is a multiple of 32.
    pub(crate) whole_simdgroups: bool,
    /// Whether lanes work together.
    pub(crate) has_lane_operations: bool,
    /// What the caller wants.
    pub(crate) choice: EngineChoice,
}

impl Request {
    /// Refuses straight code before anything was spent on it.
    ///
    /// # Errors
    /// [`Refusal::Straight`].
    pub(crate) fn check_source(self, source: Function<'_>) -> Result<(), Refusal> {
        self.check_loops(!barriers(source).is_empty(), || has_loop(source))
    }

    fn check_loops(self, waits: bool, has_loop: impl FnOnce() -> bool) -> Result<(), Refusal> {
        let is_wanted = match self.choice {
            EngineChoice::Scalar | EngineChoice::Vector => true,
            EngineChoice::Auto => self.has_lane_operations || waits || has_loop(),
        };
        if is_wanted { Ok(()) } else { Err(Refusal::Straight) }
    }

    /// Refuses what is straight or too large when analysis knows what lanes share.
    ///
    /// # Errors
    /// [`Refusal::Straight`], [`Refusal::TooLarge`].
    pub(super) fn check<'m>(
        self,
        module: &Module<'m>,
        source: Function<'m>,
        graph: &Graph<'m>,
        analysis: &Analysis<'m>,
    ) -> Result<(), Refusal> {
        self.check_loops(!barriers(source).is_empty(), || !graph.loops.is_empty())?;
        let most = match self.choice {
            EngineChoice::Scalar | EngineChoice::Vector => REGISTERS_MAX,
            EngineChoice::Auto => REGISTERS_MAX_AUTO,
        };
        if graph.blocks.len() > BLOCKS_MAX || registers(module, graph, analysis) > most {
            return Err(Refusal::TooLarge);
        }
        Ok(())
    }
}

/// Where threads wait for their threadgroup.
pub(super) fn barriers(source: Function<'_>) -> Vec<Instruction<'_>> {
    let is_barrier = |call: &Instruction<'_>| call.called_function().is_some_and(|callee| callee.name() == MARKER);
    source.calls().into_iter().filter(is_barrier).collect()
}

/// How many registers the instructions of one copy of the blocks write.
fn registers<'m>(module: &Module<'m>, graph: &Graph<'m>, analysis: &Analysis<'m>) -> u64 {
    let written = |instruction: Instruction<'m>| {
        let is_store = instruction.opcode().is(PlainOp::Store);
        let value = if is_store { instruction.operand(0) } else { instruction.as_value() };
        // Masks have registers of their own, and what lanes share is a scalar.
        if value.ty().is_void() || value.ty().int_bits() == Some(1) || !analysis.shape(value).is_varying() {
            return 1;
        }
        (module.size_bytes(value.ty()) * SIMD_WIDTH as u64).div_ceil(REGISTER_BYTES).max(1)
    };
    graph.blocks.iter().flat_map(|block| block.instructions()).map(written).sum()
}
