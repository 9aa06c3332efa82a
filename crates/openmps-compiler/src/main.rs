//! The executable `openmps-compiler`: the server that the runtime starts, and the same compiler for people.
//!
//! ```text
//! openmps-compiler compile FILE [--output AIR] [--metal 3.1|3.2|4.0] [--fast]
//! openmps-compiler pch FOLDER            builds every precompiled header into FOLDER
//! openmps-compiler serve                 answers requests on a socket at standard input
//!     --memory-limit BYTES               address space that it may use; by default all
//!     --nice NUMBER                      how much it gives way to other processes; by default not
//!     --include FOLDER                   the folder of metal_stdlib; by default `include` beside the executable
//!     --pch-cache FOLDER                 where precompiled headers are built when the installed ones do not fit
//! ```

use std::ffi::OsString;
use std::io::Write;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::ExitCode;

use openmps_engine::{CompileOptions, Diagnostic, LanguageVersion, MathMode, Severity, SourceCompiler};
use openmps_msl::{DriverConfig, MslCompiler, options};

const USAGE: &str = "usage: openmps-compiler compile FILE [--output AIR] [--metal 3.1|3.2|4.0] [--fast]\n       openmps-compiler pch FOLDER\n       openmps-compiler serve\n       with [--include FOLDER] [--pch-cache FOLDER]";

/// What was typed.
#[derive(Debug, Default)]
struct Arguments {
    words: Vec<OsString>,
    include_dir: Option<PathBuf>,
    pch_cache_dir: Option<PathBuf>,
    output: Option<PathBuf>,
    memory_bytes_max: Option<u64>,
    niceness: Option<i32>,
    options: CompileOptions,
}

fn main() -> ExitCode {
    match parse(std::env::args_os().skip(1)).and_then(run) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            // Nowhere is left to say that standard error is closed.
            let _ = writeln!(std::io::stderr(), "{}", message.trim_end());
            ExitCode::FAILURE
        }
    }
}

fn parse(mut words: impl Iterator<Item = OsString>) -> Result<Arguments, String> {
    let mut arguments = Arguments::default();
    while let Some(word) = words.next() {
        let mut value = |name: &str| words.next().ok_or_else(|| format!("{name} needs a value\n{USAGE}"));
        match word.to_str() {
            Some("--include") => arguments.include_dir = Some(value("--include")?.into()),
            Some("--pch-cache") => arguments.pch_cache_dir = Some(value("--pch-cache")?.into()),
            Some("--output") => arguments.output = Some(value("--output")?.into()),
            Some("--memory-limit") => arguments.memory_bytes_max = Some(byte_count(&value("--memory-limit")?)?),
            Some("--nice") => arguments.niceness = Some(niceness(&value("--nice")?)?),
            Some("--fast") => arguments.options.math_mode = MathMode::Fast,
            Some("--metal") => arguments.options.language_version = language_version(&value("--metal")?)?,
            Some(flag) if flag.starts_with("--") => return Err(format!("unknown option '{flag}'\n{USAGE}")),
            _ => arguments.words.push(word),
        }
    }
    Ok(arguments)
}

fn byte_count(text: &OsString) -> Result<u64, String> {
    let number = text.to_str().and_then(|text| text.parse().ok());
    number.ok_or_else(|| format!("--memory-limit {}: expected a number of bytes", text.to_string_lossy()))
}

fn niceness(text: &OsString) -> Result<i32, String> {
    let number = text.to_str().and_then(|text| text.parse().ok()).filter(|number| (0..20).contains(number));
    number.ok_or_else(|| format!("--nice {}: expected a number from 0 to 19", text.to_string_lossy()))
}

fn language_version(text: &OsString) -> Result<LanguageVersion, String> {
    match text.to_str() {
        Some("3.1") => Ok(LanguageVersion::Metal3_1),
        Some("3.2") => Ok(LanguageVersion::Metal3_2),
        Some("4.0") => Ok(LanguageVersion::Metal4_0),
        _ => Err(format!("--metal {}: expected 3.1, 3.2 or 4.0", text.to_string_lossy())),
    }
}

fn run(arguments: Arguments) -> Result<(), String> {
    let compiler = MslCompiler::new(driver_config(&arguments)?);
    let words: Vec<&str> = arguments.words.iter().map(|word| word.to_str().unwrap_or_default()).collect();
    match words[..] {
        ["serve"] => {
            if let Some(niceness) = arguments.niceness {
                openmps_compiler::server::give_way(niceness);
            }
            serve(&compiler, arguments.memory_bytes_max)
        }
        ["pch", _] => build_headers(&compiler, PathBuf::from(&arguments.words[1])),
        ["compile", _] => compile(&compiler, &arguments),
        _ => Err(USAGE.to_owned()),
    }
}

fn driver_config(arguments: &Arguments) -> Result<DriverConfig, String> {
    let executable = std::env::current_exe().map_err(|error| format!("cannot find this executable: {error}"))?;
    let folder = executable.parent().map(PathBuf::from);
    let include_dir = arguments
        .include_dir
        .clone()
        .or_else(|| Some(folder.as_ref()?.join("include")))
        .ok_or("this executable is in no folder")?;
    // Beside the executable, where the package's build puts them with `openmps-compiler pch`.
    let installed_pch_dir = folder.map(|folder| folder.join("pch"));
    Ok(DriverConfig { include_dir, installed_pch_dir, pch_cache_dir: arguments.pch_cache_dir.clone() })
}

fn serve(compiler: &MslCompiler, memory_bytes_max: Option<u64>) -> Result<(), String> {
    let socket = std::io::stdin().as_fd().try_clone_to_owned().map_err(|error| error.to_string())?;
    openmps_compiler::server::serve(compiler, UnixStream::from(socket), memory_bytes_max)
        .map_err(|error| error.to_string())
}

fn build_headers(compiler: &MslCompiler, folder: PathBuf) -> Result<(), String> {
    for options in &options::ALL {
        let name = options::name(options);
        let path = compiler
            .driver()
            .build_precompiled_header(options, &folder)
            .map_err(|error| format!("precompiled header {name} in {}: {error}", folder.display()))?;
        say(&path.display().to_string())?;
    }
    Ok(())
}

fn compile(compiler: &MslCompiler, arguments: &Arguments) -> Result<(), String> {
    let path = PathBuf::from(&arguments.words[1]);
    let source = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let compiled = compiler.compile_source(&source, &arguments.options).map_err(|error| error.to_string())?;
    for Diagnostic { severity, file, line, column, message } in &compiled.warnings {
        let severity = if *severity == Severity::Note { "note" } else { "warning" };
        let _ = writeln!(std::io::stderr(), "{file}:{line}:{column}: {severity}: {message}");
    }
    for kernel in &compiled.kernels {
        say(&kernel.name)?;
    }
    match &arguments.output {
        Some(output) => {
            std::fs::write(output, compiled.air.bitcode()).map_err(|error| format!("{}: {error}", output.display()))
        }
        None => Ok(()),
    }
}

fn say(line: &str) -> Result<(), String> {
    writeln!(std::io::stdout(), "{line}").map_err(|error| format!("standard output: {error}"))
}
