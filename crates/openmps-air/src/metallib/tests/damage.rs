//! One damaged place at a time: what is refused, with its place, and that nothing else happens.

use expect_test::expect;

use super::*;

#[test]
fn other_files_are_named() {
    check_refused(
        vec![],
        expect!["not a Metal library: it is empty, expected MTLB or a universal binary's cb fe ba be"],
    );
    check_refused(
        b"4d544c420180020007000081".to_vec(),
        expect![
            "not a Metal library: it starts with the hexadecimal text '4d544c4201800200', expected MTLB or a universal binary's cb fe ba be"
        ],
    );
    check_refused(
        b"#include <metal_stdlib>\n".to_vec(),
        expect![
            "not a Metal library: it starts with the text '#include <metal_', expected MTLB or a universal binary's cb fe ba be"
        ],
    );
    check_refused(
        b"\x7fELF\x02\x01\x01".to_vec(),
        expect!["not a Metal library: it starts with 7f 45 4c 46, expected MTLB or a universal binary's cb fe ba be"],
    );
    check_refused(
        b"BC\xc0\xde".to_vec(),
        expect![
            "not a Metal library: it is bitcode without a container, expected MTLB or a universal binary's cb fe ba be"
        ],
    );
    check_refused(b"MTLB".to_vec(), expect!["metallib: the header at byte 0x0 has 88 bytes, but the file 4"]);
}

#[test]
fn damaged_headers_are_refused() {
    check_refused(
        patched(10, &[3]),
        expect![
            "metallib: the file type at byte 0xa is 3 (a symbol companion, without code), expected 0 (executable), 1 (Core Image) or 2 (dynamic library)"
        ],
    );
    check_refused(
        patched(10, &[9]),
        expect![
            "metallib: the file type at byte 0xa is 9, expected 0 (executable), 1 (Core Image) or 2 (dynamic library)"
        ],
    );
    check_refused(
        patched(16, &u64::MAX.to_le_bytes()),
        expect!["metallib: the library's size at byte 0x10 says 18446744073709551615 bytes, but there are 691"],
    );
    check_refused(
        patched(16, &88u64.to_le_bytes()),
        expect!["metallib: the function list at byte 0x58 has 376 bytes, but the library ends at 0x58"],
    );
    check_refused(
        patched(24, &u64::MAX.to_le_bytes()),
        expect!["metallib: the function list at byte 0xffffffffffffffff has 376 bytes, but the library ends at 0x2b3"],
    );
    check_refused(
        patched(32, &u64::MAX.to_le_bytes()),
        expect!["metallib: the function list at byte 0x58 has 18446744073709551615 bytes"],
    );
    check_refused(
        patched(48, &u64::MAX.to_le_bytes()),
        expect![
            "metallib: the public metadata at byte 0x1d4 has 18446744073709551615 bytes, but the library ends at 0x2b3"
        ],
    );
    check_refused(
        patched(72, &u64::MAX.to_le_bytes()),
        expect!["metallib: the bitcode at byte 0xffffffffffffffff has 144 bytes, but the library ends at 0x2b3"],
    );
    // Overlaps: the list with the header, the bitcode with the private metadata.
    check_refused(
        patched(24, &80u64.to_le_bytes()),
        expect!["metallib: the function list at byte 0x50 overlaps the header, which ends at 0x58"],
    );
    check_refused(
        patched(72, &520u64.to_le_bytes()),
        expect!["metallib: the bitcode at byte 0x208 overlaps the public metadata, which ends at 0x20b"],
    );
}

#[test]
fn implausible_lists_are_refused() {
    check_refused(
        patched(88, &u32::MAX.to_le_bytes()),
        expect!["metallib: the function list at byte 0x58 says 4294967295 functions, but its 376 bytes hold 5 at most"],
    );
    check_refused(
        patched(88, &4u32.to_le_bytes()),
        expect![
            "metallib: function number 3 of the list: its group at byte 0x1d0 has 4 bytes, but 0 are left in the list"
        ],
    );
    check_refused(
        patched(88, &2u32.to_le_bytes()),
        expect!["metallib: the function list at byte 0x58 ends with 121 bytes that belong to no function"],
    );
    check_refused(
        patched(88, &0u32.to_le_bytes()),
        expect!["metallib: the function list at byte 0x58 ends with 372 bytes that belong to no function"],
    );
    check_refused(
        patched(32, &0u64.to_le_bytes()),
        expect!["metallib: the function list at byte 0x58 says 3 functions, but its 4 bytes hold 0 at most"],
    );
}

