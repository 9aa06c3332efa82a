//! Code for another CPU than this one: what x86-64 hides about the order of memory, SIMD-groups on NEON and SVE. What is inlined.

use openmps_engine::{EngineChoice, EngineOptions};
use openmps_llvm::{CodeGenLevel, Context, TargetMachine};

use super::{Waiting, emit_for};
use crate::pipeline::snapshots::{LANES, LOOP, STEP, with_metadata};

const ARM_TRIPLE: &str = "aarch64-unknown-linux-gnu";

/// A threadgroup publishes a value and then a flag, as decoupled scans do without a fence (AIR 2.6) and with one (AIR 2.8).
const PUBLISH: &str = r#"
    declare i32 @air.atomic.global.load.i32(ptr addrspace(1), i32, i32, i1)
    declare void @air.atomic.global.store.i32(ptr addrspace(1), i32, i32, i32, i1)
    declare i32 @air.atomic.global.add.u.i32(ptr addrspace(1), i32, i32, i32, i1)
    declare i32 @air.atomic.global.cmpxchg.weak.i32(ptr addrspace(1), ptr, i32, i32, i32, i32, i1)
    declare void @air.atomic.fence(i32, i32, i32)
    define void @publish(ptr addrspace(1) %x) {
      BODY
      ret void
    }
    !air.kernel = !{!0}
    !0 = !{ptr @publish, !1, !2}
    !1 = !{}
    !2 = !{!3}
    !3 = !{i32 0, !"air.buffer", !"air.location_index", i32 0, i32 1, !"air.read_write", !"air.address_space", i32 1, !"air.arg_type_name", !"uint", !"air.arg_name", !"x"}"#;

/// Assembly of the kernel with this body, for a server's ARM CPU.
fn arm(body: &str) -> String {
    let context = Context::new();
    let module = context.parse_ir(&PUBLISH.replace("BODY", body)).unwrap();
    let (air, kernels) = openmps_air::verify_and_reflect(module.write_bitcode().as_bytes()).unwrap();
    let machine = TargetMachine::new(ARM_TRIPLE, "neoverse-n1", "", CodeGenLevel::Default).unwrap();
    let options = EngineOptions::default();
    let text = emit_for(&machine, &air, &kernels[0], &options, Waiting::Split, TargetMachine::emit_assembly).unwrap();
    String::from_utf8(text.as_bytes().to_vec()).unwrap()
}

fn check(body: &str, instructions: &[&str]) {
    let text = arm(body);
    let found = |names: &str| names.split('|').any(|name| text.lines().any(|line| line.trim_start().starts_with(name)));
    for names in instructions {
        assert!(found(names), "{body}: no {names} in\n{text}");
    }
}

#[test]
fn relaxed_atomics_order_other_memory_on_arm() {
    // The load is used, else it would go.
    let load = "%v = call i32 @air.atomic.global.load.i32(ptr addrspace(1) %x, i32 0, i32 2, i1 true)
      %p = getelementptr i32, ptr addrspace(1) %x, i32 1
      store i32 %v, ptr addrspace(1) %p";
    check(load, &["ldapr|ldar"]);
    check("call void @air.atomic.global.store.i32(ptr addrspace(1) %x, i32 7, i32 0, i32 2, i1 true)", &["stlr"]);
    let add = "%old = call i32 @air.atomic.global.add.u.i32(ptr addrspace(1) %x, i32 1, i32 0, i32 2, i1 true)
      %p = getelementptr i32, ptr addrspace(1) %x, i32 1
      store i32 %old, ptr addrspace(1) %p";
    check(add, &["ldaddal"]);
    let exchange = "%e = alloca i32
      store i32 3, ptr %e
      %old = call i32 @air.atomic.global.cmpxchg.weak.i32(ptr addrspace(1) %x, ptr %e, i32 5, i32 0, i32 0, i32 2, i1 true)
      %p = getelementptr i32, ptr addrspace(1) %x, i32 1
      store i32 %old, ptr addrspace(1) %p";
    check(exchange, &["casal"]);
}

