//! Pixel formats: how a texel lies in memory and what its numbers mean. Names are Metal's (`MTLPixelFormat`).

/// How the channels of a texel lie in its bytes, lowest bits first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// `count` channels of `bits` bits each: red, green, blue, alpha.
    Channels {
        /// 1, 2 or 4.
        count: u8,
        /// 8, 16 or 32.
        bits: u8,
    },
    /// Alpha alone, 8 bits.
    Alpha8,
    /// Blue, green, red, alpha of 8 bits.
    Bgra8,
    /// Red, green and blue of 10 bits, alpha of 2.
    Rgb10a2,
    /// Blue, green and red of 10 bits, alpha of 2.
    Bgr10a2,
    /// Unsigned floats of 11, 11 and 10 bits: red, green, blue.
    Rg11b10,
    /// Three fractions of 9 bits that share an exponent of 5: red, green, blue.
    Rgb9e5,
}

/// What the bits of a channel mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbers {
    /// 0 to 1.
    Unorm,
    /// 0 to 1 by the sRGB curve; alpha is linear.
    UnormSrgb,
    /// -1 to 1.
    Snorm,
    /// Unsigned integers.
    Uint,
    /// Signed integers.
    Sint,
    /// IEEE or smaller floats.
    Float,
}

macro_rules! formats {
    ($($variant:ident $name:literal $packing:expr, $numbers:ident;)*) => {
        /// A pixel format.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum PixelFormat {
            $(#[doc = concat!("`MTLPixelFormat", $name, "`.")] $variant,)*
        }

        impl PixelFormat {
            /// Every format, in the order of the enum.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// Metal's name without its prefix.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            /// How channels lie in memory.
            #[must_use]
            pub fn packing(self) -> Packing {
                match self {
                    $(Self::$variant => $packing,)*
                }
            }

            /// What channels mean.
            #[must_use]
            pub fn numbers(self) -> Numbers {
                match self {
                    $(Self::$variant => Numbers::$numbers,)*
                }
            }
        }
    };
}

const fn channels(count: u8, bits: u8) -> Packing {
    Packing::Channels { count, bits }
}

