//! Sampler states, and the words that AIR encodes them in.
//!
//! AIR keeps a `constexpr sampler` as a constant of two words in constant memory; here every sampler argument points to such
//! words too, so that engines read one form. Fields of the first word, lowest bits first: address modes of s, t and r (3 bits
//! each), magnification and minification filter (2 bits each), mip filter (2), pixel coordinates (1), compare function (4),
//! anisotropy less one (4), least and largest level of detail as halves (16 each), border color (2). Where the field of an
//! address mode is 0, the border color says what lies outside. Source: modules of Apple's compiler in the test suites of
//! `metal2vulkan` and `LuisaCompute`, and the former's decoder. AIR up to version 2.6 has one word, with bit 63 set; the second
//! word (a bias) is of no use in kernels and not read.

/// What lies outside a texture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AddressMode {
    /// Zero; alpha is 1 where the format has none.
    ClampToZero,
    /// The nearest texel.
    #[default]
    ClampToEdge,
    /// The texture again.
    Repeat,
    /// The texture, mirrored each other time.
    MirroredRepeat,
    /// The border color; black and transparent, it is [`ClampToZero`](Self::ClampToZero).
    ClampToBorderColor,
}

/// How texels become a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MinMagFilter {
    /// The nearest one.
    #[default]
    Nearest,
    /// The mean of the nearest ones by distance.
    Linear,
}

/// How mip levels become a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MipFilter {
    /// Level 0 alone.
    #[default]
    NotMipmapped,
    /// The nearest one.
    Nearest,
    /// The mean of the two nearest ones by distance.
    Linear,
}

/// How a reference value compares with a texel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "each variant is Metal's function of the same name")]
pub enum CompareFunction {
    #[default]
    Never,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Equal,
    NotEqual,
    Always,
}

/// The color outside a texture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BorderColor {
    /// (0, 0, 0, 0).
    #[default]
    TransparentBlack,
    /// (0, 0, 0, 1).
    OpaqueBlack,
    /// (1, 1, 1, 1).
    OpaqueWhite,
}

/// A sampler. The default is Metal's: nearest texel, clamped to the edge, normalized coordinates, every level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SamplerState {
    /// Filter where a texel covers more than a sample.
    pub mag_filter: MinMagFilter,
    /// Filter where a texel covers less than a sample.
    pub min_filter: MinMagFilter,
    /// Filter between levels.
    pub mip_filter: MipFilter,
    /// Address modes of s (width), t (height) and r (depth).
    pub address_modes: [AddressMode; 3],
    /// The color of [`AddressMode::ClampToBorderColor`].
    pub border_color: BorderColor,
    /// Whether coordinates count from 0 to 1, else texels. Without it address modes must not repeat.
    pub normalized_coordinates: bool,
    /// For `sample_compare` and `gather_compare`.
    pub compare_function: CompareFunction,
    /// Least level of detail.
    pub lod_min_clamp: f32,
    /// Largest level of detail.
    pub lod_max_clamp: f32,
    /// Most samples along the longer axis of a pixel's footprint, 1 to 16; carried, and without effect in kernels.
    pub max_anisotropy: u8,
}

impl Default for SamplerState {
    fn default() -> Self {
        Self {
            mag_filter: MinMagFilter::default(),
            min_filter: MinMagFilter::default(),
            mip_filter: MipFilter::default(),
            address_modes: [AddressMode::default(); 3],
            border_color: BorderColor::default(),
            normalized_coordinates: true,
            compare_function: CompareFunction::default(),
            lod_min_clamp: 0.0,
            lod_max_clamp: f32::MAX,
            max_anisotropy: 1,
        }
    }
}

/// The first bit of a field of the first word.
mod shift {
    pub(super) const MAG: u32 = 9;
    pub(super) const MIN: u32 = 11;
    pub(super) const MIP: u32 = 13;
    pub(super) const PIXEL: u32 = 15;
    pub(super) const COMPARE: u32 = 16;
    pub(super) const ANISOTROPY: u32 = 20;
    pub(super) const LOD_MIN: u32 = 24;
    pub(super) const LOD_MAX: u32 = 40;
    pub(super) const BORDER: u32 = 56;
}

