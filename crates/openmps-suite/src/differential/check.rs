//! Runs kernels on the engines and in the interpreter, and compares.

use std::collections::BTreeMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use openmps_cpu::{CodeGenerator, CpuEngine, FiberCodeGenerator, LlvmCodeGenerator, Refusal};
use openmps_engine::{CompileOptions, CompiledKernel, EngineChoice, EngineOptions, Grid, MathMode};

use super::memory::{Memory, Results};
use super::program::{Kernel, PARAMETERS};
use super::{generate, interpret, reduce, render};
use crate::machine::{Program, Random};

/// Kernels of a library.
pub const KERNELS: usize = 8;
/// Launches of each kernel in a long run: compiling it takes as long as some hundred of them.
pub const LAUNCHES: u64 = 256;
/// Launches with the same inputs and other grids.
const LAUNCHES_OF_INPUTS: u64 = 4;

/// Names the folder for each engine's code after each pass.
const DUMP_VARIABLE: &str = "OPENMPS_FUZZ_DUMP";

/// What was done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Kernels that ran at least once.
    pub kernels: u64,
    /// Launches whose results were compared, each on all engines.
    pub executions: u64,
    /// Launches that have no meaning (races, too much work).
    pub skipped: u64,
    /// Kernels that the vector engine refused, by the reason.
    pub refused: BTreeMap<Refusal, u64>,
}

impl Tally {
    /// Adds `other`.
    pub fn add(&mut self, other: Self) {
        for (reason, count) in other.refused {
            *self.refused.entry(reason).or_default() += count;
        }
        self.kernels += other.kernels;
        self.executions += other.executions;
        self.skipped += other.skipped;
    }
}

/// A kernel on which an engine and the interpreter disagree.
#[derive(Clone, Debug)]
pub struct Difference {
    /// Seed of the library.
    pub seed: u64,
    /// Number of the kernel in it.
    pub number: usize,
    /// Which engine, launch and element, or what the engine says.
    pub what: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, number, what } = self;
        write!(f, "kernel {number} of library {seed}: {what}")
    }
}

/// What became of one kernel.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// All engines do what the interpreter does.
    Same(Tally),
    /// One does not.
    Different(Difference),
}

/// What results are compared with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reference {
    /// Those of the interpreter.
    Interpreter,
    /// Those of the first engine, where the text permits to round otherwise than the interpreter does.
    FirstEngine,
}

/// An engine under test.
struct Contender {
    name: &'static str,
    engine: CpuEngine,
    options: EngineOptions,
}

/// Every engine, each with a cache of its own. Threads that never wait are no fibers.
fn contenders(kernel: &Kernel) -> Vec<Contender> {
    let contender = |name, generator: Arc<dyn CodeGenerator>, engine| {
        let dump_dir = std::env::var(DUMP_VARIABLE).ok().map(|folder| format!("{folder}/{name}"));
        let options = EngineOptions { engine, dump_dir, ..EngineOptions::default() };
        Contender { name, engine: CpuEngine::new(generator), options }
    };
    let mut all = vec![
        contender("scalar", Arc::new(LlvmCodeGenerator), EngineChoice::Scalar),
        contender("vector", Arc::new(LlvmCodeGenerator), EngineChoice::Vector),
    ];
    if kernel.waits() {
        all.push(contender("fibers", Arc::new(FiberCodeGenerator), EngineChoice::Scalar));
    }
    all
}

fn mixed(seed: u64, number: u64) -> Random {
    Random::new(Random::new(seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15)).bits())
}

/// Kernel `number` of library `seed`.
pub(super) fn kernel(seed: u64, number: usize) -> Kernel {
    generate::kernel(format!("kernel{number}"), &mut mixed(seed, number as u64))
}

/// The Metal source text of kernel `number` of library `seed` after `edits` (see [`reduce`]).
#[must_use]
pub fn source(seed: u64, number: usize, edits: &[usize]) -> String {
    render::text(&[reduce::edited(kernel(seed, number), edits)])
}

/// Checks all kernels of library `seed` with so many launches each, up to the first difference.
///
/// # Panics
/// When the text does not compile.
#[must_use]
pub fn check_library(seed: u64, launches: u64) -> Verdict {
    let kernels: Vec<Kernel> = (0..KERNELS).map(|number| kernel(seed, number)).collect();
    let program = Program::new(&render::text(&kernels), &CompileOptions::default());
    let mut tally = Tally::default();
    for (number, kernel) in kernels.iter().enumerate() {
        match check(&program, kernel, (seed, number), launches, Reference::Interpreter) {
            Verdict::Same(more) => tally.add(more),
            different @ Verdict::Different(_) => return different,
        }
    }
    Verdict::Same(tally)
}

/// Compares the engines with each other on kernel `number` of library `seed`, in fast math with contraction.
///
/// # Panics
/// When the text does not compile.
#[must_use]
pub fn check_fast_kernel(seed: u64, number: usize, launches: u64) -> Verdict {
    let kernel = kernel(seed, number);
    let options = CompileOptions { math_mode: MathMode::Fast, ..CompileOptions::default() };
    let program = Program::new(&render::fast_text(std::slice::from_ref(&kernel)), &options);
    check(&program, &kernel, (seed, number), launches, Reference::FirstEngine)
}

