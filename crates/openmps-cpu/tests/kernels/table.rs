//! Every function of the intrinsic table that has a reference, in its scalar form and in a vector form, against that reference.

use openmps_air::element::{Element, Sign};
use openmps_air::intrinsics::{LaneCall, Lift, MathOperation, Operation, Reference, Row, Slot, rows};
use openmps_engine::{Bindings, Builtin};

use crate::harness::{Random, bind, buffer, builtin, compile, dispatch};

/// Inputs of one function; two threadgroups of three partial SIMD-groups each.
const COUNT: usize = 150;
const GROUP: u32 = 75;

fn llvm(element: Element) -> &'static str {
    match element {
        Element::F16 => "half",
        Element::Bf16 => "bfloat",
        Element::F32 => "float",
        Element::I1 => "i1",
        Element::I8 => "i8",
        Element::I16 => "i16",
        Element::I32 => "i32",
        Element::I64 => "i64",
    }
}

/// One operand or result: element, lanes, or a pointer to what is stored.
#[derive(Clone, Copy)]
enum Part {
    Vector(Element, u32),
    Pointer(Element, u32),
}

impl Part {
    fn ty(self) -> String {
        match self {
            Self::Vector(element, 1) => llvm(element).to_owned(),
            Self::Vector(element, lanes) => format!("<{lanes} x {}>", llvm(element)),
            Self::Pointer(..) => "ptr".to_owned(),
        }
    }

    fn words(self) -> usize {
        match self {
            Self::Vector(_, lanes) | Self::Pointer(_, lanes) => lanes as usize,
        }
    }

    fn element(self) -> Element {
        match self {
            Self::Vector(element, _) | Self::Pointer(element, _) => element,
        }
    }
}

/// A kernel that reads each thread's operands as words, calls `name`, and writes the result's words, then stored ones.
fn kernel_text(name: &str, result: Part, operands: &[Part]) -> String {
    let total: usize = operands.iter().filter(|part| matches!(part, Part::Vector(..))).map(|part| part.words()).sum();
    let stored = operands.iter().find(|part| matches!(part, Part::Pointer(..))).copied();
    let out_words = result.words() + stored.map_or(0, Part::words);
    let mut body = String::new();
    let mut arguments = Vec::new();
    let mut word = 0;
    for (number, part) in operands.iter().enumerate() {
        let scalar = llvm(part.element());
        let bits = part.element().bits();
        if let Part::Pointer(_, lanes) = part {
            body += &format!("  %o{number} = alloca [{lanes} x i64]\n");
            arguments.push(format!("ptr %o{number}"));
            continue;
        }
        let mut vector = "poison".to_owned();
        for lane in 0..part.words() {
            let id = format!("{number}.{lane}");
            body += &format!("  %at.{id} = getelementptr i64, ptr addrspace(1) %row, i64 {word}\n");
            body += &format!("  %w.{id} = load i64, ptr addrspace(1) %at.{id}\n");
            body += &if bits == 64 {
                format!("  %t.{id} = add i64 %w.{id}, 0\n")
            } else {
                format!("  %t.{id} = trunc i64 %w.{id} to i{bits}\n")
            };
            body += &format!("  %s.{id} = bitcast i{bits} %t.{id} to {scalar}\n");
            if part.words() == 1 {
                vector = format!("%s.{id}");
            } else {
                body += &format!("  %v.{id} = insertelement {} {vector}, {scalar} %s.{id}, i32 {lane}\n", part.ty());
                vector = format!("%v.{id}");
            }
            word += 1;
        }
        arguments.push(format!("{} {vector}", part.ty()));
    }
    body += &format!("  %r = call {} @\"{name}\"({})\n", result.ty(), arguments.join(", "));
    let mut slot = 0;
    let mut write = |body: &mut String, value: &str, ty: &str, bits: u32| {
        *body += &format!("  %b{slot} = bitcast {ty} {value} to i{bits}\n");
        *body += &if bits == 64 {
            format!("  %z{slot} = add i64 %b{slot}, 0\n")
        } else {
            format!("  %z{slot} = zext i{bits} %b{slot} to i64\n")
        };
        *body += &format!("  %q{slot} = getelementptr i64, ptr addrspace(1) %target, i64 {slot}\n");
        *body += &format!("  store i64 %z{slot}, ptr addrspace(1) %q{slot}\n");
        slot += 1;
    };
    let (scalar, bits) = (llvm(result.element()), result.element().bits());
    for lane in 0..result.words() {
        if result.words() == 1 {
            write(&mut body, "%r", scalar, bits);
        } else {
            body += &format!("  %e{lane} = extractelement {} %r, i32 {lane}\n", result.ty());
            write(&mut body, &format!("%e{lane}"), scalar, bits);
        }
    }
    if let Some(Part::Pointer(element, lanes)) = stored {
        let number = operands.iter().position(|part| matches!(part, Part::Pointer(..))).unwrap();
        for lane in 0..lanes {
            let ty = llvm(element);
            body += &format!("  %ps{lane} = getelementptr {ty}, ptr %o{number}, i64 {lane}\n");
            body += &format!("  %vs{lane} = load {ty}, ptr %ps{lane}\n");
            write(&mut body, &format!("%vs{lane}"), ty, element.bits());
        }
    }
    let types: Vec<String> = operands.iter().map(|part| part.ty()).collect();
    format!(
        "declare {} @\"{name}\"({})
define void @k(ptr addrspace(1) %out, ptr addrspace(1) %in, i32 %thread) {{
  %l = zext i32 %thread to i64
  %first = mul i64 %l, {total}
  %row = getelementptr i64, ptr addrspace(1) %in, i64 %first
  %first.out = mul i64 %l, {out_words}
  %target = getelementptr i64, ptr addrspace(1) %out, i64 %first.out
{body}  ret void
}}",
        result.ty(),
        types.join(", ")
    )
}

