//! Which thread of an execution scope holds which element of a cooperative tensor.
//!
//! MSL leaves the layout to the implementation, and kernels ask for coordinates; but PyTorch's prefill attention does not ask: it
//! fills the fragments of a 16x32x16 product where Apple's GPUs have them, which differs between two families of GPUs. So the
//! two layouts are the hardware's wherever a SIMD-group holds whole fragments, and which of the two is told by the kernel's
//! name ([`Fragments`]). Elsewhere each thread holds one run of the elements in row-major order. The layout does not depend on the
//! element type: kernels copy from one type to another index by index.

use crate::lanes::matrix_position;

/// Threads that hold fragments together.
const FRAGMENT_THREADS: u32 = 32;
/// Most elements that a thread can hold: an element's index has 16 bits, and 0xffff means the first.
pub(crate) const ELEMENTS_PER_THREAD_MAX: u32 = 0xfffe;
/// Most elements of a cooperative tensor; the largest that libraries declare has 64 Ki.
const ELEMENTS_MAX: u64 = 1 << 22;

/// Where a GPU family has the elements of fragments; the discriminants are part of the ABI of generated code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fragments {
    /// 16x16 fragments, 8 elements a lane (Apple 10).
    Apple10 = 0,
    /// 8x8 blocks in the layout of `simdgroup_matrix`, 2 elements a lane (Apple 9). The right operand is K x N also when it is
    /// transposed.
    Apple9 = 1,
}

impl Fragments {
    /// The layout that kernel `name` was written for. PyTorch compiles its attention kernels for both families and names them so.
    #[cfg(feature = "codegen")]
    pub(crate) fn of_kernel(name: &str) -> Self {
        if name.contains("_mpp_a9_") { Self::Apple9 } else { Self::Apple10 }
    }

    /// Rows and columns of a fragment.
    fn side(self) -> u32 {
        match self {
            Self::Apple10 => 16,
            Self::Apple9 => 8,
        }
    }
}

/// A matrix spread over threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    rows: u32,
    columns: u32,
    threads: u32,
    /// `None`: runs in row-major order.
    fragments: Option<Fragments>,
    per_thread: u32,
}

impl Layout {
    /// The layout of `rows` x `columns` elements over `threads`; `None` where there are no elements or too many.
    pub(crate) fn new(fragments: Fragments, rows: i32, columns: i32, threads: u32) -> Option<Self> {
        let (rows, columns) = (u32::try_from(rows).ok()?, u32::try_from(columns).ok()?);
        let count = u64::from(rows) * u64::from(columns);
        if count == 0 || count > ELEMENTS_MAX || threads == 0 {
            return None;
        }
        let per_thread = u32::try_from(count.div_ceil(u64::from(threads))).ok()?;
        if per_thread > ELEMENTS_PER_THREAD_MAX {
            return None;
        }
        let is_whole = |size: u32| size.is_multiple_of(fragments.side());
        let has_fragments = threads == FRAGMENT_THREADS && is_whole(rows) && is_whole(columns);
        Some(Self { rows, columns, threads, fragments: has_fragments.then_some(fragments), per_thread })
    }

    /// The layout without fragments.
    pub(crate) fn in_runs(rows: i32, columns: i32, threads: u32) -> Option<Self> {
        Self::new(Fragments::Apple10, rows, columns, threads).map(|layout| Self { fragments: None, ..layout })
    }

    /// Elements of each thread's part, valid or not.
    pub(crate) fn per_thread(&self) -> u32 {
        self.per_thread
    }

    /// Elements of the matrix.
    pub(crate) fn element_count(&self) -> u32 {
        self.rows * self.columns
    }

    /// Columns of the matrix.
    pub(crate) fn columns(&self) -> u32 {
        self.columns
    }

    /// The row-major numbers of the elements that thread `rank` holds, when they are one run.
    pub(crate) fn run(&self, rank: u32) -> Option<std::ops::Range<u32>> {
        let start = rank.checked_mul(self.per_thread)?.min(self.element_count());
        let end = start.saturating_add(self.per_thread).min(self.element_count());
        self.fragments.is_none().then_some(start..end)
    }

    /// The rows that have elements of the threads `ranks`, which are all threads where they hold fragments.
    pub(crate) fn rows_of(&self, ranks: std::ops::Range<u32>) -> std::ops::Range<u32> {
        let Some((first, last)) = self.run(ranks.start).zip(self.run(ranks.end.saturating_sub(1))) else {
            return 0..self.rows;
        };
        first.start / self.columns..last.end.div_ceil(self.columns)
    }

