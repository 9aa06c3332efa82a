//! The CPU engine: lowering, code generation, loading, threads.
