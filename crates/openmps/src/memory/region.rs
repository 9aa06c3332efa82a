//! The arena: one range of address space in which all heaps lie, and the table that finds a block from its address.
//!
//! The arena is reserved without memory behind it. A heap gets memory by [`Arena::commit`] and gives it back by
//! [`Arena::decommit`]. Beside it lies a table of one word per 256 bytes of arena; the word at a block's first address names
//! the block. Looking up is two loads without a lock, for any address whatever: the table is readable everywhere, and zero
//! where no block starts. A second table of the same form has a word for the block's holder. Untouched parts cost nothing but
//! address space.
//!
//! Left out: which parts are used (`space.rs`) and what the words mean (`slab.rs`).

use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::limits::{ARENA_SLOT_BYTES, HUGE_PAGE_HEAP_BYTES_MIN, SMALL_ALIGNMENT_BYTES};

/// Bytes of table that belong to one slot of the arena: whole pages, so that slots are committed independently.
const TABLE_BYTES_PER_UNIT: u64 = 4;
/// The same of the holders' words.
const SLOT_BYTES_PER_UNIT: u64 = 8;

/// A reserved range of address space with its tables. All mappings are valid from construction to drop.
pub(super) struct Arena {
    mapping: Mapping,
    table: Mapping,
    slots: Mapping,
    /// First address; a multiple of the slot size.
    base: u64,
    bytes: u64,
}

