//! Perfetto traces: the messages that the profiler writes, and reading a trace back as slices, instants and counters.
//!
//! [`Trace`] reads what any program wrote whose events lie on tracks (`TrackEvent`). Guarantees: every byte is taken for hostile,
//! no length in a file makes the reader allocate more than in proportion to the file, and what is cut off at the end of a file
//! spoils nothing before. Left out: packets of other kinds (scheduling, `ftrace`, samples), which are counted, compressed
//! packets, and the phases of Chrome's old format. [ui.perfetto.dev](https://ui.perfetto.dev) shows those.
//!
//! `prost` encodes and decodes: the derive alone, without a build script and without generated code.

mod clocks;
mod error;
pub mod message;
mod packets;
mod trace;

pub use error::TraceError;
pub use trace::{Event, Left, Sample, Trace, Track, TrackKind};

#[cfg(test)]
mod tests;
