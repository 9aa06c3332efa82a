//! How much memory this process may use: the machine's, cut to the limits of its control groups (version 1 and 2).
//!
//! Read from `/proc` and `/sys`; what cannot be read does not limit.

use std::fs;
use std::path::Path;

/// Memory and swap that the process may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct UsableMemory {
    pub(super) ram_bytes: u64,
    pub(super) swap_bytes: u64,
}

/// A machine whose `/proc/meminfo` cannot be read is taken to have this much.
const UNKNOWN_RAM_BYTES: u64 = 8 << 30;

pub(super) fn usable_memory() -> UsableMemory {
    let meminfo = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let limit = |file: &str| fs::read_to_string(Path::new("/sys/fs/cgroup").join(file)).ok();
    let ram_bytes = meminfo_bytes(&meminfo, "MemTotal").unwrap_or(UNKNOWN_RAM_BYTES);
    let swap_bytes = meminfo_bytes(&meminfo, "SwapTotal").unwrap_or(0);
    match group_limit_bytes(&groups, limit) {
        // Swap inside a control group has its own limits; not counting it errs on the safe side.
        Some(group) if group < ram_bytes => UsableMemory { ram_bytes: group, swap_bytes: 0 },
        Some(_) | None => UsableMemory { ram_bytes, swap_bytes },
    }
}

/// A line `key:   <n> kB` of `/proc/meminfo`.
fn meminfo_bytes(text: &str, key: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

/// The smallest memory limit of the groups in `/proc/self/cgroup` and all groups above them.
fn group_limit_bytes(groups: &str, read: impl Fn(&str) -> Option<String>) -> Option<u64> {
    let mut smallest: Option<u64> = None;
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else { continue };
        let (root, file) = match controllers {
            "" => ("", "memory.max"),
            list if list.split(',').any(|name| name == "memory") => ("memory", "memory.limit_in_bytes"),
            _ => continue,
        };
        // Inside a container the path may be the host's and not exist here, but the root of the mount is ours.
        let path = path.trim_matches('/');
        let ends = path.match_indices('/').map(|(at, _)| at).chain([0, path.len()]);
        for end in ends {
            let name =
                [root, &path[..end], file].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/");
            if let Some(bytes) = read(&name).and_then(|text| text.trim().parse::<u64>().ok()) {
                smallest = Some(smallest.map_or(bytes, |known| known.min(bytes)));
            }
        }
    }
    smallest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meminfo_lines_are_kibibytes() {
        let text = "MemTotal:       24689764 kB\nMemFree:  12 kB\nSwapTotal:             0 kB\n";
        assert_eq!(meminfo_bytes(text, "MemTotal"), Some(24_689_764 * 1024));
        assert_eq!(meminfo_bytes(text, "SwapTotal"), Some(0));
        assert_eq!(meminfo_bytes(text, "Mem"), None);
        assert_eq!(meminfo_bytes("MemTotal: many kB", "MemTotal"), None);
    }

    #[test]
    fn the_smallest_group_above_counts() {
        let read = |file: &str| match file {
            "memory.max" => Some("max\n".to_owned()),
            "a/memory.max" => Some("4096\n".to_owned()),
            "a/b/memory.max" => Some("8192\n".to_owned()),
            "memory/j/memory.limit_in_bytes" => Some("9223372036854771712\n".to_owned()),
            _ => None,
        };
        assert_eq!(group_limit_bytes("0::/a/b\n", read), Some(4096));
        assert_eq!(group_limit_bytes("0::/\n", read), None);
        assert_eq!(group_limit_bytes("5:cpu:/x\n4:memory,hugetlb:/j\n", read), Some(9_223_372_036_854_771_712));
        assert_eq!(group_limit_bytes("nonsense\n", read), None);
    }

    #[test]
    fn this_machine_has_memory() {
        assert!(usable_memory().ram_bytes > 0);
    }
}
