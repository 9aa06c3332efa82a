//! Which values are needed behind which barrier: backward liveness over blocks.

use std::collections::{BTreeMap, BTreeSet};

use openmps_llvm::{Block, Function, Instruction, PlainOp, Value};

use super::cut::{Barrier, Graph};

/// For each barrier the results that are needed behind it, in the order of the function's text. What `top` computes is there
/// in every state and does not count.
pub(super) fn across<'m>(
    function: Function<'m>,
    graph: &Graph<'m>,
    barriers: &[Barrier<'m>],
    top: Block<'m>,
) -> Vec<Vec<Instruction<'m>>> {
    let values = crossing_values(function, top);
    let numbers: BTreeMap<Value<'m>, usize> =
        values.iter().enumerate().map(|(number, value)| (value.as_value(), number)).collect();
    let sets = Sets::of(graph, &numbers);
    let live = sets.solve(graph);
    let at = |barrier: &Barrier<'m>| &live[graph.numbers[&barrier.after]];
    barriers.iter().map(|barrier| at(barrier).iter().map(|&number| values[number]).collect()).collect()
}

/// Results that another block than their own uses, or a phi.
fn crossing_values<'m>(function: Function<'m>, top: Block<'m>) -> Vec<Instruction<'m>> {
    let crosses = |instruction: &Instruction<'m>| {
        let own = instruction.block();
        let users = instruction.as_value().users();
        let users = users.into_iter().filter_map(Value::as_instruction);
        users.into_iter().any(|user| user.opcode().is(PlainOp::Phi) || user.block() != own)
    };
    let blocks = function.blocks().into_iter().filter(|block| *block != top);
    blocks.flat_map(Block::instructions).filter(crosses).collect()
}

/// A set of numbers of values; most blocks have few.
type Set = BTreeSet<usize>;

/// What each block needs from others, what it computes, and what its successors' phis take from it.
struct Sets {
    needs: Vec<Set>,
    computes: Vec<Set>,
    hands_over: Vec<Set>,
}

impl Sets {
    fn of<'m>(graph: &Graph<'m>, numbers: &BTreeMap<Value<'m>, usize>) -> Self {
        let empty = || vec![Set::new(); graph.blocks.len()];
        let mut sets = Self { needs: empty(), computes: empty(), hands_over: empty() };
        for (number, block) in graph.blocks.iter().enumerate() {
            for instruction in block.instructions() {
                sets.add(graph, numbers, number, instruction);
            }
        }
        sets
    }

    fn add<'m>(
        &mut self,
        graph: &Graph<'m>,
        numbers: &BTreeMap<Value<'m>, usize>,
        block: usize,
        instruction: Instruction<'m>,
    ) {
        if instruction.opcode().is(PlainOp::Phi) {
            for (value, from) in instruction.incoming() {
                if let Some(&value) = numbers.get(&value) {
                    self.hands_over[graph.numbers[&from]].insert(value);
                }
            }
        } else {
            for operand in instruction.operands() {
                if let Some(&value) = numbers.get(&operand).filter(|value| !self.computes[block].contains(value)) {
                    self.needs[block].insert(value);
                }
            }
        }
        if let Some(&value) = numbers.get(&instruction.as_value()) {
            self.computes[block].insert(value);
        }
    }

    /// The values that are live at the start of each block.
    fn solve(&self, graph: &Graph<'_>) -> Vec<Set> {
        let mut live = self.needs.clone();
        let mut open: BTreeSet<usize> = (0..graph.blocks.len()).collect();
        while let Some(block) = open.pop_last() {
            let mut at_end = self.hands_over[block].clone();
            for &next in &graph.successors[block] {
                at_end.extend(&live[next]);
            }
            let before = live[block].len();
            live[block].extend(at_end.difference(&self.computes[block]));
            if live[block].len() > before {
                open.extend(&graph.predecessors[block]);
            }
        }
        live
    }
}
