//! Writes the seeds of the fuzz targets with our own writers: `cargo run -p openmps-suite --example seeds`.
//!
//! Run it when a format changes (protocol, cache entry, ABI of objects), and commit the files.

use std::error::Error;
use std::fs;
use std::path::Path;

use openmps_compiler::cache::entry_header;
use openmps_compiler::protocol::{Request, Response, encode, write_frame};
use openmps_cpu::{CodeGenerator as _, LlvmCodeGenerator};
use openmps_engine::{
    CompileError, CompileOptions, CompiledSource, ConstantValues, EngineError, EngineOptions, KernelSignature,
    LoadedAir, SourceCompiler as _, VerifiedAir,
};
use openmps_llvm::Context;
use openmps_msl::{DriverConfig, MslCompiler};
use openmps_suite::fuzzing::replay::folder;
use openmps_suite::fuzzing::{capture, metallib, perfetto};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Sources that between them reach every rule of the rewriter.
const SOURCES: [(&str, &str); 3] = [
    ("add", include_str!("seeds/add.metal")),
    ("rules", include_str!("seeds/rules.metal")),
    ("reduce", include_str!("seeds/reduce.metal")),
];

const ENVIRONMENTS: [(&str, &str); 3] = [
    ("ratios", "PYTORCH_MPS_HIGH_WATERMARK_RATIO=1.7\nPYTORCH_MPS_LOW_WATERMARK_RATIO=0x1.8p0\n"),
    ("words", "OPENMPS_DEBUG=dump,verify,nonsense\nOPENMPS_ACTIVATE=2\nPYTORCH_ENABLE_MPS_FALLBACK=1x\n"),
    ("rows", "0=0x1f\n3=017\n4=-1\n5=false\n6=3.2\n16=2147483648\nOPENMPS_CACHE_DIR=/tmp/x\n"),
];

fn main() -> Outcome<()> {
    for (name, source) in SOURCES {
        write("msl_rewrite", name, source.as_bytes())?;
        write("msl_compile", name, source.as_bytes())?;
    }
    for (name, environment) in ENVIRONMENTS {
        write("settings", name, environment.as_bytes())?;
    }
    for (name, input) in capture::seeds() {
        write("capture", name, &input)?;
    }
    for (name, input) in perfetto::seeds() {
        write("perfetto", name, &input)?;
    }
    for (name, library) in metallib::seeds() {
        write("metallib", name, &library)?;
    }
    let scratch = Path::new(env!("CARGO_MANIFEST_DIR"));
    let compiler = MslCompiler::new(DriverConfig {
        include_dir: scratch.join("../openmps-msl/include"),
        installed_pch_dir: None,
        pch_cache_dir: None,
    });
    for (name, source) in SOURCES {
        let compiled = compiler.compile_source(source, &CompileOptions::default())?;
        write("verify", name, module_text(&compiled.air)?.as_bytes())?;
        for signature in &compiled.kernels {
            objects(name, &compiled, signature)?;
        }
    }
    let small = compiler.compile_source("kernel void k() {}", &CompileOptions::default())?;
    protocol(&small)?;
    allocator()
}

fn write(target: &str, name: &str, bytes: &[u8]) -> Outcome<()> {
    let folder = folder().join("corpus").join(target);
    fs::create_dir_all(&folder)?;
    fs::write(folder.join(name), bytes)?;
    Ok(())
}

fn module_text(air: &VerifiedAir) -> Outcome<String> {
    let context = Context::new();
    let module = context.parse_bitcode(air.bitcode())?;
    Ok(module.to_string())
}

fn objects(name: &str, compiled: &CompiledSource, signature: &KernelSignature) -> Outcome<()> {
    let object = LlvmCodeGenerator.generate(&compiled.air, signature, &EngineOptions::default())?;
    write("object", &format!("{name}-{}", signature.name), &object)
}

fn protocol(small: &CompiledSource) -> Outcome<()> {
    let signature = small.kernels.first().ok_or("the small library has a kernel")?.clone();
    let (source, options) = ("kernel void k() {}".to_owned(), CompileOptions::default());
    let mut values = ConstantValues::default();
    values.set_name("width", 64_u32);
    let requests = [
        Request::CompileSource { source, options },
        Request::BuildObject {
            air: small.air.clone(),
            signature: signature.clone(),
            options: EngineOptions::default(),
        },
        Request::LoadAir { bitcode: small.air.bitcode().to_vec() },
        Request::Specialize { air: small.air.clone(), kernel: "k".to_owned(), values },
        Request::CompileWithLines { source: String::new(), options: CompileOptions::default() },
        Request::CountAir { air: small.air.clone(), kernel: "k".to_owned() },
        Request::SplitAir { air: small.air.clone(), kernels: vec!["k".to_owned()] },
        Request::PrintAir { air: small.air.clone() },
        Request::PrintCode { air: small.air.clone(), signature, options: EngineOptions::default() },
    ];
    let responses = [
        Response::Source(Ok(small.clone())),
        Response::Source(Err(CompileError::Internal("why".to_owned()))),
        Response::Object(Ok(vec![1, 2, 3])),
        Response::Object(Err(EngineError::NoSuchKernel("k".to_owned()))),
        Response::Air(Ok(LoadedAir { air: small.air.clone(), kernels: small.kernels.clone() })),
        Response::Modules(Ok(vec![small.air.clone()])),
        Response::Text(Ok("text".to_owned())),
    ];
    let mut stream = Vec::new();
    for request in &requests {
        write_frame(&mut stream, &encode(request)?)?;
    }
    write("protocol", "requests", &stream)?;
    stream.clear();
    for response in &responses {
        write_frame(&mut stream, &encode(response)?)?;
    }
    write("protocol", "responses", &stream)?;
    let payload = encode(&Ok::<_, CompileError>(small))?;
    write("protocol", "entry", &[&entry_header(&payload)[..], &payload].concat())?;
    write("protocol", "payload", &payload)
}

/// Lives with a shape: growth and decay, streams that share blocks, and large heaps with an emptied cache.
fn allocator() -> Outcome<()> {
    let repeat = |steps: &[[u8; 4]], count: usize| steps.concat().repeat(count);
    let small = [[0, 100, 2, 0], [1, 9, 9, 0], [3, 0, 0, 8], [8, 1, 0, 0]];
    write("allocator", "small", &repeat(&small, 12))?;
    let streams = [
        [14, 0, 1, 0],
        [0, 0, 1, 0],
        [12, 0, 1, 0],
        [13, 0, 2, 0],
        [10, 0, 0, 0],
        [8, 0, 0, 0],
        [14, 0, 2, 0],
        [6, 0, 1, 0],
        [11, 0, 0, 0],
        [12, 0, 1, 1],
    ];
    write("allocator", "streams", &repeat(&streams, 6))?;
    let large = [[4, 0, 0, 200], [5, 0, 0, 255], [5, 0, 0, 20], [9, 1, 0, 0], [15, 0, 0, 0], [7, 3, 0, 0]];
    write("allocator", "large", &repeat(&large, 8))
}
