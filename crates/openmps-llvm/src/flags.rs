//! Promises of instructions that the optimiser may use: wrap flags, exactness, disjoint bits.

use llvm_sys::core::{
    LLVMGEPGetNoWrapFlags, LLVMGEPSetNoWrapFlags, LLVMGetExact, LLVMGetIsDisjoint, LLVMGetNNeg, LLVMGetNSW, LLVMGetNUW,
    LLVMSetExact, LLVMSetIsDisjoint, LLVMSetNNeg, LLVMSetNSW, LLVMSetNUW,
};

use crate::instruction::Instruction;
use crate::opcode::{BinaryOp, CastOp, Opcode, PlainOp};

/// Which promises an instruction can carry.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Wrap,
    Exact,
    Disjoint,
    NonNegative,
    Address,
    Other,
}

/// Sets on one instruction what another of the same kind has.
macro_rules! copy {
    ($to:expr, $from:expr, $get:ident, $set:ident) => {{
        // SAFETY: of the kind that can carry the flag, as the caller found, and live by the invariant of `Instruction`.
        let flag = unsafe { $get($from.raw()) };
        // SAFETY: as above.
        unsafe { $set($to.raw(), flag) }
    }};
}

impl Instruction<'_> {
    fn kind(self) -> Kind {
        use BinaryOp as B;
        match self.opcode() {
            Opcode::Binary(B::Add | B::Sub | B::Mul | B::Shl) => Kind::Wrap,
            Opcode::Binary(B::UDiv | B::SDiv | B::LShr | B::AShr) => Kind::Exact,
            Opcode::Binary(B::Or) => Kind::Disjoint,
            Opcode::Cast(CastOp::ZExt | CastOp::UiToFp) => Kind::NonNegative,
            Opcode::Plain(PlainOp::GetElementPtr) => Kind::Address,
            Opcode::Binary(_) | Opcode::Cast(_) | Opcode::Plain(_) => Kind::Other,
        }
    }

    /// Whether the result is poison where the unsigned result does not fit (`nuw`).
    #[must_use]
    pub fn has_no_unsigned_wrap(self) -> bool {
        // SAFETY: arithmetic that can carry the flag, live by the invariant of `Instruction`.
        self.kind() == Kind::Wrap && unsafe { LLVMGetNUW(self.raw()) != 0 }
    }

    /// Whether the result is poison where the signed result does not fit (`nsw`).
    #[must_use]
    pub fn has_no_signed_wrap(self) -> bool {
        // SAFETY: arithmetic that can carry the flag, live by the invariant of `Instruction`.
        self.kind() == Kind::Wrap && unsafe { LLVMGetNSW(self.raw()) != 0 }
    }

    /// Whether this is an `or` of operands without common bits, which is a sum.
    #[must_use]
    pub fn is_disjoint(self) -> bool {
        // SAFETY: an `or`, live by the invariant of `Instruction`.
        self.kind() == Kind::Disjoint && unsafe { LLVMGetIsDisjoint(self.raw()) != 0 }
    }

    /// Whether the operand of this extension is not negative (`nneg`).
    #[must_use]
    pub fn is_non_negative(self) -> bool {
        // SAFETY: a cast that can carry the flag, live by the invariant of `Instruction`.
        self.kind() == Kind::NonNegative && unsafe { LLVMGetNNeg(self.raw()) != 0 }
    }

    /// Makes the promises of `other`, an instruction of the same opcode; without effect on one of another opcode. Fast-math
    /// flags are not among them.
    pub fn copy_promises(self, other: Instruction<'_>) {
        if self.opcode() != other.opcode() {
            return;
        }
        match self.kind() {
            Kind::Wrap => {
                copy!(self, other, LLVMGetNUW, LLVMSetNUW);
                copy!(self, other, LLVMGetNSW, LLVMSetNSW);
            }
            Kind::Exact => copy!(self, other, LLVMGetExact, LLVMSetExact),
            Kind::Disjoint => copy!(self, other, LLVMGetIsDisjoint, LLVMSetIsDisjoint),
            Kind::NonNegative => copy!(self, other, LLVMGetNNeg, LLVMSetNNeg),
            Kind::Address => copy!(self, other, LLVMGEPGetNoWrapFlags, LLVMGEPSetNoWrapFlags),
            Kind::Other => {}
        }
    }
}
