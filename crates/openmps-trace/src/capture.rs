//! Reading a capture.

use std::borrow::Cow;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use crate::check::Checker;
use crate::content::unpack;
use crate::error::{OpenError, ReadError};
use crate::record::{
    Chunk, ContentNumber, CopyCommand, EventCommand, Header, HostCommand, HostOp, Launch, MemoryEvent, Pipeline,
    PipelineNumber, Record,
};
use crate::{CONTENTS_FILE, INDEX_FILE, log};

/// Something that happened, in the order in which it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
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
}

/// Where the frames of chunks are.
#[derive(Debug)]
enum Frames {
    /// In this file.
    File(PathBuf),
    /// In memory.
    Bytes(Vec<u8>),
}

/// The frames of chunks, opened for a while.
enum OpenFrames<'a> {
    File(File),
    Bytes(&'a [u8]),
}

/// A capture whose index was read and checked. Contents are read when asked for.
#[derive(Debug)]
pub struct Capture {
    frames: Frames,
    header: Header,
    chunks: Vec<Chunk>,
    contents: Vec<(u64, Vec<u32>)>,
    pipelines: Vec<Pipeline>,
    entries: Vec<Entry>,
    memory: Vec<MemoryEvent>,
    limit_bytes: Option<u64>,
    is_ended: bool,
}

impl Capture {
    /// Opens the capture in `folder`.
    ///
    /// # Errors
    /// [`OpenError`].
    pub fn open(folder: &Path) -> Result<Self, OpenError> {
        let path = folder.join(INDEX_FILE);
        let bytes = fs::read(&path).map_err(|source| OpenError::Io { path: path.clone(), source })?;
        Self::parse(&bytes, &path, Frames::File(folder.join(CONTENTS_FILE)))
    }

    /// The capture whose two files have these bytes.
    ///
    /// # Errors
    /// [`OpenError`].
    pub fn from_bytes(index: &[u8], contents: Vec<u8>) -> Result<Self, OpenError> {
        Self::parse(index, Path::new(INDEX_FILE), Frames::Bytes(contents))
    }

    fn parse(bytes: &[u8], path: &Path, frames: Frames) -> Result<Self, OpenError> {
        let parsed = log::parse(bytes, path)?;
        let mut checker = Checker::default();
        let mut capture = Self {
            frames,
            header: Header::default(),
            chunks: Vec::new(),
            contents: Vec::new(),
            pipelines: Vec::new(),
            entries: Vec::new(),
            memory: Vec::new(),
            limit_bytes: None,
            is_ended: false,
        };
        for (number, (offset, record)) in parsed.records.into_iter().enumerate() {
            let damaged = |reason| OpenError::Damaged { path: path.into(), record: number, offset, reason };
            checker.check(&record).map_err(damaged)?;
            capture.take(record);
        }
        capture.is_ended &= !parsed.cut;
        if !checker.has_header() {
            return Err(OpenError::Foreign { path: path.into() });
        }
        Ok(capture)
    }

    fn take(&mut self, record: Record) {
        match record {
            Record::Header(header) => self.header = header,
            Record::Chunk(chunk) => self.chunks.push(chunk),
            Record::Content { size_bytes, chunks } => self.contents.push((size_bytes, chunks)),
            Record::Pipeline(pipeline) => self.pipelines.push(pipeline),
            Record::Launch(launch) => self.entries.push(Entry::Launch(launch)),
            Record::Copy(copy) => self.entries.push(Entry::Copy(copy)),
            Record::Host(host) => self.entries.push(Entry::Host(host)),
            Record::Signal(signal) => self.entries.push(Entry::Signal(signal)),
            Record::Wait(wait) => self.entries.push(Entry::Wait(wait)),
            Record::Op(op) => self.entries.push(Entry::Op(op)),
            Record::Memory(events) => self.memory.extend(events),
            Record::LimitReached { limit_bytes } => self.limit_bytes = Some(limit_bytes),
            Record::End { .. } => self.is_ended = true,
        }
    }

    /// What the capture says about itself.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Everything that happened, in the order in which it ended.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The launches in order; a launch's number is its place here, from 0.
    pub fn launches(&self) -> impl Iterator<Item = &Launch> {
        self.entries.iter().filter_map(|entry| if let Entry::Launch(launch) = entry { Some(launch) } else { None })
    }

    /// What the allocator did, in order.
    #[must_use]
    pub fn memory(&self) -> &[MemoryEvent] {
        &self.memory
    }

    /// Every pipeline, in order of number.
    #[must_use]
    pub fn pipelines(&self) -> &[Pipeline] {
        &self.pipelines
    }

    /// The pipeline with this number, which a launch of this capture gave.
    ///
    /// # Panics
    /// For a number from elsewhere.
    #[must_use]
    pub fn pipeline(&self, number: PipelineNumber) -> &Pipeline {
        &self.pipelines[number.0 as usize]
    }

