//! What whole libraries say, in every form that real ones have.

use std::fs;

use super::*;

#[test]
fn both_dialects_read_back() {
    for dialect in [Dialect::SizeExcluded, Dialect::SizeIncluded] {
        assert_eq!(read_all(sample(dialect)), Ok(sample_functions()));
        let library = Metallib::parse(sample(dialect)).unwrap();
        assert_eq!(library.names().collect::<Vec<_>>(), ["add", "größer_als", "mul"]);
        assert_eq!(library.uuid().is_some(), dialect == Dialect::SizeIncluded);
        library.functions().for_each(|function| function.verify_hash().unwrap());
        assert!(library.get("sub").is_none() && library.get("").is_none());
    }
}

#[test]
fn the_header_is_read() {
    let target = Target { platform: 1, version: (2, 9), os: 0x82, os_version: (16, 4) };
    let bytes = Writer::new(target).finish();
    let library = Metallib::parse(bytes.clone()).unwrap();
    let header = library.header();
    assert_eq!((header.platform, header.version, header.os, header.os_version), (1, (2, 9), 0x82, (16, 4)));
    assert_eq!((header.file_type, header.size_bytes), (FileType::Executable, bytes.len() as u64));
    assert!(library.is_empty());
}

#[test]
fn dialects_differ_where_apples_do() {
    let tags = |dialect| {
        let bytes = sample(dialect);
        let start = find(&bytes, b"NAME", 0);
        ["NAME", "TYPE", "HASH", "MDSZ", "OFFT", "VERS", "ENDT"].map(|tag| find(&bytes[start..], tag.as_bytes(), 0))
    };
    let [name, ty, hash, size, offsets, versions, end] = tags(Dialect::SizeExcluded);
    assert!([name, ty, hash, size, offsets, versions, end].is_sorted());
    let [name, ty, hash, size, offsets, versions, end] = tags(Dialect::SizeIncluded);
    assert!([name, ty, hash, offsets, versions, size, end].is_sorted());
    // The empty record of each, as in PyTorch's and MLX's libraries.
    for (dialect, record) in [(Dialect::SizeExcluded, b"\x04\0\0\0ENDT"), (Dialect::SizeIncluded, b"\x08\0\0\0ENDT")] {
        let bytes = sample(dialect);
        let place = usize::try_from(Metallib::parse(bytes.clone()).unwrap().header().public_metadata.offset).unwrap();
        assert_eq!(&bytes[place..place + 8], record);
    }
}

#[test]
fn blobs_are_wrapped_as_apples_are() {
    let bytes = sample(Dialect::SizeExcluded);
    let library = Metallib::parse(bytes.clone()).unwrap();
    let place = usize::try_from(library.header().bitcode.offset).unwrap();
    let expected = b"\xde\xc0\x17\x0b\0\0\0\0\x14\0\0\0\x0d\0\0\0\xff\xff\xff\xffBC\xc0\xde";
    assert_eq!(&bytes[place..place + expected.len()], expected);
    assert_eq!(library.get("mul").unwrap().bitcode_range(), (96, 48));
}

#[test]
fn unknown_tags_are_skipped_in_any_order() {
    let bytes = sample(Dialect::SizeExcluded);
    let group = find(&bytes, b"NAME", 0) - 4;
    let size = u32::from_le_bytes(bytes[group..group + 4].try_into().unwrap());
    let mut new = bytes[group..group + size as usize].to_vec();
    // RFLT as MLX's libraries have it, in front; LAYR behind.
    new.splice(4..4, b"RFLT\x08\0\x04\0\0\0\0\0\0\0".iter().copied());
    let end = new.len() - 4;
    new.splice(end..end, b"LAYR\x01\0\x07LAYR\0\0".iter().copied());
    let new_size = u32::try_from(new.len()).unwrap();
    new[..4].copy_from_slice(&new_size.to_le_bytes());
    assert_eq!(read_all(respliced(group, size as usize, &new)), Ok(sample_functions()));
}

#[test]
fn versions_and_hash_may_be_absent() {
    let bytes = patched_tag(b"VERS", 0, 0, b"SREV");
    let bytes = Metallib::parse(bytes).unwrap();
    assert_eq!(bytes.get("add").unwrap().versions(), None);
    let library = Metallib::parse(patched_tag(b"HASH", 1, 0, b"hash")).unwrap();
    let function = library.get("größer_als").unwrap();
    assert_eq!(function.hash(), None);
    let text = "metallib: function 'größer_als': its group at byte 0x58 has no tag HASH";
    assert_eq!(function.verify_hash().unwrap_err().to_string(), text);
}

/// The sample with `extension` behind the function list.
fn with_extension(extension: &[u8]) -> Vec<u8> {
    let bytes = sample(Dialect::SizeExcluded);
    let end = usize::try_from(Metallib::parse(bytes).unwrap().header().functions.end()).unwrap();
    let mut bytes = respliced(end, 4, extension);
    // The list's own size stays.
    let size = u64::from_le_bytes(bytes[32..40].try_into().unwrap()) + 4 - extension.len() as u64;
    bytes[32..40].copy_from_slice(&size.to_le_bytes());
    bytes
}

