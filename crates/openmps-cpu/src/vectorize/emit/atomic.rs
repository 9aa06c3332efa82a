//! Atomic operations: once for each active lane, in the order of lanes.
//!
//! Lanes that combine integers into one place and do not look at the old value do so among themselves first. All threads of a
//! threadgroup run on one core, one SIMD-group after the other, so that its memory needs no atomic instructions.

use openmps_llvm::{AtomicOp, BinaryOp, Instruction, IntPredicate, Opcode, PlainOp, Value};

use super::super::refusal::Refusal;
use super::Emitter;

/// AIR's number of the threadgroup address space.
const THREADGROUP_SPACE: u32 = 3;

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
        let is_unused = instruction.as_value().is_unused();
        let lanes = self.vector(value)?;
        if is_unused && self.analysis.shape(pointer).is_uniform() {
            let reduction = value.ty().int_bits().and_then(|bits| combination(op, bits));
            if let Some((name, neutral)) = reduction {
                let neutral = self.splat_int(value.ty(), neutral);
                let lanes = self.mask.map_or(lanes, |mask| self.builder.select(mask, lanes, neutral));
                let total = self.builder.intrinsic(name, &[lanes.ty()], &[lanes]).as_value();
                let address = self.scalar(pointer);
                self.modify_one(instruction, op, address, total)?;
                return Ok(());
            }
        }
        let addresses = self.vector(pointer)?;
        let result = if is_unused { None } else { Some(self.wide(value.ty())?) };
        let old = self.lane_loop(&[addresses, lanes], result, |emitter, operands| {
            let old = emitter.modify_one(instruction, op, operands[0], operands[1])?;
            Ok((!is_unused).then_some(old))
        })?;
        self.set_old(instruction, old);
        Ok(())
    }

    /// One operation; returns what was there before.
    fn modify_one(
        &self,
        instruction: Instruction<'m>,
        op: AtomicOp,
        address: Value<'m>,
        value: Value<'m>,
    ) -> Result<Value<'m>, Refusal> {
        let align = instruction.alignment().unwrap_or(1);
        if is_threadgroup_memory(address) {
            let old = self.builder.load(value.ty(), address);
            old.set_alignment(align);
            let new = self.modified(op, old.as_value(), value);
            self.builder.store(new, address).set_alignment(align);
            return Ok(old.as_value());
        }
        let ordering = instruction.ordering().ok_or(Refusal::Instruction)?;
        let old = self.builder.atomic_rmw(op, address, value, ordering);
        old.set_alignment(align);
        Ok(old.as_value())
    }

    /// What the operation makes of the value that was there.
    fn modified(&self, op: AtomicOp, old: Value<'m>, value: Value<'m>) -> Value<'m> {
        let b = &self.builder;
        let call = |name: &str| b.intrinsic(name, &[old.ty()], &[old, value]).as_value();
        match op {
            AtomicOp::Exchange => value,
            AtomicOp::Add => b.add(old, value),
            AtomicOp::Sub => b.sub(old, value),
            AtomicOp::And => b.and(old, value),
            AtomicOp::Nand => b.not(b.and(old, value)),
            AtomicOp::Or => b.or(old, value),
            AtomicOp::Xor => b.xor(old, value),
            AtomicOp::Max => call("llvm.smax"),
            AtomicOp::Min => call("llvm.smin"),
            AtomicOp::UMax => call("llvm.umax"),
            AtomicOp::UMin => call("llvm.umin"),
            AtomicOp::FAdd => b.fadd(old, value),
            AtomicOp::FSub => b.binary(BinaryOp::FSub, old, value),
            AtomicOp::FMax => call("llvm.maxnum"),
            AtomicOp::FMin => call("llvm.minnum"),
        }
    }

    /// One exchange; returns what was there before, and whether that was the expected value.
    fn exchange_one(&self, instruction: Instruction<'m>, operands: &[Value<'m>]) -> Result<Value<'m>, Refusal> {
        let b = &self.builder;
        let align = instruction.alignment().unwrap_or(1);
        let &[address, expected, desired] = operands else { return Err(Refusal::Instruction) };
        if is_threadgroup_memory(address) {
            let old = b.load(desired.ty(), address);
            old.set_alignment(align);
            let is_equal = b.icmp(IntPredicate::Eq, old.as_value(), expected);
            let new = b.select(is_equal, desired, old.as_value());
            b.store(new, address).set_alignment(align);
            let pair = b.insert_value(instruction.ty().poison(), old.as_value(), 0);
            return Ok(b.insert_value(pair, is_equal, 1));
        }
        let (success, failure) = instruction.cmpxchg_orderings().ok_or(Refusal::Instruction)?;
        let old = b.cmpxchg(address, expected, desired, success, failure);
        old.set_alignment(align);
        Ok(old.as_value())
    }

    fn exchange_if_equal(&mut self, instruction: Instruction<'m>) -> Result<(), Refusal> {
        let mut operands = Vec::new();
        for operand in instruction.operands() {
            operands.push(self.vector(operand)?);
        }
        let result = self.wide(instruction.ty())?;
        let old = self.lane_loop(&operands, Some(result), |emitter, operands| {
            emitter.exchange_one(instruction, operands).map(Some)
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

pub(super) fn is_threadgroup_memory(address: Value<'_>) -> bool {
    address.ty().address_space() == Some(THREADGROUP_SPACE)
}
