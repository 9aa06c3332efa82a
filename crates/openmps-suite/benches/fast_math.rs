//! Times of `metal::fast` functions beside their `metal::precise` twins, and of arithmetic in either math mode: `./dev bench
//! fast_math`. Prints nanoseconds per element (minimum and median of interleaved runs) and the ratio precise / fast of the
//! minima. Results are compared before anything is timed.
#![expect(clippy::print_stdout, reason = "a benchmark prints its result")]
#![expect(clippy::cast_possible_truncation, reason = "counts of thousands, and numbers that a float is to have")]

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Instant;

use openmps_engine::{CompileOptions, CompiledKernel, MathMode};
use openmps_suite::machine::{Launch, Program, Random};

/// Elements of a run: in cache, and long enough that the launch does not count.
const COUNT: usize = 1 << 15;
const SAMPLES: usize = 25;

/// What a kernel computes from `x` and `y`, and the range of `x`.
const CASES: [(&str, &str, f64, f64); 16] = [
    ("exp", "M::exp(x)", -20.0, 20.0),
    ("exp2", "M::exp2(x)", -20.0, 20.0),
    ("exp10", "M::exp10(x)", -10.0, 10.0),
    ("log", "M::log(x)", 0.01, 100.0),
    ("log2", "M::log2(x)", 0.01, 100.0),
    ("log10", "M::log10(x)", 0.01, 100.0),
    ("sin", "M::sin(x)", -10.0, 10.0),
    ("cos", "M::cos(x)", -10.0, 10.0),
    ("tan", "M::tan(x)", -1.5, 1.5),
    ("tanh", "M::tanh(x)", -4.0, 4.0),
    ("sinpi", "M::sinpi(x)", -4.0, 4.0),
    ("pow", "M::pow(x, y)", 0.1, 4.0),
    ("powr", "M::powr(x, y)", 0.1, 4.0),
    ("rsqrt", "M::rsqrt(x)", 0.1, 4.0),
    ("gelu", "0.5f * x * (1.0f + M::tanh(0.79788456f * (x + 0.044715f * x * x * x)))", -4.0, 4.0),
    ("polynomial of quotients", "(x / y + y / x) * (x * y + x) + x * y", 0.1, 4.0),
];

fn program(namespace: &str, math_mode: MathMode) -> Program {
    let mut text = format!("#include <metal_stdlib>\nusing namespace metal;\nnamespace M = metal::{namespace};\n");
    for (index, (_, expression, _, _)) in CASES.iter().enumerate() {
        let _ = writeln!(
            text,
            "kernel void k{index}(device const float* a, device const float* b, device float* out,\n\
             \x20 uint i [[thread_position_in_grid]]) {{ float x = a[i], y = b[i]; out[i] = {expression}; }}"
        );
    }
    Program::new(&text, &CompileOptions { math_mode, ..CompileOptions::default() })
}

fn run(kernel: &Arc<dyn CompiledKernel>, operands: &mut [Vec<f32>; 2], out: &mut [f32]) -> f64 {
    let [a, b] = operands;
    let launch = Launch::new().buffer(a).buffer(b).buffer(out);
    let start = Instant::now();
    launch.run(kernel.as_ref(), COUNT as u32, 256);
    start.elapsed().as_secs_f64() * 1e9 / COUNT as f64
}

fn minimum_and_median(mut times: Vec<f64>) -> (f64, f64) {
    times.sort_by(f64::total_cmp);
    (times[0], times[times.len() / 2])
}

fn main() {
    let seed = Random::fresh_seed();
    let mut random = Random::new(seed);
    let programs = [program("precise", MathMode::Safe), program("fast", MathMode::Fast)];
    println!("{COUNT} elements, {SAMPLES} samples, seed {seed}; ns per element: minimum (median)");
    println!("{:24} {:>16} {:>16} {:>8}", "", "precise", "fast", "ratio");
    for (index, (name, _, low, high)) in CASES.iter().enumerate() {
        let mut floats = |low, high| (0..COUNT).map(|_| random.between(low, high) as f32).collect::<Vec<f32>>();
        let mut operands = [floats(*low, *high), floats(0.5, 3.0)];
        let kernels = programs.each_ref().map(|program| program.kernel(&format!("k{index}")));
        let mut outputs = [vec![0.0; COUNT], vec![0.0; COUNT]];
        for (kernel, out) in kernels.iter().zip(&mut outputs) {
            run(kernel, &mut operands, out);
        }
        for (precise, fast) in outputs[0].iter().zip(&outputs[1]) {
            // 2^-13 of a sine or cosine is the loosest bound of all.
            assert!((precise - fast).abs() <= 2e-4 * precise.abs().max(1.0), "{name}: {precise} and {fast}");
        }
        let mut times = [Vec::new(), Vec::new()];
        for _ in 0..SAMPLES {
            for ((kernel, out), times) in kernels.iter().zip(&mut outputs).zip(&mut times) {
                times.push(run(kernel, &mut operands, out));
            }
        }
        let [precise, fast] = times.map(minimum_and_median);
        let shown = |(minimum, median): (f64, f64)| format!("{minimum:.2} ({median:.2})");
        println!("{name:24} {:>16} {:>16} {:>8.1}", shown(precise), shown(fast), precise.0 / fast.0);
    }
}
