//! Metal 4 tensors: sizes and pointers of cooperative tensors as instructions, so that the sizes of their storage become constants;
//! everything else as calls of the runtime.

use openmps_air::intrinsics::{Operation, TensorOperation, lookup};

use super::barrier::simdgroup_barrier;
use super::text::{Body, Ty, Value};
use super::{Declaration, Lowered};
use crate::tensor::descriptor::{DESCRIPTOR_BYTES, INLINE_KIND};
use crate::tensor::element::Element;
use crate::tensor::layout::{ELEMENTS_PER_THREAD_MAX, Fragments};
use crate::tensor::request::{Form, Operation as Request};

/// The function that tells a thread its number in the threadgroup.
pub(crate) const THREAD_INDEX: &str = "openmps_thread_index";

/// The runtime's functions, as IR declares them.
pub(super) const RUNTIME: &str = "
declare void @openmps_tensor_initialize(ptr, i32, i64, ptr, ptr, i32) nounwind
declare void @openmps_tensor_slice(ptr, ptr, i32, ptr, ptr) nounwind
declare i32 @openmps_tensor_extent(ptr, i32, i32) nounwind
declare i32 @openmps_thread_index() nounwind willreturn memory(none)
declare i32 @openmps_matmul_coordinate(i32, i32, i32, i32, i32, i32, i32, i32, i32, ptr) nounwind
declare void @openmps_matmul_move(i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, ptr, ptr) nounwind
declare i32 @openmps_convolution_element_count(ptr, i32) nounwind
declare void @openmps_convolution_coordinate(ptr, i32, i32, i32, i32, ptr) nounwind
declare void @openmps_tensor_operate(i32, i32, i32, ptr, ptr, ptr, ptr, ptr) convergent nounwind
";

fn operation_of(declaration: &Declaration) -> Option<TensorOperation> {
    match lookup(&declaration.name)?.row.operation {
        Operation::Tensor(operation) => Some(operation),
        _ => None,
    }
}

/// Whether the function asks which thread calls it, or threads wait in it.
pub(super) fn needs_threads(declaration: &Declaration) -> bool {
    use TensorOperation as Op;
    match operation_of(declaration) {
        Some(
            Op::IsValidElement
            | Op::Coordinate
            | Op::Load
            | Op::Store
            | Op::Multiply
            | Op::ConvolutionCoordinate
            | Op::Convolve,
        ) => true,
        Some(
            Op::DescriptorSize
            | Op::InitStrided
            | Op::Extent
            | Op::Slice
            | Op::DataSize
            | Op::Init
            | Op::ElementCount
            | Op::ElementPointer
            | Op::ConvolutionDataSize
            | Op::ConvolutionInit
            | Op::ConvolutionElementCount
            | Op::ConvolutionElementPointer
            | Op::ConvolutionDestroy,
        )
        | None => false,
    }
}

pub(super) fn lower(declaration: &Declaration, body: &mut Body) -> Option<Lowered> {
    use TensorOperation as Op;
    let operation = operation_of(declaration)?;
    match operation {
        Op::DescriptorSize | Op::InitStrided | Op::Extent | Op::Slice => descriptor(operation, declaration, body),
        Op::Multiply | Op::Convolve => operate(declaration, body),
        // The storage of a cooperative tensor has no header.
        Op::Init | Op::ConvolutionInit | Op::ConvolutionDestroy => Some(Lowered::Void),
        Op::DataSize => {
            let (count, size) = (element_count(declaration, body, 11)?, operand_bytes(declaration, body, 8)?);
            Some(Lowered::Value(body.binary("mul", &count, &size)))
        }
        Op::ElementCount => {
            let count = element_count(declaration, body, 11)?;
            Some(Lowered::Value(body.cast("trunc", &count, &Ty::scalar("i16"))))
        }
        Op::ElementPointer => {
            let size = operand_bytes(declaration, body, 10)?;
            element_pointer(declaration, body, 8, &size)
        }
        Op::IsValidElement => {
            let call = coordinate_operands(declaration, body, 13)?;
            let none = "i32 0, ptr null";
            let valid = body.value(&word(), format_args!("call i32 @openmps_matmul_coordinate({call}, {none})"));
            Some(Lowered::Value(body.compare("icmp ne", &valid, &Value::int(&word(), 0))))
        }
        Op::Coordinate => {
            let call = coordinate_operands(declaration, body, 12)?;
            let (bits, to) = (bits_of(declaration, body, 11)?, declaration.parameter(10)?);
            body.line(format_args!("call i32 @openmps_matmul_coordinate({call}, {bits}, {to})"));
            Some(Lowered::Void)
        }
        Op::Load | Op::Store => move_elements(operation == Op::Store, declaration, body),
        Op::ConvolutionDataSize => {
            let count = pixels_per_thread(declaration, body, 4)?;
            // The destination's type comes first.
            let size = bytes_of(declaration, body, 1)?;
            Some(Lowered::Value(body.binary("mul", &count, &size)))
        }
        Op::ConvolutionElementCount => {
            let (descriptor, threads) = (declaration.parameter(0)?, declaration.parameter(5)?);
            let call = format_args!("call i32 @openmps_convolution_element_count({descriptor}, {threads})");
            let count = body.value(&word(), call);
            Some(Lowered::Value(body.cast("trunc", &count, &Ty::scalar("i16"))))
        }
        Op::ConvolutionElementPointer => {
            let size = bytes_of(declaration, body, 2)?;
            element_pointer(declaration, body, 0, &size)
        }
        Op::ConvolutionCoordinate => {
            let (descriptor, threads, to) =
                (declaration.parameter(0)?, declaration.parameter(9)?, declaration.parameter(4)?);
            let index = declaration.parameter(2)?;
            let index = body.cast("zext", &index, &word());
            let bits = bits_of(declaration, body, 5)?;
            let thread = thread_index(body);
            let operands = format!("{descriptor}, {threads}, {thread}, {index}, {bits}, {to}");
            body.line(format_args!("call void @openmps_convolution_coordinate({operands})"));
            Some(Lowered::Void)
        }
    }
}

