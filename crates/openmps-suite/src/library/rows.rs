//! Checks derived from the intrinsic table: how MSL calls each row, and the row's reference.

use openmps_air::element::{Element, F16, F32, Format as _, Sign, low_bits};
use openmps_air::intrinsics::{
    ExecutionOperation, IntegerOperation, LaneCall, LaneOperation, MathOperation, MatrixOperation, Operation,
    Reference, Row, Slot,
};
use openmps_engine::AddressSpace;

use super::{Check, Expectation, Inputs, OfThread, Part, Scalar, Tolerance};
use crate::machine::Random;

/// Why MSL source text cannot call a row, or calls it in a test of another kind; `None` where a check of [`checks`] must.
#[must_use]
pub fn unreachable_from_source(row: &Row) -> Option<&'static str> {
    use MathOperation as Op;
    match row.operation {
        Operation::Math(_) if row.element == Element::Bf16 => Some("Metal has no math functions of bfloat"),
        Operation::Math(Op::Divide | Op::Mix | Op::Sign | Op::Step) => Some("the library composes it: `formulas`"),
        Operation::Math(operation) if row.fast && !has_fast_form(operation) => Some("Metal has one form of it"),
        Operation::Math(_) => None,
        Operation::Integer(IntegerOperation::MadHi | IntegerOperation::MadSat) => {
            Some("the library composes it: `formulas`")
        }
        Operation::Integer(_) => None,
        Operation::Relational(_) => Some("the library composes it: `formulas`"),
        Operation::Convert => Some("clang converts by instructions; the values are checked"),
        Operation::Simdgroup(_) | Operation::Quadgroup(_) if row.element == Element::Bf16 => {
            Some("kernels define lane functions of bfloat themselves")
        }
        Operation::Simdgroup(_) | Operation::Quadgroup(_) => None,
        Operation::Matrix(MatrixOperation::Load | MatrixOperation::Store)
            if matches!(row.space, Some(AddressSpace::Constant | AddressSpace::Thread)) =>
        {
            Some("Metal loads and stores matrices in device and threadgroup memory")
        }
        Operation::Atomic(_) | Operation::Barrier(_) | Operation::Matrix(_) => None,
        Operation::Execution(ExecutionOperation::SimdgroupSize | ExecutionOperation::ThreadIndexInSimdgroup) => None,
        Operation::Execution(_) => Some("only in modules of Apple's compiler"),
        Operation::Tensor(_) => Some("Metal 4 tensors have tests of their own"),
        Operation::Texture(_) => Some("textures have tests of their own"),
    }
}

/// Whether `metal::fast` has a form of its own (MSL table 8.2 and the library's headers).
fn has_fast_form(operation: MathOperation) -> bool {
    use MathOperation as Op;
    !matches!(
        operation,
        Op::Copysign
            | Op::Fdim
            | Op::Nextafter
            | Op::Fma
            | Op::Ldexp
            | Op::Ilogb
            | Op::Frexp
            | Op::Modf
            | Op::Dot
            | Op::Divide
            | Op::Mix
            | Op::Sign
            | Op::Step
    )
}

/// Every check of a row: one for each width that MSL has. Empty for rows that need a kernel of their own.
#[must_use]
pub fn checks(row: &'static Row, random: &mut Random) -> Vec<Check> {
    if unreachable_from_source(row).is_some() && row.operation != Operation::Convert {
        return Vec::new();
    }
    match row.operation {
        Operation::Math(operation) => math(row, operation),
        Operation::Integer(operation) => integer(row, operation),
        Operation::Convert => conversions(row),
        Operation::Simdgroup(operation) => lanes(row, operation, "simd", 32, random),
        Operation::Quadgroup(operation) => lanes(row, operation, "quad", 4, random),
        Operation::Relational(_)
        | Operation::Atomic(_)
        | Operation::Barrier(_)
        | Operation::Matrix(_)
        | Operation::Execution(_)
        | Operation::Tensor(_)
        | Operation::Texture(_) => Vec::new(),
    }
}

fn keep(_: &mut [u64]) {}

fn widths(row: &Row) -> std::ops::RangeInclusive<u32> {
    use openmps_air::intrinsics::Lift;
    match row.lift {
        Lift::None => 1..=1,
        Lift::Elementwise => 1..=4,
        Lift::Horizontal => 2..=4,
    }
}

