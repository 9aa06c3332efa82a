//! Standard output and standard error.

use std::io::{self, Write as _};

use serde::Serialize;

use crate::failure::Failure;

/// Prints `text` on standard output, as it is.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut output = io::stdout().lock();
    output.write_all(text.as_bytes()).and_then(|()| output.flush()).map_err(|error| Failure::output(&error))
}

/// Prints `value` as JSON on standard output.
pub(crate) fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value).expect("names and numbers can be written as JSON");
    print(&(text + "\n"))
}

/// Prints `text` on standard error, ending in one new line.
pub(crate) fn complain(text: &str) {
    let text = text.trim_end();
    if !text.is_empty() {
        // Nowhere is left to say that standard error is closed.
        let _ = writeln!(io::stderr(), "{text}");
    }
}