/// The thread's number in its threadgroup.
fn thread_index(body: &mut Body) -> Value {
    body.call(&word(), THREAD_INDEX, &[])
}

fn word() -> Ty {
    Ty::scalar("i32")
}

fn long() -> Ty {
    Ty::scalar("i64")
}

/// Functions on descriptors.
fn descriptor(operation: TensorOperation, declaration: &Declaration, body: &mut Body) -> Option<Lowered> {
    let widened = |body: &mut Body, index: usize| {
        let value = declaration.parameter(index)?;
        Some(body.cast("zext", &value, &word()))
    };
    let pointer = |index: usize| declaration.parameter(index);
    match operation {
        TensorOperation::DescriptorSize => {
            let size = i64::try_from(DESCRIPTOR_BYTES).ok()?;
            Some(Lowered::Value(Value::int(declaration.result.as_ref()?, size)))
        }
        TensorOperation::InitStrided => {
            let (rank, code) = (widened(body, 1)?, widened(body, 5)?);
            let address = body.cast("ptrtoint", &pointer(2)?, &long());
            let operands = format!("{}, {rank}, {address}, {}, {}, {code}", pointer(0)?, pointer(3)?, pointer(4)?);
            body.line(format_args!("call void @openmps_tensor_initialize({operands})"));
            Some(Lowered::Void)
        }
        TensorOperation::Extent => {
            let (rank, dimension) = (widened(body, 1)?, widened(body, 2)?);
            let operands = format!("{}, {rank}, {dimension}", pointer(0)?);
            Some(Lowered::Value(body.value(&word(), format_args!("call i32 @openmps_tensor_extent({operands})"))))
        }
        TensorOperation::Slice => {
            let rank = widened(body, 2)?;
            let operands = format!("{}, {}, {rank}, {}, {}", pointer(0)?, pointer(1)?, pointer(3)?, pointer(4)?);
            body.line(format_args!("call void @openmps_tensor_slice({operands})"));
            Some(Lowered::Void)
        }
        _ => None,
    }
}

/// Whether the operand number, the first parameter, is `number`.
fn is_operand(declaration: &Declaration, body: &mut Body, number: i64) -> Option<Value> {
    let operand = declaration.parameter(0)?;
    Some(body.compare("icmp eq", &operand, &Value::int(&operand.ty, number)))
}

/// Elements of a thread's part of a cooperative tensor of a product as i64, at most [`ELEMENTS_PER_THREAD_MAX`]: rows times columns
/// by threads, rounded up. Sizes that are not positive give none.
fn element_count(declaration: &Declaration, body: &mut Body, threads: usize) -> Option<Value> {
    let (m, n, k) = (declaration.parameter(1)?, declaration.parameter(2)?, declaration.parameter(3)?);
    let (is_left, is_right) = (is_operand(declaration, body, 0)?, is_operand(declaration, body, 1)?);
    let rows = body.select(&is_right, &k, &m);
    let columns = body.select(&is_left, &k, &n);
    let count = positive_product(body, &[rows, columns]);
    Some(per_thread(body, &count, &declaration.parameter(threads)?))
}

