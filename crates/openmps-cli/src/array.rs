//! Arrays of numbers as kernels take them: a type, a shape and little-endian bytes.

use half::{bf16, f16};
use serde_json::Value;

use crate::random::Random;

/// A type of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dtype {
    Bool,
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    F16,
    BF16,
    F32,
}

/// Each type with its name, size in bytes, NumPy's code, and the name in Metal.
const DTYPES: [(Dtype, &str, usize, &str, &str); 12] = [
    (Dtype::Bool, "bool", 1, "|b1", "bool"),
    (Dtype::I8, "i8", 1, "|i1", "char"),
    (Dtype::U8, "u8", 1, "|u1", "uchar"),
    (Dtype::I16, "i16", 2, "<i2", "short"),
    (Dtype::U16, "u16", 2, "<u2", "ushort"),
    (Dtype::I32, "i32", 4, "<i4", "int"),
    (Dtype::U32, "u32", 4, "<u4", "uint"),
    (Dtype::I64, "i64", 8, "<i8", "long"),
    (Dtype::U64, "u64", 8, "<u8", "ulong"),
    (Dtype::F16, "f16", 2, "<f2", "half"),
    // NumPy has no such type: files hold the bits.
    (Dtype::BF16, "bf16", 2, "<u2", "bfloat"),
    (Dtype::F32, "f32", 4, "<f4", "float"),
];

impl Dtype {
    fn row(self) -> &'static (Dtype, &'static str, usize, &'static str, &'static str) {
        DTYPES.iter().find(|row| row.0 == self).expect("every type is in the table")
    }

    /// `f32`, `i8`.
    pub(crate) fn name(self) -> &'static str {
        self.row().1
    }

    /// The type of this name.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        DTYPES.iter().find(|row| row.1 == name).map(|row| row.0)
    }

    /// Bytes of an element.
    pub(crate) fn bytes(self) -> usize {
        self.row().2
    }

    /// NumPy's code, `<f4`.
    pub(crate) fn numpy(self) -> &'static str {
        self.row().3
    }

    /// The type that NumPy writes so.
    pub(crate) fn from_numpy(code: &str) -> Option<Self> {
        DTYPES.iter().find(|row| row.3 == code).map(|row| row.0)
    }

    /// The type that Metal calls so.
    pub(crate) fn from_metal(name: &str) -> Option<Self> {
        let name = match name {
            "unsigned int" | "uint32_t" => "uint",
            "int32_t" => "int",
            "int64_t" => "long",
            "uint64_t" | "size_t" => "ulong",
            name => name,
        };
        DTYPES.iter().find(|row| row.4 == name).map(|row| row.0)
    }

    /// The names of all types.
    pub(crate) fn names() -> String {
        DTYPES.map(|row| row.1).join(", ")
    }

    /// The bytes of the number that is typed as `text`.
    pub(crate) fn parse(self, text: &str) -> Option<Vec<u8>> {
        Some(match self {
            Self::Bool => vec![match text {
                "true" | "1" => 1,
                "false" | "0" => 0,
                _ => return None,
            }],
            Self::I8 => text.parse::<i8>().ok()?.to_le_bytes().into(),
            Self::U8 => text.parse::<u8>().ok()?.to_le_bytes().into(),
            Self::I16 => text.parse::<i16>().ok()?.to_le_bytes().into(),
            Self::U16 => text.parse::<u16>().ok()?.to_le_bytes().into(),
            Self::I32 => text.parse::<i32>().ok()?.to_le_bytes().into(),
            Self::U32 => text.parse::<u32>().ok()?.to_le_bytes().into(),
            Self::I64 => text.parse::<i64>().ok()?.to_le_bytes().into(),
            Self::U64 => text.parse::<u64>().ok()?.to_le_bytes().into(),
            Self::F16 => f16::from_f32(text.parse().ok()?).to_le_bytes().into(),
            Self::BF16 => bf16::from_f32(text.parse().ok()?).to_le_bytes().into(),
            Self::F32 => text.parse::<f32>().ok()?.to_le_bytes().into(),
        })
    }

    /// The element in `bytes` as JSON; floats that JSON does not have are texts.
    fn value(self, bytes: &[u8]) -> Value {
        macro_rules! number {
            ($ty:ty) => {
                <$ty>::from_le_bytes(bytes.try_into().expect("an element has its type's size"))
            };
        }
        let float = |value: f32| match serde_json::Number::from_f64(shortest(value)) {
            Some(number) => Value::Number(number),
            None => Value::String(value.to_string()),
        };
        match self {
            Self::Bool => Value::Bool(bytes[0] != 0),
            Self::I8 => number!(i8).into(),
            Self::U8 => number!(u8).into(),
            Self::I16 => number!(i16).into(),
            Self::U16 => number!(u16).into(),
            Self::I32 => number!(i32).into(),
            Self::U32 => number!(u32).into(),
            Self::I64 => number!(i64).into(),
            Self::U64 => number!(u64).into(),
            Self::F16 => float(number!(f16).to_f32()),
            Self::BF16 => float(number!(bf16).to_f32()),
            Self::F32 => float(number!(f32)),
        }
    }

    fn random(self, random: &mut Random) -> Vec<u8> {
        match self {
            Self::Bool => vec![u8::from(random.next() >> 63 == 1)],
            Self::F16 => f16::from_f32(random.unit()).to_le_bytes().into(),
            Self::BF16 => bf16::from_f32(random.unit()).to_le_bytes().into(),
            Self::F32 => random.unit().to_le_bytes().into(),
            integer => random.next().to_le_bytes()[..integer.bytes()].into(),
        }
    }

    /// The bytes of a whole number, which wraps around where the type ends.
    fn whole(self, number: u64) -> Vec<u8> {
        #[expect(clippy::cast_precision_loss, reason = "a float counts as far as it can")]
        let float = number as f32;
        match self {
            Self::Bool => vec![u8::from(number != 0)],
            Self::F16 => f16::from_f32(float).to_le_bytes().into(),
            Self::BF16 => bf16::from_f32(float).to_le_bytes().into(),
            Self::F32 => float.to_le_bytes().into(),
            integer => number.to_le_bytes()[..integer.bytes()].into(),
        }
    }
}

