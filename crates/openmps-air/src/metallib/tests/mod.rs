//! Libraries made by our writer, whole and damaged, through the public interface.

mod damage;
mod layout;
mod properties;

use expect_test::Expect;

use super::*;

/// Four bytes of magic and a number: bitcode as far as this crate's reader looks.
fn bitcode(number: u8) -> Vec<u8> {
    [&b"BC\xc0\xde"[..], &[number; 9]].concat()
}

fn constant(name: &str, data_type: DataType, index: u16, required: bool) -> FunctionConstant {
    FunctionConstant { name: name.to_owned(), data_type, index, required }
}

fn sample_functions() -> Vec<NewFunction> {
    let constants = vec![constant("alpha", DataType(3), 3, true), constant("HAS_BIAS", DataType(53), 0, false)];
    vec![
        NewFunction::kernel("add", bitcode(1)),
        NewFunction { constants, ..NewFunction::kernel("größer_als", bitcode(2)) },
        NewFunction {
            function_type: FunctionType::Visible,
            versions: Versions { air: (2, 8), language: (4, 0) },
            ..NewFunction::kernel("mul", bitcode(3))
        },
    ]
}

fn write(dialect: Dialect, functions: Vec<NewFunction>) -> Vec<u8> {
    let mut writer = Writer::new(Target::default()).dialect(dialect);
    for function in functions {
        writer.push(function).unwrap();
    }
    writer.finish()
}

fn sample(dialect: Dialect) -> Vec<u8> {
    write(dialect, sample_functions())
}

/// Everything that can be read, or the first error.
fn read_all(bytes: Vec<u8>) -> Result<Vec<NewFunction>> {
    let library = Metallib::parse(bytes)?;
    library
        .functions()
        .map(|function| {
            assert_eq!(library.get(function.name()).map(|found| found.name()), Some(function.name()));
            Ok(NewFunction {
                name: function.name().to_owned(),
                function_type: function.function_type(),
                versions: function.versions().unwrap_or(Versions { air: (0, 0), language: (0, 0) }),
                bitcode: function.bitcode()?.into_owned(),
                constants: function.constants()?,
            })
        })
        .collect()
}

fn check_refused(bytes: Vec<u8>, expected: Expect) {
    let text = read_all(bytes).map_or_else(|error| error.to_string(), |functions| format!("read {functions:?}"));
    expected.assert_eq(&text);
}

/// The place of the occurrence `number` of `needle`.
fn find(bytes: &[u8], needle: &[u8], number: usize) -> usize {
    let places = bytes.windows(needle.len()).enumerate().filter(|(_, window)| *window == needle);
    places.map(|(place, _)| place).nth(number).expect("the needle is there")
}

/// The sample with `new` at `place`.
fn patched(place: usize, new: &[u8]) -> Vec<u8> {
    let mut bytes = sample(Dialect::SizeExcluded);
    bytes[place..place + new.len()].copy_from_slice(new);
    bytes
}

/// The sample with `new` at `skip` bytes behind the occurrence `number` of `tag`.
fn patched_tag(tag: &[u8], number: usize, skip: usize, new: &[u8]) -> Vec<u8> {
    patched(find(&sample(Dialect::SizeExcluded), tag, number) + skip, new)
}

/// The sample with `new` in place of `old` bytes at `place` of the function list; sizes and places follow.
fn respliced(place: usize, old: usize, new: &[u8]) -> Vec<u8> {
    let mut bytes = sample(Dialect::SizeExcluded);
    bytes.splice(place..place + old, new.iter().copied());
    let mut add = |place: usize| {
        let word = u64::from_le_bytes(bytes[place..place + 8].try_into().unwrap());
        let changed = word + new.len() as u64 - old as u64;
        bytes[place..place + 8].copy_from_slice(&changed.to_le_bytes());
    };
    [16, 32, 40, 56, 72].into_iter().for_each(&mut add);
    bytes
}
