//! Functions that take a float's exponent apart or change it. Subnormal operands count as zero.

use super::text::{Body, Value};

/// Steps of [`ldexp`]: a third of the largest distance between exponents that matter fits a power of two.
const STEPS: i64 = 3;

/// The exponent of |x| in [1, 2), as C's `ilogb`: the least integer for zero and NaN, the largest for infinity.
pub(super) fn ilogb(body: &mut Body, x: &Value) -> Value {
    let int = x.ty.as_int();
    let field = exponent_field(body, x);
    let exponent = body.binary("sub", &field, &Value::int(&int, 127));
    let magnitude = body.intrinsic("llvm.fabs", &[x]);
    let infinity = Value::float(&x.ty, f32::INFINITY);
    let is_infinite = body.compare("fcmp oeq", &magnitude, &infinity);
    let exponent = body.select(&is_infinite, &Value::int(&int, i64::from(i32::MAX)), &exponent);
    // True of NaN too.
    let is_without = body.compare("fcmp ueq", &magnitude, &Value::float(&x.ty, 0.0));
    body.select(&is_without, &Value::int(&int, i64::from(i32::MIN)), &exponent)
}

fn exponent_field(body: &mut Body, x: &Value) -> Value {
    let int = x.ty.as_int();
    let bits = body.cast("bitcast", x, &int);
    let shifted = body.binary("lshr", &bits, &Value::int(&int, 23));
    body.binary("and", &shifted, &Value::int(&int, 255))
}

/// A fraction with magnitude in [½, 1) and an exponent; zeros, infinities and NaN are themselves, with 0.
pub(super) fn frexp(body: &mut Body, x: &Value) -> (Value, Value) {
    let int = x.ty.as_int();
    let bits = body.cast("bitcast", x, &int);
    let outside = body.binary("and", &bits, &Value::int(&int, -0x7f80_0001));
    let fraction = body.binary("or", &outside, &Value::int(&int, 0x3f00_0000));
    let fraction = body.cast("bitcast", &fraction, &x.ty);
    let field = exponent_field(body, x);
    let exponent = body.binary("sub", &field, &Value::int(&int, 126));
    // Of NaN, infinity and zero the product with zero is not zero, or x is.
    let magnitude = body.intrinsic("llvm.fabs", &[x]);
    let is_number = body.compare("fcmp olt", &magnitude, &Value::float(&x.ty, f32::INFINITY));
    let is_nonzero = body.compare("fcmp one", x, &Value::float(&x.ty, 0.0));
    let is_split = body.binary("and", &is_number, &is_nonzero);
    (body.select(&is_split, &fraction, x), body.select(&is_split, &exponent, &Value::int(&int, 0)))
}

/// x · 2^exponent, rounded once: each step goes the same way, so none overflows or vanishes before the result does.
pub(super) fn ldexp(body: &mut Body, x: &Value, exponent: &Value) -> Value {
    let int = exponent.ty.clone();
    let limit = Value::int(&int, 92 * STEPS);
    let least = Value::int(&int, -92 * STEPS);
    let bound = |body: &mut Body, name: &str, a: &Value, b: &Value| {
        body.value(&int, format_args!("call {int} @llvm.{name}.{}({a}, {b})", int.suffix()))
    };
    let exponent = bound(body, "smin", exponent, &limit);
    let mut left = bound(body, "smax", &exponent, &least);
    let mut result = x.clone();
    for step in 0..STEPS {
        let part = match STEPS - step {
            1 => left.clone(),
            steps => body.binary("sdiv", &left, &Value::int(&int, steps)),
        };
        left = body.binary("sub", &left, &part);
        let biased = body.binary("add", &part, &Value::int(&int, 127));
        let field = body.binary("shl", &biased, &Value::int(&int, 23));
        let power = body.cast("bitcast", &field, &x.ty);
        result = body.binary("fmul", &result, &power);
    }
    result
}
