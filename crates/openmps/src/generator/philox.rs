//! Philox4x32: the host engine with ten rounds and the device variant with nine.
//!
//! The host engine is `ATen/core/PhiloxRNGEngine.h`, which agrees with Random123. The device variant is `philox4::rand` of
//! `c10/metal/random.h`: its "10 rounds" run nine, the counter holds the index in words 2 and 3 with the high half first, and
//! so does the key hold the seed. All of PyTorch's MPS kernels use it, so its values are what `torch.rand` returns.

const MULTIPLIERS: [u32; 2] = [0xD251_1F53, 0xCD9E_8D57];
const KEY_STEPS: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];

/// The high and low halves of `a * b`.
#[inline]
fn multiply(a: u32, b: u32) -> (u32, u32) {
    let product = u64::from(a) * u64::from(b);
    (high(product), low(product))
}

/// The upper 32 bits.
#[inline]
pub(crate) fn high(value: u64) -> u32 {
    (value >> 32) as u32
}

/// The lower 32 bits.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the lower half is what is asked for")]
pub(crate) fn low(value: u64) -> u32 {
    value as u32
}

#[inline]
fn round(counter: [u32; 4], key: [u32; 2]) -> [u32; 4] {
    let (high0, low0) = multiply(MULTIPLIERS[0], counter[0]);
    let (high1, low1) = multiply(MULTIPLIERS[1], counter[2]);
    [high1 ^ counter[1] ^ key[0], low1, high0 ^ counter[3] ^ key[1], low0]
}

#[inline]
fn rounds<const N: u32>(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    for _ in 0..N {
        counter = round(counter, key);
        key = [key[0].wrapping_add(KEY_STEPS[0]), key[1].wrapping_add(KEY_STEPS[1])];
    }
    counter
}

/// One block of Philox4x32-10.
#[must_use]
pub fn philox4x32_10(counter: [u32; 4], key: [u32; 2]) -> [u32; 4] {
    rounds::<10>(counter, key)
}

/// Where a consumer of random numbers starts: the seed and the offset in blocks of 128 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Philox {
    /// The generator's seed.
    pub seed: u64,
    /// The first block.
    pub offset: u64,
}

impl Philox {
    /// The four words of block `offset + index`: `philox4::rand(seed, offset + index)`.
    #[inline]
    #[must_use]
    pub fn words(self, index: u64) -> [u32; 4] {
        let index = self.offset.wrapping_add(index);
        rounds::<9>([0, 0, high(index), low(index)], [high(self.seed), low(self.seed)])
    }

    /// A start `blocks` blocks later.
    #[must_use]
    pub fn skip(self, blocks: u64) -> Self {
        Self { offset: self.offset.wrapping_add(blocks), ..self }
    }
}

/// Uniform in [0, 1) from the lower 31 bits of `word`, in steps of 2^-31 rounded to float: `uint32_to_uniform_float`.
#[inline]
#[must_use]
pub fn uniform(word: u32) -> f32 {
    const SCALE: f32 = f32::from_bits(0x2FFF_FFFF);
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_wrap,
        reason = "rounds to nearest, as Metal's conversion does; 31 bits fit"
    )]
    let value = (word & 0x7FFF_FFFF) as i32 as f32;
    value * SCALE
}

/// The host engine: a cursor over the words of consecutive blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HostPhilox {
    counter: [u32; 4],
    key: [u32; 2],
    output: [u32; 4],
    /// Word of `output` that comes next; at 0 a new block is made first.
    cursor: usize,
}

impl HostPhilox {
    /// An engine at block 0 of subsequence 0.
    pub(crate) fn new(seed: u64) -> Self {
        Self { counter: [0; 4], key: [low(seed), high(seed)], output: [0; 4], cursor: 0 }
    }

    /// Words 0 and 1 of the counter.
    pub(crate) fn offset(&self) -> u64 {
        u64::from(self.counter[1]) << 32 | u64::from(self.counter[0])
    }

