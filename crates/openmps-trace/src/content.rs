//! Chunks: how contents are cut, packed and unpacked.

use std::io;

/// The longest chunk, in bytes; every chunk of a content but the last has this length.
pub const CHUNK_BYTES: usize = 256 * 1024;

/// zstd's level: as fast as a disk, and zeros cost nothing.
const LEVEL: i32 = 1;

/// The zstd frame of a chunk.
pub(crate) fn pack(chunk: &[u8]) -> io::Result<Vec<u8>> {
    zstd::bulk::compress(chunk, LEVEL)
}

/// The chunk in `frame`, which must have exactly `raw_bytes` bytes with this hash.
///
/// # Errors
/// What is wrong.
pub(crate) fn unpack(frame: &[u8], raw_bytes: usize, hash: &[u8; 32]) -> Result<Vec<u8>, String> {
    let mut chunk = vec![0; raw_bytes];
    // Never writes more than the buffer holds, whatever the frame claims.
    let length = zstd::bulk::decompress_to_buffer(frame, &mut chunk[..]).map_err(|error| error.to_string())?;
    if length != raw_bytes {
        return Err(format!("it unpacks to {length} bytes, expected {raw_bytes}"));
    }
    if blake3::hash(&chunk).as_bytes() != hash {
        return Err("its bytes do not have the hash that was written".into());
    }
    Ok(chunk)
}
