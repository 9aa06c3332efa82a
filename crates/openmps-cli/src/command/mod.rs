//! One file a command.

pub(crate) mod check;
pub(crate) mod compile;
pub(crate) mod doctor;
pub(crate) mod generate;
pub(crate) mod info;
pub(crate) mod inspect;
pub(crate) mod run;
pub(crate) mod trace;
