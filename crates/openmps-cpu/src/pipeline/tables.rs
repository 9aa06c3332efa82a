//! Calls of functions in visible function tables become traps: this engine links no functions, so that every table is empty.
//!
//! Runs on the verified module, whose only indirect calls are those.

use openmps_llvm::Module;

/// The runtime function that ends the dispatch with an error.
const TRAP: &str = "openmps_trap_table";

/// Replaces every indirect call. The kernel goes on with zero where it asked for a result.
pub(super) fn run(module: &Module<'_>) {
    let context = module.context();
    for function in module.functions() {
        for call in function.calls() {
            let is_indirect = call.callee().is_some_and(|callee| callee.as_function().is_none());
            if !is_indirect {
                continue;
            }
            let trap = module.declare(TRAP, context.function(context.void(), &[]));
            let builder = module.builder();
            builder.position_before(call);
            builder.call(trap, &[]);
            if !call.ty().is_void() {
                call.as_value().replace_all_uses_with(call.ty().zero());
            }
            module.erase(call);
        }
    }
}
