//! Loads an x86-64 ELF relocatable object into memory: code, constants, variables, a stub and a table slot for each outside
//! function.
//!
//! Guarantees: an object is either loaded whole, every relocation applied and checked for range, or an error names what was
//! wrong; an outside symbol that the table does not know is such an error. The bytes come from our own compiler or cache, and
//! all offsets are checked all the same. Leaves out: unwind tables, thread-local variables, common symbols.

use std::collections::BTreeMap;

use object::elf;
use object::read::elf::ElfFile64;
use object::{
    Endianness, Object, ObjectSection, ObjectSymbol, RelocationFlags, RelocationTarget, SectionFlags, SectionIndex,
    SymbolIndex, SymbolSection,
};
use thiserror::Error;

use crate::jit::memory::{Mapping, PAGE_BYTES, Protection};

/// Most bytes that one object may occupy; the largest kernels of known libraries need under 1 MiB.
const OBJECT_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// A stub is `jmp *slot(%rip)` padded to 16 bytes.
const STUB_BYTES: usize = 16;

/// Why an object could not be loaded.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LoadError {
    /// The bytes are not an x86-64 ELF relocatable object.
    #[error("object: {0}")]
    Malformed(String),
    /// The object calls something that the runtime does not have.
    #[error("object: undefined symbol '{0}'")]
    UndefinedSymbol(String),
    /// An entry point or table that every object must export is missing.
    #[error("object: symbol '{0}' is not exported")]
    MissingSymbol(String),
    /// A relocation that the loader does not know or that cannot be reached.
    #[error("object: relocation at {section}+{offset:#x}: {reason}")]
    Relocation {
        /// The section that is patched.
        section: String,
        /// The place in it.
        offset: u64,
        /// What is wrong.
        reason: String,
    },
    /// The operating system refused memory.
    #[error("cannot map {size_bytes} bytes of memory: {reason}")]
    Map {
        /// Bytes asked for.
        size_bytes: usize,
        /// The system's words.
        reason: String,
    },
}

type Elf<'data> = ElfFile64<'data, Endianness>;

/// An object in memory, ready to be called.
pub(crate) struct LoadedObject {
    mapping: Mapping,
    symbols: BTreeMap<String, usize>,
}

impl LoadedObject {
    /// The offset of an exported symbol.
    ///
    /// # Errors
    /// [`LoadError::MissingSymbol`].
    pub(crate) fn symbol(&self, name: &str) -> Result<usize, LoadError> {
        self.symbols.get(name).copied().ok_or_else(|| LoadError::MissingSymbol(name.to_owned()))
    }

    /// A pointer to the byte at `offset`.
    pub(crate) fn pointer(&self, offset: usize) -> *const u8 {
        self.mapping.pointer(offset)
    }

    /// `N` bytes at `offset`.
    ///
    /// # Errors
    /// [`LoadError::Malformed`] when they do not lie in the object.
    pub(crate) fn bytes<const N: usize>(&self, offset: usize) -> Result<[u8; N], LoadError> {
        if offset.checked_add(N).is_none_or(|end| end > self.mapping.size_bytes()) {
            return Err(LoadError::Malformed(format!("{N} bytes at {offset:#x} lie outside of it")));
        }
        Ok(self.mapping.read(offset))
    }
}

/// Loads `bytes`; `resolve` gives the address of an outside symbol.
///
/// # Errors
/// See [`LoadError`].
pub(crate) fn load(bytes: &[u8], resolve: impl Fn(&str) -> Option<usize>) -> Result<LoadedObject, LoadError> {
    let elf = Elf::parse(bytes).map_err(malformed)?;
    check_header(&elf)?;
    let externals = find_externals(&elf, resolve)?;
    let layout = Layout::of(&elf, externals.len())?;
    let mut loader = Loader { mapping: Mapping::new(layout.size_bytes)?, elf: &elf, layout, externals };
    loader.copy_sections()?;
    loader.write_stubs()?;
    loader.relocate()?;
    loader.seal()
}

fn malformed(error: object::read::Error) -> LoadError {
    LoadError::Malformed(error.to_string())
}

fn check_header(elf: &Elf<'_>) -> Result<(), LoadError> {
    let header = elf.elf_header();
    let machine = header.e_machine.get(elf.endian());
    let kind = header.e_type.get(elf.endian());
    if machine != elf::EM_X86_64 || kind != elf::ET_REL {
        return Err(LoadError::Malformed(format!("machine {machine} and type {kind}, expected x86-64 relocatable")));
    }
    Ok(())
}

/// An outside symbol: its address and its number among the stubs and slots.
struct External {
    address: usize,
    number: usize,
}

fn find_externals(
    elf: &Elf<'_>,
    resolve: impl Fn(&str) -> Option<usize>,
) -> Result<BTreeMap<usize, External>, LoadError> {
    let mut externals = BTreeMap::new();
    for symbol in elf.symbols().filter(|symbol| symbol.is_undefined()) {
        let name = symbol.name().map_err(malformed)?;
        // The null symbol at index 0.
        if name.is_empty() {
            continue;
        }
        let address = resolve(name).ok_or_else(|| LoadError::UndefinedSymbol(name.to_owned()))?;
        let number = externals.len();
        externals.insert(symbol.index().0, External { address, number });
    }
    Ok(externals)
}

