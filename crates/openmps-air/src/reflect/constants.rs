//! Function constants of a module, from `!air.function_constants`, and which of them a kernel depends on.
//!
//! A node is `{ global, "type", "name", i32 index, i1 required }`. The global is an external initializer, which a constructor
//! copies into the variable that code reads.

use std::collections::HashSet;

use openmps_engine::{ConstantType, FunctionConstant};
use openmps_llvm::{Function, Global, Metadata, Module};

use crate::constructors;
use crate::error::Error;
use crate::reach::reachable_globals;

/// A function constant with the variable that holds the host's value.
pub(crate) struct Declared<'m> {
    pub(crate) global: Global<'m>,
    pub(crate) constant: FunctionConstant,
}

/// Every function constant of the module that has no value yet, in the list's order.
///
/// # Errors
/// [`Error::Constant`] for a node that is not as it should be.
pub(crate) fn declared<'m>(module: &'m Module<'_>) -> Result<Vec<Declared<'m>>, Error> {
    let nodes = module.named_metadata("air.function_constants");
    let mut indices = HashSet::new();
    let read = |(number, node)| {
        let declared = read(node).map_err(|what| Error::Constant { constant: format!("number {number}"), what })?;
        let FunctionConstant { name, index, .. } = &declared.constant;
        if !indices.insert(*index) {
            let what = format!("index {index} has another function constant already");
            return Err(Error::Constant { constant: format!("'{name}'"), what });
        }
        Ok(declared)
    };
    let all: Vec<Declared<'m>> = nodes.into_iter().enumerate().map(read).collect::<Result<_, _>>()?;
    Ok(all.into_iter().filter(|declared| declared.global.is_externally_initialized()).collect())
}

fn read(node: Metadata<'_>) -> Result<Declared<'_>, String> {
    let operands = node.operands();
    let [global, ty, name, index, required] = operands.as_slice() else {
        return Err(format!("its node has {} operands, expected 5", operands.len()));
    };
    let global = global.as_value().and_then(|value| value.as_global()).ok_or("the first operand is no variable")?;
    let ty = ty.as_str().ok_or("the type is no string")?;
    let ty = ConstantType::from_name(ty).ok_or_else(|| format!("type '{ty}' is none of a function constant"))?;
    let name = name.as_str().ok_or("the name is no string")?.to_owned();
    let index = index.as_int().and_then(|index| u16::try_from(index).ok()).ok_or("the index is no 16-bit number")?;
    let required = required.as_int().ok_or("whether it is required is no truth value")? != 0;
    Ok(Declared { global, constant: FunctionConstant { name, index, ty, required } })
}

/// The variables that `kernel` depends on: those that it reads, those that decide whether its arguments exist (`gates`), and
/// those from which constructors compute them.
pub(super) fn needed_globals<'m>(
    kernel: Function<'m>,
    gates: &[Global<'m>],
    constructors: &[Function<'m>],
) -> HashSet<Global<'m>> {
    let mut needed = reachable_globals(kernel);
    needed.extend(gates);
    let mut open: Vec<(HashSet<Global<'m>>, Function<'m>)> =
        constructors.iter().map(|constructor| (constructors::written(*constructor), *constructor)).collect();
    // Each turn uses up a constructor, or is the last one.
    while let Some(place) = open.iter().position(|(written, _)| !written.is_disjoint(&needed)) {
        let (_, constructor) = open.swap_remove(place);
        needed.extend(reachable_globals(constructor));
    }
    needed
}
