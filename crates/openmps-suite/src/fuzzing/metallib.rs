//! The reader of Metal libraries on any bytes: an error or a library that reads the same after it was written again.

use openmps_air::metallib::{CPU_TYPE_AIR64, CPU_TYPE_APPLE_GPU, Dialect, FunctionType};
use openmps_air::metallib::{DataType, FunctionConstant, Metallib, NewFunction, Target, Versions, Writer, write_fat};

/// Words of the container that random bytes do not find.
pub const WORDS: &[&[u8]] = &[
    b"MTLB",
    b"\xcb\xfe\xba\xbe",
    b"\x01\x00\x00\x17",
    b"ENDT",
    b"NAME\x02\0k\0",
    b"TYPE\x01\0\x02",
    b"HASH\x20\0",
    b"MDSZ\x08\0",
    b"OFFT\x18\0",
    b"VERS\x08\0",
    b"RFLT\x08\0",
    b"RLST\x10\0",
    b"UUID\x10\0",
    b"CNST\x0c\0",
    b"\xde\xc0\x17\x0b",
    b"BC\xc0\xde",
];

/// Opens `input` and reads everything in it.
///
/// # Panics
/// When an error has no text, or a library contradicts itself.
pub fn run(input: &[u8]) {
    let library = match Metallib::parse(input.to_vec()) {
        Ok(library) => library,
        Err(error) => return assert!(!error.to_string().is_empty(), "a refusal without a text"),
    };
    assert_eq!(library.names().count(), library.len());
    // All functions, as long as all can be read.
    let mut functions = Some(Vec::new());
    for function in library.functions() {
        let name = function.name();
        assert_eq!(library.get(name).map(|found| found.bitcode_range()), Some(function.bitcode_range()));
        let _ = function.verify_hash();
        match (function.bitcode(), function.constants()) {
            (Ok(bitcode), Ok(constants)) => {
                let versions = function.versions().unwrap_or(Versions { air: (0, 0), language: (0, 0) });
                let (function_type, bitcode) = (function.function_type(), bitcode.into_owned());
                let read = NewFunction { name: name.to_owned(), function_type, versions, bitcode, constants };
                if let Some(functions) = &mut functions {
                    functions.push(read);
                }
            }
            (Err(error), _) | (_, Err(error)) => {
                assert!(!error.to_string().is_empty(), "a refusal without a text");
                functions = None;
            }
        }
    }
    functions.into_iter().for_each(write_and_read);
}

/// What was read can be written, and reads the same.
fn write_and_read(functions: Vec<NewFunction>) {
    for dialect in [Dialect::SizeExcluded, Dialect::SizeIncluded] {
        let mut writer = Writer::new(Target::default()).dialect(dialect);
        for function in &functions {
            writer.push(function.clone()).expect("what was read can be written");
        }
        let library = Metallib::parse(writer.finish()).expect("what was written can be opened");
        for (function, expected) in library.functions().zip(&functions) {
            assert_eq!(function.name(), expected.name);
            assert_eq!(function.function_type(), expected.function_type);
            assert_eq!(function.bitcode().as_deref(), Ok(&expected.bitcode[..]));
            assert_eq!(function.constants().as_ref(), Ok(&expected.constants));
            function.verify_hash().expect("the writer's hashes are right");
        }
        assert_eq!(library.len(), functions.len());
    }
}

/// Seeds by name: every form that libraries have, small enough that most of their bytes matter.
///
/// # Panics
/// Never: all of it can be written.
#[must_use]
pub fn seeds() -> Vec<(&'static str, Vec<u8>)> {
    let bitcode = |number: u8| [&b"BC\xc0\xde"[..], &[number; 8]].concat();
    let constant = |name: &str, data_type, index, required| {
        let name = name.to_owned();
        FunctionConstant { name, data_type, index, required }
    };
    let add = NewFunction::kernel("add", bitcode(1));
    let gemm = NewFunction {
        versions: Versions { air: (2, 8), language: (4, 0) },
        constants: vec![constant("M", DataType(33), 0, true), constant("has_bias", DataType(53), 1, false)],
        ..NewFunction::kernel("gemm", bitcode(2))
    };
    let visible = NewFunction { function_type: FunctionType::Visible, ..NewFunction::kernel("f", bitcode(3)) };
    let write = |dialect, functions: &[&NewFunction]| {
        let mut writer = Writer::new(Target::default()).dialect(dialect);
        for function in functions {
            writer.push((*function).clone()).expect("the seeds' functions can be written");
        }
        writer.finish()
    };
    let two = write(Dialect::SizeIncluded, &[&add, &gemm]);
    let fat = write_fat(&[(CPU_TYPE_APPLE_GPU, b"code"), (CPU_TYPE_AIR64, &two)]).expect("two small slices");
    vec![
        ("empty", write(Dialect::SizeExcluded, &[])),
        ("one", write(Dialect::SizeExcluded, &[&add])),
        ("excluded", write(Dialect::SizeExcluded, &[&add, &gemm, &visible])),
        ("included", two),
        ("fat", fat),
    ]
}
