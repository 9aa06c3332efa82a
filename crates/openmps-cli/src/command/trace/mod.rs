//! `openmps trace`: captures of what the device did.

mod bandwidth;
mod case;
mod counting;
mod extract;
mod module;
mod replay;
mod show;
mod statistics;

use std::path::Path;

use openmps_trace::Capture;

use crate::args::trace::{Action, Trace};
use crate::failure::Failure;
use crate::output;

pub(crate) fn run(trace: &Trace) -> Result<(), Failure> {
    match &trace.action {
        Action::Replay(replay) => replay::run(replay),
        Action::Extract(extract) => extract::run(extract),
        Action::Show(show) => show::run(show),
    }
}

/// Opens a capture, and says what is missing at its end.
fn open(path: &Path) -> Result<Capture, Failure> {
    let capture = Capture::open(path).map_err(|error| Failure::Message(error.to_string()))?;
    if let Some(limit_bytes) = capture.limit_reached() {
        let text = format!("{}: warning: recording stopped at the limit of {limit_bytes} bytes", path.display());
        output::complain(&text);
    } else if !capture.is_ended() {
        output::complain(&format!("{}: warning: the capture was not ended, its last part is missing", path.display()));
    }
    Ok(capture)
}
