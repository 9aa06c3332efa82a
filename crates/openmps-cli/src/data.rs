//! What `openmps run` gives to a kernel: files, made-up arrays and single numbers, as they are typed.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::Path;

use safetensors::SafeTensors;
use safetensors::tensor::{Dtype as FileType, TensorView};

use crate::array::{Array, Dtype, Pattern};
use crate::random::Random;
use crate::{image, npy};

/// One value for a buffer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Data {
    /// A buffer of its own.
    Array(Array),
    /// A number, passed by value.
    Number(Array),
}

/// Reads `text`: `zeros:f32[4]` and relatives, `u32:7`, a number of the type that Metal calls `metal_type`, or a file.
pub(crate) fn read(text: &str, metal_type: Option<&str>, random: &mut Random) -> Result<Data, String> {
    if let Some((word, rest)) = text.split_once(':') {
        let pattern = match word {
            "zeros" => Some(Pattern::Zeros),
            "ones" => Some(Pattern::Ones),
            "iota" => Some(Pattern::Iota),
            "random" => Some(Pattern::Random),
            _ => None,
        };
        if let Some(pattern) = pattern {
            let (dtype, shape) = array_type(rest)?;
            return Array::patterned(pattern, dtype, shape, random).map(Data::Array);
        }
        if let Some(dtype) = Dtype::from_name(word) {
            return number(rest, dtype).map(Data::Number);
        }
    }
    if text.parse::<f64>().is_ok() || matches!(text, "true" | "false") {
        let dtype = metal_type.and_then(Dtype::from_metal).ok_or_else(|| {
            let argument = metal_type.map_or("nothing".into(), |name| format!("'{name}'"));
            format!("the kernel takes {argument} there, so say which type the number has: f32:{text}, i32:{text}")
        })?;
        return number(text, dtype).map(Data::Number);
    }
    file(text).map(Data::Array)
}

fn number(text: &str, dtype: Dtype) -> Result<Array, String> {
    let bytes = dtype.parse(text).ok_or_else(|| format!("'{text}' is no number of type {}", dtype.name()))?;
    Ok(Array { dtype, shape: Vec::new(), bytes })
}

/// `f32[2,3]`.
fn array_type(text: &str) -> Result<(Dtype, Vec<usize>), String> {
    let form = || format!("'{text}' is no type of an array, expected one like f32[4] or i32[2,3]");
    let (name, sizes) = text.strip_suffix(']').and_then(|text| text.split_once('[')).ok_or_else(form)?;
    let unknown = || format!("'{name}' is no type of elements, expected one of {}", Dtype::names());
    let dtype = Dtype::from_name(name).ok_or_else(unknown)?;
    let sizes = sizes.split(',').map(str::trim).filter(|size| !size.is_empty());
    Ok((dtype, sizes.map(str::parse).collect::<Result<_, _>>().map_err(|_| form())?))
}

/// `FILE.npy`, `FILE.npz:NAME`, `FILE.safetensors:NAME`, `FILE.png`.
fn file(text: &str) -> Result<Array, String> {
    let bytes_of = |path: &str| fs::read(path).map_err(|error| format!("{path}: {error}"));
    if text.ends_with(".npy") {
        return npy::read(&bytes_of(text)?).map_err(|problem| format!("{text}: {problem}"));
    }
    if let Some((path, name)) = split(text, ".npz") {
        return npz(&path, name).map_err(|problem| format!("{path}: {problem}"));
    }
    if let Some((path, name)) = split(text, ".safetensors") {
        return safetensor(&bytes_of(&path)?, name).map_err(|problem| format!("{path}: {problem}"));
    }
    if text.ends_with(".png") {
        return image::read_png(&bytes_of(text)?).map_err(|problem| format!("{text}: {problem}"));
    }
    Err(format!(
        "'{text}' is no value, expected a number, zeros:TYPE, ones:TYPE, iota:TYPE, random:TYPE (TYPE is like f32[4]), \
         FILE.npy, FILE.npz:NAME, FILE.safetensors:NAME or FILE.png"
    ))
}

/// The file and the name behind it, if there is one.
fn split<'a>(text: &'a str, extension: &str) -> Option<(String, Option<&'a str>)> {
    if text.ends_with(extension) {
        return Some((text.into(), None));
    }
    let (path, name) = text.rsplit_once(&format!("{extension}:"))?;
    Some((format!("{path}{extension}"), Some(name)))
}

/// The name that is asked for, or the only one.
fn choose(names: &[String], wanted: Option<&str>) -> Result<String, String> {
    match (wanted, names) {
        (Some(wanted), names) if names.iter().any(|name| name == wanted) => Ok(wanted.into()),
        (None, [only]) => Ok(only.clone()),
        (Some(wanted), names) => Err(format!("has no array '{wanted}', it has {}", names.join(", "))),
        (None, names) => {
            Err(format!("has {} arrays, so say which one behind a colon: {}", names.len(), names.join(", ")))
        }
    }
}

