//! Function constants as the public metadata lists them (tag CNST).

use std::fmt;

use openmps_engine::ConstantType;

/// A type in Metal's enumeration of data types (`MTLDataType`), which has more than function constants can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DataType(pub u8);

impl DataType {
    /// The type, if it is one that function constants can have.
    #[must_use]
    pub fn constant_type(self) -> Option<ConstantType> {
        ConstantType::from_metal_code(self.0)
    }
}

impl From<ConstantType> for DataType {
    fn from(ty: ConstantType) -> Self {
        Self(ty.metal_code())
    }
}

impl fmt::Display for DataType {
    /// The name in Metal's language, or the number where it is another type.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.constant_type() {
            Some(ty) => fmt::Display::fmt(&ty, f),
            None => write!(f, "data type {}", self.0),
        }
    }
}

/// One function constant.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FunctionConstant {
    /// The name in the source.
    pub name: String,
    /// The type of its value.
    pub data_type: DataType,
    /// The index in `[[function_constant(index)]]`.
    pub index: u16,
    /// Whether a pipeline without a value is an error; otherwise the kernel can ask whether there is one.
    pub required: bool,
}

/// Bytes of a constant beside its name: NUL, type, index, required.
const CONSTANT_BYTES: usize = 5;

/// Reads CNST's payload, or says what is wrong with it.
pub(super) fn read_constants(payload: &[u8]) -> Result<Vec<FunctionConstant>, String> {
    let (count, mut rest) = payload.split_first_chunk::<2>().ok_or("has no room for its count")?;
    let count = u16::from_le_bytes(*count);
    let mut constants = Vec::new();
    for number in 0..count {
        let refuse = |what: &str| format!("lists {count} constants, but number {number} {what}");
        let end = rest.iter().position(|byte| *byte == 0).ok_or_else(|| refuse("has a name without an end"))?;
        let name = std::str::from_utf8(&rest[..end]).map_err(|_| refuse("has a name that is not UTF-8"))?;
        if name.is_empty() {
            return Err(refuse("has no name"));
        }
        let (fields, after) =
            rest[end..].split_first_chunk::<CONSTANT_BYTES>().ok_or_else(|| refuse("ends before its value's type"))?;
        let [_, data_type, low, high, required] = *fields;
        let required = match required {
            0 => false,
            1 => true,
            other => return Err(refuse(&format!("is marked {other}, expected 0 (optional) or 1 (required)"))),
        };
        let index = u16::from_le_bytes([low, high]);
        constants.push(FunctionConstant { name: name.to_owned(), data_type: DataType(data_type), index, required });
        rest = after;
    }
    if rest.is_empty() { Ok(constants) } else { Err(format!("has {} bytes behind its {count} constants", rest.len())) }
}

/// CNST's payload.
pub(super) fn write_constants(constants: &[FunctionConstant]) -> Vec<u8> {
    let count = u16::try_from(constants.len()).expect("writers check that the payload is short enough");
    let mut payload = count.to_le_bytes().to_vec();
    for FunctionConstant { name, data_type, index, required } in constants {
        payload.extend_from_slice(name.as_bytes());
        payload.extend_from_slice(&[0, data_type.0]);
        payload.extend_from_slice(&index.to_le_bytes());
        payload.push(u8::from(*required));
    }
    payload
}

#[cfg(test)]
mod tests {
    use super::*;

    fn constant(name: &str, data_type: DataType, index: u16, required: bool) -> FunctionConstant {
        FunctionConstant { name: name.to_owned(), data_type, index, required }
    }

    #[test]
    fn constants_round_trip() {
        for constants in [
            vec![],
            vec![constant("HAS_BIAS", DataType(53), 0, true)],
            vec![constant("a", DataType(3), 65535, false), constant("größe", DataType(36), 7, true)],
        ] {
            assert_eq!(read_constants(&write_constants(&constants)), Ok(constants));
        }
    }

    #[test]
    fn damaged_constants_are_refused() {
        let check = |payload: &[u8], expected: &str| assert_eq!(read_constants(payload), Err(expected.to_owned()));
        check(b"", "has no room for its count");
        check(b"\x01", "has no room for its count");
        check(b"\x01\0", "lists 1 constants, but number 0 has a name without an end");
        check(b"\x01\0\0\x35\0\0\x01", "lists 1 constants, but number 0 has no name");
        check(b"\x01\0\xff\0\x35\0\0\x01", "lists 1 constants, but number 0 has a name that is not UTF-8");
        check(b"\x01\0x\0\x35\0\0", "lists 1 constants, but number 0 ends before its value's type");
        let marked = "lists 1 constants, but number 0 is marked 2, expected 0 (optional) or 1 (required)";
        check(b"\x01\0x\0\x35\0\0\x02", marked);
        check(b"\x02\0x\0\x35\0\0\x01y", "lists 2 constants, but number 1 has a name without an end");
        check(b"\0\0\0", "has 1 bytes behind its 0 constants");
    }

    #[test]
    fn data_types_have_metals_names() {
        // Numbers that real libraries hold, and one that no function constant has.
        let named =
            [(0x03, "float"), (0x1d, "int"), (0x21, "uint"), (0x29, "ushort"), (0x35, "bool"), (60, "data type 60")];
        for (number, name) in named {
            assert_eq!(DataType(number).to_string(), name);
        }
        assert_eq!(DataType::from(ConstantType::from_name("half4").unwrap()), DataType(19));
    }
}
