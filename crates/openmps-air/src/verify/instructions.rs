//! The instructions of one function.

use openmps_llvm::function::{C_CALL, FAST_CALL};
use openmps_llvm::{CastOp, Function, Instruction, Module, Opcode, PlainOp, Type, TypeKind, Value};

use crate::error::{Error, Quotation};
use crate::intrinsics::TensorOperation;
use crate::limits;

/// Reads a table of visible functions.
const TABLE_ENTRY: &str = "air.get_function_pointer_visible_function_table";

/// Checks every instruction and returns how many there are.
pub(super) fn check(module: &Module<'_>, function: Function<'_>) -> Result<usize, Error> {
    let name = function.name();
    let place = |what: &str, instruction: Instruction<'_>| Error::Instruction {
        function: name.clone(),
        what: what.to_owned(),
        instruction: Quotation::new(&instruction),
    };
    if let Some(what) = function_refusal(function) {
        return Err(Error::Function { name, what: what.to_owned() });
    }
    let instructions = function.instructions();
    let mut alloca_bytes: u64 = 0;
    for instruction in &instructions {
        if let Some(what) = refusal(module, *instruction) {
            return Err(place(what, *instruction));
        }
        if instruction.opcode().is(PlainOp::Alloca) && !is_tensor_storage(module, *instruction) {
            let size_bytes = alloca_size_bytes(module, *instruction)
                .ok_or_else(|| place("stack memory of a size that is not constant", *instruction))?;
            alloca_bytes = alloca_bytes.saturating_add(size_bytes);
        }
    }
    if alloca_bytes > limits::ALLOCA_BYTES_MAX {
        let what = format!("stack memory of function '{name}' in bytes");
        return Err(Error::TooLarge { what, given: alloca_bytes, limit: limits::ALLOCA_BYTES_MAX });
    }
    Ok(instructions.len())
}

/// What is wrong with a function beside its body.
fn function_refusal(function: Function<'_>) -> Option<&'static str> {
    if function.value_type().is_variadic() {
        Some("takes variable arguments")
    } else if ![C_CALL, FAST_CALL].contains(&function.call_convention()) {
        Some("has a calling convention other than LLVM's ccc and fastcc")
    } else if function.garbage_collector().is_some() {
        Some("has a garbage collector")
    } else if function.has_data() {
        Some("has data before or at the start of its code")
    } else if function.name() == super::RECURSION_TRAP {
        Some("defines what only the runtime may")
    } else {
        None
    }
}

/// What is wrong with an instruction.
fn refusal(module: &Module<'_>, instruction: Instruction<'_>) -> Option<&'static str> {
    let operands = instruction.operands();
    let types = std::iter::once(instruction.ty()).chain(operands.iter().map(|operand| operand.ty()));
    if let Some(what) = types.into_iter().find_map(|ty| type_refusal(module, ty)) {
        return Some(what);
    }
    let Opcode::Plain(op) = instruction.opcode() else { return None };
    match op {
        PlainOp::IndirectBr => Some("an indirect jump"),
        PlainOp::CallBr => Some("a call with several returns"),
        PlainOp::Invoke
        | PlainOp::Resume
        | PlainOp::LandingPad
        | PlainOp::CleanupRet
        | PlainOp::CatchRet
        | PlainOp::CatchPad
        | PlainOp::CleanupPad
        | PlainOp::CatchSwitch => Some("exception handling"),
        PlainOp::VaArg => Some("variable arguments"),
        PlainOp::UserOp1 | PlainOp::UserOp2 => Some("an instruction that LLVM keeps for itself"),
        PlainOp::Call => call_refusal(instruction),
        PlainOp::Ret
        | PlainOp::Br
        | PlainOp::Switch
        | PlainOp::Unreachable
        | PlainOp::FNeg
        | PlainOp::Alloca
        | PlainOp::Load
        | PlainOp::Store
        | PlainOp::GetElementPtr
        | PlainOp::ICmp
        | PlainOp::FCmp
        | PlainOp::Phi
        | PlainOp::Select
        | PlainOp::ExtractElement
        | PlainOp::InsertElement
        | PlainOp::ShuffleVector
        | PlainOp::ExtractValue
        | PlainOp::InsertValue
        | PlainOp::Freeze
        | PlainOp::Fence
        | PlainOp::AtomicCmpXchg
        | PlainOp::AtomicRmw => None,
    }
}

fn call_refusal(call: Instruction<'_>) -> Option<&'static str> {
    let callee = call.callee()?;
    if callee.is_inline_asm() {
        return Some("inline assembly");
    }
    let Some(function) = callee.as_function() else {
        return (!is_table_entry(callee))
            .then_some("an indirect call of something other than a function table's entry");
    };
    (Some(function.value_type()) != call.called_type()).then_some("a call with another type than the function's")
}

/// Whether the callee is an entry of a table of visible functions, perhaps through bit casts.
fn is_table_entry(callee: Value<'_>) -> bool {
    let Some(instruction) = callee.as_instruction() else { return false };
    match instruction.opcode() {
        Opcode::Cast(CastOp::BitCast) => is_table_entry(instruction.operand(0)),
        Opcode::Plain(PlainOp::Call) => {
            instruction.called_function().is_some_and(|function| function.name() == TABLE_ENTRY)
        }
        Opcode::Plain(_) | Opcode::Cast(_) | Opcode::Binary(_) => false,
    }
}

fn type_refusal(module: &Module<'_>, ty: Type<'_>) -> Option<&'static str> {
    if ty.kind() == TypeKind::Other {
        Some("a type that AIR does not have")
    } else if ty.lanes() > limits::VECTOR_LANES_MAX {
        Some("a vector too wide")
    } else if ty.scalar().int_bits().is_some_and(|bits| bits > limits::INTEGER_BITS_MAX) {
        Some("an integer too wide")
    } else if ty.is_sized() && module.size_bytes(ty) > limits::VALUE_BYTES_MAX {
        Some("a value too large")
    } else {
        None
    }
}

/// Whether an alloca is storage of a Metal 4 tensor: bytes, as many as a call says, in a module that asks AIR for such sizes.
/// The engine knows the size and refuses what is too large.
fn is_tensor_storage(module: &Module<'_>, alloca: Instruction<'_>) -> bool {
    let has_sizes = || {
        use TensorOperation as Op;
        let sizes = [Op::DescriptorSize, Op::DataSize, Op::ConvolutionDataSize];
        sizes.into_iter().any(|size| module.function(size.name()).is_some())
    };
    let is_byte = alloca.allocated_type().is_some_and(|ty| ty.int_bits() == Some(8));
    // The call's result, or the result of the shorter one widened.
    let count = alloca.operand(0).as_instruction();
    let source = match count.map(|count| (count, count.opcode())) {
        Some((count, Opcode::Cast(_))) => count.operand(0).as_instruction(),
        Some((count, Opcode::Plain(_) | Opcode::Binary(_))) => Some(count),
        None => None,
    };
    is_byte && source.is_some_and(|source| source.opcode().is(PlainOp::Call)) && has_sizes()
}

/// The bytes of an alloca; `None` where the number of elements is not constant.
fn alloca_size_bytes(module: &Module<'_>, alloca: Instruction<'_>) -> Option<u64> {
    let count = alloca.operand(0).as_const_int()?;
    Some(module.size_bytes(alloca.allocated_type()?).saturating_mul(count))
}
