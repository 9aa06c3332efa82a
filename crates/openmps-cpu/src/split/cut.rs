//! Blocks that end at barriers, and the graph of blocks.

use std::collections::BTreeMap;

use openmps_llvm::{Block, Function, Instruction, Module, PlainOp};

use super::MARKER;

/// A barrier: steps leave at the end of `before` and go on at the start of `after`.
#[derive(Clone, Copy)]
pub(super) struct Barrier<'m> {
    pub(super) before: Block<'m>,
    pub(super) after: Block<'m>,
}

/// Cuts blocks at markers, which disappear. In the order of the function's text.
pub(super) fn at_markers<'m>(module: &Module<'m>, function: Function<'m>) -> Vec<Barrier<'m>> {
    let is_marker = |call: &Instruction<'_>| call.called_function().is_some_and(|callee| callee.name() == MARKER);
    let mut barriers = Vec::new();
    for (number, marker) in (1..).zip(function.calls().into_iter().filter(is_marker)) {
        let before = marker.block().expect("markers are erased one by one");
        let after = marker.split_block(&format!("behind.{number}"));
        module.erase(marker);
        barriers.push(Barrier { before, after });
    }
    barriers
}

/// A block in front of all others that goes to `first`, with all variables.
pub(super) fn insert_top<'m>(module: &'m Module<'_>, first: Block<'m>) -> Block<'m> {
    let top = first.insert_before("dispatch");
    let builder = module.builder();
    builder.position_at_end(top);
    let end = builder.br(first);
    for variable in first.function().instructions() {
        if variable.opcode().is(PlainOp::Alloca) {
            debug_assert!(variable.operand(0).as_const_int().is_some(), "{variable} has a constant size");
            variable.move_before(end);
        }
    }
    top
}

/// Blocks by number, with their edges.
pub(super) struct Graph<'m> {
    pub(super) blocks: Vec<Block<'m>>,
    pub(super) numbers: BTreeMap<Block<'m>, usize>,
    pub(super) successors: Vec<Vec<usize>>,
    pub(super) predecessors: Vec<Vec<usize>>,
}

impl<'m> Graph<'m> {
    pub(super) fn of(function: Function<'m>) -> Self {
        let blocks = function.blocks();
        let numbers: BTreeMap<_, usize> = blocks.iter().enumerate().map(|(number, block)| (*block, number)).collect();
        let successors: Vec<Vec<usize>> =
            blocks.iter().map(|block| block.successors().iter().map(|next| numbers[next]).collect()).collect();
        let mut predecessors = vec![Vec::new(); blocks.len()];
        for (from, targets) in successors.iter().enumerate() {
            targets.iter().for_each(|&to| predecessors[to].push(from));
        }
        Self { blocks, numbers, successors, predecessors }
    }

    /// Which blocks `edges` lead to from `start`, itself included.
    pub(super) fn reached(start: usize, edges: &[Vec<usize>]) -> Vec<bool> {
        let mut reached = vec![false; edges.len()];
        let mut open = vec![start];
        while let Some(block) = open.pop() {
            if !std::mem::replace(&mut reached[block], true) {
                open.extend(&edges[block]);
            }
        }
        reached
    }
}
