//! Metal 4 tensors: descriptors in thread memory (`air.*_private_tensor*`), and the entry points of MetalPerformancePrimitives
//! (`__tensorops_impl_*`), products and convolutions that the threads of an execution scope compute together.
//!
//! Source: PyTorch 2.15's and mtlattn's libraries, whose 947 kernels with tensors call 41 of these functions. The other rows are
//! the same functions for further element types and places; names that no library has shown are left out.

use openmps_engine::AddressSpace;

use super::{Effects, Lift, Operation, Reference, Row, Slot, operations};
use crate::element::Element;

operations! {
    /// Functions on tensors. The first operands of those on a cooperative tensor of `matmul2d` are which operand of the product it
    /// is (0 left, 1 right, 2 destination) and the product's descriptor: m, n, k (-1: taken from the tensors), transpose left,
    /// transpose right, relaxed precision, mode (1: adds to the destination). The three data types are codes whose low byte is
    /// the number of bits.
    TensorOperation {
        /// Bytes of a descriptor of this rank and this many bytes an index.
        DescriptorSize = "air.get_descriptor_size_tensor",
        /// Operands descriptor, rank, data, extents, strides (innermost first), element code.
        InitStrided = "air.init_strided_private_tensor",
        /// Operands descriptor, rank, dimension.
        Extent = "air.get_extent_private_tensor",
        /// Operands new descriptor, old descriptor, rank, origin, extents.
        Slice = "air.slice_private_tensor_private_tensor",
        /// Bytes of a thread's part of a cooperative tensor. Operands product, data types, threads.
        DataSize = "__tensorops_impl_matmul2d_op_cooperative_tensor_data_size",
        /// Operands product, storage, data types, threads.
        Init = "__tensorops_impl_matmul2d_op_cooperative_tensor_init",
        /// Elements of a thread's part. Operands product, storage, left and right data type, threads.
        ElementCount = "__tensorops_impl_matmul2d_op_cooperative_tensor_num_elements",
        /// Operands product, storage, index (0xffff: the first), data types.
        ElementPointer = "__tensorops_impl_matmul2d_op_cooperative_tensor_get_element_pointer",
        /// Whether an element of the thread's part is one of the tensor. Operands product, storage, index, data types, threads.
        IsValidElement = "__tensorops_impl_matmul2d_op_cooperative_tensor_is_valid_element",
        /// Stores column and row of an element. Operands product, storage, index, place of the two, their data type, threads,
        /// data types.
        Coordinate = "__tensorops_impl_matmul2d_op_cooperative_tensor_get_coordinate",
        /// Fills the thread's part. Operands product, storage, tensor, its kind, its rank, data types, threads.
        Load = "__tensorops_impl_matmul2d_op_cooperative_tensor_load",
        /// Operands product, storage, tensor, its kind, data types, threads.
        Store = "__tensorops_impl_matmul2d_op_cooperative_tensor_store",
        /// Left times right. Operands descriptor, left, right, destination, threads; a kind behind each that is no cooperative
        /// tensor.
        Multiply = "__tensorops_impl_matmul2d_op_run",
        /// Operands descriptor, data types, threads.
        ConvolutionDataSize = "__tensorops_impl_conv2d_cooperative_destination_data_size",
        /// Operands storage, descriptor, data types, threads.
        ConvolutionInit = "__tensorops_impl_conv2d_cooperative_destination_tensor_init",
        /// Operands descriptor, storage, data types, threads.
        ConvolutionElementCount = "__tensorops_impl_conv2d_cooperative_destination_tensor_num_elements",
        /// Operands storage, index (0xffff: the first), destination's data type, threads.
        ConvolutionElementPointer = "__tensorops_impl_conv2d_cooperative_destination_tensor_elements",
        /// Stores channel, x, y and image. Operands descriptor, storage, index, data type, place, its data type, data types,
        /// threads.
        ConvolutionCoordinate = "__tensorops_impl_conv2d_cooperative_destination_tensor_get_coordinate",
        /// The end of a destination; Apple's spelling. Operands storage, descriptor, threads.
        ConvolutionDestroy = "__tensorops_impl_conv2d_cooperative_destination_tensor_destory",
        /// Operands descriptor, activations, kind, weights, kind, destination, threads, place of the two offsets.
        Convolve = "__tensorops_impl_convolution2d_op_run_cooperative",
    }
}

