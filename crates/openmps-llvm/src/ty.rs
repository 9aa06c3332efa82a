//! Types: what they are and what they are made of.

use std::fmt;

use llvm_sys::core::{
    LLVMCountParamTypes, LLVMCountStructElementTypes, LLVMGetArrayLength2, LLVMGetElementType, LLVMGetIntTypeWidth,
    LLVMGetParamTypes, LLVMGetPointerAddressSpace, LLVMGetReturnType, LLVMGetStructElementTypes, LLVMGetTypeKind,
    LLVMGetVectorSize, LLVMIsFunctionVarArg, LLVMIsPackedStruct, LLVMPrintTypeToString, LLVMTypeIsSized,
};
use llvm_sys::{LLVMType, LLVMTypeKind};

use crate::handle::handle;
use crate::string::owned;

handle! {
    /// A type; lives as long as its context.
    Type, LLVMType
}

/// What a type is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TypeKind<'m> {
    /// No value.
    Void,
    /// 16-bit IEEE.
    Half,
    /// 16 bits: the upper half of an IEEE single.
    BFloat,
    /// 32-bit IEEE.
    Float,
    /// 64-bit IEEE.
    Double,
    /// An integer of this many bits.
    Integer(u32),
    /// A pointer into this address space.
    Pointer(u32),
    /// Element type and number of lanes.
    Vector(Type<'m>, u32),
    /// Element type and length.
    Array(Type<'m>, u64),
    /// See [`Type::fields`].
    Struct,
    /// See [`Type::result`] and [`Type::parameters`].
    Function,
    /// A basic block.
    Label,
    /// Metadata as a value.
    Metadata,
    /// Anything that AIR has no use for (x86_fp80, scalable vectors, tokens, …).
    Other,
}

impl<'m> Type<'m> {
    /// What this type is.
    #[must_use]
    pub fn kind(self) -> TypeKind<'m> {
        // SAFETY: live by the invariant of `Type`.
        match unsafe { LLVMGetTypeKind(self.raw()) } {
            LLVMTypeKind::LLVMVoidTypeKind => TypeKind::Void,
            LLVMTypeKind::LLVMHalfTypeKind => TypeKind::Half,
            LLVMTypeKind::LLVMBFloatTypeKind => TypeKind::BFloat,
            LLVMTypeKind::LLVMFloatTypeKind => TypeKind::Float,
            LLVMTypeKind::LLVMDoubleTypeKind => TypeKind::Double,
            // SAFETY: an integer type, live by the invariant of `Type`.
            LLVMTypeKind::LLVMIntegerTypeKind => TypeKind::Integer(unsafe { LLVMGetIntTypeWidth(self.raw()) }),
            // SAFETY: a pointer type, live by the invariant of `Type`.
            LLVMTypeKind::LLVMPointerTypeKind => TypeKind::Pointer(unsafe { LLVMGetPointerAddressSpace(self.raw()) }),
            LLVMTypeKind::LLVMVectorTypeKind => {
                // SAFETY: a vector type, live by the invariant of `Type`.
                TypeKind::Vector(self.element(), unsafe { LLVMGetVectorSize(self.raw()) })
            }
            LLVMTypeKind::LLVMArrayTypeKind => {
                // SAFETY: an array type, live by the invariant of `Type`.
                TypeKind::Array(self.element(), unsafe { LLVMGetArrayLength2(self.raw()) })
            }
            LLVMTypeKind::LLVMStructTypeKind => TypeKind::Struct,
            LLVMTypeKind::LLVMFunctionTypeKind => TypeKind::Function,
            LLVMTypeKind::LLVMLabelTypeKind => TypeKind::Label,
            LLVMTypeKind::LLVMMetadataTypeKind => TypeKind::Metadata,
            _ => TypeKind::Other,
        }
    }

    /// Only for vectors and arrays.
    fn element(self) -> Self {
        // SAFETY: callers have found a vector or array, live by the invariant of `Type`.
        Self::wrap(unsafe { LLVMGetElementType(self.raw()) })
    }

    /// The type of one lane: of a vector its element, else the type itself.
    #[must_use]
    pub fn scalar(self) -> Self {
        match self.kind() {
            TypeKind::Vector(element, _) => element,
            _ => self,
        }
    }

    /// The lanes of a vector, 1 for other types.
    #[must_use]
    pub fn lanes(self) -> u32 {
        match self.kind() {
            TypeKind::Vector(_, lanes) => lanes,
            _ => 1,
        }
    }

    /// The bits of an integer type.
    #[must_use]
    pub fn int_bits(self) -> Option<u32> {
        match self.kind() {
            TypeKind::Integer(bits) => Some(bits),
            _ => None,
        }
    }

    /// The address space of a pointer type.
    #[must_use]
    pub fn address_space(self) -> Option<u32> {
        match self.kind() {
            TypeKind::Pointer(space) => Some(space),
            _ => None,
        }
    }

    /// Whether this is half, bfloat, float or double.
    #[must_use]
    pub fn is_float(self) -> bool {
        matches!(self.kind(), TypeKind::Half | TypeKind::BFloat | TypeKind::Float | TypeKind::Double)
    }

    /// Whether this is `void`.
    #[must_use]
    pub fn is_void(self) -> bool {
        self.kind() == TypeKind::Void
    }

    /// Whether values of the type have a size in memory.
    #[must_use]
    pub fn is_sized(self) -> bool {
        // SAFETY: live by the invariant of `Type`.
        unsafe { LLVMTypeIsSized(self.raw()) != 0 }
    }

    /// The field types of a struct; empty for other types.
    #[must_use]
    pub fn fields(self) -> Vec<Self> {
        if self.kind() != TypeKind::Struct {
            return Vec::new();
        }
        // SAFETY: a struct type, live by the invariant of `Type`.
        let len = unsafe { LLVMCountStructElementTypes(self.raw()) };
        let mut raw = vec![std::ptr::null_mut(); len as usize];
        // SAFETY: a struct type; the array has room for its `len` fields.
        unsafe { LLVMGetStructElementTypes(self.raw(), raw.as_mut_ptr()) };
        raw.into_iter().map(Self::wrap).collect()
    }

    /// Whether a struct has no padding.
    #[must_use]
    pub fn is_packed(self) -> bool {
        // SAFETY: live by the invariant of `Type`; evaluated only for structs.
        self.kind() == TypeKind::Struct && unsafe { LLVMIsPackedStruct(self.raw()) != 0 }
    }

    /// The result type of a function type.
    #[must_use]
    pub fn result(self) -> Option<Self> {
        if self.kind() != TypeKind::Function {
            return None;
        }
        // SAFETY: a function type, live by the invariant of `Type`.
        Some(Self::wrap(unsafe { LLVMGetReturnType(self.raw()) }))
    }

    /// The parameter types of a function type; empty for other types.
    #[must_use]
    pub fn parameters(self) -> Vec<Self> {
        if self.kind() != TypeKind::Function {
            return Vec::new();
        }
        // SAFETY: a function type, live by the invariant of `Type`.
        let len = unsafe { LLVMCountParamTypes(self.raw()) };
        let mut raw = vec![std::ptr::null_mut(); len as usize];
        // SAFETY: a function type; the array has room for its `len` parameters.
        unsafe { LLVMGetParamTypes(self.raw(), raw.as_mut_ptr()) };
        raw.into_iter().map(Self::wrap).collect()
    }

    /// Whether a function type takes variable arguments.
    #[must_use]
    pub fn is_variadic(self) -> bool {
        // SAFETY: live by the invariant of `Type`; evaluated only for function types.
        self.kind() == TypeKind::Function && unsafe { LLVMIsFunctionVarArg(self.raw()) != 0 }
    }
}

impl fmt::Display for Type<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // SAFETY: live by the invariant of `Type`; the text is handed over.
        f.write_str(&owned(unsafe { LLVMPrintTypeToString(self.raw()) }))
    }
}

impl fmt::Debug for Type<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
