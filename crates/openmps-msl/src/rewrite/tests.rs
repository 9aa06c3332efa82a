//! Each rule on a minimal text, and what holds for any text.

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::{SOURCE_NAME, rewrite, rewrite_thoroughly};

fn check(source: &str, expected: Expect) {
    let rewritten = rewrite(source);
    expected.assert_eq(&rewritten.text);
    assert_eq!(rewritten.text.matches('\n').count(), source.matches('\n').count());
}

#[test]
fn rule_1_attributes_become_annotations() {
    check(
        "void f(device float* a [[buffer(N + 1)]], uint i [[thread_position_in_grid, maybe_unused]], float4 p [[position]]);",
        expect![[
            r#"void f(device float* a [[clang::annotate("air.buffer", N + 1)]], uint i [[clang::annotate("air.thread_position_in_grid"), maybe_unused]], float4 p [[]]);"#
        ]],
    );
    check(
        "struct A { device float* x [[id(0)]]; };\n[[clang::noinline]] int g();",
        expect![[r#"
            struct A { device float* x [[]]; };
            [[clang::noinline]] int g();"#]],
    );
    check(
        "#define INDEX(n) [[buffer(n)]] /* a\n*/ , 1.0\n",
        expect![[r#"
            #define INDEX(n) [[clang::annotate("air.buffer", n)]] /* a
            */ , 1.0f
        "#]],
    );
}

#[test]
fn rule_1_unknown_attributes_are_named() {
    let rewritten = rewrite("\n  void f(int x [[bufer(0)]]);");
    let warning = &rewritten.warnings[0];
    assert_eq!((warning.file.as_str(), warning.line, warning.column), (SOURCE_NAME, 2, 18));
    assert_eq!(warning.message, "unknown attribute 'bufer' ignored");
}

#[test]
fn rule_2_explicit_instantiations() {
    check(
        r#"template [[host_name("f_" #T)]] [[kernel]] void f<float>(device float* x [[buffer(0)]]);"#,
        expect![[
            r#"template  __attribute__((annotate("air.host_name", "f_" #T)))  __attribute__((annotate("air.kernel"))) void f<float>(device float* x  __attribute__((annotate("air.buffer", 0))));"#
        ]],
    );
    check(
        r#"template [[kernel, host_name("x"), maybe_unused]] decltype(f<half>) f<half>;"#,
        expect![[
            r#"template  __attribute__((annotate("air.kernel"))) __attribute__(( annotate("air.host_name", "x"))) __attribute__(( )) decltype(f<half>) f<half>;"#
        ]],
    );
}

#[test]
fn rule_3_kernel() {
    check(
        "kernel void a() {}\n[[kernel]] void b() {}\ntemplate <typename T, int N = (1 > 0)> void kernel c() {}\n[[max_total_threads_per_threadgroup(64)]] kernel void d();\nMAKE(e)\nkernel void f();",
        expect![[r#"
            [[clang::sycl_external, clang::annotate("air.kernel")]] void a() {}
            [[clang::sycl_external, clang::annotate("air.kernel")]] void b() {}
            template <typename T, int N = (1 > 0)> [[clang::sycl_external, clang::annotate("air.kernel")]] void  c() {}
            [[clang::annotate("air.max_total_threads_per_threadgroup", 64)]] [[clang::sycl_external, clang::annotate("air.kernel")]] void d();
            MAKE(e)
            [[clang::sycl_external, clang::annotate("air.kernel")]] void f();"#]],
    );
}

#[test]
fn rule_4_objects_in_threadgroup_memory_are_static() {
    check(
        "void f() {\n  threadgroup float x[4];\n  threadgroup float* p = x;\n  constant int t[] = {1};\n  alignas(16) threadgroup vec<T, N * 2> y;\n  for (;;) { threadgroup T z; }\n  foo([&](int i) { threadgroup int w; });\n}\nconstant int k = 1;",
        expect![[r#"
            void f() {
              static threadgroup float x[4];
              threadgroup float* p = x;
              static constant int t[] = {1};
              alignas(16) static threadgroup vec<T, N * 2> y;
              for (;;) { static threadgroup T z; }
              foo([&](int i) { static threadgroup int w; });
            }
            constant int k = 1;"#]],
    );
}

#[test]
fn rule_5_literals() {
    check(
        "1.0 .5 1e3 0x1p-2 1.5h 2h 1.0bf 3bf 1.0f 7 0xefh 1'0.5 x.e1 1u",
        expect!["1.0f .5f 1e3f 0x1p-2f 1.5f16 2.0f16 ((bfloat)1.0f) ((bfloat)3.0f) 1.0f 7 0xefh 1'0.5f x.e1 1u"],
    );
}

#[test]
fn rule_6_function_constants_are_read_from_the_host() {
    check(
        "constant bool a [[function_constant(0)]];\nkernel void f(device int* x [[buffer(0), function_constant(a)]]);",
        expect![[r#"
            constant bool a = ::metal::__function_constant<::metal::__d::plain<decltype(a)>>(0);
            [[clang::sycl_external, clang::annotate("air.kernel")]] void f(device int* x [[clang::annotate("air.buffer", 0), clang::annotate("air.function_constant", &a)]]);"#]],
    );
}

#[test]
fn rule_7_member_qualifiers() {
    check(
        "template <class T = int> struct A {\n  A(T x) thread : v(x) {}\n  T get() const device { return v; }\n  T get() const constant {\n    return v; }\n  T first() constant { return v; }\n  void set(T x) threadgroup;\n  T v;\n};",
        expect![[r#"
            template <class T = int> struct A {
              A(T x) thread : v(x) {}
              T get() const  { return v; }
              

              T first() const { return v; }
              void set(T x) ;
              T v;
            };"#]],
    );
}

#[test]
fn rule_7_one_member_remains_of_those_that_differ_in_address_space() {
    check(
        "struct A { int f() threadgroup const { return 1; } int f() thread const { return 2; } int g() thread; };",
        expect!["struct A { int f()  const { return 1; }  int g() thread; };"],
    );
}

#[test]
fn rule_7_constructors_are_not_const() {
    check(
        "struct A {\nA() thread = default;\nA() constant = default;\ntemplate <class U = int>\nconstexpr A(U x) device : v(x) {}\ntemplate <class U = int>\nconstexpr A(U x) constant : v(x) {}\n};",
        expect![[r#"
            struct A {
            A() thread = default;

            template <class U = int>
            constexpr A(U x)  : v(x) {}


            };"#]],
    );
}

#[test]
fn rule_8_array_parameters_are_pointers() {
    check(
        "void f(threadgroup float x[32], device const T y[A][B], threadgroup float z[4] [[threadgroup(0)]], device int* w);",
        expect![[
            r#"void f(threadgroup float *x, device const T (*y)[B], threadgroup float *z [[clang::annotate("air.threadgroup", 0)]], device int* w);"#
        ]],
    );
}

#[test]
fn rule_9_string_literals_are_constant() {
    check(
        "#define WHERE __FILE__\n#define TEXT \"t\"\nconstant char c[] = \"x\";\nvoid f() { g(\"a\" \"b\"); static_assert(true, \"c\"); h(__func__); _Pragma(\"unroll\") i(); }",
        expect![[r##"
            #define WHERE ((constant const char*)__FILE__)
            #define TEXT "t"
            constant char c[] = "x";
            void f() { g(((constant const char*)"a" "b")); static_assert(true, "c"); h(((constant const char*)__func__)); _Pragma("unroll") i(); }"##]],
    );
}

#[test]
fn rule_10_conditional_operands_are_values() {
    check(
        "x = ok ? p[i] : float4(0); y = a ? b.c->d[0] : e; z = a ? b : n::c.d; w = a ? f(x) : (b ? c[1] : d); switch (x) { case 1: q[0]; }",
        expect![
            "x = ok ? ::__air::rv(p[i]) : float4(0); y = a ? ::__air::rv(b.c->d[0]) : e; z = a ? b : ::__air::rv(n::c.d); w = a ? f(x) : (b ? ::__air::rv(c[1]) : d); switch (x) { case 1: q[0]; }"
        ],
    );
}

#[test]
fn rule_10_conditional_operands_in_other_forms() {
    check(
        "x = a ? *reinterpret_cast<const device vec<T, 8>*>(p + 1) : T(0); y = a ? *(device T*)p : f(b)[1]; z = a ? f(b) : *c.d;",
        expect![
            "x = a ? ::__air::rv(*reinterpret_cast<const device vec<T, 8>*>(p + 1)) : T(0); y = a ? ::__air::rv(*(device T*)p) : ::__air::rv(f(b)[1]); z = a ? f(b) : ::__air::rv(*c.d);"
        ],
    );
}

#[test]
fn statements_start_behind_macro_calls_without_semicolon() {
    check(
        "DEFINE(float, x)\nDEFINE(half, x)\ntemplate <typename T>\nkernel void f() { STAGE(a)\nSTAGE(b)\nthreadgroup float x[2]; if (a) threadgroup_barrier(b); }",
        expect![[r#"
            DEFINE(float, x)
            DEFINE(half, x)
            template <typename T>
            [[clang::sycl_external, clang::annotate("air.kernel")]] void f() { STAGE(a)
            STAGE(b)
            static threadgroup float x[2]; if (a) threadgroup_barrier(b); }"#]],
    );
}

#[test]
fn macros_may_name_words_of_the_language() {
    check(
        "#define SHARED threadgroup\n#define ENTRY kernel\ntemplate <class T> ENTRY void f() { SHARED T x[2]; }\n#define STAGE(x) SHARED float x[2];\ntemplate ENTRY void f<int>();",
        expect![[r#"
            #define SHARED threadgroup
            #define ENTRY [[clang::sycl_external, clang::annotate("air.kernel")]]
            template <class T> [[clang::sycl_external, clang::annotate("air.kernel")]] void f() { static SHARED T x[2]; }
            #define STAGE(x) static SHARED float x[2];
            template  __attribute__((annotate("air.kernel"))) void f<int>();"#]],
    );
}

#[test]
fn thorough_rewriting() {
    let source = "template <typename T, class U> void f(T t) { using V = U; x = T(t) + (V)(y); T z(x); a.xy += b[0].zw * (c.xyz, 2); f(d(1).rg, -e->xyz); g.xy = h.xy.yx; }";
    let rewritten = rewrite_thoroughly(source);
    expect![
        "template <typename T, class U> void f(T t) { using V = U; x = ::__air::cast<T>(t) + ::__air::to<V>{} ->* (y); T z(x); a.xy = ::__air::rv(a.xy) + ( ::__air::rv(b[0].zw) * (::__air::rv(c.xyz), 2)); f(::__air::rv(d(1).rg), -::__air::rv(e->xyz)); g.xy = ::__air::rv(h.xy.yx); }"
    ]
    .assert_eq(&rewritten.text);
}

#[test]
fn rule_11_casts() {
    check(
        "void f(half a) { x = half(y) + (bfloat)z; half h(y); g(half(1, 2)); return (half)-w; sizeof(half); }",
        expect![
            "void f(half a) { x = ::__air::cast<half>(y) + ::__air::to<bfloat>{} ->* z; half h(y); g(half(1, 2)); return ::__air::to<half>{} ->* -w; sizeof(half); }"
        ],
    );
}

#[test]
fn pragmas_of_metal() {
    check(
        "#pragma METAL fp contract(off)\n#pragma METAL fp math_mode(safe)\n#pragma METAL fp math_mode(fast)\n#pragma METAL fp math_mode(odd)\n#pragma METAL internals : enable\n#pragma unroll\n",
        expect![[r#"
            #pragma clang fp contract(off)
            #pragma float_control(precise, on)
            #pragma float_control(precise, off)
            //#pragma METAL fp math_mode(odd)
            //#pragma METAL internals : enable
            #pragma unroll
        "#]],
    );
}

#[test]
fn columns_of_an_error_behind_an_edit() {
    let source = "kernel void f(device float* x [[buffer(0)]]) { oops; }";
    let rewritten = rewrite(source);
    let column = u32::try_from(rewritten.text.find("oops").unwrap() + 1).unwrap();
    assert_eq!(rewritten.columns.source_column(1, column), u32::try_from(source.find("oops").unwrap() + 1).unwrap());
}

/// Deep nesting and long runs of what makes rules look ahead.
#[test]
fn repeated_words_take_linear_time() {
    for piece in [
        "constant ",
        "threadgroup T x ",
        "? ( ",
        "[[",
        "half(",
        "{ ",
        "f() device ",
        "template <",
        "'",
        "\"\\",
        "a ? b[0] : ",
    ] {
        let source = piece.repeat(200_000 / piece.len());
        let start = std::time::Instant::now();
        let rewritten = rewrite(&source);
        assert_eq!(rewritten.text.matches('\n').count(), 0);
        // Quadratic work on this size takes minutes.
        assert!(start.elapsed().as_secs() < 20, "{piece:?} took {:?}", start.elapsed());
    }
}

const SOUP: [&str; 60] = [
    "kernel",
    "[[",
    "]]",
    "[",
    "]",
    "(",
    ")",
    "{",
    "}",
    "<",
    ">",
    ";",
    ",",
    ":",
    "::",
    "?",
    "=",
    "*",
    "&",
    "threadgroup",
    "constant",
    "device",
    "thread",
    "const",
    "half",
    "bfloat",
    "float",
    "struct",
    "template",
    "namespace",
    "class",
    "enum",
    "operator",
    "1.5",
    "2h",
    "1bf",
    "\"s\"",
    "'c'",
    "x",
    "f",
    "buffer",
    "function_constant",
    "host_name",
    "static",
    "->",
    "\n#define M ",
    "\\\n",
    "\n",
    "\n#pragma METAL ",
    "// c\n",
    "/* \n */",
    "R\"(",
    ")\"",
    "\"",
    "return",
    "if",
    "...",
    "extern",
    "\n#if 1\n",
    "ä",
];

#[test]
fn deep_nesting_takes_no_square_of_its_depth() {
    // Billions of steps, where each statement looked at all of the scopes around it.
    let source = "struct A {".repeat(200_000);
    assert_eq!(rewrite(&source).text, source);
}

proptest! {
    #[test]
    fn any_soup_of_tokens_keeps_its_lines(words in proptest::collection::vec(proptest::sample::select(&SOUP[..]), 0..80)) {
        let source = words.join(" ");
        let rewritten = rewrite(&source);
        prop_assert_eq!(rewritten.text.matches('\n').count(), source.matches('\n').count());
        // Every column of the new text comes from a place inside the user's line.
        for (index, (new, old)) in rewritten.text.split('\n').zip(source.split('\n')).enumerate() {
            let line = u32::try_from(index + 1).unwrap();
            for column in 1..=u32::try_from(new.len() + 1).unwrap() {
                let mapped = rewritten.columns.source_column(line, column);
                prop_assert!(mapped as usize <= old.len() + 1, "line {line} column {column} maps to {mapped} of {old:?}");
                prop_assert!(mapped >= 1);
            }
        }
    }

    #[test]
    fn any_text_is_accepted(source in "\\PC{0,200}") {
        let _ = rewrite(&source);
    }

    #[test]
    fn plain_code_stays_as_it_is(words in proptest::collection::vec(proptest::sample::select(&["int", "x", "=", "1", ";", "{", "}", "(", ")", "\n", "float", "f", "+", "return"][..]), 0..60)) {
        let source = words.join(" ");
        prop_assert_eq!(rewrite(&source).text, source);
    }
}
