//! The container around bitcode: Metal libraries (`.metallib`), read and written.
//!
//! [`Metallib`] opens a library from bytes or a file and finds functions by name; [`Writer`] makes one. Every byte that is read
//! is taken for hostile: sizes, offsets and counts are checked before they are used, in time and memory in proportion to the
//! parts that are read, and what is refused is named with its place.
//!
//! Opening reads the header and the list of functions, and checks all of both. Bitcode, function constants and hashes are read
//! and checked function by function when they are asked for. A file is read with positioned reads and not mapped, so one that
//! is cut while it is open gives an error.
//!
//! Left out: what the bitcode means ([`verify`](crate::verify)), the reflection list, which repeats what the bitcode says, and
//! debug information.
//!
//! Sources: measurements over Apple's libraries in PyTorch, MLX and others; the public descriptions by MetalLibraryArchive and
//! libfloor agree where they overlap.

mod bitcode;
mod constants;
mod error;
mod fat;
mod function;
mod header;
mod list;
mod sha256;
mod storage;
mod tags;
#[cfg(test)]
mod tests;
mod writer;

use std::fmt;
use std::path::Path;

pub use constants::{DataType, FunctionConstant};
pub use error::MetallibError;
pub use fat::{CPU_TYPE_AIR64, CPU_TYPE_APPLE_GPU, write_fat};
pub use function::{Function, FunctionType, Versions};
pub use header::{FileType, Header, Section};
pub use sha256::sha256;
pub use writer::{Dialect, NewFunction, Target, WriteError, Writer};

use crate::limits;
use error::{Result, describe_start};
use header::{Extension, HEADER_BYTES};
use list::FunctionList;
use storage::Storage;

/// An open library: its functions in the order of the file, found by name in constant time.
///
/// ```
/// use openmps_air::metallib::{Metallib, NewFunction, Target, Writer};
///
/// let mut writer = Writer::new(Target::default());
/// writer.push(NewFunction::kernel("add", b"BC\xc0\xde".to_vec()))?;
/// let library = Metallib::parse(writer.finish())?;
/// assert_eq!(library.names().collect::<Vec<_>>(), ["add"]);
/// assert_eq!(*library.get("add").unwrap().bitcode()?, *b"BC\xc0\xde");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Metallib {
    storage: Storage,
    header: Header,
    extension: Extension,
    list: FunctionList,
}

impl Metallib {
    /// Opens the library in `bytes`: any owner of bytes, which is kept and not copied.
    ///
    /// # Errors
    /// When the bytes are no library, or the header or the list of functions is not as it should be.
    pub fn parse(bytes: impl AsRef<[u8]> + Send + Sync + 'static) -> Result<Self> {
        Self::open_storage(Storage::memory(bytes))
    }

    /// Opens the library in the file at `path`, of which only the header and the list of functions are read.
    ///
    /// # Errors
    /// As [`Metallib::parse`], and when the file cannot be read.
    pub fn open(path: &Path) -> Result<Self> {
        Self::open_storage(Storage::file(path)?)
    }

    fn open_storage(storage: Storage) -> Result<Self> {
        let start = storage.read("the file", 0, storage.size_bytes().min(16))?;
        let library = if start.starts_with(&fat::FAT_MAGIC) { Some(fat::air_slice(&storage)?) } else { None };
        drop(start);
        Self::open_library(library.unwrap_or(storage))
    }

    fn open_library(storage: Storage) -> Result<Self> {
        let available = storage.size_bytes();
        let start = storage.read("the header", 0, available.min(HEADER_BYTES))?;
        if !start.starts_with(&header::MAGIC) {
            return Err(MetallibError::Magic { found: describe_start(&start) });
        }
        let bytes = start.first_chunk::<88>().ok_or_else(|| {
            MetallibError::part("the header", 0, format!("has {HEADER_BYTES} bytes, but the file {available}"))
        })?;
        let header = Header::parse(bytes, available)?;
        drop(start);
        let functions = header.functions;
        check_size("the function list in bytes", functions.size_bytes, limits::FUNCTION_LIST_BYTES_MAX)?;
        let list = storage.read("the function list", functions.offset, functions.size_bytes)?;
        let list = FunctionList::parse(list.into_owned().into_boxed_slice(), &header)?;
        let place = header.extension();
        check_size("the header extension in bytes", place.size_bytes, limits::RECORD_BYTES_MAX)?;
        let extension = storage.read("the header extension", place.offset, place.size_bytes)?;
        let extension = Extension::parse(&extension, place.offset, &header)?;
        Ok(Self { storage, header, extension, list })
    }

    /// How many functions there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The functions' names in the order of the file.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        (0..self.len()).map(|number| self.list.name(number))
    }

    /// The functions in the order of the file.
    pub fn functions(&self) -> impl ExactSizeIterator<Item = Function<'_>> {
        (0..self.len()).map(|number| self.function(number))
    }

    /// The function `name`.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Function<'_>> {
        self.list.find(name).map(|number| self.function(number))
    }

    /// The header.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The name of this build of the library, which some writers give it.
    #[must_use]
    pub fn uuid(&self) -> Option<[u8; 16]> {
        self.extension.uuid
    }

    /// Where the reflection list is, for libraries that have one at a place where it may be.
    #[must_use]
    pub fn reflection_list(&self) -> Option<Section> {
        self.extension.reflection
    }

    fn function(&self, number: usize) -> Function<'_> {
        Function::new(self, self.list.name(number), self.list.fields(number, &self.header))
    }

    fn storage(&self) -> &Storage {
        &self.storage
    }
}

impl fmt::Debug for Metallib {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metallib")
            .field("storage", &self.storage)
            .field("header", &self.header)
            .field("functions", &self.len())
            .finish_non_exhaustive()
    }
}

fn check_size(what: &str, given: u64, limit: u64) -> Result<()> {
    if given <= limit { Ok(()) } else { Err(MetallibError::TooLarge { what: what.to_owned(), given, limit }) }
}