/// Checks kernel `number` of library `seed` after `edits` with so many launches.
///
/// # Panics
/// When the text does not compile.
#[must_use]
pub fn check_kernel(seed: u64, number: usize, edits: &[usize], launches: u64) -> Verdict {
    let kernel = reduce::edited(kernel(seed, number), edits);
    let program = Program::new(&render::text(std::slice::from_ref(&kernel)), &CompileOptions::default());
    check(&program, &kernel, (seed, number), launches, Reference::Interpreter)
}

fn check(
    program: &Program,
    kernel: &Kernel,
    (seed, number): (u64, usize),
    launches: u64,
    reference: Reference,
) -> Verdict {
    let different = |what| Verdict::Different(Difference { seed, number, what });
    let (mut engines, mut tally) = (Vec::new(), Tally::default());
    for contender in contenders(kernel) {
        match program.kernel_on(&contender.engine, &kernel.name, &contender.options) {
            Ok(compiled) => engines.push((contender.name, compiled)),
            Err(error) => return different(format!("{}: {error}", contender.name)),
        }
        tally.refused.extend(contender.engine.counts().refused);
    }
    let mut inputs: Option<(Memory, Memory)> = None;
    for launch in 0..launches {
        let mut random = mixed(seed ^ launch.rotate_left(32), number as u64);
        if launch % LAUNCHES_OF_INPUTS == 0 {
            inputs = None;
        }
        let (fresh, actual) = inputs.get_or_insert_with(|| {
            let fresh = Memory::new(kernel, &mut random);
            (fresh.clone(), fresh)
        });
        let grid = generate::grid(kernel, &mut random);
        let mut expected = fresh.results.clone();
        if interpret::run(kernel, &grid, &fresh.inputs, &mut expected).is_err() {
            tally.skipped += 1;
            if tally.executions == 0 && tally.skipped == LAUNCHES_OF_INPUTS {
                tally.skipped = launches;
                break;
            }
            continue;
        }
        for (place, (name, compiled)) in engines.iter().enumerate() {
            actual.results.clone_from(&fresh.results);
            let outcome = execute(compiled, &grid, actual);
            if place == 0 && reference == Reference::FirstEngine {
                expected.clone_from(&actual.results);
            }
            let outcome = outcome.and_then(|()| compare(&expected, &actual.results));
            let unchanged =
                || if actual.inputs == fresh.inputs { Ok(()) } else { Err("an input has changed".to_owned()) };
            if let Err(what) = outcome.and_then(|()| unchanged()) {
                return different(format!(
                    "{name}, launch {launch}, {} threads in threadgroups of {}: {what}",
                    size(grid.threads),
                    size(grid.group)
                ));
            }
        }
        tally.executions += 1;
    }
    tally.kernels = u64::from(tally.executions > 0);
    Verdict::Same(tally)
}

fn size([x, y, z]: [u32; 3]) -> String {
    format!("{x}x{y}x{z}")
}

fn execute(kernel: &Arc<dyn CompiledKernel>, grid: &Grid, memory: &mut Memory) -> Result<(), String> {
    let mut parameters = [0; PARAMETERS];
    let launch = memory.launch(&mut parameters);
    let outcome = catch_unwind(AssertUnwindSafe(|| launch.run_grid(kernel.as_ref(), grid)));
    outcome.map_err(|_| "the launch failed".to_owned())
}

fn compare(expected: &Results, actual: &Results) -> Result<(), String> {
    for ((name, expected), (_, actual)) in expected.named().zip(actual.named()) {
        if expected == actual {
            continue;
        }
        let is_same = |index: &usize| expected.scalar.same(expected.get(*index), actual.get(*index));
        if let Some(index) = (0..expected.len()).find(|index| !is_same(index)) {
            let text = |bits: u64| format!("{:#x} ({})", bits, super::scalar::number(expected.scalar, bits));
            let (expected, actual) = (text(expected.get(index)), text(actual.get(index)));
            return Err(format!("{name}[{index}] is {actual} instead of {expected}"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::differential::program::{Expr, Stmt, Ty};

    /// Some kernels that `changed` can change: whether the old text of one differs from the new meaning. A change may have no
    /// effect, such as a maximum that is never the largest.
    fn is_noticed(changed: impl Fn(&mut Kernel) -> bool) -> bool {
        let pair = |seed| {
            let old = kernel(seed, 0);
            let mut new = old.clone();
            changed(&mut new).then_some((seed, old, new))
        };
        (0..100).filter_map(pair).take(6).any(|(seed, old, new)| {
            let program = Program::new(&render::text(&[old]), &CompileOptions::default());
            matches!(check(&program, &new, (seed, 0), 48, Reference::Interpreter), Verdict::Different(_))
        })
    }

    #[test]
    fn what_a_kernel_should_not_do_is_noticed() {
        // Another value in one slot of an output.
        assert!(is_noticed(|kernel| {
            let Some(Stmt::Store { value, .. }) = kernel.body.last_mut() else { return false };
            let ty = Ty::of(kernel.outputs[2].scalar);
            let other = Expr::Const(ty, super::super::scalar::constant(ty.scalar, 77));
            std::mem::replace(value, other.clone()) != other
        }));
        // One atomic operation less.
        assert!(is_noticed(|kernel| {
            let atomic = kernel.body.iter().position(|statement| matches!(statement, Stmt::Atomic { .. }));
            atomic.map(|at| kernel.body.remove(at)).is_some()
        }));
    }

    #[test]
    fn a_seed_determines_the_texts() {
        for number in 0..KERNELS {
            assert_eq!(source(5, number, &[]), source(5, number, &[]));
            assert_ne!(source(5, number, &[]), source(6, number, &[]));
        }
    }
}
