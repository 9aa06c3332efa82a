//! Whether all lanes agree on a condition, told by the lanes with the least and the most: `i < n` where `i` counts lanes.

use openmps_llvm::{Instruction, IntPredicate, PlainOp, Value};

use super::super::refusal::Refusal;
use super::super::shape::{Affine, Shape};
use super::{Emitter, WIDTH};

/// Largest step; those of larger ones may pass the range of numbers between lanes.
const STEP_MAX: u64 = 1 << 40;

/// How a comparison orders numbers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    Unsigned,
    Signed,
    /// Equal or not.
    None,
}

fn order(predicate: IntPredicate) -> Order {
    match predicate {
        IntPredicate::Ult | IntPredicate::Ule | IntPredicate::Ugt | IntPredicate::Uge => Order::Unsigned,
        IntPredicate::Slt | IntPredicate::Sle | IntPredicate::Sgt | IntPredicate::Sge => Order::Signed,
        IntPredicate::Eq | IntPredicate::Ne => Order::None,
    }
}

/// A comparison of a number that counts lanes with a shared one.
pub(super) struct Agreement<'m> {
    test: Instruction<'m>,
    predicate: IntPredicate,
    affine: Affine,
    /// Whether the number that counts is on the left.
    is_left: bool,
}

impl<'m> Emitter<'_, 'm> {
    /// The condition of the current block's branch as a comparison whose ends tell enough while all lanes are active. It is one
    /// of the block, so that its operands are at hand.
    pub(super) fn agreement(&self, condition: Value<'m>) -> Option<Agreement<'m>> {
        let here = self.graph.blocks[self.current];
        let is_here = |it: &Instruction<'m>| it.opcode().is(PlainOp::ICmp) && it.block() == Some(here);
        let test = condition.as_instruction().filter(is_here)?;
        let predicate = test.int_predicate()?;
        test.operand(0).ty().int_bits()?;
        let (affine, is_left) = match [0, 1].map(|side| self.analysis.shape(test.operand(side))) {
            [Shape::Affine(affine), Shape::Uniform] => (affine, true),
            [Shape::Uniform, Shape::Affine(affine)] => (affine, false),
            _ => return None,
        };
        let is_ordered = match order(predicate) {
            Order::Unsigned => affine.unsigned_max.is_some(),
            Order::Signed => affine.signed,
            Order::None => affine.lane_stride(self.analysis.row_lanes) == Some(1),
        };
        let is_small = |step: i64| step.unsigned_abs() <= STEP_MAX;
        let is_small = is_small(affine.stride) && affine.rows.is_some_and(is_small);
        (is_ordered && is_small && !affine.checked).then_some(Agreement { test, predicate, affine, is_left })
    }

    /// Whether `instruction` is computed for such a branch at the end of the current block alone.
    pub(super) fn is_for_agreement(&self, instruction: Instruction<'m>) -> bool {
        let value = instruction.as_value();
        let condition = self.graph.blocks[self.current].terminator().and_then(Instruction::condition);
        condition == Some(value)
            && value.users().len() == 1
            && self.analysis.shape(value).is_varying()
            && self.agreement(value).is_some()
    }

    /// Whether the condition is true on all lanes, and on none, as two bits.
    pub(super) fn ends_agree(&mut self, agreement: &Agreement<'m>) -> [Value<'m>; 2] {
        let &Agreement { test, predicate, affine, is_left } = agreement;
        let (left, right) = (self.scalar(test.operand(0)), self.scalar(test.operand(1)));
        let (first, other) = if is_left { (left, right) } else { (right, left) };
        let b = &self.builder;
        if order(predicate) == Order::None {
            // One lane has the number, or none.
            let is_near = b.icmp(IntPredicate::Ult, b.sub(other, first), first.ty().const_int(u64::from(WIDTH)));
            let (never, is_far) = (self.context().i1().zero(), b.not(is_near));
            return if predicate == IntPredicate::Eq { [never, is_far] } else { [is_far, never] };
        }
        let (least, most) = affine.offsets(self.analysis.row_lanes);
        let moved = |offset: i64| match offset {
            0 => first,
            offset => b.add(first, first.ty().const_int(offset.cast_unsigned())),
        };
        let compare =
            |number| if is_left { b.icmp(predicate, number, other) } else { b.icmp(predicate, other, number) };
        let (at_least, at_most) = (compare(moved(least)), compare(moved(most)));
        let is_none = b.not(b.or(at_least, at_most));
        [b.and(at_least, at_most), is_none]
    }

    /// The lanes on which the condition is true when it is on some of them only, where that is known: a number that counts whole
    /// SIMD-groups is compared with a constant, which lies in this one then.
    pub(super) fn lanes_apart(&self, agreement: &Agreement<'m>) -> Option<u32> {
        use IntPredicate as P;
        let &Agreement { test, predicate, affine, is_left } = agreement;
        let constant = test.operand(u32::from(is_left)).as_const_int().filter(|_| affine.aligned)?;
        let place = u32::try_from(constant % u64::from(WIDTH)).ok()?;
        let below = |place: u32| (1_u32 << place) - 1;
        // `c < i` is `i > c`.
        let lanes = match (predicate, is_left) {
            (P::Ult | P::Slt, true) | (P::Ugt | P::Sgt, false) => below(place),
            (P::Uge | P::Sge, true) | (P::Ule | P::Sle, false) => !below(place),
            (P::Ule | P::Sle, true) | (P::Uge | P::Sge, false) => below(place) | 1 << place,
            (P::Ugt | P::Sgt, true) | (P::Ult | P::Slt, false) => !(below(place) | 1 << place),
            (P::Eq, _) => 1 << place,
            (P::Ne, _) => !(1 << place),
        };
        Some(lanes)
    }

    /// The condition of each lane.
    pub(super) fn lanes_of_agreement(&mut self, agreement: &Agreement<'m>) -> Result<Value<'m>, Refusal> {
        self.vector_result(agreement.test)
    }
}
