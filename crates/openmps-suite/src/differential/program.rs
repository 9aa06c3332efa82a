//! The small language that random kernels are made of.
//!
//! Every program of it has one meaning: indices are masked to their buffers, divisors are not zero, loops have a bound, and what a
//! thread may write belongs to it. What depends on all threads of a threadgroup (races in threadgroup memory, barriers that a
//! thread does not reach) is checked by the interpreter.

use super::scalar::{BinaryOp, Scalar, UnaryOp};

/// Threads of one threadgroup at most: elements of threadgroup arrays.
pub(super) const GROUP_THREADS_MAX: usize = 256;
/// Threads of one grid at most.
pub(super) const GRID_THREADS_MAX: usize = 512;
/// Elements of an input buffer.
pub(super) const INPUT_ELEMENTS: usize = 6144;
/// Elements of each buffer of atomic results.
pub(super) const ATOMIC_ELEMENTS: usize = 64;
/// Elements of the threadgroup's atomic counters.
pub(super) const SHARED_COUNTERS: usize = 16;
/// Elements of a private array.
pub(super) const ARRAY_ELEMENTS: usize = 8;
/// Words of the constant buffer: the first four are small, the others any.
pub(super) const PARAMETERS: usize = 8;
/// The first words of the constant buffer are below this.
pub(super) const PARAMETER_SMALL: u32 = 16;

/// A scalar or vector type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ty {
    pub(super) scalar: Scalar,
    /// 1 to 4.
    pub(super) lanes: usize,
}

impl Ty {
    pub(super) const BOOL: Self = Self::of(Scalar::Bool);
    pub(super) const I32: Self = Self::of(Scalar::I32);
    pub(super) const U32: Self = Self::of(Scalar::U32);
    pub(super) const F32: Self = Self::of(Scalar::F32);

    pub(super) const fn of(scalar: Scalar) -> Self {
        Self { scalar, lanes: 1 }
    }

    pub(super) fn with(self, scalar: Scalar) -> Self {
        Self { scalar, lanes: self.lanes }
    }
}

/// A value that a thread has from its place in the grid; all are `uint`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Builtin {
    /// The place in the grid along an axis.
    Grid(usize),
    /// The place in the threadgroup along an axis.
    Local(usize),
    /// The threadgroup's place along an axis.
    Group(usize),
    /// Threads of the grid along an axis.
    GridSize(usize),
    /// Threads of this threadgroup along an axis.
    GroupSize(usize),
    /// The number of the thread in the grid, x first.
    Linear,
    /// The number of the thread in its threadgroup.
    Index,
    /// The lane in the SIMD-group.
    Lane,
    /// The SIMD-group's number in the threadgroup.
    Simdgroup,
    /// Threads of this threadgroup.
    GroupThreads,
    /// Threads of the grid.
    GridThreads,
}

impl Builtin {
    /// Whether all threads of a threadgroup have the same.
    pub(super) fn is_uniform(self) -> bool {
        match self {
            Self::Group(_) | Self::GridSize(_) | Self::GroupSize(_) | Self::GroupThreads | Self::GridThreads => true,
            Self::Grid(_) | Self::Local(_) | Self::Linear | Self::Index | Self::Lane | Self::Simdgroup => false,
        }
    }

    /// The largest value.
    pub(super) fn most(self) -> u64 {
        match self {
            Self::Grid(_) | Self::Linear | Self::Group(_) => GRID_THREADS_MAX as u64 - 1,
            Self::GridSize(_) | Self::GridThreads => GRID_THREADS_MAX as u64,
            Self::Local(_) | Self::Index => GROUP_THREADS_MAX as u64 - 1,
            Self::GroupSize(_) | Self::GroupThreads => GROUP_THREADS_MAX as u64,
            Self::Lane => 31,
            Self::Simdgroup => 7,
        }
    }
}

pub(super) type VarId = usize;
pub(super) type PointerId = usize;

