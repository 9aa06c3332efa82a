//! Reading and writing lines of tensor elements at the addresses that kernels give.

use super::element::{Element, Number, decode_8, decode_16, decode_32, encode_8, encode_16, encode_32};

/// Elements copied at a time, so that converting them is a loop over arrays.
const CHUNK: usize = 64;

/// Elements of one type at equal distances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    /// Address of the first.
    pub(crate) address: u64,
    /// Bytes from one to the next.
    pub(crate) step_bytes: i64,
    /// Their type.
    pub(crate) element: Element,
}

impl Line {
    /// The address of element `index`. Wraps, as addresses of a kernel do.
    fn at(&self, index: usize) -> u64 {
        let index = i64::try_from(index).expect("a line is shorter than memory");
        self.address.wrapping_add_signed(self.step_bytes.wrapping_mul(index))
    }

    fn pointer<const N: usize>(&self, index: usize) -> *mut [u8; N] {
        // Kernels' addresses are host addresses, exposed where they were bound.
        std::ptr::with_exposed_provenance_mut(usize::try_from(self.at(index)).expect("a 64-bit host"))
    }

    /// Copies elements `first..` to `bytes`.
    ///
    /// # Safety
    /// The elements are readable.
    unsafe fn fetch<const N: usize>(&self, first: usize, bytes: &mut [[u8; N]]) {
        if i64::try_from(N).is_ok_and(|size| size == self.step_bytes) {
            // SAFETY: the elements lie side by side and are readable by this function's contract; `bytes` is ours.
            unsafe { self.pointer::<N>(first).copy_to_nonoverlapping(bytes.as_mut_ptr(), bytes.len()) };
            return;
        }
        for (index, place) in bytes.iter_mut().enumerate() {
            // SAFETY: readable by this function's contract; an array of bytes has no alignment.
            *place = unsafe { self.pointer::<N>(first + index).read() };
        }
    }

    /// Copies `bytes` to elements `first..`.
    ///
    /// # Safety
    /// The elements are writable, and no other thread reads or writes them unless the kernel has that race.
    unsafe fn put<const N: usize>(&self, first: usize, bytes: &[[u8; N]]) {
        for (index, value) in bytes.iter().enumerate() {
            // SAFETY: writable by this function's contract; an array of bytes has no alignment.
            unsafe { self.pointer::<N>(first + index).write(*value) };
        }
    }

    /// Reads elements as numbers.
    ///
    /// # Safety
    /// `numbers.len()` elements are readable.
    pub(crate) unsafe fn read<T: Number>(&self, numbers: &mut [T]) {
        for (chunk, numbers) in numbers.chunks_mut(CHUNK).enumerate() {
            let first = chunk * CHUNK;
            match self.element {
                Element::F32 | Element::I32 => {
                    let mut bytes = [[0; 4]; CHUNK];
                    let bytes = &mut bytes[..numbers.len()];
                    // SAFETY: by this function's contract.
                    unsafe { self.fetch(first, bytes) };
                    for (number, bytes) in numbers.iter_mut().zip(&*bytes) {
                        *number = decode_32(self.element, *bytes);
                    }
                }
                Element::F16 | Element::Bf16 => {
                    let mut bytes = [[0; 2]; CHUNK];
                    let bytes = &mut bytes[..numbers.len()];
                    // SAFETY: by this function's contract.
                    unsafe { self.fetch(first, bytes) };
                    for (number, bytes) in numbers.iter_mut().zip(&*bytes) {
                        *number = decode_16(self.element, *bytes);
                    }
                }
                Element::I8 => {
                    let mut bytes = [[0; 1]; CHUNK];
                    let bytes = &mut bytes[..numbers.len()];
                    // SAFETY: by this function's contract.
                    unsafe { self.fetch(first, bytes) };
                    for (number, [byte]) in numbers.iter_mut().zip(&*bytes) {
                        *number = decode_8(*byte);
                    }
                }
            }
        }
    }

    /// Writes numbers as elements.
    ///
    /// # Safety
    /// `numbers.len()` elements are writable, as [`put`](Self::put) says.
    pub(crate) unsafe fn write<T: Number>(&self, numbers: &[T]) {
        for (chunk, numbers) in numbers.chunks(CHUNK).enumerate() {
            let first = chunk * CHUNK;
            match self.element {
                Element::F32 | Element::I32 => {
                    let mut bytes = [[0; 4]; CHUNK];
                    for (bytes, number) in bytes.iter_mut().zip(numbers) {
                        *bytes = encode_32(self.element, *number);
                    }
                    // SAFETY: by this function's contract.
                    unsafe { self.put(first, &bytes[..numbers.len()]) };
                }
                Element::F16 | Element::Bf16 => {
                    let mut bytes = [[0; 2]; CHUNK];
                    for (bytes, number) in bytes.iter_mut().zip(numbers) {
                        *bytes = encode_16(self.element, *number);
                    }
                    // SAFETY: by this function's contract.
                    unsafe { self.put(first, &bytes[..numbers.len()]) };
                }
                Element::I8 => {
                    let mut bytes = [[0; 1]; CHUNK];
                    for (bytes, number) in bytes.iter_mut().zip(numbers) {
                        *bytes = encode_8(*number);
                    }
                    // SAFETY: by this function's contract.
                    unsafe { self.put(first, &bytes[..numbers.len()]) };
                }
            }
        }
    }

