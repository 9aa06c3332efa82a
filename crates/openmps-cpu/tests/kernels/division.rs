//! Integer division goes on whatever its operands are.

use openmps_engine::{Bindings, Builtin};

use crate::harness::{Random, bind, buffer, builtin, compile, dispatch};

/// out[i] = a[i] op b[i] for 32-bit integers.
fn text(operation: &str) -> String {
    format!(
        "define void @k(ptr addrspace(1) %out, ptr addrspace(1) %a, ptr addrspace(1) %b, i32 %at) {{
  %l = zext i32 %at to i64
  %pa = getelementptr i32, ptr addrspace(1) %a, i64 %l
  %pb = getelementptr i32, ptr addrspace(1) %b, i64 %l
  %po = getelementptr i32, ptr addrspace(1) %out, i64 %l
  %x = load i32, ptr addrspace(1) %pa
  %y = load i32, ptr addrspace(1) %pb
  %r = {operation} i32 %x, %y
  store i32 %r, ptr addrspace(1) %po
  ret void
}}"
    )
}

fn check(operation: &str, reference: fn(i32, i32) -> i32) {
    let kernel =
        compile(&text(operation), &[buffer(0), buffer(1), buffer(2), builtin(Builtin::ThreadPositionInGrid, 1)]);
    let mut random = Random::fresh();
    let corners = [0, 1, -1, i32::MIN, i32::MAX, 7];
    let mut a: Vec<i32> = corners.iter().flat_map(|_| corners).collect();
    let mut b: Vec<i32> = corners.iter().flat_map(|&divisor| [divisor; 6]).collect();
    for _ in 0..100 {
        a.push(random.bits32().cast_signed());
        b.push(random.bits32().cast_signed() >> (random.below(32)));
    }
    let mut out = vec![0_i32; a.len()];
    let mut bindings = Bindings::default();
    bind(&mut bindings, 0, &mut out);
    bind(&mut bindings, 1, &mut a);
    bind(&mut bindings, 2, &mut b);
    dispatch(&*kernel, &bindings, [u32::try_from(a.len()).unwrap(), 1, 1], [32, 1, 1]);
    for ((&x, &y), &actual) in a.iter().zip(&b).zip(&out) {
        assert_eq!(actual, reference(x, y), "{operation} {x}, {y}");
    }
}

/// The divisor that the engine takes in place of one without a quotient.
fn signed(x: i32, y: i32) -> i32 {
    if y == 0 || (x == i32::MIN && y == -1) { 1 } else { y }
}

#[test]
fn signed_division() {
    check("sdiv", |x, y| x / signed(x, y));
    check("srem", |x, y| x % signed(x, y));
}

#[test]
fn unsigned_division() {
    check("udiv", |x, y| (x.cast_unsigned() / y.cast_unsigned().max(1)).cast_signed());
    check("urem", |x, y| (x.cast_unsigned() % y.cast_unsigned().max(1)).cast_signed());
}

#[test]
fn an_undefined_divisor_is_some_number() {
    let text = text("sdiv")
        .replace("%r = sdiv i32 %x, %y", "%r = sdiv <2 x i32> <i32 6, i32 8>, undef")
        .replace("store i32 %r", "%e = extractelement <2 x i32> %r, i32 1\n  store i32 %e");
    let kernel = compile(&text, &[buffer(0), buffer(1), buffer(2), builtin(Builtin::ThreadPositionInGrid, 1)]);
    let mut words = [[1_i32; 4]; 3];
    let mut bindings = Bindings::default();
    for (index, words) in (0..).zip(&mut words) {
        bind(&mut bindings, index, words);
    }
    dispatch(&*kernel, &bindings, [4, 1, 1], [4, 1, 1]);
    assert!(words[0].iter().all(|quotient| quotient.abs() <= 8), "{words:?}");
}
