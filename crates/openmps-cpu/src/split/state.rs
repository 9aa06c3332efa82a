//! States: where a step goes on, and what it returns.

use openmps_llvm::{Block, Module, PlainOp};

use super::DONE;
use super::cut::{Barrier, Graph};
use super::frame::{Frame, Slots};
use super::recompute::Remade;

/// What may follow a state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Followers {
    /// Whether the step may end.
    pub(super) ends: bool,
    /// States that may be next, in order.
    pub(super) states: Vec<usize>,
}

impl Followers {
    /// How many things may happen.
    pub(super) fn count(&self) -> usize {
        usize::from(self.ends) + self.states.len()
    }
}

/// The followers of every state: the barriers that are reached without crossing another.
pub(super) fn followers<'m>(graph: &Graph<'m>, barriers: &[Barrier<'m>], first: Block<'m>) -> Vec<Followers> {
    let mut edges = graph.successors.clone();
    for barrier in barriers {
        edges[graph.numbers[&barrier.before]].clear();
    }
    let starts = std::iter::once(first).chain(barriers.iter().map(|barrier| barrier.after));
    starts
        .map(|start| {
            let reached = Graph::reached(graph.numbers[&start], &edges);
            let is_reached = |block: Block<'m>| reached[graph.numbers[&block]];
            let is_exit = |block: &Block<'m>| block.terminator().is_some_and(|end| end.opcode().is(PlainOp::Ret));
            let states = (1..).zip(barriers).filter(|(_, barrier)| is_reached(barrier.before));
            Followers {
                ends: graph.blocks.iter().any(|block| is_exit(block) && is_reached(*block)),
                states: states.map(|(state, _)| state).collect(),
            }
        })
        .collect()
}

/// What a step returns that waits at the barrier behind which `state` goes on: an even number.
pub(super) fn code(state: usize) -> u64 {
    2 * state as u64
}

/// The blocks that may run between the last barrier and this one.
fn blocks_since<'m>(graph: &Graph<'m>, barriers: &[Barrier<'m>], barrier: &Barrier<'m>) -> Vec<bool> {
    let mut edges = graph.predecessors.clone();
    for other in barriers {
        edges[graph.numbers[&other.after]].clear();
    }
    Graph::reached(graph.numbers[&barrier.before], &edges)
}

/// Makes barriers exits, with an entry behind each, and returns say [`DONE`].
pub(super) fn enter_and_leave<'m>(
    module: &'m Module<'m>,
    frame: &Frame<'m>,
    slots: &Slots<'m>,
    top: Block<'m>,
    (graph, barriers): (&Graph<'m>, &[Barrier<'m>]),
    (live, remade): (&[Vec<openmps_llvm::Instruction<'m>>], &Remade<'m>),
) {
    let (function, builder) = (top.function(), module.builder());
    let i32_type = module.context().i32();
    for block in function.blocks() {
        let Some(end) = block.terminator().filter(|end| end.opcode().is(PlainOp::Ret)) else { continue };
        builder.position_before(end);
        builder.ret(i32_type.const_int(u64::from(DONE)));
        module.erase(end);
    }
    let Some(end) = top.terminator().filter(|_| !barriers.is_empty()) else { return };
    let state = *function.parameters().last().expect("the state");
    builder.position_before(end);
    let first = top.successors()[0];
    let switch = builder.switch(state, first);
    module.erase(end);
    for ((number, barrier), values) in (1..).zip(barriers).zip(live) {
        let end = barrier.before.terminator().expect("it goes behind the barrier");
        builder.position_before(end);
        let since = blocks_since(graph, barriers, barrier);
        // The frame has the others as they are.
        let is_new = |value: &openmps_llvm::Instruction<'m>| {
            let number = value.block().and_then(|block| graph.numbers.get(&block));
            number.is_none_or(|&number| since[number])
        };
        for value in values.iter().copied().filter(|value| is_new(value) && !remade.contains(*value)) {
            let current = builder.load(value.ty(), slots[&value]).as_value();
            frame.store(&builder, top, value, current);
        }
        builder.ret(i32_type.const_int(code(number)));
        module.erase(end);
        let resume = barrier.after.insert_before(&format!("resume.{number}"));
        builder.position_at_end(resume);
        for &value in values {
            let kept = match remade.contains(value) {
                true => remade.make(&builder, value),
                false => frame.load(&builder, top, value),
            };
            builder.store(kept, slots[&value]);
        }
        builder.br(barrier.after);
        switch.add_case(i32_type.const_int(number as u64), resume);
    }
}
