//! What a function mentions, directly or through constants.

use std::collections::HashSet;

use openmps_llvm::{Function, Global, Value};

/// Functions and globals in the operands of the body of `function`, through constant expressions and initializers, in order
/// of first mention.
fn mentioned<'m>(function: Function<'m>) -> (Vec<Function<'m>>, Vec<Global<'m>>) {
    let (mut functions, mut globals) = (Vec::new(), Vec::new());
    let mut seen: HashSet<Value<'m>> = HashSet::new();
    for instruction in function.instructions() {
        let mut pending = instruction.operands();
        while let Some(value) = pending.pop() {
            if !value.is_constant() || !seen.insert(value) {
                continue;
            }
            if let Some(function) = value.as_function() {
                functions.push(function);
                continue;
            }
            globals.extend(value.as_global());
            pending.extend(value.const_operands());
        }
    }
    (functions, globals)
}

/// The functions that the body of `function` mentions.
pub(crate) fn mentioned_functions(function: Function<'_>) -> Vec<Function<'_>> {
    mentioned(function).0
}

/// The globals that `start` and everything it calls mention, in no particular order. Calls are not recursive.
pub(crate) fn reachable_globals<'m>(start: Function<'m>) -> HashSet<Global<'m>> {
    let mut globals = HashSet::new();
    let mut seen = HashSet::from([start]);
    let mut pending = vec![start];
    while let Some(function) = pending.pop() {
        let (functions, mentioned) = mentioned(function);
        globals.extend(mentioned);
        pending.extend(functions.into_iter().filter(|function| seen.insert(*function)));
    }
    globals
}
