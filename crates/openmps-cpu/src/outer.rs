//! Outer products of matrices: blocks of sums to which a loop adds products of a column of 8x8 matrices and a row of them.
//!
//! Generated code keeps the sums of such a loop in memory as one large matrix, row by row, and puts the factors of each turn into
//! two panels. When the panels are full, and behind the loop, [`step`] and [`finish`] add their product to the sums. Each sum is
//! the same chain of fused multiply-adds in the order of the inner index that single products are, so that the bits are the same;
//! but sums stay in registers for many turns. Factors of bfloat can go to the CPU's matrix unit instead (`tiles`).

mod tiles;

/// Rows and columns of a matrix.
const SIDE: usize = 8;
/// Inner indices that the panels have room for.
const DEPTH: usize = 32;
/// Sums that a register or a row of a tile holds.
const LANES: usize = 16;
/// Bytes before the sums, of which the first word counts the inner indices in the panels.
const HEADER_BYTES: usize = 64;
/// Bytes of a sum and of a factor.
const FLOAT_BYTES: usize = 4;

/// What factors are in the panels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Factors {
    /// Floats, whatever they were before.
    Float = 0,
    /// Numbers of 16 bits for the CPU's matrix unit, which adds them in another order.
    Bfloat = 1,
}

/// A block of sums: how many matrices below and beside each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) factors: Factors,
}

impl Block {
    /// Most matrices in a row or column: the memory stays below 130 KiB.
    #[cfg(any(feature = "codegen", test))]
    pub(crate) const SIDE_MAX: usize = 16;

    /// The number that generated code hands over.
    #[cfg(any(feature = "codegen", test))]
    pub(crate) fn code(self) -> u64 {
        (self.rows + 256 * self.columns + 65536 * self.factors as usize) as u64
    }

    fn of_code(code: u64) -> Self {
        let [rows, columns, factors, ..] = code.to_le_bytes();
        let factors = if factors == 0 { Factors::Float } else { Factors::Bfloat };
        Self { rows: rows.into(), columns: columns.into(), factors }
    }

    /// Numbers from a row of sums, or of right factors, to the next.
    pub(crate) fn row_step(self) -> usize {
        let multiple = match self.factors {
            Factors::Float => LANES,
            Factors::Bfloat => 2 * LANES,
        };
        (SIDE * self.columns).next_multiple_of(multiple)
    }

    /// Rows with those that fill tiles, which nobody reads.
    fn padded_rows(self) -> usize {
        match self.factors {
            Factors::Float => SIDE * self.rows,
            Factors::Bfloat => (SIDE * self.rows).next_multiple_of(LANES),
        }
    }

    fn factor_bytes(self) -> usize {
        match self.factors {
            Factors::Float => FLOAT_BYTES,
            Factors::Bfloat => 2,
        }
    }

    /// Numbers from a row of left factors to the next.
    #[cfg(any(feature = "codegen", test))]
    pub(crate) fn left_row_step() -> usize {
        DEPTH
    }

    /// The place of the sums of a matrix, in bytes.
    #[cfg(any(feature = "codegen", test))]
    pub(crate) fn sum_offset_bytes(self, row: usize, column: usize) -> u64 {
        (HEADER_BYTES + FLOAT_BYTES * SIDE * (row * self.row_step() + column)) as u64
    }

    fn left_offset_bytes(self) -> usize {
        HEADER_BYTES + FLOAT_BYTES * self.padded_rows() * self.row_step()
    }

    fn right_offset_bytes(self) -> usize {
        self.left_offset_bytes() + self.factor_bytes() * self.padded_rows() * DEPTH
    }

    /// Where the right panel is put with two inner indices side by side.
    fn pairs_offset_bytes(self) -> usize {
        self.right_offset_bytes() + self.factor_bytes() * DEPTH * self.row_step()
    }

    /// The place of a left matrix in empty panels, in bytes; those behind it are a factor an inner index further.
    #[cfg(any(feature = "codegen", test))]
    pub(crate) fn left_matrix_bytes(self, row: usize) -> u64 {
        (self.left_offset_bytes() + self.factor_bytes() * SIDE * row * DEPTH) as u64
    }

    /// The place of a right matrix in empty panels, in bytes; those behind it are a row an inner index further.
    #[cfg(any(feature = "codegen", test))]
    pub(crate) fn right_matrix_bytes(self, column: usize) -> u64 {
        (self.right_offset_bytes() + self.factor_bytes() * SIDE * column) as u64
    }

    /// All that a block takes, in bytes.
    #[cfg(any(feature = "codegen", test))]
    pub(crate) fn bytes(self) -> u64 {
        let pairs = match self.factors {
            Factors::Float => 0,
            Factors::Bfloat => self.factor_bytes() * DEPTH * self.row_step(),
        };
        (self.pairs_offset_bytes() + pairs) as u64
    }
}

