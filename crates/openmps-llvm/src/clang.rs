//! Clang as a library: one source text in, AIR bitcode or diagnostics out.
//!
//! The bridge (`csrc/`) is C++, because clang has no C interface that parses, visits declarations as they arrive and
//! generates LLVM IR. It runs clang in this process under crash recovery: a failed assertion or a wild pointer inside
//! clang becomes [`Outcome::Crashed`], after which the process should be replaced, since clang's state is undefined.
//!
//! This file knows clang and AIR's conventions for entry points, but not where arguments and names come from.

use std::ffi::c_char;
use std::path::Path;
use std::ptr::NonNull;

/// What to compile, and what the resulting module says about itself.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// The translation unit.
    pub source: &'a str,
    /// The name that diagnostics give it.
    pub source_name: &'a str,
    /// Arguments of `clang -cc1`, without an input file and without an output.
    pub arguments: &'a [String],
    /// What the AIR module says about itself.
    pub module: ModuleFacts<'a>,
    /// Names of built-in kernel arguments (`thread_position_in_grid`, …).
    pub builtins: &'a [&'a str],
    /// Buffer indices are below this.
    pub buffer_count_max: u32,
}

/// Named metadata and target of an AIR module.
#[derive(Clone, Copy, Debug, Default)]
pub struct ModuleFacts<'a> {
    /// Target triple.
    pub triple: &'a str,
    /// Data layout string.
    pub data_layout: &'a str,
    /// `!air.version`.
    pub air_version: [u32; 3],
    /// `!air.language_version` after the word "Metal".
    pub language_version: [u32; 3],
    /// `!air.compile_options`.
    pub compile_options: &'a [&'a str],
}

/// How grave a [`ClangDiagnostic`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Explains the one before.
    Note,
    /// Suspicious.
    Warning,
    /// Invalid.
    Error,
}

/// Columns of a diagnostic's own line, from 1, end exclusive (and possibly past the line's end).
pub type Columns = std::ops::Range<u32>;

/// One message, in the coordinates of the text that clang saw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClangDiagnostic {
    /// How grave it is.
    pub level: Level,
    /// The file as clang names it; empty where the message has no place.
    pub file: String,
    /// Line from 1, 0 where the message has no place.
    pub line: u32,
    /// Column in bytes from 1.
    pub column: u32,
    /// Whether the place is in a system header.
    pub in_system_header: bool,
    /// The message alone.
    pub message: String,
    /// What clang underlines.
    pub ranges: Vec<Columns>,
}

/// What became of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// AIR bitcode (empty for a precompiled header), and warnings.
    Compiled {
        /// LLVM bitcode.
        bitcode: Vec<u8>,
        /// Warnings and notes.
        diagnostics: Vec<ClangDiagnostic>,
    },
    /// The source was rejected.
    Rejected(Vec<ClangDiagnostic>),
    /// Clang crashed; replace this process.
    Crashed,
}

/// Compiles `request` to AIR.
#[must_use]
pub fn compile(request: &Request<'_>) -> Outcome {
    run(request, "")
}

/// Parses `request` and writes a precompiled header to `output`, which must be UTF-8.
#[must_use]
pub fn precompile_header(request: &Request<'_>, output: &Path) -> Outcome {
    run(request, &output.to_string_lossy())
}

/// The version of the clang library.
#[must_use]
pub fn version() -> &'static str {
    // SAFETY: the function has no preconditions.
    let text = unsafe { ffi::openmps_clang_version() };
    // SAFETY: the text is a string literal of the bridge, so it lives forever.
    unsafe { text.as_str() }
}

fn run(request: &Request<'_>, pch_output: &str) -> Outcome {
    let arguments: Vec<ffi::Text> = request.arguments.iter().map(|argument| ffi::Text::of(argument)).collect();
    let options: Vec<ffi::Text> = request.module.compile_options.iter().map(|option| ffi::Text::of(option)).collect();
    let builtins: Vec<ffi::Text> = request.builtins.iter().map(|builtin| ffi::Text::of(builtin)).collect();
    let raw = ffi::Request {
        source: ffi::Text::of(request.source),
        source_name: ffi::Text::of(request.source_name),
        arguments: arguments.as_ptr(),
        argument_count: arguments.len(),
        pch_output: ffi::Text::of(pch_output),
        triple: ffi::Text::of(request.module.triple),
        data_layout: ffi::Text::of(request.module.data_layout),
        air_version: request.module.air_version,
        language_version: request.module.language_version,
        compile_options: options.as_ptr(),
        compile_option_count: options.len(),
        builtins: builtins.as_ptr(),
        builtin_count: builtins.len(),
        buffer_count_max: request.buffer_count_max,
    };
    // SAFETY: every pointer of `raw` borrows from `request` or a vector above, all of which live until the call returns.
    let result = unsafe { ffi::openmps_clang_compile(&raw) };
    ClangResult(result).outcome()
}

/// Owns a result of the bridge. Invariant: the pointer is live until dropped.
struct ClangResult(NonNull<ffi::Result>);

impl ClangResult {
    fn outcome(&self) -> Outcome {
        // SAFETY: live by the invariant of `ClangResult`.
        let status = unsafe { ffi::openmps_clang_status(self.0.as_ptr()) };
        match status {
            ffi::STATUS_OK => Outcome::Compiled { bitcode: self.bitcode(), diagnostics: self.diagnostics() },
            ffi::STATUS_REJECTED => Outcome::Rejected(self.diagnostics()),
            _ => Outcome::Crashed,
        }
    }

