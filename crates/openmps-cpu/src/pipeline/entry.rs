//! The function around a kernel, as LLVM IR text: reads the context, computes the built-ins, calls the kernel for one
//! thread or in a loop over the threadgroup.

use std::fmt::Write as _;

use openmps_engine::{ArgumentKind, Builtin, EngineError, KernelSignature, Scalar};
use openmps_llvm::Function;

use crate::abi::{KERNEL_SYMBOL, offset};
use crate::lower::text::Ty;
use crate::split::STEP;

/// The shape of the function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// The exported function: all threads of a threadgroup, one after another.
    Loop,
    /// The exported function: one thread, which runs as a fiber.
    Fiber,
    /// One thread of a kernel that is split at its barriers.
    Step,
}

impl Form {
    /// The function's name.
    pub(super) fn symbol(self) -> &'static str {
        match self {
            Self::Loop | Self::Fiber => KERNEL_SYMBOL,
            Self::Step => STEP,
        }
    }

    fn parameters(self) -> &'static str {
        match self {
            Self::Loop => "ptr %context",
            Self::Fiber => "ptr %context, i32 %thread",
            Self::Step => "ptr %context, i32 %thread, i32 %local.x, i32 %local.y, i32 %local.z",
        }
    }
}

/// The function and what its text tells.
pub(super) struct Entry {
    pub(super) text: String,
    /// Whether the kernel uses no argument that tells threadgroups apart.
    pub(super) flat: bool,
}

/// Floats that are subnormal count as zero: what the runtime sets the CPU to while kernels run.
pub(super) const ATTRIBUTES: &str = "nounwind \"denormal-fp-math-f32\"=\"preserve-sign,preserve-sign\"";

/// Writes the function around `kernel`.
///
/// # Errors
/// A parameter whose LLVM type does not fit the signature.
pub(super) fn text(kernel: Function<'_>, signature: &KernelSignature, form: Form) -> Result<Entry, EngineError> {
    let (types, flat) = parameters(kernel, signature)?;
    let mut text = declaration(&kernel.name(), &types);
    let (symbol, parameters) = (form.symbol(), form.parameters());
    let _ = write!(text, "define void @{symbol}({parameters}) {ATTRIBUTES} {{\nentry:\n{}", context_loads(None));
    let _ = write!(text, "{}", argument_loads(signature, &types));
    let call = format!("{BUILT_INS}{}", call(&kernel.name(), signature, &types));
    match form {
        Form::Loop => text.push_str(&thread_loop(&format!("{LINEAR_INDEX}{call}"))),
        Form::Fiber => {
            let _ = write!(text, "{LOCAL_POSITION}{GRID_POSITION}{LINEAR_INDEX}{call}  ret void\n}}\n");
        }
        Form::Step => {
            let _ = write!(text, "{GRID_POSITION}  %index = add i32 %thread, 0\n{call}  ret void\n}}\n");
        }
    }
    text.push_str(&metadata(signature));
    Ok(Entry { text, flat })
}

/// What loads refer to: the empty node, and the bytes of the argument words, which may be read whether a thread runs or not.
pub(super) fn metadata(signature: &KernelSignature) -> String {
    format!("!0 = !{{}}\n!1 = !{{i64 {}}}\n", 8 * signature.arguments.len())
}

/// The types of the kernel's parameters, and whether it cannot tell threadgroups apart.
///
/// # Errors
/// A parameter whose LLVM type does not fit the signature.
pub(super) fn parameters(kernel: Function<'_>, signature: &KernelSignature) -> Result<(Vec<Ty>, bool), EngineError> {
    let mismatch = |position: usize| {
        let name = &signature.arguments[position].name;
        EngineError::Internal(format!("kernel '{}': argument '{name}' has an unexpected type", signature.name))
    };
    let mut types = Vec::new();
    let mut flat = true;
    for (position, parameter) in kernel.parameters().into_iter().enumerate() {
        let kind = &signature.arguments[position].kind;
        let ty =
            Ty::parse(&parameter.ty().to_string()).filter(|ty| fits(kind, ty)).ok_or_else(|| mismatch(position))?;
        types.push(ty);
        flat &= parameter.is_unused() || is_flat(kind);
    }
    Ok((types, flat))
}

