//! The product of two matrices in memory, by blocks that fit into the caches.
//!
//! Blocks of both factors are converted into panels of a few rows and columns, zero where the factors end, and tiles of the
//! result are summed in registers over a block's depth. Products are added in order of depth, each with one rounding.

use super::element::Number;
use super::memory::{Line, View};

/// Rows of a tile: with [`TILE_COLUMNS`] as many sums as 16 vector registers hold beside the operands.
const TILE_ROWS: usize = 4;
/// Columns of a tile: two AVX registers of f32.
const TILE_COLUMNS: usize = 16;
/// Depth of a block: 256 rows of one panel of the right factor are 16 KiB.
const BLOCK_DEPTH: usize = 256;
/// Rows of a block of the left factor: 32 KiB.
const BLOCK_ROWS: usize = 32;
/// Columns of a block of the right factor: 128 KiB.
const BLOCK_COLUMNS: usize = 128;

/// The left factor, by rows: those of a matrix, or any lines of memory.
pub(crate) trait Rows {
    /// Row `row` from column `column` on, and how many elements follow; `None` where the row is all zero.
    fn row(&self, row: u32, column: u32) -> Option<(Line, u32)>;
}

impl Rows for View {
    fn row(&self, row: u32, column: u32) -> Option<(Line, u32)> {
        let rest = self.columns.saturating_sub(column);
        Self::row(self, row, column).map(|line| (line, rest))
    }
}

/// Numbers whose blocks are multiplied with the CPU's vector instructions.
pub(crate) trait Multiplied: Number {
    /// Adds the product of panels to `sums`, row-major with `columns` columns; see [`add_panels`].
    #[doc(hidden)]
    fn add(
        left: &[[Self; TILE_ROWS]],
        right: &[[Self; TILE_COLUMNS]],
        depth: usize,
        size: [usize; 2],
        sums: Sums<'_, Self>,
    );
}

macro_rules! multiplied {
    ($number:ty, $with_vectors:ident) => {
        /// [`add_panels`] compiled for AVX2 and fused multiply-add; the same result, faster.
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma")]
        fn $with_vectors(
            left: &[[$number; TILE_ROWS]],
            right: &[[$number; TILE_COLUMNS]],
            depth: usize,
            size: [usize; 2],
            sums: Sums<'_, $number>,
        ) {
            add_panels(left, right, depth, size, sums);
        }

        impl Multiplied for $number {
            fn add(
                left: &[[Self; TILE_ROWS]],
                right: &[[Self; TILE_COLUMNS]],
                depth: usize,
                size: [usize; 2],
                sums: Sums<'_, Self>,
            ) {
                #[cfg(target_arch = "x86_64")]
                if std::arch::is_x86_feature_detected!("fma") && std::arch::is_x86_feature_detected!("avx2") {
                    // SAFETY: the CPU has the features that the function is compiled for.
                    unsafe { $with_vectors(left, right, depth, size, sums) };
                    return;
                }
                add_panels(left, right, depth, size, sums);
            }
        }
    };
}

multiplied!(f32, add_panels_f32);
multiplied!(i32, add_panels_i32);

/// A block of a row-major matrix.
pub(crate) struct Sums<'a, T> {
    /// From the block's first number on.
    pub(crate) numbers: &'a mut [T],
    /// Columns of the whole matrix.
    pub(crate) columns: usize,
}

/// Adds left times right to `sums`, where `size` is rows and columns of the block, and both factors are in panels: for every
/// [`TILE_ROWS`] rows (or [`TILE_COLUMNS`] columns) `depth` groups of as many numbers.
#[inline(always)]
fn add_panels<T: Number>(
    left: &[[T; TILE_ROWS]],
    right: &[[T; TILE_COLUMNS]],
    depth: usize,
    size: [usize; 2],
    sums: Sums<'_, T>,
) {
    let [rows, columns] = size;
    for (first_column, right) in (0..columns).step_by(TILE_COLUMNS).zip(right.chunks_exact(depth)) {
        let width = TILE_COLUMNS.min(columns - first_column);
        for (first_row, left) in (0..rows).step_by(TILE_ROWS).zip(left.chunks_exact(depth)) {
            let height = TILE_ROWS.min(rows - first_row);
            let mut tile = [[T::default(); TILE_COLUMNS]; TILE_ROWS];
            let place = |row: usize| (first_row + row) * sums.columns + first_column;
            for (row, numbers) in tile.iter_mut().enumerate().take(height) {
                numbers[..width].copy_from_slice(&sums.numbers[place(row)..place(row) + width]);
            }
            add_tile(left, right, &mut tile);
            for (row, numbers) in tile.iter().enumerate().take(height) {
                sums.numbers[place(row)..place(row) + width].copy_from_slice(&numbers[..width]);
            }
        }
    }
}