#[test]
fn damaged_groups_are_refused() {
    for size in [0u32, 3, 4, 5, 120, u32::MAX] {
        assert!(read_all(patched(92, &size.to_le_bytes())).is_err(), "group of {size} bytes");
    }
    check_refused(
        patched(92, &3u32.to_le_bytes()),
        expect![
            "metallib: function number 0 of the list: its group at byte 0x5c has 3 bytes, fewer than its size word"
        ],
    );
    check_refused(
        patched(92, &u32::MAX.to_le_bytes()),
        expect![
            "metallib: function number 0 of the list: its group at byte 0x5c has 4294967295 bytes, but 372 are left in the list"
        ],
    );
    // A tag longer than its group, a missing tag, a tag twice, and ENDT before the end.
    check_refused(
        patched_tag(b"VERS", 0, 4, &[0xff, 0xff]),
        expect!["metallib: function 'add': tag VERS at byte 0xc3 has 65535 bytes, but 12 are left"],
    );
    check_refused(
        patched_tag(b"NAME", 0, 0, b"EMAN"),
        expect!["metallib: function number 0 of the list: its group at byte 0x60 has no tag NAME"],
    );
    check_refused(
        patched_tag(b"TYPE", 0, 0, b"PYTE"),
        expect!["metallib: function 'add': its group at byte 0x60 has no tag TYPE"],
    );
    check_refused(
        patched_tag(b"MDSZ", 1, 0, b"SZMD"),
        expect!["metallib: function 'größer_als': its group at byte 0xd9 has no tag MDSZ"],
    );
    check_refused(
        patched_tag(b"OFFT", 2, 0, b"offt"),
        expect!["metallib: function 'mul': its group at byte 0x15b has no tag OFFT"],
    );
    check_refused(
        patched_tag(b"VERS", 0, 0, b"MDSZ"),
        expect!["metallib: function 'add': tag MDSZ at byte 0xc3 stands twice, first at 55 of the group"],
    );
    check_refused(
        patched_tag(b"VERS", 0, 0, b"OFFT"),
        expect!["metallib: function 'add': tag OFFT at byte 0xc3 has 8 bytes, expected 24"],
    );
    check_refused(
        patched_tag(b"VERS", 0, 0, b"ENDT"),
        expect!["metallib: function 'add': tag ENDT at byte 0xc3 stands 14 bytes before the group's end"],
    );
    check_refused(
        patched_tag(b"ENDT", 0, 0, b"ENDX"),
        expect![
            "metallib: function 'add': tag ENDX at byte 0xd1 has no room for its length, the list ends at 117 bytes"
        ],
    );
}

#[test]
fn damaged_names_are_refused() {
    check_refused(
        patched_tag(b"NAME", 0, 9, b"!"),
        expect!["metallib: function number 0 of the list: tag NAME at byte 0x60 does not end with a NUL"],
    );
    check_refused(
        patched_tag(b"NAME", 0, 7, b"\0"),
        expect!["metallib: function number 0 of the list: tag NAME at byte 0x60 has a NUL at byte 1 of 3"],
    );
    check_refused(
        patched_tag(b"NAME", 1, 9, b"x"),
        expect!["metallib: function number 1 of the list: tag NAME at byte 0xd9 is not UTF-8 from its byte 2 on"],
    );
    check_refused(
        patched_tag(b"NAME", 2, 6, b"add"),
        expect!["metallib: functions 0 and 2 of the list are both named 'add'"],
    );
    let name = find(&sample(Dialect::SizeExcluded), b"NAME", 0);
    let mut bytes = respliced(name, 10, b"NAME\x01\0\0");
    bytes[92..96].copy_from_slice(&117u32.to_le_bytes());
    check_refused(
        bytes,
        expect!["metallib: function number 0 of the list: the tag list at byte 0xce ends at 113 bytes without ENDT"],
    );
}

#[test]
fn offsets_outside_their_sections_are_refused() {
    let at =
        |function: usize, place: usize, value: u64| patched_tag(b"OFFT", function, 6 + place, &value.to_le_bytes());
    check_refused(
        at(0, 0, u64::MAX),
        expect![
            "metallib: function 'add': tag OFFT at byte 0xa5 puts its public metadata at byte 0xffffffffffffffff of a section of 55 bytes"
        ],
    );
    check_refused(
        at(1, 8, 17),
        expect![
            "metallib: function 'größer_als': tag OFFT at byte 0x127 puts its private metadata at byte 0x11 of a section of 24 bytes"
        ],
    );
    check_refused(
        at(2, 16, 97),
        expect![
            "metallib: function 'mul': tag OFFT at byte 0x1a0 and MDSZ put 48 bytes at byte 0x61 of a bitcode section of 144 bytes"
        ],
    );
    check_refused(
        at(2, 16, u64::MAX),
        expect![
            "metallib: function 'mul': tag OFFT at byte 0x1a0 and MDSZ put 48 bytes at byte 0xffffffffffffffff of a bitcode section of 144 bytes"
        ],
    );
    check_refused(
        patched_tag(b"MDSZ", 0, 6, &u64::MAX.to_le_bytes()),
        expect![
            "metallib: function 'add': tag OFFT at byte 0xa5 and MDSZ put 18446744073709551615 bytes at byte 0x0 of a bitcode section of 144 bytes"
        ],
    );
}

