//! Reduces a library to one kernel and what it calls, and removes what must not reach the optimizer:
//! fast-math promises that kernels break (they compare with infinity), ranges on loads of host memory, alias promises that in-place
//! operations break, attributes that speak of another target.

use std::collections::{BTreeMap, BTreeSet};

use openmps_engine::{EngineError, KernelSignature};
use openmps_llvm::{
    AttributePlace, CastOp, FastMath, Function, Instruction, Linkage, Module, Opcode, PassOptions, TargetMachine,
    TypeKind,
};

use super::internal;
use super::optimize::ORDINARY_INSTRUCTIONS_MAX;
use crate::split::MARKER;

/// What the kernel is called from here on, whatever its host name.
const KERNEL_NAME: &str = "openmps_air_kernel";
/// Least size of a function that can stay out of line.
const SHARED_INSTRUCTIONS_MIN: usize = 200;
/// What [`super::entry::ATTRIBUTES`] says of the function around the kernel, for those that stay beside it.
const SUBNORMALS: (&str, &str) = ("denormal-fp-math-f32", "preserve-sign,preserve-sign");
/// Function attributes of the front end's target, and floating-point promises.
const STRING_ATTRIBUTES: [&str; 14] = [
    "approx-func-fp-math",
    "denormal-fp-math",
    "denormal-fp-math-f32",
    "frame-pointer",
    "min-legal-vector-width",
    "no-builtins",
    "no-infs-fp-math",
    "no-nans-fp-math",
    "no-signed-zeros-fp-math",
    "probe-stack",
    "stack-protector-buffer-size",
    "target-cpu",
    "target-features",
    "unsafe-fp-math",
];
const ENUM_ATTRIBUTES: [&str; 9] =
    ["alwaysinline", "noinline", "optnone", "optsize", "minsize", "ssp", "sspstrong", "sspreq", "uwtable"];
/// Promises about memory that in-place operations and foreign host data break.
const METADATA: [&str; 5] = ["alias.scope", "noalias", "range", "tbaa", "tbaa.struct"];

/// Leaves only the kernel `signature.name` and what it reaches. Returns the kernel's new symbol.
///
/// # Errors
/// There is no such kernel, its parameters are not the signature's, or it depends on function constants.
pub(super) fn run(
    module: &mut Module<'_>,
    machine: &TargetMachine,
    signature: &KernelSignature,
) -> Result<String, EngineError> {
    let name = rename_kernel(module, signature)?;
    if let Some(constant) = signature.constants.first() {
        let reason = format!("function constant '{}' (index {}) has no value", constant.name, constant.index);
        return Err(EngineError::Invalid(format!("kernel '{}': {reason}", signature.name)));
    }
    // Constructors that are left compute what depends on function constants, which this kernel does not.
    for list in ["llvm.used", "llvm.compiler.used", "llvm.global_ctors"] {
        module.delete_global(list);
    }
    module.set_triple(machine.triple());
    module.set_data_layout(&machine.data_layout());
    hide_all_but(module, &name);
    module.run_passes("globaldce", Some(machine), PassOptions::default()).map_err(internal)?;
    for function in module.functions() {
        clean_attributes(function);
        for instruction in function.instructions() {
            clean_instruction(module, instruction);
        }
    }
    Ok(name)
}

fn rename_kernel(module: &Module<'_>, signature: &KernelSignature) -> Result<String, EngineError> {
    let no_kernel = || EngineError::NoSuchKernel(signature.name.clone());
    let kernel = module.function(&signature.name).filter(|kernel| !kernel.is_declaration()).ok_or_else(no_kernel)?;
    let (has, expected) = (kernel.parameters().len(), signature.arguments.len());
    if has != expected {
        let reason = format!("the function has {has} parameters, its signature {expected}");
        return Err(EngineError::Internal(format!("kernel '{}': {reason}", signature.name)));
    }
    kernel.as_value().set_name(KERNEL_NAME);
    Ok(kernel.name())
}

/// Gives every definition but `name` internal linkage, so that unused ones disappear.
pub(super) fn hide_all_but(module: &Module<'_>, name: &str) {
    for function in module.functions().into_iter().filter(|function| !function.is_declaration()) {
        let linkage = if function.name() == name { Linkage::External } else { Linkage::Internal };
        function.set_linkage(linkage);
    }
    for global in module.globals().into_iter().filter(|global| !global.is_declaration()) {
        if !global.name().starts_with("llvm.") {
            global.set_linkage(Linkage::Internal);
        }
    }
}

