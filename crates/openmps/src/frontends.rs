//! What turns Metal source text and compiled libraries into AIR in this build: the only file that names the crates behind it.
//!
//! The compiler is another process (see `openmps-compiler`); its executable is the one in `OPENMPS_COMPILER`, else the one in
//! the folder that [`set_compiler_directory`](crate::library::set_compiler_directory) named, else the one beside the running
//! program. Answers are kept in `OPENMPS_CACHE_DIR`, else in the user's cache folder.

use openmps_engine::{AirLoader, PrecompiledLibrary, SourceCompiler};

/// Where a compiled library is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place<'a> {
    /// In memory.
    Bytes(&'a [u8]),
    /// In a file.
    File(&'a std::path::Path),
}

#[cfg(feature = "cpu")]
mod process {
    use std::env;
    use std::path::{Path, PathBuf};
    use std::sync::{Arc, OnceLock};

    use openmps_compiler::cache::default_folder;
    use openmps_compiler::{Client, ClientConfig, ProcessLimits};

    use crate::device::Device;
    use crate::library::compiler_directory;
    use crate::limits::{COMPILER_MEMORY_BYTES_MIN, COMPILER_PART_OF_MEMORY};
    use crate::settings::Settings;

    const EXECUTABLE: &str = "openmps-compiler";

    /// The one client, which compiles source text and generates code for the CPU engine.
    pub(crate) fn client() -> Arc<Client> {
        static CLIENT: OnceLock<Arc<Client>> = OnceLock::new();
        let client = CLIENT.get_or_init(|| {
            let settings = Settings::process();
            let own = env::current_exe().ok();
            let directory = compiler_directory().map(PathBuf::as_path);
            let executable = executable(settings.compiler.as_deref(), directory, own.as_deref());
            let cache_dir = settings.cache_dir.clone().or_else(|| default_folder(|name| env::var_os(name)));
            let limits = limits(settings, Device::shared().max_buffer_length_bytes());
            Arc::new(Client::new(ClientConfig { cache_dir, limits, ..ClientConfig::new(executable) }))
        });
        Arc::clone(client)
    }

    /// What a compilation may cost in a process that may use `memory_bytes`.
    fn limits(settings: &Settings, memory_bytes: u64) -> ProcessLimits {
        let default = ProcessLimits::default();
        let share = (memory_bytes / COMPILER_PART_OF_MEMORY).max(COMPILER_MEMORY_BYTES_MIN);
        ProcessLimits {
            time: settings.compiler_time_limit.unwrap_or(default.time),
            memory_bytes: settings.compiler_memory_limit.unwrap_or(default.memory_bytes.min(share)),
            ..default
        }
    }

    /// Where the compiler is, given the setting, the installation's folder and the running program.
    fn executable(setting: Option<&Path>, directory: Option<&Path>, program: Option<&Path>) -> PathBuf {
        if let Some(path) = setting {
            return path.into();
        }
        directory.or_else(|| program?.parent()).map_or_else(|| EXECUTABLE.into(), |folder| folder.join(EXECUTABLE))
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn the_setting_comes_before_the_installation_before_the_program() {
            let [setting, directory, program] = ["/a/compiler", "/b/_native", "/c/bin/program"].map(Path::new);
            let path = |setting, directory, program| executable(setting, directory, program).display().to_string();
            assert_eq!(path(Some(setting), Some(directory), Some(program)), "/a/compiler");
            assert_eq!(path(None, Some(directory), Some(program)), "/b/_native/openmps-compiler");
            assert_eq!(path(None, None, Some(program)), "/c/bin/openmps-compiler");
            assert_eq!(path(None, None, None), "openmps-compiler");
        }

        #[test]
        fn the_compiler_gets_half_of_a_small_machine_and_what_it_is_given() {
            let mut settings = Settings::default();
            let memory = |settings: &Settings, bytes| limits(settings, bytes).memory_bytes;
            assert_eq!(memory(&settings, 1 << 40), 8 << 30);
            assert_eq!(memory(&settings, 4 << 30), 2 << 30);
            assert_eq!(memory(&settings, 1 << 20), 1 << 30);
            settings.compiler_memory_limit = Some(3 << 30);
            assert_eq!(memory(&settings, 1 << 20), 3 << 30);
        }
    }
}

#[cfg(feature = "cpu")]
pub(crate) use process::client;

/// The process's compiler.
///
/// # Errors
/// Why there is none.
#[cfg(feature = "cpu")]
pub(crate) fn source_compiler() -> Result<std::sync::Arc<dyn SourceCompiler>, String> {
    Ok(client())
}

/// The process's loader of bitcode.
///
/// # Errors
/// Why there is none.
#[cfg(feature = "cpu")]
pub(crate) fn air_loader() -> Result<std::sync::Arc<dyn AirLoader>, String> {
    Ok(client())
}

/// Opens a compiled library, whose functions are found by name only.
///
/// # Errors
/// Why it is none, and where.
#[cfg(feature = "cpu")]
pub(crate) fn open_metallib(place: Place<'_>) -> Result<Box<dyn PrecompiledLibrary>, String> {
    use openmps_air::metallib::{Metallib, MetallibError};
    let library = match place {
        Place::Bytes(bytes) => Metallib::parse(bytes.to_vec()),
        Place::File(path) => Metallib::open(path),
    };
    match library {
        Ok(library) => Ok(Box::new(precompiled::Precompiled(library))),
        // Who asks names the file already.
        Err(MetallibError::Read { reason, .. }) => Err(reason),
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(feature = "cpu")]
mod precompiled {
    use openmps_air::metallib::{FunctionType, Metallib};
    use openmps_engine::PrecompiledLibrary;

    /// A container whose kernels are handed out.
    pub(super) struct Precompiled(pub(super) Metallib);

    impl PrecompiledLibrary for Precompiled {
        fn kernel_names(&self) -> Vec<String> {
            let kernels = self.0.functions().filter(|function| function.function_type() == FunctionType::Kernel);
            kernels.map(|function| function.name().to_owned()).collect()
        }

        fn bitcode(&self, name: &str) -> Result<Option<Vec<u8>>, String> {
            let function = self.0.get(name).filter(|function| function.function_type() == FunctionType::Kernel);
            let bitcode = function.map(|function| function.bitcode()).transpose();
            bitcode.map(|bytes| bytes.map(std::borrow::Cow::into_owned)).map_err(|error| error.to_string())
        }
    }
}

/// The process's loader of bitcode.
///
/// # Errors
/// Why there is none.
#[cfg(not(feature = "cpu"))]
pub(crate) fn air_loader() -> Result<std::sync::Arc<dyn AirLoader>, String> {
    Err("this build has no reader of AIR (feature `cpu`)".into())
}

/// Opens a compiled library.
///
/// # Errors
/// Why it is none.
#[cfg(not(feature = "cpu"))]
pub(crate) fn open_metallib(_: Place<'_>) -> Result<Box<dyn PrecompiledLibrary>, String> {
    Err("this build does not read Metal libraries (feature `cpu`)".into())
}

/// The process's compiler.
///
/// # Errors
/// Why there is none.
#[cfg(not(feature = "cpu"))]
pub(crate) fn source_compiler() -> Result<std::sync::Arc<dyn SourceCompiler>, String> {
    Err("this build has no Metal compiler (feature `cpu`)".into())
}
