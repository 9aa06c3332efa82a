//! The engine that this build runs kernels on: the only file that names the crate behind it.

use std::sync::Arc;

use openmps_engine::Engine;

/// The process's engine.
///
/// # Errors
/// Why there is none.
pub(crate) fn engine() -> Result<Arc<dyn Engine>, String> {
    Err("this build has no engine (feature `cpu`)".into())
}
