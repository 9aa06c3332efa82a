//! Captures on disk: a folder `NNNN-<name>.gputrace` with everything that is needed to run each kernel launch again.
//!
//! [`Writer`] writes one while the program runs, [`Capture`] reads it. The folder holds `index.log`, framed [`Record`]s in the
//! order in which things happened, and `contents.zst`, the bytes of buffers, sources and modules: chunks of at most
//! [`CHUNK_BYTES`], each one zstd frame, each stored once. The book's page on captures describes every byte.
//!
//! Guarantees: what was written before the program died is readable; every record and every chunk is checked against its
//! hash; numbers and ranges inside records are checked when a capture is opened, so that users of [`Capture`] can rely on
//! them; no length in a file makes the reader allocate more than the file's own size, one chunk, or what the caller allows.
//! No name in a file becomes a path. Left out: what the records mean to an engine, and running them.
//!
//! Dependencies: `zstd` packs chunks and `blake3` names them, `postcard` is the bytes of records, `thiserror` writes error texts.
#![forbid(unsafe_code)]

mod capture;
mod check;
mod content;
mod error;
mod log;
pub mod perfetto;
mod record;
mod writer;

pub use capture::{Capture, Entry};
pub use content::CHUNK_BYTES;
pub use error::{OpenError, ReadError, WriteError};
pub use log::FORMAT_VERSION;
#[doc(hidden)]
pub use log::{hash_of, index_of, payload_of};
pub use record::{
    Access, Argument, ArgumentKind, Binding, Chunk, Constant, ConstantKey, ContentNumber, CopyCommand, EventCommand,
    Header, Holder, HostCommand, HostOp, Launch, MemoryEvent, MemoryEventKind, MemoryPool, MemoryState, Origin,
    Pipeline, PipelineNumber, Place, Record, Region, Relocation, Tensor, Texture, TextureLevel, Written,
};
pub use writer::Writer;

#[cfg(test)]
mod tests;

/// The file of records inside a capture's folder.
pub const INDEX_FILE: &str = "index.log";
/// The file of chunks inside a capture's folder.
pub const CONTENTS_FILE: &str = "contents.zst";
