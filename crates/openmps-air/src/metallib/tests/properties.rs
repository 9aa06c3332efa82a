//! Libraries that nobody thought of.

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

use super::*;

fn constants() -> impl Strategy<Value = Vec<FunctionConstant>> {
    let one = ("[a-zA-Zλ_][a-z0-9_]{0,20}", any::<u8>(), any::<u16>(), any::<bool>());
    let one = one.prop_map(|(name, ty, index, required)| constant(&name, DataType(ty), index, required));
    vec(one, 0..5)
}

fn function() -> impl Strategy<Value = NewFunction> {
    let parts = (any::<u8>(), any::<[u16; 4]>(), vec(any::<u8>(), 0..80), constants());
    parts.prop_map(|(ty, [major, minor, language_major, language_minor], tail, constants)| NewFunction {
        name: String::new(),
        function_type: FunctionType::from_byte(ty),
        versions: Versions { air: (major, minor), language: (language_major, language_minor) },
        bitcode: [b"BC\xc0\xde", &tail[..]].concat(),
        constants,
    })
}

fn functions() -> impl Strategy<Value = Vec<NewFunction>> {
    let named = btree_map("[^\0]{1,30}", function(), 0..40).prop_map(|functions| {
        functions.into_iter().map(|(name, function)| NewFunction { name, ..function }).collect::<Vec<_>>()
    });
    named.prop_shuffle()
}

fn dialect() -> impl Strategy<Value = Dialect> {
    any::<bool>().prop_map(|included| if included { Dialect::SizeIncluded } else { Dialect::SizeExcluded })
}

proptest! {
    #[test]
    fn what_is_written_is_read(functions in functions(), dialect in dialect()) {
        let bytes = write(dialect, functions.clone());
        prop_assert_eq!(&bytes, &write(dialect, functions.clone()));
        let library = Metallib::parse(bytes.clone()).unwrap();
        for function in library.functions() {
            function.verify_hash().unwrap();
        }
        prop_assert_eq!(read_all(bytes), Ok(functions));
    }

    #[test]
    fn any_words_are_a_library_or_an_error(places in vec((any::<prop::sample::Index>(), any::<u64>()), 1..8)) {
        let mut bytes = sample(Dialect::SizeIncluded);
        for (place, word) in places {
            let place = place.index(bytes.len() - 8);
            bytes[place..place + 8].copy_from_slice(&word.to_le_bytes());
        }
        let _ = read_all(bytes);
    }

    #[test]
    fn any_bytes_behind_the_magic_are_a_library_or_an_error(tail in vec(any::<u8>(), 0..300)) {
        let _ = read_all([b"MTLB", &tail[..]].concat());
        let _ = read_all([&fat::FAT_MAGIC[..], &tail].concat());
    }
}
