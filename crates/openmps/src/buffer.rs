//! A buffer for Rust programs: a block of the process's allocator that frees itself.

use std::ptr::NonNull;

use crate::memory::{MemoryError, Usage, allocator};

/// A block of device memory, which is host memory here.
///
/// Kernels write to it while their stream runs: synchronize the stream before looking at the contents.
#[derive(Debug)]
pub struct Buffer {
    address: NonNull<u8>,
    length: usize,
}

// SAFETY: a buffer owns its block, and the allocator takes blocks back from any thread.
unsafe impl Send for Buffer {}
// SAFETY: a shared buffer gives out its address and copies of its bytes only.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// A buffer of `length` bytes with arbitrary contents, allocated for the calling thread's stream.
    ///
    /// # Errors
    /// What [`crate::memory::Allocator::allocate`] says, or the allocator's failed construction.
    pub fn new(length: usize) -> Result<Buffer, MemoryError> {
        Ok(Buffer { address: allocator()?.allocate(length as u64, Usage::Device)?, length })
    }

    /// A buffer with a copy of `bytes`.
    ///
    /// # Errors
    /// As [`Buffer::new`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Buffer, MemoryError> {
        let mut buffer = Buffer::new(bytes.len())?;
        buffer.copy_from_slice(bytes);
        Ok(buffer)
    }

    /// The first address; good for as many bytes as [`Buffer::len`] says.
    pub fn contents(&self) -> NonNull<u8> {
        self.address
    }

    /// The size that was asked for, in bytes.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether the size is zero.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Overwrites all contents.
    ///
    /// # Panics
    /// If `bytes` is not exactly as long as the buffer.
    pub fn copy_from_slice(&mut self, bytes: &[u8]) {
        assert_eq!(bytes.len(), self.length, "the bytes and the buffer must have one length");
        // SAFETY: the block is this buffer's own and at least `length` bytes long; a slice of the caller's cannot overlap it.
        unsafe { self.address.as_ptr().copy_from_nonoverlapping(bytes.as_ptr(), self.length) };
    }

    /// Overwrites all contents with one byte.
    pub(crate) fn fill(&mut self, byte: u8) {
        // SAFETY: the block is this buffer's own and at least `length` bytes long.
        unsafe { self.address.as_ptr().write_bytes(byte, self.length) };
    }

    /// Overwrites the contents from `offset` on.
    ///
    /// # Panics
    /// If the bytes do not fit there.
    pub(crate) fn write(&mut self, offset: usize, bytes: &[u8]) {
        let fits = offset.checked_add(bytes.len()).is_some_and(|end| end <= self.length);
        assert!(fits, "{} bytes from {offset} on in a buffer of {}", bytes.len(), self.length);
        // SAFETY: inside the block, by the line above.
        let target = unsafe { self.address.add(offset) };
        // SAFETY: `bytes.len()` bytes of the block from there on; a slice of the caller's cannot overlap it.
        unsafe { target.as_ptr().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    }

    /// A copy of `count` bytes from `offset` on.
    ///
    /// # Panics
    /// If there are no such bytes.
    pub(crate) fn read(&self, offset: usize, count: usize) -> Vec<u8> {
        let fits = offset.checked_add(count).is_some_and(|end| end <= self.length);
        assert!(fits, "{count} bytes from {offset} on in a buffer of {}", self.length);
        let mut bytes = vec![0; count];
        // SAFETY: inside the block, by the line above.
        let source = unsafe { self.address.add(offset) };
        // SAFETY: `count` bytes of the block from there on, committed memory, and apart from the new vector.
        unsafe { source.as_ptr().copy_to_nonoverlapping(bytes.as_mut_ptr(), count) };
        bytes
    }

    /// A copy of the contents.
    pub fn to_vec(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.length];
        // SAFETY: the block is at least `length` bytes long, committed memory, and apart from the new vector.
        unsafe { self.address.as_ptr().copy_to_nonoverlapping(bytes.as_mut_ptr(), self.length) };
        bytes
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let allocator = allocator().expect("this buffer's block came from the allocator");
        // SAFETY: the block was allocated at construction and is freed here alone; commands that use it retain it or are on
        // the stream that allocated it.
        unsafe { allocator.free(self.address) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_survive_and_the_block_goes_back() {
        let bytes: Vec<u8> = (0..=255).cycle().take(70_000).collect();
        let buffer = Buffer::from_bytes(&bytes).expect("memory for 70 kB");
        assert_eq!((buffer.len(), buffer.is_empty()), (70_000, false));
        assert_eq!(buffer.to_vec(), bytes);
        let address = buffer.contents();
        let allocator = allocator().expect("the allocator exists");
        assert_eq!(allocator.block(address.as_ptr()).map(|block| block.requested_bytes), Some(70_000));
        drop(buffer);
        assert!(allocator.block(address.as_ptr()).is_none_or(|block| block.requested_bytes != 70_000));
    }
}
