//! Texels as memory and as colors. A color is four words: floats of normalized and floating-point formats, integers of integer
//! formats. What a format lacks reads as 0, alpha as 1.
//!
//! Conversions are MSL's (section 8.7): normalized numbers round to nearest even, integers saturate. NaN becomes 0 in normalized
//! formats. 11- and 10-bit floats round to nearest even and overflow to infinity, which MSL leaves open; they have no sign, so
//! negative numbers become 0.

use std::ptr;
use std::sync::OnceLock;

use openmps_engine::texture::{Numbers, Packing};
use openmps_engine::{PixelFormat, TextureView};

use super::address::Place;
use crate::float::{f16_to_f32, f32_to_f16};

/// Four components: bits of floats, or integers.
pub(super) type Color = [u32; 4];

const ONE: u32 = 1.0_f32.to_bits();

/// The color at `place`.
///
/// # Safety
/// `view`'s memory is as large as its levels say.
pub(super) unsafe fn load(view: &TextureView, place: &Place) -> Color {
    let mut bytes = [0; 16];
    let count = view.format.bytes_per_texel() as usize;
    let source = ptr::with_exposed_provenance::<u8>(at(view, place));
    // SAFETY: the place is a texel of the view, whose memory is there; no format has more than 16 bytes. Another thread that
    // writes the texel meanwhile is the kernel's race: bytes of either color are read.
    unsafe { ptr::copy_nonoverlapping(source, bytes.as_mut_ptr(), count) };
    decode(view.format, bytes)
}

/// Replaces the color at `place`.
///
/// # Safety
/// As [`load`].
pub(super) unsafe fn store(view: &TextureView, place: &Place, color: Color) {
    let bytes = encode(view.format, color);
    let target = ptr::with_exposed_provenance_mut::<u8>(at(view, place));
    // SAFETY: as in `load`.
    unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), target, view.format.bytes_per_texel() as usize) };
}

pub(super) fn at(view: &TextureView, place: &Place) -> usize {
    usize::try_from(view.address + place.offset_bytes).expect("an address has 64 bits")
}

/// The widths in bits of the channels in memory order, and which component each is.
fn channels(packing: Packing) -> &'static [(u32, usize)] {
    const EIGHT: &[(u32, usize)] = &[(8, 0), (8, 1), (8, 2), (8, 3)];
    const SIXTEEN: &[(u32, usize)] = &[(16, 0), (16, 1), (16, 2), (16, 3)];
    const THIRTY_TWO: &[(u32, usize)] = &[(32, 0), (32, 1), (32, 2), (32, 3)];
    match packing {
        Packing::Channels { count, bits } => {
            let all = match bits {
                8 => EIGHT,
                16 => SIXTEEN,
                _ => THIRTY_TWO,
            };
            &all[..usize::from(count)]
        }
        Packing::Alpha8 => &[(8, 3)],
        Packing::Bgra8 => &[(8, 2), (8, 1), (8, 0), (8, 3)],
        Packing::Rgb10a2 => &[(10, 0), (10, 1), (10, 2), (2, 3)],
        Packing::Bgr10a2 => &[(10, 2), (10, 1), (10, 0), (2, 3)],
        Packing::Rg11b10 => &[(11, 0), (11, 1), (10, 2)],
        Packing::Rgb9e5 => &[(9, 0), (9, 1), (9, 2), (5, 3)],
    }
}

/// The color of a texel's bytes; those behind the format's are not looked at.
pub(super) fn decode(format: PixelFormat, bytes: [u8; 16]) -> Color {
    let numbers = format.numbers();
    let one = if matches!(numbers, Numbers::Uint | Numbers::Sint) { 1 } else { ONE };
    let mut color = [0, 0, 0, one];
    let mut rest = u128::from_le_bytes(bytes);
    let mut field = |bits: u32| {
        let value = u32::try_from(rest & ((1 << bits) - 1)).expect("at most 32 bits");
        rest >>= bits;
        value
    };
    if format.packing() == Packing::Rgb9e5 {
        let fractions = [field(9), field(9), field(9)];
        let scale = power_of_two(i32::try_from(field(5)).expect("5 bits") - 24);
        for (component, fraction) in color.iter_mut().zip(fractions) {
            *component = (small(fraction) * scale).to_bits();
        }
        return color;
    }
    for &(bits, component) in channels(format.packing()) {
        color[component] = component_of(numbers, field(bits), bits, component == 3);
    }
    color
}

/// A number of at most 24 bits as a float.
fn small(value: u32) -> f32 {
    debug_assert!(value < 1 << 24, "exact");
    #[expect(clippy::cast_precision_loss, reason = "at most 24 bits")]
    let value = value as f32;
    value
}

/// 2 to the power `exponent`, from -126 to 127.
fn power_of_two(exponent: i32) -> f32 {
    f32::from_bits(u32::try_from(exponent + 127).expect("in range") << 23)
}