/// An owned mapping.
struct Mapping {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: a mapping is a range of addresses; every access to its contents is atomic (the tables) or the business of the
// holder of a block, who alone gets its address.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    fn new(bytes: u64, protection: i32) -> io::Result<Mapping> {
        let bytes = usize::try_from(bytes).map_err(|_| io::Error::from_raw_os_error(libc::ENOMEM))?;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: an anonymous mapping at an address of the kernel's choice touches no existing memory.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or_else(|| io::Error::from_raw_os_error(libc::ENOMEM))?;
        Ok(Mapping { start, bytes })
    }

    /// The address of `offset` and `bytes` as the system calls take them; panics outside the mapping.
    fn range(&self, offset: u64, bytes: u64) -> (*mut libc::c_void, usize) {
        let offset = usize::try_from(offset).expect("offsets inside a mapping fit an address");
        let bytes = usize::try_from(bytes).expect("lengths inside a mapping fit an address");
        assert!(
            offset.checked_add(bytes).is_some_and(|end| end <= self.bytes),
            "{bytes} bytes at {offset} are not inside the {} of the mapping",
            self.bytes
        );
        (self.start.as_ptr().wrapping_add(offset).cast(), bytes)
    }

    fn protect(&self, offset: u64, bytes: u64) -> io::Result<()> {
        let (start, bytes) = self.range(offset, bytes);
        // SAFETY: the range was checked to lie inside this mapping; making it writable invalidates nothing.
        let status = unsafe { libc::mprotect(start, bytes, libc::PROT_READ | libc::PROT_WRITE) };
        if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Advice is best effort: a kernel that does not know it changes nothing.
    fn advise(&self, offset: u64, bytes: u64, advice: i32) {
        let (start, bytes) = self.range(offset, bytes);
        // SAFETY: the range was checked to lie inside this mapping. The two advices used here are huge pages, which keep the
        // contents, and dropping, which callers ask for only where nothing is live.
        unsafe { libc::madvise(start, bytes, advice) };
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: this value owns the mapping, and references into it borrow the arena.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

impl Arena {
    /// Reserves `bytes_max` of address space, or half as much and so on, but at least `bytes_min`.
    pub(super) fn reserve(bytes_max: u64, bytes_min: u64) -> io::Result<Arena> {
        let mut bytes = bytes_max.next_multiple_of(ARENA_SLOT_BYTES);
        loop {
            match Arena::reserve_exactly(bytes) {
                Ok(arena) => return Ok(arena),
                Err(error) if bytes / 2 < bytes_min => return Err(error),
                Err(_) => bytes = (bytes / 2).next_multiple_of(ARENA_SLOT_BYTES),
            }
        }
    }

    fn reserve_exactly(bytes: u64) -> io::Result<Arena> {
        // One slot more, so that the base can be aligned inside.
        let mapping = Mapping::new(bytes + ARENA_SLOT_BYTES, libc::PROT_NONE)?;
        // Readable but not writable: such pages are never charged to the process.
        let units = bytes / SMALL_ALIGNMENT_BYTES;
        let table = Mapping::new(units * TABLE_BYTES_PER_UNIT, libc::PROT_READ)?;
        let slots = Mapping::new(units * SLOT_BYTES_PER_UNIT, libc::PROT_READ)?;
        let base = address_of(mapping.start.as_ptr()).next_multiple_of(ARENA_SLOT_BYTES);
        // Blocks are handed out by address.
        mapping.start.as_ptr().expose_provenance();
        Ok(Arena { mapping, table, slots, base, bytes })
    }

    pub(super) fn base(&self) -> u64 {
        self.base
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn contains(&self, address: u64) -> bool {
        address.wrapping_sub(self.base) < self.bytes
    }

    /// Puts fresh zero pages behind a heap: `address` and `bytes` in whole slots.
    pub(super) fn commit(&self, address: u64, bytes: u64) -> io::Result<()> {
        let offset = address - address_of(self.mapping.start.as_ptr());
        self.mapping.protect(offset, bytes)?;
        if bytes >= HUGE_PAGE_HEAP_BYTES_MIN {
            self.mapping.advise(offset, bytes, libc::MADV_HUGEPAGE);
        }
        let (unit, units) = self.units(address, bytes);
        self.table.protect(unit * TABLE_BYTES_PER_UNIT, units * TABLE_BYTES_PER_UNIT)?;
        self.slots.protect(unit * SLOT_BYTES_PER_UNIT, units * SLOT_BYTES_PER_UNIT)
    }

    /// Gives the pages of a heap back; the range must hold no live block.
    pub(super) fn decommit(&self, address: u64, bytes: u64) {
        let (start, length) = self.mapping.range(address - address_of(self.mapping.start.as_ptr()), bytes);
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED;
        // SAFETY: the range was checked to lie inside the mapping that this arena owns, and the caller says that no block in
        // it is live; replacing it drops its pages and makes later use a fault instead of a silent write.
        let status = unsafe { libc::mmap(start, length, libc::PROT_NONE, flags, -1, 0) };
        if status == libc::MAP_FAILED {
            // Too many mappings in the process: keep the range writable and drop the pages only.
            self.mapping.advise(address - address_of(self.mapping.start.as_ptr()), bytes, libc::MADV_DONTNEED);
        }
        // The tables stay mapped while their pages go: a reader on another thread sees old words or zeros.
        let (unit, units) = self.units(address, bytes);
        self.table.advise(unit * TABLE_BYTES_PER_UNIT, units * TABLE_BYTES_PER_UNIT, libc::MADV_DONTNEED);
        self.slots.advise(unit * SLOT_BYTES_PER_UNIT, units * SLOT_BYTES_PER_UNIT, libc::MADV_DONTNEED);
    }

    /// The first unit of a range of the arena and their number.
    fn units(&self, address: u64, bytes: u64) -> (u64, u64) {
        ((address - self.base) / SMALL_ALIGNMENT_BYTES, bytes / SMALL_ALIGNMENT_BYTES)
    }

    fn word(&self, address: u64) -> Option<&AtomicU32> {
        let offset = address.wrapping_sub(self.base);
        if offset >= self.bytes || !offset.is_multiple_of(SMALL_ALIGNMENT_BYTES) {
            return None;
        }
        let unit = usize::try_from(offset / SMALL_ALIGNMENT_BYTES).ok()?;
        let words: *const AtomicU32 = self.table.start.as_ptr().cast();
        // SAFETY: the table has one word a unit of the arena, page aligned, mapped readable until drop, zero when fresh; all
        // access to it is atomic. Words are written only by `set_block` inside committed heaps, where it is writable.
        Some(unsafe { &*words.wrapping_add(unit) })
    }

    /// The word of the block that starts at `address`; 0 if none does.
    #[inline]
    pub(super) fn block_at(&self, address: u64) -> u32 {
        self.word(address).map_or(0, |word| word.load(Ordering::Acquire))
    }

    /// Names the block that starts at `address`, which must lie in a committed heap (elsewhere this faults).
    pub(super) fn set_block(&self, address: u64, word: u32) {
        self.word(address).expect("blocks start inside the arena, on a unit").store(word, Ordering::Release);
    }

    /// The holders' words, one a unit of the arena.
    pub(super) fn slots(&self) -> &[AtomicU64] {
        let words: *const AtomicU64 = self.slots.start.as_ptr().cast();
        // SAFETY: the mapping is that long, page aligned, readable until drop and zero when fresh; all access to it is atomic.
        unsafe { std::slice::from_raw_parts(words, self.slots.bytes / size_of::<AtomicU64>()) }
    }

    /// Writes the holder's word of the block that starts at `address`, which must lie in a committed heap (elsewhere this
    /// faults).
    pub(super) fn set_slot(&self, address: u64, word: u64) {
        let unit = usize::try_from(self.units(address, 0).0).expect("a unit of the arena has an address");
        self.slots()[unit].store(word, Ordering::Release);
    }

    /// Overwrites `bytes` from `address`.
    ///
    /// # Safety
    /// - The range lies in a committed heap.
    /// - Nobody else reads or writes it meanwhile.
    pub(super) unsafe fn fill(&self, address: u64, bytes: u64, pattern: u8) {
        let (start, bytes) = self.mapping.range(address - address_of(self.mapping.start.as_ptr()), bytes);
        // SAFETY: writable and unshared by the contract of this function.
        unsafe { start.cast::<u8>().write_bytes(pattern, bytes) };
    }
}

/// The address of a pointer as the allocator's arithmetic takes it.
#[inline]
pub(super) fn address_of(pointer: *const u8) -> u64 {
    pointer.addr() as u64
}

/// The pointer to an address in an arena, whose provenance is exposed.
#[inline]
pub(super) fn pointer_to(address: u64) -> NonNull<u8> {
    let address = usize::try_from(address).expect("addresses of the arena are addresses of this machine");
    NonNull::new(std::ptr::with_exposed_provenance_mut(address)).expect("the arena does not start at zero")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::MIB;

    #[test]
    fn addresses_outside_and_between_units_have_no_block() {
        let arena = Arena::reserve(64 * MIB, 64 * MIB).expect("64 MiB of address space");
        assert!(arena.base().is_multiple_of(ARENA_SLOT_BYTES));
        for address in [0, arena.base() - 1, arena.base() + arena.bytes(), u64::MAX, arena.base() + 1] {
            assert_eq!(arena.block_at(address), 0);
        }
        assert!(!arena.contains(arena.base() - 1) && arena.contains(arena.base()));
        assert!(!arena.contains(arena.base() + arena.bytes()));
        assert_eq!(arena.block_at(arena.base() + 63 * MIB), 0);
    }

    #[test]
    fn committed_memory_is_zero_again_after_a_round() {
        let arena = Arena::reserve(64 * MIB, 64 * MIB).expect("64 MiB of address space");
        let heap = arena.base() + 8 * MIB;
        for _ in 0..2 {
            arena.commit(heap, 4 * MIB).expect("4 MiB of memory");
            let pointer = pointer_to(heap + 4 * MIB - 1).as_ptr();
            // SAFETY: the last byte of the heap committed above.
            assert_eq!(unsafe { pointer.read() }, 0);
            // SAFETY: the heap committed above, known to this test alone.
            unsafe { arena.fill(heap, 4 * MIB, 7) };
            // SAFETY: the last byte of the heap committed above.
            assert_eq!(unsafe { pointer.read() }, 7);
            assert_eq!(arena.block_at(heap + 256), 0);
            arena.set_block(heap + 256, 9);
            assert_eq!(arena.block_at(heap + 256), 9);
            arena.decommit(heap, 4 * MIB);
            assert_eq!(arena.block_at(heap + 256), 0);
        }
    }

    #[test]
    fn reserving_falls_back_to_less() {
        let arena = Arena::reserve(1 << 55, MIB).expect("some smaller part fits");
        assert!(arena.bytes() < 1 << 55);
        assert!(Arena::reserve(1 << 55, 1 << 54).is_err());
    }
}
