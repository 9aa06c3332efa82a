//! Functions on tensors that generated code calls: `extern "C"`, plain words, never unwinding. What they cannot do they leave
//! undone, and the launch ends with an error.

use super::convolution::Convolution;
use super::descriptor::{Descriptor, INLINE_KIND, RANK_MAX};
use super::element::{Element, Number};
use super::layout::Fragments;
use super::matmul::{Cooperative, Operand, Product, storage, view};
use super::memory::Line;
use super::request::{Members, Request, scope, serve};
use crate::abi::SIMD_WIDTH;
use crate::group;
use crate::runtime::trap_with;

/// Reads `rank` numbers of a kernel's array.
///
/// # Safety
/// They are readable.
unsafe fn numbers(from: *const i32, rank: usize) -> Vec<i32> {
    // SAFETY: by this function's contract; the alignment is not relied on.
    (0..rank).map(|index| unsafe { from.wrapping_add(index).read_unaligned() }).collect()
}

fn rank_of(rank: u32) -> Result<usize, &'static str> {
    usize::try_from(rank).ok().filter(|rank| *rank <= RANK_MAX).ok_or("a tensor has more than 16 dimensions")
}

/// `air.init_strided_private_tensor`.
///
/// # Safety
/// `to` has the bytes of a descriptor, `extents` and `strides` have `rank` numbers.
pub(crate) unsafe extern "C" fn initialize(
    to: *mut u8,
    rank: u32,
    address: u64,
    extents: *const i32,
    strides: *const i32,
    code: u32,
) {
    let tensor = rank_of(rank).and_then(|rank| {
        // SAFETY: by this function's contract.
        let extents = unsafe { numbers(extents, rank) };
        // SAFETY: as above.
        let strides = unsafe { numbers(strides, rank) };
        Descriptor::new(address, &extents, &strides, code)
    });
    // SAFETY: by this function's contract.
    unsafe { store_descriptor(to, tensor) };
}

/// `air.slice_private_tensor_private_tensor`.
///
/// # Safety
/// `to` and `from` have the bytes of a descriptor, `origin` and `extents` have `rank` numbers.
pub(crate) unsafe extern "C" fn slice(
    to: *mut u8,
    from: *const u8,
    rank: u32,
    origin: *const i32,
    extents: *const i32,
) {
    let tensor = rank_of(rank).and_then(|rank| {
        // SAFETY: by this function's contract.
        let whole = unsafe { Descriptor::read(from, Some(rank)) }?;
        // SAFETY: as above.
        let origin = unsafe { numbers(origin, rank) };
        // SAFETY: as above.
        let extents = unsafe { numbers(extents, rank) };
        whole.slice(&origin, &extents)
    });
    // SAFETY: by this function's contract.
    unsafe { store_descriptor(to, tensor) };
}

/// # Safety
/// `to` has the bytes of a descriptor.
unsafe fn store_descriptor(to: *mut u8, tensor: Result<Descriptor, &'static str>) {
    // SAFETY: by this function's contract.
    unsafe { Descriptor::write(tensor.as_ref().ok(), to) };
    if let Err(reason) = tensor {
        trap_with(reason);
    }
}

/// `air.get_extent_private_tensor`.
///
/// # Safety
/// `from` has the bytes of a descriptor.
pub(crate) unsafe extern "C" fn extent(from: *const u8, rank: u32, dimension: u32) -> i32 {
    // SAFETY: by this function's contract.
    match rank_of(rank).and_then(|rank| unsafe { Descriptor::read(from, Some(rank)) }) {
        Ok(tensor) => tensor.extent(usize::try_from(dimension).expect("32 bits")),
        Err(reason) => {
            trap_with(reason);
            0
        }
    }
}

/// The cooperative tensor that entry points name by their first operands. `flags`: 1 transpose left, 2 transpose right, 4 the
/// fragments of Apple 9.
fn cooperative(operand: u32, sizes: [i32; 3], flags: u32, threads: u32) -> Option<Cooperative> {
    let [m, n, k] = sizes;
    let product = Product { m, n, k, transpose_left: flags & 1 != 0, transpose_right: flags & 2 != 0 };
    let fragments = if flags & 4 == 0 { Fragments::Apple10 } else { Fragments::Apple9 };
    product.cooperative(Operand::of_number(operand)?, fragments, threads)
}

