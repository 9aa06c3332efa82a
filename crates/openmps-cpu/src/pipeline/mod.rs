//! From AIR to an object: one line a pass.
//!
//! Guarantees: the object exports the symbols that [`crate::abi`] states and asks for no outside symbol that the loader lacks;
//! what cannot be lowered is an error that names it. The same AIR on the same CPU gives the same bytes.

mod alignment;
mod arithmetic;
mod barriers;
mod bound;
mod constant;
mod division;
mod entry;
mod facts;
mod isolate;
mod memories;
mod observe;
mod optimize;
mod packing;
mod sites;
mod stack;
mod step;
mod tables;
mod threadgroup;
mod turns;
mod vector;

use openmps_air::intrinsics::TENSOR_PREFIX;
use openmps_engine::{EngineChoice, EngineError, EngineOptions, KernelSignature, VerifiedAir};
use openmps_llvm::{CodeGenLevel, Context, Function, Module, ObjectCode, PassOptions, TargetMachine};

use crate::engine::CodeGenerator;
use crate::jit::symbols;
use crate::lower::{self, Lanes, Meeting};
use crate::vectorize::{Refusal, Size, has_loop};
use entry::Form;
use observe::Observer;
use vector::Failure;

/// How threads that wait at barriers run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waiting {
    /// As loops between barriers, where nothing but barriers makes them wait.
    Split,
    /// As fibers.
    Fibers,
}

/// Generates code in this process, for the CPU that it runs on.
#[derive(Clone, Copy, Debug, Default)]
pub struct LlvmCodeGenerator;

impl CodeGenerator for LlvmCodeGenerator {
    fn generate(
        &self,
        air: &VerifiedAir,
        signature: &KernelSignature,
        options: &EngineOptions,
    ) -> Result<Vec<u8>, EngineError> {
        let object = emit(air, signature, options, Waiting::Split, TargetMachine::emit_object)?;
        Ok(object.as_bytes().to_vec())
    }
}

/// Generates code whose threads are fibers wherever they wait: slower, and a second way to the same results for tests.
#[derive(Clone, Copy, Debug, Default)]
pub struct FiberCodeGenerator;

impl CodeGenerator for FiberCodeGenerator {
    fn generate(
        &self,
        air: &VerifiedAir,
        signature: &KernelSignature,
        options: &EngineOptions,
    ) -> Result<Vec<u8>, EngineError> {
        let object = emit(air, signature, options, Waiting::Fibers, TargetMachine::emit_object)?;
        Ok(object.as_bytes().to_vec())
    }
}

impl LlvmCodeGenerator {
    /// Why a kernel would not be vectors as `options` ask for them; none where it would. Far cheaper than making the code.
    ///
    /// # Errors
    /// As [`CodeGenerator::generate`].
    pub fn vector_refusal(
        &self,
        air: &VerifiedAir,
        signature: &KernelSignature,
        options: &EngineOptions,
    ) -> Result<Option<Refusal>, EngineError> {
        let machine = TargetMachine::host(CodeGenLevel::Default).map_err(internal)?;
        let mut refusal = None;
        let context = Context::new();
        let ways = Size::ways(&context.parse_bitcode(air.bitcode()).map_err(internal)?, &machine);
        for &size in ways {
            let context = Context::new();
            let mut module = context.parse_bitcode(air.bitcode()).map_err(internal)?;
            refusal = vector::refusal(&mut module, &machine, signature, options, size)?;
            if refusal != Some(Refusal::TooLarge) {
                break;
            }
        }
        Ok(refusal)
    }

    /// The assembly text of the same code, for people.
    ///
    /// # Errors
    /// As [`CodeGenerator::generate`].
    pub fn assembly(
        &self,
        air: &VerifiedAir,
        signature: &KernelSignature,
        options: &EngineOptions,
    ) -> Result<String, EngineError> {
        let text = emit(air, signature, options, Waiting::Split, TargetMachine::emit_assembly)?;
        Ok(String::from_utf8_lossy(text.as_bytes()).into_owned())
    }
}

/// An object for another CPU than this machine's, which can be looked at and linked elsewhere: `cpu` of LLVM's target `triple`.
///
/// # Errors
/// As [`CodeGenerator::generate`]; [`EngineError::Internal`] for a target that LLVM was not asked for (feature `cross` of
/// `openmps-llvm`).
pub fn cross_compile(
    triple: &str,
    cpu: &str,
    air: &VerifiedAir,
    signature: &KernelSignature,
    options: &EngineOptions,
) -> Result<Vec<u8>, EngineError> {
    let machine = TargetMachine::new(triple, cpu, "", CodeGenLevel::Default).map_err(internal)?;
    let object = emit_for(&machine, air, signature, options, Waiting::Split, TargetMachine::emit_object)?;
    Ok(object.as_bytes().to_vec())
}

