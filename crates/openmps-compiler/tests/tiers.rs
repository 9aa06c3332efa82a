//! Kernels that begin with scalar code and go on with vector code, with the real compiler process.
#![expect(clippy::unwrap_used, reason = "tests: a failure shows the place")]

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use openmps_compiler::{Client, ClientConfig};
use openmps_cpu::{CodeGenerator, CpuEngine, Refusal};
use openmps_engine::{
    Binding, Bindings, BufferIndex, CompileOptions, CompiledKernel, CompiledSource, Engine, EngineChoice, EngineError,
    EngineOptions, Grid, KernelSignature, SimdgroupRows, SourceCompiler, VerifiedAir,
};

/// A sum over a loop of unknown length, whose rounding shows the order and the fusing.
const SUM: &str = "kernel void sum(device float* out, constant uint& count, uint at [[thread_position_in_grid]]) {
  float total = 0;
  for (uint turn = 0; turn < count; turn++) total = total * 0.999f + float(at + turn) / 3;
  out[at] = total;
}";
/// Straight code: a loop that is unrolled.
const STRAIGHT: &str = "kernel void sum(device float* out, constant uint& count, uint at [[thread_position_in_grid]]) {
  float total = count;
  for (uint turn = 0; turn < 12; turn++) total = total * 0.999f + float(at * turn % (count + 1)) / 3;
  out[at] = total;
}";

/// A sum of lanes, which waits at each turn of a loop.
const LANES: &str = "#include <metal_stdlib>
using namespace metal;
kernel void lanes(device float* out, constant uint& count, uint2 at [[thread_position_in_grid]]) {
  float total = 0;
  for (uint turn = 0; turn < count; turn++) total = total * 0.999f + simd_sum(float(at.x + at.y * turn)) / 3;
  out[at.y * 40 + at.x] = total;
}";

const THREADS: usize = 1000;
const LINE: Grid = Grid { threads: [1000, 1, 1], group: [250, 1, 1] };
/// Threadgroups with rows of 16 threads, and of 8 at the edge.
const TILES: Grid = Grid { threads: [40, 25, 1], group: [16, 16, 1] };
const PATIENCE: Duration = Duration::from_secs(120);
const AUTO: EngineOptions =
    EngineOptions { dump_dir: None, verify_each_pass: false, engine: EngineChoice::Auto, rows: SimdgroupRows::One };

/// A folder of this test alone, removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("tiers-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn client(cache_dir: Option<PathBuf>) -> Arc<Client> {
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("../openmps-msl/include");
    let config = ClientConfig::new(env!("CARGO_BIN_EXE_openmps-compiler").into());
    Arc::new(Client::new(ClientConfig { include_dir: Some(include), cache_dir, ..config }))
}

fn compiled(client: &Client, source: &str) -> CompiledSource {
    client.compile_source(source, &CompileOptions::default()).unwrap()
}

fn kernel(engine: &CpuEngine, source: &CompiledSource) -> Arc<dyn CompiledKernel> {
    engine.compile(&source.air, &source.kernels[0], &AUTO).unwrap()
}

/// What a launch with `count` turns writes, as bits.
fn launch(kernel: &dyn CompiledKernel, count: u32) -> Vec<u32> {
    launch_grid(kernel, count, &LINE)
}

/// The same in threadgroups of `grid`.
fn launch_grid(kernel: &dyn CompiledKernel, count: u32, grid: &Grid) -> Vec<u32> {
    let mut out = vec![0.0_f32; THREADS];
    let mut bindings = Bindings::default();
    let address = out.as_mut_ptr().expose_provenance() as u64;
    bindings.set(BufferIndex(0), Binding::Buffer { address, size_bytes: size_of_val(&*out) as u64 });
    bindings.set(BufferIndex(1), Binding::Bytes(Box::new(count.to_le_bytes())));
    let (sender, receiver) = channel();
    kernel.dispatch(&bindings, grid, Box::new(move |result| sender.send(result).unwrap()));
    receiver.recv().unwrap().unwrap();
    out.into_iter().map(f32::to_bits).collect()
}

/// Launches until `done`, and checks that each launch gives the same bits.
fn launch_until(kernel: &dyn CompiledKernel, mut done: impl FnMut() -> bool) {
    let (start, expected) = (Instant::now(), launch(kernel, 2_000));
    while !done() {
        assert!(start.elapsed() < PATIENCE, "nothing has become of it");
        assert_eq!(launch(kernel, 2_000), expected);
    }
    assert_eq!(launch(kernel, 2_000), expected);
}

