//! Refusals one by one, and what must pass.

use expect_test::{Expect, expect};
use openmps_llvm::Context;

use crate::{reflect, verify, verify_and_reflect};

fn bitcode(ir: &str) -> Vec<u8> {
    let context = Context::new();
    let module = context.parse_ir(ir).unwrap();
    module.write_bitcode().as_bytes().to_vec()
}

/// The text of the refusal.
fn check(ir: &str, expected: Expect) {
    let error = verify(&bitcode(ir)).expect_err("the module is refused");
    expected.assert_eq(&format!("{error}\n"));
}

/// The text of the refusal of a function `f` with this body.
fn check_body(body: &str, expected: Expect) {
    check(&format!("define void @f(ptr %p, i32 %n) {{\n{body}\n ret void\n}}"), expected);
}

const GOOD: &str = r#"
    @scratch = internal addrspace(3) global [32 x float] undef, align 4
    @weights = internal addrspace(2) constant [2 x float] [float 1.0, float 2.0], align 4
    @llvm.used = appending global [1 x ptr] [ptr @k], section "llvm.metadata"
    declare float @air.fast_exp.f32(float) memory(none)
    declare <2 x float> @air.fmax.v2f32(<2 x float>, <2 x float>)
    declare i32 @air.atomic.global.add.u.i32(ptr addrspace(1), i32, i32, i32, i1)
    declare void @air.wg.barrier(i32, i32) convergent
    declare <64 x float> @air.simdgroup_matrix_8x8_load.v64f32.p3f32(ptr addrspace(3), i64, <2 x i64>, i1)
    declare float @llvm.fmuladd.f32(float, float, float)
    declare void @llvm.memcpy.p0.p1.i64(ptr, ptr addrspace(1), i64, i1)
    define internal fastcc float @helper(float %x) {
      %y = call float @air.fast_exp.f32(float %x)
      ret float %y
    }
    define void @k(ptr addrspace(1) %out) {
      %slot = alloca [4 x float]
      call void @air.wg.barrier(i32 2, i32 1)
      %y = call fastcc float @helper(float 1.0)
      store float %y, ptr addrspace(1) %out
      ret void
    }
    !air.kernel = !{!0}
    !0 = !{ptr @k, !1, !2}
    !1 = !{}
    !2 = !{!3}
    !3 = !{i32 0, !"air.buffer", !"air.location_index", i32 0, i32 1, !"air.write", !"air.address_space", i32 1, !"air.arg_type_name", !"float", !"air.arg_name", !"out"}"#;

#[test]
fn a_module_as_air_should_be_passes_unchanged() {
    let bytes = bitcode(GOOD);
    let (air, kernels) = verify_and_reflect(&bytes).unwrap();
    assert_eq!(air.bitcode(), bytes);
    assert_eq!(kernels.len(), 1);
    assert_eq!(reflect(&air).unwrap(), kernels);
}

#[test]
fn bytes_that_are_not_bitcode() {
    let text = |bytes: &[u8]| verify(bytes).unwrap_err().to_string();
    expect!["not bitcode: starts with nothing, expected 42 43 c0 de or the wrapper's de c0 17 0b"]
        .assert_eq(&text(b""));
    expect!["not bitcode: starts with 4d 54 4c 42, expected 42 43 c0 de or the wrapper's de c0 17 0b"]
        .assert_eq(&text(b"MTLB...."));
    expect!["not readable bitcode: Expected a single module"].assert_eq(&text(b"BC\xc0\xde"));
}

#[test]
fn cut_bitcode_is_refused() {
    let bytes = bitcode(GOOD);
    // Each length in steps of a word near the ends and coarser between: every block boundary is crossed.
    for length in (4..bytes.len()).step_by(28) {
        assert!(verify(&bytes[..length]).is_err(), "cut at {length} of {}", bytes.len());
    }
}

