//! The allocator of this process.

use std::sync::{Mutex, OnceLock, PoisonError};

use super::allocator::{Allocator, AllocatorOptions};
use super::clock::StreamClock;
use super::{MemoryError, fork};
use crate::device::Device;
use crate::limits::{ARENA_BYTES_MAX, ARENA_BYTES_MIN};
use crate::settings::Settings;
use crate::stream::Stream;
use crate::stream_id::{StreamError, StreamId};

static PROCESS: OnceLock<Allocator> = OnceLock::new();
/// Held while the allocator is made, so that it is made once; and during a fork, so that the child is not born amid it.
pub(super) static CONSTRUCTION: Mutex<()> = Mutex::new(());
static LOG_SINK: OnceLock<fn(&str)> = OnceLock::new();

/// The allocator of this process, made at the first use. A construction that fails is tried again at the next use, with the
/// same settings.
///
/// # Errors
/// [`MemoryError::HighWatermarkRatio`] or [`MemoryError::LowWatermarkRatio`] for what the environment says, or
/// [`MemoryError::Arena`].
#[inline]
pub fn allocator() -> Result<&'static Allocator, MemoryError> {
    match PROCESS.get() {
        Some(allocator) => Ok(allocator),
        None => construct(),
    }
}

/// The allocator of this process if something has used it: what must not be its first use asks here.
pub fn existing_allocator() -> Option<&'static Allocator> {
    PROCESS.get()
}

/// Whether `address` can be in a block of the process's allocator. Two loads and a comparison.
#[inline]
pub fn is_arena_address(address: *const u8) -> bool {
    PROCESS.get().is_some_and(|allocator| allocator.contains(address))
}

/// Sends the lines that `PYTORCH_DEBUG_MPS_ALLOCATOR` asks for to `sink`, which must not allocate from the allocator; the first
/// call counts. Lines before it are dropped.
pub fn set_log_sink(sink: fn(&str)) {
    LOG_SINK.get_or_init(|| sink);
}

#[cold]
fn construct() -> Result<&'static Allocator, MemoryError> {
    fork::install();
    let _guard = CONSTRUCTION.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(allocator) = PROCESS.get() {
        return Ok(allocator);
    }
    let allocator = Allocator::new(options(Settings::process(), Device::shared()), Box::new(Streams))?;
    Ok(PROCESS.get_or_init(|| allocator))
}

fn options(settings: &Settings, device: &Device) -> AllocatorOptions {
    AllocatorOptions {
        recommended_max_bytes: device.recommended_max_working_set_bytes(),
        max_buffer_length_bytes: device.max_buffer_length_bytes(),
        max_heap_bytes: device.max_heap_bytes(),
        high_watermark_ratio: settings.high_watermark_ratio,
        low_watermark_ratio: settings.low_watermark_ratio,
        arena_bytes: (ARENA_BYTES_MAX, ARENA_BYTES_MIN),
        verbosity: settings.debug_allocator,
        log: Box::new(|line| {
            if let Some(sink) = LOG_SINK.get() {
                sink(line);
            }
        }),
        trash: settings.debug.trash,
        observer: Some(crate::capture::BLOCK_OBSERVER),
    }
}

/// The streams of this process.
struct Streams;

impl Streams {
    fn stream(stream: StreamId) -> Stream {
        Stream::with_id(stream.0).expect("blocks are recorded on existing streams")
    }
}

impl StreamClock for Streams {
    fn current(&self) -> StreamId {
        crate::stream::current_id()
    }

    fn position(&self, stream: StreamId) -> u64 {
        Streams::stream(stream).position()
    }

    fn reached(&self, stream: StreamId, position: u64) -> bool {
        Streams::stream(stream).reached(position)
    }

    fn wait(&self, stream: StreamId, position: u64) {
        let stream = Streams::stream(stream);
        if !stream.reached(position) {
            stream.commit();
            stream.wait_idle();
        }
    }

    fn synchronize_default(&self) -> Result<(), StreamError> {
        Stream::default_stream().synchronize()
    }
}
