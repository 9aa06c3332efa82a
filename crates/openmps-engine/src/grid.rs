//! The shape of a dispatch.

use serde::{Deserialize, Serialize};

/// Threads in the whole grid and in one threadgroup (`dispatchThreads:threadsPerThreadgroup:`).
///
/// Exactly `threads` threads run: threadgroups at the upper edges are smaller where a size does not divide.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grid {
    /// Threads along x, y, z.
    pub threads: [u32; 3],
    /// Threads of one threadgroup along x, y, z; each at least 1.
    pub group: [u32; 3],
}

impl Grid {
    /// Threadgroups along x, y, z.
    #[must_use]
    pub fn groups(&self) -> [u32; 3] {
        std::array::from_fn(|axis| self.threads[axis].div_ceil(self.group[axis]))
    }

    /// Threadgroups in the whole grid.
    #[must_use]
    pub fn group_count(&self) -> u64 {
        self.groups().into_iter().map(u64::from).product()
    }

    /// Threads of a full threadgroup.
    #[must_use]
    pub fn threads_per_group(&self) -> u64 {
        self.group.into_iter().map(u64::from).product()
    }

    /// Whether no thread runs.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.threads.contains(&0)
    }

    /// The size of the threadgroup at `position`, smaller at the upper edges.
    #[must_use]
    #[inline]
    pub fn group_size_at(&self, position: [u32; 3]) -> [u32; 3] {
        std::array::from_fn(|axis| {
            let first = u64::from(position[axis]) * u64::from(self.group[axis]);
            let left = u64::from(self.threads[axis]).saturating_sub(first);
            u32::try_from(left).unwrap_or(u32::MAX).min(self.group[axis])
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_are_smaller() {
        let grid = Grid { threads: [100, 3, 1], group: [32, 2, 1] };
        assert_eq!(grid.groups(), [4, 2, 1]);
        assert_eq!(grid.group_count(), 8);
        assert_eq!(grid.group_size_at([3, 1, 0]), [4, 1, 1]);
        assert_eq!(grid.group_size_at([0, 0, 0]), [32, 2, 1]);
        assert!(!grid.is_empty());
    }

    #[test]
    fn the_largest_grid_does_not_overflow() {
        let grid = Grid { threads: [u32::MAX; 3], group: [1024, 1, 1] };
        assert_eq!(grid.group_size_at([4_194_303, 0, 0]), [1023, 1, 1]);
    }
}
