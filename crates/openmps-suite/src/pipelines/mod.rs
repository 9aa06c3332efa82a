//! Building a pipeline for every kernel of real libraries: the first half of `./dev conformance`.
//!
//! The kernels are spread over worker processes ([`worker`]), because what kills one is then the
//! failure of one kernel, and because a process that holds every kernel of a library would need gigabytes. Each answer is appended to a state file
//! ([`state`]), so that an interrupted run goes on where it stopped; the state of another compiler does not count. A worker that
//! dies is the failure of the kernel it was asked for, and is replaced. Nothing is read from the cache of compiled code.

mod error;
mod pool;
mod state;
mod summary;
pub mod worker;

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

pub use error::PipelinesError;
use indicatif::{ProgressBar, ProgressStyle};
use openmps::Library;
use state::{Outcome, State};

/// Least time between two lines of progress.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(10);

/// Which kernels of a library are built.
#[derive(Clone, Debug)]
pub enum Selection {
    /// All; answers are kept.
    All,
    /// That many kernels, drawn with `seed`.
    Sample {
        /// Number of kernels.
        count: usize,
        /// Start of the generator.
        seed: u64,
    },
    /// Those with one of these names.
    Named(Vec<String>),
}

/// What a run does.
#[derive(Clone, Debug)]
pub struct Options {
    /// Short name and path of each library.
    pub libraries: Vec<(String, PathBuf)>,
    /// Which kernels.
    pub selection: Selection,
    /// Worker processes at a time.
    pub jobs: usize,
    /// Folder of the state files.
    pub state: PathBuf,
    /// Drop earlier answers.
    pub is_fresh: bool,
    /// Ask again for kernels that failed earlier.
    pub retries_failures: bool,
    /// Kernels that one process builds and holds, to measure memory; 0 measures nothing.
    pub held_kernels: usize,
    /// The compiler's executable, whose identity the state carries.
    pub compiler: PathBuf,
}

/// Builds the kernels, writes progress and summaries to `out`, and says whether all were built.
///
/// # Errors
/// What kept the run from going on; a kernel that cannot be built is part of the summary instead.
pub fn run(options: &Options, out: &mut dyn Write) -> Result<bool, PipelinesError> {
    let mut is_complete = true;
    for (name, path) in &options.libraries {
        is_complete &= run_library(name, path, options, out)?;
    }
    Ok(is_complete)
}

fn run_library(name: &str, path: &Path, options: &Options, out: &mut dyn Write) -> Result<bool, PipelinesError> {
    let names = kernel_names(path)?;
    let wanted = select(&names, &options.selection);
    writeln!(out, "library {name}: {} kernels, {} wanted", names.len(), wanted.len())?;
    if let Selection::Sample { seed, .. } = options.selection {
        writeln!(out, "library {name}: drawn with --seed {seed}")?;
    }
    let keeps_answers = matches!(options.selection, Selection::All);
    let mut state = State::open(&options.state, name, &options.compiler, keeps_answers, options.is_fresh)?;
    if options.retries_failures {
        state.forget_failures();
    }
    let missing: Vec<String> =
        wanted.iter().filter(|kernel| !state.has(kernel)).map(|kernel| (*kernel).into()).collect();
    if missing.len() < wanted.len() {
        writeln!(out, "library {name}: {} answers from an earlier run", wanted.len() - missing.len())?;
    }
    let mut progress = Progress::new(name, missing.len());
    let opening = pool::build(path, missing, options.jobs, |kernel, outcome| {
        progress.count(&outcome, out)?;
        state.add(kernel, outcome)
    })?;
    let held = measure_held(path, options.held_kernels, &wanted, &state)?;
    summary::write(out, name, &wanted, &state, &opening, held)?;
    Ok(wanted.iter().all(|kernel| state.is_built(kernel)))
}

/// Names of a library's kernels, in the library's order.
fn kernel_names(path: &Path) -> Result<Vec<String>, PipelinesError> {
    Ok(open(path)?.kernel_names())
}

