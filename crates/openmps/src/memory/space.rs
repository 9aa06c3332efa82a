//! Which parts of the arena are free: extents of whole slots, handed out lowest address first.

use std::collections::BTreeMap;

/// The free extents: first address to length, none empty, none touching the next.
pub(super) struct Space {
    free: BTreeMap<u64, u64>,
}

impl Space {
    pub(super) fn new(base: u64, bytes: u64) -> Space {
        Space { free: BTreeMap::from([(base, bytes)]) }
    }

    /// Takes `bytes` from the lowest extent that is long enough.
    pub(super) fn take(&mut self, bytes: u64) -> Option<u64> {
        let (start, length) =
            self.free.iter().find(|extent| *extent.1 >= bytes).map(|(start, length)| (*start, *length))?;
        self.free.remove(&start);
        if length > bytes {
            self.free.insert(start + bytes, length - bytes);
        }
        Some(start)
    }

    /// Gives back what [`Space::take`] gave.
    pub(super) fn give(&mut self, start: u64, bytes: u64) {
        let (mut start, mut bytes) = (start, bytes);
        if let Some(length) = self.free.remove(&(start + bytes)) {
            bytes += length;
        }
        if let Some((before, length)) = self.free.range(..start).next_back().map(|(before, length)| (*before, *length))
            && before + length == start
        {
            start = before;
            bytes += length;
        }
        self.free.insert(start, bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lowest_fit_and_joining_on_both_sides() {
        let mut space = Space::new(100, 50);
        assert_eq!(space.take(20), Some(100));
        assert_eq!(space.take(10), Some(120));
        assert_eq!(space.take(30), None);
        assert_eq!(space.take(20), Some(130));
        space.give(100, 20);
        space.give(130, 20);
        assert_eq!(space.take(25), None);
        space.give(120, 10);
        assert_eq!(space.take(50), Some(100));
        assert_eq!(space.take(1), None);
    }
}
