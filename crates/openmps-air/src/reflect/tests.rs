//! Reflection of IR snippets.

use expect_test::{Expect, expect};
use openmps_engine::{ArgumentKind, KernelSignature, Presence};
use openmps_llvm::Context;

use super::signatures;

/// One line a kernel and argument, or the error.
fn check(ir: &str, expected: Expect) {
    let context = Context::new();
    let module = context.parse_ir(ir).unwrap();
    module.verify().unwrap();
    expected.assert_eq(&match signatures(&module) {
        Ok(kernels) => kernels.iter().map(describe).collect::<String>(),
        Err(error) => format!("{error}\n"),
    });
}

fn describe(kernel: &KernelSignature) -> String {
    let threads = kernel.max_total_threads_per_threadgroup;
    let mut text =
        format!("{}: threads {threads:?}, threadgroup bytes {}\n", kernel.name, kernel.static_threadgroup_memory_bytes);
    for argument in &kernel.arguments {
        let kind = match &argument.kind {
            ArgumentKind::Buffer { index, address_space, access, size_bytes_min } => {
                format!("buffer({}) {address_space:?} {access:?} {size_bytes_min:?}", index.0)
            }
            ArgumentKind::ArgumentBuffer { index, address_space, access, size_bytes_min } => {
                format!("argument buffer({}) {address_space:?} {access:?} {size_bytes_min:?}", index.0)
            }
            ArgumentKind::VisibleFunctionTable { index } => format!("table({})", index.0),
            ArgumentKind::ThreadgroupMemory { index } => format!("threadgroup({})", index.0),
            ArgumentKind::Texture { index, count, texture_type, component, access } => {
                format!("texture({}) {count:?} {texture_type:?} {component:?} {access:?}", index.0)
            }
            ArgumentKind::Sampler { index, count } => format!("sampler({}) {count:?}", index.0),
            ArgumentKind::Builtin { builtin, ty } => format!("{} {:?}x{}", builtin.name(), ty.scalar, ty.lanes),
        };
        let presence = match &argument.presence {
            Presence::Always => String::new(),
            Presence::Gated { constant } => format!(", if {constant}"),
            Presence::Absent => ", absent".to_owned(),
        };
        text += &format!("  {} '{}': {kind}{presence}\n", argument.type_name, argument.name);
    }
    text
}

/// A gate whose constant has no value yet.
const GATE: &str = "@on = internal addrspace(2) global i8 0\n!3 = !{ptr addrspace(2) @on, !\"bool\", !\"use_it\"}\n";

/// A module with one kernel `k` of these parameters and argument nodes.
fn kernel(parameters: &str, nodes: &[&str]) -> String {
    let names: Vec<String> = (0..nodes.len()).map(|index| format!("!{}", index + 10)).collect();
    let nodes: String =
        nodes.iter().enumerate().map(|(index, node)| format!("!{} = !{{{node}}}\n", index + 10)).collect();
    format!(
        "define void @k({parameters}) {{\n ret void\n}}\n!air.kernel = !{{!0}}\n!0 = !{{ptr @k, !1, !2}}\n!1 = !{{}}\n!2 = !{{{}}}\n{GATE}{nodes}",
        names.join(", ")
    )
}

const BUFFER: &str = r#"i32 0, !"air.buffer", !"air.location_index", i32 3, i32 1, !"air.read_write", !"air.address_space", i32 1, !"air.arg_type_size", i32 4, !"air.arg_type_align_size", i32 4, !"air.arg_type_name", !"float", !"air.arg_name", !"out""#;

