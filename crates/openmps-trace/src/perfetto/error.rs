//! Why a file is not read as a Perfetto trace.

use std::io;

use thiserror::Error;

/// Why a file is not read as a trace; who says it names the file.
#[derive(Debug, Error)]
pub enum TraceError {
    /// The operating system refused.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// Longer than what is read here.
    #[error("the trace has {size_bytes} bytes, at most {limit_bytes} are read; ui.perfetto.dev reads more")]
    TooLarge {
        /// Its length.
        size_bytes: u64,
        /// The limit.
        limit_bytes: u64,
    },
    /// The file is something else.
    #[error("this is no Perfetto trace: {what}")]
    Foreign {
        /// What it seems to be.
        what: String,
    },
    /// A packet is not what a program wrote.
    #[error("the trace is damaged: packet {packet} at byte {offset}: {reason}")]
    Damaged {
        /// The packet's number, from 0.
        packet: usize,
        /// Its first byte.
        offset: usize,
        /// What is wrong.
        reason: String,
    },
    /// A trace of something else.
    #[error("the trace has no events on tracks, but {packets} packets of other kinds, which ui.perfetto.dev shows")]
    NoEvents {
        /// Packets of all kinds.
        packets: usize,
    },
}
