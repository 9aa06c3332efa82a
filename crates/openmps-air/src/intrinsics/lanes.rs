//! Functions over the lanes of a SIMD-group (32) or a quad-group (4): `air.simd_<op>…` and `air.quad_<op>…`.
//!
//! Lanes that do not take part in the call count in no reduction, scan, ballot or vote. Reading one by a shuffle is undefined in
//! MSL 6.9; here it gives zero, as Apple's GPUs do, on which PyTorch's sums of 64-bit integers rest (c10's `reduction_utils.h`).
//! Reading a lane out of range, undefined too, gives the lane's own value. Sums and products of f32, f16 and bf16 associate
//! from the lowest lane up in f32 and round once at the end, which MSL leaves open; min and max treat NaN like fmin and fmax.

use super::integer::{number, wrapped};
use super::math::{fmax, fmin};
use super::{Effects, Lift, Operation, Reference, Row, Slot, operations};
use crate::element::{Bf16, Element, F16, F32, Format, Sign};

/// Lanes of a SIMD-group.
pub const SIMD_WIDTH: u32 = 32;
/// Lanes of a quad-group.
pub const QUAD_WIDTH: u32 = 4;

operations! {
    /// Functions over lanes. Names lack the `simd_` or `quad_` in front.
    LaneOperation {
        Sum = "sum",
        Product = "product",
        Min = "min",
        Max = "max",
        And = "and",
        Or = "or",
        Xor = "xor",
        /// The sum of the active lanes up to and with this one.
        PrefixInclusiveSum = "prefix_inclusive_sum",
        /// The sum of the active lanes before this one; 0 on the first.
        PrefixExclusiveSum = "prefix_exclusive_sum",
        /// The product of the active lanes up to and with this one.
        PrefixInclusiveProduct = "prefix_inclusive_product",
        /// The product of the active lanes before this one; 1 on the first.
        PrefixExclusiveProduct = "prefix_exclusive_product",
        /// Whether the operand is true on every active lane.
        All = "all",
        /// Whether the operand is true on an active lane.
        Any = "any",
        /// Bit i is the operand of lane i, 0 for inactive lanes.
        Ballot = "ballot",
        /// Whether the operand, a ballot, has the bits of every active lane.
        VoteAll = "vote_all",
        /// Whether the operand, a ballot, has the bit of an active lane.
        VoteAny = "vote_any",
        /// Bit i is set for each active lane i.
        ActiveThreadsMask = "active_threads_mask",
        /// Whether this is the lowest active lane.
        IsFirst = "is_first",
        /// The value of the lane that the operand (i16) names, equal on all lanes.
        Broadcast = "broadcast",
        /// The value of the lowest active lane.
        BroadcastFirst = "broadcast_first",
        /// The value of the lane that the operand (i16) names.
        Shuffle = "shuffle",
        /// The value of the lane this many (i16) below; the own value where there is none.
        ShuffleUp = "shuffle_up",
        /// The value of the lane this many (i16) above; the own value where there is none.
        ShuffleDown = "shuffle_down",
        /// The value of the lane whose number is this one's xor the operand (i16).
        ShuffleXor = "shuffle_xor",
        /// Like `shuffle_up`, wrapping around.
        ShuffleRotateUp = "shuffle_rotate_up",
        /// Like `shuffle_down`, wrapping around.
        ShuffleRotateDown = "shuffle_rotate_down",
        /// Like `shuffle_up` in clusters of `modulo` lanes; lanes below the cluster are the upper ones of `fill`.
        ShuffleAndFillUp = "shuffle_and_fill_up",
        /// Like `shuffle_down` in clusters of `modulo` lanes; lanes above the cluster are the lower ones of `fill`.
        ShuffleAndFillDown = "shuffle_and_fill_down",
    }
}

/// A call by the lanes of one SIMD-group, as one lane sees it. Operations over quad-groups look at the lane's quad alone.
#[derive(Clone, Copy, Debug)]
pub struct LaneCall<'a> {
    /// The first operand of each lane. Those of inactive lanes are ignored.
    pub values: &'a [u64; 32],
    /// The second operand of each lane of a fill shuffle.
    pub fill: &'a [u64; 32],
    /// Bit i is set where lane i takes part in the call.
    pub active: u32,
    /// The lane whose result is asked for; it takes part.
    pub lane: u32,
    /// The lane's lane number, delta or mask operand.
    pub operand: u32,
    /// The lane's cluster size of a fill shuffle; a power of two up to the group's width.
    pub modulo: u32,
}

