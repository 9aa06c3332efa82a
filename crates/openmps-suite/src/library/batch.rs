//! Many checks in one source text and few kernels: generates the text, random operands, and compares.
//!
//! Every thread reads its operands as 64-bit words from a buffer of each check's own, and writes results likewise.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use openmps_air::element::{Bf16, Element, F16, F32, Format as _, low_bits};
use openmps_engine::CompileOptions;

use super::{Check, Expectation, Inputs, Part, reached};
use crate::machine::{Launch, Program, Random};

/// Threads of a launch: two threadgroups, each of two full SIMD-groups and one of eleven threads, which ends inside a quad-group.
pub const THREADS: usize = 150;
/// Threads of a threadgroup.
pub const GROUP: usize = 75;

/// Checks of one kernel. More make a kernel that takes long to compile; fewer, many kernels.
const CHECKS_PER_KERNEL: usize = 24;

/// What a batch found.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Results that are wrong, the first of each check.
    pub failures: Vec<String>,
    /// Rows of the intrinsic table that the source calls.
    pub rows: BTreeSet<u32>,
}

const PRELUDE: &str = "#include <metal_stdlib>
using namespace metal;
template <class T> struct word { 
  static T get(ulong w) { return T(w); }
  static ulong put(T v) { return ulong(make_unsigned_t<T>(v)); }
};
template <> struct word<bool> { static bool get(ulong w) { return w & 1; } static ulong put(bool v) { return v; } };
template <> struct word<float> {
  static float get(ulong w) { return as_type<float>(uint(w)); }
  static ulong put(float v) { return as_type<uint>(v); }
};
template <> struct word<half> {
  static half get(ulong w) { return as_type<half>(ushort(w)); }
  static ulong put(half v) { return as_type<ushort>(v); }
};
template <> struct word<bfloat> {
  static bfloat get(ulong w) { return as_type<bfloat>(ushort(w)); }
  static ulong put(bfloat v) { return as_type<ushort>(v); }
};
template <class T> struct read_as { static T from(device const ulong* w) { return word<T>::get(w[0]); } };
template <class T, int N> struct read_as<vec<T, N>> {
  static vec<T, N> from(device const ulong* w) {
    vec<T, N> r;
    for (int i = 0; i < N; i++) r[i] = word<T>::get(w[i]);
    return r;
  }
};
template <class T> void write_to(device ulong* w, T v) { w[0] = word<T>::put(v); }
template <class T, int N> void write_to(device ulong* w, vec<T, N> v) {
  for (int i = 0; i < N; i++) w[i] = word<T>::put(v[i]);
}
";

fn words(parts: &[Part]) -> usize {
    parts.iter().map(|part| part.lanes as usize).sum()
}

/// The text of one kernel for `checks`; offsets are those of each check's region in the buffers.
fn kernel(number: usize, checks: &[Check], offsets: &[(usize, usize)]) -> String {
    let mut text = format!(
        "kernel void k{number}(device ulong* out, device const ulong* in, uint i [[thread_position_in_grid]]) {{\n"
    );
    for (check, (input, output)) in checks.iter().zip(offsets) {
        let (stride, width) = (words(&check.operands), words(&check.results));
        let _ = writeln!(text, "  {{\n    device const ulong* w = in + {input} + i * {stride};");
        let _ = writeln!(text, "    device ulong* o = out + {output} + i * {width};");
        let mut at = 0;
        for (index, part) in check.operands.iter().enumerate() {
            let _ = writeln!(text, "    const {0} a{index} = read_as<{0}>::from(w + {at});", part.name());
            at += part.lanes as usize;
        }
        if let [result] = check.results.as_slice() {
            let _ = writeln!(text, "    const {} r0 = {};", result.name(), check.body);
        } else {
            let _ = writeln!(text, "    {}", check.body);
        }
        let mut at = 0;
        for (index, part) in check.results.iter().enumerate() {
            let _ = writeln!(text, "    write_to<{}>(o + {at}, r{index});", template_arguments(*part));
            at += part.lanes as usize;
        }
        text.push_str("  }\n");
    }
    text.push_str("}\n");
    text
}

/// Template arguments of `write_to` for a part, so that a result converts to the type that the check names.
fn template_arguments(part: Part) -> String {
    if part.lanes == 1 { part.scalar.name().to_owned() } else { format!("{}, {}", part.scalar.name(), part.lanes) }
}