type Emit = fn(&TargetMachine, &mut Module<'_>) -> Result<ObjectCode, openmps_llvm::Error>;

/// Builds the kernel's code and lets `emitter` write it.
fn emit(
    air: &VerifiedAir,
    signature: &KernelSignature,
    options: &EngineOptions,
    waiting: Waiting,
    emitter: Emit,
) -> Result<ObjectCode, EngineError> {
    let machine = TargetMachine::host(CodeGenLevel::Default).map_err(internal)?;
    emit_for(&machine, air, signature, options, waiting, emitter)
}

/// As [`emit`], for the CPU of `machine`.
fn emit_for(
    machine: &TargetMachine,
    air: &VerifiedAir,
    signature: &KernelSignature,
    options: &EngineOptions,
    waiting: Waiting,
    emitter: Emit,
) -> Result<ObjectCode, EngineError> {
    let context = Context::new();
    let mut refusal = None;
    if options.engine != EngineChoice::Scalar && waiting == Waiting::Split {
        let module = context.parse_bitcode(air.bitcode()).map_err(internal)?;
        let ways = Size::ways(&module, machine);
        let mut parsed = Some(module);
        for &size in ways {
            let mut module = match parsed.take() {
                Some(module) => module,
                None => context.parse_bitcode(air.bitcode()).map_err(internal)?,
            };
            match vector::build(&mut module, machine, signature, options, size) {
                Ok(()) => return emitter(machine, &mut module).map_err(internal),
                Err(Failure::Error(error)) => return Err(error),
                Err(Failure::Refused(reason)) => refusal = Some(reason),
            }
            if refusal != Some(Refusal::TooLarge) {
                break;
            }
        }
    }
    // Scalar code has a request of its own under `auto`.
    if let Some(reason) = refusal.filter(|_| options.engine == EngineChoice::Auto) {
        let mut module = facts::of_refusal(&context, machine, reason)?;
        return emitter(machine, &mut module).map_err(internal);
    }
    let mut module = context.parse_bitcode(air.bitcode()).map_err(internal)?;
    build(&mut module, machine, signature, options, waiting, refusal)?;
    emitter(machine, &mut module).map_err(internal)
}

/// LLVM's error as ours: past verification it is our mistake.
fn internal(error: openmps_llvm::Error) -> EngineError {
    EngineError::Internal(error.to_string())
}

fn build(
    module: &mut Module<'_>,
    machine: &TargetMachine,
    signature: &KernelSignature,
    options: &EngineOptions,
    waiting: Waiting,
    refusal: Option<Refusal>,
) -> Result<(), EngineError> {
    let mut observer = Observer::new(options, &signature.name);
    let kernel = prepare(module, machine, signature, &mut observer)?;
    let meeting = lower_intrinsics(module, machine, signature)?;
    observer.after("lower", module)?;
    let is_straight = is_straight(module, meeting);
    let form = form(module, meeting, waiting);
    let flat = link_entry(module, machine, &kernel, signature, form)?;
    let keeps_large = form == Form::Loop && !threadgroup::has_variables(module);
    inline(module, machine, form.symbol(), keeps_large)?;
    constant::run(module.function(form.symbol()).expect("the entry was linked"));
    observer.after("inline", module)?;
    if form == Form::Fiber {
        turns::run(module, machine)?;
        observer.after("turns", module)?;
        sites::run(module);
    }
    let threadgroup_bytes = threadgroup::run(module, form, signature)?;
    observer.after("threadgroup", module)?;
    stack::run(module, machine, signature)?;
    let mut facts = facts::before_optimizing(module, form, flat && threadgroup_bytes == 0, threadgroup_bytes)?;
    facts.refusal = refusal.map_or(0, Refusal::number);
    facts.straight = u32::from(is_straight);
    observer.after("stack", module)?;
    module.verify().map_err(internal)?;
    if form == Form::Step {
        facts.frame_bytes = u32::try_from(barriers::run(module, machine)?).unwrap_or(u32::MAX);
        observer.after("barriers", module)?;
    }
    optimize::run(module, machine, is_straight)?;
    observer.after("optimize", module)?;
    check_calls(module, signature)?;
    facts::store(module, machine, facts, signature)
}

/// What every form of code begins with; returns the kernel's symbol.
fn prepare(
    module: &mut Module<'_>,
    machine: &TargetMachine,
    signature: &KernelSignature,
    observer: &mut Observer,
) -> Result<String, EngineError> {
    observer.after("load", module)?;
    let kernel = isolate::run(module, machine, signature)?;
    observer.after("isolate", module)?;
    tables::run(module);
    observer.after("tables", module)?;
    alignment::run(module);
    observer.after("alignment", module)?;
    division::run(module);
    observer.after("division", module)?;
    arithmetic::run(module, machine, &kernel)?;
    observer.after("arithmetic", module)?;
    Ok(kernel)
}

/// The shape of the function around the kernel.
fn form(module: &Module<'_>, meeting: Meeting, waiting: Waiting) -> Form {
    match (meeting, waiting) {
        (Meeting::Never, _) => Form::Loop,
        (Meeting::AtBarriers, Waiting::Split) if !isolate::waits_in_recursion(module) => Form::Step,
        (Meeting::AtBarriers | Meeting::InGroups, _) => Form::Fiber,
    }
}

/// Whether threads never wait and have no loops.
fn is_straight(module: &Module<'_>, meeting: Meeting) -> bool {
    meeting == Meeting::Never
        && module.functions().into_iter().all(|function| function.is_declaration() || !has_loop(function))
}

/// Refuses calls of functions that the loader would not find.
fn check_calls(module: &Module<'_>, signature: &KernelSignature) -> Result<(), EngineError> {
    let is_missing = |function: &Function<'_>| {
        function.is_declaration()
            && !function.is_llvm_intrinsic()
            && !function.as_value().is_unused()
            && symbols::resolve(&function.name()).is_none()
    };
    match module.functions().into_iter().find(is_missing) {
        None => Ok(()),
        Some(function) => {
            let (kernel, name) = (&signature.name, function.name());
            Err(EngineError::Unsupported(format!("kernel '{kernel}': it calls '{name}', which nothing defines")))
        }
    }
}

