//! How a pipeline came to be: what a capture stores so that the pipeline can be made again.

use std::sync::Arc;

use openmps_engine::{CompileOptions, ConstantValues, VerifiedAir};

use super::TensorNote;

/// Everything that went into a pipeline. Kept by kernels only where captures are enabled.
#[derive(Debug)]
pub(crate) struct Recipe {
    pub(crate) origin: RecipeOrigin,
    /// Values of the function constants.
    pub(crate) constants: ConstantValues,
    /// What the engine compiled.
    pub(crate) air: VerifiedAir,
    /// The engine's name.
    pub(crate) engine: &'static str,
}

/// Where the kernel came from.
#[derive(Clone, Debug)]
pub(crate) enum RecipeOrigin {
    /// Source text.
    Source { text: Arc<str>, options: CompileOptions },
    /// A compiled library: the function's module in it.
    Library { module: VerifiedAir },
}

/// What a capture records of one launch beside what the engine gets.
#[derive(Debug)]
pub(crate) struct LaunchNotes {
    pub(crate) recipe: Arc<Recipe>,
    /// What the caller says about the tensors that it binds, by buffer index.
    pub(crate) tensors: Vec<(u32, TensorNote)>,
}
