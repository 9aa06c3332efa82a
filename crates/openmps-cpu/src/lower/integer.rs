//! Functions of integers (MSL specification 6.4).

use super::text::{Body, Value};
use super::{Declaration, Lowered};

pub(super) fn lower(declaration: &Declaration, body: &mut Body) -> Option<Lowered> {
    let (operation, parts) = declaration.parts();
    let signed = !parts.contains(&"u");
    let x = declaration.parameter(0)?;
    if x.ty.is_float() || x.ty.bits().is_none() {
        return None;
    }
    let by_sign = |is_signed: &'static str, is_unsigned: &'static str| if signed { is_signed } else { is_unsigned };
    let (min, max) = (by_sign("llvm.smin", "llvm.umin"), by_sign("llvm.smax", "llvm.umax"));
    let no = Value::new(x.ty.with("i1").lane(), "false");
    if let Some(result) = unary(body, operation, signed, &x, &no) {
        return Some(Lowered::Value(result));
    }
    let y = declaration.parameter(1).filter(|y| y.ty == x.ty)?;
    let z = declaration.parameter(2).filter(|z| z.ty == x.ty);
    let result = match (operation, &z) {
        ("min", None) => body.intrinsic(min, &[&x, &y]),
        ("max", None) => body.intrinsic(max, &[&x, &y]),
        ("abs_diff", None) => {
            let (low, high) = (body.intrinsic(min, &[&x, &y]), body.intrinsic(max, &[&x, &y]));
            body.binary("sub", &high, &low)
        }
        ("add_sat", None) => body.intrinsic(by_sign("llvm.sadd.sat", "llvm.uadd.sat"), &[&x, &y]),
        ("sub_sat", None) => body.intrinsic(by_sign("llvm.ssub.sat", "llvm.usub.sat"), &[&x, &y]),
        ("hadd" | "rhadd", None) => half_add(body, operation == "rhadd", by_sign("ashr", "lshr"), &x, &y),
        ("mul_hi", None) => mul_hi(body, by_sign("sext", "zext"), &x, &y)?,
        ("rotate", None) => body.intrinsic("llvm.fshl", &[&x, &x, &y]),
        ("clamp", Some(z)) => {
            let low = body.intrinsic(max, &[&x, &y]);
            body.intrinsic(min, &[&low, z])
        }
        ("mad_hi", Some(z)) => {
            let high = mul_hi(body, by_sign("sext", "zext"), &x, &y)?;
            body.binary("add", &high, z)
        }
        ("mad_sat", Some(z)) => mad_sat(body, signed, &x, &y, z)?,
        ("min3" | "max3", Some(z)) => {
            let name = if operation == "min3" { min } else { max };
            let inner = body.intrinsic(name, &[&y, z]);
            body.intrinsic(name, &[&x, &inner])
        }
        _ => return None,
    };
    Some(Lowered::Value(result))
}

fn unary(body: &mut Body, operation: &str, signed: bool, x: &Value, no: &Value) -> Option<Value> {
    Some(match operation {
        // The most negative value wraps to itself.
        "abs" if signed => body.intrinsic("llvm.abs", &[x, no]),
        "abs" => x.clone(),
        // The second operand says that zero is undefined; it never is, and here zero gives the bit width.
        "clz" => body.intrinsic("llvm.ctlz", &[x, no]),
        "ctz" => body.intrinsic("llvm.cttz", &[x, no]),
        "popcount" => body.intrinsic("llvm.ctpop", &[x]),
        "reverse_bits" => body.intrinsic("llvm.bitreverse", &[x]),
        _ => return None,
    })
}

/// (x + y) / 2 without overflow, rounded down or up.
fn half_add(body: &mut Body, up: bool, shift: &str, x: &Value, y: &Value) -> Value {
    let one = Value::int(&x.ty, 1);
    let (a, b) = (body.binary(shift, x, &one), body.binary(shift, y, &one));
    let sum = body.binary("add", &a, &b);
    let low = body.binary(if up { "or" } else { "and" }, x, y);
    let low = body.binary("and", &low, &one);
    body.binary("add", &sum, &low)
}

/// x * y + z in twice the width, clamped to the type. The sum cannot wrap: |x * y| + |z| is below 2^(2 bits - 1).
fn mad_sat(body: &mut Body, signed: bool, x: &Value, y: &Value, z: &Value) -> Option<Value> {
    let bits = x.ty.bits()?;
    let wide = x.ty.with(&format!("i{}", bits * 2));
    let extend = if signed { "sext" } else { "zext" };
    let (a, b, c) = (body.cast(extend, x, &wide), body.cast(extend, y, &wide), body.cast(extend, z, &wide));
    let product = body.binary("mul", &a, &b);
    let sum = body.binary("add", &product, &c);
    let clamped = if signed {
        let (min, max) = (i64::MIN >> (64 - bits), i64::MAX >> (64 - bits));
        let low = body.intrinsic("llvm.smax", &[&sum, &Value::int(&wide, min)]);
        body.intrinsic("llvm.smin", &[&low, &Value::int(&wide, max)])
    } else {
        let ones = Value::int(&x.ty, -1);
        let max = body.cast("zext", &ones, &wide);
        body.intrinsic("llvm.umin", &[&sum, &max])
    };
    Some(body.cast("trunc", &clamped, &x.ty))
}

fn mul_hi(body: &mut Body, extend: &str, x: &Value, y: &Value) -> Option<Value> {
    let bits = x.ty.bits()?;
    let wide = x.ty.with(&format!("i{}", bits * 2));
    let (a, b) = (body.cast(extend, x, &wide), body.cast(extend, y, &wide));
    let product = body.binary("mul", &a, &b);
    let high = body.binary("lshr", &product, &Value::int(&wide, i64::from(bits)));
    Some(body.cast("trunc", &high, &x.ty))
}