/// Counts the factors that were put into the panels, and adds their products when there is no room for more.
///
/// # Safety
/// `memory` is that of a block with this code: 64-byte aligned, of [`Block::bytes`], the count in it below [`DEPTH`].
pub(crate) unsafe extern "C" fn step(memory: *mut u8, code: u64) {
    let count = memory.cast::<usize>();
    // SAFETY: by this function's contract.
    let filled = unsafe { count.read() } + SIDE;
    if filled < DEPTH {
        // SAFETY: as above.
        unsafe { count.write(filled) };
        return;
    }
    // SAFETY: as above.
    unsafe { add(memory, Block::of_code(code), DEPTH) };
    // SAFETY: as above.
    unsafe { count.write(0) };
}

/// Adds the products of what is in the panels.
///
/// # Safety
/// As [`step`].
pub(crate) unsafe extern "C" fn finish(memory: *mut u8, code: u64) {
    let count = memory.cast::<usize>();
    // SAFETY: by this function's contract.
    let filled = unsafe { count.read() };
    // SAFETY: as above.
    unsafe { add(memory, Block::of_code(code), filled) };
    // SAFETY: as above.
    unsafe { count.write(0) };
}

/// # Safety
/// As [`step`]; the panels hold `depth` inner indices.
unsafe fn add(memory: *mut u8, block: Block, depth: usize) {
    if block.factors == Factors::Bfloat {
        let panels = tiles::Panels {
            sums: memory.wrapping_add(HEADER_BYTES).cast(),
            left: memory.wrapping_add(block.left_offset_bytes()).cast_const().cast(),
            right: memory.wrapping_add(block.right_offset_bytes()).cast_const().cast(),
            pairs: memory.wrapping_add(block.pairs_offset_bytes()).cast(),
            row_step: block.row_step(),
            depth,
        };
        // SAFETY: by this function's contract.
        unsafe { tiles::add(panels, block) };
        return;
    }
    let panels = Panels {
        sums: memory.wrapping_add(HEADER_BYTES).cast(),
        left: memory.wrapping_add(block.left_offset_bytes()).cast_const().cast(),
        right: memory.wrapping_add(block.right_offset_bytes()).cast_const().cast(),
        row_step: block.row_step(),
        depth,
    };
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx512f") {
        // SAFETY: by this function's contract, and the CPU has the features.
        unsafe { wide::add(panels, block.rows) };
        return;
    }
    // SAFETY: by this function's contract.
    unsafe { panels.add(block.rows) };
}

/// Where sums and factors are.
#[derive(Clone, Copy)]
struct Panels {
    sums: *mut f32,
    left: *const f32,
    right: *const f32,
    row_step: usize,
    depth: usize,
}

impl Panels {
    /// # Safety
    /// `rows` matrices below each other are there.
    unsafe fn add(self, rows: usize) {
        for row in 0..SIDE * rows {
            for inner in 0..self.depth {
                // SAFETY: by this function's contract.
                let factor = unsafe { self.left.wrapping_add(row * DEPTH + inner).read() };
                for column in 0..self.row_step {
                    // SAFETY: as above.
                    let term = unsafe { self.right.wrapping_add(inner * self.row_step + column).read() };
                    let sum = self.sums.wrapping_add(row * self.row_step + column);
                    // SAFETY: as above.
                    let before = unsafe { sum.read() };
                    // SAFETY: as above.
                    unsafe { sum.write(factor.mul_add(term, before)) };
                }
            }
        }
    }
}

/// The same with registers of 16 numbers.
#[cfg(target_arch = "x86_64")]
mod wide {
    use std::arch::x86_64::{_mm512_fmadd_ps, _mm512_loadu_ps, _mm512_set1_ps, _mm512_setzero_ps, _mm512_storeu_ps};

    use super::{DEPTH, LANES, Panels, SIDE};

    /// # Safety
    /// As [`Panels::add`].
    #[target_feature(enable = "avx512f")]
    pub(super) unsafe fn add(panels: Panels, rows: usize) {
        let mut column = 0;
        while column < panels.row_step {
            // What is right of the columns stays in the nearest cache while all rows pass.
            let is_pair = column + 2 * LANES <= panels.row_step;
            for row in 0..rows {
                let part = Panels {
                    sums: panels.sums.wrapping_add(SIDE * row * panels.row_step + column),
                    left: panels.left.wrapping_add(SIDE * row * DEPTH),
                    right: panels.right.wrapping_add(column),
                    ..panels
                };
                if is_pair {
                    // SAFETY: by this function's contract.
                    unsafe { add_part::<2>(part) };
                } else {
                    // SAFETY: as above.
                    unsafe { add_part::<1>(part) };
                }
            }
            column += if is_pair { 2 * LANES } else { LANES };
        }
    }

