//! No function calls itself, on any way, and chains of calls are short. Any mention of a function counts as a call.

use std::collections::HashMap;

use openmps_llvm::{Function, Module};

use crate::error::Error;
use crate::limits;
use crate::reach::mentioned_functions;

/// Whether a function is on the way from the start, or finished.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    Done,
}

pub(super) fn check(module: &Module<'_>) -> Result<(), Error> {
    let mut states = HashMap::new();
    module.functions().into_iter().try_for_each(|function| visit(function, &mut states))
}

/// Depth first from `start`, with the way so far on the heap.
fn visit<'m>(start: Function<'m>, states: &mut HashMap<Function<'m>, State>) -> Result<(), Error> {
    if states.contains_key(&start) {
        return Ok(());
    }
    states.insert(start, State::Open);
    let mut way = vec![(start, mentioned_functions(start))];
    while let Some((function, rest)) = way.last_mut() {
        let Some(next) = rest.pop() else {
            states.insert(*function, State::Done);
            way.pop();
            continue;
        };
        match states.get(&next) {
            Some(State::Done) => {}
            Some(State::Open) => return Err(recursion(next, &way)),
            None => {
                states.insert(next, State::Open);
                way.push((next, mentioned_functions(next)));
            }
        }
        if way.len() > limits::CALL_DEPTH_MAX {
            let what = format!("calls below function '{}'", start.name());
            return Err(Error::TooLarge { what, given: way.len() as u64, limit: limits::CALL_DEPTH_MAX as u64 });
        }
    }
    Ok(())
}

fn recursion<'m>(function: Function<'m>, way: &[(Function<'m>, Vec<Function<'m>>)]) -> Error {
    let names = way.iter().map(|(function, _)| *function).skip_while(|other| *other != function);
    let chain: Vec<String> = names.chain([function]).map(|function| format!("'{}'", function.name())).collect();
    Error::Recursion { function: function.name(), chain: chain.join(" calls ") }
}
