//! Atomic operations: once for each active lane, in the order of lanes.
//!
//! Lanes that combine integers into one place and do not look at the old value do so among themselves first.

use openmps_llvm::{AtomicOp, Instruction, Opcode, PlainOp, Value};

use super::super::refusal::Refusal;
use super::Emitter;

/// The reduction over lanes that does what several such operations do, and its neutral element as a number of 64 bits.
fn combination(op: AtomicOp, bits: u32) -> Option<(&'static str, u64)> {
    let max = u64::MAX >> (64 - bits);
    Some(match op {
        AtomicOp::Add | AtomicOp::Sub => ("llvm.vector.reduce.add", 0),
        AtomicOp::And => ("llvm.vector.reduce.and", max),
        AtomicOp::Or => ("llvm.vector.reduce.or", 0),
        AtomicOp::Xor => ("llvm.vector.reduce.xor", 0),
        AtomicOp::Max => ("llvm.vector.reduce.smax", max / 2 + 1),
        AtomicOp::Min => ("llvm.vector.reduce.smin", max / 2),
        AtomicOp::UMax => ("llvm.vector.reduce.umax", 0),
        AtomicOp::UMin => ("llvm.vector.reduce.umin", max),
        AtomicOp::Exchange | AtomicOp::Nand | AtomicOp::FAdd | AtomicOp::FSub | AtomicOp::FMax | AtomicOp::FMin => {
            return None;
        }
    })
}

impl<'m> Emitter<'_, 'm> {
    pub(super) fn atomic(&mut self, instruction: Instruction<'m>) -> Result<(), Refusal> {
        match instruction.opcode() {
            Opcode::Plain(PlainOp::Fence) => {
                self.builder.fence(instruction.ordering().ok_or(Refusal::Instruction)?);
                Ok(())
            }
            Opcode::Plain(PlainOp::AtomicRmw) => self.modify(instruction),
            _ => self.exchange_if_equal(instruction),
        }
    }

    fn modify(&mut self, instruction: Instruction<'m>) -> Result<(), Refusal> {
        let (pointer, value) = (instruction.operand(0), instruction.operand(1));
        let op = instruction.atomic_op().ok_or(Refusal::Instruction)?;
        let ordering = instruction.ordering().ok_or(Refusal::Instruction)?;
        let is_unused = instruction.as_value().is_unused();
        let lanes = self.vector(value)?;
        if is_unused && self.analysis.shape(pointer).is_uniform() {
            let reduction = value.ty().int_bits().and_then(|bits| combination(op, bits));
            if let Some((name, neutral)) = reduction {
                let neutral = self.splat_int(value.ty(), neutral);
                let lanes = self.mask.map_or(lanes, |mask| self.builder.select(mask, lanes, neutral));
                let total = self.builder.intrinsic(name, &[lanes.ty()], &[lanes]).as_value();
                let address = self.scalar(pointer);
                let done = self.builder.atomic_rmw(op, address, total, ordering);
                done.set_alignment(instruction.alignment().unwrap_or(1));
                return Ok(());
            }
        }
        let addresses = self.vector(pointer)?;
        let result = if is_unused { None } else { Some(self.wide(value.ty())?) };
        let old = self.lane_loop(&[addresses, lanes], result, |emitter, operands| {
            let old = emitter.builder.atomic_rmw(op, operands[0], operands[1], ordering);
            old.set_alignment(instruction.alignment().unwrap_or(1));
            Ok(Some(old.as_value()))
        })?;
        self.set_old(instruction, old);
        Ok(())
    }

    fn exchange_if_equal(&mut self, instruction: Instruction<'m>) -> Result<(), Refusal> {
        let (success, failure) = instruction.cmpxchg_orderings().ok_or(Refusal::Instruction)?;
        let mut operands = Vec::new();
        for operand in instruction.operands() {
            operands.push(self.vector(operand)?);
        }
        let result = self.wide(instruction.ty())?;
        let old = self.lane_loop(&operands, Some(result), |emitter, operands| {
            let b = &emitter.builder;
            let old = b.cmpxchg(operands[0], operands[1], operands[2], success, failure);
            old.set_alignment(instruction.alignment().unwrap_or(1));
            Ok(Some(old.as_value()))
        })?;
        self.set_old(instruction, old);
        Ok(())
    }

    fn set_old(&mut self, instruction: Instruction<'m>, old: Option<Value<'m>>) {
        if let Some(old) = old {
            self.set_vector(instruction.as_value(), old);
        }
    }
}
