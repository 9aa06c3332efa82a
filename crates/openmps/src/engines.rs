//! The engine that this build runs kernels on: the only file that names the crate behind it.

use std::sync::Arc;

use openmps_engine::{Engine, EngineOptions};

use crate::settings::Settings;

#[cfg(feature = "cpu")]
static ENGINE: std::sync::OnceLock<Arc<dyn Engine>> = std::sync::OnceLock::new();

/// The process's engine.
///
/// # Errors
/// Why there is none.
#[cfg(feature = "cpu")]
pub(crate) fn engine() -> Result<Arc<dyn Engine>, String> {
    let make = || -> Arc<dyn Engine> {
        if Settings::process().debug.serial {
            openmps_cpu::limit_threads(1);
        }
        let engine = openmps_cpu::CpuEngine::new(crate::frontends::client());
        Arc::new(if Settings::process().debug.hot { engine.with_hot_kernels() } else { engine })
    };
    Ok(Arc::clone(ENGINE.get_or_init(make)))
}

/// [`Engine::assist`] of the process's engine, if that has been made.
#[cfg(feature = "cpu")]
pub(crate) fn assist() -> bool {
    ENGINE.get().is_some_and(|engine| engine.assist())
}

/// Without an engine there is nothing to do.
#[cfg(not(feature = "cpu"))]
pub(crate) fn assist() -> bool {
    false
}

/// Lets kernels that start from now on use `count` threads of the host; 0 for as many as is usual. Not under
/// `OPENMPS_DEBUG=serial`.
#[cfg(feature = "cpu")]
pub(crate) fn use_threads(count: usize) {
    if !Settings::process().debug.serial {
        openmps_cpu::limit_threads(count);
    }
}

/// Without an engine there is nothing to limit.
#[cfg(not(feature = "cpu"))]
pub(crate) fn use_threads(_count: usize) {}

/// The process's engine.
///
/// # Errors
/// Why there is none.
#[cfg(not(feature = "cpu"))]
pub(crate) fn engine() -> Result<Arc<dyn Engine>, String> {
    Err("this build has no engine (feature `cpu`)".into())
}

/// Where `OPENMPS_DEBUG=dump` writes when `OPENMPS_DUMP_DIR` names nothing else.
const DUMP_DIR_DEFAULT: &str = "openmps-dump";

/// What the settings ask of engines.
pub(crate) fn options(settings: &Settings) -> EngineOptions {
    let dump_dir = settings.debug.dump.then(|| {
        let folder = settings.dump_dir.clone().unwrap_or_else(|| DUMP_DIR_DEFAULT.into());
        // Another process writes there, whose working folder is the one that this process had when it started it.
        std::path::absolute(&folder).unwrap_or(folder).to_string_lossy().into_owned()
    });
    EngineOptions {
        dump_dir,
        verify_each_pass: settings.debug.verify,
        engine: settings.engine,
        ..EngineOptions::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dump_dir(variables: &[(&str, &str)]) -> Option<String> {
        let get = |name: &str| variables.iter().find(|variable| variable.0 == name).map(|variable| variable.1.into());
        options(&Settings::from_lookup(get)).dump_dir
    }

    #[test]
    fn code_is_dumped_when_asked_for_and_into_the_folder_asked_for() {
        assert_eq!(dump_dir(&[]), None);
        assert_eq!(dump_dir(&[("OPENMPS_DUMP_DIR", "/a/b")]), None);
        assert_eq!(dump_dir(&[("OPENMPS_DEBUG", "dump"), ("OPENMPS_DUMP_DIR", "/a/b")]).as_deref(), Some("/a/b"));
        let here = std::env::current_dir().unwrap();
        let expected = here.join("openmps-dump").to_string_lossy().into_owned();
        assert_eq!(dump_dir(&[("OPENMPS_DEBUG", "dump")]), Some(expected));
    }
}