#[test]
fn a_hot_kernel_becomes_vectors_and_later_processes_begin_with_them() {
    let folder = Folder::new("cache");
    let client_of_first = client(Some(folder.0.clone()));
    let source = compiled(&client_of_first, SUM);
    let engine = CpuEngine::new(Arc::clone(&client_of_first) as Arc<dyn CodeGenerator>);
    let kernel_of_first = kernel(&engine, &source);
    let cold = launch(kernel_of_first.as_ref(), 7);
    assert_eq!(engine.counts().vectorized, 0, "a cold kernel is scalar");
    assert_eq!(client_of_first.background_process_id(), None);
    launch_until(kernel_of_first.as_ref(), || engine.counts().vectorized == 1);
    assert_eq!(launch(kernel_of_first.as_ref(), 7), cold);
    assert_eq!(client_of_first.process_ids().len(), 1, "the background's process answers nobody else");

    let later = client(Some(folder.0.clone()));
    let engine = CpuEngine::new(Arc::clone(&later) as Arc<dyn CodeGenerator>);
    let kernel_of_later = kernel(&engine, &source);
    assert_eq!(engine.counts().vectorized, 1, "its vector code was there");
    assert_eq!(launch(kernel_of_later.as_ref(), 7), cold);
    assert_eq!((later.process_id(), later.background_process_id()), (None, None));
}

#[test]
fn a_hot_straight_kernel_has_both_forms_with_the_same_bits() {
    let folder = Folder::new("straight");
    let client_of_first = client(Some(folder.0.clone()));
    let source = compiled(&client_of_first, STRAIGHT);
    let engine = CpuEngine::new(Arc::clone(&client_of_first) as Arc<dyn CodeGenerator>);
    let kernel_of_first = kernel(&engine, &source);
    let cold = launch(kernel_of_first.as_ref(), 7);
    launch_until(kernel_of_first.as_ref(), || engine.counts().vectorized == 1);
    // Enough launches to try the vector code and to choose.
    for _ in 0..100 {
        assert_eq!(launch(kernel_of_first.as_ref(), 7), cold);
    }

    let later = client(Some(folder.0.clone()));
    let engine = CpuEngine::new(Arc::clone(&later) as Arc<dyn CodeGenerator>);
    let kernel_of_later = kernel(&engine, &source);
    assert_eq!(engine.counts().vectorized, 1, "its vector code was there");
    for _ in 0..100 {
        assert_eq!(launch(kernel_of_later.as_ref(), 7), cold);
    }
    assert_eq!((later.process_id(), later.background_process_id()), (None, None), "so was its scalar code");
}

#[test]
fn a_refusal_is_counted_once() {
    let client = client(None);
    let engine = CpuEngine::new(Arc::clone(&client) as Arc<dyn CodeGenerator>).with_hot_kernels();
    // More than 1,600 registers of 64 bytes.
    let statements: String = (0..1000).map(|number| format!("total = total * {number}.5f + float(at);\n")).collect();
    let large = "kernel void sum(device float* out, constant uint& count, uint at [[thread_position_in_grid]]) {
      float total = count;
      STATEMENTS
      out[at] = total;
    }";
    let large = kernel(&engine, &compiled(&client, &large.replace("STATEMENTS", &statements)));
    let first = launch(large.as_ref(), 1);
    for _ in 0..3 {
        assert_eq!(launch(large.as_ref(), 1), first);
    }
    assert_eq!(engine.counts().refused.into_iter().collect::<Vec<_>>(), [(Refusal::TooLarge, 1)]);
    assert!(client.background_process_id().is_some());
}

/// A compiler that answers requests from the background when it is told what.
struct Held {
    client: Arc<Client>,
    /// Whether to answer; a request waits for it.
    answers: Mutex<Receiver<bool>>,
}

impl CodeGenerator for Held {
    fn generate(
        &self,
        air: &VerifiedAir,
        signature: &KernelSignature,
        options: &EngineOptions,
    ) -> Result<Vec<u8>, EngineError> {
        self.client.generate(air, signature, options)
    }