    /// The limit that ended the recording early, in bytes.
    #[must_use]
    pub fn limit_reached(&self) -> Option<u64> {
        self.limit_bytes
    }

    /// Whether the program ended the capture; otherwise it died meanwhile, or the disk was full.
    #[must_use]
    pub fn is_ended(&self) -> bool {
        self.is_ended
    }

    /// Length of a content of this capture, in bytes.
    ///
    /// # Panics
    /// For a number from elsewhere.
    #[must_use]
    pub fn size_bytes(&self, content: ContentNumber) -> u64 {
        self.contents[content.0 as usize].0
    }

    /// The bytes of a content of this capture, which may be at most `limit_bytes` long.
    ///
    /// # Errors
    /// [`ReadError`].
    ///
    /// # Panics
    /// For a number from elsewhere.
    pub fn read(&self, content: ContentNumber, limit_bytes: u64) -> Result<Vec<u8>, ReadError> {
        let (size_bytes, chunks) = &self.contents[content.0 as usize];
        let too_large = || ReadError::TooLarge { content: content.0, size_bytes: *size_bytes, limit_bytes };
        let capacity =
            usize::try_from(*size_bytes).ok().filter(|_| *size_bytes <= limit_bytes).ok_or_else(too_large)?;
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(capacity).map_err(|_| too_large())?;
        self.read_chunks(chunks, &mut bytes)?;
        Ok(bytes)
    }

    /// The first `size_bytes` bytes of a content, or all if it has fewer.
    ///
    /// # Errors
    /// [`ReadError`].
    ///
    /// # Panics
    /// For a number from elsewhere.
    pub fn read_start(&self, content: ContentNumber, size_bytes: usize) -> Result<Vec<u8>, ReadError> {
        let chunks = &self.contents[content.0 as usize].1;
        let count = size_bytes.div_ceil(crate::CHUNK_BYTES).min(chunks.len());
        let mut bytes = Vec::new();
        self.read_chunks(&chunks[..count], &mut bytes)?;
        bytes.truncate(size_bytes);
        Ok(bytes)
    }

    fn read_chunks(&self, numbers: &[u32], bytes: &mut Vec<u8>) -> Result<(), ReadError> {
        if numbers.is_empty() {
            return Ok(());
        }
        let io = |source| ReadError::Io { path: self.frames.path().into(), source };
        let frames = self.frames.open().map_err(io)?;
        let mut previous: Option<(u32, usize)> = None;
        for &number in numbers {
            let chunk = &self.chunks[number as usize];
            // Long runs of one chunk are zeros, mostly.
            if let Some((_, start)) = previous.filter(|(last, _)| *last == number) {
                bytes.extend_from_within(start..start + chunk.raw_bytes as usize);
                continue;
            }
            previous = Some((number, bytes.len()));
            let frame = frames.read(chunk.offset, chunk.stored_bytes as usize);
            let unpacked = match frame {
                Ok(frame) => unpack(&frame, chunk.raw_bytes as usize, &chunk.hash),
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Err("the file ends before".into()),
                Err(error) => return Err(io(error)),
            };
            bytes.extend(unpacked.map_err(|reason| ReadError::Damaged {
                path: self.frames.path().into(),
                chunk: number,
                offset: chunk.offset,
                stored_bytes: chunk.stored_bytes,
                reason,
            })?);
        }
        Ok(())
    }
}

impl Frames {
    /// The file, for errors.
    fn path(&self) -> &Path {
        match self {
            Self::File(path) => path,
            Self::Bytes(_) => Path::new(CONTENTS_FILE),
        }
    }

    fn open(&self) -> io::Result<OpenFrames<'_>> {
        Ok(match self {
            Self::File(path) => OpenFrames::File(File::open(path)?),
            Self::Bytes(bytes) => OpenFrames::Bytes(bytes),
        })
    }
}

impl OpenFrames<'_> {
    /// The `length` bytes from `offset` on, which are looked for before memory is taken for them.
    fn read(&self, offset: u64, length: usize) -> io::Result<Cow<'_, [u8]>> {
        let missing = || io::Error::from(io::ErrorKind::UnexpectedEof);
        let end = offset.checked_add(length as u64).ok_or_else(missing)?;
        match self {
            Self::File(file) => {
                if end > file.metadata()?.len() {
                    return Err(missing());
                }
                let mut bytes = vec![0; length];
                file.read_exact_at(&mut bytes, offset)?;
                Ok(bytes.into())
            }
            Self::Bytes(bytes) => {
                let start = usize::try_from(offset).map_err(|_| missing())?;
                let rest = bytes.get(start..).ok_or_else(missing)?;
                rest.get(..length).map(Cow::Borrowed).ok_or_else(missing)
            }
        }
    }
}
