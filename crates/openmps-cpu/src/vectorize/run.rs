//! The pass: a function of one thread in, a function of a SIMD-group out.

use openmps_engine::{EngineChoice, SimdgroupRows};
use openmps_llvm::{AttributePlace, Function, Module, TargetMachine, Type};

use super::across::stores_across;
use super::analysis::Analysis;
use super::choice::{Request, Size, Slots, barriers};
use super::emit::{self, Features};
use super::graph::Graph;
use super::outer;
use super::refusal::Refusal;
use super::shape::Shape;
use super::together::pass_barriers_together;
use crate::abi::{KERNEL_SYMBOL, THREADS_PER_GROUP_MAX};

/// The function of a SIMD-group: `(context, x, y, z, index, lanes)`, of which the position is lane 0's.
pub(crate) const LANES_SYMBOL: &str = "openmps_lanes";

/// Most threads of a row where the grid is cut anywhere.
const ROW_THREADS_MAX: u32 = 4096;
/// Lanes of a SIMD-group.
const WIDTH: u32 = 32;

/// How a kernel's threads wait for each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Barriers {
    /// They do not.
    None,
    /// All pass the same barriers in the same order.
    Together,
    /// Some may have returned, or wait elsewhere.
    Apart,
}

/// What is known of a vector form.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Made {
    pub(crate) barriers: Barriers,
    pub(crate) slots: Slots,
    /// Whether it has loops.
    pub(crate) has_loops: bool,
    /// Whether a row's threads write far from each other.
    pub(crate) stores_across: bool,
}

/// Replaces the function of one thread by [`LANES_SYMBOL`], for the CPU of `machine`.
///
/// # Errors
/// What has no vector form, or is not worth one; the module is of no use then.
pub(crate) fn run(module: &mut Module<'_>, machine: &TargetMachine, request: Request) -> Result<Made, Refusal> {
    let made = vectorize(module, machine, request)?;
    module.delete_function(KERNEL_SYMBOL);
    Ok(made)
}

fn vectorize(module: &Module<'_>, machine: &TargetMachine, request: Request) -> Result<Made, Refusal> {
    let source = module.function(KERNEL_SYMBOL).expect("the source was linked");
    let has_barriers = end_blocks_at_barriers(source);
    let graph = Graph::new(source)?;
    let (seeds, row_lanes) = seeds(request);
    let mut analysis = Analysis::new(module, source, &graph, &seeds, row_lanes)?;
    if request.size == Size::Blocks {
        // Its sums have other bits than those of scalar code, which a kernel under `auto` begins with.
        let may_differ = request.choice == EngineChoice::Vector;
        let has_matrix_unit = may_differ && machine.features().contains("+amx-bf16");
        if !outer::run(module, source, &graph, &analysis, has_matrix_unit) {
            return Err(Refusal::TooLarge);
        }
        analysis = Analysis::new(module, source, &graph, &seeds, row_lanes)?;
    }
    let slots = request.check(module, source, &graph, &analysis)?;
    let mut parameters: Vec<Type<'_>> = source.parameters().iter().map(|parameter| parameter.ty()).collect();
    parameters.push(module.context().i32());
    let ty = module.context().function(module.context().void(), &parameters);
    let function = module.add_function(LANES_SYMBOL, ty);
    function.add_attribute(AttributePlace::Function, "nounwind", 0);
    function.add_attribute(AttributePlace::Function, "alwaysinline", 0);
    copy_attributes(source, function);
    let has = |feature| machine.features().split(',').any(|it| it == feature);
    // Without AVX an atomic load of 16 bytes is an exchange, which writes.
    let features = Features { bf16: has("+avx512bf16"), wide_exchange: has("+cx16") && has("+avx") };
    emit::run(module, source, function, &graph, &analysis, features)?;
    let barriers = match has_barriers {
        false => Barriers::None,
        true if pass_barriers_together(source, &graph) => Barriers::Together,
        true => Barriers::Apart,
    };
    Ok(Made { barriers, slots, has_loops: !graph.loops.is_empty(), stores_across: stores_across(&graph, &analysis) })
}

/// The shapes of the context, the position and the linear index, and the lanes of a row.
fn seeds(request: Request) -> ([Shape; 5], u32) {
    // A row of a grid that is cut anywhere may be longer than a threadgroup's.
    let most = u64::from(THREADS_PER_GROUP_MAX.max(ROW_THREADS_MAX) - 1);
    let whole = WIDTH;
    let index = |row_lanes| Shape::position(most, request.whole_simdgroups, row_lanes);
    let (x, y, row_lanes) = match request.rows {
        SimdgroupRows::Whole | SimdgroupRows::One => (Shape::position(most, true, whole), Shape::Uniform, whole),
        SimdgroupRows::Short(0 | 1) => (Shape::Uniform, Shape::position(most, false, whole), whole),
        SimdgroupRows::Short(lanes) => (Shape::column(lanes.into()), Shape::row(most), lanes.into()),
        // The position is computed from the index.
        SimdgroupRows::Any => (Shape::Uniform, Shape::Uniform, whole),
    };
    ([Shape::Uniform, x, y, Shape::Uniform, index(row_lanes)], row_lanes)
}

/// Ends blocks behind barriers; whether there are some.
fn end_blocks_at_barriers(source: Function<'_>) -> bool {
    let barriers = barriers(source);
    for barrier in &barriers {
        if let Some(next) = barrier.next() {
            next.split_block("behind");
        }
    }
    !barriers.is_empty()
}

/// How floats behave.
fn copy_attributes(from: Function<'_>, to: Function<'_>) {
    for name in ["denormal-fp-math", "denormal-fp-math-f32"] {
        if let Some(value) = from.string_attribute(AttributePlace::Function, name) {
            to.add_string_attribute(AttributePlace::Function, name, &value);
        }
    }
}
