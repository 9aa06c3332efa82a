//! Vectors lie at any address that an element may have.

use openmps_engine::{Bindings, Builtin};

use crate::harness::{Random, bind, buffer, builtin, compile, dispatch};

/// out[5 i .. 5 i + 4] = 2 a[5 i .. 5 i + 4], as vectors that promise their own alignment.
const TEXT: &str = "define void @k(ptr addrspace(1) %out, ptr addrspace(1) %a, i32 %at) {
  %l = zext i32 %at to i64
  %i = mul i64 %l, 5
  %pa = getelementptr float, ptr addrspace(1) %a, i64 %i
  %po = getelementptr float, ptr addrspace(1) %out, i64 %i
  %x = load <4 x float>, ptr addrspace(1) %pa, align 16
  %y = fadd <4 x float> %x, %x
  store <4 x float> %y, ptr addrspace(1) %po, align 16
  ret void
}";

#[test]
fn vectors_at_odd_elements() {
    let kernel = compile(TEXT, &[buffer(0), buffer(1), builtin(Builtin::ThreadPositionInGrid, 1)]);
    let mut random = Random::fresh();
    let mut a: Vec<f32> = (0..100).map(|_| f32::from(u16::try_from(random.below(1000)).unwrap())).collect();
    let expected: Vec<f32> = a.iter().enumerate().map(|(at, x)| if at % 5 == 4 { 0.0 } else { x + x }).collect();
    let mut out = vec![0.0_f32; a.len()];
    let mut bindings = Bindings::default();
    bind(&mut bindings, 0, &mut out);
    bind(&mut bindings, 1, &mut a);
    dispatch(&*kernel, &bindings, [20, 1, 1], [4, 1, 1]);
    assert_eq!(out, expected);
}
