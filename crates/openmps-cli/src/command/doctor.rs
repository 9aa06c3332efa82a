//! `openmps doctor`: what the installed command does in Python before it gets here (`python/openmps_command.py`).
//!
//! Only this program itself, called by its path, comes to this file.

use crate::args::Doctor;
use crate::failure::Failure;

/// Says how to start what was asked for.
pub(crate) fn run(doctor: &Doctor) -> Result<(), Failure> {
    let json = if doctor.json { "--json " } else { "" };
    let arguments: String = doctor.arguments.iter().map(|argument| format!(" {argument}")).collect();
    let program = &doctor.program;
    Err(Failure::Message(format!(
        "doctor is written in Python; with PyTorch and openmps installed: python -m openmps.doctor {json}{program}{arguments}"
    )))
}
