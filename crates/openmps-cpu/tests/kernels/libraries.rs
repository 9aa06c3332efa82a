//! What kernels of Apple's libraries do and kernels from source rarely: copies by a whole SIMD-group, empty function tables,
//! arguments that a function constant turned off, and scans whose threadgroups wait for each other.

use openmps_engine::{ArgumentKind, Bindings, BufferIndex, Builtin, Presence};

use crate::harness::{Random, air, bind, buffer, builtin, compile, dispatch, signature, try_dispatch};
use openmps_cpu::{CpuEngine, LlvmCodeGenerator};
use openmps_engine::{Engine, EngineOptions};

/// Copies a 3x2 tile out of a matrix with rows of `stride`, into one with rows of 4 and a tile of 4x3.
fn copy_text(mode: u32) -> String {
    format!(
        "declare ptr @air.simdgroup_async_copy_2d.p1i8.p3i8(i64, i64, ptr addrspace(1), i64, i64, <2 x i64>, ptr addrspace(3), i64, i64, <2 x i64>, <2 x i64>, i32) convergent
declare ptr @air.simdgroup_async_copy_2d.p3i8.p1i8(i64, i64, ptr addrspace(3), i64, i64, <2 x i64>, ptr addrspace(1), i64, i64, <2 x i64>, <2 x i64>, i32) convergent
declare void @air.wait_simdgroup_events(i32, ptr) convergent
@tile = internal addrspace(3) global [12 x i32] undef
define void @k(ptr addrspace(1) %out, ptr addrspace(1) %in) {{
  %events = alloca ptr
  %one = call ptr @air.simdgroup_async_copy_2d.p3i8.p1i8(i64 4, i64 4, ptr addrspace(3) @tile, i64 4, i64 1, <2 x i64> <i64 4, i64 3>, ptr addrspace(1) %in, i64 5, i64 1, <2 x i64> <i64 3, i64 2>, <2 x i64> zeroinitializer, i32 {mode})
  store ptr %one, ptr %events
  call void @air.wait_simdgroup_events(i32 1, ptr %events)
  %two = call ptr @air.simdgroup_async_copy_2d.p1i8.p3i8(i64 4, i64 4, ptr addrspace(1) %out, i64 4, i64 1, <2 x i64> <i64 4, i64 3>, ptr addrspace(3) @tile, i64 4, i64 1, <2 x i64> <i64 4, i64 3>, <2 x i64> zeroinitializer, i32 0)
  ret void
}}"
    )
}

#[test]
fn a_simdgroup_copies_a_tile_once_and_fills_what_is_outside() {
    let mut random = Random::fresh();
    let mut input: Vec<u32> = (0..10).map(|_| random.bits32()).collect();
    let at = |x: usize, y: usize| input[5 * y + x];
    let zeros: Vec<u32> =
        (0..12).map(|place| if place % 4 < 3 && place / 4 < 2 { at(place % 4, place / 4) } else { 0 }).collect();
    let edges: Vec<u32> = (0..12).map(|place| at((place % 4).min(2), (place / 4).min(1))).collect();
    for (mode, expected) in [(0, zeros), (1, edges)] {
        let kernel = compile(&copy_text(mode), &[buffer(0), buffer(1)]);
        let mut output = vec![7_u32; 12];
        let mut bindings = Bindings::default();
        bind(&mut bindings, 0, &mut output);
        bind(&mut bindings, 1, &mut input);
        dispatch(&*kernel, &bindings, [32, 1, 1], [32, 1, 1]);
        assert_eq!(output, expected, "clamp mode {mode}");
    }
}

