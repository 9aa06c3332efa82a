//! Attributes of functions, parameters and calls, by their names in LLVM IR.

use llvm_sys::core::{
    LLVMAddAttributeAtIndex, LLVMAddCallSiteAttribute, LLVMCreateEnumAttribute, LLVMCreateStringAttribute,
    LLVMGetEnumAttributeAtIndex, LLVMGetEnumAttributeKindForName, LLVMGetEnumAttributeValue,
    LLVMGetStringAttributeAtIndex, LLVMGetStringAttributeValue, LLVMGetValueContext, LLVMRemoveEnumAttributeAtIndex,
    LLVMRemoveStringAttributeAtIndex,
};
use llvm_sys::{LLVMAttributeFunctionIndex, LLVMAttributeReturnIndex};

use crate::function::Function;
use crate::handle::count;
use crate::instruction::Instruction;
use crate::opcode::PlainOp;
use crate::string::borrowed;

/// Where an attribute hangs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttributePlace {
    /// On the function itself.
    Function,
    /// On its result.
    Result,
    /// On this parameter, from 0.
    Parameter(u32),
}

impl AttributePlace {
    fn index(self) -> u32 {
        match self {
            Self::Function => LLVMAttributeFunctionIndex,
            Self::Result => LLVMAttributeReturnIndex,
            Self::Parameter(index) => index + 1,
        }
    }
}

/// LLVM's number of an attribute such as `nounwind`.
fn kind(name: &str) -> u32 {
    // SAFETY: the name lives through the call.
    let kind = unsafe { LLVMGetEnumAttributeKindForName(name.as_ptr().cast(), name.len()) };
    assert_ne!(kind, 0, "LLVM has no attribute {name}");
    kind
}

impl Function<'_> {
    /// The value of attribute `name` (0 for those without one), if it is there.
    ///
    /// # Panics
    /// When LLVM has no such attribute.
    #[must_use]
    pub fn attribute(self, place: AttributePlace, name: &str) -> Option<u64> {
        // SAFETY: live by the invariant of `Function`.
        let raw = unsafe { LLVMGetEnumAttributeAtIndex(self.raw(), place.index(), kind(name)) };
        if raw.is_null() {
            return None;
        }
        // SAFETY: an attribute that LLVM has just returned.
        Some(unsafe { LLVMGetEnumAttributeValue(raw) })
    }

    /// Adds attribute `name`; `value` is 0 for those without one.
    ///
    /// # Panics
    /// When LLVM has no such attribute.
    pub fn add_attribute(self, place: AttributePlace, name: &str, value: u64) {
        // SAFETY: live by the invariant of `Function`.
        let context = unsafe { LLVMGetValueContext(self.raw()) };
        // SAFETY: the context of a live value.
        let raw = unsafe { LLVMCreateEnumAttribute(context, kind(name), value) };
        // SAFETY: live by the invariant of `Function`.
        unsafe { LLVMAddAttributeAtIndex(self.raw(), place.index(), raw) }
    }

    /// Removes attribute `name`, if it is there.
    ///
    /// # Panics
    /// When LLVM has no such attribute.
    pub fn remove_attribute(self, place: AttributePlace, name: &str) {
        // SAFETY: live by the invariant of `Function`.
        unsafe { LLVMRemoveEnumAttributeAtIndex(self.raw(), place.index(), kind(name)) }
    }

    /// The value of the string attribute `"key"`.
    #[must_use]
    pub fn string_attribute(self, place: AttributePlace, key: &str) -> Option<String> {
        // SAFETY: live by the invariant of `Function`; the key lives through the call.
        let raw =
            unsafe { LLVMGetStringAttributeAtIndex(self.raw(), place.index(), key.as_ptr().cast(), count(key.len())) };
        if raw.is_null() {
            return None;
        }
        let mut len = 0;
        // SAFETY: a string attribute that LLVM has just returned.
        let data = unsafe { LLVMGetStringAttributeValue(raw, &raw mut len) };
        // SAFETY: the attribute keeps `len` bytes at `data`.
        Some(unsafe { borrowed(data, len as usize) })
    }

    /// Adds the string attribute `"key"="value"`.
    pub fn add_string_attribute(self, place: AttributePlace, key: &str, value: &str) {
        // SAFETY: live by the invariant of `Function`.
        let context = unsafe { LLVMGetValueContext(self.raw()) };
        let (key_data, value_data) = (key.as_ptr().cast(), value.as_ptr().cast());
        // SAFETY: the context of a live value; both texts are copied.
        let raw =
            unsafe { LLVMCreateStringAttribute(context, key_data, count(key.len()), value_data, count(value.len())) };
        // SAFETY: live by the invariant of `Function`.
        unsafe { LLVMAddAttributeAtIndex(self.raw(), place.index(), raw) }
    }

    /// Removes the string attribute `"key"`, if it is there.
    pub fn remove_string_attribute(self, place: AttributePlace, key: &str) {
        // SAFETY: live by the invariant of `Function`; the key lives through the call.
        unsafe {
            LLVMRemoveStringAttributeAtIndex(self.raw(), place.index(), key.as_ptr().cast(), count(key.len()));
        }
    }
}

impl Instruction<'_> {
    /// Adds attribute `name` to a call.
    ///
    /// # Panics
    /// When this is no call, or LLVM has no such attribute.
    pub fn add_call_attribute(self, place: AttributePlace, name: &str, value: u64) {
        assert!(self.opcode().is(PlainOp::Call), "only a call has attributes, not {self}");
        // SAFETY: live by the invariant of `Instruction`.
        let context = unsafe { LLVMGetValueContext(self.raw()) };
        // SAFETY: the context of a live value.
        let raw = unsafe { LLVMCreateEnumAttribute(context, kind(name), value) };
        // SAFETY: a call, live by the invariant of `Instruction`.
        unsafe { LLVMAddCallSiteAttribute(self.raw(), place.index(), raw) }
    }
}
