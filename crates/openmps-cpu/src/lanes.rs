//! What the lanes of a SIMD-group compute together: reductions, scans, shuffles, votes, 8x8 matrix products.
//!
//! Generated code names an operation and an element type by number ([`LaneOperation`], [`Element`]) and hands over one 64-bit
//! word for each vector element. Source of the meanings: MSL specification 6.9, and measurements of Apple-compiled kernels for
//! fill shuffles and matrix layout. Reading an inactive or out-of-range lane is undefined in MSL; here it gives the lane's own
//! value. Sums and products are computed in f32 also for half and bfloat, and round once. They associate as the vector engine
//! computes them ([`reduce`], [`scan`]), so that both engines give the same bits.

use crate::abi::SIMD_WIDTH;
use crate::float::{bf16_to_f32, f16_to_f32, f32_to_bf16, f32_to_f16};

/// An operation over lanes: AIR's function of the same name without its `simd_` or `quad_` prefix. The discriminants are part of
/// the ABI of generated code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LaneOperation {
    Barrier,
    Sum,
    Product,
    Min,
    Max,
    And,
    Or,
    Xor,
    PrefixInclusiveSum,
    PrefixExclusiveSum,
    PrefixInclusiveProduct,
    PrefixExclusiveProduct,
    All,
    Any,
    Ballot,
    VoteAll,
    VoteAny,
    ActiveThreadsMask,
    IsFirst,
    Broadcast,
    BroadcastFirst,
    Shuffle,
    ShuffleUp,
    ShuffleDown,
    ShuffleXor,
    ShuffleRotateUp,
    ShuffleRotateDown,
    ShuffleAndFillUp,
    ShuffleAndFillDown,
    MatrixMultiplyAccumulate,
    Copy,
}

impl LaneOperation {
    /// Every operation, in the order of its number.
    pub(crate) const ALL: [Self; 31] = [
        Self::Barrier,
        Self::Sum,
        Self::Product,
        Self::Min,
        Self::Max,
        Self::And,
        Self::Or,
        Self::Xor,
        Self::PrefixInclusiveSum,
        Self::PrefixExclusiveSum,
        Self::PrefixInclusiveProduct,
        Self::PrefixExclusiveProduct,
        Self::All,
        Self::Any,
        Self::Ballot,
        Self::VoteAll,
        Self::VoteAny,
        Self::ActiveThreadsMask,
        Self::IsFirst,
        Self::Broadcast,
        Self::BroadcastFirst,
        Self::Shuffle,
        Self::ShuffleUp,
        Self::ShuffleDown,
        Self::ShuffleXor,
        Self::ShuffleRotateUp,
        Self::ShuffleRotateDown,
        Self::ShuffleAndFillUp,
        Self::ShuffleAndFillDown,
        Self::MatrixMultiplyAccumulate,
        Self::Copy,
    ];

    /// Whether there is a second vector operand.
    fn has_fill(self) -> bool {
        matches!(self, Self::ShuffleAndFillUp | Self::ShuffleAndFillDown)
    }
}

/// The type of one element; the discriminants are part of the ABI of generated code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Element {
    F32,
    F16,
    Bf16,
    I1,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
}

impl Element {
    /// Every type, in the order of its number.
    pub(crate) const ALL: [Self; 12] = [
        Self::F32,
        Self::F16,
        Self::Bf16,
        Self::I1,
        Self::I8,
        Self::I16,
        Self::I32,
        Self::I64,
        Self::U8,
        Self::U16,
        Self::U32,
        Self::U64,
    ];

