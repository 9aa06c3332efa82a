//! Macs to pretend to be: `OPENMPS_DEVICE=m1-8gb`.
//!
//! One row a chip; memory, recommended working set and longest buffer follow from the model's memory by the rules that
//! Metal's own answers show: two thirds of the memory up to 32 GiB and three quarters above, in whole pages (an M1 with 16 GiB
//! says 11,453,251,584 bytes), and buffers up to three quarters of that. Machines with macOS 26 may recommend more.
//! Leaves out: how fast a chip is, and the limits of its kernels.

use std::fmt::Write as _;

use thiserror::Error;

use crate::limits::{ANNOUNCED_OS, LARGE_ALIGNMENT_BYTES};

const GIB: u64 = 1 << 30;

/// From this much memory on, Metal recommends three quarters and not two thirds of it.
const LARGE_MEMORY_GIB: u64 = 36;

/// A chip with the memories that Macs have it with.
struct Chip {
    /// The first part of the setting.
    word: &'static str,
    /// `torch.backends.mps.get_name()`.
    name: &'static str,
    /// GPU cores of the full chip; Apple sells some with fewer.
    cores: u32,
    memories_gib: &'static [u64],
    /// The first macOS that runs on it, or the one that this project announces if that is newer.
    os: (u32, u32),
}

const CHIPS: [Chip; 16] = [
    Chip { word: "m1", name: "Apple M1", cores: 8, memories_gib: &[8, 16], os: ANNOUNCED_OS },
    Chip { word: "m1-pro", name: "Apple M1 Pro", cores: 16, memories_gib: &[16, 32], os: ANNOUNCED_OS },
    Chip { word: "m1-max", name: "Apple M1 Max", cores: 32, memories_gib: &[32, 64], os: ANNOUNCED_OS },
    Chip { word: "m1-ultra", name: "Apple M1 Ultra", cores: 64, memories_gib: &[64, 128], os: ANNOUNCED_OS },
    Chip { word: "m2", name: "Apple M2", cores: 10, memories_gib: &[8, 16, 24], os: ANNOUNCED_OS },
    Chip { word: "m2-pro", name: "Apple M2 Pro", cores: 19, memories_gib: &[16, 32], os: ANNOUNCED_OS },
    Chip { word: "m2-max", name: "Apple M2 Max", cores: 38, memories_gib: &[32, 64, 96], os: ANNOUNCED_OS },
    Chip { word: "m2-ultra", name: "Apple M2 Ultra", cores: 76, memories_gib: &[64, 128, 192], os: ANNOUNCED_OS },
    Chip { word: "m3", name: "Apple M3", cores: 10, memories_gib: &[8, 16, 24], os: ANNOUNCED_OS },
    Chip { word: "m3-pro", name: "Apple M3 Pro", cores: 18, memories_gib: &[18, 36], os: ANNOUNCED_OS },
    Chip { word: "m3-max", name: "Apple M3 Max", cores: 40, memories_gib: &[36, 48, 64, 96, 128], os: ANNOUNCED_OS },
    Chip { word: "m3-ultra", name: "Apple M3 Ultra", cores: 80, memories_gib: &[96, 256, 512], os: ANNOUNCED_OS },
    Chip { word: "m4", name: "Apple M4", cores: 10, memories_gib: &[16, 24, 32], os: ANNOUNCED_OS },
    Chip { word: "m4-pro", name: "Apple M4 Pro", cores: 20, memories_gib: &[24, 48, 64], os: ANNOUNCED_OS },
    Chip { word: "m4-max", name: "Apple M4 Max", cores: 40, memories_gib: &[36, 48, 64, 128], os: ANNOUNCED_OS },
    Chip { word: "m5", name: "Apple M5", cores: 10, memories_gib: &[16, 24, 32], os: (26, 0) },
];

/// Versions that may stand behind the `@` of the setting: those that PyTorch 2.15 asks about.
const VERSIONS: [(u32, u32); 7] = [(15, 0), (15, 1), (15, 2), (26, 0), (26, 2), (26, 4), (27, 0)];

/// A Mac: what its Metal device answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mac {
    /// `torch.backends.mps.get_name()`.
    pub name: &'static str,
    /// GPU cores.
    pub core_count: u32,
    /// All memory, in bytes.
    pub memory_bytes: u64,
    /// The version of macOS, major and minor.
    pub os: (u32, u32),
}

/// A text that names no Mac.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum MacError {
    /// No row of the table.
    #[error("OPENMPS_DEVICE is '{given}', expected one of {}", words().join(", "))]
    Unknown {
        /// What was given.
        given: String,
    },
    /// A version that PyTorch does not ask about, or one older than the chip.
    #[error("OPENMPS_DEVICE is '{given}', expected a version of macOS from {} to 27.0 behind '@': {}", version(.first), versions_from(.first))]
    Version {
        /// What was given.
        given: String,
        /// The first version for the chip.
        first: (u32, u32),
    },
}

impl Mac {
    /// The Mac that `text` names: a word of the table, with another version of macOS behind an `@` (`m1-8gb@26.0`).
    ///
    /// # Errors
    /// [`MacError`] lists what is known.
    pub fn from_name(text: &str) -> Result<Mac, MacError> {
        let lower = text.to_ascii_lowercase();
        let (word, asked) = lower.split_once('@').map_or((lower.as_str(), None), |(word, asked)| (word, Some(asked)));
        let unknown = || MacError::Unknown { given: text.to_owned() };
        let (chip, gib) = rows().find(|(chip, gib)| row_word(chip, *gib) == word).ok_or_else(unknown)?;
        let os = match asked {
            None => chip.os,
            Some(asked) => version_for(chip, asked)
                .ok_or_else(|| MacError::Version { given: text.to_owned(), first: first_version(chip) })?,
        };
        Ok(Mac { name: chip.name, core_count: chip.cores, memory_bytes: gib * GIB, os })
    }

