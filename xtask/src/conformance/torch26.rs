//! `./dev conformance torch26`: real libraries against this implementation.
//!
//! Takes the libraries that Apple's compiler made for PyTorch 2.15 (and, by name, those of other projects): a pipeline
//! for every kernel, by the program `pipelines` of `openmps-suite`; with `--numeric`, results against ATen's on the CPU, by the
//! Python package `conformance`. The libraries are downloaded when they are first needed.

use anyhow::{Context, Result, bail};

use super::python;
use crate::artifacts;
use crate::process::{Workspace, command};

/// What the subcommand takes.
const USAGE: &str = "\
usage: ./dev conformance torch26 [--library NAME]... [--sample N] [--seed S] [--kernel NAME]... [--jobs N]
                                 [--held N] [--fresh] [--retry]
       ./dev conformance torch26 --numeric [FAMILY...] [--seed S]

  --library NAME  0 and 1 (torch's two, the default), mlx, mtlattn, mtlattn-mpp
  --sample N      N kernels of each library, drawn with --seed, instead of all
  --kernel NAME   only this kernel
  --jobs N        worker processes, each with its own compiler
  --held N        measure the memory of N built kernels (1000 in a run over all kernels)
  --fresh         start anew; without it an interrupted run goes on
  --retry         ask again for kernels that failed earlier
  --numeric       run families of kernels on random inputs and compare with ATen's CPU results";

/// Kernels whose memory a run over a whole library measures.
const HELD_DEFAULT: &str = "1000";

/// Runs `./dev conformance torch26` with `options`.
pub(super) fn run(workspace: &Workspace, options: &[String]) -> Result<()> {
    if options.iter().any(|option| option == "--help") {
        bail!("{USAGE}");
    }
    artifacts::build(workspace)?;
    match options.iter().position(|option| option == "--numeric") {
        Some(place) => {
            let rest = options.iter().enumerate().filter(|(index, _)| *index != place).map(|(_, option)| option);
            python(workspace, "conformance.numeric").args(rest).run(workspace)
        }
        None => pipelines(workspace, options),
    }
}

/// Builds pipelines; `--library` is resolved here, other options are the program's.
fn pipelines(workspace: &Workspace, options: &[String]) -> Result<()> {
    let (mut names, mut rest) = (Vec::new(), Vec::new());
    let mut options = options.iter().map(String::as_str);
    while let Some(option) = options.next() {
        if option == "--library" {
            names.push(options.next().context("--library needs a name")?);
        } else {
            rest.push(option);
        }
    }
    if names.is_empty() {
        names = vec!["0", "1"];
    }
    let is_partial = rest.iter().any(|option| ["--sample", "--kernel", "--held"].contains(option));
    if !is_partial {
        rest.extend(["--held", HELD_DEFAULT]);
    }
    // Its profile does not matter: what takes time is the compiler, a process of its own.
    command("cargo").args(["build", "--quiet", "--package", "openmps-suite", "--bin", "pipelines"]).run(workspace)?;
    let compiler = workspace.path("python/openmps/_native/openmps-compiler");
    let mut program = command(workspace.path("target/debug/pipelines"))
        .env("OPENMPS_COMPILER", &compiler)
        .arg("--compiler")
        .arg(compiler)
        .arg("--state")
        .arg(workspace.path("build/conformance/state"))
        .args(rest);
    for name in names {
        let path = python(workspace, "conformance.wheels").arg(name).output(workspace)?;
        program = program.arg("--library").arg(format!("{name}={}", path.trim_end()));
    }
    program.run(workspace)
}