/// What the names of the entry points begin with.
pub const TENSOR_PREFIX: &str = "__tensorops_impl_";

const BYTE: Slot = Slot::Scalar(Element::I8);
const SHORT: Slot = Slot::Scalar(Element::I16);
const WORD: Slot = Slot::Scalar(Element::I32);
const LONG: Slot = Slot::Scalar(Element::I64);
const THREAD: Slot = Slot::Pointer(AddressSpace::Thread);
/// Operand index and descriptor.
const PRODUCT: [Slot; 8] = [WORD, WORD, WORD, WORD, BYTE, BYTE, BYTE, WORD];
/// Data types of left, right and destination.
const TYPES: [Slot; 3] = [WORD, WORD, WORD];

/// Where a tensor lies, as names of entry points say it.
const PLACES: [&str; 2] = ["dv", "tg"];
/// Types of factors, as names of products say them.
const FACTORS: [&str; 4] = ["f32", "f16", "b16", "i8"];
/// Floating-point types of destinations.
const RESULTS: [&str; 3] = ["f32", "f16", "b16"];

pub(super) fn rows() -> Vec<Row> {
    use TensorOperation as Op;
    let mut rows = descriptors();
    let product = |rest: &[&[Slot]]| [&PRODUCT[..]].iter().chain(rest).flat_map(|part| part.iter().copied()).collect();
    rows.extend([
        pure(Op::DataSize, LONG, product(&[&TYPES, &[WORD]])),
        local(Op::Init, Slot::Void, product(&[&[THREAD], &TYPES, &[WORD]])),
        pure(Op::ElementCount, SHORT, product(&[&[THREAD, WORD, WORD, WORD]])),
        pure(Op::ElementPointer, THREAD, product(&[&[THREAD, SHORT], &TYPES])),
        pure(Op::IsValidElement, Slot::Scalar(Element::I1), product(&[&[THREAD, SHORT], &TYPES, &[WORD]])),
        local(Op::Coordinate, Slot::Void, product(&[&[THREAD, SHORT, THREAD, WORD, WORD], &TYPES])),
    ]);
    for place in PLACES {
        for element in FACTORS.into_iter().chain(["i32"]) {
            let suffix = format!("_{place}_{element}");
            let load = product(&[&[THREAD, THREAD, WORD, WORD], &TYPES, &[WORD]]);
            rows.push(row(Op::Load, &suffix).with_signature(Slot::Void, load));
            let store = product(&[&[THREAD, THREAD, WORD], &TYPES, &[WORD]]);
            rows.push(row(Op::Store, &suffix).with_signature(Slot::Void, store));
        }
    }
    rows.extend(products());
    rows.extend(convolutions());
    rows
}

fn row(operation: TensorOperation, suffix: &str) -> Row {
    let name = format!("{}{suffix}", operation.name());
    let reference = Reference::ByEngine("how threads share a tensor is the engine's choice");
    let mut row = Row::pure(name, Operation::Tensor(operation), Element::I1, reference);
    let is_entry_point = operation.name().starts_with(TENSOR_PREFIX);
    (row.effects, row.lift, row.convergent) = (Effects::Memory, Lift::None, is_entry_point);
    row
}

/// A function whose result depends on its operands alone.
fn pure(operation: TensorOperation, result: Slot, operands: Vec<Slot>) -> Row {
    let mut row = row(operation, "").with_signature(result, operands);
    row.effects = Effects::Pure;
    row
}

