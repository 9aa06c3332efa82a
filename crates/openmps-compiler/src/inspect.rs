//! What tools ask the compiler beside what the runtime asks: modules apart, and as text. Nothing of it is cached.

use openmps_engine::{
    CompileError, CompileOptions, CompiledSource, CountingAir, EngineError, EngineOptions, KernelSignature, VerifiedAir,
};

use crate::client::{Client, another_question};
use crate::protocol::{self, Request, Response};

impl Client {
    /// One module for each of the `kernels` of `air`, in their order, as libraries hold them.
    ///
    /// # Errors
    /// [`EngineError::Invalid`] for a name that is no kernel of the module, [`EngineError::Internal`] when the compiler fails.
    pub fn split_air(&self, air: &VerifiedAir, kernels: &[String]) -> Result<Vec<VerifiedAir>, EngineError> {
        let request = Request::SplitAir { air: air.clone(), kernels: kernels.to_owned() };
        let response = self.answer(&request, "it took a module apart")?;
        let Response::Modules(answer) = response else { return Err(unexpected()) };
        answer
    }

    /// Compiles Metal source as for a library, with the lines of the source in the module.
    ///
    /// # Errors
    /// As for [`SourceCompiler::compile_source`](openmps_engine::SourceCompiler::compile_source).
    pub fn compile_with_lines(&self, source: &str, options: &CompileOptions) -> Result<CompiledSource, CompileError> {
        let internal = |error: EngineError| CompileError::Internal(error.to_string());
        let request = Request::CompileWithLines { source: source.to_owned(), options: options.clone() };
        let response = self.answer(&request, "it compiled a source with its lines").map_err(internal)?;
        let Response::Source(answer) = response else { return Err(internal(unexpected())) };
        answer
    }

    /// The form of `kernel` that counts what it does.
    ///
    /// # Errors
    /// [`EngineError::Invalid`] for a name that is no kernel of the module and for one that has no buffer index left,
    /// [`EngineError::Internal`] when the compiler fails.
    pub fn counting_air(&self, air: &VerifiedAir, kernel: &str) -> Result<CountingAir, EngineError> {
        let request = Request::CountAir { air: air.clone(), kernel: kernel.to_owned() };
        let response = self.answer(&request, "it made a kernel that counts")?;
        let Response::Counting(answer) = response else { return Err(unexpected()) };
        answer
    }

    /// The text of `air` as LLVM prints it.
    ///
    /// # Errors
    /// [`EngineError::Internal`] when the compiler fails.
    pub fn air_text(&self, air: &VerifiedAir) -> Result<String, EngineError> {
        self.text(&Request::PrintAir { air: air.clone() }, "it printed a module")
    }

    /// The machine code of one kernel of `air` as assembly text.
    ///
    /// # Errors
    /// As for [`CodeGenerator::generate`](openmps_cpu::CodeGenerator::generate).
    pub fn assembly(
        &self,
        air: &VerifiedAir,
        signature: &KernelSignature,
        options: &EngineOptions,
    ) -> Result<String, EngineError> {
        let (air, signature, options) = (air.clone(), signature.clone(), options.clone());
        let purpose = format!("it compiled kernel '{}'", signature.name);
        self.text(&Request::PrintCode { air, signature, options }, &purpose)
    }

    fn text(&self, request: &Request, purpose: &str) -> Result<String, EngineError> {
        let Response::Text(answer) = self.answer(request, purpose)? else { return Err(unexpected()) };
        answer
    }

    fn answer(&self, request: &Request, purpose: &str) -> Result<Response, EngineError> {
        let request = protocol::encode(request).map_err(|error| EngineError::Internal(error.to_string()))?;
        self.ask(&request, purpose).map_err(|error| EngineError::Internal(error.to_string()))
    }
}

fn unexpected() -> EngineError {
    EngineError::Internal(another_question().to_string())
}
