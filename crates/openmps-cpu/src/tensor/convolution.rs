//! `convolution2d` into a cooperative tensor: for each place of the kernel a product of activations (pixels by input channels)
//! and weights (input channels by output channels), summed.

use super::descriptor::Descriptor;
use super::element::Element;
use super::layout::Layout;
use super::matmul::{Rows as Sums, gather, scatter};
use super::memory::{Line, View};
use super::multiply::{Rows, multiply};
use super::request::{Members, Operation};

/// Bytes of a descriptor that mean something.
const DESCRIPTOR_BYTES: usize = 76;
/// Largest kernel in each direction, so that a hostile descriptor ends.
const KERNEL_MAX: i32 = 1 << 12;

/// What a convolution is (`mpp::tensor_ops::convolution2d_descriptor`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Convolution {
    /// Output channels, width, height and images of the destination.
    pub(crate) destination: [i32; 4],
    /// Input channels of the source; -1: as many as the tensors have.
    channels: i32,
    /// Width and height of the kernel.
    kernel: [i32; 2],
    strides: [i32; 2],
    dilations: [i32; 2],
    groups: i32,
    /// Whether it adds to the destination.
    adds: bool,
}

impl Convolution {
    /// Reads a descriptor.
    ///
    /// # Errors
    /// A layout or a mode that is not known, or sizes that cannot be.
    ///
    /// # Safety
    /// `from` points to 76 readable bytes.
    pub(crate) unsafe fn read(from: *const u8) -> Result<Self, String> {
        // SAFETY: by this function's contract; an array of bytes has no alignment.
        let bytes = unsafe { from.cast::<[u8; DESCRIPTOR_BYTES]>().read() };
        let word = |at: usize| i32::from_le_bytes(std::array::from_fn(|byte| bytes[at + byte]));
        let pair = |at: usize| [word(at), word(at + 4)];
        let (activation_layout, weight_layout, mode) = (word(40), word(44), word(72));
        if (activation_layout, weight_layout) != (0, 0) {
            return Err(format!("a convolution of layouts {activation_layout} and {weight_layout}, not NHWC and HWIO"));
        }
        if mode != 0 && mode != 1 {
            return Err(format!("a convolution of mode {mode}; it has 0 (multiply) or 1 (multiply_accumulate)"));
        }
        let convolution = Self {
            destination: [word(0), word(4), word(8), word(12)],
            channels: word(16),
            kernel: pair(32),
            strides: pair(48),
            dilations: pair(56),
            groups: word(64),
            adds: mode == 1,
        };
        let is_possible = convolution.kernel.iter().all(|size| (1..=KERNEL_MAX).contains(size))
            && convolution.groups >= 1
            && convolution.channels >= -1;
        let Self { kernel, groups, channels, .. } = convolution;
        let given = || format!("a convolution of kernel {kernel:?}, {groups} groups and {channels} channels");
        is_possible.then_some(convolution).ok_or_else(given)
    }

    /// How the destination is spread over `threads`, pixels as rows and channels as columns; `None` where it cannot be.
    pub(crate) fn layout(&self, threads: u32) -> Option<Layout> {
        let [channels, width, height, images] = self.destination;
        // The sign of each size, which a product of two negative ones would lose.
        if [width, height, images].iter().any(|size| *size < 0) {
            return None;
        }
        let pixels = width.checked_mul(height)?.checked_mul(images)?;
        // Kernels ask for coordinates of convolutions, so that fragments are never needed.
        Layout::in_runs(pixels, channels, threads)
    }

    /// x, y and image of pixel `number` of the destination.
    pub(crate) fn pixel(&self, number: u32) -> [u32; 3] {
        let [_, width, height, _] = self.destination.map(|size| size.max(1).unsigned_abs());
        [number % width, number / width % height, number / width / height]
    }
}

/// One place of the kernel, as rows of activations: one for each pixel of the destination.
struct Pixels<'a> {
    convolution: &'a Convolution,
    activations: &'a Descriptor,
    element: Element,
    /// Column and row of the kernel.
    place: [i32; 2],
    /// The pixel that row 0 is.
    first_row: u32,
    offsets: [i32; 2],
    /// First channel, and how many there are.
    channels: [u32; 2],
}

impl Rows for Pixels<'_> {
    fn row(&self, row: u32, column: u32) -> Option<(Line, u32)> {
        let Convolution { kernel, strides, dilations, .. } = self.convolution;
        let [x, y, image] = self.convolution.pixel(self.first_row + row);
        let mut address = self.activations.address();
        let mut go = |dimension: usize, index: i64| {
            let step = self.activations.step_bytes(dimension).wrapping_mul(index);
            address = address.wrapping_add_signed(step);
            (0..i64::from(self.activations.count(dimension))).contains(&index).then_some(())
        };
        for (axis, pixel) in [x, y].into_iter().enumerate() {
            let [place, size, dilation] = [self.place[axis], kernel[axis], dilations[axis]].map(i64::from);
            // Half of the dilated kernel, rounded up, lies before the offset: measured on Apple's hardware, and what the
            // offsets of PyTorch's kernels make up for.
            let before = ((size - 1) * dilation + 1).div_euclid(2);
            let start = i64::from(self.offsets[axis]) + i64::from(pixel) * i64::from(strides[axis]);
            go(axis + 1, start + place * dilation - before)?;
        }
        go(3, i64::from(image))?;
        let [first, count] = self.channels;
        let step_bytes = self.activations.step_bytes(0);
        let line = Line { address, step_bytes, element: self.element };
        let skip = usize::try_from(first + column).expect("32 bits");
        Some((line.skip(skip), count.saturating_sub(column)))
    }
}