    /// Row and column of element `index` of thread `rank`; `None` where the thread has no such element.
    pub(crate) fn position(&self, rank: u32, index: u32) -> Option<(u32, u32)> {
        if rank >= self.threads || index >= self.per_thread {
            return None;
        }
        let Some(fragments) = self.fragments else {
            let number = rank * self.per_thread + index;
            return (number < self.element_count()).then(|| (number / self.columns, number % self.columns));
        };
        let side = fragments.side();
        let (fragment, row, column) = match fragments {
            Fragments::Apple10 => {
                let (quad, within) = (rank / 4, index % 8);
                let row = ((quad & 4) | ((rank / 2) & 3)) + 8 * (within / 4);
                (index / 8, row, ((quad & 2) | (rank & 1)) * 4 + within % 4)
            }
            Fragments::Apple9 => {
                let (row, column) = matrix_position(rank as usize);
                let small = |place: usize| u32::try_from(place).expect("below 8");
                (index / 2, small(row), small(column) + index % 2)
            }
        };
        let across = self.columns / side;
        Some((fragment / across * side + row, fragment % across * side + column))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_element_has_one_place() {
        for fragments in [Fragments::Apple9, Fragments::Apple10] {
            let shapes = [(16, 32, 32), (16, 16, 32), (32, 16, 32), (64, 64, 128), (5, 7, 32), (1, 1, 64), (3, 200, 1)];
            for (rows, columns, threads) in shapes {
                let layout = Layout::new(fragments, rows, columns, threads).unwrap();
                let mut seen = BTreeSet::new();
                for rank in 0..threads {
                    for index in 0..layout.per_thread() {
                        let position = layout.position(rank, index);
                        assert!(position.is_none_or(|place| seen.insert(place)), "{position:?} twice");
                        if let (Some(run), Some((row, column))) = (layout.run(rank), position) {
                            assert_eq!(run.start + index, row * layout.columns() + column);
                        }
                    }
                    assert_eq!(layout.position(rank, layout.per_thread()), None);
                }
                let all: BTreeSet<(u32, u32)> = (0..rows.unsigned_abs())
                    .flat_map(|row| (0..columns.unsigned_abs()).map(move |column| (row, column)))
                    .collect();
                assert_eq!(seen, all, "{fragments:?} {rows} {columns} {threads}");
                assert_eq!(layout.position(threads, 0), None);
            }
        }
    }

    #[test]
    fn fragments_lie_as_prefill_attention_fills_them() {
        let layout = Layout::new(Fragments::Apple10, 16, 32, 32).unwrap();
        assert_eq!(layout.per_thread(), 16);
        assert_eq!([0, 3, 4, 8].map(|index| layout.position(0, index).unwrap()), [(0, 0), (0, 3), (8, 0), (0, 16)]);
        assert_eq!(
            [1, 2, 8, 16, 31].map(|lane| layout.position(lane, 0).unwrap()),
            [(0, 4), (1, 0), (0, 8), (4, 0), (7, 12)]
        );
        let layout = Layout::new(Fragments::Apple9, 16, 32, 32).unwrap();
        assert_eq!([0, 1, 2, 8].map(|index| layout.position(0, index).unwrap()), [(0, 0), (0, 1), (0, 8), (8, 0)]);
        assert_eq!(
            [1, 2, 8, 16, 31].map(|lane| layout.position(lane, 0).unwrap()),
            [(0, 2), (1, 0), (0, 4), (4, 0), (7, 6)]
        );
    }

    #[test]
    fn parts_of_a_scope_hold_rows() {
        // Seven elements a thread, 32 of them 224.
        let layout = Layout::in_runs(100, 6, 96).unwrap();
        assert_eq!(layout.per_thread(), 7);
        let rows = |first: u32| layout.rows_of(first..first + 32);
        assert_eq!([rows(0), rows(32), rows(64)], [0..38, 37..75, 74..100]);
        assert_eq!(layout.rows_of(0..96), 0..100);
        // The last SIMD-group has nothing.
        let layout = Layout::in_runs(1, 8, 96).unwrap();
        assert!(layout.rows_of(64..96).is_empty());
        assert_eq!(Layout::new(Fragments::Apple9, 16, 16, 32).unwrap().rows_of(0..32), 0..16);
    }

    #[test]
    fn absurd_sizes_have_no_layout() {
        for (rows, columns, threads) in [
            (0, 4, 32),
            (-1, 4, 32),
            (4, -1, 32),
            (i32::MAX, i32::MAX, 32),
            (1 << 20, 1 << 20, 1024),
            (1024, 1024, 1),
            (4, 4, 0),
        ] {
            assert_eq!(Layout::new(Fragments::Apple10, rows, columns, threads), None, "{rows} {columns} {threads}");
        }
    }
}
