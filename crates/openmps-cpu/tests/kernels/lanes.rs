//! Operations between the lanes of SIMD-groups and quads: partial groups, divergent lanes.

use openmps_engine::{Bindings, Builtin};

use crate::harness::{Random, bind, buffer, builtin, compile, dispatch};

/// Stores `air.<name>` of each thread's input.
fn unary_text(name: &str, ty: &str, result: &str, extra: &str) -> String {
    format!(
        "declare {result} @air.{name}({ty}{}) convergent
define void @k(ptr addrspace(1) %out, ptr addrspace(1) %in, i32 %at) {{
  %l = zext i32 %at to i64
  %p = getelementptr {ty}, ptr addrspace(1) %in, i64 %l
  %v = load {ty}, ptr addrspace(1) %p
  %r = call {result} @air.{name}({ty} %v{extra})
  %q = getelementptr {result}, ptr addrspace(1) %out, i64 %l
  store {result} %r, ptr addrspace(1) %q
  ret void
}}",
        extra
            .split(',')
            .skip(1)
            .map(|part| format!(", {}", part.split_whitespace().next().unwrap()))
            .collect::<String>()
    )
}

fn run<T: Copy + Default>(text: &str, input: &mut [T], group: u32) -> Vec<T> {
    let kernel = compile(text, &[buffer(0), buffer(1), builtin(Builtin::ThreadPositionInGrid, 1)]);
    let mut output = vec![T::default(); input.len()];
    let threads = u32::try_from(input.len()).unwrap();
    let mut bindings = Bindings::default();
    bind(&mut bindings, 0, &mut output);
    bind(&mut bindings, 1, input);
    dispatch(&*kernel, &bindings, [threads, 1, 1], [group, 1, 1]);
    output
}

/// What each SIMD-group (or quad) of threadgroups of `group` threads computes from its values.
fn expect_by<T: Copy>(input: &[T], group: usize, width: usize, f: impl Fn(&[T]) -> Vec<T>) -> Vec<T> {
    input.chunks(group).flat_map(|group| group.chunks(width)).flat_map(f).collect()
}

#[test]
fn reductions_of_partial_groups() {
    let mut random = Random::fresh();
    for (threads, group) in [(32, 32), (100, 100), (333, 70), (1000, 64)] {
        let mut input: Vec<i32> = (0..threads).map(|_| random.bits32().cast_signed()).collect();
        let reference: [(&str, fn(&[i32]) -> i32); 6] = [
            ("simd_sum.s.i32", |lanes| lanes.iter().copied().fold(0, i32::wrapping_add)),
            ("simd_product.s.i32", |lanes| lanes.iter().copied().fold(1, i32::wrapping_mul)),
            ("simd_min.s.i32", |lanes| *lanes.iter().min().unwrap()),
            ("simd_max.s.i32", |lanes| *lanes.iter().max().unwrap()),
            ("simd_xor.s.i32", |lanes| lanes.iter().fold(0, |a, b| a ^ b)),
            ("simd_broadcast_first.s.i32", |lanes| lanes[0]),
        ];
        for (name, f) in reference {
            let output = run(&unary_text(name, "i32", "i32", ""), &mut input, group);
            let expected = expect_by(&input, group as usize, 32, |lanes| vec![f(lanes); lanes.len()]);
            assert_eq!(output, expected, "{name} {threads} {group}");
        }
        let output = run(&unary_text("quad_sum.s.i32", "i32", "i32", ""), &mut input, group);
        let sum = |lanes: &[i32]| vec![lanes.iter().copied().fold(0, i32::wrapping_add); lanes.len()];
        assert_eq!(output, expect_by(&input, group as usize, 4, sum));
    }
}

/// Each thread stores the sum of its SIMD-group.
const SUMS_OF_ROWS: &str = "
declare i32 @air.simd_sum.u.i32(i32) convergent
define void @k(ptr addrspace(1) %out, <2 x i32> %at, <2 x i32> %size) {
  %x = extractelement <2 x i32> %at, i32 0
  %y = extractelement <2 x i32> %at, i32 1
  %width = extractelement <2 x i32> %size, i32 0
  %row = mul i32 %y, %width
  %place = add i32 %row, %x
  %sum = call i32 @air.simd_sum.u.i32(i32 %place)
  %l = zext i32 %place to i64
  %p = getelementptr i32, ptr addrspace(1) %out, i64 %l
  store i32 %sum, ptr addrspace(1) %p
  ret void
}";

