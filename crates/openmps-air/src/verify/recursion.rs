//! No function calls itself, on any way, and chains of calls are short. Any mention of a function counts as a call.

use std::collections::HashMap;

use openmps_llvm::{Function, Module};

use crate::error::Error;
use crate::limits;
use crate::reach::mentioned_functions;

/// A function that calls itself, and the way back to it.
pub(super) struct Cycle<'m> {
    /// The functions on the way, each calling the next and the last one the first.
    pub(super) functions: Vec<Function<'m>>,
}

impl Cycle<'_> {
    pub(super) fn error(&self) -> Error {
        let names = self.functions.iter().chain(self.functions.first());
        let chain: Vec<String> = names.map(|function| format!("'{}'", function.name())).collect();
        let function = self.functions.first().map(|function| function.name()).unwrap_or_default();
        Error::Recursion { function, chain: chain.join(" calls ") }
    }
}

/// Whether a function is on the way from the start, or finished.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    Done,
}

/// The first cycle, in the module's order.
///
/// # Errors
/// [`Error::TooLarge`] when a chain of calls is too long.
pub(super) fn find<'m>(module: &'m Module<'_>) -> Result<Option<Cycle<'m>>, Error> {
    let mut states = HashMap::new();
    for function in module.functions() {
        if let Some(cycle) = visit(function, &mut states)? {
            return Ok(Some(cycle));
        }
    }
    Ok(None)
}

/// Depth first from `start`, with the way so far on the heap.
fn visit<'m>(start: Function<'m>, states: &mut HashMap<Function<'m>, State>) -> Result<Option<Cycle<'m>>, Error> {
    if states.contains_key(&start) {
        return Ok(None);
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
            Some(State::Open) => {
                let functions = way.iter().map(|(function, _)| *function).skip_while(|other| *other != next).collect();
                return Ok(Some(Cycle { functions }));
            }
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
    Ok(None)
}