/// A number of the type, as bits: corner values now and then, no subnormals of f32 and bf16 (kernels flush them).
fn random_bits(random: &mut Random, element: Element, small: bool) -> u64 {
    let corner = random.below(6) == 0;
    let float = |random: &mut Random| {
        let corners = [0.0, -0.0, 1.0, -1.0, 0.5, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 1e30, -3e-30];
        if corner && !small {
            corners[random.below(10) as usize]
        } else if random.below(2) == 0 {
            random.float()
        } else {
            random.float() * random.float() * 16.0
        }
    };
    match element {
        Element::F32 => u64::from(float(random).to_bits()),
        Element::Bf16 => u64::from(float(random).to_bits() >> 16),
        Element::F16 => {
            // Every bit pattern is fine: half keeps its subnormals.
            let bits = random.bits() & 0xffff;
            if small || random.below(2) == 0 {
                bits & 0x83ff | 0x3800 | (random.bits() & 0x7c00 & 0x0c00)
            } else {
                bits
            }
        }
        integer => {
            let mask = u64::MAX >> (64 - integer.bits());
            let value =
                if corner { [0, 1, mask, mask >> 1, (mask >> 1) + 1][random.below(5) as usize] } else { random.bits() };
            let value = if random.below(3) == 0 { value & 0xff } else { value };
            value & mask
        }
    }
}

fn float_value(element: Element, bits: u64) -> f64 {
    let low = u32::try_from(bits & 0xffff_ffff).unwrap();
    match element {
        Element::F32 => f64::from(f32::from_bits(low)),
        Element::Bf16 => f64::from(f32::from_bits(low << 16)),
        Element::F16 => {
            let sign = if low & 0x8000 == 0 { 1.0 } else { -1.0 };
            let (exponent, mantissa) = (low >> 10 & 0x1f, f64::from(low & 0x3ff));
            let power = f64::from(exponent.max(1)) - 25.0;
            match exponent {
                0x1f if mantissa == 0.0 => sign * f64::INFINITY,
                0x1f => f64::NAN,
                0 => sign * mantissa * power.exp2(),
                _ => sign * (mantissa + 1024.0) * power.exp2(),
            }
        }
        other => panic!("{other} is no float"),
    }
}