#[test]
fn a_call_through_an_empty_function_table_ends_the_dispatch() {
    let text = "declare ptr @air.get_function_pointer_visible_function_table(ptr addrspace(1), i32)
define void @k(ptr addrspace(1) %out, ptr addrspace(1) %table) {
  %entry = call ptr @air.get_function_pointer_visible_function_table(ptr addrspace(1) %table, i32 0)
  %x = call i32 %entry(i32 5)
  store i32 %x, ptr addrspace(1) %out
  ret void
}";
    let table = ArgumentKind::VisibleFunctionTable { index: BufferIndex(1) };
    let kernel = compile(text, &[buffer(0), table]);
    let mut output = [1_u32];
    let mut bindings = Bindings::default();
    bind(&mut bindings, 0, &mut output);
    let error = try_dispatch(&*kernel, &bindings, [1, 1, 1], [1, 1, 1]).unwrap_err();
    let expected = "kernel 'k': it calls a function of a visible function table, which has none";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn an_absent_argument_is_zeros_that_may_be_loaded() {
    let text = "define void @k(ptr addrspace(1) %out, ptr addrspace(1) dereferenceable(100000) %bias) {
  %last = getelementptr i8, ptr addrspace(1) %bias, i64 99996
  %x = load i32, ptr addrspace(1) %last
  store i32 %x, ptr addrspace(1) %out
  ret void
}";
    let mut signature = signature("k", &[buffer(0), crate::harness::reference(1, Some(100_000))]);
    signature.arguments[1].presence = Presence::Absent;
    let engine = CpuEngine::new(std::sync::Arc::new(LlvmCodeGenerator));
    let kernel = engine.compile(&air(text), &signature, &EngineOptions::default()).unwrap();
    let mut output = [1_u32];
    let mut bindings = Bindings::default();
    bind(&mut bindings, 0, &mut output);
    dispatch(&*kernel, &bindings, [1, 1, 1], [1, 1, 1]);
    assert_eq!(output, [0]);
}

/// Each threadgroup takes a ticket, waits until the one before has published its sum, and publishes its own: a value, then a
/// flag, in two words and without a fence.
const LOOK_BACK: &str = "declare i32 @air.atomic.global.add.u.i32(ptr addrspace(1), i32, i32, i32, i1)
declare i32 @air.atomic.global.load.i32(ptr addrspace(1), i32, i32, i1)
declare void @air.atomic.global.store.i32(ptr addrspace(1), i32, i32, i32, i1)
declare void @air.wg.barrier(i32, i32) convergent
define void @k(ptr addrspace(1) %values, ptr addrspace(1) %flags, ptr addrspace(1) %counter, i32 %thread) {
  %first = icmp eq i32 %thread, 0
  br i1 %first, label %take, label %end
take:
  %ticket = call i32 @air.atomic.global.add.u.i32(ptr addrspace(1) %counter, i32 1, i32 0, i32 2, i1 true)
  %begin = icmp eq i32 %ticket, 0
  %before = sub i32 %ticket, 1
  br i1 %begin, label %publish, label %wait
wait:
  %flag.at = getelementptr i32, ptr addrspace(1) %flags, i32 %before
  %flag = call i32 @air.atomic.global.load.i32(ptr addrspace(1) %flag.at, i32 0, i32 2, i1 true)
  %ready = icmp eq i32 %flag, 1
  br i1 %ready, label %read, label %wait
read:
  %sum.at = getelementptr i32, ptr addrspace(1) %values, i32 %before
  %sum = call i32 @air.atomic.global.load.i32(ptr addrspace(1) %sum.at, i32 0, i32 2, i1 true)
  br label %publish
publish:
  %prefix = phi i32 [ 0, %take ], [ %sum, %read ]
  %total = add i32 %prefix, %ticket
  %value.at = getelementptr i32, ptr addrspace(1) %values, i32 %ticket
  call void @air.atomic.global.store.i32(ptr addrspace(1) %value.at, i32 %total, i32 0, i32 2, i1 true)
  %own.at = getelementptr i32, ptr addrspace(1) %flags, i32 %ticket
  call void @air.atomic.global.store.i32(ptr addrspace(1) %own.at, i32 1, i32 0, i32 2, i1 true)
  br label %end
end:
  call void @air.wg.barrier(i32 2, i32 1)
  ret void
}";

#[test]
fn threadgroups_that_wait_for_earlier_tickets_make_progress() {
    const GROUPS: u32 = 500;
    let place = builtin(Builtin::ThreadIndexInThreadgroup, 1);
    let kernel = compile(LOOK_BACK, &[buffer(0), buffer(1), buffer(2), place]);
    let (mut values, mut flags, mut counter) = (vec![0_u32; 500], vec![0_u32; 500], [0_u32]);
    let mut bindings = Bindings::default();
    bind(&mut bindings, 0, &mut values);
    bind(&mut bindings, 1, &mut flags);
    bind(&mut bindings, 2, &mut counter);
    dispatch(&*kernel, &bindings, [GROUPS * 4, 1, 1], [4, 1, 1]);
    let expected: Vec<u32> = (0..GROUPS).map(|ticket| ticket * (ticket + 1) / 2).collect();
    assert_eq!(values, expected);
}
