//! Metal Shading Language to AIR: rewriting, clang, the standard library headers, diagnostics.
