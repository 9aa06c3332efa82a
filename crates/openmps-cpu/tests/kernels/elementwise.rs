//! Kernels whose threads do not know of each other.

use openmps_engine::Builtin;

use crate::harness::{Random, bind, bind_u32, buffer, builtin, compile, dispatch};

const SAXPY: &str = "
define void @k(ptr addrspace(1) %y, ptr addrspace(1) %x, ptr addrspace(2) %a, i32 %id) {
  %i = zext i32 %id to i64
  %a.v = load float, ptr addrspace(2) %a
  %px = getelementptr float, ptr addrspace(1) %x, i64 %i
  %vx = load float, ptr addrspace(1) %px
  %py = getelementptr float, ptr addrspace(1) %y, i64 %i
  %vy = load float, ptr addrspace(1) %py
  %m = fmul float %a.v, %vx
  %s = fadd float %m, %vy
  store float %s, ptr addrspace(1) %py
  ret void
}";

#[test]
fn saxpy_at_odd_sizes() {
    let mut random = Random::fresh();
    let position = builtin(Builtin::ThreadPositionInGrid, 1);
    let kernel = compile(SAXPY, &[buffer(0), buffer(1), buffer(2), position]);
    for count in [1_usize, 31, 33, 1000, 4097, 100_003] {
        let (mut x, mut y) = (random.floats(count), random.floats(count + 1));
        let a = random.float();
        let mut expected = y.clone();
        for (y, x) in expected.iter_mut().zip(&x) {
            *y += a * x;
        }
        let mut bindings = Default::default();
        bind(&mut bindings, 0, &mut y);
        bind(&mut bindings, 1, &mut x);
        bind_u32(&mut bindings, 2, a.to_bits());
        let group = 1 + random.below(1024);
        dispatch(&*kernel, &bindings, [u32::try_from(count).unwrap(), 1, 1], [group, 1, 1]);
        assert_eq!(y, expected, "{count} threads in groups of {group}");
    }
}

#[test]
fn in_place_with_one_buffer_bound_twice() {
    let text = SAXPY.replace("ptr addrspace(1) %x, ptr addrspace(2)", "ptr addrspace(1) noalias %x, ptr addrspace(2)");
    let kernel = compile(&text, &[buffer(0), buffer(1), buffer(2), builtin(Builtin::ThreadPositionInGrid, 1)]);
    let mut y: Vec<f32> = (0..1000_u16).map(f32::from).collect();
    let mut bindings = Default::default();
    bind(&mut bindings, 0, &mut y);
    bind(&mut bindings, 1, &mut y);
    bind_u32(&mut bindings, 2, 2.0_f32.to_bits());
    dispatch(&*kernel, &bindings, [1000, 1, 1], [256, 1, 1]);
    let expected: Vec<f32> = (0..1000_u16).map(|value| 3.0 * f32::from(value)).collect();
    assert_eq!(y, expected);
}

const TRANSPOSE: &str = "
define void @k(ptr addrspace(1) %out, ptr addrspace(1) %in, <3 x i32> %at, <3 x i32> %size) {
  %x = extractelement <3 x i32> %at, i32 0
  %y = extractelement <3 x i32> %at, i32 1
  %z = extractelement <3 x i32> %at, i32 2
  %w = extractelement <3 x i32> %size, i32 0
  %h = extractelement <3 x i32> %size, i32 1
  %zh = mul i32 %z, %h
  %row = add i32 %zh, %y
  %first = mul i32 %row, %w
  %from = add i32 %first, %x
  %zw = mul i32 %z, %w
  %column = add i32 %zw, %x
  %first.t = mul i32 %column, %h
  %to = add i32 %first.t, %y
  %from.l = zext i32 %from to i64
  %to.l = zext i32 %to to i64
  %p = getelementptr i32, ptr addrspace(1) %in, i64 %from.l
  %v = load i32, ptr addrspace(1) %p
  %q = getelementptr i32, ptr addrspace(1) %out, i64 %to.l
  store i32 %v, ptr addrspace(1) %q
  ret void
}";

#[test]
fn three_dimensions_with_edges() {
    let mut random = Random::fresh();
    let grid = [builtin(Builtin::ThreadPositionInGrid, 3), builtin(Builtin::ThreadsPerGrid, 3)];
    let [position, size] = grid;
    let kernel = compile(TRANSPOSE, &[buffer(0), buffer(1), position, size]);
    for _ in 0..20 {
        let [w, h, d] = [1 + random.below(70), 1 + random.below(40), 1 + random.below(5)];
        let group = [1 + random.below(20), 1 + random.below(10), 1 + random.below(4)];
        let count = (w * h * d) as usize;
        let mut input: Vec<u32> = (0..count).map(|_| random.bits32()).collect();
        let mut output = vec![0_u32; count];
        let mut bindings = Default::default();
        bind(&mut bindings, 0, &mut output);
        bind(&mut bindings, 1, &mut input);
        dispatch(&*kernel, &bindings, [w, h, d], group);
        for z in 0..d {
            for y in 0..h {
                for x in 0..w {
                    let from = ((z * h + y) * w + x) as usize;
                    assert_eq!(output[((z * w + x) * h + y) as usize], input[from], "{x} {y} {z} of {w} {h} {d}");
                }
            }
        }
    }
}

#[test]
fn an_empty_grid_runs_nothing() {
    let kernel = compile(SAXPY, &[buffer(0), buffer(1), buffer(2), builtin(Builtin::ThreadPositionInGrid, 1)]);
    let mut y = [1.0_f32];
    let mut bindings = Default::default();
    bind(&mut bindings, 0, &mut y);
    bind(&mut bindings, 1, &mut [1.0_f32]);
    bind_u32(&mut bindings, 2, 0);
    dispatch(&*kernel, &bindings, [0, 1, 1], [1, 1, 1]);
    assert_eq!(y, [1.0]);
}

/// Two functions that call each other with a smaller operand until it is small.
const MUTUAL_RECURSION: &str = "
define internal i32 @down(i32 %n) noinline {
  %is.small = icmp ult i32 %n, 2
  br i1 %is.small, label %end, label %more
more:
  %m = sub i32 %n, 1
  %r = call i32 @other(i32 %m)
  %s = add i32 %r, %n
  ret i32 %s
end:
  ret i32 %n
}
define internal i32 @other(i32 %n) {
  %d = udiv i32 %n, 2
  %r = call i32 @down(i32 %d)
  ret i32 %r
}
define void @k(ptr addrspace(1) %out, i32 %id) {
  %r = call i32 @down(i32 %id)
  %l = zext i32 %id to i64
  %q = getelementptr i32, ptr addrspace(1) %out, i64 %l
  store i32 %r, ptr addrspace(1) %q
  ret void
}";

#[test]
fn functions_may_call_each_other() {
    fn down(n: u32) -> u32 {
        if n < 2 { n } else { down((n - 1) / 2) + n }
    }
    let kernel = compile(MUTUAL_RECURSION, &[buffer(0), builtin(Builtin::ThreadPositionInGrid, 1)]);
    let mut output = vec![0_u32; 1000];
    let mut bindings = Default::default();
    bind(&mut bindings, 0, &mut output);
    dispatch(&*kernel, &bindings, [1000, 1, 1], [100, 1, 1]);
    assert_eq!(output, (0..1000).map(down).collect::<Vec<u32>>());
}
