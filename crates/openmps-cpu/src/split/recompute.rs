//! Values that each state computes again instead of keeping them: cheap functions of the parameters. They move to the
//! function's first block, where every state passes; what a state does not use is removed later.

use std::collections::{BTreeMap, BTreeSet};

use openmps_llvm::{BinaryOp, Block, Builder, Function, Instruction, Module, Opcode, PlainOp, Value};

use super::cut;
use crate::abi::offset;

/// Most instructions that are moved for one value. Keeping a value costs a store and a load for each barrier, and what depends on
/// the threadgroup alone is computed once for all steps.
const INSTRUCTIONS_MAX: usize = 16;
/// Functions of LLVM that are as cheap as an instruction.
const CHEAP_FUNCTIONS: [&str; 5] = ["llvm.umin.", "llvm.umax.", "llvm.smin.", "llvm.smax.", "llvm.abs."];

/// Makes a block in front of all others and moves scalars there that can be computed again, whether they are needed or not: equal
/// ones in different places become one value. Vectors would cost where they are not needed.
pub(super) fn hoist_scalars<'m>(function: Function<'m>, module: &'m Module<'_>) {
    let first = function.entry().expect("a definition has a block");
    let top = cut::insert_top(module, first);
    let end = top.terminator().expect("it goes to the first block");
    let mut trees = Trees { top, sizes: BTreeMap::new() };
    for value in function.instructions() {
        let is_scalar = value.ty().lanes() == 1 && !value.ty().is_void();
        if is_scalar && trees.size(value).is_some_and(|size| (1..=INSTRUCTIONS_MAX).contains(&size)) {
            move_tree(value, top, end);
        }
    }
}

/// Moves what can be computed again to `top`, and takes it out of `live`.
pub(super) fn hoist<'m>(top: Block<'m>, live: &mut [Vec<Instruction<'m>>]) {
    let end = top.terminator().expect("it goes to the first block");
    let mut trees = Trees { top, sizes: BTreeMap::new() };
    let candidates: BTreeSet<Instruction<'m>> = live.iter().flatten().copied().collect();
    // In the order of the text, so that the same module gives the same code.
    let in_order = top.function().instructions().into_iter().filter(|value| candidates.contains(value));
    for value in in_order.collect::<Vec<_>>() {
        if trees.size(value).is_some_and(|size| size <= INSTRUCTIONS_MAX) {
            move_tree(value, top, end);
            trees.sizes.clear();
        }
    }
    for values in live {
        values.retain(|value| value.block() != Some(top));
    }
}

/// Values that are made again behind each barrier that they are needed behind, from memory that never changes: for each, what it takes
/// in order. They leave `live`.
///
/// A value that is needed behind a barrier was computed before it by the same step, so that loads of its addresses do no harm there;
/// where every state begins they might. What comes of them is the same for all steps then, and leaves the loop over them.
pub(super) struct Remade<'m> {
    trees: BTreeMap<Instruction<'m>, Vec<Node<'m>>>,
}

/// An instruction with its operands, which are replaced while values get slots.
struct Node<'m> {
    instruction: Instruction<'m>,
    operands: Vec<Value<'m>>,
}

impl<'m> Remade<'m> {
    /// Finds such values among `live`.
    pub(super) fn of(top: Block<'m>, live: &[Vec<Instruction<'m>>]) -> Self {
        let mut trees = BTreeMap::new();
        for &value in live.iter().flatten() {
            let mut tree = Vec::new();
            if !trees.contains_key(&value) && collect_tree(value, top, &mut tree) {
                let node = |instruction: Instruction<'m>| Node { instruction, operands: Vec::new() };
                trees.insert(value, tree.into_iter().map(node).collect());
            }
        }
        Self { trees }
    }

    /// Remembers operands as they are now: when variables have moved to the frame, before values get slots.
    pub(super) fn note_operands(&mut self) {
        for node in self.trees.values_mut().flatten() {
            node.operands = node.instruction.operands();
        }
    }

    /// Whether `value` is one of them.
    pub(super) fn contains(&self, value: Instruction<'m>) -> bool {
        self.trees.contains_key(&value)
    }

    /// Makes `value` at the builder's place.
    pub(super) fn make(&self, builder: &Builder<'m>, value: Instruction<'m>) -> Value<'m> {
        let mut copies: BTreeMap<Instruction<'m>, Instruction<'m>> = BTreeMap::new();
        for node in &self.trees[&value] {
            let copy = builder.insert_copy(node.instruction);
            for (index, &operand) in (0..).zip(&node.operands) {
                let made = operand.as_instruction().and_then(|operand| copies.get(&operand));
                copy.set_operand(index, made.map_or(operand, |made| made.as_value()));
            }
            copies.insert(node.instruction, copy);
        }
        copies[&value].as_value()
    }
}