/// Where everything goes: code and stubs, then constants and address slots, then variables, each from a new page. Sections
/// are keyed by their index in the file.
struct Layout {
    sections: BTreeMap<usize, usize>,
    stubs: usize,
    slots: usize,
    constants: usize,
    variables: usize,
    size_bytes: usize,
}

/// The protection that a section asks for; `None` for sections that are not loaded.
fn protection_of<'data>(section: &impl ObjectSection<'data>) -> Option<Protection> {
    let SectionFlags::Elf { sh_flags } = section.flags() else { return None };
    let has = |flag: u32| sh_flags & u64::from(flag) != 0;
    if !has(elf::SHF_ALLOC) || section.name().is_ok_and(|name| name.starts_with(".eh_frame")) {
        return None;
    }
    if has(elf::SHF_EXECINSTR) {
        Some(Protection::Execute)
    } else if has(elf::SHF_WRITE) {
        Some(Protection::Write)
    } else {
        Some(Protection::Read)
    }
}

impl Layout {
    fn of(elf: &Elf<'_>, externals: usize) -> Result<Self, LoadError> {
        let mut sections = BTreeMap::new();
        let mut end = 0;
        place(elf, Protection::Execute, &mut sections, &mut end)?;
        let stubs = end.next_multiple_of(STUB_BYTES);
        let constants = (stubs + externals * STUB_BYTES).next_multiple_of(PAGE_BYTES);
        end = constants;
        place(elf, Protection::Read, &mut sections, &mut end)?;
        let slots = end.next_multiple_of(8);
        let variables = (slots + externals * 8).next_multiple_of(PAGE_BYTES);
        end = variables;
        place(elf, Protection::Write, &mut sections, &mut end)?;
        Ok(Self { sections, stubs, slots, constants, variables, size_bytes: end })
    }
}

fn place(
    elf: &Elf<'_>,
    which: Protection,
    sections: &mut BTreeMap<usize, usize>,
    end: &mut usize,
) -> Result<(), LoadError> {
    for section in elf.sections().filter(|section| protection_of(section) == Some(which)) {
        let (size, align) = (section.size(), section.align().max(1));
        let too_large = || LoadError::Malformed(format!("a section of {size} bytes aligned to {align}"));
        if size > OBJECT_BYTES_MAX || !align.is_power_of_two() || align > PAGE_BYTES as u64 {
            return Err(too_large());
        }
        let (size, align) = (usize::try_from(size).map_err(|_| too_large())?, usize::try_from(align).expect("small"));
        let offset = end.next_multiple_of(align);
        *end = offset + size;
        if *end as u64 > OBJECT_BYTES_MAX {
            return Err(too_large());
        }
        sections.insert(section.index().0, offset);
    }
    Ok(())
}

struct Loader<'elf, 'data> {
    mapping: Mapping,
    elf: &'elf Elf<'data>,
    layout: Layout,
    externals: BTreeMap<usize, External>,
}

impl Loader<'_, '_> {
    fn copy_sections(&mut self) -> Result<(), LoadError> {
        for (&index, &offset) in &self.layout.sections {
            let section = self.elf.section_by_index(SectionIndex(index)).map_err(malformed)?;
            let data = section.data().map_err(malformed)?;
            if data.len() as u64 > section.size() {
                return Err(LoadError::Malformed("a section larger than its size".to_owned()));
            }
            self.mapping.write(offset, data);
        }
        Ok(())
    }

    /// A stub jumps through its slot, so that code can call functions more than 2 GiB away.
    fn write_stubs(&mut self) -> Result<(), LoadError> {
        for external in self.externals.values() {
            let slot = self.layout.slots + external.number * 8;
            let stub = self.layout.stubs + external.number * STUB_BYTES;
            self.mapping.write(slot, &(external.address as u64).to_le_bytes());
            let distance = i32::try_from(slot - (stub + 6))
                .map_err(|_| LoadError::Malformed("code and slots are more than 2 GiB apart".to_owned()))?;
            self.mapping.write(stub, &[0xff, 0x25]);
            self.mapping.write(stub + 2, &distance.to_le_bytes());
        }
        Ok(())
    }

    fn relocate(&mut self) -> Result<(), LoadError> {
        let sections: Vec<(SectionIndex, usize)> =
            self.layout.sections.iter().map(|(&index, &base)| (SectionIndex(index), base)).collect();
        for (index, base) in sections {
            let section = self.elf.section_by_index(index).map_err(malformed)?;
            for (offset, relocation) in section.relocations() {
                let RelocationFlags::Elf { r_type } = relocation.flags() else {
                    return Err(LoadError::Malformed("relocations of another format".to_owned()));
                };
                let patch = Patch { section: index, offset, base, size_bytes: section.size() };
                self.apply(&patch, r_type, relocation.target(), relocation.addend())?;
            }
        }
        Ok(())
    }