/// Distance in representable numbers; both NaN is none.
fn ulps(element: Element, a: u64, b: u64) -> u64 {
    let (x, y) = (float_value(element, a), float_value(element, b));
    if x.is_nan() || y.is_nan() {
        return if x.is_nan() == y.is_nan() { 0 } else { u64::MAX };
    }
    if x == y {
        return 0;
    }
    let sign = 1_u64 << (element.bits() - 1);
    let ordered =
        |bits: u64| if bits & sign == 0 { (bits | sign).cast_signed() } else { (sign - (bits - sign)).cast_signed() };
    ordered(a).abs_diff(ordered(b))
}

/// Beyond, fast trigonometric functions of floats are in their range and nothing else (MSL table 8.2).
const FAST_ANGLE_MAX: f64 = 1e5;

/// Whether the result for these operands is undefined.
fn is_undefined(row: &Row, first: &[u64]) -> bool {
    use MathOperation as Op;
    let is_angle = matches!(row.operation, Operation::Math(Op::Sin | Op::Cos | Op::Tan | Op::Sincos));
    row.fast && is_angle && first.iter().any(|bits| float_value(row.element, *bits).abs() > FAST_ANGLE_MAX)
}

/// MSL 8.1 and 8.4: the allowed error in ulps of the type.
fn allowed(row: &Row) -> u64 {
    let Operation::Math(operation) = row.operation else { return 0 };
    match operation {
        // exp2(y · log2(x)) of a fast exponential and logarithm: 3 + 2|t| + 4|t| at exponents t to 128.
        MathOperation::Pow | MathOperation::Powr if row.fast => 771,
        MathOperation::Pow | MathOperation::Powr => 16,
        MathOperation::Tan | MathOperation::Tanpi | MathOperation::Atan2 => 6,
        // Summation order and fusing are open.
        MathOperation::Dot | MathOperation::Mix => 64,
        _ if row.element == Element::F32 => 4,
        _ => 1,
    }
}

/// The least normal magnitude of the type: results below may be flushed.
fn is_tiny(element: Element, bits: u64) -> bool {
    element != Element::F16 && element.is_float() && float_value(element, bits).abs() < 1.2e-38
}

fn agrees(row: &Row, element: Element, got: u64, expected: u64) -> bool {
    if !element.is_float() {
        return got == expected;
    }
    let both_tiny = is_tiny(element, got) && is_tiny(element, expected);
    // Cancellation in sums of products of order 1: absolute.
    let open = matches!(row.operation, Operation::Math(MathOperation::Dot | MathOperation::Mix));
    let close = open && (float_value(element, got) - float_value(element, expected)).abs() <= 1e-2;
    both_tiny || close || ulps(element, got, expected) <= allowed(row)
}

fn part(slot: Slot, lanes: u32, stored: Element) -> Option<Part> {
    Some(match slot {
        Slot::Lifted(element) => Part::Vector(element, lanes),
        Slot::Scalar(element) => Part::Vector(element, 1),
        Slot::Vector(element, lanes) => Part::Vector(element, lanes),
        Slot::Pointer(_) => Part::Pointer(stored, lanes),
        Slot::Void | Slot::WithStatus(..) => return None,
    })
}

/// The name of the vector form.
fn form_name(row: &Row, lanes: u32) -> String {
    if lanes == 1 {
        return row.name.clone();
    }
    let is_type = |part: &str| Element::ALL.iter().any(|element| element.name() == part);
    let parts: Vec<String> = row
        .name
        .split('.')
        .map(|part| if is_type(part) { format!("v{lanes}{part}") } else { part.to_owned() })
        .collect();
    parts.join(".")
}