#[test]
fn a_fence_of_the_device_is_one_on_arm() {
    let fenced = "store i32 1, ptr addrspace(1) %x
      call void @air.atomic.fence(i32 1, i32 5, i32 2)
      %p = getelementptr i32, ptr addrspace(1) %x, i32 1
      store i32 2, ptr addrspace(1) %p";
    check(fenced, &["dmb\tish"]);
}

/// Assembly of a kernel that calls a function of 200 multiplications and additions `calls` times.
fn calling(calls: usize) -> String {
    use std::fmt::Write as _;

    let mut text = String::from("define internal float @large(float %v0) {\n");
    for step in 0..200 {
        let _ = writeln!(text, "  %m{step} = fmul float %v{step}, 0x3FF{:03x}0000000000", step + 1);
        let _ = writeln!(text, "  %v{} = fadd float %m{step}, %v0", step + 1);
    }
    text.push_str(
        "  ret float %v200\n}\ndefine void @k(ptr addrspace(1) %x) {\n  %r0 = load float, ptr addrspace(1) %x\n",
    );
    for call in 0..calls {
        let _ = writeln!(text, "  %r{} = call float @large(float %r{call})", call + 1);
    }
    let _ = writeln!(text, "  store float %r{calls}, ptr addrspace(1) %x\n  ret void\n}}");
    let metadata = PUBLISH.split_once("!air.kernel").unwrap().1.replace("@publish", "@k").replace("uint", "float");
    let _ = writeln!(text, "!air.kernel{metadata}");
    let context = Context::new();
    let module = context.parse_ir(&text).unwrap();
    let (air, kernels) = openmps_air::verify_and_reflect(module.write_bitcode().as_bytes()).unwrap();
    let machine = TargetMachine::generic(CodeGenLevel::Default).unwrap();
    let options = EngineOptions::default();
    let text = emit_for(&machine, &air, &kernels[0], &options, Waiting::Split, TargetMachine::emit_assembly).unwrap();
    String::from_utf8(text.as_bytes().to_vec()).unwrap()
}

#[test]
fn large_functions_stay_out_of_line_where_the_code_would_be_large() {
    let multiplications = |text: &str| text.matches("mulss").count();
    let (few, many) = (calling(3), calling(20));
    assert_eq!(multiplications(&few), 600, "{few}");
    assert_eq!(multiplications(&many), 200, "{many}");
}

/// Assembly of a kernel of the snapshots for `cpu`.
fn arm_vectors(text: &str, cpu: &str, engine: EngineChoice) -> String {
    let context = Context::new();
    let module = context.parse_ir(&with_metadata(text)).unwrap();
    let (air, kernels) = openmps_air::verify_and_reflect(module.write_bitcode().as_bytes()).unwrap();
    let machine = TargetMachine::new(ARM_TRIPLE, cpu, "", CodeGenLevel::Default).unwrap();
    let options = EngineOptions { engine, verify_each_pass: true, ..EngineOptions::default() };
    let text = emit_for(&machine, &air, &kernels[0], &options, Waiting::Split, TargetMachine::emit_assembly).unwrap();
    String::from_utf8(text.as_bytes().to_vec()).unwrap()
}

#[test]
fn simdgroups_are_vectors_on_arm_too() {
    for cpu in ["neoverse-n1", "neoverse-v2", "apple-m1"] {
        for text in [LOOP, STEP, LANES] {
            let vector = arm_vectors(text, cpu, EngineChoice::Vector);
            // Code that moves numbers alone names whole registers.
            assert!([".4s", "\tq0"].iter().any(|part| vector.contains(part)), "{cpu}: no vectors in\n{vector}");
            assert!(arm_vectors(text, cpu, EngineChoice::Scalar).contains("openmps_kernel:"));
        }
    }
}
