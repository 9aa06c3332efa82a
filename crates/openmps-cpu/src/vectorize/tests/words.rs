//! Atomic operations on neighbours in device memory.

use openmps_llvm::{CodeGenLevel, TargetMachine};

use super::vectorized_for;

#[test]
fn neighbours_in_device_memory_are_modified_by_words() {
    let modify = |operation: &str, use_of_old: &str| {
        let machine =
            TargetMachine::new("x86_64-pc-linux-gnu", "x86-64-v3", "+cx16,+avx", CodeGenLevel::Default).unwrap();
        vectorized_for(
            &machine,
            &format!(
                "  %at = zext nneg i32 %x to i64
  %a = getelementptr i32, ptr %p, i64 %at
  %t = load ptr addrspace(1), ptr %p, !invariant.load !0
  %place = getelementptr i32, ptr addrspace(1) %t, i64 %at
  %old = atomicrmw {operation} monotonic
  {use_of_old}
  ret void"
            ),
        )
    };
    let text = modify("add ptr addrspace(1) %place, i32 7", "");
    assert_eq!(text.matches("cmpxchg ptr addrspace(1)").count(), 1, "{text}");
    assert!(text.contains("load atomic i128") && text.contains("add <4 x i32>"), "{text}");
    let text = modify("fadd ptr addrspace(1) %place, float 1.0", "");
    assert!(text.contains("fadd <4 x float>"), "{text}");
    let text = modify("umax ptr addrspace(1) %place, i32 %x", "");
    assert!(text.contains("@llvm.umax.v4i32"), "{text}");
    // Old values that somebody wants, and elements apart.
    let text = modify("add ptr addrspace(1) %place, i32 7", "store i32 %old, ptr %a");
    assert!(!text.contains("cmpxchg"), "{text}");
    let text = modify("add ptr addrspace(1) %place, i64 7", "");
    assert!(!text.contains("cmpxchg"), "the step is not that of the elements: {text}");
    // Any CPU has exchanges of 8 bytes.
    let machine = TargetMachine::generic(CodeGenLevel::Default).unwrap();
    let text = vectorized_for(
        &machine,
        "  %at = zext nneg i32 %x to i64
  %t = load ptr addrspace(1), ptr %p, !invariant.load !0
  %place = getelementptr i32, ptr addrspace(1) %t, i64 %at
  %old = atomicrmw add ptr addrspace(1) %place, i32 7 monotonic
  ret void",
    );
    assert!(text.contains("load atomic i64") && text.contains("add <2 x i32>"), "{text}");
}
