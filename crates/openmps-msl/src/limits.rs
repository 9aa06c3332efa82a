//! Limits of the front end, with where their numbers come from.

/// Most bytes of one source text. The largest public library in one string (ggml) has half a megabyte.
pub const SOURCE_BYTES_MAX: usize = 32 << 20;

/// Metal's argument table has 31 buffers for each function (Metal feature set tables, "maximum entries in the buffer
/// argument table").
pub const BUFFER_COUNT_MAX: u32 = 31;

/// Errors after which clang stops: enough for a person, bounded for nonsense.
pub const ERROR_COUNT_MAX: u32 = 40;

/// Warnings of the rewriter about one text; further ones are dropped.
pub const WARNING_COUNT_MAX: usize = 40;

/// Characters of a line that are shown under a message; of a longer line those around the place.
pub const LINE_CHARS_MAX: usize = 500;

/// Precompiled headers of pasted text that are kept, some megabytes each: PyTorch's headers make a few combinations.
pub const PASTED_HEADERS_MAX: usize = 24;
