//! Operations on blocks of sums: each is done once for all lanes.

use openmps_llvm::{Instruction, Value};

use super::super::marker::{OUTER_BEGIN, OUTER_FILLED, OUTER_LOAD, OUTER_MEMORY, OUTER_STORE};
use super::super::refusal::Refusal;
use super::Emitter;

/// Alignment of a block's memory.
const ALIGNMENT_BYTES: u32 = 64;

impl<'m> Emitter<'_, 'm> {
    pub(super) fn outer_operation(&mut self, call: Instruction<'m>, name: &str) -> Result<(), Refusal> {
        match name {
            // Made in front of all blocks.
            OUTER_MEMORY => {}
            OUTER_BEGIN => {
                let memory = self.scalar(call.operand(0));
                self.builder.store(self.context().i64().zero(), memory);
            }
            OUTER_FILLED => {
                let memory = self.scalar(call.operand(0));
                let filled = self.builder.load(self.context().i64(), memory).as_value();
                self.set_scalar(call.as_value(), filled);
            }
            _ if name.starts_with(OUTER_STORE) => self.outer_store(call)?,
            _ if name.starts_with(OUTER_LOAD) => self.outer_load(call)?,
            _ => {
                let function = call.called_function().ok_or(Refusal::Instruction)?;
                let operands: Vec<Value<'m>> = call.arguments().into_iter().map(|it| self.scalar(it)).collect();
                self.builder.call(function, &operands);
            }
        }
        Ok(())
    }

    /// The memory of the block that `call` asks for.
    pub(super) fn outer_memory(&mut self, call: Instruction<'m>) -> Result<(), Refusal> {
        let bytes = call.operand(0).as_const_int().ok_or(Refusal::Instruction)?;
        let memory = self.builder.alloca(self.context().array(self.context().i8(), bytes));
        memory.set_alignment(ALIGNMENT_BYTES);
        self.fixed.insert(call.as_value(), memory.as_value());
        Ok(())
    }
}
