//! The functions around a kernel that is vectorised, as LLVM IR text.
//!
//! Three layers: the source of vectorisation is the exported function of one thread, with its position as parameters. Its vector form
//! runs a SIMD-group from the position of lane 0. The driver calls that for all SIMD-groups of a threadgroup. With
//! [`SimdgroupRows::Whole`] and [`SimdgroupRows::One`] a SIMD-group is 32 threads of a row, so that lanes differ in x alone; that is what Metal means by it where
//! rows are multiples of 32 or there is one row, and no kernel can tell otherwise unless it uses lanes. Otherwise it is 32 threads
//! in the order of the linear index, of whose place in the threadgroup more or less is known while the code is made.

use std::fmt::Write as _;

use openmps_engine::{ArgumentKind, Builtin, EngineError, KernelSignature, SimdgroupRows};
use openmps_llvm::Function;

use super::entry::{self, ATTRIBUTES};
use crate::abi::{CONTEXT_BYTES, KERNEL_SYMBOL, offset};
use crate::split::{MARKER, STEP};
use crate::vectorize::LANES_SYMBOL;

/// What a kernel knows of where its threads are.
pub(super) struct Source {
    pub(super) text: String,
    /// As [`entry::Entry::flat`].
    pub(super) flat: bool,
    /// Whether it asks for lanes, SIMD-groups or quads by number.
    pub(super) asks_for_lanes: bool,
    /// Whether it asks for the position in the grid.
    pub(super) asks_for_grid: bool,
}

/// Writes the function of one thread: `(context, x, y, z, index)`, the position and the linear index in the threadgroup. Where
/// SIMD-groups of one row can be told apart, each of them starts at a multiple of 32 in the grid, as
/// [`KernelInfo::whole_simdgroups`] says. With [`SimdgroupRows::Any`] the position is computed from the index.
///
/// [`KernelInfo::whole_simdgroups`]: crate::abi::KernelInfo::whole_simdgroups
///
/// # Errors
/// A parameter whose LLVM type does not fit the signature.
pub(super) fn source(
    kernel: Function<'_>,
    signature: &KernelSignature,
    has_lane_operations: bool,
    rows: SimdgroupRows,
) -> Result<Source, EngineError> {
    let (types, flat) = entry::parameters(kernel, signature)?;
    let asks = |about: fn(Builtin) -> bool| {
        signature.arguments.iter().zip(kernel.parameters()).any(|(argument, parameter)| {
            let is_asked = matches!(&argument.kind, ArgumentKind::Builtin { builtin, .. } if about(*builtin));
            is_asked && !parameter.is_unused()
        })
    };
    let asks_for_lanes = asks(numbers_lanes);
    let mut text = entry::declaration(&kernel.name(), &types);
    let (row_threads, prefix) = match rows {
        SimdgroupRows::Whole | SimdgroupRows::One => (None, "local"),
        SimdgroupRows::Short(threads) => (Some(u32::from(threads)), "local"),
        SimdgroupRows::Any => (None, "unused"),
    };
    let position = format!("i32 %{prefix}.x, i32 %{prefix}.y, i32 %{prefix}.z, i32 %index");
    let _ = writeln!(text, "define void @{KERNEL_SYMBOL}(ptr %context, {position}) {ATTRIBUTES} {{\nentry:");
    text.push_str(&entry::context_loads(row_threads));
    text.push_str(&entry::argument_loads(signature, &types));
    if rows == SimdgroupRows::Any {
        text.push_str(&entry::LOCAL_POSITION.replace("%thread", "%index"));
    }
    let grid_position = if is_row(rows) && (has_lane_operations || asks_for_lanes) {
        // Says what holds anyway.
        text.push_str("  %start.whole = and i32 %start.x, -32\n");
        entry::GRID_POSITION.replacen("%start.x", "%start.whole", 1)
    } else {
        entry::GRID_POSITION.to_owned()
    };
    text.push_str(&grid_position);
    text.push_str(entry::BUILT_INS);
    let _ = write!(text, "{}  ret void\n}}\n", entry::call(&kernel.name(), signature, &types));
    text.push_str(&entry::metadata(signature));
    let asks_for_grid = asks(|builtin| builtin == Builtin::ThreadPositionInGrid);
    Ok(Source { text, flat, asks_for_lanes, asks_for_grid })
}

