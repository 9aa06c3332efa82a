//! Where a library's bytes are: in memory, or in a file that is read piece by piece.
//!
//! Guarantees: nothing outside the window is read; a file that shrinks or changes while it is open gives errors, never a signal,
//! since files are read and not mapped; bytes are read when they are asked for.

use std::borrow::Cow;
use std::fmt;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::error::{MetallibError, Result};

/// Bytes in memory or in a file.
#[derive(Clone)]
enum Source {
    Memory(Arc<dyn AsRef<[u8]> + Send + Sync>),
    File(Arc<(File, PathBuf)>),
}

/// A range of the bytes; offsets are relative to its start.
#[derive(Clone)]
pub(super) struct Storage {
    source: Source,
    base: u64,
    size_bytes: u64,
}

impl Storage {
    pub(super) fn memory(bytes: impl AsRef<[u8]> + Send + Sync + 'static) -> Self {
        let size_bytes = bytes.as_ref().len() as u64;
        Self { source: Source::Memory(Arc::new(bytes)), base: 0, size_bytes }
    }

    pub(super) fn file(path: &Path) -> Result<Self> {
        let failed = |reason: String| MetallibError::Read { path: path.display().to_string(), reason };
        let file = File::open(path).map_err(|error| failed(error.to_string()))?;
        let metadata = file.metadata().map_err(|error| failed(error.to_string()))?;
        if !metadata.is_file() {
            let kind = if metadata.is_dir() { "is a directory" } else { "is no regular file" };
            return Err(failed(format!("{kind}, expected a Metal library")));
        }
        let size_bytes = metadata.len();
        Ok(Self { source: Source::File(Arc::new((file, path.to_owned()))), base: 0, size_bytes })
    }

    pub(super) fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// The part from `offset` on with `size_bytes` bytes, which is inside.
    pub(super) fn window(&self, offset: u64, size_bytes: u64) -> Self {
        let is_inside = offset.checked_add(size_bytes).is_some_and(|end| end <= self.size_bytes);
        assert!(is_inside, "a window of {size_bytes} bytes at {offset} in {} bytes", self.size_bytes);
        Self { source: self.source.clone(), base: self.base + offset, size_bytes }
    }

    /// The bytes of `what`, which callers have found to be inside.
    pub(super) fn read(&self, what: &str, offset: u64, size_bytes: u64) -> Result<Cow<'_, [u8]>> {
        let gone = || MetallibError::part(what, offset, format!("has {size_bytes} bytes, but the bytes end before"));
        let is_inside = offset.checked_add(size_bytes).is_some_and(|end| end <= self.size_bytes);
        let start = self.base.checked_add(offset).filter(|_| is_inside).ok_or_else(gone)?;
        match &self.source {
            Source::Memory(bytes) => {
                let start = usize::try_from(start).map_err(|_| gone())?;
                let size = usize::try_from(size_bytes).map_err(|_| gone())?;
                let end = start.checked_add(size).ok_or_else(gone)?;
                (**bytes).as_ref().get(start..end).map(Cow::Borrowed).ok_or_else(gone)
            }
            Source::File(file) => {
                let (file, path) = &**file;
                let mut bytes = vec![0; usize::try_from(size_bytes).map_err(|_| gone())?];
                file.read_exact_at(&mut bytes, start).map_err(|error| MetallibError::Read {
                    path: path.display().to_string(),
                    reason: format!("{size_bytes} bytes at byte {start:#x}: {error}"),
                })?;
                Ok(Cow::Owned(bytes))
            }
        }
    }
}

impl fmt::Debug for Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let source = match &self.source {
            Source::Memory(_) => "memory".to_owned(),
            Source::File(file) => file.1.display().to_string(),
        };
        write!(f, "{} bytes at {} of {source}", self.size_bytes, self.base)
    }
}