    /// `recommendedMaxWorkingSetSize`, in bytes.
    #[must_use]
    pub fn recommended_max_working_set_bytes(&self) -> u64 {
        self.recommended_share_bytes().next_multiple_of(LARGE_ALIGNMENT_BYTES)
    }

    /// `maxBufferLength`, in bytes.
    #[must_use]
    pub fn max_buffer_length_bytes(&self) -> u64 {
        self.recommended_share_bytes().div_ceil(4) * 3 / LARGE_ALIGNMENT_BYTES * LARGE_ALIGNMENT_BYTES
    }

    fn recommended_share_bytes(&self) -> u64 {
        if self.memory_bytes < LARGE_MEMORY_GIB * GIB {
            self.memory_bytes.div_ceil(3) * 2
        } else {
            self.memory_bytes / 4 * 3
        }
    }
}

fn rows() -> impl Iterator<Item = (&'static Chip, u64)> {
    CHIPS.iter().flat_map(|chip| chip.memories_gib.iter().map(move |gib| (chip, *gib)))
}

fn row_word(chip: &Chip, gib: u64) -> String {
    format!("{}-{gib}gb", chip.word)
}

/// Every word of the table.
fn words() -> Vec<String> {
    rows().map(|(chip, gib)| row_word(chip, gib)).collect()
}

/// The first version of [`VERSIONS`] that the chip may announce.
fn first_version(chip: &Chip) -> (u32, u32) {
    if chip.os == ANNOUNCED_OS { VERSIONS[0] } else { chip.os }
}

fn version_for(chip: &Chip, asked: &str) -> Option<(u32, u32)> {
    let found = VERSIONS.iter().find(|known| version(known) == asked)?;
    (*found >= first_version(chip)).then_some(*found)
}

fn version(version: &(u32, u32)) -> String {
    format!("{}.{}", version.0, version.1)
}

fn versions_from(first: &(u32, u32)) -> String {
    let known: Vec<_> = VERSIONS.iter().filter(|known| *known >= first).map(version).collect();
    known.join(", ")
}

/// The table as Markdown for the book.
pub fn markdown() -> String {
    let mut page = String::from(
        "| `OPENMPS_DEVICE` | `get_name()` | `get_core_count()` | memory | `recommended_max_memory()` | longest buffer | macOS |\n\
         |---|---|---|---|---|---|---|\n",
    );
    for (chip, gib) in rows() {
        let mac = Mac { name: chip.name, core_count: chip.cores, memory_bytes: gib * GIB, os: chip.os };
        let (word, os) = (row_word(chip, gib), version(&chip.os));
        let (recommended, buffer) = (mac.recommended_max_working_set_bytes(), mac.max_buffer_length_bytes());
        writeln!(
            page,
            "| `{word}` | {} | {} | {gib} GiB | {recommended} | {buffer} | {os} |",
            mac.name, mac.core_count
        )
        .expect("a String takes all text");
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_that_metal_reports() {
        for (name, recommended, buffer) in [
            ("m1-16gb", 11_453_251_584, 8_589_934_592),
            ("m1-max-64gb", 51_539_607_552, 38_654_705_664),
            ("m2-ultra-192gb", 154_618_822_656, 115_964_116_992),
        ] {
            let mac = Mac::from_name(name).unwrap();
            assert_eq!(mac.recommended_max_working_set_bytes(), recommended, "{name}");
            assert_eq!(mac.max_buffer_length_bytes(), buffer, "{name}");
        }
        // llama.cpp prints 5726.63 MB for an M1 with 8 GiB and 22906.50 MB for 32 GiB.
        assert_eq!(Mac::from_name("m1-8gb").unwrap().recommended_max_working_set_bytes() / 10_000, 572_663);
        assert_eq!(Mac::from_name("m1-max-32gb").unwrap().recommended_max_working_set_bytes() / 10_000, 2_290_650);
    }

    #[test]
    fn names_and_versions() {
        let mac = Mac::from_name("M3-Max-128GB").unwrap();
        assert_eq!((mac.name, mac.core_count, mac.os), ("Apple M3 Max", 40, (15, 2)));
        assert_eq!(Mac::from_name("m1-8gb@26.0").unwrap().os, (26, 0));
        assert_eq!(Mac::from_name("m5-16gb").unwrap().os, (26, 0));
        let mut all = words();
        assert!(all.iter().all(|word| Mac::from_name(word).is_ok()));
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), rows().count());
    }

    #[test]
    fn what_is_unknown_is_told_what_is_known() {
        for wrong in ["", "m1", "m1-12gb", "m9-8gb", "a17-8gb"] {
            let text = Mac::from_name(wrong).unwrap_err().to_string();
            assert!(
                text.starts_with(&format!("OPENMPS_DEVICE is '{wrong}', expected one of m1-8gb, m1-16gb, m1-pro-16gb"))
            );
            assert!(text.ends_with("m5-24gb, m5-32gb"), "{text}");
        }
        assert_eq!(
            Mac::from_name("m5-16gb@15.2").unwrap_err().to_string(),
            "OPENMPS_DEVICE is 'm5-16gb@15.2', expected a version of macOS from 26.0 to 27.0 behind '@': 26.0, 26.2, 26.4, 27.0"
        );
        assert!(Mac::from_name("m1-8gb@14").unwrap_err().to_string().contains("from 15.0 to 27.0"));
    }
}