/// Asks for every definition but `name` to be inlined, except those that call themselves on some way (Metal has no recursion,
/// but its compiler accepts functions whose calls of each other end, and so do PyTorch's headers), and, with `keeps_large`, large ones
/// that are called in several places when the code would be large: a kernel that computes four elements a thread has four copies otherwise.
pub(super) fn inline_all_but(module: &Module<'_>, name: &str, keeps_large: bool) {
    let callees = callees_of_definitions(module);
    let mut sizes = BTreeMap::new();
    let total = module.function(name).map_or(0, |function| expanded_size(function, &callees, &mut sizes));
    let mut sites = BTreeMap::<Function<'_>, usize>::new();
    for &callee in callees.values().flatten() {
        *sites.entry(callee).or_default() += 1;
    }
    for &function in callees.keys().filter(|function| function.name() != name) {
        let is_shared = sites.get(&function).is_some_and(|&count| count > 1);
        let size = expanded_size(function, &callees, &mut sizes);
        let stays = keeps_large && total > ORDINARY_INSTRUCTIONS_MAX && is_shared && size >= SHARED_INSTRUCTIONS_MIN;
        function.remove_attribute(AttributePlace::Function, "alwaysinline");
        if stays || reaches_itself(function, &callees) {
            let (key, value) = SUBNORMALS;
            function.add_string_attribute(AttributePlace::Function, key, value);
            function.add_attribute(AttributePlace::Function, "noinline", 0);
        } else {
            function.add_attribute(AttributePlace::Function, "alwaysinline", 0);
        }
    }
}

/// Instructions of `function` with everything inlined that it calls; functions that call themselves count once.
fn expanded_size<'m>(
    function: Function<'m>,
    callees: &BTreeMap<Function<'m>, Vec<Function<'m>>>,
    sizes: &mut BTreeMap<Function<'m>, usize>,
) -> usize {
    if let Some(&size) = sizes.get(&function) {
        return size;
    }
    let own = function.instructions().len();
    sizes.insert(function, own);
    let mut size = own;
    for &callee in callees.get(&function).into_iter().flatten() {
        size = size.saturating_add(expanded_size(callee, callees, sizes));
    }
    sizes.insert(function, size);
    size
}

/// Whether some definition calls itself on some way.
pub(super) fn has_recursion(module: &Module<'_>) -> bool {
    let callees = callees_of_definitions(module);
    callees.keys().any(|&function| reaches_itself(function, &callees))
}

fn callees_of_definitions<'m>(module: &'m Module<'_>) -> BTreeMap<Function<'m>, Vec<Function<'m>>> {
    let definitions = module.functions().into_iter().filter(|function| !function.is_declaration());
    definitions.map(|function| (function, callees(function))).collect()
}

/// Whether a function that waits at barriers calls itself, so that it is not inlined.
pub(super) fn waits_in_recursion(module: &Module<'_>) -> bool {
    let callees = callees_of_definitions(module);
    let waits = |function: &Function<'_>| callees[function].iter().any(|callee| callee.name() == MARKER);
    let waiting: Vec<Function<'_>> = callees.keys().copied().filter(waits).collect();
    waiting.into_iter().any(|function| {
        let is_caller = |caller: &&Function<'_>| reaches(**caller, function, &callees) || **caller == function;
        callees.keys().filter(is_caller).any(|&caller| reaches_itself(caller, &callees))
    })
}

fn callees(function: Function<'_>) -> Vec<Function<'_>> {
    function.calls().into_iter().filter_map(Instruction::called_function).collect()
}

fn reaches_itself<'m>(start: Function<'m>, callees: &BTreeMap<Function<'m>, Vec<Function<'m>>>) -> bool {
    reaches(start, start, callees)
}

fn reaches<'m>(start: Function<'m>, end: Function<'m>, callees: &BTreeMap<Function<'m>, Vec<Function<'m>>>) -> bool {
    let mut seen = BTreeSet::new();
    let mut open = vec![start];
    while let Some(function) = open.pop() {
        for &callee in callees.get(&function).into_iter().flatten() {
            if callee == end {
                return true;
            }
            if seen.insert(callee) {
                open.push(callee);
            }
        }
    }
    false
}

