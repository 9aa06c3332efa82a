//! LLVM's wrapper around bitcode: five words, of which the second pair says where the bitcode is.

use std::ops::Range;

/// First bytes of a wrapper.
const WRAPPER_MAGIC: [u8; 4] = [0xde, 0xc0, 0x17, 0x0b];
/// First bytes of bitcode.
const MAGIC: [u8; 4] = *b"BC\xc0\xde";
/// Size of the wrapper's header in bytes.
const WRAPPER_BYTES: usize = 20;
/// Blobs are padded with zeros to a multiple of this.
const BLOB_ALIGNMENT: usize = 16;

/// Why a blob holds no bitcode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BitcodeError {
    /// Where, from the start of the blob.
    pub(super) offset: usize,
    pub(super) problem: String,
}

/// Where the bitcode is in `blob`, which may have a wrapper or not.
pub(super) fn inner_range(blob: &[u8]) -> Result<Range<usize>, BitcodeError> {
    let refuse = |offset, problem| Err(BitcodeError { offset, problem });
    if !blob.starts_with(&WRAPPER_MAGIC) {
        return check_magic(blob, 0..blob.len());
    }
    let Some(words) = blob.first_chunk::<WRAPPER_BYTES>() else {
        return refuse(0, format!("has {} bytes, but its wrapper {WRAPPER_BYTES}", blob.len()));
    };
    let word = |place: usize| u32::from_le_bytes([words[place], words[place + 1], words[place + 2], words[place + 3]]);
    let (offset, size) = (word(8) as usize, word(12) as usize);
    if offset < WRAPPER_BYTES || offset > blob.len() || size > blob.len() - offset {
        let problem = format!("wraps {size} bytes at byte {offset:#x} of {}", blob.len());
        return refuse(8, problem);
    }
    check_magic(blob, offset..offset + size)
}

fn check_magic(blob: &[u8], range: Range<usize>) -> Result<Range<usize>, BitcodeError> {
    let inner = &blob[range.clone()];
    if inner.starts_with(&MAGIC) {
        return Ok(range);
    }
    let start: Vec<String> = inner.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    let start = if start.is_empty() { "is empty".to_owned() } else { format!("starts with {}", start.join(" ")) };
    Err(BitcodeError { offset: range.start, problem: format!("{start}, expected bitcode's 42 43 c0 de") })
}

/// The blob that holds `bitcode`: wrapper, bitcode, zeros. `None` where the size does not fit into the wrapper.
pub(super) fn wrap(bitcode: &[u8]) -> Option<Vec<u8>> {
    // Architecture "any", as Apple's compiler writes it.
    const CPU_TYPE: u32 = u32::MAX;
    let size = u32::try_from(bitcode.len()).ok()?;
    let offset = u32::try_from(WRAPPER_BYTES).ok()?;
    let mut blob = WRAPPER_MAGIC.to_vec();
    for word in [0, offset, size, CPU_TYPE] {
        blob.extend_from_slice(&word.to_le_bytes());
    }
    blob.extend_from_slice(bitcode);
    blob.resize(blob.len().next_multiple_of(BLOB_ALIGNMENT), 0);
    Some(blob)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrapped_and_bare_bitcode_is_found() {
        let bitcode = b"BC\xc0\xde1234";
        let blob = wrap(bitcode).unwrap();
        assert_eq!(blob.len(), 32);
        assert_eq!(inner_range(&blob), Ok(20..28));
        assert_eq!(inner_range(bitcode), Ok(0..8));
    }

    #[test]
    fn damaged_wrappers_are_refused() {
        let check = |blob: &[u8], offset: usize, problem: &str| {
            let problem = problem.to_owned();
            assert_eq!(inner_range(blob), Err(BitcodeError { offset, problem }));
        };
        let wrapper = |offset: u32, size: u32| {
            let mut blob = wrap(b"BC\xc0\xde1234").unwrap();
            blob[8..12].copy_from_slice(&offset.to_le_bytes());
            blob[12..16].copy_from_slice(&size.to_le_bytes());
            blob
        };
        check(b"", 0, "is empty, expected bitcode's 42 43 c0 de");
        check(b"hello", 0, "starts with 68 65 6c 6c, expected bitcode's 42 43 c0 de");
        check(&WRAPPER_MAGIC, 0, "has 4 bytes, but its wrapper 20");
        check(&wrapper(16, 8), 8, "wraps 8 bytes at byte 0x10 of 32");
        check(&wrapper(20, 13), 8, "wraps 13 bytes at byte 0x14 of 32");
        check(&wrapper(33, 0), 8, "wraps 0 bytes at byte 0x21 of 32");
        check(&wrapper(u32::MAX, u32::MAX), 8, "wraps 4294967295 bytes at byte 0xffffffff of 32");
        check(&wrapper(20, 0), 20, "is empty, expected bitcode's 42 43 c0 de");
        check(&wrapper(24, 4), 24, "starts with 31 32 33 34, expected bitcode's 42 43 c0 de");
    }
}
