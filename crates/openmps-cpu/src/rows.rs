//! Which code threadgroups of a launch want, by how their SIMD-groups lie in rows.

use openmps_engine::{Grid, SimdgroupRows};

use crate::abi::{SIMD_WIDTH, WholeSimdgroups};

/// Threads of rows that code of short rows is made for.
const SHORT: [u8; 5] = [1, 2, 4, 8, 16];
/// How many times more calls SIMD-groups of one row take than those of any, from which the others are worth code of their own.
const CALLS_RATIO: u32 = 3;

/// What the threadgroups of a launch want.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    /// The code that there is: of whole rows, or of one row.
    first: SimdgroupRows,
    needs: WholeSimdgroups,
    grid: Grid,
    /// The code for threadgroups that are not at an upper edge, or for the only one.
    pub(crate) most: SimdgroupRows,
    /// The code for the others that `most` does not suit, if there are such.
    pub(crate) edge: Option<SimdgroupRows>,
}

impl Plan {
    /// The plan for a kernel whose `first` code is for whole rows or for one row, and whose code of rows `needs` so much.
    pub(crate) fn new(first: SimdgroupRows, needs: WholeSimdgroups, grid: &Grid) -> Self {
        let groups = grid.groups();
        let sizes = [0, 1, 2].map(|axis| {
            let last = last_size(grid.threads[axis], grid.group[axis]);
            if groups[axis] > 1 { [grid.group[axis], last] } else { [last, last] }
        });
        let mut plan = Self { first, needs, grid: *grid, most: first, edge: None };
        plan.most = plan.wanted([0, 1, 2].map(|axis| sizes[axis][0]));
        // Those at an upper edge that the code does not suit.
        let others = || {
            let corners = (1..8).map(|corner| [0, 1, 2].map(|axis| sizes[axis][corner >> axis & 1]));
            corners.filter(|&size| !plan.suits(size))
        };
        let edge = match others().next() {
            None => None,
            Some(_) if others().all(|size| plan.is_code_of(SimdgroupRows::One, size)) => Some(SimdgroupRows::One),
            Some(_) => Some(SimdgroupRows::Any),
        };
        plan.edge = edge;
        plan
    }

    /// Whether the code [`most`](Self::most) runs a threadgroup of this size.
    pub(crate) fn suits(&self, size: [u32; 3]) -> bool {
        self.is_code_of(self.most, size)
    }

    /// Whether the code of `rows` runs a threadgroup of this size.
    fn is_code_of(&self, rows: SimdgroupRows, size: [u32; 3]) -> bool {
        match rows {
            SimdgroupRows::Whole => is_whole(size[0]) && self.is_code_of(SimdgroupRows::One, size),
            SimdgroupRows::One => self.needs == WholeSimdgroups::Never || self.is_one_row(size),
            SimdgroupRows::Short(_) => self.is_short(size),
            SimdgroupRows::Any => true,
        }
    }

    /// Whether each SIMD-group is a part of one row, and starts where the kernel takes it to start.
    fn is_one_row(&self, [x, y, z]: [u32; 3]) -> bool {
        (y * z <= 1 || is_whole(x)) && (self.needs != WholeSimdgroups::InGrid || starts_whole(&self.grid))
    }

    /// Whether rows are as long as the launch says, and a SIMD-group lies in one plane.
    fn is_short(&self, [x, y, z]: [u32; 3]) -> bool {
        x == self.grid.group[0] && (z == 1 || is_whole(x * y))
    }

    fn wanted(&self, size @ [x, y, z]: [u32; 3]) -> SimdgroupRows {
        if self.is_one_row(size) {
            return if is_whole(x) { self.first } else { SimdgroupRows::One };
        }
        if let Some(&threads) = SHORT.iter().find(|&&threads| u32::from(threads) == x)
            && y * z > 1
            && self.is_short(size)
        {
            return SimdgroupRows::Short(threads);
        }
        let simd_width = u32::try_from(SIMD_WIDTH).expect("32");
        let (by_rows, by_index) = (x.div_ceil(simd_width) * y * z, (x * y * z).div_ceil(simd_width));
        match self.needs {
            WholeSimdgroups::Never if by_rows < CALLS_RATIO * by_index => SimdgroupRows::One,
            WholeSimdgroups::Never | WholeSimdgroups::InThreadgroup | WholeSimdgroups::InGrid => SimdgroupRows::Any,
        }
    }
}

/// Whether so many threads are whole SIMD-groups.
fn is_whole(threads: u32) -> bool {
    u64::from(threads).is_multiple_of(SIMD_WIDTH as u64)
}

/// Threads of the last threadgroup along an axis.
fn last_size(threads: u32, group: u32) -> u32 {
    match threads % group {
        0 => group.min(threads),
        rest => rest,
    }
}

/// Whether the first thread of each row of a threadgroup is at a multiple of 32 in the grid.
fn starts_whole(grid: &Grid) -> bool {
    is_whole(grid.group[0]) || grid.groups()[0] == 1
}

#[cfg(test)]
mod tests {
    use openmps_engine::SimdgroupRows::{Any, One, Short, Whole};

