//! Limits on what this crate reads and accepts, each with the source of its number.

/// Largest bitcode in bytes. The largest module of PyTorch 2.13's library has under 1 MiB; all of MLX's kernels in one would fit.
pub const BITCODE_BYTES_MAX: usize = 256 << 20;
/// Largest function list of a container in bytes. The largest known, PyTorch's for macOS 26 with 19,455 functions, has 3 MB.
pub const FUNCTION_LIST_BYTES_MAX: u64 = 256 << 20;
/// Largest header extension and largest metadata record of a container in bytes. Known ones have under 2 KiB.
pub const RECORD_BYTES_MAX: u64 = 1 << 20;
/// Most functions of a module, declarations too. A library of every PyTorch kernel would have 20,000.
pub const FUNCTIONS_MAX: usize = 1 << 20;
/// Most instructions of a module, so that optimising it ends: LLVM takes about 10 µs an instruction.
pub const INSTRUCTIONS_MAX: usize = 8 << 20;
/// Most bytes of all allocas of one function. Metal's compiler keeps private memory far below; CPU stacks are sized for this.
pub const ALLOCA_BYTES_MAX: u64 = 1 << 20;
/// Most bytes of one global variable. The largest that Apple-compiled kernels declare has 40 KiB.
pub const GLOBAL_BYTES_MAX: u64 = 64 << 20;
/// Most lanes of a vector: AIR writes an 8x8 matrix as 64 lanes.
pub const VECTOR_LANES_MAX: u32 = 64;
/// Largest value that one instruction handles, in bytes: code generation unrolls arrays and structs. A matrix has 256.
pub const VALUE_BYTES_MAX: u64 = 64 << 10;
/// Widest integer in bits: LLVM's optimiser makes i128 products of 64-bit numbers.
pub const INTEGER_BITS_MAX: u32 = 128;
/// Deepest chain of calls, so that engines may recurse over it.
pub const CALL_DEPTH_MAX: usize = 512;
/// Levels of recursive calls. PyTorch's `log_gamma` needs two.
pub const RECURSION_DEPTH: usize = 4;
/// Most instructions of a group of recursive functions once its levels are inlined into each other.
pub const UNROLLED_INSTRUCTIONS_MAX: usize = 1 << 17;
/// Most groups of recursive functions in a module.
pub const RECURSIVE_GROUPS_MAX: usize = 64;
/// Buffers of a kernel: indices 0 to 30 (Metal feature set tables).
pub const BUFFERS_MAX: u32 = 31;
/// Threadgroup buffers of a kernel: indices 0 to 30 (Metal feature set tables).
pub const THREADGROUP_BUFFERS_MAX: u32 = 31;
/// Textures of a kernel: indices 0 to 127 (Metal feature set tables).
pub const TEXTURES_MAX: u32 = 128;
/// Samplers of a kernel: indices 0 to 15 (Metal feature set tables).
pub const SAMPLERS_MAX: u32 = 16;
/// Most instructions that a constructor runs, with all calls: those of MLX and Metal Flash Attention have about a hundred.
pub const CONSTRUCTOR_INSTRUCTIONS_MAX: u64 = 1 << 20;
/// Longest quotation of IR in an error text, in characters.
pub const QUOTATION_CHARS_MAX: usize = 160;
