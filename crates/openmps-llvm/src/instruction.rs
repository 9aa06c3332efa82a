//! Instructions: reading them, and the parts that can change after they are built.

use llvm_sys::core::{
    LLVMAddCase, LLVMAddIncoming, LLVMCanValueUseFastMathFlags, LLVMCountIncoming, LLVMGetAlignment,
    LLVMGetAllocatedType, LLVMGetArgOperand, LLVMGetAtomicRMWBinOp, LLVMGetCalledFunctionType, LLVMGetCalledValue,
    LLVMGetCmpXchgFailureOrdering, LLVMGetCmpXchgSuccessOrdering, LLVMGetCondition, LLVMGetDebugLocLine,
    LLVMGetFCmpPredicate, LLVMGetFastMathFlags, LLVMGetGEPSourceElementType, LLVMGetICmpPredicate,
    LLVMGetIncomingBlock, LLVMGetIncomingValue, LLVMGetIndices, LLVMGetInstructionCallConv, LLVMGetInstructionOpcode,
    LLVMGetInstructionParent, LLVMGetMaskValue, LLVMGetNextInstruction, LLVMGetNumArgOperands, LLVMGetNumIndices,
    LLVMGetNumMaskElements, LLVMGetNumOperands, LLVMGetNumSuccessors, LLVMGetOperand, LLVMGetOrdering,
    LLVMGetPreviousInstruction, LLVMGetSuccessor, LLVMGetSwitchCaseValue, LLVMGetSwitchDefaultDest, LLVMGetVolatile,
    LLVMIsATerminatorInst, LLVMIsConditional, LLVMIsInBounds, LLVMSetAlignment, LLVMSetFastMathFlags,
    LLVMSetInstructionCallConv, LLVMSetOperand, LLVMSetOrdering, LLVMSetSuccessor, LLVMSetVolatile,
};
use llvm_sys::{LLVMBasicBlock, LLVMValue};

use crate::block::Block;
use crate::function::Function;
use crate::handle::handle;
use crate::opcode::{AtomicOp, FastMath, FloatPredicate, IntPredicate, Opcode, Ordering, PlainOp};
use crate::string::c_text;
use crate::ty::Type;
use crate::value::Value;

handle! {
    /// An instruction.
    Instruction, LLVMValue
}

