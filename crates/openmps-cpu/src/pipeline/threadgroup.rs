//! Places static threadgroup variables in the threadgroup's block: each becomes an offset from the block's address.
//!
//! Runs after inlining, so that all uses are in one function; before any pass that could take such a variable for a
//! thread's own.

use openmps_engine::{EngineError, KernelSignature};
use openmps_llvm::opcode::PlainOp;
use openmps_llvm::{Block, Builder, Function, Instruction, Module, Opcode, Value};

use super::entry::Form;
use crate::abi::THREADGROUP_MEMORY_BYTES_MAX;

/// AIR's number of the threadgroup address space.
const THREADGROUP_SPACE: u32 = 3;
/// The value in that function that is the block's address.
const BLOCK_NAME: &str = "threadgroup";
/// Alignment of every variable; threadgroup memory is cast to other vector types freely.
const ALIGN_BYTES: u64 = 16;

/// Replaces the variables; returns the bytes that they take.
///
/// # Errors
/// They take more than the limit, or one is used in a way that cannot be rewritten.
pub(super) fn run(module: &mut Module<'_>, form: Form, signature: &KernelSignature) -> Result<u32, EngineError> {
    let mut names = Vec::new();
    let size_bytes = {
        let function = module.function(form.symbol()).expect("the entry was linked");
        let block = block_address(function);
        let mut end = 0_u64;
        for global in module.globals().into_iter().filter(|global| global.address_space() == THREADGROUP_SPACE) {
            let ty = global.value_type();
            let align = ALIGN_BYTES.max(u64::from(global.alignment())).max(u64::from(module.alignment_bytes(ty)));
            let offset = end.next_multiple_of(align);
            end = offset.saturating_add(module.size_bytes(ty));
            let builder = module.builder();
            builder.position_before(block.next().expect("a block ends in a terminator"));
            let address = builder.byte_offset(block.as_value(), offset);
            replace(&builder, global.as_value(), address).map_err(|user| {
                let name = global.name();
                let reason = format!("threadgroup variable '{name}' is used by {user}, which cannot be rewritten");
                EngineError::Unsupported(format!("kernel '{}': {reason}", signature.name))
            })?;
            names.push(global.name());
        }
        end
    };
    for name in names {
        if module.global(&name).is_some_and(|global| global.as_value().is_unused()) {
            module.delete_global(&name);
        }
    }
    u32::try_from(size_bytes).ok().filter(|&bytes| bytes <= THREADGROUP_MEMORY_BYTES_MAX).ok_or_else(|| {
        EngineError::Unsupported(format!(
            "kernel '{}': {size_bytes} bytes of threadgroup memory, the limit is {THREADGROUP_MEMORY_BYTES_MAX}",
            signature.name
        ))
    })
}

/// Whether there are variables to place.
pub(super) fn has_variables(module: &Module<'_>) -> bool {
    module.globals().into_iter().any(|global| global.address_space() == THREADGROUP_SPACE)
}

fn block_address(function: Function<'_>) -> Instruction<'_> {
    let entry = function.entry().expect("it is defined");
    let found = entry.instructions().into_iter().find(|instruction| instruction.as_value().name() == BLOCK_NAME);
    found.expect("the entry's text names it")
}

/// Makes every user of `constant` use `value` instead. Constant expressions become instructions at the builder's place, in the
/// entry block, which everything else comes after. The error is a user that is neither.
fn replace<'m>(builder: &Builder<'m>, constant: Value<'m>, value: Value<'m>) -> Result<(), Value<'m>> {
    for user in constant.users() {
        if let Some(instruction) = user.as_instruction() {
            // A function that calls itself was not inlined, and does not know the block.
            if instruction.block().map(Block::function) != builder.block().map(Block::function) {
                return Err(user);
            }
            for index in 0..instruction.operand_count() {
                if instruction.operand(index) == constant {
                    instruction.set_operand(index, value);
                }
            }
        } else if !user.is_unused() {
            let instruction = as_instruction(builder, user, constant, value).ok_or(user)?;
            replace(builder, user, instruction)?;
        }
    }
    Ok(())
}

/// The constant expression `user` with `value` in place of `constant`, as an instruction.
fn as_instruction<'m>(
    builder: &Builder<'m>,
    user: Value<'m>,
    constant: Value<'m>,
    value: Value<'m>,
) -> Option<Value<'m>> {
    let operands: Vec<Value<'m>> =
        user.const_operands().into_iter().map(|operand| if operand == constant { value } else { operand }).collect();
    match (user.const_opcode()?, operands.as_slice()) {
        (Opcode::Plain(PlainOp::GetElementPtr), [pointer, indices @ ..]) => {
            Some(builder.gep(user.const_gep_source_type()?, *pointer, indices))
        }
        (Opcode::Cast(cast), [operand]) => Some(builder.cast(cast, *operand, user.ty())),
        (Opcode::Binary(operation), [left, right]) => Some(builder.binary(operation, *left, *right)),
        (Opcode::Plain(_) | Opcode::Cast(_) | Opcode::Binary(_), _) => None,
    }
}
