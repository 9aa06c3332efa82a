//! From AIR to the code of whole SIMD-groups: one line a pass, as in [`super`].

use openmps_engine::{EngineError, EngineOptions, KernelSignature, SimdgroupRows};
use openmps_llvm::{Module, PassOptions, TargetMachine};

use super::entry::Form;
use super::observe::Observer;
use super::{
    bound, check_calls, constant, facts, inline, internal, isolate, link_text, memories, packing, prepare, stack, step,
    threadgroup,
};
use crate::abi::{Cut, KERNEL_SYMBOL, KernelInfo, SIMD_WIDTH, WholeSimdgroups};
use crate::lower::{self, Lanes, THREAD_INDEX};
use crate::split::{self, STEP, Steps, Ways};
use crate::vectorize::{self, Barriers, Refusal, Size, Slots};

/// Before vectorisation: private variables become values, loops are counted.
const LOOPS: &str = "sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg,\
    loop-mssa(loop-rotate,licm),instcombine<no-verify-fixpoint>";
/// Then what is known of them is used, and small ones are unrolled, with which private arrays become values.
const UNROLLED: &str = "loop(indvars,loop-deletion,loop-unroll-full)";
/// The same where unrolling would make the code too large (PyTorch's `sort_block_*`: 470 blocks become 1,200).
const ROLLED: &str = "loop(indvars,loop-deletion)";
/// Then vectors become scalars, and the flow a nest of loops with one latch each. The text of cleanup is short on purpose:
/// `default<O2>` takes four to seven times longer for the same code.
const NEST: &str = "sroa,instcombine<no-verify-fixpoint>,gvn,dse,simplifycfg,lower-switch,scalarizer<load-store>,\
    instcombine<no-verify-fixpoint>,simplifycfg,lower-switch,mergereturn,fix-irreducible,break-crit-edges,\
    loop-simplify,lcssa";
/// Between vectorisation and the split at barriers: what is no slot any more need not be kept across them.
const BEFORE_SPLIT: &str =
    "always-inline,globaldce,function(sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg)";
/// Between the split and the bounds of its loops: each state's code is where it runs.
const BEFORE_BOUNDS: &str =
    "always-inline,globaldce,function(sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg)";
/// After it: slots become registers; `vector-combine` cancels shuffles of loads and stores.
const AFTER: &str = "always-inline,globaldce,function(sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,\
    simplifycfg,loop-mssa(licm),vector-combine),globaldce";

/// The same where slots stay in memory.
const AFTER_LARGE: &str = "always-inline,globaldce,function(early-cse<memssa>,instcombine<no-verify-fixpoint>,\
    simplifycfg,dse,vector-combine),globaldce";