fn fits(kind: &ArgumentKind, ty: &Ty) -> bool {
    match kind {
        ArgumentKind::Buffer { .. }
        | ArgumentKind::ArgumentBuffer { .. }
        | ArgumentKind::VisibleFunctionTable { .. } => ty.lanes == 1 && ty.scalar.starts_with("ptr"),
        ArgumentKind::ThreadgroupMemory { .. } => ty.lanes == 1 && ty.scalar == "ptr addrspace(3)",
        ArgumentKind::Texture { count, .. } => {
            ty.lanes == 1 && ty.scalar == if count.is_some() { "ptr" } else { "ptr addrspace(1)" }
        }
        ArgumentKind::Sampler { count, .. } => {
            ty.lanes == 1 && ty.scalar == if count.is_some() { "ptr" } else { "ptr addrspace(2)" }
        }
        ArgumentKind::Builtin { ty: built_in, .. } => {
            let scalar = match built_in.scalar {
                Scalar::U16 => "i16",
                Scalar::U32 => "i32",
            };
            ty.scalar == scalar && ty.lanes == u32::from(built_in.lanes) && ty.lanes <= 3
        }
    }
}

/// Whether the value is the same however the grid is cut into threadgroups.
fn is_flat(kind: &ArgumentKind) -> bool {
    match kind {
        ArgumentKind::Buffer { .. }
        | ArgumentKind::ArgumentBuffer { .. }
        | ArgumentKind::Texture { .. }
        | ArgumentKind::Sampler { .. }
        | ArgumentKind::VisibleFunctionTable { .. } => true,
        ArgumentKind::ThreadgroupMemory { .. } => false,
        ArgumentKind::Builtin { builtin, .. } => match builtin {
            Builtin::ThreadPositionInGrid
            | Builtin::ThreadsPerGrid
            | Builtin::ThreadsPerSimdgroup
            | Builtin::ThreadExecutionWidth
            | Builtin::GridOrigin
            | Builtin::GridSize => true,
            Builtin::ThreadPositionInThreadgroup
            | Builtin::ThreadIndexInThreadgroup
            | Builtin::ThreadIndexInSimdgroup
            | Builtin::ThreadIndexInQuadgroup
            | Builtin::ThreadgroupPositionInGrid
            | Builtin::ThreadgroupsPerGrid
            | Builtin::ThreadsPerThreadgroup
            | Builtin::SimdgroupIndexInThreadgroup
            | Builtin::SimdgroupsPerThreadgroup
            | Builtin::QuadgroupIndexInThreadgroup
            | Builtin::QuadgroupsPerThreadgroup
            | Builtin::DispatchThreadsPerThreadgroup
            | Builtin::DispatchSimdgroupsPerThreadgroup
            | Builtin::DispatchQuadgroupsPerThreadgroup => false,
        },
    }
}

pub(super) fn declaration(kernel: &str, types: &[Ty]) -> String {
    let types: Vec<String> = types.iter().map(ToString::to_string).collect();
    format!("declare void @{kernel}({})\n", types.join(", "))
}

/// Three words of the context, named `%<name>.x` to `.z`.
const CONTEXT_TRIPLES: [(&str, u64); 5] = [
    ("grid", offset::THREADS_PER_GRID),
    ("groups", offset::GROUPS_PER_GRID),
    ("dispatch", offset::DISPATCH_SIZE),
    ("group", offset::POSITION),
    ("size", offset::SIZE),
];
const AXES: [&str; 3] = ["x", "y", "z"];

/// Loads from the context and of its argument words give the same whenever a thread goes on behind a barrier.
const INVARIANT: &str = ", !invariant.load !0";

/// Loads of the context's words. `row_threads` stands for the threads of a row of every threadgroup, where they are known.
pub(super) fn context_loads(row_threads: Option<u32>) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "  %arguments.at = getelementptr i8, ptr %context, i64 {}", offset::ARGUMENTS);
    let _ = writeln!(text, "  %arguments = load ptr, ptr %arguments.at{INVARIANT}, !dereferenceable !1");
    let _ = writeln!(text, "  %threadgroup.at = getelementptr i8, ptr %context, i64 {}", offset::THREADGROUP_MEMORY);
    let _ = writeln!(text, "  %threadgroup = load ptr addrspace(3), ptr %threadgroup.at{INVARIANT}");
    for (name, start) in CONTEXT_TRIPLES {
        for (number, axis) in (0..).zip(AXES) {
            let at = start + 4 * number;
            if let Some(threads) = row_threads.filter(|_| axis == "x" && ["dispatch", "size"].contains(&name)) {
                let _ = writeln!(text, "  %{name}.x = add i32 {threads}, 0");
                continue;
            }
            let _ = writeln!(text, "  %{name}.{axis}.at = getelementptr i8, ptr %context, i64 {at}");
            let _ = writeln!(text, "  %{name}.{axis} = load i32, ptr %{name}.{axis}.at{INVARIANT}");
        }
    }
    for axis in AXES {
        let _ = writeln!(text, "  %start.{axis} = mul nuw i32 %group.{axis}, %dispatch.{axis}");
    }
    text
}

