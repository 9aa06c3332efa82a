//! Libraries that are containers as they should be around modules that are not: each is an error that says what and where, through
//! the public interface and the compiler process of the built package (`./dev build`), and the next library loads.

use std::path::Path;

use expect_test::{Expect, expect};
use openmps::{Library, LibraryError};
use openmps_air::metallib::{NewFunction, Target, Writer};
use openmps_llvm::Context;

/// A kernel `k` with one buffer and this body, among these declarations.
fn ir(declarations: &str, body: &str) -> String {
    format!(
        r#"{declarations}
        define void @k(ptr addrspace(1) %x) {{
        {body}
          ret void
        }}
        !air.kernel = !{{!0}}
        !0 = !{{ptr @k, !1, !2}}
        !1 = !{{}}
        !2 = !{{!3}}
        !3 = !{{i32 0, !"air.buffer", !"air.location_index", i32 0, i32 1, !"air.read_write", !"air.address_space", i32 1, !"air.arg_type_name", !"uint", !"air.arg_name", !"x"}}"#
    )
}

fn bitcode(ir: &str) -> Vec<u8> {
    let context = Context::new();
    context.parse_ir(ir).expect("the module is LLVM IR").write_bitcode().as_bytes().to_vec()
}

fn library(name: &str, bitcode: Vec<u8>) -> Library {
    let mut writer = Writer::new(Target::default());
    writer.push(NewFunction::kernel(name, bitcode)).expect("the name is one and bitcode starts as bitcode");
    open(&writer.finish()).expect("the container is our own")
}

fn open(bytes: &[u8]) -> Result<Library, LibraryError> {
    openmps::library::set_compiler_directory(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/openmps/_native"),
    );
    Library::from_metallib(bytes)
}

fn check_bitcode(bitcode: Vec<u8>, expected: Expect) {
    let error = library("k", bitcode).kernel("k").map(|_| ()).expect_err("the module is refused");
    expected.assert_eq(&error.to_string());
}

fn check(declarations: &str, body: &str, expected: Expect) {
    check_bitcode(bitcode(&ir(declarations, body)), expected);
}

fn good() -> Vec<u8> {
    bitcode(&ir("", "store i32 1, ptr addrspace(1) %x"))
}

#[test]
fn calls_of_what_nothing_defines() {
    let unknown = "declare float @air.frobnicate.f32(float)";
    check(
        unknown,
        "%y = call float @air.frobnicate.f32(float 1.0)",
        expect![
            "Failed to created pipeline state object, error: declaration 'air.frobnicate.f32': no such function in AIR as far as this program knows it"
        ],
    );
    check(
        "declare void @puts(ptr)",
        "call void @puts(ptr null)",
        expect![
            "Failed to created pipeline state object, error: declaration 'puts': nothing defines this function; AIR knows air.* and llvm.* only"
        ],
    );
    check(
        "@errno = external global i32",
        "store i32 1, ptr @errno",
        expect!["Failed to created pipeline state object, error: global 'errno': declared, but nothing defines it"],
    );
    check(
        "declare void @air.wg.barrier(i32)",
        "call void @air.wg.barrier(i32 2)",
        expect![
            "Failed to created pipeline state object, error: declaration 'air.wg.barrier': has type void (i32), expected void (i32, i32)"
        ],
    );
    check(
        "declare void @llvm.trap()",
        "call void @llvm.trap()",
        expect![
            "Failed to created pipeline state object, error: declaration 'llvm.trap': this intrinsic of LLVM has no place in AIR"
        ],
    );
}

#[test]
fn what_air_never_has() {
    check(
        "",
        "call void asm sideeffect \"int3\", \"\"()",
        expect![[
            r#"Failed to created pipeline state object, error: function 'k': inline assembly in 'call void asm sideeffect "int3", ""()'"#
        ]],
    );
    check(
        "module asm \".globl x\"",
        "",
        expect!["Failed to created pipeline state object, error: module: inline assembly"],
    );
    check(
        "",
        "%f = load ptr, ptr addrspace(1) %x\n call void %f()",
        expect![
            "Failed to created pipeline state object, error: function 'k': an indirect call of something other than a function table's entry in 'call void %f()'"
        ],
    );
    check(
        "@a = alias void (ptr addrspace(1)), ptr @k",
        "",
        expect!["Failed to created pipeline state object, error: module: 'a' is an alias"],
    );
}

