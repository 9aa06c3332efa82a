//! Coefficients of elementary functions that the runtime's random numbers and an engine's kernels compute alike, to the bit.
//!
//! Polynomials are minimax for the relative error (Remez exchange), which is beside each with its interval; coefficients stand lowest
//! first. How they are evaluated (Horner, fused multiply-add) is the caller's, and has to be the same for the same bits.

use std::f32::consts;

/// 2^f = 1 + f · P(f) for f in [0, 1): 2^-28.9.
pub const EXP2: [f32; 6] =
    [0.693_147_06, 0.240_229_31, 0.055_485_282, 0.009_675_452, 0.001_246_784_7, 0.000_216_129_15];
/// ln(1 + r) = r - r²/2 + r³ · P(r) for 1 + r in [√½, √2]: 2^-24.9.
pub const LOG: [f32; 7] =
    [0.333_339_1, -0.250_013_38, 0.199_630_63, -0.165_775_85, 0.149_147_69, -0.142_674_88, 0.087_004_36];
/// log2(1 + r) = r · P(r) for 1 + r in [√½, √2], in double: 2^-35.8.
pub const WIDE_LOG2: [f64; 13] = [
    1.442_695_040_868_718_7,
    -0.721_347_520_868_874_3,
    0.480_898_361_384_902_66,
    -0.360_673_674_784_749_6,
    0.288_537_294_470_309_4,
    -0.240_453_169_472_021_8,
    0.206_175_328_905_917_53,
    -0.180_300_469_745_033_91,
    0.158_770_124_862_393_36,
    -0.143_158_292_625_327_34,
    0.144_748_265_688_545_74,
    -0.142_830_484_311_399_72,
    0.077_360_799_225_098_24,
];
/// sin(r) = r + r³ · P(r²) for |r| to π/4: 2^-28.
pub const SIN: [f32; 3] = [-0.166_666_55, 0.008_332_16, -0.000_195_152_82];
/// cos(r) = 1 - r²/2 + r⁴ · P(r²) for |r| to π/4: 2^-33.
pub const COS: [f32; 3] = [0.041_666_646, -0.001_388_731_6, 2.443_315_7e-5];
/// log2(e) as float and the rest.
pub const LOG2_E: [f32; 2] = [consts::LOG2_E, 1.925_963e-8];
/// π/2 as double and the rest.
pub const WIDE_HALF_PI: [f64; 2] = [std::f64::consts::FRAC_PI_2, 6.123_233_995_736_766e-17];
/// Adding it makes the low bits of a float those of the whole number: 1.5 · 2²³.
pub const WHOLE: f32 = 12_582_912.0;
/// Adding it makes the low bits of a double those of the whole number: 1.5 · 2⁵².
pub const WIDE_WHOLE: f64 = 6_755_399_441_055_744.0;
/// The bits of √½ as float: a mantissa from there on counts for the next power of two.
pub const ROOT_BITS: u32 = 0x3f35_04f3;
/// The bits of √½ as double.
pub const WIDE_ROOT_BITS: u64 = 0x3fe6_a09e_667f_3bcd;
