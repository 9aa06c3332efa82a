//! `./dev conformance msl`: how much of the public Metal Shading Language compiles.
//!
//! `python/conformance/msl.py` collects the sources; here each is compiled in a process of its own, with a limit of time.
//! A unit that fails needs a class: Metal 4 tensor operations and graphics are recognised, the rest is listed with a reason
//! in `python/conformance/msl_exceptions.txt`. The run fails below the floors, on a failure without a class, and on a listed
//! exception that compiles.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::process::{Workspace, command};
use crate::{artifacts, environment};

/// The largest unit takes half a minute on two busy cores.
const UNIT_TIME_MAX: Duration = Duration::from_secs(300);

/// What must compile of PyTorch's own headers, and of everything else that is in the language and whole.
const FLOOR_TORCH_PERCENT: usize = 100;
const FLOOR_PERCENT: usize = 98;

/// How a message says that a source needs Metal 4's tensors.
const TENSOR_MESSAGE: &str = "Metal 4 tensor operations";

/// One compilation: a source in one version of the language.
struct Unit {
    path: PathBuf,
    version: String,
    /// Class and reason that the list of exceptions gives, or empty.
    exception: (String, String),
}

/// What came of it.
struct Outcome {
    /// Names of kernels, or the message of the first error.
    result: Result<usize, String>,
    is_graphics: bool,
}

/// Compiles everything, or what comes from `packages`, and prints each failure and the rates.
pub(crate) fn run(workspace: &Workspace, packages: &[String]) -> Result<()> {
    artifacts::build(workspace)?;
    let list = command(environment::python(workspace))
        .args(["-m", "conformance.msl"])
        .args(packages)
        .env("PYTHONPATH", workspace.path("python"))
        .output(workspace)?;
    let units = read_list(Path::new(list.trim()))?;
    let outcomes = compile_all(workspace, &units)?;
    report(&units, &outcomes)
}

fn read_list(path: &Path) -> Result<Vec<Unit>> {
    let text = fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
    let mut units = Vec::new();
    for line in text.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let [path, versions, class, reason] = fields[..] else { bail!("a line of the list has other fields: {line}") };
        for version in versions.split(' ') {
            let exception = (class.to_owned(), reason.to_owned());
            units.push(Unit { path: path.into(), version: version.to_owned(), exception });
        }
    }
    Ok(units)
}

/// One worker a core takes the next unit until none is left.
fn compile_all(workspace: &Workspace, units: &[Unit]) -> Result<Vec<Outcome>> {
    let next = AtomicUsize::new(0);
    let outcomes = Mutex::new(BTreeMap::new());
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let work = || -> Result<()> {
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some(unit) = units.get(index) else { return Ok(()) };
                let outcome = compile(workspace, unit)?;
                outcomes.lock().expect("no worker panics").insert(index, outcome);
            }
        };
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("no worker panics"))
    })?;
    Ok(outcomes.into_inner().expect("no worker panics").into_values().collect())
}

fn compile(workspace: &Workspace, unit: &Unit) -> Result<Outcome> {
    let native = workspace.path("python/openmps/_native");
    let mut program = Command::new(native.join("openmps-compiler"));
    program.arg("compile").arg(&unit.path).args(["--metal", &unit.version]);
    // Files and not pipes, which a program that says much would fill.
    let texts = [unit.path.with_extension("out"), unit.path.with_extension("err")];
    program.stdin(Stdio::null()).stdout(fs::File::create(&texts[0])?).stderr(fs::File::create(&texts[1])?);
    let mut child = program.spawn().context("starting openmps-compiler")?;
    let success = wait(&mut child)?;
    let [output, errors] = texts.map(|path| fs::read_to_string(path).unwrap_or_default());
    let result = match success {
        Some(true) => Ok(output.lines().count()),
        Some(false) => Err(first_error(&errors)),
        None => Err(format!("not compiled after {} s", UNIT_TIME_MAX.as_secs())),
    };
    let source = fs::read_to_string(&unit.path)?;
    Ok(Outcome { result, is_graphics: has_graphics(&source) })
}

