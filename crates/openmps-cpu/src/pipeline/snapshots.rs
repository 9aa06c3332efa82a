//! What each pass leaves of small kernels, in both engines: a changed list of passes, or a pass that does more or less than before,
//! changes a snapshot.

use std::fmt::Write as _;
use std::fs;

use expect_test::{Expect, expect};
use openmps_engine::{EngineChoice, EngineOptions};
use openmps_llvm::{CodeGenLevel, Context, TargetMachine};

use super::{Waiting, emit_for};

/// Doubles elements.
pub(super) const LOOP: &str = "
define void @k(ptr addrspace(1) %x, i32 %at) {
  %l = zext i32 %at to i64
  %p = getelementptr float, ptr addrspace(1) %x, i64 %l
  %v = load float, ptr addrspace(1) %p
  %d = fmul float %v, 2.0
  store float %d, ptr addrspace(1) %p
  ret void
}";

/// Reads before a barrier and writes behind it.
pub(super) const STEP: &str = "
declare void @air.wg.barrier(i32, i32) convergent
define void @k(ptr addrspace(1) %x, i32 %at) {
  %l = zext i32 %at to i64
  %p = getelementptr float, ptr addrspace(1) %x, i64 %l
  %v = load float, ptr addrspace(1) %p
  call void @air.wg.barrier(i32 1, i32 1)
  %other = xor i64 %l, 1
  %q = getelementptr float, ptr addrspace(1) %x, i64 %other
  store float %v, ptr addrspace(1) %q
  ret void
}";

/// Adds the sum of the SIMD-group.
pub(super) const LANES: &str = "
declare float @air.simd_sum.f32(float) convergent
define void @k(ptr addrspace(1) %x, i32 %at) {
  %l = zext i32 %at to i64
  %p = getelementptr float, ptr addrspace(1) %x, i64 %l
  %v = load float, ptr addrspace(1) %p
  %sum = call float @air.simd_sum.f32(float %v)
  %d = fadd float %v, %sum
  store float %d, ptr addrspace(1) %p
  ret void
}";

