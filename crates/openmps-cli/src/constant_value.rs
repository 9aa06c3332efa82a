//! Values of function constants as they are typed: `NAME=VALUE` or `INDEX=VALUE`.

use openmps_engine::{ConstantScalar, ConstantType, ConstantValue, ConstantValues, FunctionConstant, KernelSignature};

/// Reads the `words` by the types of the kernel's constants.
pub(crate) fn parse(words: &[String], kernel: &KernelSignature) -> Result<ConstantValues, String> {
    let mut values = ConstantValues::default();
    for word in words {
        let (name, text) = word.split_once('=').ok_or_else(|| format!("--constant {word}: expected NAME=VALUE"))?;
        let has_name = |constant: &&FunctionConstant| constant.name == name || constant.index.to_string() == name;
        let constant = kernel.constants.iter().find(has_name).ok_or_else(|| {
            let names: Vec<&str> = kernel.constants.iter().map(|constant| constant.name.as_str()).collect();
            let there = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            format!("--constant {word}: kernel '{}' has no function constant '{name}', it has {there}", kernel.name)
        })?;
        let value = value(text, constant.ty)
            .ok_or_else(|| format!("--constant {word}: '{text}' is no value of type {}", constant.ty))?;
        values.set_index(constant.index, value);
    }
    Ok(values)
}

/// A value of `ty`; the elements of a vector are separated by commas.
fn value(text: &str, ty: ConstantType) -> Option<ConstantValue> {
    let elements: Option<Vec<Vec<u8>>> = text.split(',').map(|text| element(text.trim(), ty.scalar)).collect();
    ConstantValue::new(ty, elements?.concat())
}

fn element(text: &str, scalar: ConstantScalar) -> Option<Vec<u8>> {
    Some(match scalar {
        ConstantScalar::Float => text.parse::<f32>().ok()?.to_le_bytes().to_vec(),
        ConstantScalar::Half => half::f16::from_f32(text.parse().ok()?).to_le_bytes().to_vec(),
        ConstantScalar::BFloat => half::bf16::from_f32(text.parse().ok()?).to_le_bytes().to_vec(),
        ConstantScalar::Int => text.parse::<i32>().ok()?.to_le_bytes().to_vec(),
        ConstantScalar::UInt => text.parse::<u32>().ok()?.to_le_bytes().to_vec(),
        ConstantScalar::Short => text.parse::<i16>().ok()?.to_le_bytes().to_vec(),
        ConstantScalar::UShort => text.parse::<u16>().ok()?.to_le_bytes().to_vec(),
        ConstantScalar::Char => text.parse::<i8>().ok()?.to_le_bytes().to_vec(),
        ConstantScalar::UChar => text.parse::<u8>().ok()?.to_le_bytes().to_vec(),
        ConstantScalar::Long => text.parse::<i64>().ok()?.to_le_bytes().to_vec(),
        ConstantScalar::ULong => text.parse::<u64>().ok()?.to_le_bytes().to_vec(),
        ConstantScalar::Bool => match text {
            "true" | "1" => vec![1],
            "false" | "0" => vec![0],
            _ => return None,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel() -> KernelSignature {
        let constant = |name: &str, index, ty: &str| FunctionConstant {
            name: name.to_owned(),
            index,
            ty: ConstantType::from_name(ty).unwrap(),
            required: true,
        };
        let constants = vec![constant("M", 0, "uint"), constant("scale", 3, "half"), constant("flags", 7, "bool2")];
        KernelSignature { constants, ..KernelSignature::new("gemm", Vec::new()) }
    }

    fn values(words: &[&str]) -> Result<ConstantValues, String> {
        parse(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>(), &kernel())
    }

    #[test]
    fn values_have_the_constants_types() {
        let values = values(&["M=64", "3=-0.5", "flags=true,0"]).unwrap();
        let bytes: Vec<_> =
            kernel().constants.iter().map(|constant| values.get(constant).unwrap().bytes().to_vec()).collect();
        assert_eq!(bytes, [vec![64, 0, 0, 0], vec![0x00, 0xb8], vec![1, 0]]);
    }

    #[test]
    fn what_is_no_value_is_refused() {
        let check = |word: &str, expected: &str| assert_eq!(values(&[word]).unwrap_err(), expected);
        check("M", "--constant M: expected NAME=VALUE");
        check("N=1", "--constant N=1: kernel 'gemm' has no function constant 'N', it has M, scale, flags");
        check("M=-1", "--constant M=-1: '-1' is no value of type uint");
        check("flags=1", "--constant flags=1: '1' is no value of type bool2");
        check("flags=1,0,1", "--constant flags=1,0,1: '1,0,1' is no value of type bool2");
        check("0=", "--constant 0=: '' is no value of type uint");
    }
}
