//! Splits a kernel at its barriers, so that one core runs the steps of a threadgroup without switching stacks.
//!
//! A step is what runs at once: a thread of the scalar engine, a SIMD-group of the vector engine. [`run`] takes the function
//! `void openmps_step(ptr %context, i32 %step, …)`, in which every barrier is a call of [`MARKER`], and makes it
//! `i32 openmps_step(…, ptr %frame, i32 %state)`: it goes on behind the barrier that `%state` names and returns the next one that it
//! reaches, or [`DONE`]. What a step still needs behind a barrier is kept in its frame, or computed again if that is cheap.
//! [`driver`] writes the exported function: for each state a loop over the steps.
//!
//! Guarantees: any control flow around barriers, loops included; steps that return are not waited for; steps that wait at
//! different barriers (no conforming kernel does that) still end. Needs: markers in that function alone, variables of
//! constant size in the first block, no exceptions.
//!
//! - `cut`: blocks end at barriers.
//! - `recompute`: what is computed again.
//! - `liveness`: what is needed behind a barrier.
//! - `variable`: which variables outlive a barrier.
//! - `frame`: where values and variables are kept.
//! - `state`: entries, exits, which state follows which.
//! - `driver`: the loops over the steps.

mod cut;
mod driver;
mod frame;
mod liveness;
mod recompute;
mod state;
mod variable;

use openmps_llvm::{AttributePlace, Error, Function, Linkage, Module, PassOptions, Type};

use cut::Graph;
pub(crate) use driver::{Steps, text as driver_text};
use frame::Frame;
use recompute::Remade;
use state::Followers;

/// The function that a barrier is a call of: `void ()`, convergent. The runtime has one of this name for fibers.
pub(crate) const MARKER: &str = "openmps_barrier";
/// The function that is split.
pub(crate) const STEP: &str = "openmps_step";
/// What a step returns that has returned; also its word in the frame.
const DONE: u32 = u32::MAX;
/// Most instructions of all states together when each gets a copy of the function. Above, one copy serves all of them.
const INLINED_INSTRUCTIONS_MAX: usize = 100_000;

/// What is known about a function after it was split.
pub(crate) struct Split {
    /// Bytes of one step's frame.
    pub(crate) frame_bytes: u64,
    /// Where in the frame the word is that says where the step waits; without one all steps go the same way.
    word_offset: Option<u64>,
    /// For each state, from 0 at the start, what may follow.
    followers: Vec<Followers>,
}

/// What makes one value of those that are equal, among them phis of values that several copies of the code computed: of the copies of
/// a SIMD-group's code around loops, too.
fn unify(steps: Steps) -> &'static str {
    match steps {
        Steps::Threads => "function(early-cse,instsimplify)",
        Steps::RowSegments | Steps::PlaneSegments | Steps::Simdgroups => {
            "function(early-cse,instcombine<no-verify-fixpoint>)"
        }
    }
}

/// Whether steps may go different ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ways {
    /// All pass the same barriers in the same order.
    Same,
    /// Each its own; where code after a barrier leads to one place only, they do not part all the same.
    Own,
}

/// Splits [`STEP`] at its markers.
///
/// # Errors
/// An LLVM pass fails.
pub(crate) fn run(module: &mut Module<'_>, steps: Steps, ways: Ways) -> Result<Split, Error> {
    recompute::hoist_scalars(module.function(STEP).expect("the pipeline made it"), module);
    module.run_passes(unify(steps), None, PassOptions::default())?;
    let split = rewrite(module, ways);
    module.delete_function(RETIRED);
    // Slots become values again.
    module.run_passes("function(mem2reg)", None, PassOptions::default())?;
    Ok(split)
}

/// The name of the function whose body was taken.
const RETIRED: &str = "openmps_step.retired";

/// `hoist_scalars` left a block in front that goes to the first of the others.
fn rewrite(module: &Module<'_>, ways: Ways) -> Split {
    let function = with_state(module);
    let top = function.entry().expect("a definition has a block");
    let first = top.successors()[0];
    let barriers = cut::at_markers(module, function);
    let graph = Graph::of(function);
    let followers = state::followers(&graph, &barriers, first);
    let variables = variable::crossing(module, top, &graph, &barriers);
    let mut live = liveness::across(function, &graph, &barriers, top);
    recompute::hoist(top, &mut live);
    let mut remade = Remade::of(top, &live);
    let diverges = ways == Ways::Own && followers.iter().any(|followers| followers.count() > 1);
    let frame = Frame::of(module, diverges, &variables, &live, &remade);
    frame.move_variables(top, &variables);
    remade.note_operands();
    let slots = frame::demote(module, top, &live);
    state::enter_and_leave(module, &frame, &slots, top, (&graph, &barriers), (&live, &remade));
    let instructions = function.instructions().len().saturating_mul(followers.len());
    let inlined = instructions <= INLINED_INSTRUCTIONS_MAX;
    function.add_attribute(AttributePlace::Function, if inlined { "alwaysinline" } else { "noinline" }, 0);
    Split { frame_bytes: frame.size_bytes, word_offset: frame.word_offset, followers }
}

/// Gives the body to a function with the two more parameters; its exits are `void` still.
fn with_state<'m>(module: &'m Module<'_>) -> Function<'m> {
    let old = module.function(STEP).expect("the pipeline made it");
    old.as_value().set_name(RETIRED);
    let context = module.context();
    let mut parameters: Vec<Type<'m>> = old.value_type().parameters();
    parameters.extend([context.pointer(0), context.i32()]);
    let function = module.add_function(STEP, context.function(context.i32(), &parameters));
    function.set_linkage(Linkage::External);
    function.take_blocks(old);
    for (parameter, retired) in function.parameters().into_iter().zip(old.parameters()) {
        parameter.set_name(&retired.name());
        retired.replace_all_uses_with(parameter);
    }
    for (name, parameter) in ["state", "frame"].into_iter().zip(function.parameters().into_iter().rev()) {
        parameter.set_name(name);
    }
    let (key, value) = SUBNORMALS;
    function.add_string_attribute(AttributePlace::Function, key, value);
    function.add_attribute(AttributePlace::Function, "nounwind", 0);
    function
}

/// As of every function that runs kernels: subnormal floats count as zero.
const SUBNORMALS: (&str, &str) = ("denormal-fp-math-f32", "preserve-sign,preserve-sign");

#[cfg(test)]
mod tests;
