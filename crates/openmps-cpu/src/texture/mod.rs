//! Texture accesses of generated code: one function, which takes a request in memory and answers in place.
//!
//! A texture handle is the address of a [`TextureView`], a sampler handle that of AIR's words. Reads out of range give zeros,
//! writes out of range do nothing, layers of samples are clamped. Filters work in 64-bit coordinates and weights and 32-bit
//! colors; hardware weighs with few bits, so linear samples of a GPU differ by up to its step.

mod address;
mod atomic;
mod filter;
#[cfg(test)]
mod tests;
mod texel;
pub(crate) mod word;

use openmps_air::intrinsics::TextureOperation as Op;
use openmps_engine::{SamplerState, TextureView};

use address::{Place, level_size};
use filter::{Level, Sample};

/// The request: [`word::COUNT`] words.
type Request = [u32; word::COUNT];

/// What generated code calls for every access. `code` is [`word::code`]'s.
///
/// # Safety
/// - `texture` is null or the address of a live [`TextureView`] whose memory is as large as its levels say.
/// - `sampler` is null or the address of a sampler's words.
/// - `request` points to a request that the caller alone uses.
pub(crate) unsafe extern "C" fn access(
    code: u32,
    texture: *const TextureView,
    sampler: *const u64,
    request: *mut Request,
) {
    // SAFETY: by contract it is a request of the caller's own.
    let request = unsafe { &mut *request };
    let Some((operation, signed)) = word::decode(code) else { return };
    // SAFETY: by contract null or a live view.
    let Some(view) = (unsafe { texture.as_ref() }) else {
        request[word::VALUE as usize..][..4].fill(0);
        request[word::FLAG as usize] = 0;
        return;
    };
    // SAFETY: by contract null or the first of a sampler's words.
    let state = unsafe { sampler.as_ref() }.map_or_else(SamplerState::default, |word| SamplerState::from_word(*word));
    // SAFETY: the view's memory by contract.
    unsafe { answer(operation, signed, view, &state, request) };
}

/// Carries `request` out.
///
/// # Safety
/// `view`'s memory is as large as its levels say.
unsafe fn answer(operation: Op, signed: bool, view: &TextureView, state: &SamplerState, request: &mut Request) {
    let number = |value: usize| [u32::try_from(value).unwrap_or(u32::MAX), 0, 0, 0];
    let level = request[word::LEVEL as usize];
    let size = |axis: usize| [level_size(view, level).map_or(0, |size| size[axis]), 0, 0, 0];
    let color = match operation {
        Op::Read => place(view, request).map_or([0; 4], |place| {
            // SAFETY: the place is in the view's memory, which is there by contract.
            unsafe { texel::load(view, &place) }
        }),
        Op::Write => {
            if let Some(place) = place(view, request) {
                // SAFETY: as above.
                unsafe { texel::store(view, &place, words(request, word::VALUE)) };
            }
            return;
        }
        Op::Width => size(0),
        Op::Height => size(1),
        Op::Depth => size(2),
        Op::ArraySize => [view.array_length, 0, 0, 0],
        Op::MipLevels => number(view.levels.len()),
        Op::Sample | Op::SampleGradient | Op::SampleCompare | Op::SampleCompareGradient => {
            let sample = sample(operation, view, state, request);
            // SAFETY: the view's memory by contract.
            unsafe { filter::sample(&sample) }
        }
        Op::Gather | Op::GatherCompare => {
            let sample = sample(operation, view, state, request);
            // SAFETY: the view's memory by contract.
            unsafe { filter::gather(&sample, request[word::COMPONENT as usize]) }
        }
        Op::AtomicLoad
        | Op::AtomicStore
        | Op::AtomicExchange
        | Op::AtomicCompareExchange
        | Op::AtomicAdd
        | Op::AtomicSub
        | Op::AtomicMin
        | Op::AtomicMax
        | Op::AtomicAnd
        | Op::AtomicOr
        | Op::AtomicXor => {
            let value = request[word::VALUE as usize];
            let expected = request[word::EXPECTED as usize];
            // SAFETY: the view's memory by contract.
            let word = place(view, request).and_then(|place| unsafe { atomic::word(view, &place) });
            let (old, stored) = word.map_or((0, false), |word| atomic::apply(operation, signed, word, value, expected));
            request[word::FLAG as usize] = u32::from(stored);
            [old, 0, 0, 0]
        }
        // Lowered without a call.
        Op::Fence | Op::IsNull => return,
    };
    request[word::VALUE as usize..][..4].copy_from_slice(&color);
}

fn words<const N: usize>(request: &Request, first: u32) -> [u32; N] {
    std::array::from_fn(|index| request[first as usize + index])
}

fn floats<const N: usize>(request: &Request, first: u32) -> [f32; N] {
    words(request, first).map(f32::from_bits)
}

/// The texel that a read, write or atomic access asks for; `None` out of range.
fn place(view: &TextureView, request: &Request) -> Option<Place> {
    let mut position: [u32; 3] = words(request, word::POSITION);
    let offset: [u32; 3] = words(request, word::OFFSET);
    for (coordinate, offset) in position.iter_mut().zip(offset) {
        // Two's complement: a sum below zero is out of range.
        *coordinate = coordinate.wrapping_add(offset);
    }
    let [layer, face] = [word::LAYER, word::FACE].map(|index| request[index as usize]);
    let (faces, layers) = (view.texture_type.faces(), view.array_length);
    if face >= faces || layer >= layers {
        return None;
    }
    address::place(view, request[word::LEVEL as usize], position, layer * faces + face)
}

fn sample<'view>(
    operation: Op,
    view: &'view TextureView,
    state: &'view SamplerState,
    request: &Request,
) -> Sample<'view> {
    let float = |index: u32| f32::from_bits(request[index as usize]);
    let level = match operation {
        Op::SampleGradient | Op::SampleCompareGradient => {
            Level::Gradient(floats(request, word::GRADIENT_X), floats(request, word::GRADIENT_Y))
        }
        _ if request[word::IS_LEVEL as usize] != 0 => Level::Given(float(word::LEVEL)),
        _ => Level::Given(0.0),
    };
    let compares = matches!(operation, Op::SampleCompare | Op::SampleCompareGradient | Op::GatherCompare);
    Sample {
        view,
        state,
        position: floats(request, word::POSITION),
        layer: request[word::LAYER as usize].min(view.array_length - 1),
        offset: words(request, word::OFFSET).map(u32::cast_signed),
        level,
        min_level: float(word::MIN_LEVEL),
        reference: compares.then(|| float(word::REFERENCE)),
    }
}
