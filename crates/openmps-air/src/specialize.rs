//! Function constants get their values: AIR as a front end made it to AIR that an engine compiles.
//!
//! The host's values become the contents of the external initializers, questions about them become constants, and the
//! constructors that compute the rest run at compile time. What they wrote is constant from then on, so that the optimiser sees
//! through it, and gates of arguments are decided.
//!
//! Guarantees: nothing is left in the result's signature that depends on the host; one specialiser serves every front end that
//! follows AIR's convention. Left out: constructors with loops.

use openmps_engine::{
    ConstantScalar, ConstantType, ConstantValue, ConstantValues, FunctionConstant, KernelSignature, Presence,
    VerifiedAir,
};
use openmps_llvm::constant::const_vector;
use openmps_llvm::{Context, Global, IntPredicate, Module, Type, TypeKind, Value};

use crate::error::Error;
use crate::reflect::constants::{Declared, declared};
use crate::{constructors, reflect};

/// Asks whether the host set a constant; the operand is its external initializer.
const IS_DEFINED: &str = "air.is_function_constant_defined";
/// Makes 0 or 1 of a truth value in memory.
const NORMALIZE: &str = "air.normalize_function_constant_predicate.i8";

/// Gives the function constants that `kernel` depends on their `values`. Returns the module and the kernel's signature, which has
/// neither constants nor gated arguments left; other kernels of the module are of no use in it.
///
/// # Errors
/// [`Error::Kernel`] when there is no such kernel or its constants cannot be computed, [`Error::Constant`] for a required one
/// without a value and for a value of another type than the constant's.
pub fn specialize(
    air: &VerifiedAir,
    kernel: &str,
    values: &ConstantValues,
) -> Result<(VerifiedAir, KernelSignature), Error> {
    let context = Context::new();
    let mut module = context.parse_bitcode(air.bitcode())?;
    let find = |module: &Module<'_>| {
        let found = reflect::signatures(module)?.into_iter().find(|signature| signature.name == kernel);
        found.ok_or_else(|| Error::Kernel { kernel: format!("'{kernel}'"), what: "no such kernel".to_owned() })
    };
    let needed = find(&module)?.constants;
    prepare(&module, &needed, values)?;
    if !settle(&mut module) {
        let what = "a constructor that computes from function constants cannot run at compile time";
        return Err(Error::Kernel { kernel: format!("'{kernel}'"), what: what.to_owned() });
    }
    let signature = find(&module)?;
    let open = signature.arguments.iter().find_map(|argument| match &argument.presence {
        Presence::Gated { constant } => Some(constant),
        Presence::Always | Presence::Absent => None,
    });
    if let Some(constant) = open {
        let what = format!("the value of '{constant}', which decides about an argument, cannot be computed");
        return Err(Error::Kernel { kernel: format!("'{kernel}'"), what });
    }
    module.verify()?;
    Ok((VerifiedAir::from_verifier(module.write_bitcode().as_bytes()), signature))
}

/// Runs the constructors and makes what they wrote constant, or says that one cannot run.
fn settle(module: &mut Module<'_>) -> bool {
    let names: Vec<String> = {
        let list = constructors::list(module).unwrap_or_default();
        list.into_iter().flat_map(constructors::written).map(Global::name).collect()
    };
    if module.fold_constructors() > 0 {
        return false;
    }
    names.iter().filter_map(|name| module.global(name)).for_each(|global| global.set_constant(true));
    true
}

/// Replaces everything that depends on the host.
fn prepare(module: &Module<'_>, needed: &[FunctionConstant], values: &ConstantValues) -> Result<(), Error> {
    let declared = declared(module)?;
    set_values(&declared, needed, values)?;
    answer_questions(module, &declared, values);
    normalize(module);
    Ok(())
}