    fn to_number(self, bits: u64) -> Number {
        let low = |width: u32| bits & (u64::MAX >> (64 - width));
        let signed = |width: u32| i128::from((bits << (64 - width)).cast_signed() >> (64 - width));
        let half = u16::try_from(low(16)).expect("masked to 16 bits");
        match self {
            Self::F32 => Number::Float(f32::from_bits(u32::try_from(low(32)).expect("masked to 32 bits"))),
            Self::F16 => Number::Float(f16_to_f32(half)),
            Self::Bf16 => Number::Float(bf16_to_f32(half)),
            Self::I1 => Number::Integer(i128::from(low(1))),
            Self::I8 => Number::Integer(signed(8)),
            Self::I16 => Number::Integer(signed(16)),
            Self::I32 => Number::Integer(signed(32)),
            Self::I64 => Number::Integer(signed(64)),
            Self::U8 => Number::Integer(i128::from(low(8))),
            Self::U16 => Number::Integer(i128::from(low(16))),
            Self::U32 => Number::Integer(i128::from(low(32))),
            Self::U64 => Number::Integer(i128::from(bits)),
        }
    }

    fn to_bits(self, number: Number) -> u64 {
        match number {
            Number::Float(value) if self == Self::F16 => u64::from(f32_to_f16(value)),
            Number::Float(value) if self == Self::Bf16 => u64::from(f32_to_bf16(value)),
            Number::Float(value) => u64::from(value.to_bits()),
            // Generated code truncates to the element's width.
            Number::Integer(value) => u64::try_from(value & i128::from(u64::MAX)).expect("masked to 64 bits"),
        }
    }
}

#[derive(Clone, Copy)]
enum Number {
    Float(f32),
    Integer(i128),
}

impl Number {
    fn combine(self, other: Self, float: impl Fn(f32, f32) -> f32, integer: impl Fn(i128, i128) -> i128) -> Self {
        match (self, other) {
            (Self::Float(a), Self::Float(b)) => Self::Float(float(a, b)),
            (Self::Integer(a), Self::Integer(b)) => Self::Integer(integer(a, b)),
            (Self::Float(_), Self::Integer(_)) | (Self::Integer(_), Self::Float(_)) => {
                unreachable!("both values come from one element type")
            }
        }
    }
}

/// One lane's part in a lane operation.
#[derive(Clone, Copy)]
pub(crate) struct LaneRequest {
    /// Place of the operation in program order.
    pub(crate) site: u32,
    /// A [`LaneOperation`].
    pub(crate) operation: u32,
    /// An [`Element`].
    pub(crate) element: u32,
    /// Elements of the vector.
    pub(crate) count: u32,
    /// Lanes of a cluster: 32 for SIMD-groups, 4 for quads.
    pub(crate) width: u32,
    /// Lane, delta or mask of a shuffle.
    pub(crate) operand: u32,
    /// `modulo` of a fill shuffle.
    pub(crate) modulo: u32,
    /// The words: read by [`serve`], then overwritten with the result. One for each vector element, then as many of the
    /// fill operand; six for a matrix product; [`COPY_WORDS`] for a copy, which leaves them; none for a barrier.
    pub(crate) values: *mut u64,
}

impl LaneRequest {
    /// No request.
    pub(crate) const NONE: Self = Self {
        site: 0,
        operation: 0,
        element: 0,
        count: 0,
        width: 32,
        operand: 0,
        modulo: 0,
        values: std::ptr::null_mut(),
    };
}

/// The lanes of one operation on one vector element.
pub(crate) struct Lanes<'a> {
    /// Bit i: lane i takes part.
    pub(crate) active: u32,
    /// 32 or 4.
    pub(crate) width: usize,
    /// Each lane's value.
    pub(crate) data: &'a [u64; SIMD_WIDTH],
    /// Each lane's fill value.
    pub(crate) fill: &'a [u64; SIMD_WIDTH],
    /// Each lane's lane number, delta or mask.
    pub(crate) operand: &'a [u32; SIMD_WIDTH],
    /// Each lane's `modulo`.
    pub(crate) modulo: &'a [u32; SIMD_WIDTH],
}

