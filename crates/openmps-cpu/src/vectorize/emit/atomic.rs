//! Atomic operations: once for each active lane, in the order of lanes.
//!
//! Lanes that combine integers into one place and do not look at the old value do so among themselves first. All threads of a
//! threadgroup run on one core, one SIMD-group after the other, so that its memory needs no atomic instructions. Elements of device
//! memory that follow each other are modified by words (`words.rs`).

use openmps_llvm::{AtomicOp, BinaryOp, CastOp, Instruction, IntPredicate, Opcode, PlainOp, Value};

use super::super::refusal::Refusal;
use super::{Emitter, WIDTH};

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

/// Where the elements of lanes are.
struct Place<'m> {
    /// What differs between lanes, addresses or an index, and the value of the source that it is of.
    lanes: Value<'m>,
    source: Value<'m>,
    /// The computation of the address that the index is an operand of, and which one.
    address: Option<(Instruction<'m>, u32)>,
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
        if is_unused && self.analysis.shape(pointer).is_uniform() {
            let lanes = self.vector(value)?;
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
        if is_unused && self.is_run_of_words(pointer, value) {
            return self.modify_run(instruction, op, |emitter| emitter.modify_lanes(instruction, op, true));
        }
        self.modify_lanes(instruction, op, false)
    }

    /// One operation a lane, in a loop or, where nobody looks at what was there, one behind the other unless they shall be `short`.
    fn modify_lanes(&mut self, instruction: Instruction<'m>, op: AtomicOp, short: bool) -> Result<(), Refusal> {
        let (pointer, value) = (instruction.operand(0), instruction.operand(1));
        let is_unused = instruction.as_value().is_unused();
        let place = self.place_of(pointer)?;
        let is_shared = self.analysis.shape(value).is_uniform();
        let lanes = if is_shared { self.scalar(value) } else { self.vector(value)? };
        if is_unused && self.mask.is_none() && !short {
            // Out of registers: what a loop would read back from memory waits for the stores in between where addresses look alike.
            for lane in 0..WIDTH {
                let own = self.builder.extract_lane(place.lanes, lane);
                let value = if is_shared { lanes } else { self.builder.extract_lane(lanes, lane) };
                let address = self.address_at(&place, own)?;
                self.modify_one(instruction, op, address, value)?;
            }
            return Ok(());
        }
        let result = if is_unused { None } else { Some(self.wide(value.ty())?) };
        let old =
            self.lane_loop_of(&[place.lanes, lanes], &[place.source, value], result, &mut |emitter, operands| {
                let address = emitter.address_at(&place, operands[0])?;
                let old = emitter.modify_one(instruction, op, address, operands[1])?;
                Ok((!is_unused).then_some(old))
            })?;
        self.set_old(instruction, old);
        Ok(())
    }

    /// Where each lane's element is: an index from a shared place, where there is one.
    fn place_of(&mut self, pointer: Value<'m>) -> Result<Place<'m>, Refusal> {
        if let Some((address, at)) = self.own_index(pointer) {
            let index = address.operand(at);
            // Narrow indices take less room than the addresses.
            let narrow = index.as_instruction().and_then(|extension| match extension.opcode() {
                Opcode::Cast(CastOp::ZExt | CastOp::SExt) => Some(extension.operand(0)),
                Opcode::Cast(_) | Opcode::Binary(_) | Opcode::Plain(_) => None,
            });
            let is_number = |it: &Value<'m>| it.ty().int_bits().is_some_and(|bits| bits >= 8) && self.is_at_hand(*it);
            let source = narrow.filter(is_number).unwrap_or(index);
            if self.is_at_hand(source) {
                for number in (0..address.operand_count()).filter(|&number| number != at) {
                    self.scalar(address.operand(number));
                }
                return Ok(Place { lanes: self.vector(source)?, source, address: Some((address, at)) });
            }
        }
        Ok(Place { lanes: self.vector(pointer)?, source: pointer, address: None })
    }

    /// The computation of an address with one operand that differs between lanes, and which.
    fn own_index(&self, pointer: Value<'m>) -> Option<(Instruction<'m>, u32)> {
        let address = pointer.as_instruction().filter(|it| it.opcode().is(PlainOp::GetElementPtr))?;
        let is_shared = |at: &u32| self.analysis.shape(address.operand(*at)).is_uniform();
        let (shared, own): (Vec<u32>, Vec<u32>) = (0..address.operand_count()).partition(is_shared);
        let &[at] = own.as_slice() else { return None };
        (at > 0 && shared.iter().all(|&at| self.is_at_hand(address.operand(at)))).then_some((address, at))
    }

    /// The address of a lane, whose part of it is `own`.
    fn address_at(&mut self, place: &Place<'m>, own: Value<'m>) -> Result<Value<'m>, Refusal> {
        let Some((address, at)) = place.address else { return Ok(own) };
        let ty = address.gep_source_type().ok_or(Refusal::Instruction)?;
        let mut operands = Vec::new();
        for (number, operand) in (0..).zip(address.operands()) {
            operands.push(match operand.as_instruction().map(Instruction::opcode) {
                _ if number != at => self.scalar(operand),
                Some(Opcode::Cast(op)) if own.ty() != operand.ty() => self.builder.cast(op, own, operand.ty()),
                _ => own,
            });
        }
        Ok(self.builder.gep(ty, operands[0], &operands[1..]))
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
    pub(super) fn modified(&self, op: AtomicOp, old: Value<'m>, value: Value<'m>) -> Value<'m> {
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