/// Opens a library.
pub(crate) fn open(path: &Path) -> Result<Library, PipelinesError> {
    Ok(Library::from_metallib_file(path)?)
}

fn select<'names>(names: &'names [String], selection: &Selection) -> Vec<&'names str> {
    match selection {
        Selection::All => names.iter().map(String::as_str).collect(),
        Selection::Sample { count, seed } => {
            let mut drawn = BTreeSet::new();
            let mut generator = SplitMix(*seed);
            while drawn.len() < (*count).min(names.len()) {
                drawn.insert(generator.below(names.len()));
            }
            drawn.into_iter().map(|index| names[index].as_str()).collect()
        }
        Selection::Named(given) => {
            names.iter().map(String::as_str).filter(|name| given.iter().any(|g| g == name)).collect()
        }
    }
}

/// Bytes that a process grew by while it built up to `count` of the kernels that are known to build.
fn measure_held(
    path: &Path,
    count: usize,
    wanted: &[&str],
    state: &State,
) -> Result<Option<worker::Held>, PipelinesError> {
    let built: Vec<&str> = wanted.iter().copied().filter(|kernel| state.is_built(kernel)).collect();
    if count == 0 || built.is_empty() {
        return Ok(None);
    }
    let count = count.min(built.len());
    let spread: Vec<&str> = (0..count).map(|index| built[index * built.len() / count]).collect();
    pool::hold(path, &spread).map(Some)
}

/// Sebastiano Vigna's SplitMix64: enough to draw a sample that a seed repeats.
struct SplitMix(u64);

impl SplitMix {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^= word >> 31;
        let scaled = (u128::from(word) * bound as u128) >> 64;
        usize::try_from(scaled).unwrap_or(0)
    }
}

/// How far a run is: a bar where standard error is a terminal, else lines.
struct Progress {
    library: String,
    bar: ProgressBar,
    done: usize,
    failed: usize,
    total: usize,
    start: Instant,
    last: Instant,
}

impl Progress {
    fn new(library: &str, total: usize) -> Self {
        let now = Instant::now();
        let bar = ProgressBar::new(total as u64);
        let template = format!("library {library}: {{bar:24}} {{pos}} of {{len}}, {{msg}}{{eta}} left");
        bar.set_style(ProgressStyle::with_template(&template).expect("the template is well formed"));
        Self { library: library.into(), bar, done: 0, failed: 0, total, start: now, last: now }
    }

    fn count(&mut self, outcome: &Outcome, out: &mut dyn Write) -> std::io::Result<()> {
        self.done += 1;
        self.failed += usize::from(outcome.failure.is_some());
        if !self.bar.is_hidden() {
            if self.failed > 0 {
                self.bar.set_message(format!("{} failed, ", self.failed));
            }
            self.bar.inc(1);
            if self.done == self.total {
                self.bar.finish_and_clear();
            }
            return Ok(());
        }
        if self.last.elapsed() < PROGRESS_INTERVAL {
            return Ok(());
        }
        self.last = Instant::now();
        let elapsed = self.start.elapsed().as_secs();
        let left = elapsed * (self.total - self.done) as u64 / self.done as u64;
        let Self { library, done, failed, total, .. } = self;
        writeln!(out, "library {library}: {done} of {total}, {failed} failed, {elapsed} s, about {left} s left")?;
        out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_has_its_size_and_repeats_with_its_seed() {
        let names: Vec<String> = (0..100).map(|index| index.to_string()).collect();
        let draw = |count, seed| select(&names, &Selection::Sample { count, seed });
        assert_eq!(draw(10, 7).len(), 10);
        assert_eq!(draw(10, 7), draw(10, 7));
        assert_ne!(draw(10, 7), draw(10, 8));
        assert_eq!(draw(1000, 7).len(), names.len());
    }

    #[test]
    fn names_select_in_the_order_of_the_library() {
        let names = ["a", "b", "c"].map(String::from);
        assert_eq!(select(&names, &Selection::Named(vec!["c".into(), "a".into(), "x".into()])), ["a", "c"]);
        assert_eq!(select(&names, &Selection::All), ["a", "b", "c"]);
    }
}
