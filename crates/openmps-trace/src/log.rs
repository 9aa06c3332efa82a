//! Frames of the index: a mark and a version, then each record with its length and its hash.
//!
//! A record that the end of the file cuts off is what a dying program leaves behind; it ends the log and is no error. A record
//! whose bytes do not have their hash is damage.

use std::path::Path;

use crate::error::OpenError;
use crate::record::Record;

/// The format that this crate writes, and the only one that it reads.
pub const FORMAT_VERSION: u32 = 1;

/// How an index starts.
const MARK: &[u8; 16] = b"openmps capture\n";
const START_BYTES: usize = MARK.len() + 4;
/// Length, then the first bytes of the hash.
const FRAME_BYTES: usize = 4 + HASH_BYTES;
const HASH_BYTES: usize = 8;

/// The first bytes of an index.
pub(crate) fn start() -> Vec<u8> {
    let mut bytes = MARK.to_vec();
    bytes.extend(FORMAT_VERSION.to_le_bytes());
    bytes
}

/// Appends the frame of `record` to `bytes`; false where it is too long for one.
pub(crate) fn append(record: &Record, bytes: &mut Vec<u8>) -> bool {
    append_payload(&payload_of(record), bytes)
}

fn append_payload(payload: &[u8], bytes: &mut Vec<u8>) -> bool {
    let Ok(length) = u32::try_from(payload.len()) else { return false };
    bytes.extend(length.to_le_bytes());
    bytes.extend(&blake3::hash(payload).as_bytes()[..HASH_BYTES]);
    bytes.extend(payload);
    true
}

/// The bytes of `record`, for tests.
#[doc(hidden)]
#[must_use]
pub fn payload_of(record: &Record) -> Vec<u8> {
    postcard::to_stdvec(record).expect("plain data has bytes")
}

/// The hash that names a chunk, for tests.
#[doc(hidden)]
#[must_use]
pub fn hash_of(chunk: &[u8]) -> [u8; 32] {
    *blake3::hash(chunk).as_bytes()
}

/// An index of these payloads, whatever they are: what hostile captures are made of in tests.
#[doc(hidden)]
#[must_use]
pub fn index_of(payloads: &[&[u8]]) -> Vec<u8> {
    let mut bytes = start();
    for payload in payloads {
        append_payload(payload, &mut bytes);
    }
    bytes
}

/// What an index holds.
pub(crate) struct Parsed {
    /// Each record with its first byte.
    pub(crate) records: Vec<(usize, Record)>,
    /// Whether the file ends inside a record.
    pub(crate) cut: bool,
}

/// Reads the whole index `bytes`; `path` is for errors.
pub(crate) fn parse(bytes: &[u8], path: &Path) -> Result<Parsed, OpenError> {
    let foreign = || OpenError::Foreign { path: path.into() };
    if !bytes.starts_with(MARK) {
        return Err(foreign());
    }
    let version = bytes.get(MARK.len()..START_BYTES).and_then(|word| word.try_into().ok()).ok_or_else(foreign)?;
    let found = u32::from_le_bytes(version);
    if found != FORMAT_VERSION {
        return Err(OpenError::Version { path: path.into(), found, expected: FORMAT_VERSION });
    }
    let mut records = Vec::new();
    let mut offset = START_BYTES;
    while let Some((hash, payload)) = frame(&bytes[offset..]) {
        let damaged = |reason: &str| OpenError::Damaged {
            path: path.into(),
            record: records.len(),
            offset,
            reason: reason.into(),
        };
        if blake3::hash(payload).as_bytes()[..HASH_BYTES] != *hash {
            return Err(damaged("its bytes do not have the hash that was written"));
        }
        let (record, rest) =
            postcard::take_from_bytes(payload).map_err(|error| damaged(&format!("not a record: {error}")))?;
        if !rest.is_empty() {
            return Err(damaged("bytes follow the record"));
        }
        records.push((offset, record));
        offset += FRAME_BYTES + payload.len();
    }
    Ok(Parsed { records, cut: offset != bytes.len() })
}

/// The hash and the payload of the frame at the start of `bytes`, if it is all there.
fn frame(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    let (hash, rest) = rest.split_at_checked(HASH_BYTES)?;
    let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
    Some((hash, rest.get(..length)?))
}