/// Whether it succeeded, or nothing if its time ran out.
fn wait(child: &mut Child) -> Result<Option<bool>> {
    let start = Instant::now();
    while start.elapsed() < UNIT_TIME_MAX {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status.success()));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    child.kill()?;
    child.wait()?;
    Ok(None)
}

fn first_error(errors: &str) -> String {
    let line = errors.lines().find(|line| line.contains("error: ")).or_else(|| errors.lines().next());
    line.unwrap_or("failed without a message").to_owned()
}

/// Whether a line starts a function of a stage of graphics.
fn has_graphics(source: &str) -> bool {
    source.lines().any(|line| {
        let line = line.trim_start().trim_start_matches("[[").trim_start();
        ["vertex ", "fragment ", "object", "mesh", "vertex]]", "fragment]]"].iter().any(|word| line.starts_with(word))
            && line.contains(['(', ' ', ']'])
            && !line.contains(';')
    })
}

/// What is counted of a group of units.
#[derive(Default)]
struct Count {
    units: usize,
    compiled: usize,
    kernels: usize,
}

impl Count {
    fn line(&self, name: &str) -> String {
        let percent = 100.0 * self.compiled as f64 / self.units.max(1) as f64;
        format!("{name}: {} of {} compile ({percent:.1} %), {} kernels", self.compiled, self.units, self.kernels)
    }

    fn reaches(&self, percent: usize) -> bool {
        self.compiled * 100 >= self.units * percent
    }
}

fn report(units: &[Unit], outcomes: &[Outcome]) -> Result<()> {
    let mut packages: BTreeMap<String, Count> = BTreeMap::new();
    let mut classes: BTreeMap<&str, usize> = BTreeMap::new();
    let (mut torch, mut others) = (Count::default(), Count::default());
    let (mut failures, mut problems) = (String::new(), Vec::new());
    for (unit, outcome) in units.iter().zip(outcomes) {
        let name = name(unit);
        let class = classify(unit, outcome);
        if let (Ok(_), true) = (&outcome.result, !unit.exception.0.is_empty()) {
            problems.push(format!("{name} is listed as '{}' and compiles", unit.exception.0));
        }
        if let Err(message) = &outcome.result {
            let shown = class.unwrap_or("FAILED");
            let reason = if class == Some(unit.exception.0.as_str()) { &unit.exception.1 } else { message };
            let _ = writeln!(failures, "  [{shown}] {name}: {reason}");
        }
        // What is no whole source, not Metal, or outside the language of kernels counts for no rate.
        if let Some(class) = class {
            *classes.entry(class).or_default() += 1;
            continue;
        }
        let total = if name.starts_with("torch-") { &mut torch } else { &mut others };
        let package = name.split('/').next().unwrap_or_default().to_owned();
        for count in [total, packages.entry(package).or_default()] {
            count.units += 1;
            count.compiled += usize::from(outcome.result.is_ok());
            count.kernels += *outcome.result.as_ref().unwrap_or(&0);
        }
    }
    for (package, count) in &packages {
        println!("{}", count.line(package));
    }
    println!("\nNot compiled:\n{failures}\nClasses: {classes:?}");
    println!("{}\n{}", torch.line("PyTorch's headers"), others.line("everything else"));
    if !torch.reaches(FLOOR_TORCH_PERCENT) || !others.reaches(FLOOR_PERCENT) {
        problems.push(format!("a rate is below its floor ({FLOOR_TORCH_PERCENT} % and {FLOOR_PERCENT} %)"));
    }
    if problems.is_empty() { Ok(()) } else { bail!("{}", problems.join("\n")) }
}

/// `package/unit (version)`.
fn name(unit: &Unit) -> String {
    let words: Vec<_> = unit.path.iter().rev().take(2).map(|word| word.to_string_lossy()).collect();
    format!("{}/{} ({})", words[1], words[0], unit.version)
}

/// The class of a failure, or nothing where it has none or the unit compiles.
fn classify<'a>(unit: &'a Unit, outcome: &Outcome) -> Option<&'a str> {
    let message = outcome.result.as_ref().err()?;
    if message.contains(TENSOR_MESSAGE) {
        return Some("tensor");
    }
    if !unit.exception.0.is_empty() {
        return Some(&unit.exception.0);
    }
    outcome.is_graphics.then_some("graphics")
}
