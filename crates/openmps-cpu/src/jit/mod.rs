//! From object bytes to a callable kernel: [`load`] lays an object out in memory, [`call`] jumps into it, [`symbols`] lists
//! what it may call.

pub(crate) mod call;
pub(crate) mod load;
pub(crate) mod memory;
pub(crate) mod symbols;
