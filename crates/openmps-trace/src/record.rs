//! What a capture records, as plain data. Numbers of contents and pipelines count their records from 0.
//!
//! Adding a variant at the end of an enum keeps old captures readable; any other change needs a new
//! [`FORMAT_VERSION`](crate::FORMAT_VERSION).

use serde::{Deserialize, Serialize};

/// Names the n-th [`Record::Content`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ContentNumber(pub u32);

/// Names the n-th [`Record::Pipeline`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PipelineNumber(pub u32);

/// One record of the index. Times are nanoseconds since the capture started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Record {
    /// The first record, and only the first.
    Header(Header),
    /// Bytes in `contents.zst`.
    Chunk(Chunk),
    /// A sequence of bytes: the numbers of its chunks.
    Content {
        /// Length of the whole.
        size_bytes: u64,
        /// Each names the n-th [`Record::Chunk`]; all are full but the last.
        chunks: Vec<u32>,
    },
    /// A compiled kernel, before its first launch.
    Pipeline(Pipeline),
    /// A kernel ran.
    Launch(Launch),
    /// A copy ran.
    Copy(CopyCommand),
    /// A function of the host ran in stream order.
    Host(HostCommand),
    /// An event was signalled.
    Signal(EventCommand),
    /// A stream waited for an event.
    Wait(EventCommand),
    /// An operator ran on the CPU.
    Op(HostOp),
    /// What the allocator did.
    Memory(Vec<MemoryEvent>),
    /// The size limit was reached: nothing after this is recorded.
    LimitReached {
        /// The limit.
        limit_bytes: u64,
    },
    /// The capture was ended by the program; without this record the program died meanwhile.
    End {
        /// When.
        time_ns: u64,
    },
}

/// What the capture is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// The name that was given to the capture.
    pub name: String,
    /// Version of openmps that wrote it.
    pub openmps_version: String,
    /// The device's name.
    pub device: String,
    /// When it started: milliseconds since 1970 UTC.
    pub started_unix_ms: u64,
    /// The allocator at the start.
    pub memory: MemoryState,
}

/// Sizes of the allocator, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryState {
    /// In blocks that are handed out.
    pub current_bytes: u64,
    /// In heaps.
    pub driver_bytes: u64,
    /// The recommended maximum; 0 where there is no allocator yet.
    pub recommended_max_bytes: u64,
    /// The hard limit, from the high watermark ratio.
    pub high_limit_bytes: Option<u64>,
    /// The soft limit, from the low watermark ratio.
    pub low_limit_bytes: Option<u64>,
}

/// Where a chunk lies in `contents.zst`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chunk {
    /// BLAKE3 of the bytes.
    pub hash: [u8; 32],
    /// First byte of its zstd frame.
    pub offset: u64,
    /// Length of the frame.
    pub stored_bytes: u32,
    /// Length of the bytes: at most [`CHUNK_BYTES`](crate::CHUNK_BYTES).
    pub raw_bytes: u32,
}

/// A compiled kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pipeline {
    /// The kernel's name in its library.
    pub name: String,
    /// Where it came from.
    pub origin: Origin,
    /// The values of its function constants.
    pub constants: Vec<Constant>,
    /// The module that was compiled: LLVM bitcode, specialised where the kernel has function constants.
    pub air: ContentNumber,
    /// The engine that compiled it.
    pub engine: String,
    /// What it takes, in order.
    pub arguments: Vec<Argument>,
}

/// Where a kernel came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Origin {
    /// Source text.
    Source {
        /// The text.
        text: ContentNumber,
        /// `3.1`, `3.2` or `4.0`.
        language_version: String,
        /// Whether fast math was on.
        fast_math: bool,
    },
    /// A compiled library.
    Library {
        /// The function's bitcode in the library, not specialised.
        bitcode: ContentNumber,
    },
}

/// A function constant's value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Constant {
    /// Which one.
    pub key: ConstantKey,
    /// MSL's name of its type: `uint3`.
    pub type_name: String,
    /// Little-endian elements.
    pub bytes: Vec<u8>,
}

/// How a function constant is named.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ConstantKey {
    /// By the number in `[[function_constant(n)]]`.
    Index(u16),
    /// By its name.
    Name(String),
}

/// A parameter of a kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Argument {
    /// Its name in the source.
    pub name: String,
    /// Its type as the source spells it.
    pub type_name: String,
    /// What it is.
    pub kind: ArgumentKind,
    /// Whether the kernel may read and write it.
    pub access: Access,
}

/// What a parameter is; the number is the index in its argument table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ArgumentKind {
    /// Memory.
    Buffer(u32),
    /// Memory that holds addresses.
    ArgumentBuffer(u32),
    /// Dynamic threadgroup memory.
    ThreadgroupMemory(u32),
    /// A texture or the first of several.
    Texture(u32),
    /// A sampler or the first of several.
    Sampler(u32),
    /// A table of visible functions.
    FunctionTable(u32),
    /// A position or size, by MSL's attribute.
    Builtin(String),
    /// Left out by a function constant.
    Absent,
}

/// What a kernel may do with an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Access {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Both.
    ReadWrite,
}

