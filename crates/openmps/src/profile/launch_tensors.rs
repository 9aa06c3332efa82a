//! The tensors that a kernel is launched with, as the caller tells them: words in memory that the thread uses again.

use std::cell::Cell;

use super::tensor::{RETAIN_SHIFT, header};
use super::{flag, flags};
use crate::memory;

thread_local! {
    /// Memory of the thread's last launch.
    static SPARE: Cell<Vec<u64>> = const { Cell::new(Vec::new()) };
}

/// PyTorch's dtypes by the numbers of their scalar types, the usual ones first.
pub const DTYPES: [(&str, u8); 20] = [
    ("float32", 6),
    ("float16", 5),
    ("bfloat16", 15),
    ("int64", 4),
    ("int32", 3),
    ("uint8", 0),
    ("bool", 11),
    ("int16", 2),
    ("int8", 1),
    ("float64", 7),
    ("complex64", 9),
    ("complex32", 8),
    ("complex128", 10),
    ("float8_e5m2", 23),
    ("float8_e4m3fn", 24),
    ("float8_e5m2fnuz", 25),
    ("float8_e4m3fnuz", 26),
    ("uint16", 27),
    ("uint32", 28),
    ("uint64", 29),
];

/// The number of a scalar type that is none of [`DTYPES`].
pub const OTHER_DTYPE: u8 = 0xff;

/// Tensors of a launch. Wanted while [`flags`] has [`flag::TENSORS`].
#[derive(Debug, Default)]
pub struct LaunchTensors(Vec<u64>);

impl LaunchTensors {
    /// Adds a tensor: its scalar type (a number of [`DTYPES`]), whether it is the device's, where it lies there if it has
    /// elements, and its sizes. More than 255 sizes are no tensor, which is left out.
    pub fn add(
        &mut self,
        scalar_type: u8,
        is_mps: bool,
        address: Option<u64>,
        sizes: impl ExactSizeIterator<Item = u64>,
    ) {
        let Ok(rank) = u8::try_from(sizes.len()) else { return };
        if self.0.capacity() == 0 {
            self.0 = SPARE.try_with(Cell::take).unwrap_or_default();
        }
        let header = u64::from(scalar_type) | u64::from(rank) << header::RANK_SHIFT;
        let header = if is_mps { header | header::MPS } else { header };
        match address.filter(|_| is_mps && flags() & flag::BUFFER_IDS != 0) {
            Some(address) => self.0.extend([header | header::BUFFER, buffer_word(address)]),
            None => self.0.push(header),
        }
        self.0.extend(sizes);
    }

    pub(super) fn words(&self) -> &[u64] {
        &self.0
    }
}

impl Drop for LaunchTensors {
    fn drop(&mut self) {
        if self.0.capacity() != 0 {
            self.0.clear();
            let words = std::mem::take(&mut self.0);
            // A thread that is ending has no further launch.
            let _ = SPARE.try_with(|spare| spare.set(words));
        }
    }
}

/// Number and retain count of the block at `address`; 0 where there is none.
fn buffer_word(address: u64) -> u64 {
    let pointer = usize::try_from(address).map_or(std::ptr::null(), std::ptr::without_provenance);
    let block = memory::existing_allocator().and_then(|allocator| allocator.block_containing(pointer));
    block.map_or(0, |block| block.id | u64::from(block.retain_count) << RETAIN_SHIFT)
}

#[cfg(test)]
mod tests {
    use super::super::tensor;
    use super::*;

    #[test]
    fn a_launch_tells_its_tensors_in_memory_that_is_used_again() {
        let mut tensors = LaunchTensors::default();
        tensors.add(6, true, Some(0x1000), [2, 3].into_iter());
        tensors.add(4, false, None, [].into_iter());
        tensors.add(OTHER_DTYPE, true, None, [0].into_iter());
        tensors.add(6, true, None, vec![1; 256].into_iter());
        let text = tensor::key("scale", tensors.words());
        assert_eq!(text, "scale:MPS:Float[2, 3]:CPU:Long[]:MPS:Undefined[0]");
        let memory = tensors.words().as_ptr();
        drop(tensors);
        let mut next = LaunchTensors::default();
        next.add(5, true, None, [7].into_iter());
        assert_eq!((tensor::key("", next.words()).as_str(), next.words().as_ptr()), (":MPS:Half[7]", memory));
    }

    #[test]
    fn dtypes_have_the_numbers_of_their_scalar_types() {
        let spelled = |number: u8| tensor::key("", &[u64::from(number)]);
        let name = |dtype: &str| DTYPES.iter().find(|(name, _)| *name == dtype).map(|&(_, number)| spelled(number));
        for (dtype, spelling) in [("float32", "Float"), ("bfloat16", "BFloat16"), ("int64", "Long"), ("bool", "Bool")] {
            assert_eq!(name(dtype), Some(format!(":CPU:{spelling}[]")));
        }
    }
}
