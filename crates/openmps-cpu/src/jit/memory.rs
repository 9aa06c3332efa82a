//! Anonymous memory mappings that are written first and then made executable or read-only.
//!
//! Guarantees: no page is writable and executable at once; a mapping is unmapped when dropped. All unsafe code of loading is
//! here: bounds are checked against the mapping on every write.

use std::io;
use std::ptr::NonNull;

use crate::jit::load::LoadError;

/// What the pages of a range permit once sealed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protection {
    /// Machine code.
    Execute,
    /// Constants.
    Read,
    /// Variables.
    Write,
}

impl Protection {
    fn flags(self) -> libc::c_int {
        match self {
            Self::Execute => libc::PROT_READ | libc::PROT_EXEC,
            Self::Read => libc::PROT_READ,
            Self::Write => libc::PROT_READ | libc::PROT_WRITE,
        }
    }
}

/// The size of a page in bytes. 4 KiB is right for x86-64; protections work on multiples of it.
pub(crate) const PAGE_BYTES: usize = 4096;

/// A private anonymous mapping. Invariant: `base..base + size_bytes` is mapped and owned by this value.
pub(crate) struct Mapping {
    base: NonNull<u8>,
    size_bytes: usize,
}

// SAFETY: the mapping is plain memory owned by this value; shared access after `protect` is read or execute only, and
// `write` takes `&mut self`.
unsafe impl Send for Mapping {}
// SAFETY: as above; `&Mapping` gives out addresses only.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps `size_bytes` (rounded up to pages) of zeroed, writable memory.
    ///
    /// # Errors
    /// [`LoadError::Map`] when the operating system refuses.
    pub(crate) fn new(size_bytes: usize) -> Result<Self, LoadError> {
        let size_bytes = size_bytes.max(1).next_multiple_of(PAGE_BYTES);
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new private anonymous mapping at an address that the kernel chooses touches nothing that exists.
        let address = unsafe { libc::mmap(std::ptr::null_mut(), size_bytes, access, flags, -1, 0) };
        if address == libc::MAP_FAILED {
            return Err(LoadError::Map { size_bytes, reason: io::Error::last_os_error().to_string() });
        }
        let base = NonNull::new(address.cast()).expect("mmap does not return page zero without MAP_FIXED");
        Ok(Self { base, size_bytes })
    }

    /// The address of byte `offset`.
    pub(crate) fn address(&self, offset: usize) -> usize {
        assert!(offset <= self.size_bytes, "offset {offset:#x} in a mapping of {:#x} bytes", self.size_bytes);
        self.base.as_ptr().addr() + offset
    }

    /// A pointer to byte `offset`.
    pub(crate) fn pointer(&self, offset: usize) -> *mut u8 {
        assert!(offset <= self.size_bytes, "offset {offset:#x} in a mapping of {:#x} bytes", self.size_bytes);
        self.base.as_ptr().wrapping_add(offset)
    }

    /// Copies `bytes` to `offset`. Only before [`protect`](Self::protect) has taken the right to write there.
    pub(crate) fn write(&mut self, offset: usize, bytes: &[u8]) {
        let end = offset.checked_add(bytes.len());
        assert!(end.is_some_and(|end| end <= self.size_bytes), "write of {} bytes at {offset:#x}", bytes.len());
        let target = self.base.as_ptr().wrapping_add(offset);
        // SAFETY: the range was just checked to lie in the mapping, and `bytes` is another object.
        unsafe { target.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    }

    /// Reads `N` bytes at `offset`.
    pub(crate) fn read<const N: usize>(&self, offset: usize) -> [u8; N] {
        let end = offset.checked_add(N);
        assert!(end.is_some_and(|end| end <= self.size_bytes), "read of {N} bytes at {offset:#x}");
        let source = self.base.as_ptr().wrapping_add(offset).cast::<[u8; N]>();
        // SAFETY: the range was just checked to lie in the mapping, which stays readable.
        unsafe { source.read_unaligned() }
    }

    /// Gives the whole pages of `offset..offset + size_bytes` their final protection.
    ///
    /// # Errors
    /// [`LoadError::Map`] when the operating system refuses.
    pub(crate) fn protect(&self, offset: usize, size_bytes: usize, what: Protection) -> Result<(), LoadError> {
        if size_bytes == 0 {
            return Ok(());
        }
        assert!(offset.is_multiple_of(PAGE_BYTES), "protection starts inside a page: {offset:#x}");
        let size_bytes = size_bytes.next_multiple_of(PAGE_BYTES);
        assert!(offset + size_bytes <= self.size_bytes, "protection beyond the mapping");
        let start = self.pointer(offset).cast();
        // SAFETY: whole pages of our own mapping, checked just above.
        if unsafe { libc::mprotect(start, size_bytes, what.flags()) } != 0 {
            return Err(LoadError::Map { size_bytes, reason: io::Error::last_os_error().to_string() });
        }
        Ok(())
    }

    /// Makes the first page inaccessible: a stack that grows into it faults instead of overwriting its neighbor.
    ///
    /// # Errors
    /// [`LoadError::Map`] when the operating system refuses.
    pub(crate) fn guard_first_page(&self) -> Result<(), LoadError> {
        // SAFETY: the first page of our own mapping, which is at least one page long.
        if unsafe { libc::mprotect(self.base.as_ptr().cast(), PAGE_BYTES, libc::PROT_NONE) } != 0 {
            return Err(LoadError::Map { size_bytes: PAGE_BYTES, reason: io::Error::last_os_error().to_string() });
        }
        Ok(())
    }

    /// Bytes mapped.
    pub(crate) fn size_bytes(&self) -> usize {
        self.size_bytes
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: by the invariant of `Mapping` this range is ours, and nobody can use it after the drop.
        let result = unsafe { libc::munmap(self.base.as_ptr().cast(), self.size_bytes) };
        debug_assert_eq!(result, 0, "munmap of our own mapping");
    }
}
