//! One file a command.

pub(crate) mod check;
pub(crate) mod compile;
pub(crate) mod inspect;
pub(crate) mod trace;
