//! Numbers lane operations in program order, after inlining: the order in which the runtime serves waiting lanes.

use std::collections::BTreeMap;

use openmps_llvm::Module;

use crate::abi::KERNEL_SYMBOL;
use crate::lower::order::weak_topological_order;

/// The runtime function whose first operand is a site.
pub(super) const LANE_FUNCTION: &str = "openmps_lane";

/// Numbers the sites of the exported function.
pub(super) fn run(module: &Module<'_>) {
    let function = module.function(KERNEL_SYMBOL).expect("the entry was linked");
    let blocks = function.blocks();
    let numbers: BTreeMap<_, usize> = blocks.iter().enumerate().map(|(number, block)| (*block, number)).collect();
    let successors: Vec<Vec<usize>> =
        blocks.iter().map(|block| block.successors().iter().map(|next| numbers[next]).collect()).collect();
    let mut site = 0;
    for number in weak_topological_order(0, &successors) {
        for call in blocks[number].instructions() {
            if call.called_function().is_some_and(|callee| callee.name() == LANE_FUNCTION) {
                site += 1;
                call.set_operand(0, module.context().i32().const_int(site));
            }
        }
    }
}
