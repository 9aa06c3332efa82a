//! The engine that this build runs kernels on: the only file that names the crate behind it.

use std::sync::Arc;

use openmps_engine::{Engine, EngineOptions};

use crate::settings::Settings;

/// The process's engine.
///
/// # Errors
/// Why there is none.
#[cfg(feature = "cpu")]
pub(crate) fn engine() -> Result<Arc<dyn Engine>, String> {
    static ENGINE: std::sync::OnceLock<Arc<dyn Engine>> = std::sync::OnceLock::new();
    Ok(Arc::clone(ENGINE.get_or_init(|| Arc::new(openmps_cpu::CpuEngine::new(crate::frontends::client())))))
}

/// The process's engine.
///
/// # Errors
/// Why there is none.
#[cfg(not(feature = "cpu"))]
pub(crate) fn engine() -> Result<Arc<dyn Engine>, String> {
    Err("this build has no engine (feature `cpu`)".into())
}

/// What the settings ask of engines.
pub(crate) fn options(settings: &Settings) -> EngineOptions {
    let folder = settings.dump_dir.as_ref().filter(|_| settings.debug.dump);
    EngineOptions { dump_dir: folder.map(|folder| folder.to_string_lossy().into_owned()) }
}
