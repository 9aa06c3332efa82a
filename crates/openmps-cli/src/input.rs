//! Reading what the user names: sources as text, libraries as libraries, and telling them apart.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use openmps_air::metallib::Metallib;

use crate::failure::Failure;

/// Bytes of a source that are read at most. The compiler's own limit is lower and has its own message.
const SOURCE_BYTES_MAX: u64 = 64 << 20;

/// A file to inspect.
pub(crate) enum Input {
    /// Metal source text.
    Source(String),
    /// A Metal library, or the slice of a universal binary that is one.
    Library(Box<Metallib>),
}

impl Input {
    /// Opens the file at `path`: a library if it starts like one or is named like one, else source.
    pub(crate) fn open(path: &Path) -> Result<Self, Failure> {
        let is_named_so = path.extension().is_some_and(|extension| extension == "metallib");
        if is_named_so || starts_like_a_library(path) {
            let library = Metallib::open(path).map_err(|error| library_failure(path, &error.to_string()))?;
            return Ok(Self::Library(Box::new(library)));
        }
        source(path).map(Self::Source)
    }
}

/// The text of the Metal source at `path`.
pub(crate) fn source(path: &Path) -> Result<String, Failure> {
    let refuse = |problem: &dyn std::fmt::Display| Failure::about(path, problem);
    let mut file = File::open(path).map_err(|error| refuse(&error))?;
    let metadata = file.metadata().map_err(|error| refuse(&error))?;
    if metadata.is_dir() {
        return Err(refuse(&"is a directory, expected a Metal source"));
    }
    let mut bytes = Vec::new();
    file.by_ref().take(SOURCE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(|error| refuse(&error))?;
    if bytes.len() as u64 > SOURCE_BYTES_MAX {
        return Err(refuse(&format!("has more than {SOURCE_BYTES_MAX} bytes, too many for a Metal source")));
    }
    if is_library(&bytes) {
        return Err(refuse(&"is a Metal library, expected a Metal source"));
    }
    String::from_utf8(bytes).map_err(|error| {
        let place = error.utf8_error().valid_up_to();
        refuse(&format!("is not text: byte {place} is not UTF-8, expected a Metal source"))
    })
}

/// The library's message with the file's name, which messages about reading have already.
fn library_failure(path: &Path, message: &str) -> Failure {
    let name = path.display().to_string();
    match message.strip_prefix(&name) {
        Some(_) => Failure::Message(message.to_owned()),
        None => Failure::about(path, message),
    }
}

/// Whether `bytes` start with the magic of a Metal library or of a universal binary.
fn is_library(bytes: &[u8]) -> bool {
    bytes.starts_with(b"MTLB") || bytes.starts_with(b"\xcb\xfe\xba\xbe")
}

fn starts_like_a_library(path: &Path) -> bool {
    let mut start = [0; 4];
    File::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok() && is_library(&start)
}
