//! Universal binaries: one library an architecture, big-endian, of which the slice with AIR counts.
//!
//! Archives of pipelines have the same form: beside AIR they hold machine code for Apple's GPUs.

use super::error::{MetallibError, Result};
use super::storage::Storage;

/// First bytes of a universal binary.
pub(super) const FAT_MAGIC: [u8; 4] = [0xcb, 0xfe, 0xba, 0xbe];
/// CPU type of slices that hold a Metal library.
pub const CPU_TYPE_AIR64: u32 = 0x0100_0017;
/// CPU type of slices that hold machine code for Apple's GPUs.
pub const CPU_TYPE_APPLE_GPU: u32 = 0x0100_0013;

/// Magic and count.
const HEADER_BYTES: u64 = 8;
/// CPU type, subtype, offset, size, alignment.
const SLICE_BYTES: u64 = 20;
/// Real ones have two.
const SLICES_MAX: u64 = 256;

/// The window of the first slice for AIR64.
pub(super) fn air_slice(storage: &Storage) -> Result<Storage> {
    let available = storage.size_bytes();
    let refuse = |what: String, offset: u64, problem: String| Err(MetallibError::part(what, offset, problem));
    if available < HEADER_BYTES {
        return refuse("universal binary: the header".to_owned(), 0, format!("is cut at {available} bytes"));
    }
    let header = storage.read("universal binary: the header", 0, HEADER_BYTES)?;
    let count = u64::from(word(&header, 4));
    if count > SLICES_MAX {
        return Err(MetallibError::TooLarge {
            what: "slices of the universal binary".to_owned(),
            given: count,
            limit: SLICES_MAX,
        });
    }
    if count * SLICE_BYTES > available - HEADER_BYTES {
        let problem = format!("says {count} slices, but the file ends at {available:#x}");
        return refuse("universal binary: the header".to_owned(), 4, problem);
    }
    let table = storage.read("universal binary: the slices", HEADER_BYTES, count * SLICE_BYTES)?;
    let mut found = Vec::new();
    for (number, slice) in table.chunks_exact(20).enumerate() {
        let (cpu_type, offset, size) = (word(slice, 0), u64::from(word(slice, 8)), u64::from(word(slice, 12)));
        if cpu_type != CPU_TYPE_AIR64 {
            found.push(format!("{cpu_type:#x}"));
            continue;
        }
        // Both are 32 bits wide, so the sum does not overflow.
        if offset < HEADER_BYTES + count * SLICE_BYTES || offset + size > available {
            let place = HEADER_BYTES + number as u64 * SLICE_BYTES;
            let problem = format!("puts {size} bytes at byte {offset:#x} of {available}");
            return refuse(format!("universal binary: slice {number}"), place, problem);
        }
        return Ok(storage.window(offset, size));
    }
    let found = if found.is_empty() { "none".to_owned() } else { found.join(", ") };
    Err(MetallibError::NoAirSlice { found })
}

fn word(bytes: &[u8], place: usize) -> u32 {
    u32::from_be_bytes([bytes[place], bytes[place + 1], bytes[place + 2], bytes[place + 3]])
}

/// A universal binary of slices with their CPU types. `None` where they are larger than 32 bits can say.
#[must_use]
pub fn write_fat(slices: &[(u32, &[u8])]) -> Option<Vec<u8>> {
    const ALIGNMENT_LOG2: u32 = 4;
    let mut offset = HEADER_BYTES + SLICE_BYTES * slices.len() as u64;
    let mut out = FAT_MAGIC.to_vec();
    out.extend_from_slice(&u32::try_from(slices.len()).ok()?.to_be_bytes());
    for (cpu_type, bytes) in slices {
        offset = offset.next_multiple_of(1 << ALIGNMENT_LOG2);
        let size = u32::try_from(bytes.len()).ok()?;
        // The subtype says which GPUs machine code is for; that of AIR64 slices is always this.
        const SUBTYPE: u32 = 0x0c;
        for word in [*cpu_type, SUBTYPE, u32::try_from(offset).ok()?, size, ALIGNMENT_LOG2] {
            out.extend_from_slice(&word.to_be_bytes());
        }
        offset += u64::from(size);
    }
    for (_, bytes) in slices {
        out.resize(out.len().next_multiple_of(1 << ALIGNMENT_LOG2), 0);
        out.extend_from_slice(bytes);
    }
    Some(out)
}
