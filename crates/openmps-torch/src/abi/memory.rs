//! The caching allocator.

use std::ffi::{c_char, c_void};
use std::ptr::{NonNull, null};
use std::sync::OnceLock;

use openmps::StreamId;
use openmps::memory::{self, Stat, Usage};

use super::error::AbiError;
use super::{Out, abi};

/// Memory of an MPS tensor's storage.
pub const USAGE_DEVICE: u32 = 0;
/// An operand of a few bytes that one command reads.
pub const USAGE_SCALAR: u32 = 1;
/// Pinned memory of a CPU tensor.
pub const USAGE_PINNED: u32 = 2;

/// Bytes of the arena that have one word in [`BlockSlots`].
pub const BLOCK_SLOT_UNIT_BYTES: u64 = 256;
/// The word of a block with which nothing is kept.
pub const BLOCK_SLOT_EMPTY: u64 = 1;

const _: () = assert!(BLOCK_SLOT_UNIT_BYTES == memory::SLOT_UNIT_BYTES && BLOCK_SLOT_EMPTY == memory::EMPTY_SLOT);

/// One handed-out block.
#[repr(C)]
pub struct BlockInfo {
    /// Its first address.
    pub base: u64,
    /// Its size after rounding.
    pub size_bytes: u64,
    /// The size that was asked for.
    pub requested_bytes: u64,
    /// Number of its buffer object, from 1.
    pub id: u64,
    /// 1 for memory of the pinned allocator.
    pub pinned: u32,
    /// Metal's count: 1 when no command holds the buffer.
    pub retain_count: u32,
}

/// A word for every `BLOCK_SLOT_UNIT_BYTES` of the arena, to be accessed atomically. A word is 0 where no block is handed out,
/// and cannot be written there. At the first address of a handed-out block it starts as `BLOCK_SLOT_EMPTY` and may become
/// anything but 0.
#[repr(C)]
pub struct BlockSlots {
    /// The arena's first address.
    pub base: u64,
    /// Number of words.
    pub count: u64,
    /// The words.
    pub words: *mut u64,
}

// SAFETY: the words live as long as the process and are accessed atomically.
unsafe impl Send for BlockSlots {}
// SAFETY: as above.
unsafe impl Sync for BlockSlots {}

/// One counter of bytes.
#[repr(C)]
pub struct MemoryStat {
    /// Now.
    pub current: i64,
    /// The most since the last reset.
    pub peak: i64,
    /// Sum of increases.
    pub allocated: i64,
    /// Sum of decreases.
    pub freed: i64,
}

/// All counters.
#[repr(C)]
pub struct MemoryStats {
    /// Blocks handed out, after rounding; PyTorch's active bytes are the same.
    pub allocated: MemoryStat,
    /// Heaps.
    pub reserved: MemoryStat,
}

/// Gets one line of the allocator's log: bytes and their number.
pub type LogSink = extern "C" fn(text: *const c_char, size_bytes: u64);

impl From<Stat> for MemoryStat {
    fn from(stat: Stat) -> Self {
        let signed = |bytes: u64| i64::try_from(bytes).unwrap_or(i64::MAX);
        Self {
            current: signed(stat.current),
            peak: signed(stat.peak),
            allocated: signed(stat.allocated),
            freed: signed(stat.freed),
        }
    }
}

static LOG_SINK: OnceLock<LogSink> = OnceLock::new();

fn log(text: &str) {
    if let Some(sink) = LOG_SINK.get() {
        sink(text.as_ptr().cast(), u64::try_from(text.len()).expect("a length has at most 64 bits"));
    }
}

fn block_slots() -> Option<&'static BlockSlots> {
    static SLOTS: OnceLock<BlockSlots> = OnceLock::new();
    let allocator = memory::existing_allocator()?;
    Some(SLOTS.get_or_init(|| {
        let (base, words) = allocator.slots();
        let count = u64::try_from(words.len()).expect("a length has at most 64 bits");
        BlockSlots { base, count, words: words.as_ptr().cast_mut().cast() }
    }))
}

fn usage_of(usage: u32) -> Result<Usage, AbiError> {
    match usage {
        USAGE_DEVICE => Ok(Usage::Device),
        USAGE_SCALAR => Ok(Usage::Scalar),
        USAGE_PINNED => Ok(Usage::Pinned),
        _ => Err(AbiError::Value { name: "usage", value: usage.into(), expected: "0 to 2" }),
    }
}

fn number(address: NonNull<u8>) -> u64 {
    u64::try_from(address.addr().get()).expect("an address has at most 64 bits")
}

