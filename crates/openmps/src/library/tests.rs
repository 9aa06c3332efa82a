use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use openmps_engine::recording::RecordingEngine;
use openmps_engine::{
    AddressSpace, Argument, ArgumentKind, Binding, Bindings, BufferAccess, BufferIndex, CompiledKernel, EngineOptions,
    Grid, Severity, VerifiedAir,
};

use super::*;
use crate::stream::Stream;

/// "Compiles" a list of kernel names; each takes a buffer at index 1 and threadgroup memory at 0 if its name ends in `_t`.
struct Names;

impl SourceCompiler for Names {
    fn compile_source(&self, source: &str, options: &CompileOptions) -> Result<CompiledSource, CompileError> {
        assert_eq!(options.language_version, LanguageVersion::Metal3_2);
        if let Some(message) = source.strip_prefix("error ") {
            let diagnostics = vec![Diagnostic {
                severity: Severity::Error,
                file: "program_source".into(),
                line: 1,
                column: 1,
                message: message.into(),
            }];
            let rendered = format!("program_source:1:1: error: {message}");
            return Err(CompileError::Diagnostics { diagnostics, rendered });
        }
        if source == "crash" {
            return Err(CompileError::Internal("the compiler stopped".into()));
        }
        let kernels = source.split_whitespace().map(signature).collect();
        Ok(CompiledSource { air: VerifiedAir::from_verifier(source.as_bytes()), kernels, warnings: vec![] })
    }
}

fn signature(name: &str) -> KernelSignature {
    let argument = |kind, name: &str| Argument::new(kind, name, "float");
    let buffer = ArgumentKind::Buffer {
        index: BufferIndex(1),
        address_space: AddressSpace::Device,
        access: BufferAccess::ReadWrite,
        size_bytes_min: None,
    };
    let mut arguments = vec![argument(buffer, "data")];
    if name.ends_with("_t") {
        arguments.push(argument(ArgumentKind::ThreadgroupMemory { index: BufferIndex(0) }, "scratch"));
    }
    KernelSignature { max_total_threads_per_threadgroup: Some(256), ..KernelSignature::new(name, arguments) }
}

fn library(source: &str) -> Result<Library, LibraryError> {
    Library::with(&Names, Arc::new(RecordingEngine::default()), source, &CompileOptions::default())
}

fn error_text(source: &str) -> String {
    library(source).map(|_| ()).unwrap_err().to_string()
}

const GRID: Grid = Grid { threads: [100, 1, 1], group: [32, 1, 1] };

fn bound() -> Bindings {
    let mut bindings = Bindings::default();
    bindings.set(BufferIndex(1), Binding::Null);
    bindings
}

#[test]
fn compilation_fails_with_pytorchs_texts() {
    assert_eq!(error_text("error expected ';'"), "program_source:1:1: error: expected ';'");
    assert_eq!(error_text("crash"), "Failed to create metal library, error: the compiler stopped");
}

#[test]
fn kernels_are_found_by_exact_name() {
    let library = library("add mul").unwrap();
    assert_eq!(library.kernel_names(), ["add", "mul"]);
    assert_eq!(library.kernel("mul").unwrap().name(), "mul");
    let error = library.kernel("ad").map(|_| ()).unwrap_err();
    assert_eq!(error.to_string(), "Failed to create function state object for: ad");
    assert!(self::library("").unwrap().kernel_names().is_empty(), "a library may be empty");
}

/// Counts compilations; refuses kernels named `no`.
#[derive(Default)]
struct Counting {
    count: AtomicUsize,
    recording: RecordingEngine,
}

impl Engine for Counting {
    fn name(&self) -> &'static str {
        "counting"
    }

    fn compile(
        &self,
        air: &VerifiedAir,
        signature: &KernelSignature,
        options: &EngineOptions,
    ) -> Result<Arc<dyn CompiledKernel>, EngineError> {
        self.count.fetch_add(1, Ordering::Relaxed);
        if signature.name == "no" {
            return Err(EngineError::Unsupported("kernel 'no': air.tensor has no lowering".into()));
        }
        self.recording.compile(air, signature, options)
    }
}

#[test]
fn a_pipeline_is_built_once_and_outlives_its_library() {
    let engine = Arc::new(Counting::default());
    let library = Library::with(&Names, engine.clone(), "add no", &CompileOptions::default()).unwrap();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| library.kernel("add").unwrap());
        }
    });
    assert_eq!(engine.count.load(Ordering::Relaxed), 1);
    let error = library.kernel("no").map(|_| ()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "Failed to created pipeline state object, error: kernel 'no': air.tensor has no lowering"
    );
    let kernel = library.kernel("add").unwrap();
    drop(library);
    assert_eq!(kernel.properties().max_total_threads_per_threadgroup, 256);
}

#[test]
fn launches_are_checked_before_they_are_queued() {
    let library = library("add sum_t").unwrap();
    let stream = Stream::with_id(26).unwrap();
    let kernel = library.kernel("add").unwrap();
    let launch =
        |bindings: Bindings, grid| kernel.encode(stream, bindings, &[], grid).map_err(|error| error.to_string());

    let too_large = Err("Threadgroup size exceeds 256 limit".to_string());
    assert_eq!(launch(bound(), Grid { group: [257, 1, 1], ..GRID }), too_large);
    assert_eq!(launch(bound(), Grid { group: [u32::MAX; 3], ..GRID }), too_large);
    let empty = "kernel 'add': threadgroup size [8, 0, 1] has a zero".to_string();
    assert_eq!(launch(bound(), Grid { group: [8, 0, 1], ..GRID }), Err(empty));
    let unbound = "kernel 'add': nothing is bound at buffer index 1 (argument 'data')".to_string();
    assert_eq!(launch(Bindings::default(), GRID), Err(unbound));
    assert_eq!(launch(bound(), Grid { threads: [0, 1, 1], ..GRID }), Ok(0), "no threads, no launch");

    let sum = library.kernel("sum_t").unwrap();
    let error = sum.encode(stream, bound(), &[], GRID).unwrap_err();
    assert_eq!(error.to_string(), "kernel 'sum_t': nothing is bound at buffer index 0 (argument 'scratch')");
    assert_eq!(stream.position(), 0, "nothing was queued");
}

#[test]
fn launches_reach_the_engine() {
    let engine = RecordingEngine::default();
    let library = Library::with(&Names, Arc::new(engine.clone()), "add", &CompileOptions::default()).unwrap();
    let stream = Stream::with_id(27).unwrap();
    let position = library.kernel("add").unwrap().encode(stream, bound(), &[], GRID).unwrap();
    stream.synchronize().unwrap();
    assert_eq!(position, 1);
    let dispatches = engine.dispatches();
    assert_eq!(dispatches.len(), 1);
    assert_eq!((dispatches[0].kernel.as_str(), dispatches[0].grid), ("add", GRID));
    assert_eq!(dispatches[0].bindings, bound());
}

#[test]
fn options_follow_the_settings() {
    let settings = Settings { fast_math: true, ..Settings::default() };
    let options = compile_options(&settings, LanguageVersion::Metal4_0);
    assert_eq!((options.language_version, options.math_mode), (LanguageVersion::Metal4_0, MathMode::Fast));
    let settings = Settings { metal_version: Some(LanguageVersion::Metal3_1), ..Settings::default() };
    let options = compile_options(&settings, LanguageVersion::Metal4_0);
    assert_eq!((options.language_version, options.math_mode), (LanguageVersion::Metal3_1, MathMode::Safe));
}
