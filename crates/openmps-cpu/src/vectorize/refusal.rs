//! Why a kernel is not vectorised: it runs on the scalar engine, and the reason is counted.

use std::fmt;

/// What the vectoriser met and does not do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Refusal {
    /// Compiling would take too long.
    TooLarge,
    /// Control flow that is no nest of natural loops, or a terminator that is no branch and no return.
    ControlFlow,
    /// A value of a loop that is used behind it without a phi.
    LoopValue,
    /// A value of vector, array or structure type that differs between lanes.
    CompositeValue,
    /// Memory of integers that do not fill bytes.
    OddMemory,
    /// An instruction or operand that has no vector form.
    Instruction,
    /// A function that was not inlined.
    Recursion,
    /// Private memory of 32 threads is larger than a worker's stack may be.
    PrivateMemory,
    /// An operation of the runtime that needs a fiber for each thread: asynchronous copies, products of tensors that are spread
    /// over several SIMD-groups.
    NeedsFibers,
}

impl Refusal {
    /// Every reason, in the order of its number in a kernel's facts.
    pub const ALL: [Self; 9] = [
        Self::TooLarge,
        Self::ControlFlow,
        Self::LoopValue,
        Self::CompositeValue,
        Self::OddMemory,
        Self::Instruction,
        Self::Recursion,
        Self::PrivateMemory,
        Self::NeedsFibers,
    ];

    /// The number in a kernel's facts; 0 stands for none.
    #[must_use]
    pub fn number(self) -> u32 {
        self as u32 + 1
    }

    /// The reason with this number.
    #[must_use]
    pub fn from_number(number: u32) -> Option<Self> {
        Self::ALL.get((number as usize).checked_sub(1)?).copied()
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooLarge => "too many instructions",
            Self::ControlFlow => "control flow that is no nest of loops",
            Self::LoopValue => "a value that leaves a loop without a phi",
            Self::CompositeValue => "a vector or structure that differs between lanes",
            Self::OddMemory => "memory of integers that do not fill bytes",
            Self::Instruction => "an instruction without a vector form",
            Self::Recursion => "a function that calls itself",
            Self::PrivateMemory => "too much private memory",
            Self::NeedsFibers => "an operation that needs a fiber for each thread",
        })
    }
}
