//! The pipeline: rewrite, clang, verify, reflect.

use std::sync::atomic::{AtomicBool, Ordering};

use openmps_engine::{CompileError, CompileOptions, CompiledSource, Diagnostic, Severity, SourceCompiler};
use openmps_llvm::clang::Outcome;
use openmps_llvm::{Context, FastMath};

use crate::diagnostics::{self, Report};
use crate::driver::{Driver, DriverConfig};
use crate::limits::SOURCE_BYTES_MAX;
use crate::rewrite::{Rewritten, rewrite, rewrite_thoroughly, thorough};

/// Clang's arguments for debug locations and nothing else of debug information.
const WITH_LINES: [&str; 3] = ["-debug-info-kind=line-tables-only", "-dwarf-version=5", "-debugger-tuning=gdb"];

/// Compiles Metal source text in this process.
#[derive(Debug)]
pub struct MslCompiler {
    driver: Driver,
    has_crashed: AtomicBool,
}

/// AIR bitcode that nobody has verified yet, with warnings.
#[derive(Clone, Debug)]
pub struct UnverifiedAir {
    /// LLVM bitcode.
    pub bitcode: Vec<u8>,
    /// Warnings about the source.
    pub warnings: Vec<Diagnostic>,
}

impl MslCompiler {
    /// A compiler with headers and folders as `config` says.
    #[must_use]
    pub fn new(config: DriverConfig) -> Self {
        Self { driver: Driver::new(config), has_crashed: AtomicBool::new(false) }
    }

    /// The clang driver, to build precompiled headers with.
    #[must_use]
    pub fn driver(&self) -> &Driver {
        &self.driver
    }

    /// Whether clang has crashed in this process, which should then be replaced.
    #[must_use]
    pub fn has_crashed(&self) -> bool {
        self.has_crashed.load(Ordering::Relaxed)
    }

    /// Rewrites and compiles `source`, without verifying the result.
    ///
    /// # Errors
    /// As for [`SourceCompiler::compile_source`].
    pub fn compile_unverified(&self, source: &str, options: &CompileOptions) -> Result<UnverifiedAir, CompileError> {
        self.compile_as(source, options, &[])
    }

    /// Compiles `source` as [`SourceCompiler::compile_source`] does, with the lines of the source as debug locations. Functions of
    /// the headers have none.
    ///
    /// # Errors
    /// As for [`SourceCompiler::compile_source`].
    pub fn compile_with_lines(&self, source: &str, options: &CompileOptions) -> Result<CompiledSource, CompileError> {
        verified(source, self.compile_as(source, options, &WITH_LINES)?)
    }

    fn compile_as(&self, source: &str, options: &CompileOptions, more: &[&str]) -> Result<UnverifiedAir, CompileError> {
        if source.len() > SOURCE_BYTES_MAX {
            let size = source.len();
            return Err(CompileError::Internal(format!(
                "source text has {size} bytes, at most {SOURCE_BYTES_MAX} are supported"
            )));
        }
        let (rewritten, outcome) = self.compile_rewritten(source, options, more);
        let mut report = Report::default();
        diagnostics::append_plain(&mut report, source, rewritten.warnings);
        let add = |report: &mut Report, diagnostics| {
            let clang = diagnostics::report(source, &rewritten.columns, diagnostics);
            report.rendered.push_str(&clang.rendered);
            report.diagnostics.extend(clang.diagnostics);
        };
        match outcome {
            Outcome::Compiled { bitcode, diagnostics } => {
                add(&mut report, diagnostics);
                let bitcode = if rewritten.forbids_contraction { without_contraction(bitcode)? } else { bitcode };
                Ok(UnverifiedAir { bitcode, warnings: report.diagnostics })
            }
            Outcome::Rejected(diagnostics) => {
                add(&mut report, diagnostics);
                Err(rejection(report))
            }
            Outcome::Crashed => {
                self.has_crashed.store(true, Ordering::Relaxed);
                Err(CompileError::Internal("the Metal compiler crashed on this source text".to_owned()))
            }
        }
    }

    /// Compiles `source`, a second time with the rarer rules of rewriting where these may be what is missing.
    fn compile_rewritten(&self, source: &str, options: &CompileOptions, more: &[&str]) -> (Rewritten, Outcome) {
        let rewritten = rewrite(source);
        let outcome = self.driver.compile_with(&rewritten.text, rewritten.pasted_line_count, options, more);
        let may_help = match &outcome {
            Outcome::Rejected(diagnostics) => {
                diagnostics.iter().any(|diagnostic| thorough::may_help(&diagnostic.message))
            }
            Outcome::Compiled { .. } | Outcome::Crashed => false,
        };
        if may_help {
            let thorough = rewrite_thoroughly(source);
            let second = self.driver.compile_with(&thorough.text, thorough.pasted_line_count, options, more);
            // What is wrong either way is said about the text that was changed less.
            if !matches!(second, Outcome::Rejected(_)) {
                return (thorough, second);
            }
        }
        (rewritten, outcome)
    }
}

/// `bitcode` without permission to fuse. Pragmas of the text do not reach the operators of vectors, which are functions of the
/// header and have become part of its functions; who forbids fusing somewhere gets none anywhere.
fn without_contraction(bitcode: Vec<u8>) -> Result<Vec<u8>, CompileError> {
    let context = Context::new();
    let module = context.parse_bitcode(&bitcode).map_err(|error| CompileError::Internal(error.to_string()))?;
    for instruction in module.functions().into_iter().flat_map(|function| function.instructions()) {
        instruction.set_fast_math(instruction.fast_math().without(FastMath::CONTRACT));
    }
    Ok(module.write_bitcode().as_bytes().to_vec())
}

fn rejection(report: Report) -> CompileError {
    let has_error = report.diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error);
    if !has_error {
        return CompileError::Internal("the Metal compiler failed without saying why".to_owned());
    }
    CompileError::Diagnostics { diagnostics: report.diagnostics, rendered: report.rendered }
}

/// Checks what clang made of `source`.
fn verified(source: &str, compiled: UnverifiedAir) -> Result<CompiledSource, CompileError> {
    let UnverifiedAir { bitcode, warnings } = compiled;
    // Nearly always the source's fault, such as recursion, which clang allows and AIR does not.
    let (air, kernels) = openmps_air::verify_and_reflect(&bitcode).map_err(|error| {
        let message = error.to_string();
        let mut report = Report::default();
        let diagnostic = Diagnostic { severity: Severity::Error, file: String::new(), line: 0, column: 0, message };
        diagnostics::append_plain(&mut report, source, vec![diagnostic]);
        rejection(report)
    })?;
    Ok(CompiledSource { air, kernels, warnings })
}

impl SourceCompiler for MslCompiler {
    fn compile_source(&self, source: &str, options: &CompileOptions) -> Result<CompiledSource, CompileError> {
        verified(source, self.compile_unverified(source, options)?)
    }
}
