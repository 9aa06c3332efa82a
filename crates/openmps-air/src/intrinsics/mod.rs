//! The table of AIR's functions: names, signatures, effects, and what each computes.
//!
//! A row is one function of one scalar type. Vector forms (`v2` to `v4`) act element by element unless the row says
//! otherwise ([`Lift`]), and [`lookup`] finds the row of their scalar form. A reference works on bit patterns (see
//! [`element`](crate::element)), one scalar at a time or over the lanes of a SIMD-group. Source of names and meanings: modules
//! that Apple's compiler made, and the Metal Shading Language specification (MSL) where a row's comment says so.

pub mod atomic;
pub mod barrier;
pub mod convert;
pub mod execution;
pub mod integer;
pub mod lanes;
pub mod math;
pub mod matrix;
pub mod relational;
mod table;
pub mod tensor;
#[cfg(test)]
mod tests;
pub mod texture;

use openmps_engine::AddressSpace;

use crate::element::{Element, Sign};
pub use atomic::AtomicOperation;
pub use barrier::BarrierOperation;
pub use execution::ExecutionOperation;
pub use integer::IntegerOperation;
pub use lanes::{LaneCall, LaneOperation};
pub use math::MathOperation;
pub use matrix::MatrixOperation;
pub use relational::RelationalOperation;
pub use table::{fingerprint, lookup, row, rows};
pub use tensor::{TENSOR_PREFIX, TensorOperation};
pub use texture::{TextureFunction, TextureOperation};

/// Declares the operations of a family with their names in AIR.
macro_rules! operations {
    ($(#[$doc:meta])* $family:ident { $($(#[$variant_doc:meta])* $variant:ident = $name:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $family {
            $(#[doc = concat!("`", $name, "`.")] $(#[$variant_doc])* $variant,)*
        }

        impl $family {
            /// Every operation of the family, in the order of the enum.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The operation's part of AIR's names.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }
    };
}
pub(crate) use operations;

/// What a function does, by family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Floating-point functions.
    Math(MathOperation),
    /// Integer functions.
    Integer(IntegerOperation),
    /// Truth values of vectors.
    Relational(RelationalOperation),
    /// Conversions between scalar types.
    Convert,
    /// Functions over the 32 lanes of a SIMD-group.
    Simdgroup(LaneOperation),
    /// Functions over the 4 lanes of a quad-group.
    Quadgroup(LaneOperation),
    /// Atomic memory accesses.
    Atomic(AtomicOperation),
    /// Barriers and fences.
    Barrier(BarrierOperation),
    /// 8x8 matrices that a SIMD-group holds together.
    Matrix(MatrixOperation),
    /// Questions about the execution, function constants, asynchronous copies.
    Execution(ExecutionOperation),
    /// Metal 4 tensors.
    Tensor(TensorOperation),
    /// Texture accesses.
    Texture(TextureFunction),
}

/// One type in a signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Slot {
    /// No value.
    Void,
    /// This scalar; in a vector form a vector of it.
    Lifted(Element),
    /// This scalar in every form.
    Scalar(Element),
    /// A vector of this scalar and this many lanes in every form.
    Vector(Element, u32),
    /// A pointer.
    Pointer(AddressSpace),
    /// A structure of a scalar, or of a vector of this many lanes, and a byte: a texture's color and whether it is resident.
    WithStatus(Element, u32),
}

/// What a function takes and returns.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Signature {
    /// The result.
    pub result: Slot,
    /// The operands in order.
    pub operands: Vec<Slot>,
}

/// What memory a function may touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Effects {
    /// None: the result depends on the operands alone.
    Pure,
    /// What its pointer operands point to.
    ArgumentMemory,
    /// Any.
    Memory,
}

/// How vector forms relate to the row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lift {
    /// There is only the form that the row names.
    None,
    /// `v2` to `v4` forms act element by element.
    Elementwise,
    /// There are only vector forms, and the result is a scalar of all elements (`dot`, `all`, `any`).
    Horizontal,
}

/// What a function computes, on bit patterns. The results of operands that the row's function leaves undefined are arbitrary.
#[derive(Clone, Copy, Debug)]
pub enum Reference {
    /// Of one operand.
    Unary(fn(u64) -> u64),
    /// Of two operands.
    Binary(fn(u64, u64) -> u64),
    /// Of three operands.
    Ternary(fn(u64, u64, u64) -> u64),
    /// Of one operand: the result, and what is stored through the pointer operand.
    WithStore(fn(u64) -> (u64, u64)),
    /// Of the elements of one vector, or of two.
    Horizontal(fn(&[u64], &[u64]) -> u64),
    /// Of the lanes of a group, for one lane.
    Lanes(fn(&LaneCall<'_>) -> u64),
    /// None in Rust, with the reason.
    ByEngine(&'static str),
}

/// One function of one scalar type.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its place in [`rows`], stable within one build; see [`fingerprint`].
    pub index: u32,
    /// The full name of the scalar form; of the only form where [`lift`](Self::lift) is [`Lift::None`].
    pub name: String,
    /// What it does.
    pub operation: Operation,
    /// Whether this is the `fast_` form. Its looser bounds are met by the precise reference.
    pub fast: bool,
    /// The scalar type in the name; of conversions the result's. `I1` where the name has none.
    pub element: Element,
    /// The sign letter in the name; of conversions the result's.
    pub sign: Option<Sign>,
    /// Of conversions, the source's scalar type and sign letter.
    pub source: Option<(Element, Option<Sign>)>,
    /// The address space in the name of atomics and matrix accesses.
    pub space: Option<AddressSpace>,
    /// The signatures that occur; more than one where AIR versions differ.
    pub signatures: Vec<Signature>,
    /// Its vector forms.
    pub lift: Lift,
    /// What memory it touches.
    pub effects: Effects,
    /// Whether the set of threads that call it together changes the result: no pass may move such a call across branches.
    pub convergent: bool,
    /// What it computes.
    pub reference: Reference,
}

impl Row {
    /// A pure elementwise row of `operands` and a result of the row's own type.
    pub(crate) fn pure(name: String, operation: Operation, element: Element, reference: Reference) -> Self {
        let operands = match reference {
            Reference::Unary(_) => 1,
            Reference::Binary(_) => 2,
            Reference::Ternary(_) => 3,
            Reference::WithStore(_) | Reference::Horizontal(_) | Reference::Lanes(_) | Reference::ByEngine(_) => 0,
        };
        Self {
            index: 0,
            name,
            operation,
            fast: false,
            element,
            sign: None,
            source: None,
            space: None,
            signatures: vec![Signature {
                result: Slot::Lifted(element),
                operands: vec![Slot::Lifted(element); operands],
            }],
            lift: Lift::Elementwise,
            effects: Effects::Pure,
            convergent: false,
            reference,
        }
    }

    /// The row with this one signature.
    pub(crate) fn with_signature(mut self, result: Slot, operands: Vec<Slot>) -> Self {
        self.signatures = vec![Signature { result, operands }];
        self
    }
}

/// A function that a name stands for.
#[derive(Clone, Copy, Debug)]
pub struct Resolved {
    /// The row of its scalar form.
    pub row: &'static Row,
    /// 1, or the lanes of its vector form (2 to 4).
    pub lanes: u32,
}