/// An expression without side effects.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Expr {
    /// The same bits in every lane of the type.
    Const(Ty, u64),
    Var(VarId),
    Builtin(Builtin),
    /// A word of the constant buffer, an `int`.
    Param(usize),
    /// An element of an input buffer, or as many as `lanes` through a pointer to vectors; the index is in units of that, and
    /// taken modulo the buffer where `masked`.
    Load {
        buffer: usize,
        lanes: usize,
        index: Box<Expr>,
        masked: bool,
    },
    /// `p[index & 1023]` of an input, `p[index & 3]` of a private array; elsewhere `*p`.
    ThroughPointer {
        pointer: PointerId,
        index: Box<Expr>,
    },
    /// An element of a private array, the index modulo its length.
    Element {
        array: usize,
        index: Box<Expr>,
    },
    /// What the thread stored to one of its slots of an output buffer.
    Own {
        output: usize,
        slot: Box<Expr>,
    },
    /// The thread's own element of the threadgroup array.
    OwnShared,
    /// An element of the threadgroup array, the index modulo the threadgroup's threads.
    Shared(Box<Expr>),
    /// An atomic counter of the threadgroup.
    Counter(Box<Expr>),
    Unary(UnaryOp, Box<Expr>),
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// `a + b`, `a - b` or `a * b` of `int` or `uint` that does not wrap.
    Plain(BinaryOp, Box<Expr>, Box<Expr>),
    Fma(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `condition ? a : b`, or `select` where the condition is a vector.
    Select(Box<Expr>, Box<Expr>, Box<Expr>),
    Convert(Ty, Box<Expr>),
    /// `as_type` between integer types.
    Bits(Ty, Box<Expr>),
    /// A vector of scalars.
    Vector(Vec<Expr>),
    /// One lane; the index is taken modulo the lanes of a vector of 2 or 4, and of 3 it is 0 to 2.
    Lane(Box<Expr>, Box<Expr>),
}

/// How a counted loop counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counting {
    /// 0, 1, …, n - 1.
    Up,
    /// n - 1, …, 0.
    Down,
    /// 0, 2, 4, … below n.
    ByTwo,
}

/// What a SIMD-group or quad-group computes together.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct LaneCall {
    /// AIR's name without the prefix.
    pub(super) function: LaneFunction,
    pub(super) is_quad: bool,
    pub(super) value: Expr,
    /// A `uint`: lane, delta or mask, taken modulo the group's width.
    pub(super) operand: Expr,
    /// The second value of fill shuffles, and lanes of a cluster.
    pub(super) fill: Option<(Expr, u32)>,
}

/// Functions over lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LaneFunction {
    Sum,
    Product,
    Min,
    Max,
    And,
    Or,
    Xor,
    PrefixInclusiveSum,
    PrefixExclusiveSum,
    PrefixInclusiveProduct,
    PrefixExclusiveProduct,
    All,
    Any,
    Ballot,
    ActiveThreadsMask,
    IsFirst,
    BroadcastFirst,
    Broadcast,
    Shuffle,
    ShuffleUp,
    ShuffleDown,
    ShuffleXor,
    ShuffleRotateUp,
    ShuffleRotateDown,
    ShuffleAndFillUp,
    ShuffleAndFillDown,
}

impl LaneFunction {
    /// The name in MSL and AIR without `simd_` or `quad_`.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Product => "product",
            Self::Min => "min",
            Self::Max => "max",
            Self::And => "and",
            Self::Or => "or",
            Self::Xor => "xor",
            Self::PrefixInclusiveSum => "prefix_inclusive_sum",
            Self::PrefixExclusiveSum => "prefix_exclusive_sum",
            Self::PrefixInclusiveProduct => "prefix_inclusive_product",
            Self::PrefixExclusiveProduct => "prefix_exclusive_product",
            Self::All => "all",
            Self::Any => "any",
            Self::Ballot => "ballot",
            Self::ActiveThreadsMask => "active_threads_mask",
            Self::IsFirst => "is_first",
            Self::BroadcastFirst => "broadcast_first",
            Self::Broadcast => "broadcast",
            Self::Shuffle => "shuffle",
            Self::ShuffleUp => "shuffle_up",
            Self::ShuffleDown => "shuffle_down",
            Self::ShuffleXor => "shuffle_xor",
            Self::ShuffleRotateUp => "shuffle_rotate_up",
            Self::ShuffleRotateDown => "shuffle_rotate_down",
            Self::ShuffleAndFillUp => "shuffle_and_fill_up",
            Self::ShuffleAndFillDown => "shuffle_and_fill_down",
        }
    }

    /// The type of the result for operands of type `ty`.
    pub(super) fn result(self, ty: Ty) -> Ty {
        match self {
            Self::All | Self::Any | Self::IsFirst => Ty::BOOL,
            Self::Ballot | Self::ActiveThreadsMask => Ty::of(Scalar::U64),
            _ => ty,
        }
    }

    /// Whether it takes a lane, a delta or a mask.
    pub(super) fn has_operand(self) -> bool {
        let is_rotation = matches!(self, Self::ShuffleRotateUp | Self::ShuffleRotateDown);
        let is_fill = matches!(self, Self::ShuffleAndFillUp | Self::ShuffleAndFillDown);
        let is_shuffle = matches!(self, Self::Shuffle | Self::ShuffleUp | Self::ShuffleDown | Self::ShuffleXor);
        is_shuffle || is_rotation || is_fill || self == Self::Broadcast
    }
}

