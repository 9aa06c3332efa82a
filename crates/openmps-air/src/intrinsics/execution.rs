//! Questions about the execution, function constants, and asynchronous copies by a SIMD-group.

use openmps_engine::AddressSpace;

use super::{Effects, Lift, Operation, Reference, Row, Slot, operations};
use crate::element::Element;

operations! {
    /// Questions about the execution, function constants, asynchronous copies.
    ExecutionOperation {
        /// 32.
        SimdgroupSize = "get_simdgroup_size",
        /// The lane.
        ThreadIndexInSimdgroup = "get_thread_index_in_simdgroup",
        /// Whether the operand is equal on all lanes; feeds `llvm.assume` alone, so true is always right.
        IsUniform = "is_uniform",
        /// Whether the host set the function constant whose initializer the pointer names.
        IsFunctionConstantDefined = "is_function_constant_defined",
        /// Whether the operand is not zero, as 0 or 1.
        NormalizeFunctionConstantPredicate = "normalize_function_constant_predicate",
        /// The entry of a table of visible functions (pointer, i32 index), which is then called.
        FunctionTableEntry = "get_function_pointer_visible_function_table",
        /// A sampler that reads pass along, without meaning here.
        ReadSampler = "get_read_sampler",
        /// Copies a tile between device and threadgroup memory, once a SIMD-group; returns an event.
        AsyncCopy2d = "simdgroup_async_copy_2d",
        /// Copies elements between device and threadgroup memory, once a SIMD-group; returns an event.
        AsyncCopy1d = "simdgroup_async_copy_1d",
        /// Waits for this many (i32) events in the array of pointers.
        WaitEvents = "wait_simdgroup_events",
    }
}

pub(super) fn rows() -> Vec<Row> {
    use ExecutionOperation as Op;
    const I1: Element = Element::I1;
    let (device, threadgroup) = (AddressSpace::Device, AddressSpace::Threadgroup);
    let normalize = Reference::Unary(|x| u64::from(x & 0xff != 0));
    vec![
        pure(Op::SimdgroupSize, ".i16", Element::I16, vec![]),
        pure(Op::SimdgroupSize, ".i32", Element::I32, vec![]),
        pure(Op::ThreadIndexInSimdgroup, ".i16", Element::I16, vec![]),
        pure(Op::ThreadIndexInSimdgroup, ".i32", Element::I32, vec![]),
        pure(Op::IsUniform, ".i1", I1, vec![Slot::Scalar(I1)]),
        pure(Op::IsUniform, ".i32", I1, vec![Slot::Scalar(Element::I32)]),
        pure(Op::IsFunctionConstantDefined, "", I1, vec![Slot::Pointer(AddressSpace::Constant)]),
        Row {
            reference: normalize,
            ..pure(Op::NormalizeFunctionConstantPredicate, ".i8", Element::I8, vec![Slot::Scalar(Element::I8)])
        },
        pure(Op::FunctionTableEntry, "", I1, vec![]).with_signature(
            Slot::Pointer(AddressSpace::Thread),
            vec![Slot::Pointer(device), Slot::Scalar(Element::I32)],
        ),
        pure(Op::ReadSampler, "", I1, vec![]).with_signature(Slot::Pointer(AddressSpace::Constant), vec![]),
        copy_2d(threadgroup, device),
        copy_2d(device, threadgroup),
        copy_1d(threadgroup, device),
        copy_1d(device, threadgroup),
        collective(Op::WaitEvents, "")
            .with_signature(Slot::Void, vec![Slot::Scalar(Element::I32), Slot::Pointer(AddressSpace::Thread)]),
    ]
}

fn pure(operation: ExecutionOperation, suffix: &str, element: Element, operands: Vec<Slot>) -> Row {
    let reference = Reference::ByEngine("the engine knows how it runs threads and what the host has set");
    let name = format!("air.{}{suffix}", operation.name());
    let mut row = Row::pure(name, Operation::Execution(operation), element, reference);
    row.lift = Lift::None;
    row.with_signature(Slot::Scalar(element), operands)
}

/// A row that all lanes call together.
fn collective(operation: ExecutionOperation, suffix: &str) -> Row {
    let reference = Reference::ByEngine("copies memory that threads share");
    let mut row = Row { reference, ..pure(operation, suffix, Element::I1, vec![]) };
    (row.effects, row.convergent) = (Effects::Memory, true);
    row
}

/// The part of a copy's name that says from where to where; the discriminants of address spaces are AIR's numbers.
fn direction(to: AddressSpace, from: AddressSpace) -> String {
    format!(".p{}i8.p{}i8", to as u32, from as u32)
}

fn copy_2d(to: AddressSpace, from: AddressSpace) -> Row {
    let (long, pair) = (Slot::Scalar(Element::I64), Slot::Vector(Element::I64, 2));
    let (target, source) = (Slot::Pointer(to), Slot::Pointer(from));
    let operands =
        vec![long, long, target, long, long, pair, source, long, long, pair, pair, Slot::Scalar(Element::I32)];
    collective(ExecutionOperation::AsyncCopy2d, &direction(to, from))
        .with_signature(Slot::Pointer(AddressSpace::Thread), operands)
}

fn copy_1d(to: AddressSpace, from: AddressSpace) -> Row {
    let long = Slot::Scalar(Element::I64);
    collective(ExecutionOperation::AsyncCopy1d, &direction(to, from)).with_signature(
        Slot::Pointer(AddressSpace::Thread),
        vec![long, long, Slot::Pointer(to), Slot::Pointer(from), long],
    )
}
