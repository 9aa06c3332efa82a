//! Metadata: named lists, nodes, strings, and what hangs on instructions.

use llvm_sys::LLVMValue;
use llvm_sys::core::{
    LLVMGetMDKindIDInContext, LLVMGetMDNodeNumOperands, LLVMGetMDNodeOperands, LLVMGetMDString, LLVMGetMetadata,
    LLVMGetValueContext, LLVMHasMetadata, LLVMIsAMDNode, LLVMIsAMDString, LLVMMDNodeInContext2, LLVMMDStringInContext2,
    LLVMMetadataAsValue, LLVMSetMetadata, LLVMValueAsMetadata,
};

use crate::context::Context;
use crate::handle::{count, handle};
use crate::instruction::Instruction;
use crate::string::borrowed;
use crate::value::Value;

handle! {
    /// A metadata node (`!{…}`).
    Metadata, LLVMValue
}

/// One operand of a metadata node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MetadataOperand<'m> {
    /// `null`.
    Null,
    /// `!"…"`.
    String(String),
    /// `!{…}`.
    Node(Metadata<'m>),
    /// A constant, function or global.
    Value(Value<'m>),
}

impl<'m> MetadataOperand<'m> {
    /// The string that this is.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            Self::Null | Self::Node(_) | Self::Value(_) => None,
        }
    }

    /// The node that this is.
    #[must_use]
    pub fn as_node(&self) -> Option<Metadata<'m>> {
        match self {
            Self::Node(node) => Some(*node),
            Self::Null | Self::String(_) | Self::Value(_) => None,
        }
    }

    /// The value that this is.
    #[must_use]
    pub fn as_value(&self) -> Option<Value<'m>> {
        match self {
            Self::Value(value) => Some(*value),
            Self::Null | Self::String(_) | Self::Node(_) => None,
        }
    }

    /// The integer constant that this is, zero-extended.
    #[must_use]
    pub fn as_int(&self) -> Option<u64> {
        self.as_value()?.as_const_int()
    }
}

impl<'m> Metadata<'m> {
    /// Its operands in order.
    #[must_use]
    pub fn operands(self) -> Vec<MetadataOperand<'m>> {
        // SAFETY: a node, live by the invariant of `Metadata`.
        let len = unsafe { LLVMGetMDNodeNumOperands(self.raw()) };
        let mut raw = vec![std::ptr::null_mut(); len as usize];
        // SAFETY: a node; the array has room for its `len` operands.
        unsafe { LLVMGetMDNodeOperands(self.raw(), raw.as_mut_ptr()) };
        raw.into_iter().map(operand).collect()
    }
}

/// Sorts a pointer that `LLVMGetMDNodeOperands` returned.
fn operand<'m>(raw: *mut LLVMValue) -> MetadataOperand<'m> {
    let Some(value) = Value::wrap_option(raw) else { return MetadataOperand::Null };
    // SAFETY: live, as the operand of a live node.
    if !unsafe { LLVMIsAMDString(raw) }.is_null() {
        let mut len = 0;
        // SAFETY: just found to be a string.
        let data = unsafe { LLVMGetMDString(raw, &raw mut len) };
        // SAFETY: the string keeps `len` bytes at `data`.
        return MetadataOperand::String(unsafe { borrowed(data, len as usize) });
    }
    // SAFETY: live, as the operand of a live node.
    match Metadata::wrap_option(unsafe { LLVMIsAMDNode(raw) }) {
        Some(node) => MetadataOperand::Node(node),
        None => MetadataOperand::Value(value),
    }
}

impl Context {
    /// A node with these operands.
    #[must_use]
    pub fn metadata_node<'c>(&'c self, operands: &[MetadataOperand<'c>]) -> Metadata<'c> {
        let mut raw: Vec<_> = operands
            .iter()
            .map(|operand| match operand {
                MetadataOperand::Null => std::ptr::null_mut(),
                // SAFETY: the context is live; the text is copied.
                MetadataOperand::String(text) => unsafe {
                    LLVMMDStringInContext2(self.raw(), text.as_ptr().cast(), text.len())
                },
                // SAFETY: live by the invariant of `Metadata`.
                MetadataOperand::Node(node) => unsafe { LLVMValueAsMetadata(node.raw()) },
                // SAFETY: live by the invariant of `Value`.
                MetadataOperand::Value(value) => unsafe { LLVMValueAsMetadata(value.raw()) },
            })
            .collect();
        // SAFETY: context and operands are live; the array lives through the call.
        let node = unsafe { LLVMMDNodeInContext2(self.raw(), raw.as_mut_ptr(), raw.len()) };
        // SAFETY: context and node are live.
        Metadata::wrap(unsafe { LLVMMetadataAsValue(self.raw(), node) })
    }
}

impl<'m> Instruction<'m> {
    fn metadata_kind(self, name: &str) -> u32 {
        // SAFETY: live by the invariant of `Instruction`.
        let context = unsafe { LLVMGetValueContext(self.raw()) };
        // SAFETY: the context of a live value; the name is copied.
        unsafe { LLVMGetMDKindIDInContext(context, name.as_ptr().cast(), count(name.len())) }
    }

    /// The metadata that hangs on it as `!name`.
    #[must_use]
    pub fn metadata(self, name: &str) -> Option<Metadata<'m>> {
        // SAFETY: live by the invariant of `Instruction`.
        if unsafe { LLVMHasMetadata(self.raw()) } == 0 {
            return None;
        }
        // SAFETY: live by the invariant of `Instruction`.
        Metadata::wrap_option(unsafe { LLVMGetMetadata(self.raw(), self.metadata_kind(name)) })
    }

    /// Hangs `node` on it as `!name`, or removes what hangs there.
    pub fn set_metadata(self, name: &str, node: Option<Metadata<'m>>) {
        let raw = node.map_or(std::ptr::null_mut(), Metadata::raw);
        // SAFETY: live by the invariants; LLVM takes null for "remove".
        unsafe { LLVMSetMetadata(self.raw(), self.metadata_kind(name), raw) }
    }
}

impl std::fmt::Debug for Metadata<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(&Value::wrap(self.raw()), f)
    }
}
