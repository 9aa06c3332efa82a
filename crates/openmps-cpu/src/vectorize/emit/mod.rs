//! Writes the vector form of a function: one call runs a SIMD-group.
//!
//! Every block exists twice. The full copy runs while all 32 lanes are together: no masks, and branches as in the source. Where
//! lanes part, it goes to the masked copy, which runs all blocks in order, each for the lanes in its mask: the mask of a block is
//! collected on the edges into it, and emptied when the block runs. A block without lanes is skipped where it could do harm or
//! costs more than the test. Behind a loop's latch, masked code goes back while a lane wants to. Where ways meet, masked code
//! looks whether all lanes are there, and then returns to the full copy: each lane is in exactly one mask, so nothing else is
//! pending.
//!
//! A barrier is there once: lanes wait at it together, and behind it the number of them tells which copy goes on.
//!
//! Values that cross blocks live in allocas, which `sroa` turns into registers afterwards.

mod agree;
mod atomic;
mod call;
mod convert;
mod division;
mod flow;
mod group;
mod instruction;
mod lanes;
mod matrix;
mod memory;
mod outer;
mod rows;
mod tensor;
mod turn;
mod value;
mod words;

use std::collections::HashMap;

use openmps_llvm::constant::const_vector;
use openmps_llvm::opcode::PlainOp;
use openmps_llvm::{BinaryOp, Block, Builder, Context, Function, Instruction, Module, Opcode, Type, Value};

use super::analysis::Analysis;
use super::graph::Graph;
use super::group::Groups;
use super::marker::OUTER_MEMORY;
use super::refusal::Refusal;
use crate::abi::PRIVATE_BYTES_MAX;

/// Lanes of a SIMD-group.
pub(super) const WIDTH: u32 = 32;

/// Where a value that crosses blocks is kept.
#[derive(Clone, Copy)]
struct Slot<'m> {
    address: Value<'m>,
    ty: Type<'m>,
}

/// What the CPU can do by itself.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Features {
    /// Rounding of vectors of float to bfloat.
    pub(super) bf16: bool,
    /// Atomic loads and exchanges of 16 bytes.
    pub(super) wide_exchange: bool,
}

impl Features {
    /// What one atomic exchange can take.
    fn exchange_bits(self) -> u32 {
        if self.wide_exchange { 128 } else { 64 }
    }
}

pub(super) struct Emitter<'a, 'm> {
    module: &'m Module<'m>,
    builder: Builder<'m>,
    graph: &'a Graph<'m>,
    analysis: &'a Analysis<'m>,
    groups: &'a Groups<'m>,
    function: Function<'m>,
    features: Features,
    entry: Block<'m>,
    exit: Block<'m>,
    /// Blocks of both copies, and the end of each masked one, where it decides what comes next.
    full: Vec<Block<'m>>,
    masked: Vec<Block<'m>>,
    ends: Vec<Block<'m>>,
    /// Where both copies of a block that ends in a barrier wait at it.
    barriers: HashMap<usize, Block<'m>>,
    /// Blocks that some lanes may run while others are elsewhere.
    apart: Vec<bool>,
    /// Where each masked block takes its mask.
    resumes: Vec<Block<'m>>,
    /// The block that is written.
    current: usize,
    /// The row of lanes whose numbers scalars are.
    row: u32,
    /// The mask that each block will start with.
    masks: Vec<Value<'m>>,
    /// Parameters and private variables: the same everywhere.
    fixed: HashMap<Value<'m>, Value<'m>>,
    slots: HashMap<Value<'m>, Slot<'m>>,
    /// What the current block has in registers.
    /// Numbers of lane 0, or of the first lane of a row.
    scalars: HashMap<(Value<'m>, u32), Value<'m>>,
    vectors: HashMap<Value<'m>, Value<'m>>,
    /// The rows of matrices that were read in the current block.
    matrix_rows: HashMap<Value<'m>, Vec<Value<'m>>>,
    /// The lanes that run the current block; none when all do.
    mask: Option<Value<'m>>,
    /// How many lanes that mask has, where it is known to have the first ones.
    leading: Option<u32>,
}

/// Writes the body of `function`, whose parameters are those of `source` and the number of active lanes.
///
/// # Errors
/// What has no vector form.
pub(super) fn run<'m>(
    module: &'m Module<'m>,
    source: Function<'m>,
    function: Function<'m>,
    graph: &Graph<'m>,
    analysis: &Analysis<'m>,
    features: Features,
) -> Result<(), Refusal> {
    let append = |name: &str, number: usize| function.append_block(&format!("{name}{number}"));
    let entry = function.append_block("entry");
    let count = graph.blocks.len();
    let groups = Groups::find(module, graph, analysis);
    let mut emitter = Emitter {
        module,
        builder: module.builder(),
        graph,
        analysis,
        groups: &groups,
        function,
        features,
        entry,
        barriers: HashMap::new(),
        apart: analysis.apart(graph),
        full: (0..count).map(|number| append("full", number)).collect(),
        masked: (0..count).map(|number| append("masked", number)).collect(),
        resumes: (0..count).map(|number| append("resume", number)).collect(),
        current: 0,
        row: 0,
        ends: (0..count).map(|number| append("end", number)).collect(),
        exit: function.append_block("exit"),
        masks: Vec::new(),
        fixed: HashMap::new(),
        slots: HashMap::new(),
        scalars: HashMap::new(),
        vectors: HashMap::new(),
        matrix_rows: HashMap::new(),
        mask: None,
        leading: None,
    };
    emitter.prologue(source)?;
    for block in 0..count {
        emitter.current = block;
        emitter.full_block(block)?;
        emitter.masked_block(block)?;
        emitter.barrier(block);
    }
    emitter.builder.position_at_end(emitter.exit);
    emitter.builder.ret_void();
    Ok(())
}