/// Links bodies of all called functions of AIR and MetalPerformancePrimitives into the module.
fn lower_intrinsics(
    module: &mut Module<'_>,
    machine: &TargetMachine,
    signature: &KernelSignature,
) -> Result<Meeting, EngineError> {
    let definitions = {
        let called = called_intrinsics(module);
        lower::definitions(&signature.name, &called, Lanes::Fibers)?
    };
    link_text(module, machine, &definitions.text)?;
    Ok(definitions.meeting)
}

/// The functions of AIR and MetalPerformancePrimitives that are called.
fn called_intrinsics<'m>(module: &'m Module<'_>) -> Vec<Function<'m>> {
    let is_air = |name: &str| name.starts_with("air.") || name.starts_with(TENSOR_PREFIX);
    let is_called = |function: &Function<'_>| {
        function.is_declaration() && is_air(&function.name()) && !function.as_value().is_unused()
    };
    module.functions().into_iter().filter(is_called).collect()
}

/// Links the function around the kernel; returns whether the kernel cannot observe threadgroups.
fn link_entry(
    module: &mut Module<'_>,
    machine: &TargetMachine,
    kernel: &str,
    signature: &KernelSignature,
    form: Form,
) -> Result<bool, EngineError> {
    let entry = {
        let function = module.function(kernel).expect("isolate returned its name");
        entry::text(function, signature, form)?
    };
    link_text(module, machine, &entry.text)?;
    Ok(entry.flat && form == Form::Loop)
}

/// Parses `text` and links it into the module.
fn link_text(module: &mut Module<'_>, machine: &TargetMachine, text: &str) -> Result<(), EngineError> {
    let part = module.context().parse_ir(text).map_err(internal)?;
    part.set_triple(machine.triple());
    part.set_data_layout(&machine.data_layout());
    module.link(part).map_err(internal)
}

/// Makes function `symbol` the only one, but for functions that call themselves and, with `keeps_large`, large ones that are called
/// in several places of large code.
fn inline(
    module: &mut Module<'_>,
    machine: &TargetMachine,
    symbol: &str,
    keeps_large: bool,
) -> Result<(), EngineError> {
    isolate::hide_all_but(module, symbol);
    isolate::inline_all_but(module, symbol, keeps_large);
    module.run_passes("always-inline,globaldce", Some(machine), PassOptions::default()).map_err(internal)
}

#[cfg(test)]
mod snapshots;
#[cfg(test)]
mod tests;