/// Computes the operation that `requests` ask for and overwrites their words with the results.
///
/// # Errors
/// An operation or element number that this runtime does not know.
///
/// # Safety
/// Each request's `values` points to as many words as its documentation says, and nobody else uses them.
pub(crate) unsafe fn serve(requests: &[Option<LaneRequest>; SIMD_WIDTH]) -> Result<(), String> {
    let Some(first) = requests.iter().flatten().next() else { return Ok(()) };
    let unknown = || format!("lane operation {} on element {} is not known", first.operation, first.element);
    let operation = *LaneOperation::ALL.get(first.operation as usize).ok_or_else(unknown)?;
    let element = *Element::ALL.get(first.element as usize).ok_or_else(unknown)?;
    let count = first.count as usize;
    let read = |lane: usize, word: usize| match &requests[lane] {
        // SAFETY: `word` is below the number of words wherever `read` is called, as the caller of `serve` vouches for.
        Some(request) => unsafe { request.values.wrapping_add(word).read() },
        None => 0,
    };
    let write = |lane: usize, word: usize, value: u64| {
        if let Some(request) = &requests[lane] {
            // SAFETY: as for `read`.
            unsafe { request.values.wrapping_add(word).write(value) };
        }
    };
    if operation == LaneOperation::Barrier {
        return Ok(());
    }
    if operation == LaneOperation::Copy {
        // All lanes hand over the same words.
        let lane = requests.iter().position(Option::is_some).unwrap_or(0);
        // SAFETY: the kernel vouches for the tiles, as for every address that it uses itself.
        unsafe { copy(&std::array::from_fn(|word| read(lane, word))) };
        return Ok(());
    }
    if operation == LaneOperation::MatrixMultiplyAccumulate {
        let product = multiply_accumulate(|lane, word| {
            f32::from_bits(u32::try_from(read(lane, word) & 0xffff_ffff).expect("masked to 32 bits"))
        });
        for (lane, pair) in product.iter().enumerate() {
            write(lane, 0, u64::from(pair[0].to_bits()));
            write(lane, 1, u64::from(pair[1].to_bits()));
        }
        return Ok(());
    }
    let active = (0..SIMD_WIDTH).filter(|&lane| requests[lane].is_some()).fold(0, |mask, lane| mask | 1 << lane);
    let operand = requests.map(|request| request.map_or(0, |request| request.operand));
    let modulo = requests.map(|request| request.map_or(0, |request| request.modulo));
    let has_fill = operation.has_fill();
    for word in 0..count {
        let data = std::array::from_fn(|lane| read(lane, word));
        let fill = std::array::from_fn(|lane| if has_fill { read(lane, count + word) } else { 0 });
        let width = first.width as usize;
        let lanes = Lanes { active, width, data: &data, fill: &fill, operand: &operand, modulo: &modulo };
        for (lane, value) in evaluate(operation, element, &lanes).into_iter().enumerate() {
            write(lane, word, value);
        }
    }
    Ok(())
}

/// Words of a copy: bytes of an element; the target's address, elements a row, width and height of its tile; the same four of the
/// source; the offset (x, y) of the target's tile in the source's; the clamp mode.
pub(crate) const COPY_WORDS: usize = 12;

/// The clamp mode in which elements outside of the source's tile are those at its edge; they are zero in the other one.
const CLAMP_TO_EDGE: u64 = 1;

/// Fills the target's tile from the source's.
///
/// # Safety
/// The tiles are memory that the calling kernel may write and read.
unsafe fn copy(words: &[u64; COPY_WORDS]) {
    let [size, target, target_row, width, height, source, source_row, source_width, source_height, x0, y0, mode] =
        words.map(|word| usize::try_from(word).expect("words have 64 bits on this target"));
    let (target, source) =
        (std::ptr::with_exposed_provenance_mut::<u8>(target), std::ptr::with_exposed_provenance::<u8>(source));
    let is_empty = source_width == 0 || source_height == 0;
    for y in 0..height {
        for x in 0..width {
            let (mut from_x, mut from_y) = (x.wrapping_add(x0), y.wrapping_add(y0));
            let is_outside = from_x >= source_width || from_y >= source_height;
            let place = y.wrapping_mul(target_row).wrapping_add(x).wrapping_mul(size);
            let to = target.wrapping_add(place);
            if is_empty || (is_outside && mode as u64 != CLAMP_TO_EDGE) {
                // SAFETY: inside of the target's tile, as the caller vouches for.
                unsafe { to.write_bytes(0, size) };
                continue;
            }
            (from_x, from_y) = (from_x.min(source_width - 1), from_y.min(source_height - 1));
            let from = source.wrapping_add(from_y.wrapping_mul(source_row).wrapping_add(from_x).wrapping_mul(size));
            // SAFETY: inside of both tiles, which the caller vouches for; they may overlap.
            unsafe { to.copy_from(from, size) };
        }
    }
}

