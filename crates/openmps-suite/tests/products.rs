//! Products of matrices that kernels add to blocks of sums: the same bits as sums one by one, on both engines; of bfloat on the vector
//! engine those of the CPU's matrix unit.
#![expect(clippy::unwrap_used, reason = "tests: a failure shows the place")]

use std::fmt::Write as _;

use openmps_cpu::{CpuEngine, LlvmCodeGenerator};
use openmps_engine::{CompileOptions, EngineChoice, EngineOptions};
use openmps_suite::machine::{Launch, Program, Random};
use std::sync::Arc;

/// How a kernel is written.
#[derive(Clone, Copy)]
struct Style {
    /// Matrices below and beside each other.
    block: [usize; 2],
    /// Element type of the factors.
    ty: &'static str,
    /// Whether sums and factors are variables instead of arrays.
    unrolled: bool,
    /// Inner matrices that go through threadgroup memory together; 0 for none.
    staged: usize,
}

const HEAD: &str = "#include <metal_stdlib>\n#include <metal_simdgroup_matrix>\nusing namespace metal;\n";

/// The loops over a block, with `{i}` and `{j}` in the text.
fn each(style: Style, dimensions: &[usize], text: &str) -> String {
    let [rows, columns] = style.block;
    let mut all = String::new();
    let counts = [rows, columns];
    if !style.unrolled {
        for &dimension in dimensions {
            let name = ["i", "j"][dimension];
            write!(all, "for (uint {name} = 0; {name} < {}; {name}++) ", counts[dimension]).unwrap();
        }
        let index = |text: &str| text.replace("{ij}", "[i][j]").replace("{i}", "[i]").replace("{j}", "[j]");
        return all + &index(text).replace("{in}", "i").replace("{jn}", "j") + "\n";
    }
    let most = |dimension: usize| if dimensions.contains(&dimension) { counts[dimension] } else { 1 };
    for i in 0..most(0) {
        for j in 0..most(1) {
            let text = text.replace("{ij}", &format!("{i}_{j}")).replace("{i}", &i.to_string());
            let text = text.replace("{j}", &j.to_string()).replace("{in}", &i.to_string());
            all += &(text.replace("{jn}", &j.to_string()) + "\n");
        }
    }
    all
}

/// `sums` of one SIMD-group: y += a · b, of which b lies transposed.
fn source(style: Style) -> String {
    let Style { block: [rows, columns], ty, unrolled, staged } = style;
    let (height, width) = (8 * rows, 8 * columns);
    let matrix = format!("simdgroup_matrix<{ty}, 8, 8>");
    let sums = "simdgroup_matrix<float, 8, 8>";
    let declare = |ty: &str, name: &str, dimensions: &[usize], sizes: &str| match unrolled {
        true => each(
            style,
            dimensions,
            &format!(
                "{ty} {name}{};",
                ["{i}", "{j}", "{ij}"][dimensions.iter().sum::<usize>() + usize::from(dimensions.len() > 1)]
            ),
        ),
        false => format!("{ty} {name}{sizes};\n"),
    };
    let mut body = declare(sums, "sum", &[0, 1], &format!("[{rows}][{columns}]"));
    body +=
        &each(style, &[0, 1], &format!("simdgroup_load(sum{{ij}}, y + 8 * {{in}} * {width} + 8 * {{jn}}, {width});"));
    let (left, right) = (
        declare(&matrix, "left", &[0], &format!("[{rows}]")),
        declare(&matrix, "right", &[1], &format!("[{columns}]")),
    );
    let multiply = each(style, &[0, 1], "simdgroup_multiply_accumulate(sum{ij}, left{i}, right{j}, sum{ij});");
    if staged == 0 {
        body += &format!("for (uint k = 0; k < n; k += 8) {{\n{left}{right}");
        body += &each(style, &[0], "simdgroup_load(left{i}, a + 8 * {in} * n + k, n);");
        body += &each(style, &[1], "simdgroup_load(right{j}, b + 8 * {jn} * n + k, n, ulong2(0), true);");
        body += &(multiply + "}\n");
    } else {
        let depth = 8 * staged;
        body += &format!(
            "threadgroup {ty} s[{height} * {depth}], t[{depth} * {width}];\n\
             for (uint base = 0; base < n; base += {depth}) {{\n\
             threadgroup_barrier(mem_flags::mem_threadgroup);\n\
             for (uint p = lane; p < {height} * {depth}; p += 32) s[p] = a[p / {depth} * n + base + p % {depth}];\n\
             for (uint p = lane; p < {width} * {depth}; p += 32) t[p % {depth} * {width} + p / {depth}] = b[p / {depth} * n + base + p % {depth}];\n\
             threadgroup_barrier(mem_flags::mem_threadgroup);\n\
             for (uint k = 0; k < {depth}; k += 8) {{\n{left}{right}"
        );
        body += &each(style, &[0], &format!("simdgroup_load(left{{i}}, s + 8 * {{in}} * {depth} + k, {depth});"));
        body += &each(style, &[1], &format!("simdgroup_load(right{{j}}, t + k * {width} + 8 * {{jn}}, {width});"));
        body += &(multiply + "}\n}\n");
    }
    body +=
        &each(style, &[0, 1], &format!("simdgroup_store(sum{{ij}}, y + 8 * {{in}} * {width} + 8 * {{jn}}, {width});"));
    format!(
        "{HEAD}kernel void k(device float* y, device const {ty}* a, device const {ty}* b, constant uint& n, \
         uint lane [[thread_index_in_simdgroup]]) {{\n{body}}}\n"
    )
}

