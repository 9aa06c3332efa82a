//! Runs functions over operands and keeps the worst results.
//!
//! The functions of f64 screen: a result that could be the worst so far, or outside its bound, is compared again with the
//! value in multiple precision, which is what counts.

use std::fmt::Write as _;

use openmps_engine::{CompileOptions, CompiledKernel, MathMode};

use super::bounds::{Bound, Error};
use super::exact::{Effort, Question};
use super::format::Type;
use super::functions::{FUNCTIONS, Function};
use crate::machine::{Launch, Program, Random};

/// Which form of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// `metal::precise`, table 8.1.
    Precise,
    /// `metal::fast`, table 8.2.
    Fast,
    /// The function of half, table 8.3.
    Half,
}

impl Variant {
    /// In the order of the specification's tables.
    pub const ALL: [Self; 3] = [Self::Precise, Self::Fast, Self::Half];

    fn name(self) -> &'static str {
        match self {
            Self::Precise => "precise",
            Self::Fast => "fast",
            Self::Half => "half",
        }
    }

    fn ty(self) -> Type {
        match self {
            Self::Precise | Self::Fast => Type::Float,
            Self::Half => Type::Half,
        }
    }

    fn namespace(self) -> &'static str {
        match self {
            Self::Precise | Self::Half => "precise",
            Self::Fast => "fast",
        }
    }

    /// Arithmetic has the accuracy of the math mode; functions that of their namespace.
    fn math_mode(self) -> MathMode {
        match self {
            Self::Precise | Self::Half => MathMode::Safe,
            Self::Fast => MathMode::Fast,
        }
    }

    fn bound(self, function: &Function) -> Option<Bound> {
        match self {
            Self::Precise => Some(function.precise),
            Self::Fast => function.fast,
            Self::Half => Some(function.half),
        }
    }
}

/// One result.
#[derive(Clone, Debug)]
pub struct Sample {
    /// Operands.
    pub operands: Vec<f64>,
    /// What the kernel gave.
    pub got: f64,
    /// The exact value, to double.
    pub exact: f64,
    /// How far apart they are.
    pub error: Error,
}

/// What was found about one form of one function.
#[derive(Clone, Debug)]
pub struct Measurement {
    /// The function.
    pub function: &'static Function,
    /// Its form.
    pub variant: Variant,
    /// What it is held to.
    pub bound: Bound,
    /// Operands tried.
    pub points: usize,
    /// The largest error among operands for which the bound says something.
    pub worst: Option<Sample>,
    /// Results outside the bound: the first few.
    pub violations: Vec<Sample>,
    /// Results outside the bound: how many.
    pub violation_count: usize,
}

/// Violations kept for messages.
const VIOLATIONS_MAX: usize = 5;

/// From so many points on, half functions of one operand are tried at all operands there are.
const EXHAUSTIVE_POINTS: usize = 10_000;

/// Measures every form of every function at `points` random operands each, from `seed`.
#[must_use]
pub fn all(points: usize, seed: u64) -> Vec<Measurement> {
    let mut measurements = Vec::new();
    for variant in Variant::ALL {
        let rows: Vec<&'static Function> =
            FUNCTIONS.iter().filter(|function| variant.bound(function).is_some()).collect();
        let options = CompileOptions { math_mode: variant.math_mode(), ..CompileOptions::default() };
        let program = Program::new(&source(variant, &rows), &options);
        for (index, function) in rows.into_iter().enumerate() {
            let kernel = program.kernel(&format!("k{index}"));
            let mut random = Random::new(seed ^ (index as u64) << 40);
            let operands = operands(function, variant, points, &mut random);
            let results = run(kernel.as_ref(), variant.ty(), function.arity, &operands);
            measurements.push(judge(function, variant, &operands, &results));
        }
    }
    measurements
}

/// One kernel a function.
fn source(variant: Variant, functions: &[&Function]) -> String {
    let mut text = "#include <metal_stdlib>\nusing namespace metal;\n".to_owned();
    let _ = writeln!(text, "typedef {} T;\nnamespace M = metal::{};", variant.ty().name(), variant.namespace());
    for (index, function) in functions.iter().enumerate() {
        let _ = writeln!(
            text,
            "kernel void k{index}(device const T* a, device const T* b, device const T* c, device T* out,\n\
             \x20   uint i [[thread_position_in_grid]]) {{\n\
             \x20 T x = a[i], y = b[i], z = c[i], r = 0;\n  {}\n  out[i] = r;\n}}",
            function.body
        );
    }
    text
}

/// Operands by position, then by point.
type Operands = [Vec<u64>; 3];

/// Values that are tried first, in every combination for functions of two operands.
const CORNERS: [f64; 22] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    1.5,
    2.0,
    -2.0,
    3.0,
    10.0,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
    // The largest and least normal numbers, and subnormal ones, of float; extremes of half too after rounding.
    3.402_823_466_385_288_6e38,
    -3.402_823_466_385_288_6e38,
    1.175_494_350_822_287_5e-38,
    1e-40,
    -1e-45,
    65504.0,
    std::f64::consts::PI,
    16_777_216.0,
];