/// The product of i32 sizes as i64, 0 where one is not positive. Sizes are cut to 24 bits each, since two of them must not wrap;
/// what is cut is too large for any storage.
fn positive_product(body: &mut Body, sizes: &[Value]) -> Value {
    let mut product = Value::int(&long(), 1);
    for size in sizes {
        let size = body.intrinsic("llvm.smax", &[size, &Value::int(&size.ty, 0)]);
        let size = body.intrinsic("llvm.smin", &[&size, &Value::int(&size.ty, 1 << 24)]);
        let size = body.cast("zext", &size, &long());
        let next = body.binary("mul", &product, &size);
        product = body.intrinsic("llvm.umin", &[&next, &Value::int(&long(), 1 << 32)]);
    }
    product
}

fn per_thread(body: &mut Body, count: &Value, threads: &Value) -> Value {
    let one = Value::int(&long(), 1);
    let threads = body.cast("zext", threads, &long());
    let threads = body.intrinsic("llvm.umax", &[&threads, &one]);
    let sum = body.binary("add", count, &threads);
    let sum = body.binary("sub", &sum, &one);
    let parts = body.binary("udiv", &sum, &threads);
    body.intrinsic("llvm.umin", &[&parts, &Value::int(&long(), i64::from(ELEMENTS_PER_THREAD_MAX))])
}

/// As [`element_count`] for the destination of a convolution, whose sizes are the first words of the descriptor.
fn pixels_per_thread(declaration: &Declaration, body: &mut Body, threads: usize) -> Option<Value> {
    let descriptor = declaration.parameter(0)?;
    let sizes: Vec<Value> = (0..4)
        .map(|index| {
            let place = body.value(&descriptor.ty, format_args!("getelementptr i32, {descriptor}, i64 {index}"));
            body.value(&word(), format_args!("load i32, {place}, align 4"))
        })
        .collect();
    let count = positive_product(body, &sizes);
    Some(per_thread(body, &count, &declaration.parameter(threads)?))
}

/// The data type code of the operand that the first parameter names; the three codes start at parameter `first`.
fn operand_type(declaration: &Declaration, body: &mut Body, first: usize) -> Option<Value> {
    let types = [first, first + 1, first + 2].map(|index| declaration.parameter(index));
    let [Some(left), Some(right), Some(destination)] = types else { return None };
    let (is_left, is_right) = (is_operand(declaration, body, 0)?, is_operand(declaration, body, 1)?);
    let other = body.select(&is_right, &right, &destination);
    Some(body.select(&is_left, &left, &other))
}

/// Bytes of an element of a data type code, as i64: the code's low byte is the bits.
fn bytes_of_type(body: &mut Body, code: &Value) -> Value {
    let bits = body.binary("and", code, &Value::int(&code.ty, 0xff));
    let bytes = body.binary("lshr", &bits, &Value::int(&code.ty, 3));
    body.cast("zext", &bytes, &long())
}

fn operand_bytes(declaration: &Declaration, body: &mut Body, first: usize) -> Option<Value> {
    let code = operand_type(declaration, body, first)?;
    Some(bytes_of_type(body, &code))
}

fn bytes_of(declaration: &Declaration, body: &mut Body, parameter: usize) -> Option<Value> {
    let code = declaration.parameter(parameter)?;
    Some(bytes_of_type(body, &code))
}

/// Bits of an integer of a data type code.
fn bits_of(declaration: &Declaration, body: &mut Body, parameter: usize) -> Option<Value> {
    let code = declaration.parameter(parameter)?;
    Some(body.binary("and", &code, &Value::int(&code.ty, 0xff)))
}

/// The address of an element; the storage is parameter `storage` and the index the next one.
fn element_pointer(declaration: &Declaration, body: &mut Body, storage: usize, size: &Value) -> Option<Lowered> {
    let (storage, index) = (declaration.parameter(storage)?, declaration.parameter(storage + 1)?);
    let is_first = body.compare("icmp eq", &index, &Value::int(&index.ty, -1));
    let index = body.select(&is_first, &Value::int(&index.ty, 0), &index);
    let index = body.cast("zext", &index, &long());
    let offset = body.binary("mul", &index, size);
    Some(Lowered::Value(body.value(&storage.ty, format_args!("getelementptr i8, {storage}, {offset}"))))
}

