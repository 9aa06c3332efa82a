//! What tools ask the compiler beside what the runtime asks: modules apart, and as text. Nothing of it is cached.

use openmps_engine::{EngineError, EngineOptions, KernelSignature, VerifiedAir};

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
