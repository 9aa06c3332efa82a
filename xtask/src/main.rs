//! Automation behind `./dev`.
fn main() {}
