//! The functions in `llvm.global_ctors`: what they store to, and bounds on running them at compile time.
//!
//! Apple's compiler makes one for the function constants of a kernel, our front end one for each program-scope constant whose
//! initial value is no constant expression.

use std::collections::{HashMap, HashSet};

use openmps_llvm::{Function, Global, Module, Opcode, PlainOp, TypeKind, Value};

use crate::error::Error;
use crate::limits;

/// The list's name.
const LIST: &str = "llvm.global_ctors";

/// The functions of the list in order.
///
/// # Errors
/// The list is not as LLVM's own are: `{ i32 priority, ptr function, ptr null }` with functions of type `void ()`.
pub(crate) fn list<'m>(module: &'m Module<'_>) -> Result<Vec<Function<'m>>, Error> {
    let Some(list) = module.global(LIST) else { return Ok(Vec::new()) };
    let refuse = |what: &str| Error::Global { name: LIST.to_owned(), what: what.to_owned() };
    let entries = list.initializer().ok_or_else(|| refuse("declared, but nothing defines it"))?;
    if !matches!(list.value_type().kind(), TypeKind::Array(..)) || entries.is_undef() {
        return Err(refuse("not a list of functions"));
    }
    let entries = entries.const_operands();
    let functions = entries.into_iter().map(|entry| match entry.const_operands()[..] {
        [_, function, ref rest @ ..] if rest.iter().all(|data| data.is_zero()) => {
            let function = function.as_function().filter(|function| !function.is_declaration());
            let is_plain = |function: &Function<'_>| {
                let ty = function.value_type();
                ty.parameters().is_empty() && ty.result().is_some_and(|result| result.is_void())
            };
            function.filter(is_plain).ok_or_else(|| refuse("an entry is no function of type void ()"))
        }
        _ => Err(refuse("an entry is not { i32, ptr, ptr null }")),
    });
    functions.collect()
}

/// Refuses constructors that would take too long to run: calls are followed each time that they are met, loops never.
///
/// # Errors
/// [`Error::TooLarge`], with the constructor's name.
pub(crate) fn check_size(constructors: &[Function<'_>]) -> Result<(), Error> {
    let mut sizes = HashMap::new();
    for constructor in constructors {
        let given = size(*constructor, &mut sizes);
        let limit = limits::CONSTRUCTOR_INSTRUCTIONS_MAX;
        if given > limit {
            let what = format!("instructions that constructor '{}' runs", constructor.name());
            return Err(Error::TooLarge { what, given, limit });
        }
    }
    Ok(())
}

/// Instructions that a call of `function` runs at most. Calls are not recursive, and chains of them not deep.
fn size<'m>(function: Function<'m>, known: &mut HashMap<Function<'m>, u64>) -> u64 {
    if let Some(size) = known.get(&function) {
        return *size;
    }
    let instructions = function.instructions();
    let callees = instructions.iter().filter_map(|instruction| instruction.called_function());
    let own = instructions.len() as u64;
    let total = callees.fold(own, |total, callee| total.saturating_add(size(callee, known)));
    known.insert(function, total);
    total
}

/// The variables that `start` and what it calls store to.
pub(crate) fn written<'m>(start: Function<'m>) -> HashSet<Global<'m>> {
    let mut written = HashSet::new();
    let mut seen = HashSet::from([start]);
    let mut pending = vec![start];
    while let Some(function) = pending.pop() {
        for instruction in function.instructions() {
            if let Some(callee) = instruction.called_function().filter(|callee| seen.insert(*callee)) {
                pending.push(callee);
            }
            let target = match instruction.opcode() {
                Opcode::Plain(PlainOp::Store) => Some(instruction.operand(1)),
                // memcpy and memset write through their first operand; others have no global there.
                Opcode::Plain(PlainOp::Call) => instruction.arguments().first().copied(),
                Opcode::Plain(_) | Opcode::Cast(_) | Opcode::Binary(_) => None,
            };
            written.extend(target.and_then(variable_of));
        }
    }
    written
}

/// The variable that `pointer` points into.
fn variable_of(mut pointer: Value<'_>) -> Option<Global<'_>> {
    loop {
        if let Some(global) = pointer.as_global() {
            return Some(global);
        }
        let is_step = |opcode: Opcode| match opcode {
            Opcode::Plain(op) => op == PlainOp::GetElementPtr,
            Opcode::Cast(_) => true,
            Opcode::Binary(_) => false,
        };
        pointer = match pointer.as_instruction() {
            Some(instruction) if is_step(instruction.opcode()) => instruction.operand(0),
            Some(_) => return None,
            None => {
                pointer.const_opcode().filter(|opcode| is_step(*opcode))?;
                *pointer.const_operands().first()?
            }
        };
    }
}
