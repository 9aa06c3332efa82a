//! Writing a capture while the program runs.
//!
//! Each chunk and each record is one `write`, a chunk before the record that names it: whatever ends the process, what was
//! written is readable, and what was not is cut off at the end of a file.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;

use crate::content::{CHUNK_BYTES, pack};
use crate::error::WriteError;
use crate::record::{Chunk, ContentNumber, Header, Pipeline, PipelineNumber, Record};
use crate::{CONTENTS_FILE, INDEX_FILE, log};

/// An open capture. After an error nothing more can be written to it.
pub struct Writer {
    index: File,
    contents: File,
    /// Bytes in both files.
    index_bytes: u64,
    contents_bytes: u64,
    limit_bytes: u64,
    chunks: HashMap<[u8; 32], u32>,
    known: HashMap<Vec<u32>, ContentNumber>,
    pipelines: u32,
    buffer: Vec<u8>,
}

impl Writer {
    /// Starts a capture in `folder`, which is made if its parent exists; an old capture there is overwritten. Both files
    /// together stay below `limit_bytes`.
    ///
    /// # Errors
    /// [`WriteError::Io`].
    pub fn create(folder: &Path, header: Header, limit_bytes: u64) -> Result<Self, WriteError> {
        fs::create_dir(folder).or_else(|error| if folder.is_dir() { Ok(()) } else { Err(error) })?;
        let mut writer = Self {
            contents: File::create(folder.join(CONTENTS_FILE))?,
            index: File::create(folder.join(INDEX_FILE))?,
            index_bytes: 0,
            contents_bytes: 0,
            limit_bytes,
            chunks: HashMap::new(),
            known: HashMap::new(),
            pipelines: 0,
            buffer: log::start(),
        };
        writer.append(&Record::Header(header))?;
        Ok(writer)
    }

    /// Bytes written so far.
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        self.index_bytes + self.contents_bytes
    }

    /// Stores `bytes`, unless they are stored already, and returns their number.
    ///
    /// # Errors
    /// [`WriteError`].
    pub fn put(&mut self, bytes: &[u8]) -> Result<ContentNumber, WriteError> {
        self.put_with(bytes.len(), |offset, chunk| chunk.copy_from_slice(&bytes[offset..offset + chunk.len()]))
    }

    /// Stores `size_bytes` bytes, which `read` supplies: it fills what it is given with the bytes from an offset on.
    ///
    /// # Errors
    /// [`WriteError`].
    pub fn put_with(
        &mut self,
        size_bytes: usize,
        mut read: impl FnMut(usize, &mut [u8]),
    ) -> Result<ContentNumber, WriteError> {
        let mut chunks = Vec::with_capacity(size_bytes.div_ceil(CHUNK_BYTES));
        let mut buffer = vec![0; size_bytes.min(CHUNK_BYTES)];
        for offset in (0..size_bytes).step_by(CHUNK_BYTES) {
            let chunk = &mut buffer[..CHUNK_BYTES.min(size_bytes - offset)];
            read(offset, chunk);
            chunks.push(self.put_chunk(chunk)?);
        }
        if let Some(number) = self.known.get(&chunks) {
            return Ok(*number);
        }
        let number = ContentNumber(u32::try_from(self.known.len()).map_err(|_| WriteError::TooMany)?);
        self.append(&Record::Content { size_bytes: size_bytes as u64, chunks: chunks.clone() })?;
        self.known.insert(chunks, number);
        Ok(number)
    }

    fn put_chunk(&mut self, chunk: &[u8]) -> Result<u32, WriteError> {
        let hash = *blake3::hash(chunk).as_bytes();
        if let Some(number) = self.chunks.get(&hash) {
            return Ok(*number);
        }
        let number = u32::try_from(self.chunks.len()).map_err(|_| WriteError::TooMany)?;
        let frame = pack(chunk)?;
        self.reserve(frame.len())?;
        self.contents.write_all(&frame)?;
        let offset = self.contents_bytes;
        self.contents_bytes += frame.len() as u64;
        let length = |bytes: usize| u32::try_from(bytes).map_err(|_| WriteError::TooMany);
        let (stored_bytes, raw_bytes) = (length(frame.len())?, length(chunk.len())?);
        self.append(&Record::Chunk(Chunk { hash, offset, stored_bytes, raw_bytes }))?;
        self.chunks.insert(hash, number);
        Ok(number)
    }

    /// Appends a pipeline and returns its number.
    ///
    /// # Errors
    /// [`WriteError`].
    pub fn pipeline(&mut self, pipeline: Pipeline) -> Result<PipelineNumber, WriteError> {
        let number = PipelineNumber(self.pipelines);
        self.append(&Record::Pipeline(pipeline))?;
        self.pipelines = self.pipelines.checked_add(1).ok_or(WriteError::TooMany)?;
        Ok(number)
    }

    /// Appends `record`, which must fit what was appended before.
    ///
    /// # Errors
    /// [`WriteError`].
    pub fn append(&mut self, record: &Record) -> Result<(), WriteError> {
        if !log::append(record, &mut self.buffer) {
            return Err(io::Error::from(io::ErrorKind::FileTooLarge).into());
        }
        let is_last = matches!(record, Record::LimitReached { .. } | Record::End { .. });
        if !is_last {
            self.reserve(self.buffer.len())?;
        }
        let written = self.index.write_all(&self.buffer);
        self.index_bytes += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(written?)
    }

    /// Whether `bytes` more fit; the last record always does.
    fn reserve(&mut self, bytes: usize) -> Result<(), WriteError> {
        if self.size_bytes() + bytes as u64 <= self.limit_bytes {
            return Ok(());
        }
        self.buffer.clear();
        let limit_bytes = self.limit_bytes;
        self.append(&Record::LimitReached { limit_bytes })?;
        Err(WriteError::Limit { limit_bytes })
    }
}