/// Fills the external initializers.
fn set_values(declared: &[Declared<'_>], needed: &[FunctionConstant], values: &ConstantValues) -> Result<(), Error> {
    for declared in declared {
        let constant = &declared.constant;
        let refuse = |what: String| Error::Constant {
            constant: format!("'{}' (index {}, {})", constant.name, constant.index, constant.ty),
            what,
        };
        let value = values.get(constant);
        if value.is_none() && constant.required && needed.contains(constant) {
            return Err(refuse("a value is required, none was set".to_owned()));
        }
        if let Some(value) = value.filter(|value| value.ty() != constant.ty) {
            return Err(refuse(format!("the value set has type {}", value.ty())));
        }
        let ty = declared.global.value_type();
        let contents = match value {
            None => ty.zero(),
            Some(value) => contents(value, ty).ok_or_else(|| refuse(format!("it is {ty} in the module")))?,
        };
        declared.global.set_initializer(contents);
        declared.global.set_externally_initialized(false);
        declared.global.set_constant(true);
    }
    Ok(())
}

/// `value` as a constant of type `ty`; `None` when that is no type for it.
fn contents<'m>(value: &ConstantValue, ty: Type<'m>) -> Option<Value<'m>> {
    let ConstantType { scalar, lanes } = value.ty();
    let elements: Option<Vec<Value<'m>>> = value
        .bytes()
        .chunks_exact(scalar.size_bytes())
        .map(|bytes| {
            let mut word = [0; 8];
            word[..bytes.len()].copy_from_slice(bytes);
            element(scalar, u64::from_le_bytes(word), ty.scalar())
        })
        .collect();
    let elements = elements?;
    match ty.kind() {
        TypeKind::Vector(_, count) if count == u32::from(lanes) => Some(const_vector(&elements)),
        TypeKind::Vector(..) => None,
        _ if lanes == 1 => elements.first().copied(),
        _ => None,
    }
}

fn element(scalar: ConstantScalar, bits: u64, ty: Type<'_>) -> Option<Value<'_>> {
    let width = 8 * scalar.size_bytes();
    match scalar {
        ConstantScalar::Float => (ty.kind() == TypeKind::Float).then(|| ty.const_float_bits(bits)),
        ConstantScalar::Half => (ty.kind() == TypeKind::Half).then(|| ty.const_float_bits(bits)),
        ConstantScalar::BFloat => (ty.kind() == TypeKind::BFloat).then(|| ty.const_float_bits(bits)),
        // A truth value is a byte in memory.
        ConstantScalar::Bool => ty.int_bits().map(|_| ty.const_int(u64::from(bits != 0))),
        ConstantScalar::Int
        | ConstantScalar::UInt
        | ConstantScalar::Short
        | ConstantScalar::UShort
        | ConstantScalar::Char
        | ConstantScalar::UChar
        | ConstantScalar::Long
        | ConstantScalar::ULong => {
            let is_same = ty.int_bits().is_some_and(|bits| bits as usize == width);
            is_same.then(|| ty.const_int(bits))
        }
    }
}

/// Replaces the questions whether a constant was set by their answers.
fn answer_questions(module: &Module<'_>, declared: &[Declared<'_>], values: &ConstantValues) {
    let Some(question) = module.function(IS_DEFINED) else { return };
    for call in question.as_value().users().into_iter().filter_map(Value::as_instruction) {
        let asked = call.arguments().first().and_then(|operand| operand.as_global());
        let about = declared.iter().find(|declared| Some(declared.global) == asked);
        let is_defined = about.is_some_and(|declared| values.get(&declared.constant).is_some());
        call.as_value().replace_all_uses_with(call.ty().const_int(u64::from(is_defined)));
        module.erase(call);
    }
}

/// Replaces the calls that make 0 or 1 of truth values by instructions.
fn normalize(module: &Module<'_>) {
    let Some(function) = module.function(NORMALIZE) else { return };
    let builder = module.builder();
    for call in function.as_value().users().into_iter().filter_map(Value::as_instruction) {
        let Some(&value) = call.arguments().first() else { continue };
        builder.position_before(call);
        let is_true = builder.icmp(IntPredicate::Ne, value, value.ty().zero());
        call.as_value().replace_all_uses_with(builder.zext(is_true, call.ty()));
        module.erase(call);
    }
}

#[cfg(test)]
mod tests;
