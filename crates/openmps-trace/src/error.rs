//! Why a capture cannot be written, opened or read.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Why a capture was not made, or is not whole.
#[derive(Debug, Error)]
pub enum WriteError {
    /// The operating system refused.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// More distinct contents or pipelines than a capture can number.
    #[error("a capture holds at most 2^32 contents")]
    TooMany,
    /// The capture has become as long as it may.
    #[error("the capture has reached its limit of {limit_bytes} bytes")]
    Limit {
        /// The limit.
        limit_bytes: u64,
    },
}

/// Why a folder is not read as a capture.
#[derive(Debug, Error)]
pub enum OpenError {
    /// The operating system refused.
    #[error("cannot read {path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What it said.
        source: io::Error,
    },
    /// The file is something else.
    #[error("{path} is not an openmps capture: it does not start with its mark")]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// Written by another version.
    #[error("{path} is an openmps capture of format {found}, expected format {expected}")]
    Version {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: u32,
        /// The one that is read here.
        expected: u32,
    },
    /// A record is not what was written, or does not fit the ones before.
    #[error("{path} is damaged: record {record} at byte {offset}: {reason}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The record's number, from 0.
        record: usize,
        /// Its first byte.
        offset: usize,
        /// What is wrong.
        reason: String,
    },
}

/// Why a content cannot be had.
#[derive(Debug, Error)]
pub enum ReadError {
    /// The operating system refused.
    #[error("cannot read {path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What it said.
        source: io::Error,
    },
    /// The bytes in the file are not those that were written.
    #[error("{path} is damaged: chunk {chunk}, {stored_bytes} bytes from {offset} on: {reason}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The chunk's number.
        chunk: u32,
        /// Its first byte.
        offset: u64,
        /// Its length.
        stored_bytes: u32,
        /// What is wrong.
        reason: String,
    },
    /// The caller allows less.
    #[error("content {content} has {size_bytes} bytes, at most {limit_bytes} are read")]
    TooLarge {
        /// The content's number.
        content: u32,
        /// Its length.
        size_bytes: u64,
        /// What was allowed.
        limit_bytes: u64,
    },
}
