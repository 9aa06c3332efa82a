//! The command `openmps`: checks Metal source, shows what is in sources and libraries, and precompiles.
//!
//! It uses public interfaces only: the compiler process through `openmps-compiler`'s client, `openmps-air`'s container, the
//! settings of `openmps`, and the plain data of `openmps-engine`. It links no LLVM.
//!
//! Exit status: 0 when all is well, 1 when an input is wrong or an output cannot be written, 2 when the command line is wrong.
//!
//! Dependencies: `clap` reads the command line, `serde` and `serde_json` write what `--json` prints.
#![forbid(unsafe_code)]

mod args;
mod command;
mod compiler;
mod constant_value;
mod describe;
mod failure;
mod input;
mod output;

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
