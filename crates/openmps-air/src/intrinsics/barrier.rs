//! Barriers and fences.
//!
//! Flags: bit 0 device memory, 1 threadgroup memory, 2 textures, 3 imageblocks, 4 object data; 0 orders execution alone.
//! Orders and scopes are those of [`atomic`](super::atomic).

use super::{Effects, Lift, Operation, Reference, Row, Slot, operations};
use crate::element::Element;

operations! {
    /// Barriers and fences.
    BarrierOperation {
        /// All threads of the threadgroup wait for each other. Operands flags, scope.
        Threadgroup = "wg.barrier",
        /// All threads of the SIMD-group wait for each other. Operands flags, scope.
        Simdgroup = "simdgroup.barrier",
        /// Orders this thread's accesses. Operands flags, order, scope.
        Fence = "atomic.fence",
    }
}

pub(super) fn rows() -> Vec<Row> {
    BarrierOperation::ALL.iter().copied().map(row).collect()
}

fn row(operation: BarrierOperation) -> Row {
    let reason = match operation {
        BarrierOperation::Threadgroup | BarrierOperation::Simdgroup => "threads wait for each other",
        BarrierOperation::Fence => "orders memory that threads share",
    };
    let name = format!("air.{}", operation.name());
    let mut row = Row::pure(name, Operation::Barrier(operation), Element::I1, Reference::ByEngine(reason));
    (row.effects, row.lift) = (Effects::Memory, Lift::None);
    let word = Slot::Scalar(Element::I32);
    match operation {
        BarrierOperation::Threadgroup | BarrierOperation::Simdgroup => {
            row.convergent = true;
            row.with_signature(Slot::Void, vec![word, word])
        }
        BarrierOperation::Fence => row.with_signature(Slot::Void, vec![word, word, word]),
    }
}