/// One launch of a kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Launch {
    /// The stream's number.
    pub stream: u32,
    /// The command's number in its stream.
    pub position: u64,
    /// What ran.
    pub pipeline: PipelineNumber,
    /// When the engine began.
    pub started_ns: u64,
    /// When it ended.
    pub ended_ns: u64,
    /// Threads of the grid.
    pub threads: [u32; 3],
    /// Threads of a threadgroup.
    pub group: [u32; 3],
    /// The buffer table, by index.
    pub buffers: Vec<(u32, Binding)>,
    /// Sizes of dynamic threadgroup memory, by index.
    pub threadgroup: Vec<(u32, u32)>,
    /// The texture table, by index.
    pub textures: Vec<(u32, Texture)>,
    /// The sampler table, by index: AIR's words.
    pub samplers: Vec<(u32, [u64; 2])>,
    /// Memory that the launch can reach, in order of address, without overlaps.
    pub regions: Vec<Region>,
    /// Addresses inside memory and inline bytes.
    pub relocations: Vec<Relocation>,
    /// What the caller said about the tensors it bound, by buffer index.
    pub tensors: Vec<(u32, Tensor)>,
    /// Why it failed.
    pub error: Option<String>,
}

/// One entry of the buffer table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Binding {
    /// A place in a region.
    Memory(Place),
    /// Bytes by value.
    Bytes(Vec<u8>),
    /// No buffer.
    Null,
}

/// A part of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The number of the region in its launch.
    pub region: u32,
    /// From the region's first byte.
    pub offset_bytes: u64,
    /// Length.
    pub size_bytes: u64,
}

/// Memory that a launch can reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Region {
    /// Where it was.
    pub address: u64,
    /// What it held before; its length is the region's.
    pub before: ContentNumber,
    /// Whether the launch could write there, and what it held after.
    pub written: Written,
}

/// What became of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Written {
    /// The kernel only reads it.
    No,
    /// What it held after.
    After(ContentNumber),
}

/// A word of 8 bytes that holds the address of a place in a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Relocation {
    /// The region that holds the word, or else the buffer index of inline bytes.
    pub holder: Holder,
    /// The word's first byte in there.
    pub offset_bytes: u64,
    /// The region that it leads to.
    pub region: u32,
    /// The byte that it leads to, in that region.
    pub target_bytes: u64,
}

/// What holds an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Holder {
    /// A region, by number.
    Region(u32),
    /// Inline bytes, by buffer index.
    Bytes(u32),
}

/// A texture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Texture {
    /// Its bytes.
    pub place: Place,
    /// MSL's name of the type without `texture`: `2d_array`.
    pub texture_type: String,
    /// The name of the pixel format: `RGBA8Unorm`.
    pub format: String,
    /// Texels of level 0.
    pub size: [u32; 3],
    /// Elements of an array, else 1.
    pub array_length: u32,
    /// Mip levels.
    pub levels: Vec<TextureLevel>,
    /// Whether kernels may read it.
    pub shader_read: bool,
    /// Whether kernels may write it.
    pub shader_write: bool,
}

/// Where a mip level lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextureLevel {
    /// From the texture's first byte.
    pub offset_bytes: u64,
    /// From row to row.
    pub bytes_per_row: u64,
    /// From image to image.
    pub bytes_per_image: u64,
}

/// What a caller says about a tensor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tensor {
    /// `float32`.
    pub dtype: String,
    /// Elements along each dimension.
    pub sizes: Vec<u64>,
    /// Elements from one to the next along each dimension.
    pub strides: Vec<i64>,
}

/// A copy inside the device's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CopyCommand {
    /// The stream's number.
    pub stream: u32,
    /// The command's number in its stream.
    pub position: u64,
    /// When it began.
    pub started_ns: u64,
    /// When it ended.
    pub ended_ns: u64,
    /// Where the bytes were.
    pub source: u64,
    /// Where they are now.
    pub destination: u64,
    /// The bytes.
    pub content: ContentNumber,
}

/// A function of the host in stream order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostCommand {
    /// The stream's number.
    pub stream: u32,
    /// The command's number in its stream.
    pub position: u64,
    /// When it began.
    pub started_ns: u64,
    /// When it ended.
    pub ended_ns: u64,
    /// What it is.
    pub name: String,
    /// Why it failed.
    pub error: Option<String>,
}

/// A signal of an event, or a wait for one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventCommand {
    /// The stream's number.
    pub stream: u32,
    /// The command's number in its stream.
    pub position: u64,
    /// When it began.
    pub started_ns: u64,
    /// When it ended.
    pub ended_ns: u64,
    /// The event's number.
    pub event: u64,
    /// The value signalled or waited for.
    pub value: u64,
}

/// An operator that ran on the CPU, over the device's memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostOp {
    /// `aten::add.Tensor`.
    pub name: String,
    /// Its tensors: `MPS:Float[2, 3]`.
    pub tensors: Vec<String>,
    /// A number for the calling thread.
    pub thread: u64,
    /// When it began.
    pub started_ns: u64,
    /// When it ended.
    pub ended_ns: u64,
}

/// What the allocator did with a block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryEvent {
    /// When.
    pub time_ns: u64,
    /// What.
    pub kind: MemoryEventKind,
    /// The block's first byte.
    pub address: u64,
    /// Its size.
    pub size_bytes: u64,
    /// The pool it belongs to.
    pub pool: MemoryPool,
    /// The stream's number.
    pub stream: u32,
    /// Bytes in blocks that are handed out, afterwards.
    pub current_bytes: u64,
    /// Bytes in heaps, afterwards.
    pub driver_bytes: u64,
}

/// What the allocator did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum MemoryEventKind {
    /// Handed a block out.
    Allocate,
    /// Took a block back.
    Free,
}

/// The allocator's pools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum MemoryPool {
    /// Blocks up to 1 MiB.
    Small,
    /// All larger blocks.
    Large,
    /// Scalar operands.
    Scalar,
}