#[test]
fn assembly() {
    check(
        "module asm \"nop\"",
        expect![[r#"
        module: inline assembly
    "#]],
    );
    check_body(
        "call void asm sideeffect \"nop\", \"\"()",
        expect![[r#"
        function 'f': inline assembly in 'call void asm sideeffect "nop", ""()'
    "#]],
    );
}

#[test]
fn aliases_and_indirect_functions() {
    check(
        "@a = alias void (), ptr @f\ndefine void @f() {\n ret void\n}",
        expect![[r#"
        module: 'a' is an alias
    "#]],
    );
    check(
        "@i = ifunc void (), ptr @f\ndefine ptr @f() {\n ret ptr null\n}",
        expect![[r#"
        module: 'i' is an indirect function
    "#]],
    );
}

#[test]
fn variables() {
    check(
        "@g = external global i32",
        expect![[r#"
        global 'g': declared, but nothing defines it
    "#]],
    );
    check(
        "@g = thread_local global i32 0",
        expect![[r#"
        global 'g': thread-local variables do not exist in AIR
    "#]],
    );
    check(
        "@g = addrspace(1) global i32 0",
        expect![[r#"
        global 'g': variables live in address spaces 0, 2 and 3, not 1
    "#]],
    );
    check(
        "@g = addrspace(3) global i32 5",
        expect![[r#"
        global 'g': threadgroup variables have no initial value
    "#]],
    );
    check(
        "@g = global [100000000 x i8] zeroinitializer",
        expect![[r#"
        global 'g' in bytes: 100000000, at most 67108864 allowed
    "#]],
    );
    check(
        "@llvm.global_dtors = appending global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 0, ptr @f, ptr null }]
         define void @f() {\n ret void\n}",
        expect![[r#"
            global 'llvm.global_dtors': nothing runs after a kernel
        "#]],
    );
}

#[test]
fn control_flow_that_air_never_has() {
    check_body(
        "indirectbr ptr blockaddress(@f, %next), [label %next]\nnext:",
        expect![[r#"
        function 'f': an indirect jump in 'indirectbr ptr blockaddress(@f, %next), [label %next]'
    "#]],
    );
    check_body(
        "callbr void asm sideeffect \"nop\", \"!i\"() to label %next [label %next]\nnext:",
        expect![[r#"
        function 'f': a call with several returns in 'callbr void asm sideeffect "nop", "!i"()'
    "#]],
    );
    check(
        "declare i32 @air.max.s.i32(i32, i32)
         declare i32 @__gxx_personality_v0(...)
         define void @f() personality ptr @__gxx_personality_v0 {
           ret void
         }",
        expect![[r#"
            declaration '__gxx_personality_v0': nothing defines this function; AIR knows air.* and llvm.* only
        "#]],
    );
    check(
        "define internal void @g() {\n ret void\n}
         define void @f() personality ptr @g {
           invoke void @g() to label %next unwind label %pad
         next:
           ret void
         pad:
           %x = landingpad { ptr, i32 } cleanup
           ret void
         }",
        expect![[r#"
            function 'f': exception handling in 'invoke void @g()'
        "#]],
    );
    check_body(
        "call void %p()",
        expect![[r#"
            function 'f': an indirect call of something other than a function table's entry in 'call void %p()'
        "#]],
    );
    check(
        "define void @g(i32 %x) {\n ret void\n}\ndefine void @f() {\n call void @g()\n ret void\n}",
        expect![[r#"
            function 'f': a call with another type than the function's in 'call void @g()'
        "#]],
    );
    check(
        "define void @f(...) {\n ret void\n}",
        expect![[r#"
            function 'f': takes variable arguments
        "#]],
    );
    check_body(
        "%x = va_arg ptr %p, i32",
        expect![[r#"
        function 'f': variable arguments in '%x = va_arg ptr %p, i32'
    "#]],
    );
}

#[test]
fn functions_that_air_never_has() {
    check(
        "define x86_intrcc void @f(ptr byval(i32) %p) {\n ret void\n}",
        expect![[r#"
        function 'f': has a calling convention other than LLVM's ccc and fastcc
    "#]],
    );
    check(
        "define void @f() gc \"statepoint-example\" {\n ret void\n}",
        expect![[r#"
        function 'f': has a garbage collector
    "#]],
    );
    check(
        "define void @f() prologue i8 144 {\n ret void\n}",
        expect![[r#"
        function 'f': has data before or at the start of its code
    "#]],
    );
    check(
        "define void @f() prefix i32 1 {\n ret void\n}",
        expect![[r#"
        function 'f': has data before or at the start of its code
    "#]],
    );
}

#[test]
fn storage_of_tensors_has_a_size_that_a_call_computes() {
    let text = |ty: &str, count: &str| {
        format!(
            "declare i16 @air.get_descriptor_size_tensor(i16, i16)
             define void @f(i64 %n) {{
               %s = call i16 @air.get_descriptor_size_tensor(i16 2, i16 4)
               %w = zext i16 %s to i64
               %x = alloca {ty}, {count}, align 8
               ret void
             }}"
        )
    };
    verify(&bitcode(&text("i8", "i64 %w"))).unwrap();
    check(
        &text("i64", "i64 %w"),
        expect![[r#"
            function 'f': stack memory of a size that is not constant in '%x = alloca i64, i64 %w, align 8'
        "#]],
    );
    check(
        &text("i8", "i64 %n"),
        expect![[r#"
            function 'f': stack memory of a size that is not constant in '%x = alloca i8, i64 %n, align 8'
        "#]],
    );
    check(
        "declare i64 @g()\ndefine void @f() {\n %n = call i64 @g()\n %x = alloca i8, i64 %n\n ret void\n}",
        expect![[r#"
            declaration 'g': nothing defines this function; AIR knows air.* and llvm.* only
        "#]],
    );
}

#[test]
fn entry_points_of_tensor_operations_are_those_of_the_table() {
    check(
        "declare void @__tensorops_impl_matmul2d_op_run_cooperative_f64_f64_f64(ptr, ptr, ptr, ptr, i32)",
        expect![[r#"
            declaration '__tensorops_impl_matmul2d_op_run_cooperative_f64_f64_f64': no such function in AIR as far as this program knows it
        "#]],
    );
    check(
        "declare void @__tensorops_impl_matmul2d_op_run_cooperative_f32_f32_f32(ptr, ptr)",
        expect![[r#"
            declaration '__tensorops_impl_matmul2d_op_run_cooperative_f32_f32_f32': has type void (ptr, ptr), expected void (ptr, ptr, ptr, ptr, i32)
        "#]],
    );
}

#[test]
fn sizes() {
    check_body(
        "%x = load [20000 x i32], ptr %p",
        expect![[r#"
        function 'f': a value too large in '%x = load [20000 x i32], ptr %p, align 4'
    "#]],
    );
    check_body(
        "%x = alloca [2000000 x i8]",
        expect![[r#"
        stack memory of function 'f' in bytes: 2000000, at most 1048576 allowed
    "#]],
    );
    check_body(
        "%x = alloca i64, i64 200000",
        expect![[r#"
        stack memory of function 'f' in bytes: 1600000, at most 1048576 allowed
    "#]],
    );
    check_body(
        "%x = alloca [600000 x i8]\n%y = alloca [600000 x i8]",
        expect![[r#"
        stack memory of function 'f' in bytes: 1200000, at most 1048576 allowed
    "#]],
    );
    check_body(
        "%x = alloca i8, i32 %n",
        expect![[r#"
        function 'f': stack memory of a size that is not constant in '%x = alloca i8, i32 %n, align 1'
    "#]],
    );
    check_body(
        "%x = load <100 x float>, ptr %p",
        expect![[r#"
            function 'f': a vector too wide in '%x = load <100 x float>, ptr %p, align 512'
        "#]],
    );
    check_body(
        "%x = load i1024, ptr %p",
        expect![[r#"
            function 'f': an integer too wide in '%x = load i1024, ptr %p, align 4'
        "#]],
    );
    check_body(
        "%x = load x86_fp80, ptr %p",
        expect![[r#"
            function 'f': a type that AIR does not have in '%x = load x86_fp80, ptr %p, align 16'
        "#]],
    );
}

#[test]
fn declarations() {
    check(
        "declare void @puts(ptr)",
        expect![[r#"
        declaration 'puts': nothing defines this function; AIR knows air.* and llvm.* only
    "#]],
    );
    check(
        "declare float @air.frobnicate.f32(float)",
        expect![[r#"
        declaration 'air.frobnicate.f32': no such function in AIR as far as this program knows it
    "#]],
    );
    check(
        "declare float @air.exp.f32(float, float)",
        expect![[r#"
        declaration 'air.exp.f32': has type float (float, float), expected float (float)
    "#]],
    );
    check(
        "declare <2 x half> @air.fmin.v2f16(<2 x half>, half)",
        expect![[r#"
        declaration 'air.fmin.v2f16': has type <2 x half> (<2 x half>, half), expected <2 x half> (<2 x half>, <2 x half>)
    "#]],
    );
    check(
        "declare void @air.simdgroup_matrix_8x8_store.v64f32.p1f32(<64 x float>)",
        expect![[r#"
        declaration 'air.simdgroup_matrix_8x8_store.v64f32.p1f32': has type void (<64 x float>), expected void (<64 x float>, ptr addrspace(1), i64, <2 x i64>, i1) or void (<64 x float>, ptr addrspace(1), <2 x i64>, <2 x i64>, <2 x i64>)
    "#]],
    );
    check(
        "declare void @llvm.trap()",
        expect![[r#"
        declaration 'llvm.trap': this intrinsic of LLVM has no place in AIR
    "#]],
    );
    check(
        "declare ptr @llvm.returnaddress(i32)",
        expect![[r#"
        declaration 'llvm.returnaddress': this intrinsic of LLVM has no place in AIR
    "#]],
    );
    check(
        "declare void @llvm.nosuch(i32)",
        expect![[r#"
        declaration 'llvm.nosuch': this intrinsic of LLVM has no place in AIR
    "#]],
    );
}

/// The verified module as text, without header.
fn verified(ir: &str) -> String {
    let air = verify(&bitcode(ir)).unwrap();
    assert_eq!(verify(air.bitcode()).unwrap(), air, "what is verified passes unchanged");
    let context = Context::new();
    let text = context.parse_bitcode(air.bitcode()).unwrap().to_string();
    let lines = text.lines().filter(|line| !line.starts_with("; ModuleID") && !line.starts_with("source_filename"));
    format!("{}\n", lines.collect::<Vec<_>>().join("\n").trim())
}

#[test]
fn recursion_is_unrolled_and_ends_in_a_trap() {
    expect![[r#"
        define internal float @log_gamma(float %x) {
          %y = call float @gamma.recursion1(float %x)
          ret float %y
        }

        define internal float @gamma(float %x) {
          %y = call float @log_gamma.recursion1(float %x)
          ret float %y
        }

        define void @k(ptr %p) {
          %x = load float, ptr %p, align 4
          %y = call float @gamma(float %x)
          store float %y, ptr %p, align 4
          ret void
        }

        define internal float @log_gamma.recursion1(float %x) {
          %y = call float @gamma.recursion2(float %x)
          ret float %y
        }

        define internal float @gamma.recursion1(float %x) {
          %y = call float @log_gamma.recursion2(float %x)
          ret float %y
        }

        define internal float @log_gamma.recursion2(float %x) {
          %y = call float @gamma.recursion3(float %x)
          ret float %y
        }

        define internal float @gamma.recursion2(float %x) {
          %y = call float @log_gamma.recursion3(float %x)
          ret float %y
        }

        define internal float @log_gamma.recursion3(float %x) {
          call void @openmps_trap()
          ret float 0.000000e+00
        }

        define internal float @gamma.recursion3(float %x) {
          call void @openmps_trap()
          ret float 0.000000e+00
        }

        declare void @openmps_trap()
    "#]]
    .assert_eq(&verified(
        "define internal float @log_gamma(float %x) {\n %y = call float @gamma(float %x)\n ret float %y\n}
         define internal float @gamma(float %x) {\n %y = call float @log_gamma(float %x)\n ret float %y\n}
         define void @k(ptr %p) {
           %x = load float, ptr %p
           %y = call float @gamma(float %x)
           store float %y, ptr %p
           ret void
         }",
    ));
}

#[test]
fn recursion_that_stays() {
    check_body(
        "store ptr @f, ptr %p",
        expect![[r#"
        function 'f' calls itself: 'f' calls 'f'
    "#]],
    );
    check_body(
        "call void @f(ptr @f, i32 0)",
        expect![[r#"
        function 'f' calls itself: 'f' calls 'f'
    "#]],
    );
    // 40 calls on each of four levels would be inlined 40^4 times.
    check_body(
        &"call void @f(ptr %p, i32 0)\n".repeat(40),
        expect![[r#"
        function 'f' calls itself: 'f' calls 'f'
    "#]],
    );
    check(
        &format!(
            "define void @f(ptr %p) {{\n{} ret void\n}}
             define void @g(ptr %p) {{\n call void @h(ptr %p)\n ret void\n}}
             define void @h(ptr %p) {{\n call void @f(ptr %p)\n ret void\n}}",
            "call void @g(ptr %p)\n".repeat(40)
        ),
        expect![[r#"
            function 'f' calls itself: 'f' calls 'g' calls 'h' calls 'f'
        "#]],
    );
}

#[test]
fn recursion_is_looked_at_in_checked_modules_only() {
    check(
        "define i32 @f(i32 %n) {\n call void @f(ptr null)\n ret i32 0\n}",
        expect![[r#"
            function 'f': a call with another type than the function's in 'call void @f(ptr null)'
        "#]],
    );
    check(
        "define void @openmps_trap(i32 %n) {\n ret void\n}\ndefine void @f() {\n call void @f()\n ret void\n}",
        expect![[r#"
            function 'openmps_trap': defines what only the runtime may
        "#]],
    );
}

#[test]
fn chains_of_calls_are_short() {
    let chain: String = (0..600)
        .map(|index| format!("define void @f{index}() {{\n call void @f{}()\n ret void\n}}\n", index + 1))
        .collect();
    check(
        &format!("{chain}define void @f600() {{\n ret void\n}}"),
        expect![[r#"
        calls below function 'f0': 513, at most 512 allowed
    "#]],
    );
}

#[test]
fn groups_of_recursive_functions_are_unrolled_one_by_one() {
    let group = |index: usize| format!("define void @f{index}() {{\n call void @f{index}()\n ret void\n}}\n");
    let text = verified(&(0..3).map(group).collect::<String>());
    assert_eq!(text.matches("call void @openmps_trap()").count(), 3);
    check(
        &(0..65).map(group).collect::<String>(),
        expect![[r#"
        groups of recursive functions: 65, at most 64 allowed
    "#]],
    );
}

#[test]
fn many_calls_of_one_function_are_no_recursion() {
    let calls = "call void @g()\n".repeat(3);
    let ir = format!(
        "define void @f() {{\n{calls} ret void\n}}\ndefine void @h() {{\n{calls} ret void\n}}\ndefine void @g() {{\n ret void\n}}"
    );
    verify(&bitcode(&ir)).unwrap();
}

#[test]
fn kernels_that_reflection_refuses() {
    check(
        "declare void @air.wg.barrier(i32, i32)\n!air.kernel = !{!0}\n!0 = !{ptr @air.wg.barrier, !1, !1}\n!1 = !{}",
        expect![[r#"
            kernel 'air.wg.barrier': declared, but not defined
        "#]],
    );
}
