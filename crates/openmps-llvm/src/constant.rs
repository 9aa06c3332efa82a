//! Constants: made from a type, read from a value.

use llvm_sys::core::{
    LLVMConstAllOnes, LLVMConstArray2, LLVMConstFPFromBits, LLVMConstInt, LLVMConstIntGetSExtValue,
    LLVMConstIntGetZExtValue, LLVMConstNull, LLVMConstReal, LLVMConstRealGetDouble, LLVMConstVector,
    LLVMGetAggregateElement, LLVMGetConstOpcode, LLVMGetGEPSourceElementType, LLVMGetNumOperands, LLVMGetOperand,
    LLVMGetPoison, LLVMGetUndef, LLVMIsAConstantExpr, LLVMIsAConstantFP, LLVMIsAConstantInt, LLVMIsNull, LLVMIsPoison,
    LLVMIsUndef,
};

use crate::handle::count;
use crate::opcode::{Opcode, PlainOp};
use crate::ty::{Type, TypeKind};
use crate::value::Value;

impl<'m> Type<'m> {
    /// The integer `value` of this integer type, cut to its bits; of a vector type the splat.
    ///
    /// # Panics
    /// When this is no integer type, nor a vector of one.
    #[must_use]
    pub fn const_int(self, value: u64) -> Value<'m> {
        if let TypeKind::Vector(element, lanes) = self.kind() {
            return const_vector(&vec![element.const_int(value); lanes as usize]);
        }
        let bits = self.int_bits().expect("integer constants have an integer type");
        let kept = if bits < 64 { value & ((1 << bits) - 1) } else { value };
        // SAFETY: an integer type, live by the invariant of `Type`; the value fits its bits.
        Value::wrap(unsafe { LLVMConstInt(self.raw(), kept, 0) })
    }

    /// The floating-point number nearest to `value`; of a vector type the splat.
    ///
    /// # Panics
    /// When this is no floating-point type, nor a vector of one.
    #[must_use]
    pub fn const_float(self, value: f64) -> Value<'m> {
        assert!(self.scalar().is_float(), "floating-point constants have a floating-point type, not {self}");
        // SAFETY: a floating-point type or vector of one, live by the invariant of `Type`.
        Value::wrap(unsafe { LLVMConstReal(self.raw(), value) })
    }

    /// The floating-point number with this bit pattern.
    ///
    /// # Panics
    /// When this is no floating-point type.
    #[must_use]
    pub fn const_float_bits(self, bits: u64) -> Value<'m> {
        assert!(self.is_float(), "floating-point constants have a floating-point type, not {self}");
        // SAFETY: a floating-point type of at most 64 bits, live by the invariant of `Type`; LLVM reads one word.
        Value::wrap(unsafe { LLVMConstFPFromBits(self.raw(), &raw const bits) })
    }

    /// Zero, null, or an aggregate of them.
    #[must_use]
    pub fn zero(self) -> Value<'m> {
        // SAFETY: live by the invariant of `Type`.
        Value::wrap(unsafe { LLVMConstNull(self.raw()) })
    }

    /// All bits set.
    #[must_use]
    pub fn all_ones(self) -> Value<'m> {
        // SAFETY: live by the invariant of `Type`.
        Value::wrap(unsafe { LLVMConstAllOnes(self.raw()) })
    }

    /// `undef`.
    #[must_use]
    pub fn undef(self) -> Value<'m> {
        // SAFETY: live by the invariant of `Type`.
        Value::wrap(unsafe { LLVMGetUndef(self.raw()) })
    }

    /// `poison`.
    #[must_use]
    pub fn poison(self) -> Value<'m> {
        // SAFETY: live by the invariant of `Type`.
        Value::wrap(unsafe { LLVMGetPoison(self.raw()) })
    }

    /// The array of `elements`, each of this type.
    #[must_use]
    pub fn const_array(self, elements: &[Value<'m>]) -> Value<'m> {
        let mut raw: Vec<_> = elements.iter().map(|value| value.raw()).collect();
        // SAFETY: type and elements are live by their invariants; the array lives through the call.
        Value::wrap(unsafe { LLVMConstArray2(self.raw(), raw.as_mut_ptr(), raw.len() as u64) })
    }
}

/// The vector of `elements`, which are constants of one type, at least one.
///
/// # Panics
/// When there are no elements.
#[must_use]
pub fn const_vector<'m>(elements: &[Value<'m>]) -> Value<'m> {
    assert!(!elements.is_empty(), "a vector has a lane at least");
    let mut raw: Vec<_> = elements.iter().map(|value| value.raw()).collect();
    // SAFETY: the elements are live by the invariant of `Value`; the array lives through the call.
    Value::wrap(unsafe { LLVMConstVector(raw.as_mut_ptr(), count(raw.len())) })
}

