//! The function list: one group of tags a function, checked once, and the table that finds a function by its name.
//!
//! Guarantees: reading it takes memory in proportion to its bytes and time in proportion to its functions, whatever the names
//! are; every group is checked when the list is read, so that groups can be read again later without a way to fail.

use std::hash::{BuildHasher, RandomState};

use super::error::{MetallibError, Result};
use super::function::{Fields, FunctionType, Versions};
use super::header::{COUNT_BYTES, Header, Section, u64_at};
use super::tags::{self, Code, Tag, Tags};

/// The size word in front of a group's tags.
const GROUP_HEADER_BYTES: usize = 4;
/// Size word, NAME of one letter, TYPE, MDSZ, OFFT and ENDT.
const GROUP_BYTES_MIN: u64 = 4 + 8 + 7 + 14 + 30 + 4;
/// Record of a function without metadata: a size word and `ENDT`.
const RECORD_BYTES_MIN: u64 = 8;

/// Where a group and its name are in the list's bytes.
#[derive(Clone, Copy, Debug)]
struct Group {
    offset: u32,
    size_bytes: u32,
    name_offset: u32,
    name_bytes: u16,
}

/// The list, checked and indexed.
pub(super) struct FunctionList {
    bytes: Box<[u8]>,
    groups: Vec<Group>,
    /// Open addressing with a number of slots that is a power of two: number of a group plus one, or 0.
    slots: Vec<u32>,
    /// Random, so that no library can choose names that meet in one slot.
    hasher: RandomState,
}

impl FunctionList {
    /// Reads the list in `bytes`, which [`Header::functions`] says where to find.
    pub(super) fn parse(bytes: Box<[u8]>, header: &Header) -> Result<Self> {
        let start = header.functions.offset;
        let count_word = bytes.first_chunk::<4>().ok_or_else(|| {
            MetallibError::part("the function list", start, format!("has {} bytes, expected a count", bytes.len()))
        })?;
        let count = u32::from_le_bytes(*count_word);
        let most = (bytes.len() as u64 - COUNT_BYTES) / GROUP_BYTES_MIN;
        if u64::from(count) > most {
            let problem = format!("says {count} functions, but its {} bytes hold {most} at most", bytes.len());
            return Err(MetallibError::part("the function list", start, problem));
        }
        let count = usize::try_from(count).expect("a count below the list's size");
        let slots = vec![0; (2 * count).next_power_of_two()];
        let mut list = Self { bytes, groups: Vec::with_capacity(count), slots, hasher: RandomState::new() };
        let mut place = 4;
        for number in 0..count {
            let group = list.read_group(number, place, header)?;
            place += group.size_bytes as usize;
            list.insert(group)?;
        }
        if place != list.bytes.len() {
            let problem = format!("ends with {} bytes that belong to no function", list.bytes.len() - place);
            return Err(MetallibError::part("the function list", start, problem));
        }
        Ok(list)
    }

    pub(super) fn len(&self) -> usize {
        self.groups.len()
    }

    /// The name of function `number`, which is below [`FunctionList::len`].
    pub(super) fn name(&self, number: usize) -> &str {
        std::str::from_utf8(self.name_bytes(self.groups[number])).expect("names were checked when the list was read")
    }

    /// What the list says of function `number`, which is below [`FunctionList::len`].
    pub(super) fn fields(&self, number: usize, header: &Header) -> Fields {
        let Group { offset, size_bytes, .. } = self.groups[number];
        let tags = &self.bytes[offset as usize + GROUP_HEADER_BYTES..(offset + size_bytes) as usize];
        let fields = read_fields(tags, header).expect("groups were checked when the list was read");
        fields.1
    }

    /// The number of the function `name`.
    pub(super) fn find(&self, name: &str) -> Option<usize> {
        let (_, found) = self.probe(name.as_bytes());
        found
    }

    fn name_bytes(&self, group: Group) -> &[u8] {
        let start = group.name_offset as usize;
        &self.bytes[start..start + usize::from(group.name_bytes)]
    }

