//! Element types of tensors and the numbers that they are computed in.

use crate::float::{bf16_to_f32, f16_to_f32, f32_to_bf16, f32_to_f16};

/// The type of an element; the discriminants are part of the ABI of generated code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Element {
    F32,
    F16,
    Bf16,
    I8,
    I32,
}

impl Element {
    /// Every type, in the order of its number.
    pub(crate) const ALL: [Self; 5] = [Self::F32, Self::F16, Self::Bf16, Self::I8, Self::I32];

    /// The type with this number.
    pub(crate) fn of_number(number: u32) -> Option<Self> {
        Self::ALL.get(usize::try_from(number).ok()?).copied()
    }

    /// The type that the data type codes of cooperative tensors name.
    pub(crate) fn of_data_type(code: u32) -> Option<Self> {
        Some(match code {
            0x1000_0020 => Self::F32,
            0x1000_0010 => Self::F16,
            0x9000_0010 => Self::Bf16,
            0x2000_0008 => Self::I8,
            0x2000_0020 => Self::I32,
            _ => return None,
        })
    }

    /// Bytes of an element.
    pub(crate) fn size_bytes(self) -> usize {
        match self {
            Self::F32 | Self::I32 => 4,
            Self::F16 | Self::Bf16 => 2,
            Self::I8 => 1,
        }
    }

    /// Whether elements are integers.
    pub(crate) fn is_integer(self) -> bool {
        matches!(self, Self::I8 | Self::I32)
    }
}

/// Bytes of the element that a tensor descriptor's code names: f32, f16, bf16, i8 and i32 are 0, 1, 2, 3 and 7 in Apple-compiled
/// libraries; that 4, 5, 6 and 8 are u8, i16, u16 and u32 is a guess from the order.
pub(crate) fn descriptor_element_bytes(code: u32) -> Option<u16> {
    Some(match code {
        0 | 7 | 8 => 4,
        1 | 2 | 5 | 6 => 2,
        3 | 4 => 1,
        _ => return None,
    })
}

/// What products are computed in.
pub(crate) trait Number: Copy + Default {
    /// `self * factor + addend`, rounded once; integers wrap.
    fn multiply_add(self, factor: Self, addend: Self) -> Self;
    /// The nearest number.
    fn of_float(value: f32) -> Self;
    /// The nearest number.
    fn of_integer(value: i32) -> Self;
    /// The nearest float.
    fn to_float(self) -> f32;
    /// The integer, towards zero, at most the largest.
    fn to_integer(self) -> i32;
    /// The elements type of the same bits.
    const ELEMENT: Element;
}

impl Number for f32 {
    #[inline(always)]
    fn multiply_add(self, factor: Self, addend: Self) -> Self {
        self.mul_add(factor, addend)
    }

    fn of_float(value: f32) -> Self {
        value
    }

    #[expect(clippy::cast_precision_loss, reason = "rounds like a conversion in MSL")]
    fn of_integer(value: i32) -> Self {
        value as Self
    }

    fn to_float(self) -> f32 {
        self
    }

    #[expect(clippy::cast_possible_truncation, reason = "saturates like a conversion in MSL")]
    fn to_integer(self) -> i32 {
        self as i32
    }

    const ELEMENT: Element = Element::F32;
}

impl Number for i32 {
    #[inline(always)]
    fn multiply_add(self, factor: Self, addend: Self) -> Self {
        self.wrapping_mul(factor).wrapping_add(addend)
    }

    fn of_float(value: f32) -> Self {
        value.to_integer()
    }

    fn of_integer(value: i32) -> Self {
        value
    }

    fn to_float(self) -> f32 {
        f32::of_integer(self)
    }

    fn to_integer(self) -> i32 {
        self
    }

    const ELEMENT: Element = Element::I32;
}

/// An element's bytes as a number.
#[inline(always)]
pub(crate) fn decode_16<T: Number>(element: Element, bytes: [u8; 2]) -> T {
    let bits = u16::from_le_bytes(bytes);
    T::of_float(if element == Element::Bf16 { bf16_to_f32(bits) } else { f16_to_f32(bits) })
}

/// An element's bytes as a number.
#[inline(always)]
pub(crate) fn decode_32<T: Number>(element: Element, bytes: [u8; 4]) -> T {
    if element.is_integer() { T::of_integer(i32::from_le_bytes(bytes)) } else { T::of_float(f32::from_le_bytes(bytes)) }
}

/// A byte as a number.
#[inline(always)]
pub(crate) fn decode_8<T: Number>(byte: u8) -> T {
    T::of_integer(i32::from(byte.cast_signed()))
}

/// The nearest element's bytes.
#[inline(always)]
pub(crate) fn encode_16<T: Number>(element: Element, number: T) -> [u8; 2] {
    let value = number.to_float();
    if element == Element::Bf16 { f32_to_bf16(value).to_le_bytes() } else { f32_to_f16(value).to_le_bytes() }
}

/// The nearest element's bytes.
#[inline(always)]
pub(crate) fn encode_32<T: Number>(element: Element, number: T) -> [u8; 4] {
    if element.is_integer() { number.to_integer().to_le_bytes() } else { number.to_float().to_le_bytes() }
}

/// The nearest byte.
#[inline(always)]
pub(crate) fn encode_8<T: Number>(number: T) -> [u8; 1] {
    let value = number.to_integer().clamp(i32::from(i8::MIN), i32::from(i8::MAX));
    i8::try_from(value).expect("clamped to i8").to_le_bytes()
}
