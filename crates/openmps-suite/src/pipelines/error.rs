//! What keeps a run from going on.

use openmps::LibraryError;
use thiserror::Error;

/// Why a run stopped.
#[derive(Debug, Error)]
pub enum PipelinesError {
    /// A library cannot be opened.
    #[error(transparent)]
    Open(#[from] LibraryError),
    /// A worker process said something that is not in its protocol.
    #[error("a worker answered '{0}'")]
    Answer(String),
    /// State file, worker or output.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}
