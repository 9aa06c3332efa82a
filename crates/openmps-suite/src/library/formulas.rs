//! Checks of functions that the library composes of AIR's and of plain arithmetic, against formulas: common, geometric and
//! relational functions, integer functions without a row, packing, `as_type`.

use openmps_air::element::{Element, F16, F32, Format as _, Sign, low_bits};

use super::{Check, Expectation, Part, Scalar, Tolerance};
use crate::machine::Random;

/// Every such check.
#[must_use]
pub fn checks(random: &mut Random) -> Vec<Check> {
    let mut checks = Vec::new();
    for scalar in [Scalar::FLOAT, Scalar::HALF] {
        for lanes in 1..=4 {
            common(Part { scalar, lanes }, &mut checks);
            relational(Part { scalar, lanes }, &mut checks);
            if lanes > 1 {
                geometric(Part { scalar, lanes }, &mut checks);
            }
        }
        cross(Part { scalar, lanes: 3 }, &mut checks);
    }
    for element in [Element::I8, Element::I16, Element::I32, Element::I64] {
        for sign in [Sign::Signed, Sign::Unsigned] {
            for lanes in 1..=4 {
                integers(Part { scalar: Scalar { element, sign: Some(sign) }, lanes }, random, &mut checks);
            }
        }
    }
    truths(&mut checks);
    packing(&mut checks);
    bit_casts(&mut checks);
    checks
}

/// A number of a float type.
fn decode(scalar: Scalar, bits: u64) -> f64 {
    if scalar.element == Element::F16 { F16::decode(bits) } else { F32::decode(bits) }
}

fn encode(scalar: Scalar, value: f64) -> u64 {
    if scalar.element == Element::F16 { F16::encode(value) } else { F32::encode(value) }
}

/// A few roundings of numbers of order 1 to 100 in the type.
fn roundings(scalar: Scalar) -> Tolerance {
    Tolerance::Distance(if scalar.element == Element::F16 { 4e-2 } else { 1e-5 })
}

const EXACT: Tolerance = Tolerance::Ulps(0.0);

/// A check of one thread's words, with the operands' components as given and any random floats.
fn check(
    body: String,
    operands: Vec<Part>,
    result: Part,
    tolerance: Tolerance,
    expected: impl Fn(&[u64]) -> Vec<u64> + 'static,
) -> Check {
    let types: Vec<String> = operands.iter().map(|part| part.name()).collect();
    Check {
        name: format!("{body} of {}", types.join(", ")),
        body,
        operands,
        results: vec![result],
        expectation: Expectation::Thread(Box::new(expected)),
        tolerance,
        repair: |_| (),
        magnitude: f64::INFINITY,
    }
}

/// A check of floats whose components are computed alone.
fn componentwise(
    body: &str,
    part: Part,
    count: usize,
    tolerance: Tolerance,
    function: impl Fn(&[f64]) -> f64 + 'static,
) -> Check {
    let lanes = part.lanes as usize;
    let expected = move |words: &[u64]| {
        let component = |lane: usize| {
            let values: Vec<f64> =
                (0..count).map(|operand| decode(part.scalar, words[operand * lanes + lane])).collect();
            encode(part.scalar, function(&values))
        };
        (0..lanes).map(component).collect()
    };
    check(body.to_owned(), vec![part; count], part, tolerance, expected)
}

fn larger(x: f64, y: f64) -> f64 {
    if x.is_nan() || x < y { y } else { x }
}

fn smaller(x: f64, y: f64) -> f64 {
    -larger(-x, -y)
}

