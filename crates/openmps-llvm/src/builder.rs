//! Building instructions. Results are unnamed; [`Value::set_name`](crate::Value::set_name) names them.
//!
//! LLVM folds what it can: a result may be a constant or an operand in place of a new instruction.

use std::ptr::NonNull;

use llvm_sys::LLVMBuilder;
use llvm_sys::core::{
    LLVMBuildAlloca, LLVMBuildArrayAlloca, LLVMBuildAtomicCmpXchg, LLVMBuildAtomicRMW, LLVMBuildBinOp, LLVMBuildBr,
    LLVMBuildCall2, LLVMBuildCast, LLVMBuildCondBr, LLVMBuildExtractElement, LLVMBuildExtractValue, LLVMBuildFCmp,
    LLVMBuildFNeg, LLVMBuildFence, LLVMBuildFreeze, LLVMBuildGEP2, LLVMBuildICmp, LLVMBuildInBoundsGEP2,
    LLVMBuildInsertElement, LLVMBuildInsertValue, LLVMBuildLoad2, LLVMBuildMemCpy, LLVMBuildMemSet, LLVMBuildPhi,
    LLVMBuildRet, LLVMBuildRetVoid, LLVMBuildSelect, LLVMBuildShuffleVector, LLVMBuildStore, LLVMBuildSwitch,
    LLVMBuildUnreachable, LLVMCreateBuilderInContext, LLVMDisposeBuilder, LLVMGetInsertBlock, LLVMInsertIntoBuilder,
    LLVMInstructionClone, LLVMPositionBuilderAtEnd, LLVMPositionBuilderBefore,
};

use crate::block::Block;
use crate::constant::const_vector;
use crate::context::Context;
use crate::function::Function;
use crate::handle::count;
use crate::instruction::Instruction;
use crate::module::Module;
use crate::opcode::{AtomicOp, BinaryOp, CastOp, FloatPredicate, IntPredicate, Ordering, PlainOp};
use crate::ty::{Type, TypeKind};
use crate::value::Value;

/// Inserts instructions into blocks of one module.
pub struct Builder<'m> {
    /// Invariant: live and owned. It inserts only into blocks that live for `'m`.
    raw: NonNull<LLVMBuilder>,
    module: &'m Module<'m>,
}

/// No name.
const UNNAMED: *const std::ffi::c_char = c"".as_ptr();

