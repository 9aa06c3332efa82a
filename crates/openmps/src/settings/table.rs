//! The table of settings: one entry a variable, with what a user must know and how its value is applied.
//!
//! `openmps info`, the book's page and [`crate::Settings::from_lookup`] all read this table.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::ops::RangeInclusive;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::time::Duration;

use openmps_engine::{EngineChoice, LanguageVersion};

use crate::device::macs::Mac;
use crate::limits::{CAPTURE_BYTES_MAX, COMPILER_MEMORY_BYTES_MIN};

use super::{Activation, Fallback, Settings, number};

/// One environment variable.
pub struct Setting {
    /// The variable.
    pub name: &'static str,
    /// How its text is read.
    pub kind: &'static str,
    /// Unit of the value, empty if it has none.
    pub unit: &'static str,
    /// The value when it is not set.
    pub default: &'static str,
    /// What is accepted, and what happens outside.
    pub range: &'static str,
    /// What it does.
    pub doc: &'static str,
    pub(super) apply: fn(&mut Settings, &OsStr),
}

/// All settings, PyTorch's first.
pub fn table() -> &'static [Setting] {
    &TABLE
}

/// The table as a Markdown table for the book.
pub fn markdown() -> String {
    let mut page = String::from("| variable | type | unit | default | range | effect |\n|---|---|---|---|---|---|\n");
    for Setting { name, kind, unit, default, range, doc, apply: _ } in &TABLE {
        writeln!(page, "| `{name}` | {kind} | {unit} | {default} | {range} | {doc} |")
            .expect("a String takes all text");
    }
    page
}

const MASK: &str = "integer as C's `strtol` base 0 reads it; no number is 0";
const RATIO: &str = "number as C's `strtod` reads it; no number is 0";

