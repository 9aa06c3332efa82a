//! Counting kernels: what is counted where, and that the module is still AIR.

use super::*;
use crate::verify_and_reflect;

/// `for (n = 0; n < 3; n++) out[i] += fma(x, x, helper(x))`, with lines.
const LOOP: &str = r#"
    declare float @air.fma.f32(float, float, float)
    declare void @air.wg.barrier(i32, i32)
    define internal float @helper(float %v) noinline !dbg !20 {
      %w = fmul float %v, 2.0, !dbg !21
      ret float %w, !dbg !21
    }
    define void @k(ptr addrspace(1) %out, ptr addrspace(2) %x) !dbg !10 {
    entry:
      %variable = alloca i32
      store i32 0, ptr %variable, !dbg !11
      br label %loop, !dbg !11
    loop:
      %n = load i32, ptr %variable, !dbg !11
      %v = load float, ptr addrspace(2) %x, !dbg !12
      %h = call float @helper(float %v), !dbg !12
      %f = call float @air.fma.f32(float %v, float %v, float %h), !dbg !12
      store float %f, ptr addrspace(1) %out, !dbg !12
      %next = add i32 %n, 1, !dbg !11
      store i32 %next, ptr %variable, !dbg !11
      %more = icmp ult i32 %next, 3, !dbg !11
      br i1 %more, label %loop, label %end, !dbg !11
    end:
      call void @air.wg.barrier(i32 2, i32 1), !dbg !13
      ret void, !dbg !13
    }
    !air.kernel = !{!0}
    !0 = !{ptr @k, !1, !2}
    !1 = !{}
    !2 = !{!3, !4}
    !3 = !{i32 0, !"air.buffer", !"air.location_index", i32 0, i32 1, !"air.read_write", !"air.address_space", i32 1, !"air.arg_type_size", i32 4, !"air.arg_type_align_size", i32 4, !"air.arg_type_name", !"float", !"air.arg_name", !"out"}
    !4 = !{i32 1, !"air.buffer", !"air.location_index", i32 2, i32 1, !"air.read", !"air.address_space", i32 2, !"air.arg_type_size", i32 4, !"air.arg_type_align_size", i32 4, !"air.arg_type_name", !"float", !"air.arg_name", !"x"}
    !llvm.dbg.cu = !{!30}
    !llvm.module.flags = !{!31}
    !31 = !{i32 2, !"Debug Info Version", i32 3}
    !30 = distinct !DICompileUnit(language: DW_LANG_C_plus_plus_14, file: !32, emissionKind: LineTablesOnly)
    !32 = !DIFile(filename: "program_source", directory: "")
    !33 = !DISubroutineType(types: !1)
    !10 = distinct !DISubprogram(name: "k", file: !32, line: 4, type: !33, spFlags: DISPFlagDefinition, unit: !30)
    !11 = !DILocation(line: 5, scope: !10)
    !12 = !DILocation(line: 6, scope: !10)
    !13 = !DILocation(line: 8, scope: !10)
    !20 = distinct !DISubprogram(name: "helper", file: !32, line: 2, type: !33, spFlags: DISPFlagDefinition, unit: !30)
    !21 = !DILocation(line: 2, scope: !20)
"#;

fn counting(text: &str) -> CountingAir {
    let context = Context::new();
    let bitcode = context.parse_ir(text).unwrap().write_bitcode();
    let (air, _) = verify_and_reflect(bitcode.as_bytes()).unwrap();
    count(&air, "k").unwrap()
}

#[test]
fn work_is_counted_on_its_line() {
    let counting = counting(LOOP);
    assert!(counting.is_whole);
    let line = |line, instructions| LineWork { line, instructions, ..LineWork::default() };
    let body = [
        LineWork { float_operations: 1, ..line(2, 1) },
        line(5, 2),
        LineWork { float_operations: 2, loads: 1, stores: 1, ..line(6, 3) },
    ];
    let end = [LineWork { barriers: 1, ..line(8, 1) }];
    assert_eq!(counting.blocks, [vec![], body.to_vec(), end.to_vec()]);
}

#[test]
fn constants_of_other_kernels_do_not_matter() {
    let other = r#"
        @factor = internal addrspace(2) global i32 0
        @given = internal addrspace(2) externally_initialized constant i32 undef, section "air.fc_initializer"
        @llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 65535, ptr @start, ptr null }]
        define internal void @start() {
          %v = load i32, ptr addrspace(2) @given
          store i32 %v, ptr addrspace(2) @factor
          ret void
        }
        define void @other(ptr addrspace(1) %out) {
          %v = load i32, ptr addrspace(2) @factor
          store i32 %v, ptr addrspace(1) %out
          ret void
        }
        !air.function_constants = !{!40}
        !40 = !{ptr addrspace(2) @given, !"int", !"factor", i32 0, i1 true}
        !41 = !{ptr @other, !1, !42}
        !42 = !{!3}
    "#;
    let text = LOOP.replace("!air.kernel = !{!0}", "!air.kernel = !{!0, !41}") + other;
    let context = Context::new();
    let bitcode = context.parse_ir(&text).unwrap().write_bitcode();
    let (air, _) = verify_and_reflect(bitcode.as_bytes()).unwrap();
    let counting = count(&air, "k").unwrap();
    assert!(counting.is_whole);
    let (_, kernels) = verify_and_reflect(counting.air.bitcode()).unwrap();
    assert!(kernels[0].constants.is_empty());
    let refusal = count(&air, "other").unwrap_err().to_string();
    assert_eq!(refusal, "kernel 'other': its function constants have no values");
}

#[test]
fn the_counting_kernel_is_air_with_one_more_buffer() {
    let counting = counting(LOOP);
    assert_eq!(counting.buffer, 1);
    let (_, kernels) = verify_and_reflect(counting.air.bitcode()).unwrap();
    let indices: Vec<_> = kernels[0].arguments.iter().filter_map(|argument| buffer_index(&argument.kind)).collect();
    assert_eq!((kernels[0].name.as_str(), indices.as_slice()), ("k", [0, 2, 1].as_slice()));
    let context = Context::new();
    let text = context.parse_bitcode(counting.air.bitcode()).unwrap().to_string();
    assert_eq!(text.matches("atomicrmw add ptr addrspace(1)").count(), 3);
    assert!(!text.contains("DILocation") && !text.contains("@helper"));
}

#[test]
fn what_cannot_be_counted_is_told() {
    let context = Context::new();
    let bitcode = context.parse_ir(LOOP).unwrap().write_bitcode();
    let (air, _) = verify_and_reflect(bitcode.as_bytes()).unwrap();
    assert_eq!(count(&air, "none").unwrap_err().to_string(), "kernel 'none': no such kernel");
}
