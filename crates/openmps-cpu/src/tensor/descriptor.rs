//! Tensor descriptors in a thread's private memory.

use super::element::descriptor_element_bytes;

/// Most dimensions of a tensor (Metal's `MTLTensorExtents`).
pub(crate) const RANK_MAX: usize = 16;
/// Bytes of a descriptor, of every rank; kernels ask for them.
#[cfg(any(feature = "codegen", test))]
pub(crate) const DESCRIPTOR_BYTES: usize = size_of::<Descriptor>();
/// What a descriptor that [`Descriptor::write`] wrote begins with.
const MARK: u32 = 0x4f4d_5444;
/// The kind of descriptors whose pointer operand points to the descriptor itself.
pub(crate) const INLINE_KIND: u32 = 2;

/// A strided tensor in memory. Dimension 0 is the innermost.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Descriptor {
    mark: u32,
    rank: u16,
    element_bytes: u16,
    address: u64,
    extents: [i32; RANK_MAX],
    strides: [i32; RANK_MAX],
}

impl Descriptor {
    /// What stands in memory after a refusal: an operation on it is refused too.
    const NONE: Self =
        Self { mark: 0, rank: 0, element_bytes: 1, address: 0, extents: [0; RANK_MAX], strides: [0; RANK_MAX] };

    /// A tensor of `extents` and `strides`, both in elements.
    ///
    /// # Errors
    /// Too many dimensions, or an element code that is not known.
    pub(crate) fn new(address: u64, extents: &[i32], strides: &[i32], code: u32) -> Result<Self, &'static str> {
        let element_bytes = descriptor_element_bytes(code).ok_or("a tensor has elements of an unknown type")?;
        let rank = u16::try_from(extents.len()).ok().filter(|rank| usize::from(*rank) <= RANK_MAX);
        let mut tensor = Self { mark: MARK, element_bytes, address, ..Self::NONE };
        tensor.rank = rank.ok_or("a tensor has more than 16 dimensions")?;
        tensor.extents[..extents.len()].copy_from_slice(extents);
        tensor.strides[..strides.len()].copy_from_slice(strides);
        Ok(tensor)
    }

    /// The part of this tensor that starts at `origin`.
    ///
    /// # Errors
    /// The rank is not this tensor's.
    pub(crate) fn slice(&self, origin: &[i32], extents: &[i32]) -> Result<Self, &'static str> {
        if origin.len() != usize::from(self.rank) {
            return Err("a slice of a tensor has another rank");
        }
        let mut part = *self;
        for (dimension, &start) in origin.iter().enumerate() {
            part.address = part.address.wrapping_add_signed(self.step_bytes(dimension).wrapping_mul(i64::from(start)));
        }
        part.extents[..extents.len()].copy_from_slice(extents);
        Ok(part)
    }

    /// Elements of dimension `dimension`; 0 where there is none.
    pub(crate) fn extent(&self, dimension: usize) -> i32 {
        if dimension < usize::from(self.rank) { self.extents[dimension] } else { 0 }
    }

    /// Dimensions.
    pub(crate) fn rank(&self) -> usize {
        usize::from(self.rank)
    }

    /// Elements of dimension `dimension` that exist.
    pub(crate) fn count(&self, dimension: usize) -> u32 {
        self.extent(dimension).max(0).unsigned_abs()
    }

    /// Bytes of an element.
    pub(crate) fn element_bytes(&self) -> usize {
        usize::from(self.element_bytes)
    }

    /// Address of the first element.
    pub(crate) fn address(&self) -> u64 {
        self.address
    }

    /// Bytes from an element to the next one of dimension `dimension`.
    pub(crate) fn step_bytes(&self, dimension: usize) -> i64 {
        i64::from(self.strides[dimension]) * i64::from(self.element_bytes)
    }

    /// Writes the descriptor to a thread's memory.
    ///
    /// # Safety
    /// `to` points to [`DESCRIPTOR_BYTES`] writable bytes.
    pub(crate) unsafe fn write(tensor: Option<&Self>, to: *mut u8) {
        // SAFETY: by this function's contract; the alignment is not relied on.
        unsafe { to.cast::<Self>().write_unaligned(*tensor.unwrap_or(&Self::NONE)) };
    }

    /// Reads a descriptor of `rank` dimensions, any where it is `None`.
    ///
    /// # Errors
    /// There is no descriptor, or it has another rank.
    ///
    /// # Safety
    /// `from` points to [`DESCRIPTOR_BYTES`] readable bytes.
    pub(crate) unsafe fn read(from: *const u8, rank: Option<usize>) -> Result<Self, &'static str> {
        // SAFETY: by this function's contract; every pattern of bits is a value.
        let tensor = unsafe { from.cast::<Self>().read_unaligned() };
        if tensor.mark != MARK || usize::from(tensor.rank) > RANK_MAX {
            return Err("a tensor operation got a tensor that was not initialized");
        }
        if rank.is_some_and(|rank| rank != tensor.rank()) {
            return Err("a tensor operation got a tensor of a rank that it does not take");
        }
        Ok(tensor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_move_the_address_and_replace_the_extents() {
        let tensor = Descriptor::new(1000, &[8, 4], &[1, 10], 1).unwrap();
        let part = tensor.slice(&[3, -2], &[5, 6]).unwrap();
        assert_eq!((part.address(), part.extent(0), part.extent(1)), (1000 + 2 * 3 - 2 * 20, 5, 6));
        assert_eq!((part.extent(2), part.step_bytes(1)), (0, 20));
        assert!(tensor.slice(&[0], &[1]).is_err());
    }

    #[test]
    fn wrong_tensors_are_refused() {
        assert!(Descriptor::new(0, &[1; 17], &[1; 17], 0).is_err());
        assert!(Descriptor::new(0, &[1], &[1], 9).is_err());
        let mut bytes = [0_u8; DESCRIPTOR_BYTES];
        // SAFETY: the array has a descriptor's bytes.
        let read = |bytes: &[u8; DESCRIPTOR_BYTES], rank| unsafe { Descriptor::read(bytes.as_ptr(), rank) };
        assert!(read(&bytes, None).is_err());
        let tensor = Descriptor::new(64, &[-5, 2], &[1, 3], 7).unwrap();
        // SAFETY: as above.
        unsafe { Descriptor::write(Some(&tensor), bytes.as_mut_ptr()) };
        assert_eq!(read(&bytes, Some(2)), Ok(tensor));
        assert!(read(&bytes, Some(4)).is_err());
        assert_eq!((tensor.extent(0), tensor.count(0), tensor.count(1)), (-5, 0, 2));
        // SAFETY: as above.
        unsafe { Descriptor::write(None, bytes.as_mut_ptr()) };
        assert!(read(&bytes, None).is_err());
    }
}