impl<'m> Value<'m> {
    /// The value of an integer constant of at most 64 bits, zero-extended.
    #[must_use]
    pub fn as_const_int(self) -> Option<u64> {
        if !self.is_small_const_int() {
            return None;
        }
        // SAFETY: an integer constant of at most 64 bits, live by the invariant of `Value`.
        Some(unsafe { LLVMConstIntGetZExtValue(self.raw()) })
    }

    /// The value of an integer constant of at most 64 bits, sign-extended.
    #[must_use]
    pub fn as_const_int_signed(self) -> Option<i64> {
        if !self.is_small_const_int() {
            return None;
        }
        // SAFETY: an integer constant of at most 64 bits, live by the invariant of `Value`.
        Some(unsafe { LLVMConstIntGetSExtValue(self.raw()) })
    }

    fn is_small_const_int(self) -> bool {
        // SAFETY: live by the invariant of `Value`.
        let is_int = !unsafe { LLVMIsAConstantInt(self.raw()) }.is_null();
        is_int && self.ty().int_bits().is_some_and(|bits| bits <= 64)
    }

    /// The value of a floating-point constant.
    #[must_use]
    pub fn as_const_float(self) -> Option<f64> {
        // SAFETY: live by the invariant of `Value`.
        if unsafe { LLVMIsAConstantFP(self.raw()) }.is_null() {
            return None;
        }
        let mut lost = 0;
        // SAFETY: just found to be a floating-point constant.
        Some(unsafe { LLVMConstRealGetDouble(self.raw(), &raw mut lost) })
    }

    /// Whether it is the zero of its type.
    #[must_use]
    pub fn is_zero(self) -> bool {
        // SAFETY: live by the invariant of `Value`.
        self.is_constant() && unsafe { LLVMIsNull(self.raw()) != 0 }
    }

    /// Whether it is `undef` or `poison`.
    #[must_use]
    pub fn is_undef(self) -> bool {
        // SAFETY: live by the invariant of `Value`.
        let undef = unsafe { LLVMIsUndef(self.raw()) != 0 };
        // SAFETY: live by the invariant of `Value`.
        undef || unsafe { LLVMIsPoison(self.raw()) != 0 }
    }

    /// The opcode of a constant expression.
    #[must_use]
    pub fn const_opcode(self) -> Option<Opcode> {
        // SAFETY: live by the invariant of `Value`.
        if unsafe { LLVMIsAConstantExpr(self.raw()) }.is_null() {
            return None;
        }
        // SAFETY: just found to be a constant expression.
        Some(Opcode::from_raw(unsafe { LLVMGetConstOpcode(self.raw()) }))
    }

    /// The type that a constant getelementptr expression steps through.
    #[must_use]
    pub fn const_gep_source_type(self) -> Option<Type<'m>> {
        if !self.const_opcode()?.is(PlainOp::GetElementPtr) {
            return None;
        }
        // SAFETY: just found to be a getelementptr expression.
        Some(Type::wrap(unsafe { LLVMGetGEPSourceElementType(self.raw()) }))
    }

    /// The operands of a constant: of an expression, an aggregate, or a global's initializer. Empty for other constants.
    #[must_use]
    pub fn const_operands(self) -> Vec<Value<'m>> {
        if !self.is_constant() {
            return Vec::new();
        }
        // SAFETY: constants are users, live by the invariant of `Value`.
        let len = u32::try_from(unsafe { LLVMGetNumOperands(self.raw()) }).unwrap_or(0);
        // SAFETY: the index is below the number of operands of a live user.
        (0..len).filter_map(|index| Value::wrap_option(unsafe { LLVMGetOperand(self.raw(), index) })).collect()
    }

    /// Element `index` of a constant vector, array or struct; also of zero, undef and packed data.
    #[must_use]
    pub fn const_element(self, index: u32) -> Option<Value<'m>> {
        if !self.is_constant() {
            return None;
        }
        // SAFETY: a constant, live by the invariant of `Value`; LLVM returns null where there is no such element.
        Value::wrap_option(unsafe { LLVMGetAggregateElement(self.raw(), index) })
    }
}
