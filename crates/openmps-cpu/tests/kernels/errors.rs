//! What goes wrong, and what it says.

use openmps_engine::{Binding, Bindings, BufferIndex, Builtin, EngineError};

use crate::harness::{bind, buffer, builtin, compile, dispatch, reference, threadgroup, try_compile, try_dispatch};

const STORE: &str = "
define void @k(ptr addrspace(1) %out, ptr addrspace(1) %unused, i32 %at) {
  %l = zext i32 %at to i64
  %q = getelementptr i32, ptr addrspace(1) %out, i64 %l
  store i32 %at, ptr addrspace(1) %q
  ret void
}";

fn message(result: Result<impl Sized, EngineError>) -> String {
    result.err().expect("this kernel must be refused").to_string()
}

#[test]
fn kernels_that_do_not_exist() {
    let text = STORE.replace("@k(", "@other(");
    assert_eq!(message(try_compile(&text, &[buffer(0)])), "no kernel named 'k'");
}

#[test]
fn unknown_functions_are_named() {
    let text = "declare float @air.frobnicate.f32(float)
define void @k(ptr addrspace(1) %out) {
  %r = call float @air.frobnicate.f32(float 1.0)
  store float %r, ptr addrspace(1) %out
  ret void
}";
    let error = message(try_compile(text, &[buffer(0)]));
    assert_eq!(error, "kernel 'k': air.frobnicate.f32 of type float (float) has no lowering");
    let text = text.replace("air.frobnicate.f32", "surprise");
    assert_eq!(message(try_compile(&text, &[buffer(0)])), "kernel 'k': it calls 'surprise', which nothing defines");
}

#[test]
fn only_what_the_kernel_reaches_counts() {
    let text = format!(
        "{STORE}
declare float @air.frobnicate.f32(float)
define void @other(ptr addrspace(1) %out) {{
  %r = call float @air.frobnicate.f32(float 1.0)
  store float %r, ptr addrspace(1) %out
  ret void
}}"
    );
    compile(&text, &[buffer(0), buffer(1), builtin(Builtin::ThreadPositionInGrid, 1)]);
}

#[test]
fn signatures_that_do_not_fit() {
    let kinds = [buffer(0), buffer(1), builtin(Builtin::ThreadPositionInGrid, 2)];
    assert_eq!(message(try_compile(STORE, &kinds)), "kernel 'k': argument 'a2' has an unexpected type");
    let error = message(try_compile(STORE, &kinds[..2]));
    assert_eq!(error, "kernel 'k': the function has 3 parameters, its signature 2");
}

#[test]
fn memory_over_the_limits() {
    let text = "@shared = internal addrspace(3) global [40000 x i8] undef
define void @k(ptr addrspace(1) %out) {
  store i8 1, ptr addrspace(3) @shared
  %v = load volatile i8, ptr addrspace(3) @shared
  store i8 %v, ptr addrspace(1) %out
  ret void
}";
    let error = message(try_compile(text, &[buffer(0)]));
    assert_eq!(error, "kernel 'k': 40000 bytes of threadgroup memory, the limit is 32768");
    let text = "define void @k(ptr addrspace(1) %out) {
  %a = alloca [2000000 x i8]
  %i = load i64, ptr addrspace(1) %out
  %p = getelementptr i8, ptr %a, i64 %i
  store volatile i8 1, ptr %p
  ret void
}";
    let error = message(try_compile(text, &[buffer(0)]));
    assert_eq!(error, "kernel 'k': 2000000 bytes of private memory for each thread, the limit is 1048576");
}

#[test]
fn dispatches_that_cannot_run() {
    let at = builtin(Builtin::ThreadPositionInGrid, 1);
    let kernel = compile(STORE, &[reference(3, Some(8)), buffer(1), at]);
    let mut bindings = Bindings::default();
    let error = try_dispatch(&*kernel, &bindings, [1, 1, 1], [1, 1, 1]).unwrap_err();
    assert_eq!(error.to_string(), "kernel 'k': nothing is bound at buffer index 3 (argument 'a0')");
    let mut small = [0_u32; 1];
    bind(&mut bindings, 3, &mut small);
    let error = try_dispatch(&*kernel, &bindings, [1, 1, 1], [1, 1, 1]).unwrap_err();
    assert!(error.to_string().contains("has 4 bytes, but its type  needs 8"), "{error}");
    let mut output = [7_u32; 4];
    bind(&mut bindings, 3, &mut output);
    let error = try_dispatch(&*kernel, &bindings, [4, 1, 1], [64, 32, 1]).unwrap_err();
    assert_eq!(error.to_string(), "kernel 'k': threadgroup size [64, 32, 1] has 2048 threads, the limit is 1024");
    // After all these errors the kernel runs, and the unused buffer 1 needs no binding.
    dispatch(&*kernel, &bindings, [4, 1, 1], [4, 1, 1]);
    assert_eq!(output, [0, 1, 2, 3]);
}

#[test]
fn recursion_that_is_too_deep_fails_its_launch_only() {
    let text = "declare void @openmps_trap()
define void @k(ptr addrspace(1) %out) {
  %depth = load i32, ptr addrspace(1) %out
  %deep = icmp sgt i32 %depth, 3
  br i1 %deep, label %trap, label %end
trap:
  call void @openmps_trap()
  br label %end
end:
  store i32 1, ptr addrspace(1) %out
  ret void
}";
    let kernel = compile(text, &[buffer(0)]);
    let mut output = [9_u32];
    let mut bindings = Bindings::default();
    bind(&mut bindings, 0, &mut output);
    let error = try_dispatch(&*kernel, &bindings, [1, 1, 1], [1, 1, 1]).unwrap_err();
    assert_eq!(error.to_string(), "kernel 'k': functions call each other more deeply than they are compiled for");
    // The kernel went on, so that the depth is 1 now, and nothing is left of the error.
    dispatch(&*kernel, &bindings, [1, 1, 1], [1, 1, 1]);
    assert_eq!(output, [1]);
}

#[test]
fn null_buffers_can_be_bound() {
    let at = builtin(Builtin::ThreadPositionInGrid, 1);
    let kernel = compile(STORE, &[buffer(0), buffer(1), at]);
    let mut bindings = Bindings::default();
    bindings.set(BufferIndex(0), Binding::Null);
    dispatch(&*kernel, &bindings, [1, 1, 1], [1, 1, 1]);
}

#[test]
fn dynamic_threadgroup_memory_must_be_sized() {
    let text = "define void @k(ptr addrspace(3) %shared, ptr addrspace(1) %out) {
  store volatile i32 5, ptr addrspace(3) %shared
  %v = load volatile i32, ptr addrspace(3) %shared
  store i32 %v, ptr addrspace(1) %out
  ret void
}";
    let kernel = compile(text, &[threadgroup(0), buffer(0)]);
    let mut output = [0_u32];
    let mut bindings = Bindings::default();
    bind(&mut bindings, 0, &mut output);
    let error = try_dispatch(&*kernel, &bindings, [1, 1, 1], [1, 1, 1]).unwrap_err();
    assert_eq!(error.to_string(), "kernel 'k': nothing is bound at buffer index 0 (argument 'a0')");
    bindings.set(BufferIndex(0), Binding::ThreadgroupMemory { size_bytes: 4 });
    dispatch(&*kernel, &bindings, [1, 1, 1], [1, 1, 1]);
    assert_eq!(output, [5]);
}