fn common(part: Part, checks: &mut Vec<Check>) {
    let close = roundings(part.scalar);
    let small = |mut check: Check| {
        check.magnitude = 4.0;
        check
    };
    checks.extend([
        small(componentwise("mix(a0, a1, a2)", part, 3, close, |v| v[0] + (v[1] - v[0]) * v[2])),
        componentwise("step(a0, a1)", part, 2, EXACT, |v| if v[1] < v[0] { 0.0 } else { 1.0 }),
        componentwise("sign(a0)", part, 1, EXACT, |v| {
            if v[0].is_nan() {
                0.0
            } else if v[0] == 0.0 {
                v[0]
            } else {
                v[0].signum()
            }
        }),
        small(componentwise("smoothstep(-abs(a0) - 1, abs(a1) + 1, a2)", part, 3, close, |v| {
            let (low, high) = (-v[0].abs() - 1.0, v[1].abs() + 1.0);
            let t = ((v[2] - low) / (high - low)).clamp(0.0, 1.0);
            t * t * (3.0 - 2.0 * t)
        })),
        componentwise("divide(a0, a1)", part, 2, EXACT, |v| v[0] / v[1]),
        componentwise("abs(a0)", part, 1, EXACT, |v| v[0].abs()),
        componentwise("max(a0, a1)", part, 2, EXACT, |v| larger(v[0], v[1])),
        componentwise("min(a0, a1)", part, 2, EXACT, |v| smaller(v[0], v[1])),
        componentwise("max3(a0, a1, a2)", part, 3, EXACT, |v| larger(v[0], larger(v[1], v[2]))),
        componentwise("min3(a0, a1, a2)", part, 3, EXACT, |v| smaller(v[0], smaller(v[1], v[2]))),
        small(componentwise("median3(a0, a1, a2)", part, 3, EXACT, |v| {
            larger(smaller(v[0], v[1]), smaller(larger(v[0], v[1]), v[2]))
        })),
    ]);
}

/// A check of vectors as a whole.
fn vectors(
    body: &str,
    part: Part,
    count: usize,
    result_lanes: u32,
    function: impl Fn(&[Vec<f64>]) -> Vec<f64> + 'static,
) -> Check {
    let lanes = part.lanes as usize;
    let expected = move |words: &[u64]| {
        let vectors: Vec<Vec<f64>> =
            words.chunks(lanes).map(|words| words.iter().map(|word| decode(part.scalar, *word)).collect()).collect();
        function(&vectors).into_iter().map(|value| encode(part.scalar, value)).collect()
    };
    let result = Part { scalar: part.scalar, lanes: result_lanes };
    let mut check = check(body.to_owned(), vec![part; count], result, roundings(part.scalar), expected);
    check.magnitude = 4.0;
    check
}

fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

fn difference(x: &[f64], y: &[f64]) -> Vec<f64> {
    x.iter().zip(y).map(|(x, y)| x - y).collect()
}

fn unit(x: &[f64]) -> Vec<f64> {
    let length = dot(x, x).sqrt();
    x.iter().map(|x| x / length).collect()
}

fn geometric(part: Part, checks: &mut Vec<Check>) {
    let lanes = part.lanes;
    checks.extend([
        vectors("length(a0)", part, 1, 1, |v| vec![dot(&v[0], &v[0]).sqrt()]),
        vectors("length_squared(a0)", part, 1, 1, |v| vec![dot(&v[0], &v[0])]),
        vectors("distance(a0, a1)", part, 2, 1, |v| {
            let difference = difference(&v[0], &v[1]);
            vec![dot(&difference, &difference).sqrt()]
        }),
        vectors("distance_squared(a0, a1)", part, 2, 1, |v| {
            let difference = difference(&v[0], &v[1]);
            vec![dot(&difference, &difference)]
        }),
        // One added, so that no vector is too short for its direction to be known.
        vectors("normalize(abs(a0) + 1)", part, 1, lanes, |v| {
            unit(&v[0].iter().map(|x| x.abs() + 1.0).collect::<Vec<f64>>())
        }),
        vectors("faceforward(a0, abs(a1) + 1, -abs(a0) - 1)", part, 2, lanes, |v| v[0].clone()),
        vectors("faceforward(a0, abs(a1) + 1, abs(a0) + 1)", part, 2, lanes, |v| v[0].iter().map(|x| -x).collect()),
        vectors("reflect(a0 / 4, a1 / 4)", part, 2, lanes, |v| {
            let (incident, normal): (Vec<f64>, Vec<f64>) =
                v[0].iter().zip(&v[1]).map(|(x, y)| (x / 4.0, y / 4.0)).unzip();
            let twice = 2.0 * dot(&normal, &incident);
            incident.iter().zip(&normal).map(|(i, n)| i - n * twice).collect()
        }),
        vectors("refract(normalize(abs(a0) + 1), -normalize(abs(a1) + 1), 0.5h)", part, 2, lanes, |v| {
            let direction = |v: &[f64]| unit(&v.iter().map(|x| x.abs() + 1.0).collect::<Vec<f64>>());
            let incident = direction(&v[0]);
            let normal: Vec<f64> = direction(&v[1]).iter().map(|x| -x).collect();
            let along = dot(&normal, &incident);
            let rest = (1.0 - 0.25 * (1.0 - along * along)).sqrt();
            incident.iter().zip(&normal).map(|(i, n)| 0.5 * i - (0.5 * along + rest) * n).collect()
        }),
    ]);
}

