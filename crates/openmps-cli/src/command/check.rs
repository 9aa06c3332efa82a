//! `openmps check`: compiles a source and lists its kernels, or says what is wrong with it.

use std::path::Path;

use openmps_engine::{CompileError, Diagnostic, SourceCompiler as _};
use serde::Serialize;

use crate::args::Check;
use crate::compiler::{client, compile, file_name, severity};
use crate::describe::KernelDescription;
use crate::failure::Failure;
use crate::{input, output};

/// What `--json` prints.
#[derive(Serialize)]
struct Report {
    kernels: Vec<KernelDescription>,
    diagnostics: Vec<Message>,
}

/// A diagnostic.
#[derive(Serialize)]
pub(crate) struct Message {
    severity: &'static str,
    file: String,
    /// From 1; absent where the message has no place.
    line: Option<u32>,
    /// In bytes, from 1.
    column: Option<u32>,
    message: String,
}

pub(crate) fn run(check: &Check) -> Result<(), Failure> {
    let source = input::source(&check.file)?;
    if check.json {
        return run_json(check, &source);
    }
    let compiled = compile(&client(), &check.file, &source, &check.language.options())?;
    let kernels = compiled.kernels.iter().map(|kernel| KernelDescription::from(kernel).to_string());
    output::print(&kernels.collect::<Vec<_>>().join("\n"))
}

/// Diagnostics about the source at `path`, as `--json` prints them.
pub(crate) fn messages(path: &Path, diagnostics: &[Diagnostic]) -> Vec<Message> {
    diagnostics.iter().map(|one| message(path, one)).collect()
}

fn run_json(check: &Check, source: &str) -> Result<(), Failure> {
    let messages = |diagnostics: &[Diagnostic]| messages(&check.file, diagnostics);
    match client().compile_source(source, &check.language.options()) {
        Ok(compiled) => output::print_json(&Report {
            kernels: compiled.kernels.iter().map(KernelDescription::from).collect(),
            diagnostics: messages(&compiled.warnings),
        }),
        Err(CompileError::Diagnostics { diagnostics, .. }) => {
            output::print_json(&Report { kernels: Vec::new(), diagnostics: messages(&diagnostics) })?;
            Err(Failure::Said)
        }
        Err(CompileError::Internal(reason)) => Err(Failure::about(&check.file, reason)),
    }
}

fn message(path: &Path, diagnostic: &Diagnostic) -> Message {
    let place = |number: u32| (diagnostic.line > 0).then_some(number);
    Message {
        severity: severity(diagnostic.severity),
        file: file_name(path, &diagnostic.file),
        line: place(diagnostic.line),
        column: place(diagnostic.column),
        message: diagnostic.message.clone(),
    }
}
