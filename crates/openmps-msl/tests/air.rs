//! The AIR of small kernels, as text: entry points and what `!air.kernel` says about their arguments.

mod common;

use expect_test::{Expect, expect};
use openmps_engine::{CompileOptions, MathMode, SourceCompiler as _};
use openmps_llvm::Context;

/// The module without what is the same in all of them.
fn check(source: &str, expected: Expect) {
    let compiled = common::compile(source).expect("the source is right");
    let context = Context::new();
    let module = context.parse_bitcode(compiled.air.bitcode()).expect("verified AIR parses");
    let text = module.to_string();
    let kept: Vec<&str> = text
        .lines()
        .filter(|line| {
            let is_dull =
                ["; ModuleID", "source_filename", "target ", "attributes "].iter().any(|start| line.starts_with(start));
            !is_dull && !line.is_empty()
        })
        .collect();
    expected.assert_eq(&kept.join("\n"));
}

#[test]
fn the_example_of_the_guide() {
    check(
        "kernel void full(device float* out, constant float& val, uint idx [[thread_position_in_grid]]) { out[idx] = val; }",
        expect![[r#"
            ; Function Attrs: convergent mustprogress nounwind
            define void @full(ptr addrspace(1) noundef %out, ptr addrspace(2) noundef align 4 dereferenceable(4) %val, i32 noundef %idx) #0 {
            entry:
              %0 = load float, ptr addrspace(2) %val, align 4
              %idxprom.i = zext i32 %idx to i64
              %arrayidx.i = getelementptr inbounds nuw float, ptr addrspace(1) %out, i64 %idxprom.i
              store float %0, ptr addrspace(1) %arrayidx.i, align 4
              ret void
            }
            !llvm.module.flags = !{!0, !1, !2, !3, !4, !5, !6}
            !air.kernel = !{!7}
            !air.version = !{!13}
            !air.language_version = !{!14}
            !air.compile_options = !{!15, !16}
            !llvm.ident = !{!17}
            !0 = !{i32 1, !"wchar_size", i32 4}
            !1 = !{i32 7, !"air.max_device_buffers", i32 31}
            !2 = !{i32 7, !"air.max_constant_buffers", i32 31}
            !3 = !{i32 7, !"air.max_threadgroup_buffers", i32 31}
            !4 = !{i32 7, !"air.max_textures", i32 128}
            !5 = !{i32 7, !"air.max_read_write_textures", i32 8}
            !6 = !{i32 7, !"air.max_samplers", i32 16}
            !7 = !{ptr @full, !8, !9}
            !8 = !{}
            !9 = !{!10, !11, !12}
            !10 = !{i32 0, !"air.buffer", !"air.location_index", i32 0, i32 1, !"air.read_write", !"air.address_space", i32 1, !"air.arg_type_size", i32 4, !"air.arg_type_align_size", i32 4, !"air.arg_type_name", !"float", !"air.arg_name", !"out"}
            !11 = !{i32 1, !"air.buffer", !"air.buffer_size", i32 4, !"air.location_index", i32 1, i32 1, !"air.read", !"air.address_space", i32 2, !"air.arg_type_size", i32 4, !"air.arg_type_align_size", i32 4, !"air.arg_type_name", !"float", !"air.arg_name", !"val"}
            !12 = !{i32 2, !"air.thread_position_in_grid", !"air.arg_type_name", !"uint", !"air.arg_name", !"idx"}
            !13 = !{i32 2, i32 7, i32 0}
            !14 = !{!"Metal", i32 3, i32 2, i32 0}
            !15 = !{!"air.compile.denorms_disable"}
            !16 = !{!"air.compile.fast_math_disable"}
            !17 = !{!"openmps"}"#]],
    );
}

#[test]
fn every_kind_of_argument() {
    check(
        r#"
        struct Pointers { device float* p[2]; };
        template <typename T>
        [[kernel, max_total_threads_per_threadgroup(64)]] void k(
            device T* out [[buffer(2)]], constant Pointers& pointers, device const void* raw,
            threadgroup T* shared [[threadgroup(1)]], uint3 gid [[thread_position_in_grid]],
            ushort2 tid [[thread_position_in_threadgroup]], ushort lane [[thread_index_in_simdgroup]]) {
          out[gid.x] = pointers.p[lane][tid.y] + shared[gid.z];
        }
        template [[host_name("k_float")]] [[kernel]] decltype(k<float>) k<float>;"#,
        expect![[r#"
            ; Function Attrs: convergent mustprogress nounwind
            define void @k_float(ptr addrspace(1) noundef %out, ptr addrspace(2) noundef align 8 dereferenceable(16) %pointers, ptr addrspace(1) noundef %raw, ptr addrspace(3) noundef %shared, <3 x i32> %gid, <2 x i16> %tid, i16 noundef %lane) #0 {
            entry:
              %0 = shufflevector <3 x i32> %gid, <3 x i32> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 poison>
              %idxprom.i = zext i16 %lane to i64
              %arrayidx.i = getelementptr inbounds nuw [2 x ptr addrspace(1)], ptr addrspace(2) %pointers, i64 0, i64 %idxprom.i
              %1 = load ptr addrspace(1), ptr addrspace(2) %arrayidx.i, align 8
              %.sroa.03.2.vec.extract = extractelement <2 x i16> %tid, i32 1
              %idxprom1.i = zext i16 %.sroa.03.2.vec.extract to i64
              %arrayidx2.i = getelementptr inbounds nuw float, ptr addrspace(1) %1, i64 %idxprom1.i
              %2 = load float, ptr addrspace(1) %arrayidx2.i, align 4
              %.sroa.02.8.vec.extract = extractelement <4 x i32> %0, i32 2
              %idxprom3.i = zext i32 %.sroa.02.8.vec.extract to i64
              %arrayidx4.i = getelementptr inbounds nuw float, ptr addrspace(3) %shared, i64 %idxprom3.i
              %3 = load float, ptr addrspace(3) %arrayidx4.i, align 4
              %add.i = fadd float %2, %3
              %.sroa.02.0.vec.extract = extractelement <4 x i32> %0, i32 0
              %idxprom5.i = zext i32 %.sroa.02.0.vec.extract to i64
              %arrayidx6.i = getelementptr inbounds nuw float, ptr addrspace(1) %out, i64 %idxprom5.i
              store float %add.i, ptr addrspace(1) %arrayidx6.i, align 4
              ret void
            }
            !llvm.module.flags = !{!0, !1, !2, !3, !4, !5, !6}
            !air.kernel = !{!7}
            !air.version = !{!18}
            !air.language_version = !{!19}
            !air.compile_options = !{!20, !21}
            !llvm.ident = !{!22}
            !0 = !{i32 1, !"wchar_size", i32 4}
            !1 = !{i32 7, !"air.max_device_buffers", i32 31}
            !2 = !{i32 7, !"air.max_constant_buffers", i32 31}
            !3 = !{i32 7, !"air.max_threadgroup_buffers", i32 31}
            !4 = !{i32 7, !"air.max_textures", i32 128}
            !5 = !{i32 7, !"air.max_read_write_textures", i32 8}
            !6 = !{i32 7, !"air.max_samplers", i32 16}
            !7 = !{ptr @k_float, !8, !9, !17}
            !8 = !{}
            !9 = !{!10, !11, !12, !13, !14, !15, !16}
            !10 = !{i32 0, !"air.buffer", !"air.location_index", i32 2, i32 1, !"air.read_write", !"air.address_space", i32 1, !"air.arg_type_size", i32 4, !"air.arg_type_align_size", i32 4, !"air.arg_type_name", !"float", !"air.arg_name", !"out"}
            !11 = !{i32 1, !"air.indirect_buffer", !"air.buffer_size", i32 16, !"air.location_index", i32 0, i32 1, !"air.read", !"air.address_space", i32 2, !"air.arg_type_size", i32 16, !"air.arg_type_align_size", i32 8, !"air.arg_type_name", !"Pointers", !"air.arg_name", !"pointers"}
            !12 = !{i32 2, !"air.buffer", !"air.location_index", i32 1, i32 1, !"air.read", !"air.address_space", i32 1, !"air.arg_type_name", !"void", !"air.arg_name", !"raw"}
            !13 = !{i32 3, !"air.buffer", !"air.location_index", i32 1, i32 1, !"air.read_write", !"air.address_space", i32 3, !"air.arg_type_size", i32 4, !"air.arg_type_align_size", i32 4, !"air.arg_type_name", !"float", !"air.arg_name", !"shared"}
            !14 = !{i32 4, !"air.thread_position_in_grid", !"air.arg_type_name", !"uint3", !"air.arg_name", !"gid"}
            !15 = !{i32 5, !"air.thread_position_in_threadgroup", !"air.arg_type_name", !"ushort2", !"air.arg_name", !"tid"}
            !16 = !{i32 6, !"air.thread_index_in_simdgroup", !"air.arg_type_name", !"ushort", !"air.arg_name", !"lane"}
            !17 = !{!"air.max_work_group_size", i32 64}
            !18 = !{i32 2, i32 7, i32 0}
            !19 = !{!"Metal", i32 3, i32 2, i32 0}
            !20 = !{!"air.compile.denorms_disable"}
            !21 = !{!"air.compile.fast_math_disable"}
            !22 = !{!"openmps"}"#]],
    );
}

#[test]
fn constants_need_no_constructor() {
    check(
        "constant metal::float3x3 turn = metal::float3x3(2.0);\nconstant bool on [[function_constant(0)]];\nkernel void f(device float* x) { x[0] = turn[1].y + (on ? 1 : 0); }",
        expect![[r#"
            @_ZL2on = internal addrspace(2) global i8 0, align 1
            @llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 65535, ptr @__cxx_global_var_init, ptr null }]
            @_Z2on.MTL_FC_INIT_0_b = internal addrspace(2) externally_initialized constant i8 undef, section "air.fc_initializer"
            ; Function Attrs: convergent nounwind
            define internal void @__cxx_global_var_init() #0 {
            entry:
              %0 = load i8, ptr addrspace(2) @_Z2on.MTL_FC_INIT_0_b, align 1, !range !17, !noundef !9
              %loadedv.i = trunc i8 %0 to i1
              %storedv = zext i1 %loadedv.i to i8
              store i8 %storedv, ptr addrspace(2) @_ZL2on, align 1
              %1 = call ptr @llvm.invariant.start.p2(i64 1, ptr addrspace(2) @_ZL2on)
              ret void
            }
            ; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: readwrite)
            declare ptr @llvm.invariant.start.p2(i64 immarg, ptr addrspace(2) captures(none)) #1
            ; Function Attrs: convergent mustprogress nounwind
            define void @f(ptr addrspace(1) noundef %x) #2 {
            entry:
              %0 = load i8, ptr addrspace(2) @_ZL2on, align 1, !range !17, !noundef !9
              %loadedv.i = trunc i8 %0 to i1
              %cond.i = select i1 %loadedv.i, i32 1, i32 0
              %conv.i = sitofp i32 %cond.i to float
              %add.i = fadd float 2.000000e+00, %conv.i
              store float %add.i, ptr addrspace(1) %x, align 4
              ret void
            }
            !llvm.module.flags = !{!0, !1, !2, !3, !4, !5, !6}
            !air.function_constants = !{!7}
            !air.kernel = !{!8}
            !air.version = !{!12}
            !air.language_version = !{!13}
            !air.compile_options = !{!14, !15}
            !llvm.ident = !{!16}
            !0 = !{i32 1, !"wchar_size", i32 4}
            !1 = !{i32 7, !"air.max_device_buffers", i32 31}
            !2 = !{i32 7, !"air.max_constant_buffers", i32 31}
            !3 = !{i32 7, !"air.max_threadgroup_buffers", i32 31}
            !4 = !{i32 7, !"air.max_textures", i32 128}
            !5 = !{i32 7, !"air.max_read_write_textures", i32 8}
            !6 = !{i32 7, !"air.max_samplers", i32 16}
            !7 = !{ptr addrspace(2) @_Z2on.MTL_FC_INIT_0_b, !"bool", !"on", i32 0, i1 true}
            !8 = !{ptr @f, !9, !10}
            !9 = !{}
            !10 = !{!11}
            !11 = !{i32 0, !"air.buffer", !"air.location_index", i32 0, i32 1, !"air.read_write", !"air.address_space", i32 1, !"air.arg_type_size", i32 4, !"air.arg_type_align_size", i32 4, !"air.arg_type_name", !"float", !"air.arg_name", !"x"}
            !12 = !{i32 2, i32 7, i32 0}
            !13 = !{!"Metal", i32 3, i32 2, i32 0}
            !14 = !{!"air.compile.denorms_disable"}
            !15 = !{!"air.compile.fast_math_disable"}
            !16 = !{!"openmps"}
            !17 = !{i8 0, i8 2}"#]],
    );
}