/// The result of `operation` on every lane; inactive lanes get unspecified values.
#[must_use]
pub(crate) fn evaluate(operation: LaneOperation, element: Element, lanes: &Lanes<'_>) -> [u64; SIMD_WIDTH] {
    let mut result = *lanes.data;
    for first in (0..SIMD_WIDTH).step_by(lanes.width) {
        let members: Vec<usize> = (first..first + lanes.width).filter(|&lane| lanes.active >> lane & 1 == 1).collect();
        if !members.is_empty() {
            evaluate_cluster(operation, element, lanes, first, &members, &mut result);
        }
    }
    result
}

fn evaluate_cluster(
    operation: LaneOperation,
    element: Element,
    lanes: &Lanes<'_>,
    first: usize,
    members: &[usize],
    result: &mut [u64; SIMD_WIDTH],
) {
    use LaneOperation as Op;
    let width = lanes.width;
    let present = members.iter().fold(0_u64, |mask, lane| mask | 1 << (lane - first));
    let is_true = |lane: &&usize| lanes.data[**lane] & 1 == 1;
    let ballot = members.iter().filter(is_true).fold(0_u64, |mask, lane| mask | 1 << (lane - first));
    let mut all = |value: u64| members.iter().for_each(|&lane| result[lane] = value);
    match operation {
        Op::Barrier | Op::MatrixMultiplyAccumulate | Op::Copy => {}
        Op::Sum => all(reduce(Fold::Sum, element, lanes.data, first, width, members)),
        Op::Product => all(reduce(Fold::Product, element, lanes.data, first, width, members)),
        Op::Min => all(reduce(Fold::Min, element, lanes.data, first, width, members)),
        Op::Max => all(reduce(Fold::Max, element, lanes.data, first, width, members)),
        Op::And => all(reduce(Fold::And, element, lanes.data, first, width, members)),
        Op::Or => all(reduce(Fold::Or, element, lanes.data, first, width, members)),
        Op::Xor => all(reduce(Fold::Xor, element, lanes.data, first, width, members)),
        Op::All => all(u64::from(ballot == present)),
        Op::Any => all(u64::from(ballot != 0)),
        Op::Ballot => all(ballot),
        Op::ActiveThreadsMask => all(present),
        Op::BroadcastFirst => all(lanes.data[members[0]]),
        Op::PrefixInclusiveSum => scan(Fold::Sum, element, lanes, first, members, true, result),
        Op::PrefixExclusiveSum => scan(Fold::Sum, element, lanes, first, members, false, result),
        Op::PrefixInclusiveProduct => scan(Fold::Product, element, lanes, first, members, true, result),
        Op::PrefixExclusiveProduct => scan(Fold::Product, element, lanes, first, members, false, result),
        Op::VoteAll => members.iter().for_each(|&lane| result[lane] = u64::from(lanes.data[lane] & present == present)),
        Op::VoteAny => members.iter().for_each(|&lane| result[lane] = u64::from(lanes.data[lane] & present != 0)),
        Op::IsFirst => members.iter().for_each(|&lane| result[lane] = u64::from(lane == members[0])),
        Op::Broadcast | Op::Shuffle => shuffle(lanes, first, members, result, |_, named| Some(named)),
        Op::ShuffleUp => shuffle(lanes, first, members, result, usize::checked_sub),
        Op::ShuffleDown => shuffle(lanes, first, members, result, usize::checked_add),
        Op::ShuffleXor => shuffle(lanes, first, members, result, |lane, mask| Some(lane ^ mask)),
        Op::ShuffleRotateUp => {
            shuffle(lanes, first, members, result, |lane, by| Some((lane + width - by % width) % width));
        }
        Op::ShuffleRotateDown => shuffle(lanes, first, members, result, |lane, by| Some((lane + by) % width)),
        Op::ShuffleAndFillUp | Op::ShuffleAndFillDown => {
            members.iter().for_each(|&lane| result[lane] = fill_shuffle(operation, lanes, first, lane));
        }
    }
}