/// `is_valid_element` and `get_coordinate` of `matmul2d`: whether `thread`, by its number in the threadgroup, has the element; column
/// and row are stored unless `bits`, of each of them, is 0.
///
/// # Safety
/// `to` has two integers of `bits`.
pub(crate) unsafe extern "C" fn matmul_coordinate(
    operand: u32,
    m: i32,
    n: i32,
    k: i32,
    flags: u32,
    threads: u32,
    thread: u32,
    index: u32,
    bits: u32,
    to: *mut u8,
) -> u32 {
    let position = cooperative(operand, [m, n, k], flags, threads)
        .and_then(|tensor| tensor.layout.position(thread % threads.max(1), index));
    if bits != 0 {
        let (row, column) = position.unwrap_or_default();
        // SAFETY: by this function's contract.
        unsafe { store_coordinate(&[column, row], bits, to) };
    }
    u32::from(position.is_some())
}

/// # Safety
/// `to` has room for the numbers.
unsafe fn store_coordinate(coordinate: &[u32], bits: u32, to: *mut u8) {
    let size = match bits {
        16 => 2,
        32 => 4,
        64 => 8,
        _ => return trap_with("coordinates of a cooperative tensor were asked for in an unknown type"),
    };
    for (index, number) in coordinate.iter().enumerate() {
        let bytes = u64::from(*number).to_le_bytes();
        // SAFETY: `size` bytes are ours, and room by this function's contract.
        unsafe { to.wrapping_add(index * size).copy_from_nonoverlapping(bytes.as_ptr(), size) };
    }
}

/// `load` and `store` of `matmul2d`: moves the elements of `thread`, by its number in the threadgroup, from a tensor, or to it where
/// `code` has bit 8. Bits 0 to 3 are the tensor's element type.
///
/// # Safety
/// `part` is the thread's storage, `tensor` the place of a descriptor whose elements are accessible.
pub(crate) unsafe extern "C" fn matmul_move(
    operand: u32,
    m: i32,
    n: i32,
    k: i32,
    flags: u32,
    threads: u32,
    thread: u32,
    code: u32,
    data_type: u32,
    kind: u32,
    part: *mut u8,
    tensor: *const u8,
) {
    let elements = Element::of_number(code & 15).zip(Element::of_data_type(data_type));
    let Some((outer, inner)) = elements else { return trap_with("a cooperative tensor of an unknown type") };
    let Some(cooperative) = cooperative(operand, [m, n, k], flags, threads) else {
        return trap_with("a cooperative tensor of a size that it cannot have");
    };
    if kind != INLINE_KIND {
        return trap_with("a tensor operation got a tensor that is not an inline descriptor");
    }
    // SAFETY: by this function's contract.
    match unsafe { Descriptor::read(tensor, Some(2)) } {
        Err(reason) => trap_with(reason),
        Ok(tensor) => {
            let part = storage(part.cast_const(), inner);
            let (rank, is_store) = (thread % threads.max(1), code & 1 << 8 != 0);
            if outer.is_integer() && inner.is_integer() {
                // SAFETY: by this function's contract.
                unsafe { move_elements::<i32>(&cooperative, part, &tensor, outer, rank, is_store) };
            } else {
                // SAFETY: by this function's contract.
                unsafe { move_elements::<f32>(&cooperative, part, &tensor, outer, rank, is_store) };
            }
        }
    }
}

/// # Safety
/// As [`matmul_move`].
unsafe fn move_elements<T: Number>(
    cooperative: &Cooperative,
    part: Line,
    tensor: &Descriptor,
    outer: Element,
    rank: u32,
    is_store: bool,
) {
    let matrix = view(tensor, cooperative.is_transposed != cooperative.tensor_is_transposed, outer);
    let layout = &cooperative.layout;
    let mut index = 0;
    let mut buffer = vec![T::default(); layout.per_thread() as usize];
    while index < layout.per_thread() {
        // Elements that follow each other in a row move together.
        let place = layout.position(rank, index);
        let follows = |count: &u32| {
            let next = layout.position(rank, index + count);
            place.is_some_and(|(row, column)| next == Some((row, column + count)))
        };
        let count = 1 + (1..layout.per_thread() - index).take_while(follows).count();
        let numbers = &mut buffer[..count];
        let inner = part.skip(index as usize);
        let outer = place.and_then(|(row, column)| matrix.row(row, column).map(|line| (line, column)));
        let inside = outer.map_or(0, |(_, column)| count.min(matrix.columns.saturating_sub(column) as usize));
        index += u32::try_from(count).expect("at most the elements of a thread");
        if is_store {
            if let Some((line, _)) = outer {
                // SAFETY: by this function's contract.
                unsafe { inner.read(numbers) };
                // SAFETY: as above; `inside` elements exist.
                unsafe { line.write(&numbers[..inside]) };
            }
            continue;
        }
        numbers.fill(T::default());
        if let Some((line, _)) = outer {
            // SAFETY: as above.
            unsafe { line.read(&mut numbers[..inside]) };
        }
        // SAFETY: as above.
        unsafe { inner.write(numbers) };
    }
}

