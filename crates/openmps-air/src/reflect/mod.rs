//! The signatures of a module's kernels, from `!air.kernel`.
//!
//! A kernel's node is `{ function, {}, { argument nodes… } [, { "air.max_work_group_size", i32 }] }`. Apple's libraries have a
//! module a kernel; a module compiled from source here has all of them. Function constants that gate arguments are skipped:
//! the argument is described as if it were there.

mod argument;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use openmps_engine::{AddressSpace, Argument, ArgumentKind, KernelSignature, VerifiedAir};
use openmps_llvm::{AttributePlace, Context, Function, Metadata, Module};

use crate::error::Error;
use crate::reach::reachable_globals;

/// The signatures of the kernels of `air`, sorted by name.
///
/// # Errors
/// [`Error::Kernel`] and [`Error::Argument`] where `!air.kernel` is not as it should be. [`verify`](crate::verify) has checked
/// that, so only bytes that bypassed it fail here.
pub fn reflect(air: &VerifiedAir) -> Result<Vec<KernelSignature>, Error> {
    let context = Context::new();
    let module = context.parse_bitcode(air.bitcode())?;
    signatures(&module)
}

/// The signatures of the kernels of `module`, sorted by name.
pub(crate) fn signatures(module: &Module<'_>) -> Result<Vec<KernelSignature>, Error> {
    let nodes = module.named_metadata("air.kernel");
    let mut kernels = nodes
        .into_iter()
        .enumerate()
        .map(|(index, node)| kernel(module, index, node))
        .collect::<Result<Vec<_>, _>>()?;
    kernels.sort_by(|left, right| left.name.cmp(&right.name));
    if let Some(pair) = kernels.windows(2).find(|pair| pair[0].name == pair[1].name) {
        return Err(Error::Kernel { kernel: format!("'{}'", pair[0].name), what: "described twice".to_owned() });
    }
    Ok(kernels)
}

fn kernel(module: &Module<'_>, index: usize, node: Metadata<'_>) -> Result<KernelSignature, Error> {
    let operands = node.operands();
    let refuse = |what: &str| Error::Kernel { kernel: format!("number {index}"), what: what.to_owned() };
    let function = operands
        .first()
        .and_then(|operand| operand.as_value()?.as_function())
        .ok_or_else(|| refuse("the first operand of its node is no function"))?;
    let name = function.name();
    let refuse = |what: String| Error::Kernel { kernel: format!("'{name}'"), what };
    if function.is_declaration() {
        return Err(refuse("declared, but not defined".to_owned()));
    }
    if !function.value_type().result().is_some_and(|result| result.is_void()) {
        return Err(refuse(format!("has type {}, expected a result of void", function.value_type())));
    }
    let arguments = operands
        .get(2)
        .and_then(|operand| operand.as_node())
        .ok_or_else(|| refuse("the third operand of its node is no list of arguments".to_owned()))?;
    let arguments = arguments_of(function, &name, arguments)?;
    let max_total_threads_per_threadgroup = operands[3..]
        .iter()
        .filter_map(|operand| operand.as_node())
        .find_map(max_work_group_size)
        .or_else(|| function.string_attribute(AttributePlace::Function, "max-work-group-size")?.parse().ok())
        .filter(|threads| *threads > 0);
    let static_threadgroup_memory_bytes = threadgroup_bytes(module, function)
        .ok_or_else(|| refuse("declares more than 4 GiB of threadgroup memory".to_owned()))?;
    Ok(KernelSignature {
        name,
        arguments,
        max_total_threads_per_threadgroup,
        static_threadgroup_memory_bytes,
        constants: Vec::new(),
    })
}

/// `{ "air.max_work_group_size", i32 }`.
fn max_work_group_size(node: Metadata<'_>) -> Option<u32> {
    let operands = node.operands();
    let is_limit = operands.first()?.as_str() == Some("air.max_work_group_size");
    is_limit.then(|| operands.get(1)?.as_int()?.try_into().ok()).flatten()
}

/// One argument for each parameter, in order of parameters.
fn arguments_of(function: Function<'_>, name: &str, list: Metadata<'_>) -> Result<Vec<Argument>, Error> {
    let parameters = function.parameters();
    let mut arguments: Vec<Option<Argument>> = vec![None; parameters.len()];
    let mut indices = BTreeSet::new();
    for (place, operand) in list.operands().into_iter().enumerate() {
        let refuse = |what: String| Error::Argument { kernel: name.to_owned(), position: place, what };
        let node = operand.as_node().ok_or_else(|| refuse("no node".to_owned()))?;
        let (position, argument) = argument::read(node, &parameters).map_err(refuse)?;
        let (table, range) = match argument.kind {
            ArgumentKind::Buffer { index, .. }
            | ArgumentKind::ArgumentBuffer { index, .. }
            | ArgumentKind::VisibleFunctionTable { index } => ("buffer", index.0..index.0 + 1),
            ArgumentKind::ThreadgroupMemory { index } => ("threadgroup", index.0..index.0 + 1),
            ArgumentKind::Texture { index, count, .. } => ("texture", index.0..index.0 + count.unwrap_or(1)),
            ArgumentKind::Sampler { index, count } => ("sampler", index.0..index.0 + count.unwrap_or(1)),
            ArgumentKind::Builtin { .. } => ("", 0..0),
        };
        for index in range {
            if !indices.insert((table, index)) {
                return Err(refuse(format!("{table} index {index} has another argument already")));
            }
        }
        if arguments[position].replace(argument).is_some() {
            return Err(refuse(format!("parameter {position} has another argument already")));
        }
    }
    let missing = |position| Error::Argument {
        kernel: name.to_owned(),
        position,
        what: "the parameter has no argument node".to_owned(),
    };
    arguments.into_iter().enumerate().map(|(position, argument)| argument.ok_or_else(|| missing(position))).collect()
}

/// Bytes of the threadgroup variables that `kernel` reaches, laid out in the module's order with their alignments.
fn threadgroup_bytes(module: &Module<'_>, kernel: Function<'_>) -> Option<u32> {
    let reachable = reachable_globals(kernel);
    let mut end: u64 = 0;
    for global in module.globals() {
        // The discriminants of address spaces are AIR's numbers.
        if global.address_space() != AddressSpace::Threadgroup as u32 || !reachable.contains(&global) {
            continue;
        }
        let ty = global.value_type();
        let alignment = u64::from(global.alignment().max(module.alignment_bytes(ty)));
        end = end.checked_next_multiple_of(alignment)?.checked_add(module.size_bytes(ty))?;
    }
    u32::try_from(end).ok()
}