/// Types and constants.
impl<'m> Emitter<'_, 'm> {
    fn context(&self) -> &'m Context {
        self.module.context()
    }

    /// A number in each lane.
    fn constant_lanes(&self, ty: Type<'m>, number: impl Fn(i64) -> i64) -> Value<'m> {
        let lanes: Vec<Value<'m>> =
            (0..i64::from(WIDTH)).map(|lane| ty.const_int(number(lane).cast_unsigned())).collect();
        const_vector(&lanes)
    }

    /// Rows of lanes in a SIMD-group.
    fn rows(&self) -> u32 {
        WIDTH / self.analysis.row_lanes
    }

    fn mask_ty(&self) -> Type<'m> {
        self.context().vector(self.context().i1(), WIDTH)
    }

    /// Masks as the bits of a number.
    fn bits_ty(&self) -> Type<'m> {
        self.context().int(WIDTH)
    }

    fn bits(&self, mask: Value<'m>) -> Value<'m> {
        self.builder.bitcast(mask, self.bits_ty())
    }

    /// The lanes that run the current block, also where all do.
    fn active(&self) -> Value<'m> {
        self.mask.unwrap_or_else(|| self.mask_ty().all_ones())
    }

    /// The vector type of a value that differs between lanes; a structure of vectors for a structure.
    fn wide(&self, ty: Type<'m>) -> Result<Type<'m>, Refusal> {
        use openmps_llvm::TypeKind as Kind;
        match ty.kind() {
            Kind::Half | Kind::BFloat | Kind::Float | Kind::Double | Kind::Integer(_) | Kind::Pointer(_) => {
                Ok(self.context().vector(ty, WIDTH))
            }
            Kind::Struct => {
                let fields = ty.fields().into_iter().map(|field| self.wide(field)).collect::<Result<Vec<_>, _>>()?;
                Ok(self.context().structure(&fields, false))
            }
            Kind::Vector(..)
            | Kind::Array(..)
            | Kind::Void
            | Kind::Function
            | Kind::Label
            | Kind::Metadata
            | Kind::Other => Err(Refusal::CompositeValue),
        }
    }

    /// A new block of the function.
    fn block(&self, name: &str) -> Block<'m> {
        self.function.append_block(name)
    }
}