#[test]
fn simdgroups_go_on_in_the_next_row_of_a_threadgroup() {
    let kinds = [buffer(0), builtin(Builtin::ThreadPositionInGrid, 2), builtin(Builtin::ThreadsPerGrid, 2)];
    let kernel = compile(SUMS_OF_ROWS, &kinds);
    // Rows of whole SIMD-groups, none such, and such with threadgroups at the edge that have none.
    for (threads, group) in
        [([64, 8], [32, 4]), ([20, 6], [10, 3]), ([79, 4], [32, 2]), ([18, 5], [32, 4]), ([70, 3], [70, 1])]
    {
        let [width, height] = threads.map(|size: u32| size as usize);
        let [columns, rows] = group.map(|size: u32| size as usize);
        let mut output = vec![0_u32; width * height];
        let mut bindings = Bindings::default();
        bind(&mut bindings, 0, &mut output);
        dispatch(&*kernel, &bindings, [threads[0], threads[1], 1], [group[0], group[1], 1]);
        let mut expected = vec![0_u32; width * height];
        let corners =
            (0..height).step_by(rows).flat_map(|top| (0..width).step_by(columns).map(move |left| (top, left)));
        for (top, left) in corners {
            let row = |y: usize| (left..(left + columns).min(width)).map(move |x| y * width + x);
            let places: Vec<usize> = (top..(top + rows).min(height)).flat_map(row).collect();
            for lanes in places.chunks(32) {
                let sum = u32::try_from(lanes.iter().sum::<usize>()).unwrap();
                lanes.iter().for_each(|&lane| expected[lane] = sum);
            }
        }
        assert_eq!(output, expected, "{threads:?} in {group:?}");
    }
}

#[test]
fn scans() {
    let mut random = Random::fresh();
    let mut input: Vec<u32> = (0..200).map(|_| random.bits32()).collect();
    let scan = |lanes: &[u32], inclusive: bool| {
        let mut sum = 0_u32;
        let mut result = Vec::new();
        for &value in lanes {
            let before = sum;
            sum = sum.wrapping_add(value);
            result.push(if inclusive { sum } else { before });
        }
        result
    };
    for (name, inclusive) in [("simd_prefix_inclusive_sum.u.i32", true), ("simd_prefix_exclusive_sum.u.i32", false)] {
        let output = run(&unary_text(name, "i32", "i32", ""), &mut input, 90);
        assert_eq!(output, expect_by(&input, 90, 32, |lanes| scan(lanes, inclusive)), "{name}");
    }
}

#[test]
fn float_sums_in_lane_order() {
    let mut random = Random::fresh();
    let mut input = random.floats(96);
    let output = run(&unary_text("simd_sum.f32", "float", "float", ""), &mut input, 96);
    let sum = |lanes: &[f32]| vec![lanes.iter().copied().reduce(|a, b| a + b).unwrap(); lanes.len()];
    assert_eq!(output, expect_by(&input, 96, 32, sum));
}

#[test]
fn shuffles_read_the_right_lane() {
    let mut random = Random::fresh();
    let mut input: Vec<u32> = (0..64).map(|_| random.bits32()).collect();
    let source: [(&str, u16, fn(usize) -> usize); 6] = [
        ("simd_shuffle.u.i32", 5, |_| 5),
        ("simd_shuffle_xor.u.i32", 3, |lane| lane ^ 3),
        ("simd_shuffle_down.u.i32", 4, |lane| if lane + 4 < 32 { lane + 4 } else { lane }),
        ("simd_shuffle_up.u.i32", 4, |lane| lane.checked_sub(4).unwrap_or(lane)),
        ("simd_shuffle_rotate_down.u.i32", 4, |lane| (lane + 4) % 32),
        ("quad_shuffle_xor.u.i32", 1, |lane| lane ^ 1),
    ];
    for (name, operand, lane) in source {
        let text = unary_text(name, "i32", "i32", &format!(", i16 {operand}"));
        let output = run(&text, &mut input, 64);
        let expected: Vec<u32> = (0..64).map(|thread| input[thread / 32 * 32 + lane(thread % 32)]).collect();
        assert_eq!(output, expected, "{name}");
    }
}