static TABLE: [Setting; 24] = [
    Setting {
        name: "PYTORCH_DEBUG_MPS_ALLOCATOR",
        kind: MASK,
        unit: "bit mask",
        default: "0",
        range: "32 bits; unknown bits do nothing",
        doc: "Log lines of the allocator: 1 profiling, 2 allocations, 4 recycles, 8 releases, 16 only the large pool.",
        apply: |settings, value| settings.debug_allocator = number::mask(value.as_bytes()),
    },
    Setting {
        name: "PYTORCH_MPS_HIGH_WATERMARK_RATIO",
        kind: RATIO,
        unit: "share of the recommended maximum",
        default: "1.7",
        range: "0 to 2; otherwise the first allocation raises",
        doc: "Hard limit of the allocator; 0 is unlimited. The low ratio must not exceed it.",
        apply: |settings, value| settings.high_watermark_ratio = number::strtod(value.as_bytes()),
    },
    Setting {
        name: "PYTORCH_MPS_LOW_WATERMARK_RATIO",
        kind: RATIO,
        unit: "share of the recommended maximum",
        default: "1.4",
        range: "0 to the high ratio (2 if that is 0); otherwise the first allocation raises",
        doc: "Soft limit: above it cached memory is collected and work is committed early; 0 is none.",
        apply: |settings, value| settings.low_watermark_ratio = number::strtod(value.as_bytes()),
    },
    Setting {
        name: "PYTORCH_MPS_LOG_PROFILE_INFO",
        kind: MASK,
        unit: "bit mask",
        default: "0",
        range: "0 to 1023; otherwise the profiler raises when it is made",
        doc: "Lines about operations, copies and fallbacks on stderr.",
        apply: |settings, value| settings.log_profile_info = number::mask(value.as_bytes()),
    },
    Setting {
        name: "PYTORCH_MPS_TRACE_SIGNPOSTS",
        kind: MASK,
        unit: "bit mask",
        default: "0",
        range: "low half to 63, high half to 7; otherwise the profiler raises when it is made",
        doc: "Which signposts a trace holds.",
        apply: |settings, value| settings.trace_signposts = number::mask(value.as_bytes()),
    },
    Setting {
        name: "PYTORCH_MPS_FAST_MATH",
        kind: "switch: on unless exactly `0`",
        unit: "",
        default: "off",
        range: "any text",
        doc: "Compile kernels from source with fast math.",
        apply: |settings, value| settings.fast_math = value != "0",
    },
    Setting {
        name: "PYTORCH_MPS_METAL_VERSION",
        kind: "word",
        unit: "",
        default: "by operating system version",
        range: "`3.1`, `3.2`, `4.0`; anything else warns and is ignored",
        doc: "Language version of kernels compiled from source.",
        apply: metal_version,
    },
    Setting {
        name: "PYTORCH_MPS_PREFER_METAL",
        kind: "switch: on when set, whatever the text",
        unit: "",
        default: "off",
        range: "any text",
        doc: "Matrix products by Metal kernels instead of graphs.",
        apply: |settings, _| settings.prefer_metal = true,
    },
    Setting {
        name: "PYTORCH_ENABLE_MPS_FALLBACK",
        kind: "integer as C++'s `std::stoi` reads it",
        unit: "",
        default: "0",
        range: "32-bit integers; other text stops the import of the plug-in",
        doc: "Not 0: operators that the backend lacks run on the CPU with a warning.",
        apply: |settings, value| {
            settings.enable_fallback = match number::stoi(value.as_bytes()) {
                Some(0) => Fallback::Off,
                Some(_) => Fallback::On,
                None => Fallback::Invalid(value.to_string_lossy().into_owned()),
            };
        },
    },
    Setting {
        name: "MTL_CAPTURE_ENABLED",
        kind: "switch: on when exactly `1`",
        unit: "",
        default: "off",
        range: "any text",
        doc: "Makes GPU trace capture available.",
        apply: |settings, value| settings.capture_enabled = value == "1",
    },
    Setting {
        name: "OPENMPS_ACTIVATE",
        kind: "word",
        unit: "",
        default: "unset",
        range: "`0`, `1`; anything else warns and is ignored",
        doc: "1 takes the MPS device even where another accelerator works; 0 never takes it.",
        apply: activate,
    },
    Setting {
        name: "OPENMPS_DEVICE",
        kind: "word",
        unit: "",
        default: "this machine",
        range: "a Mac of the table in [Memory](memory.md), with another version of macOS behind `@` (`m1-8gb@26.0`); other text stops \
                the import of the plug-in",
        doc: "The Mac to pretend to be: its name, core count, recommended maximum, longest buffer and version of macOS.",
        apply: |settings, value| {
            settings.device = (!value.is_empty()).then(|| Mac::from_name(&value.to_string_lossy()));
        },
    },
    Setting {
        name: "OPENMPS_MULTITHREADED_BACKWARD",
        kind: "switch: on when exactly `1`",
        unit: "",
        default: "off",
        range: "any text",
        doc: "Leaves PyTorch's worker thread for backward passes; otherwise they run on the calling thread.",
        apply: |settings, value| settings.multithreaded_backward = value == "1",
    },
    Setting {
        name: "OPENMPS_DEBUG",
        kind: "words separated by commas or spaces",
        unit: "",
        default: "none",
        range: "`dump`, `verify`, `serial`, `trash`, `panic`, `hot`; unknown words warn and are ignored",
        doc: "Dump code after each pass, verify after each pass, one worker only, fill memory that is handed out with a \
              pattern, do not catch panics at the C boundary, make the vector code of `OPENMPS_ENGINE=auto` before a \
              kernel's first launch, which waits for it.",
        apply: debug_words,
    },
    Setting {
        name: "OPENMPS_CACHE_DIR",
        kind: "path",
        unit: "",
        default: "`openmps` in the user's cache folder",
        range: "empty is unset",
        doc: "Folder of the compiled-code cache.",
        apply: |settings, value| settings.cache_dir = path(value),
    },
    Setting {
        name: "OPENMPS_CAPTURE_LIMIT",
        kind: "decimal integer",
        unit: "bytes",
        default: "4 GiB",
        range: "1 to 2^63-1; anything else warns and is ignored",
        doc: "The most that one GPU capture writes to disk, after compression. Recording stops there, the program goes on.",
        apply: |settings, value| {
            let range = 1..=i64::MAX.unsigned_abs();
            let number = whole_number(settings, "OPENMPS_CAPTURE_LIMIT", value, range, "of bytes from 1 to 2^63-1");
            settings.capture_limit_bytes = number.unwrap_or(CAPTURE_BYTES_MAX);
        },
    },
    Setting {
        name: "OPENMPS_COMPILER",
        kind: "path",
        unit: "",
        default: "the installed `openmps-compiler`",
        range: "empty is unset",
        doc: "The compiler executable.",
        apply: |settings, value| settings.compiler = path(value),
    },
    Setting {
        name: "OPENMPS_COMPILER_TIME_LIMIT",
        kind: "decimal integer",
        unit: "seconds",
        default: "120",
        range: "1 to 86400; anything else warns and is ignored",
        doc: "How long one library or kernel may take to compile, on the clock; then the compiler process is ended and \
              the compilation raises.",
        apply: |settings, value| {
            let number =
                whole_number(settings, "OPENMPS_COMPILER_TIME_LIMIT", value, 1..=86_400, "of seconds from 1 to 86400");
            settings.compiler_time_limit = number.map(Duration::from_secs);
        },
    },
    Setting {
        name: "OPENMPS_COMPILER_MEMORY_LIMIT",
        kind: "decimal integer",
        unit: "bytes",
        default: "8 GiB, or half of the memory that the process may use if that is less",
        range: "2^30 to 2^63-1; anything else warns and is ignored",
        doc: "Address space of the compiler process; a compilation that needs more raises.",
        apply: |settings, value| {
            let range = COMPILER_MEMORY_BYTES_MIN..=i64::MAX.unsigned_abs();
            let name = "OPENMPS_COMPILER_MEMORY_LIMIT";
            settings.compiler_memory_limit = whole_number(settings, name, value, range, "of bytes from 2^30 to 2^63-1");
        },
    },
    Setting {
        name: "OPENMPS_ENGINE",
        kind: "word",
        unit: "",
        default: "`auto`",
        range: "`auto`, `scalar`, `vector`; anything else warns and is ignored",
        doc: "The code that kernels become: `vector` runs the threads of a SIMD-group together wherever that can be done, \
              `scalar` one thread after the other. `auto` begins with `scalar`, and changes to `vector` in the background \
              when a kernel with SIMD-group functions, barriers or loops has run for a tenth of a second. Results do not depend \
              on it.",
        apply: engine,
    },
    Setting {
        name: "OPENMPS_DUMP_DIR",
        kind: "path",
        unit: "",
        default: "`openmps-dump` in the working folder",
        range: "empty is unset",
        doc: "Where `OPENMPS_DEBUG=dump` writes.",
        apply: |settings, value| settings.dump_dir = path(value),
    },
    Setting {
        name: "OPENMPS_TRACE_DIR",
        kind: "path",
        unit: "",
        default: "the working folder",
        range: "empty is unset",
        doc: "Where the profiler writes traces; it is made if it does not exist.",
        apply: |settings, value| settings.trace_dir = path(value),
    },
    Setting {
        name: "OPENMPS_TRACE_SOURCE_LIMIT",
        kind: "decimal integer",
        unit: "bytes",
        default: "1048576",
        range: "0 to 2^30; anything else warns and is ignored",
        doc: "The longest source text of a Metal library that a trace of the profiler takes in; 0 leaves all sources out.",
        apply: |settings, value| {
            let name = "OPENMPS_TRACE_SOURCE_LIMIT";
            settings.trace_source_limit = whole_number(settings, name, value, 0..=1 << 30, "of bytes from 0 to 2^30");
        },
    },
    Setting {
        name: "OPENMPS_RECOMMENDED_MAX_MEMORY",
        kind: "decimal integer",
        unit: "bytes",
        default: "three quarters of the memory that the process may use",
        range: "1 to 2^63-1; anything else warns and is ignored",
        doc: "The recommended maximum that the watermark ratios refer to.",
        apply: recommended_max_memory,
    },
];

