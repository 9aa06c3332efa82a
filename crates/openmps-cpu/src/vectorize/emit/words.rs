//! Atomic operations on neighbouring elements of device memory, several of them at once.
//!
//! A locked instruction takes as long for 16 bytes as for 4, since it waits for all stores before it. Where lanes combine values into
//! elements that follow each other and do not look at the old ones, the elements of a word (16 bytes, or 8) change together by one
//! exchange of the word, tried again when another thread was there in between. Other threads may change single elements of it with
//! instructions of their own: for the hardware, both take the cache line.

use openmps_llvm::{AtomicOp, Instruction, IntPredicate, Ordering, Value};

use super::super::refusal::Refusal;
use super::atomic::is_threadgroup_memory;
use super::{Emitter, WIDTH};

impl<'m> Emitter<'_, 'm> {
    /// Whether all lanes are there and their elements follow each other in device memory, several to a word.
    pub(super) fn is_run_of_words(&self, pointer: Value<'m>, value: Value<'m>) -> bool {
        let bits = self.module.size_bytes(value.ty()).saturating_mul(8);
        self.mask.is_none()
            && !is_threadgroup_memory(pointer)
            && matches!(bits, 32 | 64)
            && bits < u64::from(self.features.exchange_bits())
            && self.lies_upwards(pointer, value.ty())
    }

    /// Elements that follow each other are modified by words where the first is aligned like one; `one_by_one` is for the others.
    pub(super) fn modify_run(
        &mut self,
        instruction: Instruction<'m>,
        op: AtomicOp,
        mut one_by_one: impl FnMut(&mut Self) -> Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        let (pointer, value) = (instruction.operand(0), instruction.operand(1));
        let lanes = self.vector(value)?;
        let start = self.scalar(pointer);
        let holds = self.step_holds(pointer);
        let number = self.builder.ptr_to_int(start, self.context().i64());
        let odd = self.builder.and(number, number.ty().const_int(u64::from(self.features.exchange_bits() / 8 - 1)));
        let is_aligned = self.builder.icmp(IntPredicate::Eq, odd, number.ty().zero());
        let by_words = self.builder.and(holds, is_aligned);
        let [words, singles, done] = ["words", "singles", "modified"].map(|name| self.block(name));
        self.builder.cond_br(by_words, words, singles);
        self.builder.position_at_end(words);
        self.modify_words(instruction, op, start, lanes)?;
        self.builder.br(done);
        self.builder.position_at_end(singles);
        let registers = self.save_registers();
        one_by_one(self)?;
        self.restore_registers(registers);
        self.builder.br(done);
        self.builder.position_at_end(done);
        Ok(())
    }

    /// A loop over words, in which an inner one exchanges a word.
    fn modify_words(
        &self,
        instruction: Instruction<'m>,
        op: AtomicOp,
        start: Value<'m>,
        lanes: Value<'m>,
    ) -> Result<(), Refusal> {
        let (b, context) = (&self.builder, self.context());
        let ordering = instruction.ordering().ok_or(Refusal::Instruction)?;
        let bits = self.features.exchange_bits();
        let element = lanes.ty().scalar();
        let per_word = bits / u32::try_from(self.module.size_bytes(element) * 8).map_err(|_| Refusal::Instruction)?;
        let (word, parts) = (context.int(bits), context.vector(element, per_word));
        let kept = self.scratch(lanes.ty());
        b.store(lanes, kept);
        let before = b.block().expect("the builder is placed");
        let [turn, again, next, done] = ["word", "again", "exchanged", "words.done"].map(|name| self.block(name));
        b.br(turn);

        b.position_at_end(turn);
        let index = b.phi(context.i64());
        index.add_incoming(context.i64().zero(), before);
        let own = b.load(parts, b.gep(parts, kept, &[index.as_value()])).as_value();
        let place = b.gep(parts, start, &[index.as_value()]);
        let first = b.load(word, place);
        first.set_ordering(Ordering::Monotonic);
        first.set_alignment(bits / 8);
        b.br(again);

        b.position_at_end(again);
        let expected = b.phi(word);
        expected.add_incoming(first.as_value(), turn);
        let new = self.modified(op, b.bitcast(expected.as_value(), parts), own);
        let exchanged = b.cmpxchg(place, expected.as_value(), b.bitcast(new, word), ordering, Ordering::Monotonic);
        exchanged.set_alignment(bits / 8);
        expected.add_incoming(b.extract_value(exchanged.as_value(), 0), again);
        b.cond_br(b.extract_value(exchanged.as_value(), 1), next, again);

        b.position_at_end(next);
        let following = b.add(index.as_value(), context.i64().const_int(1));
        index.add_incoming(following, next);
        let is_last = b.icmp(IntPredicate::Eq, following, context.i64().const_int(u64::from(WIDTH / per_word)));
        b.cond_br(is_last, done, turn);
        b.position_at_end(done);
        Ok(())
    }
}
