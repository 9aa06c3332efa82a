//! One compiler for the tests of a process, with its precompiled headers in the build folder.

use std::path::Path;
use std::sync::OnceLock;

use openmps_engine::{CompileError, CompileOptions, CompiledSource, SourceCompiler};
use openmps_msl::{DriverConfig, MslCompiler};

/// The compiler.
pub(crate) fn compiler() -> &'static MslCompiler {
    static COMPILER: OnceLock<MslCompiler> = OnceLock::new();
    COMPILER.get_or_init(|| {
        MslCompiler::new(DriverConfig {
            include_dir: Path::new(env!("CARGO_MANIFEST_DIR")).join("include"),
            installed_pch_dir: None,
            pch_cache_dir: Some(Path::new(env!("CARGO_TARGET_TMPDIR")).join("pch")),
        })
    })
}

/// Compiles `source` with default options.
pub(crate) fn compile(source: &str) -> Result<CompiledSource, CompileError> {
    compiler().compile_source(source, &CompileOptions::default())
}
