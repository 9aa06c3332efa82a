//! The file of a trace: its name, and writing so that it can be read at any moment.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

/// A file that holds whole packets only, also after a failed write.
#[derive(Debug)]
pub(super) struct TraceFile {
    file: File,
    /// Where it lies.
    pub(super) path: PathBuf,
    whole_bytes: u64,
}

impl TraceFile {
    /// A new file `openmps-<process>-<n>.perfetto-trace` in `folder`, which is made if it does not exist.
    ///
    /// # Errors
    /// What the system says, with the path that it is about.
    pub(super) fn create(folder: &Path) -> Result<Self, (PathBuf, io::Error)> {
        static NUMBER: AtomicU32 = AtomicU32::new(1);
        fs::create_dir_all(folder).map_err(|error| (folder.to_owned(), error))?;
        loop {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let path = folder.join(format!("openmps-{}-{number}.perfetto-trace", process::id()));
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(file) => return Ok(Self { file, path, whole_bytes: 0 }),
                // Of an earlier process with this number.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err((path, error)),
            }
        }
    }

    /// Appends packets.
    ///
    /// # Errors
    /// What the system says; the file ends then behind the last packet that is there whole.
    pub(super) fn append(&mut self, packets: &[u8]) -> io::Result<()> {
        let mut rest = packets;
        while !rest.is_empty() {
            match self.file.write(rest) {
                Ok(0) => return self.cut(packets, rest.len(), ErrorKind::WriteZero.into()),
                Ok(count) => rest = &rest[count..],
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return self.cut(packets, rest.len(), error),
            }
        }
        self.whole_bytes += packets.len() as u64;
        Ok(())
    }

    /// Ends the file behind the last whole one of `packets`, whose last `missing` bytes are not there.
    fn cut(&mut self, packets: &[u8], missing: usize, error: io::Error) -> io::Result<()> {
        self.whole_bytes += whole_packets(&packets[..packets.len() - missing]) as u64;
        // If even this fails, the last packet is cut off, which readers put up with.
        drop(self.file.set_len(self.whole_bytes));
        Err(error)
    }
}

/// Bytes of the packets that are whole in `bytes`.
fn whole_packets(bytes: &[u8]) -> usize {
    let mut rest = bytes;
    loop {
        let mut next = rest;
        let is_whole = next.split_off_first().is_some()
            && prost::decode_length_delimiter(&mut next).ok().and_then(|length| next.split_off(..length)).is_some();
        if !is_whole {
            return bytes.len() - rest.len();
        }
        rest = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_counted_to_the_last_whole_one() {
        let packets = [[0x0a, 2, 1, 2].as_slice(), &[0x0a, 0], &[0x0a, 0x80, 1], &[7; 128]].concat();
        let whole: Vec<usize> = (0..=packets.len()).map(|length| whole_packets(&packets[..length])).collect();
        assert_eq!(whole[..7], [0, 0, 0, 0, 4, 4, 6]);
        assert!(whole[7..137].iter().all(|&bytes| bytes == 6));
        assert_eq!(whole[137..], [137]);
    }
}
