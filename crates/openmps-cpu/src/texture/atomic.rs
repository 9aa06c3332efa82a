//! Atomic accesses of texels: of formats with one channel of 32 bits, as Metal has them.

use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};

use openmps_air::intrinsics::TextureOperation as Op;
use openmps_engine::texture::Packing;
use openmps_engine::{PixelFormat, TextureView};

use super::address::Place;
use super::texel;

/// The texel at `place` as an atomic word; `None` where the format has none.
///
/// # Safety
/// `view`'s memory is as large as its levels say, and lives through `'view`.
pub(super) unsafe fn word<'view>(view: &'view TextureView, place: &Place) -> Option<&'view AtomicU32> {
    let address = texel::at(view, place);
    let is_word = view.format.packing() == (Packing::Channels { count: 1, bits: 32 });
    if !is_word || view.format == PixelFormat::R32Float || !address.is_multiple_of(4) {
        return None;
    }
    let pointer = ptr::with_exposed_provenance_mut::<u32>(address);
    // SAFETY: an aligned word of the view's memory, which is there by contract. Kernels that also write the texel without
    // atomics race with themselves.
    Some(unsafe { AtomicU32::from_ptr(pointer) })
}

/// The old value, and whether something was stored.
pub(super) fn apply(operation: Op, signed: bool, word: &AtomicU32, value: u32, expected: u32) -> (u32, bool) {
    const ORDER: Ordering = Ordering::SeqCst;
    let by_sign = |choose: fn(i32, i32) -> i32| {
        let update = |old: u32| Some(choose(old.cast_signed(), value.cast_signed()).cast_unsigned());
        word.fetch_update(ORDER, ORDER, update).unwrap_or_else(|old| old)
    };
    let old = match operation {
        Op::AtomicStore => {
            word.store(value, ORDER);
            0
        }
        Op::AtomicExchange => word.swap(value, ORDER),
        Op::AtomicCompareExchange => {
            return match word.compare_exchange(expected, value, ORDER, ORDER) {
                Ok(old) => (old, true),
                Err(old) => (old, false),
            };
        }
        Op::AtomicAdd => word.fetch_add(value, ORDER),
        Op::AtomicSub => word.fetch_sub(value, ORDER),
        Op::AtomicMin if signed => by_sign(i32::min),
        Op::AtomicMax if signed => by_sign(i32::max),
        Op::AtomicMin => word.fetch_min(value, ORDER),
        Op::AtomicMax => word.fetch_max(value, ORDER),
        Op::AtomicAnd => word.fetch_and(value, ORDER),
        Op::AtomicOr => word.fetch_or(value, ORDER),
        Op::AtomicXor => word.fetch_xor(value, ORDER),
        _ => return (word.load(ORDER), false),
    };
    (old, true)
}
