//! The compiler process, as the settings describe it, and what it says about sources.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use openmps::{CompileOptions, Settings};
use openmps_compiler::cache::default_folder;
use openmps_compiler::{Client, ClientConfig, ProcessLimits};
use openmps_engine::{
    AirLoader as _, CompileError, CompiledSource, Diagnostic, KernelSignature, Severity, SourceCompiler as _,
};

use crate::failure::Failure;
use crate::input::Input;
use crate::output;

/// What diagnostics call the text that they are about.
const SOURCE_NAME: &str = "program_source";

/// A client of the compiler that `OPENMPS_COMPILER` names, else of the one beside this program.
pub(crate) fn client() -> Client {
    let settings = Settings::process();
    let default = ProcessLimits::default();
    let limits = ProcessLimits {
        time: settings.compiler_time_limit.unwrap_or(default.time),
        memory_bytes: settings.compiler_memory_limit.unwrap_or(default.memory_bytes),
        ..default
    };
    let cache_dir = settings.cache_dir.clone().or_else(|| default_folder(|name| env::var_os(name)));
    Client::new(ClientConfig { cache_dir, limits, ..ClientConfig::new(executable()) })
}

/// Where the compiler is.
pub(crate) fn executable() -> PathBuf {
    let beside = || Some(env::current_exe().ok()?.parent()?.join("openmps-compiler"));
    let setting = Settings::process().compiler.clone();
    setting.or_else(beside).unwrap_or_else(|| PathBuf::from("openmps-compiler"))
}

/// Compiles the `source` of the file at `path`. Warnings and errors are printed as compilers print them.
pub(crate) fn compile(
    client: &Client,
    path: &Path,
    source: &str,
    options: &CompileOptions,
) -> Result<CompiledSource, Failure> {
    match client.compile_source(source, options) {
        Ok(compiled) => {
            compiled.warnings.iter().for_each(|warning| output::complain(&line(path, warning)));
            Ok(compiled)
        }
        Err(CompileError::Diagnostics { rendered, .. }) => {
            output::complain(&with_file_name(path, &rendered));
            Err(Failure::Said)
        }
        Err(CompileError::Internal(reason)) => Err(Failure::about(path, reason)),
    }
}

/// What the kernel `name` of the source or library at `path` takes.
pub(crate) fn signature(path: &Path, name: &str, options: &CompileOptions) -> Result<KernelSignature, Failure> {
    let client = client();
    let kernels = match Input::open(path)? {
        Input::Source(source) => compile(&client, path, &source, options)?.kernels,
        Input::Library(library) => {
            let function = library.get(name).ok_or_else(|| Failure::about(path, format!("has no kernel '{name}'")))?;
            let bitcode = function.bitcode().map_err(|error| Failure::about(path, error))?;
            client.load(&bitcode).map_err(|error| Failure::about(path, error))?.kernels
        }
    };
    let kernel = kernels.into_iter().find(|kernel| kernel.name == name);
    kernel.ok_or_else(|| Failure::about(path, format!("has no kernel '{name}'")))
}

/// A diagnostic without the source line.
fn line(path: &Path, diagnostic: &Diagnostic) -> String {
    let Diagnostic { file, line, column, message, .. } = diagnostic;
    let file = file_name(path, file);
    let severity = severity(diagnostic.severity);
    if *line == 0 {
        format!("{file}: {severity}: {message}")
    } else {
        format!("{file}:{line}:{column}: {severity}: {message}")
    }
}

/// The file that a diagnostic is about: the user's own, or a header of the library.
pub(crate) fn file_name(path: &Path, file: &str) -> String {
    if file.is_empty() || file == SOURCE_NAME { path.display().to_string() } else { file.to_owned() }
}

/// The word for `severity`.
pub(crate) fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    }
}

/// Diagnostics as printed, with the file's name in the places of the compiler's.
pub(crate) fn with_file_name(path: &Path, rendered: &str) -> String {
    let name = OsStr::to_string_lossy(path.as_os_str());
    let replace = |line: &str| match line.strip_prefix(SOURCE_NAME) {
        Some(rest) if is_place(rest) => format!("{name}{rest}\n"),
        _ => format!("{line}\n"),
    };
    rendered.lines().map(replace).collect()
}

/// Whether `text` goes on like a diagnostic behind its file, and not like a source line that happens to start so.
fn is_place(text: &str) -> bool {
    let Some(rest) = text.strip_prefix(':') else { return false };
    let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == ':');
    [" error: ", " warning: ", " note: "].iter().any(|severity| rest.starts_with(severity))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn diagnostics_name_the_users_file() {
        let rendered = "program_source:1:5: error: no\nprogram_source: x\n    ^\nmetal_math:3:1: note: here\nprogram_source: error: all\n";
        let expected =
            "a/k.metal:1:5: error: no\nprogram_source: x\n    ^\nmetal_math:3:1: note: here\na/k.metal: error: all\n";
        assert_eq!(with_file_name(Path::new("a/k.metal"), rendered), expected);
    }
}