/// Whether each SIMD-group lies in one row.
pub(super) fn is_row(rows: SimdgroupRows) -> bool {
    match rows {
        SimdgroupRows::Whole | SimdgroupRows::One => true,
        SimdgroupRows::Short(_) | SimdgroupRows::Any => false,
    }
}

/// Whether the value depends on which threads form a SIMD-group.
fn numbers_lanes(builtin: Builtin) -> bool {
    match builtin {
        Builtin::ThreadIndexInSimdgroup
        | Builtin::ThreadIndexInQuadgroup
        | Builtin::SimdgroupIndexInThreadgroup
        | Builtin::SimdgroupsPerThreadgroup
        | Builtin::QuadgroupIndexInThreadgroup
        | Builtin::QuadgroupsPerThreadgroup
        | Builtin::DispatchSimdgroupsPerThreadgroup
        | Builtin::DispatchQuadgroupsPerThreadgroup => true,
        Builtin::ThreadPositionInGrid
        | Builtin::ThreadsPerGrid
        | Builtin::ThreadsPerSimdgroup
        | Builtin::ThreadExecutionWidth
        | Builtin::GridOrigin
        | Builtin::GridSize
        | Builtin::ThreadPositionInThreadgroup
        | Builtin::ThreadIndexInThreadgroup
        | Builtin::ThreadgroupPositionInGrid
        | Builtin::ThreadgroupsPerGrid
        | Builtin::ThreadsPerThreadgroup
        | Builtin::DispatchThreadsPerThreadgroup => false,
    }
}

fn size_loads() -> String {
    let mut text = String::new();
    for (number, axis) in (0..).zip(["x", "y", "z"]) {
        let at = offset::SIZE + 4 * number;
        let _ = writeln!(text, "  %size.{axis}.at = getelementptr i8, ptr %context, i64 {at}");
        let _ = writeln!(text, "  %size.{axis} = load i32, ptr %size.{axis}.at, !invariant.load !0");
    }
    text
}

/// The line that names the linear index of lane 0, a multiple of 32 where `whole` says that there are SIMD-groups.
fn index_line(whole: bool) -> &'static str {
    if whole {
        "  %index.sum = add i32 %before, %x\n  %index = and i32 %index.sum, -32\n"
    } else {
        "  %index = add i32 %before, %x\n"
    }
}

/// The lines that name the planes of a threadgroup and the threads of a plane. Planes of short rows are whole SIMD-groups where there
/// are several; of threads that lie anyhow all are one plane.
fn planes(rows: SimdgroupRows) -> &'static str {
    match rows {
        SimdgroupRows::Whole | SimdgroupRows::One | SimdgroupRows::Short(_) => {
            "  %threads = mul i32 %size.x, %size.y\n  %planes = add i32 %size.z, 0\n"
        }
        SimdgroupRows::Any => {
            "  %size.xy = mul i32 %size.x, %size.y\n  %threads = mul i32 %size.xy, %size.z\n  %planes = add i32 1, 0\n"
        }
    }
}

/// The lines that call the SIMD-group whose first thread is `%x` threads behind the start of plane `%z`, in `rows` that are not one.
fn simdgroup(rows: SimdgroupRows) -> String {
    let shift = match rows {
        SimdgroupRows::Short(threads) => threads.trailing_zeros(),
        SimdgroupRows::Whole | SimdgroupRows::One | SimdgroupRows::Any => 0,
    };
    format!(
        "  %before = mul i32 %z, %threads
  %index.sum = add i32 %before, %x
  %index = and i32 %index.sum, -32
  %y.first = lshr i32 %x, {shift}
  %left = sub i32 %threads, %x
  call void @{LANES_SYMBOL}(ptr %context, i32 0, i32 %y.first, i32 %z, i32 %index, i32 %left)
"
    )
}

/// The exported function of a kernel without barriers: loops over the SIMD-groups in `rows`.
pub(super) fn driver(whole: bool, rows: SimdgroupRows) -> String {
    match rows {
        SimdgroupRows::Whole | SimdgroupRows::One => driver_by_rows(whole),
        SimdgroupRows::Short(_) | SimdgroupRows::Any => driver_by_index(rows),
    }
}

