//! What names a stream, and how a stream fails: the two words that memory, streams and events share.
//!
//! They stand apart from the streams themselves so that the allocator can be tested without one.

/// Names one stream: 0 is the default stream, 1 to 32 are the pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(pub u32);

impl StreamId {
    /// The stream that threads use which never chose one.
    pub const DEFAULT: StreamId = StreamId(0);
}

/// An error that queued work left behind; raised at the next synchronization.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StreamError {
    /// A kernel reported it through the stream's error buffer; the first record wins.
    #[error("{message}")]
    Kernel {
        /// What the kernel said.
        message: String,
        /// Source file of the report.
        file: String,
        /// Function of the report.
        function: String,
        /// Line of the report, from 1.
        line: u32,
    },
    /// A command could not be executed at all.
    #[error(
        "MPS command buffer execution failed: {message}. This error may have been asynchronously reported, so the stack trace \
         below might be incorrect."
    )]
    Execution {
        /// Whether memory ran out.
        is_oom: bool,
        /// The engine's error code.
        code: i64,
        /// What the engine said.
        message: String,
    },
}

impl StreamError {
    /// What the kernel or the engine said, without PyTorch's words around it.
    #[must_use]
    pub fn message(&self) -> &str {
        match self {
            Self::Kernel { message, .. } | Self::Execution { message, .. } => message,
        }
    }
}
