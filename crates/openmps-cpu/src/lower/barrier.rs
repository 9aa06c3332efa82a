//! Barriers and fences. One threadgroup runs on one core, so that waiting orders its memory; a fence orders memory between
//! threadgroups.

use super::simd::{LaneCall, lane_call};
use super::text::Body;
use super::{Declaration, Lanes, Lowered};
use crate::lanes::{Element, LaneOperation};
use crate::split::MARKER;
use crate::vectorize::Marker;

/// Whether the threadgroup's threads wait in this function.
pub(super) fn is_threadgroup_barrier(declaration: &Declaration) -> bool {
    matches!(declaration.parts(), ("wg", parts) if parts == ["barrier"])
}

/// Whether the lanes of a SIMD-group wait in this function.
pub(super) fn is_simdgroup_barrier(declaration: &Declaration) -> bool {
    matches!(declaration.parts(), ("simdgroup", parts) if parts == ["barrier"])
}

pub(super) fn lower(declaration: &Declaration, body: &mut Body) -> Option<Lowered> {
    match declaration.parts() {
        ("wg", parts) if parts == ["barrier"] => {
            body.line(format_args!("call void @{MARKER}() convergent"));
            Some(Lowered::Void)
        }
        // A rendezvous like any lane operation, so that it takes its turn in program order among them.
        ("simdgroup", parts) if parts == ["barrier"] => {
            simdgroup_barrier(declaration, body);
            Some(Lowered::Void)
        }
        ("atomic", parts) if parts == ["fence"] => {
            body.line("fence seq_cst");
            Some(Lowered::Void)
        }
        _ => None,
    }
}

/// What the runtime is asked for: nothing but to wait.
const SIMDGROUP_BARRIER: LaneCall =
    LaneCall { operation: LaneOperation::Barrier, element: Element::U32, count: 0, width: 32 };

/// The code of a call of the runtime that only waits.
pub(crate) fn simdgroup_barrier_code() -> u32 {
    SIMDGROUP_BARRIER.code()
}

/// Waits for the active lanes of the SIMD-group. In lockstep nobody waits, but memory is not to be read before it.
pub(super) fn simdgroup_barrier(declaration: &Declaration, body: &mut Body) {
    if declaration.lanes == Lanes::Lockstep {
        let LaneCall { operation, element, width, .. } = SIMDGROUP_BARRIER;
        let name = Marker { operation, element, width }.name();
        body.declare(format!("declare void @{name}() convergent nounwind willreturn\n"));
        body.line(format_args!("call void @{name}()"));
        return;
    }
    lane_call(body, &SIMDGROUP_BARRIER, None, None, "null");
}
