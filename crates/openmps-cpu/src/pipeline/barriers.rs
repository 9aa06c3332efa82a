//! Makes the exported function of a kernel that was written for one thread: splits it at its barriers, and writes the loops over
//! the threadgroup's threads around it.

use openmps_engine::EngineError;
use openmps_llvm::{Module, PassOptions, TargetMachine};

use super::{internal, isolate, link_text};
use crate::abi::KERNEL_SYMBOL;
use crate::split::{self, STEP, Steps, Ways};

/// Makes values of variables, and simplifies: what is gone before the split need not be kept across barriers, and what is shared
/// between states is done once.
const PREPARE: &str = "function(sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg,\
    loop-mssa(loop-rotate,licm),instcombine<no-verify-fixpoint>,loop(indvars,loop-deletion,loop-unroll-full),\
    sroa,instcombine<no-verify-fixpoint>,gvn,dse,simplifycfg)";
/// The function that tells a fiber its lane.
const LANE_INDEX: &str = "openmps_lane_index";
/// The value in the step that is its lane.
const LANE_NAME: &str = "lane";

/// Replaces the step by the exported function; returns the bytes of a thread's frame.
pub(super) fn run(module: &mut Module<'_>, machine: &TargetMachine) -> Result<u64, EngineError> {
    answer_lane_index(module);
    module.run_passes(PREPARE, Some(machine), PassOptions::default()).map_err(internal)?;
    let split = split::run(module, Steps::Threads, Ways::Own).map_err(internal)?;
    link_text(module, machine, &split::driver_text(&split, Steps::Threads))?;
    isolate::hide_all_but(module, KERNEL_SYMBOL);
    module.run_passes("always-inline,globaldce", Some(machine), PassOptions::default()).map_err(internal)?;
    Ok(split.frame_bytes)
}

fn answer_lane_index(module: &Module<'_>) {
    let function = module.function(STEP).expect("the entry was linked");
    let instructions = function.instructions();
    let lane = instructions.iter().find(|instruction| instruction.as_value().name() == LANE_NAME);
    let lane = lane.expect("the entry's text names it").as_value();
    for call in function.calls() {
        if call.called_function().is_some_and(|callee| callee.name() == LANE_INDEX) {
            call.as_value().replace_all_uses_with(lane);
            module.erase(call);
        }
    }
}
