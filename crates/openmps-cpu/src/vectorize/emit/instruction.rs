//! One instruction of the source: as it is where lanes agree, on vectors where they differ.

use openmps_llvm::{BinaryOp, CastOp, Instruction, Opcode, PlainOp, Type, TypeKind, Value};

use super::super::refusal::Refusal;
use super::super::shape::Shape;
use super::super::transfer::Step;
use super::{Emitter, WIDTH};

impl<'m> Emitter<'_, 'm> {
    /// Writes what `instruction` computes, unless it is computed already. Phis, private variables and terminators are written elsewhere.
    pub(super) fn instruction(&mut self, instruction: Instruction<'m>) -> Result<(), Refusal> {
        if self.fixed.contains_key(&instruction.as_value()) {
            return Ok(());
        }
        let opcode = instruction.opcode();
        match opcode {
            Opcode::Plain(PlainOp::Phi | PlainOp::Alloca | PlainOp::Br | PlainOp::Ret | PlainOp::Unreachable) => {
                return Ok(());
            }
            Opcode::Plain(PlainOp::Load) => return self.load(instruction),
            Opcode::Plain(PlainOp::Store) => return self.store(instruction),
            Opcode::Plain(PlainOp::Call) => return self.call(instruction),
            Opcode::Plain(PlainOp::AtomicRmw | PlainOp::AtomicCmpXchg | PlainOp::Fence) => {
                return self.atomic(instruction);
            }
            Opcode::Plain(PlainOp::GetElementPtr) => return self.address(instruction),
            Opcode::Binary(_) | Opcode::Cast(_) | Opcode::Plain(_) => {}
        }
        let value = instruction.as_value();
        match self.analysis.shape(value) {
            Shape::Varying => {
                let result = self.vector_result(instruction)?;
                self.set_vector(value, result);
                Ok(())
            }
            shape => self.set_numbers(value, |emitter| emitter.scalar_result(instruction, shape)),
        }
    }

    /// The result on lane 0, or on the first lane of the current row. What promises not to wrap does so for active lanes, and lane 0 may not be one.
    fn scalar_result(&mut self, instruction: Instruction<'m>, shape: Shape) -> Result<Value<'m>, Refusal> {
        let result = match instruction.opcode() {
            Opcode::Binary(BinaryOp::Or) if !shape.is_uniform() && instruction.is_disjoint() => {
                let (left, right) = (self.scalar(instruction.operand(0)), self.scalar(instruction.operand(1)));
                return Ok(self.builder.add(left, right));
            }
            Opcode::Cast(op) if !shape.is_uniform() => return Ok(self.extend(instruction, op)),
            _ => {
                let operands: Vec<Value<'m>> =
                    instruction.operands().into_iter().map(|operand| self.scalar(operand)).collect();
                self.rebuild(instruction, &operands)?
            }
        };
        self.promise(result, instruction, shape.is_uniform());
        Ok(result)
    }

    /// Copies flags of `from` to what was built from it.
    fn promise(&self, result: Value<'m>, from: Instruction<'m>, with_wrap: bool) {
        let Some(built) = result.as_instruction().filter(|built| built.opcode() == from.opcode()) else { return };
        if with_wrap {
            built.copy_promises(from);
        }
        if built.can_have_fast_math() && from.can_have_fast_math() {
            built.set_fast_math(from.fast_math());
        }
    }

    /// The same operation on other operands, scalars or vectors.
    fn rebuild(&self, instruction: Instruction<'m>, operands: &[Value<'m>]) -> Result<Value<'m>, Refusal> {
        let b = &self.builder;
        Ok(match (instruction.opcode(), operands) {
            (Opcode::Binary(op), &[left, right]) => b.binary(op, left, right),
            (Opcode::Cast(op), &[operand]) => {
                let is_wide = operand.ty().lanes() != instruction.operand(0).ty().lanes();
                let ty = if is_wide { self.wide(instruction.ty())? } else { instruction.ty() };
                b.cast(op, operand, ty)
            }
            (Opcode::Plain(PlainOp::FNeg), &[operand]) => b.fneg(operand),
            (Opcode::Plain(PlainOp::Freeze), &[operand]) => b.freeze(operand),
            (Opcode::Plain(PlainOp::ICmp), &[left, right]) => {
                b.icmp(instruction.int_predicate().ok_or(Refusal::Instruction)?, left, right)
            }
            (Opcode::Plain(PlainOp::FCmp), &[left, right]) => {
                b.fcmp(instruction.float_predicate().ok_or(Refusal::Instruction)?, left, right)
            }
            (Opcode::Plain(PlainOp::Select), &[condition, yes, no]) => b.select(condition, yes, no),
            (Opcode::Plain(PlainOp::ExtractElement), &[vector, index]) => b.extract_element(vector, index),
            (Opcode::Plain(PlainOp::InsertElement), &[vector, element, index]) => {
                b.insert_element(vector, element, index)
            }
            (Opcode::Plain(PlainOp::ShuffleVector), &[first, second]) => {
                b.shuffle(first, second, &instruction.shuffle_mask())
            }
            (Opcode::Plain(PlainOp::ExtractValue), &[aggregate]) => {
                let mut value = aggregate;
                for index in instruction.indices() {
                    value = b.extract_value(value, index);
                }
                value
            }
            (Opcode::Plain(PlainOp::InsertValue), &[aggregate, element]) => match instruction.indices()[..] {
                [index] => b.insert_value(aggregate, element, index),
                _ => return Err(Refusal::Instruction),
            },
            _ => return Err(Refusal::Instruction),
        })
    }

    /// The results of all lanes.
    pub(super) fn vector_result(&mut self, instruction: Instruction<'m>) -> Result<Value<'m>, Refusal> {
        match instruction.opcode() {
            Opcode::Plain(PlainOp::ExtractElement | PlainOp::InsertElement | PlainOp::ShuffleVector) => {
                return Err(Refusal::CompositeValue);
            }
            Opcode::Binary(op @ (BinaryOp::UDiv | BinaryOp::SDiv | BinaryOp::URem | BinaryOp::SRem)) => {
                return self.division(instruction, op);
            }
            Opcode::Binary(BinaryOp::FRem) => return self.each_lane(instruction),
            Opcode::Plain(PlainOp::Select) => return self.vector_select(instruction),
            _ => {}
        }
        if instruction.ty().lanes() > 1 || instruction.operands().iter().any(|operand| operand.ty().lanes() > 1) {
            return Err(Refusal::CompositeValue);
        }
        let mut operands = Vec::new();
        for operand in instruction.operands() {
            operands.push(self.vector(operand)?);
        }
        if let Some(result) = self.in_float(instruction, &operands) {
            return Ok(result);
        }
        let result = self.rebuild(instruction, &operands)?;
        self.promise(result, instruction, true);
        Ok(result)
    }

    /// A shared condition chooses whole vectors.
    fn vector_select(&mut self, instruction: Instruction<'m>) -> Result<Value<'m>, Refusal> {
        if !instruction.ty().fields().is_empty() || instruction.ty().lanes() > 1 {
            return Err(Refusal::CompositeValue);
        }
        let condition = instruction.operand(0);
        let condition =
            if self.analysis.shape(condition).is_uniform() { self.scalar(condition) } else { self.vector(condition)? };
        let (yes, no) = (self.vector(instruction.operand(1))?, self.vector(instruction.operand(2))?);
        let result = self.builder.select(condition, yes, no);
        self.promise(result, instruction, true);
        Ok(result)
    }

    /// Operations that are computed in float because no CPU that matters has them on 16 bits, or that need care.
    fn in_float(&self, instruction: Instruction<'m>, operands: &[Value<'m>]) -> Option<Value<'m>> {
        let is_bfloat = |value: &Value<'m>| value.ty().scalar().kind() == TypeKind::BFloat;
        match instruction.opcode() {
            Opcode::Cast(CastOp::FpExt) if is_bfloat(&operands[0]) => {
                let float = self.extend_bfloat(operands[0]);
                let to = instruction.ty();
                let is_float = to.kind() == TypeKind::Float;
                Some(if is_float { float } else { self.builder.fp_ext(float, self.wide(to).ok()?) })
            }
            Opcode::Cast(CastOp::FpTrunc) if instruction.ty().kind() == TypeKind::BFloat => {
                let is_float = operands[0].ty().scalar().kind() == TypeKind::Float;
                is_float.then(|| self.round_to_bfloat(operands[0]))
            }
            Opcode::Binary(op) if is_bfloat(&operands[0]) => {
                let (left, right) = (self.extend_bfloat(operands[0]), self.extend_bfloat(operands[1]));
                Some(self.round_to_bfloat(self.builder.binary(op, left, right)))
            }
            Opcode::Plain(PlainOp::FCmp) if is_bfloat(&operands[0]) => {
                let (left, right) = (self.extend_bfloat(operands[0]), self.extend_bfloat(operands[1]));
                Some(self.builder.fcmp(instruction.float_predicate()?, left, right))
            }
            Opcode::Cast(_) | Opcode::Binary(_) | Opcode::Plain(_) => None,
        }
    }

    /// `getelementptr`.
    fn address(&mut self, instruction: Instruction<'m>) -> Result<(), Refusal> {
        let value = instruction.as_value();
        if self.analysis.private.contains(value) {
            return self.private_address(instruction);
        }
        let shape = self.analysis.shape(value);
        if shape == Shape::Varying {
            let address = self.vector_address(instruction)?;
            self.set_vector(value, address);
            return Ok(());
        }
        let ty = instruction.gep_source_type().ok_or(Refusal::Instruction)?;
        self.set_numbers(value, |emitter| {
            let operands: Vec<Value<'m>> =
                instruction.operands().into_iter().map(|operand| emitter.scalar(operand)).collect();
            let address = emitter.builder.gep(ty, operands[0], &operands[1..]);
            emitter.promise(address, instruction, shape.is_uniform());
            Ok(address)
        })
    }

    /// The addresses of all lanes: what lanes share stays scalar, so that the CPU's addressing can be used.
    pub(super) fn vector_address(&mut self, instruction: Instruction<'m>) -> Result<Value<'m>, Refusal> {
        let ty = instruction.gep_source_type().ok_or(Refusal::Instruction)?;
        let mut operands = Vec::new();
        for operand in instruction.operands() {
            let is_uniform = self.analysis.shape(operand).is_uniform();
            operands.push(if is_uniform { self.scalar(operand) } else { self.vector(operand)? });
        }
        if operands.iter().all(|operand| operand.ty().lanes() == 1) {
            operands[0] = self.splat(operands[0]);
        }
        if let (&[base, _], Some(narrow)) = (operands.as_slice(), self.narrow_index(instruction)) {
            return self.narrow_address(ty, base, narrow);
        }
        Ok(self.builder.gep(ty, operands[0], &operands[1..]))
    }

    /// The 32 bits that the only index of an address from a shared place is the zero extension of.
    fn narrow_index(&self, address: Instruction<'m>) -> Option<Value<'m>> {
        let index = address.operand(1).as_instruction()?;
        let is_extension = index.opcode() == Opcode::Cast(CastOp::ZExt);
        let narrow = is_extension.then(|| index.operand(0)).filter(|narrow| narrow.ty().int_bits() == Some(32))?;
        let is_apart = |value: Value<'m>| !self.analysis.shape(value).is_uniform();
        let is_shared_place = address.operand_count() == 2 && !is_apart(address.operand(0));
        (is_shared_place && is_apart(narrow) && self.is_at_hand(narrow)).then_some(narrow)
    }

    /// Addresses by unsigned numbers of 32 bits. Gathers take signed ones, in half the instructions that they need for 64 bits: so
    /// numbers and the place that they count from are moved by 2^31.
    fn narrow_address(&mut self, ty: Type<'m>, base: Value<'m>, index: Value<'m>) -> Result<Value<'m>, Refusal> {
        let lanes = self.vector(index)?;
        let long = self.context().i64();
        let middle = self.builder.gep(ty, base, &[long.const_int(1 << 31)]);
        let moved = self.builder.xor(lanes, self.splat_int(lanes.ty().scalar(), 1 << 31));
        let signed = self.builder.cast(CastOp::SExt, moved, self.wide(long)?);
        Ok(self.builder.gep(ty, middle, &[signed]))
    }

    /// An address inside of a private variable that is laid out lane by lane: every byte counts for 32.
    fn private_address(&mut self, instruction: Instruction<'m>) -> Result<(), Refusal> {
        let value = instruction.as_value();
        let is_varying = self.analysis.shape(value).is_varying();
        let base = instruction.operand(0);
        let mut address = if self.analysis.shape(base).is_varying() { self.vector(base)? } else { self.scalar(base) };
        let byte = self.context().i8();
        for step in self.analysis.private.steps(self.module, instruction).ok_or(Refusal::Instruction)? {
            match step {
                Step::Field(bytes) => {
                    let offset = self.context().i64().const_int(bytes.wrapping_mul(u64::from(WIDTH)));
                    address = self.builder.gep(byte, address, &[offset]);
                }
                Step::Index(index, bytes) => {
                    let is_uniform = self.analysis.shape(index).is_uniform();
                    let index = if is_uniform { self.scalar(index) } else { self.vector(index)? };
                    let element = self.context().array(byte, bytes * u64::from(WIDTH));
                    address = self.builder.gep(element, address, &[index]);
                }
            }
        }
        if is_varying {
            if address.ty().lanes() == 1 {
                address = self.splat(address);
            }
            self.set_vector(value, address);
        } else {
            self.set_scalar(value, address);
        }
        Ok(())
    }
}
