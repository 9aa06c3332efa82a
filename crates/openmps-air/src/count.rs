//! A kernel that counts what it does, by line of its source.
//!
//! All functions are put into the kernel, variables into registers; then each straight piece adds one to its counter, which
//! each thread does for itself, so that the counts are those of the threads and not of an engine's vectors. What a piece does is
//! read from its instructions before, with their debug locations.
//!
//! Guarantees: the module computes what the kernel computes, and passes [`verify`](crate::verify). Left out: functions that are
//! called through tables, which count nothing; the result says that there are some.

use std::collections::BTreeMap;

use openmps_engine::{AddressSpace, ArgumentKind, CountingAir, KernelSignature, LineWork, VerifiedAir};
use openmps_llvm::{
    AtomicOp, AttributePlace, BinaryOp, Block, Context, Function, Instruction, Metadata, MetadataOperand, Module,
    Opcode, Ordering, PassOptions, PlainOp, Type, TypeKind,
};

use crate::error::Error;
use crate::{reflect, split};

/// The list of kernels.
const KERNELS: &str = "air.kernel";
/// A kernel takes at most this many buffers.
const BUFFERS_MAX: u32 = 31;
/// A thread's share of a product of two 8 by 8 matrices: 512 multiplications and additions over 32 threads.
const MATRIX_OPERATIONS: u64 = 2 * 8 * 8 * 8 / 32;

/// The counting form of `kernel` of `air`, whose function constants have their values.
///
/// # Errors
/// [`Error::Kernel`] when there is no such kernel, or all its buffer indices are taken.
pub fn count(air: &VerifiedAir, kernel: &str) -> Result<CountingAir, Error> {
    let refuse = |what: &str| Error::Kernel { kernel: format!("'{kernel}'"), what: what.to_owned() };
    let signature = reflect(air)?.into_iter().find(|signature| signature.name == kernel);
    let signature = signature.ok_or_else(|| refuse("no such kernel"))?;
    if !signature.constants.is_empty() {
        return Err(refuse("its function constants have no values"));
    }
    let buffer = free_buffer(&signature).ok_or_else(|| refuse("all its buffer indices are taken"))?;
    let alone = split(air, &[kernel.to_owned()])?.pop().ok_or_else(|| refuse("no such kernel"))?;
    let context = Context::new();
    let mut module = context.parse_bitcode(alone.bitcode())?;
    put_together(&mut module, kernel)?;
    let is_whole = module.function(kernel).is_some_and(calls_nothing_else);
    let find =
        |module: &Module<'_>| module.function(kernel).map(|function| function.blocks().into_iter().map(work).collect());
    let blocks: Vec<Vec<LineWork>> = find(&module).ok_or_else(|| refuse("no such kernel"))?;
    module.strip_debug_information();
    instrument(&module, kernel, buffer);
    module.verify()?;
    let air = VerifiedAir::from_verifier(module.write_bitcode().as_bytes());
    Ok(CountingAir { air, buffer, blocks, is_whole })
}

/// The lowest buffer index that the kernel does not use.
fn free_buffer(signature: &KernelSignature) -> Option<u32> {
    let used: Vec<u32> = signature.arguments.iter().filter_map(|argument| buffer_index(&argument.kind)).collect();
    (0..BUFFERS_MAX).find(|index| !used.contains(index))
}

fn buffer_index(kind: &ArgumentKind) -> Option<u32> {
    match kind {
        ArgumentKind::Buffer { index, .. }
        | ArgumentKind::ArgumentBuffer { index, .. }
        | ArgumentKind::VisibleFunctionTable { index } => Some(index.0),
        ArgumentKind::ThreadgroupMemory { .. }
        | ArgumentKind::Texture { .. }
        | ArgumentKind::Sampler { .. }
        | ArgumentKind::Builtin { .. } => None,
    }
}

