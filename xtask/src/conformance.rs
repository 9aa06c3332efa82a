//! `./dev conformance`: public sources and real libraries, downloaded when they are asked for, against what is promised.
//!
//! One file a subject. They need package registries and many minutes, so they are no part of `./dev test`.

mod msl;
mod opinfo;
mod torch26;

use anyhow::{Result, bail};

use crate::environment;
use crate::process::{Program, Workspace, command};

/// Runs the subject that `arguments` name first; what follows selects a part of it.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    match arguments {
        [subject, packages @ ..] if subject == "msl" => msl::run(workspace, packages),
        [subject] if subject == "arm" => {
            let program = ["build", "--release", "--package", "openmps-suite", "--example", "arm_objects"];
            command("cargo").args(program).run(workspace)?;
            python(workspace, "conformance.arm")
                .args([workspace.path("target/release/examples/arm_objects")])
                .run(workspace)
        }
        [subject, options @ ..] if subject == "opinfo" => opinfo::run(workspace, options),
        [subject, options @ ..] if subject == "torch26" => torch26::run(workspace, options),
        _ => bail!(
            "conformance: expected 'arm', 'msl [PACKAGE...]', 'opinfo [OP...]' or 'torch26 [OPTIONS]', not '{}'",
            arguments.join(" ")
        ),
    }
}

/// A program of the Python package `conformance`, which is not installed.
fn python(workspace: &Workspace, module: &str) -> Program {
    command(environment::python(workspace)).args(["-m", module]).env("PYTHONPATH", workspace.path("python"))
}
