//! Text that wants to hang the compiler, to eat memory, to read files or to crash: an error within limits, or a kernel that does
//! none of it. After each the next text compiles.

use std::path::Path;
use std::time::Duration;

use openmps_compiler::{Client, ClientConfig, ProcessLimits};
use openmps_engine::{CompileError, CompileOptions, SourceCompiler};

const KERNEL: &str = "kernel void f(device int* x) { x[0] = 1; }\n";

/// What must become of a text.
enum Expected {
    Compiles,
    /// A diagnostic that contains this.
    Wrong(&'static str),
    /// Any of these, or a diagnostic: how far the compiler comes depends on the machine.
    Limited,
}

use Expected::{Compiles, Limited, Wrong};

/// `folder` keeps the precompiled headers of one test.
fn client(folder: &str) -> Client {
    let limits = ProcessLimits { time: Duration::from_secs(5), memory_bytes: 2 << 30, ..ProcessLimits::default() };
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("../openmps-msl/include");
    // Precompiled headers only: an answer from the cache would prove nothing.
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("hostile-{folder}"));
    let _ = std::fs::remove_dir_all(cache.join("answers"));
    let config = ClientConfig {
        include_dir: Some(include),
        cache_dir: Some(cache),
        limits,
        ..ClientConfig::new(env!("CARGO_BIN_EXE_openmps-compiler").into())
    };
    // The headers are precompiled in all the time that this takes.
    let patient = Client::new(ClientConfig { limits: ProcessLimits::default(), ..config.clone() });
    patient.compile_source("kernel void patient() {}\n", &CompileOptions::default()).expect("a kernel compiles");
    Client::new(config)
}

fn check(folder: &str, cases: &[(&str, String, Expected)]) {
    let client = client(folder);
    for (index, (name, text, expected)) in cases.iter().enumerate() {
        let answer = client.compile_source(text, &CompileOptions::default());
        match (expected, &answer) {
            (Compiles, Ok(_)) | (Limited, Err(CompileError::Diagnostics { .. })) => {}
            (Wrong(part), Err(CompileError::Diagnostics { rendered, .. })) if rendered.contains(part) => {}
            (Limited, Err(CompileError::Internal(reason))) => {
                let is_limit = ["stopped after 5 s", "needs more than 2147483648 bytes", "(SIGSEGV)", "crashed on"]
                    .iter()
                    .any(|known| reason.contains(known));
                assert!(is_limit, "{name}: {reason}");
            }
            (_, answer) => panic!("{name}: {:?}", answer.as_ref().map(|_| "it compiles")),
        }
        let next = format!("kernel void after{index}(device int* x) {{ x[0] = {index}; }}\n");
        let compiled = client
            .compile_source(&next, &CompileOptions::default())
            .unwrap_or_else(|error| panic!("after {name}: {error}"));
        assert_eq!(compiled.kernels[0].name, format!("after{index}"));
    }
}

#[test]
fn no_file_is_read_but_the_librarys() {
    let directives = [
        ("#include \"/etc/passwd\"", "'/etc/passwd' file not found"),
        ("#include </dev/zero>", "'/dev/zero' file not found"),
        ("#include \"../src/lib.rs\"", "'../src/lib.rs' file not found"),
        ("#include <msl/../../../../../../../../../../etc/passwd>", "file not found"),
        ("#include_next </etc/passwd>", "'/etc/passwd' file not found"),
        ("#import \"/etc/passwd\"", "'/etc/passwd' file not found"),
        ("#include __FILE__", "'program_source' file not found"),
        ("#include \"/proc/self/environ\"", "file not found"),
        ("#pragma GCC dependency \"/etc/passwd\"", "'/etc/passwd' file not found"),
        ("_Pragma(\"GCC dependency \\\"/etc/passwd\\\"\")", "'/etc/passwd' file not found"),
        ("#pragma clang module import std", "module 'std' not found"),
        (
            "#if !__has_include(\"/etc/passwd\") && !__has_include(</etc/passwd>)\n#error it is not there\n#endif",
            "it is not there",
        ),
    ];
    let cases: Vec<_> =
        directives.iter().map(|(line, part)| (*line, format!("{line}\n{KERNEL}"), Wrong(part))).collect();
    // Metal has no `#embed`, and clang looks for the folder of a file that is none.
    let embed = ("embed", format!("constant char s[] = {{\n#embed \"/etc/passwd\"\n}};\n{KERNEL}"), Limited);
    check("files", &cases);
    check("files", &[embed]);
    // A message names the file that the line is said to be in, and shows nothing of it.
    let text = "#line 1 \"/etc/passwd\"\noops;\n";
    let error = client("files").compile_source(text, &CompileOptions::default()).unwrap_err().to_string();
    assert!(error.contains("oops") && !error.contains("root:"), "{error}");
}

