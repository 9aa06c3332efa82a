//! The worker process: opens a library and builds the kernels whose names it reads, one line each.
//!
//! Answers, one line each: `open MICROS` when it has opened the library, `built MICROS` or `failed MICROS MESSAGE` for a name,
//! separated by tabs. In hold mode it answers once, `held BYTES MICROS`, when its input ends.

use std::io::{BufRead, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use super::PipelinesError;

/// A library keeps what it has built; after so many kernels the worker opens it anew to let them go. 500 kernels of torch
/// take about 100 MB.
const KERNELS_HELD_MAX: usize = 500;

/// What holding kernels costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// Kernels built and held.
    pub kernels: usize,
    /// Growth of the process's resident memory, in bytes, from the opened library on.
    pub bytes: u64,
}

/// Serves names from `input` until it ends.
///
/// # Errors
/// The library does not open, or a pipe broke.
pub fn serve(path: &Path, input: &mut dyn BufRead, output: &mut dyn Write) -> Result<(), PipelinesError> {
    let mut library = open_timed(path, output)?;
    let mut held = 0;
    for name in input.lines() {
        let name = name?;
        if held == KERNELS_HELD_MAX {
            library = open_timed(path, output)?;
            held = 0;
        }
        held += 1;
        let start = Instant::now();
        match library.kernel(&name) {
            Ok(_) => writeln!(output, "built\t{}", micros(start.elapsed()))?,
            Err(error) => {
                let elapsed = micros(start.elapsed());
                writeln!(output, "failed\t{elapsed}\t{}", error.to_string().replace(['\n', '\t', '\r'], " "))?;
            }
        }
        output.flush()?;
    }
    Ok(())
}

/// Builds all names from `input`, holds the kernels, and says what they take.
///
/// # Errors
/// The library does not open, or a pipe broke.
pub fn hold(path: &Path, input: &mut dyn BufRead, output: &mut dyn Write) -> Result<(), PipelinesError> {
    let library = super::open(path)?;
    let before = resident_bytes()?;
    let mut kernels = Vec::new();
    for name in input.lines() {
        kernels.extend(library.kernel(&name?).ok());
    }
    let bytes = resident_bytes()?.saturating_sub(before);
    writeln!(output, "held\t{}\t{bytes}", kernels.len())?;
    Ok(())
}

/// Opens the library and says how long that took.
fn open_timed(path: &Path, output: &mut dyn Write) -> Result<openmps::Library, PipelinesError> {
    let start = Instant::now();
    let library = super::open(path)?;
    writeln!(output, "open\t{}", micros(start.elapsed()))?;
    Ok(library)
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

/// Resident memory of this process, from the second field of `/proc/self/statm`, which counts pages.
fn resident_bytes() -> Result<u64, PipelinesError> {
    /// Page size on x86-64 Linux.
    const PAGE_BYTES: u64 = 4096;
    let text = std::fs::read_to_string("/proc/self/statm")?;
    let pages: u64 = text.split(' ').nth(1).and_then(|pages| pages.parse().ok()).unwrap_or(0);
    Ok(pages * PAGE_BYTES)
}
