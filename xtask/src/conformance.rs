//! `./dev conformance`: public sources and real libraries, downloaded when they are asked for, against what is promised.
//!
//! One file a subject. They need package registries and many minutes, so they are no part of `./dev test`.

mod msl;
mod torch26;

use anyhow::{Result, bail};

use crate::process::Workspace;

/// Runs the subject that `arguments` name first; what follows selects a part of it.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    match arguments {
        [subject, packages @ ..] if subject == "msl" => msl::run(workspace, packages),
        [subject, options @ ..] if subject == "torch26" => torch26::run(workspace, options),
        _ => bail!("conformance: expected 'msl [PACKAGE...]' or 'torch26 [OPTIONS]', not '{}'", arguments.join(" ")),
    }
}