#[test]
fn directives_for_those_who_work_on_clang_do_nothing() {
    let words = ["crash", "assert", "parser_crash", "llvm_fatal_error", "llvm_unreachable", "overflow_stack"];
    let cases: Vec<_> =
        words.iter().map(|word| (*word, format!("#pragma clang __debug {word}\n{KERNEL}"), Compiles)).collect();
    check("directives", &cases);
}

#[test]
fn endless_work_ends() {
    let double = |first: &str, step: &dyn Fn(usize) -> String, count: usize| {
        (1..=count).fold(first.to_owned(), |text, level| text + &step(level))
    };
    let macros = double("#define M0 1,\n", &|level| format!("#define M{level} M{0} M{0}\n", level - 1), 40);
    let functions = double(
        "void g0(thread int* x) { x[0]++; }\n",
        &|level| format!("void g{level}(thread int* x) {{ g{0}(x); g{0}(x); }}\n", level - 1),
        40,
    );
    check(
        "endless",
        &[
            (
                "templates without end",
                format!(
                    "template <int N> struct A {{ static constexpr int v = A<N + 1>::v; }};\n{KERNEL}static_assert(A<0>::v);"
                ),
                Wrong("recursive template instantiation exceeded maximum depth"),
            ),
            (
                "a constant expression without end",
                format!("constexpr int g() {{ for (;;) {{}} return 1; }}\nstatic_assert(g());\n{KERNEL}"),
                Wrong("constexpr evaluation hit maximum step limit"),
            ),
            (
                "a constant expression that calls itself",
                format!("constexpr int g(int n) {{ return g(n + 1); }}\nstatic_assert(g(0));\n{KERNEL}"),
                Wrong("constexpr evaluation exceeded maximum depth"),
            ),
            ("macros of exponential size", format!("{macros}constant int t[] = {{M40}};\n{KERNEL}"), Limited),
            (
                "inlining of exponential size",
                format!("{functions}kernel void f(device int* x) {{ int a = x[0]; g40(&a); x[0] = a; }}"),
                Limited,
            ),
        ],
    );
}

#[test]
fn gigantic_texts_and_values_are_refused_or_small() {
    check(
        "gigantic",
        &[
            ("empty", String::new(), Compiles),
            ("zero bytes", "\0\0\0".to_owned(), Compiles),
            ("brackets", "{".repeat(1 << 20), Limited),
            ("parentheses", format!("constant int y = {};", "(".repeat(1 << 20)), Limited),
            ("attributes", "[[a]]".repeat(200_000), Limited),
            ("unary operators", format!("constant int y = {}1;\n", "!".repeat(2_000_000)), Limited),
            ("line continuations", format!("{}{KERNEL}", "\\\n".repeat(1 << 20)), Limited),
            (
                "a threadgroup array",
                "kernel void f(device char* x) { threadgroup char t[1ul << 40]; x[1] = t[x[0]]; }".to_owned(),
                Wrong("variable of 1099511627776 bytes, at most 67108864 allowed"),
            ),
            (
                "a type beyond the address space",
                "kernel void f(device char* x) { char t[1ul << 62]; x[1] = t[x[2]]; }".to_owned(),
                Wrong("array is too large"),
            ),
            (
                "a host function",
                "extern \"C\" int system(const char*);\nkernel void f(device int* x) { x[0] = system(0); }".to_owned(),
                Wrong("nothing defines it"),
            ),
            (
                "a host function by label",
                "int g(int) __asm(\"abort\");\nkernel void f(device int* x) { x[0] = g(0); }".to_owned(),
                Wrong("nothing defines this function"),
            ),
            (
                "inline assembly",
                "kernel void f(device int* x) { asm(\"syscall\"); }".to_owned(),
                Wrong("inline assembly is not supported"),
            ),
        ],
    );
}