/// With what a front end says of kernel `k`.
pub(super) fn with_metadata(text: &str) -> String {
    format!(
        "{text}
!air.kernel = !{{!0}}
!0 = !{{ptr @k, !1, !2}}
!1 = !{{}}
!2 = !{{!3, !4}}
!3 = !{{i32 0, !\"air.buffer\", !\"air.location_index\", i32 0, i32 1, !\"air.read_write\", !\"air.address_space\", i32 1, \
         !\"air.arg_type_name\", !\"float\", !\"air.arg_name\", !\"x\"}}
!4 = !{{i32 1, !\"air.thread_position_in_grid\", !\"air.arg_type_name\", !\"uint\", !\"air.arg_name\", !\"at\"}}"
    )
}

/// A line a pass: its name, and each function with its instructions and how many of them make vectors of 32.
fn passes(name: &str, text: &str, engine: EngineChoice) -> String {
    let folder = std::env::temp_dir().join(format!("openmps-snapshots-{}-{name}", std::process::id()));
    let context = Context::new();
    let module = context.parse_ir(&with_metadata(text)).unwrap();
    let (air, kernels) = openmps_air::verify_and_reflect(module.write_bitcode().as_bytes()).unwrap();
    let dump_dir = Some(folder.to_string_lossy().into_owned());
    let options = EngineOptions { dump_dir, verify_each_pass: true, engine, ..EngineOptions::default() };
    // The same on every machine.
    let machine = TargetMachine::new("x86_64-unknown-linux-gnu", "x86-64-v3", "", CodeGenLevel::Default).unwrap();
    emit_for(&machine, &air, &kernels[0], &options, Waiting::Split, TargetMachine::emit_object).unwrap();
    let mut files: Vec<_> = fs::read_dir(folder.join("k")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut found = String::new();
    for file in files {
        let stage = file.file_stem().unwrap().to_string_lossy().into_owned();
        let _ = write!(found, "{}:", stage.replace("-after-", " "));
        let context = Context::new();
        let module = context.parse_ir(&fs::read_to_string(&file).unwrap()).unwrap();
        for function in module.functions().into_iter().filter(|function| !function.is_declaration()) {
            let instructions = function.instructions();
            let wide = instructions.iter().filter(|it| it.ty().lanes() == 32).count();
            let _ = write!(found, " {} {}", function.name(), instructions.len());
            if wide > 0 {
                let _ = write!(found, " ({wide} wide)");
            }
        }
        found.push('\n');
    }
    fs::remove_dir_all(&folder).unwrap();
    found
}

fn check(name: &str, text: &str, engine: EngineChoice, expected: &Expect) {
    expected.assert_eq(&passes(name, text, engine));
}

#[test]
fn scalar_code_of_straight_kernels() {
    check(
        "loop",
        LOOP,
        EngineChoice::Scalar,
        &expect![[r#"
            00 load: k 6
            01 isolate: openmps_air_kernel 6
            02 tables: openmps_air_kernel 6
            03 alignment: openmps_air_kernel 6
            04 division: openmps_air_kernel 6
            05 arithmetic: openmps_air_kernel 6
            06 lower: openmps_air_kernel 6
            07 inline: openmps_kernel 87
            08 threadgroup: openmps_kernel 87
            09 stack: openmps_kernel 87
            10 optimize: openmps_kernel 117
        "#]],
    );
}

#[test]
fn scalar_code_between_barriers() {
    check(
        "step",
        STEP,
        EngineChoice::Scalar,
        &expect![[r#"
            00 load: k 8
            01 isolate: openmps_air_kernel 8
            02 tables: openmps_air_kernel 8
            03 alignment: openmps_air_kernel 8
            04 division: openmps_air_kernel 8
            05 arithmetic: openmps_air_kernel 8
            06 lower: openmps_air_kernel 8 air.wg.barrier 2
            07 inline: openmps_step 68
            08 threadgroup: openmps_step 68
            09 stack: openmps_step 68
            10 barriers: openmps_kernel 88
            11 optimize: openmps_kernel 77
        "#]],
    );
}

#[test]
fn scalar_code_of_fibers() {
    check(
        "fiber",
        LANES,
        EngineChoice::Scalar,
        &expect![[r#"
        00 load: k 7
        01 isolate: openmps_air_kernel 7
        02 tables: openmps_air_kernel 7
        03 alignment: openmps_air_kernel 7
        04 division: openmps_air_kernel 7
        05 arithmetic: openmps_air_kernel 7
        06 lower: openmps_air_kernel 7 air.simd_sum.f32 11
        07 inline: openmps_kernel 83
        08 turns: openmps_kernel 83
        09 threadgroup: openmps_kernel 83
        10 stack: openmps_kernel 83
        11 optimize: openmps_kernel 27
    "#]],
    );
}

#[test]
fn vector_code_of_straight_kernels() {
    check(
        "vector-loop",
        LOOP,
        EngineChoice::Vector,
        &expect![[r#"
            00 load: k 6
            01 isolate: openmps_air_kernel 6
            02 tables: openmps_air_kernel 6
            03 alignment: openmps_air_kernel 6
            04 division: openmps_air_kernel 6
            05 arithmetic: openmps_air_kernel 6
            06 lower: openmps_air_kernel 6
            07 inline: openmps_kernel 65
            08 threadgroup: openmps_kernel 65
            09 stack: openmps_kernel 65
            10 before-vectorize: openmps_kernel 14
            11 vectorize: openmps_lanes 36 (8 wide)
            12 optimize: openmps_kernel 49 (7 wide)
        "#]],
    );
}

#[test]
fn vector_code_between_barriers() {
    check(
        "vector-step",
        STEP,
        EngineChoice::Vector,
        &expect![[r#"
            00 load: k 8
            01 isolate: openmps_air_kernel 8
            02 tables: openmps_air_kernel 8
            03 alignment: openmps_air_kernel 8
            04 division: openmps_air_kernel 8
            05 arithmetic: openmps_air_kernel 8
            06 lower: openmps_air_kernel 8 air.wg.barrier 2
            07 inline: openmps_kernel 67
            08 threadgroup: openmps_kernel 67
            09 stack: openmps_kernel 67
            10 before-vectorize: openmps_kernel 16
            11 vectorize: openmps_lanes 77 (24 wide)
            12 barriers: openmps_step 23 (7 wide) openmps_kernel 64
            13 bounds: openmps_kernel 77 (7 wide)
            14 memories: openmps_kernel 77 (7 wide)
            15 optimize: openmps_kernel 86 (7 wide)
        "#]],
    );
}

#[test]
fn vector_code_of_lane_operations() {
    check(
        "vector-lanes",
        LANES,
        EngineChoice::Auto,
        &expect![[r#"
            00 load: k 7
            01 isolate: openmps_air_kernel 7
            02 tables: openmps_air_kernel 7
            03 alignment: openmps_air_kernel 7
            04 division: openmps_air_kernel 7
            05 arithmetic: openmps_air_kernel 7
            06 lower: openmps_air_kernel 7 air.simd_sum.f32 2
            07 inline: openmps_kernel 67
            08 threadgroup: openmps_kernel 67
            09 stack: openmps_kernel 67
            10 before-vectorize: openmps_kernel 16
            11 vectorize: openmps_lanes 74 (13 wide)
            12 optimize: openmps_kernel 83 (10 wide)
        "#]],
    );
}