impl LaneCall<'_> {
    fn is_active(&self, lane: u32) -> bool {
        self.active >> lane & 1 == 1
    }

    fn value(&self, lane: u32) -> u64 {
        self.values[lane as usize]
    }

    /// The first lane of the group of `WIDTH` lanes that the lane is in.
    fn base<const WIDTH: u32>(&self) -> u32 {
        self.lane / WIDTH * WIDTH
    }

    /// The active lanes of the group, lowest first.
    fn group<const WIDTH: u32>(&self) -> impl Iterator<Item = u32> {
        let base = self.base::<WIDTH>();
        (base..base + WIDTH).filter(|lane| self.is_active(*lane))
    }

    /// Bit i is set where lane i of the group is active.
    fn mask<const WIDTH: u32>(&self) -> u64 {
        self.group::<WIDTH>().map(|lane| 1 << (lane - self.base::<WIDTH>())).sum()
    }

    fn is_first<const WIDTH: u32>(&self) -> bool {
        self.group::<WIDTH>().next() == Some(self.lane)
    }

    /// The value of lane `index` of the group; zero where it is inactive, the own value where there is none.
    fn read<const WIDTH: u32>(&self, index: Option<u32>) -> u64 {
        let lane = index.filter(|index| *index < WIDTH).map_or(self.lane, |index| self.base::<WIDTH>() + index);
        if self.is_active(lane) { self.value(lane) } else { 0 }
    }

    /// The lane's place in its group.
    fn place<const WIDTH: u32>(&self) -> u32 {
        self.lane % WIDTH
    }

    fn rotated<const WIDTH: u32>(&self, by: u32) -> u64 {
        self.read::<WIDTH>(Some((self.place::<WIDTH>() + by % WIDTH) % WIDTH))
    }

    /// A fill shuffle: `from` is the place in the lane's cluster to read, below 0 or from `modulo` on in `fill`.
    fn filled(&self, from: i64) -> u64 {
        let modulo = i64::from(self.modulo.clamp(1, SIMD_WIDTH));
        let base = i64::from(self.lane) / modulo * modulo;
        let source = if (0..modulo).contains(&from) { self.values } else { self.fill };
        let lane = u32::try_from(base + from.rem_euclid(modulo)).ok().filter(|lane| self.is_active(*lane));
        lane.map_or(0, |lane| source[lane as usize])
    }

    fn place_in_cluster(&self) -> i64 {
        i64::from(self.lane % self.modulo.clamp(1, SIMD_WIDTH))
    }
}

/// A scalar type that lanes can combine.
trait LaneScalar {
    const ELEMENT: Element;
    const SIGN: Option<Sign>;
    /// What sums and products are computed in.
    type Wide: Copy;
    const ZERO: Self::Wide;
    const ONE: Self::Wide;
    fn widen(bits: u64) -> Self::Wide;
    fn narrow(value: Self::Wide) -> u64;
    fn add(x: Self::Wide, y: Self::Wide) -> Self::Wide;
    fn mul(x: Self::Wide, y: Self::Wide) -> Self::Wide;
    fn min(x: u64, y: u64) -> u64;
    fn max(x: u64, y: u64) -> u64;
}

struct Float<F>(std::marker::PhantomData<F>);
enum Int<const BITS: u32, const SIGNED: bool> {}

impl<F: Format> LaneScalar for Float<F> {
    const ELEMENT: Element = F::ELEMENT;
    const SIGN: Option<Sign> = None;
    type Wide = f32;
    const ZERO: f32 = 0.0;
    const ONE: f32 = 1.0;

    fn widen(bits: u64) -> f32 {
        #[expect(clippy::cast_possible_truncation, reason = "a number of at most f32's precision")]
        let value = F::decode(bits) as f32;
        value
    }

    fn narrow(value: f32) -> u64 {
        F::encode(f64::from(value))
    }

    fn add(x: f32, y: f32) -> f32 {
        x + y
    }

    fn mul(x: f32, y: f32) -> f32 {
        x * y
    }

    fn min(x: u64, y: u64) -> u64 {
        F::encode(fmin(F::decode(x), F::decode(y)))
    }

    fn max(x: u64, y: u64) -> u64 {
        F::encode(fmax(F::decode(x), F::decode(y)))
    }
}

impl<const BITS: u32, const SIGNED: bool> LaneScalar for Int<BITS, SIGNED> {
    const ELEMENT: Element = match BITS {
        8 => Element::I8,
        16 => Element::I16,
        _ => Element::I32,
    };
    const SIGN: Option<Sign> = Some(if SIGNED { Sign::Signed } else { Sign::Unsigned });
    type Wide = u64;
    const ZERO: u64 = 0;
    const ONE: u64 = 1;

