//! Integer functions against Rust's own integers of each width.

use super::*;

/// Corner and random patterns of `bits` bits.
fn samples(random: &mut Random, bits: u32) -> Vec<u64> {
    let mask = if bits == 64 { u64::MAX } else { (1 << bits) - 1 };
    let half = 1 << (bits - 1);
    let corners = [0, 1, 2, half - 1, half, half + 1, mask - 1, mask];
    corners.into_iter().chain((0..24).map(|_| random.next() & mask)).collect()
}

macro_rules! check_type {
    ($random:expr, $ty:ident, $wide:ident, $unsigned:ident, $suffix:literal) => {{
        let bits = $ty::BITS;
        let name = |operation: &str| format!("air.{operation}.{}", $suffix);
        let out = |value: $ty| u64::from(value as $unsigned);
        let wide = |value: $ty| $wide::from(value);
        let saturate = |value: $wide| out(value.clamp($ty::MIN.into(), $ty::MAX.into()) as $ty);
        for x in samples($random, bits) {
            let a = x as $ty;
            assert_eq!(
                unary(&name("abs"))(x),
                out(if wide(a) < $wide::default() { (0 as $ty).wrapping_sub(a) } else { a }),
                "abs {a}"
            );
            for y in samples($random, bits) {
                let b = y as $ty;
                let check = |operation: &str, expected: u64| {
                    assert_eq!(binary(&name(operation))(x, y), expected, "{operation}({a}, {b}) of {}", $suffix);
                };
                check("max", out(a.max(b)));
                check("min", out(a.min(b)));
                check("abs_diff", u64::from(a.abs_diff(b)));
                check("add_sat", out(a.saturating_add(b)));
                check("sub_sat", out(a.saturating_sub(b)));
                check("hadd", out(((wide(a) + wide(b)) >> 1) as $ty));
                check("rhadd", out(((wide(a) + wide(b) + 1) >> 1) as $ty));
                check("mul_hi", out((wide(a).wrapping_mul(wide(b)) >> bits) as $ty));
                let z = x ^ y.rotate_left(3) & u64::from($unsigned::MAX);
                let c = z as $ty;
                let high = ((wide(a).wrapping_mul(wide(b)) >> bits) as $ty).wrapping_add(c);
                assert_eq!(ternary(&name("mad_hi"))(x, y, z), out(high), "mad_hi({a}, {b}, {c})");
                if let Some(exact) = wide(a).checked_mul(wide(b)).and_then(|product| product.checked_add(wide(c))) {
                    assert_eq!(ternary(&name("mad_sat"))(x, y, z), saturate(exact), "mad_sat({a}, {b}, {c})");
                }
                let (low, high) = (b.min(c), b.max(c));
                assert_eq!(ternary(&name("clamp"))(x, out(low), out(high)), out(a.clamp(low, high)), "clamp {a}");
            }
        }
    }};
}

#[test]
fn functions_with_a_sign_letter() {
    let random = &mut Random::new();
    check_type!(random, i8, i32, u8, "s.i8");
    check_type!(random, u8, i32, u8, "u.i8");
    check_type!(random, i16, i64, u16, "s.i16");
    check_type!(random, u16, i64, u16, "u.i16");
    check_type!(random, i32, i128, u32, "s.i32");
    check_type!(random, u32, i128, u32, "u.i32");
    check_type!(random, i64, i128, u64, "s.i64");
    check_type!(random, u64, u128_as_wide, u64, "u.i64");
}

/// u64's products need all 128 bits, without a sign.
#[allow(non_camel_case_types, reason = "stands for a primitive type in the macro above")]
type u128_as_wide = u128;

#[test]
fn saturation_of_the_largest_products() {
    let most = u64::MAX;
    assert_eq!(ternary("air.mad_sat.u.i64")(most, most, most), most);
    assert_eq!(ternary("air.mad_sat.s.i64")(i64::MIN as u64, i64::MIN as u64, 0), i64::MAX as u64);
    assert_eq!(ternary("air.mad_sat.s.i64")(i64::MIN as u64, i64::MAX as u64, 0), i64::MIN as u64);
}

macro_rules! check_bits {
    ($random:expr, $ty:ident, $suffix:literal) => {
        for x in samples($random, $ty::BITS) {
            let a = x as $ty;
            let name = |operation: &str| format!("air.{operation}.{}", $suffix);
            assert_eq!(binary(&name("clz"))(x, 0), u64::from(a.leading_zeros()), "clz {a}");
            assert_eq!(binary(&name("ctz"))(x, 0), u64::from(a.trailing_zeros()), "ctz {a}");
            assert_eq!(unary(&name("popcount"))(x), u64::from(a.count_ones()), "popcount {a}");
            assert_eq!(unary(&name("reverse_bits"))(x), u64::from(a.reverse_bits()), "reverse_bits {a}");
            for y in samples($random, $ty::BITS) {
                let by = (y % u64::from($ty::BITS)) as u32;
                assert_eq!(binary(&name("rotate"))(x, y), u64::from(a.rotate_left(by)), "rotate {a} {y}");
            }
        }
    };
}

#[test]
fn functions_without_a_sign_letter() {
    let random = &mut Random::new();
    check_bits!(random, u8, "i8");
    check_bits!(random, u16, "i16");
    check_bits!(random, u32, "i32");
    check_bits!(random, u64, "i64");
}

#[test]
fn truth_values_and_predicates() {
    let Reference::Horizontal(all) = reference("air.all.v3i1") else { panic!() };
    let Reference::Horizontal(any) = reference("air.any.v3i1") else { panic!() };
    assert_eq!([all(&[1, 1, 1], &[]), all(&[1, 0, 1], &[]), any(&[0, 0, 0], &[]), any(&[0, 1, 0], &[])], [1, 0, 0, 1]);
    let normalize = unary("air.normalize_function_constant_predicate.i8");
    assert_eq!([0, 1, 2, 255].map(normalize), [0, 1, 1, 1]);
}
