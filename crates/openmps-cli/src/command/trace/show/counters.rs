//! Counters of a Perfetto trace as curves: the allocator's as memory, others beside the timeline.

use openmps_trace::perfetto::{Sample, Trace, TrackKind};
use serde::Serialize;

use super::memory::Memory;

/// Curves besides memory that a page shows.
const CURVES_MAX: usize = 24;
/// Points of one curve.
const POINTS_MAX: usize = 5000;

/// A counter that is not the allocator's.
#[derive(Serialize)]
pub(super) struct Curve {
    name: String,
    /// `B` for bytes.
    unit: String,
    times: Vec<u64>,
    values: Vec<f64>,
}

/// What the allocator's counters are called.
const ALLOCATOR: [&str; 8] = [
    "mps allocated",
    "mps driver allocated",
    "mps peak allocated",
    "mps small pool",
    "mps large pool",
    "mps scalar pool",
    "mps low watermark",
    "mps high watermark",
];

/// The allocator's memory, and all other counters; times count from `start_ns`.
pub(super) fn curves(trace: &Trace, start_ns: u64) -> (Memory, Vec<Curve>) {
    let mut curves = Vec::new();
    for (place, track) in trace.tracks.iter().enumerate() {
        let TrackKind::Counter(unit) = &track.kind else { continue };
        if ALLOCATOR.contains(&track.name.as_str()) || curves.len() == CURVES_MAX {
            continue;
        }
        let samples: Vec<&Sample> = trace.samples.iter().filter(|sample| sample.track == place).collect();
        if samples.is_empty() {
            continue;
        }
        let step = samples.len().div_ceil(POINTS_MAX);
        let points = || samples.iter().step_by(step);
        curves.push(Curve {
            name: track.name.clone(),
            unit: unit.clone(),
            times: points().map(|sample| sample.time_ns.saturating_sub(start_ns)).collect(),
            values: points().map(|sample| sample.value).collect(),
        });
    }
    (memory(trace, start_ns), curves)
}

fn memory(trace: &Trace, start_ns: u64) -> Memory {
    let place = |name: &str| trace.tracks.iter().position(|track| track.name == name);
    let places = ALLOCATOR.map(place);
    let mut now = [None; 8];
    let mut rows: Vec<(u64, [Option<u64>; 8])> = Vec::new();
    for sample in &trace.samples {
        let Some(which) = places.iter().position(|place| *place == Some(sample.track)) else { continue };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "casts of floats saturate")]
        let value = sample.value as u64;
        now[which] = Some(value);
        let time_ns = sample.time_ns.saturating_sub(start_ns);
        match rows.last_mut().filter(|row| row.0 == time_ns) {
            Some(row) => row.1 = now,
            None => rows.push((time_ns, now)),
        }
    }
    Memory::of_counters(&rows)
}
