//! One function of a library: what the list says of it, and its parts, read when they are asked for.

use std::borrow::Cow;
use std::fmt;

use super::Metallib;
use super::bitcode;
use super::constants::{FunctionConstant, read_constants};
use super::error::{MetallibError, Result};
use super::sha256::{hex, sha256};
use super::tags::Tags;
use crate::limits;

/// What a function is (tag TYPE).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each variant is Metal's word")]
pub enum FunctionType {
    Vertex,
    Fragment,
    Kernel,
    Unqualified,
    Visible,
    Extern,
    Intersection,
    Mesh,
    Object,
    /// A number without a known meaning.
    Other(u8),
}

impl FunctionType {
    const KNOWN: [Self; 9] = [
        Self::Vertex,
        Self::Fragment,
        Self::Kernel,
        Self::Unqualified,
        Self::Visible,
        Self::Extern,
        Self::Intersection,
        Self::Mesh,
        Self::Object,
    ];

    /// The type with this number.
    #[must_use]
    pub fn from_byte(byte: u8) -> Self {
        Self::KNOWN.get(usize::from(byte)).copied().unwrap_or(Self::Other(byte))
    }

    /// The number in files.
    #[must_use]
    pub fn byte(self) -> u8 {
        match self {
            Self::Vertex => 0,
            Self::Fragment => 1,
            Self::Kernel => 2,
            Self::Unqualified => 3,
            Self::Visible => 4,
            Self::Extern => 5,
            Self::Intersection => 6,
            Self::Mesh => 7,
            Self::Object => 8,
            Self::Other(byte) => byte,
        }
    }
}

impl fmt::Display for FunctionType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::Vertex => "vertex",
            Self::Fragment => "fragment",
            Self::Kernel => "kernel",
            Self::Unqualified => "unqualified",
            Self::Visible => "visible",
            Self::Extern => "extern",
            Self::Intersection => "intersection",
            Self::Mesh => "mesh",
            Self::Object => "object",
            Self::Other(byte) => return write!(f, "type {byte}"),
        };
        f.write_str(name)
    }
}

/// Versions of AIR and of the language that a function was compiled from (tag VERS).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Versions {
    /// Major and minor version of AIR.
    pub air: (u16, u16),
    /// Major and minor version of the Metal Shading Language.
    pub language: (u16, u16),
}

impl Versions {
    /// Reads the eight bytes of VERS.
    pub(super) fn from_payload(payload: &[u8]) -> Self {
        let word = |place: usize| u16::from_le_bytes([payload[place], payload[place + 1]]);
        Self { air: (word(0), word(2)), language: (word(4), word(6)) }
    }

    /// The eight bytes of VERS.
    pub(super) fn to_payload(self) -> Vec<u8> {
        let words = [self.air.0, self.air.1, self.language.0, self.language.1];
        words.into_iter().flat_map(u16::to_le_bytes).collect()
    }
}

/// What the list says of a function. Offsets are relative to the sections, and inside them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fields {
    pub(super) kind: FunctionType,
    pub(super) versions: Option<Versions>,
    pub(super) hash: Option<[u8; 32]>,
    pub(super) public_offset: u64,
    pub(super) private_offset: u64,
    pub(super) bitcode_offset: u64,
    pub(super) bitcode_bytes: u64,
}

/// A function of a [`Metallib`].
#[derive(Clone, Copy)]
pub struct Function<'a> {
    library: &'a Metallib,
    name: &'a str,
    fields: Fields,
}

impl<'a> Function<'a> {
    pub(super) fn new(library: &'a Metallib, name: &'a str, fields: Fields) -> Self {
        Self { library, name, fields }
    }

