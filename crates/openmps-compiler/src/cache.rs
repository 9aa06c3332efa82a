//! Answers of the compiler on disk, by the hash of everything that they depend on.
//!
//! Guarantees: an entry is returned whole and unchanged or not at all (length and checksum are checked); any number of
//! processes may use one folder; the folder's size is bounded, the oldest entries go first; a folder that cannot be used
//! means that nothing is cached, never an error. Left out: telling entries apart by anything but the key.
//!
//! Entries hold machine code, so a folder that everyone may write to is not used.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

/// First bytes of every entry; the digit changes with the format.
const MAGIC: [u8; 8] = *b"OPENMPS1";

/// Magic, length of the payload, BLAKE3 of the payload.
pub const HEADER_BYTES: usize = 8 + 8 + 32;

/// Bytes that the folder may take by default: some ten thousand kernels.
pub const CACHE_BYTES_DEFAULT: u64 = 1 << 30;

/// Entries written by one process between two looks at the folder's size.
const WRITES_PER_TRIM: u32 = 64;

/// After this long a temporary file belongs to no living write.
const TEMPORARY_AGE_MAX: Duration = Duration::from_secs(3600);

/// The name of an entry.
pub type Key = blake3::Hash;

/// A folder of entries.
#[derive(Debug)]
pub struct DiskCache {
    folder: Option<PathBuf>,
    size_bytes_max: u64,
    writes: AtomicU32,
}

impl DiskCache {
    /// A cache in `folder` of at most `size_bytes_max` bytes; without a folder, or with one that cannot be made or is
    /// writable by everyone, a cache that holds nothing.
    #[must_use]
    pub fn new(folder: Option<&Path>, size_bytes_max: u64) -> Self {
        let folder = folder.map(|folder| folder.join("answers")).filter(|folder| is_usable(folder));
        Self { folder, size_bytes_max, writes: AtomicU32::new(0) }
    }

    /// The payload under `key`, if it is there and undamaged.
    #[must_use]
    pub fn get(&self, key: &Key) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        File::open(self.path(key)?).ok()?.read_to_end(&mut bytes).ok()?;
        entry_payload(&bytes)?;
        Some(bytes.split_off(HEADER_BYTES))
    }

    /// Keeps `payload` under `key`, replacing what is there. Failure leaves the folder as it was.
    pub fn put(&self, key: &Key, payload: &[u8]) {
        let Some(path) = self.path(key) else { return };
        let written = self.writes.fetch_add(1, Ordering::Relaxed);
        if self.write(&path, written, payload).is_ok() && written.is_multiple_of(WRITES_PER_TRIM) {
            self.trim();
        }
    }

    fn path(&self, key: &Key) -> Option<PathBuf> {
        let name = key.to_hex();
        Some(self.folder.as_ref()?.join(&name[..2]).join(&name[2..]))
    }

    fn write(&self, path: &Path, serial: u32, payload: &[u8]) -> io::Result<()> {
        let folder = path.parent().expect("an entry's path has the folder in front");
        create_private_folder(folder)?;
        let temporary = folder.join(format!(".{}-{serial}-{:p}", std::process::id(), self));
        let result = (|| {
            let mut file =
                fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&temporary)?;
            file.write_all(&entry_header(payload))?;
            file.write_all(payload)?;
            // Not synced: a torn entry fails its checksum and is built again.
            fs::rename(&temporary, path)
        })();
        if result.is_err() {
            // What is left behind is trimmed later.
            let _ = fs::remove_file(&temporary);
        }
        result
    }

    /// Deletes the oldest entries until nine tenths of the limit are left, and abandoned temporary files.
    fn trim(&self) {
        let Some(folder) = &self.folder else { return };
        let mut entries = Vec::new();
        let mut size_bytes = 0u64;
        let now = SystemTime::now();
        for path in files_below(folder) {
            let Ok(metadata) = path.symlink_metadata() else { continue };
            let modified = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            let is_temporary = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
            if !is_temporary {
                size_bytes = size_bytes.saturating_add(metadata.len());
                entries.push((modified, path, metadata.len()));
            } else if now.duration_since(modified).is_ok_and(|age| age > TEMPORARY_AGE_MAX) {
                let _ = fs::remove_file(path);
            }
        }
        if size_bytes <= self.size_bytes_max {
            return;
        }
        entries.sort();
        let goal = self.size_bytes_max / 10 * 9;
        for (_, path, length) in entries {
            if size_bytes <= goal {
                return;
            }
            // Another process may have been faster; the bytes are gone either way.
            let _ = fs::remove_file(path);
            size_bytes -= length;
        }
    }
}

/// `$XDG_CACHE_HOME/openmps`, else `~/.cache/openmps`, by the XDG base directory specification; `lookup` reads the
/// environment.
#[must_use]
pub fn default_folder(lookup: impl Fn(&str) -> Option<std::ffi::OsString>) -> Option<PathBuf> {
    let absolute = |name: &str| lookup(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")))?;
    Some(base.join("openmps"))
}

/// How many files are below a folder of the cache, and their bytes.
#[must_use]
pub fn folder_usage(folder: &Path) -> (u64, u64) {
    let mut usage = (0, 0);
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(metadata) if metadata.is_dir() => folders.push(entry.path()),
                Ok(metadata) => usage = (usage.0 + 1, usage.1 + metadata.len()),
                // Gone since it was listed.
                Err(_) => {}
            }
        }
    }
    usage
}

/// The payload of an entry's bytes, if they are whole and undamaged.
#[must_use]
pub fn entry_payload(entry: &[u8]) -> Option<&[u8]> {
    let (header, payload) = entry.split_at_checked(HEADER_BYTES)?;
    (header == entry_header(payload)).then_some(payload)
}

/// What stands in front of `payload` in an entry.
#[must_use]
pub fn entry_header(payload: &[u8]) -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    header[..8].copy_from_slice(&MAGIC);
    header[8..16].copy_from_slice(&(payload.len() as u64).to_le_bytes());
    header[16..].copy_from_slice(blake3::hash(payload).as_bytes());
    header
}

fn is_usable(folder: &Path) -> bool {
    const WRITABLE_BY_EVERYONE: u32 = 0o002;
    create_private_folder(folder).is_ok()
        && fs::metadata(folder).is_ok_and(|metadata| metadata.is_dir() && metadata.mode() & WRITABLE_BY_EVERYONE == 0)
}

fn create_private_folder(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Files one folder deep, where entries are.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let list = |folder: &Path| -> Vec<PathBuf> {
        fs::read_dir(folder)
            .map(|entries| entries.filter_map(|entry| Some(entry.ok()?.path())).collect())
            .unwrap_or_default()
    };
    list(folder).iter().flat_map(|inner| list(inner)).collect()
}

#[cfg(test)]
mod tests;
