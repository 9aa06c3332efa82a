//! Builds pipelines for the kernels of Metal libraries and prints what became of them; see `openmps_suite::pipelines`.
//!
//! `./dev conformance` calls it with the real libraries. As `work LIBRARY` and `hold LIBRARY` it is its own worker process.
#![forbid(unsafe_code)]

use std::io::{BufReader, stdin, stdout};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use openmps_suite::pipelines::{self, Options, Selection, worker};

const USAGE: &str = "usage: pipelines --compiler FILE --state FOLDER --library NAME=FILE... [--sample N] [--seed S] \
                     [--kernel NAME...] [--jobs N] [--held N] [--fresh] [--retry]";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (mut input, mut output) = (BufReader::new(stdin()), stdout());
    let result = match words.as_slice() {
        ["work", library] => worker::serve(Path::new(library), &mut input, &mut output).map(|()| true),
        ["hold", library] => worker::hold(Path::new(library), &mut input, &mut output).map(|()| true),
        _ => match parse(arguments.into_iter()) {
            Ok(options) => pipelines::run(&options, &mut output),
            Err(complaint) => return complain(&format!("{complaint}\n{USAGE}")),
        },
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => complain(&error.to_string()),
    }
}

#[expect(clippy::print_stderr, reason = "a program says on standard error why it stops")]
fn complain(text: &str) -> ExitCode {
    eprintln!("pipelines: {text}");
    ExitCode::from(2)
}

/// Options from the command line, without the program's name.
fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Options, String> {
    let mut options = Options {
        libraries: Vec::new(),
        selection: Selection::All,
        jobs: std::thread::available_parallelism().map_or(1, usize::from),
        state: PathBuf::new(),
        is_fresh: false,
        retries_failures: false,
        held_kernels: 0,
        compiler: PathBuf::new(),
    };
    let mut seed = u64::from(std::process::id());
    let mut sample = None;
    let mut named = Vec::new();
    while let Some(option) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| format!("{option} needs a value"));
        match option.as_str() {
            "--compiler" => options.compiler = value()?.into(),
            "--state" => options.state = value()?.into(),
            "--library" => {
                let given = value()?;
                let (name, path) = given.split_once('=').ok_or_else(|| format!("--library {given} has no '='"))?;
                options.libraries.push((name.into(), path.into()));
            }
            "--sample" => sample = Some(number(&option, &value()?)?),
            "--seed" => seed = number(&option, &value()?)?,
            "--kernel" => named.push(value()?),
            "--jobs" => options.jobs = number(&option, &value()?)?,
            "--held" => options.held_kernels = number(&option, &value()?)?,
            "--fresh" => options.is_fresh = true,
            "--retry" => options.retries_failures = true,
            _ => return Err(format!("unknown option '{option}'")),
        }
    }
    if !named.is_empty() {
        options.selection = Selection::Named(named);
    } else if let Some(count) = sample {
        options.selection = Selection::Sample { count, seed };
    }
    if options.libraries.is_empty() || options.state.as_os_str().is_empty() || options.compiler.as_os_str().is_empty() {
        return Err("--compiler, --state and --library are needed".into());
    }
    Ok(options)
}

fn number<T: std::str::FromStr>(option: &str, text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("{option} {text}: not a number"))
}
