//! The one device: what it is called, how many cores and how much memory it has, which system version it announces.
//!
//! All answers are constant for the life of the process. Memory is the smaller of the machine's and the control group's, or that
//! of the Mac that `OPENMPS_DEVICE` names.

pub mod macs;
mod system;

use std::sync::OnceLock;

use openmps_engine::LanguageVersion;

use crate::limits::{ANNOUNCED_OS, LARGE_ALIGNMENT_BYTES, RECOMMENDED_MAX_PERCENT};
use crate::settings::Settings;

/// The device's name where `OPENMPS_DEVICE` names no Mac.
const NAME: &str = "Apple M-series (openmps)";

/// The first macOS whose default language is Metal 4.0; all versions that can be announced have 3.2 at least.
const METAL_4_OS: (u32, u32) = (26, 0);

/// The device `mps:0`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    name: &'static str,
    core_count: u32,
    os: (u32, u32),
    usable_memory_bytes: u64,
    usable_swap_bytes: u64,
    max_buffer_length_bytes: u64,
    recommended_max_working_set_bytes: u64,
}

/// Answer to [`Device::is_os_at_least`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OsAnswer {
    /// Whether the announced system is that version or newer.
    pub is_at_least: bool,
    /// What PyTorch warns about when it cannot tell exactly.
    pub warning: Option<String>,
}

impl Device {
    /// The device of this process.
    pub fn shared() -> &'static Device {
        static SHARED: OnceLock<Device> = OnceLock::new();
        SHARED.get_or_init(|| Device::new(Settings::process()))
    }

    fn new(settings: &Settings) -> Device {
        let memory = system::usable_memory();
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let mut device = Device {
            name: NAME,
            core_count: u32::try_from(cores).unwrap_or(u32::MAX),
            os: ANNOUNCED_OS,
            usable_memory_bytes: memory.ram_bytes,
            usable_swap_bytes: memory.swap_bytes,
            max_buffer_length_bytes: memory.ram_bytes / LARGE_ALIGNMENT_BYTES * LARGE_ALIGNMENT_BYTES,
            recommended_max_working_set_bytes: memory.ram_bytes / 100 * RECOMMENDED_MAX_PERCENT,
        };
        // A name that is no Mac's is refused where the plug-in is loaded; here it is this machine.
        if let Some(Ok(mac)) = &settings.device {
            device.name = mac.name;
            device.core_count = mac.core_count;
            device.os = mac.os;
            device.max_buffer_length_bytes = mac.max_buffer_length_bytes();
            device.recommended_max_working_set_bytes = mac.recommended_max_working_set_bytes();
        }
        if let Some(bytes) = settings.recommended_max_memory {
            device.recommended_max_working_set_bytes = bytes;
        }
        device
    }

    /// `torch.backends.mps.get_name()`.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Number of cores: the processors that this process may use, or the GPU cores of the Mac that `OPENMPS_DEVICE` names.
    pub fn core_count(&self) -> u32 {
        self.core_count
    }

    /// `torch.mps.recommended_max_memory()`, in bytes: what `OPENMPS_RECOMMENDED_MAX_MEMORY` says, else that of the Mac that
    /// `OPENMPS_DEVICE` names, else three quarters of the usable memory.
    pub fn recommended_max_working_set_bytes(&self) -> u64 {
        self.recommended_max_working_set_bytes
    }

    /// A single buffer must be strictly smaller than this many bytes: all memory of the machine, in whole pages, or that of the
    /// Mac that `OPENMPS_DEVICE` names.
    pub fn max_buffer_length_bytes(&self) -> u64 {
        self.max_buffer_length_bytes
    }

    /// Heaps beyond this many bytes in total cannot be created, whatever the watermark: memory plus swap.
    pub fn max_heap_bytes(&self) -> u64 {
        self.usable_memory_bytes.saturating_add(self.usable_swap_bytes)
    }

    /// `torch.backends.mps.is_macos_or_newer(major, minor)` for the announced system version.
    pub fn is_os_at_least(&self, major: i64, minor: i64) -> OsAnswer {
        os_answer(self.os, major, minor)
    }

    /// The version of the language that sources are compiled as by default: Metal 4.0 since macOS 26.
    pub fn language_version(&self) -> LanguageVersion {
        if self.os >= METAL_4_OS { LanguageVersion::Metal4_0 } else { LanguageVersion::Metal3_2 }
    }
}

