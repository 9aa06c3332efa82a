//! Functions of floats (MSL specification 6.5). Half and bfloat are computed in float and rounded once; `air.fast_*` is the
//! same as the precise function, which satisfies every bound, unless `polynomial` has a quicker one. Only `fmod` calls the C library.

use super::text::{Body, Ty, Value};
use super::{Declaration, Lowered, exponent, polynomial, precise};

pub(super) fn lower(declaration: &Declaration, body: &mut Body) -> Option<Lowered> {
    let (name, _) = declaration.parts();
    let operation = name.strip_prefix("fast_").unwrap_or(name);
    let first = declaration.parameter(0)?;
    if matches!(operation, "all" | "any") && first.ty.scalar == "i1" {
        return Some(Lowered::Value(reduce_truth(body, operation, &first)));
    }
    if !first.ty.is_float() {
        return None;
    }
    let parameters: Vec<Value> = (0..declaration.parameters.len()).filter_map(|i| declaration.parameter(i)).collect();
    if name != operation && first.ty.scalar == "float" {
        let quick = match parameters.as_slice() {
            [x] => polynomial::fast(body, operation, x),
            [x, pointer] if operation == "sincos" => {
                let (sine, cosine) = polynomial::fast_sincos(body, x);
                body.line(format_args!("store {cosine}, {pointer}"));
                Some(sine)
            }
            [x, y] => polynomial::fast_binary(body, operation, x, y),
            _ => None,
        };
        if let Some(result) = quick {
            return Some(Lowered::Value(result));
        }
    }
    let result = match parameters.as_slice() {
        [x] => unary(body, operation, x),
        [x, pointer] if pointer.ty.scalar.starts_with("ptr") => with_pointer(body, operation, x, pointer),
        [x, y] => binary(body, operation, x, y),
        [x, y, z] => ternary(body, operation, x, y, z),
        _ => None,
    };
    result.map(Lowered::Value)
}

fn reduce_truth(body: &mut Body, operation: &str, x: &Value) -> Value {
    if x.ty.lanes == 1 {
        return x.clone();
    }
    let reduction = if operation == "all" { "and" } else { "or" };
    body.call(&x.ty.lane(), &format!("llvm.vector.reduce.{reduction}.{}", x.ty.suffix()), &[x])
}

/// In float, whatever the type.
fn widen(body: &mut Body, x: &Value) -> Value {
    let wide = x.ty.with("float");
    body.cast("fpext", x, &wide)
}

/// Zero instead of a subnormal float, for the C library's functions that take operands apart as integers: they scale subnormal
/// ones up by a multiplication, which gives zero while subnormals count as zero (denorms_disable), and go on with that.
fn flush(body: &mut Body, x: &Value) -> Value {
    // True of subnormals too, for the same reason.
    let is_zero = body.compare("fcmp oeq", x, &Value::float(&x.ty, 0.0));
    let zero = body.intrinsic("llvm.copysign", &[&Value::float(&x.ty, 0.0), x]);
    body.select(&is_zero, &zero, x)
}

/// Back to the type, rounded once.
fn narrow(body: &mut Body, x: &Value, ty: &Ty) -> Value {
    body.cast("fptrunc", x, ty)
}

/// LLVM's intrinsic of one operand that computes `operation`.
fn unary_intrinsic(operation: &str) -> Option<&'static str> {
    Some(match operation {
        "ceil" => "llvm.ceil",
        "floor" => "llvm.floor",
        "rint" => "llvm.rint",
        "round" => "llvm.round",
        "sqrt" => "llvm.sqrt",
        "trunc" => "llvm.trunc",
        _ => return None,
    })
}

fn unary(body: &mut Body, operation: &str, x: &Value) -> Option<Value> {
    if operation == "fabs" {
        return Some(body.intrinsic("llvm.fabs", &[x]));
    }
    let ty = x.ty.clone();
    let wide = widen(body, x);
    let result = match operation {
        "fract" => return Some(fract(body, &wide, &ty)),
        "ilogb" => {
            let flushed = flush(body, &wide);
            return Some(exponent::ilogb(body, &flushed));
        }
        "rsqrt" => rsqrt(body, &wide),
        "sign" => {
            // 0 for zero and for NaN.
            let (zero, one) = (Value::float(&wide.ty, 0.0), Value::float(&wide.ty, 1.0));
            let signed_one = body.intrinsic("llvm.copysign", &[&one, &wide]);
            let is_nonzero = body.compare("fcmp one", &wide, &zero);
            body.select(&is_nonzero, &signed_one, &zero)
        }
        "saturate" => {
            let (zero, one) = (Value::float(&wide.ty, 0.0), Value::float(&wide.ty, 1.0));
            let low = body.intrinsic("llvm.maxnum", &[&wide, &zero]);
            body.intrinsic("llvm.minnum", &[&low, &one])
        }
        _ => match unary_intrinsic(operation) {
            Some(name) => body.intrinsic(name, &[&wide]),
            None => match polynomial::precise(body, operation, &wide) {
                Some(result) => result,
                None => precise::unary(body, operation, &wide)?,
            },
        },
    };
    Some(narrow(body, &result, &ty))
}

