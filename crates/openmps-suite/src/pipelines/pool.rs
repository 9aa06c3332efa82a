//! Worker processes of the run: each is asked for one kernel after the other, and replaced when it dies.

use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;

use super::PipelinesError;
use super::state::Outcome;
use super::worker::Held;

/// What a worker thread tells the run.
enum Event {
    Opened { micros: u64 },
    Answered { kernel: String, outcome: Outcome },
    Stopped(PipelinesError),
}

/// Builds `kernels` with `jobs` workers, hands each answer to `keep`, and gives the times that opening the library took, in
/// microseconds.
pub(super) fn build(
    path: &Path,
    kernels: Vec<String>,
    jobs: usize,
    mut keep: impl FnMut(String, Outcome) -> io::Result<()>,
) -> Result<Vec<u64>, PipelinesError> {
    let queue = Mutex::new(kernels.into_iter());
    let mut opening = Vec::new();
    thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        for _ in 0..jobs.max(1) {
            let sender = sender.clone();
            let queue = &queue;
            scope.spawn(move || {
                if let Err(error) = drain(path, queue, &sender) {
                    // The receiver is gone only when another worker has stopped the run.
                    let _ = sender.send(Event::Stopped(error));
                }
            });
        }
        drop(sender);
        for event in receiver {
            match event {
                Event::Opened { micros } => opening.push(micros),
                Event::Answered { kernel, outcome } => keep(kernel, outcome)?,
                Event::Stopped(error) => return Err(error),
            }
        }
        Ok(())
    })?;
    Ok(opening)
}

/// Measures one process that builds and holds all of `kernels`.
pub(super) fn hold(path: &Path, kernels: &[&str]) -> Result<Held, PipelinesError> {
    let (mut child, mut input, mut output) = spawn("hold", path)?;
    // The worker answers after the last name, so that both pipes cannot fill.
    input.write_all((kernels.join("\n") + "\n").as_bytes())?;
    drop(input);
    let mut line = String::new();
    output.read_line(&mut line)?;
    child.wait()?;
    let mut fields = line.trim_end().split('\t').skip(1);
    let mut number = || fields.next()?.parse::<u64>().ok();
    match (number(), number()) {
        (Some(kernels), Some(bytes)) => Ok(Held { kernels: usize::try_from(kernels).unwrap_or(usize::MAX), bytes }),
        _ => Err(PipelinesError::Answer(line)),
    }
}

/// Asks one worker after the other until the queue is empty.
fn drain(
    path: &Path,
    queue: &Mutex<std::vec::IntoIter<String>>,
    events: &mpsc::Sender<Event>,
) -> Result<(), PipelinesError> {
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
    let mut pending = next();
    while pending.is_some() {
        let (mut child, mut input, mut output) = spawn("work", path)?;
        while let Some(kernel) = pending.take() {
            let outcome = ask(&kernel, &mut input, &mut output, events)?;
            let is_alive = outcome.is_some();
            let outcome = match outcome {
                Some(outcome) => outcome,
                None => Outcome { micros: 0, failure: Some(format!("the process died: {}", child.wait()?)) },
            };
            if events.send(Event::Answered { kernel, outcome }).is_err() {
                return Ok(());
            }
            pending = next();
            if !is_alive {
                break;
            }
        }
        drop(input);
        child.wait()?;
    }
    Ok(())
}

/// One question and its answer; None when the worker died.
fn ask(
    kernel: &str,
    input: &mut ChildStdin,
    output: &mut BufReader<ChildStdout>,
    events: &mpsc::Sender<Event>,
) -> Result<Option<Outcome>, PipelinesError> {
    if writeln!(input, "{kernel}").is_err() {
        return Ok(None);
    }
    loop {
        let mut line = String::new();
        if output.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let line = line.trim_end_matches('\n');
        let mut fields = line.splitn(3, '\t');
        let kind = fields.next();
        let micros = fields.next().and_then(|micros| micros.parse().ok());
        match (kind, micros, fields.next()) {
            (Some("open"), Some(micros), None) => {
                if events.send(Event::Opened { micros }).is_err() {
                    return Ok(None);
                }
            }
            (Some("built"), Some(micros), None) => return Ok(Some(Outcome { micros, failure: None })),
            (Some("failed"), Some(micros), Some(message)) => {
                return Ok(Some(Outcome { micros, failure: Some(message.into()) }));
            }
            _ => return Err(PipelinesError::Answer(line.into())),
        }
    }
}

/// This program again, as a worker without a home folder: then nothing is read from or written to a cache.
fn spawn(mode: &str, path: &Path) -> io::Result<(Child, ChildStdin, BufReader<ChildStdout>)> {
    let mut child = Command::new(std::env::current_exe()?)
        .arg(mode)
        .arg(path)
        .env_remove("HOME")
        .env_remove("XDG_CACHE_HOME")
        .env_remove("OPENMPS_CACHE_DIR")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let pipes = child.stdin.take().zip(child.stdout.take());
    let (input, output) = pipes.ok_or_else(|| io::Error::other("the worker's pipes were asked for"))?;
    Ok((child, input, BufReader::new(output)))
}
