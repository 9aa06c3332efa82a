//! Function constants: what a kernel declares (`[[function_constant(i)]]`), and the values that a host sets for a pipeline.
//!
//! A value carries its type, as in Metal's `setConstantValue:type:atIndex:`; whether it fits the declaration is decided where the
//! kernel is specialised. Type numbers are those of Metal's `MTLDataType`.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// The scalar of a function constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[expect(missing_docs, reason = "each variant is MSL's type of the same name")]
pub enum ConstantScalar {
    Float,
    Half,
    BFloat,
    Int,
    UInt,
    Short,
    UShort,
    Char,
    UChar,
    Long,
    ULong,
    Bool,
}

impl ConstantScalar {
    /// Every scalar, in the order of the enum.
    pub const ALL: [Self; 12] = [
        Self::Float,
        Self::Half,
        Self::BFloat,
        Self::Int,
        Self::UInt,
        Self::Short,
        Self::UShort,
        Self::Char,
        Self::UChar,
        Self::Long,
        Self::ULong,
        Self::Bool,
    ];

    /// MSL's spelling.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Float => "float",
            Self::Half => "half",
            Self::BFloat => "bfloat",
            Self::Int => "int",
            Self::UInt => "uint",
            Self::Short => "short",
            Self::UShort => "ushort",
            Self::Char => "char",
            Self::UChar => "uchar",
            Self::Long => "long",
            Self::ULong => "ulong",
            Self::Bool => "bool",
        }
    }

    /// Bytes of one value.
    #[must_use]
    pub fn size_bytes(self) -> usize {
        match self {
            Self::Char | Self::UChar | Self::Bool => 1,
            Self::Half | Self::BFloat | Self::Short | Self::UShort => 2,
            Self::Float | Self::Int | Self::UInt => 4,
            Self::Long | Self::ULong => 8,
        }
    }

    /// The `MTLDataType` of the scalar; its vectors of 2, 3 and 4 follow.
    fn metal_code(self) -> u8 {
        match self {
            Self::Float => 3,
            Self::Half => 16,
            Self::Int => 29,
            Self::UInt => 33,
            Self::Short => 37,
            Self::UShort => 41,
            Self::Char => 45,
            Self::UChar => 49,
            Self::Bool => 53,
            Self::Long => 81,
            Self::ULong => 85,
            Self::BFloat => 121,
        }
    }
}

/// The type of a function constant: a scalar, or a vector of up to four.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ConstantType {
    /// Element type.
    pub scalar: ConstantScalar,
    /// 1 to 4.
    pub lanes: u8,
}

impl ConstantType {
    /// One value of `scalar`.
    #[must_use]
    pub const fn scalar(scalar: ConstantScalar) -> Self {
        Self { scalar, lanes: 1 }
    }

    /// The type that Metal numbers `code` (`MTLDataType`); `None` where function constants cannot have that type.
    #[must_use]
    pub fn from_metal_code(code: u8) -> Option<Self> {
        ConstantScalar::ALL.into_iter().find_map(|scalar| {
            let lanes = code.checked_sub(scalar.metal_code())? + 1;
            (lanes <= 4).then_some(Self { scalar, lanes })
        })
    }

    /// Metal's number of the type (`MTLDataType`).
    #[must_use]
    pub fn metal_code(self) -> u8 {
        self.scalar.metal_code() + self.lanes.max(1) - 1
    }

    /// The type that MSL spells `name`: `float`, `uint3`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let (scalar, lanes) = match name.as_bytes().last()? {
            lanes @ b'2'..=b'4' => (&name[..name.len() - 1], lanes - b'0'),
            _ => (name, 1),
        };
        let scalar = ConstantScalar::ALL.into_iter().find(|candidate| candidate.name() == scalar)?;
        Some(Self { scalar, lanes })
    }

    /// Bytes of a value without padding.
    #[must_use]
    pub fn size_bytes(self) -> usize {
        self.scalar.size_bytes() * usize::from(self.lanes)
    }
}

impl fmt::Display for ConstantType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.scalar.name())?;
        if self.lanes == 1 { Ok(()) } else { write!(f, "{}", self.lanes) }
    }
}

/// A function constant as a kernel declares it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FunctionConstant {
    /// The name in the source.
    pub name: String,
    /// The number in `[[function_constant(i)]]`.
    pub index: u16,
    /// Its type.
    pub ty: ConstantType,
    /// Whether a pipeline needs a value. Others are zero without one, and `is_function_constant_defined` is false.
    pub required: bool,
}

/// A value with its type: little-endian elements without padding.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ConstantValue {
    ty: ConstantType,
    bytes: Vec<u8>,
}