#[test]
fn damaged_modules_are_refused_when_they_are_read() {
    let start =
        usize::try_from(Metallib::parse(sample(Dialect::SizeExcluded)).unwrap().header().bitcode.offset).unwrap();
    check_refused(
        patched(start, b"text"),
        expect![
            "metallib: function 'add': bitcode at byte 0x223 starts with 74 65 78 74, expected bitcode's 42 43 c0 de"
        ],
    );
    check_refused(
        patched(start + 20, b"LLVM"),
        expect![
            "metallib: function 'add': bitcode at byte 0x237 starts with 4c 4c 56 4d, expected bitcode's 42 43 c0 de"
        ],
    );
    check_refused(
        patched(start + 8, &21u32.to_le_bytes()),
        expect![
            "metallib: function 'add': bitcode at byte 0x238 starts with 43 c0 de 01, expected bitcode's 42 43 c0 de"
        ],
    );
    check_refused(
        patched(start + 12, &29u32.to_le_bytes()),
        expect!["metallib: function 'add': bitcode at byte 0x22b wraps 29 bytes at byte 0x14 of 48"],
    );
    check_refused(
        patched_tag(b"MDSZ", 0, 6, &0u64.to_le_bytes()),
        expect!["metallib: function 'add': bitcode at byte 0x223 is empty, expected bitcode's 42 43 c0 de"],
    );
    // The damage is in one function: the others are read.
    let library = Metallib::parse(patched(start, b"text")).unwrap();
    assert_eq!(*library.get("mul").unwrap().bitcode().unwrap(), bitcode(3));
}

#[test]
fn a_hash_of_other_bytes_is_refused_when_it_is_verified() {
    let bytes = patched_tag(b"HASH", 0, 6, &[0; 32]);
    let library = Metallib::parse(bytes).unwrap();
    let function = library.get("add").unwrap();
    assert_eq!(*function.bitcode().unwrap(), bitcode(1));
    let error = function.verify_hash().unwrap_err();
    expect!["metallib: function 'add': HASH says 0000000000000000000000000000000000000000000000000000000000000000, but its bitcode has SHA-256 169b7ac329d8293b77ef07194c3f4d46cf86883c1f96a08838d001675ed10083"].assert_eq(&error.to_string());
}

#[test]
fn damaged_metadata_is_refused_when_it_is_read() {
    let bytes = sample(Dialect::SizeExcluded);
    let record = find(&bytes, b"CNST", 0) - 4;
    check_refused(
        patched(record, &u32::MAX.to_le_bytes()),
        expect!["metallib: function 'größer_als': public metadata in bytes: 4294967295, at most 1048576 allowed"],
    );
    check_refused(
        patched(record, &1000u32.to_le_bytes()),
        expect![
            "metallib: function 'größer_als': public metadata at byte 0x1dc has 1000 bytes, but its section ends at 0x20b"
        ],
    );
    check_refused(
        patched(record, &0u32.to_le_bytes()),
        expect![
            "metallib: function 'größer_als': public metadata: the tag list at byte 0x1e0 ends at 0 bytes without ENDT"
        ],
    );
    let size = u32::from_le_bytes(bytes[record..record + 4].try_into().unwrap());
    for wrong in [size - 4, size - 1, size + 1, size + 3, size + 5, size + 8] {
        assert!(read_all(patched(record, &wrong.to_le_bytes())).is_err(), "record of {wrong} bytes");
    }
    // The other dialect's size of the same record.
    assert_eq!(read_all(patched(record, &(size + 4).to_le_bytes())), Ok(sample_functions()));
    check_refused(
        patched(record, &(size + 1).to_le_bytes()),
        expect![
            "metallib: function 'größer_als': public metadata: tag ENDT at byte 0x1ff ends the record after 35 bytes, but its size says 36"
        ],
    );
    check_refused(
        patched(record + 8, &[0xff, 0xff]),
        expect![
            "metallib: function 'größer_als': public metadata: tag CNST at byte 0x1e0 has 65535 bytes, but 29 are left"
        ],
    );
    check_refused(
        patched(record + 10, &[3, 0]),
        expect![
            "metallib: function 'größer_als': tag CNST at byte 0x1e6 lists 3 constants, but number 2 has a name without an end"
        ],
    );
}

