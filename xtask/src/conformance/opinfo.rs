//! `./dev conformance opinfo`: PyTorch's op database on "mps" against "cpu", by the Python package `conformance.opinfo`.

use anyhow::Result;

use super::python;
use crate::artifacts;
use crate::process::Workspace;

/// Runs the program with `options`: names of ops and what its `--help` lists.
pub(super) fn run(workspace: &Workspace, options: &[String]) -> Result<()> {
    artifacts::build(workspace)?;
    python(workspace, "conformance.opinfo").args(options).run(workspace)
}