    /// Sets words 0 and 1 of the counter; a partly used block stays in use.
    pub(crate) fn set_offset(&mut self, offset: u64) {
        self.counter[0] = low(offset);
        self.counter[1] = high(offset);
    }

    pub(crate) fn next_word(&mut self) -> u32 {
        if self.cursor == 0 {
            self.output = philox4x32_10(self.counter, self.key);
            self.increment();
        }
        let word = self.output[self.cursor];
        self.cursor = (self.cursor + 1) % 4;
        word
    }

    fn increment(&mut self) {
        for word in &mut self.counter {
            *word = word.wrapping_add(1);
            if *word != 0 {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_random123() {
        // Known-answer vectors of Random123's kat_vectors, `philox4x32 10`.
        let cases = [
            ([0; 4], [0; 2], [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]),
            ([u32::MAX; 4], [u32::MAX; 2], [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]),
            (
                [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344],
                [0xa409_3822, 0x299f_31d0],
                [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1],
            ),
        ];
        for (counter, key, expected) in cases {
            assert_eq!(philox4x32_10(counter, key), expected);
        }
    }

    #[test]
    fn the_host_engine_starts_as_atens() {
        let first_block = |seed| {
            let mut engine = HostPhilox::new(seed);
            std::array::from_fn(|_| engine.next_word())
        };
        assert_eq!(first_block(42), [0x9cea_f053, 0x77f5_493b, 0x12bf_50ad, 0x5742_b3d7]);
        assert_eq!(first_block(0), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
    }

    #[test]
    fn the_counter_carries_through_all_words() {
        let mut engine = HostPhilox::new(1);
        engine.counter = [u32::MAX, u32::MAX, 7, 0];
        engine.next_word();
        assert_eq!(engine.counter, [0, 0, 8, 0]);
    }

    #[test]
    #[expect(clippy::excessive_precision, reason = "nine digits name a float without doubt")]
    fn device_blocks_and_uniforms() {
        type Case = (u64, u64, [u32; 4], [f32; 4]);
        let cases: [Case; 6] = [
            (
                0,
                0,
                [0x7028_b1c8, 0xd659_4c40, 0x4f20_51bb, 0x76d6_628e],
                [0.876_241_863, 0.674_600_065, 0.618_173_718, 0.928_417_444],
            ),
            (
                0,
                1,
                [0xfe0f_3d59, 0x33e2_d6da, 0xb59d_d959, 0xbae4_c07a],
                [0.984_840_035, 0.405_360_043, 0.418_879_628, 0.460_105_926],
            ),
            (
                42,
                0,
                [0x9a82_2623, 0xfd13_55ba, 0x3f3f_7f79, 0x4bd4_b252],
                [0.207_096_815, 0.977_152_467, 0.494_125_277, 0.592_428_446],
            ),
            (
                42,
                1,
                [0x6fba_afb2, 0xc7e6_cdba, 0xed3e_93e8, 0x0a28_f326],
                [0.872_884_631, 0.561_730_981, 0.853_472_173, 0.079_374_678_4],
            ),
            (
                0x1234_5678_9abc_def0,
                5,
                [0x669a_0181, 0x8c69_d783, 0x2ab8_b5fa, 0x8872_5e8c],
                [0.801_574_826, 0.096_980_027_9, 0.333_761_901, 0.065_990_269_2],
            ),
            (
                (1 << 63) - 1,
                1 << 32,
                [0x3892_37c0, 0x0eba_add2, 0x8dd4_4d74, 0xc67b_7779],
                [0.441_962_183, 0.115_071_982, 0.108_041_45, 0.550_642_848],
            ),
        ];
        for (seed, index, words, uniforms) in cases {
            let start = Philox { seed, offset: 0 };
            assert_eq!(start.words(index), words, "seed {seed}, index {index}");
            assert_eq!(start.skip(index).words(0), words);
            assert_eq!(words.map(uniform), uniforms);
        }
    }

    #[test]
    fn uniforms_stay_below_one() {
        assert_eq!(uniform(u32::MAX), 0.999_999_94);
        assert_eq!(uniform(0x8000_0000), 0.0);
    }
}