#[test]
fn sizes_without_bounds() {
    check(
        "",
        "%a = alloca [4294967296 x i8]\n store i8 1, ptr %a",
        expect![
            "Failed to created pipeline state object, error: stack memory of function 'k' in bytes: 4294967296, at most 1048576 allowed"
        ],
    );
    check(
        "",
        "%n = load i32, ptr addrspace(1) %x\n %a = alloca i8, i32 %n\n store i8 1, ptr %a",
        expect![
            "Failed to created pipeline state object, error: function 'k': stack memory of a size that is not constant in '%a = alloca i8, i32 %n, align 1'"
        ],
    );
    let table = "@t = internal addrspace(2) constant [1099511627776 x i8] zeroinitializer";
    check(
        table,
        "%v = load i8, ptr addrspace(2) @t\n store i8 %v, ptr addrspace(1) %x",
        expect![
            "Failed to created pipeline state object, error: global 't' in bytes: 1099511627776, at most 67108864 allowed"
        ],
    );
    let shared = "@t = internal addrspace(3) global [1048576 x i32] undef";
    check(
        shared,
        "store i32 1, ptr addrspace(3) @t",
        expect![
            "Failed to created pipeline state object, error: kernel 'k': 4194304 bytes of threadgroup memory, the limit is 32768"
        ],
    );
}

#[test]
fn calls_without_end() {
    // They run four levels deep, and a deeper one ends the launch; that there is a pipeline is all that is asked here.
    let endless = "define internal void @f(ptr addrspace(1) %x) {\n store i32 1, ptr addrspace(1) %x\n call void @f(ptr addrspace(1) %x)\n ret void\n}";
    library("k", bitcode(&ir(endless, "call void @f(ptr addrspace(1) %x)"))).kernel("k").unwrap();
}

#[test]
fn modules_of_other_kernels_and_of_nothing() {
    let error = library("other", good()).kernel("other").map(|_| ()).unwrap_err();
    expect!["Failed to created pipeline state object, error: the module of kernel 'other' does not describe a kernel of this name"].assert_eq(&error.to_string());
    check_bitcode(
        bitcode("define void @k() { ret void }"),
        expect![
            "Failed to created pipeline state object, error: the module of kernel 'k' does not describe a kernel of this name"
        ],
    );
    // Nothing, and something else, behind the magic; the container itself asks for that.
    check_bitcode(
        b"BC\xc0\xde".to_vec(),
        expect!["Failed to created pipeline state object, error: not readable bitcode: Expected a single module"],
    );
    let mut turned = good();
    turned[4..].reverse();
    check_bitcode(
        turned,
        expect!["Failed to created pipeline state object, error: not readable bitcode: Malformed block"],
    );
}

/// Bitcode cut or with a byte changed is refused or a kernel; where LLVM itself dies, that is the error, and the next module
/// loads. Places are spread; `damage.rs` of `openmps-air` and the fuzz target `metallib` reach every byte of the container.
#[test]
fn damaged_bitcode_is_an_error_and_the_process_lives() {
    let whole = good();
    let build = |bitcode: Vec<u8>| library("k", bitcode).kernel("k").map(|_| ());
    for length in (4..whole.len()).step_by(whole.len() / 12 + 1) {
        assert!(!build(whole[..length].to_vec()).expect_err("it is cut").to_string().is_empty());
    }
    for place in (8..whole.len()).step_by(whole.len() / 24 + 1) {
        let mut bytes = whole.clone();
        bytes[place] ^= 0x10;
        if let Err(error) = build(bytes) {
            assert!(matches!(error, LibraryError::Pipeline(_)), "byte {place}: {error}");
        }
    }
    build(whole).unwrap();
}
