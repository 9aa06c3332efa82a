//! Copies of device memory for captures: the one place of this room that reads through addresses.

use std::ptr;

use openmps_engine::TextureView;

/// A range of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Range {
    pub(super) start: u64,
    pub(super) size_bytes: u64,
}

impl Range {
    /// The range of `size_bytes` from `start`, as far as addresses go.
    pub(super) fn new(start: u64, size_bytes: u64) -> Self {
        Self { start, size_bytes: size_bytes.min(u64::MAX - start) }
    }

    pub(super) fn end(self) -> u64 {
        self.start + self.size_bytes
    }

    pub(super) fn contains(self, other: Self) -> bool {
        self.start <= other.start && other.end() <= self.end()
    }

    /// Copies the bytes from `offset` on into `bytes`.
    ///
    /// # Safety
    /// The range is memory that can be read, at least up to `offset + bytes.len()`.
    pub(super) unsafe fn read(self, offset: usize, bytes: &mut [u8]) {
        let start = usize::try_from(self.start).expect("device addresses are addresses of this machine");
        let source = ptr::with_exposed_provenance::<u8>(start).wrapping_add(offset);
        // SAFETY: readable by the contract of this function; `bytes` is the caller's own and apart from device memory.
        unsafe { ptr::copy_nonoverlapping(source, bytes.as_mut_ptr(), bytes.len()) };
    }
}

/// The bytes of a texture: to the end of its last level.
pub(super) fn texture_range(view: &TextureView) -> Range {
    let ends = view.levels.iter().zip(0u32..).map(|(level, number)| {
        let depth = u64::from((view.size[2] >> number).max(1));
        let images = depth * u64::from(view.array_length) * u64::from(view.texture_type.faces());
        level.offset_bytes + images * level.bytes_per_image
    });
    Range::new(view.address, ends.max().unwrap_or(0))
}

/// Sorts `ranges` and joins those that overlap.
pub(super) fn join(mut ranges: Vec<Range>) -> Vec<Range> {
    ranges.retain(|range| range.size_bytes != 0);
    ranges.sort_unstable();
    let mut joined: Vec<Range> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match joined.last_mut() {
            Some(last) if range.start < last.end() => last.size_bytes = last.end().max(range.end()) - last.start,
            _ => joined.push(range),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlapping_ranges_become_one() {
        let range = |start, end| Range::new(start, end - start);
        let ranges = vec![range(30, 40), range(0, 10), range(5, 7), range(9, 12), range(12, 13), range(20, 20)];
        assert_eq!(join(ranges), [range(0, 12), range(12, 13), range(30, 40)]);
        assert!(range(0, 12).contains(range(12, 12)) && !range(0, 12).contains(range(11, 13)));
        assert_eq!(Range::new(u64::MAX, 5).end(), u64::MAX);
    }
}