abi! {
    /// Where the allocator's log goes; the first sink stays.
    fn openmps_set_log_sink(sink: LogSink) {
        LOG_SINK.get_or_init(|| sink);
        memory::set_log_sink(log);
        Ok(())
    }

    /// Allocates a block for the current stream; the caller frees it with `openmps_free`.
    fn openmps_allocate(size_bytes: u64, usage: u32, address: Out<'_, *mut c_void>) {
        let address = address.place("address")?;
        *address = memory::allocator()?.allocate(size_bytes, usage_of(usage)?)?.as_ptr().cast();
        Ok(())
    }

    /// Frees a block by its first address; null is ignored.
    fn openmps_free(address: *mut c_void) -> (), else (), {
        if let (Some(address), Some(allocator)) = (NonNull::new(address.cast::<u8>()), memory::existing_allocator()) {
            // SAFETY: the caller owns the block and gives it up; the allocator ignores addresses that are no block.
            unsafe { allocator.free(address) };
        }
    }

    /// Whether the address lies in the arena. Without a lock.
    fn openmps_is_arena_address(address: *const c_void) -> bool, else false, {
        memory::is_arena_address(address.cast())
    }

    /// Whether a live block starts there that is pinned, or that CPU code can use as pinned because it is shared memory.
    fn openmps_is_pinned(address: *const c_void) -> bool, else false, {
        memory::existing_allocator().and_then(|allocator| allocator.block(address.cast())).is_some()
    }

    /// Where the words are that the plug-in keeps with blocks; null before anything was allocated. Lives as long as the process.
    fn openmps_block_slots() -> *const BlockSlots, else null(), { block_slots().map_or(null(), std::ptr::from_ref) }

    /// The live block that contains an address.
    fn openmps_block_info(address: *const c_void, info: Out<'_, BlockInfo>, found: Out<'_, bool>) {
        let (info, found) = (info.place("info")?, found.place("found")?);
        let block = memory::existing_allocator().and_then(|allocator| allocator.block_containing(address.cast()));
        *found = block.is_some();
        if let Some(block) = block {
            *info = BlockInfo {
                base: number(block.base),
                size_bytes: block.size_bytes,
                requested_bytes: block.requested_bytes,
                id: block.id,
                pinned: block.is_pinned().into(),
                retain_count: block.retain_count,
            };
        }
        Ok(())
    }

    /// Keeps the block from reuse until the stream has run what is queued on it when the block is freed.
    fn openmps_record_stream(address: *const c_void, stream: u32) {
        if let Some(allocator) = memory::existing_allocator() {
            allocator.record_stream(address.cast(), StreamId(stream));
        }
        Ok(())
    }

    /// Whether anything was allocated yet.
    fn openmps_allocator_is_initialized() -> bool, else false, { memory::existing_allocator().is_some() }

    /// Bytes handed out, after rounding.
    fn openmps_current_allocated_bytes(bytes: Out<'_, u64>) {
        *bytes.place("bytes")? = memory::allocator()?.current_allocated_bytes();
        Ok(())
    }

    /// Bytes the device holds for this process: heaps and everything else.
    fn openmps_driver_allocated_bytes(bytes: Out<'_, u64>) {
        *bytes.place("bytes")? = memory::allocator()?.driver_allocated_bytes();
        Ok(())
    }

    /// Free and total bytes of the device.
    fn openmps_memory_info(free_bytes: Out<'_, u64>, total_bytes: Out<'_, u64>) {
        let (free, total) = (free_bytes.place("free_bytes")?, total_bytes.place("total_bytes")?);
        (*free, *total) = memory::allocator()?.memory_info();
        Ok(())
    }

    /// All counters.
    fn openmps_memory_stats(stats: Out<'_, MemoryStats>) {
        let place = stats.place("stats")?;
        let stats = memory::allocator()?.stats();
        *place = MemoryStats { allocated: stats.allocated.into(), reserved: stats.reserved.into() };
        Ok(())
    }

    /// Peaks start again at the current values.
    fn openmps_reset_peak_stats() {
        memory::allocator()?.reset_peak_stats();
        Ok(())
    }

    /// Sums start again at 0.
    fn openmps_reset_accumulated_stats() {
        memory::allocator()?.reset_accumulated_stats();
        Ok(())
    }

    /// Gives cached memory back to the system; waits for streams.
    fn openmps_empty_cache() { Ok(memory::allocator()?.empty_cache()?) }

    /// Sets the hard limit as a multiple of the recommended maximum; 0 means none.
    fn openmps_set_high_watermark_ratio(ratio: f64) { Ok(memory::allocator()?.set_high_watermark_ratio(ratio)?) }
}
