//! `air.convert.<kind>.<type>.<kind>.<type>`: conversions by value. Floats saturate when they become integers and NaN becomes 0,
//! as on the hardware; integers round once to nearest even.

use super::text::{Body, Ty, Value};
use super::{Declaration, Lowered};

pub(super) fn lower(declaration: &Declaration, body: &mut Body) -> Option<Lowered> {
    let (operation, parts) = declaration.parts();
    let [to_kind, _, from_kind, ..] = parts.as_slice() else { return None };
    if operation != "convert" {
        return None;
    }
    let source = declaration.parameter(0)?;
    let target = declaration.result.clone()?;
    let result = match (*from_kind, *to_kind) {
        ("f", "f") => float_to_float(body, &source, &target),
        ("f", _) if target.scalar == "i1" => body.compare("fcmp une", &source, &Value::float(&source.ty, 0.0)),
        ("f", kind) => float_to_int(body, kind == "s", &source, &target),
        (kind, "f") => int_to_float(body, kind == "s", &source, &target),
        (_, _) if target.scalar == "i1" => body.compare("icmp ne", &source, &Value::int(&source.ty, 0)),
        (kind, _) => {
            let wider = target.bits()? > source.ty.bits()?;
            let extend = if kind == "s" { "sext" } else { "zext" };
            body.cast(if wider { extend } else { "trunc" }, &source, &target)
        }
    };
    Some(Lowered::Value(result))
}

/// Through float, which is exact for half and bfloat.
fn float_to_float(body: &mut Body, source: &Value, target: &Ty) -> Value {
    let wide = body.cast("fpext", source, &source.ty.with("float"));
    body.cast("fptrunc", &wide, target)
}

fn float_to_int(body: &mut Body, signed: bool, source: &Value, target: &Ty) -> Value {
    let wide = body.cast("fpext", source, &source.ty.with("float"));
    let name = if signed { "llvm.fptosi.sat" } else { "llvm.fptoui.sat" };
    body.call(target, &format!("{name}.{}.{}", target.suffix(), wide.ty.suffix()), &[&wide])
}

/// Integers of at most 32 bits are exact in double, so that only the last step rounds. Wider ones go to float in one step; for
/// half and bfloat that would round twice, so their low bits are first folded into a sticky bit that keeps the direction.
fn int_to_float(body: &mut Body, signed: bool, source: &Value, target: &Ty) -> Value {
    let convert = if signed { "sitofp" } else { "uitofp" };
    if target.scalar == "float" {
        return body.cast(convert, source, target);
    }
    let double = source.ty.with("double");
    let exact = if source.ty.bits().is_some_and(|bits| bits > 32) {
        let sticky = sticky_low_bits(body, source);
        body.cast(convert, &sticky, &double)
    } else {
        body.cast(convert, source, &double)
    };
    round_double(body, &exact, target)
}

/// The value with its low 12 bits replaced by 0x800 if any of them is set, where that cannot change a rounding to 11 bits: for
/// values of more than 53 significant bits only.
fn sticky_low_bits(body: &mut Body, x: &Value) -> Value {
    let low = body.binary("and", x, &Value::int(&x.ty, 0xfff));
    let any = body.compare("icmp ne", &low, &Value::int(&x.ty, 0));
    let high = body.binary("and", x, &Value::int(&x.ty, !0xfff));
    let marked = body.binary("or", &high, &Value::int(&x.ty, 0x800));
    let folded = body.select(&any, &marked, &high);
    // Below 2^52 in magnitude the double is exact already, and small values need their low bits.
    let shifted = body.binary("ashr", x, &Value::int(&x.ty, 52));
    let sign = body.binary("add", &shifted, &Value::int(&x.ty, 1));
    let is_small = body.compare("icmp ult", &sign, &Value::int(&x.ty, 2));
    body.select(&is_small, x, &folded)
}

/// A double to half or bfloat, rounded once: first to odd in float, then to nearest.
fn round_double(body: &mut Body, x: &Value, target: &Ty) -> Value {
    let float = target.with("float");
    let nearest = body.cast("fptrunc", x, &float);
    let back = body.cast("fpext", &nearest, &x.ty);
    let int = float.as_int();
    let bits = body.cast("bitcast", &nearest, &int);
    // Where float was inexact: step back towards zero if it rounded away, then set the lowest bit (round to odd).
    let (magnitude, exact) = (body.intrinsic("llvm.fabs", &[x]), body.intrinsic("llvm.fabs", &[&back]));
    let is_away = body.compare("fcmp ogt", &exact, &magnitude);
    let stepped = body.binary("sub", &bits, &Value::int(&int, 1));
    let toward_zero = body.select(&is_away, &stepped, &bits);
    let odd = body.binary("or", &toward_zero, &Value::int(&int, 1));
    let is_inexact = body.compare("fcmp one", &magnitude, &exact);
    let result = body.select(&is_inexact, &odd, &bits);
    let result = body.cast("bitcast", &result, &float);
    body.cast("fptrunc", &result, target)
}
