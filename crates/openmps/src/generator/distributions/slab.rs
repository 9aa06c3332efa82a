//! Contiguous tensor memory, as raw as it comes from the plug-in: an address, a count and a dtype.

use std::slice;

use half::{bf16, f16};

use super::element::{Dtype, Element};

/// Memory to fill.
#[derive(Debug)]
pub struct Output {
    address: *mut u8,
    elements: usize,
    dtype: Dtype,
}

impl Output {
    /// The `elements` elements of type `dtype` from `address` on.
    ///
    /// # Panics
    /// If `address` is not aligned for `dtype`.
    ///
    /// # Safety
    /// As long as the value is in use: unless `elements` is 0, `address` is valid for reads and writes of `elements *
    /// dtype.size_bytes()` bytes, the bytes are initialised, and nobody else accesses them.
    #[must_use]
    pub unsafe fn new(address: *mut u8, elements: usize, dtype: Dtype) -> Self {
        assert_aligned(address, dtype);
        Self { address, elements, dtype }
    }

    /// How many elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.elements
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.elements == 0
    }

    /// The type of the elements.
    #[must_use]
    pub fn dtype(&self) -> Dtype {
        self.dtype
    }

    /// The elements, of whose type the caller has made sure.
    pub(super) fn as_slice<T: Element>(&mut self) -> &mut [T] {
        assert!(T::is(self.dtype), "{:?} memory viewed as another type", self.dtype);
        if self.elements == 0 {
            return &mut [];
        }
        // SAFETY: `new`'s caller vouches for the memory; it is aligned by `new`'s check, and every bit pattern is a `T`.
        unsafe { slice::from_raw_parts_mut(self.address.cast(), self.elements) }
    }
}

/// Memory to read: parameters of each element.
#[derive(Debug)]
pub struct Input {
    address: *const u8,
    elements: usize,
    dtype: Dtype,
}

impl Input {
    /// The `elements` elements of type `dtype` from `address` on.
    ///
    /// # Panics
    /// If `address` is not aligned for `dtype`.
    ///
    /// # Safety
    /// As long as the value is in use: unless `elements` is 0, `address` is valid for reads of `elements *
    /// dtype.size_bytes()` bytes, the bytes are initialised, and nobody writes them.
    #[must_use]
    pub unsafe fn new(address: *const u8, elements: usize, dtype: Dtype) -> Self {
        assert_aligned(address, dtype);
        Self { address, elements, dtype }
    }

    /// How many elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.elements
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.elements == 0
    }

    /// The type of the elements.
    #[must_use]
    pub fn dtype(&self) -> Dtype {
        self.dtype
    }

    fn as_slice<T: Element>(&self) -> &[T] {
        if self.elements == 0 {
            return &[];
        }
        // SAFETY: `new`'s caller vouches for the memory; it is aligned by `new`'s check, and every bit pattern is a `T`.
        unsafe { slice::from_raw_parts(self.address.cast(), self.elements) }
    }

    /// The elements as floats; `None` where the dtype is no real float.
    pub(super) fn floats(&self) -> Option<Floats<'_>> {
        match self.dtype {
            Dtype::Float32 => Some(Floats::Float32(self.as_slice())),
            Dtype::Float16 => Some(Floats::Float16(self.as_slice())),
            Dtype::BFloat16 => Some(Floats::BFloat16(self.as_slice())),
            Dtype::Int8
            | Dtype::UInt8
            | Dtype::Int16
            | Dtype::UInt16
            | Dtype::Int32
            | Dtype::UInt32
            | Dtype::Int64
            | Dtype::UInt64
            | Dtype::Bool
            | Dtype::ComplexFloat
            | Dtype::ComplexHalf => None,
        }
    }
}

/// Real floats of any width, read as float.
#[derive(Clone, Copy)]
pub(super) enum Floats<'a> {
    Float32(&'a [f32]),
    Float16(&'a [f16]),
    BFloat16(&'a [bf16]),
}

impl Floats<'_> {
    pub(super) fn get(self, index: usize) -> f32 {
        match self {
            Self::Float32(values) => values[index],
            Self::Float16(values) => values[index].to_f32(),
            Self::BFloat16(values) => values[index].to_f32(),
        }
    }
}

fn assert_aligned(address: *const u8, dtype: Dtype) {
    assert!(address.addr().is_multiple_of(dtype.align_bytes()), "{dtype:?} memory is not aligned");
}
