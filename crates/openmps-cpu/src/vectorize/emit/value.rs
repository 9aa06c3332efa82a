//! Reading and writing the values of the source function: the scalar of lane 0, or the vector of all lanes.

use openmps_llvm::constant::const_vector;
use openmps_llvm::{CastOp, IntPredicate, Opcode, PlainOp, Type, Value};

use super::super::refusal::Refusal;
use super::super::shape::{Affine, Shape};
use super::super::transfer::extends_as_signed;
use super::{Emitter, WIDTH};

/// What the current block has in registers, to be put back behind a side way.
pub(super) struct Registers<'m> {
    scalars: std::collections::HashMap<(Value<'m>, u32), Value<'m>>,
    vectors: std::collections::HashMap<Value<'m>, Value<'m>>,
}

impl<'m> Emitter<'_, 'm> {
    /// `value` in each lane.
    pub(super) fn splat(&self, value: Value<'m>) -> Value<'m> {
        if value.is_constant() {
            return const_vector(&[value; WIDTH as usize]);
        }
        self.builder.splat(value, WIDTH)
    }

    /// An integer in each lane.
    pub(super) fn splat_int(&self, ty: Type<'m>, number: u64) -> Value<'m> {
        self.splat(ty.const_int(number))
    }

    /// The value of a uniform or affine value on lane 0, or on the first lane of the current row.
    pub(super) fn scalar(&mut self, value: Value<'m>) -> Value<'m> {
        let shape = self.analysis.shape(value);
        if shape.by_rows().is_some() {
            return self.kept_scalar(value, self.row);
        }
        let (first, row) = (self.kept_scalar(value, 0), self.row);
        match shape {
            Shape::Affine(affine) if row > 0 => self.moved_to_row(value, first, affine, row),
            Shape::Uniform | Shape::Affine(_) | Shape::Varying => first,
        }
    }

    /// The value on the first lane of row `row`.
    pub(super) fn scalar_of_row(&mut self, value: Value<'m>, row: u32) -> Value<'m> {
        let before = std::mem::replace(&mut self.row, row);
        let found = self.scalar(value);
        self.row = before;
        found
    }

    fn kept_scalar(&mut self, value: Value<'m>, row: u32) -> Value<'m> {
        if let Some(&fixed) = self.fixed.get(&value) {
            return fixed;
        }
        if value.as_instruction().is_none() {
            return value;
        }
        if let Some(&known) = self.scalars.get(&(value, row)) {
            return known;
        }
        let address = self.slot_of_row(value, row);
        let loaded = self.builder.load(value.ty(), address).as_value();
        self.scalars.insert((value, row), loaded);
        loaded
    }

    /// Where the number of a row is kept, which is the only one unless rows have numbers of their own.
    pub(super) fn slot_of_row(&self, value: Value<'m>, row: u32) -> Value<'m> {
        let slot = self.slots[&value];
        if row == 0 {
            return slot.address;
        }
        self.builder.gep(value.ty(), slot.address, &[self.context().i64().const_int(row.into())])
    }

    fn moved_to_row(&mut self, value: Value<'m>, first: Value<'m>, affine: Affine, row: u32) -> Value<'m> {
        if let Some(&known) = self.scalars.get(&(value, row)) {
            return known;
        }
        let offset = affine.offset(row * self.analysis.row_lanes, self.analysis.row_lanes).cast_unsigned();
        let moved = match offset {
            0 => first,
            offset if first.ty().address_space().is_some() => {
                let offset = self.context().i64().const_int(offset);
                self.builder.gep(self.context().i8(), first, &[offset])
            }
            offset => self.builder.add(first, first.ty().const_int(offset)),
        };
        self.scalars.insert((value, row), moved);
        moved
    }

    /// The values of all lanes.
    pub(super) fn vector(&mut self, value: Value<'m>) -> Result<Value<'m>, Refusal> {
        if let Some(&known) = self.vectors.get(&value) {
            return Ok(known);
        }
        let found = match self.analysis.shape(value) {
            Shape::Uniform => {
                self.wide(value.ty())?;
                let scalar = self.scalar(value);
                self.splat(scalar)
            }
            Shape::Affine(affine) if affine.checked => self.recompute(value)?,
            Shape::Affine(affine) if affine.is_by_rows() => {
                let lanes = self.analysis.row_lanes;
                let first = (0..self.rows()).map(|row| self.scalar_of_row(value, row)).collect::<Vec<_>>();
                let rows = first.into_iter().map(|number| self.builder.splat(number, lanes)).collect();
                self.add_offsets(self.join_rows(rows), affine)
            }
            Shape::Affine(affine) => {
                let scalar = self.scalar_of_row(value, 0);
                self.count_lanes(scalar, affine)
            }
            Shape::Varying => {
                let slot = self.slots[&value];
                self.builder.load(slot.ty, slot.address).as_value()
            }
        };
        self.vectors.insert(value, found);
        Ok(found)
    }

    /// `scalar` plus what each lane has more than lane 0.
    fn count_lanes(&self, scalar: Value<'m>, affine: Affine) -> Value<'m> {
        if scalar.ty().address_space().is_some() {
            return self.add_offsets(scalar, affine);
        }
        self.add_offsets(self.splat(scalar), affine)
    }

    /// Numbers, or an address or addresses, plus what each lane has more.
    fn add_offsets(&self, from: Value<'m>, affine: Affine) -> Value<'m> {
        let is_address = from.ty().scalar().address_space().is_some();
        let ty = if is_address { self.context().i64() } else { from.ty().scalar() };
        let offset = |lane| affine.offset(lane, self.analysis.row_lanes).cast_unsigned();
        let offsets = const_vector(&(0..WIDTH).map(|lane| ty.const_int(offset(lane))).collect::<Vec<_>>());
        if is_address {
            return self.builder.gep(self.context().i8(), from, &[offsets]);
        }
        self.builder.add(from, offsets)
    }

    /// The lanes of a value whose step is not sure, from its operands.
    fn recompute(&mut self, value: Value<'m>) -> Result<Value<'m>, Refusal> {
        let instruction = value.as_instruction().expect("only an instruction is checked");
        match instruction.opcode() {
            Opcode::Binary(op) => {
                let (left, right) = (self.vector(instruction.operand(0))?, self.vector(instruction.operand(1))?);
                Ok(self.builder.binary(op, left, right))
            }
            Opcode::Cast(op) => {
                let operand = self.vector(instruction.operand(0))?;
                let ty = self.wide(instruction.ty())?;
                Ok(self.builder.cast(op, operand, ty))
            }
            Opcode::Plain(PlainOp::GetElementPtr) => self.vector_address(instruction),
            Opcode::Plain(_) => Err(Refusal::Instruction),
        }
    }

    /// Whether the step of a checked value holds, as one bit for all lanes.
    pub(super) fn step_holds(&mut self, value: Value<'m>) -> Value<'m> {
        self.step_holds_with_room(value, [0, 0])
    }

    /// As [`step_holds`](Self::step_holds), also for values that are that much smaller or larger.
    pub(super) fn step_holds_with_room(&mut self, value: Value<'m>, room: [u64; 2]) -> Value<'m> {
        let truth = self.context().i1().all_ones();
        let Some(instruction) = value.as_instruction().filter(|_| self.analysis.shape(value).is_checked()) else {
            return truth;
        };
        let mut holds = truth;
        for operand in instruction.operands() {
            let operand_holds = self.step_holds_with_room(operand, room);
            holds = self.builder.and(holds, operand_holds);
        }
        let operand = instruction.operand(0);
        let Shape::Affine(affine) = self.analysis.shape(operand) else { return holds };
        let own = match instruction.opcode() {
            Opcode::Cast(CastOp::ZExt) if affine.unsigned_max.is_none() => false,
            Opcode::Cast(CastOp::SExt) if !affine.signed => true,
            Opcode::Binary(_) | Opcode::Cast(_) | Opcode::Plain(_) => return holds,
        };
        for row in 0..if affine.is_by_rows() { self.rows() } else { 1 } {
            let number = self.scalar_of_row(operand, row);
            let is_in_range = self.is_in_range(number, affine, own, room);
            holds = self.builder.and(holds, is_in_range);
        }
        holds
    }

    /// Whether no lane is that far from the one with number `scalar` that its own wraps, with room below and above.
    fn is_in_range(&self, scalar: Value<'m>, affine: Affine, signed: bool, room: [u64; 2]) -> Value<'m> {
        let ty = scalar.ty();
        let bits = ty.int_bits().expect("extensions are of integers");
        let (least, most) = affine.offsets(self.analysis.row_lanes);
        let below = room[0].saturating_add(least.unsigned_abs());
        let above = room[1].saturating_add(most.unsigned_abs());
        let max = u64::MAX >> (64 - bits);
        if below > max / 4 || above > max / 4 {
            return self.context().i1().zero();
        }
        let (least, most) = if signed { (max / 2 + 1, max / 2) } else { (0, max) };
        let (at_least, at_most) =
            if signed { (IntPredicate::Sge, IntPredicate::Sle) } else { (IntPredicate::Uge, IntPredicate::Ule) };
        let lowest = ty.const_int(least.wrapping_add(below) & max);
        let highest = ty.const_int(most.wrapping_sub(above) & max);
        let is_above = self.builder.icmp(at_least, scalar, lowest);
        let is_below = self.builder.icmp(at_most, scalar, highest);
        self.builder.and(is_above, is_below)
    }

    /// The scalar of lane 0 of an extension that counts lanes.
    pub(super) fn extend(&mut self, instruction: openmps_llvm::Instruction<'m>, op: CastOp) -> Value<'m> {
        let operand = instruction.operand(0);
        let as_signed = op == CastOp::ZExt && extends_as_signed(instruction, self.analysis.shape(operand));
        let scalar = self.scalar(operand);
        self.builder.cast(if as_signed { CastOp::SExt } else { op }, scalar, instruction.ty())
    }

    /// The result of a uniform or affine value.
    pub(super) fn set_scalar(&mut self, value: Value<'m>, result: Value<'m>) {
        self.scalars.insert((value, 0), result);
        self.keep(value, result);
    }

    /// The result of a uniform or affine value, once or for each row.
    pub(super) fn set_numbers(
        &mut self,
        value: Value<'m>,
        mut number: impl FnMut(&mut Self) -> Result<Value<'m>, Refusal>,
    ) -> Result<(), Refusal> {
        if self.analysis.shape(value).by_rows().is_none() {
            let number = number(self)?;
            self.set_scalar(value, number);
            return Ok(());
        }
        for row in 0..self.rows() {
            self.row = row;
            let number = number(self);
            self.row = 0;
            let number = number?;
            self.scalars.insert((value, row), number);
            if self.slots.contains_key(&value) {
                self.builder.store(number, self.slot_of_row(value, row));
            }
        }
        Ok(())
    }

    /// The result of a varying value.
    pub(super) fn set_vector(&mut self, value: Value<'m>, result: Value<'m>) {
        self.vectors.insert(value, result);
        self.keep(value, result);
    }

    fn keep(&self, value: Value<'m>, result: Value<'m>) {
        if let Some(slot) = self.slots.get(&value) {
            self.builder.store(result, slot.address);
        }
    }

    /// A result that all lanes share, for a value of whatever shape.
    pub(super) fn set_shared(&mut self, value: Value<'m>, result: Value<'m>) {
        if self.analysis.shape(value).is_varying() {
            let lanes = self.splat(result);
            self.set_vector(value, lanes);
        } else {
            self.set_scalar(value, result);
        }
    }

    /// Whether the current block may ask for the value.
    pub(super) fn is_at_hand(&self, value: Value<'m>) -> bool {
        value.as_instruction().is_none()
            || self.slots.contains_key(&value)
            || self.scalars.contains_key(&(value, 0))
            || [&self.fixed, &self.vectors].iter().any(|place| place.contains_key(&value))
    }

    pub(super) fn forget_registers(&mut self) {
        self.scalars.clear();
        self.vectors.clear();
        self.matrix_rows.clear();
    }

    pub(super) fn save_registers(&self) -> Registers<'m> {
        Registers { scalars: self.scalars.clone(), vectors: self.vectors.clone() }
    }

    pub(super) fn restore_registers(&mut self, registers: Registers<'m>) {
        self.scalars = registers.scalars;
        self.vectors = registers.vectors;
        self.matrix_rows.clear();
    }
}
