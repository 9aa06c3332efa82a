//! Dtypes of random tensors and how a drawn value becomes an element.

use half::{bf16, f16};

/// An element type of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each variant is the type of the same name")]
pub enum Dtype {
    Float32,
    Float16,
    BFloat16,
    Int8,
    UInt8,
    Int16,
    UInt16,
    Int32,
    UInt32,
    Int64,
    UInt64,
    Bool,
    ComplexFloat,
    ComplexHalf,
}

impl Dtype {
    /// Every dtype.
    pub const ALL: [Self; 14] = [
        Self::Float32,
        Self::Float16,
        Self::BFloat16,
        Self::Int8,
        Self::UInt8,
        Self::Int16,
        Self::UInt16,
        Self::Int32,
        Self::UInt32,
        Self::Int64,
        Self::UInt64,
        Self::Bool,
        Self::ComplexFloat,
        Self::ComplexHalf,
    ];

    /// Bytes of one element.
    #[must_use]
    pub fn size_bytes(self) -> usize {
        match self {
            Self::Int8 | Self::UInt8 | Self::Bool => 1,
            Self::Float16 | Self::BFloat16 | Self::Int16 | Self::UInt16 => 2,
            Self::Float32 | Self::Int32 | Self::UInt32 | Self::ComplexHalf => 4,
            Self::Int64 | Self::UInt64 | Self::ComplexFloat => 8,
        }
    }

    /// Alignment of an element in bytes: complex numbers align as their parts do.
    #[must_use]
    pub fn align_bytes(self) -> usize {
        match self {
            Self::ComplexFloat => 4,
            Self::ComplexHalf => 2,
            Self::Float32
            | Self::Float16
            | Self::BFloat16
            | Self::Int8
            | Self::UInt8
            | Self::Int16
            | Self::UInt16
            | Self::Int32
            | Self::UInt32
            | Self::Int64
            | Self::UInt64
            | Self::Bool => self.size_bytes(),
        }
    }

    /// Metal's name, the last part of a kernel's name.
    #[must_use]
    pub fn metal_name(self) -> &'static str {
        match self {
            Self::Float32 => "float",
            Self::Float16 => "half",
            Self::BFloat16 => "bfloat",
            Self::Int8 => "char",
            Self::UInt8 => "uchar",
            Self::Int16 => "short",
            Self::UInt16 => "ushort",
            Self::Int32 => "int",
            Self::UInt32 => "uint",
            Self::Int64 => "long",
            Self::UInt64 => "ulong",
            Self::Bool => "bool",
            Self::ComplexFloat => "float2",
            Self::ComplexHalf => "half2",
        }
    }

    /// `c10::ScalarType`'s name.
    #[must_use]
    pub fn scalar_type(self) -> &'static str {
        match self {
            Self::Float32 => "Float",
            Self::Float16 => "Half",
            Self::BFloat16 => "BFloat16",
            Self::Int8 => "Char",
            Self::UInt8 => "Byte",
            Self::Int16 => "Short",
            Self::UInt16 => "UInt16",
            Self::Int32 => "Int",
            Self::UInt32 => "UInt32",
            Self::Int64 => "Long",
            Self::UInt64 => "UInt64",
            Self::Bool => "Bool",
            Self::ComplexFloat => "ComplexFloat",
            Self::ComplexHalf => "ComplexHalf",
        }
    }
}

/// The Rust type of a dtype's elements. Every bit pattern is a value, so that memory of any content can be viewed as one.
pub(super) trait Element: Copy + 'static {
    /// Whether elements of `dtype` have this type.
    fn is(dtype: Dtype) -> bool;
    /// Metal's conversion from float, except that what does not fit saturates.
    fn from_f32(value: f32) -> Self;
    /// Metal's conversion from long: integers wrap, floats round, bool asks for non-zero.
    fn from_i64(value: i64) -> Self;
}

macro_rules! integer_element {
    ($($T:ty, $dtype:ident;)*) => { $(
        impl Element for $T {
            fn is(dtype: Dtype) -> bool {
                dtype == Dtype::$dtype
            }

            #[expect(clippy::cast_possible_truncation, clippy::allow_attributes, reason = "Metal's conversion")]
            #[allow(clippy::cast_sign_loss, reason = "Metal's conversion, for the unsigned types")]
            fn from_f32(value: f32) -> Self {
                value as Self
            }

            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::unnecessary_cast,
                reason = "Metal's conversion, not for every type of this macro")]
            fn from_i64(value: i64) -> Self {
                value as Self
            }
        }
    )* };
}

integer_element! {
    i8, Int8;
    i16, Int16;
    u16, UInt16;
    i32, Int32;
    u32, UInt32;
    i64, Int64;
    u64, UInt64;
    u8, UInt8;
}

impl Element for f32 {
    fn is(dtype: Dtype) -> bool {
        dtype == Dtype::Float32
    }

    fn from_f32(value: f32) -> Self {
        value
    }

    #[expect(clippy::cast_precision_loss, reason = "rounds, as Metal's conversion does")]
    fn from_i64(value: i64) -> Self {
        value as Self
    }
}

impl Element for f16 {
    fn is(dtype: Dtype) -> bool {
        dtype == Dtype::Float16
    }

    fn from_f32(value: f32) -> Self {
        Self::from_f32(value)
    }

    fn from_i64(value: i64) -> Self {
        Self::from_f32(f32::from_i64(value))
    }
}

impl Element for bf16 {
    fn is(dtype: Dtype) -> bool {
        dtype == Dtype::BFloat16
    }

    fn from_f32(value: f32) -> Self {
        Self::from_f32(value)
    }

    fn from_i64(value: i64) -> Self {
        Self::from_f32(f32::from_i64(value))
    }
}

/// An element of a bool tensor: a byte, of which writers use 0 and 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(super) struct Boolean(pub(super) u8);

impl Element for Boolean {
    fn is(dtype: Dtype) -> bool {
        dtype == Dtype::Bool
    }

    fn from_f32(value: f32) -> Self {
        Self(u8::from(value != 0.0))
    }

    fn from_i64(value: i64) -> Self {
        Self(u8::from(value != 0))
    }
}