pub(super) fn argument_loads(signature: &KernelSignature, types: &[Ty]) -> String {
    let mut text = String::new();
    for (position, (argument, ty)) in signature.arguments.iter().zip(types).enumerate() {
        let _ = match argument.kind {
            ArgumentKind::Buffer { .. }
            | ArgumentKind::ArgumentBuffer { .. }
            | ArgumentKind::Texture { .. }
            | ArgumentKind::Sampler { .. }
            | ArgumentKind::VisibleFunctionTable { .. } => writeln!(
                text,
                "  %a{position}.at = getelementptr i64, ptr %arguments, i64 {position}\n  \
                 %a{position} = load {ty}, ptr %a{position}.at{INVARIANT}"
            ),
            ArgumentKind::ThreadgroupMemory { .. } => writeln!(
                text,
                "  %a{position}.at = getelementptr i64, ptr %arguments, i64 {position}\n  \
                 %a{position}.offset = load i64, ptr %a{position}.at{INVARIANT}\n  \
                 %a{position} = getelementptr i8, ptr addrspace(3) %threadgroup, i64 %a{position}.offset"
            ),
            ArgumentKind::Builtin { .. } => Ok(()),
        };
    }
    text
}

/// The thread's position from its linear index in the threadgroup.
pub(super) const LOCAL_POSITION: &str = "  %local.x = urem i32 %thread, %size.x
  %row = udiv i32 %thread, %size.x
  %local.y = urem i32 %row, %size.y
  %local.z = udiv i32 %row, %size.y
";
/// The thread's position in the grid from the one in the threadgroup.
pub(super) const GRID_POSITION: &str = "  %at.x = add nuw i32 %start.x, %local.x
  %at.y = add nuw i32 %start.y, %local.y
  %at.z = add nuw i32 %start.z, %local.z
";

/// Loops over positions in the grid: the innermost counts x, so that addresses are affine in it. Sizes are never 0.
fn thread_loop(call: &str) -> String {
    let mut text = String::new();
    for axis in AXES {
        let _ = writeln!(text, "  %end.{axis} = add nuw i32 %start.{axis}, %size.{axis}");
    }
    text.push_str(
        "  br label %z.loop
z.loop:
  %at.z = phi i32 [ %start.z, %entry ], [ %next.z, %z.end ]
  br label %y.loop
y.loop:
  %at.y = phi i32 [ %start.y, %z.loop ], [ %next.y, %y.end ]
  br label %x.loop
x.loop:
  %at.x = phi i32 [ %start.x, %y.loop ], [ %next.x, %x.loop ]
",
    );
    for axis in AXES {
        let _ = writeln!(text, "  %local.{axis} = sub nuw i32 %at.{axis}, %start.{axis}");
    }
    text.push_str(call);
    text.push_str(
        "  %next.x = add nuw i32 %at.x, 1
  %more.x = icmp ult i32 %next.x, %end.x
  br i1 %more.x, label %x.loop, label %y.end
y.end:
  %next.y = add nuw i32 %at.y, 1
  %more.y = icmp ult i32 %next.y, %end.y
  br i1 %more.y, label %y.loop, label %z.end
z.end:
  %next.z = add nuw i32 %at.z, 1
  %more.z = icmp ult i32 %next.z, %end.z
  br i1 %more.z, label %z.loop, label %done
done:
  ret void
}
",
    );
    text
}

/// The linear index from the position in the threadgroup.
const LINEAR_INDEX: &str = "  %local.yz = mul i32 %local.z, %size.y
  %local.rows = add i32 %local.yz, %local.y
  %local.before = mul i32 %local.rows, %size.x
  %index = add i32 %local.before, %local.x
