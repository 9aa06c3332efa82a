//! The first 88 bytes: what the library is for, and where its parts are; then the tags behind the function list.

use super::error::{MetallibError, Result};
use super::tags::Tags;

/// First bytes of every library.
pub(super) const MAGIC: [u8; 4] = *b"MTLB";
/// Size of the header in bytes.
pub(super) const HEADER_BYTES: u64 = 88;
/// The word in front of the function list that counts its entries, which the list's size leaves out.
pub(super) const COUNT_BYTES: u64 = 4;

/// Where a part of the file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Section {
    /// First byte, from the start of the library.
    pub offset: u64,
    /// Size in bytes.
    pub size_bytes: u64,
}

impl Section {
    /// Just behind the last byte. [`Header::parse`] has checked that it does not overflow.
    pub(super) fn end(self) -> u64 {
        self.offset + self.size_bytes
    }
}

/// What a file contains (byte 10).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileType {
    /// A library of functions.
    Executable,
    /// Core Image kernels.
    CoreImage,
    /// A dynamic library, with an install name.
    Dynamic,
}

/// The header, checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Bit 15 is set for macOS and its relatives.
    pub platform: u16,
    /// Version of the container, major and minor. It does not follow AIR's.
    pub version: (u16, u16),
    /// What the file contains.
    pub file_type: FileType,
    /// 0x81 macOS, 0x82 iOS, 0x83 tvOS, 0x84 watchOS, 0x85 bridgeOS, 0x86 Catalyst, 0x87 to 0x89 simulators.
    pub os: u8,
    /// Oldest version of the operating system, major and minor.
    pub os_version: (u16, u16),
    /// Size of the library in bytes; the file may be longer.
    pub size_bytes: u64,
    /// The list of functions with the count in front.
    pub functions: Section,
    /// What others may know of each function: its function constants.
    pub public_metadata: Section,
    /// Debug information and dependencies.
    pub private_metadata: Section,
    /// The modules, one behind the other.
    pub bitcode: Section,
}

impl Header {
    /// Reads the header of a library of which `available_bytes` are there.
    pub(super) fn parse(bytes: &[u8; 88], available_bytes: u64) -> Result<Self> {
        let header = Self {
            platform: u16_at(bytes, 4),
            version: (u16_at(bytes, 6), u16_at(bytes, 8)),
            file_type: file_type(bytes[10])?,
            os: bytes[11],
            os_version: (u16_at(bytes, 12), u16_at(bytes, 14)),
            size_bytes: u64_at(bytes, 16),
            functions: section_at(bytes, 24),
            public_metadata: section_at(bytes, 40),
            private_metadata: section_at(bytes, 56),
            bitcode: section_at(bytes, 72),
        };
        if header.size_bytes > available_bytes {
            let problem = format!("says {} bytes, but there are {available_bytes}", header.size_bytes);
            return Err(MetallibError::part("the library's size", 16, problem));
        }
        header.with_count()?.check_overlaps()
    }

    /// Makes the function list's size include the word in front, as the other sizes do.
    fn with_count(mut self) -> Result<Self> {
        let Section { offset, size_bytes } = self.functions;
        self.functions.size_bytes = size_bytes
            .checked_add(COUNT_BYTES)
            .ok_or_else(|| MetallibError::part("the function list", offset, format!("has {size_bytes} bytes")))?;
        Ok(self)
    }