/// Computes a convolution.
///
/// # Errors
/// Sizes that cannot be, or tensors that are none.
///
/// # Safety
/// As [`serve`](super::request::serve).
pub(crate) unsafe fn run(operation: Operation, members: Members<'_>) -> Result<(), String> {
    let requests = members.requests;
    let Some(first) = requests.first() else { return Ok(()) };
    // SAFETY: by this function's contract.
    let convolution = unsafe { Convolution::read(first.descriptor) }?;
    // SAFETY: as above.
    let activations = unsafe { Descriptor::read(first.left, Some(4)) }?;
    // SAFETY: as above.
    let weights = unsafe { Descriptor::read(first.right, Some(4)) }?;
    if [&activations, &weights].iter().any(|tensor| tensor.element_bytes() != operation.left.size_bytes()) {
        return Err("a convolution got a tensor with elements of another size".to_owned());
    }
    // SAFETY: as above; an array of numbers of any alignment.
    let offsets = unsafe { first.offsets.cast::<[i32; 2]>().read_unaligned() };
    let given = || format!("a convolution into {:?}, which no cooperative tensor can have", convolution.destination);
    let layout = convolution.layout(first.threads).ok_or_else(given)?;
    let mut sums = Sums::<f32>::of_members(&layout, members);
    if convolution.adds {
        let parts = requests.iter().map(|request| request.destination.cast_const());
        // SAFETY: each thread's destination has the elements that the layout gives it.
        unsafe { gather(&layout, operation.result, members.first, parts, &mut sums) };
    }
    for group in groups(&convolution, &activations, &weights, layout.columns()) {
        // SAFETY: by this function's contract.
        unsafe { add_group(&convolution, operation, (&activations, &weights), offsets, &group, &layout, &mut sums) };
    }
    let destinations = requests.iter().map(|request| request.destination);
    // SAFETY: as above.
    unsafe { scatter(&layout, operation.result, members.first, destinations, &sums) };
    Ok(())
}

/// Output channels that see the same input channels.
struct Group {
    outputs: std::ops::Range<u32>,
    first_input: u32,
    inputs: u32,
}

fn groups(convolution: &Convolution, activations: &Descriptor, weights: &Descriptor, outputs: u32) -> Vec<Group> {
    let count = convolution.groups.unsigned_abs();
    let outputs = outputs.min(weights.count(0));
    let per_group = weights.count(0).div_ceil(count).max(1);
    let given = u32::try_from(convolution.channels).unwrap_or(u32::MAX);
    let inputs = weights.count(1).min(given / count);
    let group = |number: u32| {
        let start = number * per_group;
        let first_input = number.saturating_mul(weights.count(1)).min(activations.count(0));
        let inputs = inputs.min(activations.count(0) - first_input);
        Group { outputs: start..(start + per_group).min(outputs), first_input, inputs }
    };
    (0..outputs.div_ceil(per_group)).map(group).collect()
}

/// # Safety
/// The tensors' elements are readable.
unsafe fn add_group(
    convolution: &Convolution,
    operation: Operation,
    (activations, weights): (&Descriptor, &Descriptor),
    offsets: [i32; 2],
    group: &Group,
    layout: &Layout,
    sums: &mut Sums<f32>,
) {
    let (columns, width) = (layout.columns() as usize, group.outputs.len());
    let (first_row, rows) = (sums.first, sums.count(layout));
    let mut part: Vec<f32> =
        sums.numbers.chunks(columns).flat_map(|row| &row[group.outputs.start as usize..][..width]).copied().collect();
    let [kernel_width, kernel_height] = convolution.kernel;
    for y in 0..kernel_height {
        for x in 0..kernel_width {
            let channels = [group.first_input, group.inputs];
            let place = [x, y];
            let element = operation.left;
            let pixels = Pixels { convolution, activations, element, place, first_row, offsets, channels };
            let Some(place) = weights_at(weights, operation.right, place) else { continue };
            let place = place.part(0, group.outputs.start);
            let size = [rows, group.outputs.end - group.outputs.start, group.inputs];
            // SAFETY: by this function's contract.
            unsafe { multiply(&pixels, &place, size, &mut part) };
        }
    }
    for (row, part) in sums.numbers.chunks_mut(columns).zip(part.chunks(width.max(1))) {
        row[group.outputs.start as usize..][..width].copy_from_slice(part);
    }
}

/// The weights of one place of the kernel, input channels as rows; `None` outside of the tensor.
fn weights_at(weights: &Descriptor, element: Element, place: [i32; 2]) -> Option<View> {
    let mut address = weights.address();
    for (dimension, index) in [2, 3].into_iter().zip(place) {
        if index >= weights.extent(dimension) {
            return None;
        }
        address = address.wrapping_add_signed(weights.step_bytes(dimension).wrapping_mul(i64::from(index)));
    }
    Some(View {
        address,
        row_bytes: weights.step_bytes(1),
        column_bytes: weights.step_bytes(0),
        rows: weights.count(1),
        columns: weights.count(0),
        element,
    })
}
