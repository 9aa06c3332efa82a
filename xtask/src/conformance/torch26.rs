//! `./dev conformance torch26`: kernels of PyTorch's own Metal libraries against ATen's results on the CPU.
//!
//! The Python package `conformance` does the work; it downloads the libraries when they are first needed.

use anyhow::Result;

use crate::process::{Workspace, command};
use crate::{artifacts, environment};

/// Runs the families that `options` name (options are those of `python -m conformance.numeric`).
pub(super) fn run(workspace: &Workspace, options: &[String]) -> Result<()> {
    artifacts::build(workspace)?;
    command(environment::python(workspace))
        .args(["-m", "conformance.numeric"])
        .args(options.iter().filter(|option| *option != "--numeric"))
        .env("PYTHONPATH", workspace.path("python"))
        .run(workspace)
}
