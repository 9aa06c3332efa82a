//! What can be typed after `openmps trace`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Args, Debug)]
pub(crate) struct Trace {
    #[command(subcommand)]
    pub(crate) action: Action,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    /// Run the kernels of a capture again, without the program that made it.
    Replay(Replay),
    /// Write one launch of a capture as a small case of its own, with runners in Python and Rust.
    Extract(Extract),
    /// Write one page (HTML) that shows a capture or a trace of the profiler: timeline, launches, kernels, memory.
    Show(Show),
}

#[derive(Args, Debug)]
pub(crate) struct Replay {
    /// The capture: a folder whose name ends in .gputrace.
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) launches: Launches,
    /// Compare what each launch writes with the capture, bit for bit; any difference is status 1.
    #[arg(long)]
    pub(crate) check: bool,
    /// Measure: time, bytes, share of the machine's memory bandwidth, GFLOP/s where they can be counted.
    #[arg(long)]
    pub(crate) time: bool,
    /// How often each launch runs for --time.
    #[arg(long, value_name = "COUNT", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) repeat: u32,
    /// Count what each kernel does, by line of its source: instructions, operations on floats, loads, stores, atomics, barriers.
    #[arg(long)]
    pub(crate) count: bool,
    /// Compile kernels from the source in the capture, instead of taking the compiled module there.
    #[arg(long)]
    pub(crate) from_source: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Which launches of a capture.
#[derive(Args, Debug)]
pub(crate) struct Launches {
    /// The first launch, counted from 0.
    #[arg(long, value_name = "NUMBER")]
    pub(crate) from: Option<usize>,
    /// The last launch.
    #[arg(long, value_name = "NUMBER")]
    pub(crate) to: Option<usize>,
    /// Only launches of this kernel.
    #[arg(long, value_name = "NAME")]
    pub(crate) kernel: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct Extract {
    /// The capture: a folder whose name ends in .gputrace.
    pub(crate) file: PathBuf,
    /// The launch, counted from 0.
    pub(crate) launch: usize,
    /// The folder to write; it must not exist.
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: PathBuf,
    /// Print the names of the files as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Show {
    /// The capture, a folder whose name ends in .gputrace; or a Perfetto trace, whose name ends in .perfetto-trace.
    pub(crate) file: PathBuf,
    /// The page to write; by default the file's name with .html, in the working folder.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Run each launch of a capture once more, to count what it does by line of its source.
    #[arg(long)]
    pub(crate) count: bool,
    /// Leave buffers out: a smaller page.
    #[arg(long)]
    pub(crate) no_buffers: bool,
    /// Print the page's name and size as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