fn cross(part: Part, checks: &mut Vec<Check>) {
    checks.push(vectors("cross(a0, a1)", part, 2, 3, |v| {
        let (x, y) = (&v[0], &v[1]);
        vec![x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], x[0] * y[1] - x[1] * y[0]]
    }));
}

/// A predicate of one or two floats, for each component.
fn predicate(name: &str, part: Part, count: usize, function: fn(&[f64], u64) -> bool) -> Check {
    let lanes = part.lanes as usize;
    let arguments = if count == 1 { "a0" } else { "a0, a1" };
    let sign_bit = 1_u64 << (part.scalar.element.bits() - 1);
    let expected = move |words: &[u64]| {
        let truth = |lane: usize| {
            let values: Vec<f64> =
                (0..count).map(|operand| decode(part.scalar, words[operand * lanes + lane])).collect();
            u64::from(function(&values, words[lane] & sign_bit))
        };
        (0..lanes).map(truth).collect()
    };
    let result = Part { scalar: Scalar::BOOL, lanes: part.lanes };
    check(format!("{name}({arguments})"), vec![part; count], result, EXACT, expected)
}

fn relational(part: Part, checks: &mut Vec<Check>) {
    checks.extend([
        predicate("isnan", part, 1, |v, _| v[0].is_nan()),
        predicate("isinf", part, 1, |v, _| v[0].is_infinite()),
        predicate("isfinite", part, 1, |v, _| v[0].is_finite()),
        // Random operands have no subnormal numbers.
        predicate("isnormal", part, 1, |v, _| v[0].is_finite() && v[0] != 0.0),
        predicate("signbit", part, 1, |_, sign| sign != 0),
        predicate("isordered", part, 2, |v, _| !v[0].is_nan() && !v[1].is_nan()),
        predicate("isunordered", part, 2, |v, _| v[0].is_nan() || v[1].is_nan()),
    ]);
    let lanes = part.lanes as usize;
    let truth = Part { scalar: Scalar::BOOL, lanes: part.lanes };
    let expected = move |words: &[u64]| {
        let component = |lane: usize| words[if words[2 * lanes + lane] == 1 { lanes + lane } else { lane }];
        (0..lanes).map(component).collect()
    };
    checks.push(check("select(a0, a1, a2)".to_owned(), vec![part, part, truth], part, EXACT, expected));
}

fn truths(checks: &mut Vec<Check>) {
    for lanes in 1..=4 {
        let (part, result) = (Part { scalar: Scalar::BOOL, lanes }, Part { scalar: Scalar::BOOL, lanes: 1 });
        let all = |words: &[u64]| vec![u64::from(words.iter().all(|word| *word == 1))];
        let any = |words: &[u64]| vec![u64::from(words.contains(&1))];
        checks.push(check("all(a0)".to_owned(), vec![part], result, EXACT, all));
        checks.push(check("any(a0)".to_owned(), vec![part], result, EXACT, any));
    }
}

