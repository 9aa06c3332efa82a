//! Formats, addresses and codes; what samples are, kernels of `openmps-suite` say.

use openmps_air::intrinsics::TextureOperation;
use openmps_engine::texture::{Numbers, Packing};
use openmps_engine::{AddressMode, PixelFormat};

use super::address::{cube_texel, wrap};
use super::texel::{decode, encode};
use super::word;

/// Every byte string of the first 16 bits, in two places of the texel, the rest a mixture.
fn patterns() -> impl Iterator<Item = [u8; 16]> {
    (0..=u16::MAX).map(|low| {
        let mixed = u128::from(low).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
        (mixed & !0xffff_0000_ffff | u128::from(low) << 32 | u128::from(low)).to_le_bytes()
    })
}

/// What stays the same: everything but the second form of -1 and the payloads of NaN.
fn survives(format: PixelFormat, bytes: [u8; 16]) -> bool {
    let color = decode(format, bytes);
    match format.numbers() {
        Numbers::Snorm => color.iter().all(|&word| f32::from_bits(word) > -1.0),
        Numbers::Float => color.iter().all(|&word| !f32::from_bits(word).is_nan()),
        Numbers::Unorm | Numbers::UnormSrgb | Numbers::Uint | Numbers::Sint => true,
    }
}

#[test]
fn every_format_survives_decoding_and_encoding() {
    for &format in PixelFormat::ALL.iter().filter(|format| format.packing() != Packing::Rgb9e5) {
        let count = format.bytes_per_texel() as usize;
        let mut checked = 0;
        for bytes in patterns().filter(|bytes| survives(format, *bytes)) {
            let again = encode(format, decode(format, bytes));
            assert_eq!(again[..count], bytes[..count], "{}", format.name());
            assert!(again[count..].iter().all(|&byte| byte == 0));
            checked += 1;
        }
        assert!(checked > 1000, "{}: {checked} texels checked", format.name());
    }
}

fn color(values: [f32; 4]) -> [u32; 4] {
    values.map(f32::to_bits)
}

fn bytes(first: &[u8]) -> [u8; 16] {
    std::array::from_fn(|index| first.get(index).copied().unwrap_or(0))
}

#[test]
fn missing_channels_are_zero_and_alpha_one() {
    assert_eq!(decode(PixelFormat::R8Unorm, bytes(&[51])), color([0.2, 0.0, 0.0, 1.0]));
    assert_eq!(decode(PixelFormat::Rg8Sint, bytes(&[0xff, 3])), [u32::MAX, 3, 0, 1]);
    assert_eq!(decode(PixelFormat::A8Unorm, bytes(&[255])), color([0.0, 0.0, 0.0, 1.0]));
    assert_eq!(decode(PixelFormat::Bgra8Unorm, bytes(&[0, 51, 255, 102])), color([1.0, 0.2, 0.0, 0.4]));
    assert_eq!(decode(PixelFormat::R8Snorm, bytes(&[0x80])), color([-1.0, 0.0, 0.0, 1.0]));
    // 256, 1 and 3 in units of 2^(16 - 24).
    let shared = 256_u32 | 1 << 9 | 3 << 18 | 16 << 27;
    let expected = color([1.0, 1.0 / 256.0, 3.0 / 256.0, 1.0]);
    assert_eq!(decode(PixelFormat::Rgb9e5Float, bytes(&shared.to_le_bytes())), expected);
}

#[test]
fn numbers_out_of_range_saturate() {
    let wild = color([-2.0, 1.5, f32::NAN, f32::INFINITY]);
    assert_eq!(encode(PixelFormat::Rgba8Unorm, wild)[..4], [0, 255, 0, 255]);
    assert_eq!(encode(PixelFormat::Rgba8UnormSrgb, wild)[..4], [0, 255, 0, 255]);
    assert_eq!(encode(PixelFormat::Rgba8Snorm, wild)[..4], [0x81, 127, 0, 127]);
    let integers = [u32::MAX, 300, 200_000, 7];
    assert_eq!(encode(PixelFormat::Rgba8Uint, integers)[..4], [255, 255, 255, 7]);
    assert_eq!(encode(PixelFormat::Rgba8Sint, integers)[..4], [0xff, 127, 127, 7]);
    let packed = 1023_u32 | 300 << 10 | 1023 << 20 | 3 << 30;
    assert_eq!(encode(PixelFormat::Rgb10a2Uint, integers)[..4], packed.to_le_bytes());
    // Ties go to even: half of 255 is between 127 and 128, and of 65535 between 32767 and 32768.
    assert_eq!(encode(PixelFormat::R8Unorm, color([0.5, 0.0, 0.0, 0.0]))[0], 128);
    assert_eq!(encode(PixelFormat::R16Unorm, color([0.5, 0.0, 0.0, 0.0]))[..2], 32768_u16.to_le_bytes());
    let small = encode(PixelFormat::Rg11b10Float, color([-1.0, f32::INFINITY, 1e9, 0.0]));
    assert_eq!(decode(PixelFormat::Rg11b10Float, small), color([0.0, f32::INFINITY, f32::INFINITY, 1.0]));
}

#[test]
fn indices_outside_wrap() {
    let row = |mode| (-4..8).map(|index| wrap(mode, index, 3).unwrap_or(9)).collect::<Vec<u32>>();
    assert_eq!(row(AddressMode::ClampToEdge), [0, 0, 0, 0, 0, 1, 2, 2, 2, 2, 2, 2]);
    assert_eq!(row(AddressMode::Repeat), [2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1]);
    assert_eq!(row(AddressMode::MirroredRepeat), [2, 2, 1, 0, 0, 1, 2, 2, 1, 0, 0, 1]);
    assert_eq!(row(AddressMode::ClampToZero), [9, 9, 9, 9, 0, 1, 2, 9, 9, 9, 9, 9]);
}

/// Beyond an edge of a cube lies a texel at an edge of another face, and beyond that texel's edge lies the first one.
#[test]
fn edges_of_a_cube_lead_to_each_other() {
    const SIZE: u32 = 5;
    let last = i64::from(SIZE - 1);
    for face in 0..6 {
        for along in 0..=last {
            for (inside, outside) in [
                ([0, along], [-1, along]),
                ([last, along], [last + 1, along]),
                ([along, 0], [along, -1]),
                ([along, last], [along, last + 1]),
            ] {
                let (neighbor, [x, y]) = cube_texel(face, outside, SIZE);
                assert_ne!(neighbor, face);
                let (x, y) = (i64::from(x), i64::from(y));
                let around = [[x - 1, y], [x + 1, y], [x, y - 1], [x, y + 1]];
                let back = around.map(|place| cube_texel(neighbor, place, SIZE));
                let [u, v] = inside.map(|index| u32::try_from(index).unwrap());
                assert!(back.contains(&(face, [u, v])), "face {face}, {outside:?} is {neighbor}, {x} {y}");
            }
        }
    }
}

#[test]
fn codes_say_operation_and_sign() {
    for &operation in TextureOperation::ALL {
        for signed in [false, true] {
            assert_eq!(word::decode(word::code(operation, signed)), Some((operation, signed)));
        }
    }
    assert_eq!(word::decode(u32::MAX), None);
}