/// Operand number, m, n, k and flags of a product, as the runtime takes them.
fn product_operands(declaration: &Declaration, body: &mut Body) -> Option<String> {
    let number = |index: usize| declaration.parameter(index);
    let mut flags = Value::int(&word(), if declaration.fragments == Fragments::Apple9 { 4 } else { 0 });
    for (parameter, flag) in [(4, 1), (5, 2)] {
        let given = number(parameter)?;
        let is_set = body.compare("icmp ne", &given, &Value::int(&given.ty, 0));
        let bit = body.select(&is_set, &Value::int(&word(), flag), &Value::int(&word(), 0));
        flags = body.binary("or", &flags, &bit);
    }
    Some(format!("{}, {}, {}, {}, {flags}", number(0)?, number(1)?, number(2)?, number(3)?))
}

/// Product, threads, thread and index; the index is parameter 9.
fn coordinate_operands(declaration: &Declaration, body: &mut Body, threads: usize) -> Option<String> {
    let product = product_operands(declaration, body)?;
    let index = declaration.parameter(9)?;
    let index = body.cast("zext", &index, &word());
    let thread = thread_index(body);
    Some(format!("{product}, {}, {thread}, {index}", declaration.parameter(threads)?))
}

fn move_elements(is_store: bool, declaration: &Declaration, body: &mut Body) -> Option<Lowered> {
    let element = element_of(declaration.name.rsplit('_').next()?)?;
    let code = element as u32 | u32::from(is_store) << 8;
    // A load has the tensor's rank before the data types.
    let types = if is_store { 11 } else { 12 };
    let product = product_operands(declaration, body)?;
    let data_type = operand_type(declaration, body, types)?;
    let threads = declaration.parameter(types + 3)?;
    let (part, tensor, kind) = (declaration.parameter(8)?, declaration.parameter(9)?, declaration.parameter(10)?);
    // Lanes run one after another, so what others of the SIMD-group stored before must be there.
    simdgroup_barrier(declaration, body);
    let thread = thread_index(body);
    let operands = format!("{product}, {threads}, {thread}, i32 {code}, {data_type}, {kind}, {part}, {tensor}");
    body.line(format_args!("call void @openmps_matmul_move({operands})"));
    Some(Lowered::Void)
}

/// The element type that a part of a name stands for.
fn element_of(name: &str) -> Option<Element> {
    Some(match name {
        "f32" => Element::F32,
        "f16" => Element::F16,
        "b16" | "bf" => Element::Bf16,
        "i8" => Element::I8,
        "i32" => Element::I32,
        _ => return None,
    })
}

/// A product or a convolution: which kind of operands there are is in the name.
fn operate(declaration: &Declaration, body: &mut Body) -> Option<Lowered> {
    let is_place = |part: &&str| ["dv", "tg"].contains(part);
    let (_, operands) = declaration.name.split_once("_op_run_")?;
    let elements: Vec<Element> = operands.split('_').filter_map(element_of).collect();
    let [left, right, result] = elements[..] else { return None };
    let form = match (declaration.name.contains("convolution2d"), operands.split('_').filter(is_place).count()) {
        (true, _) => Form::Convolution,
        (false, 0) => Form::Cooperative,
        (false, 2) => Form::IntoCooperative,
        (false, _) => Form::IntoTensor,
    };
    let code = Request { form, left, right, result, fragments: declaration.fragments }.to_code();
    // Parameters: the descriptor, the operands and the kinds of those that are tensors, threads, a convolution's offsets.
    let (places, kinds, threads): ([usize; 3], &[usize], usize) = match form {
        Form::Cooperative => ([1, 2, 3], &[], 4),
        Form::IntoCooperative | Form::Convolution => ([1, 3, 5], &[2, 4], 6),
        Form::IntoTensor => ([1, 3, 5], &[2, 4, 6], 7),
    };
    let mut other_kinds = Value::int(&word(), 0);
    for kind in kinds {
        let kind = declaration.parameter(*kind)?;
        let difference = body.binary("xor", &kind, &Value::int(&word(), i64::from(INLINE_KIND)));
        other_kinds = body.binary("or", &other_kinds, &difference);
    }
    let [left, right, destination] = places.map(|index| declaration.parameter(index));
    let offsets = match form {
        Form::Convolution => declaration.parameter(7)?.to_string(),
        Form::Cooperative | Form::IntoCooperative | Form::IntoTensor => "ptr null".to_owned(),
    };
    let (descriptor, threads) = (declaration.parameter(0)?, declaration.parameter(threads)?);
    let operands = format!("{threads}, {descriptor}, {}, {}, {}, {offsets}", left?, right?, destination?);
    body.line(format_args!("call void @openmps_tensor_operate(i32 {code}, {other_kinds}, {operands}) convergent"));
    Some(Lowered::Void)
}