/// The number with this bit pattern.
fn number(scalar: Scalar, bits: u64) -> i128 {
    let width = scalar.element.bits();
    let value = i128::from(low_bits(bits, width));
    if scalar.sign == Some(Sign::Signed) && value >> (width - 1) == 1 { value - (1 << width) } else { value }
}

/// The bit pattern of a number modulo the type.
fn pattern(scalar: Scalar, value: i128) -> u64 {
    let bits = value & ((1 << scalar.element.bits()) - 1);
    u64::try_from(bits).expect("masked to at most 64 bits")
}

fn saturated(scalar: Scalar, value: i128) -> i128 {
    let width = scalar.element.bits();
    if scalar.sign == Some(Sign::Signed) {
        value.clamp(-(1 << (width - 1)), (1 << (width - 1)) - 1)
    } else {
        value.clamp(0, (1 << width) - 1)
    }
}

fn integers_of(body: &str, part: Part, count: usize, function: impl Fn(Scalar, &[i128]) -> i128 + 'static) -> Check {
    let lanes = part.lanes as usize;
    let expected = move |words: &[u64]| {
        let component = |lane: usize| {
            let values: Vec<i128> =
                (0..count).map(|operand| number(part.scalar, words[operand * lanes + lane])).collect();
            pattern(part.scalar, function(part.scalar, &values))
        };
        (0..lanes).map(component).collect()
    };
    check(body.to_owned(), vec![part; count], part, EXACT, expected)
}

/// The product's upper half. Two unsigned 64-bit numbers have a product of up to 128 bits.
fn upper(scalar: Scalar, x: i128, y: i128) -> i128 {
    let width = scalar.element.bits();
    match x.checked_mul(y) {
        Some(product) => product >> width,
        None => i128::try_from(x.cast_unsigned().wrapping_mul(y.cast_unsigned()) >> width).expect("64 bits"),
    }
}

fn integers(part: Part, random: &mut Random, checks: &mut Vec<Check>) {
    let width = part.scalar.element.bits();
    let median = |v: &[i128]| v[0].min(v[1]).max(v[0].max(v[1]).min(v[2]));
    checks.extend([
        integers_of("min3(a0, a1, a2)", part, 3, |_, v| v[0].min(v[1]).min(v[2])),
        integers_of("max3(a0, a1, a2)", part, 3, |_, v| v[0].max(v[1]).max(v[2])),
        integers_of("median3(a0, a1, a2)", part, 3, move |_, v| median(v)),
        integers_of("madhi(a0, a1, a2)", part, 3, |ty, v| upper(ty, v[0], v[1]) + v[2]),
        integers_of("madsat(a0, a1, a2)", part, 3, |ty, v| {
            saturated(ty, v[0].saturating_mul(v[1]).saturating_add(v[2]))
        }),
    ]);
    let count = 1 + random.below(width);
    let offset = random.below(width - count + 1);
    let mask = low_bits(u64::MAX, count);
    checks.push(integers_of(&format!("extract_bits(a0, {offset}, {count})"), part, 1, move |ty, v| {
        let field = i128::from(pattern(ty, v[0]) >> offset & mask);
        let is_negative = ty.sign == Some(Sign::Signed) && field >> (count - 1) == 1;
        if is_negative { field - (1 << count) } else { field }
    }));
    checks.push(integers_of(&format!("insert_bits(a0, a1, {offset}, {count})"), part, 2, move |ty, v| {
        let (base, insert) = (pattern(ty, v[0]), pattern(ty, v[1]));
        i128::from(base & !(mask << offset) | (insert & mask) << offset)
    }));
    if part.scalar.element == Element::I32 {
        let low = |ty: Scalar, value: i128| {
            let bits = low_bits(pattern(ty, value), 24);
            let is_negative = ty.sign == Some(Sign::Signed) && bits >> 23 == 1;
            if is_negative { i128::from(bits) - (1 << 24) } else { i128::from(bits) }
        };
        checks.push(integers_of("mul24(a0, a1)", part, 2, move |ty, v| low(ty, v[0]) * low(ty, v[1])));
        checks.push(integers_of("mad24(a0, a1, a2)", part, 3, move |ty, v| low(ty, v[0]) * low(ty, v[1]) + v[2]));
    }
}

