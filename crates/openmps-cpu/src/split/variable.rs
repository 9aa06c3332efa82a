//! Which variables (`alloca`) have to outlive a barrier.

use std::collections::BTreeSet;

use openmps_llvm::{Block, Instruction, Module, Opcode, PlainOp, Value};

use super::cut::{Barrier, Graph};

/// Most bytes of the stack that the copies of one variable may take, one a state.
const COPIES_BYTES_MAX: u64 = 8 * 1024;
/// Calls that use an address and keep none.
const HARMLESS_FUNCTIONS: [&str; 7] = [
    "llvm.lifetime.",
    "llvm.memcpy.",
    "llvm.memmove.",
    "llvm.memset.",
    "openmps_convolution_",
    "openmps_matmul_",
    "openmps_tensor_",
];

/// The variables of `top` that may be used on both sides of a barrier, or that are too large to have a copy for each state.
pub(super) fn crossing<'m>(
    module: &Module<'m>,
    top: Block<'m>,
    graph: &Graph<'m>,
    barriers: &[Barrier<'m>],
) -> Vec<Instruction<'m>> {
    let sides: Vec<(Vec<bool>, Vec<bool>)> = barriers
        .iter()
        .map(|barrier| {
            let before = Graph::reached(graph.numbers[&barrier.before], &graph.predecessors);
            (before, Graph::reached(graph.numbers[&barrier.after], &graph.successors))
        })
        .collect();
    let crosses = |variable: &Instruction<'m>| {
        let copies = size_bytes(module, *variable).saturating_mul(barriers.len() as u64 + 1);
        if copies > COPIES_BYTES_MAX {
            return true;
        }
        let Some(users) = users(*variable) else { return true };
        let blocks: BTreeSet<usize> = users.into_iter().map(|block| graph.numbers[&block]).collect();
        sides.iter().any(|(before, after)| {
            blocks.iter().any(|&block| before[block]) && blocks.iter().any(|&block| after[block])
        })
    };
    if barriers.is_empty() {
        return Vec::new();
    }
    top.instructions().into_iter().filter(|it| it.opcode().is(PlainOp::Alloca)).filter(crosses).collect()
}

/// Bytes of a variable of constant size.
pub(super) fn size_bytes(module: &Module<'_>, variable: Instruction<'_>) -> u64 {
    let ty = variable.allocated_type().expect("an alloca allocates a type");
    let count = variable.operand(0).as_const_int().expect("variables have constant sizes here");
    module.size_bytes(ty).saturating_mul(count)
}

/// Whether `user` marks the start or the end of a variable's life.
pub(super) fn is_lifetime(user: Instruction<'_>) -> bool {
    user.called_function().is_some_and(|callee| callee.name().starts_with("llvm.lifetime."))
}

/// The blocks that use the memory of the variable; `None` when its address may be anywhere.
fn users(variable: Instruction<'_>) -> Option<Vec<Block<'_>>> {
    let mut blocks = Vec::new();
    let mut seen = BTreeSet::new();
    let mut open = vec![variable.as_value()];
    while let Some(address) = open.pop() {
        if !seen.insert(address) {
            continue;
        }
        for user in address.users().into_iter().filter_map(Value::as_instruction) {
            if is_lifetime(user) {
                continue;
            }
            // Where an address is computed does not matter, as it is computed again; but it may be kept where paths meet.
            if !matches!(user.opcode(), Opcode::Plain(PlainOp::GetElementPtr) | Opcode::Cast(_)) {
                blocks.extend(user.block());
            }
            match user.opcode() {
                Opcode::Plain(PlainOp::Load | PlainOp::ICmp) => {}
                Opcode::Plain(PlainOp::Store | PlainOp::AtomicRmw | PlainOp::AtomicCmpXchg) => {
                    let address_operand = u32::from(user.opcode().is(PlainOp::Store));
                    let is_value = |index: u32| index != address_operand && user.operand(index) == address;
                    if (0..user.operand_count()).any(is_value) {
                        return None;
                    }
                }
                Opcode::Plain(PlainOp::GetElementPtr | PlainOp::Phi | PlainOp::Select) | Opcode::Cast(_) => {
                    open.push(user.as_value());
                }
                Opcode::Plain(PlainOp::Call) if is_harmless(user) => {}
                Opcode::Plain(_) | Opcode::Binary(_) => return None,
            }
        }
    }
    Some(blocks)
}

fn is_harmless(call: Instruction<'_>) -> bool {
    call.called_function().is_some_and(|callee| HARMLESS_FUNCTIONS.iter().any(|name| callee.name().starts_with(name)))
}
