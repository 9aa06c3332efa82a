//! Thin safe wrappers over LLVM-C and over clang as a library.
