//! A life of the allocator, four bytes a step: every invariant holds after each step, and the end leaves nothing.
//!
//! The model is the one that the allocator's property tests use.

/// Lives the life that `input` spells.
///
/// # Panics
/// When the allocator breaks an invariant.
pub fn run(input: &[u8]) {
    openmps::memory::model::live_bytes(input);
}
