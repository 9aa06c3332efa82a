//! Why a container is refused: what was found, where, and what was expected.

use thiserror::Error;

use super::bitcode::inner_range;
use super::fat::FAT_MAGIC;

/// Why a library, or one of its functions, is refused. Offsets count from the start of the library, which in a universal binary
/// is the start of its AIR64 slice.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum MetallibError {
    /// The bytes are something else.
    #[error("not a Metal library: {found}, expected MTLB or a universal binary's cb fe ba be")]
    Magic {
        /// What the bytes start with.
        found: String,
    },
    /// A universal binary without a slice that holds AIR.
    #[error("universal binary: no slice for AIR64 (cpu type 0x1000017), found {found}")]
    NoAirSlice {
        /// The slices that are there.
        found: String,
    },
    /// A part lies where it cannot, or is not as it should be.
    #[error("metallib: {what} at byte {offset:#x} {problem}")]
    Part {
        /// Which part.
        what: String,
        /// Where it starts.
        offset: u64,
        /// What is wrong with it, and what was expected.
        problem: String,
    },
    /// A part of one function's description or code is not as it should be.
    #[error("metallib: function {function}: {what} at byte {offset:#x} {problem}")]
    Function {
        /// Its name in quotes, or its number in the list from 0.
        function: String,
        /// Which part, for example the tag.
        what: String,
        /// Where it starts.
        offset: u64,
        /// What is wrong with it, and what was expected.
        problem: String,
    },
    /// Two functions have the same name; Metal would not link such a library.
    #[error("metallib: functions {first} and {second} of the list are both named '{name}'")]
    DuplicateName {
        /// The name.
        name: String,
        /// Number of the first function, from 0.
        first: usize,
        /// Number of the second function, from 0.
        second: usize,
    },
    /// Something is larger than the limit in [`limits`](crate::limits).
    #[error("metallib: {what}: {given}, at most {limit} allowed")]
    TooLarge {
        /// What, with its unit.
        what: String,
        /// How large.
        given: u64,
        /// The limit.
        limit: u64,
    },
    /// The bitcode is not the one that the library was built with.
    #[error("metallib: function '{function}': HASH says {expected}, but its bitcode has SHA-256 {found}")]
    Hash {
        /// Its name.
        function: String,
        /// What the list says, in hexadecimal.
        expected: String,
        /// What the bytes have, in hexadecimal.
        found: String,
    },
    /// The file cannot be read.
    #[error("{path}: {reason}")]
    Read {
        /// The file.
        path: String,
        /// The operating system's reason.
        reason: String,
    },
}

/// Shorthand of this room.
pub(super) type Result<T> = std::result::Result<T, MetallibError>;

impl MetallibError {
    pub(super) fn part(what: impl Into<String>, offset: u64, problem: impl Into<String>) -> Self {
        Self::Part { what: what.into(), offset, problem: problem.into() }
    }
}

/// What the first bytes look like, for messages: text is quoted, anything else shown in hexadecimal.
pub(super) fn describe_start(bytes: &[u8]) -> String {
    const BYTES_SHOWN: usize = 16;
    let start = &bytes[..bytes.len().min(BYTES_SHOWN)];
    if start.is_empty() {
        return "it is empty".to_owned();
    }
    if start.starts_with(&FAT_MAGIC) {
        return "it is a universal binary inside a universal binary".to_owned();
    }
    if inner_range(start).is_ok() {
        return "it is bitcode without a container".to_owned();
    }
    let is_text = start.iter().all(|byte| byte.is_ascii_graphic() || b" \t\r\n".contains(byte));
    if is_text {
        let is_hex =
            start.len() >= 8 && start.iter().all(|byte| byte.is_ascii_hexdigit() || byte.is_ascii_whitespace());
        let kind = if is_hex { "hexadecimal text" } else { "text" };
        return format!("it starts with the {kind} '{}'", String::from_utf8_lossy(start).escape_default());
    }
    let hex: Vec<String> = start.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    format!("it starts with {}", hex.join(" "))
}
