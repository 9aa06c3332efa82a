//! Panels of bfloat: products by the CPU's matrix unit (AMX), or by a formula that gives the same bits.
//!
//! `TDPBF16PS` sums products of even and of odd inner indices apart, from zero, by fused multiply-adds, and adds both to the sum
//! (Intel's Software Developer's Manual, volume 2; 1.6 million random sums on a Xeon of 2023 had the bits of the formula).
//! That is another order than that of single products, so that only `OPENMPS_ENGINE=vector` asks for it.

use super::{Block, DEPTH, SIDE};

/// Rows and columns of a tile of sums.
const TILE: usize = 16;
/// Columns of two such tiles, which are computed side by side.
const TILES: usize = 2 * TILE;

/// Where sums and factors of a block are.
#[derive(Clone, Copy)]
pub(super) struct Panels {
    /// Rows of [`Panels::row_step`].
    pub(super) sums: *mut f32,
    /// Rows of [`DEPTH`].
    pub(super) left: *const u16,
    /// Rows of [`Panels::row_step`].
    pub(super) right: *const u16,
    /// Room for the right panel with two inner indices side by side.
    pub(super) pairs: *mut u32,
    pub(super) row_step: usize,
    /// A multiple of [`SIDE`].
    pub(super) depth: usize,
}

/// Adds the products of `block`'s panels to its sums.
///
/// # Safety
/// All of it is there, with the rows and columns that fill tiles.
pub(super) unsafe fn add(panels: Panels, block: Block) {
    let rows = block.padded_rows();
    if panels.depth == 0 {
        return;
    }
    #[cfg(target_arch = "x86_64")]
    if unit::is_permitted() {
        // SAFETY: by this function's contract, and the unit may be used.
        unsafe { unit::add(panels, rows) };
        return;
    }
    // SAFETY: by this function's contract.
    unsafe { panels.add(rows) };
}

