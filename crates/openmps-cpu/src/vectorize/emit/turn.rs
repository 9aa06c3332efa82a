//! What has no vector form: one lane after another.
//!
//! Vectors go through memory, each stored once in front of the loop, since taking one lane of a vector by a variable number
//! stores all of it.

use openmps_llvm::{IntPredicate, Type, Value};

use super::super::refusal::Refusal;
use super::{Emitter, WIDTH};

/// Lanes a turn where all of them are active.
const UNROLLED: u32 = 4;

/// The computation of one lane from the lane's operands.
type Lane<'f, 'a, 'm> = dyn FnMut(&mut Emitter<'a, 'm>, &[Value<'m>]) -> Result<Option<Value<'m>>, Refusal> + 'f;

/// An operand of all lanes.
#[derive(Clone, Copy)]
enum Operand<'m> {
    Shared(Value<'m>),
    InMemory(LaneMemory<'m>),
}

/// A vector in memory.
#[derive(Clone, Copy)]
struct LaneMemory<'m> {
    address: Value<'m>,
    /// Of an element.
    ty: Type<'m>,
    /// How that lies in memory: truth values have a byte each.
    stored: Type<'m>,
}

impl<'a, 'm> Emitter<'a, 'm> {
    /// A loop over the active lanes: `lane` gets the operands of one, all of them vectors here.
    pub(super) fn lane_loop(
        &mut self,
        operands: &[Value<'m>],
        result: Option<Type<'m>>,
        mut lane: impl FnMut(&mut Self, &[Value<'m>]) -> Result<Option<Value<'m>>, Refusal>,
    ) -> Result<Option<Value<'m>>, Refusal> {
        let scalars: Vec<Value<'m>> = operands.iter().map(|operand| operand.ty().scalar().poison()).collect();
        self.lane_loop_of(operands, &scalars, result, &mut lane)
    }

    /// As [`lane_loop`](Self::lane_loop); operands of the type of their `sources` are shared by the lanes.
    pub(super) fn lane_loop_of(
        &mut self,
        operands: &[Value<'m>],
        sources: &[Value<'m>],
        result: Option<Type<'m>>,
        lane: &mut Lane<'_, 'a, 'm>,
    ) -> Result<Option<Value<'m>>, Refusal> {
        let pairs = operands.iter().zip(sources);
        let operands: Vec<Operand<'m>> = pairs
            .map(
                |(&operand, source)| {
                    if operand.ty() == source.ty() { Operand::Shared(operand) } else { self.keep_lanes(operand) }
                },
            )
            .collect();
        let results: Vec<LaneMemory<'m>> = result.map_or_else(Vec::new, |ty| self.result_memory(ty));
        match self.mask {
            None => self.all_lanes(&operands, &results, lane)?,
            Some(mask) => self.masked_lanes(mask, &operands, &results, lane)?,
        }
        Ok(result.map(|ty| self.results_of_lanes(ty, &results)))
    }

    /// Counts all lanes.
    fn all_lanes(
        &mut self,
        operands: &[Operand<'m>],
        results: &[LaneMemory<'m>],
        lane: &mut Lane<'_, 'a, 'm>,
    ) -> Result<(), Refusal> {
        let before = self.builder.block().expect("the builder is placed");
        let [turn, done] = ["lane", "lanes"].map(|name| self.block(name));
        self.builder.br(turn);
        self.builder.position_at_end(turn);
        let first = self.builder.phi(self.bits_ty());
        first.add_incoming(self.bits_ty().zero(), before);
        for number in 0..UNROLLED {
            let index = self.builder.or(first.as_value(), self.bits_ty().const_int(u64::from(number)));
            self.one_lane(index, operands, results, lane)?;
        }
        let next = self.builder.add(first.as_value(), self.bits_ty().const_int(u64::from(UNROLLED)));
        let end = self.builder.block().expect("the builder is placed");
        first.add_incoming(next, end);
        let is_last = self.builder.icmp(IntPredicate::Eq, next, self.bits_ty().const_int(u64::from(WIDTH)));
        self.builder.cond_br(is_last, done, turn);
        self.builder.position_at_end(done);
        Ok(())
    }

    /// Takes lanes out of a mask, of which there is one at least.
    fn masked_lanes(
        &mut self,
        mask: Value<'m>,
        operands: &[Operand<'m>],
        results: &[LaneMemory<'m>],
        lane: &mut Lane<'_, 'a, 'm>,
    ) -> Result<(), Refusal> {
        let before = self.builder.block().expect("the builder is placed");
        let bits = self.bits(mask);
        let [turn, done] = ["lane", "lanes"].map(|name| self.block(name));
        self.builder.br(turn);
        self.builder.position_at_end(turn);
        let left = self.builder.phi(self.bits_ty());
        left.add_incoming(bits, before);
        let no_poison = self.context().i1().all_ones();
        let index = self.builder.intrinsic("llvm.cttz", &[self.bits_ty()], &[left.as_value(), no_poison]).as_value();
        self.one_lane(index, operands, results, lane)?;
        let less = self.builder.sub(left.as_value(), self.bits_ty().const_int(1));
        let rest = self.builder.and(left.as_value(), less);
        let end = self.builder.block().expect("the builder is placed");
        left.add_incoming(rest, end);
        let is_last = self.builder.icmp(IntPredicate::Eq, rest, self.bits_ty().zero());
        self.builder.cond_br(is_last, done, turn);
        self.builder.position_at_end(done);
        Ok(())
    }

    fn one_lane(
        &mut self,
        index: Value<'m>,
        operands: &[Operand<'m>],
        results: &[LaneMemory<'m>],
        lane: &mut Lane<'_, 'a, 'm>,
    ) -> Result<(), Refusal> {
        let mut own = Vec::new();
        for &operand in operands {
            own.push(match operand {
                Operand::Shared(value) => value,
                Operand::InMemory(memory) => {
                    let address = self.builder.gep(memory.stored, memory.address, &[index]);
                    let loaded = self.builder.load(memory.stored, address).as_value();
                    self.resized(loaded, memory.ty)
                }
            });
        }
        let Some(one) = lane(self, &own)? else { return Ok(()) };
        for (number, memory) in (0..).zip(results) {
            let is_whole = one.ty().fields().is_empty();
            let field = if is_whole { one } else { self.builder.extract_value(one, number) };
            let address = self.builder.gep(memory.stored, memory.address, &[index]);
            self.builder.store(self.resized(field, memory.stored), address);
        }
        Ok(())
    }

    /// A truth value as a byte, a byte as a truth value, anything else as it is.
    fn resized(&self, value: Value<'m>, ty: Type<'m>) -> Value<'m> {
        if value.ty() == ty { value } else { self.builder.zext_or_trunc(value, ty) }
    }

    fn lane_memory(&self, ty: Type<'m>) -> LaneMemory<'m> {
        let stored = if ty.int_bits() == Some(1) { self.context().i8() } else { ty };
        let address = self.scratch(self.context().vector(stored, WIDTH));
        LaneMemory { address, ty, stored }
    }

    fn keep_lanes(&self, lanes: Value<'m>) -> Operand<'m> {
        let memory = self.lane_memory(lanes.ty().scalar());
        let stored = self.context().vector(memory.stored, WIDTH);
        self.builder.store(self.resized(lanes, stored), memory.address);
        Operand::InMemory(memory)
    }

    /// Memory for a result of this type, field by field for structures.
    fn result_memory(&self, ty: Type<'m>) -> Vec<LaneMemory<'m>> {
        let fields = ty.fields();
        let vectors = if fields.is_empty() { vec![ty] } else { fields };
        vectors.into_iter().map(|lanes| self.lane_memory(lanes.scalar())).collect()
    }

    fn results_of_lanes(&self, ty: Type<'m>, results: &[LaneMemory<'m>]) -> Value<'m> {
        let fields = ty.fields();
        let read = |memory: &LaneMemory<'m>| {
            let loaded = self.builder.load(self.context().vector(memory.stored, WIDTH), memory.address).as_value();
            self.resized(loaded, self.context().vector(memory.ty, WIDTH))
        };
        if fields.is_empty() {
            return read(&results[0]);
        }
        (0..)
            .zip(results)
            .fold(ty.poison(), |all, (number, memory)| self.builder.insert_value(all, read(memory), number))
    }
}
