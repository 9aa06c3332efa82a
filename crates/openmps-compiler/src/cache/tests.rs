//! Entries come back whole or not at all, whatever happens to the folder.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use proptest::prelude::*;

use super::*;

/// A folder of this test alone, removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("openmps-cache-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn key(name: impl AsRef<[u8]>) -> Key {
    blake3::hash(name.as_ref())
}

fn total_bytes(folder: &Path) -> u64 {
    files_below(&folder.join("answers")).iter().map(|path| path.metadata().unwrap().len()).sum()
}

#[test]
fn what_is_put_comes_back() {
    let folder = Folder::new("round");
    let cache = DiskCache::new(Some(&folder.0), 1 << 20);
    assert_eq!(cache.get(&key("a")), None);
    cache.put(&key("a"), b"first");
    cache.put(&key("b"), b"");
    cache.put(&key("a"), b"second");
    assert_eq!(cache.get(&key("a")).as_deref(), Some(&b"second"[..]));
    assert_eq!(DiskCache::new(Some(&folder.0), 1 << 20).get(&key("b")).as_deref(), Some(&b""[..]));
}

#[test]
fn an_entry_cut_anywhere_is_a_miss_and_can_be_replaced() {
    let folder = Folder::new("torn");
    let cache = DiskCache::new(Some(&folder.0), 1 << 20);
    cache.put(&key("a"), b"payload");
    let path = cache.path(&key("a")).unwrap();
    let whole = fs::read(&path).unwrap();
    for length in 0..whole.len() {
        fs::write(&path, &whole[..length]).unwrap();
        assert_eq!(cache.get(&key("a")), None, "cut at {length}");
    }
    cache.put(&key("a"), b"payload");
    assert_eq!(cache.get(&key("a")).as_deref(), Some(&b"payload"[..]));
}

proptest! {
    #[test]
    fn one_flipped_bit_is_a_miss(payload in proptest::collection::vec(any::<u8>(), 0..100), place in any::<prop::sample::Index>(), bit in 0..8u8) {
        let folder = Folder::new("flip");
        let cache = DiskCache::new(Some(&folder.0), 1 << 20);
        cache.put(&key("a"), &payload);
        let path = cache.path(&key("a")).unwrap();
        let mut bytes = fs::read(&path).unwrap();
        let index = place.index(bytes.len());
        bytes[index] ^= 1 << bit;
        fs::write(&path, &bytes).unwrap();
        prop_assert_eq!(cache.get(&key("a")), None);
    }
}

#[test]
fn the_oldest_entries_go_first_and_the_size_is_bounded() {
    let folder = Folder::new("trim");
    let cache = DiskCache::new(Some(&folder.0), 20_000);
    for index in 0..=WRITES_PER_TRIM {
        let name = key(index.to_string());
        cache.put(&name, &[0; 1000]);
        // Later entries are newer, whatever the file system's clock resolves.
        if let Ok(file) = File::open(cache.path(&name).unwrap()) {
            file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000 + u64::from(index))).unwrap();
        }
    }
    assert!(total_bytes(&folder.0) <= 20_000, "{} bytes", total_bytes(&folder.0));
    assert_eq!(cache.get(&key("0")), None);
    assert!(cache.get(&key((WRITES_PER_TRIM - 1).to_string())).is_some());
}

#[test]
fn a_folder_that_cannot_be_used_caches_nothing() {
    let folder = Folder::new("unusable");
    let file = folder.0.join("file");
    fs::write(&file, "").unwrap();
    let open = folder.0.join("open");
    fs::create_dir_all(open.join("answers")).unwrap();
    fs::set_permissions(open.join("answers"), fs::Permissions::from_mode(0o777)).unwrap();
    for path in [Some(file.as_path()), Some(Path::new("/proc/nowhere")), Some(open.as_path()), None] {
        let cache = DiskCache::new(path, 1 << 20);
        cache.put(&key("a"), b"x");
        assert_eq!(cache.get(&key("a")), None, "{path:?}");
    }
}

#[test]
fn the_default_folder_follows_the_xdg_specification() {
    let with = |variables: &[(&str, &str)]| {
        default_folder(|name| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into()))
    };
    assert_eq!(with(&[("HOME", "/h")]), Some("/h/.cache/openmps".into()));
    assert_eq!(with(&[("HOME", "/h"), ("XDG_CACHE_HOME", "/x")]), Some("/x/openmps".into()));
    assert_eq!(with(&[("HOME", "/h"), ("XDG_CACHE_HOME", "relative")]), Some("/h/.cache/openmps".into()));
    assert_eq!(with(&[]), None);
}

