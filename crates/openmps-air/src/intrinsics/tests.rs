//! The table as a whole: names, signatures, and each reference against an independent formula.
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "expected values are made by the machine's own conversions of bit patterns"
)]

use std::collections::BTreeSet;

use openmps_engine::AddressSpace;

use super::*;
use crate::element::{Bf16, F16, F32, Format};

mod conversions;
mod floats;
mod integers;
mod lanes;

/// A generator with a printed seed (SplitMix64, Steele and others 2014).
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new() -> Self {
        let seed = std::time::UNIX_EPOCH.elapsed().unwrap().as_nanos() as u64;
        println!("seed {seed:#x}");
        Self(seed)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }
}

pub(super) fn reference(name: &str) -> Reference {
    lookup(name).unwrap_or_else(|| panic!("{name} is in the table")).row.reference
}

pub(super) fn unary(name: &str) -> fn(u64) -> u64 {
    let Reference::Unary(function) = reference(name) else { panic!("{name} is unary") };
    function
}

pub(super) fn binary(name: &str) -> fn(u64, u64) -> u64 {
    let Reference::Binary(function) = reference(name) else { panic!("{name} is binary") };
    function
}

pub(super) fn ternary(name: &str) -> fn(u64, u64, u64) -> u64 {
    let Reference::Ternary(function) = reference(name) else { panic!("{name} is ternary") };
    function
}

#[test]
fn every_function_that_apple_compiled_libraries_call_is_known_with_its_signature() {
    let mut count = 0;
    for line in include_str!("apple_signatures.txt").lines().filter(|line| !line.starts_with('#')) {
        let (name, signature) = line.split_once(' ').unwrap();
        let resolved = lookup(name).unwrap_or_else(|| panic!("{name} is unknown"));
        let known: Vec<String> =
            resolved.row.signatures.iter().map(|signature| spell(signature, resolved.lanes)).collect();
        assert!(known.iter().any(|known| known == signature), "{name}: {signature} is not among {known:?}");
        count += 1;
    }
    assert_eq!(count, 370, "functions in the list");
}

/// A signature in the words of the list.
fn spell(signature: &Signature, lanes: u32) -> String {
    let slot = |slot: &Slot| match *slot {
        Slot::Void => "void".to_owned(),
        Slot::Pointer(AddressSpace::Thread) => "ptr".to_owned(),
        Slot::Pointer(space) => format!("ptr{}", space as u32),
        Slot::Lifted(element) if lanes > 1 => format!("<{lanes} x {element}>"),
        Slot::Lifted(element) | Slot::Scalar(element) => element.to_string(),
        Slot::Vector(element, lanes) | Slot::WithStatus(element, lanes) => format!("<{lanes} x {element}>"),
    };
    let operands: Vec<String> = signature.operands.iter().map(slot).collect();
    format!("{} ({})", slot(&signature.result), operands.join(", "))
}

#[test]
fn rows_are_found_by_name_and_by_index() {
    for row in rows() {
        assert_eq!(super::row(row.index).unwrap().name, row.name);
        match lookup(&row.name) {
            Some(resolved) => assert_eq!((resolved.row.index, resolved.lanes), (row.index, 1)),
            None => assert_eq!(row.lift, Lift::Horizontal, "{}", row.name),
        }
    }
    assert!(super::row(u32::MAX).is_none());
    let names: BTreeSet<&str> = rows().iter().map(|row| row.name.as_str()).collect();
    assert_eq!(names.len(), rows().len());
}

#[test]
fn vector_forms_resolve_to_the_scalar_row() {
    let check = |name: &str, row: &str, lanes: u32| {
        let resolved = lookup(name).unwrap_or_else(|| panic!("{name} is known"));
        assert_eq!((resolved.row.name.as_str(), resolved.lanes), (row, lanes));
    };
    check("air.fast_exp2.v2f32", "air.fast_exp2.f32", 2);
    check("air.simd_shuffle.u.v2i32", "air.simd_shuffle.u.i32", 2);
    check("air.convert.f.v4bf16.f.v4f32", "air.convert.f.bf16.f.f32", 4);
    check("air.dot.v3f16", "air.dot.f16", 3);
    check("air.all.v4i1", "air.all.i1", 4);
    for unknown in [
        "air.dot.f32",
        "air.exp.v5f32",
        "air.exp.v2f64",
        "air.exp",
        "air.convert.f.v4f16.f.v2f32",
        "air.simd_ballot.v2i64",
        "air.atomic.global.load.v2i32",
        "air.wg.barrier.v2i32",
        "exp.f32",
        "",
    ] {
        assert!(lookup(unknown).is_none(), "{unknown}");
    }
}