macro_rules! binary {
    ($($(#[$doc:meta])* $name:ident = $op:ident;)*) => {
        $(
            $(#[$doc])*
            #[doc = concat!("[`BinaryOp::", stringify!($op), "`].")]
            pub fn $name(&self, left: Value<'m>, right: Value<'m>) -> Value<'m> {
                self.binary(BinaryOp::$op, left, right)
            }
        )*
    };
}

macro_rules! cast {
    ($($name:ident = $op:ident;)*) => {
        $(
            #[doc = concat!("[`CastOp::", stringify!($op), "`].")]
            pub fn $name(&self, value: Value<'m>, ty: Type<'m>) -> Value<'m> {
                self.cast(CastOp::$op, value, ty)
            }
        )*
    };
}

/// Where instructions go.
impl<'m> Builder<'m> {
    pub(crate) fn new(module: &'m Module<'m>) -> Self {
        // SAFETY: the module's context is live.
        let raw = unsafe { LLVMCreateBuilderInContext(module.context().raw()) };
        Self { raw: NonNull::new(raw).expect("LLVM makes a builder or aborts"), module }
    }

    fn raw(&self) -> *mut LLVMBuilder {
        self.raw.as_ptr()
    }

    /// The module that this builds in.
    #[must_use]
    pub fn module(&self) -> &'m Module<'m> {
        self.module
    }

    /// The context of the module.
    #[must_use]
    pub fn context(&self) -> &'m Context {
        self.module.context()
    }

    /// Further instructions go to the end of `block`.
    pub fn position_at_end(&self, block: Block<'m>) {
        // SAFETY: both are live by their invariants.
        unsafe { LLVMPositionBuilderAtEnd(self.raw(), block.raw()) }
    }

    /// Further instructions go before `instruction`.
    ///
    /// # Panics
    /// When the instruction was erased.
    pub fn position_before(&self, instruction: Instruction<'m>) {
        assert!(instruction.block().is_some(), "{instruction} was erased");
        // SAFETY: both are live by their invariants; the instruction is in a block.
        unsafe { LLVMPositionBuilderBefore(self.raw(), instruction.raw()) }
    }

    /// The block that instructions go to; `None` before the first placing.
    #[must_use]
    pub fn block(&self) -> Option<Block<'m>> {
        // SAFETY: live by the invariant of `Builder`.
        Block::wrap_option(unsafe { LLVMGetInsertBlock(self.raw()) })
    }

    /// A copy of `instruction`, with its operands, flags and metadata.
    ///
    /// # Panics
    /// When it is a terminator, which ends a block.
    pub fn insert_copy(&self, instruction: Instruction<'m>) -> Instruction<'m> {
        assert!(instruction.successors().is_empty() && !instruction.opcode().is(PlainOp::Ret), "{instruction}");
        let builder = self.placed();
        // SAFETY: the instruction is live; nothing owns the copy yet.
        let copy = unsafe { LLVMInstructionClone(instruction.raw()) };
        // SAFETY: the builder is placed in a block, which takes the copy.
        unsafe { LLVMInsertIntoBuilder(builder, copy) };
        Instruction::wrap(copy)
    }

    /// Every build asserts it: LLVM would make an instruction that nothing owns.
    fn placed(&self) -> *mut LLVMBuilder {
        assert!(self.block().is_some(), "a builder is placed before it builds");
        self.raw()
    }
}