/// Minor versions that PyTorch's switch names, per major version; what is older than macOS 15 is always there.
const KNOWN_MINORS: [(i64, &[i64]); 2] = [(15, &[0, 1]), (26, &[0, 2, 4])];

fn os_answer(announced: (u32, u32), major: i64, minor: i64) -> OsAnswer {
    let is_at_least = |minor| (i64::from(announced.0), i64::from(announced.1)) >= (major, minor);
    if matches!(major, 13 | 14) {
        return OsAnswer { is_at_least: true, warning: None };
    }
    let Some((_, minors)) = KNOWN_MINORS.iter().find(|known| known.0 == major) else {
        let warning = format!("Checking for unexpected MacOS {major}.{minor} returning false");
        return OsAnswer { is_at_least: false, warning: Some(warning) };
    };
    if minors.contains(&minor) {
        return OsAnswer { is_at_least: is_at_least(minor), warning: None };
    }
    let last = *minors.last().expect("every known major version has minors");
    let warning = format!("Can't check whether running on {major}.{minor}+ returning one for {major}.{last}+");
    OsAnswer { is_at_least: is_at_least(last), warning: Some(warning) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_device_is_consistent() {
        let device = Device::new(&Settings::default());
        assert!(device.core_count() >= 1);
        let recommended = device.recommended_max_working_set_bytes();
        assert!(recommended > 0 && recommended < device.max_buffer_length_bytes());
        assert!(device.max_heap_bytes() >= device.max_buffer_length_bytes());
        let small = Device::new(&Settings { recommended_max_memory: Some(4096), ..Settings::default() });
        assert_eq!(small.recommended_max_working_set_bytes(), 4096);
        assert_eq!(small.max_buffer_length_bytes(), device.max_buffer_length_bytes());
    }

    #[test]
    fn a_mac_of_your_choice() {
        let machine = Device::new(&Settings::default());
        assert_eq!(machine.language_version(), LanguageVersion::Metal3_2);
        let mac = Some(macs::Mac::from_name("m1-8gb@26.0"));
        let device = Device::new(&Settings { device: mac.clone(), ..Settings::default() });
        assert_eq!((device.name(), device.core_count()), ("Apple M1", 8));
        assert_eq!(device.recommended_max_working_set_bytes(), 5_726_633_984);
        assert_eq!(device.max_buffer_length_bytes(), 4 << 30);
        assert_eq!(device.max_heap_bytes(), machine.max_heap_bytes());
        assert!(device.is_os_at_least(26, 0).is_at_least && !device.is_os_at_least(26, 2).is_at_least);
        assert_eq!(device.language_version(), LanguageVersion::Metal4_0);
        let less = Device::new(&Settings { device: mac, recommended_max_memory: Some(4096), ..Settings::default() });
        assert_eq!(less.recommended_max_working_set_bytes(), 4096);
    }

    #[test]
    fn known_versions_answer_without_a_warning() {
        for (major, minor, is_at_least) in
            [(13, 9, true), (14, 7, true), (15, 0, true), (15, 1, true), (26, 0, false), (26, 4, false)]
        {
            let answer = os_answer((15, 2), major, minor);
            assert_eq!(answer, OsAnswer { is_at_least, warning: None }, "{major}.{minor}");
        }
    }

    #[test]
    fn unknown_versions_warn_with_pytorchs_texts() {
        let answer = os_answer((15, 2), 15, 7);
        assert!(answer.is_at_least);
        assert_eq!(answer.warning.as_deref(), Some("Can't check whether running on 15.7+ returning one for 15.1+"));
        let answer = os_answer((27, 0), 27, 0);
        assert!(!answer.is_at_least);
        assert_eq!(answer.warning.as_deref(), Some("Checking for unexpected MacOS 27.0 returning false"));
        let answer = os_answer((15, 2), 12, 3);
        assert!(!answer.is_at_least);
        assert_eq!(answer.warning.as_deref(), Some("Checking for unexpected MacOS 12.3 returning false"));
    }
}
