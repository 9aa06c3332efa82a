//! Whether all threads of a threadgroup pass the same barriers in the same order, which then need not be found out at run time.
//!
//! Threads go together where a branch depends on nothing but the arguments' words and the threadgroup. What is loaded from memory that
//! kernels write counts as different for each thread, and so does what lanes combine.

use std::collections::HashSet;

use openmps_llvm::{Function, Instruction, Opcode, PlainOp, Value};

use super::choice::barriers;
use super::graph::Graph;
use super::marker::{LANE_INDEX, Marker};
use super::transfer::is_pure;

/// Whether no barrier of `source` is on a way that only some threads take. The first parameter is the context, which threads share.
pub(super) fn pass_barriers_together<'m>(source: Function<'m>, graph: &Graph<'m>) -> bool {
    let own = own_values(source, graph);
    let waiting: Vec<usize> = barriers(source).into_iter().filter_map(|call| graph.number(call.block()?)).collect();
    parting_blocks(graph, &own).all(|block| {
        let region = graph.region(block);
        !waiting.iter().any(|at| region.contains(at))
    })
}

/// Blocks at whose end threads may go different ways.
fn parting_blocks<'m>(graph: &Graph<'m>, own: &HashSet<Value<'m>>) -> impl Iterator<Item = usize> {
    (0..graph.blocks.len()).filter(|&block| {
        let condition = graph.blocks[block].terminator().and_then(Instruction::condition);
        graph.successors[block].len() > 1 && condition.is_some_and(|condition| own.contains(&condition))
    })
}

/// The values that may differ between threads.
fn own_values<'m>(source: Function<'m>, graph: &Graph<'m>) -> HashSet<Value<'m>> {
    let mut own: HashSet<Value<'m>> = source.parameters().into_iter().skip(1).collect();
    loop {
        let before = own.len();
        let mut met: HashSet<usize> = HashSet::new();
        for block in parting_blocks(graph, &own) {
            met.extend(graph.region(block));
            met.extend(graph.post_dominators[block]);
        }
        for (number, block) in graph.blocks.iter().enumerate() {
            for instruction in block.instructions() {
                let is_met = instruction.opcode().is(PlainOp::Phi) && met.contains(&number);
                let depends = || instruction.operands().iter().any(|operand| own.contains(operand));
                if is_met || is_own(instruction) || depends() {
                    own.insert(instruction.as_value());
                }
            }
        }
        if own.len() == before {
            return own;
        }
    }
}

/// Whether the instruction may give each thread another result from the same operands.
fn is_own(instruction: Instruction<'_>) -> bool {
    match instruction.opcode() {
        Opcode::Plain(PlainOp::Load) => instruction.metadata("invariant.load").is_none(),
        Opcode::Plain(PlainOp::Alloca | PlainOp::AtomicRmw | PlainOp::AtomicCmpXchg) => true,
        Opcode::Plain(PlainOp::Call) => !instruction.called_function().is_some_and(|callee| {
            let name = callee.name();
            let asks_lanes = name == LANE_INDEX || Marker::parse(&name).is_some();
            !asks_lanes && (callee.is_llvm_intrinsic() || is_pure(callee))
        }),
        Opcode::Binary(_) | Opcode::Cast(_) | Opcode::Plain(_) => false,
    }
}
