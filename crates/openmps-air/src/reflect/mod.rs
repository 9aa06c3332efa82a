//! The signatures of a module's kernels, from `!air.kernel`.
//!
//! A kernel's node is `{ function, {}, { argument nodes… } [, { "air.max_work_group_size", i32 }] }`. Apple's libraries have a
//! module a kernel; a module compiled from source here has all of them. A gated argument is described as if it were there, with
//! the constant that decides about it, until that constant has a value.

mod argument;
pub(crate) mod constants;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::ops::Range;

use openmps_engine::{AddressSpace, Argument, ArgumentKind, FunctionConstant, KernelSignature, Presence, VerifiedAir};
use openmps_llvm::{AttributePlace, Context, Function, Global, Metadata, Module};

use self::constants::Declared;
use crate::constructors;
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
    let library = Library {
        module,
        constants: constants::declared(module)?,
        constructors: constructors::list(module)?,
        has_one_kernel: nodes.len() == 1,
    };
    let mut kernels = nodes
        .into_iter()
        .enumerate()
        .map(|(index, node)| library.kernel(index, node))
        .collect::<Result<Vec<_>, _>>()?;
    kernels.sort_by(|left, right| left.name.cmp(&right.name));
    if let Some(pair) = kernels.windows(2).find(|pair| pair[0].name == pair[1].name) {
        return Err(Error::Kernel { kernel: format!("'{}'", pair[0].name), what: "described twice".to_owned() });
    }
    Ok(kernels)
}

/// What the kernels of a module share.
struct Library<'m, 'ctx> {
    module: &'m Module<'ctx>,
    constants: Vec<Declared<'m>>,
    constructors: Vec<Function<'m>>,
    has_one_kernel: bool,
}

impl<'m> Library<'m, '_> {
    fn kernel(&self, index: usize, node: Metadata<'m>) -> Result<KernelSignature, Error> {
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
        let (arguments, gates) = arguments_of(function, &name, arguments)?;
        let max_total_threads_per_threadgroup = operands[3..]
            .iter()
            .filter_map(|operand| operand.as_node())
            .find_map(max_work_group_size)
            .or_else(|| function.string_attribute(AttributePlace::Function, "max-work-group-size")?.parse().ok())
            .filter(|threads| *threads > 0);
        let static_threadgroup_memory_bytes = threadgroup_bytes(self.module, function)
            .ok_or_else(|| refuse("declares more than 4 GiB of threadgroup memory".to_owned()))?;
        let constants = self.constants_of(function, &gates);
        Ok(KernelSignature {
            name,
            arguments,
            max_total_threads_per_threadgroup,
            static_threadgroup_memory_bytes,
            constants,
        })
    }

    /// The function constants that `kernel` depends on, sorted by index.
    fn constants_of(&self, kernel: Function<'m>, gates: &[Global<'m>]) -> Vec<FunctionConstant> {
        let needed = constants::needed_globals(kernel, gates, &self.constructors);
        // Apple's compiler lists what the module's one kernel declares.
        let is_needed = |declared: &&Declared<'m>| self.has_one_kernel || needed.contains(&declared.global);
        let mut constants: Vec<FunctionConstant> =
            self.constants.iter().filter(is_needed).map(|declared| declared.constant.clone()).collect();
        constants.sort_by_key(|constant| constant.index);
        constants
    }
}

/// `{ "air.max_work_group_size", i32 }`.
fn max_work_group_size(node: Metadata<'_>) -> Option<u32> {
    let operands = node.operands();
    let is_limit = operands.first()?.as_str() == Some("air.max_work_group_size");
    is_limit.then(|| operands.get(1)?.as_int()?.try_into().ok()).flatten()
}

/// One argument for each parameter, in order of parameters, and the variables that decide whether they exist.
fn arguments_of<'m>(
    function: Function<'m>,
    name: &str,
    list: Metadata<'m>,
) -> Result<(Vec<Argument>, Vec<Global<'m>>), Error> {
    let parameters = function.parameters();
    let mut arguments: Vec<Option<Argument>> = vec![None; parameters.len()];
    let mut gates = Vec::new();
    let mut indices = BTreeSet::new();
    for (place, operand) in list.operands().into_iter().enumerate() {
        let refuse = |what: String| Error::Argument { kernel: name.to_owned(), position: place, what };
        let node = operand.as_node().ok_or_else(|| refuse("no node".to_owned()))?;
        let (position, argument, gate) = argument::read(node, &parameters).map_err(refuse)?;
        gates.extend(gate);
        // Of two gated arguments at one index, at most one may exist in the end.
        let (table, range) = match argument.presence {
            Presence::Always => places_of(&argument.kind),
            Presence::Gated { .. } | Presence::Absent => ("", 0..0),
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
    let arguments = arguments.into_iter().enumerate();
    let arguments = arguments.map(|(position, argument)| argument.ok_or_else(|| missing(position)));
    Ok((arguments.collect::<Result<_, _>>()?, gates))
}

/// The argument table that an argument is bound in, and where.
fn places_of(kind: &ArgumentKind) -> (&'static str, Range<u32>) {
    match kind {
        ArgumentKind::Buffer { index, .. }
        | ArgumentKind::ArgumentBuffer { index, .. }
        | ArgumentKind::VisibleFunctionTable { index } => ("buffer", index.0..index.0 + 1),
        ArgumentKind::ThreadgroupMemory { index } => ("threadgroup", index.0..index.0 + 1),
        ArgumentKind::Texture { index, count, .. } => ("texture", index.0..index.0 + count.unwrap_or(1)),
        ArgumentKind::Sampler { index, count } => ("sampler", index.0..index.0 + count.unwrap_or(1)),
        ArgumentKind::Builtin { .. } => ("", 0..0),
    }
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
