//! Recursion to a fixed depth, by copies: level k of a group of functions that call each other calls level k + 1, and the last
//! level calls [`RECURSION_TRAP`] and goes on with zero.
//!
//! MSL has no recursion, but `log_gamma` and `gamma` of PyTorch's headers call each other over disjoint ranges of arguments,
//! and Apple's compiler takes them. Left out: groups that mention their functions other than by calling them, and groups
//! that would be too large once everything is inlined; they stay recursive.

use std::collections::{HashMap, HashSet};

use openmps_llvm::{Function, Instruction, Module};

use super::RECURSION_TRAP;
use super::recursion::Cycle;
use crate::limits::{RECURSION_DEPTH, UNROLLED_INSTRUCTIONS_MAX};
use crate::reach::mentioned_functions;

/// Unrolls the group of functions that `cycle` is part of, or says that it cannot.
pub(super) fn run<'m>(module: &'m Module<'_>, cycle: &Cycle<'m>) -> bool {
    let Some(first) = cycle.functions.first() else { return false };
    let group = group_of(module, *first);
    let calls: usize = group.iter().map(|function| calls_into(*function, &group).len()).sum();
    let instructions: usize = group.iter().map(|function| function.instructions().len()).sum();
    // Each of the calls may be inlined below each of the calls of the level above.
    let inlined = (0..RECURSION_DEPTH).try_fold(instructions, |size, _| size.checked_mul(calls));
    if inlined.is_none_or(|size| size > UNROLLED_INSTRUCTIONS_MAX) || !is_only_called(module, &group) {
        return false;
    }
    let levels = copies(&group);
    for (index, level) in levels.iter().enumerate() {
        for function in level {
            for call in calls_into(*function, &group) {
                let callee = call.called_function().and_then(|callee| group.iter().position(|other| *other == callee));
                let callee = callee.expect("calls_into returns calls of the group");
                match levels.get(index + 1) {
                    Some(next) => call.set_called_function(next[callee]),
                    None => replace_by_trap(module, call),
                }
            }
        }
    }
    true
}

/// The functions that reach `start` and that it reaches, in the module's order.
fn group_of<'m>(module: &'m Module<'_>, start: Function<'m>) -> Vec<Function<'m>> {
    let mut callees = HashMap::new();
    let mut callers: HashMap<Function<'m>, Vec<Function<'m>>> = HashMap::new();
    for function in module.functions() {
        let mentioned = mentioned_functions(function);
        for callee in &mentioned {
            callers.entry(*callee).or_default().push(function);
        }
        callees.insert(function, mentioned);
    }
    let (below, above) = (reached(start, &callees), reached(start, &callers));
    module.functions().into_iter().filter(|function| below.contains(function) && above.contains(function)).collect()
}

fn reached<'m>(start: Function<'m>, edges: &HashMap<Function<'m>, Vec<Function<'m>>>) -> HashSet<Function<'m>> {
    let mut seen = HashSet::from([start]);
    let mut pending = vec![start];
    while let Some(function) = pending.pop() {
        let next = edges.get(&function).into_iter().flatten().copied();
        pending.extend(next.filter(|function| seen.insert(*function)));
    }
    seen
}

/// The calls in `function` of functions of the group.
fn calls_into<'m>(function: Function<'m>, group: &[Function<'m>]) -> Vec<Instruction<'m>> {
    let is_inside = |call: &Instruction<'m>| call.called_function().is_some_and(|callee| group.contains(&callee));
    function.calls().into_iter().filter(is_inside).collect()
}

/// Whether each use of each function of the group inside the group is that of a callee.
fn is_only_called<'m>(module: &'m Module<'_>, group: &[Function<'m>]) -> bool {
    let calls: usize = module.functions().into_iter().map(|function| calls_into(function, group).len()).sum();
    let uses: usize = group.iter().map(|function| function.as_value().users().len()).sum();
    calls == uses
}

/// The group itself and its copies, one list a level.
fn copies<'m>(group: &[Function<'m>]) -> Vec<Vec<Function<'m>>> {
    let copy = |level: usize| group.iter().map(|function| function.duplicate(&copy_name(*function, level))).collect();
    std::iter::once(group.to_vec()).chain((1..RECURSION_DEPTH).map(copy)).collect()
}

fn copy_name(function: Function<'_>, level: usize) -> String {
    format!("{}.recursion{level}", function.name())
}

fn replace_by_trap<'m>(module: &'m Module<'_>, call: Instruction<'m>) {
    let context = module.context();
    let trap = module.declare(RECURSION_TRAP, context.function(context.void(), &[]));
    let builder = module.builder();
    builder.position_before(call);
    builder.call(trap, &[]);
    if !call.ty().is_void() {
        call.as_value().replace_all_uses_with(call.ty().zero());
    }
    module.erase(call);
}