/// Compiles and runs `checks` on random operands.
///
/// # Panics
/// When a source does not compile or run.
#[must_use]
pub fn run(checks: &[Check], random: &mut Random) -> Outcome {
    let inputs: Vec<Vec<Vec<u64>>> = checks.iter().map(|check| operands(check, random)).collect();
    let mut text = PRELUDE.to_owned();
    let (mut input, mut output) = (Vec::new(), 0);
    let mut regions = Vec::new();
    for (check, threads) in checks.iter().zip(&inputs) {
        regions.push((input.len(), output));
        input.extend(threads.iter().flatten());
        output += THREADS * words(&check.results);
    }
    let kernels = checks.chunks(CHECKS_PER_KERNEL).zip(regions.chunks(CHECKS_PER_KERNEL));
    for (number, (checks, regions)) in kernels.enumerate() {
        text.push_str(&kernel(number, checks, regions));
    }
    let program = Program::new(&text, &CompileOptions::default());
    // A buffer that nothing reads still has an address.
    input.push(0);
    let mut out = vec![0_u64; output + 1];
    for number in 0..checks.len().div_ceil(CHECKS_PER_KERNEL) {
        let threads = u32::try_from(THREADS).expect("150");
        let launch = Launch::new().buffer(&mut out).buffer(&mut input);
        launch.run(program.kernel(&format!("k{number}")).as_ref(), threads, u32::try_from(GROUP).expect("75"));
    }
    let mut outcome = Outcome { failures: Vec::new(), rows: reached(&program) };
    for ((check, threads), (_, output)) in checks.iter().zip(&inputs).zip(&regions) {
        let width = words(&check.results);
        outcome.failures.extend(first_failure(check, threads, &out[*output..][..THREADS * width]));
    }
    outcome
}

/// Random operands for every thread.
fn operands(check: &Check, random: &mut Random) -> Vec<Vec<u64>> {
    let one = |random: &mut Random| {
        let mut words = Vec::new();
        for part in &check.operands {
            for _ in 0..part.lanes {
                words.push(random_word(random, part.scalar.element, check.magnitude));
            }
        }
        (check.repair)(&mut words);
        words
    };
    (0..THREADS).map(|_| one(random)).collect()
}

/// A corner value now and then, no subnormal numbers of float and bfloat (kernels flush them).
fn random_word(random: &mut Random, element: Element, magnitude: f64) -> u64 {
    const CORNERS: [f64; 10] = [0.0, -0.0, 1.0, -1.0, 0.5, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1e30, -3e-30];
    let is_corner = random.below(6) == 0;
    let mut float = || {
        let corner = CORNERS[random.below(10) as usize];
        if is_corner && (magnitude.is_infinite() || corner.abs() <= magnitude) {
            return corner;
        }
        let limit = if magnitude.is_infinite() { [4.0, 256.0, 1e6][random.below(3) as usize] } else { magnitude };
        random.between(-limit, limit)
    };
    match element {
        Element::F32 => F32::encode(float()),
        Element::F16 => F16::encode(float()),
        Element::Bf16 => Bf16::encode(float()),
        Element::I1 => random.bits() & 1,
        Element::I8 | Element::I16 | Element::I32 | Element::I64 => {
            let ones = low_bits(u64::MAX, element.bits());
            let corners = [0, 1, ones, ones >> 1, (ones >> 1) + 1];
            let value = if is_corner { corners[random.below(5) as usize] } else { random.bits() };
            if random.below(3) == 0 { value & 0xff & ones } else { value & ones }
        }
    }
}

fn first_failure(check: &Check, threads: &[Vec<u64>], got: &[u64]) -> Option<String> {
    let width = words(&check.results);
    let scalars: Vec<_> = check.results.iter().flat_map(|part| (0..part.lanes).map(|_| part.scalar)).collect();
    (0..THREADS).find_map(|thread| {
        let expected = match &check.expectation {
            Expectation::Thread(function) => function(&threads[thread]),
            Expectation::Group(function) => function(Inputs { words: threads, group: GROUP }, thread),
        };
        assert_eq!(expected.len(), width, "{}: the reference has as many words as the result", check.name);
        let got = &got[thread * width..][..width];
        let is_right = got
            .iter()
            .zip(&expected)
            .zip(&scalars)
            .all(|((got, expected), scalar)| check.tolerance.admits(*scalar, *got, *expected));
        let given = &threads[thread];
        (!is_right).then(|| format!("{}: {got:x?} instead of {expected:x?}, operands {given:x?}", check.name))
    })
}
