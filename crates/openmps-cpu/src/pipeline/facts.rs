//! Facts about the generated code that the runtime needs: the exported constant.

use openmps_engine::{EngineError, KernelSignature};
use openmps_llvm::opcode::PlainOp;
use openmps_llvm::{Context, Function, Module, TargetMachine, Value};

use super::entry::Form;
use super::{internal, isolate, link_text};
use crate::abi::{ABI_VERSION, Cut, INFO_SYMBOL, INFO_WORDS, KERNEL_SYMBOL, KernelInfo, Mode, PRIVATE_BYTES_MAX};
use crate::lower::order::weak_topological_order;
use crate::vectorize::Refusal;

/// How many times a loop is taken to run, for the estimate of work.
const LOOP_TURNS: u32 = 8;
/// Stack for the frames of functions that call themselves.
const RECURSION_BYTES: u64 = 64 * 1024;

/// Facts that optimization would blur: how much one thread does, which arguments it reads and compares.
///
/// # Errors
/// A stack array whose size is not known.
pub(super) fn before_optimizing(
    module: &Module<'_>,
    form: Form,
    flat: bool,
    threadgroup_memory_bytes: u32,
) -> Result<KernelInfo, EngineError> {
    let function = module.function(form.symbol()).expect("the entry was linked");
    let mut cost = 0_u32;
    for function in module.functions().into_iter().filter(|&other| other != function) {
        cost = cost.saturating_add(u32::try_from(function.instructions().len()).unwrap_or(u32::MAX));
    }
    let (mut used_arguments, mut compared_arguments) = ([0_u32; 4], [0_u32; 4]);
    for instruction in function.instructions() {
        cost = cost.saturating_add(1);
        if let Some(position) = argument_number(&instruction.as_value().name()) {
            let value = instruction.as_value();
            let is_compared = value.users().iter().any(|user| is_comparison(*user));
            for (words, is_set) in [(&mut used_arguments, !value.is_unused()), (&mut compared_arguments, is_compared)] {
                if let Some(word) = words.get_mut(position / 32) {
                    *word |= u32::from(is_set) << (position % 32);
                }
            }
        }
    }
    // The entry's own blocks have three loops in loop mode; the kernel's loops repeat what they hold.
    let blocks = function.blocks();
    let place = |name: &str| blocks.iter().position(|block| block.name() == name);
    let own_loops = ["x.loop", "y.loop", "z.loop"].iter().filter(|name| place(name).is_some()).count();
    if loop_count(function) > own_loops {
        cost = cost.saturating_mul(LOOP_TURNS);
    }
    Ok(KernelInfo {
        version: ABI_VERSION,
        mode: match form {
            Form::Loop | Form::Step => Mode::Loop as u32,
            Form::Fiber => Mode::Fiber as u32,
        },
        flat: if flat { Cut::Anywhere } else { Cut::AsAsked } as u32,
        threadgroup_memory_bytes,
        private_bytes: 0,
        cost,
        used_arguments,
        compared_arguments,
        frame_bytes: 0,
        step_threads: 1,
        vectorized: 0,
        whole_simdgroups: 0,
        whole_rows: 0,
        refusal: 0,
        straight: 0,
    })
}

fn is_comparison(user: Value<'_>) -> bool {
    user.as_instruction().is_some_and(|instruction| instruction.int_predicate().is_some())
}

/// The number in a value's name `%a<number>` that the entry's text gives to arguments.
fn argument_number(name: &str) -> Option<usize> {
    name.strip_prefix('a')?.parse().ok()
}

/// Edges that go back in program order.
fn loop_count(function: Function<'_>) -> usize {
    let blocks = function.blocks();
    let number = |block| blocks.iter().position(|other| *other == block).unwrap_or(0);
    let successors: Vec<Vec<usize>> =
        blocks.iter().map(|block| block.successors().into_iter().map(number).collect()).collect();
    let mut places = vec![0; blocks.len()];
    for (place, node) in weak_topological_order(0, &successors).into_iter().enumerate() {
        places[node] = place;
    }
    let edges = successors.iter().enumerate().flat_map(|(from, to)| to.iter().map(move |&to| (from, to)));
    edges.filter(|&(from, to)| places[to] <= places[from]).count()
}

/// Adds what is known after optimization, and the constant itself.
///
/// # Errors
/// The kernel's arrays are too large, or their size is not known.
pub(super) fn store(
    module: &mut Module<'_>,
    machine: &TargetMachine,
    mut info: KernelInfo,
    signature: &KernelSignature,
) -> Result<(), EngineError> {
    info.private_bytes = private_bytes(module, info.frame_bytes / info.step_threads, signature)?;
    link_text(module, machine, &constant_text(info))
}

fn constant_text(info: KernelInfo) -> String {
    let words: Vec<String> = info.to_words().iter().map(|word| format!("i32 {word}")).collect();
    format!("@{INFO_SYMBOL} = constant [{INFO_WORDS} x i32] [{}]\n", words.join(", "))
}

/// A module that says why there is no vector code; its kernel does nothing and is not for use.
pub(super) fn of_refusal<'c>(
    context: &'c Context,
    machine: &TargetMachine,
    refusal: Refusal,
) -> Result<Module<'c>, EngineError> {
    let info = KernelInfo {
        version: ABI_VERSION,
        mode: Mode::Loop as u32,
        flat: Cut::AsAsked as u32,
        threadgroup_memory_bytes: 0,
        private_bytes: 0,
        cost: 0,
        used_arguments: [0; 4],
        compared_arguments: [0; 4],
        frame_bytes: 0,
        step_threads: 1,
        vectorized: 0,
        whole_simdgroups: 0,
        whole_rows: 0,
        refusal: refusal.number(),
        straight: 0,
    };
    let text = format!("define void @{KERNEL_SYMBOL}(ptr %context) {{\n  ret void\n}}\n{}", constant_text(info));
    let module = context.parse_ir(&text).map_err(internal)?;
    module.set_triple(machine.triple());
    module.set_data_layout(&machine.data_layout());
    Ok(module)
}

/// Bytes of all stack arrays, with room for the frames of functions that call themselves. Together with `frame_bytes` of one thread they
/// have a limit.
fn private_bytes(module: &Module<'_>, frame_bytes: u32, signature: &KernelSignature) -> Result<u32, EngineError> {
    let unsupported = |reason: String| EngineError::Unsupported(format!("kernel '{}': {reason}", signature.name));
    let definitions: Vec<_> = module.functions().into_iter().filter(|function| !function.is_declaration()).collect();
    let mut bytes = if isolate::has_recursion(module) { RECURSION_BYTES } else { 0 };
    let instructions = definitions.into_iter().flat_map(Function::instructions);
    for alloca in instructions.filter(|it| it.opcode().is(PlainOp::Alloca)) {
        let count = alloca.operand(0).as_const_int();
        let count = count.ok_or_else(|| unsupported("stack memory of variable size".to_owned()))?;
        let ty = alloca.allocated_type().expect("an alloca allocates a type");
        bytes = bytes.saturating_add(module.size_bytes(ty).saturating_mul(count).next_multiple_of(16));
    }
    let (limit, all) = (PRIVATE_BYTES_MAX, bytes.saturating_add(u64::from(frame_bytes)));
    if all > limit {
        return Err(unsupported(format!("{all} bytes of private memory for each thread, the limit is {limit}")));
    }
    Ok(u32::try_from(bytes).expect("at most the limit"))
}