impl<'m> Instruction<'m> {
    /// Its result as an operand.
    #[must_use]
    pub fn as_value(self) -> Value<'m> {
        Value::wrap(self.raw())
    }

    /// The type of its result.
    #[must_use]
    pub fn ty(self) -> Type<'m> {
        self.as_value().ty()
    }

    /// What it does.
    #[must_use]
    pub fn opcode(self) -> Opcode {
        // SAFETY: live by the invariant of `Instruction`.
        Opcode::from_raw(unsafe { LLVMGetInstructionOpcode(self.raw()) })
    }

    /// The line of the source that it comes from; none without debug locations.
    #[must_use]
    pub fn debug_line(self) -> Option<u32> {
        // SAFETY: live by the invariant of `Instruction`.
        let line = unsafe { LLVMGetDebugLocLine(self.raw()) };
        (line > 0).then_some(line)
    }

    fn is(self, op: PlainOp) -> bool {
        self.opcode().is(op)
    }

    /// The block that it is in. Erased instructions are in none.
    #[must_use]
    pub fn block(self) -> Option<Block<'m>> {
        // SAFETY: live by the invariant of `Instruction`.
        Block::wrap_option(unsafe { LLVMGetInstructionParent(self.raw()) })
    }

    /// The instruction behind it in its block.
    #[must_use]
    pub fn next(self) -> Option<Self> {
        self.block()?;
        // SAFETY: live by the invariant of `Instruction`, and in a block.
        Self::wrap_option(unsafe { LLVMGetNextInstruction(self.raw()) })
    }

    /// The instruction before it in its block.
    #[must_use]
    pub fn previous(self) -> Option<Self> {
        self.block()?;
        // SAFETY: live by the invariant of `Instruction`, and in a block.
        Self::wrap_option(unsafe { LLVMGetPreviousInstruction(self.raw()) })
    }

    /// How many operands it has. A call's callee and a branch's targets are operands.
    ///
    /// # Panics
    /// When LLVM counts fewer than no operands.
    #[must_use]
    pub fn operand_count(self) -> u32 {
        // SAFETY: live by the invariant of `Instruction`.
        u32::try_from(unsafe { LLVMGetNumOperands(self.raw()) }).expect("a number of operands is not negative")
    }

    /// Operand `index`.
    ///
    /// # Panics
    /// When there is no such operand.
    #[must_use]
    pub fn operand(self, index: u32) -> Value<'m> {
        let len = self.operand_count();
        assert!(index < len, "operand {index} of {len} in {self}");
        // SAFETY: live by the invariant of `Instruction`; the index is in range.
        Value::wrap(unsafe { LLVMGetOperand(self.raw(), index) })
    }

    /// All operands in order.
    #[must_use]
    pub fn operands(self) -> Vec<Value<'m>> {
        (0..self.operand_count()).map(|index| self.operand(index)).collect()
    }

    /// Replaces operand `index` by `value`, of the same type.
    ///
    /// # Panics
    /// When there is no such operand.
    pub fn set_operand(self, index: u32, value: Value<'m>) {
        let len = self.operand_count();
        assert!(index < len, "operand {index} of {len} in {self}");
        // SAFETY: both are live by their invariants; the index is in range.
        unsafe { LLVMSetOperand(self.raw(), index, value.raw()) }
    }

    /// Whether it ends its block.
    #[must_use]
    pub fn is_terminator(self) -> bool {
        // SAFETY: live by the invariant of `Instruction`.
        !unsafe { LLVMIsATerminatorInst(self.raw()) }.is_null()
    }

    /// The blocks that a terminator may go to; empty for other instructions.
    #[must_use]
    pub fn successors(self) -> Vec<Block<'m>> {
        if !self.is_terminator() {
            return Vec::new();
        }
        // SAFETY: a terminator, live by the invariant of `Instruction`.
        let len = unsafe { LLVMGetNumSuccessors(self.raw()) };
        // SAFETY: the index is below the number of successors of a live terminator.
        (0..len).map(|index| Block::wrap(unsafe { LLVMGetSuccessor(self.raw(), index) })).collect()
    }

    /// Makes successor `index` of a terminator `block`.
    ///
    /// # Panics
    /// When there is no such successor.
    pub fn set_successor(self, index: u32, block: Block<'m>) {
        assert!((index as usize) < self.successors().len(), "successor {index} of {self}");
        // SAFETY: both are live by their invariants; the index is in range.
        unsafe { LLVMSetSuccessor(self.raw(), index, block.raw()) }
    }

    /// The condition of a conditional branch.
    #[must_use]
    pub fn condition(self) -> Option<Value<'m>> {
        // SAFETY: a branch, live by the invariant of `Instruction`.
        if !self.is(PlainOp::Br) || unsafe { LLVMIsConditional(self.raw()) == 0 } {
            return None;
        }
        // SAFETY: a conditional branch.
        Some(Value::wrap(unsafe { LLVMGetCondition(self.raw()) }))
    }

    /// The default target of a switch.
    #[must_use]
    pub fn switch_default(self) -> Option<Block<'m>> {
        // SAFETY: a switch, live by the invariant of `Instruction`.
        self.is(PlainOp::Switch).then(|| Block::wrap(unsafe { LLVMGetSwitchDefaultDest(self.raw()) }))
    }

    /// The target of a switch for `number`, of the switch's type.
    #[must_use]
    pub fn switch_target(self, number: u64) -> Option<Block<'m>> {
        let default = self.switch_default()?;
        let is_case = |index: u32| {
            // SAFETY: a switch, live by the invariant of `Instruction`; the targets behind the first are those of cases.
            let value = Value::wrap(unsafe { LLVMGetSwitchCaseValue(self.raw(), index) });
            value.as_const_int() == Some(number)
        };
        let mut cases = (1..).zip(self.successors().into_iter().skip(1));
        Some(cases.find(|&(index, _)| is_case(index)).map_or(default, |(_, target)| target))
    }

    /// Adds a case to a switch.
    ///
    /// # Panics
    /// When this is no switch.
    pub fn add_case(self, value: Value<'m>, target: Block<'m>) {
        assert!(self.is(PlainOp::Switch), "only a switch has cases, not {self}");
        // SAFETY: a switch; all are live by their invariants.
        unsafe { LLVMAddCase(self.raw(), value.raw(), target.raw()) }
    }

    /// The callee of a call: a function, another pointer, or inline assembly.
    #[must_use]
    pub fn callee(self) -> Option<Value<'m>> {
        // SAFETY: a call, live by the invariant of `Instruction`.
        self.is_call().then(|| Value::wrap(unsafe { LLVMGetCalledValue(self.raw()) }))
    }

    /// The function that a direct call names.
    #[must_use]
    pub fn called_function(self) -> Option<Function<'m>> {
        self.callee()?.as_function()
    }

    /// Makes a call call `function`, of the same type and calling convention.
    ///
    /// # Panics
    /// When this is no call, or the types differ.
    pub fn set_called_function(self, function: Function<'m>) {
        assert_eq!(self.called_type(), Some(function.value_type()), "{self} calls @{}", function.name());
        self.set_operand(self.operand_count() - 1, function.as_value());
    }

    /// The function type of a call.
    #[must_use]
    pub fn called_type(self) -> Option<Type<'m>> {
        // SAFETY: a call, live by the invariant of `Instruction`.
        self.is_call().then(|| Type::wrap(unsafe { LLVMGetCalledFunctionType(self.raw()) }))
    }

    fn is_call(self) -> bool {
        self.is(PlainOp::Call) || self.is(PlainOp::Invoke) || self.is(PlainOp::CallBr)
    }

    /// The arguments of a call, without callee and operand bundles; empty for other instructions.
    #[must_use]
    pub fn arguments(self) -> Vec<Value<'m>> {
        if !self.is_call() {
            return Vec::new();
        }
        // SAFETY: a call, live by the invariant of `Instruction`.
        let len = unsafe { LLVMGetNumArgOperands(self.raw()) };
        // SAFETY: the index is below the number of arguments of a live call.
        (0..len).map(|index| Value::wrap(unsafe { LLVMGetArgOperand(self.raw(), index) })).collect()
    }

    /// The calling convention of a call.
    #[must_use]
    pub fn call_convention(self) -> Option<u32> {
        // SAFETY: a call, live by the invariant of `Instruction`.
        self.is_call().then(|| unsafe { LLVMGetInstructionCallConv(self.raw()) })
    }

    /// Sets the calling convention of a call.
    ///
    /// # Panics
    /// When this is no call.
    pub fn set_call_convention(self, convention: u32) {
        assert!(self.is_call(), "only a call has a calling convention, not {self}");
        // SAFETY: a call, live by the invariant of `Instruction`.
        unsafe { LLVMSetInstructionCallConv(self.raw(), convention) }
    }

    /// How an `icmp` compares.
    #[must_use]
    pub fn int_predicate(self) -> Option<IntPredicate> {
        if !self.is(PlainOp::ICmp) {
            return None;
        }
        // SAFETY: an icmp, live by the invariant of `Instruction`.
        IntPredicate::from_raw(unsafe { LLVMGetICmpPredicate(self.raw()) })
    }

    /// How an `fcmp` compares.
    #[must_use]
    pub fn float_predicate(self) -> Option<FloatPredicate> {
        if !self.is(PlainOp::FCmp) {
            return None;
        }
        // SAFETY: an fcmp, live by the invariant of `Instruction`.
        FloatPredicate::from_raw(unsafe { LLVMGetFCmpPredicate(self.raw()) })
    }

    /// The type that an alloca allocates.
    #[must_use]
    pub fn allocated_type(self) -> Option<Type<'m>> {
        // SAFETY: an alloca, live by the invariant of `Instruction`.
        self.is(PlainOp::Alloca).then(|| Type::wrap(unsafe { LLVMGetAllocatedType(self.raw()) }))
    }

    /// The type that a getelementptr steps through.
    #[must_use]
    pub fn gep_source_type(self) -> Option<Type<'m>> {
        // SAFETY: a getelementptr, live by the invariant of `Instruction`.
        self.is(PlainOp::GetElementPtr).then(|| Type::wrap(unsafe { LLVMGetGEPSourceElementType(self.raw()) }))
    }

    /// Whether a getelementptr is `inbounds`.
    #[must_use]
    pub fn is_inbounds(self) -> bool {
        // SAFETY: a getelementptr, live by the invariant of `Instruction`.
        self.is(PlainOp::GetElementPtr) && unsafe { LLVMIsInBounds(self.raw()) != 0 }
    }

    fn is_memory_access(self) -> bool {
        [PlainOp::Load, PlainOp::Store, PlainOp::AtomicRmw, PlainOp::AtomicCmpXchg].into_iter().any(|op| self.is(op))
    }

    /// The alignment of a memory access or alloca, in bytes.
    #[must_use]
    pub fn alignment(self) -> Option<u32> {
        // SAFETY: an instruction with alignment, live by the invariant of `Instruction`.
        (self.is_memory_access() || self.is(PlainOp::Alloca)).then(|| unsafe { LLVMGetAlignment(self.raw()) })
    }

    /// Sets the alignment in bytes, a power of two.
    ///
    /// # Panics
    /// When this is neither a memory access nor an alloca.
    pub fn set_alignment(self, bytes: u32) {
        assert!(self.alignment().is_some() && bytes.is_power_of_two(), "alignment {bytes} of {self}");
        // SAFETY: an instruction with alignment, live by the invariant of `Instruction`.
        unsafe { LLVMSetAlignment(self.raw(), bytes) }
    }

    /// Whether a memory access is volatile.
    #[must_use]
    pub fn is_volatile(self) -> bool {
        // SAFETY: a memory access, live by the invariant of `Instruction`.
        self.is_memory_access() && unsafe { LLVMGetVolatile(self.raw()) != 0 }
    }

    /// Sets or clears the volatile mark.
    ///
    /// # Panics
    /// When this is no memory access.
    pub fn set_volatile(self, volatile: bool) {
        assert!(self.is_memory_access(), "only memory accesses are volatile, not {self}");
        // SAFETY: a memory access, live by the invariant of `Instruction`.
        unsafe { LLVMSetVolatile(self.raw(), i32::from(volatile)) }
    }

    /// The ordering of a load, store, atomicrmw or fence.
    #[must_use]
    pub fn ordering(self) -> Option<Ordering> {
        if ![PlainOp::Load, PlainOp::Store, PlainOp::AtomicRmw, PlainOp::Fence].into_iter().any(|op| self.is(op)) {
            return None;
        }
        // SAFETY: an instruction with an ordering, live by the invariant of `Instruction`.
        Ordering::from_raw(unsafe { LLVMGetOrdering(self.raw()) })
    }

    /// Makes a load or store atomic with `ordering`.
    ///
    /// # Panics
    /// When this is no instruction with an ordering.
    pub fn set_ordering(self, ordering: Ordering) {
        assert!(self.ordering().is_some(), "no ordering on {self}");
        // SAFETY: an instruction with an ordering, live by the invariant of `Instruction`.
        unsafe { LLVMSetOrdering(self.raw(), ordering.to_raw()) }
    }

    /// The success and failure orderings of a cmpxchg.
    #[must_use]
    pub fn cmpxchg_orderings(self) -> Option<(Ordering, Ordering)> {
        if !self.is(PlainOp::AtomicCmpXchg) {
            return None;
        }
        // SAFETY: a cmpxchg, live by the invariant of `Instruction`.
        let success = unsafe { LLVMGetCmpXchgSuccessOrdering(self.raw()) };
        // SAFETY: a cmpxchg, live by the invariant of `Instruction`.
        let failure = unsafe { LLVMGetCmpXchgFailureOrdering(self.raw()) };
        Some((Ordering::from_raw(success)?, Ordering::from_raw(failure)?))
    }

    /// What an atomicrmw does.
    #[must_use]
    pub fn atomic_op(self) -> Option<AtomicOp> {
        if !self.is(PlainOp::AtomicRmw) {
            return None;
        }
        // SAFETY: an atomicrmw, live by the invariant of `Instruction`.
        AtomicOp::from_raw(unsafe { LLVMGetAtomicRMWBinOp(self.raw()) })
    }

    /// The value and block pairs of a phi; empty for other instructions.
    #[must_use]
    pub fn incoming(self) -> Vec<(Value<'m>, Block<'m>)> {
        if !self.is(PlainOp::Phi) {
            return Vec::new();
        }
        // SAFETY: a phi, live by the invariant of `Instruction`.
        let len = unsafe { LLVMCountIncoming(self.raw()) };
        let pair = |index| {
            // SAFETY: the index is below the number of pairs of a live phi.
            let value = Value::wrap(unsafe { LLVMGetIncomingValue(self.raw(), index) });
            // SAFETY: the index is below the number of pairs of a live phi.
            (value, Block::wrap(unsafe { LLVMGetIncomingBlock(self.raw(), index) }))
        };
        (0..len).map(pair).collect()
    }

    /// Adds a value and block pair to a phi.
    ///
    /// # Panics
    /// When this is no phi.
    pub fn add_incoming(self, value: Value<'m>, block: Block<'m>) {
        assert!(self.is(PlainOp::Phi), "only a phi has incoming values, not {self}");
        let (mut value, mut block) = (value.raw(), block.raw());
        // SAFETY: a phi; value and block are live, and each array has one element.
        unsafe { LLVMAddIncoming(self.raw(), &raw mut value, &raw mut block, 1) }
    }

    /// The indices of an extractvalue or insertvalue; empty for other instructions.
    #[must_use]
    pub fn indices(self) -> Vec<u32> {
        if !self.is(PlainOp::ExtractValue) && !self.is(PlainOp::InsertValue) {
            return Vec::new();
        }
        // SAFETY: an instruction with indices, live by the invariant of `Instruction`.
        let len = unsafe { LLVMGetNumIndices(self.raw()) };
        // SAFETY: an instruction with indices, live by the invariant of `Instruction`.
        let data = unsafe { LLVMGetIndices(self.raw()) };
        // SAFETY: the instruction keeps `len` indices at `data`, at least one.
        unsafe { std::slice::from_raw_parts(data, len as usize) }.to_vec()
    }

    /// The mask of a shufflevector, `None` for a lane that may be anything; empty for other instructions.
    #[must_use]
    pub fn shuffle_mask(self) -> Vec<Option<u32>> {
        if !self.is(PlainOp::ShuffleVector) {
            return Vec::new();
        }
        // SAFETY: a shufflevector, live by the invariant of `Instruction`.
        let len = unsafe { LLVMGetNumMaskElements(self.raw()) };
        // SAFETY: the index is below the mask's length.
        (0..len).map(|index| u32::try_from(unsafe { LLVMGetMaskValue(self.raw(), index) }).ok()).collect()
    }

    /// Whether fast-math flags can be set on it.
    #[must_use]
    pub fn can_have_fast_math(self) -> bool {
        // SAFETY: live by the invariant of `Instruction`.
        unsafe { LLVMCanValueUseFastMathFlags(self.raw()) != 0 }
    }

    /// Its fast-math flags; none where it cannot have any.
    #[must_use]
    pub fn fast_math(self) -> FastMath {
        if !self.can_have_fast_math() {
            return FastMath::default();
        }
        // SAFETY: an instruction that has flags, live by the invariant of `Instruction`.
        FastMath(unsafe { LLVMGetFastMathFlags(self.raw()) })
    }

    /// Replaces its fast-math flags; without effect where it cannot have any.
    pub fn set_fast_math(self, flags: FastMath) {
        if self.can_have_fast_math() {
            // SAFETY: an instruction that has flags, live by the invariant of `Instruction`.
            unsafe { openmps_llvm_keep_fast_math(self.raw(), flags.0) };
            // SAFETY: as above.
            unsafe { LLVMSetFastMathFlags(self.raw(), flags.0) }
        }
    }
}