/// Arithmetic, comparisons, casts, vectors and aggregates.
impl<'m> Builder<'m> {
    /// `left op right`.
    pub fn binary(&self, op: BinaryOp, left: Value<'m>, right: Value<'m>) -> Value<'m> {
        debug_assert_eq!(left.ty(), right.ty(), "operands of {op:?}");
        // SAFETY: builder and operands are live, and the builder is placed.
        Value::wrap(unsafe { LLVMBuildBinOp(self.placed(), op.to_raw(), left.raw(), right.raw(), UNNAMED) })
    }

    binary! {
        /// Sum, wrapping.
        add = Add;
        /// Difference, wrapping.
        sub = Sub;
        /// Product, wrapping.
        mul = Mul;
        /// Unsigned quotient.
        udiv = UDiv;
        /// Signed quotient.
        sdiv = SDiv;
        /// Unsigned remainder.
        urem = URem;
        /// Signed remainder.
        srem = SRem;
        /// Shift left.
        shl = Shl;
        /// Logical shift right.
        lshr = LShr;
        /// Arithmetic shift right.
        ashr = AShr;
        /// Bitwise and.
        and = And;
        /// Bitwise or.
        or = Or;
        /// Bitwise exclusive or.
        xor = Xor;
        /// Floating-point sum.
        fadd = FAdd;
        /// Floating-point difference.
        fsub = FSub;
        /// Floating-point product.
        fmul = FMul;
        /// Floating-point quotient.
        fdiv = FDiv;
        /// Floating-point remainder with the dividend's sign.
        frem = FRem;
    }

    /// Bitwise complement.
    pub fn not(&self, value: Value<'m>) -> Value<'m> {
        self.xor(value, value.ty().all_ones())
    }

    /// Two's complement negation.
    pub fn neg(&self, value: Value<'m>) -> Value<'m> {
        self.sub(value.ty().zero(), value)
    }

    /// Floating-point negation: flips the sign bit, also of NaN.
    pub fn fneg(&self, value: Value<'m>) -> Value<'m> {
        // SAFETY: builder and operand are live, and the builder is placed.
        Value::wrap(unsafe { LLVMBuildFNeg(self.placed(), value.raw(), UNNAMED) })
    }

    /// `value` as `ty`.
    pub fn cast(&self, op: CastOp, value: Value<'m>, ty: Type<'m>) -> Value<'m> {
        // SAFETY: builder, operand and type are live, and the builder is placed.
        Value::wrap(unsafe { LLVMBuildCast(self.placed(), op.to_raw(), value.raw(), ty.raw(), UNNAMED) })
    }

    cast! {
        trunc = Trunc;
        zext = ZExt;
        sext = SExt;
        fp_to_ui = FpToUi;
        fp_to_si = FpToSi;
        ui_to_fp = UiToFp;
        si_to_fp = SiToFp;
        fp_trunc = FpTrunc;
        fp_ext = FpExt;
        ptr_to_int = PtrToInt;
        int_to_ptr = IntToPtr;
        bitcast = BitCast;
        addr_space_cast = AddrSpaceCast;
    }

    /// `value` zero-extended or truncated to the integer type `ty`.
    pub fn zext_or_trunc(&self, value: Value<'m>, ty: Type<'m>) -> Value<'m> {
        match value.ty().scalar().int_bits().cmp(&ty.scalar().int_bits()) {
            std::cmp::Ordering::Less => self.zext(value, ty),
            std::cmp::Ordering::Equal => value,
            std::cmp::Ordering::Greater => self.trunc(value, ty),
        }
    }

    /// Integer or pointer comparison.
    pub fn icmp(&self, predicate: IntPredicate, left: Value<'m>, right: Value<'m>) -> Value<'m> {
        debug_assert_eq!(left.ty(), right.ty(), "operands of icmp {predicate:?}");
        // SAFETY: builder and operands are live, and the builder is placed.
        Value::wrap(unsafe { LLVMBuildICmp(self.placed(), predicate.to_raw(), left.raw(), right.raw(), UNNAMED) })
    }

    /// Floating-point comparison.
    pub fn fcmp(&self, predicate: FloatPredicate, left: Value<'m>, right: Value<'m>) -> Value<'m> {
        debug_assert_eq!(left.ty(), right.ty(), "operands of fcmp {predicate:?}");
        // SAFETY: builder and operands are live, and the builder is placed.
        Value::wrap(unsafe { LLVMBuildFCmp(self.placed(), predicate.to_raw(), left.raw(), right.raw(), UNNAMED) })
    }

    /// `yes` where `condition`, else `no`.
    pub fn select(&self, condition: Value<'m>, yes: Value<'m>, no: Value<'m>) -> Value<'m> {
        debug_assert_eq!(yes.ty(), no.ty(), "operands of select");
        // SAFETY: builder and operands are live, and the builder is placed.
        Value::wrap(unsafe { LLVMBuildSelect(self.placed(), condition.raw(), yes.raw(), no.raw(), UNNAMED) })
    }

    /// Some fixed value in place of undef or poison.
    pub fn freeze(&self, value: Value<'m>) -> Value<'m> {
        // SAFETY: builder and operand are live, and the builder is placed.
        Value::wrap(unsafe { LLVMBuildFreeze(self.placed(), value.raw(), UNNAMED) })
    }

    /// Lane `index` of a vector.
    pub fn extract_element(&self, vector: Value<'m>, index: Value<'m>) -> Value<'m> {
        // SAFETY: builder and operands are live, and the builder is placed.
        Value::wrap(unsafe { LLVMBuildExtractElement(self.placed(), vector.raw(), index.raw(), UNNAMED) })
    }

    /// Lane `index` of a vector, the index being known.
    pub fn extract_lane(&self, vector: Value<'m>, index: u32) -> Value<'m> {
        self.extract_element(vector, self.context().i32().const_int(u64::from(index)))
    }

    /// `vector` with lane `index` replaced.
    pub fn insert_element(&self, vector: Value<'m>, element: Value<'m>, index: Value<'m>) -> Value<'m> {
        let raw = self.placed();
        // SAFETY: builder and operands are live, and the builder is placed.
        Value::wrap(unsafe { LLVMBuildInsertElement(raw, vector.raw(), element.raw(), index.raw(), UNNAMED) })
    }

    /// `vector` with lane `index` replaced, the index being known.
    pub fn insert_lane(&self, vector: Value<'m>, element: Value<'m>, index: u32) -> Value<'m> {
        self.insert_element(vector, element, self.context().i32().const_int(u64::from(index)))
    }

    /// The lanes of `first` and `second` that `mask` counts through; `None` leaves a lane poison.
    pub fn shuffle(&self, first: Value<'m>, second: Value<'m>, mask: &[Option<u32>]) -> Value<'m> {
        let i32_type = self.context().i32();
        let lane = |index: &Option<u32>| match index {
            Some(index) => i32_type.const_int(u64::from(*index)),
            None => i32_type.poison(),
        };
        let mask = const_vector(&mask.iter().map(lane).collect::<Vec<_>>());
        let raw = self.placed();
        // SAFETY: builder and operands are live, and the builder is placed.
        Value::wrap(unsafe { LLVMBuildShuffleVector(raw, first.raw(), second.raw(), mask.raw(), UNNAMED) })
    }

    /// `value` in each of `lanes` lanes.
    pub fn splat(&self, value: Value<'m>, lanes: u32) -> Value<'m> {
        let vector = self.context().vector(value.ty(), lanes).poison();
        let first = self.insert_lane(vector, value, 0);
        self.shuffle(first, vector, &vec![Some(0); lanes as usize])
    }

    /// Field `index` of a struct or array value.
    pub fn extract_value(&self, aggregate: Value<'m>, index: u32) -> Value<'m> {
        // SAFETY: builder and operand are live, and the builder is placed.
        Value::wrap(unsafe { LLVMBuildExtractValue(self.placed(), aggregate.raw(), index, UNNAMED) })
    }

    /// `aggregate` with field `index` replaced.
    pub fn insert_value(&self, aggregate: Value<'m>, element: Value<'m>, index: u32) -> Value<'m> {
        // SAFETY: builder and operands are live, and the builder is placed.
        Value::wrap(unsafe { LLVMBuildInsertValue(self.placed(), aggregate.raw(), element.raw(), index, UNNAMED) })
    }
}

/// Memory and atomics.
impl<'m> Builder<'m> {
    /// Stack memory for one `ty`.
    pub fn alloca(&self, ty: Type<'m>) -> Instruction<'m> {
        // SAFETY: builder and type are live, and the builder is placed.
        Instruction::wrap(unsafe { LLVMBuildAlloca(self.placed(), ty.raw(), UNNAMED) })
    }

    /// Stack memory for `len` of `ty`.
    pub fn array_alloca(&self, ty: Type<'m>, len: Value<'m>) -> Instruction<'m> {
        // SAFETY: builder, type and operand are live, and the builder is placed.
        Instruction::wrap(unsafe { LLVMBuildArrayAlloca(self.placed(), ty.raw(), len.raw(), UNNAMED) })
    }

    /// Loads a `ty`, at its natural alignment unless changed.
    ///
    /// # Panics
    /// When the type has no size.
    pub fn load(&self, ty: Type<'m>, pointer: Value<'m>) -> Instruction<'m> {
        assert!(ty.is_sized(), "{ty} cannot be loaded");
        // SAFETY: builder, type and operand are live, and the builder is placed.
        Instruction::wrap(unsafe { LLVMBuildLoad2(self.placed(), ty.raw(), pointer.raw(), UNNAMED) })
    }

    /// Stores `value`, at its natural alignment unless changed.
    pub fn store(&self, value: Value<'m>, pointer: Value<'m>) -> Instruction<'m> {
        // SAFETY: builder and operands are live, and the builder is placed.
        Instruction::wrap(unsafe { LLVMBuildStore(self.placed(), value.raw(), pointer.raw()) })
    }

    /// The address `pointer + indices`, stepping through `ty`; may wrap.
    pub fn gep(&self, ty: Type<'m>, pointer: Value<'m>, indices: &[Value<'m>]) -> Value<'m> {
        let mut raw: Vec<_> = indices.iter().map(|value| value.raw()).collect();
        let (data, len) = (raw.as_mut_ptr(), count(raw.len()));
        // SAFETY: builder, type and operands are live, and the builder is placed; the array lives through the call.
        Value::wrap(unsafe { LLVMBuildGEP2(self.placed(), ty.raw(), pointer.raw(), data, len, UNNAMED) })
    }

    /// Like [`gep`](Self::gep), but the result is inside the object that `pointer` points into.
    pub fn inbounds_gep(&self, ty: Type<'m>, pointer: Value<'m>, indices: &[Value<'m>]) -> Value<'m> {
        let mut raw: Vec<_> = indices.iter().map(|value| value.raw()).collect();
        let (data, len) = (raw.as_mut_ptr(), count(raw.len()));
        // SAFETY: builder, type and operands are live, and the builder is placed; the array lives through the call.
        Value::wrap(unsafe { LLVMBuildInBoundsGEP2(self.placed(), ty.raw(), pointer.raw(), data, len, UNNAMED) })
    }

    /// `pointer` plus a constant number of bytes.
    pub fn byte_offset(&self, pointer: Value<'m>, bytes: u64) -> Value<'m> {
        self.inbounds_gep(self.context().i8(), pointer, &[self.context().i64().const_int(bytes)])
    }

    /// Copies `size` bytes between regions that do not overlap; alignments in bytes.
    pub fn memcpy(&self, to: (Value<'m>, u32), from: (Value<'m>, u32), size: Value<'m>) -> Instruction<'m> {
        let raw = self.placed();
        // SAFETY: builder and operands are live, and the builder is placed.
        Instruction::wrap(unsafe { LLVMBuildMemCpy(raw, to.0.raw(), to.1, from.0.raw(), from.1, size.raw()) })
    }

    /// Sets `size` bytes to the `i8` `byte`; alignment in bytes.
    pub fn memset(&self, to: (Value<'m>, u32), byte: Value<'m>, size: Value<'m>) -> Instruction<'m> {
        // SAFETY: builder and operands are live, and the builder is placed.
        Instruction::wrap(unsafe { LLVMBuildMemSet(self.placed(), to.0.raw(), byte.raw(), size.raw(), to.1) })
    }

    /// `atomicrmw`: the result is the old value.
    pub fn atomic_rmw(&self, op: AtomicOp, pointer: Value<'m>, value: Value<'m>, order: Ordering) -> Instruction<'m> {
        let (raw, op, order) = (self.placed(), op.to_raw(), order.to_raw());
        // SAFETY: builder and operands are live, and the builder is placed.
        Instruction::wrap(unsafe { LLVMBuildAtomicRMW(raw, op, pointer.raw(), value.raw(), order, 0) })
    }

    /// `cmpxchg`, strong: the result is `{ old value, i1 success }`.
    pub fn cmpxchg(
        &self,
        pointer: Value<'m>,
        expected: Value<'m>,
        desired: Value<'m>,
        success: Ordering,
        failure: Ordering,
    ) -> Instruction<'m> {
        let (raw, success, failure) = (self.placed(), success.to_raw(), failure.to_raw());
        // SAFETY: builder and operands are live, and the builder is placed.
        Instruction::wrap(unsafe {
            LLVMBuildAtomicCmpXchg(raw, pointer.raw(), expected.raw(), desired.raw(), success, failure, 0)
        })
    }

    /// `fence`.
    pub fn fence(&self, order: Ordering) -> Instruction<'m> {
        // SAFETY: the builder is live and placed.
        Instruction::wrap(unsafe { LLVMBuildFence(self.placed(), order.to_raw(), 0, UNNAMED) })
    }
}

/// Calls and control flow.
impl<'m> Builder<'m> {
    /// Calls `function`, with its calling convention.
    ///
    /// # Panics
    /// When the number of arguments is wrong.
    pub fn call(&self, function: Function<'m>, arguments: &[Value<'m>]) -> Instruction<'m> {
        let call = self.call_pointer(function.value_type(), function.as_value(), arguments);
        call.set_call_convention(function.call_convention());
        call
    }

    /// Calls the function of type `ty` at `pointer`.
    ///
    /// # Panics
    /// When the number or the types of arguments are wrong.
    pub fn call_pointer(&self, ty: Type<'m>, pointer: Value<'m>, arguments: &[Value<'m>]) -> Instruction<'m> {
        let expected = ty.parameters();
        let given: Vec<_> = arguments.iter().map(|value| value.ty()).collect();
        let fits = if ty.is_variadic() { given.starts_with(&expected) } else { given == expected };
        assert!(ty.kind() == TypeKind::Function && fits, "call of {ty} with {given:?}");
        let mut raw: Vec<_> = arguments.iter().map(|value| value.raw()).collect();
        let (data, len) = (raw.as_mut_ptr(), count(raw.len()));
        // SAFETY: builder, type and operands are live, and the builder is placed; the array lives through the call.
        Instruction::wrap(unsafe { LLVMBuildCall2(self.placed(), ty.raw(), pointer.raw(), data, len, UNNAMED) })
    }

    /// Calls LLVM's intrinsic `name` (without type suffix), overloaded for `overloads`.
    ///
    /// # Panics
    /// When LLVM has no such intrinsic, or the arguments do not fit.
    pub fn intrinsic(&self, name: &str, overloads: &[Type<'m>], arguments: &[Value<'m>]) -> Instruction<'m> {
        self.call(self.module.intrinsic(name, overloads), arguments)
    }

    /// A phi without incoming values.
    pub fn phi(&self, ty: Type<'m>) -> Instruction<'m> {
        // SAFETY: builder and type are live, and the builder is placed.
        Instruction::wrap(unsafe { LLVMBuildPhi(self.placed(), ty.raw(), UNNAMED) })
    }

    /// Goes to `target`.
    pub fn br(&self, target: Block<'m>) -> Instruction<'m> {
        // SAFETY: builder and block are live, and the builder is placed.
        Instruction::wrap(unsafe { LLVMBuildBr(self.placed(), target.raw()) })
    }

    /// Goes to `yes` where `condition`, else to `no`.
    pub fn cond_br(&self, condition: Value<'m>, yes: Block<'m>, no: Block<'m>) -> Instruction<'m> {
        // SAFETY: builder, operand and blocks are live, and the builder is placed.
        Instruction::wrap(unsafe { LLVMBuildCondBr(self.placed(), condition.raw(), yes.raw(), no.raw()) })
    }

    /// Goes by `value`; [`Instruction::add_case`] adds cases.
    pub fn switch(&self, value: Value<'m>, default: Block<'m>) -> Instruction<'m> {
        // SAFETY: builder, operand and block are live, and the builder is placed.
        Instruction::wrap(unsafe { LLVMBuildSwitch(self.placed(), value.raw(), default.raw(), 0) })
    }

    /// Returns `value`.
    pub fn ret(&self, value: Value<'m>) -> Instruction<'m> {
        // SAFETY: builder and operand are live, and the builder is placed.
        Instruction::wrap(unsafe { LLVMBuildRet(self.placed(), value.raw()) })
    }

    /// Returns from a `void` function.
    pub fn ret_void(&self) -> Instruction<'m> {
        // SAFETY: the builder is live and placed.
        Instruction::wrap(unsafe { LLVMBuildRetVoid(self.placed()) })
    }

    /// Never reached.
    pub fn unreachable(&self) -> Instruction<'m> {
        // SAFETY: the builder is live and placed.
        Instruction::wrap(unsafe { LLVMBuildUnreachable(self.placed()) })
    }
}

impl Drop for Builder<'_> {
    fn drop(&mut self) {
        // SAFETY: owned by the invariant, and dropped once.
        unsafe { LLVMDisposeBuilder(self.raw.as_ptr()) }
    }
}
