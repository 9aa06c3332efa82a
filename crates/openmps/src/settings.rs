//! Every environment variable that openmps reads: one table, read once, at the edge; everything else takes values.
//!
//! PyTorch's variables are parsed exactly as `torch.mps` on macOS parses them, quirks included (`PYTORCH_MPS_FAST_MATH=false`
//! turns fast math on). Values that PyTorch refuses only at their first use (watermark ratios, profiler masks) are kept as
//! given; the check and its text stand beside the use or here as a function. Nothing here reads the environment twice.

mod number;
mod report;
mod table;

pub use report::{Origin, SettingReport, report};
pub use table::{Setting, markdown, table};

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

use openmps_engine::{EngineChoice, LanguageVersion};

use crate::device::macs::{Mac, MacError};

/// What the environment asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// `PYTORCH_DEBUG_MPS_ALLOCATOR`: bits of [`crate::memory::Verbosity`].
    pub debug_allocator: u32,
    /// `PYTORCH_MPS_HIGH_WATERMARK_RATIO`, unchecked.
    pub high_watermark_ratio: f64,
    /// `PYTORCH_MPS_LOW_WATERMARK_RATIO`, unchecked.
    pub low_watermark_ratio: f64,
    /// `PYTORCH_MPS_LOG_PROFILE_INFO`, unchecked: see [`check_log_options`].
    pub log_profile_info: u32,
    /// `PYTORCH_MPS_TRACE_SIGNPOSTS`, unchecked: see [`check_signposts`].
    pub trace_signposts: u32,
    /// `PYTORCH_MPS_FAST_MATH`.
    pub fast_math: bool,
    /// `PYTORCH_MPS_METAL_VERSION`; none means the version of the announced operating system.
    pub metal_version: Option<LanguageVersion>,
    /// `PYTORCH_MPS_PREFER_METAL`.
    pub prefer_metal: bool,
    /// `PYTORCH_ENABLE_MPS_FALLBACK`.
    pub enable_fallback: Fallback,
    /// `MTL_CAPTURE_ENABLED`.
    pub capture_enabled: bool,
    /// `OPENMPS_CAPTURE_LIMIT`: the most that one capture writes, in bytes.
    pub capture_limit_bytes: u64,
    /// `OPENMPS_ACTIVATE`.
    pub activate: Activation,
    /// `OPENMPS_DEVICE`: the Mac to pretend to be, or why the text names none.
    pub device: Option<Result<Mac, MacError>>,
    /// `OPENMPS_MULTITHREADED_BACKWARD`: the package leaves PyTorch's worker thread for backward passes.
    pub multithreaded_backward: bool,
    /// `OPENMPS_DEBUG`.
    pub debug: DebugWords,
    /// `OPENMPS_CACHE_DIR`: folder of the compiled-code cache.
    pub cache_dir: Option<PathBuf>,
    /// `OPENMPS_COMPILER`: the compiler executable.
    pub compiler: Option<PathBuf>,
    /// `OPENMPS_COMPILER_TIME_LIMIT`: time for one answer of the compiler.
    pub compiler_time_limit: Option<Duration>,
    /// `OPENMPS_COMPILER_MEMORY_LIMIT`: address space of the compiler process, in bytes.
    pub compiler_memory_limit: Option<u64>,
    /// `OPENMPS_ENGINE`: which code the CPU engine makes.
    pub engine: EngineChoice,
    /// `OPENMPS_DUMP_DIR`: where `OPENMPS_DEBUG=dump` writes.
    pub dump_dir: Option<PathBuf>,
    /// `OPENMPS_TRACE_DIR`: where the profiler writes traces.
    pub trace_dir: Option<PathBuf>,
    /// `OPENMPS_TRACE_SOURCE_LIMIT`: the longest source text that a trace takes in, in bytes.
    pub trace_source_limit: Option<u64>,
    /// `OPENMPS_RECOMMENDED_MAX_MEMORY`, in bytes.
    pub recommended_max_memory: Option<u64>,
    /// What to tell the user about values that were ignored, in table order.
    pub warnings: Vec<String>,
}

/// What an operator that the MPS backend lacks does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Fallback {
    /// It raises.
    #[default]
    Off,
    /// It runs on the CPU with a warning.
    On,
    /// The variable holds this text, which is no integer; PyTorch aborts when it loads.
    Invalid(String),
}

