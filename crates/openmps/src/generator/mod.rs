//! The random generator of the device: seed, offset and the 44-byte state that `torch.mps.get_rng_state` returns.
//!
//! A generator is a shared handle on one locked state. Consumers reserve blocks of random words and then compute from the
//! seed and the base offset they got, so what they draw depends only on the order of the reservations.

pub mod distributions;
pub mod philox;

use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io::Read;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use thiserror::Error;

pub use philox::Philox;
use philox::{HostPhilox, high, low};

/// `c10::detail`'s default seed, with which `torch.Generator(device="mps")` starts.
pub const DEFAULT_SEED: u64 = 67_280_421_310_721;

/// Bytes of a generator's state: seven 32-bit words, the seed, the offset.
pub const STATE_BYTES: usize = 44;

/// Why a state was not accepted; the text is PyTorch's.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum GeneratorError {
    /// The state has not [`STATE_BYTES`] bytes.
    #[error("RNG state is wrong size")]
    StateSize,
}

#[derive(Clone, Debug)]
struct State {
    words: [u32; 7],
    seed: u64,
    engine: HostPhilox,
}

impl State {
    fn set_seed(&mut self, seed: u64) {
        self.words = [1, 1, 1, 1, 1, low(seed), high(seed)];
        self.seed = seed;
        self.engine = HostPhilox::new(seed);
    }
}

/// A random generator; clones share one state.
#[derive(Clone, Debug)]
pub struct Generator {
    state: Arc<Mutex<State>>,
}

static DEFAULT: OnceLock<Generator> = OnceLock::new();

/// The process's default generator, made on first use with a seed that differs from run to run.
pub fn default_generator() -> &'static Generator {
    DEFAULT.get_or_init(|| {
        crate::stream::fork::install_handlers();
        let generator = Generator::new_default_seeded();
        generator.seed();
        generator
    })
}

/// The default generator's lock, held over a fork.
pub(crate) struct GeneratorGuard<'a>(#[expect(dead_code, reason = "held, never read")] MutexGuard<'a, State>);

pub(crate) fn lock_default() -> Option<GeneratorGuard<'static>> {
    DEFAULT.get().map(|generator| GeneratorGuard(generator.lock()))
}