    /// The name, which is also the symbol in the module.
    #[must_use]
    pub fn name(&self) -> &'a str {
        self.name
    }

    /// What the function is.
    #[must_use]
    pub fn function_type(&self) -> FunctionType {
        self.fields.kind
    }

    /// The versions, where the library states them.
    #[must_use]
    pub fn versions(&self) -> Option<Versions> {
        self.fields.versions
    }

    /// SHA-256 of the function's part of the bitcode section, where the library states it. Names the module in caches.
    #[must_use]
    pub fn hash(&self) -> Option<[u8; 32]> {
        self.fields.hash
    }

    /// Offset in the bitcode section and size in bytes of the module with its wrapper. Functions may share one.
    #[must_use]
    pub fn bitcode_range(&self) -> (u64, u64) {
        (self.fields.bitcode_offset, self.fields.bitcode_bytes)
    }

    /// The module: bitcode without LLVM's wrapper and without padding. Only its first bytes are checked here.
    ///
    /// # Errors
    /// When the wrapper does not describe what is there, what it wraps is no bitcode, it is over the limit, or the file cannot
    /// be read.
    pub fn bitcode(&self) -> Result<Cow<'a, [u8]>> {
        let blob = self.blob()?;
        let range = bitcode::inner_range(&blob).map_err(|error| {
            let offset = self.library.header().bitcode.offset + self.fields.bitcode_offset + error.offset as u64;
            self.refuse("bitcode", offset, error.problem)
        })?;
        Ok(match blob {
            Cow::Borrowed(blob) => Cow::Borrowed(&blob[range]),
            Cow::Owned(mut blob) => {
                blob.truncate(range.end);
                Cow::Owned(blob.split_off(range.start))
            }
        })
    }

    /// The function constants that the library lists, in its order; functions without have none.
    ///
    /// # Errors
    /// When the function's public metadata is not as it should be, or the file cannot be read.
    pub fn constants(&self) -> Result<Vec<FunctionConstant>> {
        let section = self.library.header().public_metadata;
        let start = section.offset + self.fields.public_offset;
        let record = self.record(start, section.end())?;
        let mut constants = None;
        for (code, place) in record_tags(&record).map_err(|error| self.refuse_tag(&error, start))? {
            if code != *b"CNST" {
                continue;
            }
            let refuse = |problem: String| self.refuse("tag CNST", start + place.start as u64, problem);
            let listed = read_constants(&record[place.clone()]).map_err(refuse)?;
            if constants.replace(listed).is_some() {
                return Err(refuse("stands twice".to_owned()));
            }
        }
        Ok(constants.unwrap_or_default())
    }

    /// Compares the bitcode with the list's HASH. Opening a library and reading bitcode do not.
    ///
    /// # Errors
    /// [`MetallibError::Hash`] where they differ; [`MetallibError::Function`] where the list has no HASH; when the file cannot
    /// be read.
    pub fn verify_hash(&self) -> Result<()> {
        let blob = self.blob()?;
        let expected = self.fields.hash.ok_or_else(|| {
            self.refuse("its group", self.library.header().functions.offset, "has no tag HASH".to_owned())
        })?;
        let found = sha256(&blob);
        if found == expected {
            return Ok(());
        }
        Err(MetallibError::Hash { function: self.name.to_owned(), expected: hex(&expected), found: hex(&found) })
    }

    fn blob(&self) -> Result<Cow<'a, [u8]>> {
        let Fields { bitcode_offset, bitcode_bytes, .. } = self.fields;
        let limit = limits::BITCODE_BYTES_MAX as u64;
        if bitcode_bytes > limit {
            let what = format!("function '{}': bitcode in bytes", self.name);
            return Err(MetallibError::TooLarge { what, given: bitcode_bytes, limit });
        }
        let what = format!("the bitcode of '{}'", self.name);
        self.library.storage().read(&what, self.library.header().bitcode.offset + bitcode_offset, bitcode_bytes)
    }

    /// The metadata record at `start` in a section that ends at `end`, its size word included.
    ///
    /// Some writers count the size word and others do not, so four bytes more than the size are read where they are there.
    fn record(&self, start: u64, end: u64) -> Result<Cow<'a, [u8]>> {
        let what = format!("the public metadata of '{}'", self.name);
        let word = self.library.storage().read(&what, start, 4)?;
        let size = u64::from(u32::from_le_bytes(word.first_chunk::<4>().copied().expect("four bytes were read")));
        if size > limits::RECORD_BYTES_MAX {
            let what = format!("function '{}': public metadata in bytes", self.name);
            return Err(MetallibError::TooLarge { what, given: size, limit: limits::RECORD_BYTES_MAX });
        }
        if size > end - start {
            let problem = format!("has {size} bytes, but its section ends at {end:#x}");
            return Err(self.refuse("public metadata", start, problem));
        }
        self.library.storage().read(&what, start, (size + 4).min(end - start))
    }

    fn refuse(&self, what: &str, offset: u64, problem: String) -> MetallibError {
        MetallibError::Function { function: format!("'{}'", self.name), what: what.to_owned(), offset, problem }
    }

    fn refuse_tag(&self, error: &super::tags::TagError, start: u64) -> MetallibError {
        let what = format!("public metadata: {}", error.what);
        self.refuse(&what, start + error.offset as u64, error.problem.clone())
    }
}

impl fmt::Debug for Function<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Function").field("name", &self.name).field("fields", &self.fields).finish_non_exhaustive()
    }
}

/// The codes and payload ranges in a record, whose `ENDT` must end where its size says, the size word counted or not.
fn record_tags(
    record: &[u8],
) -> std::result::Result<Vec<(super::tags::Code, std::ops::Range<usize>)>, super::tags::TagError> {
    let (word, rest) = record.split_first_chunk::<4>().expect("a record has its size word");
    let size = u32::from_le_bytes(*word) as usize;
    let from_record = |error: super::tags::TagError| super::tags::TagError { offset: error.offset + 4, ..error };
    let mut tags = Tags::new(rest);
    let mut found = Vec::new();
    while let Some(tag) = tags.next().map_err(from_record)? {
        let start = 4 + tag.offset + super::tags::TAG_HEADER_BYTES;
        found.push((tag.code, start..start + tag.payload.len()));
    }
    let end = tags.end().expect("the loop ends at ENDT");
    if end == size || end + 4 == size {
        return Ok(found);
    }
    let problem = format!("ends the record after {end} bytes, but its size says {size}");
    Err(super::tags::TagError { what: "tag ENDT".to_owned(), offset: end, problem })
}
