//! Building the package and installing it into `.venv`: extension module, compiler process, command, plug-in, headers.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::environment;
use crate::process::{Workspace, command};

/// Where the built libraries lie, inside the Python package and ignored by git.
const NATIVE: &str = "python/openmps/_native";

/// Builds everything that changed and installs the package editable.
pub(crate) fn build(workspace: &Workspace) -> Result<()> {
    environment::ensure(workspace)?;
    fs::create_dir_all(workspace.path(NATIVE))?;
    // The programs are built apart: together, cargo would unify their features and the module and the command would link LLVM.
    for package in ["openmps-python", "openmps-compiler", "openmps-cli"] {
        let build = ["build", "--quiet", "--release", "--package", package];
        command("cargo").args(build).env("PYO3_PYTHON", environment::python(workspace)).run(workspace)?;
    }
    replace(&workspace.path("target/release/lib_openmps.so"), &workspace.path("python/openmps/_openmps.abi3.so"))?;
    let compiler = workspace.path(NATIVE).join("openmps-compiler");
    let compiler_changed = replace(&workspace.path("target/release/openmps-compiler"), &compiler)?;
    replace(&workspace.path("target/release/openmps"), &workspace.path(NATIVE).join("openmps"))?;
    let headers_changed =
        replace_tree(&workspace.path("crates/openmps-msl/include"), &workspace.path(NATIVE).join("include"))?;
    if compiler_changed || headers_changed || !workspace.path(NATIVE).join("pch").is_dir() {
        command(&compiler).args(["pch", &format!("{NATIVE}/pch")]).run(workspace)?;
    }
    command(environment::python(workspace))
        .args(["crates/openmps-torch/build_plugin.py", "--runtime", "python/openmps/_openmps.abi3.so"])
        .args(["--output", &format!("{NATIVE}/libopenmps_torch.so")])
        .run(workspace)?;
    install(workspace)
}

/// Removes what [`build`] made, but not `.venv`.
pub(crate) fn clean(workspace: &Workspace) -> Result<()> {
    for folder in [NATIVE, "build"] {
        if workspace.path(folder).exists() {
            fs::remove_dir_all(workspace.path(folder)).with_context(|| format!("removing {folder}"))?;
        }
    }
    command("cargo").args(["clean", "--quiet"]).run(workspace)
}

/// Installs `python/` editable, once for each version of its project file.
fn install(workspace: &Workspace) -> Result<()> {
    let project = fs::read_to_string(workspace.path("python/pyproject.toml"))?;
    let stamp = workspace.path(".venv/openmps.stamp");
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == project) {
        return Ok(());
    }
    command(environment::python(workspace))
        .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"])
        .args(["--no-deps", "--no-build-isolation", "-e", "python"])
        .run(workspace)?;
    fs::write(&stamp, project).context("writing .venv/openmps.stamp")
}

/// Puts `source` at `target` if the content differs; by rename, because running processes have the old file mapped.
fn replace(source: &Path, target: &Path) -> Result<bool> {
    let content = fs::read(source).with_context(|| format!("reading {}", source.display()))?;
    if fs::read(target).is_ok_and(|present| present == content) {
        return Ok(false);
    }
    let fresh = target.with_extension("fresh");
    fs::copy(source, &fresh).with_context(|| format!("copying to {}", fresh.display()))?;
    fs::rename(&fresh, target).with_context(|| format!("replacing {}", target.display()))?;
    Ok(true)
}

/// Makes `target` hold the files of `source`; says whether anything differed.
fn replace_tree(source: &Path, target: &Path) -> Result<bool> {
    fs::create_dir_all(target)?;
    let mut changed = false;
    for entry in fs::read_dir(source).with_context(|| format!("reading {}", source.display()))? {
        let entry = entry?;
        let goal = target.join(entry.file_name());
        changed |= if entry.file_type()?.is_dir() {
            replace_tree(&entry.path(), &goal)?
        } else {
            replace(&entry.path(), &goal)?
        };
    }
    for entry in fs::read_dir(target)? {
        let entry = entry?;
        if !source.join(entry.file_name()).exists() {
            changed = true;
            let path = entry.path();
            if path.is_dir() { fs::remove_dir_all(path)? } else { fs::remove_file(path)? }
        }
    }
    Ok(changed)
}
