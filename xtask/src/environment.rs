//! The Python environment `.venv` with the packages of `python/requirements.txt`.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use crate::process::{Workspace, command};

/// The environment's interpreter.
pub(crate) fn python(workspace: &Workspace) -> PathBuf {
    workspace.path(".venv/bin/python")
}

/// Creates `.venv` and installs what the requirements file names. The stamp holds the file's text, so that nothing runs
/// when nothing changed.
pub(crate) fn ensure(workspace: &Workspace) -> Result<()> {
    let requirements = fs::read_to_string(workspace.path("python/requirements.txt"))?;
    let stamp = workspace.path(".venv/requirements.stamp");
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == requirements) {
        return Ok(());
    }
    if !python(workspace).exists() {
        let interpreter = find_interpreter(workspace)?;
        command(interpreter).args(["-m", "venv", ".venv"]).run(workspace)?;
    }
    println!("dev: installing python/requirements.txt into .venv (torch is large)");
    command(python(workspace))
        .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", "python/requirements.txt"])
        .run(workspace)?;
    fs::write(&stamp, requirements).context("writing .venv/requirements.stamp")
}

/// CPython 3.11: what the package is built and tested for.
fn find_interpreter(workspace: &Workspace) -> Result<&'static str> {
    const IS_311: &str = "import sys; sys.exit(sys.version_info[:2] != (3, 11))";
    for name in ["python3.11", "python3"] {
        if command(name).args(["-c", IS_311]).succeeds(workspace) {
            return Ok(name);
        }
    }
    bail!("no CPython 3.11 found (tried python3.11 and python3)")
}
