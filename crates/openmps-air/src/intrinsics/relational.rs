//! Truth values of vectors: `air.all.v<N>i1` and `air.any.v<N>i1`.

use super::{Lift, Operation, Reference, Row, Slot, operations};
use crate::element::Element;

operations! {
    /// Truth values of vectors.
    RelationalOperation {
        /// Whether every element is true.
        All = "all",
        /// Whether an element is true.
        Any = "any",
    }
}

pub(super) fn rows() -> Vec<Row> {
    RelationalOperation::ALL.iter().copied().map(row).collect()
}

fn row(operation: RelationalOperation) -> Row {
    let reference = Reference::Horizontal(match operation {
        RelationalOperation::All => |elements, _| u64::from(elements.iter().all(|element| element & 1 == 1)),
        RelationalOperation::Any => |elements, _| u64::from(elements.iter().any(|element| element & 1 == 1)),
    });
    let name = format!("air.{}.i1", operation.name());
    let mut row = Row::pure(name, Operation::Relational(operation), Element::I1, reference);
    row.lift = Lift::Horizontal;
    row.with_signature(Slot::Scalar(Element::I1), vec![Slot::Lifted(Element::I1)])
}
