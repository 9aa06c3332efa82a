//! Gives every `air.*` and `__tensorops_impl_*` function that a kernel calls a body, which is then inlined: one file for each family.
//!
//! A family looks at the name and either writes the body or leaves the name to the next family; a name that no family knows is
//! an error that names it. Guarantees: after linking and inlining, the module calls only LLVM's intrinsics, libm and the
//! runtime functions that [`crate::jit::symbols`] lists.

mod angle;
mod atomic;
mod barrier;
mod convert;
mod copy;
mod execution;
mod exponent;
mod integer;
mod math;
mod matrix;
pub(crate) mod order;
mod polynomial;
mod precise;
mod root;
mod simd;
mod tensor;
pub(crate) mod text;
mod texture;

use std::collections::BTreeSet;

use openmps_engine::EngineError;
use openmps_llvm::Function;

pub(crate) use barrier::simdgroup_barrier_code;
pub(crate) use tensor::THREAD_INDEX;
use text::{Body, Ty, Value};

use crate::tensor::layout::Fragments;

/// How the lanes of a SIMD-group meet in what is lowered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lanes {
    /// Each thread is a fiber, and the runtime serves those that wait.
    Fibers,
    /// Lanes run in lockstep: their operations stay calls, named by [`crate::vectorize::Marker`], until the vectoriser takes them.
    Lockstep,
}

/// A function of AIR or of MetalPerformancePrimitives as a kernel declares it.
pub(crate) struct Declaration {
    /// The full name, `air.fmax.f32`.
    name: String,
    /// `None` for void.
    result: Option<Ty>,
    /// Parameter types.
    parameters: Vec<Ty>,
    /// Where the kernel takes the elements of cooperative tensors to be.
    fragments: Fragments,
    /// How its lanes meet.
    lanes: Lanes,
}

/// A result: what a family made of a declaration.
enum Lowered {
    /// The body computes this.
    Value(Value),
    /// The body returns nothing.
    Void,
}

/// Bodies for all AIR functions of a module, and what they need.
pub(crate) struct Definitions {
    /// LLVM IR text.
    pub(crate) text: String,
    /// How the kernel's threads depend on each other.
    pub(crate) meeting: Meeting,
    /// Whether something of it can only be done by fibers.
    pub(crate) has_fiber_operations: bool,
    /// Whether lanes of a SIMD-group work together or ask for their number.
    pub(crate) has_lane_operations: bool,
}

/// How threads depend on each other, in rising order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Meeting {
    /// Not at all.
    Never,
    /// They wait at barriers of the threadgroup, or ask for their lane.
    AtBarriers,
    /// They exchange values, or wait for some of them only.
    InGroups,
}

/// The runtime's functions, as IR declares them.
const RUNTIME: &str = "
declare void @openmps_barrier() convergent nounwind
declare void @openmps_lane(i32, i32, i32, i32, ptr) convergent nounwind
declare void @openmps_texture(i32, ptr addrspace(1), ptr addrspace(2), ptr) nounwind willreturn
declare i32 @openmps_lane_index() nounwind willreturn memory(none)
";

impl Declaration {
    fn of(function: Function<'_>, fragments: Fragments, lanes: Lanes) -> Option<Self> {
        let ty = function.value_type();
        let result = ty.result()?;
        let result = match result.to_string().as_str() {
            "void" => None,
            // A texture's color and a byte.
            structure if structure.starts_with("{ ") => Some(Ty::scalar(structure)),
            other => Some(Ty::parse(other)?),
        };
        let parameters = ty.parameters().iter().map(|ty| Ty::parse(&ty.to_string())).collect::<Option<Vec<_>>>()?;
        Some(Self { name: function.name(), result, parameters, fragments, lanes })
    }

    /// Parameter `index` as a value.
    fn parameter(&self, index: usize) -> Option<Value> {
        Some(Value::new(self.parameters.get(index)?.clone(), format!("%p{index}")))
    }