";
/// Values that built-ins are made of, from the position and the context. SIMD-groups and quads are 32 and 4 threads in the order
/// of the linear index, which the size of the current threadgroup defines.
pub(super) const BUILT_INS: &str = "  %lane = and i32 %index, 31
  %quad.lane = and i32 %index, 3
  %simdgroup = lshr i32 %index, 5
  %quad = lshr i32 %index, 2
  %size.xy = mul i32 %size.x, %size.y
  %size.xyz = mul i32 %size.xy, %size.z
  %size.31 = add i32 %size.xyz, 31
  %simdgroups = lshr i32 %size.31, 5
  %size.3 = add i32 %size.xyz, 3
  %quads = lshr i32 %size.3, 2
  %dispatch.xy = mul i32 %dispatch.x, %dispatch.y
  %dispatch.xyz = mul i32 %dispatch.xy, %dispatch.z
  %dispatch.31 = add i32 %dispatch.xyz, 31
  %dispatch.simdgroups = lshr i32 %dispatch.31, 5
  %dispatch.3 = add i32 %dispatch.xyz, 3
  %dispatch.quads = lshr i32 %dispatch.3, 2
";

/// The i32 values of a built-in, x first; scalars have one.
fn components(builtin: Builtin) -> [&'static str; 3] {
    let one = |name| [name, "0", "0"];
    match builtin {
        Builtin::ThreadPositionInGrid => ["%at.x", "%at.y", "%at.z"],
        Builtin::ThreadPositionInThreadgroup => ["%local.x", "%local.y", "%local.z"],
        Builtin::ThreadIndexInThreadgroup => one("%index"),
        Builtin::ThreadIndexInSimdgroup => one("%lane"),
        Builtin::ThreadIndexInQuadgroup => one("%quad.lane"),
        Builtin::ThreadgroupPositionInGrid => ["%group.x", "%group.y", "%group.z"],
        Builtin::ThreadgroupsPerGrid => ["%groups.x", "%groups.y", "%groups.z"],
        Builtin::ThreadsPerGrid | Builtin::GridSize => ["%grid.x", "%grid.y", "%grid.z"],
        Builtin::ThreadsPerThreadgroup => ["%size.x", "%size.y", "%size.z"],
        Builtin::DispatchThreadsPerThreadgroup => ["%dispatch.x", "%dispatch.y", "%dispatch.z"],
        Builtin::ThreadsPerSimdgroup | Builtin::ThreadExecutionWidth => one("32"),
        Builtin::SimdgroupIndexInThreadgroup => one("%simdgroup"),
        Builtin::SimdgroupsPerThreadgroup => one("%simdgroups"),
        Builtin::QuadgroupIndexInThreadgroup => one("%quad"),
        Builtin::QuadgroupsPerThreadgroup => one("%quads"),
        Builtin::DispatchSimdgroupsPerThreadgroup => one("%dispatch.simdgroups"),
        Builtin::DispatchQuadgroupsPerThreadgroup => one("%dispatch.quads"),
        Builtin::GridOrigin => ["0", "0", "0"],
    }
}

/// Builds the built-in arguments and calls the kernel.
pub(super) fn call(kernel: &str, signature: &KernelSignature, types: &[Ty]) -> String {
    let mut text = String::new();
    let mut arguments = Vec::new();
    for (position, (argument, ty)) in signature.arguments.iter().zip(types).enumerate() {
        if let ArgumentKind::Builtin { builtin, .. } = argument.kind {
            let mut vector = "poison".to_owned();
            for (number, value) in (0..ty.lanes).zip(components(builtin)) {
                let lane = format!("%a{position}.{number}");
                // `add x, 0` and `trunc` name the component in the argument's scalar type.
                let _ = match ty.scalar.as_str() {
                    "i32" => writeln!(text, "  {lane} = add i32 {value}, 0"),
                    _ => writeln!(text, "  {lane} = trunc i32 {value} to i16"),
                };
                if ty.lanes == 1 {
                    vector = lane;
                } else {
                    let next = format!("%a{position}.v{number}");
                    let scalar = &ty.scalar;
                    let _ = writeln!(text, "  {next} = insertelement {ty} {vector}, {scalar} {lane}, i32 {number}");
                    vector = next;
                }
            }
            arguments.push(format!("{ty} {vector}"));
        } else {
            arguments.push(format!("{ty} %a{position}"));
        }
    }
    let _ = writeln!(text, "  call void @{kernel}({})", arguments.join(", "));
    text
}