impl SamplerState {
    /// AIR's words. A border color is kept where an address mode uses it.
    #[must_use]
    pub fn words(&self) -> [u64; 2] {
        let mut word = 0;
        for (mode, place) in self.address_modes.into_iter().zip([0, 3, 6]) {
            word |= match mode {
                AddressMode::ClampToZero | AddressMode::ClampToBorderColor => 0,
                AddressMode::ClampToEdge => 1,
                AddressMode::Repeat => 2,
                AddressMode::MirroredRepeat => 3,
            } << place;
        }
        let filter = |filter| match filter {
            MinMagFilter::Nearest => 0,
            MinMagFilter::Linear => 1,
        };
        let mip: u64 = match self.mip_filter {
            MipFilter::NotMipmapped => 0,
            MipFilter::Nearest => 1,
            MipFilter::Linear => 2,
        };
        word |= filter(self.mag_filter) << shift::MAG | filter(self.min_filter) << shift::MIN | mip << shift::MIP;
        word |= u64::from(!self.normalized_coordinates) << shift::PIXEL;
        word |= self.compare_code() << shift::COMPARE;
        word |= u64::from(self.max_anisotropy.clamp(1, 16) - 1) << shift::ANISOTROPY;
        word |= u64::from(half(self.lod_min_clamp)) << shift::LOD_MIN;
        word |= u64::from(half(self.lod_max_clamp)) << shift::LOD_MAX;
        if self.address_modes.contains(&AddressMode::ClampToBorderColor) {
            let border: u64 = match self.border_color {
                BorderColor::TransparentBlack => 0,
                BorderColor::OpaqueBlack => 1,
                BorderColor::OpaqueWhite => 2,
            };
            word |= border << shift::BORDER;
        }
        [word, 0]
    }

    fn compare_code(&self) -> u64 {
        match self.compare_function {
            CompareFunction::Less => 1,
            CompareFunction::LessEqual => 2,
            CompareFunction::Greater => 3,
            CompareFunction::GreaterEqual => 4,
            CompareFunction::Equal => 5,
            CompareFunction::NotEqual => 6,
            CompareFunction::Always => 7,
            CompareFunction::Never => 8,
        }
    }

    /// The sampler of a first word, however old. Codes that are not known count as the field's default.
    #[must_use]
    pub fn from_word(word: u64) -> Self {
        let field = |place: u32, bits: u32| word >> place & ((1 << bits) - 1);
        let border_color = match field(shift::BORDER, 2) {
            1 => BorderColor::OpaqueBlack,
            2 => BorderColor::OpaqueWhite,
            _ => BorderColor::TransparentBlack,
        };
        let outside = match border_color {
            BorderColor::TransparentBlack => AddressMode::ClampToZero,
            BorderColor::OpaqueBlack | BorderColor::OpaqueWhite => AddressMode::ClampToBorderColor,
        };
        let address = |place| match field(place, 3) {
            0 => outside,
            2 => AddressMode::Repeat,
            3 => AddressMode::MirroredRepeat,
            _ => AddressMode::ClampToEdge,
        };
        let filter = |place| if field(place, 2) == 1 { MinMagFilter::Linear } else { MinMagFilter::Nearest };
        Self {
            mag_filter: filter(shift::MAG),
            min_filter: filter(shift::MIN),
            mip_filter: match field(shift::MIP, 2) {
                1 => MipFilter::Nearest,
                2 => MipFilter::Linear,
                _ => MipFilter::NotMipmapped,
            },
            address_modes: [address(0), address(3), address(6)],
            border_color,
            normalized_coordinates: field(shift::PIXEL, 1) == 0,
            compare_function: match field(shift::COMPARE, 4) {
                1 => CompareFunction::Less,
                2 => CompareFunction::LessEqual,
                3 => CompareFunction::Greater,
                4 => CompareFunction::GreaterEqual,
                5 => CompareFunction::Equal,
                6 => CompareFunction::NotEqual,
                7 => CompareFunction::Always,
                _ => CompareFunction::Never,
            },
            lod_min_clamp: from_half(field(shift::LOD_MIN, 16)),
            lod_max_clamp: from_half(field(shift::LOD_MAX, 16)),
            max_anisotropy: field(shift::ANISOTROPY, 4).to_le_bytes()[0] + 1,
        }
    }
}

