//! Allocator blocks that a command holds until it has run.

use std::fmt;
use std::ptr;

use crate::memory::existing_allocator;

/// Blocks in use by a queued command: they are not given to anyone else until the value is dropped, which the stream does
/// when the command has run.
#[derive(Default)]
pub struct Retained {
    addresses: Vec<usize>,
}

impl Retained {
    /// Holds the allocator's blocks that start at these addresses; other addresses are left alone.
    #[must_use]
    pub fn blocks(addresses: &[*const u8]) -> Self {
        let Some(allocator) = existing_allocator() else { return Self::default() };
        let held = addresses.iter().filter(|&&address| allocator.retain(address));
        Self { addresses: held.map(|address| address.expose_provenance()).collect() }
    }
}

impl Drop for Retained {
    fn drop(&mut self) {
        if let Some(allocator) = existing_allocator() {
            for address in self.addresses.drain(..) {
                allocator.release(ptr::with_exposed_provenance(address));
            }
        }
    }
}

impl fmt::Debug for Retained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Retained").field("blocks", &self.addresses.len()).finish()
    }
}