impl Generator {
    /// A generator with [`DEFAULT_SEED`], as first constructed: its state words are not those of
    /// `manual_seed(DEFAULT_SEED)`.
    #[must_use]
    pub fn new_default_seeded() -> Self {
        let state = State { words: [1, 0, 0, 0, 0, 0, 0], seed: DEFAULT_SEED, engine: HostPhilox::new(DEFAULT_SEED) };
        Self { state: Arc::new(Mutex::new(state)) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts over with `seed`, at offset 0.
    pub fn manual_seed(&self, seed: u64) {
        self.lock().set_seed(seed);
    }

    /// Starts over with a seed that nobody can predict, and returns it.
    pub fn seed(&self) -> u64 {
        let seed = unpredictable_seed();
        self.manual_seed(seed);
        seed
    }

    /// The seed.
    #[must_use]
    pub fn initial_seed(&self) -> u64 {
        self.lock().seed
    }

    /// Continues at block `offset`.
    pub fn set_offset(&self, offset: u64) {
        self.lock().engine.set_offset(offset);
    }

    /// The next block, in units of 128 bits.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.lock().engine.offset()
    }

    /// State words, seed and offset, little endian.
    #[must_use]
    pub fn state(&self) -> [u8; STATE_BYTES] {
        let state = self.lock();
        let mut bytes = [0; STATE_BYTES];
        for (chunk, word) in bytes.chunks_exact_mut(4).zip(state.words) {
            chunk.copy_from_slice(&word.to_le_bytes());
        }
        bytes[28..36].copy_from_slice(&state.seed.to_le_bytes());
        bytes[36..].copy_from_slice(&state.engine.offset().to_le_bytes());
        bytes
    }

    /// Continues from `state`, which [`state`](Self::state) returned.
    ///
    /// # Errors
    /// [`GeneratorError::StateSize`]; the generator is unchanged then.
    pub fn set_state(&self, state: &[u8]) -> Result<(), GeneratorError> {
        let bytes: &[u8; STATE_BYTES] = state.try_into().map_err(|_| GeneratorError::StateSize)?;
        let eight = |at: usize| u64::from_le_bytes(std::array::from_fn(|index| bytes[at + index]));
        let mut state = self.lock();
        state.set_seed(eight(28));
        state.engine.set_offset(eight(36));
        state.words =
            std::array::from_fn(|word| u32::from_le_bytes(std::array::from_fn(|index| bytes[word * 4 + index])));
        Ok(())
    }

    /// A generator of its own with the same state, a partly used block of the host engine included.
    #[must_use]
    pub fn deep_clone(&self) -> Self {
        Self { state: Arc::new(Mutex::new(self.lock().clone())) }
    }

    /// Takes `blocks` blocks: returns seed and offset of the first and moves the offset behind the last.
    #[must_use]
    pub fn reserve(&self, blocks: u64) -> Philox {
        let mut state = self.lock();
        let offset = state.engine.offset();
        state.engine.set_offset(offset.wrapping_add(blocks));
        Philox { seed: state.seed, offset }
    }

    /// Puts the host engine's next four words into state words 1 to 4 and returns all seven; LSTM dropout reads them.
    #[must_use]
    pub fn update_philox_counters(&self) -> [u32; 7] {
        let mut state = self.lock();
        for word in 1..5 {
            state.words[word] = state.engine.next_word();
        }
        state.words
    }
}

/// 64 bits from the system; from the standard library's hash keys where the system has none to read.
fn unpredictable_seed() -> u64 {
    let mut bytes = [0; 8];
    match File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes)) {
        Ok(()) => u64::from_ne_bytes(bytes),
        Err(_) => RandomState::new().hash_one(std::time::Instant::now()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_generator_is_not_a_seeded_one() {
        let fresh = Generator::new_default_seeded();
        let seeded = Generator::new_default_seeded();
        seeded.manual_seed(DEFAULT_SEED);
        assert_eq!(fresh.initial_seed(), seeded.initial_seed());
        assert_eq!(fresh.state()[..28], [[1, 0, 0, 0], [0; 4], [0; 4], [0; 4], [0; 4], [0; 4], [0; 4]].concat()[..]);
        assert_ne!(fresh.state(), seeded.state());
    }

    #[test]
    fn the_state_is_44_bytes_in_order() {
        let generator = Generator::new_default_seeded();
        generator.manual_seed(0x0102_0304_0506_0708);
        generator.set_offset(0x1_0000_0002);
        let one = [1, 0, 0, 0].repeat(5);
        let seed = [8, 7, 6, 5, 4, 3, 2, 1];
        assert_eq!(generator.state()[..], [&one[..], &seed, &seed, &[2, 0, 0, 0, 1, 0, 0, 0]].concat()[..]);
    }

    #[test]
    fn a_state_restores_what_follows() {
        let generator = Generator::new_default_seeded();
        generator.manual_seed(7);
        let _ = generator.reserve(3);
        let _ = generator.update_philox_counters();
        let state = generator.state();
        let other = Generator::new_default_seeded();
        other.set_state(&state).unwrap();
        assert_eq!(other.state(), state);
        assert_eq!(other.reserve(5), Philox { seed: 7, offset: 4 });
        assert_eq!(other.offset(), 9);
        assert_eq!(other.set_state(&state[1..]).unwrap_err().to_string(), "RNG state is wrong size");
        assert_eq!(other.offset(), 9);
    }

    #[test]
    fn clones_share_and_deep_clones_do_not() {
        let generator = Generator::new_default_seeded();
        let shared = generator.clone();
        let _ = generator.update_philox_counters();
        let own = generator.deep_clone();
        assert_eq!(own.update_philox_counters(), generator.update_philox_counters());
        let _ = generator.reserve(1);
        assert_eq!((shared.offset(), own.offset()), (3, 2));
    }

    #[test]
    fn four_engine_words_are_one_block() {
        let generator = Generator::new_default_seeded();
        generator.manual_seed(42);
        let words = generator.update_philox_counters();
        assert_eq!(words, [1, 0x9cea_f053, 0x77f5_493b, 0x12bf_50ad, 0x5742_b3d7, 42, 0]);
        assert_eq!(generator.offset(), 1);
    }

    #[test]
    fn the_default_generator_is_one_and_seeds_differ() {
        assert!(std::ptr::eq(default_generator(), default_generator()));
        let generator = Generator::new_default_seeded();
        let seeds = [generator.seed(), generator.seed()];
        assert_ne!(seeds[0], seeds[1]);
        assert_eq!(generator.initial_seed(), seeds[1]);
    }
}