    /// The same line from element `index` on.
    pub(crate) fn skip(&self, index: usize) -> Self {
        Self { address: self.at(index), ..*self }
    }
}

/// A matrix of elements in memory: zero outside of its rows and columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct View {
    /// Address of element (0, 0).
    pub(crate) address: u64,
    /// Bytes from a row to the next.
    pub(crate) row_bytes: i64,
    /// Bytes from a column to the next.
    pub(crate) column_bytes: i64,
    /// Rows that exist.
    pub(crate) rows: u32,
    /// Columns that exist.
    pub(crate) columns: u32,
    /// The type of the elements.
    pub(crate) element: Element,
}

impl View {
    /// The row-major matrix `numbers` with `columns` columns. The view reads what the slice borrows.
    pub(crate) fn of_numbers<T: Number>(numbers: &[T], rows: u32, columns: u32) -> Self {
        let bytes = i64::from(4_u8);
        Self {
            address: numbers.as_ptr().expose_provenance() as u64,
            row_bytes: bytes * i64::from(columns),
            column_bytes: bytes,
            rows,
            columns,
            element: T::ELEMENT,
        }
    }

    /// Rows become columns.
    pub(crate) fn transposed(self) -> Self {
        Self {
            row_bytes: self.column_bytes,
            column_bytes: self.row_bytes,
            rows: self.columns,
            columns: self.rows,
            ..self
        }
    }

    /// Row `row`, from column `column` on; `None` outside.
    pub(crate) fn row(&self, row: u32, column: u32) -> Option<Line> {
        self.row_line(row).map(|line| line.skip(usize::try_from(column).expect("32 bits")))
    }

    /// Column `column`, from row `row` on; `None` outside.
    pub(crate) fn column(&self, column: u32, row: u32) -> Option<Line> {
        self.transposed().row(column, row)
    }

    fn row_line(&self, row: u32) -> Option<Line> {
        let address = self.address.wrapping_add_signed(self.row_bytes.wrapping_mul(i64::from(row)));
        (row < self.rows).then_some(Line { address, step_bytes: self.column_bytes, element: self.element })
    }

    /// The part that starts at (`row`, `column`).
    pub(crate) fn part(self, row: u32, column: u32) -> Self {
        let skip = |bytes: i64, count: u32| bytes.wrapping_mul(i64::from(count));
        let offset = skip(self.row_bytes, row).wrapping_add(skip(self.column_bytes, column));
        Self {
            address: self.address.wrapping_add_signed(offset),
            rows: self.rows.saturating_sub(row),
            columns: self.columns.saturating_sub(column),
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_convert_and_step() {
        let values: Vec<f32> = (0..200_u8).map(|value| f32::from(value) / 4.0 - 20.0).collect();
        for element in [Element::F32, Element::F16, Element::Bf16] {
            for gap in [1, 3] {
                let mut bytes = vec![0xaa_u8; 200 * gap * element.size_bytes()];
                let address = bytes.as_mut_ptr().expose_provenance() as u64;
                let line = Line { address, step_bytes: i64::try_from(gap * element.size_bytes()).unwrap(), element };
                // SAFETY: the bytes above hold 200 elements at this distance.
                unsafe { line.write(&values) };
                let mut read = vec![0.0_f32; 190];
                // SAFETY: as above.
                unsafe { line.skip(10).read(&mut read) };
                assert_eq!(read, values[10..], "{element:?} {gap}");
                if gap == 3 {
                    assert_eq!(bytes[element.size_bytes()], 0xaa, "what lies between is left alone");
                }
            }
        }
        let mut bytes = [1_u8, 0xff, 0x80, 0x7f];
        let address = bytes.as_mut_ptr().expose_provenance() as u64;
        let line = Line { address, step_bytes: 1, element: Element::I8 };
        let mut numbers = [0_i32; 4];
        // SAFETY: four bytes.
        unsafe { line.read(&mut numbers) };
        assert_eq!(numbers, [1, -1, -128, 127]);
        // SAFETY: as above.
        unsafe { line.write(&[300, -300, 5, -5]) };
        assert_eq!(bytes.map(u8::cast_signed), [127, -128, 5, -5]);
    }

    #[test]
    fn views_know_rows_columns_and_parts() {
        let numbers: Vec<i32> = (0..12).collect();
        let view = View::of_numbers(&numbers, 3, 4);
        let first = |line: Option<Line>| {
            line.map(|line| {
                let mut number = [0_i32];
                // SAFETY: the lines asked for below start inside of the matrix.
                unsafe { line.read(&mut number) };
                number[0]
            })
        };
        assert_eq!(first(view.row(2, 1)), Some(9));
        assert_eq!(first(view.column(3, 1)), Some(7));
        assert_eq!(first(view.transposed().row(3, 1)), Some(7));
        assert_eq!(first(view.part(1, 2).row(1, 1)), Some(11));
        assert_eq!(view.row(3, 0), None);
        assert_eq!(view.part(1, 2).row(2, 0), None);
        assert_eq!((view.part(5, 9).rows, view.part(5, 9).columns), (0, 0));
    }
}