/// Puts every function that is called by name into the kernel, and variables into registers.
fn put_together(module: &mut Module<'_>, kernel: &str) -> Result<(), Error> {
    // Of what other kernels' function constants need nothing is left.
    for list in ["llvm.used", "llvm.compiler.used", "llvm.global_ctors"] {
        module.delete_global(list);
    }
    module.clear_named_metadata("air.function_constants");
    for function in module.functions() {
        if !function.is_declaration() && function.name() != kernel {
            function.remove_attribute(AttributePlace::Function, "noinline");
            function.remove_attribute(AttributePlace::Function, "optnone");
            function.add_attribute(AttributePlace::Function, "alwaysinline", 0);
        }
    }
    module.run_passes("always-inline,globaldce,function(sroa)", None, PassOptions::default())?;
    Ok(())
}

/// Whether all that the kernel still calls are AIR's and LLVM's functions.
fn calls_nothing_else(kernel: Function<'_>) -> bool {
    kernel.calls().into_iter().all(|call| call.called_function().is_some_and(Function::is_declaration))
}

/// What one run of a block does.
fn work(block: Block<'_>) -> Vec<LineWork> {
    let mut lines: BTreeMap<u32, LineWork> = BTreeMap::new();
    for instruction in block.instructions() {
        let line = instruction.debug_line().unwrap_or(0);
        let one = of_instruction(instruction);
        lines.entry(line).or_insert(LineWork { line, ..LineWork::default() }).add(&one, 1);
    }
    lines.into_values().filter(|work| work.instructions > 0).collect()
}

fn of_instruction(instruction: Instruction<'_>) -> LineWork {
    let one = LineWork { instructions: 1, ..LineWork::default() };
    let float = |count| LineWork { float_operations: count, ..one };
    match instruction.opcode() {
        Opcode::Binary(BinaryOp::FAdd | BinaryOp::FSub | BinaryOp::FMul | BinaryOp::FDiv | BinaryOp::FRem)
        | Opcode::Plain(PlainOp::FNeg) => float(instruction.ty().lanes().into()),
        Opcode::Plain(PlainOp::Load) => memory(one, instruction.operand(0).ty(), false),
        Opcode::Plain(PlainOp::Store) => memory(one, instruction.operand(1).ty(), true),
        Opcode::Plain(PlainOp::AtomicRmw | PlainOp::AtomicCmpXchg) => LineWork { atomics: 1, ..one },
        Opcode::Plain(PlainOp::Call) => of_call(instruction, one),
        Opcode::Plain(PlainOp::Phi | PlainOp::Alloca | PlainOp::Br | PlainOp::Ret) => LineWork::default(),
        Opcode::Plain(_) | Opcode::Binary(_) | Opcode::Cast(_) => one,
    }
}

fn memory(one: LineWork, pointer: Type<'_>, is_store: bool) -> LineWork {
    match pointer.address_space() {
        Some(space) if space == AddressSpace::Threadgroup as u32 => LineWork { threadgroup: 1, ..one },
        Some(0) | None => one,
        Some(_) if is_store => LineWork { stores: 1, ..one },
        Some(_) => LineWork { loads: 1, ..one },
    }
}

fn of_call(call: Instruction<'_>, one: LineWork) -> LineWork {
    let Some(function) = call.called_function() else { return one };
    let name = function.name();
    let Some(base) = name.strip_prefix("air.") else {
        return if name.starts_with("llvm.lifetime") || name.starts_with("llvm.dbg") {
            LineWork::default()
        } else if name.starts_with("llvm.memcpy") || name.starts_with("llvm.memset") {
            one
        } else {
            LineWork { float_operations: float_operations(name.trim_start_matches("llvm."), call.ty()), ..one }
        };
    };
    let starts = |words: &[&str]| words.iter().any(|word| base.starts_with(word));
    if starts(&["atomic."]) {
        LineWork { atomics: 1, ..one }
    } else if starts(&["wg.barrier", "simdgroup.barrier"]) {
        LineWork { barriers: 1, ..one }
    } else if starts(&[
        "read_texture",
        "sample_texture",
        "gather_texture",
        "read_depth",
        "sample_depth",
        "gather_depth",
    ]) {
        LineWork { loads: 1, ..one }
    } else if starts(&["write_texture"]) {
        LineWork { stores: 1, ..one }
    } else if starts(&["simdgroup_matrix"]) {
        of_matrix(base, call, one)
    } else {
        LineWork { float_operations: float_operations(base, call.ty()), ..one }
    }
}

