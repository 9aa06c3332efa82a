//! Writes the module after each pass into a folder, for people.

use std::fs;
use std::path::PathBuf;

use openmps_engine::{EngineError, EngineOptions};
use openmps_llvm::Module;

/// Writes `<dump_dir>/<kernel>/NN-after-<pass>.ll`, or nothing when no folder is set.
pub(super) struct Dump {
    folder: Option<PathBuf>,
    next: u32,
}

impl Dump {
    pub(super) fn new(options: &EngineOptions, kernel: &str) -> Self {
        let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
        let name: String = kernel.chars().map(plain).collect();
        Self { folder: options.dump_dir.as_ref().map(|folder| PathBuf::from(folder).join(name)), next: 0 }
    }

    /// Writes the module as it is after `pass`.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub(super) fn after(&mut self, pass: &str, module: &Module<'_>) -> Result<(), EngineError> {
        let Some(folder) = &self.folder else { return Ok(()) };
        let path = folder.join(format!("{:02}-after-{pass}.ll", self.next));
        self.next += 1;
        let written = fs::create_dir_all(folder).and_then(|()| fs::write(&path, module.to_string()));
        written.map_err(|error| EngineError::Internal(format!("cannot write {}: {error}", path.display())))
    }
}