/// A scalar of a row's slot; rows without a sign letter are called with unsigned integers.
fn scalar(element: Element, sign: Option<Sign>) -> Scalar {
    let sign = if element.is_float() || element == Element::I1 { None } else { sign.or(Some(Sign::Unsigned)) };
    Scalar { element, sign }
}

/// Components of the reference's result for components of the operands.
fn elementwise(reference: Reference, lanes: usize) -> OfThread {
    match reference {
        Reference::Unary(function) => Box::new(move |words| (0..lanes).map(|lane| function(words[lane])).collect()),
        Reference::Binary(function) => {
            Box::new(move |words| (0..lanes).map(|lane| function(words[lane], words[lanes + lane])).collect())
        }
        Reference::Ternary(function) => Box::new(move |words| {
            (0..lanes).map(|lane| function(words[lane], words[lanes + lane], words[2 * lanes + lane])).collect()
        }),
        Reference::WithStore(function) => Box::new(move |words| {
            let pairs: Vec<(u64, u64)> = (0..lanes).map(|lane| function(words[lane])).collect();
            pairs.iter().map(|pair| pair.0).chain(pairs.iter().map(|pair| pair.1)).collect()
        }),
        Reference::Horizontal(function) => Box::new(move |words| vec![function(&words[..lanes], &words[lanes..])]),
        Reference::Lanes(_) | Reference::ByEngine(_) => unreachable!("no function of one thread"),
    }
}

/// Errors that the specification allows (tables 8.1 to 8.3); tight bounds are the business of the accuracy tests.
fn tolerance(row: &Row, operation: MathOperation) -> Tolerance {
    use MathOperation as Op;
    match operation {
        Op::Dot => Tolerance::Distance(1e-2),
        Op::Pow | Op::Powr if row.fast => Tolerance::Ulps(771.0),
        Op::Pow | Op::Powr => Tolerance::Ulps(16.0),
        Op::Tan | Op::Tanpi | Op::Atan2 => Tolerance::Ulps(6.0),
        _ if row.element == Element::F16 => Tolerance::Ulps(1.0),
        _ => Tolerance::Ulps(5.0),
    }
}

/// Sorts the bounds of a clamp, for which the result is undefined otherwise.
fn sort_bounds<const LANES: usize>(decode: fn(u64) -> f64, words: &mut [u64]) {
    for lane in 0..LANES {
        let (low, high) = (LANES + lane, 2 * LANES + lane);
        if decode(words[low]) > decode(words[high]) {
            words.swap(low, high);
        }
    }
}

fn repair_clamp(element: Element, lanes: u32) -> fn(&mut [u64]) {
    match (element, lanes) {
        (Element::F16, 1) => |words| sort_bounds::<1>(F16::decode, words),
        (Element::F16, 2) => |words| sort_bounds::<2>(F16::decode, words),
        (Element::F16, 3) => |words| sort_bounds::<3>(F16::decode, words),
        (Element::F16, _) => |words| sort_bounds::<4>(F16::decode, words),
        (_, 1) => |words| sort_bounds::<1>(F32::decode, words),
        (_, 2) => |words| sort_bounds::<2>(F32::decode, words),
        (_, 3) => |words| sort_bounds::<3>(F32::decode, words),
        (..) => |words| sort_bounds::<4>(F32::decode, words),
    }
}

fn math(row: &'static Row, operation: MathOperation) -> Vec<Check> {
    use MathOperation as Op;
    let namespace = if row.fast { "fast" } else { "precise" };
    let own = scalar(row.element, None);
    let count = row.signatures[0].operands.len();
    let check = |lanes: u32| {
        let part = |scalar| Part { scalar, lanes };
        let int = scalar(Element::I32, Some(Sign::Signed));
        let (operands, results, body) = match operation {
            Op::Ldexp => (vec![part(own), part(int)], vec![part(own)], "ldexp(a0, a1)".to_owned()),
            Op::Ilogb => (vec![part(own)], vec![part(int)], "ilogb(a0)".to_owned()),
            Op::Frexp => {
                let (own, int) = (part(own), part(int));
                let body = format!("{} r1; const {} r0 = frexp(a0, r1);", int.name(), own.name());
                (vec![own], vec![own, int], body)
            }
            Op::Modf | Op::Sincos => {
                let own = part(own);
                let name = if operation == Op::Modf { "modf".to_owned() } else { format!("{namespace}::sincos") };
                (vec![own], vec![own, own], format!("{0} r1; const {0} r0 = {name}(a0, r1);", own.name()))
            }
            Op::Dot => (vec![part(own); 2], vec![Part { scalar: own, lanes: 1 }], "dot(a0, a1)".to_owned()),
            _ => {
                let arguments: Vec<String> = (0..count).map(|index| format!("a{index}")).collect();
                let body = format!("{namespace}::{}({})", operation.name(), arguments.join(", "));
                (vec![part(own); count], vec![part(own)], body)
            }
        };
        // Fast trigonometric functions are defined for moderate angles, and a dot product cancels.
        let magnitude = match operation {
            Op::Sin | Op::Cos | Op::Tan | Op::Sincos if row.fast => 1e4,
            Op::Dot => 4.0,
            _ => f64::INFINITY,
        };
        Check {
            name: format!("{} x{lanes}", row.name),
            body,
            operands,
            results,
            expectation: Expectation::Thread(elementwise(row.reference, lanes as usize)),
            tolerance: tolerance(row, operation),
            repair: if operation == Op::Clamp { repair_clamp(row.element, lanes) } else { keep },
            magnitude,
        }
    };
    widths(row).map(check).collect()
}

