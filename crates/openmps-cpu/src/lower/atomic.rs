//! `air.atomic.*` as LLVM's atomic instructions.
//!
//! AIR's order is relaxed almost everywhere, yet some kernels publish a value and then a flag without a fence and expect them to
//! arrive in order. So loads are acquire and stores release at least, which costs nothing on x86-64; other operations are
//! acquire and release, and sequentially consistent where the order operand asks for it.

use super::text::{Body, Ty, Value};
use super::{Declaration, Lowered};

pub(super) fn lower(declaration: &Declaration, body: &mut Body) -> Option<Lowered> {
    let (operation, parts) = declaration.parts();
    let [_space, name, rest @ ..] = parts.as_slice() else { return None };
    if operation != "atomic" {
        return None;
    }
    let pointer = declaration.parameter(0)?;
    match *name {
        "load" => {
            let ty = declaration.result.clone()?;
            let bytes = ty.bits()? / 8;
            Some(Lowered::Value(body.value(&ty, format_args!("load atomic {ty}, {pointer} acquire, align {bytes}"))))
        }
        "store" => {
            let value = declaration.parameter(1)?;
            let bytes = value.ty.bits()? / 8;
            body.line(format_args!("store atomic {value}, {pointer} release, align {bytes}"));
            Some(Lowered::Void)
        }
        "cmpxchg" => compare_exchange(declaration, body, &pointer),
        _ => {
            let value = declaration.parameter(1)?;
            let operation = modify_operation(name, rest.contains(&"u"), &value.ty)?;
            let old = body.value(&value.ty, format_args!("atomicrmw {operation} {pointer}, {value} seq_cst"));
            Some(if declaration.result.is_some() { Lowered::Value(old) } else { Lowered::Void })
        }
    }
}

fn modify_operation(name: &str, unsigned: bool, ty: &Ty) -> Option<&'static str> {
    Some(match (name, ty.is_float(), unsigned) {
        ("xchg", _, _) => "xchg",
        ("add", false, _) => "add",
        ("add", true, _) => "fadd",
        ("sub", false, _) => "sub",
        ("sub", true, _) => "fsub",
        ("and", false, _) => "and",
        ("or", false, _) => "or",
        ("xor", false, _) => "xor",
        ("min", true, _) => "fmin",
        ("max", true, _) => "fmax",
        ("min", false, false) => "min",
        ("max", false, false) => "max",
        ("min", false, true) => "umin",
        ("max", false, true) => "umax",
        _ => return None,
    })
}

/// Operands: pointer, pointer to the expected value, desired value, orders, scope. Returns the old value, and stores it to
/// `expected` on failure. Compares bits, and never fails spuriously: callers tell success from equal bits.
fn compare_exchange(declaration: &Declaration, body: &mut Body, pointer: &Value) -> Option<Lowered> {
    let (expected, desired) = (declaration.parameter(1)?, declaration.parameter(2)?);
    let int = desired.ty.as_int();
    let before = body.value(&int, format_args!("load {int}, {expected}"));
    let desired_bits = body.cast("bitcast", &desired, &int);
    let pair = format!("{{ {int}, i1 }}");
    let exchanged = body.value(&int, format_args!("cmpxchg {pointer}, {before}, {desired_bits} seq_cst seq_cst"));
    let old = body.value(&int, format_args!("extractvalue {pair} {}, 0", exchanged.name));
    // On success the old value is the expected one, so storing it always changes nothing.
    body.line(format_args!("store {old}, {expected}"));
    Some(Lowered::Value(body.cast("bitcast", &old, &desired.ty)))
}
