//! LLVM's instruction kinds and their parameters as enums of ours, converted one by one.

use llvm_sys::{LLVMAtomicOrdering, LLVMAtomicRMWBinOp, LLVMIntPredicate, LLVMOpcode, LLVMRealPredicate};

/// Declares an enum with a one-to-one mapping from a C enum of LLVM.
macro_rules! mirror {
    ($(#[$doc:meta])* $name:ident, $raw:ty, { $($variant:ident = $raw_variant:ident,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name {
            $(#[doc = concat!("`", stringify!($raw_variant), "`")] $variant,)*
        }

        impl $name {
            #[allow(unreachable_patterns, reason = "some C enums are mirrored completely")]
            pub(crate) fn from_raw(raw: $raw) -> Option<Self> {
                match raw {
                    $(<$raw>::$raw_variant => Some(Self::$variant),)*
                    _ => None,
                }
            }
        }
    };
}

/// Like [`mirror`], with the mapping back.
macro_rules! mirror_both_ways {
    ($(#[$doc:meta])* $name:ident, $raw:ty, { $($variant:ident = $raw_variant:ident,)* }) => {
        mirror! { $(#[$doc])* $name, $raw, { $($variant = $raw_variant,)* } }

        impl $name {
            pub(crate) fn to_raw(self) -> $raw {
                match self {
                    $(Self::$variant => <$raw>::$raw_variant,)*
                }
            }
        }
    };
}

mirror_both_ways! {
    /// Instructions with two operands of one type.
    BinaryOp, LLVMOpcode, {
        Add = LLVMAdd,
        FAdd = LLVMFAdd,
        Sub = LLVMSub,
        FSub = LLVMFSub,
        Mul = LLVMMul,
        FMul = LLVMFMul,
        UDiv = LLVMUDiv,
        SDiv = LLVMSDiv,
        FDiv = LLVMFDiv,
        URem = LLVMURem,
        SRem = LLVMSRem,
        FRem = LLVMFRem,
        Shl = LLVMShl,
        LShr = LLVMLShr,
        AShr = LLVMAShr,
        And = LLVMAnd,
        Or = LLVMOr,
        Xor = LLVMXor,
    }
}

mirror_both_ways! {
    /// Instructions that change the type of one operand.
    CastOp, LLVMOpcode, {
        Trunc = LLVMTrunc,
        ZExt = LLVMZExt,
        SExt = LLVMSExt,
        FpToUi = LLVMFPToUI,
        FpToSi = LLVMFPToSI,
        UiToFp = LLVMUIToFP,
        SiToFp = LLVMSIToFP,
        FpTrunc = LLVMFPTrunc,
        FpExt = LLVMFPExt,
        PtrToInt = LLVMPtrToInt,
        PtrToAddr = LLVMPtrToAddr,
        IntToPtr = LLVMIntToPtr,
        BitCast = LLVMBitCast,
        AddrSpaceCast = LLVMAddrSpaceCast,
    }
}

mirror! {
    /// The instructions that are neither [`BinaryOp`] nor [`CastOp`].
    PlainOp, LLVMOpcode, {
        Ret = LLVMRet,
        Br = LLVMBr,
        Switch = LLVMSwitch,
        IndirectBr = LLVMIndirectBr,
        Invoke = LLVMInvoke,
        Unreachable = LLVMUnreachable,
        CallBr = LLVMCallBr,
        FNeg = LLVMFNeg,
        Alloca = LLVMAlloca,
        Load = LLVMLoad,
        Store = LLVMStore,
        GetElementPtr = LLVMGetElementPtr,
        ICmp = LLVMICmp,
        FCmp = LLVMFCmp,
        Phi = LLVMPHI,
        Call = LLVMCall,
        Select = LLVMSelect,
        UserOp1 = LLVMUserOp1,
        UserOp2 = LLVMUserOp2,
        VaArg = LLVMVAArg,
        ExtractElement = LLVMExtractElement,
        InsertElement = LLVMInsertElement,
        ShuffleVector = LLVMShuffleVector,
        ExtractValue = LLVMExtractValue,
        InsertValue = LLVMInsertValue,
        Freeze = LLVMFreeze,
        Fence = LLVMFence,
        AtomicCmpXchg = LLVMAtomicCmpXchg,
        AtomicRmw = LLVMAtomicRMW,
        Resume = LLVMResume,
        LandingPad = LLVMLandingPad,
        CleanupRet = LLVMCleanupRet,
        CatchRet = LLVMCatchRet,
        CatchPad = LLVMCatchPad,
        CleanupPad = LLVMCleanupPad,
        CatchSwitch = LLVMCatchSwitch,
    }
}

/// The kind of an instruction or constant expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Opcode {
    /// Arithmetic and logic on two operands.
    Binary(BinaryOp),
    /// A change of type.
    Cast(CastOp),
    /// Everything else.
    Plain(PlainOp),
}

impl Opcode {
    pub(crate) fn from_raw(raw: LLVMOpcode) -> Self {
        BinaryOp::from_raw(raw)
            .map(Self::Binary)
            .or_else(|| CastOp::from_raw(raw).map(Self::Cast))
            .or_else(|| PlainOp::from_raw(raw).map(Self::Plain))
            .expect("every opcode of LLVM-C is in one of the three enums")
    }

    /// Whether this is the plain operation `op`.
    #[must_use]
    pub fn is(self, op: PlainOp) -> bool {
        self == Self::Plain(op)
    }
}

mirror_both_ways! {
    /// How `icmp` compares.
    IntPredicate, LLVMIntPredicate, {
        Eq = LLVMIntEQ,
        Ne = LLVMIntNE,
        Ugt = LLVMIntUGT,
        Uge = LLVMIntUGE,
        Ult = LLVMIntULT,
        Ule = LLVMIntULE,
        Sgt = LLVMIntSGT,
        Sge = LLVMIntSGE,
        Slt = LLVMIntSLT,
        Sle = LLVMIntSLE,
    }
}

mirror_both_ways! {
    /// How `fcmp` compares: `O…` is false and `U…` is true where an operand is NaN.
    FloatPredicate, LLVMRealPredicate, {
        False = LLVMRealPredicateFalse,
        Oeq = LLVMRealOEQ,
        Ogt = LLVMRealOGT,
        Oge = LLVMRealOGE,
        Olt = LLVMRealOLT,
        Ole = LLVMRealOLE,
        One = LLVMRealONE,
        Ord = LLVMRealORD,
        Uno = LLVMRealUNO,
        Ueq = LLVMRealUEQ,
        Ugt = LLVMRealUGT,
        Uge = LLVMRealUGE,
        Ult = LLVMRealULT,
        Ule = LLVMRealULE,
        Une = LLVMRealUNE,
        True = LLVMRealPredicateTrue,
    }
}

mirror_both_ways! {
    /// Memory ordering of atomics.
    Ordering, LLVMAtomicOrdering, {
        NotAtomic = LLVMAtomicOrderingNotAtomic,
        Unordered = LLVMAtomicOrderingUnordered,
        Monotonic = LLVMAtomicOrderingMonotonic,
        Acquire = LLVMAtomicOrderingAcquire,
        Release = LLVMAtomicOrderingRelease,
        AcquireRelease = LLVMAtomicOrderingAcquireRelease,
        SequentiallyConsistent = LLVMAtomicOrderingSequentiallyConsistent,
    }
}

mirror_both_ways! {
    /// What `atomicrmw` does.
    AtomicOp, LLVMAtomicRMWBinOp, {
        Exchange = LLVMAtomicRMWBinOpXchg,
        Add = LLVMAtomicRMWBinOpAdd,
        Sub = LLVMAtomicRMWBinOpSub,
        And = LLVMAtomicRMWBinOpAnd,
        Nand = LLVMAtomicRMWBinOpNand,
        Or = LLVMAtomicRMWBinOpOr,
        Xor = LLVMAtomicRMWBinOpXor,
        Max = LLVMAtomicRMWBinOpMax,
        Min = LLVMAtomicRMWBinOpMin,
        UMax = LLVMAtomicRMWBinOpUMax,
        UMin = LLVMAtomicRMWBinOpUMin,
        FAdd = LLVMAtomicRMWBinOpFAdd,
        FSub = LLVMAtomicRMWBinOpFSub,
        FMax = LLVMAtomicRMWBinOpFMax,
        FMin = LLVMAtomicRMWBinOpFMin,
    }
}

/// The fast-math flags of a floating-point instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FastMath(pub u32);

impl FastMath {
    /// Reassociation.
    pub const REASSOC: Self = Self(llvm_sys::LLVMFastMathAllowReassoc);
    /// No NaN operands or results.
    pub const NNAN: Self = Self(llvm_sys::LLVMFastMathNoNaNs);
    /// No infinite operands or results.
    pub const NINF: Self = Self(llvm_sys::LLVMFastMathNoInfs);
    /// The sign of zero does not matter.
    pub const NSZ: Self = Self(llvm_sys::LLVMFastMathNoSignedZeros);
    /// Division by multiplication with the reciprocal.
    pub const ARCP: Self = Self(llvm_sys::LLVMFastMathAllowReciprocal);
    /// Fusing.
    pub const CONTRACT: Self = Self(llvm_sys::LLVMFastMathAllowContract);
    /// Approximate functions.
    pub const AFN: Self = Self(llvm_sys::LLVMFastMathApproxFunc);

    /// Whether all flags of `other` are set.
    #[must_use]
    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Both sets.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// This set less `other`.
    #[must_use]
    pub fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}