    fn widen(bits: u64) -> u64 {
        bits
    }

    fn narrow(value: u64) -> u64 {
        wrapped::<BITS>(i128::from(value))
    }

    fn add(x: u64, y: u64) -> u64 {
        x.wrapping_add(y)
    }

    fn mul(x: u64, y: u64) -> u64 {
        x.wrapping_mul(y)
    }

    fn min(x: u64, y: u64) -> u64 {
        wrapped::<BITS>(number::<BITS, SIGNED>(x).min(number::<BITS, SIGNED>(y)))
    }

    fn max(x: u64, y: u64) -> u64 {
        wrapped::<BITS>(number::<BITS, SIGNED>(x).max(number::<BITS, SIGNED>(y)))
    }
}

/// One of two values, where there are two.
fn either<T: LaneScalar>(
    combine: fn(T::Wide, T::Wide) -> T::Wide,
    low: Option<T::Wide>,
    high: Option<T::Wide>,
) -> Option<T::Wide> {
    match (low, high) {
        (Some(low), Some(high)) => Some(combine(low, high)),
        (low, high) => low.or(high),
    }
}

/// The values of the active lanes of the group. Floats are added in this order: of a SIMD-group each of the lower 16 lanes with the
/// one 16 above, then 8, 4, 2, 1; of a quad neighbours, then pairs.
fn combined<T: LaneScalar, const WIDTH: u32>(call: &LaneCall<'_>, combine: fn(T::Wide, T::Wide) -> T::Wide) -> u64 {
    let base = call.base::<WIDTH>();
    let active = |lane: u32| call.is_active(lane).then(|| T::widen(call.value(lane)));
    let mut values: Vec<Option<T::Wide>> = (base..base + WIDTH).map(active).collect();
    while values.len() > 1 {
        let half = values.len() / 2;
        let pair = |place: usize| {
            let (low, high) = if WIDTH == SIMD_WIDTH { (place, place + half) } else { (2 * place, 2 * place + 1) };
            either::<T>(combine, values[low], values[high])
        };
        values = (0..half).map(pair).collect();
    }
    T::narrow(values[0].expect("the lane itself is active"))
}

/// The values of the active lanes up to the calling one, and `start` before them. Floats are added in this order: each lane adds the
/// value of the lane 1 below to its own, then of that 2 below, then 4, 8, 16.
fn prefix<T: LaneScalar, const WIDTH: u32>(
    call: &LaneCall<'_>,
    inclusive: bool,
    combine: fn(T::Wide, T::Wide) -> T::Wide,
    start: T::Wide,
) -> u64 {
    let base = call.base::<WIDTH>();
    let active = |lane: u32| call.is_active(lane).then(|| T::widen(call.value(lane)));
    let mut values: Vec<Option<T::Wide>> = (base..base + WIDTH).map(active).collect();
    let below = |values: &[Option<T::Wide>], place: usize, distance: usize| {
        place.checked_sub(distance).map_or(Some(start), |place| values[place])
    };
    let mut distance = 1;
    while distance < values.len() {
        values = (0..values.len())
            .map(|place| either::<T>(combine, below(&values, place, distance), values[place]))
            .collect();
        distance *= 2;
    }
    let place = (call.lane - base) as usize;
    let value = if inclusive { values[place] } else { below(&values, place, 1) };
    // Every lane has added the start, over its way through the lanes below.
    T::narrow(value.unwrap_or(start))
}

/// The values of the active lanes of the group, combined from the lowest lane up.
fn folded<const WIDTH: u32>(call: &LaneCall<'_>, combine: fn(u64, u64) -> u64) -> u64 {
    call.group::<WIDTH>().map(|lane| call.value(lane)).reduce(combine).expect("the lane itself is active")
}

/// Who calls.
#[derive(Clone, Copy)]
struct Scope {
    prefix: &'static str,
    wrap: fn(LaneOperation) -> Operation,
}

const SIMDGROUP: Scope = Scope { prefix: "simd", wrap: Operation::Simdgroup };
const QUADGROUP: Scope = Scope { prefix: "quad", wrap: Operation::Quadgroup };

pub(super) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for operation in LaneOperation::ALL {
        rows_of::<SIMD_WIDTH>(*operation, SIMDGROUP, &mut rows);
        rows_of::<QUAD_WIDTH>(*operation, QUADGROUP, &mut rows);
    }
    rows
}

