//! The conformance kernels (`kernels/`) become objects for ARM servers: with NEON and with SVE, scalar and as vectors.
//!
//! One file in twenty by default, `OPENMPS_ARM_EVERY=1` takes all (`./dev conformance arm`). Kernels that need values of function
//! constants are left out. The objects are looked at, not run.

use std::fs;
use std::path::{Path, PathBuf};

use openmps_engine::{CompileOptions, EngineChoice, EngineOptions};
use openmps_suite::machine::Program;

const TRIPLE: &str = "aarch64-unknown-linux-gnu";
/// NEON alone, and SVE with vectors of 128 and of 256 bits.
const CPUS: [&str; 3] = ["neoverse-n1", "neoverse-v2", "neoverse-v1"];
/// `EM_AARCH64` of ELF.
const AARCH64: u16 = 183;

/// All `.metal` files below `folder`, sorted.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the kernels' folder can be read");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry can be read").path()).collect();
    paths.sort();
    let below = |path: PathBuf| match path.is_dir() {
        true => sources(&path),
        false => Vec::from_iter((path.extension().is_some_and(|ending| ending == "metal")).then_some(path)),
    };
    paths.into_iter().flat_map(below).collect()
}

/// Why `object` is no object for ARM with the kernel's entry.
fn fault(object: &[u8]) -> Option<String> {
    let machine = object.get(18..20).map(|bytes| u16::from_le_bytes([bytes[0], bytes[1]]));
    if !object.starts_with(b"\x7fELF") || machine != Some(AARCH64) {
        return Some(format!("no ELF object for ARM but of machine {machine:?}"));
    }
    let has_entry = object.windows(b"openmps_kernel".len()).any(|name| name == b"openmps_kernel");
    (!has_entry).then(|| "no entry".to_owned())
}

#[test]
fn conformance_kernels_become_objects_for_arm() {
    let every = std::env::var("OPENMPS_ARM_EVERY").ok().and_then(|text| text.parse().ok()).unwrap_or(20);
    let all = sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels"));
    assert!(all.len() > 400, "{} kernels", all.len());
    let mut faults = Vec::new();
    for path in all.iter().step_by(every) {
        let program = Program::new(&fs::read_to_string(path).expect("a source is text"), &CompileOptions::default());
        let names: Vec<String> = program.plain_kernel_names().map(str::to_owned).collect();
        for name in names {
            for cpu in CPUS {
                for engine in [EngineChoice::Scalar, EngineChoice::Vector] {
                    let options = EngineOptions { engine, ..EngineOptions::default() };
                    let object = program.object_for(&name, TRIPLE, cpu, &options);
                    let fault = object.map_or_else(|error| Some(error.to_string()), |object| fault(&object));
                    faults.extend(fault.map(|fault| format!("{}: {name}, {cpu}, {engine:?}: {fault}", path.display())));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
