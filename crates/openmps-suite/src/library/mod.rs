//! Calls of the Metal standard library from Metal source text, each against a reference.
//!
//! A [`Check`] is one expression over typed operands; many of them share a kernel ([`batch`]). Expressions for functions that AIR
//! has are derived from the intrinsic table ([`rows`]), whose references say what comes out; the ones that the library composes
//! of others have formulas ([`formulas`]). [`reached`] says which rows of the table the sources called, so that a test can tell
//! which were forgotten.

pub mod batch;
pub mod formulas;
pub mod rows;

use std::collections::BTreeSet;

use openmps_air::element::{Element, Sign};
use openmps_air::intrinsics::lookup;
use openmps_llvm::Context;

use crate::accuracy::format::Type;
use crate::machine::Program;

/// A scalar type of MSL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scalar {
    /// Its bits.
    pub element: Element,
    /// Of integers, whether they are signed.
    pub sign: Option<Sign>,
}

impl Scalar {
    /// `float`.
    pub const FLOAT: Self = Self { element: Element::F32, sign: None };
    /// `half`.
    pub const HALF: Self = Self { element: Element::F16, sign: None };
    /// `bool`.
    pub const BOOL: Self = Self { element: Element::I1, sign: None };
    /// `uint`.
    pub const UINT: Self = Self { element: Element::I32, sign: Some(Sign::Unsigned) };

    /// MSL's word.
    #[must_use]
    pub fn name(self) -> &'static str {
        let is_signed = self.sign == Some(Sign::Signed);
        match self.element {
            Element::F16 => "half",
            Element::Bf16 => "bfloat",
            Element::F32 => "float",
            Element::I1 => "bool",
            Element::I8 if is_signed => "char",
            Element::I8 => "uchar",
            Element::I16 if is_signed => "short",
            Element::I16 => "ushort",
            Element::I32 if is_signed => "int",
            Element::I32 => "uint",
            Element::I64 if is_signed => "long",
            Element::I64 => "ulong",
        }
    }
}

/// An operand or a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its components.
    pub scalar: Scalar,
    /// 1 for a scalar.
    pub lanes: u32,
}

impl Part {
    /// MSL's word.
    #[must_use]
    pub fn name(self) -> String {
        if self.lanes == 1 {
            return self.scalar.name().to_owned();
        }
        format!("vec<{}, {}>", self.scalar.name(), self.lanes)
    }
}

/// What the lanes of a SIMD-group, or of all threads, pass to a call: for each operand the words of each thread, a word a component.
#[derive(Clone, Copy, Debug)]
pub struct Inputs<'a> {
    /// By thread, all words of all operands.
    pub words: &'a [Vec<u64>],
    /// Threads of a threadgroup.
    pub group: usize,
}

/// The words of a thread's results, from its operands.
pub type OfThread = Box<dyn Fn(&[u64]) -> Vec<u64>>;
/// The words of a thread's results, from the operands of all threads and its number.
pub type OfGroup = Box<dyn Fn(Inputs<'_>, usize) -> Vec<u64>>;

/// What must come out.
pub enum Expectation {
    /// The operands of a thread decide.
    Thread(OfThread),
    /// The operands of all threads decide.
    Group(OfGroup),
}

/// How close floats have to be.
#[derive(Clone, Copy, Debug)]
pub enum Tolerance {
    /// In units in the last place of the expected number.
    Ulps(f64),
    /// As a distance, relative for numbers above 1.
    Distance(f64),
}

/// One call.
pub struct Check {
    /// For messages.
    pub name: String,
    /// An MSL expression of operands `a0`, `a1`, …, or statements that set the results `r0`, `r1`, ….
    pub body: String,
    /// Operands.
    pub operands: Vec<Part>,
    /// Results.
    pub results: Vec<Part>,
    /// What must come out.
    pub expectation: Expectation,
    /// How close.
    pub tolerance: Tolerance,
    /// Makes random operands of one thread ones for which the result is defined.
    pub repair: fn(&mut [u64]),
    /// Largest magnitude of random floats.
    pub magnitude: f64,
}

impl Tolerance {
    /// Whether a word of a result is right. Float's subnormal numbers count as zero.
    #[must_use]
    pub fn admits(self, scalar: Scalar, got: u64, expected: u64) -> bool {
        let ty = match scalar.element {
            Element::F32 => Type::Float,
            Element::F16 => Type::Half,
            Element::Bf16 => return got == expected || is_nan_bf16(got) && is_nan_bf16(expected),
            Element::I1 | Element::I8 | Element::I16 | Element::I32 | Element::I64 => return got == expected,
        };
        let (got, expected) = (ty.flushed(ty.decode(got)), ty.flushed(ty.decode(expected)));
        let error = ty.error(got, crate::accuracy::exact::Exact::of(expected));
        match self {
            _ if error.ulps == 0.0 => true,
            Self::Ulps(ulps) => error.ulps <= ulps,
            Self::Distance(distance) => error.distance <= distance * expected.abs().max(1.0),
        }
    }
}

fn is_nan_bf16(bits: u64) -> bool {
    bits & 0x7fff > 0x7f80
}

/// Indices of the rows of the intrinsic table that `program` calls.
///
/// # Panics
/// When the program's AIR is no bitcode.
#[must_use]
pub fn reached(program: &Program) -> BTreeSet<u32> {
    let context = Context::new();
    let module = context.parse_bitcode(program.bitcode()).expect("verified AIR parses");
    let declared = module.functions().into_iter().filter(|function| function.is_declaration());
    declared.filter_map(|function| Some(lookup(&function.name())?.row.index)).collect()
}