    /// The slot where `name` is or would be, and its function's number if it is there.
    fn probe(&self, name: &[u8]) -> (usize, Option<usize>) {
        let mask = self.slots.len() - 1;
        let hash = self.hasher.hash_one(name);
        // Only the low bits count.
        let mut slot = usize::try_from(hash & mask as u64).expect("a number below the number of slots");
        loop {
            // Half of the slots are empty, so the search ends.
            let Some(number) = (self.slots[slot] as usize).checked_sub(1) else { return (slot, None) };
            if self.name_bytes(self.groups[number]) == name {
                return (slot, Some(number));
            }
            slot = (slot + 1) & mask;
        }
    }

    fn insert(&mut self, group: Group) -> Result<()> {
        let second = self.groups.len();
        let (slot, found) = self.probe(self.name_bytes(group));
        self.groups.push(group);
        if let Some(first) = found {
            return Err(MetallibError::DuplicateName { name: self.name(first).to_owned(), first, second });
        }
        self.slots[slot] = u32::try_from(second + 1).expect("the count of functions is a u32");
        Ok(())
    }

    /// Checks the group at `place`.
    fn read_group(&self, number: usize, place: usize, header: &Header) -> Result<Group> {
        let start = header.functions.offset;
        let refuse = |function: Option<&str>, what: String, offset: usize, problem: String| {
            let function = function.map_or_else(|| format!("number {number} of the list"), |name| format!("'{name}'"));
            MetallibError::Function { function, what, offset: start + offset as u64, problem }
        };
        let rest = &self.bytes[place..];
        let too_large = |size: usize| {
            let problem = format!("has {size} bytes, but {} are left in the list", rest.len());
            refuse(None, "its group".to_owned(), place, problem)
        };
        let size_word = rest.first_chunk::<4>().ok_or_else(|| too_large(GROUP_HEADER_BYTES))?;
        let size = u32::from_le_bytes(*size_word) as usize;
        let tags = rest.get(..size).ok_or_else(|| too_large(size))?.get(GROUP_HEADER_BYTES..).ok_or_else(|| {
            refuse(None, "its group".to_owned(), place, format!("has {size} bytes, fewer than its size word"))
        })?;
        let inside = place + GROUP_HEADER_BYTES;
        let (name, _) = read_fields(tags, header).map_err(|error| {
            let name = find_name(tags).and_then(|name| name_text(name).ok());
            refuse(name, error.what, inside + error.offset, error.problem)
        })?;
        // The list's size fits into 32 bits, since it is below its limit.
        let small = |number: usize| u32::try_from(number).expect("an offset below the limit on the list's size");
        Ok(Group {
            offset: small(place),
            size_bytes: small(size),
            name_offset: small(inside + name.offset + tags::TAG_HEADER_BYTES),
            name_bytes: u16::try_from(name.payload.len() - 1).expect("a payload's length is a u16"),
        })
    }
}

/// The payload of the first NAME, for messages about groups that are refused.
fn find_name(bytes: &[u8]) -> Option<&[u8]> {
    let mut tags = Tags::new(bytes);
    while let Ok(Some(tag)) = tags.next() {
        if tag.code == *b"NAME" {
            return Some(tag.payload);
        }
    }
    None
}

/// The tags of a group that a loader needs.
#[derive(Default)]
struct Known<'a> {
    name: Option<Tag<'a>>,
    kind: Option<Tag<'a>>,
    hash: Option<Tag<'a>>,
    size: Option<Tag<'a>>,
    offsets: Option<Tag<'a>>,
    versions: Option<Tag<'a>>,
}

impl<'a> Known<'a> {
    /// The place of `code`, `None` for a tag that is skipped, and the size of its payload, where that is fixed.
    fn place(&mut self, code: Code) -> Option<(&mut Option<Tag<'a>>, Option<usize>)> {
        match &code {
            b"NAME" => Some((&mut self.name, None)),
            b"TYPE" => Some((&mut self.kind, Some(1))),
            b"HASH" => Some((&mut self.hash, Some(32))),
            b"MDSZ" => Some((&mut self.size, Some(8))),
            b"OFFT" => Some((&mut self.offsets, Some(24))),
            b"VERS" => Some((&mut self.versions, Some(8))),
            // SOFF, LAYR, TESS, RFLT and what may come.
            _ => None,
        }
    }
}