/// A packed format: name, bits of each component from the lowest, whether they are signed, whether sRGB, and the word's type.
struct Packed {
    name: &'static str,
    unpacked_name: &'static str,
    fields: &'static [u32],
    is_signed: bool,
    is_srgb: bool,
    word: Scalar,
}

const USHORT: Scalar = Scalar { element: Element::I16, sign: Some(Sign::Unsigned) };

/// MSL tables 6.23 and 6.24.
const PACKED: [Packed; 7] = [
    Packed {
        name: "unorm4x8",
        unpacked_name: "unorm4x8",
        fields: &[8, 8, 8, 8],
        is_signed: false,
        is_srgb: false,
        word: Scalar::UINT,
    },
    Packed {
        name: "snorm4x8",
        unpacked_name: "snorm4x8",
        fields: &[8, 8, 8, 8],
        is_signed: true,
        is_srgb: false,
        word: Scalar::UINT,
    },
    Packed {
        name: "srgb_unorm4x8",
        unpacked_name: "unorm4x8_srgb",
        fields: &[8, 8, 8, 8],
        is_signed: false,
        is_srgb: true,
        word: Scalar::UINT,
    },
    Packed {
        name: "unorm2x16",
        unpacked_name: "unorm2x16",
        fields: &[16, 16],
        is_signed: false,
        is_srgb: false,
        word: Scalar::UINT,
    },
    Packed {
        name: "snorm2x16",
        unpacked_name: "snorm2x16",
        fields: &[16, 16],
        is_signed: true,
        is_srgb: false,
        word: Scalar::UINT,
    },
    Packed {
        name: "unorm10a2",
        unpacked_name: "unorm10a2",
        fields: &[10, 10, 10, 2],
        is_signed: false,
        is_srgb: false,
        word: Scalar::UINT,
    },
    Packed {
        name: "unorm565",
        unpacked_name: "unorm565",
        fields: &[5, 6, 5],
        is_signed: false,
        is_srgb: false,
        word: USHORT,
    },
];

impl Packed {
    /// The place of component `index`; of 565 the first is the highest.
    fn shift(&self, index: usize) -> u32 {
        if self.fields.len() == 3 { [11, 5, 0][index] } else { self.fields[..index].iter().sum() }
    }

    /// The component's value for a field of all ones, or of the largest positive number.
    fn scale(&self, index: usize) -> f64 {
        2f64.powi(self.fields[index].cast_signed() - i32::from(self.is_signed)) - 1.0
    }

    fn has_curve(&self, index: usize) -> bool {
        self.is_srgb && index < 3
    }

    fn unpack(&self, word: u64) -> Vec<f64> {
        let component = |index: usize| {
            let bits = self.fields[index];
            let raw = low_bits(word >> self.shift(index), bits);
            let is_negative = self.is_signed && raw >> (bits - 1) == 1;
            #[expect(clippy::cast_precision_loss, reason = "at most 16 bits")]
            let value = if is_negative { raw as f64 - 2f64.powi(bits.cast_signed()) } else { raw as f64 };
            let value = (value / self.scale(index)).max(-1.0);
            if !self.has_curve(index) {
                value
            } else if value <= 0.04045 {
                value / 12.92
            } else {
                ((value + 0.055) / 1.055).powf(2.4)
            }
        };
        (0..self.fields.len()).map(component).collect()
    }
}