#[test]
fn every_kind_of_argument() {
    let nodes = [
        r#"i32 1, !"air.buffer", !"air.buffer_size", i32 12, !"air.location_index", i32 0, i32 1, !"air.read", !"air.address_space", i32 2, !"air.struct_type_info", !1, !"air.arg_type_name", !"Params", !"air.arg_name", !"params", !"air.arg_unused""#,
        BUFFER,
        r#"i32 2, !"air.buffer", !"air.location_index", i32 0, i32 1, !"air.read_write", !"air.address_space", i32 3, !"air.arg_name", !"scratch""#,
        r#"i32 3, !"air.thread_position_in_grid", !"air.arg_type_name", !"uint3", !"air.arg_name", !"gid""#,
        r#"i32 4, !"air.thread_index_in_simdgroup", !"air.arg_type_name", !"ushort", !"air.arg_name", !"lane""#,
        r#"i32 5, !"air.function_constant", !3, !"air.indirect_buffer", !"air.location_index", i32 30, i32 1, !"air.write", !"air.address_space", i32 1, !"air.arg_name", !"table""#,
    ];
    let parameters = "ptr addrspace(1), ptr addrspace(2), ptr addrspace(3), <3 x i32>, i16, ptr addrspace(1)";
    check(
        &kernel(parameters, &nodes),
        expect![[r#"
            k: threads None, threadgroup bytes 0
              float 'out': buffer(3) Device ReadWrite None
              Params 'params': buffer(0) Constant Read Some(12)
               'scratch': threadgroup(0)
              uint3 'gid': thread_position_in_grid U32x3
              ushort 'lane': thread_index_in_simdgroup U16x1
               'table': argument buffer(30) Device Write None, if use_it
        "#]],
    );
}

#[test]
fn kernels_are_sorted_and_each_counts_the_threadgroup_memory_that_it_reaches() {
    check(
        r#"
        @a = internal addrspace(3) global i8 undef, align 1
        @b = internal addrspace(3) global [3 x float] undef, align 4
        @c = internal addrspace(3) global [4 x i16] undef, align 16
        @d = internal addrspace(3) global [100 x i8] undef, align 1
        @table = internal addrspace(2) constant ptr addrspace(3) @c
        define internal void @inner() {
          %p = getelementptr i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @b, i64 4), i64 0
          store i8 0, ptr addrspace(3) %p
          ret void
        }
        define void @z() {
          store i8 0, ptr addrspace(3) @a
          call void @inner()
          %c = load ptr addrspace(3), ptr addrspace(2) @table
          ret void
        }
        define void @y() "max-work-group-size"="64" { ret void }
        define void @x() { ret void }
        !air.kernel = !{!0, !1, !2}
        !0 = !{ptr @z, !3, !3}
        !1 = !{ptr @y, !3, !3}
        !2 = !{ptr @x, !3, !3, !4}
        !3 = !{}
        !4 = !{!"air.max_work_group_size", i32 256}"#,
        expect![[r#"
            x: threads Some(256), threadgroup bytes 0
            y: threads Some(64), threadgroup bytes 0
            z: threads None, threadgroup bytes 24
        "#]],
    );
}

#[test]
fn a_module_without_kernels_has_none() {
    check("define void @f() {\n ret void\n}", expect![[r#""#]]);
}

#[test]
fn what_is_not_supported_says_so() {
    let one = |node: &str| kernel("ptr addrspace(1)", &[node]);
    check(
        &one(r#"i32 0, !"air.imageblock", !"air.location_index", i32 0, i32 1"#),
        expect![[r#"
        kernel 'k', argument 0: arguments of kind 'air.imageblock' are not supported
    "#]],
    );
    check(
        &one(r#"i32 0, !"air.buffer", !"air.raster_order_group", i32 0"#),
        expect![[r#"
        kernel 'k', argument 0: unknown property 'air.raster_order_group'
    "#]],
    );
    check(
        &one(&BUFFER.replace("i32 3, i32 1", "i32 31, i32 1")),
        expect![[r#"
        kernel 'k', argument 0: buffer index 31, the largest is 30
    "#]],
    );
    check(
        &one(&BUFFER.replace("i32 3, i32 1", "i32 3, i32 2")),
        expect![[r#"
        kernel 'k', argument 0: a buffer takes 2 indices, expected 1
    "#]],
    );
    check(
        &one(&BUFFER.replace("air.address_space\", i32 1", "air.address_space\", i32 2")),
        expect![[r#"
        kernel 'k', argument 0: the parameter has type ptr addrspace(1), expected ptr addrspace(2)
    "#]],
    );
    check(
        &one(&BUFFER.replace("air.address_space\", i32 1", "air.address_space\", i32 4")),
        expect![[r#"
        kernel 'k', argument 0: buffers live in address spaces 1, 2 and 3, not 4
    "#]],
    );
    check(
        &one(r#"i32 0, !"air.buffer", !"air.location_index", i32 0, i32 1, !"air.read", !"air.arg_name", !"x""#),
        expect![[r#"
            kernel 'k', argument 0: a buffer without 'air.address_space'
        "#]],
    );
    check(
        &one(r#"i32 0, !"air.buffer", !"air.read", !"air.address_space", i32 1"#),
        expect![[r#"
        kernel 'k', argument 0: a buffer without 'air.location_index'
    "#]],
    );
    check(
        &one(r#"i32 0, !"air.buffer", !"air.location_index", i32 0, i32 1, !"air.address_space", i32 1"#),
        expect![[r#"
            kernel 'k', argument 0: a buffer without 'air.read', 'air.write' or 'air.read_write'
        "#]],
    );
    check(
        &one(r#"i32 0, !"air.buffer", !"air.location_index", !"zero", i32 1"#),
        expect![[r#"
        kernel 'k', argument 0: 'air.location_index' has no 32-bit number behind it
    "#]],
    );
    check(
        &one(r#"i32 0, !"air.thread_position_in_grid""#),
        expect![[r#"
        kernel 'k', argument 0: 'air.thread_position_in_grid' has type ptr addrspace(1), expected i16, i32 or a vector of two or three of them
    "#]],
    );
    check(
        &one(r#"i32 1, !"air.thread_position_in_grid""#),
        expect![[r#"
        kernel 'k', argument 0: position 1, but the function has 1 parameters
    "#]],
    );
    check(
        &one(r#"!"first", !"air.thread_position_in_grid""#),
        expect![[r#"
        kernel 'k', argument 0: the first operand is no position
    "#]],
    );
    check(
        &one("i32 0, i32 1"),
        expect![[r#"
        kernel 'k', argument 0: the kind is no string
    "#]],
    );
}

/// Nodes as Apple's compiler writes them.
const TEXTURES: [&str; 6] = [
    r#"i32 0, !"air.texture", !"air.location_index", i32 0, i32 1, !"air.sample", !"air.arg_type_name", !"texture2d<float, sample>", !"air.arg_name", !"src""#,
    r#"i32 1, !"air.texture", !"air.location_index", i32 1, i32 1, !"air.write", !"air.arg_type_name", !"texture3d<ushort, write>", !"air.arg_name", !"vol""#,
    r#"i32 2, !"air.texture", !"air.location_index", i32 2, i32 1, !"air.read_write", !"air.arg_type_name", !"texture_buffer<half, read_write>", !"air.arg_name", !"line""#,
    r#"i32 3, !"air.texture", !"air.location_index", i32 3, i32 1, !"air.sample", !"air.arg_type_name", !"depth2d_array<float, sample>", !"air.arg_name", !"depth""#,
    r#"i32 4, !"air.texture", !"air.location_index", i32 4, i32 3, !"air.read", !"air.arg_type_name", !"array<texture1d<int, read>, 3>", !"air.arg_name", !"many""#,
    r#"i32 5, !"air.sampler", !"air.location_index", i32 15, i32 1, !"air.arg_type_name", !"sampler", !"air.arg_name", !"smp""#,
];
const TEXTURE_PARAMETERS: &str =
    "ptr addrspace(1), ptr addrspace(1), ptr addrspace(1), ptr addrspace(1), ptr, ptr addrspace(2)";

#[test]
fn textures_and_samplers() {
    check(
        &kernel(TEXTURE_PARAMETERS, &TEXTURES),
        expect![[r#"
            k: threads None, threadgroup bytes 0
              texture2d<float, sample> 'src': texture(0) None Texture2d Float Sample
              texture3d<ushort, write> 'vol': texture(1) None Texture3d Ushort Write
              texture_buffer<half, read_write> 'line': texture(2) None TextureBuffer Half ReadWrite
              depth2d_array<float, sample> 'depth': texture(3) None Texture2dArray Depth Sample
              array<texture1d<int, read>, 3> 'many': texture(4) Some(3) Texture1d Int Read
              sampler 'smp': sampler(15) None
        "#]],
    );
    let with = |from: &str, to: &str| {
        let nodes = TEXTURES.map(|node| node.replace(from, to));
        kernel(TEXTURE_PARAMETERS, &nodes.each_ref().map(String::as_str))
    };
    check(
        &with("texture3d<ushort", "texture2d_ms<float"),
        expect![[r#"
            kernel 'k', argument 1: 'texture2d_ms<float, write>' is no texture type that this program knows
        "#]],
    );
    check(
        &with("i32 4, i32 3", "i32 126, i32 3"),
        expect![[r#"
            kernel 'k', argument 4: texture index 128, the largest is 127
        "#]],
    );
    check(
        &with("i32 4, i32 3", "i32 2, i32 3"),
        expect![[r#"
            kernel 'k', argument 4: texture index 2 has another argument already
        "#]],
    );
    check(
        &with("i32 15, i32 1", "i32 14, i32 2"),
        expect![[r#"
            kernel 'k', argument 5: takes 2 indices, but the parameter has type ptr addrspace(2)
        "#]],
    );
    check(
        &with(r#", !"air.sample""#, ""),
        expect![[r#"
            kernel 'k', argument 0: a texture without 'air.sample', 'air.read' or the like
        "#]],
    );
}

#[test]
fn arguments_cover_each_parameter_once() {
    let parameters = "ptr addrspace(1), ptr addrspace(1)";
    check(
        &kernel(parameters, &[BUFFER]),
        expect![[r#"
        kernel 'k', argument 1: the parameter has no argument node
    "#]],
    );
    check(
        &kernel(parameters, &[BUFFER, &BUFFER.replace("i32 3, i32 1", "i32 4, i32 1")]),
        expect![[r#"
        kernel 'k', argument 1: parameter 0 has another argument already
    "#]],
    );
    check(
        &kernel(parameters, &[BUFFER, &BUFFER.replacen("i32 0", "i32 1", 1)]),
        expect![[r#"
        kernel 'k', argument 1: buffer index 3 has another argument already
    "#]],
    );
}

#[test]
fn a_kernel_node_names_a_defined_void_function_once() {
    let trailer = "\n!air.kernel = !{!0}\n!1 = !{}\n";
    check(
        &format!("declare void @k(){trailer}!0 = !{{ptr @k, !1, !1}}"),
        expect![[r#"
        kernel 'k': declared, but not defined
    "#]],
    );
    check(
        &format!("define i32 @k() {{\n ret i32 0\n}}{trailer}!0 = !{{ptr @k, !1, !1}}"),
        expect![[r#"
        kernel 'k': has type i32 (), expected a result of void
    "#]],
    );
    check(
        &format!("define void @k() {{\n ret void\n}}{trailer}!0 = !{{ptr @k, !1}}"),
        expect![[r#"
        kernel 'k': the third operand of its node is no list of arguments
    "#]],
    );
    check(
        &format!("define void @k() {{\n ret void\n}}{trailer}!0 = !{{!\"k\", !1, !1}}"),
        expect![[r#"
        kernel number 0: the first operand of its node is no function
    "#]],
    );
    check(
        "define void @k() {\n ret void\n}\n!air.kernel = !{!0, !2}\n!0 = !{ptr @k, !1, !1}\n!1 = !{}\n!2 = !{ptr @k, !1, !1, !1}",
        expect![[r#"
            kernel 'k': described twice
        "#]],
    );
}
