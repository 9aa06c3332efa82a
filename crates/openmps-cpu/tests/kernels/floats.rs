//! Arithmetic of half and bfloat, comparisons with infinity under fast math, subnormals, conversions out of range.

use openmps_engine::{Bindings, Builtin};

use crate::harness::{Random, bind, buffer, builtin, compile, dispatch};

/// Runs `body`, which turns `%v` of type `ty` into `%r` of type `result`, over `input`.
fn map<T, R: Default + Clone>(ty: &str, result: &str, body: &str, input: &mut [T]) -> Vec<R> {
    let text = format!(
        "declare float @air.fast_sqrt.f32(float)
declare float @air.fast_rsqrt.f32(float)
define void @k(ptr addrspace(1) %out, ptr addrspace(1) %in, i32 %at) {{
  %l = zext i32 %at to i64
  %p = getelementptr {ty}, ptr addrspace(1) %in, i64 %l
  %v = load {ty}, ptr addrspace(1) %p
{body}
  %q = getelementptr {result}, ptr addrspace(1) %out, i64 %l
  store {result} %r, ptr addrspace(1) %q
  ret void
}}"
    );
    let kernel = compile(&text, &[buffer(0), buffer(1), builtin(Builtin::ThreadPositionInGrid, 1)]);
    let mut output = vec![R::default(); input.len()];
    let mut bindings = Bindings::default();
    bind(&mut bindings, 0, &mut output);
    bind(&mut bindings, 1, input);
    dispatch(&*kernel, &bindings, [u32::try_from(input.len()).unwrap(), 1, 1], [256, 1, 1]);
    output
}

#[test]
fn bfloat_arithmetic_rounds_to_nearest_even() {
    // All bfloats from 1 to 2, plus 3: exact in float, rounded once.
    let mut input: Vec<u16> = (0x3f80..0x4000).collect();
    let output: Vec<u16> = map("bfloat", "bfloat", "  %r = fadd bfloat %v, 0xR4040", &mut input);
    for (&bits, &got) in input.iter().zip(&output) {
        let exact = f32::from_bits(u32::from(bits) << 16) + 3.0;
        let bits = exact.to_bits();
        let expected = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
        assert_eq!(u32::from(got), expected, "{exact}");
    }
}

#[test]
fn half_arithmetic_keeps_subnormals() {
    let mut input: Vec<u16> = vec![1, 2, 0x3ff, 0x400, 0x8001];
    let output: Vec<u16> = map("half", "half", "  %r = fadd half %v, %v", &mut input);
    assert_eq!(output, [2, 4, 0x7fe, 0x800, 0x8002]);
}

#[test]
fn float_subnormals_are_zero() {
    let mut input = vec![f32::from_bits(1), f32::from_bits(0x7f_ffff), f32::MIN_POSITIVE];
    let output: Vec<f32> = map("float", "float", "  %r = fmul float %v, 2.0", &mut input);
    assert_eq!(output, [0.0, 0.0, 2.0 * f32::MIN_POSITIVE]);
}

#[test]
fn fast_comparisons_with_infinity_are_honest() {
    let body = "  %m = fsub fast float 0.0, %v
  %c = fcmp fast oeq float %m, 0xFFF0000000000000
  %r = select i1 %c, float 1.0, float 2.0";
    let mut input = vec![f32::INFINITY, 1.0, f32::NEG_INFINITY];
    let output: Vec<f32> = map("float", "float", body, &mut input);
    assert_eq!(output, [1.0, 2.0, 2.0]);
}

#[test]
fn conversions_out_of_range_saturate() {
    let mut input = vec![1e20, -1e20, f32::NAN, 3.9, -3.9];
    let signed: Vec<i32> = map("float", "i32", "  %r = fptosi float %v to i32", &mut input);
    assert_eq!(signed, [i32::MAX, i32::MIN, 0, 3, -3]);
    let unsigned: Vec<u32> = map("float", "i32", "  %r = fptoui float %v to i32", &mut input);
    assert_eq!(unsigned, [u32::MAX, 0, 0, 3, 0]);
    // 60000, -60000, NaN, infinity, -1.5; as instruction and as the front end writes it.
    let mut halves = vec![0x7b53_u16, 0xfb53, 0x7e00, 0x7c00, 0xbe00];
    for body in ["  %r = fptosi half %v to i16", "  %r = call i16 @llvm.fptosi.sat.i16.f16(half %v)"] {
        let shorts: Vec<i16> = map("half", "i16", body, &mut halves);
        assert_eq!(shorts, [i16::MAX, i16::MIN, 0, i16::MAX, -1], "{body}");
    }
}

#[test]
fn host_bytes_other_than_one_are_true() {
    let body = "  %t = trunc i8 %v to i1
  %r = zext i1 %t to i8";
    let mut input = vec![0_u8, 1, 3];
    let output: Vec<u8> = map("i8", "i8", body, &mut input);
    assert_eq!(output, [0, 1, 1]);
}

