//! Conversions between the bit patterns of half, bfloat and float, rounding to nearest even (IEEE 754).
//!
//! Integer arithmetic only, so that flush-to-zero modes of the caller do not change half's subnormals.

/// The float with the value of the half `bits`; exact, NaN stays NaN and becomes quiet.
pub(crate) fn f16_to_f32(bits: u16) -> f32 {
    let sign = u32::from(bits & 0x8000) << 16;
    let exponent = u32::from(bits >> 10) & 0x1f;
    let mantissa = u32::from(bits) & 0x3ff;
    let magnitude = match exponent {
        0 if mantissa == 0 => 0,
        0 => {
            let shift = mantissa.leading_zeros() - 21;
            (113 - shift) << 23 | ((mantissa << shift) & 0x3ff) << 13
        }
        0x1f if mantissa == 0 => 0x7f80_0000,
        0x1f => 0x7fc0_0000 | mantissa << 13,
        _ => (exponent + 112) << 23 | mantissa << 13,
    };
    f32::from_bits(sign | magnitude)
}

/// The half nearest to `value`; overflow gives infinity.
pub(crate) fn f32_to_f16(value: f32) -> u16 {
    let bits = value.to_bits();
    let sign = (bits >> 16) & 0x8000;
    let magnitude = bits & 0x7fff_ffff;
    let result = if magnitude > 0x7f80_0000 {
        0x7e00 | (magnitude >> 13) & 0x3ff
    } else if magnitude >= 0x4780_0000 {
        0x7c00
    } else if magnitude >= 0x3880_0000 {
        // Normal: rebias, then round the 13 bits that go away; a carry into the exponent is right, up to infinity.
        round_shift(magnitude - (112 << 23), 13)
    } else if magnitude < 0x3300_0000 {
        0
    } else {
        let exponent = magnitude >> 23;
        round_shift((magnitude & 0x7f_ffff) | 0x80_0000, 126 - exponent)
    };
    u16::try_from(sign | result).expect("sign and magnitude have 16 bits")
}

/// `value >> shift`, rounded to nearest, ties to even.
fn round_shift(value: u32, shift: u32) -> u32 {
    let kept = value >> shift;
    let rest = value & ((1 << shift) - 1);
    let half = 1 << (shift - 1);
    kept + u32::from(rest > half || (rest == half && kept & 1 == 1))
}

/// The float with the value of the bfloat `bits`; exact.
pub(crate) fn bf16_to_f32(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

/// The bfloat nearest to `value`; NaN stays NaN and becomes quiet.
pub(crate) fn f32_to_bf16(value: f32) -> u16 {
    let bits = value.to_bits();
    let result = if value.is_nan() { bits >> 16 | 0x40 } else { (bits + 0x7fff + (bits >> 16 & 1)) >> 16 };
    u16::try_from(result).expect("a finite float rounds at most to infinity, which has 16 bits")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_half_survives_the_way_through_float() {
        for bits in 0..=u16::MAX {
            let value = f16_to_f32(bits);
            if value.is_nan() {
                assert!(f16_to_f32(f32_to_f16(value)).is_nan());
            } else {
                assert_eq!(f32_to_f16(value), bits, "{value}");
            }
        }
    }

    #[test]
    fn halves_round_to_nearest_even() {
        for (value, expected) in [
            (1.0, 0x3c00),
            (65504.0, 0x7bff),
            (65519.9, 0x7bff),
            (65520.0, 0x7c00),
            (f32::NEG_INFINITY, 0xfc00),
            (1.0 + f32::powi(2.0, -11), 0x3c00),
            (1.0 + 3.0 * f32::powi(2.0, -11), 0x3c02),
            (f32::powi(2.0, -24), 1),
            (f32::powi(2.0, -25), 0),
            (f32::powi(2.0, -25) * 1.0001, 1),
            (3.0 * f32::powi(2.0, -25), 2),
            (-f32::powi(2.0, -14), 0x8400),
        ] {
            assert_eq!(f32_to_f16(value), expected, "{value:e}");
        }
    }

    #[test]
    fn bfloats_round_to_nearest_even() {
        for bits in 0..=u16::MAX {
            let value = bf16_to_f32(bits);
            if !value.is_nan() {
                assert_eq!(f32_to_bf16(value), bits);
            }
        }
        assert_eq!(f32_to_bf16(f32::from_bits(0x3f80_8000)), 0x3f80);
        assert_eq!(f32_to_bf16(f32::from_bits(0x3f81_8000)), 0x3f82);
        assert_eq!(f32_to_bf16(f32::MAX), 0x7f80);
        assert!(bf16_to_f32(f32_to_bf16(f32::NAN)).is_nan());
    }
}
