//! Every conformance kernel (`openmps-suite/kernels`) compiles without a warning.

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use openmps_engine::{CompileOptions, SourceCompiler};
use openmps_msl::options;

/// Sources that do not compile here, with the reason.
const EXCLUDED: [(&str, &str); 1] =
    [("c10_metal.metal", "includes headers of the torch wheel, python/tests compiles it")];

fn sources() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../openmps-suite/kernels");
    let mut paths: Vec<PathBuf> =
        entries(&root).iter().filter(|path| path.is_dir()).flat_map(|path| entries(path)).collect();
    assert!(paths.iter().all(|path| path.extension().is_some_and(|extension| extension == "metal")), "a stray file");
    let count = paths.len();
    paths.retain(|path| EXCLUDED.iter().all(|(name, _)| !path.ends_with(name)));
    assert_eq!(count, paths.len() + EXCLUDED.len(), "an excluded source does not exist");
    paths.sort();
    paths
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).expect("the folder exists").map(|entry| entry.expect("it can be read").path()).collect()
}

/// Sources with textures, which no call from Python can bind; `openmps-suite` runs others like them.
fn texture_sources() -> Vec<PathBuf> {
    entries(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/textures"))
}

fn check(path: &Path, options: &CompileOptions) {
    let source = fs::read_to_string(path).expect("sources are UTF-8");
    let compiled = common::compiler()
        .compile_source(&source, options)
        .unwrap_or_else(|error| panic!("{} as {}:\n{error}", path.display(), options::name(options)));
    assert!(!compiled.kernels.is_empty(), "{} has no kernel", path.display());
    assert_eq!(compiled.warnings, [], "{} as {}", path.display(), options::name(options));
}

/// As PyTorch asks for it, and in one of the other versions and math modes, which take turns.
#[test]
fn every_source_compiles() {
    let sources = sources();
    println!("{} sources, {} excluded", sources.len(), EXCLUDED.len());
    for (index, path) in sources.iter().enumerate() {
        check(path, &options::ALL[0]);
        check(path, &options::ALL[1 + index % (options::ALL.len() - 1)]);
    }
}

#[test]
fn every_source_with_textures_compiles() {
    for path in texture_sources() {
        check(&path, &options::ALL[0]);
    }
}

#[test]
fn the_same_text_gives_the_same_bytes() {
    for path in sources().iter().step_by(8).chain(&texture_sources()) {
        let source = fs::read_to_string(path).unwrap();
        let first = common::compile(&source).unwrap();
        assert_eq!(first, common::compile(&source).unwrap(), "{}", path.display());
    }
}