fn component_of(numbers: Numbers, value: u32, bits: u32, is_alpha: bool) -> u32 {
    let sign_extended = || (value << (32 - bits)).cast_signed() >> (32 - bits);
    match numbers {
        Numbers::Uint => value,
        Numbers::Sint => sign_extended().cast_unsigned(),
        Numbers::UnormSrgb if !is_alpha => srgb_table()[value as usize & 0xff].to_bits(),
        Numbers::Unorm | Numbers::UnormSrgb => (small(value) / small((1 << bits) - 1)).to_bits(),
        Numbers::Snorm => {
            let value = sign_extended();
            let magnitude = small(value.unsigned_abs()) / small((1 << (bits - 1)) - 1);
            (if value < 0 { -magnitude.min(1.0) } else { magnitude }).to_bits()
        }
        Numbers::Float => match bits {
            32 => value,
            16 => f16_to_f32(u16::try_from(value).expect("16 bits")).to_bits(),
            // A half without its sign and last bits.
            _ => f16_to_f32(u16::try_from(value << (15 - bits)).expect("15 bits")).to_bits(),
        },
    }
}

/// The linear value of each 8-bit sRGB value (IEC 61966-2-1).
fn srgb_table() -> &'static [f32; 256] {
    static TABLE: OnceLock<[f32; 256]> = OnceLock::new();
    TABLE.get_or_init(|| {
        std::array::from_fn(|value| {
            let encoded = f64::from(u32::try_from(value).expect("8 bits")) / 255.0;
            let linear = if encoded <= 0.04045 { encoded / 12.92 } else { ((encoded + 0.055) / 1.055).powf(2.4) };
            #[expect(clippy::cast_possible_truncation, reason = "rounded to float")]
            let linear = linear as f32;
            linear
        })
    })
}

/// The bytes of `color`, zero behind the format's.
pub(super) fn encode(format: PixelFormat, color: Color) -> [u8; 16] {
    let mut bits_before = 0;
    let mut texel = 0_u128;
    for &(bits, component) in channels(format.packing()) {
        // Kernels cannot write to formats with a shared exponent: binding one for that is refused.
        let value = field_of(format.numbers(), color[component], bits, component == 3);
        texel |= u128::from(value) << bits_before;
        bits_before += bits;
    }
    texel.to_le_bytes()
}

fn field_of(numbers: Numbers, word: u32, bits: u32, is_alpha: bool) -> u32 {
    let mask = if bits == 32 { u32::MAX } else { (1 << bits) - 1 };
    let value = f32::from_bits(word);
    match numbers {
        Numbers::Uint => word.min(mask),
        Numbers::Sint => {
            let largest = (mask >> 1).cast_signed();
            word.cast_signed().clamp(-largest - 1, largest).cast_unsigned() & mask
        }
        Numbers::Unorm => unorm(value, mask),
        Numbers::UnormSrgb => unorm(if is_alpha { value } else { to_srgb(value) }, mask),
        Numbers::Snorm => {
            let magnitude = unorm(value.abs(), mask >> 1);
            if value < 0.0 { magnitude.wrapping_neg() & mask } else { magnitude }
        }
        Numbers::Float => match bits {
            32 => word,
            16 => f32_to_f16(value).into(),
            _ => small_float(value, bits - 5),
        },
    }
}

/// `value` from 0 to 1 in units of `1 / largest`; NaN is 0.
fn unorm(value: f32, largest: u32) -> u32 {
    let scaled = (f64::from(value.clamp(0.0, 1.0)) * f64::from(largest)).round_ties_even();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to `largest`; NaN becomes 0")]
    let scaled = scaled as u32;
    scaled
}

fn to_srgb(linear: f32) -> f32 {
    if linear <= 0.003_130_8 { linear * 12.92 } else { 1.055 * linear.powf(1.0 / 2.4) - 0.055 }
}

/// The float without a sign that has an exponent of 5 bits and a fraction of `fraction_bits`, at most 6.
fn small_float(value: f32, fraction_bits: u32) -> u32 {
    let infinity = 0x1f << fraction_bits;
    if value.is_nan() {
        return infinity | 1;
    }
    if value <= 0.0 {
        return 0;
    }
    if value.is_infinite() {
        return infinity;
    }
    // In units of the last place at the value's exponent, as in any IEEE format; 2^-14 is the least normal number.
    let exponent = (i32::try_from(value.to_bits() >> 23).expect("8 bits") - 127).max(-14);
    let last_place = exponent - i32::try_from(fraction_bits).expect("6 or less");
    let units = (f64::from(value) * f64::from(-last_place).exp2()).round_ties_even();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to 2^7, or far more: infinity")]
    let units = units as u32;
    let field = u32::try_from(exponent + 14).expect("at least 0");
    // The implicit one of `units` adds 1 to the exponent field.
    (field << fraction_bits).saturating_add(units).min(infinity)
}