/// The part of the test below that runs in processes of its own.
#[test]
fn two_processes_write_one_folder() {
    const FOLDER: &str = "OPENMPS_TEST_CACHE_FOLDER";
    if let Some(folder) = std::env::var_os(FOLDER) {
        let cache = DiskCache::new(Some(Path::new(&folder)), 1 << 20);
        for round in 0..200u32 {
            let name = key((round % 10).to_string());
            let payload = vec![u8::try_from(round % 10).unwrap(); 3000];
            cache.put(&name, &payload);
            // Another process replaces it meanwhile, by the same.
            assert_eq!(cache.get(&name), Some(payload));
        }
        return;
    }
    let folder = Folder::new("processes");
    let start = || {
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "cache::tests::two_processes_write_one_folder"])
            .env(FOLDER, &folder.0)
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap()
    };
    let children = [start(), start()];
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let names: Vec<PathBuf> = files_below(&folder.0.join("answers"));
    assert_eq!(names.len(), 10, "{names:?}");
}

/// Limits so small that nothing fits stand for a disk that is full: nothing breaks, and what is left is whole.
#[test]
fn a_cache_that_can_hold_nothing_is_empty_and_never_wrong() {
    let folder = Folder::new("full");
    let cache = DiskCache::new(Some(&folder.0), 100);
    for index in 0..3 * WRITES_PER_TRIM {
        let (name, payload) = (key(index.to_string()), index.to_le_bytes());
        cache.put(&name, &payload);
        assert!(cache.get(&name).is_none_or(|found| found == payload));
    }
    assert!(total_bytes(&folder.0) <= u64::from(WRITES_PER_TRIM) * 100, "{} bytes", total_bytes(&folder.0));
}

#[test]
fn a_folder_that_may_no_longer_be_written_to_still_answers() {
    let folder = Folder::new("readonly");
    let cache = DiskCache::new(Some(&folder.0), 1 << 20);
    cache.put(&key("a"), b"kept");
    let path = cache.path(&key("a")).unwrap();
    // A file where a folder is wanted is refused to every user, unlike permissions, which do not bind the superuser.
    let other = cache.path(&key("b")).unwrap();
    fs::write(other.parent().unwrap(), b"in the way").unwrap();
    cache.put(&key("b"), b"lost");
    assert_eq!(cache.get(&key("b")), None);
    assert_eq!(cache.get(&key("a")).as_deref(), Some(&b"kept"[..]));
    fs::set_permissions(path.parent().unwrap(), fs::Permissions::from_mode(0o500)).unwrap();
    cache.put(&key("a"), b"new or kept");
    assert!(cache.get(&key("a")).is_some_and(|found| found == b"kept" || found == b"new or kept"));
    fs::set_permissions(path.parent().unwrap(), fs::Permissions::from_mode(0o700)).unwrap();
}

/// Several processes write, read, evict and damage entries of one folder at once; each answer is right or missing.
#[test]
fn processes_that_evict_and_damage_entries_never_give_a_wrong_answer() {
    const FOLDER: &str = "OPENMPS_TEST_CACHE_HAMMER";
    const SIZE_BYTES_MAX: u64 = 40_000;
    if let Some(folder) = std::env::var_os(FOLDER) {
        let mut random = u64::from(std::process::id());
        let mut next = move |bound: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % bound
        };
        for _ in 0..20 {
            // A new cache each time, as in a new process: the first write trims.
            let cache = DiskCache::new(Some(Path::new(&folder)), SIZE_BYTES_MAX);
            for _ in 0..40 {
                let number = next(60);
                let name = key(number.to_string());
                let payload = vec![u8::try_from(number).unwrap(); usize::try_from(number * 50).unwrap()];
                if let Some(found) = cache.get(&name) {
                    assert_eq!(found, payload);
                } else {
                    cache.put(&name, &payload);
                }
                if next(8) == 0
                    && let Ok(file) = fs::OpenOptions::new().write(true).open(cache.path(&name).unwrap())
                {
                    // A torn write; the file may be gone or replaced by now.
                    let _ = file.set_len(next(100));
                }
            }
        }
        return;
    }
    let folder = Folder::new("hammer");
    let start = || {
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "cache::tests::processes_that_evict_and_damage_entries_never_give_a_wrong_answer"])
            .env(FOLDER, &folder.0)
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap()
    };
    let children: Vec<_> = (0..4).map(|_| start()).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let most = SIZE_BYTES_MAX + 4 * u64::from(WRITES_PER_TRIM) * 3_100;
    assert!(total_bytes(&folder.0) <= most, "{} bytes", total_bytes(&folder.0));
    // Afterwards every entry can be made whole again.
    let cache = DiskCache::new(Some(&folder.0), 1 << 30);
    for number in 0..60u64 {
        cache.put(&key(number.to_string()), &number.to_le_bytes());
        assert_eq!(cache.get(&key(number.to_string())), Some(number.to_le_bytes().to_vec()));
    }
}