fn npz(path: &str, name: Option<&str>) -> Result<Array, String> {
    let file = File::open(path).map_err(|error| error.to_string())?;
    let mut archive = zip::ZipArchive::new(file).map_err(|error| error.to_string())?;
    let names: Vec<String> =
        archive.file_names().filter_map(|name| name.strip_suffix(".npy")).map(str::to_owned).collect();
    let name = choose(&names, name)?;
    let mut bytes = Vec::new();
    let mut entry = archive.by_name(&format!("{name}.npy")).map_err(|error| error.to_string())?;
    entry.read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    npy::read(&bytes).map_err(|problem| format!("array '{name}' {problem}"))
}

fn safetensor(bytes: &[u8], name: Option<&str>) -> Result<Array, String> {
    let file = SafeTensors::deserialize(bytes).map_err(|error| error.to_string())?;
    let mut names: Vec<String> = file.names().into_iter().map(ToString::to_string).collect();
    names.sort();
    let name = choose(&names, name)?;
    let tensor = file.tensor(&name).map_err(|error| error.to_string())?;
    let dtype = from_file_type(tensor.dtype())
        .ok_or_else(|| format!("tensor '{name}' has type {:?}, expected one of {}", tensor.dtype(), Dtype::names()))?;
    Ok(Array { dtype, shape: tensor.shape().into(), bytes: tensor.data().into() })
}

const FILE_TYPES: [(FileType, Dtype); 12] = [
    (FileType::BOOL, Dtype::Bool),
    (FileType::I8, Dtype::I8),
    (FileType::U8, Dtype::U8),
    (FileType::I16, Dtype::I16),
    (FileType::U16, Dtype::U16),
    (FileType::I32, Dtype::I32),
    (FileType::U32, Dtype::U32),
    (FileType::I64, Dtype::I64),
    (FileType::U64, Dtype::U64),
    (FileType::F16, Dtype::F16),
    (FileType::BF16, Dtype::BF16),
    (FileType::F32, Dtype::F32),
];

fn from_file_type(file_type: FileType) -> Option<Dtype> {
    FILE_TYPES.iter().find(|row| row.0 == file_type).map(|row| row.1)
}

/// Writes `array` to `path`, whose extension says as what.
pub(crate) fn write(path: &Path, name: &str, array: &Array) -> Result<(), String> {
    let bytes = match path.extension().and_then(|extension| extension.to_str()) {
        Some("npy") => npy::write(array),
        Some("safetensors") => {
            let file_type = FILE_TYPES.iter().find(|row| row.1 == array.dtype).expect("every type is in the table").0;
            let view = TensorView::new(file_type, array.shape.clone(), &array.bytes);
            let view = view.map_err(|error| error.to_string())?;
            safetensors::serialize([(name, view)], None).map_err(|error| error.to_string())?
        }
        Some("png") => return image::write_png(path, array),
        _ => return Err("expected a name that ends in .npy, .safetensors or .png".into()),
    };
    fs::write(path, bytes).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, metal_type: Option<&str>) -> Result<String, String> {
        let data = read(text, metal_type, &mut Random::new(0))?;
        let (word, array) = match &data {
            Data::Array(array) => ("array", array),
            Data::Number(array) => ("number", array),
        };
        let values: Vec<String> = array.values().map(|value| value.to_string()).collect();
        Ok(format!("{word} {} {}", array.type_text(), values.join(" ")))
    }

    #[test]
    fn values_are_read_as_they_are_typed() {
        assert_eq!(check("iota:u8[2,2]", None).unwrap(), "array u8[2,2] 0 1 2 3");
        assert_eq!(check("zeros:f16[]", None).unwrap(), "array f16[] 0.0");
        assert_eq!(check("u32:7", Some("float")).unwrap(), "number u32[] 7");
        assert_eq!(check("7", Some("float")).unwrap(), "number f32[] 7.0");
        assert_eq!(check("-7", Some("int")).unwrap(), "number i32[] -7");
        assert_eq!(check("true", Some("bool")).unwrap(), "number bool[] true");
    }

    #[test]
    fn what_cannot_be_read_is_told_with_what_can() {
        assert_eq!(check("-7", Some("uint")).unwrap_err(), "'-7' is no number of type u32");
        assert_eq!(
            check("7", Some("Params")).unwrap_err(),
            "the kernel takes 'Params' there, so say which type the number has: f32:7, i32:7"
        );
        assert_eq!(
            check("zeros:f32", None).unwrap_err(),
            "'f32' is no type of an array, expected one like f32[4] or i32[2,3]"
        );
        assert!(
            check("zeros:f64[1]", None).unwrap_err().starts_with("'f64' is no type of elements, expected one of bool,")
        );
        assert!(check("what", None).unwrap_err().starts_with("'what' is no value, expected a number"));
        assert!(check("/none/x.npy", None).unwrap_err().starts_with("/none/x.npy: "));
        assert!(check("/none/x.npz:a", None).unwrap_err().starts_with("/none/x.npz: "));
        assert!(check("/none/x.safetensors:a", None).unwrap_err().starts_with("/none/x.safetensors: "));
        assert!(safetensor(&[255; 20], None).is_err());
    }
}