/// Atomic operations whose result in memory does not depend on the order of the threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AtomicOp {
    /// Slots 0 to 15 of the unsigned words.
    Add,
    /// Slots 16 to 31.
    Min,
    /// Slots 32 to 47.
    Max,
    /// Slots 48 to 55.
    Or,
    /// Slots 56 to 63.
    Xor,
    /// All slots of the floats, with small integers.
    AddFloat,
    /// All slots of the signed words.
    MaxSigned,
    /// The threadgroup's counters.
    AddShared,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Case {
    pub(super) body: Vec<Stmt>,
    /// Whether the next case follows.
    pub(super) falls_through: bool,
}

/// A statement.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Stmt {
    Set(VarId, Expr),
    /// One lane of a vector variable.
    SetLane(VarId, usize, Expr),
    SetElement {
        array: usize,
        index: Expr,
        value: Expr,
    },
    /// Stores to a slot of the thread's own, modulo their number.
    Store {
        output: usize,
        slot: Expr,
        value: Expr,
    },
    StoreShared(Expr),
    Atomic {
        op: AtomicOp,
        slot: Expr,
        value: Expr,
    },
    /// To an input buffer or private array of this number at an offset, to one of the thread's slots of an output, or to an element
    /// of the threadgroup array, as [`Space`] says.
    PointTo {
        pointer: PointerId,
        buffer: usize,
        offset: Expr,
    },
    /// Through a pointer to memory of the thread's own.
    StoreThrough {
        pointer: PointerId,
        index: Expr,
        value: Expr,
    },
    /// `p = condition ? q : p`.
    PointElsewhere {
        pointer: PointerId,
        condition: Expr,
        other: PointerId,
    },
    Advance {
        pointer: PointerId,
        by: usize,
    },
    Lanes {
        target: VarId,
        call: LaneCall,
    },
    Barrier,
    SimdgroupBarrier,
    If {
        condition: Expr,
        then: Vec<Stmt>,
        otherwise: Vec<Stmt>,
    },
    /// Turns: `count` modulo a power of two.
    For {
        counter: VarId,
        counting: Counting,
        count: Expr,
        modulo: u32,
        body: Vec<Stmt>,
    },
    /// At most `turns` turns.
    While {
        condition: Expr,
        turns: u32,
        is_tested_last: bool,
        body: Vec<Stmt>,
    },
    /// Of the selector modulo 4; the last case is the default.
    Switch {
        selector: Expr,
        cases: Vec<Case>,
    },
    /// A loop of at most `turns` turns of both bodies, which threads with an odd selector enter at the second one: flow that is no
    /// nest of loops.
    Entered {
        selector: Expr,
        condition: Expr,
        turns: u32,
        first: Vec<Stmt>,
        second: Vec<Stmt>,
    },
    /// A call of a function of its own.
    Call {
        target: VarId,
        function: Box<Function>,
        arguments: Vec<Expr>,
    },
    /// Returns from the function with a value.
    Leave(Expr),
    Break,
    Continue,
    Return,
}

/// A function: its variables are the kernel's, but no statement outside of it uses them.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Function {
    pub(super) parameters: Vec<VarId>,
    /// Begin with 0 in each call.
    pub(super) locals: Vec<VarId>,
    pub(super) body: Vec<Stmt>,
    /// The value of threads that reach its end.
    pub(super) result: Expr,
}

/// What a pointer points into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Space {
    /// An input buffer.
    Input,
    /// The thread's slots of an output buffer.
    Output,
    /// A private array, one of its first [`POINTED_ELEMENTS`] elements.
    Private,
    /// The threadgroup array.
    Shared,
}

/// Pointers point to the first elements of a private array, and are indexed as far again.
pub(super) const POINTED_ELEMENTS: usize = 4;

/// A pointer variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pointer {
    pub(super) scalar: Scalar,
    pub(super) space: Space,
}

