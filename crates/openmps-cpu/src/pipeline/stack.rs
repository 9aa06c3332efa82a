//! Gives every variable of a thread its place in the function's frame: storage of cooperative tensors, whose size the kernel
//! computes by calls, gets its constant size, and what is allocated inside of a loop moves in front of it, so that the bytes of
//! all variables together bound the stack.
//!
//! Runs after inlining, when the sizes are instructions on constants.

use openmps_engine::{EngineError, KernelSignature};
use openmps_llvm::opcode::PlainOp;
use openmps_llvm::{Builder, Function, Instruction, Module, PassOptions, TargetMachine};

use super::internal;

/// What the inliner puts around variables that are not in a function's first block.
const STACK_INTRINSICS: [&str; 2] = ["llvm.stackrestore", "llvm.stacksave"];

/// Moves all variables into first blocks.
///
/// # Errors
/// A variable whose size is not known.
pub(super) fn run(
    module: &mut Module<'_>,
    machine: &TargetMachine,
    signature: &KernelSignature,
) -> Result<(), EngineError> {
    if !module.functions().into_iter().any(|function| misplaced(function).next().is_some()) {
        return Ok(());
    }
    module.run_passes("instsimplify", Some(machine), PassOptions::default()).map_err(internal)?;
    let builder = module.builder();
    for function in module.functions() {
        for alloca in misplaced(function).collect::<Vec<_>>() {
            place(&builder, function, alloca).ok_or_else(|| {
                let reason = "stack memory of variable size";
                EngineError::Unsupported(format!("kernel '{}': {reason}", signature.name))
            })?;
        }
    }
    // Restoring comes first: it uses what was saved.
    for name in STACK_INTRINSICS {
        for call in module.functions().into_iter().flat_map(Function::calls) {
            if call.called_function().is_some_and(|callee| callee.name().starts_with(name)) {
                module.erase(call);
            }
        }
    }
    Ok(())
}

/// Allocations in other blocks than the first, and those of a number that is not constant.
fn misplaced(function: Function<'_>) -> impl Iterator<Item = Instruction<'_>> {
    let entry = function.entry();
    let is_misplaced = move |alloca: &Instruction<'_>| {
        alloca.opcode().is(PlainOp::Alloca) && (alloca.block() != entry || alloca.operand(0).as_const_int().is_none())
    };
    function.instructions().into_iter().filter(is_misplaced)
}

/// Allocates the same variable at the start of `function`.
fn place<'m>(builder: &Builder<'m>, function: Function<'m>, alloca: Instruction<'m>) -> Option<()> {
    let count = alloca.operand(0);
    count.as_const_int()?;
    builder.position_before(function.entry()?.first()?);
    let variable = builder.array_alloca(alloca.allocated_type()?, count);
    variable.set_alignment(alloca.alignment()?);
    alloca.as_value().replace_all_uses_with(variable.as_value());
    builder.module().erase(alloca);
    Some(())
}
