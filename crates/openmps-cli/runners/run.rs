//! Runs the launch in a folder with openmps and compares what it writes with what is expected.
//!
//! Usage: `cargo run --release [-- FOLDER]`; the folder is the working one if none is named. Status 0: equal, 1: different. See
//! README.md for the files.
#![expect(clippy::print_stdout, reason = "a program shows its result")]

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use openmps::{
    Binding, Bindings, Buffer, BufferIndex, CompileOptions, Grid, Kernel, LanguageVersion, Library, MathMode,
    PixelFormat, SamplerIndex, Stream, TextureIndex, TextureLevel, TextureType, TextureUsage, TextureView,
};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// The lines of `case.txt` by their first word.
type Case = BTreeMap<String, Vec<Vec<String>>>;

/// Memory that stands for a region of the program's memory, at the same distance from a multiple of 256.
struct Region {
    old: u64,
    phase: usize,
    bytes: Vec<u8>,
    buffer: Buffer,
    is_written: bool,
}

impl Region {
    fn address(&self) -> u64 {
        (self.buffer.contents().as_ptr().expose_provenance() + self.phase) as u64
    }
}

fn main() -> Result<ExitCode> {
    let folder = std::env::args_os().nth(1).map_or_else(|| PathBuf::from("."), PathBuf::from);
    let case = read_case(&folder)?;
    let kernel = load(&folder, &case)?;
    let mut regions = regions(&folder, &case)?;
    let mut inline = inline(&case)?;
    let undo = move_addresses(&case, &mut regions, &mut inline)?;
    for region in &mut regions {
        let bytes = [vec![0; region.phase], region.bytes.clone()].concat();
        region.buffer.copy_from_slice(&bytes);
    }
    let bindings = bind(&case, &regions, &inline)?;
    let grid = Grid { threads: sizes(&case, "threads")?, group: sizes(&case, "group")? };
    let held: Vec<*const u8> = regions.iter().map(|region| region.buffer.contents().as_ptr().cast_const()).collect();
    let stream = Stream::default_stream();
    kernel.encode(stream, bindings, &held, grid)?;
    let failed = stream.synchronize().err().map(|error| error.to_string());
    if failed.is_some() != case.contains_key("error") {
        return Err(failed.unwrap_or_else(|| "the launch did not fail, as it did in the capture".into()).into());
    }
    if !compare(&folder, &regions, &undo)? {
        return Ok(ExitCode::FAILURE);
    }
    println!("{}: equal bit for bit", kernel.name());
    Ok(ExitCode::SUCCESS)
}

fn read_case(folder: &Path) -> Result<Case> {
    let text = fs::read_to_string(folder.join("case.txt"))?;
    let text = text.strip_prefix("openmps case 1\n").ok_or("case.txt: expected 'openmps case 1'")?;
    let mut case = Case::new();
    for line in text.lines() {
        let mut words = line.split(' ').map(str::to_owned);
        case.entry(words.next().unwrap_or_default()).or_default().push(words.collect());
    }
    Ok(case)
}

fn lines<'a>(case: &'a Case, word: &str) -> &'a [Vec<String>] {
    case.get(word).map_or(&[], Vec::as_slice)
}

/// The word at `place` of a line as a number.
fn number<T: TryFrom<u64>>(line: &[String], place: usize) -> Result<T> {
    let word = line.get(place).ok_or("case.txt: a line is too short")?;
    T::try_from(word.parse::<u64>()?).map_err(|_| format!("case.txt: {word} is too large").into())
}

fn sizes(case: &Case, word: &str) -> Result<[u32; 3]> {
    let line = lines(case, word).first().ok_or("case.txt: no grid")?;
    Ok([number(line, 0)?, number(line, 1)?, number(line, 2)?])
}

fn load(folder: &Path, case: &Case) -> Result<Kernel> {
    let name = lines(case, "kernel").first().ok_or("case.txt: no kernel")?.join(" ");
    let library = match lines(case, "source").first().map(Vec::as_slice) {
        Some([version, math]) => {
            let language_version = match version.as_str() {
                "3.1" => LanguageVersion::Metal3_1,
                "4.0" => LanguageVersion::Metal4_0,
                _ => LanguageVersion::Metal3_2,
            };
            let math_mode = if math == "fast" { MathMode::Fast } else { MathMode::Safe };
            let source = fs::read_to_string(folder.join("kernel.metal"))?;
            Library::from_source(&source, &CompileOptions { language_version, math_mode })?
        }
        _ => Library::from_metallib_file(&folder.join("kernel.metallib"))?,
    };
    Ok(library.kernel(&name)?)
}

fn regions(folder: &Path, case: &Case) -> Result<Vec<Region>> {
    let region = |line: &Vec<String>| {
        let place: u32 = number(line, 0)?;
        let old: u64 = number(line, 1)?;
        let phase = usize::try_from(old % 256)?;
        let bytes = fs::read(folder.join(format!("region{place}.before")))?;
        let buffer = Buffer::new(phase + bytes.len())?;
        Ok(Region { old, phase, bytes, buffer, is_written: line.get(2).is_some_and(|state| state == "written") })
    };
    lines(case, "region").iter().map(region).collect()
}

