//! The command against real files, with the compiler of the built package (`./dev build`).

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use expect_test::{Expect, expect};
use openmps::{
    Binding, Bindings, Buffer, BufferIndex, ConstantScalar, ConstantType, ConstantValue, ConstantValues, Grid, Library,
    Stream,
};
use openmps_air::metallib::Metallib;
use serde_json::Value;

/// A folder of this test alone, removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("cli-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("the build folder is writable");
        Self(path)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The folder of the built package's compiler.
fn native() -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/openmps/_native");
    assert!(folder.join("openmps-compiler").is_file(), "{} has no compiler: run ./dev build", folder.display());
    folder
}

/// The command in the folder of test kernels, with no setting but where the compiler is.
fn command(arguments: &[&str]) -> Command {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_openmps"));
    command
        .args(arguments)
        .current_dir(root.join("tests/kernels"))
        .env("OPENMPS_COMPILER", native().join("openmps-compiler"))
        .env("OPENMPS_CACHE_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join("cli-cache"))
        .env_remove("PYTORCH_MPS_METAL_VERSION")
        .env_remove("PYTORCH_MPS_FAST_MATH");
    command
}

fn run(arguments: &[&str]) -> Output {
    command(arguments).output().expect("the command starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("the command prints UTF-8")
}

/// Standard output of a run that must succeed and say nothing else.
fn succeed(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert_eq!((output.status.code(), &*text(&output.stderr)), (Some(0), ""), "{arguments:?}");
    text(&output.stdout)
}

/// Checks status and standard error of a run that must fail and print nothing.
fn fail(arguments: &[&str], status: i32, expected: Expect) {
    let output = run(arguments);
    assert_eq!((output.status.code(), &*text(&output.stdout)), (Some(status), ""), "{arguments:?}");
    expected.assert_eq(&text(&output.stderr));
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("the command prints JSON")
}

#[test]
fn check_lists_kernels() {
    expect![[r#"
        kernel add
          device float* out [[buffer(0)]]: read_write
          device float* x [[buffer(1)]]: read
          constant uint& n [[buffer(3)]]: read, 4 bytes
          uint i [[thread_position_in_grid]]

        kernel reverse
          device float* data [[buffer(0)]]: read_write
          threadgroup float* scratch [[threadgroup(0)]]
          uint i [[thread_position_in_grid]]
          uint lane [[thread_index_in_threadgroup]]
          threadgroup memory: 256 bytes
          threads of a threadgroup: at most 64
    "#]]
    .assert_eq(&succeed(&["check", "vectors.metal"]));
}

#[test]
fn check_says_what_is_wrong() {
    fail(
        &["check", "wrong.metal"],
        1,
        expect![[r#"
        wrong.metal:5:14: error: use of undeclared identifier 'factor'
            out[i] = factor * out[i];
                     ^~~~~~
    "#]],
    );
}

#[test]
fn check_prints_json() {
    let report = json(&succeed(&["check", "--json", "vectors.metal"]));
    assert_eq!(report["diagnostics"], json("[]"));
    expect![[r#"{"arguments":[{"access":"read_write","address_space":"device","index":0,"kind":"buffer","name":"out","type":"float"},{"access":"read","address_space":"device","index":1,"kind":"buffer","name":"x","type":"float"},{"access":"read","address_space":"constant","index":3,"kind":"buffer","name":"n","size_bytes_min":4,"type":"uint"},{"attribute":"thread_position_in_grid","kind":"builtin","name":"i","type":"uint"}],"max_total_threads_per_threadgroup":null,"name":"add","threadgroup_memory_bytes":0}"#]].assert_eq(&report["kernels"][0].to_string());
    let output = run(&["check", "--json", "wrong.metal"]);
    assert_eq!((output.status.code(), &*text(&output.stderr)), (Some(1), ""));
    let report = json(&text(&output.stdout));
    assert_eq!(report["kernels"], json("[]"));
    let first = &report["diagnostics"][0];
    expect![[r#"{"column":14,"file":"wrong.metal","line":5,"message":"use of undeclared identifier 'factor'","severity":"error"}"#]].assert_eq(&first.to_string());
}

#[test]
fn flags_reach_the_compiler() {
    let folder = Folder::new("flags");
    let source = folder.path("version.metal");
    fs::write(&source, "#if __METAL_VERSION__ != 310 || !defined(__FAST_MATH__)\n#error not this\n#endif\n").unwrap();
    assert_eq!(run(&["check", &source]).status.code(), Some(1));
    assert_eq!(succeed(&["check", "--metal", "3.1", "--fast-math", &source]), "");
    // The settings of torch.mps do the same.
    let mut command = command(&["check", &source]);
    let output = command.env("PYTORCH_MPS_METAL_VERSION", "3.1").env("PYTORCH_MPS_FAST_MATH", "1").output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

#[test]
fn inspect_shows_one_kernel() {
    let shown = succeed(&["inspect", "vectors.metal", "add"]);
    assert!(shown.starts_with("kernel add\n"), "{shown}");
    assert!(shown.contains("define void @add(") && !shown.contains("@reverse"), "{shown}");
    assert!(shown.contains("machine code:") && shown.contains("openmps_kernel"), "{shown}");
    let details = json(&succeed(&["inspect", "--json", "vectors.metal", "reverse"]));
    assert_eq!(details["kernel"]["threadgroup_memory_bytes"], 256);
    assert_eq!(details["kernel"]["max_total_threads_per_threadgroup"], 64);
    assert!(details["air"].as_str().unwrap().contains("!air.kernel"));
    assert!(details["machine_code"].as_str().unwrap().contains(".text"));
    assert_eq!(details["machine_code_error"], Value::Null);
}

/// Everything shown about a kernel but the names that differ from file to file.
fn shown(arguments: &[&str]) -> String {
    let shown = succeed(arguments);
    shown.lines().filter(|line| !line.starts_with("; ModuleID")).map(|line| format!("{line}\n")).collect()
}

#[test]
fn what_is_compiled_is_a_library() {
    let folder = Folder::new("compile");
    let (library, again) = (folder.path("vectors.metallib"), folder.path("again.metallib"));
    for output in [&library, &again] {
        assert_eq!(succeed(&["compile", "vectors.metal", "-o", output, "--metal", "3.1"]), "");
    }
    assert_eq!(fs::read(&library).unwrap(), fs::read(&again).unwrap());
    let opened = Metallib::open(Path::new(&library)).unwrap();
    assert_eq!(opened.names().collect::<Vec<_>>(), ["add", "reverse"]);
    for function in opened.functions() {
        let versions = function.versions().unwrap();
        assert_eq!((versions.air, versions.language), ((2, 6), (3, 1)));
        function.verify_hash().unwrap();
    }
    let listed = succeed(&["inspect", &library]);
    assert_eq!(listed, "kernel add (AIR 2.6, Metal 3.1)\nkernel reverse (AIR 2.6, Metal 3.1)\n");
    let listed = json(&succeed(&["inspect", "--json", &library]));
    assert_eq!(listed["functions"][1]["name"], "reverse");
    // LLVM reads back what was written, and the kernel is the one that the source has.
    for kernel in ["add", "reverse"] {
        let from_source = shown(&["inspect", "--metal", "3.1", "vectors.metal", kernel]);
        assert_eq!(shown(&["inspect", &library, kernel]), from_source);
    }
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 2, "nothing is left beside the outputs");
}

fn bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

#[test]
fn a_compiled_library_runs() {
    let folder = Folder::new("run");
    let library = folder.path("vectors.metallib");
    succeed(&["compile", "vectors.metal", "-o", &library]);
    openmps::library::set_compiler_directory(native());
    let kernel = Library::from_metallib_file(Path::new(&library)).unwrap().kernel("add").unwrap();
    let values: Vec<f32> = (0..1000_u16).map(f32::from).collect();
    let buffers = [
        Buffer::from_bytes(&bytes(&vec![0.5; 1000])).unwrap(),
        Buffer::from_bytes(&bytes(&values)).unwrap(),
        Buffer::from_bytes(&900_u32.to_le_bytes()).unwrap(),
    ];
    let mut bindings = Bindings::default();
    for (index, buffer) in [0, 1, 3].into_iter().zip(&buffers) {
        let address = buffer.contents().as_ptr() as u64;
        bindings.set(BufferIndex(index), Binding::Buffer { address, size_bytes: buffer.len() as u64 });
    }
    let held: Vec<*const u8> = buffers.iter().map(|buffer| buffer.contents().as_ptr().cast_const()).collect();
    let stream = Stream::default_stream();
    kernel.encode(stream, bindings, &held, Grid { threads: [1000, 1, 1], group: [256, 1, 1] }).unwrap();
    stream.synchronize().unwrap();
    let expected: Vec<f32> = values.iter().map(|value| if *value < 900.0 { value + 0.5 } else { 0.5 }).collect();
    assert_eq!(buffers[0].to_vec(), bytes(&expected));
}

/// The record of function constants goes through the library's file: names, numbers, types, and whether a value must be given.
#[test]
fn function_constants_of_a_compiled_library_take_values() {
    let folder = Folder::new("constants");
    let path = folder.path("constants.metallib");
    succeed(&["compile", "constants.metal", "-o", &path]);
    let listed = json(&succeed(&["inspect", "--json", &path]));
    let constants = |function: usize| listed["functions"][function]["function_constants"].to_string();
    assert_eq!(listed["functions"][1]["name"], "scale");
    expect![[r#"[{"index":3,"name":"factor","required":false,"type":"float"},{"index":7,"name":"has_offset","required":true,"type":"bool"},{"index":8,"name":"offset","required":true,"type":"int2"}]"#]].assert_eq(&constants(1));
    assert_eq!(constants(0), "[]");
    openmps::library::set_compiler_directory(native());
    let library = Library::from_metallib_file(Path::new(&path)).unwrap();
    let error = library.kernel("scale").map(|_| ()).unwrap_err();
    expect!["Failed to created pipeline state object, error: function constant 'has_offset' (index 7, bool): a value is required, none was set"].assert_eq(&error.to_string());
    let mut values = ConstantValues::default();
    values.set_name("has_offset", true);
    values.set_index(
        8,
        ConstantValue::new(
            ConstantType { scalar: ConstantScalar::Int, lanes: 2 },
            [1_i32, 5].map(i32::to_le_bytes).concat(),
        )
        .unwrap(),
    );
    let mut with_factor = values.clone();
    with_factor.set_index(3, 0.5_f32);
    for (values, expected) in [(values, [7.0, 9.0]), (with_factor, [6.0, 7.0])] {
        let kernel = library.kernel_with_constants("scale", &values).unwrap();
        let buffer = Buffer::from_bytes(&bytes(&[2.0, 4.0])).unwrap();
        let address = buffer.contents().as_ptr() as u64;
        let mut bindings = Bindings::default();
        bindings.set(BufferIndex(0), Binding::Buffer { address, size_bytes: 8 });
        let stream = Stream::default_stream();
        let held = [buffer.contents().as_ptr().cast_const()];
        kernel.encode(stream, bindings, &held, Grid { threads: [2, 1, 1], group: [2, 1, 1] }).unwrap();
        stream.synchronize().unwrap();
        assert_eq!(buffer.to_vec(), bytes(&expected));
    }
}

#[test]
fn wrong_inputs_are_named() {
    fail(
        &["check", "missing.metal"],
        1,
        expect![[r#"
        openmps: error: missing.metal: No such file or directory (os error 2)
    "#]],
    );
    fail(
        &["check", "."],
        1,
        expect![[r#"
        openmps: error: .: is a directory, expected a Metal source
    "#]],
    );
    fail(
        &["check", "binary.metal"],
        1,
        expect![[r#"
        openmps: error: binary.metal: is not text: byte 18 is not UTF-8, expected a Metal source
    "#]],
    );
    fail(
        &["inspect", "binary.metal"],
        1,
        expect![[r#"
        openmps: error: binary.metal: is not text: byte 18 is not UTF-8, expected a Metal source
    "#]],
    );
    fail(
        &["inspect", "."],
        1,
        expect![[r#"
        openmps: error: .: is a directory, expected a Metal source
    "#]],
    );
    fail(
        &["inspect", "missing.metallib"],
        1,
        expect![[r#"
        openmps: error: missing.metallib: No such file or directory (os error 2)
    "#]],
    );
    fail(
        &["inspect", "hexadecimal.metallib"],
        1,
        expect![[r#"
        openmps: error: hexadecimal.metallib: not a Metal library: it starts with the hexadecimal text '4d544c4201800200', expected MTLB or a universal binary's cb fe ba be
    "#]],
    );
    fail(
        &["inspect", "vectors.metal", "multiply"],
        1,
        expect![[r#"
        openmps: error: vectors.metal: no kernel named 'multiply', the file has 'add', 'reverse'
    "#]],
    );
    fail(
        &["inspect", "vectors.metal", "add", "--constant", "n=4"],
        1,
        expect![[r#"
        openmps: error: --constant n=4: kernel 'add' has no function constant 'n', it has none
    "#]],
    );
    fail(
        &["inspect", "wrong.metal", "scale"],
        1,
        expect![[r#"
        wrong.metal:5:14: error: use of undeclared identifier 'factor'
            out[i] = factor * out[i];
                     ^~~~~~
    "#]],
    );
}

#[test]
fn damaged_libraries_are_named() {
    let folder = Folder::new("damaged");
    let library = folder.path("cut.metallib");
    succeed(&["compile", "vectors.metal", "-o", &library]);
    let bytes = fs::read(&library).unwrap();
    let size = bytes.len();
    fs::write(&library, &bytes[..size - 1]).unwrap();
    let problem = format!("the library's size at byte 0x10 says {size} bytes, but there are {}", size - 1);
    let output = run(&["inspect", &library]);
    let expected = format!("openmps: error: {library}: metallib: {problem}\n");
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(1), expected));
    fs::write(&library, &bytes).unwrap();
    let output = run(&["check", &library]);
    let expected = format!("openmps: error: {library}: is a Metal library, expected a Metal source\n");
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(1), expected));
}

#[test]
fn outputs_that_cannot_be_written_are_named() {
    let folder = Folder::new("unwritable");
    let check = |output: &str, problem: &str| {
        let result = run(&["compile", "vectors.metal", "-o", output]);
        let expected = format!("openmps: error: {output}: {problem}\n");
        assert_eq!((result.status.code(), text(&result.stderr)), (Some(1), expected));
    };
    check(&folder.path("missing/k.metallib"), "No such file or directory (os error 2)");
    check(&folder.0.display().to_string(), "Is a directory (os error 21)");
    check("/dev/full", "No space left on device (os error 28)");
    // A wrong source leaves the old library alone.
    let library = folder.path("old.metallib");
    fs::write(&library, "old").unwrap();
    assert_eq!(run(&["compile", "wrong.metal", "-o", &library]).status.code(), Some(1));
    assert_eq!(fs::read(&library).unwrap(), b"old");
}

#[test]
fn a_compiler_that_cannot_start_is_named() {
    let mut command = command(&["check", "vectors.metal"]);
    let output =
        command.env("OPENMPS_COMPILER", "/nowhere/compiler").env("OPENMPS_CACHE_DIR", "/dev/null").output().unwrap();
    let reason = "cannot start the compiler process /nowhere/compiler: No such file or directory (os error 2)";
    let expected = format!("openmps: error: vectors.metal: {reason}\n");
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(1), expected));
}

#[test]
fn wrong_command_lines_have_their_own_status() {
    for arguments in
        [&[][..], &["chekc"], &["check"], &["check", "a.metal", "b.metal"], &["check", "--metal", "9", "a"]]
    {
        let output = run(arguments);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{arguments:?}");
        assert!(text(&output.stderr).contains("--help"), "{arguments:?}");
    }
    assert!(succeed(&["--help"]).contains("Exit status:"));
    assert!(succeed(&["--version"]).starts_with("openmps "));
}

#[test]
fn doctor_says_how_it_is_started() {
    let output = run(&["doctor", "--json", "train.py", "--epochs", "1"]);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0));
    assert!(text(&output.stderr).ends_with("installed: python -m openmps.doctor --json train.py --epochs 1\n"));
    assert!(succeed(&["--help"]).contains("doctor"));
}

#[test]
fn output_that_nobody_reads_is_no_failure() {
    let mut command = command(&["inspect", "vectors.metal", "add"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let mut errors = String::new();
    child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
    assert_eq!((child.wait().unwrap().code(), &*errors), (Some(0), ""));
}

#[test]
fn a_kernel_runs_on_typed_values() {
    let add = ["run", "vectors.metal", "add", "--grid", "4"];
    let run_with = |more: &[&str]| succeed(&[&add[..], more].concat());
    let values = ["--arg", "ones:f32[4]", "--arg", "iota:f32[4]", "--arg", "3"];
    assert_eq!(run_with(&values), "out f32[4] = 1.0 2.0 3.0 1.0\n");
    // By name and by index, in any order; a buffer that is asked for.
    let named = ["--arg", "n=u32:4", "--arg", "1=iota:f32[4]", "--arg", "out=zeros:f32[4]", "--out", "x"];
    assert_eq!(run_with(&named), "x f32[4] = 0.0 1.0 2.0 3.0\n");
    let random = ["--arg", "random:f32[4]", "--arg", "zeros:f32[4]", "--arg", "0"];
    let seeded = |seed: &str| run_with(&[&random[..], &["--seed", seed]].concat());
    assert_eq!(seeded("1"), seeded("1"));
    assert_ne!(seeded("1"), seeded("2"));
    let reversed = ["run", "vectors.metal", "reverse", "--grid", "64", "--arg", "iota:f32[64]", "--threadgroup", "0=4"];
    assert!(succeed(&reversed).starts_with("data f32[64] = 63.0 62.0 61.0 "));
    let report = json(&run_with(&[&values[..], &["--json", "--group", "2"]].concat()));
    assert_eq!(report["group"], json("[2, 1, 1]"));
    expect![[r#"{"data":[1.0,2.0,3.0,1.0],"dtype":"f32","index":0,"name":"out","shape":[4]}"#]]
        .assert_eq(&report["outputs"][0].to_string());
}

#[test]
fn arrays_come_from_files_and_go_to_files() {
    let folder = Folder::new("arrays");
    let (library, npy) = (folder.path("vectors.metallib"), folder.path("x.npy"));
    succeed(&["compile", "vectors.metal", "-o", &library]);
    let safetensors = folder.path("y.safetensors");
    let add = |out: &str, x: &str, file: &str| {
        let (out, file) = (format!("out={out}"), format!("out={file}"));
        let words = ["run", &library, "add", "--grid", "6", "--arg", &out, "--arg", x, "--arg", "6", "--out", &file];
        succeed(&words)
    };
    assert_eq!(add("ones:f32[2,3]", "iota:f32[6]", &npy), format!("out f32[2,3]: {npy}\n"));
    add(&npy, &npy, &safetensors);
    add(&format!("{safetensors}:out"), "zeros:f32[6]", &npy);
    let written = fs::read(&npy).unwrap();
    assert!(written.starts_with(b"\x93NUMPY\x01\x00") && written.ends_with(&bytes(&[2.0, 4.0, 6.0, 8.0, 10.0, 12.0])));
}

#[test]
fn textures_are_arrays_and_images() {
    let folder = Folder::new("textures");
    let image = folder.0.join("flipped.png").to_string_lossy().into_owned();
    let flip = ["run", "textures.metal", "flip", "--grid", "2,2"];
    let given = ["--arg", "image=iota:u8[2,2,4]", "--arg", "texture1=zeros:u8[2,2,4]"];
    assert_eq!(succeed(&[&flip[..], &given].concat()), "out u8[2,2,4] = 4 5 6 7 0 1 2 3 12 13 14 15 8 9 10 11\n");
    // To a file, and from there into the next launch.
    let file = format!("out={image}");
    assert_eq!(succeed(&[&flip[..], &given, &["--out", &file]].concat()), format!("out u8[2,2,4]: {image}\n"));
    let again = succeed(&[&flip[..], &["--arg", &image, "--arg", "zeros:u8[2,2,4]"]].concat());
    assert_eq!(again, "out u8[2,2,4] = 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15\n");

    let halve = |sampler| {
        let given = ["--arg", "iota:f32[4,4]", "--arg", "zeros:f32[2,2,4]", "--sampler", sampler];
        succeed(&[&["run", "textures.metal", "halve", "--grid", "2,2"][..], &given].concat())
    };
    let texels = |red: [&str; 4]| red.map(|red| format!("{red} 0.0 0.0 1.0")).join(" ");
    assert_eq!(halve("linear"), format!("out f32[2,2,4] = {}\n", texels(["2.5", "4.5", "10.5", "12.5"])));
    assert_eq!(halve("nearest"), format!("out f32[2,2,4] = {}\n", texels(["5.0", "7.0", "13.0", "15.0"])));
    fail(
        &[&flip[..], &["--arg", "zeros:f32[2,2,3]"]].concat(),
        1,
        expect![[r#"
            openmps: error: --arg zeros:f32[2,2,3]: a texture of type 2d is an array of 2 axes, or of one more with 1, 2 or 4 channels, not f32[2,2,3]
        "#]],
    );
}

#[test]
fn what_cannot_run_is_told() {
    let add = ["run", "vectors.metal", "add", "--grid", "4"];
    let refuse = |more: &[&str], expected| fail(&[&add[..], more].concat(), 1, expected);
    refuse(
        &["--arg", "y=1"],
        expect![[r#"
            openmps: error: --arg y=1: kernel 'add' has no such buffer or texture, it has out (0), x (1), n (3)
        "#]],
    );
    refuse(
        &["--arg", "zeros:f64[4]"],
        expect![[r#"
            openmps: error: --arg zeros:f64[4]: 'f64' is no type of elements, expected one of bool, i8, u8, i16, u16, i32, u32, i64, u64, f16, bf16, f32
        "#]],
    );
    refuse(
        &["--arg", "zeros:f32[4]"],
        expect![[r#"
            openmps: error: vectors.metal: kernel 'add': nothing is bound at buffer index 1 (argument 'x')
        "#]],
    );
    refuse(
        &["--arg", "zeros:f32[4]", "--out", "n"],
        expect![[r#"
            openmps: error: vectors.metal: kernel 'add': nothing is bound at buffer index 1 (argument 'x')
        "#]],
    );
    fail(
        &["run", "arguments.metal", "fill", "--grid", "4", "--arg", "zeros:f32[4]"],
        1,
        expect![[r#"
            openmps: error: arguments.metal: kernel 'fill' takes 'arguments', an argument buffer, for which --arg has no value; Python binds a list of tensors there
        "#]],
    );
    fail(
        &["run", "arguments.metal", "pick", "--grid", "1"],
        1,
        expect![[r#"
            openmps: error: arguments.metal: kernel 'pick' takes 'images', an array of textures, for which --arg has no value; the crate openmps binds it
        "#]],
    );
    fail(
        &["run", "vectors.metal", "sub", "--grid", "4"],
        1,
        expect![[r#"
            openmps: error: vectors.metal: has no kernel 'sub', it has add, reverse
        "#]],
    );
    fail(
        &["run", "vectors.metal", "add", "--grid", "4y"],
        1,
        expect![[r#"
            openmps: error: --grid 4y: expected one to three sizes, like 64 or 16,16
        "#]],
    );
    fail(
        &["run", "wrong.metal", "scale", "--grid", "4"],
        1,
        expect![[r#"
            wrong.metal:5:14: error: use of undeclared identifier 'factor'
                out[i] = factor * out[i];
                         ^~~~~~
        "#]],
    );
}

#[test]
fn info_says_where_settings_come_from() {
    let mut command = command(&["info", "--json"]);
    command.env("PYTORCH_MPS_LOG_PROFILE_INFO", "1024").env("OPENMPS_DEBUG", "serial");
    let output = command.output().unwrap();
    assert_eq!((output.status.code(), &*text(&output.stderr)), (Some(0), ""));
    let report = json(&text(&output.stdout));
    let setting = |name: &str| {
        let settings = report["settings"].as_array().unwrap();
        settings.iter().find(|setting| setting["name"] == name).unwrap().to_string()
    };
    expect![[r#"{"name":"PYTORCH_MPS_LOG_PROFILE_INFO","origin":"invalid","problem":"invalid log options 1024 passed to PYTORCH_MPS_LOG_PROFILE_INFO","value":"1024"}"#]]
        .assert_eq(&setting("PYTORCH_MPS_LOG_PROFILE_INFO"));
    expect![[r#"{"name":"OPENMPS_DEBUG","origin":"environment","value":"serial"}"#]]
        .assert_eq(&setting("OPENMPS_DEBUG"));
    expect![[r#"{"name":"PYTORCH_MPS_FAST_MATH","origin":"default","value":"off"}"#]]
        .assert_eq(&setting("PYTORCH_MPS_FAST_MATH"));
    assert_eq!(report["compiler"]["is_installed"], true);
    assert!(report["device"]["core_count"].as_u64().unwrap() >= 1);
    let shown = succeed(&["info"]);
    assert!(shown.starts_with(&format!("openmps               {}\ndevice ", env!("CARGO_PKG_VERSION"))), "{shown}");
    assert_eq!(shown.lines().filter(|line| line.ends_with(')') && line.starts_with("  PYTORCH_")).count(), 9);
}

#[test]
fn completions_and_pages_know_every_command() {
    let folder = Folder::new("man");
    let commands = ["check", "inspect", "compile", "run", "doctor", "info", "completions", "man"];
    for shell in ["bash", "zsh", "fish"] {
        let script = succeed(&["completions", shell]);
        assert!(commands.iter().all(|command| script.contains(command)) && script.contains("threadgroup"), "{shell}");
    }
    assert!(succeed(&["man"]).contains(".TH OPENMPS 1"));
    assert_eq!(succeed(&["man", "-o", &folder.path("pages")]), "");
    for command in commands {
        let page = fs::read_to_string(folder.path(&format!("pages/openmps-{command}.1"))).unwrap();
        assert!(page.contains(&format!(".TH OPENMPS-{} 1", command.to_uppercase())), "{page}");
    }
}

#[test]
fn compile_prints_json() {
    let folder = Folder::new("compile-json");
    let library = folder.path("vectors.metallib");
    let report = json(&succeed(&["compile", "--json", "vectors.metal", "-o", &library]));
    assert_eq!(report["kernels"], json(r#"["add", "reverse"]"#));
    assert_eq!(report["size_bytes"], fs::metadata(&library).unwrap().len());
    let output = run(&["compile", "--json", "wrong.metal", "-o", &library]);
    assert_eq!((output.status.code(), &*text(&output.stderr)), (Some(1), ""));
    let report = json(&text(&output.stdout));
    assert_eq!((&report["output"], &report["diagnostics"][0]["line"]), (&Value::Null, &Value::from(5)));
}
