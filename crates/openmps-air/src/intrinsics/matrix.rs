//! 8x8 matrices that the 32 lanes of a SIMD-group hold together, as `<64 x T>` of which each lane uses elements 0 and 1.

use openmps_engine::AddressSpace;

use super::{Effects, Lift, Operation, Reference, Row, Signature, Slot, operations};
use crate::element::Element;

operations! {
    /// Functions on matrices. All 32 lanes take part (MSL 6.7).
    MatrixOperation {
        /// Operands pointer, elements per row (i64), origin (x, y), transposed; since AIR 2.8 pointer, shape, strides, origin.
        Load = "load",
        /// Operands matrix, then those of `load`.
        Store = "store",
        /// The operand on the diagonal, zero elsewhere.
        InitDiag = "init_diag",
        /// The operand everywhere.
        InitFilled = "init_filled",
        /// a · b + c, accumulated in f32 in index order and rounded once.
        MultiplyAccumulate = "multiply_accumulate",
    }
}

/// The element types of matrices.
const ELEMENTS: [Element; 3] = [Element::F32, Element::F16, Element::Bf16];

/// Lanes of the vector that stands for a matrix.
const LANES: u32 = 64;

/// The row and the column of element 0 of `lane`; element 1 is one column further.
#[must_use]
pub fn position(lane: u32) -> (u32, u32) {
    let quad = lane / 4;
    ((quad & 4) + lane / 2 % 4, (quad & 2) * 2 + lane % 2 * 2)
}

pub(super) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for element in ELEMENTS {
        for space in [AddressSpace::Device, AddressSpace::Constant, AddressSpace::Threadgroup, AddressSpace::Thread] {
            rows.push(access(MatrixOperation::Load, element, space));
            rows.push(access(MatrixOperation::Store, element, space));
        }
        rows.push(initialize(MatrixOperation::InitDiag, element));
        rows.push(initialize(MatrixOperation::InitFilled, element));
        for left in ELEMENTS {
            for right in ELEMENTS {
                rows.extend(ELEMENTS.map(|addend| multiply_accumulate(element, left, right, addend)));
            }
        }
    }
    rows
}

fn row(operation: MatrixOperation, suffix: &str, element: Element) -> Row {
    let name = format!("air.simdgroup_matrix_8x8_{}.{suffix}", operation.name());
    let reference = Reference::ByEngine("a lane holds two elements of a matrix");
    let mut row = Row::pure(name, Operation::Matrix(operation), element, reference);
    (row.effects, row.lift, row.convergent) = (Effects::Memory, Lift::None, true);
    row
}

fn access(operation: MatrixOperation, element: Element, space: AddressSpace) -> Row {
    // The discriminants of address spaces are AIR's numbers.
    let mut row = row(operation, &format!("v{LANES}{element}.p{}{element}", space as u32), element);
    row.space = Some(space);
    let (matrix, pointer) = (Slot::Vector(element, LANES), Slot::Pointer(space));
    let (long, pair, truth) = (Slot::Scalar(Element::I64), Slot::Vector(Element::I64, 2), Slot::Scalar(Element::I1));
    let places = [vec![pointer, long, pair, truth], vec![pointer, pair, pair, pair]];
    let is_store = operation == MatrixOperation::Store;
    let signature = |place: Vec<Slot>| match is_store {
        true => Signature { result: Slot::Void, operands: std::iter::once(matrix).chain(place).collect() },
        false => Signature { result: matrix, operands: place },
    };
    row.signatures = places.into_iter().map(signature).collect();
    row
}

fn initialize(operation: MatrixOperation, element: Element) -> Row {
    let row = row(operation, &format!("v{LANES}{element}.{element}"), element);
    row.with_signature(Slot::Vector(element, LANES), vec![Slot::Scalar(element)])
}

fn multiply_accumulate(result: Element, left: Element, right: Element, addend: Element) -> Row {
    let suffix = [result, left, right, addend].map(|element| format!("v{LANES}{element}")).join(".");
    let row = row(MatrixOperation::MultiplyAccumulate, &suffix, result);
    let matrix = |element| Slot::Vector(element, LANES);
    row.with_signature(matrix(result), vec![matrix(left), matrix(right), matrix(addend)])
}