    /// Eight rows of `REGISTERS` times 16 sums, which stay in registers. Plain counting loops: the adapters of iterators are not
    /// compiled for these registers, and stay calls.
    ///
    /// # Safety
    /// They are there.
    #[target_feature(enable = "avx512f")]
    unsafe fn add_part<const REGISTERS: usize>(part: Panels) {
        let place = |row: usize, register: usize| part.sums.wrapping_add(row * part.row_step + LANES * register);
        let mut sums = [[_mm512_setzero_ps(); REGISTERS]; SIDE];
        let mut row = 0;
        while row < SIDE {
            let mut register = 0;
            while register < REGISTERS {
                // SAFETY: by this function's contract.
                sums[row][register] = unsafe { _mm512_loadu_ps(place(row, register)) };
                register += 1;
            }
            row += 1;
        }
        let mut inner = 0;
        while inner < part.depth {
            let mut terms = [_mm512_setzero_ps(); REGISTERS];
            let mut register = 0;
            while register < REGISTERS {
                let from = part.right.wrapping_add(inner * part.row_step + LANES * register);
                // SAFETY: by this function's contract.
                terms[register] = unsafe { _mm512_loadu_ps(from) };
                register += 1;
            }
            let mut row = 0;
            while row < SIDE {
                // SAFETY: by this function's contract.
                let factor = _mm512_set1_ps(unsafe { part.left.wrapping_add(row * DEPTH + inner).read() });
                let mut register = 0;
                while register < REGISTERS {
                    sums[row][register] = _mm512_fmadd_ps(factor, terms[register], sums[row][register]);
                    register += 1;
                }
                row += 1;
            }
            inner += 1;
        }
        let mut row = 0;
        while row < SIDE {
            let mut register = 0;
            while register < REGISTERS {
                // SAFETY: by this function's contract.
                unsafe { _mm512_storeu_ps(place(row, register), sums[row][register]) };
                register += 1;
            }
            row += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that look random, the same each time.
    fn numbers(count: usize, seed: u32) -> Vec<f32> {
        let mut state = seed;
        let next = |_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            f32::from_bits(0x3f80_0000 | state >> 9) - 1.5
        };
        (0..count).map(next).collect()
    }

    /// The memory of a block, aligned as generated code aligns it.
    #[repr(align(64))]
    #[derive(Clone, Copy)]
    struct Line(#[expect(dead_code, reason = "read and written through pointers")] [f32; LANES]);

    #[test]
    fn panels_add_what_single_products_do() {
        for (rows, columns) in [(1, 1), (2, 4), (3, 5), (4, 2), (8, 8)] {
            for turns in [0, 1, 3, 4, 5, 9] {
                check(Block { rows, columns, factors: Factors::Float }, turns);
            }
        }
    }

    fn check(block: Block, turns: usize) {
        let (height, width, inner) = (SIDE * block.rows, SIDE * block.columns, SIDE * turns);
        let (left, right) = (numbers(height * inner, 1), numbers(inner * width, 2));
        let mut expected = numbers(height * width, 3);
        let mut memory = vec![Line([f32::NAN; LANES]); usize::try_from(block.bytes()).unwrap().div_ceil(64)];
        let start = memory.as_mut_ptr().cast::<u8>();
        let place = |bytes: u64| start.wrapping_add(usize::try_from(bytes).unwrap()).cast::<f32>();
        let at = |matrix: u64, row: usize, column: usize, step: usize| place(matrix).wrapping_add(row * step + column);
        // SAFETY: every place is in `memory`.
        let write = |to: *mut f32, value: f32| unsafe { to.write(value) };
        let step_of = block.row_step();
        let sum = |row: usize, column: usize| {
            at(block.sum_offset_bytes(row / SIDE, column / SIDE), row % SIDE, column % SIDE, step_of)
        };
        write(start.cast(), 0.0);
        write(start.wrapping_add(4).cast(), 0.0);
        for (index, &value) in expected.iter().enumerate() {
            write(sum(index / width, index % width), value);
        }
        for turn in 0..turns {
            let filled = turn * SIDE % DEPTH;
            for inner_index in 0..SIDE {
                let k = turn * SIDE + inner_index;
                for row in 0..height {
                    let matrix = block.left_matrix_bytes(row / SIDE);
                    let to = at(matrix, row % SIDE, filled + inner_index, Block::left_row_step());
                    write(to, left[row * inner + k]);
                }
                for column in 0..width {
                    let matrix = block.right_matrix_bytes(column / SIDE);
                    write(at(matrix, filled + inner_index, column % SIDE, step_of), right[k * width + column]);
                }
            }
            // SAFETY: the memory of this block, as generated code fills it.
            unsafe { step(start, block.code()) };
        }
        // SAFETY: as above.
        unsafe { finish(start, block.code()) };
        for (index, expected) in expected.iter_mut().enumerate() {
            for k in 0..inner {
                *expected = left[index / width * inner + k].mul_add(right[k * width + index % width], *expected);
            }
            // SAFETY: the place is in `memory`.
            let found = unsafe { sum(index / width, index % width).read() };
            assert_eq!(found.to_bits(), expected.to_bits(), "{block:?}, {turns} turns, element {index}");
        }
    }
}