impl Panels {
    /// # Safety
    /// As [`add`].
    unsafe fn add(self, rows: usize) {
        // SAFETY: by this function's contract.
        let number = |from: *const u16| f32::from_bits(u32::from(unsafe { from.read() }) << 16);
        for row in 0..rows {
            for column in 0..self.row_step {
                let mut apart = [0.0_f32; 2];
                for inner in 0..self.depth {
                    let factor = number(self.left.wrapping_add(row * DEPTH + inner));
                    let term = number(self.right.wrapping_add(inner * self.row_step + column));
                    apart[inner % 2] = factor.mul_add(term, apart[inner % 2]);
                }
                let sum = self.sums.wrapping_add(row * self.row_step + column);
                // SAFETY: by this function's contract.
                let before = unsafe { sum.read() };
                // SAFETY: as above.
                unsafe { sum.write(before + (apart[0] + apart[1])) };
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod unit {
    use std::arch::asm;
    use std::arch::x86_64::__cpuid_count;
    use std::sync::OnceLock;

    use super::{DEPTH, Panels, SIDE, TILE, TILES};

    /// `arch_prctl`'s request for the use of a feature with a large state (`asm/prctl.h`).
    const ARCH_REQ_XCOMP_PERM: libc::c_int = 0x1023;
    /// The number of the tiles among such features (Linux, `Documentation/arch/x86/xstate.rst`).
    const XFEATURE_XTILEDATA: libc::c_long = 18;

    /// Whether CPU and kernel let this process use the unit; asked once.
    pub(super) fn is_permitted() -> bool {
        static PERMITTED: OnceLock<bool> = OnceLock::new();
        *PERMITTED.get_or_init(|| {
            let edx = __cpuid_count(7, 0).edx;
            let has_unit = edx >> 22 & 1 == 1 && edx >> 24 & 1 == 1 && std::arch::is_x86_feature_detected!("avx512f");
            // SAFETY: asks for a permission, and touches no memory.
            has_unit && unsafe { libc::syscall(libc::SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) } == 0
        })
    }

    /// What `ldtilecfg` reads.
    #[repr(C, align(64))]
    struct Configuration {
        palette: u8,
        start_row: u8,
        reserved: [u8; 14],
        row_bytes: [u16; 16],
        rows: [u8; 16],
    }

    impl Configuration {
        /// Tiles 0 and 1 for sums, 4 for left factors, 6 and 7 for pairs of right ones.
        fn new(depth: usize) -> Self {
            let (bytes, pairs) = (u16::try_from(2 * depth), u8::try_from(depth / 2));
            let (bytes, pairs) = (bytes.expect("at most 64"), pairs.expect("at most 16"));
            let mut new = Self { palette: 1, start_row: 0, reserved: [0; 14], row_bytes: [0; 16], rows: [0; 16] };
            for (tile, row_bytes, rows) in [(0, 64, 16), (1, 64, 16), (4, bytes, 16), (6, 64, pairs), (7, 64, pairs)] {
                (new.row_bytes[tile], new.rows[tile]) = (row_bytes, rows);
            }
            new
        }
    }

    /// # Safety
    /// As [`super::add`]; the process may use the unit.
    pub(super) unsafe fn add(panels: Panels, rows: usize) {
        // SAFETY: the panels are there, and permission implies the registers.
        unsafe { pair(panels) };
        let configuration = Configuration::new(panels.depth);
        // SAFETY: a configuration of palette 1; the tiles are of no one else's in this thread.
        unsafe { asm!("ldtilecfg [{}]", in(reg) &raw const configuration, options(nostack, readonly)) };
        for column in (0..panels.row_step).step_by(TILES) {
            for row in (0..rows).step_by(TILE) {
                let sums = panels.sums.wrapping_add(row * panels.row_step + column);
                let left = panels.left.wrapping_add(row * DEPTH);
                // SAFETY: by this function's contract the rows of five tiles are there.
                unsafe {
                    asm!(
                        "tileloadd tmm4, [{left} + {left_step}*1]",
                        "tileloadd tmm6, [{pairs} + {step}*1]",
                        "tileloadd tmm0, [{sums} + {step}*1]",
                        "tdpbf16ps tmm0, tmm4, tmm6",
                        "tileloadd tmm7, [{pairs} + {step}*1 + 64]",
                        "tileloadd tmm1, [{sums} + {step}*1 + 64]",
                        "tdpbf16ps tmm1, tmm4, tmm7",
                        "tilestored [{sums} + {step}*1], tmm0",
                        "tilestored [{sums} + {step}*1 + 64], tmm1",
                        left = in(reg) left,
                        left_step = in(reg) 2 * DEPTH,
                        pairs = in(reg) panels.pairs.wrapping_add(column),
                        sums = in(reg) sums,
                        step = in(reg) 4 * panels.row_step,
                        options(nostack),
                    );
                }
            }
        }
        // SAFETY: forgets the tiles, which nobody needs any more, so that switches between threads stay cheap.
        unsafe { asm!("tilerelease", options(nostack, nomem)) };
    }

    /// Puts each two inner indices of the right panel side by side.
    ///
    /// # Safety
    /// As [`super::add`].
    #[target_feature(enable = "avx512f")]
    unsafe fn pair(panels: Panels) {
        use std::arch::x86_64::{
            __m256i, _mm256_loadu_si256, _mm512_cvtepu16_epi32, _mm512_or_si512, _mm512_slli_epi32, _mm512_storeu_si512,
        };
        let mut inner = 0;
        while inner < panels.depth {
            let mut column = 0;
            while column < panels.row_step {
                let from = panels.right.wrapping_add(inner * panels.row_step + column);
                // SAFETY: by this function's contract.
                let even = unsafe { _mm256_loadu_si256(from.cast::<__m256i>()) };
                // SAFETY: as above.
                let odd = unsafe { _mm256_loadu_si256(from.wrapping_add(panels.row_step).cast::<__m256i>()) };
                let odd = _mm512_slli_epi32::<16>(_mm512_cvtepu16_epi32(odd));
                let both = _mm512_or_si512(_mm512_cvtepu16_epi32(even), odd);
                let to = panels.pairs.wrapping_add(inner / 2 * panels.row_step + column);
                // SAFETY: as above.
                unsafe { _mm512_storeu_si512(to.cast(), both) };
                column += TILE;
            }
            inner += 2;
        }
    }
    const _: () = assert!(DEPTH <= 32 && SIDE.is_multiple_of(2), "a tile has 16 rows of 64 bytes");
}
