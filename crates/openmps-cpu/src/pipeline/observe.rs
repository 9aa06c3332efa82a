//! What happens between passes: the module is verified and written into a folder, when the options ask for it.

use std::fs;
use std::path::PathBuf;

use openmps_engine::{EngineError, EngineOptions, SimdgroupRows};
use openmps_llvm::Module;

/// Verifies after each pass, and writes `<dump_dir>/<kernel and rows>/NN-after-<pass>.ll`.
pub(super) struct Observer {
    folder: Option<PathBuf>,
    verifies: bool,
    kernel: String,
    next: u32,
}

impl Observer {
    pub(super) fn new(options: &EngineOptions, kernel: &str) -> Self {
        let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
        let name: String = kernel.chars().map(plain).collect();
        let name = match options.rows {
            SimdgroupRows::Whole => name,
            SimdgroupRows::One => format!("{name}.row"),
            SimdgroupRows::Short(threads) => format!("{name}.rows{threads}"),
            SimdgroupRows::Any => format!("{name}.rows"),
        };
        let folder = options.dump_dir.as_ref().map(|folder| PathBuf::from(folder).join(name));
        Self { folder, verifies: options.verify_each_pass, kernel: kernel.to_owned(), next: 0 }
    }

    /// Looks at the module as it is after `pass`. It is written before it is verified, so that a wrong one can be read.
    ///
    /// # Errors
    /// The module is not valid, or the folder cannot be written.
    pub(super) fn after(&mut self, pass: &str, module: &Module<'_>) -> Result<(), EngineError> {
        if let Some(folder) = &self.folder {
            let path = folder.join(format!("{:02}-after-{pass}.ll", self.next));
            self.next += 1;
            let written = fs::create_dir_all(folder).and_then(|()| fs::write(&path, module.to_string()));
            written.map_err(|error| EngineError::Internal(format!("cannot write {}: {error}", path.display())))?;
        }
        if !self.verifies {
            return Ok(());
        }
        let kernel = &self.kernel;
        module.verify().map_err(|error| {
            EngineError::Internal(format!("kernel '{kernel}': not valid after pass '{pass}': {error}"))
        })
    }
}

#[cfg(test)]
mod tests {
    use openmps_llvm::Context;

    use super::*;

    /// A module that parses and is not valid: a block has no terminator.
    fn with_invalid_module(look: impl FnOnce(&Module<'_>)) {
        let context = Context::new();
        let text = "define i32 @f(i1 %c) {\n  br i1 %c, label %a, label %b\na:\n  ret i32 0\nb:\n  ret i32 1\n}\n";
        let module = context.parse_ir(text).unwrap();
        let function = module.function("f").unwrap();
        let _unfinished = function.append_block("without_terminator");
        look(&module);
    }

    #[test]
    fn a_wrong_pass_is_named_when_asked_and_only_then() {
        with_invalid_module(|module| {
            let options = EngineOptions { verify_each_pass: true, ..EngineOptions::default() };
            let error = Observer::new(&options, "k").after("lower", module).unwrap_err().to_string();
            assert!(error.starts_with("kernel 'k': not valid after pass 'lower': "), "{error}");
            assert_eq!(Observer::new(&EngineOptions::default(), "k").after("lower", module), Ok(()));
        });
    }
}
