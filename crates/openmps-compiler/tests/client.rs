//! The client against the real server, and against servers that misbehave.

use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use openmps_compiler::protocol::{self, Request};
use openmps_compiler::{Client, ClientConfig, ProcessLimits};
use openmps_cpu::CodeGenerator;
use openmps_engine::{CompileError, CompileOptions, EngineError, EngineOptions, SourceCompiler};

const FULL: &str = "kernel void full(device float* out, constant float& val, uint idx [[thread_position_in_grid]]) { out[idx] = val; }";

/// A folder of this test alone, removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("client-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("the build folder is writable");
        Self(path)
    }

    /// An executable shell script.
    fn script(&self, text: &str) -> PathBuf {
        let path = self.0.join("server.sh");
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).expect("the folder is writable");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("the file is ours");
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn config(cache_dir: Option<PathBuf>) -> ClientConfig {
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("../openmps-msl/include");
    ClientConfig {
        include_dir: Some(include),
        cache_dir,
        ..ClientConfig::new(env!("CARGO_BIN_EXE_openmps-compiler").into())
    }
}

fn options() -> CompileOptions {
    CompileOptions::default()
}

#[test]
fn modules_come_apart_and_as_text() {
    const TWO: &str = "kernel void one(device float* out) { *out = 1; } kernel void two(device int* out) { *out = 2; }";
    let client = Client::new(config(None));
    let compiled = client.compile_source(TWO, &options()).unwrap();
    let names = ["two".to_owned(), "one".to_owned()];
    let modules = client.split_air(&compiled.air, &names).unwrap();
    let texts: Vec<String> = modules.iter().map(|module| client.air_text(module).unwrap()).collect();
    assert!(texts[0].contains("define void @two(") && !texts[0].contains("@one"), "{}", texts[0]);
    assert!(texts[1].contains("define void @one(") && !texts[1].contains("@two"), "{}", texts[1]);
    // A kernel's code is the same alone and beside others.
    let code = |air, index| client.assembly(air, &compiled.kernels[index], &EngineOptions::default()).unwrap();
    assert_eq!(code(&modules[1], 0), code(&compiled.air, 0));
    assert!(code(&modules[0], 1).contains("openmps_kernel"));
    let missing = client.split_air(&compiled.air, &["three".to_owned()]).unwrap_err();
    assert_eq!(missing, EngineError::Invalid("kernel 'three': no such kernel".to_owned()));
}

#[test]
fn source_and_kernel_come_from_one_process_and_then_from_the_cache() {
    let folder = Folder::new("cache");
    let client = Client::new(config(Some(folder.0.clone())));
    let compiled = client.compile_source(FULL, &options()).unwrap();
    let first = client.process_id().unwrap();
    assert_eq!(compiled.kernels.iter().map(|kernel| kernel.name.as_str()).collect::<Vec<_>>(), ["full"]);
    let object = client.generate(&compiled.air, &compiled.kernels[0], &EngineOptions::default()).unwrap();
    assert_eq!(&object[..4], b"\x7fELF");
    assert_eq!(client.process_id(), Some(first));

    let again = Client::new(config(Some(folder.0.clone())));
    let start = Instant::now();
    assert_eq!(again.compile_source(FULL, &options()).unwrap(), compiled);
    assert_eq!(again.generate(&compiled.air, &compiled.kernels[0], &EngineOptions::default()).unwrap(), object);
    println!("both from the cache: {:?}", start.elapsed());
    assert_eq!(again.process_id(), None, "a cache hit starts no process");
}

#[test]
fn wrong_source_is_cached_as_wrong() {
    let folder = Folder::new("wrong");
    let error = Client::new(config(Some(folder.0.clone())))
        .compile_source("kernel void f() { oops; }", &options())
        .unwrap_err();
    assert!(error.to_string().starts_with("program_source:1:19: error: "), "{error}");
    let again = Client::new(config(Some(folder.0.clone())));
    assert_eq!(again.compile_source("kernel void f() { oops; }", &options()).unwrap_err(), error);
    assert_eq!(again.process_id(), None);
}

