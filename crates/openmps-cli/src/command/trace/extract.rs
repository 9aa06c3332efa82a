//! `openmps trace extract`: one launch as a folder that anyone can run and attach to a report.

use std::fs;
use std::path::Path;

use openmps_air::metallib::{NewFunction, Target, Writer};
use openmps_trace::{Capture, Launch, Origin, Pipeline, Written};
use serde::Serialize;

use super::case::{Program, after_file, before_file, describe};
use super::module::kernel_module;
use super::open;
use crate::args::trace::Extract;
use crate::compiler::client;
use crate::failure::Failure;
use crate::output;

/// A region or a source has at most this many bytes.
const CONTENT_BYTES_MAX: u64 = 1 << 40;

const PYTHON_RUNNER: &str = include_str!("../../../runners/run.py");
const RUST_RUNNER: &str = include_str!("../../../runners/run.rs");
const RUST_PROJECT: &str = include_str!("../../../runners/project.toml");
const README: &str = include_str!("../../../runners/README.md");

/// What `--json` prints.
#[derive(Serialize)]
struct Report {
    kernel: String,
    files: Vec<String>,
}

/// A folder that is being filled.
struct Folder<'a> {
    path: &'a Path,
    files: Vec<String>,
}

impl Folder<'_> {
    fn write(&mut self, name: &str, bytes: &[u8]) -> Result<(), Failure> {
        let path = self.path.join(name);
        fs::write(&path, bytes).map_err(|error| Failure::about(&path, error))?;
        self.files.push(name.to_owned());
        Ok(())
    }
}

pub(crate) fn run(arguments: &Extract) -> Result<(), Failure> {
    let capture = open(&arguments.file)?;
    let count = capture.launches().count();
    let launch = capture.launches().nth(arguments.launch).ok_or_else(|| {
        let text = format!("there is no launch {}: the capture has {count}, counted from 0", arguments.launch);
        Failure::Message(text)
    })?;
    let pipeline = capture.pipeline(launch.pipeline);
    fs::create_dir(&arguments.output).map_err(|error| Failure::about(&arguments.output, error))?;
    let mut folder = Folder { path: &arguments.output, files: Vec::new() };
    let program = write_program(&mut folder, &capture, launch, pipeline)?;
    folder.write("case.txt", describe(launch, pipeline, &program).as_bytes())?;
    write_regions(&mut folder, &capture, launch)?;
    folder.write("run.py", PYTHON_RUNNER.as_bytes())?;
    folder.write("run.rs", RUST_RUNNER.as_bytes())?;
    folder.write("Cargo.toml", RUST_PROJECT.as_bytes())?;
    folder.write("README.md", README.as_bytes())?;
    let report = Report { kernel: pipeline.name.clone(), files: folder.files };
    if arguments.json {
        return output::print_json(&report);
    }
    let folder = arguments.output.display();
    output::print(&format!(
        "{folder}: launch {} of {}, {} files\n",
        arguments.launch,
        report.kernel,
        report.files.len()
    ))
}

fn read(capture: &Capture, content: openmps_trace::ContentNumber) -> Result<Vec<u8>, Failure> {
    capture.read(content, CONTENT_BYTES_MAX).map_err(|error| Failure::Message(error.to_string()))
}

/// Writes the kernel as a library, and its source where there is one.
fn write_program<'a>(
    folder: &mut Folder<'_>,
    capture: &Capture,
    launch: &Launch,
    pipeline: &'a Pipeline,
) -> Result<Program<'a>, Failure> {
    let module = kernel_module(&client(), capture, launch.pipeline);
    let module =
        module.ok_or_else(|| Failure::Message(format!("the module of kernel '{}' is damaged", pipeline.name)))?;
    let mut writer = Writer::new(Target::default());
    let pushed = writer.push(NewFunction::kernel(&pipeline.name, module.bitcode().to_vec()));
    pushed.map_err(|error| Failure::Message(error.to_string()))?;
    folder.write("kernel.metallib", &writer.finish())?;
    match &pipeline.origin {
        Origin::Source { text, language_version, fast_math } => {
            folder.write("kernel.metal", &read(capture, *text)?)?;
            // Python cannot set function constants; in the library they are set.
            let can_compile = pipeline.constants.is_empty();
            Ok(Program { source: can_compile.then_some((language_version.as_str(), *fast_math)) })
        }
        Origin::Library { .. } => Ok(Program { source: None }),
    }
}

fn write_regions(folder: &mut Folder<'_>, capture: &Capture, launch: &Launch) -> Result<(), Failure> {
    for (number, region) in launch.regions.iter().enumerate() {
        folder.write(&before_file(number), &read(capture, region.before)?)?;
        if let Written::After(after) = region.written {
            folder.write(&after_file(number), &read(capture, after)?)?;
        }
    }
    Ok(())
}
