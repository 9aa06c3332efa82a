//! The tests of target `kernels` with one thread after the other.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "tests: a failure shows the place, a run its seed")]
#![expect(clippy::type_complexity, reason = "tables of a name and a reference")]

#[path = "kernels/alignment.rs"]
mod alignment;
#[path = "kernels/atomics.rs"]
mod atomics;
#[path = "kernels/barriers.rs"]
mod barriers;
#[path = "kernels/built_ins.rs"]
mod built_ins;
#[path = "kernels/division.rs"]
mod division;
#[path = "kernels/elementwise.rs"]
mod elementwise;
#[path = "kernels/errors.rs"]
mod errors;
#[path = "kernels/floats.rs"]
mod floats;
#[path = "kernels/harness.rs"]
mod harness;
#[path = "kernels/lanes.rs"]
mod lanes;
#[path = "kernels/large.rs"]
mod large;
#[path = "kernels/libraries.rs"]
mod libraries;
#[path = "kernels/table.rs"]
mod table;
#[path = "kernels/tensors.rs"]
mod tensors;

use openmps_engine::EngineChoice;

/// What kernels become.
const ENGINE: EngineChoice = EngineChoice::Scalar;