fn clean_attributes(function: Function<'_>) {
    for name in STRING_ATTRIBUTES {
        function.remove_string_attribute(AttributePlace::Function, name);
    }
    for name in ENUM_ATTRIBUTES {
        function.remove_attribute(AttributePlace::Function, name);
    }
    for index in 0..u32::try_from(function.parameters().len()).unwrap_or(0) {
        function.remove_attribute(AttributePlace::Parameter(index), "noalias");
        function.remove_attribute(AttributePlace::Parameter(index), "dereferenceable");
    }
}

fn clean_instruction(module: &Module<'_>, instruction: Instruction<'_>) {
    for name in METADATA {
        instruction.set_metadata(name, None);
    }
    if instruction.can_have_fast_math() {
        let promises = FastMath::NNAN.with(FastMath::NINF);
        instruction.set_fast_math(instruction.fast_math().without(promises));
    }
    match (instruction.opcode(), saturating_conversion(instruction)) {
        (Opcode::Cast(CastOp::FpToSi), _) => saturate(module, instruction, "llvm.fptosi.sat"),
        (Opcode::Cast(CastOp::FpToUi), _) => saturate(module, instruction, "llvm.fptoui.sat"),
        (_, Some(name)) => saturate(module, instruction, name),
        (_, None) => {}
    }
}

/// The intrinsic that this call is one of, if it converts floats to integers and saturates.
fn saturating_conversion(instruction: Instruction<'_>) -> Option<&'static str> {
    let name = instruction.called_function()?.name();
    ["llvm.fptosi.sat", "llvm.fptoui.sat"].into_iter().find(|family| name.starts_with(family))
}

/// A conversion out of range is undefined in LLVM; on the hardware it saturates, and NaN becomes 0. Half and bfloat go through
/// float: for CPUs with half arithmetic LLVM 22 makes the least integer, not 0, of a NaN that is converted to 16 bits.
fn saturate<'m>(module: &'m Module<'_>, instruction: Instruction<'m>, name: &str) {
    let builder = module.builder();
    builder.position_before(instruction);
    let mut source = instruction.operand(0);
    if matches!(source.ty().scalar().kind(), TypeKind::Half | TypeKind::BFloat) {
        let (float, lanes) = (module.context().float(), source.ty().lanes());
        source = builder.fp_ext(source, if lanes == 1 { float } else { module.context().vector(float, lanes) });
    }
    let result = builder.intrinsic(name, &[instruction.ty(), source.ty()], &[source]);
    instruction.as_value().replace_all_uses_with(result.as_value());
    module.erase(instruction);
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use openmps_llvm::Context;

    use super::*;

    /// Whether `@large` (300 instructions) and `@small` (2) stay out of line beside a kernel that calls each `calls` times.
    fn stay(calls: usize, keeps_large: bool) -> [bool; 2] {
        let mut text = String::from("define float @small(float %x) {\n  %y = fadd float %x, %x\n  ret float %y\n}\n");
        text.push_str("define float @large(float %v0) {\n");
        for step in 1..300 {
            let _ = writeln!(text, "  %v{step} = fadd float %v{}, %v0", step - 1);
        }
        text.push_str("  ret float %v299\n}\ndefine float @k(float %r0) {\n");
        for call in 0..2 * calls {
            let callee = if call % 2 == 0 { "large" } else { "small" };
            let _ = writeln!(text, "  %r{} = call float @{callee}(float %r{call})", call + 1);
        }
        let _ = writeln!(text, "  ret float %r{}\n}}", 2 * calls);
        let context = Context::new();
        let module = context.parse_ir(&text).unwrap();
        inline_all_but(&module, "k", keeps_large);
        ["large", "small"].map(|name| {
            let function = module.function(name).unwrap();
            let has = |attribute| function.attribute(AttributePlace::Function, attribute).is_some();
            let (key, value) = SUBNORMALS;
            let flushes = function.string_attribute(AttributePlace::Function, key).as_deref() == Some(value);
            assert_eq!((has("alwaysinline"), flushes), (!has("noinline"), has("noinline")), "{name}");
            has("noinline")
        })
    }

    #[test]
    fn large_functions_stay_where_they_would_be_copied_into_large_code() {
        assert_eq!(stay(20, true), [true, false]);
        assert_eq!(stay(20, false), [false, false]);
        assert_eq!(stay(3, true), [false, false]);
    }
}