impl ConstantValue {
    /// A value of `ty` from its little-endian elements; `None` when `bytes` has another length than the type.
    #[must_use]
    pub fn new(ty: ConstantType, bytes: impl Into<Vec<u8>>) -> Option<Self> {
        let bytes = bytes.into();
        (bytes.len() == ty.size_bytes()).then_some(Self { ty, bytes })
    }

    /// Its type.
    #[must_use]
    pub fn ty(&self) -> ConstantType {
        self.ty
    }

    /// Its elements, little-endian.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

macro_rules! constant_value_from {
    ($($rust:ty => $scalar:ident),* $(,)?) => {
        $(impl From<$rust> for ConstantValue {
            fn from(value: $rust) -> Self {
                Self { ty: ConstantType::scalar(ConstantScalar::$scalar), bytes: value.to_le_bytes().to_vec() }
            }
        })*
    };
}

constant_value_from! {
    f32 => Float, i32 => Int, u32 => UInt, i16 => Short, u16 => UShort, i8 => Char, u8 => UChar, i64 => Long, u64 => ULong,
}

impl From<bool> for ConstantValue {
    fn from(value: bool) -> Self {
        Self { ty: ConstantType::scalar(ConstantScalar::Bool), bytes: vec![u8::from(value)] }
    }
}

/// The values that a host sets for one pipeline (`MTLFunctionConstantValues`), by index or by name. A value by name counts
/// before one by index. Values of constants that the kernel does not have are ignored, as Metal does.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ConstantValues {
    by_index: BTreeMap<u16, ConstantValue>,
    by_name: BTreeMap<String, ConstantValue>,
}

impl ConstantValues {
    /// Sets the constant with this index.
    pub fn set_index(&mut self, index: u16, value: impl Into<ConstantValue>) {
        self.by_index.insert(index, value.into());
    }

    /// Sets the constant with this name.
    pub fn set_name(&mut self, name: impl Into<String>, value: impl Into<ConstantValue>) {
        self.by_name.insert(name.into(), value.into());
    }

    /// The value for `constant`, if one was set.
    #[must_use]
    pub fn get(&self, constant: &FunctionConstant) -> Option<&ConstantValue> {
        self.by_name.get(&constant.name).or_else(|| self.by_index.get(&constant.index))
    }

    /// The values that were set by index, in order.
    pub fn by_index(&self) -> impl Iterator<Item = (u16, &ConstantValue)> {
        self.by_index.iter().map(|(index, value)| (*index, value))
    }

    /// The values that were set by name, in order.
    pub fn by_name(&self) -> impl Iterator<Item = (&str, &ConstantValue)> {
        self.by_name.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// Whether nothing was set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_index.is_empty() && self.by_name.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_names_resolve_to_the_same_type() {
        let types =
            ConstantScalar::ALL.into_iter().flat_map(|scalar| (1..=4).map(move |lanes| ConstantType { scalar, lanes }));
        for ty in types {
            assert_eq!(ConstantType::from_metal_code(ty.metal_code()), Some(ty));
            assert_eq!(ConstantType::from_name(&ty.to_string()), Some(ty));
        }
        // MTLDataTypeTexture, MTLDataTypeFloat2x2, MTLDataTypeNone.
        for code in [58, 7, 0] {
            assert_eq!(ConstantType::from_metal_code(code), None);
        }
        assert_eq!(ConstantType::from_name("float5"), None);
        // Metal's header: MTLDataTypeBool = 53, MTLDataTypeUInt = 33.
        assert_eq!(ConstantType::from_metal_code(0x35), Some(ConstantType::scalar(ConstantScalar::Bool)));
        assert_eq!(ConstantType::from_metal_code(0x21), Some(ConstantType::scalar(ConstantScalar::UInt)));
    }

    #[test]
    fn a_name_counts_before_an_index() {
        let ty = ConstantType::scalar(ConstantScalar::Int);
        let constant = FunctionConstant { name: "n".into(), index: 3, ty, required: true };
        let mut values = ConstantValues::default();
        assert_eq!(values.get(&constant), None);
        values.set_index(3, 1_i32);
        assert_eq!(values.get(&constant), Some(&ConstantValue::from(1_i32)));
        values.set_name("n", 2_i32);
        assert_eq!(values.get(&constant), Some(&ConstantValue::from(2_i32)));
        values.set_name("other", 2_i32);
        assert!(!values.is_empty());
    }

    #[test]
    fn values_have_the_length_of_their_type() {
        let ty = ConstantType::from_name("half3").unwrap();
        assert!(ConstantValue::new(ty, [0; 6]).is_some());
        assert!(ConstantValue::new(ty, [0; 8]).is_none());
        assert_eq!(ConstantValue::from(true).bytes(), [1]);
    }
}