/// 1 / sqrt(x) rounded once: in double.
fn rsqrt(body: &mut Body, x: &Value) -> Value {
    let double = x.ty.with("double");
    let wide = body.cast("fpext", x, &double);
    let root = body.intrinsic("llvm.sqrt", &[&wide]);
    let one = Value::float(&double, 1.0);
    let inverse = body.binary("fdiv", &one, &root);
    body.cast("fptrunc", &inverse, &x.ty)
}

/// x - floor(x), below 1 also where the difference rounds up. NaN stays NaN.
fn fract(body: &mut Body, x: &Value, ty: &Ty) -> Value {
    let floor = body.intrinsic("llvm.floor", &[x]);
    let difference = body.binary("fsub", x, &floor);
    let largest = match ty.scalar.as_str() {
        "half" => 1.0 - f32::EPSILON * 4096.0,
        "bfloat" => 1.0 - 1.0 / 256.0,
        _ => 1.0 - f32::EPSILON / 2.0,
    };
    let largest = Value::float(&x.ty, largest);
    let above = body.compare("fcmp ogt", &difference, &largest);
    let result = body.select(&above, &largest, &difference);
    narrow(body, &result, ty)
}

fn binary(body: &mut Body, operation: &str, x: &Value, y: &Value) -> Option<Value> {
    let ty = x.ty.clone();
    match operation {
        "copysign" => return Some(body.intrinsic("llvm.copysign", &[x, y])),
        "nextafter" => return Some(nextafter(body, x, y)),
        "dot" => return Some(dot(body, x, y)),
        _ => {}
    }
    let a = widen(body, x);
    if operation == "ldexp" && !y.ty.is_float() {
        let result = exponent::ldexp(body, &a, y);
        return Some(narrow(body, &result, &ty));
    }
    let b = widen(body, y);
    let result = match operation {
        "atan2" => {
            let (a, b) = (flush(body, &a), flush(body, &b));
            precise::atan2(body, &a, &b)
        }
        "divide" => body.binary("fdiv", &a, &b),
        "step" => {
            // step(edge, x) is 0 where x < edge, else 1.
            let is_below = body.compare("fcmp olt", &b, &a);
            body.select(&is_below, &Value::float(&a.ty, 0.0), &Value::float(&a.ty, 1.0))
        }
        "fdim" => {
            let difference = body.binary("fsub", &a, &b);
            let is_below = body.compare("fcmp ole", &a, &b);
            body.select(&is_below, &Value::float(&a.ty, 0.0), &difference)
        }
        "fmax" => body.intrinsic("llvm.maxnum", &[&a, &b]),
        "fmin" => body.intrinsic("llvm.minnum", &[&a, &b]),
        "fmod" => body.binary("frem", &a, &b),
        "pow" | "powr" => {
            let (a, b) = (flush(body, &a), flush(body, &b));
            // powr is NaN where exp2(y · log2(x)) is: x or y NaN, x below 0, 0⁰, ∞⁰, 1^∞.
            if operation == "pow" { precise::pow(body, &a, &b) } else { precise::power(body, &a, &b) }
        }
        _ => return None,
    };
    Some(narrow(body, &result, &ty))
}

/// One step on the bit pattern, in integers so that subnormals are not flushed.
fn nextafter(body: &mut Body, x: &Value, y: &Value) -> Value {
    let int = x.ty.as_int();
    let (zero, one) = (Value::int(&int, 0), Value::int(&int, 1));
    let sign = Value::int(&int, i64::MIN >> (64 - x.ty.bits().unwrap_or(32)));
    // Sign-magnitude to two's complement and back: the same mapping both ways.
    let ordered = |body: &mut Body, bits: &Value| {
        let mirrored = body.binary("sub", &sign, bits);
        let is_negative = body.compare("icmp slt", bits, &zero);
        body.select(&is_negative, &mirrored, bits)
    };
    let (from, to) = (body.cast("bitcast", x, &int), body.cast("bitcast", y, &int));
    let (from, to) = (ordered(body, &from), ordered(body, &to));
    let (up, down) = (body.binary("add", &from, &one), body.binary("sub", &from, &one));
    let is_up = body.compare("icmp slt", &from, &to);
    let stepped = body.select(&is_up, &up, &down);
    let stepped = ordered(body, &stepped);
    let stepped = body.cast("bitcast", &stepped, &x.ty);
    let is_there = body.compare("icmp eq", &from, &to);
    let result = body.select(&is_there, y, &stepped);
    let is_nan = body.compare("fcmp uno", x, y);
    let nan = body.binary("fadd", x, y);
    body.select(&is_nan, &nan, &result)
}

