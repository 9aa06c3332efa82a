//! Runs a target without a fuzzer: over its seeds, then over random mutations of them.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{fs, io};

use super::Target;
use super::mutation::{Random, mutate};

/// The folder of the fuzz workspace.
#[must_use]
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

/// The seeds of the target `name`, in order of their file names. `cargo fuzz` adds what it finds to the same folder.
///
/// # Errors
/// When the folder or a file cannot be read.
pub fn corpus(name: &str) -> io::Result<Vec<Vec<u8>>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder().join("corpus").join(name))? {
        paths.push(entry?.path());
    }
    paths.sort();
    paths.iter().map(fs::read).collect()
}

/// How long a replay goes on: what comes first.
#[derive(Clone, Copy, Debug)]
pub struct Length {
    /// Most mutations.
    pub rounds: u64,
    /// No mutation is begun later.
    pub time: Duration,
}

/// Runs `target` over `inputs` and mutations of them that `seed` determines, and returns the number of executions.
///
/// # Panics
/// When the target does, after the input was written to `fuzz/artifacts/<name>/`, where `cargo fuzz run <name> <file>` and a
/// person find it.
#[must_use]
pub fn replay(target: &Target, inputs: &[Vec<u8>], seed: u64, length: Length) -> u64 {
    assert!(!inputs.is_empty(), "target {} has no seeds", target.name);
    inputs.iter().for_each(|input| execute(target, input));
    let (start, mut random, mut rounds) = (Instant::now(), Random::new(seed), 0);
    while rounds < length.rounds && start.elapsed() < length.time {
        execute(target, &mutate(&mut random, inputs, target.damage, target.words));
        rounds += 1;
    }
    rounds + inputs.len() as u64
}

/// The mutation that `seed` determines.
#[must_use]
pub fn mutation(target: &Target, inputs: &[Vec<u8>], seed: u64) -> Vec<u8> {
    mutate(&mut Random::new(seed), inputs, target.damage, target.words)
}

fn execute(target: &Target, input: &[u8]) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| (target.run)(input))) {
        let path = folder().join("artifacts").join(target.name);
        // The panic matters more than a folder that cannot be written.
        let _ = fs::create_dir_all(&path).and_then(|()| fs::write(path.join("crash-replay"), input));
        resume_unwind(panic);
    }
}