/// Functions over the matrices of a SIMD-group.
fn of_matrix(base: &str, call: Instruction<'_>, one: LineWork) -> LineWork {
    if base.contains("multiply_accumulate") {
        return LineWork { float_operations: MATRIX_OPERATIONS, ..one };
    }
    let (is_load, is_store) = (base.contains("load"), base.contains("store"));
    let pointer = call.arguments().into_iter().map(|argument| argument.ty()).find(|ty| ty.address_space().is_some());
    match pointer {
        Some(pointer) if is_load || is_store => memory(one, pointer, is_store),
        _ => one,
    }
}

/// Operations of a function on floats: none for conversions and what moves values between lanes.
fn float_operations(base: &str, ty: Type<'_>) -> u64 {
    let is_float = matches!(ty.scalar().kind(), TypeKind::Half | TypeKind::BFloat | TypeKind::Float | TypeKind::Double);
    let moves = ["convert.", "simd_shuffle", "simd_broadcast", "quad_shuffle", "quad_broadcast", "unpack", "pack"];
    if !is_float || moves.iter().any(|word| base.starts_with(word)) || base.contains("load") {
        return 0;
    }
    let each = if base.starts_with("fma") { 2 } else { 1 };
    each * u64::from(ty.lanes())
}

/// Gives the kernel a buffer of counters, and each block an addition to its own.
fn instrument(module: &Module<'_>, kernel: &str, buffer: u32) {
    let context = module.context();
    let function = module.function(kernel).expect("the kernel was found by its name");
    let position = u64::try_from(function.parameters().len()).expect("a few parameters");
    let function = function.with_parameter(context.pointer(AddressSpace::Device as u32));
    let counters = function.parameters().pop().expect("the parameter that was added");
    let builder = module.builder();
    for (number, block) in (0u64..).zip(function.blocks()) {
        let Some(first) = block.first_non_phi() else { continue };
        builder.position_before(after_variables(first));
        let place = builder.byte_offset(counters, 8 * number);
        let _ = builder.atomic_rmw(AtomicOp::Add, place, context.i64().const_int(1), Ordering::Monotonic);
    }
    describe(module, function, position, buffer);
}

/// The first instruction from `first` on that makes no variable: engines look for these at a function's start.
fn after_variables(first: Instruction<'_>) -> Instruction<'_> {
    let is_variable = |instruction: &Instruction<'_>| instruction.opcode() == Opcode::Plain(PlainOp::Alloca);
    std::iter::successors(Some(first), |instruction| instruction.next())
        .find(|instruction| !is_variable(instruction))
        .unwrap_or(first)
}

/// Adds the buffer to the kernel's description.
fn describe(module: &Module<'_>, function: Function<'_>, position: u64, buffer: u32) {
    let context = module.context();
    let number = |value: u64| MetadataOperand::Value(context.i32().const_int(value));
    let text = |text: &str| MetadataOperand::String(text.to_owned());
    let argument = context.metadata_node(&[
        number(position),
        text("air.buffer"),
        text("air.location_index"),
        number(buffer.into()),
        number(1),
        text("air.read_write"),
        text("air.address_space"),
        number(AddressSpace::Device as u64),
        text("air.arg_type_size"),
        number(8),
        text("air.arg_type_align_size"),
        number(8),
        text("air.arg_type_name"),
        text("ulong"),
        text("air.arg_name"),
        text("counters"),
    ]);
    let nodes: Vec<Metadata<'_>> = module.named_metadata(KERNELS);
    module.clear_named_metadata(KERNELS);
    for node in nodes {
        let mut operands = node.operands();
        if let Some(arguments) = operands.get(2).and_then(MetadataOperand::as_node) {
            let list = [arguments.operands(), vec![MetadataOperand::Node(argument)]].concat();
            operands[2] = MetadataOperand::Node(context.metadata_node(&list));
        }
        operands[0] = MetadataOperand::Value(function.as_value());
        module.add_named_metadata(KERNELS, context.metadata_node(&operands));
    }
}

#[cfg(test)]
mod tests;