fn dot(body: &mut Body, x: &Value, y: &Value) -> Value {
    let (a, b) = (widen(body, x), widen(body, y));
    let float = Ty::scalar("float");
    let mut sum: Option<Value> = None;
    for lane in 0..x.ty.lanes {
        let (a, b) = (body.extract(&a, lane), body.extract(&b, lane));
        sum = Some(match sum {
            None => body.binary("fmul", &a, &b),
            Some(sum) => body.intrinsic("llvm.fma", &[&a, &b, &sum]),
        });
    }
    let sum = sum.unwrap_or_else(|| Value::float(&float, 0.0));
    narrow(body, &sum, &x.ty.lane())
}

fn ternary(body: &mut Body, operation: &str, x: &Value, y: &Value, z: &Value) -> Option<Value> {
    let ty = x.ty.clone();
    let (a, b, c) = (widen(body, x), widen(body, y), widen(body, z));
    let result = match operation {
        "fma" if ty.scalar == "float" => body.intrinsic("llvm.fma", &[&a, &b, &c]),
        "fma" => fma_to_odd(body, &a, &b, &c),
        "clamp" => {
            let low = body.intrinsic("llvm.maxnum", &[&a, &b]);
            body.intrinsic("llvm.minnum", &[&low, &c])
        }
        "fmax3" | "fmin3" => {
            let name = if operation == "fmax3" { "llvm.maxnum" } else { "llvm.minnum" };
            let inner = body.intrinsic(name, &[&b, &c]);
            body.intrinsic(name, &[&a, &inner])
        }
        "mix" => {
            let difference = body.binary("fsub", &b, &a);
            let part = body.binary("fmul", &difference, &c);
            body.binary("fadd", &a, &part)
        }
        "fmedian3" => {
            let low = body.intrinsic("llvm.minnum", &[&a, &b]);
            let high = body.intrinsic("llvm.maxnum", &[&a, &b]);
            let middle = body.intrinsic("llvm.minnum", &[&high, &c]);
            body.intrinsic("llvm.maxnum", &[&low, &middle])
        }
        _ => return None,
    };
    Some(narrow(body, &result, &ty))
}

/// a · b + c in float for operands of 16 bits, rounded to odd, so that rounding it once more to their type is like rounding the
/// exact value once (Boldo and Melquiond 2008). The product of two such operands is exact in float.
fn fma_to_odd(body: &mut Body, a: &Value, b: &Value, c: &Value) -> Value {
    let product = body.binary("fmul", a, b);
    let sum = body.binary("fadd", &product, c);
    // Knuth's two-sum: sum + error is exactly product + c.
    let shadow = body.binary("fsub", &sum, &product);
    let rest = body.binary("fsub", &sum, &shadow);
    let (rest, other) = (body.binary("fsub", &product, &rest), body.binary("fsub", c, &shadow));
    let error = body.binary("fadd", &rest, &other);
    let int = sum.ty.as_int();
    let (bits, error_bits) = (body.cast("bitcast", &sum, &int), body.cast("bitcast", &error, &int));
    // An even sum moves to its odd neighbour on the error's side: away from zero where the signs agree.
    let signs = body.binary("xor", &bits, &error_bits);
    let (zero, one) = (Value::int(&int, 0), Value::int(&int, 1));
    let is_toward_zero = body.compare("icmp slt", &signs, &zero);
    let step = body.select(&is_toward_zero, &Value::int(&int, -1), &one);
    let stepped = body.binary("add", &bits, &step);
    let lowest = body.binary("and", &bits, &one);
    let is_even = body.compare("icmp eq", &lowest, &zero);
    // Unequal and ordered: neither exact nor, from infinities, without an error.
    let is_inexact = body.compare("fcmp one", &error, &Value::float(&error.ty, 0.0));
    let moves = body.binary("and", &is_even, &is_inexact);
    let odd = body.select(&moves, &stepped, &bits);
    body.cast("bitcast", &odd, &sum.ty)
}

/// Functions that return one result and store another.
fn with_pointer(body: &mut Body, operation: &str, x: &Value, pointer: &Value) -> Option<Value> {
    let ty = x.ty.clone();
    let wide = widen(body, x);
    let (result, stored) = match operation {
        "sincos" => {
            let (sine, cosine) = precise::sincos(body, &wide);
            (sine, narrow(body, &cosine, &ty))
        }
        "modf" => {
            let whole = body.intrinsic("llvm.trunc", &[&wide]);
            let rest = body.binary("fsub", &wide, &whole);
            let is_infinite = body.compare("fcmp oeq", &wide, &whole);
            let rest = body.select(&is_infinite, &Value::float(&wide.ty, 0.0), &rest);
            (body.intrinsic("llvm.copysign", &[&rest, &wide]), narrow(body, &whole, &ty))
        }
        "frexp" => {
            let wide = flush(body, &wide);
            exponent::frexp(body, &wide)
        }
        _ => return None,
    };
    body.line(format_args!("store {stored}, {pointer}"));
    Some(narrow(body, &result, &ty))
}