impl<'m> Instruction<'m> {
    /// Cuts its block before it: it and what follows move to a new block, to which the old one goes. Phis of the blocks
    /// behind name the new block.
    ///
    /// # Panics
    /// When it was erased, or is a phi.
    pub fn split_block(self, name: &str) -> Block<'m> {
        assert!(self.block().is_some() && !self.is(PlainOp::Phi), "a block cannot be cut before {self}");
        let name = c_text(name);
        // SAFETY: live by the invariant of `Instruction`, and in a block; the name is copied.
        Block::wrap(unsafe { openmps_llvm_split_before(self.raw(), name.as_ptr()) })
    }

    /// Moves it before `place`, of the same function.
    ///
    /// # Panics
    /// When one of them was erased.
    pub fn move_before(self, place: Self) {
        assert!(self.block().is_some() && place.block().is_some(), "{self} or {place} was erased");
        // SAFETY: both are live by the invariant of `Instruction`, and in blocks.
        unsafe { openmps_llvm_move_before(self.raw(), place.raw()) }
    }
}

unsafe extern "C" {
    /// In `csrc/instruction.cpp`.
    fn openmps_llvm_split_before(instruction: *mut LLVMValue, name: *const std::ffi::c_char) -> *mut LLVMBasicBlock;
    /// In `csrc/instruction.cpp`.
    fn openmps_llvm_move_before(instruction: *mut LLVMValue, place: *mut LLVMValue);
    /// Removes all flags but `kept`; LLVM-C's setter only adds some. In `csrc/instruction.cpp`.
    fn openmps_llvm_keep_fast_math(instruction: *mut LLVMValue, kept: u32);
}

impl std::fmt::Display for Instruction<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.as_value().fmt(f)
    }
}

impl std::fmt::Debug for Instruction<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.as_value().fmt(f)
    }
}
