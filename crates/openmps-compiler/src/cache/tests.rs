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
