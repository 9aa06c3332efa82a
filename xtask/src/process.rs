//! Running programs in the checkout, with what was run in every error.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

/// The checkout's root.
pub(crate) struct Workspace(PathBuf);

impl Workspace {
    /// The folder above this crate.
    pub(crate) fn find() -> Result<Self> {
        let manifest = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
        Ok(Self(manifest.parent().context("xtask lies in the checkout")?.to_path_buf()))
    }

    /// `relative` below the root.
    pub(crate) fn path(&self, relative: impl AsRef<Path>) -> PathBuf {
        self.0.join(relative)
    }
}

/// A program with its arguments; see [`Program::run`].
pub(crate) struct Program(Command);

/// Starts describing a call of `program`.
pub(crate) fn command(program: impl AsRef<OsStr>) -> Program {
    Program(Command::new(program))
}

impl Program {
    pub(crate) fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.0.arg(argument);
        self
    }

    pub(crate) fn args(mut self, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        self.0.args(arguments);
        self
    }

    pub(crate) fn env(mut self, key: &str, value: impl AsRef<OsStr>) -> Self {
        self.0.env(key, value);
        self
    }

    fn describe(&self) -> String {
        let words = std::iter::once(self.0.get_program()).chain(self.0.get_args());
        words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
    }

    /// Runs in the checkout's root, output shown; any exit status but 0 is an error.
    pub(crate) fn run(mut self, workspace: &Workspace) -> Result<()> {
        let text = self.describe();
        let status = self.0.current_dir(&workspace.0).status().with_context(|| format!("could not start: {text}"))?;
        if !status.success() {
            bail!("{status}: {text}");
        }
        Ok(())
    }

    /// Whether the program starts and exits with 0; its output is dropped.
    pub(crate) fn succeeds(mut self, workspace: &Workspace) -> bool {
        self.0.current_dir(&workspace.0).output().is_ok_and(|output| output.status.success())
    }

    /// Standard output of a successful run.
    pub(crate) fn output(mut self, workspace: &Workspace) -> Result<String> {
        let text = self.describe();
        let output = self.0.current_dir(&workspace.0).output().with_context(|| format!("could not start: {text}"))?;
        if !output.status.success() {
            bail!("{}: {text}\n{}", output.status, String::from_utf8_lossy(&output.stderr));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}
