//! Generators, as opaque handles that the caller frees.

use std::ptr::null_mut;

use openmps::generator::{self, Generator};

use super::{In, Out, abi};

/// Size of a generator's state.
pub const GENERATOR_STATE_BYTES: u64 = 44;

/// The state of a generator as bytes.
#[repr(C)]
pub struct GeneratorState {
    /// Seven 32-bit words, the seed, the offset; little-endian.
    pub bytes: [u8; 44],
}

fn handle(generator: Generator) -> *mut Generator {
    Box::into_raw(Box::new(generator))
}

abi! {
    /// A new generator with the library's default seed.
    fn openmps_generator_new() -> *mut Generator, else null_mut(), { handle(Generator::new_default_seeded()) }

    /// A handle on the process's default generator.
    fn openmps_generator_default() -> *mut Generator, else null_mut(), { handle(generator::default_generator().clone()) }

    /// A new generator with a copy of the state; null for null.
    fn openmps_generator_clone(generator: In<'_, Generator>) -> *mut Generator, else null_mut(), {
        generator.thing("generator").map_or(null_mut(), |generator| handle(generator.deep_clone()))
    }

    /// Frees a handle; null is ignored.
    fn openmps_generator_free(generator: *mut Generator) -> (), else (), {
        if !generator.is_null() {
            // SAFETY: every handle comes from `handle`, and the caller gives this one up.
            drop(unsafe { Box::from_raw(generator) });
        }
    }

    /// Seeds and resets a generator.
    fn openmps_generator_manual_seed(generator: In<'_, Generator>, seed: u64) {
        generator.thing("generator")?.manual_seed(seed);
        Ok(())
    }

    /// Seeds a generator from the system's randomness and tells the seed.
    fn openmps_generator_seed(generator: In<'_, Generator>, seed: Out<'_, u64>) {
        let seed = seed.place("seed")?;
        *seed = generator.thing("generator")?.seed();
        Ok(())
    }

    /// The seed.
    fn openmps_generator_initial_seed(generator: In<'_, Generator>, seed: Out<'_, u64>) {
        *seed.place("seed")? = generator.thing("generator")?.initial_seed();
        Ok(())
    }

    /// Sets the offset, in blocks of 128 bits.
    fn openmps_generator_set_offset(generator: In<'_, Generator>, offset: u64) {
        generator.thing("generator")?.set_offset(offset);
        Ok(())
    }

    /// The offset, in blocks of 128 bits.
    fn openmps_generator_offset(generator: In<'_, Generator>, offset: Out<'_, u64>) {
        *offset.place("offset")? = generator.thing("generator")?.offset();
        Ok(())
    }

    /// The whole state.
    fn openmps_generator_state(generator: In<'_, Generator>, state: Out<'_, GeneratorState>) {
        state.place("state")?.bytes = generator.thing("generator")?.state();
        Ok(())
    }

    /// Restores a state.
    fn openmps_generator_set_state(generator: In<'_, Generator>, state: In<'_, GeneratorState>) {
        Ok(generator.thing("generator")?.set_state(&state.thing("state")?.bytes)?)
    }
}
