//! Objects made by hand: what loads runs, what is damaged is refused.

use object::write::{Object, Relocation, StandardSection, Symbol, SymbolSection as WriteSection};
use object::{Architecture, BinaryFormat, Endianness, RelocationFlags, SymbolFlags, SymbolKind, SymbolScope, elf};

use super::*;

fn symbol(name: &str, kind: SymbolKind, value: u64, section: WriteSection) -> Symbol {
    Symbol {
        name: name.into(),
        value,
        size: 0,
        kind,
        scope: SymbolScope::Linkage,
        weak: false,
        section,
        flags: SymbolFlags::None,
    }
}

/// `f`: eax = *(constant) through a PC-relative load, then a tail call of `helper` through the stub.
fn sample(r_type: u32) -> Vec<u8> {
    let mut object = Object::new(BinaryFormat::Elf, Architecture::X86_64, Endianness::Little);
    let text = object.section_id(StandardSection::Text);
    // mov edi, [rip + constant]; jmp helper
    let start = object.append_section_data(text, &[0x8b, 0x3d, 0, 0, 0, 0, 0xe9, 0, 0, 0, 0], 16);
    let data = object.section_id(StandardSection::ReadOnlyData);
    let constant = object.append_section_data(data, &1234_u32.to_le_bytes(), 4);
    object.add_symbol(symbol("f", SymbolKind::Text, start, WriteSection::Section(text)));
    let table = object.add_symbol(symbol("table", SymbolKind::Data, constant, WriteSection::Section(data)));
    let helper = object.add_symbol(symbol("helper", SymbolKind::Text, 0, WriteSection::Undefined));
    for (offset, symbol, r_type) in [(2, table, elf::R_X86_64_PC32), (7, helper, r_type)] {
        let flags = RelocationFlags::Elf { r_type };
        object.add_relocation(text, Relocation { offset, symbol, addend: -4, flags }).unwrap();
    }
    object.write().unwrap()
}

extern "C" fn double(value: u32) -> u32 {
    value * 2
}

fn resolve(name: &str) -> Option<usize> {
    (name == "helper").then_some(double as *const () as usize)
}

#[test]
fn code_reads_constants_and_calls_outside() {
    let object = load(&sample(elf::R_X86_64_PLT32), resolve).unwrap();
    let address = object.pointer(object.symbol("f").unwrap());
    // SAFETY: the code above is a function of this shape.
    let function = unsafe { std::mem::transmute::<*const u8, extern "C" fn() -> u32>(address) };
    assert_eq!(function(), 2468);
    assert_eq!(object.bytes(object.symbol("table").unwrap()), Ok(1234_u32.to_le_bytes()));
    assert_eq!(object.symbol("g").unwrap_err().to_string(), "object: symbol 'g' is not exported");
    assert!(object.bytes::<8>(usize::MAX - 2).is_err());
}

#[test]
fn unknown_symbols_and_relocations_are_named() {
    let error = load(&sample(elf::R_X86_64_PLT32), |_| None).err().unwrap();
    assert_eq!(error.to_string(), "object: undefined symbol 'helper'");
    let error = load(&sample(elf::R_X86_64_GOTTPOFF), resolve).err().unwrap();
    assert_eq!(error.to_string(), "object: relocation at .text+0x7: type 22 is not known");
    let error = load(&sample(elf::R_X86_64_32S), resolve).err();
    assert!(error.is_some_and(|error| error.to_string().contains("does not fit")));
}

#[test]
fn damaged_objects_never_crash() {
    let good = sample(elf::R_X86_64_PLT32);
    for length in 0..good.len() {
        // Cut anywhere: either refused or, past the last table, still whole.
        let _ = load(&good[..length], resolve);
    }
    for place in 0..good.len() {
        for flip in [1, 0x80, 0xff] {
            let mut bad = good.clone();
            bad[place] ^= flip;
            let _ = load(&bad, resolve);
        }
    }
    assert!(load(b"", resolve).is_err());
    assert!(load(b"\x7fELF", resolve).is_err());
}