/// A function that touches the memory of its operands alone.
fn local(operation: TensorOperation, result: Slot, operands: Vec<Slot>) -> Row {
    let mut row = row(operation, "").with_signature(result, operands);
    row.effects = Effects::ArgumentMemory;
    row
}

fn descriptors() -> Vec<Row> {
    use TensorOperation as Op;
    let on_memory = |operation, suffix: &str, result, operands: Vec<Slot>| {
        let mut row = row(operation, suffix).with_signature(result, operands);
        row.effects = Effects::ArgumentMemory;
        row
    };
    let mut rows = vec![pure(Op::DescriptorSize, SHORT, vec![SHORT, SHORT])];
    for (space, name) in [(AddressSpace::Device, ".i32.global"), (AddressSpace::Threadgroup, ".i32.local")] {
        let operands = vec![THREAD, SHORT, Slot::Pointer(space), THREAD, THREAD, BYTE];
        let mut row = on_memory(Op::InitStrided, name, Slot::Void, operands);
        row.space = Some(space);
        rows.push(row);
    }
    rows.push(on_memory(Op::Extent, ".i32", WORD, vec![THREAD, SHORT, SHORT]));
    rows.push(on_memory(Op::Slice, ".s.i32", Slot::Void, vec![THREAD, THREAD, SHORT, THREAD, THREAD]));
    rows
}

/// Products of cooperative tensors, of tensors into a cooperative tensor, and of tensors into a tensor.
fn products() -> Vec<Row> {
    let mut rows = Vec::new();
    for left in FACTORS {
        for right in FACTORS {
            let exact = (left == "i8" && right == "i8").then_some("i32");
            for result in RESULTS.into_iter().chain(exact) {
                let name = format!("_cooperative_{left}_{right}_{result}");
                rows.push(multiply(&name, vec![THREAD, THREAD, THREAD, THREAD, WORD]));
                for (a, b) in PLACES.into_iter().flat_map(|a| PLACES.map(|b| (a, b))) {
                    let factors = format!("{a}_{left}_{b}_{right}");
                    let operands = vec![THREAD, THREAD, WORD, THREAD, WORD, THREAD, WORD];
                    rows.push(multiply(&format!("_cooperative_{factors}_{result}"), operands));
                    for place in PLACES {
                        let operands = vec![THREAD, THREAD, WORD, THREAD, WORD, THREAD, WORD, WORD];
                        rows.push(multiply(&format!("_{factors}_{place}_{result}"), operands));
                    }
                }
            }
        }
    }
    rows
}

fn multiply(suffix: &str, operands: Vec<Slot>) -> Row {
    row(TensorOperation::Multiply, suffix).with_signature(Slot::Void, operands)
}

fn convolutions() -> Vec<Row> {
    use TensorOperation as Op;
    let types = |before: &[Slot], after: &[Slot]| [before, &TYPES, after].concat();
    let mut rows = vec![
        pure(Op::ConvolutionDataSize, LONG, types(&[THREAD], &[WORD])),
        local(Op::ConvolutionInit, Slot::Void, types(&[THREAD, THREAD], &[WORD])),
        pure(Op::ConvolutionElementCount, SHORT, types(&[THREAD, THREAD], &[WORD])),
        pure(Op::ConvolutionElementPointer, THREAD, vec![THREAD, SHORT, WORD, WORD]),
        local(Op::ConvolutionCoordinate, Slot::Void, types(&[THREAD, THREAD, SHORT, WORD, THREAD, WORD], &[WORD])),
        local(Op::ConvolutionDestroy, Slot::Void, vec![THREAD, THREAD, WORD]),
    ];
    // Convolutions spell bfloat in their own way.
    for element in ["f32", "f16", "bf"] {
        let operands = vec![THREAD, THREAD, WORD, THREAD, WORD, THREAD, WORD, THREAD];
        let name = format!("_dv_{element}_dv_{element}_f32");
        rows.push(row(Op::Convolve, &name).with_signature(Slot::Void, operands));
    }
    rows
}