    fn parts(&self) -> [(&'static str, Section); 4] {
        [
            ("the function list", self.functions),
            ("the public metadata", self.public_metadata),
            ("the private metadata", self.private_metadata),
            ("the bitcode", self.bitcode),
        ]
    }

    fn check_overlaps(self) -> Result<Self> {
        let mut parts = self.parts();
        for (what, Section { offset, size_bytes }) in parts {
            if offset.checked_add(size_bytes).is_none_or(|end| end > self.size_bytes) {
                let problem = format!("has {size_bytes} bytes, but the library ends at {:#x}", self.size_bytes);
                return Err(MetallibError::part(what, offset, problem));
            }
        }
        parts.sort_by_key(|(_, section)| section.offset);
        let mut before = ("the header", Section { offset: 0, size_bytes: HEADER_BYTES });
        for part in parts.into_iter().filter(|(_, section)| section.size_bytes > 0) {
            if part.1.offset < before.1.end() {
                let problem = format!("overlaps {}, which ends at {:#x}", before.0, before.1.end());
                return Err(MetallibError::part(part.0, part.1.offset, problem));
            }
            before = part;
        }
        Ok(self)
    }

    /// Where the tags behind the function list are: up to the next part.
    pub(super) fn extension(&self) -> Section {
        let offset = self.functions.end();
        let parts = self.parts().into_iter().map(|(_, section)| section);
        let after = parts.filter(|part| part.offset >= offset && *part != self.functions).map(|part| part.offset).min();
        Section { offset, size_bytes: after.unwrap_or(self.size_bytes) - offset }
    }
}

/// What the tags behind the function list say, as far as a loader cares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Extension {
    /// Names one build of the library.
    pub(super) uuid: Option<[u8; 16]>,
    /// The list of reflection records, if it is where it may be.
    pub(super) reflection: Option<Section>,
}

impl Extension {
    /// Reads the tags in `bytes`, which start at `offset`.
    pub(super) fn parse(bytes: &[u8], offset: u64, header: &Header) -> Result<Self> {
        let mut extension = Self::default();
        if bytes.is_empty() {
            return Ok(extension);
        }
        let at = |place: usize| offset + place as u64;
        let mut tags = Tags::new(bytes);
        loop {
            let tag = tags.next().map_err(|error| {
                MetallibError::part(format!("header extension: {}", error.what), at(error.offset), error.problem)
            })?;
            let Some(tag) = tag else { return Ok(extension) };
            let wrong_size = |expected: usize| {
                let what = format!("header extension: tag {}", super::tags::name(tag.code));
                let problem = format!("has {} bytes, expected {expected}", tag.payload.len());
                MetallibError::part(what, at(tag.offset), problem)
            };
            match &tag.code {
                b"UUID" => extension.uuid = Some(tag.payload.try_into().map_err(|_| wrong_size(16))?),
                b"RLST" => {
                    let payload: &[u8; 16] = tag.payload.try_into().map_err(|_| wrong_size(16))?;
                    extension.reflection = Some(section_at(payload, 0)).filter(|list| is_usable(*list, header));
                }
                // Archives of pipelines have HSRP and HDYN; others are described elsewhere.
                _ => {}
            }
        }
    }
}

/// Whether the reflection list is inside the library and outside the bitcode. It repeats what the bitcode says, so one that is
/// elsewhere is no reason to refuse a library.
fn is_usable(list: Section, header: &Header) -> bool {
    let Some(end) = list.offset.checked_add(list.size_bytes) else { return false };
    end <= header.size_bytes && (list.offset >= header.bitcode.end() || end <= header.bitcode.offset)
}

fn file_type(byte: u8) -> Result<FileType> {
    match byte {
        0 => Ok(FileType::Executable),
        1 => Ok(FileType::CoreImage),
        2 => Ok(FileType::Dynamic),
        _ => {
            let found = if byte == 3 { "3 (a symbol companion, without code)".to_owned() } else { byte.to_string() };
            let problem = format!("is {found}, expected 0 (executable), 1 (Core Image) or 2 (dynamic library)");
            Err(MetallibError::part("the file type", 10, problem))
        }
    }
}

fn bytes_at<const N: usize>(bytes: &[u8], place: usize) -> [u8; N] {
    bytes[place..place + N].try_into().expect("the range has N bytes")
}

fn u16_at(bytes: &[u8], place: usize) -> u16 {
    u16::from_le_bytes(bytes_at(bytes, place))
}

/// The number at `place`, which is inside.
pub(super) fn u64_at(bytes: &[u8], place: usize) -> u64 {
    u64::from_le_bytes(bytes_at(bytes, place))
}

fn section_at(bytes: &[u8], place: usize) -> Section {
    Section { offset: u64_at(bytes, place), size_bytes: u64_at(bytes, place + 8) }
}