/// What comes before the blocks.
impl<'m> Emitter<'_, 'm> {
    /// Makes slots and private variables, and goes to the copy that the number of active lanes asks for.
    fn prologue(&mut self, source: Function<'m>) -> Result<(), Refusal> {
        let parameters = self.function.parameters();
        self.fixed.extend(source.parameters().into_iter().zip(parameters.iter().copied()));
        self.builder.position_at_end(self.entry);
        self.private_variables(source)?;
        self.shared_values()?;
        let is_memory = |call: &Instruction<'m>| call.called_function().is_some_and(|it| it.name() == OUTER_MEMORY);
        for call in source.calls().into_iter().filter(is_memory) {
            self.outer_memory(call)?;
        }
        let mask_ty = self.mask_ty();
        for _ in 0..self.graph.blocks.len() {
            let slot = self.builder.alloca(mask_ty).as_value();
            self.builder.store(mask_ty.zero(), slot);
            self.masks.push(slot);
        }
        let instructions: Vec<Instruction<'m>> =
            self.graph.blocks.iter().flat_map(|block| block.instructions()).collect();
        for instruction in instructions {
            if self.needs_slot(instruction) {
                let shape = self.analysis.shape(instruction.as_value());
                let ty = match shape.by_rows() {
                    Some(_) => self.context().array(instruction.ty(), self.rows().into()),
                    None if shape.is_varying() => self.wide(instruction.ty())?,
                    None => instruction.ty(),
                };
                let address = self.builder.alloca(ty).as_value();
                self.slots.insert(instruction.as_value(), Slot { address, ty });
            }
        }
        self.enter(0, self.masked[0]);
        Ok(())
    }

    /// Computes once for both copies what lanes share in the first block, which every SIMD-group runs: numbers made of parameters and
    /// of memory that never changes.
    fn shared_values(&mut self) -> Result<(), Refusal> {
        for instruction in self.graph.blocks[0].instructions() {
            let value = instruction.as_value();
            let is_known = |operand: &Value<'m>| operand.as_instruction().is_none() || self.fixed.contains_key(operand);
            let is_private = self.analysis.private.contains(value)
                || instruction.operands().into_iter().any(|operand| self.analysis.private.contains(operand));
            if is_private
                || !is_shared_computation(instruction)
                || !self.analysis.shape(value).is_uniform()
                || !instruction.operands().iter().all(is_known)
            {
                continue;
            }
            self.instruction(instruction)?;
            let number = self.scalars[&(value, 0)];
            self.fixed.insert(value, number);
        }
        self.forget_registers();
        Ok(())
    }

    /// Goes on with all lanes of the SIMD-group: in the full copy of `block` where there are 32, else in `masked` with the mask of
    /// `block`.
    fn enter(&mut self, block: usize, masked: Block<'m>) {
        let count = *self.function.parameters().last().expect("the last parameter counts lanes");
        let part = self.block("part");
        let all =
            self.builder.icmp(openmps_llvm::IntPredicate::Uge, count, self.context().i32().const_int(u64::from(WIDTH)));
        self.builder.cond_br(all, self.full[block], part);
        self.builder.position_at_end(part);
        let lanes = self.constant_lanes(self.context().i32(), |lane| lane);
        let count = self.splat(count);
        let mask = self.builder.icmp(openmps_llvm::IntPredicate::Ult, lanes, count);
        self.builder.store(mask, self.masks[block]);
        self.builder.br(masked);
    }

    fn private_variables(&mut self, source: Function<'m>) -> Result<(), Refusal> {
        let mut bytes = 0_u64;
        let allocas = source.instructions().into_iter().filter(|it| it.opcode().is(PlainOp::Alloca));
        for alloca in allocas {
            let ty = alloca.allocated_type().expect("an alloca allocates a type");
            let count = alloca.operand(0).as_const_int().ok_or(Refusal::Instruction)?;
            let size = self.module.size_bytes(ty).saturating_mul(count);
            let size = self.analysis.private.size_bytes(alloca.as_value(), size);
            bytes = bytes.saturating_add(size.saturating_mul(u64::from(WIDTH)));
            if bytes > PRIVATE_BYTES_MAX {
                return Err(Refusal::PrivateMemory);
            }
            let array = self.context().array(self.context().i8(), size * u64::from(WIDTH));
            let variable = self.builder.alloca(array);
            variable.set_alignment(alloca.alignment().unwrap_or(1).max(64));
            self.fixed.insert(alloca.as_value(), variable.as_value());
        }
        Ok(())
    }

    /// Whether another block than its own may ask for the value.
    fn needs_slot(&self, instruction: Instruction<'m>) -> bool {
        let value = instruction.as_value();
        if instruction.ty().is_void() || self.fixed.contains_key(&value) {
            return false;
        }
        if instruction.opcode().is(PlainOp::Phi) {
            return true;
        }
        let block = instruction.block();
        value.users().into_iter().filter_map(Value::as_instruction).any(|user| {
            if user.opcode().is(PlainOp::Phi) {
                return user.incoming().iter().any(|&(incoming, from)| incoming == value && Some(from) != block);
            }
            // What is checked is computed again from its operands, wherever it is used.
            user.block() != block || self.analysis.shape(user.as_value()).is_checked()
        })
    }
}

/// Whether the instruction gives the same wherever in its block it is, and cannot do harm.
fn is_shared_computation(instruction: Instruction<'_>) -> bool {
    match instruction.opcode() {
        Opcode::Binary(op) => {
            !matches!(op, BinaryOp::UDiv | BinaryOp::SDiv | BinaryOp::URem | BinaryOp::SRem | BinaryOp::FRem)
        }
        Opcode::Cast(_) => true,
        Opcode::Plain(PlainOp::Load) => !instruction.is_volatile() && instruction.metadata("invariant.load").is_some(),
        Opcode::Plain(op) => matches!(op, PlainOp::GetElementPtr | PlainOp::ICmp | PlainOp::FCmp | PlainOp::Select),
    }
}