#[inline(always)]
fn add_tile<T: Number>(
    left: &[[T; TILE_ROWS]],
    right: &[[T; TILE_COLUMNS]],
    tile: &mut [[T; TILE_COLUMNS]; TILE_ROWS],
) {
    let mut sums = *tile;
    for (factors, terms) in left.iter().zip(right) {
        for (sums, factor) in sums.iter_mut().zip(factors) {
            for (sum, term) in sums.iter_mut().zip(terms) {
                *sum = factor.multiply_add(*term, *sum);
            }
        }
    }
    *tile = sums;
}

/// Adds the product of the first `size[0]` rows of `left` and the first `size[1]` columns of `right`, to depth `size[2]`, to the
/// row-major matrix `sums` of `size[0]` rows and `size[1]` columns.
///
/// # Safety
/// The elements of both factors that exist are readable.
pub(crate) unsafe fn multiply<T: Multiplied>(left: &dyn Rows, right: &View, size: [u32; 3], sums: &mut [T]) {
    let [rows, columns, depth] = size.map(|size| usize::try_from(size).expect("32 bits"));
    assert_eq!(sums.len(), rows * columns, "one sum for each row and column");
    if rows == 0 || columns == 0 {
        return;
    }
    let (mut left_panels, mut right_panels) = (Vec::new(), Vec::new());
    for first_column in (0..columns).step_by(BLOCK_COLUMNS) {
        let width = BLOCK_COLUMNS.min(columns - first_column);
        for first_depth in (0..depth).step_by(BLOCK_DEPTH) {
            let block_depth = BLOCK_DEPTH.min(depth - first_depth);
            // SAFETY: by this function's contract.
            unsafe { pack_right(right, first_depth, first_column, [block_depth, width], &mut right_panels) };
            for first_row in (0..rows).step_by(BLOCK_ROWS) {
                let height = BLOCK_ROWS.min(rows - first_row);
                // SAFETY: by this function's contract.
                unsafe { pack_left(left, first_row, first_depth, [height, block_depth], &mut left_panels) };
                let numbers = &mut sums[first_row * columns + first_column..];
                T::add(&left_panels, &right_panels, block_depth, [height, width], Sums { numbers, columns });
            }
        }
    }
}

fn narrow(size: usize) -> u32 {
    u32::try_from(size).expect("positions in matrices have 32 bits")
}

/// Fills `panels` with `size[0]` rows and `size[1]` columns of `rows`, from (`row`, `column`) on.
///
/// # Safety
/// As [`multiply`].
unsafe fn pack_left<T: Number>(
    rows: &dyn Rows,
    row: usize,
    column: usize,
    size: [usize; 2],
    panels: &mut Vec<[T; TILE_ROWS]>,
) {
    let [height, depth] = size;
    panels.clear();
    panels.resize(height.div_ceil(TILE_ROWS) * depth, [T::default(); TILE_ROWS]);
    let mut numbers = [T::default(); BLOCK_DEPTH];
    for index in 0..height {
        let Some((line, rest)) = rows.row(narrow(row + index), narrow(column)) else { continue };
        let count = depth.min(usize::try_from(rest).expect("32 bits"));
        // SAFETY: `rest` elements of the line exist, and by this function's contract are readable.
        unsafe { line.read(&mut numbers[..count]) };
        let panel = &mut panels[index / TILE_ROWS * depth..];
        for (group, number) in panel.iter_mut().zip(&numbers[..count]) {
            group[index % TILE_ROWS] = *number;
        }
    }
}

