//! Whether vector code of a kernel is worth what it takes to compile.
//!
//! A kernel whose vector form would be large stays scalar, with different limits where somebody asked for vectors and where hot
//! kernels are compiled in the background (`OPENMPS_ENGINE=auto`).

use openmps_engine::{EngineChoice, SimdgroupRows};
use openmps_llvm::{Function, Instruction, Module, PlainOp, TargetMachine};

use super::analysis::Analysis;
use super::graph::Graph;
use super::outer::has_products;
use super::refusal::Refusal;
use crate::abi::{KERNEL_SYMBOL, SIMD_WIDTH};
use crate::split::MARKER;

/// How large a vector form may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Limits {
    /// Instructions before the kernel is made ready for vectorisation, which takes time too.
    instructions: usize,
    /// Blocks, each of which has a mask.
    blocks: usize,
    /// Registers that the vector form writes: what its compilation takes goes with them, 0.2 to 0.5 ms each.
    registers: u64,
}

/// Most blocks times registers for which slots of values become registers, where that can be left out. LLVM's time for it grows
/// with the square of the code: PyTorch's `erfcx_inner_contiguous_float_long` (7 millions) would have 198,000 phis and take 34
/// seconds, and takes 2 with slots in memory; its code is as long.
const PROMOTED_MAX: u64 = 1_500_000;
/// The same where it cannot, since what slots hold outlives barriers. PyTorch's `sort_block_*`: up to 3.1 millions, 2 seconds.
const PROMOTED_MAX_WITH_BARRIERS: u64 = 4_000_000;

/// Where the values are kept that cross blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slots {
    /// Wherever LLVM likes.
    InRegisters,
    /// In memory: their slots stay what they are.
    InMemory,
}

/// How a kernel is vectorised: each way is tried when the ones before came out too large.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Size {
    /// Loops over matrices are unrolled, so that sums in arrays are values, and all products of matrices are parts of blocks
    /// (`outer`). Not tried without products.
    Blocks,
    /// Loops with few turns are unrolled.
    Unrolled,
    /// Loops stay.
    Rolled,
}

impl Size {
    /// The ways, in the order in which they are tried.
    const ALL: [Self; 3] = [Self::Blocks, Self::Unrolled, Self::Rolled];

    /// The ways that are worth a try for a module of AIR on the CPU of `machine`.
    pub(crate) fn ways(module: &Module<'_>, machine: &TargetMachine) -> &'static [Self] {
        let has_blocks = machine.features().contains("+avx512f") && has_products(module);
        if has_blocks { &Self::ALL } else { &Self::ALL[1..] }
    }

    /// What `choice` allows of it.
    fn limits(self, choice: EngineChoice) -> Limits {
        match (choice, self) {
            (EngineChoice::Scalar | EngineChoice::Vector, Self::Blocks | Self::Unrolled) => {
                Limits { instructions: 6000, blocks: 600, registers: 6000 }
            }
            (EngineChoice::Scalar | EngineChoice::Vector, Self::Rolled) => {
                Limits { instructions: 30_000, blocks: 1200, registers: 14_000 }
            }
            // Compiling takes up to 0.8 s in the background.
            (EngineChoice::Auto, Self::Blocks | Self::Unrolled | Self::Rolled) => {
                Limits { instructions: 6000, blocks: 600, registers: 1600 }
            }
        }
    }
}

/// Whether compiling would take too long, whatever the choice.
pub(crate) fn is_too_large(module: &Module<'_>, request: Request) -> bool {
    let most = request.size.limits(request.choice).instructions;
    module.function(KERNEL_SYMBOL).is_some_and(|function| function.instructions().len() > most)
}

/// Bytes of a register.
const REGISTER_BYTES: u64 = 64;

/// What is asked of the vectoriser.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    /// How SIMD-groups lie in rows.
    pub(crate) rows: SimdgroupRows,
    /// Whether the linear index of each SIMD-group's first thread is a multiple of 32.
    pub(crate) whole_simdgroups: bool,
    /// What the caller wants.
    pub(crate) choice: EngineChoice,
    /// Which way is tried.
    pub(crate) size: Size,
}

impl Request {
    /// Refuses what is too large when analysis knows what lanes share; else where values are to be kept.
    ///
    /// # Errors
    /// [`Refusal::TooLarge`].
    pub(super) fn check<'m>(
        self,
        module: &Module<'m>,
        source: Function<'m>,
        graph: &Graph<'m>,
        analysis: &Analysis<'m>,
    ) -> Result<Slots, Refusal> {
        let waits = !barriers(source).is_empty();
        let most = self.size.limits(self.choice);
        let (blocks, registers) = (graph.blocks.len(), registers(module, graph, analysis));
        if blocks > most.blocks || registers > most.registers {
            return Err(Refusal::TooLarge);
        }
        let product = registers.saturating_mul(blocks as u64);
        match (waits, product) {
            (true, PROMOTED_MAX_WITH_BARRIERS..) => Err(Refusal::TooLarge),
            (false, PROMOTED_MAX..) => Ok(Slots::InMemory),
            _ => Ok(Slots::InRegisters),
        }
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