/// The instructions and calls on floats in kernel `k` of `source`, in order.
fn float_code(source: &str, math_mode: MathMode) -> String {
    let options = CompileOptions { math_mode, ..CompileOptions::default() };
    let compiled = common::compiler().compile_source(source, &options).expect("the source is right");
    let context = Context::new();
    let module = context.parse_bitcode(compiled.air.bitcode()).expect("verified AIR parses");
    let words = ["fadd", "fsub", "fmul", "fdiv", "fneg", "fcmp", "call"];
    let is_float = |line: &&str| words.iter().any(|word| line.contains(&format!(" {word} ")));
    let text = module.to_string();
    let code = text.lines().filter(is_float).map(|line| line.split(" = ").last().unwrap_or(line).trim());
    // Behind the operation only operands differ; flags of calls mean nothing for functions that are no intrinsics of LLVM.
    let operation = |line: &str| {
        let start = line.split(['%', '(']).next().unwrap_or(line).trim_end();
        start.split_once("@air.").map_or_else(|| start.to_owned(), |(_, name)| format!("call @air.{name}"))
    };
    code.map(operation).collect::<Vec<_>>().join("\n")
}

/// `k` with `body` at its start, and a multiplication with an addition, a division, a comparison and a function.
fn with_pragma(file: &str, body: &str) -> String {
    format!(
        "{file}\nkernel void k(device float* x) {{\n{body}\n  float a = x[0], b = x[1], c = x[2];\n  \
         float p = a * b + c;\n  float q = a / b;\n  x[0] = p; x[1] = q;\n  x[2] = q == -INFINITY ? p : metal::exp(c);\n}}"
    )
}