/// Why there is no vector code.
pub(super) enum Failure {
    /// The kernel runs on the scalar engine.
    Refused(Refusal),
    Error(EngineError),
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        Self::Error(error)
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// What is known of a module with the function of a SIMD-group.
struct Vectorized {
    facts: KernelInfo,
    /// Whether SIMD-groups can be told apart.
    tells_simdgroups: bool,
    /// How SIMD-groups go from barrier to barrier; none without barriers.
    ways: Option<Ways>,
    /// Where values are kept that cross blocks.
    slots: Slots,
}

/// Why the kernel has no vector form, found without generating code of it; none when it has one.
///
/// # Errors
/// What keeps it from any form.
pub(super) fn refusal(
    module: &mut Module<'_>,
    machine: &TargetMachine,
    signature: &KernelSignature,
    options: &EngineOptions,
    size: Size,
) -> Result<Option<Refusal>, EngineError> {
    let mut observer = Observer::new(options, &signature.name);
    match vectorized(module, machine, signature, options, size, &mut observer) {
        Ok(_) => Ok(None),
        Err(Failure::Refused(reason)) => Ok(Some(reason)),
        Err(Failure::Error(error)) => Err(error),
    }
}

/// Makes the module the vector code of the kernel.
///
/// # Errors
/// See [`Failure`]; the module is of no use then.
pub(super) fn build(
    module: &mut Module<'_>,
    machine: &TargetMachine,
    signature: &KernelSignature,
    options: &EngineOptions,
    size: Size,
) -> Result<(), Failure> {
    let mut observer = Observer::new(options, &signature.name);
    let Vectorized { mut facts, tells_simdgroups, ways, slots } =
        vectorized(module, machine, signature, options, size, &mut observer)?;
    if let Some(ways) = ways {
        facts.frame_bytes = split_at_barriers(module, machine, tells_simdgroups, ways, options.rows)?;
        facts.whole_rows = u32::from(options.rows == SimdgroupRows::Whole);
        facts.step_threads = u32::try_from(SIMD_WIDTH).expect("32");
        observer.after("barriers", module)?;
        run_passes(module, machine, BEFORE_BOUNDS)?;
        bound::run(module);
        observer.after("bounds", module)?;
        memories::run(module, facts.threadgroup_memory_bytes);
        observer.after("memories", module)?;
    } else {
        link_text(module, machine, &step::driver(tells_simdgroups, options.rows))?;
        isolate::hide_all_but(module, KERNEL_SYMBOL);
    }
    run_passes(
        module,
        machine,
        match slots {
            Slots::InRegisters => AFTER,
            Slots::InMemory => AFTER_LARGE,
        },
    )?;
    observer.after("optimize", module)?;
    check_calls(module, signature)?;
    facts::store(module, machine, facts, signature)?;
    Ok(())
}

/// Makes the function of a SIMD-group out of the kernel.
fn vectorized(
    module: &mut Module<'_>,
    machine: &TargetMachine,
    signature: &KernelSignature,
    options: &EngineOptions,
    size: Size,
    observer: &mut Observer,
) -> Result<Vectorized, Failure> {
    let kernel = prepare(module, machine, signature, observer)?;
    let has_lane_operations = lower_intrinsics(module, machine, signature)?;
    observer.after("lower", module)?;
    let source = {
        let function = module.function(&kernel).expect("isolate returned its name");
        step::source(function, signature, has_lane_operations, options.rows)?
    };
    link_text(module, machine, &source.text)?;
    inline(module, machine, KERNEL_SYMBOL, false)?;
    number_threads(module);
    constant::run(module.function(KERNEL_SYMBOL).expect("the source was linked"));
    observer.after("inline", module)?;
    let threadgroup_bytes = threadgroup::run(module, Form::Loop, signature)?;
    observer.after("threadgroup", module)?;
    stack::run(module, machine, signature)?;
    let is_in_rows = step::is_row(options.rows);
    let flat = source.flat && !has_lane_operations && threadgroup_bytes == 0 && is_in_rows;
    let mut facts = facts::before_optimizing(module, Form::Loop, flat, threadgroup_bytes)?;
    let tells_simdgroups = has_lane_operations || source.asks_for_lanes;
    facts.whole_simdgroups = match (tells_simdgroups, source.asks_for_grid) {
        (false, _) => WholeSimdgroups::Never,
        (true, false) => WholeSimdgroups::InThreadgroup,
        (true, true) => WholeSimdgroups::InGrid,
    } as u32;
    facts.vectorized = 1;
    observer.after("stack", module)?;
    let request = vectorize::Request {
        rows: options.rows,
        whole_simdgroups: tells_simdgroups || !is_in_rows,
        choice: options.engine,
        size,
    };
    if vectorize::is_too_large(module, request) {
        return Err(Refusal::TooLarge.into());
    }
    if size == Size::Blocks {
        run_passes(module, machine, &format!("function({LOOPS})"))?;
        ask_for_unrolling(module, machine)?;
        run_passes(module, machine, &format!("function({UNROLLED},{NEST})"))?;
    } else {
        let unrolling = if size == Size::Rolled { ROLLED } else { UNROLLED };
        run_passes(module, machine, &format!("function({LOOPS},{unrolling},{NEST})"))?;
    }
    if packing::run(&module.builder(), module.function(KERNEL_SYMBOL).expect("the source was linked")) {
        run_passes(module, machine, "function(dce)")?;
    }
    observer.after("before-vectorize", module)?;
    let made = vectorize::run(module, machine, request)?;
    let is_straight = !has_lane_operations && made.barriers == Barriers::None && !made.has_loops;
    facts.straight = u32::from(is_straight);
    if flat && made.stores_across {
        facts.flat = Cut::Narrow as u32;
    }
    let ways = match made.barriers {
        Barriers::None => None,
        Barriers::Together => Some(Ways::Same),
        Barriers::Apart => Some(Ways::Own),
    };
    observer.after("vectorize", module)?;
    Ok(Vectorized { facts, tells_simdgroups, ways, slots: made.slots })
}

/// A function whose loop is to be unrolled: a node about a loop names itself, which LLVM's C interface cannot make.
const UNROLLED_LOOP: &str = "define void @openmps_unrolled(i1 %again) {
  br label %loop
loop:
  br i1 %again, label %loop, label %end, !llvm.loop !0
end:
  ret void
}
!0 = distinct !{!0, !1}
!1 = !{!\"llvm.loop.unroll.full\"}
";

/// Has loops over arrays of matrices unrolled whose turns are counted.
fn ask_for_unrolling(module: &mut Module<'_>, machine: &TargetMachine) -> Result<(), EngineError> {
    link_text(module, machine, UNROLLED_LOOP)?;
    let example = module.function("openmps_unrolled").expect("it was linked");
    let wish = example.instructions().into_iter().find_map(|instruction| instruction.metadata("llvm.loop"));
    let source = module.function(KERNEL_SYMBOL).expect("the source was linked");
    for latch in vectorize::unrolled_latches(source) {
        latch.set_metadata("llvm.loop", wish);
    }
    module.delete_function("openmps_unrolled");
    Ok(())
}

/// Makes questions for the thread's number in its threadgroup the parameter that it is.
fn number_threads(module: &Module<'_>) {
    let source = module.function(KERNEL_SYMBOL).expect("the source was linked");
    let number = *source.parameters().last().expect("the last parameter is the number");
    for call in source.calls() {
        if call.called_function().is_some_and(|callee| callee.name() == THREAD_INDEX) {
            call.as_value().replace_all_uses_with(number);
            module.erase(call);
        }
    }
}

/// Makes the function of a SIMD-group the exported one, with loops between barriers; returns the bytes of a SIMD-group's frame.
fn split_at_barriers(
    module: &mut Module<'_>,
    machine: &TargetMachine,
    whole: bool,
    ways: Ways,
    rows: SimdgroupRows,
) -> Result<u32, EngineError> {
    let steps = match rows {
        SimdgroupRows::Whole | SimdgroupRows::One => Steps::RowSegments,
        SimdgroupRows::Short(_) => Steps::PlaneSegments,
        SimdgroupRows::Any => Steps::Simdgroups,
    };
    link_text(module, machine, &step::numbered(whole, rows))?;
    isolate::hide_all_but(module, STEP);
    run_passes(module, machine, BEFORE_SPLIT)?;
    let split = split::run(module, steps, ways).map_err(internal)?;
    link_text(module, machine, &split::driver_text(&split, steps))?;
    isolate::hide_all_but(module, KERNEL_SYMBOL);
    Ok(u32::try_from(split.frame_bytes).unwrap_or(u32::MAX))
}

fn run_passes(module: &mut Module<'_>, machine: &TargetMachine, passes: &str) -> Result<(), EngineError> {
    module.run_passes(passes, Some(machine), PassOptions::default()).map_err(internal)
}

/// Links bodies of all called functions of AIR; whether lanes work together or ask for their number.
fn lower_intrinsics(
    module: &mut Module<'_>,
    machine: &TargetMachine,
    signature: &KernelSignature,
) -> Result<bool, Failure> {
    let definitions = {
        let called = super::called_intrinsics(module);
        lower::definitions(&signature.name, &called, Lanes::Lockstep)?
    };
    if definitions.has_fiber_operations {
        return Err(Refusal::NeedsFibers.into());
    }
    link_text(module, machine, &definitions.text)?;
    Ok(definitions.has_lane_operations)
}
