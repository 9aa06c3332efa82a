//! The compiler of Metal source text that this build has: the only file that names the crate behind it.

use openmps_engine::SourceCompiler;

/// The process's compiler.
///
/// # Errors
/// Why there is none.
pub(crate) fn source_compiler() -> Result<&'static dyn SourceCompiler, String> {
    Err("this build has no Metal compiler (feature `cpu`)".into())
}