    use super::*;

    const ALL: [WholeSimdgroups; 3] = [WholeSimdgroups::Never, WholeSimdgroups::InThreadgroup, WholeSimdgroups::InGrid];

    fn plan(needs: WholeSimdgroups, threads: [u32; 3], group: [u32; 3]) -> (SimdgroupRows, Option<SimdgroupRows>) {
        plan_of(One, needs, threads, group)
    }

    fn plan_of(
        first: SimdgroupRows,
        needs: WholeSimdgroups,
        threads: [u32; 3],
        group: [u32; 3],
    ) -> (SimdgroupRows, Option<SimdgroupRows>) {
        let plan = Plan::new(first, needs, &Grid { threads, group });
        (plan.most, plan.edge)
    }

    #[test]
    fn code_of_whole_rows_runs_no_others() {
        for needs in ALL {
            assert_eq!(plan_of(Whole, needs, [128, 8, 2], [64, 2, 2]), (Whole, None));
            assert_eq!(plan_of(Whole, needs, [96, 8, 1], [64, 2, 1]), (Whole, None));
            assert_eq!(plan_of(Whole, needs, [207, 1, 1], [64, 1, 1]), (Whole, Some(One)));
            assert_eq!(plan_of(Whole, needs, [48, 2, 1], [48, 1, 1]), (One, None));
            assert_eq!(plan_of(Whole, needs, [64, 64, 1], [16, 3, 1]), (Short(16), None));
        }
        let [never, in_threadgroup, in_grid] = ALL;
        assert_eq!(plan_of(Whole, never, [207, 4, 1], [64, 2, 1]), (Whole, Some(One)));
        assert_eq!(plan_of(Whole, in_threadgroup, [207, 4, 1], [64, 2, 1]), (Whole, Some(Any)));
        assert_eq!(plan_of(Whole, in_grid, [96, 1, 1], [48, 1, 1]), (Any, None), "the second starts at 48");
        let plan = Plan::new(Whole, never, &Grid { threads: [207, 1, 1], group: [64, 1, 1] });
        assert!(plan.suits([64, 1, 1]) && !plan.suits([15, 1, 1]));
    }

    #[test]
    fn whole_and_single_rows_are_run_as_rows() {
        for needs in ALL {
            assert_eq!(plan(needs, [128, 8, 2], [64, 2, 2]), (One, None));
            assert_eq!(
                plan(needs, [96, 8, 1], [64, 2, 1]),
                (One, None),
                "the last threadgroup of a row has 32 columns"
            );
            assert_eq!(plan(needs, [207, 1, 1], [64, 4, 1]), (One, None), "there is one row");
            assert_eq!(plan(needs, [48, 2, 1], [48, 1, 1]), (One, None), "each row of the grid has one threadgroup");
        }
    }

    #[test]
    fn short_rows_are_run_together() {
        for needs in ALL {
            for width in [1, 2, 4, 8, 16] {
                let short = Short(u8::try_from(width).unwrap());
                assert_eq!(plan(needs, [width * 3, 64, 1], [width, 64, 1]), (short, None));
                assert_eq!(plan(needs, [width, 64, 4], [width, 32, 2]), (short, None));
            }
            assert_eq!(plan(needs, [64, 64, 1], [16, 3, 1]), (Short(16), None), "the last SIMD-group has 16 lanes");
            assert_eq!(plan(needs, [16, 16, 16], [4, 4, 4]), (Any, None), "two planes are one SIMD-group");
        }
    }

    #[test]
    fn edges_get_code_of_their_own() {
        let [never, in_threadgroup, in_grid] = ALL;
        assert_eq!(plan(never, [100, 100, 1], [16, 16, 1]), (Short(16), Some(One)));
        assert_eq!(plan(in_grid, [100, 100, 1], [16, 16, 1]), (Short(16), Some(Any)));
        assert_eq!(plan(never, [207, 4, 1], [64, 2, 1]), (One, None));
        assert_eq!(plan(in_threadgroup, [207, 4, 1], [64, 2, 1]), (One, Some(Any)));
        assert_eq!(plan(in_threadgroup, [18, 4, 1], [32, 4, 1]), (Any, None), "the only threadgroup of a row has 18");
        let plan = Plan::new(One, never, &Grid { threads: [100, 100, 1], group: [16, 16, 1] });
        assert!(plan.suits([16, 4, 1]) && !plan.suits([4, 16, 1]));
    }

    #[test]
    fn rows_that_start_anywhere_are_found_by_index() {
        let [never, in_threadgroup, in_grid] = ALL;
        assert_eq!(plan(in_grid, [96, 1, 1], [48, 1, 1]), (Any, None), "the second starts at 48");
        assert_eq!(plan(in_threadgroup, [96, 1, 1], [48, 1, 1]), (One, None));
        assert_eq!(plan(never, [99, 6, 1], [33, 2, 1]), (One, None));
        assert_eq!(plan(never, [100, 12, 1], [5, 12, 1]), (Any, None), "two SIMD-groups instead of twelve rows");
    }
}