/// What the names of an operation say about types.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Typing {
    /// One row a scalar type.
    AllTypes,
    /// One row an integer type.
    Integers,
    /// No type, on truth values.
    Untyped,
    /// `.i64`, a mask of lanes.
    Mask,
}

fn typing(operation: LaneOperation) -> Typing {
    use LaneOperation as Op;
    match operation {
        Op::And | Op::Or | Op::Xor => Typing::Integers,
        Op::All | Op::Any | Op::IsFirst => Typing::Untyped,
        Op::Ballot | Op::VoteAll | Op::VoteAny | Op::ActiveThreadsMask => Typing::Mask,
        Op::Sum | Op::Product | Op::Min | Op::Max => Typing::AllTypes,
        Op::PrefixInclusiveSum | Op::PrefixExclusiveSum => Typing::AllTypes,
        Op::PrefixInclusiveProduct | Op::PrefixExclusiveProduct => Typing::AllTypes,
        Op::Broadcast | Op::BroadcastFirst | Op::Shuffle | Op::ShuffleUp | Op::ShuffleDown => Typing::AllTypes,
        Op::ShuffleXor | Op::ShuffleRotateUp | Op::ShuffleRotateDown => Typing::AllTypes,
        Op::ShuffleAndFillUp | Op::ShuffleAndFillDown => Typing::AllTypes,
    }
}

fn rows_of<const WIDTH: u32>(operation: LaneOperation, scope: Scope, rows: &mut Vec<Row>) {
    let typing = typing(operation);
    if typing == Typing::AllTypes {
        rows.push(row::<Float<F16>, WIDTH>(operation, scope));
        rows.push(row::<Float<Bf16>, WIDTH>(operation, scope));
        rows.push(row::<Float<F32>, WIDTH>(operation, scope));
    }
    if typing == Typing::AllTypes || typing == Typing::Integers {
        rows.push(row::<Int<8, true>, WIDTH>(operation, scope));
        rows.push(row::<Int<8, false>, WIDTH>(operation, scope));
        rows.push(row::<Int<16, true>, WIDTH>(operation, scope));
        rows.push(row::<Int<16, false>, WIDTH>(operation, scope));
        rows.push(row::<Int<32, true>, WIDTH>(operation, scope));
        rows.push(row::<Int<32, false>, WIDTH>(operation, scope));
        return;
    }
    let suffix = if typing == Typing::Mask { ".i64" } else { "" };
    let element = if typing == Typing::Mask { Element::I64 } else { Element::I1 };
    let (truth, mask) = (Slot::Scalar(Element::I1), Slot::Scalar(Element::I64));
    let mut row = finish::<Int<32, false>, WIDTH>(operation, scope, suffix, element);
    row.sign = None;
    row.lift = Lift::None;
    rows.push(match operation {
        LaneOperation::IsFirst => row.with_signature(truth, vec![]),
        LaneOperation::Ballot => row.with_signature(mask, vec![truth]),
        LaneOperation::VoteAll | LaneOperation::VoteAny => row.with_signature(truth, vec![mask]),
        LaneOperation::ActiveThreadsMask => row.with_signature(mask, vec![]),
        LaneOperation::All | LaneOperation::Any => row.with_signature(truth, vec![truth]),
        typed => unreachable!("{} has typed names", typed.name()),
    });
}

fn row<T: LaneScalar, const WIDTH: u32>(operation: LaneOperation, scope: Scope) -> Row {
    let letter = T::SIGN.map(|sign| format!(".{}", sign.letter())).unwrap_or_default();
    let suffix = format!("{letter}.{}", T::ELEMENT);
    let row = finish::<T, WIDTH>(operation, scope, &suffix, T::ELEMENT);
    let (value, short) = (Slot::Lifted(T::ELEMENT), Slot::Scalar(Element::I16));
    let operands = match extra_operands(operation) {
        Extra::None => vec![value],
        Extra::Lane => vec![value, short],
        Extra::FillAndLanes => vec![value, value, short, short],
    };
    row.with_signature(value, operands)
}

/// What a typed operation takes beside its value.
enum Extra {
    None,
    /// A lane number, delta or mask.
    Lane,
    /// The fill value, a delta and the cluster size.
    FillAndLanes,
}