    /// The name without `air.`, the operation's first part, and the other parts.
    fn parts(&self) -> (&str, Vec<&str>) {
        let mut parts = self.name.trim_start_matches("air.").split('.');
        let operation = parts.next().unwrap_or("");
        (operation, parts.collect())
    }

    fn definition(&self, body: Body, lowered: &Lowered) -> String {
        let parameters: Vec<String> =
            self.parameters.iter().enumerate().map(|(index, ty)| format!("{ty} %p{index}")).collect();
        let result = self.result.as_ref().map_or("void".to_owned(), ToString::to_string);
        let end = match lowered {
            Lowered::Value(value) => format!("ret {value}"),
            Lowered::Void => "ret void".to_owned(),
        };
        let (name, parameters, lines) = (&self.name, parameters.join(", "), body.into_lines());
        format!("define {result} @\"{name}\"({parameters}) alwaysinline nounwind {{\n{lines}  {end}\n}}\n")
    }
}

/// Writes the bodies of `functions`, which are declarations of functions that the table has.
///
/// # Errors
/// [`EngineError::Unsupported`] for a function that no family knows, or knows with other types.
pub(crate) fn definitions(kernel: &str, functions: &[Function<'_>], lanes: Lanes) -> Result<Definitions, EngineError> {
    let mut text = format!("{RUNTIME}{}", tensor::RUNTIME);
    let fragments = Fragments::of_kernel(kernel);
    let (mut meeting, mut has_fiber_operations, mut has_lane_operations) = (Meeting::Never, false, false);
    let mut declarations = BTreeSet::new();
    for function in functions {
        let unsupported = || {
            let (name, ty) = (function.name(), function.value_type());
            EngineError::Unsupported(format!("kernel '{kernel}': {name} of type {ty} has no lowering"))
        };
        let declaration = Declaration::of(*function, fragments, lanes).ok_or_else(unsupported)?;
        let (body, lowered) = lower(&declaration).ok_or_else(unsupported)?;
        let result = match &lowered {
            Lowered::Value(value) => Some(&value.ty),
            Lowered::Void => None,
        };
        if result != declaration.result.as_ref() {
            return Err(unsupported());
        }
        meeting = meeting.max(meeting_in(&declaration));
        declarations.extend(body.declarations().iter().cloned());
        has_fiber_operations |= copy::is_copy(&declaration);
        has_lane_operations |= simd::is_lane_operation(&declaration)
            || execution::asks_for_lane(&declaration)
            || tensor::needs_threads(&declaration);
        text.push_str(&declaration.definition(body, &lowered));
    }
    if text.contains(angle::TABLE) {
        text.push_str(&angle::table_text());
    }
    text.extend(declarations);
    Ok(Definitions { text, meeting, has_fiber_operations, has_lane_operations })
}

fn meeting_in(declaration: &Declaration) -> Meeting {
    if simd::is_lane_operation(declaration)
        || barrier::is_simdgroup_barrier(declaration)
        || copy::is_copy(declaration)
        || tensor::needs_threads(declaration)
    {
        Meeting::InGroups
    } else if barrier::is_threadgroup_barrier(declaration) || execution::asks_for_lane(declaration) {
        Meeting::AtBarriers
    } else {
        Meeting::Never
    }
}

/// The body by the first family that knows the name; each starts with an empty one.
fn lower(declaration: &Declaration) -> Option<(Body, Lowered)> {
    let families = [
        math::lower,
        integer::lower,
        convert::lower,
        atomic::lower,
        barrier::lower,
        simd::lower,
        matrix::lower,
        copy::lower,
        execution::lower,
        tensor::lower,
        texture::lower,
    ];
    families.iter().find_map(|family| {
        let mut body = Body::default();
        family(declaration, &mut body).map(|lowered| (body, lowered))
    })
}

#[cfg(test)]
mod tests;