/// Gives each member the value of the lane of its cluster that `source` names from its place and its operand; the own value
/// where there is no such lane, zero where it is inactive.
fn shuffle(
    lanes: &Lanes<'_>,
    first: usize,
    members: &[usize],
    result: &mut [u64; SIMD_WIDTH],
    source: impl Fn(usize, usize) -> Option<usize>,
) {
    for &lane in members {
        let named = source(lane - first, lanes.operand[lane] as usize).filter(|&place| place < lanes.width);
        let other = named.map_or(lane, |place| first + place);
        result[lane] = if lanes.active >> other & 1 == 1 { lanes.data[other] } else { 0 };
    }
}

/// `simd_shuffle_and_fill_*`: the comparison uses the delta before any reduction, so `delta == modulo` takes every value from
/// the fill operand. An inactive lane gives zero, not its fill.
fn fill_shuffle(operation: LaneOperation, lanes: &Lanes<'_>, first: usize, lane: usize) -> u64 {
    let delta = lanes.operand[lane] as usize;
    let modulo = (lanes.modulo[lane] as usize).clamp(1, lanes.width);
    let place = (lane - first) % modulo;
    let base = lane - place;
    let (from_data, source) = if operation == LaneOperation::ShuffleAndFillUp {
        if place >= delta { (true, Some(place - delta)) } else { (false, (place + modulo).checked_sub(delta)) }
    } else if place + delta < modulo {
        (true, Some(place + delta))
    } else {
        (false, Some(place + delta - modulo))
    };
    let values = if from_data { lanes.data } else { lanes.fill };
    let active =
        source.map(|source| base + source).filter(|&other| other < SIMD_WIDTH && lanes.active >> other & 1 == 1);
    active.map_or(0, |other| values[other])
}

/// How a reduction or a scan makes one of two values.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fold {
    Sum,
    Product,
    Min,
    Max,
    And,
    Or,
    Xor,
}

impl Fold {
    /// Bitwise folds exist for integers alone; a float keeps its first value.
    fn apply(self, a: Number, b: Number) -> Number {
        match self {
            Self::Sum => a.combine(b, |a, b| a + b, i128::wrapping_add),
            Self::Product => a.combine(b, |a, b| a * b, i128::wrapping_mul),
            Self::Min => a.combine(b, f32::min, i128::min),
            Self::Max => a.combine(b, f32::max, i128::max),
            Self::And => a.combine(b, |a, _| a, |a, b| a & b),
            Self::Or => a.combine(b, |a, _| a, |a, b| a | b),
            Self::Xor => a.combine(b, |a, _| a, |a, b| a ^ b),
        }
    }
}

/// All values, one of a distance with the other: 16 lanes with the upper 16, 8 with the next 8 and so on in a SIMD-group; in a quad
/// neighbours, then pairs. Lanes that take no part leave what they meet as it is.
fn reduce(
    fold: Fold,
    element: Element,
    data: &[u64; SIMD_WIDTH],
    first: usize,
    width: usize,
    members: &[usize],
) -> u64 {
    let mut values: [Option<Number>; SIMD_WIDTH] = [None; SIMD_WIDTH];
    for &lane in members {
        values[lane - first] = Some(element.to_number(data[lane]));
    }
    let is_quad = width < SIMD_WIDTH;
    for step in 0..width.ilog2() {
        let distance = if is_quad { 1 << step } else { width >> (step + 1) };
        let before = values;
        for lane in 0..width {
            let other = before[lane ^ distance];
            values[lane] = match (before[lane], other) {
                (Some(a), Some(b)) => Some(fold.apply(a, b)),
                (a, b) => a.or(b),
            };
        }
    }
    element.to_bits(values[0].expect("a cluster has an active lane"))
}

