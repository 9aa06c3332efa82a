//! Atomic accesses: `air.atomic.<global|local>.<op>[.<s|u>].<type>`, operands pointer, values, order, scope, volatile.
//!
//! Orders: 0 relaxed, 2 acquire, 3 release, 4 both, 5 sequentially consistent. Scopes: 0 thread, 1 threadgroup, 2 device,
//! 4 SIMD-group. Apple's compiler emits order 0, and scope 2 for device memory, 1 for threadgroup memory.

use openmps_engine::AddressSpace;

use super::{Effects, Lift, Operation, Reference, Row, Slot, operations};
use crate::element::{Element, Sign};

operations! {
    /// Atomic accesses. All but load, store and the 64-bit forms return the old value.
    AtomicOperation {
        Load = "load",
        Store = "store",
        Exchange = "xchg",
        /// Operands pointer, pointer to the expected value, desired value, two orders, scope, volatile. Returns the old value and
        /// on failure stores it through the second pointer. Callers compare it with the expected value, so it must
        /// not fail spuriously. f32 compares bits.
        CompareExchange = "cmpxchg.weak",
        Add = "add",
        Sub = "sub",
        Min = "min",
        Max = "max",
        And = "and",
        Or = "or",
        Xor = "xor",
    }
}

/// Why there is no reference.
const SHARED_MEMORY: &str = "atomics act on memory that threads share";

/// The types of an operation, with the sign letter of their names.
fn types(operation: AtomicOperation) -> Vec<(Option<Sign>, Element)> {
    use AtomicOperation as Op;
    const SIGNED: (Option<Sign>, Element) = (Some(Sign::Signed), Element::I32);
    const UNSIGNED: (Option<Sign>, Element) = (Some(Sign::Unsigned), Element::I32);
    match operation {
        Op::Load | Op::Store | Op::Exchange | Op::CompareExchange => {
            vec![(None, Element::I32), (None, Element::F32), (None, Element::I64)]
        }
        Op::Add | Op::Sub => vec![SIGNED, UNSIGNED, (None, Element::F32)],
        Op::Min | Op::Max => vec![SIGNED, UNSIGNED, (Some(Sign::Unsigned), Element::I64)],
        Op::And | Op::Or | Op::Xor => vec![SIGNED, UNSIGNED],
    }
}

pub(super) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for operation in AtomicOperation::ALL {
        for (space, name) in [(AddressSpace::Device, "global"), (AddressSpace::Threadgroup, "local")] {
            rows.extend(types(*operation).into_iter().map(|ty| row(*operation, space, name, ty)));
        }
    }
    rows
}

fn row(
    operation: AtomicOperation,
    space: AddressSpace,
    space_name: &str,
    (sign, element): (Option<Sign>, Element),
) -> Row {
    let letter = sign.map(|sign| format!("{}.", sign.letter())).unwrap_or_default();
    let name = format!("air.atomic.{space_name}.{}.{letter}{element}", operation.name());
    let mut row = Row::pure(name, Operation::Atomic(operation), element, Reference::ByEngine(SHARED_MEMORY));
    (row.sign, row.space, row.effects, row.lift) = (sign, Some(space), Effects::ArgumentMemory, Lift::None);
    let (value, pointer) = (Slot::Scalar(element), Slot::Pointer(space));
    let (word, truth) = (Slot::Scalar(Element::I32), Slot::Scalar(Element::I1));
    // The 64-bit operations of Apple9 GPUs return nothing (MSL 6.15.4.6).
    let old = if element == Element::I64 { Slot::Void } else { value };
    match operation {
        AtomicOperation::Load => row.with_signature(value, vec![pointer, word, word, truth]),
        AtomicOperation::Store => row.with_signature(Slot::Void, vec![pointer, value, word, word, truth]),
        AtomicOperation::Exchange => row.with_signature(value, vec![pointer, value, word, word, truth]),
        AtomicOperation::CompareExchange => {
            let expected = Slot::Pointer(AddressSpace::Thread);
            row.with_signature(value, vec![pointer, expected, value, word, word, word, truth])
        }
        AtomicOperation::Add
        | AtomicOperation::Sub
        | AtomicOperation::Min
        | AtomicOperation::Max
        | AtomicOperation::And
        | AtomicOperation::Or
        | AtomicOperation::Xor => row.with_signature(old, vec![pointer, value, word, word, truth]),
    }
}