#[test]
fn math_modes_allow_what_they_say() {
    let plain = with_pragma("", "");
    expect![[r"
        call float @llvm.fmuladd.f32
        fdiv float
        fcmp oeq float
        call @air.exp.f32"]]
    .assert_eq(&float_code(&plain, MathMode::Safe));
    // No promise that there are no NaNs and infinities: the comparison would be a constant.
    expect![[r"
        fmul reassoc nsz arcp contract afn float
        fadd reassoc nsz arcp contract afn float
        fdiv reassoc nsz arcp contract afn float
        fcmp reassoc nsz arcp contract afn oeq float
        call @air.fast_exp.f32"]]
    .assert_eq(&float_code(&plain, MathMode::Fast));
}

#[test]
fn pragmas_change_the_mode_and_not_the_functions() {
    let safe = "#pragma METAL fp math_mode(safe)";
    let in_fast = float_code(&with_pragma("", safe), MathMode::Fast);
    expect![[r"
        call float @llvm.fmuladd.f32
        fdiv float
        fcmp oeq float
        call @air.fast_exp.f32"]]
    .assert_eq(&in_fast);
    assert_eq!(in_fast, float_code(&with_pragma(safe, ""), MathMode::Fast), "at the top of the file");
    for mode in ["relaxed", "fast"] {
        let pragma = format!("#pragma METAL fp math_mode({mode})");
        let in_safe = float_code(&with_pragma("", &pragma), MathMode::Safe);
        expect![[r"
            fmul reassoc nsz arcp contract afn float
            fadd reassoc nsz arcp contract afn float
            fdiv reassoc nsz arcp contract afn float
            fcmp reassoc nsz arcp contract afn oeq float
            call @air.exp.f32"]]
        .assert_eq(&in_safe);
        assert_eq!(in_safe, float_code(&with_pragma(&pragma, ""), MathMode::Safe), "at the top of the file");
    }
}

#[test]
fn pragmas_of_contraction() {
    let code = |pragma: &str, mode| float_code(&with_pragma("", pragma), mode);
    assert!(code("#pragma METAL fp contract(off)", MathMode::Safe).starts_with("fmul float\nfadd float\n"));
    let fast = code("#pragma METAL fp contract(fast)", MathMode::Safe);
    assert!(fast.starts_with("fmul contract float\nfadd contract float\n"), "{fast}");
    let off = code("#pragma METAL fp contract(off)", MathMode::Fast);
    assert!(off.starts_with("fmul reassoc nsz arcp afn float\nfadd reassoc nsz arcp afn float\n"), "{off}");
    assert_eq!(code("#pragma METAL fp contract(on)", MathMode::Safe), code("", MathMode::Safe));
}

#[test]
fn a_pragma_of_contraction_reaches_operators_of_vectors() {
    let source = |pragma: &str| {
        format!(
            "#include <metal_stdlib>\n{pragma}\nkernel void k(device metal::float3* x) {{
              metal::float3 sum = x[0] * x[1] + x[2]; sum -= x[3] * 2.0f; x[0] = sum; }}"
        )
    };
    for mode in [MathMode::Safe, MathMode::Fast] {
        let contracted = float_code(&source(""), mode);
        let count = |code: &str| code.lines().filter(|line| line.contains(" contract ")).count();
        assert_eq!(count(&contracted), 4, "{contracted}");
        for pragma in ["#pragma METAL fp contract(off)", "#pragma clang fp contract(off)"] {
            let code = float_code(&source(pragma), mode);
            assert_eq!(code, contracted.replace(" contract ", " "), "{pragma}");
        }
    }
}

#[test]
fn a_pragma_in_a_block_ends_with_it() {
    let source = "kernel void k(device float* x) {
      { 
        #pragma METAL fp math_mode(fast)
        x[0] = x[0] / x[1];
      }
      x[1] = x[1] / x[2];
    }";
    expect![[r"
        fdiv reassoc nsz arcp contract afn float
        fdiv float"]]
    .assert_eq(&float_code(source, MathMode::Safe));
}

#[test]
fn namespaces_choose_functions_in_either_mode() {
    let source = "kernel void k(device float* x) {
      x[0] = metal::fast::sin(x[0]); x[1] = metal::precise::sin(x[1]); x[2] = metal::sin(x[2]);
      x[3] = metal::fmax(x[3], x[4]); x[5] = float(metal::sin(half(x[5])));
    }";
    let functions = |mode| {
        let code = float_code(source, mode);
        code.lines().filter_map(|line| line.split_once('@')).map(|(_, name)| name.to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(
        functions(MathMode::Safe),
        ["air.fast_sin.f32", "air.sin.f32", "air.sin.f32", "air.fmax.f32", "air.sin.f16"]
    );
    assert_eq!(
        functions(MathMode::Fast),
        ["air.fast_sin.f32", "air.sin.f32", "air.fast_sin.f32", "air.fast_fmax.f32", "air.sin.f16"]
    );
}

/// Public kernels declare AIR's asynchronous copies themselves, over vectors that clang passes by pointer.
#[test]
fn functions_that_the_text_declares_take_vectors_as_air_does() {
    let source = r#"
      thread void* copy(ulong, ulong, threadgroup void*, ulong, ulong, ulong2, const device void*, ulong, ulong, ulong2, long2, int)
        __asm("air.simdgroup_async_copy_2d.p3i8.p1i8");
      kernel void k(device float* x, uint i [[thread_position_in_grid]]) {
        threadgroup float tile[16];
        copy(4, 4, tile, 4, 1, ulong2(4, i), x, 8, 1, ulong2(4, 2), long2(0), 0);
      }"#;
    let compiled = common::compile(source).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(compiled.kernels.len(), 1);
}

#[test]
fn textures_and_samplers() {
    check(
        "#include <metal_stdlib>
        using namespace metal;
        kernel void t(texture2d<float> a [[texture(3)]], texture2d_array<half, access::write> b, sampler s,
                      array<texture1d<uint, access::read>, 2> c, uint2 at [[thread_position_in_grid]]) {
          constexpr sampler fixed(coord::pixel, filter::linear, address::repeat);
          b.write(half4(a.sample(s, float2(at), level(1)) + a.sample(fixed, float2(at)) + float4(c[at.x].read(0))), at, 1);
        }",
        expect![[r#"
            %"struct.metal::array" = type { [2 x %"struct.metal::texture1d"] }
            %"struct.metal::texture1d" = type { ptr addrspace(1) }
            @__air_sampler_state = internal addrspace(2) constant [2 x i64] [i64 34901797601053330, i64 0], align 8
            ; Function Attrs: nocallback nofree nounwind willreturn memory(argmem: readwrite)
            declare void @llvm.memcpy.p0.p0.i64(ptr noalias writeonly captures(none), ptr noalias readonly captures(none), i64, i1 immarg) #0
            ; Function Attrs: convergent nounwind willreturn memory(none)
            declare noundef ptr addrspace(2) @air.get_read_sampler() #1
            ; Function Attrs: convergent nounwind
            declare void @air.write_texture_2d_array.v4f16(ptr addrspace(1) noundef, <2 x i32> noundef, i32 noundef, <4 x half> noundef, i32 noundef, i32 noundef) #2
            ; Function Attrs: convergent mustprogress nounwind
            define void @t(ptr addrspace(1) %a, ptr addrspace(1) %b, ptr addrspace(2) %s, ptr noundef align 8 %c, <2 x i32> %at) #3 {
            entry:
              %c1 = alloca %"struct.metal::array", align 8
              call void @llvm.memcpy.p0.p0.i64(ptr align 8 %c1, ptr align 8 %c, i64 16, i1 false)
              %conv.i81 = uitofp <2 x i32> %at to <2 x float>
              %0 = call { <4 x float>, i8 } @air.sample_texture_2d.v4f32(ptr addrspace(1) noundef %a, ptr addrspace(2) noundef %s, <2 x float> noundef %conv.i81, i1 noundef zeroext true, <2 x i32> noundef zeroinitializer, i1 noundef zeroext true, float noundef 1.000000e+00, float noundef 0.000000e+00, i32 noundef 0) #5
              %1 = extractvalue { <4 x float>, i8 } %0, 0
              %2 = call { <4 x float>, i8 } @air.sample_texture_2d.v4f32(ptr addrspace(1) noundef %a, ptr addrspace(2) noundef @__air_sampler_state, <2 x float> noundef %conv.i81, i1 noundef zeroext true, <2 x i32> noundef zeroinitializer, i1 noundef zeroext false, float noundef 0.000000e+00, float noundef 0.000000e+00, i32 noundef 0) #5
              %3 = extractvalue { <4 x float>, i8 } %2, 0
              %add.i10 = fadd contract <4 x float> %1, %3
              %.sroa.0221.0.vec.extract = extractelement <2 x i32> %at, i32 0
              %conv.i = zext i32 %.sroa.0221.0.vec.extract to i64
              %arrayidx.i = getelementptr inbounds nuw [2 x %"struct.metal::texture1d"], ptr %c1, i64 0, i64 %conv.i
              %4 = load ptr addrspace(1), ptr %arrayidx.i, align 8, !noalias !21
              %call.i = call noundef ptr addrspace(2) @air.get_read_sampler() #6
              %5 = call { <4 x i32>, i8 } @air.read_texture_1d.u.v4i32(ptr addrspace(1) noundef %4, ptr addrspace(2) noundef %call.i, i32 noundef 0, i32 noundef 0, i32 noundef 0, i32 noundef 1) #5
              %6 = extractvalue { <4 x i32>, i8 } %5, 0
              %conv.i118 = uitofp <4 x i32> %6 to <4 x float>
              %add.i = fadd contract <4 x float> %add.i10, %conv.i118
              %conv.i121 = fptrunc <4 x float> %add.i to <4 x half>
              call void @air.write_texture_2d_array.v4f16(ptr addrspace(1) noundef %b, <2 x i32> noundef %at, i32 noundef 1, <4 x half> noundef %conv.i121, i32 noundef 0, i32 noundef 2) #7
              ret void
            }
            ; Function Attrs: convergent nounwind willreturn memory(read)
            declare { <4 x float>, i8 } @air.sample_texture_2d.v4f32(ptr addrspace(1) noundef, ptr addrspace(2) noundef, <2 x float> noundef, i1 noundef zeroext, <2 x i32> noundef, i1 noundef zeroext, float noundef, float noundef, i32 noundef) #4
            ; Function Attrs: convergent nounwind willreturn memory(read)
            declare { <4 x i32>, i8 } @air.read_texture_1d.u.v4i32(ptr addrspace(1) noundef, ptr addrspace(2) noundef, i32 noundef, i32 noundef, i32 noundef, i32 noundef) #4
            !llvm.module.flags = !{!0, !1, !2, !3, !4, !5, !6}
            !air.kernel = !{!7}
            !air.sampler_states = !{!15}
            !air.version = !{!16}
            !air.language_version = !{!17}
            !air.compile_options = !{!18, !19}
            !llvm.ident = !{!20}
            !0 = !{i32 1, !"wchar_size", i32 4}
            !1 = !{i32 7, !"air.max_device_buffers", i32 31}
            !2 = !{i32 7, !"air.max_constant_buffers", i32 31}
            !3 = !{i32 7, !"air.max_threadgroup_buffers", i32 31}
            !4 = !{i32 7, !"air.max_textures", i32 128}
            !5 = !{i32 7, !"air.max_read_write_textures", i32 8}
            !6 = !{i32 7, !"air.max_samplers", i32 16}
            !7 = !{ptr @t, !8, !9}
            !8 = !{}
            !9 = !{!10, !11, !12, !13, !14}
            !10 = !{i32 0, !"air.texture", !"air.location_index", i32 3, i32 1, !"air.sample", !"air.arg_type_name", !"texture2d<float, sample>", !"air.arg_name", !"a"}
            !11 = !{i32 1, !"air.texture", !"air.location_index", i32 0, i32 1, !"air.write", !"air.arg_type_name", !"texture2d_array<half, write>", !"air.arg_name", !"b"}
            !12 = !{i32 2, !"air.sampler", !"air.location_index", i32 0, i32 1, !"air.arg_type_name", !"sampler", !"air.arg_name", !"s"}
            !13 = !{i32 3, !"air.texture", !"air.location_index", i32 1, i32 2, !"air.read", !"air.arg_type_name", !"array<texture1d<uint, read>, 2>", !"air.arg_name", !"c"}
            !14 = !{i32 4, !"air.thread_position_in_grid", !"air.arg_type_name", !"uint2", !"air.arg_name", !"at"}
            !15 = !{!"air.sampler_state", ptr addrspace(2) @__air_sampler_state}
            !16 = !{i32 2, i32 7, i32 0}
            !17 = !{!"Metal", i32 3, i32 2, i32 0}
            !18 = !{!"air.compile.denorms_disable"}
            !19 = !{!"air.compile.fast_math_disable"}
            !20 = !{!"openmps"}
            !21 = !{!22}
            !22 = distinct !{!22, !23, !"_ZNK5metal9texture1dIjLNS_6accessE1EE4readEjj: %agg.result"}
            !23 = distinct !{!23, !"_ZNK5metal9texture1dIjLNS_6accessE1EE4readEjj"}"#]],
    );
}
