//! NumPy's file format (NEP 1): a header in Python's notation, then the elements.

use crate::array::{Array, Dtype};

const MAGIC: &[u8] = b"\x93NUMPY";
/// Elements start at a multiple of this.
const ALIGNMENT: usize = 64;

/// The array in the bytes of an `.npy` file.
pub(crate) fn read(bytes: &[u8]) -> Result<Array, String> {
    let rest = bytes.strip_prefix(MAGIC).ok_or("is no NumPy file")?;
    let (version, rest) = rest.split_at_checked(2).ok_or("ends in its header")?;
    let length_bytes = if version[0] == 1 { 2 } else { 4 };
    let (length, rest) = rest.split_at_checked(length_bytes).ok_or("ends in its header")?;
    let length = length.iter().rev().fold(0usize, |length, &byte| length << 8 | usize::from(byte));
    let (header, data) = rest.split_at_checked(length).ok_or("ends in its header")?;
    let header = std::str::from_utf8(header).map_err(|_| "has a header that is no text")?;
    let (dtype, shape) = parse_header(header)?;
    let count = shape.iter().try_fold(1usize, |count, &size| count.checked_mul(size));
    let size = count.and_then(|count| count.checked_mul(dtype.bytes()));
    let size = size.ok_or_else(|| format!("has an array of shape {shape:?}, which is too large"))?;
    let found = data.len();
    let data = data.get(..size).ok_or_else(|| format!("has {found} bytes of elements, expected {size}"))?;
    Ok(Array { dtype, shape, bytes: data.into() })
}

fn parse_header(header: &str) -> Result<(Dtype, Vec<usize>), String> {
    let code = field(header, "descr").and_then(quoted).ok_or("has a header without a simple 'descr'")?;
    let dtype = Dtype::from_numpy(code)
        .ok_or_else(|| format!("has elements of type '{code}', expected one of {}", Dtype::names()))?;
    if field(header, "fortran_order").is_none_or(|text| !text.starts_with("False")) {
        return Err("is in Fortran order, expected C order".into());
    }
    let shape = field(header, "shape").and_then(|text| text.strip_prefix('(')?.split_once(')'));
    let sizes = shape.ok_or("has a header without 'shape'")?.0.split(',').map(str::trim);
    let sizes = sizes.filter(|size| !size.is_empty()).map(str::parse).collect::<Result<Vec<usize>, _>>();
    Ok((dtype, sizes.map_err(|_| "has a shape that is no list of sizes")?))
}

/// What stands behind `'name':`.
fn field<'a>(header: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = header.split_once(&format!("'{name}':"))?;
    Some(rest.trim_start())
}

fn quoted(text: &str) -> Option<&str> {
    Some(text.strip_prefix('\'')?.split_once('\'')?.0)
}

/// The bytes of an `.npy` file with `array`.
pub(crate) fn write(array: &Array) -> Vec<u8> {
    let sizes: String = array.shape.iter().map(|size| format!("{size}, ")).collect();
    let code = array.dtype.numpy();
    let mut header = format!("{{'descr': '{code}', 'fortran_order': False, 'shape': ({}), }}", sizes.trim_end());
    // Magic, version and length take ten bytes; the header ends in a new line.
    let padding = ALIGNMENT - (MAGIC.len() + 4 + header.len() + 1) % ALIGNMENT;
    header.extend(std::iter::repeat_n(' ', padding % ALIGNMENT));
    header.push('\n');
    let length = u16::try_from(header.len()).expect("a shape of a few sizes");
    [MAGIC, &[1, 0], &length.to_le_bytes(), header.as_bytes(), &array.bytes].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for shape in [vec![], vec![6], vec![2, 3], vec![1, 2, 3, 1]] {
            let count: usize = shape.iter().product();
            let array = Array { dtype: Dtype::I16, shape, bytes: (0..).take(2 * count).collect() };
            let bytes = write(&array);
            assert_eq!((bytes.len() - array.bytes.len()) % ALIGNMENT, 0);
            assert_eq!(read(&bytes), Ok(array));
            for cut in 0..bytes.len() {
                assert!(read(&bytes[..cut]).is_err(), "cut at {cut}");
            }
        }
    }

    #[test]
    fn foreign_headers_are_refused_by_what_is_wrong() {
        let file = |header: &str| {
            let length = u16::try_from(header.len()).unwrap();
            read(&[MAGIC, &[1, 0], &length.to_le_bytes(), header.as_bytes(), &[0; 8]].concat()).unwrap_err()
        };
        assert_eq!(read(b"PK").unwrap_err(), "is no NumPy file");
        assert!(
            file("{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }").starts_with("has elements of type '<f8'")
        );
        assert_eq!(
            file("{'descr': '<f4', 'fortran_order': True, 'shape': (1,), }"),
            "is in Fortran order, expected C order"
        );
        assert_eq!(
            file("{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }"),
            "has 8 bytes of elements, expected 12"
        );
        assert!(
            file("{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807, 9), }").contains("too large")
        );
        assert_eq!(
            file("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }"),
            "has a shape that is no list of sizes"
        );
        assert_eq!(file("{'descr': [('a', '<f4')], }"), "has a header without a simple 'descr'");
    }
}
