//! One command of a stream under observation: looked at before it runs, recorded when it has run.

use std::sync::Arc;

use openmps_engine::{Bindings, Grid, KernelSignature};

use super::launch::Layout;
use super::recipe::{LaunchNotes, Recipe};
use super::session::Place;
use super::snapshot::Range;
use super::{TensorNote, is_capturing, lock};
use crate::stream_id::{StreamError, StreamId};

/// A command as captures see it.
pub(crate) enum Observed<'a> {
    /// A kernel's launch.
    Launch { signature: &'a KernelSignature, bindings: &'a Bindings, grid: &'a Grid, notes: Option<&'a LaunchNotes> },
    /// A function of the host.
    Host(&'static str),
    /// A copy between addresses.
    Copy { source: u64, destination: u64, size_bytes: u64 },
    /// A signal of an event.
    Signal { event: u64, value: u64 },
    /// A wait for an event.
    Wait { event: u64, value: u64 },
}

/// What is known before the command runs.
pub(crate) struct Observation {
    place: Place,
    started_ns: u64,
    before: Before,
}

enum Before {
    Launch(Box<LaunchBefore>),
    Host(String),
    Copy { source: u64, destination: u64, size_bytes: u64 },
    Signal { event: u64, value: u64 },
    Wait { event: u64, value: u64 },
}

pub(super) struct LaunchBefore {
    pub(super) recipe: Arc<Recipe>,
    pub(super) arguments: Vec<openmps_trace::Argument>,
    pub(super) name: String,
    pub(super) layout: Layout,
    pub(super) threadgroup: Vec<(u32, u32)>,
    pub(super) samplers: Vec<(u32, [u64; 2])>,
    pub(super) grid: Grid,
    pub(super) tensors: Vec<(u32, TensorNote)>,
    /// What each region held before; none where that could not be stored.
    pub(super) contents: Option<Vec<openmps_trace::ContentNumber>>,
}

impl Observation {
    /// Looks at `command`, which `stream` runs next, while a capture runs.
    pub(crate) fn begin(stream: StreamId, position: u64, command: &Observed<'_>) -> Option<Self> {
        if !is_capturing() {
            return None;
        }
        let before = match command {
            Observed::Launch { signature, bindings, grid, notes } => launch(signature, bindings, grid, *notes),
            Observed::Host(name) => Before::Host((*name).into()),
            Observed::Copy { source, destination, size_bytes } => {
                Before::Copy { source: *source, destination: *destination, size_bytes: *size_bytes }
            }
            Observed::Signal { event, value } => Before::Signal { event: *event, value: *value },
            Observed::Wait { event, value } => Before::Wait { event: *event, value: *value },
        };
        let started_ns = lock().as_ref()?.now_ns();
        Some(Self { place: Place { stream: stream.0, position }, started_ns, before })
    }

    /// Records the command, which has ended.
    pub(crate) fn end(self, result: &Result<(), StreamError>) {
        let mut session = lock();
        let Some(session) = session.as_mut() else { return };
        let times = (self.started_ns, session.now_ns());
        let error = result.as_ref().err().map(ToString::to_string);
        match self.before {
            Before::Launch(launch) => session.launch(self.place, times, *launch, error),
            Before::Host(name) => session.host(self.place, times, name, error),
            Before::Copy { source, destination, size_bytes } => {
                session.copy(self.place, times, source, Range::new(destination, size_bytes));
            }
            Before::Signal { event, value } => session.event(self.place, times, (event, value), true),
            Before::Wait { event, value } => session.event(self.place, times, (event, value), false),
        }
    }
}

/// Stores what a launch can reach. Without notes the launch cannot be run again, and is recorded by name.
fn launch(signature: &KernelSignature, bindings: &Bindings, grid: &Grid, notes: Option<&LaunchNotes>) -> Before {
    let Some(notes) = notes else {
        return Before::Host(format!("launch of {}", signature.name));
    };
    // Before the lock is taken: this calls the allocator.
    let layout = Layout::of(signature, bindings);
    let contents = lock().as_mut().and_then(|session| {
        let put = |(region, _): &(Range, bool)| session.put_memory(*region);
        layout.regions.iter().map(put).collect()
    });
    Before::Launch(Box::new(LaunchBefore {
        recipe: Arc::clone(&notes.recipe),
        arguments: super::launch::arguments(signature),
        name: signature.name.clone(),
        layout,
        threadgroup: bindings.threadgroup_memory().map(|(index, size)| (index.0, size)).collect(),
        samplers: bindings.samplers().map(|(index, words)| (index.0, words)).collect(),
        grid: *grid,
        tensors: notes.tensors.clone(),
        contents,
    }))
}
