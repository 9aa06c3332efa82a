//! One module a kernel, as Apple's libraries have them: a module compiled from source here holds all of a file's kernels.
//!
//! Guarantees: each result is a module with that kernel, what it reaches, and one node in `!air.kernel`; names stay.
//! Left out: function constants that other kernels use stay where a constructor mentions them.

use std::collections::HashSet;

use openmps_engine::VerifiedAir;
use openmps_llvm::{Context, Function, Global, Instruction, Metadata, Module, Value};

use crate::error::Error;

/// The list of kernels.
const KERNELS: &str = "air.kernel";
/// The list of function constants.
const CONSTANTS: &str = "air.function_constants";

/// The modules of `kernels`, in their order.
///
/// # Errors
/// [`Error::Kernel`] when the module has no kernel of such a name.
pub fn split(air: &VerifiedAir, kernels: &[String]) -> Result<Vec<VerifiedAir>, Error> {
    let context = Context::new();
    let module = context.parse_bitcode(air.bitcode())?;
    let nodes = module.named_metadata(KERNELS);
    let node = |kernel: &String| {
        let is_it = |node: &Metadata<'_>| kernel_of(*node).is_some_and(|function| function.name() == *kernel);
        let missing = || Error::Kernel { kernel: format!("'{kernel}'"), what: "no such kernel".to_owned() };
        nodes.iter().copied().find(is_it).ok_or_else(missing)
    };
    kernels.iter().map(|kernel| only(&module, node(kernel)?)).collect()
}

/// A module with the kernel of `node` and what it reaches.
fn only(module: &Module<'_>, node: Metadata<'_>) -> Result<VerifiedAir, Error> {
    // Copies have the lists of the module at that time.
    set_list(module, KERNELS, &[node]);
    let kernel = kernel_of(node).expect("the node was found by its function");
    let mut part = module.duplicate_definitions(&reachable_definitions(module, kernel));
    let is_left_over = |function: &Function<'_>| function.is_declaration() && function.as_value().is_unused();
    let functions = part.functions().into_iter().filter(is_left_over).map(Function::name);
    for name in functions.collect::<Vec<_>>() {
        part.delete_function(&name);
    }
    let globals = part.globals().into_iter().filter(|global| global.is_declaration() && global.as_value().is_unused());
    for name in globals.map(Global::name).collect::<Vec<_>>() {
        part.delete_global(&name);
    }
    // The nodes of deleted constants name nothing.
    let constants = part
        .named_metadata(CONSTANTS)
        .into_iter()
        .filter(|node| node.operands().first().is_some_and(|operand| operand.as_value().is_some()));
    set_list(&part, CONSTANTS, &constants.collect::<Vec<_>>());
    part.verify()?;
    Ok(VerifiedAir::from_verifier(part.write_bitcode().as_bytes()))
}

/// What `kernel` and the module's own lists (constructors, symbols that must stay) reach, themselves included.
fn reachable_definitions<'m>(module: &'m Module<'_>, kernel: Function<'m>) -> Vec<Value<'m>> {
    let is_list = |global: &Global<'_>| global.name().starts_with("llvm.");
    let mut pending: Vec<Value<'m>> = module.globals().into_iter().filter(is_list).map(Global::as_value).collect();
    pending.push(kernel.as_value());
    let mut seen: HashSet<Value<'m>> = pending.iter().copied().collect();
    let mut found = Vec::new();
    while let Some(value) = pending.pop() {
        let mentioned = match value.as_function() {
            Some(function) => function.instructions().into_iter().flat_map(Instruction::operands).collect(),
            None => value.const_operands(),
        };
        if value.as_function().is_some() || value.as_global().is_some() {
            found.push(value);
        }
        pending.extend(mentioned.into_iter().filter(|value| value.is_constant() && seen.insert(*value)));
    }
    found
}

fn kernel_of(node: Metadata<'_>) -> Option<Function<'_>> {
    node.operands().first()?.as_value()?.as_function()
}

/// Makes `nodes` the list `name`, which stays absent where it would be empty.
fn set_list(module: &Module<'_>, name: &str, nodes: &[Metadata<'_>]) {
    module.clear_named_metadata(name);
    nodes.iter().for_each(|node| module.add_named_metadata(name, *node));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{reflect, verify};

    const TWO: &str = r#"
        @table = internal addrspace(2) constant [2 x float] [float 1.0, float 2.0]
        @tile = internal addrspace(3) global [4 x float] undef
        declare void @air.wg.barrier(i32, i32)
        define float @helper(i64 %i) {
          %p = getelementptr [2 x float], ptr addrspace(2) @table, i64 0, i64 %i
          %v = load float, ptr addrspace(2) %p
          ret float %v
        }
        define void @first(ptr addrspace(1) %out) {
          %v = call float @helper(i64 1)
          store float %v, ptr addrspace(1) %out
          ret void
        }
        define void @second(i32 %i) {
          store float 0.0, ptr addrspace(3) @tile
          call void @air.wg.barrier(i32 2, i32 1)
          ret void
        }
        !air.kernel = !{!0, !1}
        !0 = !{ptr @first, !2, !3}
        !1 = !{ptr @second, !2, !4}
        !2 = !{}
        !3 = !{!5}
        !4 = !{!6}
        !5 = !{i32 0, !"air.buffer", !"air.location_index", i32 3, i32 1, !"air.read_write", !"air.address_space", i32 1, !"air.arg_type_size", i32 4, !"air.arg_type_align_size", i32 4, !"air.arg_type_name", !"float", !"air.arg_name", !"out"}
        !6 = !{i32 0, !"air.thread_position_in_grid", !"air.arg_type_name", !"uint", !"air.arg_name", !"i"}
    "#;

    fn two() -> VerifiedAir {
        let context = Context::new();
        verify(context.parse_ir(TWO).unwrap().write_bitcode().as_bytes()).unwrap()
    }

    fn names(kernels: &[&str]) -> Vec<String> {
        kernels.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn each_module_has_its_kernel_and_what_it_reaches() {
        let whole = two();
        let modules = split(&whole, &names(&["second", "first"])).unwrap();
        let symbols = |air: &VerifiedAir| {
            let context = Context::new();
            let module = context.parse_bitcode(air.bitcode()).unwrap();
            let functions = module.functions().into_iter().map(|function| function.name());
            functions.chain(module.globals().into_iter().map(|global| global.name())).collect::<Vec<_>>()
        };
        assert_eq!(symbols(&modules[0]), ["air.wg.barrier", "second", "tile"]);
        assert_eq!(symbols(&modules[1]), ["helper", "first", "table"]);
        // The same kernels as before, one each, and the modules are verified again.
        let all = reflect(&whole).unwrap();
        for (air, expected) in modules.iter().zip([&all[1], &all[0]]) {
            assert_eq!(reflect(air).unwrap(), std::slice::from_ref(expected));
            assert_eq!(verify(air.bitcode()).as_ref(), Ok(air));
        }
    }

    #[test]
    fn a_name_that_is_no_kernel_is_an_error() {
        for name in ["helper", "third", ""] {
            let error = split(&two(), &names(&["first", name])).unwrap_err();
            assert_eq!(error.to_string(), format!("kernel '{name}': no such kernel"));
        }
    }
}