/// The double that prints as `value` does: 0.1 and not 0.10000000149011612.
fn shortest(value: f32) -> f64 {
    value.to_string().parse().unwrap_or(f64::NAN)
}

/// How an array is made up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pattern {
    /// All zero.
    Zeros,
    /// All one.
    Ones,
    /// 0, 1, 2 and so on.
    Iota,
    /// Floats in [0, 1), integers over their whole range.
    Random,
}

/// Elements in row-major order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Array {
    pub(crate) dtype: Dtype,
    pub(crate) shape: Vec<usize>,
    pub(crate) bytes: Vec<u8>,
}

/// Bytes of an array that is made up, at most.
const ARRAY_BYTES_MAX: usize = 1 << 34;

impl Array {
    /// An array that is made up.
    pub(crate) fn patterned(
        pattern: Pattern,
        dtype: Dtype,
        shape: Vec<usize>,
        random: &mut Random,
    ) -> Result<Self, String> {
        let count = shape.iter().try_fold(1usize, |count, &size| count.checked_mul(size));
        let count =
            count.filter(|count| count.checked_mul(dtype.bytes()).is_some_and(|bytes| bytes <= ARRAY_BYTES_MAX));
        let count =
            count.ok_or_else(|| format!("an array of shape {shape:?} has more than {ARRAY_BYTES_MAX} bytes"))?;
        let bytes = match pattern {
            Pattern::Zeros => vec![0; count * dtype.bytes()],
            Pattern::Ones => dtype.whole(1).repeat(count),
            Pattern::Iota => (0..count).flat_map(|index| dtype.whole(index as u64)).collect(),
            Pattern::Random => (0..count).flat_map(|_| dtype.random(random)).collect(),
        };
        Ok(Self { dtype, shape, bytes })
    }

    /// `f32[2,3]`.
    pub(crate) fn type_text(&self) -> String {
        let sizes: Vec<String> = self.shape.iter().map(ToString::to_string).collect();
        format!("{}[{}]", self.dtype.name(), sizes.join(","))
    }

    /// The elements as JSON numbers, in a flat row.
    pub(crate) fn values(&self) -> impl Iterator<Item = Value> + '_ {
        self.bytes.chunks_exact(self.dtype.bytes()).map(|bytes| self.dtype.value(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(array: &Array) -> String {
        let values: Vec<String> = array.values().map(|value| value.to_string()).collect();
        format!("{} {}", array.type_text(), values.join(" "))
    }

    #[test]
    fn patterns() {
        let mut random = Random::new(7);
        let mut make = |pattern, name: &str, shape: &[usize]| {
            let dtype = Dtype::from_name(name).unwrap();
            Array::patterned(pattern, dtype, shape.to_vec(), &mut random).map(|array| text(&array))
        };
        assert_eq!(make(Pattern::Zeros, "f32", &[2]).unwrap(), "f32[2] 0.0 0.0");
        assert_eq!(make(Pattern::Ones, "bf16", &[1, 2]).unwrap(), "bf16[1,2] 1.0 1.0");
        assert_eq!(make(Pattern::Iota, "i8", &[3]).unwrap(), "i8[3] 0 1 2");
        assert_eq!(make(Pattern::Iota, "bool", &[2]).unwrap(), "bool[2] false true");
        assert_eq!(make(Pattern::Zeros, "u64", &[]).unwrap(), "u64[] 0");
        let first = make(Pattern::Random, "f16", &[64]).unwrap();
        assert!(first.split(' ').skip(1).all(|value| (0.0..=1.0).contains(&value.parse::<f32>().unwrap())));
        assert_ne!(first, make(Pattern::Random, "f16", &[64]).unwrap());
        assert!(make(Pattern::Zeros, "f32", &[usize::MAX, 2]).is_err());
        assert!(make(Pattern::Zeros, "f32", &[1 << 40]).is_err());
    }

    #[test]
    fn numbers_are_read_by_type() {
        assert_eq!(Dtype::U8.parse("255"), Some(vec![255]));
        assert_eq!(Dtype::U8.parse("256"), None);
        assert_eq!(Dtype::I16.parse("-2"), Some(vec![254, 255]));
        assert_eq!(Dtype::F32.parse("0.5"), Some(0.5f32.to_le_bytes().to_vec()));
        assert_eq!(Dtype::Bool.parse("2"), None);
        let array = Array {
            dtype: Dtype::F32,
            shape: vec![3],
            bytes: [0.1f32, f32::NAN, 1e30].iter().flat_map(|x| x.to_le_bytes()).collect(),
        };
        assert_eq!(text(&array), "f32[3] 0.1 \"NaN\" 1e+30");
    }
}