/// AIR says of every load of a bool that it gives 0 or 1, which a host's byte need not keep.
#[test]
fn a_promise_about_bytes_is_not_believed() {
    let text = "define void @k(ptr addrspace(1) %out, ptr addrspace(1) %in, i32 %at) {
  %l = zext i32 %at to i64
  %p = getelementptr i8, ptr addrspace(1) %in, i64 %l
  %v = load i8, ptr addrspace(1) %p, !range !0
  %is.large = icmp ugt i8 %v, 1
  %r = zext i1 %is.large to i8
  %q = getelementptr i8, ptr addrspace(1) %out, i64 %l
  store i8 %r, ptr addrspace(1) %q
  ret void
}
!0 = !{i8 0, i8 2}";
    let kernel = compile(text, &[buffer(0), buffer(1), builtin(Builtin::ThreadPositionInGrid, 1)]);
    let (mut output, mut input) = (vec![7_u8; 3], vec![0_u8, 1, 3]);
    let mut bindings = Bindings::default();
    bind(&mut bindings, 0, &mut output);
    bind(&mut bindings, 1, &mut input);
    dispatch(&*kernel, &bindings, [3, 1, 1], [3, 1, 1]);
    assert_eq!(output, [0, 0, 1]);
}

/// `llvm.fmuladd` says that Apple's compiler may contract, and its GPUs have one instruction for it: one rounding.
#[test]
fn products_that_may_be_contracted_round_once() {
    let body = "  %r = call float @llvm.fmuladd.f32(float %v, float %v, float -1.0)";
    let mut input = vec![1.0 + 1.0 / 4096.0, 1.0 - f32::EPSILON, 3.0];
    let expected: Vec<f32> = input.iter().map(|value| value.mul_add(*value, -1.0)).collect();
    let output: Vec<f32> = map("float", "float", body, &mut input);
    assert_eq!(output, expected);
    assert_ne!(output[0], input[0] * input[0] - 1.0, "the test tells one rounding from two");
}

/// What `air.fast_rsqrt` computes, in the order in which it does.
fn reciprocal_root(x: f32) -> f32 {
    let start = f32::from_bits(0x5f37_4800 - (x.to_bits() >> 1));
    let error = (-(x * start)).mul_add(start, 1.0);
    let correction = [0.499_998_3_f32, 0.374_999_02, 0.313_948_7, 0.274_523_88];
    let inner = correction.into_iter().rev().reduce(|sum, term| sum.mul_add(error, term)).unwrap();
    (start * error).mul_add(inner, start)
}

/// The same bits from every engine and on every CPU, 1.4 ulp from the value; as function and as division by a root.
#[test]
fn fast_reciprocal_roots() {
    let call = "  %r = call float @air.fast_rsqrt.f32(float %v)";
    let division = "  %s = call float @air.fast_sqrt.f32(float %v)\n  %r = fdiv arcp float 1.0, %s";
    let mut random = Random::fresh();
    let mut input: Vec<f32> = (0..100_000)
        .map(|_| f32::from_bits(0x0080_0000 + random.below(0x7f00_0000)))
        .chain([f32::MIN_POSITIVE, f32::MAX, 1.0, 4.0, 1.0 - f32::EPSILON / 2.0])
        .collect();
    for body in [call, division] {
        let output: Vec<f32> = map("float", "float", body, &mut input);
        for (&x, &got) in input.iter().zip(&output) {
            assert_eq!(got.to_bits(), reciprocal_root(x).to_bits(), "{x:e}");
            let exact = 1.0 / f64::from(x).sqrt();
            let ulp = (exact.log2().floor() - 23.0).exp2();
            assert!((f64::from(got) - exact).abs() <= 1.4 * ulp, "{x:e}: {got:e} is not {exact:e}");
        }
        let mut edges = [0.0, f32::from_bits(1), -0.0, f32::INFINITY, -1.0, f32::NEG_INFINITY, f32::NAN];
        let output: Vec<f32> = map("float", "float", body, &mut edges);
        assert_eq!(output[..4], [f32::INFINITY, f32::INFINITY, f32::NEG_INFINITY, 0.0]);
        assert!(output[4..].iter().all(|value| value.is_nan()), "{output:?}");
    }
}

/// Several divisions by one number are products with its reciprocal under fast math: 2 ulp, where 2.5 are allowed.
#[test]
fn fast_divisions_by_one_number() {
    let body = "  %a = fdiv arcp float 3.0, %v\n  %b = fdiv arcp float %a, %v\n  %c = fdiv arcp float 7.0, %v
  %r = fadd float %b, %c";
    let mut random = Random::fresh();
    let mut input: Vec<f32> = (0..10_000).map(|_| f32::from_bits(0x3e00_0000 + random.below(0x0400_0000))).collect();
    input.extend([f32::INFINITY, 0.0, f32::NAN]);
    let output: Vec<f32> = map("float", "float", body, &mut input);
    for (&x, &got) in input.iter().zip(&output).take(10_000) {
        let reciprocal = 1.0 / x;
        assert_eq!(got, 3.0 * reciprocal * reciprocal + 7.0 * reciprocal, "{x:e}");
        let exact = 3.0 / f64::from(x) / f64::from(x) + 7.0 / f64::from(x);
        let ulp = (exact.log2().floor() - 23.0).exp2();
        assert!((f64::from(got) - exact).abs() <= 4.0 * ulp, "{x:e}: {got:e} is not {exact:e}");
    }
    assert_eq!(output[10_000..10_002], [0.0, f32::INFINITY]);
    assert!(output[10_002].is_nan());
}