#[test]
fn a_server_that_was_killed_is_replaced() {
    let client = Client::new(config(None));
    client.compile_source(FULL, &options()).unwrap();
    let first = client.process_id().unwrap();
    assert!(std::process::Command::new("kill").args(["-9", &first.to_string()]).status().unwrap().success());
    client.compile_source(FULL, &options()).unwrap();
    assert_ne!(client.process_id(), Some(first));
}

#[test]
fn a_crash_of_clang_is_an_error_and_the_next_source_compiles() {
    let client = Client::new(config(None));
    // Clang's parser recurses over unary operators.
    let deep = format!("constant int value = {}1;\n", "!".repeat(2_000_000));
    let error = client.compile_source(&deep, &options()).unwrap_err();
    let expected = "the compiler process was ended by signal 11 (SIGSEGV) while it compiled source text";
    assert_eq!(error, CompileError::Internal(expected.to_owned()));
    client.compile_source(FULL, &options()).unwrap();
}

/// As many requests as processes are allowed are answered at once: each server here waits until two of them are at work.
#[test]
fn requests_of_several_threads_are_answered_at_once() {
    let folder = Folder::new("together");
    let wait_for_two = "head -c 20 > /dev/null; touch here.$$; until [ $(ls here.* | wc -l) = 2 ]; do sleep 0.01; done";
    let script = folder.script(&format!("cd {}; {wait_for_two}; exit 3", folder.0.display()));
    let limits = ProcessLimits { processes: 2, time: Duration::from_secs(60), ..ProcessLimits::default() };
    let client = Client::new(ClientConfig { limits, ..ClientConfig::new(script) });
    let ask = || client.compile_source(FULL, &options()).unwrap_err().to_string();
    let texts = std::thread::scope(|scope| [scope.spawn(ask), scope.spawn(ask)].map(|thread| thread.join().unwrap()));
    assert!(texts.iter().all(|text| text.contains("ended with status 3")), "{texts:?}");
}

/// No more processes than are allowed: each server here refuses to be beside another.
#[test]
fn no_more_servers_than_allowed_work_at_once() {
    let folder = Folder::new("alone");
    let alone = "head -c 20 > /dev/null; mkdir lock || exit 4; sleep 0.1; rmdir lock; exit 3";
    let script = folder.script(&format!("cd {}; {alone}", folder.0.display()));
    let limits = ProcessLimits { processes: 1, ..ProcessLimits::default() };
    let client = Client::new(ClientConfig { limits, ..ClientConfig::new(script) });
    let ask = || client.compile_source(FULL, &options()).unwrap_err().to_string();
    let texts: Vec<String> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(ask)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(texts.iter().all(|text| text.contains("ended with status 3")), "{texts:?}");
}

/// Threads get their own answers, from no more processes than are allowed, and a crash is that of its own request.
#[test]
fn a_crash_costs_other_threads_nothing() {
    let limits = ProcessLimits { processes: 2, ..ProcessLimits::default() };
    let folder = Folder::new("crash");
    let client = Client::new(ClientConfig { limits, ..config(Some(folder.0.clone())) });
    let crashing = format!("constant int value = {}1;\n", "!".repeat(2_000_000));
    std::thread::scope(|scope| {
        for index in 0..3 {
            let client = &client;
            scope.spawn(move || {
                for round in 0..2 {
                    let name = format!("k{index}_{round}");
                    let source = format!("kernel void {name}(device int* x) {{ x[0] = {index}; }}");
                    let compiled = client.compile_source(&source, &options()).unwrap();
                    assert_eq!(compiled.kernels[0].name, name);
                }
            });
        }
        scope.spawn(|| assert!(client.compile_source(&crashing, &options()).is_err()));
    });
    assert!((1..=2).contains(&client.process_ids().len()), "{:?}", client.process_ids());
}

#[test]
fn a_kernel_that_is_not_there_is_an_error_of_the_engine() {
    let client = Client::new(config(None));
    let mut compiled = client.compile_source(FULL, &options()).unwrap();
    "empty".clone_into(&mut compiled.kernels[0].name);
    let result = client.generate(&compiled.air, &compiled.kernels[0], &EngineOptions::default());
    assert_eq!(result.unwrap_err(), EngineError::NoSuchKernel("empty".to_owned()));
}