formats! {
    A8Unorm "A8Unorm" Packing::Alpha8, Unorm;
    R8Unorm "R8Unorm" channels(1, 8), Unorm;
    R8UnormSrgb "R8Unorm_sRGB" channels(1, 8), UnormSrgb;
    R8Snorm "R8Snorm" channels(1, 8), Snorm;
    R8Uint "R8Uint" channels(1, 8), Uint;
    R8Sint "R8Sint" channels(1, 8), Sint;
    R16Unorm "R16Unorm" channels(1, 16), Unorm;
    R16Snorm "R16Snorm" channels(1, 16), Snorm;
    R16Uint "R16Uint" channels(1, 16), Uint;
    R16Sint "R16Sint" channels(1, 16), Sint;
    R16Float "R16Float" channels(1, 16), Float;
    R32Uint "R32Uint" channels(1, 32), Uint;
    R32Sint "R32Sint" channels(1, 32), Sint;
    R32Float "R32Float" channels(1, 32), Float;
    Rg8Unorm "RG8Unorm" channels(2, 8), Unorm;
    Rg8UnormSrgb "RG8Unorm_sRGB" channels(2, 8), UnormSrgb;
    Rg8Snorm "RG8Snorm" channels(2, 8), Snorm;
    Rg8Uint "RG8Uint" channels(2, 8), Uint;
    Rg8Sint "RG8Sint" channels(2, 8), Sint;
    Rg16Unorm "RG16Unorm" channels(2, 16), Unorm;
    Rg16Snorm "RG16Snorm" channels(2, 16), Snorm;
    Rg16Uint "RG16Uint" channels(2, 16), Uint;
    Rg16Sint "RG16Sint" channels(2, 16), Sint;
    Rg16Float "RG16Float" channels(2, 16), Float;
    Rg32Uint "RG32Uint" channels(2, 32), Uint;
    Rg32Sint "RG32Sint" channels(2, 32), Sint;
    Rg32Float "RG32Float" channels(2, 32), Float;
    Rgba8Unorm "RGBA8Unorm" channels(4, 8), Unorm;
    Rgba8UnormSrgb "RGBA8Unorm_sRGB" channels(4, 8), UnormSrgb;
    Rgba8Snorm "RGBA8Snorm" channels(4, 8), Snorm;
    Rgba8Uint "RGBA8Uint" channels(4, 8), Uint;
    Rgba8Sint "RGBA8Sint" channels(4, 8), Sint;
    Rgba16Unorm "RGBA16Unorm" channels(4, 16), Unorm;
    Rgba16Snorm "RGBA16Snorm" channels(4, 16), Snorm;
    Rgba16Uint "RGBA16Uint" channels(4, 16), Uint;
    Rgba16Sint "RGBA16Sint" channels(4, 16), Sint;
    Rgba16Float "RGBA16Float" channels(4, 16), Float;
    Rgba32Uint "RGBA32Uint" channels(4, 32), Uint;
    Rgba32Sint "RGBA32Sint" channels(4, 32), Sint;
    Rgba32Float "RGBA32Float" channels(4, 32), Float;
    Bgra8Unorm "BGRA8Unorm" Packing::Bgra8, Unorm;
    Bgra8UnormSrgb "BGRA8Unorm_sRGB" Packing::Bgra8, UnormSrgb;
    Rgb10a2Unorm "RGB10A2Unorm" Packing::Rgb10a2, Unorm;
    Rgb10a2Uint "RGB10A2Uint" Packing::Rgb10a2, Uint;
    Bgr10a2Unorm "BGR10A2Unorm" Packing::Bgr10a2, Unorm;
    Rg11b10Float "RG11B10Float" Packing::Rg11b10, Float;
    Rgb9e5Float "RGB9E5Float" Packing::Rgb9e5, Float;
    Depth16Unorm "Depth16Unorm" channels(1, 16), Unorm;
    Depth32Float "Depth32Float" channels(1, 32), Float;
}

impl PixelFormat {
    /// Bytes of one texel.
    #[must_use]
    pub fn bytes_per_texel(self) -> u32 {
        match self.packing() {
            Packing::Channels { count, bits } => u32::from(count) * u32::from(bits) / 8,
            Packing::Alpha8 => 1,
            Packing::Bgra8 | Packing::Rgb10a2 | Packing::Bgr10a2 | Packing::Rg11b10 | Packing::Rgb9e5 => 4,
        }
    }

    /// Whether texels have an alpha channel; without one alpha reads as 1.
    #[must_use]
    pub fn has_alpha(self) -> bool {
        match self.packing() {
            Packing::Channels { count, .. } => count == 4,
            Packing::Alpha8 | Packing::Bgra8 | Packing::Rgb10a2 | Packing::Bgr10a2 => true,
            Packing::Rg11b10 | Packing::Rgb9e5 => false,
        }
    }

    /// Whether it holds depth.
    #[must_use]
    pub fn is_depth(self) -> bool {
        matches!(self, Self::Depth16Unorm | Self::Depth32Float)
    }

    /// Whether kernels may write to it (Metal feature set tables, "write" column).
    #[must_use]
    pub fn is_writable(self) -> bool {
        !self.is_depth() && self != Self::Rgb9e5Float
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinct_and_say_the_size() {
        let mut names: Vec<&str> = PixelFormat::ALL.iter().map(|format| format.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), PixelFormat::ALL.len());
        for (format, bytes) in [
            (PixelFormat::R8Unorm, 1),
            (PixelFormat::Rg16Float, 4),
            (PixelFormat::Rgba32Sint, 16),
            (PixelFormat::Rgb10a2Unorm, 4),
            (PixelFormat::Depth32Float, 4),
        ] {
            assert_eq!(format.bytes_per_texel(), bytes, "{}", format.name());
        }
        assert!(PixelFormat::Bgra8Unorm.has_alpha() && !PixelFormat::Rg11b10Float.has_alpha());
        assert!(PixelFormat::R32Float.is_writable() && !PixelFormat::Depth32Float.is_writable());
    }
}