#[test]
fn damaged_extensions_are_refused() {
    let bytes = sample(Dialect::SizeIncluded);
    let place = find(&bytes, b"UUID", 0);
    let with = |skip: usize, new: &[u8]| {
        let mut bytes = bytes.clone();
        bytes[place + skip..place + skip + new.len()].copy_from_slice(new);
        bytes
    };
    check_refused(
        with(4, &[15, 0]),
        expect!["metallib: header extension: tag UUID at byte 0x1d0 has 15 bytes, expected 16"],
    );
    check_refused(
        with(4, &[0xff, 0xff]),
        expect!["metallib: header extension: tag UUID at byte 0x1d0 has 65535 bytes, but 20 are left"],
    );
    check_refused(
        with(0, b"RLST\x0f\0"),
        expect!["metallib: header extension: tag RLST at byte 0x1d0 has 15 bytes, expected 16"],
    );
    check_refused(
        with(22, b"TEND"),
        expect![
            "metallib: header extension: tag TEND at byte 0x1e6 has no room for its length, the list ends at 26 bytes"
        ],
    );
}

#[test]
fn damaged_universal_binaries_are_refused() {
    let library = sample(Dialect::SizeExcluded);
    let fat = write_fat(&[(CPU_TYPE_APPLE_GPU, b"code"), (CPU_TYPE_AIR64, &library)]).unwrap();
    let with = |place: usize, word: u32| {
        let mut bytes = fat.clone();
        bytes[place..place + 4].copy_from_slice(&word.to_be_bytes());
        bytes
    };
    check_refused(fat[..7].to_vec(), expect!["metallib: universal binary: the header at byte 0x0 is cut at 7 bytes"]);
    check_refused(
        fat[..47].to_vec(),
        expect!["metallib: universal binary: the header at byte 0x4 says 2 slices, but the file ends at 0x2f"],
    );
    check_refused(
        with(4, u32::MAX),
        expect!["metallib: slices of the universal binary: 4294967295, at most 256 allowed"],
    );
    check_refused(
        with(4, 200),
        expect!["metallib: universal binary: the header at byte 0x4 says 200 slices, but the file ends at 0x2f3"],
    );
    check_refused(with(4, 0), expect!["universal binary: no slice for AIR64 (cpu type 0x1000017), found none"]);
    check_refused(
        with(36, u32::MAX),
        expect!["metallib: universal binary: slice 1 at byte 0x1c puts 691 bytes at byte 0xffffffff of 755"],
    );
    check_refused(
        with(40, u32::MAX),
        expect!["metallib: universal binary: slice 1 at byte 0x1c puts 4294967295 bytes at byte 0x40 of 755"],
    );
    check_refused(
        with(36, 8),
        expect!["metallib: universal binary: slice 1 at byte 0x1c puts 691 bytes at byte 0x8 of 755"],
    );
    check_refused(
        with(64, u32::from_be_bytes(fat::FAT_MAGIC)),
        expect![
            "not a Metal library: it is a universal binary inside a universal binary, expected MTLB or a universal binary's cb fe ba be"
        ],
    );
}

#[test]
fn every_truncation_is_refused() {
    for dialect in [Dialect::SizeExcluded, Dialect::SizeIncluded] {
        let whole = sample(dialect);
        for length in 0..whole.len() {
            let error = read_all(whole[..length].to_vec()).expect_err("a cut library is refused");
            assert!(!error.to_string().is_empty());
        }
    }
    let fat = write_fat(&[(CPU_TYPE_AIR64, &sample(Dialect::SizeExcluded))]).unwrap();
    for length in 0..fat.len() {
        assert!(read_all(fat[..length].to_vec()).is_err(), "cut at {length}");
    }
}

#[test]
fn every_flipped_byte_gives_a_library_or_an_error() {
    for dialect in [Dialect::SizeExcluded, Dialect::SizeIncluded] {
        let whole = write_fat(&[(CPU_TYPE_AIR64, &sample(dialect))]).unwrap();
        for place in 0..whole.len() {
            for flip in [0x01, 0x80, 0xff] {
                let mut bytes = whole.clone();
                bytes[place] ^= flip;
                // A library says the same each time, whatever it says.
                assert_eq!(read_all(bytes.clone()), read_all(bytes));
            }
        }
    }
}