/// `num_elements` of `convolution2d`.
///
/// # Safety
/// `descriptor` points to a convolution's descriptor.
pub(crate) unsafe extern "C" fn convolution_element_count(descriptor: *const u8, threads: u32) -> u32 {
    // SAFETY: by this function's contract.
    let convolution = unsafe { Convolution::read(descriptor) };
    convolution.ok().and_then(|convolution| convolution.layout(threads)).map_or(0, |layout| layout.per_thread())
}

/// `get_coordinate` of `convolution2d`: stores channel, x, y and image; -1 each where `thread`, by its number in the threadgroup, has
/// no such element, which is outside of every tensor.
///
/// # Safety
/// `descriptor` points to a convolution's descriptor, `to` has four integers of `bits`.
pub(crate) unsafe extern "C" fn convolution_coordinate(
    descriptor: *const u8,
    threads: u32,
    thread: u32,
    index: u32,
    bits: u32,
    to: *mut u8,
) {
    // SAFETY: by this function's contract.
    let coordinate = unsafe { Convolution::read(descriptor) }.ok().and_then(|convolution| {
        let (row, channel) = convolution.layout(threads)?.position(thread % threads.max(1), index)?;
        let [x, y, image] = convolution.pixel(row);
        Some([channel, x, y, image])
    });
    // SAFETY: as above.
    unsafe { store_coordinate(&coordinate.unwrap_or([u32::MAX; 4]), bits, to) };
}

/// Takes part in an operation of `threads` threads; see [`Request`].
///
/// # Safety
/// The pointers are those that the kernel passes to an entry point of this operation.
pub(crate) unsafe extern "C" fn operate(
    code: u32,
    other_kinds: u32,
    threads: u32,
    descriptor: *const u8,
    left: *const u8,
    right: *const u8,
    destination: *mut u8,
    offsets: *const u8,
) {
    let request = Request { code, other_kinds, threads, descriptor, left, right, destination, offsets };
    // SAFETY: by this function's contract.
    unsafe { group::wait_at_tensor_operation(request) };
}

/// The operands of an operation, for each lane of a SIMD-group.
#[repr(C)]
pub(crate) struct LaneOperands {
    descriptor: [*const u8; SIMD_WIDTH],
    left: [*const u8; SIMD_WIDTH],
    right: [*const u8; SIMD_WIDTH],
    destination: [*mut u8; SIMD_WIDTH],
    offsets: [*const u8; SIMD_WIDTH],
}

/// As [`operate`] for the SIMD-group whose first thread has the number `first` in a threadgroup of `count` threads: for the lanes of
/// `active` one by one where a scope is a single thread, else for the part of the scope's result that they hold. SIMD-groups of a
/// scope do not wait for each other: no factor of a product is spread over several of them.
///
/// # Safety
/// As [`operate`], for each active lane.
pub(crate) unsafe extern "C" fn operate_lanes(
    code: u32,
    other_kinds: u32,
    threads: u32,
    first: u32,
    count: u32,
    active: u32,
    operands: *const LaneOperands,
) {
    // SAFETY: by this function's contract.
    let operands = unsafe { &*operands };
    let requests: [Request; SIMD_WIDTH] = std::array::from_fn(|lane| Request {
        code,
        other_kinds,
        threads,
        descriptor: operands.descriptor[lane],
        left: operands.left[lane],
        right: operands.right[lane],
        destination: operands.destination[lane],
        offsets: operands.offsets[lane],
    });
    // SAFETY: by this function's contract.
    if let Err(reason) = unsafe { serve_lanes(&requests, first, count, active) } {
        trap_with(reason);
    }
}

/// # Safety
/// As [`operate_lanes`].
unsafe fn serve_lanes(requests: &[Request; SIMD_WIDTH], first: u32, count: u32, active: u32) -> Result<(), String> {
    let threads = requests[0].threads;
    if threads == 1 {
        for (_, request) in requests.iter().enumerate().filter(|(lane, _)| active >> lane & 1 == 1) {
            // SAFETY: by this function's contract.
            unsafe { serve(Members { requests: std::slice::from_ref(request), first: 0 }) }?;
        }
        return Ok(());
    }
    scope(first as usize, &requests[0], count as usize)?;
    if active != u32::MAX {
        return Err("a tensor operation waits for threads of its scope that wait elsewhere or have returned".to_owned());
    }
    // SAFETY: as above.
    unsafe { serve(Members { requests, first: first % threads }) }
}
