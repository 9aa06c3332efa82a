//! Building `libopenmps_torch.so`: the C++ shim against the installed torch wheel, only what changed, two files at a time.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::SystemTime;

use anyhow::{Context, Result, bail};

use crate::environment;
use crate::process::{Workspace, command};

const SOURCES: &str = "crates/openmps-torch/csrc";
const OBJECTS: &str = "build/plugin";
const SITE_PACKAGES: &str = ".venv/lib/python3.11/site-packages";

/// Compilers at once: each needs up to 1 GiB for ATen's headers.
const JOBS: usize = 2;

const FLAGS: [&str; 8] = [
    "-std=c++20",
    "-O2",
    "-fPIC",
    "-fvisibility=hidden",
    "-fvisibility-inlines-hidden",
    "-Wall",
    "-DUSE_C10D_GLOO=0",
    "-D_GLIBCXX_USE_CXX11_ABI=1",
];

/// Builds the plug-in at `library` when a source, a header or the flags changed.
pub(crate) fn build(workspace: &Workspace, library: &Path) -> Result<()> {
    fs::create_dir_all(workspace.path(OBJECTS))?;
    generate_op_list(workspace)?;
    let sources = sources(workspace)?;
    let stale: Vec<&PathBuf> = sources.iter().filter(|source| is_stale(workspace, source)).collect();
    compile(workspace, &stale)?;
    if stale.is_empty() && library.exists() {
        return Ok(());
    }
    link(workspace, &sources, library)
}

fn sources(workspace: &Workspace) -> Result<Vec<PathBuf>> {
    let mut sources = Vec::new();
    for entry in fs::read_dir(workspace.path(SOURCES)).context("reading csrc")? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "cpp") {
            sources.push(path);
        }
    }
    sources.sort();
    Ok(sources)
}

/// The op list comes from the wheel's `native_functions.yaml`; nothing of it is typed by hand.
fn generate_op_list(workspace: &Workspace) -> Result<()> {
    let output = workspace.path(OBJECTS).join("autogen_op_list.inc");
    let generator = workspace.path("crates/openmps-torch/gen_ops.py");
    if output.exists() && modified(&output) > modified(&generator) {
        return Ok(());
    }
    command(environment::python(workspace)).arg(generator).arg(output).run(workspace)
}

fn object_of(workspace: &Workspace, source: &Path) -> PathBuf {
    let name = source.file_stem().unwrap_or_default();
    workspace.path(OBJECTS).join(name).with_extension("o")
}

fn modified(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|metadata| metadata.modified()).ok()
}

/// Whether an object is older than anything the compiler said it read (its dependency file), or was built otherwise.
fn is_stale(workspace: &Workspace, source: &Path) -> bool {
    let object = object_of(workspace, source);
    let flags = fs::read_to_string(object.with_extension("flags")).unwrap_or_default();
    let Some(built) = modified(&object) else { return true };
    if flags != FLAGS.join(" ") {
        return true;
    }
    let dependencies = fs::read_to_string(object.with_extension("d")).unwrap_or_default();
    let newer = |file: &str| modified(&workspace.path(file)).is_none_or(|changed| changed > built);
    dependencies.split_whitespace().filter(|word| *word != "\\" && !word.ends_with(':')).any(newer)
}

fn compile(workspace: &Workspace, stale: &[&PathBuf]) -> Result<()> {
    if stale.is_empty() {
        return Ok(());
    }
    println!("dev: compiling {} files of the plug-in", stale.len());
    let queue = Mutex::new(stale.iter());
    let work = || -> Result<()> {
        loop {
            let next = queue.lock().expect("no compile job panics").next();
            match next {
                Some(source) => compile_one(workspace, source)?,
                None => return Ok(()),
            }
        }
    };
    std::thread::scope(|scope| {
        let jobs: Vec<_> = (0..JOBS).map(|_| scope.spawn(work)).collect();
        jobs.into_iter().try_for_each(|job| job.join().unwrap_or_else(|_| bail!("a compile job panicked")))
    })
}

fn compile_one(workspace: &Workspace, source: &Path) -> Result<()> {
    let torch = workspace.path(SITE_PACKAGES).join("torch/include");
    let object = object_of(workspace, source);
    command("g++")
        .args(FLAGS)
        .arg("-isystem")
        .arg(&torch)
        .arg("-isystem")
        .arg(torch.join("torch/csrc/api/include"))
        .arg("-I")
        .arg(workspace.path(OBJECTS))
        .args(["-MMD", "-MF"])
        .arg(object.with_extension("d"))
        .arg("-c")
        .arg(source)
        .arg("-o")
        .arg(&object)
        .run(workspace)?;
    fs::write(object.with_extension("flags"), FLAGS.join(" ")).context("writing the flags beside the object")
}

/// Links against torch by name only (its libraries are loaded before ours) and against the extension module beside it,
/// which holds the runtime.
fn link(workspace: &Workspace, sources: &[PathBuf], library: &Path) -> Result<()> {
    let fresh = library.with_extension("fresh");
    command("g++")
        .args(["-shared", "-Wl,-z,defs", "-Wl,-rpath,$ORIGIN/.."])
        .args(sources.iter().map(|source| object_of(workspace, source)))
        .arg("-L")
        .arg(workspace.path(SITE_PACKAGES).join("torch/lib"))
        .args(["-l:libtorch_cpu.so", "-l:libc10.so"])
        .arg("-L")
        .arg(workspace.path("python/openmps"))
        .args(["-l:_openmps.abi3.so", "-ldl"])
        .arg("-o")
        .arg(&fresh)
        .run(workspace)?;
    fs::rename(&fresh, library).with_context(|| format!("replacing {}", library.display()))
}