#[test]
fn fill_shuffles_compare_the_unreduced_delta() {
    let text = |name: &str, delta: u16| {
        format!(
            "declare i32 @air.{name}(i32, i32, i16, i16) convergent
define void @k(ptr addrspace(1) %out, ptr addrspace(1) %in, i32 %at) {{
  %l = zext i32 %at to i64
  %p = getelementptr i32, ptr addrspace(1) %in, i64 %l
  %v = load i32, ptr addrspace(1) %p
  %f = add i32 %v, 1000
  %r = call i32 @air.{name}(i32 %v, i32 %f, i16 {delta}, i16 32)
  %q = getelementptr i32, ptr addrspace(1) %out, i64 %l
  store i32 %r, ptr addrspace(1) %q
  ret void
}}"
        )
    };
    let mut input: Vec<u32> = (0..32).collect();
    let up = run(&text("simd_shuffle_and_fill_up.u.i32", 3), &mut input, 32);
    let expected: Vec<u32> = (0..32).map(|lane| if lane >= 3 { lane - 3 } else { lane + 29 + 1000 }).collect();
    assert_eq!(up, expected);
    let down = run(&text("simd_shuffle_and_fill_down.u.i32", 3), &mut input, 32);
    let expected: Vec<u32> = (0..32).map(|lane| if lane + 3 < 32 { lane + 3 } else { lane + 3 - 32 + 1000 }).collect();
    assert_eq!(down, expected);
    let all = run(&text("simd_shuffle_and_fill_up.u.i32", 32), &mut input, 32);
    assert_eq!(all, (1000..1032).collect::<Vec<u32>>());
}

#[test]
fn vectors_move_whole() {
    let mut random = Random::fresh();
    let mut input: Vec<[u32; 2]> = (0..32).map(|_| [random.bits32(), random.bits32()]).collect();
    let text = unary_text("simd_shuffle_xor.u.v2i32", "<2 x i32>", "<2 x i32>", ", i16 16");
    let output = run(&text, &mut input, 32);
    let expected: Vec<[u32; 2]> = (0..32).map(|lane| input[lane ^ 16]).collect();
    assert_eq!(output, expected);
}

#[test]
fn halves_sum_in_float_and_round_once() {
    // 2048 + 1 is not a half; sixteen ones are lost one by one but not together.
    let mut input = vec![0x3c00_u16; 32];
    input[0] = 0x6800;
    let output = run(&unary_text("simd_sum.f16", "half", "half", ""), &mut input, 32);
    // 2048 + 31 = 2079 rounds to 2080 in halves of step 2.
    assert_eq!(output, vec![0x6810_u16; 32]);
}

/// Lanes with a value below 10 sum among themselves, the others take their maximum; then all ballot.
const DIVERGENT: &str = "
declare i32 @air.simd_sum.u.i32(i32) convergent
declare i32 @air.simd_max.u.i32(i32) convergent
declare i64 @air.simd_ballot.i64(i1) convergent

define void @k(ptr addrspace(1) %out, ptr addrspace(1) %in, i32 %at) {
entry:
  %l = zext i32 %at to i64
  %p = getelementptr i32, ptr addrspace(1) %in, i64 %l
  %v = load i32, ptr addrspace(1) %p
  %low = icmp ult i32 %v, 10
  br i1 %low, label %small, label %large
small:
  %sum = call i32 @air.simd_sum.u.i32(i32 %v)
  br label %join
large:
  %max = call i32 @air.simd_max.u.i32(i32 %v)
  br label %join
join:
  %r = phi i32 [ %sum, %small ], [ %max, %large ]
  %mask = call i64 @air.simd_ballot.i64(i1 %low)
  %mask.i = trunc i64 %mask to i32
  %x = xor i32 %r, %mask.i
  %q = getelementptr i32, ptr addrspace(1) %out, i64 %l
  store i32 %x, ptr addrspace(1) %q
  ret void
}";

#[test]
fn divergent_lanes_work_apart_and_meet_again() {
    let mut random = Random::fresh();
    for threads in [32_usize, 45, 300] {
        let mut input: Vec<u32> = (0..threads).map(|_| random.below(20)).collect();
        let output = run(DIVERGENT, &mut input, 128);
        let expected = expect_by(&input, 128, 32, |lanes| {
            let mask = lanes.iter().enumerate().fold(0_u32, |mask, (lane, &v)| mask | u32::from(v < 10) << lane);
            let sum: u32 = lanes.iter().filter(|&&v| v < 10).sum();
            let max = lanes.iter().copied().filter(|&v| v >= 10).max().unwrap_or(0);
            lanes.iter().map(|&v| if v < 10 { sum ^ mask } else { max ^ mask }).collect()
        });
        assert_eq!(output, expected, "{threads} threads");
    }
}

/// Each lane loops as often as its value says, adding the number of lanes still in the loop; then all count together.
const UNEVEN_LOOP: &str = "
declare i32 @air.simd_sum.u.i32(i32) convergent