#[test]
fn effects_and_convergence_are_those_of_apples_declarations() {
    let check = |name: &str, effects: Effects, convergent: bool| {
        let row = lookup(name).unwrap().row;
        assert_eq!((row.effects, row.convergent), (effects, convergent), "{name}");
    };
    check("air.exp.f32", Effects::Pure, false);
    check("air.convert.f.f32.s.i32", Effects::Pure, false);
    check("air.get_simdgroup_size.i32", Effects::Pure, false);
    check("air.sincos.f32", Effects::ArgumentMemory, false);
    check("air.atomic.local.add.u.i32", Effects::ArgumentMemory, false);
    check("air.simd_sum.f32", Effects::Memory, true);
    check("air.wg.barrier", Effects::Memory, true);
    check("air.atomic.fence", Effects::Memory, false);
    check("air.simdgroup_matrix_8x8_init_filled.v64f32.f32", Effects::Memory, true);
}

#[test]
fn the_fingerprint_is_that_of_these_names() {
    // FNV-1a by hand over the first row, then compared through the whole table's length: a changed table changes both.
    let by_hand = rows().iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, row| {
        row.name
            .bytes()
            .chain(std::iter::once(0))
            .fold(hash, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
    });
    assert_eq!(fingerprint(), by_hand);
}

#[test]
fn matrix_lanes_cover_the_matrix_once() {
    let mut seen = BTreeSet::new();
    for lane in 0..32 {
        let (row, column) = matrix::position(lane);
        seen.extend([(row, column), (row, column + 1)]);
    }
    let all: BTreeSet<(u32, u32)> = (0..8).flat_map(|row| (0..8).map(move |column| (row, column))).collect();
    assert_eq!(seen, all);
    assert_eq!([0, 1, 2, 8, 16, 31].map(matrix::position), [(0, 0), (0, 2), (1, 0), (0, 4), (4, 0), (7, 6)]);
}

/// Bit patterns worth trying in every format: zeros, the least and the largest subnormal and normal numbers, one and its
/// neighbours, infinities, NaN.
pub(super) fn corners<F: Format>() -> Vec<u64> {
    let one = F::encode(1.0);
    let least_normal = 1 << F::FRACTION_BITS;
    let magnitudes = [
        0,
        1,
        least_normal - 1,
        least_normal,
        F::encode(0.5),
        one - 1,
        one,
        one + 1,
        F::encode(1.5),
        F::encode(2.0),
        F::encode(2.5),
        F::encode(100.0),
        F::INFINITY - 1,
        F::INFINITY,
        F::NAN,
    ];
    magnitudes.into_iter().flat_map(|bits| [bits, bits | F::SIGN_BIT]).collect()
}

#[test]
fn formats_decode_and_encode_every_pattern() {
    fn check<F: Format>() {
        for bits in 0..1 << 16 {
            let value = F::decode(bits);
            let expected = if value.is_nan() { F::NAN } else { bits };
            assert_eq!(F::encode(value), expected, "{} {bits:#x}", F::ELEMENT);
        }
    }
    check::<F16>();
    check::<Bf16>();
    assert_eq!([0x3c00, 0xc000, 0x7bff, 1].map(F16::decode), [1.0, -2.0, 65504.0, 2f64.powi(-24)]);
    for bits in 0..1 << 16 {
        let exact = f64::from(f32::from_bits(bits << 16));
        let decoded = Bf16::decode(u64::from(bits));
        assert!(decoded.is_nan() && exact.is_nan() || decoded.to_bits() == exact.to_bits(), "{bits:#x}");
    }
}

#[test]
fn encoding_rounds_to_nearest_even() {
    // f32 against the machine's own conversion; the 16-bit formats through f32 patterns around each boundary.
    let mut random = Random::new();
    for _ in 0..100_000 {
        let value = f64::from_bits(random.next() & !(0x7ff << 52) | (1023 - 160 + random.next() % 320) << 52);
        assert_eq!(F32::encode(value), u64::from((value as f32).to_bits()), "{value:e}");
    }
    let halfway = |below: u64| (F16::decode(below) + F16::decode(below + 1)) / 2.0;
    for bits in 0..0x7bff {
        let even = bits + (bits & 1);
        assert_eq!(F16::encode(halfway(bits)), even, "{bits:#x}");
        assert_eq!(F16::encode(halfway(bits) * (1.0 + 1e-12)), bits + 1, "{bits:#x}");
        assert_eq!(F16::encode(halfway(bits) * (1.0 - 1e-12)), bits, "{bits:#x}");
    }
    assert_eq!([65519.0, 65520.0, 1e300, -1e300].map(F16::encode), [0x7bff, 0x7c00, 0x7c00, 0xfc00]);
    assert_eq!([3.4e38, 3.39e38].map(Bf16::encode), [0x7f80, 0x7f7f]);
}
