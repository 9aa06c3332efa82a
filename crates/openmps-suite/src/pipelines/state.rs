//! The answers so far, one line a kernel, appended as they come.
//!
//! A line is name, microseconds and, for a kernel that was not built, the message, separated by tabs. The first line of the
//! file names the compiler; a file of another compiler is started anew. A last line that was cut short is dropped.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// What became of one kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Outcome {
    /// Time that the build took.
    pub(super) micros: u64,
    /// The message, for a kernel that was not built.
    pub(super) failure: Option<String>,
}

/// The answers and the file that keeps them.
#[derive(Debug)]
pub(super) struct State {
    outcomes: BTreeMap<String, Outcome>,
    file: Option<File>,
}

impl State {
    /// The answers that `folder` has of `library`; only a state that `keeps` them reads and writes a file.
    pub(super) fn open(folder: &Path, library: &str, compiler: &Path, keeps: bool, is_fresh: bool) -> io::Result<Self> {
        if !keeps {
            return Ok(Self { outcomes: BTreeMap::new(), file: None });
        }
        fs::create_dir_all(folder)?;
        let path: PathBuf = folder.join(format!("{library}.pipelines"));
        let heading = heading(compiler)?;
        let text = if is_fresh { String::new() } else { fs::read_to_string(&path).unwrap_or_default() };
        let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
        let outcomes = match whole.strip_prefix(&heading) {
            Some(lines) => lines.lines().filter_map(parse).collect(),
            None => BTreeMap::new(),
        };
        let mut file = OpenOptions::new().create(true).write(true).truncate(true).open(&path)?;
        file.write_all(heading.as_bytes())?;
        for (name, outcome) in &outcomes {
            file.write_all(line(name, outcome).as_bytes())?;
        }
        Ok(Self { outcomes, file: Some(file) })
    }

    /// Drops what failed, so that it is asked for again.
    pub(super) fn forget_failures(&mut self) {
        self.outcomes.retain(|_, outcome| outcome.failure.is_none());
    }

    /// Whether there is an answer.
    pub(super) fn has(&self, kernel: &str) -> bool {
        self.outcomes.contains_key(kernel)
    }

    /// Whether the kernel was built.
    pub(super) fn is_built(&self, kernel: &str) -> bool {
        self.outcome(kernel).is_some_and(|outcome| outcome.failure.is_none())
    }

    /// The answer.
    pub(super) fn outcome(&self, kernel: &str) -> Option<&Outcome> {
        self.outcomes.get(kernel)
    }

    /// Keeps an answer; a later one for the same kernel counts.
    pub(super) fn add(&mut self, kernel: String, outcome: Outcome) -> io::Result<()> {
        if let Some(file) = &mut self.file {
            file.write_all(line(&kernel, &outcome).as_bytes())?;
        }
        self.outcomes.insert(kernel, outcome);
        Ok(())
    }
}

/// Size and time of the executable: what changes when it is built anew.
fn heading(compiler: &Path) -> io::Result<String> {
    let metadata = fs::metadata(compiler)?;
    let time = metadata.modified()?.duration_since(std::time::UNIX_EPOCH).map_or(0, |time| time.as_micros());
    Ok(format!("compiler {} {time}\n", metadata.len()))
}

fn line(name: &str, outcome: &Outcome) -> String {
    match &outcome.failure {
        None => format!("{name}\t{}\n", outcome.micros),
        Some(message) => format!("{name}\t{}\t{message}\n", outcome.micros),
    }
}

fn parse(line: &str) -> Option<(String, Outcome)> {
    let mut fields = line.splitn(3, '\t');
    let name = fields.next()?.to_owned();
    let micros = fields.next()?.parse().ok()?;
    Some((name, Outcome { micros, failure: fields.next().map(String::from) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder of this test and a file that stands for the compiler.
    fn folder(name: &str) -> (PathBuf, PathBuf) {
        let folder = std::env::temp_dir().join(format!("openmps-state-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let compiler = folder.join("compiler");
        fs::write(&compiler, "x").unwrap();
        (folder, compiler)
    }

    fn built(micros: u64) -> Outcome {
        Outcome { micros, failure: None }
    }

    #[test]
    fn answers_outlive_the_run_and_a_cut_line_does_not_count() {
        let (folder, compiler) = folder("outlive");
        let mut state = State::open(&folder, "l", &compiler, true, false).unwrap();
        state.add("good".into(), built(5)).unwrap();
        state.add("bad".into(), Outcome { micros: 6, failure: Some("no lowering".into()) }).unwrap();
        drop(state);
        let path = folder.join("l.pipelines");
        let mut text = fs::read_to_string(&path).unwrap();
        text.push_str("cut\t1");
        fs::write(&path, text).unwrap();
        let mut state = State::open(&folder, "l", &compiler, true, false).unwrap();
        assert!(state.is_built("good") && state.has("bad") && !state.is_built("bad") && !state.has("cut"));
        assert_eq!(state.outcome("bad").unwrap().failure.as_deref(), Some("no lowering"));
        state.forget_failures();
        assert!(!state.has("bad"));
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn another_compiler_starts_anew() {
        let (folder, compiler) = folder("anew");
        State::open(&folder, "l", &compiler, true, false).unwrap().add("good".into(), built(5)).unwrap();
        fs::write(&compiler, "longer").unwrap();
        assert!(!State::open(&folder, "l", &compiler, true, false).unwrap().has("good"));
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_fresh_run_forgets_and_a_sample_keeps_nothing() {
        let (folder, compiler) = folder("fresh");
        State::open(&folder, "l", &compiler, true, false).unwrap().add("good".into(), built(5)).unwrap();
        assert!(!State::open(&folder, "l", &compiler, false, false).unwrap().has("good"));
        assert!(State::open(&folder, "l", &compiler, true, false).unwrap().has("good"));
        assert!(!State::open(&folder, "l", &compiler, true, true).unwrap().has("good"));
        fs::remove_dir_all(folder).unwrap();
    }
}