/// What operands must look like for the result to be defined.
fn repair(row: &Row, operands: &[Part], words: &mut [u64]) {
    let lanes = operands[0].words();
    let is_clamp = row.name.contains("clamp.");
    if is_clamp {
        for lane in 0..lanes {
            let (low, high) = (lanes + lane, 2 * lanes + lane);
            let signed = row.sign == Some(Sign::Signed);
            let element = operands[0].element();
            let shift = 64 - element.bits();
            let swapped = if element.is_float() {
                float_value(element, words[low]) > float_value(element, words[high])
            } else if signed {
                (words[low] << shift).cast_signed() > (words[high] << shift).cast_signed()
            } else {
                words[low] > words[high]
            };
            if swapped {
                words.swap(low, high);
            }
        }
    }
}

struct Case<'a> {
    row: &'a Row,
    operands: Vec<Part>,
    result: Part,
    input: Vec<u64>,
    output: Vec<u64>,
}

fn run(row: &'static Row, lanes: u32, random: &mut Random) -> Option<Case<'static>> {
    let signature = &row.signatures[0];
    let stored = match row.operation {
        Operation::Math(MathOperation::Frexp) => Element::I32,
        _ => row.element,
    };
    let result = part(signature.result, lanes, stored)?;
    let operands: Vec<Part> =
        signature.operands.iter().map(|slot| part(*slot, lanes, stored)).collect::<Option<_>>()?;
    let values: Vec<Part> = operands.iter().filter(|part| matches!(part, Part::Vector(..))).copied().collect();
    let stride: usize = values.iter().map(|part| part.words()).sum();
    let is_lanes = matches!(row.reference, Reference::Lanes(_));
    let mut input = Vec::with_capacity(stride * COUNT + 1);
    for _ in 0..COUNT {
        let start = input.len();
        for (number, part) in values.iter().enumerate() {
            for _ in 0..part.words() {
                // Lane numbers, deltas and moduli of shuffles are constants of a call site in conforming kernels; 2 suits all.
                let is_operand = is_lanes
                    && number > 0
                    && part.element() == Element::I16
                    && part.words() == 1
                    && number >= values.len() - if values.len() > 3 { 2 } else { 1 };
                input.push(if is_operand {
                    2
                } else {
                    random_bits(random, part.element(), is_lanes || lanes > 1 && row.lift == Lift::Horizontal)
                });
            }
        }
        if !is_lanes && !values.is_empty() {
            repair(row, &values, &mut input[start..]);
        }
    }
    input.push(0);
    let stored_words: usize =
        operands.iter().filter(|part| matches!(part, Part::Pointer(..))).map(|part| part.words()).sum();
    let mut output = vec![0_u64; COUNT * (result.words() + stored_words)];
    let kernel = compile(
        &kernel_text(&form_name(row, lanes), result, &operands),
        &[buffer(0), buffer(1), builtin(Builtin::ThreadPositionInGrid, 1)],
    );
    let mut bindings = Bindings::default();
    bind(&mut bindings, 0, &mut output);
    bind(&mut bindings, 1, &mut input);
    let threads = u32::try_from(COUNT).unwrap();
    dispatch(&*kernel, &bindings, [threads, 1, 1], [GROUP, 1, 1]);
    Some(Case { row, operands: values, result, input, output })
}

/// The words of operand `number` of `thread`.
fn operand<'a>(case: &'a Case<'_>, thread: usize, number: usize) -> &'a [u64] {
    let stride: usize = case.operands.iter().map(|part| part.words()).sum();
    let before: usize = case.operands[..number].iter().map(|part| part.words()).sum();
    &case.input[thread * stride + before..][..case.operands[number].words()]
}

fn expected(case: &Case<'_>, thread: usize) -> Vec<u64> {
    let lanes = case.result.words();
    // A scalar operand of a vector form is the same for every lane.
    let word = |number: usize, lane: usize| {
        let words = operand(case, thread, number);
        words[lane.min(words.len() - 1)]
    };
    match case.row.reference {
        Reference::Unary(f) => (0..lanes).map(|lane| f(word(0, lane))).collect(),
        Reference::Binary(f) => (0..lanes).map(|lane| f(word(0, lane), word(1, lane))).collect(),
        Reference::Ternary(f) => (0..lanes).map(|lane| f(word(0, lane), word(1, lane), word(2, lane))).collect(),
        Reference::WithStore(f) => {
            let pairs: Vec<(u64, u64)> = (0..lanes).map(|lane| f(word(0, lane))).collect();
            pairs.iter().map(|pair| pair.0).chain(pairs.iter().map(|pair| pair.1)).collect()
        }
        Reference::Horizontal(f) => {
            let second = if case.operands.len() > 1 { operand(case, thread, 1) } else { &[] };
            vec![f(operand(case, thread, 0), second)]
        }
        Reference::Lanes(f) => {
            (0..lanes).map(|lane| f(&lane_call(case, thread, lane, &mut [0; 32], &mut [0; 32]))).collect()
        }
        Reference::ByEngine(_) => unreachable!("filtered"),
    }
}

fn lane_call<'a>(
    case: &Case<'_>,
    thread: usize,
    element: usize,
    values: &'a mut [u64; 32],
    fill: &'a mut [u64; 32],
) -> LaneCall<'a> {
    let group = GROUP as usize;
    let local = thread % group;
    let first = thread - local + local / 32 * 32;
    let members = (first..COUNT.min(thread - local + group)).take(32).count();
    let numbers = case.operands.len();
    for lane in 0..members {
        if numbers > 0 {
            values[lane] = operand(case, first + lane, 0)[element.min(case.operands[0].words() - 1)];
        }
        if numbers > 3 {
            fill[lane] = operand(case, first + lane, 1)[element];
        }
    }
    LaneCall {
        values,
        fill,
        active: u32::MAX >> (32 - members),
        lane: u32::try_from(local % 32).unwrap(),
        operand: if numbers > 1 { 2 } else { 0 },
        modulo: if numbers > 3 { 2 } else { 0 },
    }
}