fn operands(function: &Function, variant: Variant, points: usize, random: &mut Random) -> Operands {
    let ty = variant.ty();
    if ty == Type::Half && function.arity == 1 && points >= EXHAUSTIVE_POINTS {
        let every: Vec<u64> = (0..=0xffff).collect();
        return [every.clone(), every.clone(), every];
    }
    let mut operands = Operands::default();
    let corner = |index: usize| CORNERS[index % CORNERS.len()];
    let combinations = if function.arity == 1 { CORNERS.len() } else { CORNERS.len().pow(2) };
    for index in 0..combinations {
        let values = [corner(index), corner(index / CORNERS.len()), corner(index / 7)];
        for (list, value) in operands.iter_mut().zip(values) {
            list.push(ty.encode(value));
        }
    }
    for point in 0..points {
        let patterns = if point % 2 == 0 {
            (function.focus)(random).map(|value| ty.encode(value))
        } else {
            let mask = if ty == Type::Half { 0xffff } else { 0xffff_ffff };
            [random.bits() & mask, random.bits() & mask, random.bits() & mask]
        };
        for (list, pattern) in operands.iter_mut().zip(patterns) {
            list.push(pattern);
        }
    }
    operands
}

/// Threads of a threadgroup; results do not depend on it.
const GROUP: u32 = 256;

fn run(kernel: &dyn CompiledKernel, ty: Type, arity: usize, operands: &Operands) -> Vec<u64> {
    let count = operands[0].len();
    let threads = u32::try_from(count).expect("a few million points");
    assert!(arity <= operands.len(), "kernels have three operands");
    match ty {
        Type::Float => {
            let mut buffers = operands.each_ref().map(|list| narrowed::<u32>(list));
            let mut out = vec![0_u32; count];
            let [a, b, c] = &mut buffers;
            Launch::new().buffer(a).buffer(b).buffer(c).buffer(&mut out).run(kernel, threads, GROUP);
            out.into_iter().map(u64::from).collect()
        }
        Type::Half => {
            let mut buffers = operands.each_ref().map(|list| narrowed::<u16>(list));
            let mut out = vec![0_u16; count];
            let [a, b, c] = &mut buffers;
            Launch::new().buffer(a).buffer(b).buffer(c).buffer(&mut out).run(kernel, threads, GROUP);
            out.into_iter().map(u64::from).collect()
        }
    }
}

fn narrowed<T: TryFrom<u64>>(patterns: &[u64]) -> Vec<T> {
    let narrow = |pattern: &u64| T::try_from(*pattern).unwrap_or_else(|_| panic!("{pattern:#x} is too wide"));
    patterns.iter().map(narrow).collect()
}

fn judge(function: &'static Function, variant: Variant, operands: &Operands, results: &[u64]) -> Measurement {
    let ty = variant.ty();
    let bound = variant.bound(function).expect("measured forms have a bound");
    let mut measurement = Measurement {
        function,
        variant,
        bound,
        points: results.len(),
        worst: None,
        violations: Vec::new(),
        violation_count: 0,
    };
    let mut worst: Option<f64> = None;
    for (point, result) in results.iter().enumerate() {
        let values: Vec<f64> = operands[..function.arity].iter().map(|list| ty.decode(list[point])).collect();
        let got = ty.decode(*result);
        let mut sample = sample(function, Question { ty, effort: Effort::Double }, values, got);
        let rough = bound.size(&sample.operands, sample.error);
        let may_violate = !bound.admits(&sample.operands, sample.error.increased());
        let may_lead = rough.is_some_and(|size| worst.is_none_or(|worst| size > worst));
        if may_lead || may_violate && measurement.violations.len() < VIOLATIONS_MAX {
            sample = self::sample(function, Question { ty, effort: Effort::Multiple }, sample.operands, got);
        }
        if !bound.admits(&sample.operands, sample.error) {
            measurement.violation_count += 1;
            if measurement.violations.len() < VIOLATIONS_MAX {
                measurement.violations.push(sample.clone());
            }
        }
        let Some(size) = bound.size(&sample.operands, sample.error) else { continue };
        if worst.is_none_or(|worst| size > worst) {
            worst = Some(size);
            measurement.worst = Some(sample);
        }
    }
    measurement
}

/// The result against the exact value that is nearest to it among those that section 8.5 allows.
fn sample(function: &Function, question: Question, operands: Vec<f64>, got: f64) -> Sample {
    let ty = question.ty;
    let candidate = |operands: &[f64]| {
        let exact = (function.exact)(question, operands);
        // A subnormal value may have become zero.
        let flushed = if got == 0.0 { ty.flushed(exact.high) } else { exact.high };
        let error =
            if flushed == 0.0 && got == 0.0 { Error { ulps: 0.0, distance: 0.0 } } else { ty.error(got, exact) };
        (exact.high, error)
    };
    let (mut exact, mut error) = candidate(&operands);
    let flushed: Vec<f64> = operands.iter().map(|value| ty.flushed(*value)).collect();
    if flushed != operands && error.ulps > 0.0 {
        let (of_flushed, error_of_flushed) = candidate(&flushed);
        if error_of_flushed.ulps < error.ulps {
            (exact, error) = (of_flushed, error_of_flushed);
        }
    }
    Sample { operands, got, exact, error }
}

impl std::fmt::Display for Measurement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (name, variant) = (self.function.name, self.variant.name());
        write!(f, "{name} ({variant}), {} of {} outside {}:", self.violation_count, self.points, self.bound.text())?;
        for sample in &self.violations {
            let Sample { operands, got, exact, error } = sample;
            write!(f, "\n  at {operands:?}: {got:e} instead of {exact:e}, {:.3} ulp", error.ulps)?;
        }
        Ok(())
    }
}