fn integer(row: &'static Row, operation: IntegerOperation) -> Vec<Check> {
    use IntegerOperation as Op;
    let name = match operation {
        Op::AbsDiff => "absdiff",
        Op::AddSat => "addsat",
        Op::SubSat => "subsat",
        Op::MulHi => "mulhi",
        other => other.name(),
    };
    // The second operand of the counts is the library's.
    let count = if matches!(operation, Op::Clz | Op::Ctz) { 1 } else { row.signatures[0].operands.len() };
    let arguments: Vec<String> = (0..count).map(|index| format!("a{index}")).collect();
    let own = scalar(row.element, row.sign);
    let check = |lanes: u32| {
        let part = Part { scalar: own, lanes };
        let (row_reference, width) = (row.reference, lanes as usize);
        let all = elementwise(row_reference, width);
        let is_clamp = operation == Op::Clamp;
        let reference = move |words: &[u64]| {
            let mut words = words.to_vec();
            words.resize(3 * width, 0);
            all(&words)
        };
        Check {
            name: format!("{} x{lanes}", row.name),
            body: format!("{name}({})", arguments.join(", ")),
            operands: vec![part; count],
            results: vec![part],
            expectation: Expectation::Thread(Box::new(reference)),
            tolerance: Tolerance::Ulps(0.0),
            repair: if is_clamp { integer_bounds(own, lanes) } else { keep },
            magnitude: f64::INFINITY,
        }
    };
    widths(row).map(check).collect()
}

/// Makes the low bound of a clamp 0 and the high one not negative, in every width of up to four components.
fn integer_bounds(scalar: Scalar, lanes: u32) -> fn(&mut [u64]) {
    fn bound<const LANES: usize, const BITS: u32, const SIGNED: bool>(words: &mut [u64]) {
        for lane in 0..LANES {
            words[LANES + lane] = 0;
            words[2 * LANES + lane] = low_bits(words[2 * LANES + lane], BITS - u32::from(SIGNED));
        }
    }
    fn of_lanes<const BITS: u32, const SIGNED: bool>(lanes: u32) -> fn(&mut [u64]) {
        match lanes {
            1 => bound::<1, BITS, SIGNED>,
            2 => bound::<2, BITS, SIGNED>,
            3 => bound::<3, BITS, SIGNED>,
            _ => bound::<4, BITS, SIGNED>,
        }
    }
    match (scalar.element.bits(), scalar.sign == Some(Sign::Signed)) {
        (8, true) => of_lanes::<8, true>(lanes),
        (8, false) => of_lanes::<8, false>(lanes),
        (16, true) => of_lanes::<16, true>(lanes),
        (16, false) => of_lanes::<16, false>(lanes),
        (32, true) => of_lanes::<32, true>(lanes),
        (32, false) => of_lanes::<32, false>(lanes),
        (_, true) => of_lanes::<64, true>(lanes),
        (_, false) => of_lanes::<64, false>(lanes),
    }
}

fn conversions(row: &'static Row) -> Vec<Check> {
    let (element, sign) = row.source.expect("a conversion has a source");
    let (from, to) = (scalar(element, sign), scalar(row.element, row.sign));
    let check = |lanes: u32| {
        let (from, to) = (Part { scalar: from, lanes }, Part { scalar: to, lanes });
        Check {
            name: format!("{} to {}", from.name(), to.name()),
            body: format!("static_cast<{}>(a0)", to.name()),
            operands: vec![from],
            results: vec![to],
            expectation: Expectation::Thread(elementwise(row.reference, lanes as usize)),
            tolerance: Tolerance::Ulps(0.0),
            repair: keep,
            magnitude: f64::INFINITY,
        }
    };
    widths(row).map(check).collect()
}