fn check(row: &'static Row, lanes: u32, random: &mut Random) -> Result<(), String> {
    let Some(case) = run(row, lanes, random) else { return Ok(()) };
    let stride = case.output.len() / COUNT;
    for thread in 0..COUNT {
        if !case.operands.is_empty() && is_undefined(row, operand(&case, thread, 0)) {
            continue;
        }
        let expected = expected(&case, thread);
        let got = &case.output[thread * stride..][..stride];
        for (number, (&got, &expected)) in got.iter().zip(&expected).enumerate() {
            let stored = number >= case.result.words();
            let element = match row.operation {
                Operation::Math(MathOperation::Frexp) if stored => Element::I32,
                _ => case.result.element(),
            };
            if !agrees(row, element, got, expected) {
                let operands: Vec<_> = (0..case.operands.len()).map(|number| operand(&case, thread, number)).collect();
                return Err(format!("{} x{lanes}: got {got:#x}, expected {expected:#x} from {operands:x?}", row.name));
            }
        }
    }
    Ok(())
}

#[test]
fn every_reference_agrees_with_generated_code() {
    let mut random = Random::fresh();
    let mut failures = Vec::new();
    let mut checked = 0;
    for row in rows() {
        if matches!(row.reference, Reference::ByEngine(_)) {
            continue;
        }
        let forms: &[u32] = match row.lift {
            Lift::None => &[1],
            Lift::Elementwise => &[1, 3],
            Lift::Horizontal => &[2, 4],
        };
        for &lanes in forms {
            checked += 1;
            failures.extend(
                std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| check(row, lanes, &mut random)))
                    .unwrap_or_else(|_| Err(format!("{} x{lanes} panicked", row.name)))
                    .err(),
            );
        }
    }
    println!("{checked} forms checked");
    assert!(failures.is_empty(), "{} of {checked}:\n{}", failures.len(), failures.join("\n"));
}
