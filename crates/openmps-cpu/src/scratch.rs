//! A worker's memory for the threadgroup that it runs: threadgroup memory and frames. Contents are undefined, as Metal's are.

use std::cell::RefCell;
use std::mem::MaybeUninit;

/// Alignment of a block: enough for every MSL type and for the values of a SIMD-group.
#[repr(align(128))]
#[derive(Clone, Copy)]
struct Line {
    _bytes: [u8; 128],
}

/// Larger blocks are given back after the launch: only kernels with large private arrays and barriers need them.
const KEPT_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Lines that nobody has written yet cost no memory.
type Block = Box<[MaybeUninit<Line>]>;

thread_local! {
    static BLOCKS: RefCell<[Block; 2]> = RefCell::new([Box::new([]), Box::new([])]);
}

/// Calls `run` with two blocks of this worker of at least `sizes` bytes.
pub(crate) fn with_blocks<R>(sizes: [usize; 2], run: impl FnOnce([*mut u8; 2]) -> R) -> R {
    BLOCKS.with_borrow_mut(|blocks| {
        for (block, size) in blocks.iter_mut().zip(sizes) {
            let lines = size.div_ceil(size_of::<Line>());
            if block.len() < lines {
                *block = Box::new_uninit_slice(lines);
            }
        }
        let result = run(blocks.each_mut().map(|block| block.as_mut_ptr().cast()));
        for block in blocks {
            if size_of_val(&**block) > KEPT_BYTES_MAX {
                *block = Box::new([]);
            }
        }
        result
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_aligned_and_apart() {
        for sizes in [[0, 0], [1, 128], [129, 5], [32 * 1024, KEPT_BYTES_MAX + 1], [16, 16]] {
            with_blocks(sizes, |blocks| {
                let [one, other] = blocks.map(|block| block.addr());
                assert_eq!((one % 128, other % 128), (0, 0));
                let apart = one + sizes[0] <= other || other + sizes[1] <= one;
                assert!(apart, "{blocks:?} of {sizes:?} bytes");
            });
        }
    }
}