/// Adds what `value` takes that is not in `top`, itself last; whether that is little and can be done again.
fn collect_tree<'m>(value: Instruction<'m>, top: Block<'m>, tree: &mut Vec<Instruction<'m>>) -> bool {
    if value.block() == Some(top) || tree.contains(&value) {
        return true;
    }
    let is_invariant =
        value.opcode().is(PlainOp::Load) && !value.is_volatile() && value.metadata("invariant.load").is_some();
    if tree.len() >= INSTRUCTIONS_MAX || !(is_cheap(value) || is_invariant) {
        return false;
    }
    if !value.operands().into_iter().filter_map(Value::as_instruction).all(|operand| collect_tree(operand, top, tree)) {
        return false;
    }
    tree.push(value);
    tree.len() <= INSTRUCTIONS_MAX
}

fn move_tree<'m>(value: Instruction<'m>, top: Block<'m>, end: Instruction<'m>) {
    if value.block() == Some(top) {
        return;
    }
    for operand in value.operands().into_iter().filter_map(Value::as_instruction) {
        move_tree(operand, top, end);
    }
    value.move_before(end);
}

struct Trees<'m> {
    top: Block<'m>,
    /// Instructions to move for each value; `None` where it cannot be.
    sizes: BTreeMap<Instruction<'m>, Option<usize>>,
}

impl<'m> Trees<'m> {
    fn size(&mut self, value: Instruction<'m>) -> Option<usize> {
        if value.block() == Some(self.top) {
            return Some(0);
        }
        if let Some(&size) = self.sizes.get(&value) {
            return size;
        }
        // Phis are never movable, so that the recursion ends.
        let size = self.size_of_new(value);
        self.sizes.insert(value, size);
        size
    }

    fn size_of_new(&mut self, value: Instruction<'m>) -> Option<usize> {
        if !is_cheap(value) {
            return None;
        }
        let mut size = 1;
        for operand in value.operands() {
            match operand.as_instruction() {
                Some(operand) => size += self.size(operand)?,
                None => continue,
            }
            if size > INSTRUCTIONS_MAX {
                return None;
            }
        }
        Some(size)
    }
}

fn is_cheap(value: Instruction<'_>) -> bool {
    match value.opcode() {
        Opcode::Binary(op) => match op {
            BinaryOp::UDiv | BinaryOp::SDiv | BinaryOp::URem | BinaryOp::SRem | BinaryOp::FDiv | BinaryOp::FRem => {
                false
            }
            BinaryOp::Add
            | BinaryOp::FAdd
            | BinaryOp::Sub
            | BinaryOp::FSub
            | BinaryOp::Mul
            | BinaryOp::FMul
            | BinaryOp::Shl
            | BinaryOp::LShr
            | BinaryOp::AShr
            | BinaryOp::And
            | BinaryOp::Or
            | BinaryOp::Xor => true,
        },
        Opcode::Cast(_) => true,
        Opcode::Plain(PlainOp::Load) => is_context_load(value),
        Opcode::Plain(PlainOp::Call) => value
            .called_function()
            .is_some_and(|callee| CHEAP_FUNCTIONS.iter().any(|cheap| callee.name().starts_with(cheap))),
        Opcode::Plain(op) => matches!(
            op,
            PlainOp::FNeg
                | PlainOp::GetElementPtr
                | PlainOp::ICmp
                | PlainOp::FCmp
                | PlainOp::Select
                | PlainOp::Freeze
                | PlainOp::ExtractElement
                | PlainOp::InsertElement
                | PlainOp::ShuffleVector
                | PlainOp::ExtractValue
                | PlainOp::InsertValue
        ),
    }
}

/// Whether `load` reads the context or an argument's word, as the pipeline marks it: that memory is there in every state and
/// does not change.
fn is_context_load(load: Instruction<'_>) -> bool {
    let is_marked = |load: Instruction<'_>| {
        load.opcode().is(PlainOp::Load) && !load.is_volatile() && load.metadata("invariant.load").is_some()
    };
    let context = load.block().and_then(|block| block.function().parameter(0));
    let root = root(load.operand(0));
    let is_arguments = || {
        const { assert!(offset::ARGUMENTS == 0, "the context starts with the address of the argument words") };
        root.as_instruction().is_some_and(|arguments| is_marked(arguments) && Some(arguments.operand(0)) == context)
    };
    is_marked(load) && (Some(root) == context || is_arguments())
}

/// What an address is a constant number of bytes away from.
fn root(mut address: Value<'_>) -> Value<'_> {
    while let Some(step) = address.as_instruction().filter(|step| step.opcode().is(PlainOp::GetElementPtr)) {
        if (1..step.operand_count()).any(|index| step.operand(index).as_const_int().is_none()) {
            break;
        }
        address = step.operand(0);
    }
    address
}
