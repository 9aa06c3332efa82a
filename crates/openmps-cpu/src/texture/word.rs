//! The words of a request, and the code of an operation: what generated code and runtime agree on.

use openmps_air::intrinsics::TextureOperation;

/// Three coordinates: floats of samples, else integers.
pub(crate) const POSITION: u32 = 0;
/// Element of an array.
pub(crate) const LAYER: u32 = 3;
/// Face of a cube.
pub(crate) const FACE: u32 = 4;
/// Three signed offsets.
pub(crate) const OFFSET: u32 = 5;
/// Float of samples, else integer.
pub(crate) const LEVEL: u32 = 8;
/// Whether `LEVEL` counts.
pub(crate) const IS_LEVEL: u32 = 9;
/// Float.
pub(crate) const MIN_LEVEL: u32 = 10;
/// Float.
pub(crate) const REFERENCE: u32 = 11;
/// Component of a gather.
pub(crate) const COMPONENT: u32 = 12;
/// Three floats.
pub(crate) const GRADIENT_X: u32 = 13;
/// Three floats.
pub(crate) const GRADIENT_Y: u32 = 16;
/// Answer: whether an exchange happened.
pub(crate) const FLAG: u32 = 19;
/// Four components, of the request and of the answer.
pub(crate) const VALUE: u32 = 20;
/// Four components.
pub(crate) const EXPECTED: u32 = 24;
/// Words of a request.
pub(crate) const COUNT: usize = 28;

/// An operation, and whether its integers have a sign, in one number.
#[cfg(any(feature = "codegen", test))]
pub(crate) fn code(operation: TextureOperation, signed: bool) -> u32 {
    let place = TextureOperation::ALL.iter().position(|other| *other == operation).expect("ALL has every operation");
    u32::try_from(place).expect("a few dozen") << 1 | u32::from(signed)
}

/// The operation of a code that [`code`] made.
pub(crate) fn decode(code: u32) -> Option<(TextureOperation, bool)> {
    Some((*TextureOperation::ALL.get(code as usize >> 1)?, code & 1 == 1))
}
