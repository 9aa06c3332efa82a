//! Values that each state computes again instead of keeping them: cheap functions of the parameters. They move to the
//! function's first block, where every state passes; what a state does not use is removed later.

use std::collections::{BTreeMap, BTreeSet};

use openmps_llvm::{BinaryOp, Block, Instruction, Opcode, PlainOp, Value};

/// Most instructions that are moved for one value. Keeping a value costs a store and a load.
const INSTRUCTIONS_MAX: usize = 12;
/// Functions of LLVM that are as cheap as an instruction.
const CHEAP_FUNCTIONS: [&str; 5] = ["llvm.umin.", "llvm.umax.", "llvm.smin.", "llvm.smax.", "llvm.abs."];

/// Loads of the first block that give the same at any time, as the pipeline marks them.
pub(super) fn entry_loads<'m>(first: Block<'m>) -> BTreeSet<Instruction<'m>> {
    let is_invariant = |load: &Instruction<'_>| {
        load.opcode().is(PlainOp::Load) && !load.is_volatile() && load.metadata("invariant.load").is_some()
    };
    first.instructions().into_iter().filter(is_invariant).collect()
}

/// Moves what can be computed again to `top`, and takes it out of `live`.
pub(super) fn hoist<'m>(top: Block<'m>, entry_loads: &BTreeSet<Instruction<'m>>, live: &mut [Vec<Instruction<'m>>]) {
    let end = top.terminator().expect("it goes to the first block");
    let mut trees = Trees { top, entry_loads, sizes: BTreeMap::new() };
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

fn move_tree<'m>(value: Instruction<'m>, top: Block<'m>, end: Instruction<'m>) {
    if value.block() == Some(top) {
        return;
    }
    for operand in value.operands().into_iter().filter_map(Value::as_instruction) {
        move_tree(operand, top, end);
    }
    value.move_before(end);
}

struct Trees<'a, 'm> {
    top: Block<'m>,
    entry_loads: &'a BTreeSet<Instruction<'m>>,
    /// Instructions to move for each value; `None` where it cannot be.
    sizes: BTreeMap<Instruction<'m>, Option<usize>>,
}

impl<'m> Trees<'_, 'm> {
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
        if !self.is_cheap(value) {
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

    fn is_cheap(&self, value: Instruction<'m>) -> bool {
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
            Opcode::Plain(PlainOp::Load) => self.entry_loads.contains(&value),
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
                    | PlainOp::ExtractElement
                    | PlainOp::InsertElement
                    | PlainOp::ShuffleVector
                    | PlainOp::ExtractValue
                    | PlainOp::InsertValue
            ),
        }
    }
}