    fn bitcode(&self) -> Vec<u8> {
        // SAFETY: live by the invariant of `ClangResult`.
        let bytes = unsafe { ffi::openmps_clang_bitcode(self.0.as_ptr()) };
        // SAFETY: the bytes belong to the result, which outlives this borrow.
        unsafe { bytes.as_bytes() }.to_vec()
    }

    fn diagnostics(&self) -> Vec<ClangDiagnostic> {
        // SAFETY: live by the invariant of `ClangResult`.
        let count = unsafe { ffi::openmps_clang_diagnostic_count(self.0.as_ptr()) };
        (0..count).map(|index| self.diagnostic(index)).collect()
    }

    fn diagnostic(&self, index: usize) -> ClangDiagnostic {
        // SAFETY: live by the invariant of `ClangResult`, and the caller counts up to the bridge's own count.
        let raw = unsafe { ffi::openmps_clang_diagnostic(self.0.as_ptr(), index) };
        let ranges: &[ffi::Columns] = if raw.range_count == 0 {
            &[]
        } else {
            // SAFETY: the bridge points at `range_count` entries of a vector in the result, which outlives this borrow.
            unsafe { std::slice::from_raw_parts(raw.ranges, raw.range_count) }
        };
        // SAFETY: the text belongs to the result, which outlives this borrow.
        let file = unsafe { raw.file.as_bytes() };
        // SAFETY: as above.
        let message = unsafe { raw.message.as_bytes() };
        ClangDiagnostic {
            level: match raw.severity {
                ffi::SEVERITY_NOTE => Level::Note,
                ffi::SEVERITY_WARNING => Level::Warning,
                _ => Level::Error,
            },
            file: String::from_utf8_lossy(file).into_owned(),
            line: raw.line,
            column: raw.column,
            in_system_header: raw.in_system_header != 0,
            message: String::from_utf8_lossy(message).into_owned(),
            ranges: ranges.iter().map(|columns| columns.begin..columns.end).collect(),
        }
    }
}

impl Drop for ClangResult {
    fn drop(&mut self) {
        // SAFETY: live by the invariant of `ClangResult`, and not used again.
        unsafe { ffi::openmps_clang_dispose(self.0.as_ptr()) };
    }
}

/// The declarations of `csrc/clang_bridge.h`.
mod ffi {
    use super::{NonNull, c_char};

    pub(super) const SEVERITY_NOTE: u32 = 0;
    pub(super) const SEVERITY_WARNING: u32 = 1;
    pub(super) const STATUS_OK: u32 = 0;
    pub(super) const STATUS_REJECTED: u32 = 1;

    #[repr(C)]
    #[derive(Clone, Copy)]
    pub(super) struct Text {
        data: *const c_char,
        size: usize,
    }

    impl Text {
        pub(super) fn of(text: &str) -> Self {
            Self { data: text.as_ptr().cast(), size: text.len() }
        }

        /// # Safety
        /// The bytes that the bridge returned must be alive for `'a`.
        pub(super) unsafe fn as_bytes<'a>(self) -> &'a [u8] {
            if self.size == 0 {
                return &[];
            }
            // SAFETY: the bridge returns a pointer to `size` bytes; the caller vouches for their life.
            unsafe { std::slice::from_raw_parts(self.data.cast(), self.size) }
        }

        /// # Safety
        /// As for [`as_bytes`](Self::as_bytes).
        pub(super) unsafe fn as_str<'a>(self) -> &'a str {
            // SAFETY: the caller vouches for the life of the bytes.
            let bytes = unsafe { self.as_bytes() };
            std::str::from_utf8(bytes).unwrap_or_default()
        }
    }

    #[repr(C)]
    pub(super) struct Request {
        pub source: Text,
        pub source_name: Text,
        pub arguments: *const Text,
        pub argument_count: usize,
        pub pch_output: Text,
        pub triple: Text,
        pub data_layout: Text,
        pub air_version: [u32; 3],
        pub language_version: [u32; 3],
        pub compile_options: *const Text,
        pub compile_option_count: usize,
        pub builtins: *const Text,
        pub builtin_count: usize,
        pub buffer_count_max: u32,
    }

    #[repr(C)]
    pub(super) struct Columns {
        pub begin: u32,
        pub end: u32,
    }

    #[repr(C)]
    pub(super) struct Diagnostic {
        pub severity: u32,
        pub line: u32,
        pub column: u32,
        pub in_system_header: u32,
        pub file: Text,
        pub message: Text,
        pub ranges: *const Columns,
        pub range_count: usize,
    }

    /// Opaque.
    #[repr(C)]
    pub(super) struct Result {
        private: [u8; 0],
    }

    unsafe extern "C" {
        pub(super) fn openmps_clang_compile(request: *const Request) -> NonNull<Result>;
        pub(super) fn openmps_clang_status(result: *const Result) -> u32;
        pub(super) fn openmps_clang_bitcode(result: *const Result) -> Text;
        pub(super) fn openmps_clang_diagnostic_count(result: *const Result) -> usize;
        pub(super) fn openmps_clang_diagnostic(result: *const Result, index: usize) -> Diagnostic;
        pub(super) fn openmps_clang_dispose(result: *mut Result);
        pub(super) fn openmps_clang_version() -> Text;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Clang has a directive that crashes it, unless an argument forbids it.
    #[test]
    fn a_crash_is_an_outcome() {
        let arguments = ["-triple", "spir64", "-x", "c++"].map(str::to_owned);
        let request = Request {
            source: "#pragma clang __debug crash\n",
            source_name: "crash",
            arguments: &arguments,
            module: ModuleFacts::default(),
            builtins: &[],
            buffer_count_max: 1,
        };
        assert_eq!(compile(&request), Outcome::Crashed);
    }
}