define void @k(ptr addrspace(1) %out, ptr addrspace(1) %in, i32 %at) {
entry:
  %l = zext i32 %at to i64
  %p = getelementptr i32, ptr addrspace(1) %in, i64 %l
  %n = load i32, ptr addrspace(1) %p
  br label %header
header:
  %i = phi i32 [ 0, %entry ], [ %i.1, %body ]
  %s = phi i32 [ 0, %entry ], [ %s.1, %body ]
  %more = icmp ult i32 %i, %n
  br i1 %more, label %body, label %after
body:
  %active = call i32 @air.simd_sum.u.i32(i32 1)
  %s.1 = add i32 %s, %active
  %i.1 = add i32 %i, 1
  br label %header
after:
  %all = call i32 @air.simd_sum.u.i32(i32 1)
  %scaled = mul i32 %all, 100000
  %r = add i32 %scaled, %s
  %q = getelementptr i32, ptr addrspace(1) %out, i64 %l
  store i32 %r, ptr addrspace(1) %q
  ret void
}";

#[test]
fn lanes_that_leave_a_loop_wait_for_the_others() {
    let mut random = Random::fresh();
    let mut input: Vec<u32> = (0..75).map(|_| random.below(30)).collect();
    let output = run(UNEVEN_LOOP, &mut input, 75);
    let expected = expect_by(&input, 75, 32, |lanes| {
        let active = |turn: u32| lanes.iter().map(|&n| u32::from(turn < n)).sum::<u32>();
        let all = u32::try_from(lanes.len()).unwrap();
        lanes.iter().map(|&n| all * 100_000 + (0..n).map(active).sum::<u32>()).collect()
    });
    assert_eq!(output, expected);
}

/// One 8x8 product per SIMD-group: D = A B + C with C loaded transposed.
const MATRIX: &str = "
declare <64 x float> @air.simdgroup_matrix_8x8_load.v64f32.p1f32(ptr addrspace(1), i64, <2 x i64>, i1) convergent
declare void @air.simdgroup_matrix_8x8_store.v64f32.p1f32(<64 x float>, ptr addrspace(1), i64, <2 x i64>, i1) convergent
declare <64 x float> @air.simdgroup_matrix_8x8_multiply_accumulate.v64f32.v64f32.v64f32.v64f32(<64 x float>, <64 x float>, <64 x float>) convergent
declare <64 x float> @air.simdgroup_matrix_8x8_init_diag.v64f32.f32(float)

define void @k(ptr addrspace(1) %d, ptr addrspace(1) %abc, i32 %at) {
  %b.at = getelementptr float, ptr addrspace(1) %abc, i64 64
  %c.at = getelementptr float, ptr addrspace(1) %abc, i64 128
  %a = call <64 x float> @air.simdgroup_matrix_8x8_load.v64f32.p1f32(ptr addrspace(1) %abc, i64 8, <2 x i64> zeroinitializer, i1 false)
  %b = call <64 x float> @air.simdgroup_matrix_8x8_load.v64f32.p1f32(ptr addrspace(1) %b.at, i64 8, <2 x i64> zeroinitializer, i1 false)
  %c = call <64 x float> @air.simdgroup_matrix_8x8_load.v64f32.p1f32(ptr addrspace(1) %c.at, i64 8, <2 x i64> zeroinitializer, i1 true)
  %one = call <64 x float> @air.simdgroup_matrix_8x8_init_diag.v64f32.f32(float 1.0)
  %a1 = call <64 x float> @air.simdgroup_matrix_8x8_multiply_accumulate.v64f32.v64f32.v64f32.v64f32(<64 x float> %a, <64 x float> %one, <64 x float> zeroinitializer)
  %r = call <64 x float> @air.simdgroup_matrix_8x8_multiply_accumulate.v64f32.v64f32.v64f32.v64f32(<64 x float> %a1, <64 x float> %b, <64 x float> %c)
  call void @air.simdgroup_matrix_8x8_store.v64f32.p1f32(<64 x float> %r, ptr addrspace(1) %d, i64 8, <2 x i64> zeroinitializer, i1 false)
  ret void
}";

/// The same in AIR 2.8: under the same names, loads and stores take a shape, strides and an origin.
fn matrix_of_air_2_8() -> String {
    let plain = "i64 8, <2 x i64> zeroinitializer, i1 false";
    let transposed = "i64 8, <2 x i64> zeroinitializer, i1 true";
    let shaped = |strides| format!("<2 x i64> <i64 8, i64 8>, <2 x i64> {strides}, <2 x i64> zeroinitializer");
    MATRIX
        .replace("i64, <2 x i64>, i1)", "<2 x i64>, <2 x i64>, <2 x i64>)")
        .replace(plain, &shaped("<i64 1, i64 8>"))
        .replace(transposed, &shaped("<i64 8, i64 1>"))
}