/// Prefixes by doubling distances: each lane takes in the value of the lane 1, 2, 4 … below, or where there is none 0 or 1.
fn scan(
    fold: Fold,
    element: Element,
    lanes: &Lanes<'_>,
    first: usize,
    members: &[usize],
    inclusive: bool,
    result: &mut [u64; SIMD_WIDTH],
) {
    let neutral = i16::from(fold == Fold::Product);
    let start = match element.to_number(0) {
        Number::Float(_) => Number::Float(f32::from(neutral)),
        Number::Integer(_) => Number::Integer(i128::from(neutral)),
    };
    // What a lane holds that takes no part: adding it changes nothing, not even the sign of a zero.
    let nothing = match start {
        Number::Float(value) if fold == Fold::Sum => Number::Float(-value),
        value @ (Number::Float(_) | Number::Integer(_)) => value,
    };
    let mut values = [nothing; SIMD_WIDTH];
    for &lane in members {
        values[lane - first] = element.to_number(lanes.data[lane]);
    }
    let shifted = |values: &[Number; SIMD_WIDTH], lane: usize, distance: usize| {
        lane.checked_sub(distance).map_or(start, |below| values[below])
    };
    for step in 0..lanes.width.ilog2() {
        let before = values;
        for (lane, value) in values.iter_mut().enumerate().take(lanes.width) {
            *value = fold.apply(shifted(&before, lane, 1 << step), *value);
        }
    }
    for &lane in members {
        let place = lane - first;
        result[lane] = element.to_bits(if inclusive { values[place] } else { shifted(&values, place, 1) });
    }
}

/// Row and first column of the two matrix elements that `lane` holds.
pub(crate) fn matrix_position(lane: usize) -> (usize, usize) {
    let quad = lane / 4;
    ((quad & 4) + (lane / 2) % 4, (quad & 2) * 2 + (lane % 2) * 2)
}

/// A·B + C over the words of 32 lanes, which are two elements each of A, B and C as float bits; products are accumulated in order of k with fused multiply-add.
fn multiply_accumulate(word: impl Fn(usize, usize) -> f32) -> [[f32; 2]; SIMD_WIDTH] {
    let gather = |first_word: usize| {
        let mut matrix = [[0.0_f32; 8]; 8];
        for lane in 0..SIMD_WIDTH {
            let (row, column) = matrix_position(lane);
            matrix[row][column] = word(lane, first_word);
            matrix[row][column + 1] = word(lane, first_word + 1);
        }
        matrix
    };
    let (a, b, mut c) = (gather(0), gather(2), gather(4));
    product(&a, &b, &mut c);
    std::array::from_fn(|lane| {
        let (row, column) = matrix_position(lane);
        [c[row][column], c[row][column + 1]]
    })
}

fn product(a: &[[f32; 8]; 8], b: &[[f32; 8]; 8], c: &mut [[f32; 8]; 8]) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("fma") && std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the CPU has the features that the function is compiled for.
        unsafe { product_fma(a, b, c) };
        return;
    }
    product_portable(a, b, c);
}

/// [`product_portable`] compiled with fused multiply-add instructions; the same result, faster.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "fma,avx2")]
fn product_fma(a: &[[f32; 8]; 8], b: &[[f32; 8]; 8], c: &mut [[f32; 8]; 8]) {
    product_portable(a, b, c);
}

#[inline(always)]
fn product_portable(a: &[[f32; 8]; 8], b: &[[f32; 8]; 8], c: &mut [[f32; 8]; 8]) {
    for (row, sums) in a.iter().zip(c.iter_mut()) {
        for (&factor, terms) in row.iter().zip(b) {
            for (sum, &term) in sums.iter_mut().zip(terms) {
                *sum = factor.mul_add(term, *sum);
            }
        }
    }
}

#[cfg(test)]
mod tests;
