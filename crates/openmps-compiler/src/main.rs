//! The compiler process.
fn main() {}