/// Reads the tags of one group, `ENDT` included, and returns the tag NAME beside what they say.
fn read_fields<'a>(bytes: &'a [u8], header: &Header) -> std::result::Result<(Tag<'a>, Fields), tags::TagError> {
    let refuse = |what: &str, offset: usize, problem: String| tags::TagError { what: what.to_owned(), offset, problem };
    let mut known = Known::default();
    let mut tags = Tags::new(bytes);
    while let Some(tag) = tags.next()? {
        let Some((place, size)) = known.place(tag.code) else { continue };
        let what = || format!("tag {}", tags::name(tag.code));
        if let Some(size) = size.filter(|size| *size != tag.payload.len()) {
            return Err(refuse(&what(), tag.offset, format!("has {} bytes, expected {size}", tag.payload.len())));
        }
        if let Some(first) = place.replace(tag) {
            return Err(refuse(&what(), tag.offset, format!("stands twice, first at {} of the group", first.offset)));
        }
    }
    let end = tags.end().expect("the loop ends at ENDT");
    if end != bytes.len() {
        let problem = format!("stands {} bytes before the group's end", bytes.len() - end);
        return Err(refuse("tag ENDT", end - tags::END.len(), problem));
    }
    let required =
        |tag: Option<Tag<'a>>, name: &str| tag.ok_or_else(|| refuse("its group", 0, format!("has no tag {name}")));
    let name = required(known.name, "NAME")?;
    name_text(name.payload).map_err(|problem| refuse("tag NAME", name.offset, problem))?;
    let kind = required(known.kind, "TYPE")?.payload[0];
    let size = required(known.size, "MDSZ")?;
    let offsets = required(known.offsets, "OFFT")?;
    let fields = Fields {
        kind: FunctionType::from_byte(kind),
        versions: known.versions.map(|tag| Versions::from_payload(tag.payload)),
        hash: known.hash.map(|tag| tag.payload.try_into().expect("the size was checked")),
        public_offset: u64_at(offsets.payload, 0),
        private_offset: u64_at(offsets.payload, 8),
        bitcode_offset: u64_at(offsets.payload, 16),
        bitcode_bytes: u64_at(size.payload, 0),
    };
    check_offsets(&fields, header).map_err(|problem| refuse("tag OFFT", offsets.offset, problem))?;
    Ok((name, fields))
}

/// The name in NAME's payload, or what is wrong with it.
fn name_text(payload: &[u8]) -> std::result::Result<&str, String> {
    let [name @ .., 0] = payload else { return Err("does not end with a NUL".to_owned()) };
    if name.is_empty() {
        return Err("is empty".to_owned());
    }
    // Asking only whether there is one is the fast way.
    if name.contains(&0) {
        let place = name.iter().take_while(|byte| **byte != 0).count();
        return Err(format!("has a NUL at byte {place} of {}", name.len()));
    }
    std::str::from_utf8(name).map_err(|error| format!("is not UTF-8 from its byte {} on", error.valid_up_to()))
}

fn check_offsets(fields: &Fields, header: &Header) -> std::result::Result<(), String> {
    let is_inside = |section: Section, offset: u64, size: u64| {
        offset.checked_add(size).is_some_and(|end| end <= section.size_bytes)
    };
    let metadata = [
        ("public", header.public_metadata, fields.public_offset),
        ("private", header.private_metadata, fields.private_offset),
    ];
    for (what, section, offset) in metadata {
        if !is_inside(section, offset, RECORD_BYTES_MIN) {
            let size = section.size_bytes;
            return Err(format!("puts its {what} metadata at byte {offset:#x} of a section of {size} bytes"));
        }
    }
    if !is_inside(header.bitcode, fields.bitcode_offset, fields.bitcode_bytes) {
        let (size, offset) = (fields.bitcode_bytes, fields.bitcode_offset);
        let section = header.bitcode.size_bytes;
        return Err(format!("and MDSZ put {size} bytes at byte {offset:#x} of a bitcode section of {section} bytes"));
    }
    Ok(())
}
