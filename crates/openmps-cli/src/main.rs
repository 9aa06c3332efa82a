//! The command `openmps`: checks Metal source, shows what is in sources and libraries, and precompiles.
//!
//! It uses public interfaces only: the compiler process through `openmps-compiler`'s client, `openmps-air`'s container, the
//! runtime of `openmps`, and the plain data of `openmps-engine`. It links no LLVM.
//!
//! Exit status: 0 when all is well, 1 when an input is wrong or an output cannot be written, 2 when the command line is wrong.
//!
//! Dependencies: `clap` reads the command line, and `clap_complete` and `clap_mangen` make completions and manual pages from the
//! same description; `serde` and `serde_json` write what `--json` prints; `safetensors` and `zip` (NumPy's `.npz`) read arrays.
#![forbid(unsafe_code)]

mod args;
mod array;
mod command;
mod compiler;
mod constant_value;
mod data;
mod describe;
mod failure;
mod image;
mod input;
mod npy;
mod output;
mod progress;
mod random;

use std::process::ExitCode;

use clap::Parser as _;

use args::{Arguments, Command};
use failure::Failure;

fn main() -> ExitCode {
    // Ends the process with status 2 and the usage when the command line is wrong.
    let arguments = Arguments::parse();
    let result = match &arguments.command {
        Command::Check(check) => command::check::run(check),
        Command::Inspect(inspect) => command::inspect::run(inspect),
        Command::Compile(compile) => command::compile::run(compile),
        Command::Trace(trace) => command::trace::run(trace),
        Command::Run(run) => command::run::run(run),
        Command::Doctor(doctor) => command::doctor::run(doctor),
        Command::Info(info) => command::info::run(info),
        Command::Completions(completions) => command::generate::completions(completions),
        Command::Man(man) => command::generate::man(man),
    };
    match result {
        // Whoever reads the output has seen enough.
        Ok(()) | Err(Failure::OutputClosed) => ExitCode::SUCCESS,
        Err(failure) => {
            output::complain(&failure.to_string());
            ExitCode::FAILURE
        }
    }
}