fn packing(checks: &mut Vec<Check>) {
    for format in &PACKED {
        let lanes = u32::try_from(format.fields.len()).expect("at most 4");
        let word = Part { scalar: format.word, lanes: 1 };
        for scalar in [Scalar::FLOAT, Scalar::HALF] {
            let part = Part { scalar, lanes };
            let ty = scalar.name();
            let body = format!("unpack_{}_to_{ty}(a0)", format.unpacked_name);
            let expected =
                move |words: &[u64]| format.unpack(words[0]).into_iter().map(|value| encode(scalar, value)).collect();
            let close = Tolerance::Distance(if scalar.element == Element::F16 { 1e-3 } else { 1e-6 });
            checks.push(check(body, vec![word], part, close, expected));
            // Packing what was unpacked gives the word back, but for the least signed number, of which there are two.
            let precise = scalar.element == Element::F32 || format.fields.iter().all(|bits| *bits <= 8);
            if precise && !format.is_signed && !format.is_srgb {
                let body = format!("pack_{ty}_to_{}(unpack_{}_to_{ty}(a0))", format.name, format.unpacked_name);
                checks.push(check(body, vec![word], word, EXACT, |words| words.to_vec()));
            }
            checks.push(packed_of_floats(format, part));
        }
    }
}

/// Packing clamps, scales and rounds to even; the word is unpacked by this file's formula and compared by value.
fn packed_of_floats(format: &'static Packed, part: Part) -> Check {
    let scalar = part.scalar;
    let ty = scalar.name();
    let body = format!("unpack_{}_to_float(pack_{ty}_to_{}(a0))", format.unpacked_name, format.name);
    let expected = move |words: &[u64]| {
        let clamp = |word: &u64| decode(scalar, *word).clamp(if format.is_signed { -1.0 } else { 0.0 }, 1.0);
        words.iter().map(clamp).map(F32::encode).collect()
    };
    let result = Part { scalar: Scalar::FLOAT, lanes: part.lanes };
    // Half a step of the coarsest field; a curve is steeper.
    let step = format.fields.iter().map(|bits| 2f64.powi(-bits.cast_signed())).fold(0.0, f64::max);
    let mut check = check(body, vec![part], result, Tolerance::Distance(step * 1.3), expected);
    check.magnitude = 2.0;
    check
}

/// Casts between types of one size keep the bits.
fn bit_casts(checks: &mut Vec<Check>) {
    let vector = |scalar, lanes| Part { scalar, lanes };
    let uchar = Scalar { element: Element::I8, sign: Some(Sign::Unsigned) };
    let long = Scalar { element: Element::I64, sign: Some(Sign::Signed) };
    let pairs = [
        (vector(Scalar::FLOAT, 1), vector(Scalar::UINT, 1)),
        (vector(Scalar::UINT, 1), vector(Scalar::FLOAT, 1)),
        (vector(Scalar::HALF, 2), vector(Scalar::UINT, 1)),
        (vector(Scalar::UINT, 1), vector(Scalar::HALF, 2)),
        (vector(Scalar::FLOAT, 1), vector(uchar, 4)),
        (vector(uchar, 4), vector(Scalar::UINT, 1)),
        (vector(long, 1), vector(Scalar::FLOAT, 2)),
        (vector(Scalar::FLOAT, 4), vector(long, 2)),
        (vector(Scalar::HALF, 4), vector(long, 1)),
        (vector(USHORT, 1), vector(Scalar::HALF, 1)),
    ];
    for (from, to) in pairs {
        let (source, target) = (from.scalar.element.bits(), to.scalar.element.bits());
        let expected = move |words: &[u64]| {
            let joined = words.iter().rev().fold(0_u128, |all, word| all << source | u128::from(*word));
            let word = |index: u32| u64::try_from(joined >> (index * target) & ((1 << target) - 1)).expect("64 bits");
            (0..to.lanes).map(word).collect()
        };
        checks.push(check(format!("as_type<{}>(a0)", to.name()), vec![from], to, Tolerance::Ulps(0.0), expected));
    }
}
