//! Running a launch with a kernel that counts what it does.

use openmps_engine::{Binding, BufferIndex, CountingAir};

use super::{Replay, ReplayError};
use crate::buffer::Buffer;
use crate::kernel::Kernel;

/// A kernel that counts, built.
#[derive(Clone)]
pub struct CountingKernel {
    kernel: Kernel,
    buffer: BufferIndex,
    pieces: usize,
}

impl CountingKernel {
    /// Builds the counting form of the kernel `name`.
    ///
    /// # Errors
    /// [`ReplayError::Library`] when the engine refuses it.
    pub fn new(counting: &CountingAir, name: &str) -> Result<Self, ReplayError> {
        let kernel = Kernel::from_air(counting.air.bitcode(), name)?;
        Ok(Self { kernel, buffer: BufferIndex(counting.buffer), pieces: counting.blocks.len() })
    }
}

impl Replay<'_> {
    /// Runs the launch once with `kernel`, the counting form of its own, from the contents before it: how often its threads ran
    /// each piece; none when the launch ended with an error.
    ///
    /// # Errors
    /// [`ReplayError`] when it cannot be launched.
    pub fn count(&mut self, kernel: &CountingKernel) -> Result<Option<Vec<u64>>, ReplayError> {
        const COUNTER_BYTES: usize = 8;
        let size_bytes = kernel.pieces.max(1) * COUNTER_BYTES;
        let mut counters = Buffer::new(size_bytes)?;
        counters.write(0, &vec![0; size_bytes]);
        let address = counters.contents().as_ptr().expose_provenance() as u64;
        let mut bindings = self.bindings.clone();
        bindings.set(kernel.buffer, Binding::Buffer { address, size_bytes: size_bytes as u64 });
        let outcome = self.run_as(&kernel.kernel, bindings, Some(&counters))?;
        if outcome.error.is_some() {
            return Ok(None);
        }
        let bytes = counters.read(0, kernel.pieces * COUNTER_BYTES);
        let (words, _) = bytes.as_chunks::<COUNTER_BYTES>();
        Ok(Some(words.iter().map(|word| u64::from_le_bytes(*word)).collect()))
    }
}