/// Largest half.
const HALF_MAX: f32 = 65504.0;

/// The bits of the half at or below `value`, which is taken to be in 0 to 65504; NaN is 0.
fn half(value: f32) -> u16 {
    let bits = value.clamp(0.0, HALF_MAX).to_bits();
    let exponent = (bits >> 23).saturating_sub(112);
    if value.is_nan() || exponent == 0 {
        return 0;
    }
    u16::try_from(exponent << 10 | bits >> 13 & 0x3ff).expect("at most the largest half's bits")
}

/// The value of a half that is no NaN or infinity and not negative; subnormal ones are 0.
fn from_half(bits: u64) -> f32 {
    let bits = u32::try_from(bits & 0x7fff).expect("15 bits");
    if bits >> 10 == 0 { 0.0 } else { f32::from_bits(((bits >> 10) + 112) << 23 | (bits & 0x3ff) << 13) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words that Apple's compiler wrote, and what their sources said.
    #[test]
    fn words_are_those_of_apples_compiler() {
        let default = SamplerState::default();
        assert_eq!(default.words(), [34_901_797_601_017_929, 0]);
        let linear = SamplerState { mag_filter: MinMagFilter::Linear, min_filter: MinMagFilter::Linear, ..default };
        assert_eq!(linear.words()[0], 34_901_797_601_020_489);
        let mag = SamplerState { mag_filter: MinMagFilter::Linear, ..default };
        assert_eq!(mag.words()[0], 34_901_797_601_018_441);
        let repeat = SamplerState { address_modes: [AddressMode::Repeat; 3], ..default };
        assert_eq!(repeat.words()[0], 0x007b_ff00_0008_0092);
        let mirrored = SamplerState { address_modes: [AddressMode::MirroredRepeat; 3], ..linear };
        assert_eq!(SamplerState { mip_filter: MipFilter::Nearest, ..mirrored }.words()[0], 0x007b_ff00_0008_2adb);
        let zero = SamplerState { address_modes: [AddressMode::ClampToZero; 3], ..linear };
        assert_eq!(SamplerState { mip_filter: MipFilter::Linear, ..zero }.words()[0], 0x007b_ff00_0008_4a00);
        let less = SamplerState { compare_function: CompareFunction::Less, ..default };
        assert_eq!(less.words()[0], 34_901_797_600_559_177);
        let anisotropic = SamplerState { max_anisotropy: 16, mip_filter: MipFilter::Linear, ..linear };
        assert_eq!(anisotropic.words()[0], 0x007b_ff00_00f8_4a49);
    }

    #[test]
    fn words_say_everything() {
        let state = SamplerState {
            mag_filter: MinMagFilter::Linear,
            min_filter: MinMagFilter::Nearest,
            mip_filter: MipFilter::Linear,
            address_modes: [AddressMode::Repeat, AddressMode::ClampToBorderColor, AddressMode::ClampToEdge],
            border_color: BorderColor::OpaqueWhite,
            normalized_coordinates: false,
            compare_function: CompareFunction::GreaterEqual,
            lod_min_clamp: 1.5,
            lod_max_clamp: 6.0,
            max_anisotropy: 8,
        };
        assert_eq!(SamplerState::from_word(state.words()[0]), state);
        // AIR's older form sets the highest bit.
        assert_eq!(SamplerState::from_word(state.words()[0] | 1 << 63), state);
        let transparent =
            SamplerState { address_modes: [AddressMode::ClampToBorderColor; 3], ..SamplerState::default() };
        assert_eq!(SamplerState::from_word(transparent.words()[0]).address_modes, [AddressMode::ClampToZero; 3]);
    }
}