/// Fills `panels` with `size[0]` rows and `size[1]` columns of `matrix`, from (`row`, `column`) on.
///
/// # Safety
/// As [`multiply`].
unsafe fn pack_right<T: Number>(
    matrix: &View,
    row: usize,
    column: usize,
    size: [usize; 2],
    panels: &mut Vec<[T; TILE_COLUMNS]>,
) {
    let [depth, width] = size;
    panels.clear();
    panels.resize(width.div_ceil(TILE_COLUMNS) * depth, [T::default(); TILE_COLUMNS]);
    let part = matrix.part(narrow(row), narrow(column));
    let (rows, columns) = (narrow(depth).min(part.rows), narrow(width).min(part.columns));
    let mut numbers = [T::default(); BLOCK_DEPTH];
    // Along whichever direction the elements are next to each other.
    if part.column_bytes.unsigned_abs() <= part.row_bytes.unsigned_abs() {
        for index in 0..rows {
            let Some(line) = part.row(index, 0) else { continue };
            let numbers = &mut numbers[..columns as usize];
            // SAFETY: the part has `columns` columns; by this function's contract they are readable.
            unsafe { line.read(numbers) };
            for (panel, numbers) in numbers.chunks(TILE_COLUMNS).enumerate() {
                panels[panel * depth + index as usize][..numbers.len()].copy_from_slice(numbers);
            }
        }
    } else {
        for index in 0..columns {
            let Some(line) = part.column(index, 0) else { continue };
            let numbers = &mut numbers[..rows as usize];
            // SAFETY: the part has `rows` rows; by this function's contract they are readable.
            unsafe { line.read(numbers) };
            let panel = &mut panels[index as usize / TILE_COLUMNS * depth..];
            for (group, number) in panel.iter_mut().zip(&*numbers) {
                group[index as usize % TILE_COLUMNS] = *number;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Small integers, so that every sum is exact and independent of its order.
    fn numbers(count: u32, seed: u32) -> Vec<f32> {
        let number = |index: u32| (index.wrapping_mul(2_654_435_761).wrapping_add(seed) >> 20) % 17;
        (0..count).map(|index| f32::from(u8::try_from(number(index)).unwrap()) - 8.0).collect()
    }

    #[test]
    fn every_shape_gives_the_sums_of_products() {
        let shapes = [[1, 1, 1], [4, 16, 8], [5, 17, 3], [33, 129, 257], [64, 64, 0], [2, 300, 600], [70, 5, 31]];
        for [rows, columns, depth] in shapes {
            let (a, b) = (numbers(rows * depth, 1), numbers(depth * columns, 2));
            let start = numbers(rows * columns, 3);
            for is_transposed in [false, true] {
                let left = View::of_numbers(&a, rows, depth);
                let right = if is_transposed {
                    View::of_numbers(&b, columns, depth).transposed()
                } else {
                    View::of_numbers(&b, depth, columns)
                };
                let mut sums = start.clone();
                // SAFETY: the views are of slices that live here.
                unsafe { multiply(&left, &right, [rows, columns, depth], &mut sums) };
                for row in 0..rows {
                    for column in 0..columns {
                        let place = |k: u32| if is_transposed { column * depth + k } else { k * columns + column };
                        let product = |k: u32| a[(row * depth + k) as usize] * b[place(k) as usize];
                        let at = (row * columns + column) as usize;
                        let expected = start[at] + (0..depth).map(product).sum::<f32>();
                        assert_eq!(sums[at], expected, "{rows} {columns} {depth} {is_transposed} at {row} {column}");
                    }
                }
            }
        }
    }

    #[test]
    fn factors_are_zero_where_they_end() {
        let (a, b) = (vec![1_i32; 6], vec![1_i32; 6]);
        let mut sums = vec![10_i32; 25];
        // SAFETY: the views are of slices that live here.
        unsafe { multiply(&View::of_numbers(&a, 2, 3), &View::of_numbers(&b, 3, 2), [5, 5, 40], &mut sums) };
        for (index, sum) in sums.into_iter().enumerate() {
            let inside = index / 5 < 2 && index % 5 < 2;
            assert_eq!(sum, if inside { 13 } else { 10 }, "{index}");
        }
    }
}