fn extra_operands(operation: LaneOperation) -> Extra {
    use LaneOperation as Op;
    match operation {
        Op::Sum | Op::Product | Op::Min | Op::Max | Op::And | Op::Or | Op::Xor => Extra::None,
        Op::PrefixInclusiveSum | Op::PrefixExclusiveSum => Extra::None,
        Op::PrefixInclusiveProduct | Op::PrefixExclusiveProduct => Extra::None,
        Op::All | Op::Any | Op::Ballot | Op::VoteAll | Op::VoteAny => Extra::None,
        Op::ActiveThreadsMask | Op::IsFirst | Op::BroadcastFirst => Extra::None,
        Op::Broadcast | Op::Shuffle | Op::ShuffleUp | Op::ShuffleDown | Op::ShuffleXor => Extra::Lane,
        Op::ShuffleRotateUp | Op::ShuffleRotateDown => Extra::Lane,
        Op::ShuffleAndFillUp | Op::ShuffleAndFillDown => Extra::FillAndLanes,
    }
}

fn finish<T: LaneScalar, const WIDTH: u32>(
    operation: LaneOperation,
    scope: Scope,
    suffix: &str,
    element: Element,
) -> Row {
    let name = format!("air.{}_{}{suffix}", scope.prefix, operation.name());
    let mut row = Row::pure(name, (scope.wrap)(operation), element, Reference::Lanes(reference::<T, WIDTH>(operation)));
    row.sign = T::SIGN;
    row.convergent = true;
    // AIR declares them without a memory attribute, so that nothing moves across barriers.
    row.effects = Effects::Memory;
    row
}

fn reference<T: LaneScalar, const WIDTH: u32>(operation: LaneOperation) -> fn(&LaneCall<'_>) -> u64 {
    use LaneOperation as Op;
    match operation {
        Op::Sum => |call| combined::<T, WIDTH>(call, T::add),
        Op::Product => |call| combined::<T, WIDTH>(call, T::mul),
        Op::Min => |call| folded::<WIDTH>(call, T::min),
        Op::Max => |call| folded::<WIDTH>(call, T::max),
        Op::And => |call| folded::<WIDTH>(call, |x, y| x & y),
        Op::Or => |call| folded::<WIDTH>(call, |x, y| x | y),
        Op::Xor => |call| folded::<WIDTH>(call, |x, y| x ^ y),
        Op::PrefixInclusiveSum => |call| prefix::<T, WIDTH>(call, true, T::add, T::ZERO),
        Op::PrefixExclusiveSum => |call| prefix::<T, WIDTH>(call, false, T::add, T::ZERO),
        Op::PrefixInclusiveProduct => |call| prefix::<T, WIDTH>(call, true, T::mul, T::ONE),
        Op::PrefixExclusiveProduct => |call| prefix::<T, WIDTH>(call, false, T::mul, T::ONE),
        Op::All => |call| u64::from(call.group::<WIDTH>().all(|lane| call.value(lane) & 1 == 1)),
        Op::Any => |call| u64::from(call.group::<WIDTH>().any(|lane| call.value(lane) & 1 == 1)),
        Op::Ballot => |call| {
            let base = call.base::<WIDTH>();
            call.group::<WIDTH>().map(|lane| (call.value(lane) & 1) << (lane - base)).sum()
        },
        Op::VoteAll => |call| u64::from(call.value(call.lane) & call.mask::<WIDTH>() == call.mask::<WIDTH>()),
        Op::VoteAny => |call| u64::from(call.value(call.lane) & call.mask::<WIDTH>() != 0),
        Op::ActiveThreadsMask => |call| call.mask::<WIDTH>(),
        Op::IsFirst => |call| u64::from(call.is_first::<WIDTH>()),
        Op::Broadcast | Op::Shuffle => |call| call.read::<WIDTH>(Some(call.operand)),
        Op::BroadcastFirst => |call| folded::<WIDTH>(call, |first, _| first),
        Op::ShuffleUp => |call| call.read::<WIDTH>(call.place::<WIDTH>().checked_sub(call.operand)),
        Op::ShuffleDown => |call| call.read::<WIDTH>(call.place::<WIDTH>().checked_add(call.operand)),
        Op::ShuffleXor => |call| call.read::<WIDTH>(Some(call.place::<WIDTH>() ^ call.operand)),
        Op::ShuffleRotateUp => |call| call.rotated::<WIDTH>(WIDTH - call.operand % WIDTH),
        Op::ShuffleRotateDown => |call| call.rotated::<WIDTH>(call.operand),
        Op::ShuffleAndFillUp => |call| call.filled(call.place_in_cluster() - i64::from(call.operand)),
        Op::ShuffleAndFillDown => |call| call.filled(call.place_in_cluster() + i64::from(call.operand)),
    }
}