    fn apply(&mut self, patch: &Patch, r_type: u32, target: RelocationTarget, addend: i64) -> Result<(), LoadError> {
        let fail = |reason: String| LoadError::Relocation {
            section: self.section_name(patch.section),
            offset: patch.offset,
            reason,
        };
        let RelocationTarget::Symbol(symbol) = target else { return Err(fail("it has no symbol".to_owned())) };
        let width = if matches!(r_type, elf::R_X86_64_64 | elf::R_X86_64_PC64) { 8 } else { 4 };
        if patch.offset.checked_add(width).is_none_or(|end| end > patch.size_bytes) {
            return Err(fail("it lies outside of the section".to_owned()));
        }
        let place = patch.base + usize::try_from(patch.offset).expect("checked against the section's size");
        let place_address = self.mapping.address(place) as i128;
        let value = |address: usize| address as i128 + i128::from(addend);
        let result = match r_type {
            elf::R_X86_64_64 | elf::R_X86_64_32 | elf::R_X86_64_32S => value(self.symbol_address(symbol)?),
            elf::R_X86_64_PC32 | elf::R_X86_64_PC64 => value(self.symbol_address(symbol)?) - place_address,
            elf::R_X86_64_PLT32 => value(self.call_address(symbol)?) - place_address,
            elf::R_X86_64_GOTPCREL | elf::R_X86_64_GOTPCRELX | elf::R_X86_64_REX_GOTPCRELX => {
                let Some(external) = self.externals.get(&symbol.0) else {
                    return Err(fail("a table slot for a symbol of the object itself".to_owned()));
                };
                value(self.mapping.address(self.layout.slots + external.number * 8)) - place_address
            }
            other => return Err(fail(format!("type {other} is not known"))),
        };
        let out_of_range = || fail(format!("value {result:#x} does not fit"));
        let bytes: Vec<u8> = match r_type {
            elf::R_X86_64_64 => u64::try_from(result).map_err(|_| out_of_range())?.to_le_bytes().to_vec(),
            elf::R_X86_64_PC64 => i64::try_from(result).map_err(|_| out_of_range())?.to_le_bytes().to_vec(),
            elf::R_X86_64_32 => u32::try_from(result).map_err(|_| out_of_range())?.to_le_bytes().to_vec(),
            _ => i32::try_from(result).map_err(|_| out_of_range())?.to_le_bytes().to_vec(),
        };
        self.mapping.write(place, &bytes);
        Ok(())
    }

    fn section_name(&self, index: SectionIndex) -> String {
        let section = self.elf.section_by_index(index);
        section.and_then(|section| section.name().map(str::to_owned)).unwrap_or_else(|_| "?".to_owned())
    }

    /// Where a symbol is: outside, or at its value in its section.
    fn symbol_address(&self, index: SymbolIndex) -> Result<usize, LoadError> {
        if let Some(external) = self.externals.get(&index.0) {
            return Ok(external.address);
        }
        Ok(self.mapping.address(self.symbol_offset(index)?))
    }

    fn call_address(&self, index: SymbolIndex) -> Result<usize, LoadError> {
        match self.externals.get(&index.0) {
            Some(external) => Ok(self.mapping.address(self.layout.stubs + external.number * STUB_BYTES)),
            None => self.symbol_address(index),
        }
    }

    fn symbol_offset(&self, index: SymbolIndex) -> Result<usize, LoadError> {
        let symbol = self.elf.symbol_by_index(index).map_err(malformed)?;
        let name = symbol.name().unwrap_or("?").to_owned();
        let outside = || LoadError::Malformed(format!("symbol '{name}' lies outside of every loaded section"));
        let SymbolSection::Section(section) = symbol.section() else { return Err(outside()) };
        let base = self.layout.sections.get(&section.0).ok_or_else(outside)?;
        let offset = usize::try_from(symbol.address()).map_err(|_| outside())?;
        base.checked_add(offset).filter(|&end| end <= self.mapping.size_bytes()).ok_or_else(outside)
    }

    fn seal(self) -> Result<LoadedObject, LoadError> {
        let mut symbols = BTreeMap::new();
        for symbol in self.elf.symbols().filter(|symbol| symbol.is_global() && !symbol.is_undefined()) {
            symbols.insert(symbol.name().map_err(malformed)?.to_owned(), self.symbol_offset(symbol.index())?);
        }
        let Layout { constants, variables, .. } = self.layout;
        self.mapping.protect(0, constants, Protection::Execute)?;
        self.mapping.protect(constants, variables - constants, Protection::Read)?;
        Ok(LoadedObject { mapping: self.mapping, symbols })
    }
}

/// The place that a relocation changes.
struct Patch {
    section: SectionIndex,
    offset: u64,
    base: usize,
    size_bytes: u64,
}

#[cfg(test)]
mod tests;
