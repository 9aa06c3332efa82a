//! The whole way from text to verified AIR, in this process: whatever the text, there is an answer, its places are in the text,
//! and its words are the user's and Metal's.
//!
//! A crash of clang that its crash recovery catches is an answer too, since the compiler process is replaced then. One that it
//! does not catch ends the fuzzer, and is worth a look: is it the text's depth, or a rule of the rewriter?

use std::path::Path;
use std::sync::OnceLock;

use openmps_engine::{CompileError, CompileOptions, Diagnostic, SourceCompiler};
use openmps_msl::rewrite::SOURCE_NAME;
use openmps_msl::{DriverConfig, MslCompiler};

/// Words that bring a mutation further than into a syntax error.
pub const WORDS: &[&[u8]] = &[
    b"kernel void f(device float* x [[buffer(0)]], uint i [[thread_position_in_grid]]) { x[i] = 1; }\n",
    b"threadgroup float s[4];",
    b"constant ",
    b"template <typename T> ",
    b"template [[host_name(\"g\")]] kernel void f<float>",
    b"float4(1, 2, 3, 4).xyz",
    b"half(",
    b"1.5h",
    b" ? x[0] : x[1]",
    b"simd_sum(",
    b"atomic_fetch_add_explicit(",
    b"as_type<uint>(",
    b"double",
    b"goto a; a:",
    b"throw 1;",
    b"struct S { float3 a; };",
    b"[[function_constant(0)]]",
    b"using namespace metal;\n",
    b"auto l = [&](float a) { return a; };",
    b"static ",
    b"#define F(x) x\n",
    b"namespace c10 { }",
];

/// Longer texts find nothing that shorter ones do not, and take clang seconds.
const INPUT_BYTES_MAX: usize = 16 << 10;

/// What no message may say unless the text does.
const FOREIGN_WORDS: [&str; 9] =
    ["__global_host", "sycl", "SYCL", "opencl", "__air", "__d::", "_Float16", "__bf16", "scratch space"];

/// Compiles `input` as text; bytes that are no UTF-8 become U+FFFD first, since sources are text.
///
/// # Panics
/// When a message has no place that there is, or says how Metal is made into C++.
pub fn run(input: &[u8]) {
    let source = String::from_utf8_lossy(&input[..input.len().min(INPUT_BYTES_MAX)]);
    let diagnostics = match compiler().compile_source(&source, &CompileOptions::default()) {
        Ok(compiled) => compiled.warnings,
        Err(CompileError::Diagnostics { diagnostics, .. }) => {
            assert!(!diagnostics.is_empty(), "an error without a message for {source:?}");
            diagnostics
        }
        Err(CompileError::Internal(reason)) => {
            assert!(reason.contains("crashed"), "{reason} for {source:?}");
            return;
        }
    };
    // With `#line` the user says which places there are.
    let is_renumbered = source.contains('#');
    let lines: Vec<&str> = source.split('\n').collect();
    for diagnostic in &diagnostics {
        check_words(diagnostic, &source);
        if diagnostic.file == SOURCE_NAME && !is_renumbered {
            check_place(diagnostic, &lines);
        }
    }
}

fn check_words(diagnostic: &Diagnostic, source: &str) {
    for word in FOREIGN_WORDS {
        let is_users = !diagnostic.message.contains(word) || source.contains(word);
        assert!(is_users, "'{}' for {source:?}", diagnostic.message);
    }
}

fn check_place(diagnostic: &Diagnostic, lines: &[&str]) {
    let Diagnostic { line, column, message, .. } = diagnostic;
    let index = usize::try_from(*line).expect("a u32 fits").wrapping_sub(1);
    let length = lines.get(index).map(|line| line.len());
    let is_inside =
        length.is_some_and(|length| usize::try_from(*column).is_ok_and(|at| (1..=length + 1).contains(&at)));
    assert!(is_inside, "'{message}' at {line}:{column} of {lines:?}");
}

/// One for the process, with its precompiled header among the temporary files.
fn compiler() -> &'static MslCompiler {
    static COMPILER: OnceLock<MslCompiler> = OnceLock::new();
    COMPILER.get_or_init(|| {
        MslCompiler::new(DriverConfig {
            include_dir: Path::new(env!("CARGO_MANIFEST_DIR")).join("../openmps-msl/include"),
            installed_pch_dir: None,
            pch_cache_dir: Some(std::env::temp_dir().join("openmps-fuzz-headers")),
        })
    })
}