fn driver_by_index(rows: SimdgroupRows) -> String {
    let (sizes, planes, simdgroup) = (size_loads(), planes(rows), simdgroup(rows));
    format!(
        "declare void @{LANES_SYMBOL}(ptr, i32, i32, i32, i32, i32)
define void @{KERNEL_SYMBOL}(ptr dereferenceable({CONTEXT_BYTES}) %context) {ATTRIBUTES} {{
entry:
{sizes}{planes}  br label %z.loop
z.loop:
  %z = phi i32 [ 0, %entry ], [ %next.z, %z.end ]
  br label %x.loop
x.loop:
  %x = phi i32 [ 0, %z.loop ], [ %next.x, %x.loop ]
{simdgroup}  %next.x = add i32 %x, 32
  %more.x = icmp ult i32 %next.x, %threads
  br i1 %more.x, label %x.loop, label %z.end
z.end:
  %next.z = add i32 %z, 1
  %more.z = icmp ult i32 %next.z, %planes
  br i1 %more.z, label %z.loop, label %done
done:
  ret void
}}
!0 = !{{}}
"
    )
}

fn driver_by_rows(whole: bool) -> String {
    let index = index_line(whole);
    format!(
        "declare void @{LANES_SYMBOL}(ptr, i32, i32, i32, i32, i32)
define void @{KERNEL_SYMBOL}(ptr dereferenceable({CONTEXT_BYTES}) %context) {ATTRIBUTES} {{
entry:
{}  br label %z.loop
z.loop:
  %z = phi i32 [ 0, %entry ], [ %next.z, %z.end ]
  br label %y.loop
y.loop:
  %y = phi i32 [ 0, %z.loop ], [ %next.y, %y.end ]
  %plane = mul i32 %z, %size.y
  %row = add i32 %plane, %y
  %before = mul i32 %row, %size.x
  br label %x.loop
x.loop:
  %x = phi i32 [ 0, %y.loop ], [ %next.x, %x.loop ]
{index}  %left = sub i32 %size.x, %x
  call void @{LANES_SYMBOL}(ptr %context, i32 %x, i32 %y, i32 %z, i32 %index, i32 %left)
  %next.x = add i32 %x, 32
  %more.x = icmp ult i32 %next.x, %size.x
  br i1 %more.x, label %x.loop, label %y.end
y.end:
  %next.y = add i32 %y, 1
  %more.y = icmp ult i32 %next.y, %size.y
  br i1 %more.y, label %y.loop, label %z.end
z.end:
  %next.z = add i32 %z, 1
  %more.z = icmp ult i32 %next.z, %size.z
  br i1 %more.z, label %z.loop, label %done
done:
  ret void
}}
!0 = !{{}}
",
        size_loads()
    )
}

/// The function that barriers split: runs the SIMD-group whose first thread is at this place, or `x` threads behind the start of plane
/// `z` where SIMD-groups have several `rows`.
pub(super) fn numbered(whole: bool, rows: SimdgroupRows) -> String {
    let head = format!(
        "declare void @{LANES_SYMBOL}(ptr, i32, i32, i32, i32, i32)
declare void @{MARKER}() convergent nounwind
define void @{STEP}(ptr %context, i32 noundef %step, i32 noundef %x, i32 noundef %y, i32 noundef %z) {ATTRIBUTES} {{
entry:
"
    );
    if !is_row(rows) {
        let (sizes, planes, simdgroup) = (size_loads(), planes(rows), simdgroup(rows));
        return format!("{head}{sizes}{planes}{simdgroup}  ret void\n}}\n!0 = !{{}}\n");
    }
    let index = index_line(whole);
    // What threads a SIMD-group lacks at the end of a row is known of whole ones: then there is no code for less than all lanes, which
    // would have to be looked at wherever lanes meet again.
    let left = if rows == SimdgroupRows::Whole { "%left = add i32 32, 0" } else { "%left = sub i32 %size.x, %x" };
    format!(
        "{head}{}  %plane = mul i32 %z, %size.y
  %row = add i32 %plane, %y
  %before = mul i32 %row, %size.x
{index}  {left}
  call void @{LANES_SYMBOL}(ptr %context, i32 %x, i32 %y, i32 %z, i32 %index, i32 %left)
  ret void
}}
!0 = !{{}}
",
        size_loads()
    )
}