#[test]
fn matrices_multiply() {
    for text in [MATRIX.to_owned(), matrix_of_air_2_8()] {
        check_product(&text);
    }
}

fn check_product(text: &str) {
    let mut random = Random::fresh();
    let kernel = compile(text, &[buffer(0), buffer(1), builtin(Builtin::ThreadPositionInGrid, 1)]);
    let mut input = random.floats(192);
    let mut output = vec![0.0_f32; 64];
    let mut bindings = Bindings::default();
    bind(&mut bindings, 0, &mut output);
    bind(&mut bindings, 1, &mut input);
    dispatch(&*kernel, &bindings, [32, 1, 1], [32, 1, 1]);
    for row in 0..8 {
        for column in 0..8 {
            let mut expected = input[128 + column * 8 + row];
            for k in 0..8 {
                expected = input[row * 8 + k].mul_add(input[64 + k * 8 + column], expected);
            }
            assert_eq!(output[row * 8 + column], expected, "{row} {column}");
        }
    }
}

#[test]
fn lanes_that_skip_an_operation_wait_for_the_turn_to_end() {
    // Odd lanes skip the second sum of each turn and come to the first one of the next turn before the others.
    let text = "declare i32 @air.simd_sum.s.i32(i32) convergent
define void @k(ptr addrspace(1) %out, ptr addrspace(1) %in, i32 %at) {
entry:
  br label %turn
turn:
  %i = phi i32 [ 0, %entry ], [ %next, %end ]
  %before = phi i32 [ 0, %entry ], [ %after, %end ]
  %all = call i32 @air.simd_sum.s.i32(i32 1)
  %with.all = add i32 %before, %all
  %bit = and i32 %at, 1
  %is.odd = icmp eq i32 %bit, 1
  br i1 %is.odd, label %end, label %middle
middle:
  %even = call i32 @air.simd_sum.s.i32(i32 1000)
  %with.even = add i32 %with.all, %even
  br label %end
end:
  %after = phi i32 [ %with.all, %turn ], [ %with.even, %middle ]
  %next = add i32 %i, 1
  %again = icmp ult i32 %next, 3
  br i1 %again, label %turn, label %exit
exit:
  %l = zext i32 %at to i64
  %q = getelementptr i32, ptr addrspace(1) %out, i64 %l
  store i32 %after, ptr addrspace(1) %q
  ret void
}";
    let mut input = vec![0_i32; 64];
    let expected: Vec<i32> = (0..64).map(|lane| 3 * if lane % 2 == 1 { 32 } else { 32 + 16_000 }).collect();
    assert_eq!(run(text, &mut input, 64), expected);
}

/// A lane owns elements 0 and 1 of its `<64 x float>`; kernels put them in and take them out by shuffles of vectors.
const OWNED: &str = "
declare void @air.simdgroup_matrix_8x8_store.v64f32.p1f32(<64 x float>, ptr addrspace(1), i64, <2 x i64>, i1) convergent

define void @k(ptr addrspace(1) %d, i32 %at) {
  %lane = uitofp i32 %at to float
  %half = fadd float %lane, 5.0e-01
  %first = insertelement <2 x float> undef, float %lane, i64 0
  %both = insertelement <2 x float> %first, float %half, i64 1
  %m = shufflevector <2 x float> %both, <2 x float> undef, <64 x i32> <i32 0, i32 1, UNDEFINED>
  call void @air.simdgroup_matrix_8x8_store.v64f32.p1f32(<64 x float> %m, ptr addrspace(1) %d, i64 8, <2 x i64> zeroinitializer, i1 false)
  ret void
}";

#[test]
fn a_lane_owns_two_neighbours_of_a_matrix() {
    let text = OWNED.replace("UNDEFINED", &vec!["i32 undef"; 62].join(", "));
    let kernel = compile(&text, &[buffer(0), builtin(Builtin::ThreadPositionInGrid, 1)]);
    let mut output = vec![0.0_f32; 64];
    let mut bindings = Bindings::default();
    bind(&mut bindings, 0, &mut output);
    dispatch(&*kernel, &bindings, [32, 1, 1], [32, 1, 1]);
    for lane in 0..32_u8 {
        let (quarter, within) = (usize::from(lane / 4), usize::from(lane));
        let row = (quarter & 4) + within / 2 % 4;
        let column = (quarter & 2) * 2 + within % 2 * 2;
        let found = [output[row * 8 + column], output[row * 8 + column + 1]];
        assert_eq!(found, [f32::from(lane), f32::from(lane) + 0.5], "lane {lane}");
    }
}
