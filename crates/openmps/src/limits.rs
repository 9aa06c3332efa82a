//! Every bound of the runtime's memory and device, each with the source of its number.

use std::time::Duration;

/// One mebibyte.
pub const MIB: u64 = 1 << 20;

/// Largest aligned size served from the small pool (PyTorch: kMaxSmallAlloc).
pub const MAX_SMALL_ALLOC_BYTES: u64 = MIB;
/// Boundary between the large and the extra-large tier (PyTorch: kMinLargeAlloc).
pub const MIN_LARGE_ALLOC_BYTES: u64 = 10 * MIB;
/// Rounding of a heap that holds one oversize block (PyTorch: kRoundLarge).
pub const ROUND_LARGE_BYTES: u64 = 2 * MIB;
/// Heap of the small tier (PyTorch: kSmallHeap).
pub const SMALL_HEAP_BYTES: u64 = 8 * MIB;
/// Heap of the large tier (PyTorch: kLargeHeap).
pub const LARGE_HEAP_BYTES: u64 = 32 * MIB;
/// Heap of the extra-large tier (PyTorch: kXLargeHeap).
pub const XLARGE_HEAP_BYTES: u64 = 1024 * MIB;
/// Smallest surplus that is split off in the large pool (PyTorch: kMaxSmallAlloc again).
pub const LARGE_MIN_SPLIT_BYTES: u64 = MIB;
/// Placement alignment of blocks up to 1 MiB: Apple silicon's for buffers.
pub const SMALL_ALIGNMENT_BYTES: u64 = 256;
/// Placement alignment of larger blocks, and the smallest bucket granule: Apple silicon's page.
pub const LARGE_ALIGNMENT_BYTES: u64 = 16 << 10;

/// Hard limit of the allocator when nothing is set (PyTorch's default).
pub const DEFAULT_HIGH_WATERMARK_RATIO: f64 = 1.7;
/// A heap takes at most this part of the recommended maximum and of the machine, unless its block needs more. Apple's machines
/// recommend 5 GiB or more, so the tiers are whole there; a small container must not lose all to one half-empty heap.
pub const HEAP_PART_OF_MEMORY: u64 = 4;

/// Largest ratio that is accepted (PyTorch's upper bound).
pub const MAX_WATERMARK_RATIO: f64 = 2.0;
/// Soft limit of the allocator when nothing is set (PyTorch's default for unified memory).
pub const DEFAULT_LOW_WATERMARK_RATIO: f64 = 1.4;

/// Longest source text of a library that a trace takes in when nothing is set: real libraries are below 200 kB.
pub const TRACE_SOURCE_BYTES_MAX: u64 = MIB;

/// Unit in which heaps are placed in the arena: a huge page of x86-64, and the divisor of every heap size.
pub const ARENA_SLOT_BYTES: u64 = 2 * MIB;
/// Address space that the arena asks for first; half as much after each refusal.
pub const ARENA_BYTES_MAX: u64 = 4 << 40;
/// The arena gives up below this: less would not hold one extra-large heap and what belongs to it.
pub const ARENA_BYTES_MIN: u64 = 2 << 30;
/// Heaps from this size on ask for transparent huge pages. The small heaps do not, so that few small tensors stay small.
pub const HUGE_PAGE_HEAP_BYTES_MIN: u64 = LARGE_HEAP_BYTES;

/// Busy blocks that best fit passes by in one stream's list before it leaves the list to coalescing; bounds the time of
/// an allocation when one stream has very many blocks in flight.
pub const BEST_FIT_BUSY_BLOCKS_MAX: usize = 64;

/// Parts of a hundred of the usable memory that are the recommended maximum: Apple's machines report two thirds to three
/// quarters.
pub const RECOMMENDED_MAX_PERCENT: u64 = 75;

/// The operating system version that the device announces: the newest whose default language is Metal 3.2, without the
/// cooperative-tensor kernels of macOS 26.
pub const ANNOUNCED_OS: (u32, u32) = (15, 2);

/// Largest axis of 1D, 2D and cube textures (Metal feature set tables, Apple3 and later).
pub const TEXTURE_SIZE_MAX: u32 = 16_384;
/// Largest axis of 3D textures (Metal feature set tables).
pub const TEXTURE_3D_SIZE_MAX: u32 = 2_048;
/// Most layers of an array (Metal feature set tables); a cube counts as six.
pub const TEXTURE_LAYERS_MAX: u32 = 2_048;
/// Most texels of a texture buffer (Metal feature set tables, Apple3 and later).
pub const TEXTURE_BUFFER_WIDTH_MAX: u32 = 1 << 28;

/// Commands that one stream holds before encoding waits for half of them: Metal's command queues make callers wait as well.
/// A command takes a few hundred bytes.
pub const STREAM_COMMANDS_MAX: u64 = 16_384;

/// Words (of 8 bytes) that one thread notes for a trace before the writer has taken them; what comes then is lost and counted.
/// 64 MiB, some seconds of the smallest operations.
pub const TRACE_BUFFER_WORDS_MAX: usize = 8 << 20;
/// Emptied buffers that a trace keeps for threads.
pub const TRACE_SPARE_BUFFERS_MAX: usize = 16;
/// How often a trace is written: a crash loses at most this much of it.
pub const TRACE_WRITE_INTERVAL: Duration = Duration::from_millis(250);

/// Least address space that the compiler process can be told to keep to: LLVM's libraries, a precompiled header, stacks and
/// what the allocator reserves for each thread take half of it before anything is compiled.
pub const COMPILER_MEMORY_BYTES_MIN: u64 = 1 << 30;
/// The compiler gets at most this part of the memory that the process may use.
pub const COMPILER_PART_OF_MEMORY: u64 = 2;

/// The most that one capture writes, in bytes, unless `OPENMPS_CAPTURE_LIMIT` says otherwise.
pub const CAPTURE_BYTES_MAX: u64 = 4 << 30;
