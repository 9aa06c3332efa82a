//! Running pass pipelines, written as text like `opt -passes=…`.

use llvm_sys::error::{LLVMDisposeErrorMessage, LLVMErrorRef, LLVMGetErrorMessage};
use llvm_sys::transforms::pass_builder::{
    LLVMCreatePassBuilderOptions, LLVMDisposePassBuilderOptions, LLVMPassBuilderOptionsRef,
    LLVMPassBuilderOptionsSetLoopUnrolling, LLVMPassBuilderOptionsSetLoopVectorization,
    LLVMPassBuilderOptionsSetVerifyEach, LLVMRunPasses,
};

use crate::diagnostics::Error;
use crate::module::Module;
use crate::string::c_text;
use crate::target::TargetMachine;

/// What the named pipelines (`default<O2>`) do beside their level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PassOptions {
    /// Vectorise loops. Straight code is vectorised in any case: LLVM 22 does not ask its option for that.
    pub vectorize_loops: bool,
    /// Unroll loops.
    pub unroll_loops: bool,
    /// Verify after every pass; LLVM aborts on a violation.
    pub verify_each: bool,
}

impl Default for PassOptions {
    /// Unrolls, does not vectorise loops, does not verify.
    fn default() -> Self {
        Self { vectorize_loops: false, unroll_loops: true, verify_each: false }
    }
}

/// Invariant: live and owned.
struct RawOptions(LLVMPassBuilderOptionsRef);

impl RawOptions {
    fn new(options: PassOptions) -> Self {
        // SAFETY: no preconditions.
        let raw = unsafe { LLVMCreatePassBuilderOptions() };
        // SAFETY: made above.
        unsafe { LLVMPassBuilderOptionsSetLoopVectorization(raw, i32::from(options.vectorize_loops)) }
        // SAFETY: made above.
        unsafe { LLVMPassBuilderOptionsSetLoopUnrolling(raw, i32::from(options.unroll_loops)) }
        // SAFETY: made above.
        unsafe { LLVMPassBuilderOptionsSetVerifyEach(raw, i32::from(options.verify_each)) }
        Self(raw)
    }
}

impl Drop for RawOptions {
    fn drop(&mut self) {
        // SAFETY: owned by the invariant, and dropped once.
        unsafe { LLVMDisposePassBuilderOptions(self.0) }
    }
}

/// The text of an error that LLVM returned, which this consumes.
fn message(error: LLVMErrorRef) -> String {
    // SAFETY: a live error, consumed here.
    let raw = unsafe { LLVMGetErrorMessage(error) };
    // SAFETY: LLVM returns null-terminated text.
    let text = unsafe { std::ffi::CStr::from_ptr(raw) }.to_string_lossy().into_owned();
    // SAFETY: the text came from `LLVMGetErrorMessage`, and nothing borrows it.
    unsafe { LLVMDisposeErrorMessage(raw) }
    text
}

impl Module<'_> {
    /// Runs `pipeline` (`default<O2>`, `function(sroa,gvn)`, …). A target machine lets passes know costs and widths.
    ///
    /// # Errors
    /// [`Error::Passes`] when the pipeline is misspelt, or a pass reports an error.
    pub fn run_passes(
        &mut self,
        pipeline: &str,
        machine: Option<&TargetMachine>,
        options: PassOptions,
    ) -> Result<(), Error> {
        self.bury();
        let options = RawOptions::new(options);
        let text = c_text(pipeline);
        let machine = machine.map_or(std::ptr::null_mut(), TargetMachine::raw);
        self.context().log().take_errors();
        // SAFETY: module, options and machine (or null) are live; `&mut self` proves that no handle to deleted parts is left.
        let error = unsafe { LLVMRunPasses(self.raw(), text.as_ptr(), machine, options.0) };
        let failed = |message| Err(Error::Passes { pipeline: pipeline.to_owned(), message });
        if !error.is_null() {
            return failed(message(error));
        }
        if self.context().log().has_errors() {
            return failed(self.context().log().take_errors());
        }
        Ok(())
    }
}