    fn generate_in_background(
        &self,
        air: &VerifiedAir,
        signature: &KernelSignature,
        options: &EngineOptions,
    ) -> Result<Vec<u8>, EngineError> {
        match self.answers.lock().unwrap().recv() {
            Ok(true) => self.client.generate_in_background(air, signature, options),
            Ok(false) | Err(_) => Err(EngineError::Internal("the compiler has died".to_owned())),
        }
    }
}

#[test]
fn launches_do_not_wait_and_scalar_code_stays_when_the_compiler_fails() {
    let client = client(None);
    let source = compiled(&client, SUM);
    let (answer, answers) = channel();
    let engine = CpuEngine::new(Arc::new(Held { client, answers: Mutex::new(answers) }));
    let kernel = kernel(&engine, &source);
    let mut launches = 0..400;
    let expected = launch(kernel.as_ref(), 2_000);
    // Far beyond the time from which vector code is asked for; these would wait for ever if they waited.
    for _ in launches.by_ref() {
        assert_eq!(launch(kernel.as_ref(), 2_000), expected);
    }
    assert_eq!(engine.counts().failed, 0);
    answer.send(false).unwrap();
    launch_until(kernel.as_ref(), || engine.counts().failed == 1);
    launch_until(kernel.as_ref(), || launches.next().is_none());
    assert_eq!((engine.counts().failed, engine.counts().vectorized), (1, 0), "nobody asks again");
}

#[test]
fn a_kernel_may_be_dropped_while_it_is_compiled() {
    let client = client(None);
    let source = compiled(&client, SUM);
    let (answer, answers) = channel();
    let engine = CpuEngine::new(Arc::new(Held { client, answers: Mutex::new(answers) }));
    let kernel = kernel(&engine, &source);
    for _ in 0..200 {
        launch(kernel.as_ref(), 2_000);
    }
    let gone = Arc::downgrade(&kernel);
    drop((kernel, engine));
    answer.send(true).unwrap();
    let start = Instant::now();
    while gone.strong_count() > 0 {
        assert!(start.elapsed() < PATIENCE, "the kernel is kept");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A compiler that notes which rows the vector code in the background was for, when it is there.
struct Noted {
    client: Arc<Client>,
    made: Mutex<Vec<SimdgroupRows>>,
}

impl CodeGenerator for Noted {
    fn generate(
        &self,
        air: &VerifiedAir,
        signature: &KernelSignature,
        options: &EngineOptions,
    ) -> Result<Vec<u8>, EngineError> {
        assert_eq!(options.engine, EngineChoice::Scalar, "no launch waits for vector code");
        self.client.generate(air, signature, options)
    }

    fn generate_in_background(
        &self,
        air: &VerifiedAir,
        signature: &KernelSignature,
        options: &EngineOptions,
    ) -> Result<Vec<u8>, EngineError> {
        let object = self.client.generate_in_background(air, signature, options);
        self.made.lock().unwrap().push(options.rows);
        object
    }
}

#[test]
fn threadgroups_of_each_kind_get_vector_code_when_they_come() {
    let folder = Folder::new("rows");
    let noted = Arc::new(Noted { client: client(Some(folder.0.clone())), made: Mutex::default() });
    let source = compiled(&noted.client, LANES);
    let engine = CpuEngine::new(Arc::clone(&noted) as Arc<dyn CodeGenerator>);
    let hot = kernel(&engine, &source);
    let (start, expected) = (Instant::now(), launch_grid(hot.as_ref(), 100, &TILES));
    let wanted = [SimdgroupRows::One, SimdgroupRows::Short(16), SimdgroupRows::Any];
    while !wanted.iter().all(|rows| noted.made.lock().unwrap().contains(rows)) {
        assert!(start.elapsed() < PATIENCE, "made is {:?}", noted.made);
        assert_eq!(launch_grid(hot.as_ref(), 100, &TILES), expected);
    }
    for _ in 0..10 {
        assert_eq!(launch_grid(hot.as_ref(), 100, &TILES), expected);
    }
    assert_eq!(noted.made.lock().unwrap().len(), wanted.len(), "each is made once");

    let later = client(Some(folder.0.clone()));
    let engine = CpuEngine::new(Arc::clone(&later) as Arc<dyn CodeGenerator>);
    let warm = kernel(&engine, &source);
    assert_eq!(launch_grid(warm.as_ref(), 100, &TILES), expected);
    assert_eq!((later.process_id(), later.background_process_id()), (None, None), "all code was there");
}
