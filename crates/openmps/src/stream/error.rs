//! What a stream reports late: kernel messages and failed commands.
//!
//! Two channels, both looked at by [`Stream::synchronize`](super::Stream::synchronize) and by nothing else. Kernels write
//! [`ErrorMessages`](ErrorBuffer) records through the address in the stream's error buffer; commands that fail leave their
//! first error in the queue. Reporting clears what was reported, and the stream works on.

use std::sync::atomic::{AtomicU32, Ordering};

pub use crate::stream_id::StreamError;

/// Records in a buffer of `c10::metal::ErrorMessages` (`c10/metal/error.h`).
pub const ERROR_RECORDS: usize = 30;

/// Size of `c10::metal::ErrorMessages`: a 4-byte count and 30 records of 512 bytes.
pub const ERROR_BUFFER_BYTES: usize = 4 + ERROR_RECORDS * 512;

/// `MTLCommandBufferErrorInternal`.
pub const CODE_INTERNAL: i64 = 1;
/// `MTLCommandBufferErrorInvalidResource`.
pub const CODE_INVALID_RESOURCE: i64 = 9;

impl StreamError {
    /// An execution error that is a mistake of the command or of ours.
    #[must_use]
    pub fn internal(message: impl Into<String>) -> Self {
        Self::Execution { is_oom: false, code: CODE_INTERNAL, message: message.into() }
    }
}

const WORDS: usize = ERROR_BUFFER_BYTES / 4;
const FILE_BYTES: usize = 4;
const FUNCTION_BYTES: usize = FILE_BYTES + 128;
const MESSAGE_BYTES: usize = FILE_BYTES + 256;
const LINE_BYTES: usize = FILE_BYTES + 508;

/// The memory of one `c10::metal::ErrorMessages`, which kernels write through its address.
#[repr(C, align(256))]
pub(crate) struct ErrorBuffer {
    words: [AtomicU32; WORDS],
}

impl ErrorBuffer {
    pub(crate) const fn new() -> Self {
        Self { words: [const { AtomicU32::new(0) }; WORDS] }
    }

    /// The address that kernels get.
    pub(crate) fn address(&'static self) -> u64 {
        let address = self.words.as_ptr().expose_provenance();
        u64::try_from(address).expect("an address has at most 64 bits")
    }

    /// The first record, if any was written since the last call; the count starts again at 0. Only meaningful while no
    /// kernel of the stream runs.
    pub(crate) fn take(&self) -> Option<StreamError> {
        if self.words[0].load(Ordering::Acquire) == 0 {
            return None;
        }
        self.words[0].store(0, Ordering::Release);
        Some(StreamError::Kernel {
            message: self.text(MESSAGE_BYTES, 250),
            file: self.text(FILE_BYTES, 128),
            function: self.text(FUNCTION_BYTES, 128),
            line: self.words[LINE_BYTES / 4].load(Ordering::Relaxed),
        })
    }

    /// The C string in the `size_bytes` bytes from byte `offset` on.
    fn text(&self, offset: usize, size_bytes: usize) -> String {
        let words = &self.words[offset / 4..(offset + size_bytes).div_ceil(4)];
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.load(Ordering::Relaxed).to_le_bytes()).collect();
        let field = &bytes[..size_bytes];
        let end = field.iter().position(|&byte| byte == 0).unwrap_or(size_bytes);
        String::from_utf8_lossy(&field[..end]).into_owned()
    }

    /// Writes `bytes` at byte `offset`, a multiple of 4, as a kernel would.
    #[cfg(test)]
    pub(crate) fn write(&self, offset: usize, bytes: &[u8]) {
        for (index, chunk) in bytes.chunks(4).enumerate() {
            let mut word = [0; 4];
            word[..chunk.len()].copy_from_slice(chunk);
            self.words[offset / 4 + index].store(u32::from_le_bytes(word), Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_layout_is_c10s() {
        assert_eq!(size_of::<[AtomicU32; WORDS]>(), 15_364);
        assert_eq!((FUNCTION_BYTES, MESSAGE_BYTES, LINE_BYTES), (132, 260, 512));
    }

    #[test]
    fn the_first_record_is_reported_once() {
        let buffer = ErrorBuffer::new();
        assert_eq!(buffer.take(), None);
        buffer.write(4, b"indexing.metal");
        buffer.write(132, b"index_put\0stale");
        buffer.write(260, b"index 1 is out of bounds for dimension 0 with size 1\0");
        buffer.write(512, &37u32.to_le_bytes());
        buffer.write(516, b"second record");
        buffer.write(0, &45u32.to_le_bytes());
        let error = buffer.take().unwrap();
        assert_eq!(error.to_string(), "index 1 is out of bounds for dimension 0 with size 1");
        let StreamError::Kernel { file, function, line, .. } = error else { panic!("{error:?}") };
        assert_eq!((file.as_str(), function.as_str(), line), ("indexing.metal", "index_put", 37));
        assert_eq!(buffer.take(), None);
    }

    #[test]
    fn a_message_without_an_end_stops_at_its_field() {
        let buffer = ErrorBuffer::new();
        buffer.write(260, &[b'x'; 252]);
        buffer.write(0, &1u32.to_le_bytes());
        assert_eq!(buffer.take().unwrap().to_string(), "x".repeat(250));
    }
}
