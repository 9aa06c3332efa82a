//! What a person reads about a wrong kernel, to the last byte: places are those of the text given, types are MSL's.

mod common;

use expect_test::{Expect, expect};
use openmps_engine::CompileError;

fn check(source: &str, expected: Expect) {
    match common::compile(source) {
        Ok(_) => panic!("it compiles:\n{source}"),
        Err(error) => expected.assert_eq(&error.to_string()),
    }
}

#[test]
fn a_missing_semicolon() {
    check(
        r"kernel void f(device float* x) {
  x[0] = 1.0
}",
        expect![[r#"
            program_source:2:13: error: expected ';' after expression
              x[0] = 1.0
                        ^
        "#]],
    );
}

#[test]
fn an_undeclared_name() {
    check(
        r"kernel void f(device float* out [[buffer(0)]], uint i [[thread_position_in_grid]]) { out[i] = missing(i); }",
        expect![[r#"
            program_source:1:95: error: use of undeclared identifier 'missing'
            kernel void f(device float* out [[buffer(0)]], uint i [[thread_position_in_grid]]) { out[i] = missing(i); }
                                                                                                          ^~~~~~~
        "#]],
    );
}

#[test]
fn a_column_behind_several_edits() {
    check(
        r"kernel void f(device float* out [[buffer(0)]], uint i [[thread_position_in_grid]]) { out[i] = 0.5 + 1.5h + vall; }",
        expect![[r#"
            program_source:1:108: error: use of undeclared identifier 'vall'
            kernel void f(device float* out [[buffer(0)]], uint i [[thread_position_in_grid]]) { out[i] = 0.5 + 1.5h + vall; }
                                                                                                                       ^~~~
        "#]],
    );
}

#[test]
fn an_unknown_type() {
    check(
        r"kernel void f(device flaot* x) {}",
        expect![[r#"
        program_source:1:22: error: unknown type name 'flaot'
        kernel void f(device flaot* x) {}
                             ^
    "#]],
    );
}

#[test]
fn a_value_that_nobody_supplies() {
    check(
        r"kernel void f(device float* x, float y) {}",
        expect![[r#"
        program_source:1:38: error: invalid type 'float' for input declaration in a kernel function
        kernel void f(device float* x, float y) {}
                                             ^
    "#]],
    );
}

#[test]
fn a_pointer_without_address_space() {
    check(
        r"kernel void f(float* x) {}",
        expect![[r#"
        program_source:1:22: error: pointer type must have explicit address space qualifier
        kernel void f(float* x) {}
                             ^
    "#]],
    );
}

#[test]
fn a_reference_without_address_space() {
    check(
        r"kernel void f(float& x) {}",
        expect![[r#"
        program_source:1:22: error: reference type must have explicit address space qualifier
        kernel void f(float& x) {}
                             ^
    "#]],
    );
}

#[test]
fn one_buffer_index_twice() {
    check(
        r"kernel void f(device float* x [[buffer(0)]],
              device float* y [[buffer(0)]]) {}",
        expect![[r#"
            program_source:2:29: error: cannot reserve 'buffer' resource location at index 0
                          device float* y [[buffer(0)]]) {}
                                        ^
        "#]],
    );
}

#[test]
fn a_buffer_index_out_of_bounds() {
    check(
        r"kernel void f(device float* x [[buffer(31)]]) {}",
        expect![[r#"
        program_source:1:29: error: 'buffer' attribute parameter is out of bounds: must be between 0 and 30
        kernel void f(device float* x [[buffer(31)]]) {}
                                    ^
    "#]],
    );
}

#[test]
fn a_position_of_the_wrong_type() {
    check(
        r"kernel void f(device float* x, float i [[thread_position_in_grid]]) {}",
        expect![[r#"
        program_source:1:38: error: type 'float' is not valid for attribute 'thread_position_in_grid'
        kernel void f(device float* x, float i [[thread_position_in_grid]]) {}
                                             ^
    "#]],
    );
}

#[test]
fn a_position_through_a_pointer() {
    check(
        r"kernel void f(device uint* x [[thread_position_in_grid]]) {}",
        expect![[r#"
        program_source:1:28: error: type 'device uint *' is not valid for attribute 'thread_position_in_grid'
        kernel void f(device uint* x [[thread_position_in_grid]]) {}
                                   ^
    "#]],
    );
}

#[test]
fn a_buffer_index_on_a_value() {
    check(
        r"kernel void f(float x [[buffer(0)]]) {}",
        expect![[r#"
        program_source:1:21: error: invalid type 'float' for buffer declaration
        kernel void f(float x [[buffer(0)]]) {}
                            ^
    "#]],
    );
}

#[test]
fn an_unknown_attribute() {
    check(
        r"kernel void f(device float* x, uint i [[thread_position]]) {}",
        expect![[r#"
        program_source:1:41: warning: unknown attribute 'thread_position' ignored
        kernel void f(device float* x, uint i [[thread_position]]) {}
                                                ^
        program_source:1:37: error: invalid type 'uint' for input declaration in a kernel function
        kernel void f(device float* x, uint i [[thread_position]]) {}
                                            ^
    "#]],
    );
}

#[test]
fn a_kernel_that_returns_something() {
    check(
        r"kernel int f(device float* x) { return 0; }",
        expect![[r#"
        program_source:1:12: error: invalid return type 'int' for kernel function
        kernel int f(device float* x) { return 0; }
                   ^
    "#]],
    );
}

#[test]
fn one_kernel_name_twice() {
    check(
        r#"template <typename T> kernel void f(device T* x) {}
template [[host_name("g")]] kernel void f<float>(device float*);
template [[host_name("g")]] kernel void f<half>(device half*);"#,
        expect![[r#"
            program_source:3:41: error: redefinition of kernel 'g'
            template [[host_name("g")]] kernel void f<half>(device half*);
                                                    ^
        "#]],
    );
}

#[test]
fn a_store_to_constant_memory() {
    check(
        r"kernel void f(constant float* x [[buffer(0)]]) { x[0] = 1; }",
        expect![[r#"
        program_source:1:55: error: read-only variable is not assignable
        kernel void f(constant float* x [[buffer(0)]]) { x[0] = 1; }
                                                         ~~~~ ^
    "#]],
    );
}

#[test]
fn a_pointer_to_another_address_space() {
    check(
        r"kernel void f(device float* x) { threadgroup float* y = x; }",
        expect![[r#"
        program_source:1:53: error: cannot initialize a variable of type 'threadgroup float *' with an lvalue of type 'device float *'
        kernel void f(device float* x) { threadgroup float* y = x; }
                                                            ^   ~
    "#]],
    );
}

#[test]
fn a_vector_of_another_size() {
    check(
        r"#include <metal_stdlib>
using namespace metal;
kernel void f(device float4* x) { x[0] = float3(1); }",
        expect![[r#"
            program_source:3:40: error: no viable overloaded '='
            kernel void f(device float4* x) { x[0] = float3(1); }
                                              ~~~~ ^ ~~~~~~~~~
            program_source: note: no known conversion from 'float3' to 'const float4'
        "#]],
    );
}

#[test]
fn half_from_bfloat() {
    check(
        r"kernel void f(device half* x, device bfloat* y) { x[0] = y[0]; }",
        expect![[r#"
        program_source:1:58: error: assigning to 'half' from incompatible type 'device bfloat'
        kernel void f(device half* x, device bfloat* y) { x[0] = y[0]; }
                                                                 ^~~~
    "#]],
    );
}

#[test]
fn a_missing_header() {
    check(
        r"#include <nothing.h>
kernel void f() {}",
        expect![[r#"
            program_source:1:10: error: 'nothing.h' file not found
            #include <nothing.h>
                     ^~~~~~~~~~~
        "#]],
    );
}

#[test]
fn max_of_float_and_int() {
    check(
        r"#include <metal_stdlib>
using namespace metal;
kernel void f(device float* x) { x[0] = max(x[0], 1); }",
        expect![[r#"
            program_source:3:41: error: call to 'max' is ambiguous
            kernel void f(device float* x) { x[0] = max(x[0], 1); }
                                                    ^~~
        "#]],
    );
}

#[test]
fn a_static_assertion_in_a_template() {
    check(
        r#"template <typename T> void g() { static_assert(sizeof(T) == 2, "two bytes"); }
kernel void f(device float* x) { g<float>(); }"#,
        expect![[r#"
            program_source:1:48: error: static assertion failed due to requirement 'sizeof(float) == 2': two bytes
            template <typename T> void g() { static_assert(sizeof(T) == 2, "two bytes"); }
                                                           ^~~~~~~~~~~~~~
            program_source:2:34: note: in instantiation of function template specialization 'g<float>' requested here
            kernel void f(device float* x) { g<float>(); }
                                             ^
            program_source:1:58: note: expression evaluates to '4 == 2'
            template <typename T> void g() { static_assert(sizeof(T) == 2, "two bytes"); }
                                                           ~~~~~~~~~~^~~~
        "#]],
    );
}

#[test]
fn an_error_in_a_macro() {
    check(
        "#define SET(a, v) a = v + nothing;\nkernel void f(device float* x) {\n\tSET(x[0], 1.0)\n}",
        expect![[r#"
        program_source:3:2: error: use of undeclared identifier 'nothing'
        	SET(x[0], 1.0)
        	^~~~~~~~~~~~~~
        program_source:1:27: note: expanded from macro 'SET'
        #define SET(a, v) a = v + nothing;
                                  ^~~~~~~
    "#]],
    );
}

#[test]
fn a_missing_brace() {
    check(
        r"kernel void f(device float* x) {
  if (x[0] > 0) {
",
        expect![[r#"
            program_source:2:18: error: expected '}'
              if (x[0] > 0) {
                             ^
            program_source:2:17: note: to match this '{'
              if (x[0] > 0) {
                            ^
            program_source:2:18: error: expected '}'
              if (x[0] > 0) {
                             ^
            program_source:1:32: note: to match this '{'
            kernel void f(device float* x) {
                                           ^
        "#]],
    );
}

#[test]
fn a_variable_at_program_scope() {
    check(
        r"int counter = 0;
kernel void f(device int* x) { x[0] = counter++; }",
        expect![[r#"
            program_source:1:5: error: program scope variable must reside in constant address space
            int counter = 0;
                ^
        "#]],
    );
}

#[test]
fn a_call_with_too_few_arguments() {
    check(
        r"void g(device float* x, int n) {}
kernel void f(device float* x) { g(x); }",
        expect![[r#"
            program_source:2:34: error: no matching function for call to 'g'
            kernel void f(device float* x) { g(x); }
                                             ^
            program_source:1:6: note: candidate function not viable: requires 2 arguments, but 1 was provided
            void g(device float* x, int n) {}
                 ^ ~~~~~~~~~~~~~~~~~~~~~~
        "#]],
    );
}

#[test]
fn double_as_an_argument() {
    check(
        r"kernel void f(device double* x) { x[0] = 1.0; }",
        expect![[r#"
            program_source:1:22: error: 'double' is not supported in Metal
            kernel void f(device double* x) { x[0] = 1.0; }
                                 ^
        "#]],
    );
}

#[test]
fn an_exception() {
    check(
        r"kernel void f(device float* x) { throw 1; }",
        expect![[r#"
            program_source:1:34: error: exceptions are not supported in Metal
            kernel void f(device float* x) { throw 1; }
                                             ^
        "#]],
    );
}

#[test]
fn an_error_directive() {
    check(
        r#"#error "not on this machine"
"#,
        expect![[r#"
            program_source:1:2: error: "not on this machine"
            #error "not on this machine"
             ^
        "#]],
    );
}

#[test]
fn inline_assembly() {
    check(
        r#"kernel void f(device int* x) { asm("nop"); }"#,
        expect![[r#"
            program_source:1:32: error: inline assembly is not supported in Metal
            kernel void f(device int* x) { asm("nop"); }
                                           ^
        "#]],
    );
}

#[test]
fn a_component_that_the_vector_has_not() {
    check(
        r"#include <metal_stdlib>
using namespace metal;
kernel void f(device float2* x) { x[0] = x[0].xz; }",
        expect![[r#"
            program_source:3:47: error: no member named 'xz' in 'float2'
            kernel void f(device float2* x) { x[0] = x[0].xz; }
                                                     ~~~~ ^
        "#]],
    );
}

#[test]
fn double_in_a_body() {
    check(
        r"kernel void f(device float* x) { double y = x[0]; x[1] = y * y; }",
        expect![[r#"
            program_source:1:34: error: 'double' is not supported in Metal
            kernel void f(device float* x) { double y = x[0]; x[1] = y * y; }
                                             ^
        "#]],
    );
}

#[test]
fn a_threadgroup_index_out_of_bounds() {
    check(
        r"kernel void f(device float* x, threadgroup int* y [[threadgroup(40)]]) {}",
        expect![[r#"
        program_source:1:49: error: 'threadgroup' attribute parameter is out of bounds: must be between 0 and 30
        kernel void f(device float* x, threadgroup int* y [[threadgroup(40)]]) {}
                                                        ^
    "#]],
    );
}

#[test]
fn a_declaration_that_never_ends() {
    check(
        "kernel void f(",
        expect![[r#"
        program_source:1:1: error: 'kernel' attribute only applies to functions
        kernel void f(
        ^
        program_source:1:13: error: variable has incomplete type 'void'
        kernel void f(
                    ^
        program_source:1:15: error: expected expression
        kernel void f(
                      ^
        program_source:1:15: error: expected ';' after top level declarator
        kernel void f(
                      ^
    "#]],
    );
}

/// A source text is one string; no file of the machine is part of it.
#[test]
fn files_outside_the_library_do_not_exist() {
    for name in ["/dev/zero", "/etc/passwd", "../src/lib.rs", "metal_stdlib/../../Cargo.toml"] {
        let error = common::compile(&format!("#include \"{name}\"\n")).unwrap_err().to_string();
        let expected = format!("program_source:1:10: error: '{name}' file not found\n");
        assert!(error.starts_with(&expected), "{error}");
    }
}

#[test]
fn a_warning_does_not_stop_the_compiler() {
    let compiled = common::compile("kernel void f(device int* x) { if (x[0] = 1) x[1] = 2; }").unwrap();
    let shown: Vec<String> = compiled
        .warnings
        .iter()
        .map(|warning| format!("{:?} {}:{}: {}", warning.severity, warning.line, warning.column, warning.message))
        .collect();
    expect![[r#"
        Warning 1:41: using the result of an assignment as a condition without parentheses
        Note 1:41: place parentheses around the assignment to silence this warning
        Note 1:41: use '==' to turn this assignment into an equality comparison"#]]
    .assert_eq(&shown.join("\n"));
}

#[test]
fn what_is_no_text_of_ours_is_an_error_and_nothing_worse() {
    for source in
        ["", "\0", "\u{feff}kernel void f() {}", "#", "[[", "kernel", "/*", "\"", "#include \"/\"", "template <"]
    {
        if let Err(error @ CompileError::Internal(_)) = common::compile(source) {
            panic!("{source:?}: {error}");
        }
    }
}