/// A number that every type has, and its bits in `ty`.
fn number(random: &mut Random, ty: &str) -> (f32, Vec<u8>) {
    #[expect(clippy::cast_possible_truncation, reason = "some number of this size is wanted")]
    let value = random.between(-2.0, 2.0) as f32;
    match ty {
        "float" => (value, value.to_bits().to_le_bytes().to_vec()),
        "bfloat" => {
            let high = value.to_bits() >> 16;
            (f32::from_bits(high << 16), high.to_le_bytes()[..2].to_vec())
        }
        _ => {
            // Ten bits behind the binary point are there in a half below 2.
            let short = (value * 1024.0).trunc() / 1024.0;
            (short, half_bits(short).to_le_bytes().to_vec())
        }
    }
}

/// A half of a number that has a place among its normal numbers, or is zero.
fn half_bits(value: f32) -> u16 {
    let bits = value.to_bits();
    let (sign, rest) = (bits >> 16 & 0x8000, bits & 0x7fff_ffff);
    let half = if rest == 0 { 0 } else { (rest >> 13) - (112 << 10) };
    u16::try_from(sign | half).expect("16 bits")
}

fn check(style: Style, inner: usize) {
    let Style { block: [rows, columns], ty, .. } = style;
    let (height, width) = (8 * rows, 8 * columns);
    let program = Program::new(&source(style), &CompileOptions::default());
    let seed = Random::fresh_seed();
    let mut random = Random::new(seed);
    let mut factors = |count: usize| -> (Vec<f32>, Vec<u8>) {
        let numbers: Vec<(f32, Vec<u8>)> = (0..count).map(|_| number(&mut random, ty)).collect();
        (numbers.iter().map(|it| it.0).collect(), numbers.into_iter().flat_map(|it| it.1).collect())
    };
    let (a, mut a_bytes) = factors(height * inner + 1);
    let (b, mut b_bytes) = factors(width * inner + 1);
    let mut random = Random::new(seed ^ 1);
    let initial: Vec<f32> = (0..height * width).map(|_| number(&mut random, "float").0).collect();
    let mut expected = initial.clone();
    for (at, sum) in expected.iter_mut().enumerate() {
        for k in 0..inner {
            *sum = a[at / width * inner + k].mul_add(b[at % width * inner + k], *sum);
        }
    }
    // The matrix unit sums 32 products at a time, those of even and of odd inner indices apart.
    let mut by_unit = initial.clone();
    for (at, sum) in by_unit.iter_mut().enumerate() {
        for first in (0..inner).step_by(32) {
            let mut apart = [0.0_f32; 2];
            for k in first..inner.min(first + 32) {
                apart[k % 2] = a[at / width * inner + k].mul_add(b[at % width * inner + k], apart[k % 2]);
            }
            *sum += apart[0] + apart[1];
        }
    }
    for engine in [EngineChoice::Scalar, EngineChoice::Vector] {
        let options = EngineOptions { engine, ..EngineOptions::default() };
        let cpu = CpuEngine::new(Arc::new(LlvmCodeGenerator));
        let kernel = program.kernel_on(&cpu, "k", &options).unwrap_or_else(|error| panic!("{error}"));
        let mut y = initial.clone();
        let mut count = [u32::try_from(inner).unwrap()];
        let launch = Launch::new().buffer(&mut y).buffer(&mut a_bytes).buffer(&mut b_bytes).buffer(&mut count);
        launch.run(&*kernel, 32, 32);
        let is = |expected: &[f32]| y.iter().zip(expected).all(|(one, other)| one.to_bits() == other.to_bits());
        let is_by_unit = ty == "bfloat" && engine == EngineChoice::Vector && is(&by_unit);
        assert!(is(&expected) || is_by_unit, "{engine:?}, seed {seed}, {inner} inner indices\n{}", source(style));
    }
}

#[test]
fn arrays_of_sums() {
    for (block, ty, inner) in [
        ([8, 8], "float", 72),
        ([4, 2], "half", 40),
        ([3, 5], "bfloat", 8),
        ([2, 4], "float", 0),
        ([2, 2], "float", 24),
    ] {
        check(Style { block, ty, unrolled: false, staged: 0 }, inner);
    }
}

#[test]
fn sums_as_variables() {
    for (block, ty, inner) in [([4, 4], "float", 104), ([2, 5], "bfloat", 64)] {
        check(Style { block, ty, unrolled: true, staged: 0 }, inner);
    }
}

#[test]
fn factors_out_of_threadgroup_memory() {
    for (block, ty, unrolled, staged) in
        [([4, 4], "float", false, 2), ([2, 4], "half", true, 1), ([4, 3], "bfloat", false, 4)]
    {
        check(Style { block, ty, unrolled, staged }, 96);
    }
}
