//! Functions that the module declares: AIR's, by the table, and LLVM's own.

use openmps_llvm::{Function, Type, TypeKind};

use crate::element::Element;
use crate::error::Error;
use crate::intrinsics::{self, Resolved, Signature, Slot};

/// LLVM's intrinsics that compute, move memory or inform the optimiser; each stands for itself and for its overloads. Others
/// touch the stack, registers, exceptions or the process (`llvm.trap` would end it).
const LLVM_ALLOWED: &[&str] = &[
    "abs",
    "acos",
    "asin",
    "assume",
    "atan",
    "atan2",
    "bitreverse",
    "bswap",
    "canonicalize",
    "ceil",
    "copysign",
    "cos",
    "cosh",
    "ctlz",
    "ctpop",
    "cttz",
    "dbg",
    "exp",
    "exp10",
    "exp2",
    "expect",
    "experimental.noalias.scope.decl",
    "fabs",
    "floor",
    "fma",
    "fmuladd",
    "fptosi.sat",
    "fptoui.sat",
    "frexp",
    "fshl",
    "fshr",
    "invariant.end",
    "invariant.start",
    "is.constant",
    "is.fpclass",
    "launder.invariant.group",
    "ldexp",
    "lifetime.end",
    "lifetime.start",
    "log",
    "log10",
    "log2",
    "maximum",
    "maximumnum",
    "maxnum",
    "memcpy",
    "memmove",
    "memset",
    "minimum",
    "minimumnum",
    "minnum",
    "modf",
    "nearbyint",
    "objectsize",
    "pow",
    "powi",
    "ptrmask",
    "rint",
    "round",
    "roundeven",
    "sadd.sat",
    "sadd.with.overflow",
    "scmp",
    "sin",
    "sincos",
    "sinh",
    "smax",
    "smin",
    "smul.with.overflow",
    "sqrt",
    "sshl.sat",
    "ssub.sat",
    "ssub.with.overflow",
    "strip.invariant.group",
    "tan",
    "tanh",
    "trunc",
    "uadd.sat",
    "uadd.with.overflow",
    "ucmp",
    "umax",
    "umin",
    "umul.with.overflow",
    "ushl.sat",
    "usub.sat",
    "usub.with.overflow",
    "vector.reduce",
];

pub(super) fn check(function: Function<'_>) -> Result<(), Error> {
    let name = function.name();
    let refuse = |what: String| Err(Error::Declaration { name: name.clone(), what });
    if let Some(rest) = name.strip_prefix("llvm.") {
        let allowed = LLVM_ALLOWED
            .iter()
            .any(|allowed| rest.strip_prefix(allowed).is_some_and(|rest| rest.is_empty() || rest.starts_with('.')));
        return if function.is_llvm_intrinsic() && allowed {
            Ok(())
        } else {
            refuse("this intrinsic of LLVM has no place in AIR".to_owned())
        };
    }
    let ty = function.value_type();
    if name == super::RECURSION_TRAP && ty.result().is_some_and(|result| result.is_void()) && ty.parameters().is_empty()
    {
        return Ok(());
    }
    let Some(resolved) = intrinsics::lookup(&name) else {
        let what = if name.starts_with("air.") || name.starts_with(intrinsics::TENSOR_PREFIX) {
            "no such function in AIR as far as this program knows it"
        } else {
            "nothing defines this function; AIR knows air.* and llvm.* only"
        };
        return refuse(what.to_owned());
    };
    if resolved.row.signatures.iter().any(|signature| fits(signature, resolved, ty)) {
        return Ok(());
    }
    let expected: Vec<String> =
        resolved.row.signatures.iter().map(|signature| describe(signature, resolved.lanes)).collect();
    refuse(format!("has type {ty}, expected {}", expected.join(" or ")))
}

fn fits(signature: &Signature, resolved: Resolved, ty: Type<'_>) -> bool {
    let parameters = ty.parameters();
    !ty.is_variadic()
        && ty.result().is_some_and(|result| slot_fits(signature.result, resolved.lanes, result))
        && parameters.len() == signature.operands.len()
        && parameters.iter().zip(&signature.operands).all(|(ty, slot)| slot_fits(*slot, resolved.lanes, *ty))
}

fn slot_fits(slot: Slot, lanes: u32, ty: Type<'_>) -> bool {
    let (element, expected) = match slot {
        Slot::Void => return ty.is_void(),
        // The discriminants of address spaces are AIR's numbers.
        Slot::Pointer(space) => return ty.address_space() == Some(space as u32),
        Slot::WithStatus(element, lanes) => {
            let color = if lanes == 1 { Slot::Scalar(element) } else { Slot::Vector(element, lanes) };
            let fields = ty.fields();
            return !ty.is_packed()
                && matches!(fields.as_slice(), [first, second]
                if slot_fits(color, lanes, *first) && slot_fits(Slot::Scalar(Element::I8), 1, *second));
        }
        Slot::Lifted(element) => (element, lanes),
        Slot::Scalar(element) => (element, 1),
        Slot::Vector(element, lanes) => (element, lanes),
    };
    let is_vector = matches!(ty.kind(), TypeKind::Vector(..));
    ty.lanes() == expected && is_vector == (expected > 1) && is_element(element, ty.scalar())
}

/// Whether `ty` is LLVM's type for `element`.
fn is_element(element: Element, ty: Type<'_>) -> bool {
    match element {
        Element::F16 => ty.kind() == TypeKind::Half,
        Element::Bf16 => ty.kind() == TypeKind::BFloat,
        Element::F32 => ty.kind() == TypeKind::Float,
        Element::I1 | Element::I8 | Element::I16 | Element::I32 | Element::I64 => {
            ty.kind() == TypeKind::Integer(element.bits())
        }
    }
}

/// The signature as LLVM writes types.
fn describe(signature: &Signature, lanes: u32) -> String {
    let operands: Vec<String> = signature.operands.iter().map(|slot| describe_slot(*slot, lanes)).collect();
    format!("{} ({})", describe_slot(signature.result, lanes), operands.join(", "))
}

fn describe_slot(slot: Slot, lanes: u32) -> String {
    match slot {
        Slot::Void => "void".to_owned(),
        Slot::Pointer(openmps_engine::AddressSpace::Thread) => "ptr".to_owned(),
        Slot::Pointer(space) => format!("ptr addrspace({})", space as u32),
        Slot::WithStatus(element, 1) => format!("{{ {}, i8 }}", element_type(element)),
        Slot::WithStatus(element, lanes) => format!("{{ <{lanes} x {}>, i8 }}", element_type(element)),
        Slot::Lifted(element) if lanes == 1 => element_type(element).to_owned(),
        Slot::Lifted(element) => format!("<{lanes} x {}>", element_type(element)),
        Slot::Scalar(element) => element_type(element).to_owned(),
        Slot::Vector(element, lanes) => format!("<{lanes} x {}>", element_type(element)),
    }
}

fn element_type(element: Element) -> &'static str {
    match element {
        Element::F16 => "half",
        Element::Bf16 => "bfloat",
        Element::F32 => "float",
        Element::I1 | Element::I8 | Element::I16 | Element::I32 | Element::I64 => element.name(),
    }
}
