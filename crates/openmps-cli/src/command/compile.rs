//! `openmps compile`: a source to a Metal library, one module a kernel, as Apple's compiler makes them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use openmps::{CompileOptions, LanguageVersion};
use openmps_air::metallib::{FunctionConstant, FunctionType, NewFunction, Target, Versions, Writer};
use openmps_compiler::Client;
use openmps_engine::{CompileError, CompiledSource, KernelSignature, SourceCompiler as _, VerifiedAir};
use serde::Serialize;

use crate::args::Compile;
use crate::command::check::{Message, messages};
use crate::compiler::{client, compile};
use crate::failure::Failure;
use crate::{input, output};

/// What `--json` prints.
#[derive(Serialize)]
struct Report {
    /// The library; null when the source is wrong.
    output: Option<PathBuf>,
    size_bytes: usize,
    kernels: Vec<String>,
    diagnostics: Vec<Message>,
}

pub(crate) fn run(arguments: &Compile) -> Result<(), Failure> {
    let source = input::source(&arguments.file)?;
    let (client, options) = (client(), arguments.language.options());
    if arguments.json {
        return run_json(arguments, &client, &source, &options);
    }
    let compiled = compile(&client, &arguments.file, &source, &options)?;
    let library = library(&client, &compiled, options.language_version)
        .map_err(|problem| Failure::about(&arguments.file, problem))?;
    write(&arguments.output, &library).map_err(|error| Failure::about(&arguments.output, error))
}

fn run_json(arguments: &Compile, client: &Client, source: &str, options: &CompileOptions) -> Result<(), Failure> {
    let file = &arguments.file;
    let compiled = match client.compile_source(source, options) {
        Ok(compiled) => compiled,
        Err(CompileError::Diagnostics { diagnostics, .. }) => {
            let diagnostics = messages(file, &diagnostics);
            output::print_json(&Report { output: None, size_bytes: 0, kernels: Vec::new(), diagnostics })?;
            return Err(Failure::Said);
        }
        Err(CompileError::Internal(reason)) => return Err(Failure::about(file, reason)),
    };
    let library =
        library(client, &compiled, options.language_version).map_err(|problem| Failure::about(file, problem))?;
    write(&arguments.output, &library).map_err(|error| Failure::about(&arguments.output, error))?;
    output::print_json(&Report {
        output: Some(arguments.output.clone()),
        size_bytes: library.len(),
        kernels: compiled.kernels.iter().map(|kernel| kernel.name.clone()).collect(),
        diagnostics: messages(file, &compiled.warnings),
    })
}

/// The bytes of the library.
fn library(client: &Client, compiled: &CompiledSource, language: LanguageVersion) -> Result<Vec<u8>, String> {
    let (versions, target) = versions(language);
    let names: Vec<String> = compiled.kernels.iter().map(|kernel| kernel.name.clone()).collect();
    let modules = client.split_air(&compiled.air, &names).map_err(|error| error.to_string())?;
    let mut writer = Writer::new(target);
    for (kernel, module) in compiled.kernels.iter().zip(&modules) {
        writer.push(function(kernel, module, versions)).map_err(|error| error.to_string())?;
    }
    Ok(writer.finish())
}

fn function(kernel: &KernelSignature, module: &VerifiedAir, versions: Versions) -> NewFunction {
    let constants = kernel.constants.iter().map(|constant| FunctionConstant {
        name: constant.name.clone(),
        data_type: constant.ty.into(),
        index: constant.index,
        required: constant.required,
    });
    NewFunction {
        name: kernel.name.clone(),
        function_type: FunctionType::Kernel,
        versions,
        bitcode: module.bitcode().to_vec(),
        constants: constants.collect(),
    }
}

/// What Apple's compiler writes for each version of the language.
fn versions(language: LanguageVersion) -> (Versions, Target) {
    let of = |air, language, version, os| {
        (Versions { air, language }, Target { version, os_version: os, ..Target::default() })
    };
    match language {
        LanguageVersion::Metal3_1 => of((2, 6), (3, 1), (2, 7), (14, 0)),
        LanguageVersion::Metal3_2 => of((2, 7), (3, 2), (2, 7), (15, 0)),
        LanguageVersion::Metal4_0 => of((2, 8), (4, 0), (2, 9), (26, 0)),
    }
}

/// Writes beside the goal and renames, so that a library is there whole or not at all. What is no regular file, such as a
/// terminal or `/dev/stdout`, is written in place.
fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
        return fs::write(path, bytes);
    }
    let mut fresh = path.as_os_str().to_owned();
    fresh.push(format!(".{}.fresh", std::process::id()));
    let fresh = PathBuf::from(fresh);
    let result = fs::write(&fresh, bytes).and_then(|()| fs::rename(&fresh, path));
    if result.is_err() {
        // It may not be there at all; the error that matters is the first one.
        let _ = fs::remove_file(&fresh);
    }
    result
}