/// Whether openmps takes the MPS device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Activation {
    /// Unless a working accelerator of another kind is there.
    #[default]
    WhenUnclaimed,
    /// Always (`1`).
    Always,
    /// Never (`0`).
    Never,
}

/// The words of `OPENMPS_DEBUG`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DebugWords {
    /// Write the code after every pass to `OPENMPS_DUMP_DIR`.
    pub dump: bool,
    /// Verify the code after every pass.
    pub verify: bool,
    /// One worker only.
    pub serial: bool,
    /// Fill memory that is handed out with a pattern.
    pub trash: bool,
    /// Do not catch panics at the C boundary.
    pub panic: bool,
    /// Make vector code before a kernel's first launch.
    pub hot: bool,
}

/// A profiler mask that PyTorch refuses.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// `PYTORCH_MPS_LOG_PROFILE_INFO` beyond its ten bits.
    #[error("invalid log options {0} passed to PYTORCH_MPS_LOG_PROFILE_INFO")]
    LogOptions(u32),
    /// The low half of `PYTORCH_MPS_TRACE_SIGNPOSTS` beyond its six bits.
    #[error("invalid profiling options {0} passed to PYTORCH_MPS_TRACE_SIGNPOSTS")]
    ProfileOptions(u32),
    /// The high half of `PYTORCH_MPS_TRACE_SIGNPOSTS` beyond its three bits.
    #[error("invalid signpost types {0} passed to PYTORCH_MPS_TRACE_SIGNPOSTS")]
    SignpostTypes(u32),
}

impl Default for Settings {
    /// An empty environment.
    fn default() -> Self {
        Settings {
            debug_allocator: 0,
            high_watermark_ratio: crate::limits::DEFAULT_HIGH_WATERMARK_RATIO,
            low_watermark_ratio: crate::limits::DEFAULT_LOW_WATERMARK_RATIO,
            log_profile_info: 0,
            trace_signposts: 0,
            fast_math: false,
            metal_version: None,
            prefer_metal: false,
            enable_fallback: Fallback::Off,
            capture_enabled: false,
            capture_limit_bytes: crate::limits::CAPTURE_BYTES_MAX,
            activate: Activation::WhenUnclaimed,
            device: None,
            multithreaded_backward: false,
            debug: DebugWords::default(),
            cache_dir: None,
            compiler: None,
            compiler_time_limit: None,
            compiler_memory_limit: None,
            engine: EngineChoice::Auto,
            dump_dir: None,
            trace_dir: None,
            trace_source_limit: None,
            recommended_max_memory: None,
            warnings: Vec::new(),
        }
    }
}

impl Settings {
    /// The settings of this process, read from the environment at the first call.
    pub fn process() -> &'static Settings {
        static PROCESS: OnceLock<Settings> = OnceLock::new();
        PROCESS.get_or_init(|| Settings::from_lookup(|name| std::env::var_os(name)))
    }

    /// The settings that `get` (name to value) gives.
    pub fn from_lookup(get: impl Fn(&str) -> Option<OsString>) -> Settings {
        let mut settings = Settings::default();
        for setting in table() {
            if let Some(value) = get(setting.name) {
                (setting.apply)(&mut settings, &value);
            }
        }
        settings
    }
}

/// Refuses a `PYTORCH_MPS_LOG_PROFILE_INFO` mask that has unknown bits.
///
/// # Errors
/// [`SettingsError::LogOptions`] above 1023.
pub fn check_log_options(mask: u32) -> Result<(), SettingsError> {
    if mask > 0x3ff { Err(SettingsError::LogOptions(mask)) } else { Ok(()) }
}

/// Refuses a `PYTORCH_MPS_TRACE_SIGNPOSTS` mask that has unknown bits; the low half is looked at first.
///
/// # Errors
/// [`SettingsError::ProfileOptions`] or [`SettingsError::SignpostTypes`], each with the whole value.
pub fn check_signposts(mask: u32) -> Result<(), SettingsError> {
    if mask & 0xffff > 0x3f {
        Err(SettingsError::ProfileOptions(mask))
    } else if mask & 0xffff_0000 > 0x7_ffff {
        Err(SettingsError::SignpostTypes(mask))
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
