//! Tensors as a few words: what the plug-in hands over, what records hold, and how they are spelled.
//!
//! A tensor is a header word, one word for its buffer or address if the header says so, and one word for each size.

use std::fmt::Write as _;

/// `c10::ScalarType`'s names and element sizes in bytes, by number.
const TYPES: [(&str, u64); 47] = [
    ("Byte", 1),
    ("Char", 1),
    ("Short", 2),
    ("Int", 4),
    ("Long", 8),
    ("Half", 2),
    ("Float", 4),
    ("Double", 8),
    ("ComplexHalf", 4),
    ("ComplexFloat", 8),
    ("ComplexDouble", 16),
    ("Bool", 1),
    ("QInt8", 1),
    ("QUInt8", 1),
    ("QInt32", 4),
    ("BFloat16", 2),
    ("QUInt4x2", 1),
    ("QUInt2x4", 1),
    ("Bits1x8", 1),
    ("Bits2x4", 1),
    ("Bits4x2", 1),
    ("Bits8", 1),
    ("Bits16", 2),
    ("Float8_e5m2", 1),
    ("Float8_e4m3fn", 1),
    ("Float8_e5m2fnuz", 1),
    ("Float8_e4m3fnuz", 1),
    ("UInt16", 2),
    ("UInt32", 4),
    ("UInt64", 8),
    ("UInt1", 1),
    ("UInt2", 1),
    ("UInt3", 1),
    ("UInt4", 1),
    ("UInt5", 1),
    ("UInt6", 1),
    ("UInt7", 1),
    ("Int1", 1),
    ("Int2", 1),
    ("Int3", 1),
    ("Int4", 1),
    ("Int5", 1),
    ("Int6", 1),
    ("Int7", 1),
    ("Float8_e8m0fnu", 1),
    ("Float4_e2m1fn_x2", 1),
    ("BComplex32", 4),
];

/// Bits 0 to 7 are the scalar type's number, bits 8 to 15 the number of sizes, then these.
pub mod header {
    /// Where the number of sizes starts.
    pub const RANK_SHIFT: u32 = 8;
    /// The tensor lies on device mps, else on the CPU.
    pub const MPS: u64 = 1 << 16;
    /// A word follows: the block's number, and above bit 40 its retain count.
    pub const BUFFER: u64 = 1 << 17;
    /// Memory without a type: a word follows, its address, and there are no sizes.
    pub const UNTYPED: u64 = 1 << 18;
    /// An argument without a tensor.
    pub const UNDEFINED: u64 = 1 << 19;
    /// No tensor: the number in bits 32 to 63 counts arguments that were left out.
    pub const MORE: u64 = 1 << 20;
}

/// Where the retain count lies in a buffer word.
pub const RETAIN_SHIFT: u32 = 40;

/// One tensor of a row of words.
#[derive(Clone, Copy, Debug)]
pub(super) struct TensorWords<'a> {
    header: u64,
    place: Option<u64>,
    sizes: &'a [u64],
}

/// The tensors in `words`; ends where they are cut off.
pub(super) fn tensors(mut words: &[u64]) -> impl Iterator<Item = TensorWords<'_>> {
    std::iter::from_fn(move || {
        let (&header, rest) = words.split_first()?;
        let (place, rest) = match header & (header::BUFFER | header::UNTYPED) {
            0 => (None, rest),
            _ => rest.split_first().map(|(&place, rest)| (Some(place), rest))?,
        };
        let rank = usize::try_from(header >> header::RANK_SHIFT & 0xff).expect("eight bits");
        let (sizes, rest) = rest.split_at_checked(rank)?;
        words = rest;
        Some(TensorWords { header, place, sizes })
    })
}

impl TensorWords<'_> {
    pub(super) fn is_mps(&self) -> bool {
        self.header & header::MPS != 0
    }

    /// `Tensor.nbytes`.
    pub(super) fn bytes(&self) -> u64 {
        if self.header & (header::UNTYPED | header::UNDEFINED | header::MORE) != 0 {
            return 0;
        }
        self.sizes.iter().fold(self.scalar_type().1, |bytes, &size| bytes.saturating_mul(size))
    }

    fn scalar_type(&self) -> (&'static str, u64) {
        let index = usize::try_from(self.header & 0xff).expect("eight bits");
        TYPES.get(index).copied().unwrap_or(("Undefined", 0))
    }

    /// Appends PyTorch's spelling, `MPS:Float[2, 3]`.
    pub(super) fn spell(&self, text: &mut String) {
        const INFALLIBLE: &str = "a String takes all text";
        if self.header & header::UNDEFINED != 0 {
            text.push_str("undefined");
            return;
        }
        if self.header & header::MORE != 0 {
            write!(text, "+{}", self.header >> 32).expect(INFALLIBLE);
            return;
        }
        text.push_str(if self.is_mps() { "MPS" } else { "CPU" });
        match self.place {
            Some(address) if self.header & header::UNTYPED != 0 => {
                write!(text, ":{address:#x}").expect(INFALLIBLE);
                return;
            }
            Some(buffer) => {
                let (id, retained) = (buffer & ((1 << RETAIN_SHIFT) - 1), buffer >> RETAIN_SHIFT);
                write!(text, "(buf#{id}:{retained})").expect(INFALLIBLE);
            }
            None => {}
        }
        text.push(':');
        text.push_str(self.scalar_type().0);
        text.push('[');
        for (index, size) in self.sizes.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(text, "{comma}{size}").expect(INFALLIBLE);
        }
        text.push(']');
    }
}

/// `name:tensor:tensor…`.
pub(super) fn key(name: &str, words: &[u64]) -> String {
    let mut text = name.to_owned();
    for tensor in tensors(words) {
        text.push(':');
        tensor.spell(&mut text);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::header::{BUFFER, MORE, MPS, RANK_SHIFT, UNDEFINED, UNTYPED};
    use super::*;

    #[test]
    fn tensors_are_spelled_as_pytorch_does() {
        let words = [
            MPS | 2 << RANK_SHIFT | 6,
            2,
            3,
            5,
            UNDEFINED,
            MPS | BUFFER | 1 << RANK_SHIFT | 15,
            2 << RETAIN_SHIFT | 7,
            0,
            UNTYPED,
            0x1f00,
            MORE | 12 << 32,
        ];
        let text = key("cat", &words);
        assert_eq!(text, "cat:MPS:Float[2, 3]:CPU:Half[]:undefined:MPS(buf#7:2):BFloat16[0]:CPU:0x1f00:+12");
        assert_eq!(tensors(&words).map(|tensor| tensor.bytes()).collect::<Vec<_>>(), [24, 2, 0, 0, 0, 0]);
    }

    #[test]
    fn a_row_that_is_cut_off_ends_there() {
        let words = [MPS | 2 << RANK_SHIFT | 6, 2];
        assert_eq!(tensors(&words).count(), 0);
        assert_eq!(tensors(&[UNTYPED]).count(), 0);
        assert_eq!(tensors(&[46]).map(|tensor| tensor.scalar_type().0).next(), Some("BComplex32"));
        assert_eq!(tensors(&[200]).map(|tensor| tensor.scalar_type().0).next(), Some("Undefined"));
    }
}