fn failure(executable: PathBuf) -> String {
    failure_within(executable, ProcessLimits::default())
}

fn failure_within(executable: PathBuf, limits: ProcessLimits) -> String {
    let client = Client::new(ClientConfig { limits, ..ClientConfig::new(executable) });
    match client.compile_source(FULL, &options()) {
        Err(CompileError::Internal(text)) => text,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_missing_executable_is_named() {
    let text = failure("/nowhere/openmps-compiler".into());
    assert_eq!(
        text,
        "cannot start the compiler process /nowhere/openmps-compiler: No such file or directory (os error 2)"
    );
}

#[test]
fn a_server_that_dies_says_how() {
    let folder = Folder::new("dies");
    let text = failure(folder.script("head -c 20 > /dev/null; echo out of cheese >&2; exit 3"));
    assert_eq!(text, "the compiler process ended with status 3 while it compiled source text: out of cheese");
    let text = failure(folder.script("head -c 20 > /dev/null; kill -9 $$"));
    assert_eq!(text, "the compiler process was ended by signal 9 (SIGKILL) while it compiled source text");
}

#[test]
fn a_server_of_another_version_is_refused() {
    let folder = Folder::new("version");
    let text = failure(folder.script(r"printf '\001\000\000\000\143\000\000\000x' >&0; sleep 5"));
    let ours = protocol::PROTOCOL_VERSION;
    let expected = format!("the other side speaks protocol version 99, expected {ours}");
    assert_eq!(text, format!("the compiler process gave an answer that cannot be read: {expected}"));
}

/// A forked child starts its own server, whatever another thread was doing with the parent's at that moment.
#[test]
fn a_forked_child_has_its_own_server() {
    let client = Client::new(config(None));
    client.compile_source(FULL, &options()).unwrap();
    let parents = client.process_id().unwrap();
    std::thread::scope(|scope| {
        let busy = scope.spawn(|| (0..20).for_each(|_| drop(client.compile_source(FULL, &options()).unwrap())));
        for _ in 0..3 {
            // SAFETY: the child calls only what the client is meant to survive after a fork, and leaves by `_exit`.
            let child = unsafe { libc::fork() };
            if child == 0 {
                let has_compiled = client.compile_source(FULL, &options()).is_ok();
                let is_another = client.process_id().is_some_and(|id| id != parents);
                // SAFETY: ends this process without running the test harness's cleanup.
                unsafe { libc::_exit(if has_compiled && is_another { 0 } else { 1 }) };
            }
            let mut status = 0;
            // SAFETY: waits for the child that was just made, and writes into a live integer.
            assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
            assert_eq!(status, 0, "the child could not compile");
        }
        busy.join().unwrap();
    });
    assert_eq!(client.process_id(), Some(parents));
}

/// An interrupt of the terminal is not for the server.
#[test]
fn the_server_ignores_interrupts() {
    let client = Client::new(config(None));
    client.compile_source(FULL, &options()).unwrap();
    let first = client.process_id().unwrap();
    assert!(std::process::Command::new("kill").args(["-INT", &first.to_string()]).status().unwrap().success());
    client.compile_source(FULL, &options()).unwrap();
    assert_eq!(client.process_id(), Some(first));
}

/// Precompiled headers that vanish or are damaged while the server runs cost time, but no source is refused for them.
#[test]
fn lost_and_damaged_precompiled_headers_are_done_without() {
    let folder = Folder::new("headers");
    let client = Client::new(config(Some(folder.0.clone())));
    client.compile_source(FULL, &options()).unwrap();
    let headers = folder.0.join("pch");
    fs::remove_dir_all(&headers).expect("the server has built a header there");
    client.compile_source("kernel void lost(device int* x) { x[0] = 1; }", &options()).unwrap();
    for entry in fs::read_dir(&headers).expect("the server has built it again") {
        fs::write(entry.unwrap().path(), b"no header").unwrap();
    }
    client.compile_source("kernel void damaged(device int* x) { x[0] = 1; }", &options()).unwrap();
}

/// A server whose client dies in the middle of a compilation does not go on for ever.
#[test]
fn the_server_ends_with_its_client() {
    let source = exponential_macros(40);
    let request = protocol::encode(&Request::CompileSource { source, options: options() }).unwrap();
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    let mut server = std::process::Command::new(env!("CARGO_BIN_EXE_openmps-compiler"))
        .args(["serve", "--include", concat!(env!("CARGO_MANIFEST_DIR"), "/../openmps-msl/include")])
        .stdin(OwnedFd::from(theirs))
        .spawn()
        .unwrap();
    protocol::write_frame(&mut ours, &request).unwrap();
    ours.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
    assert!(protocol::read_frame(&mut ours).is_err(), "it has an answer");
    assert!(server.try_wait().unwrap().is_none(), "it has ended by itself");
    drop(ours);
    let status = server.wait().unwrap();
    assert!(status.success(), "{status}");
}

/// A server that answers nothing, or too slowly.
#[test]
fn a_server_that_is_late_is_ended() {
    let limits = ProcessLimits { time: Duration::from_millis(300), ..ProcessLimits::default() };
    let expected = "the compiler process was stopped after 0.3 s while it compiled source text; \
                    OPENMPS_COMPILER_TIME_LIMIT sets the limit";
    let folder = Folder::new("late");
    // The second drips a frame: each byte comes in time, the whole does not.
    for script in ["exec sleep 1000", "while printf '\\000' >&0; do sleep 0.1; done"] {
        let start = Instant::now();
        assert_eq!(failure_within(folder.script(script), limits), expected);
        assert!(start.elapsed() < Duration::from_secs(100), "it waited for the script");
    }
}

/// What a text costs is bounded, and the next text compiles.
#[test]
fn a_compilation_that_takes_too_long_is_ended() {
    let limits = ProcessLimits { time: Duration::from_secs(2), ..ProcessLimits::default() };
    let folder = Folder::new("endless");
    let client = Client::new(ClientConfig { limits, ..config(Some(folder.0.clone())) });
    // The precompiled header is made first.
    let patient = Client::new(config(Some(folder.0.clone())));
    patient.compile_source(FULL, &options()).unwrap();
    client.compile_source(FULL, &options()).unwrap();
    let error = client.compile_source(&exponential_macros(40), &options()).unwrap_err();
    let expected = "the compiler process was stopped after 2 s while it compiled source text; \
                    OPENMPS_COMPILER_TIME_LIMIT sets the limit";
    assert_eq!(error, CompileError::Internal(expected.to_owned()));
    assert_eq!(client.process_id(), None, "the process that hangs is gone");
    client.compile_source("kernel void after(device int* x) { x[0] = 1; }", &options()).unwrap();
}

#[test]
fn a_compilation_that_takes_too_much_memory_is_ended() {
    let limits = ProcessLimits { memory_bytes: 1 << 30, ..ProcessLimits::default() };
    let client = Client::new(ClientConfig { limits, ..config(None) });
    let error = client.compile_source(&exponential_macros(28), &options()).unwrap_err();
    let expected = "the compiler process needs more than 1073741824 bytes of memory while it compiled source text; \
                    OPENMPS_COMPILER_MEMORY_LIMIT sets the limit";
    assert_eq!(error, CompileError::Internal(expected.to_owned()));
    client.compile_source(FULL, &options()).unwrap();
}

#[test]
fn a_lower_limit_of_the_system_is_kept() {
    let folder = Folder::new("ulimit");
    for option in ["-v", "-Sv"] {
        let script = format!("ulimit {option} 4000000\nexec {} \"$@\"", env!("CARGO_BIN_EXE_openmps-compiler"));
        let client = Client::new(ClientConfig { executable: folder.script(&script), ..config(None) });
        client.compile_source(FULL, &options()).unwrap();
    }
}

/// A macro of 2 to the power of `depth` values.
fn exponential_macros(depth: u32) -> String {
    let mut source = "#define M0 1,\n".to_owned();
    for level in 1..=depth {
        let inner = level - 1;
        source.push_str(&format!("#define M{level} M{inner} M{inner}\n"));
    }
    source
        + &format!("constant int table[] = {{ M{depth} }};\nkernel void f(device int* x) {{ x[0] = table[x[1]]; }}\n")
}
