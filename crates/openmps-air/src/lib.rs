//! AIR: verification, reflection, and the table of air.* intrinsics with their references.