fn lanes(row: &'static Row, operation: LaneOperation, prefix: &str, width: u32, random: &mut Random) -> Vec<Check> {
    use LaneOperation as Op;
    let Reference::Lanes(function) = row.reference else { unreachable!("lane functions have lane references") };
    let own = scalar(row.element, row.sign);
    let takes_value = row.signatures[0].operands.iter().any(|slot| matches!(slot, Slot::Lifted(_)));
    let mut checks = Vec::new();
    for lanes in widths(row) {
        // Equal on all threads, as MSL wants them.
        let modulo = 1 << random.below(width.ilog2() + 1);
        let is_fill = matches!(operation, Op::ShuffleAndFillUp | Op::ShuffleAndFillDown);
        let operand = if is_fill { random.below(modulo + 1) } else { random.below(width) };
        let name = format!("{prefix}_{}", operation.name());
        let (operands, result, body) = match operation {
            Op::All | Op::Any => (vec![Scalar::BOOL], Scalar::BOOL, format!("{name}(a0)")),
            Op::Ballot => (vec![Scalar::BOOL], own, format!("ulong({prefix}_vote::vote_t({name}(a0)))")),
            Op::VoteAll => (vec![own], Scalar::BOOL, format!("{prefix}_vote(a0).all()")),
            Op::VoteAny => (vec![own], Scalar::BOOL, format!("{prefix}_vote(a0).any()")),
            Op::ActiveThreadsMask => (vec![], own, format!("ulong({prefix}_vote::vote_t({name}()))")),
            Op::IsFirst => (vec![], Scalar::BOOL, format!("{name}()")),
            Op::ShuffleAndFillUp | Op::ShuffleAndFillDown => {
                (vec![own, own], own, format!("{name}(a0, a1, {operand}, {modulo})"))
            }
            _ if row.signatures[0].operands.len() == 2 => (vec![own], own, format!("{name}(a0, {operand})")),
            _ => (vec![own], own, format!("{name}(a0)")),
        };
        let part = |scalar| Part { scalar, lanes };
        let components = if takes_value { lanes as usize } else { 1 };
        let expectation = move |inputs: Inputs<'_>, thread: usize| {
            (0..components)
                .map(|element| function(&call(inputs, thread, element, components, operand, modulo).as_call()))
                .collect()
        };
        checks.push(Check {
            name: format!("{} x{lanes} ({operand}, {modulo})", row.name),
            body,
            operands: operands.into_iter().map(part).collect(),
            results: vec![part(result)],
            expectation: Expectation::Group(Box::new(expectation)),
            // Sums associate as they like; products of 32 numbers have an error for each.
            tolerance: Tolerance::Distance(if row.element == Element::F16 { 2e-2 } else { 1e-4 }),
            repair: keep,
            magnitude: if row.element.is_float() { 1.25 } else { f64::INFINITY },
        });
    }
    checks
}

/// The operands of a SIMD-group's lanes, kept alive for a [`LaneCall`].
struct Lanes {
    values: [u64; 32],
    fill: [u64; 32],
    members: usize,
    lane: usize,
    operand: u32,
    modulo: u32,
}

impl Lanes {
    fn as_call(&self) -> LaneCall<'_> {
        LaneCall {
            values: &self.values,
            fill: &self.fill,
            active: u32::MAX >> (32 - self.members),
            lane: u32::try_from(self.lane).expect("below 32"),
            operand: self.operand,
            modulo: self.modulo,
        }
    }
}

fn call(inputs: Inputs<'_>, thread: usize, element: usize, components: usize, operand: u32, modulo: u32) -> Lanes {
    let local = thread % inputs.group;
    let first = thread - local % 32;
    let end = (thread - local + inputs.group).min(inputs.words.len());
    let members = (end - first).min(32);
    let (mut values, mut fill) = ([0; 32], [0; 32]);
    for lane in 0..members {
        let words = &inputs.words[first + lane];
        values[lane] = words.get(element).copied().unwrap_or(0);
        fill[lane] = words.get(components + element).copied().unwrap_or(0);
    }
    Lanes { values, fill, members, lane: local % 32, operand, modulo }
}