fn inline(case: &Case) -> Result<BTreeMap<u32, Vec<u8>>> {
    let mut inline = BTreeMap::new();
    for line in lines(case, "buffer").iter().filter(|line| line.get(1).is_some_and(|kind| kind == "bytes")) {
        let hex = line.get(2).map_or("", String::as_str);
        let byte = |place| u8::from_str_radix(hex.get(place..place + 2).unwrap_or("?"), 16);
        let bytes: std::result::Result<Vec<u8>, _> = (0..hex.len()).step_by(2).map(byte).collect();
        inline.insert(number(line, 0)?, bytes?);
    }
    Ok(inline)
}

/// An address that was moved: region, offset, new and old bytes.
type Moved = (usize, usize, [u8; 8], [u8; 8]);

/// Writes the new addresses of regions where old ones stand.
fn move_addresses(case: &Case, regions: &mut [Region], inline: &mut BTreeMap<u32, Vec<u8>>) -> Result<Vec<Moved>> {
    let mut moved = Vec::new();
    for line in lines(case, "address") {
        let (offset, target): (usize, u64) = (number(line, 2)?, number(line, 4)?);
        let leads_to = regions.get(number::<usize>(line, 3)?).ok_or("case.txt: no such region")?;
        let old = (leads_to.old + target).to_le_bytes();
        let new = (leads_to.address() + target).to_le_bytes();
        let is_region = line[0] == "region";
        let holder = if is_region {
            regions.get_mut(number::<usize>(line, 1)?).map(|region| &mut region.bytes)
        } else {
            inline.get_mut(&number(line, 1)?)
        };
        let word = holder.and_then(|bytes| bytes.get_mut(offset..offset + 8)).ok_or("case.txt: no such address")?;
        if word == old {
            word.copy_from_slice(&new);
            if is_region {
                moved.push((number(line, 1)?, offset, new, old));
            }
        }
    }
    Ok(moved)
}

fn bind(case: &Case, regions: &[Region], inline: &BTreeMap<u32, Vec<u8>>) -> Result<Bindings> {
    let mut bindings = Bindings::default();
    let address = |line: &[String], place: usize| -> Result<u64> {
        let region = regions.get(number::<usize>(line, place)?).ok_or("case.txt: no such region")?;
        Ok(region.address() + number::<u64>(line, place + 1)?)
    };
    for line in lines(case, "buffer") {
        let index = number(line, 0)?;
        let binding = match line.get(1).map(String::as_str) {
            Some("region") => Binding::Buffer { address: address(line, 2)?, size_bytes: number(line, 4)? },
            Some("bytes") => Binding::Bytes(inline[&index].clone().into()),
            _ => Binding::Null,
        };
        bindings.set(BufferIndex(index), binding);
    }
    for line in lines(case, "threadgroup") {
        let size_bytes = number(line, 1)?;
        bindings.set(BufferIndex(number(line, 0)?), Binding::ThreadgroupMemory { size_bytes });
    }
    for line in lines(case, "texture") {
        bindings.set_texture(TextureIndex(number(line, 0)?), texture(line, address(line, 1)?)?);
    }
    for line in lines(case, "sampler") {
        bindings.set_sampler_words(SamplerIndex(number(line, 0)?), [number(line, 1)?, number(line, 2)?]);
    }
    Ok(bindings)
}

fn texture(line: &[String], address: u64) -> Result<TextureView> {
    let [type_name, format_name] = [4, 5].map(|place| line.get(place).map_or("", String::as_str));
    let texture_type = TextureType::ALL.into_iter().find(|ty| ty.name() == type_name).ok_or("no such texture type")?;
    let format = *PixelFormat::ALL.iter().find(|format| format.name() == format_name).ok_or("no such format")?;
    let usage = line.get(10).map_or("", String::as_str);
    let mut levels = Vec::new();
    for level in line.iter().skip(11) {
        let words: Vec<String> = level.split(',').map(str::to_owned).collect();
        let [offset_bytes, bytes_per_row, bytes_per_image] =
            [number(&words, 0)?, number(&words, 1)?, number(&words, 2)?];
        levels.push(TextureLevel { offset_bytes, bytes_per_row, bytes_per_image });
    }
    Ok(TextureView {
        address,
        texture_type,
        format,
        size: [number(line, 6)?, number(line, 7)?, number(line, 8)?],
        array_length: number(line, 9)?,
        levels,
        usage: TextureUsage { shader_read: usage.starts_with("read"), shader_write: usage.ends_with("write") },
    })
}

/// Whether every written region holds what is expected.
fn compare(folder: &Path, regions: &[Region], moved: &[Moved]) -> Result<bool> {
    let mut equal = true;
    for (number, region) in regions.iter().enumerate().filter(|(_, region)| region.is_written) {
        let expected = fs::read(folder.join(format!("region{number}.after")))?;
        let mut found = region.buffer.to_vec().split_off(region.phase);
        for (_, offset, new, old) in moved.iter().filter(|(holder, ..)| *holder == number) {
            if found[*offset..offset + 8] == *new {
                found[*offset..offset + 8].copy_from_slice(old);
            }
        }
        let different = || found.iter().zip(&expected).enumerate().filter(|(_, (a, b))| a != b);
        if let Some((place, (found, wanted))) = different().next() {
            equal = false;
            let (count, all) = (different().count(), expected.len());
            println!(
                "region {number}: {count} of {all} bytes differ, first byte {place}: expected {wanted:#04x}, got {found:#04x}"
            );
        }
    }
    Ok(equal)
}
