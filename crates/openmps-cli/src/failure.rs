//! Why a command did not do what it should; the process's exit status follows from it.

use std::fmt;
use std::io;
use std::path::Path;

/// What ends a command.
#[derive(Debug)]
pub(crate) enum Failure {
    /// An input is wrong or an output cannot be written, as the text says.
    Message(String),
    /// What went wrong has been said already.
    Said,
    /// Nobody reads the output any more.
    OutputClosed,
}

impl Failure {
    /// What is wrong with the file at `path`.
    pub(crate) fn about(path: &Path, problem: impl fmt::Display) -> Self {
        Self::Message(format!("{}: {problem}", path.display()))
    }

    /// Standard output cannot be written.
    pub(crate) fn output(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::OutputClosed,
            _ => Self::Message(format!("standard output: {error}")),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Message(message) => write!(f, "openmps: error: {message}"),
            Self::Said | Self::OutputClosed => Ok(()),
        }
    }
}
