//! `./dev test`: everything CI does, in order of how fast it fails.

use std::time::Instant;

use anyhow::{Context, Result};

use crate::process::{Workspace, command};
use crate::{artifacts, environment, tidy};

/// The nextest version installed where the machine has none.
const NEXTEST_VERSION: &str = "0.9.143";

/// Runs all checks; with `selection` (paths and options of pytest) only those Python tests.
pub(crate) fn run(workspace: &Workspace, selection: &[String]) -> Result<()> {
    if !selection.is_empty() {
        artifacts::build(workspace)?;
        return pytest(workspace, selection);
    }
    step("format", || command("cargo").args(["fmt", "--all", "--check"]).run(workspace))?;
    step("tidy", || tidy::run(workspace))?;
    step("lints", || {
        command("cargo")
            .args(["clippy", "--quiet", "--workspace", "--all-targets", "--", "-D", "warnings"])
            .run(workspace)
    })?;
    step("package", || artifacts::build(workspace))?;
    step("Rust tests", || rust_tests(workspace))?;
    step("doc tests", || command("cargo").args(["test", "--quiet", "--workspace", "--doc"]).run(workspace))?;
    step("Python tests", || pytest(workspace, &["python/tests".into()]))
}

fn step(name: &str, work: impl FnOnce() -> Result<()>) -> Result<()> {
    println!("== {name}");
    let start = Instant::now();
    work().with_context(|| format!("step '{name}' failed"))?;
    println!("== {name}: {} s", start.elapsed().as_secs());
    Ok(())
}

/// One process a test, so that global state cannot leak.
fn rust_tests(workspace: &Workspace) -> Result<()> {
    if !command("cargo").args(["nextest", "--version"]).succeeds(workspace) {
        command("cargo")
            .args(["install", "--quiet", "--locked", "cargo-nextest", "--version", NEXTEST_VERSION])
            .run(workspace)?;
    }
    command("cargo").args(["nextest", "run", "--workspace", "--no-fail-fast"]).run(workspace)
}

fn pytest(workspace: &Workspace, selection: &[String]) -> Result<()> {
    command(environment::python(workspace)).args(["-m", "pytest", "-q", "-rs"]).args(selection).run(workspace)
}