#[test]
fn the_header_extension_is_read() {
    let rlst = |offset: u64, size: u64| {
        let payload = [offset.to_le_bytes(), size.to_le_bytes()].concat();
        [b"HDYN\x01\0!RLST\x10\0", &payload[..], b"UUID\x10\x000123456789abcdefENDT"].concat()
    };
    let length = with_extension(&rlst(0, 0)).len() as u64;
    let check = |offset: u64, size: u64, is_used: bool| {
        // The list lies behind the bitcode, so the library is longer than its parts.
        let mut bytes = with_extension(&rlst(offset, size));
        bytes.extend_from_slice(&[0; 100]);
        bytes[16..24].copy_from_slice(&(length + 100).to_le_bytes());
        let library = Metallib::parse(bytes).unwrap();
        assert_eq!(library.uuid(), Some(*b"0123456789abcdef"));
        assert_eq!(library.reflection_list().is_some(), is_used, "{offset} {size}");
    };
    check(length, 100, true);
    check(length + 99, 1, true);
    check(length, 101, false);
    check(length - 1, 10, false);
    check(u64::MAX, 2, false);
    // No extension at all, not even its ENDT.
    assert!(read_all(with_extension(b"")).is_ok());
}

#[test]
fn a_longer_file_is_read_as_far_as_the_header_says() {
    let mut bytes = sample(Dialect::SizeIncluded);
    bytes.extend_from_slice(b"something behind");
    assert_eq!(read_all(bytes), Ok(sample_functions()));
}

#[test]
fn functions_may_share_a_module() {
    let first = find(&sample(Dialect::SizeExcluded), b"OFFT", 0) + 6 + 16;
    let bytes = sample(Dialect::SizeExcluded)[first..first + 8].to_vec();
    let library = Metallib::parse(patched_tag(b"OFFT", 2, 6 + 16, &bytes)).unwrap();
    let [add, _, mul] = library.functions().collect::<Vec<_>>()[..] else { panic!("three functions") };
    assert_eq!(add.bitcode().unwrap(), mul.bitcode().unwrap());
    assert_eq!(add.bitcode_range(), mul.bitcode_range());
}

#[test]
fn universal_binaries_give_their_air_slice() {
    let library = sample(Dialect::SizeIncluded);
    let wrap = |slices: &[(u32, &[u8])]| write_fat(slices).unwrap();
    let code: &[u8] = b"\xcf\xfa\xed\xfe machine code";
    let alone = wrap(&[(CPU_TYPE_AIR64, &library)]);
    assert_eq!(read_all(alone), Ok(sample_functions()));
    let archive = wrap(&[(CPU_TYPE_APPLE_GPU, code), (CPU_TYPE_AIR64, &library), (CPU_TYPE_APPLE_GPU, code)]);
    assert_eq!(read_all(archive), Ok(sample_functions()));
    let none = wrap(&[(CPU_TYPE_APPLE_GPU, code), (0x0100_0007, code)]);
    check_refused(
        none,
        expect_test::expect!["universal binary: no slice for AIR64 (cpu type 0x1000017), found 0x1000013, 0x1000007"],
    );
}

#[test]
fn files_are_read_piece_by_piece() {
    let path = std::env::temp_dir().join(format!("openmps-metallib-{}", std::process::id()));
    let library = sample(Dialect::SizeExcluded);
    fs::write(&path, write_fat(&[(CPU_TYPE_AIR64, &library)]).unwrap()).unwrap();
    let opened = Metallib::open(&path).unwrap();
    let function = opened.get("größer_als").unwrap();
    assert_eq!(*function.bitcode().unwrap(), bitcode(2));
    assert_eq!(function.constants().unwrap(), sample_functions()[1].constants);
    function.verify_hash().unwrap();
    // Cut while it is open: an error, and what was read before stays.
    fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(64).unwrap();
    let error = function.bitcode().unwrap_err();
    assert!(matches!(error, MetallibError::Read { .. }), "{error}");
    assert_eq!(opened.names().count(), 3);
    fs::remove_file(&path).unwrap();
    let missing = Metallib::open(&path).unwrap_err().to_string();
    assert_eq!(missing, format!("{}: No such file or directory (os error 2)", path.display()));
    let folder = Metallib::open(std::env::temp_dir().as_path()).unwrap_err().to_string();
    assert!(folder.ends_with(": is a directory, expected a Metal library"), "{folder}");
}

#[test]
fn the_writer_refuses_what_it_cannot_write() {
    let check = |function: NewFunction, expected: &str| {
        let mut writer = Writer::new(Target::default());
        writer.push(NewFunction::kernel("taken", bitcode(0))).unwrap();
        assert_eq!(writer.push(function).unwrap_err().to_string(), expected);
        assert_eq!(Metallib::parse(writer.finish()).unwrap().names().collect::<Vec<_>>(), ["taken"]);
    };
    check(NewFunction::kernel("", bitcode(0)), "function name '': is empty");
    check(NewFunction::kernel("a\0b", bitcode(0)), "function name 'a\0b': has a NUL");
    check(NewFunction::kernel("taken", bitcode(0)), "function 'taken' is in the library already");
    let long = "n".repeat(65_535);
    let expected = format!("function name '{long}': has 65535 bytes, at most 65534 can be written");
    check(NewFunction::kernel(&long, bitcode(0)), &expected);
    check(
        NewFunction::kernel("k", b"; ModuleID".to_vec()),
        "function 'k': bitcode starts with 3b 20 4d 6f, expected bitcode's 42 43 c0 de",
    );
    let named = |name: &str| constant(name, DataType(29), 0, true);
    let with = |constants| NewFunction { constants, ..NewFunction::kernel("k", bitcode(0)) };
    check(with(vec![named("a"), named("")]), "function 'k': function constant name '': is empty");
    check(
        with((0..6000).map(|number| named(&format!("c{number:05}"))).collect()),
        "function 'k': function constants take 66002 bytes, at most 65535 can be written",
    );
    let longest = NewFunction::kernel(&long[1..], bitcode(0));
    assert_eq!(read_all(write(Dialect::SizeExcluded, vec![longest.clone()])), Ok(vec![longest]));
}