/// A buffer that every thread has some elements of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Output {
    pub(super) scalar: Scalar,
    /// Elements of each thread; a power of two.
    pub(super) slots: usize,
    /// Slot after slot, each for all threads; else thread after thread.
    pub(super) is_slot_major: bool,
}

/// The threadgroup array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SharedArray {
    pub(super) scalar: Scalar,
    /// Thread i has element n - 1 - i of n.
    pub(super) is_reversed: bool,
}

/// A kernel.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Kernel {
    pub(super) name: String,
    /// Components of positions: 1 to 3.
    pub(super) dimensions: usize,
    pub(super) inputs: Vec<Scalar>,
    pub(super) outputs: Vec<Output>,
    pub(super) variables: Vec<Ty>,
    /// Those that belong to functions.
    pub(super) function_variables: Vec<VarId>,
    /// Element types of the private arrays.
    pub(super) arrays: Vec<Scalar>,
    pub(super) pointers: Vec<Pointer>,
    pub(super) shared: Option<SharedArray>,
    pub(super) body: Vec<Stmt>,
}

impl Kernel {
    /// The type of `expr`.
    pub(super) fn ty(&self, expr: &Expr) -> Ty {
        match expr {
            Expr::Const(ty, _) | Expr::Convert(ty, _) | Expr::Bits(ty, _) => *ty,
            Expr::Var(variable) => self.variables[*variable],
            Expr::Builtin(_) | Expr::Counter(_) => Ty::U32,
            Expr::Param(_) => Ty::I32,
            Expr::Load { buffer, lanes, .. } => Ty { scalar: self.inputs[*buffer], lanes: *lanes },
            Expr::ThroughPointer { pointer, .. } => Ty::of(self.pointers[*pointer].scalar),
            Expr::Element { array, .. } => Ty::of(self.arrays[*array]),
            Expr::Own { output, .. } => Ty::of(self.outputs[*output].scalar),
            Expr::OwnShared | Expr::Shared(_) => Ty::of(self.shared_array().scalar),
            Expr::Unary(UnaryOp::All | UnaryOp::Any, _) => Ty::BOOL,
            Expr::Unary(_, a) => self.ty(a),
            Expr::Binary(op, a, _) if op.is_comparison() => self.ty(a).with(Scalar::Bool),
            Expr::Binary(_, a, _) | Expr::Plain(_, a, _) | Expr::Fma(a, ..) | Expr::Select(_, a, _) => self.ty(a),
            Expr::Vector(parts) => Ty { scalar: self.ty(&parts[0]).scalar, lanes: parts.len() },
            Expr::Lane(vector, _) => Ty::of(self.ty(vector).scalar),
        }
    }

    /// Whether threads wait for each other anywhere.
    pub(super) fn waits(&self) -> bool {
        fn any(body: &[Stmt]) -> bool {
            body.iter().any(|statement| match statement {
                Stmt::Barrier | Stmt::SimdgroupBarrier | Stmt::Lanes { .. } => true,
                Stmt::If { then, otherwise, .. } => any(then) || any(otherwise),
                Stmt::For { body, .. } | Stmt::While { body, .. } => any(body),
                Stmt::Switch { cases, .. } => cases.iter().any(|case| any(&case.body)),
                Stmt::Entered { first, second, .. } => any(first) || any(second),
                _ => false,
            })
        }
        self.shared.is_some() || any(&self.body)
    }

    /// The first buffer or array of what `pointer` may point to, where it begins.
    pub(super) fn first_pointed(&self, pointer: Pointer) -> usize {
        self.pointed(pointer).first().copied().expect("a pointer has something to point to")
    }

    /// The numbers of the buffers or arrays that `pointer` may point to.
    pub(super) fn pointed(&self, pointer: Pointer) -> Vec<usize> {
        let scalars: Vec<Scalar> = match pointer.space {
            Space::Input => self.inputs.clone(),
            Space::Output => self.outputs.iter().map(|output| output.scalar).collect(),
            Space::Private => self.arrays.clone(),
            Space::Shared => vec![self.shared_array().scalar],
        };
        (0..scalars.len()).filter(|number| scalars[*number] == pointer.scalar).collect()
    }

    /// The threadgroup array of a kernel that uses one.
    pub(super) fn shared_array(&self) -> SharedArray {
        self.shared.expect("only kernels with a threadgroup array use it")
    }
}