fn path(value: &OsStr) -> Option<PathBuf> {
    (!value.is_empty()).then(|| PathBuf::from(value))
}

fn metal_version(settings: &mut Settings, value: &OsStr) {
    settings.metal_version = match value.as_bytes() {
        b"3.1" => Some(LanguageVersion::Metal3_1),
        b"3.2" => Some(LanguageVersion::Metal3_2),
        b"4.0" => Some(LanguageVersion::Metal4_0),
        _ => {
            let given = value.to_string_lossy();
            settings.warnings.push(format!("Ignoring PYTORCH_MPS_METAL_VERSION={given}, expected 3.1, 3.2 or 4.0"));
            None
        }
    };
}

fn engine(settings: &mut Settings, value: &OsStr) {
    settings.engine = match value.as_bytes() {
        b"auto" => EngineChoice::Auto,
        b"scalar" => EngineChoice::Scalar,
        b"vector" => EngineChoice::Vector,
        _ => {
            let given = value.to_string_lossy();
            settings.warnings.push(format!("Ignoring OPENMPS_ENGINE={given}, expected auto, scalar or vector"));
            return;
        }
    };
}

fn activate(settings: &mut Settings, value: &OsStr) {
    settings.activate = match value.as_bytes() {
        b"1" => Activation::Always,
        b"0" => Activation::Never,
        b"" => Activation::WhenUnclaimed,
        _ => {
            settings.warnings.push(format!("Ignoring OPENMPS_ACTIVATE={}, expected 0 or 1", value.to_string_lossy()));
            Activation::WhenUnclaimed
        }
    };
}

fn debug_words(settings: &mut Settings, value: &OsStr) {
    let text = value.to_string_lossy();
    for word in text.split([',', ' ']).filter(|word| !word.is_empty()) {
        match word {
            "dump" => settings.debug.dump = true,
            "verify" => settings.debug.verify = true,
            "serial" => settings.debug.serial = true,
            "trash" => settings.debug.trash = true,
            "panic" => settings.debug.panic = true,
            "hot" => settings.debug.hot = true,
            unknown => settings.warnings.push(format!(
                "Ignoring unknown word {unknown} in OPENMPS_DEBUG, expected dump, verify, serial, trash, panic or hot"
            )),
        }
    }
}

fn recommended_max_memory(settings: &mut Settings, value: &OsStr) {
    let range = 1..=i64::MAX.unsigned_abs();
    let name = "OPENMPS_RECOMMENDED_MAX_MEMORY";
    settings.recommended_max_memory = whole_number(settings, name, value, range, "of bytes from 1 to 2^63-1");
}

/// A decimal number in `range`, else a warning that `expected` completes: "expected a number …".
fn whole_number(
    settings: &mut Settings,
    name: &str,
    value: &OsStr,
    range: RangeInclusive<u64>,
    expected: &str,
) -> Option<u64> {
    let given = value.to_string_lossy();
    let number = given.parse::<u64>().ok().filter(|number| range.contains(number));
    if number.is_none() {
        settings.warnings.push(format!("Ignoring {name}={given}, expected a number {expected}"));
    }
    number
}
