//! `csrc/autogen_openmps_abi.h` says what `src/abi/*.rs` says.
//!
//! The header is rendered from the sources: constants, `#[repr(C)]` structs and every function inside `abi! { }`. The test
//! compares it with the file; `BLESS=1 cargo test -p openmps-torch --test header` writes the file. C++ compiles it with
//! static assertions of sizes and offsets (`csrc/Status.cpp`); the Rust side of those numbers is below.

#![expect(clippy::unwrap_used, reason = "a panic is how a test says that a source has an unknown form")]

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use openmps_torch::abi::generator::{GENERATOR_STATE_BYTES, GeneratorState};
use openmps_torch::abi::memory::{BlockInfo, BlockSlots, MemoryStat, MemoryStats};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The C type of a Rust type in an argument, result or field.
fn c_type(rust: &str) -> String {
    let rust = rust.trim();
    if let Some(inner) = rust.strip_prefix("Out<'_, ").and_then(|rest| rest.strip_suffix('>')) {
        return format!("{}*", c_type(inner));
    }
    if let Some(inner) = rust.strip_prefix("In<'_, ").and_then(|rest| rest.strip_suffix('>')) {
        return format!("const {}*", c_type(inner));
    }
    if let Some(inner) = rust.strip_prefix("*mut ") {
        return format!("{}*", c_type(inner));
    }
    if let Some(inner) = rust.strip_prefix("*const ") {
        return format!("const {}*", c_type(inner));
    }
    match rust {
        "()" | "c_void" => "void",
        "c_char" => "char",
        "bool" => "bool",
        "u8" => "uint8_t",
        "u32" => "uint32_t",
        "i32" => "int32_t",
        "u64" => "uint64_t",
        "i64" => "int64_t",
        "f32" => "float",
        "f64" => "double",
        "Text" => "const char*",
        "Generator" => "OpenmpsGenerator",
        named if named.chars().all(char::is_alphanumeric) => return format!("Openmps{named}"),
        unknown => panic!("no C type for '{unknown}'"),
    }
    .to_owned()
}

/// `name: type` pairs of a list such as `a: u32, b: Out<'_, u64>`.
fn pairs(list: &str) -> Vec<(String, String)> {
    let mut pairs: Vec<String> = vec![String::new()];
    let mut depth = 0;
    for character in list.chars() {
        match character {
            '<' | '(' | '[' => depth += 1,
            '>' | ')' | ']' => depth -= 1,
            ',' if depth == 0 => {
                pairs.push(String::new());
                continue;
            }
            _ => {}
        }
        pairs.last_mut().unwrap().push(character);
    }
    let split = |pair: &String| pair.split_once(':').map(|(name, ty)| (name.trim().to_owned(), ty.trim().to_owned()));
    pairs.iter().filter_map(split).collect()
}

/// Doc lines (`///` or `//!`-free) directly above line `index`, as C comments.
fn docs(lines: &[&str], index: usize) -> String {
    let above = lines[..index].iter().rev();
    let mut docs: Vec<&str> = above
        .skip_while(|line| line.trim().starts_with("#["))
        .map_while(|line| line.trim().strip_prefix("///"))
        .collect();
    docs.reverse();
    docs.iter().fold(String::new(), |text, line| text + "//" + line + "\n")
}

fn constants(lines: &[&str], header: &mut String) {
    for (index, line) in lines.iter().enumerate() {
        let Some(constant) = line.trim().strip_prefix("pub const ") else { continue };
        let (name, rest) = constant.split_once(':').unwrap();
        let value = rest.split_once('=').unwrap().1.trim().trim_end_matches(';');
        writeln!(header, "{}#define OPENMPS_{name} {value}", docs(lines, index)).unwrap();
    }
}

fn structs(lines: &[&str], header: &mut String) {
    for (index, line) in lines.iter().enumerate() {
        if *line != "#[repr(C)]" {
            continue;
        }
        let name = lines[index + 1].strip_prefix("pub struct ").unwrap().trim_end_matches(" {");
        writeln!(header, "\n{}typedef struct Openmps{name} {{", docs(lines, index)).unwrap();
        for field in lines[index + 2..].iter().take_while(|line| **line != "}") {
            let Some((name, ty)) = field.trim().strip_prefix("pub ").and_then(|field| field.split_once(": ")) else {
                continue;
            };
            let ty = ty.trim_end_matches(',');
            match ty.strip_prefix('[').and_then(|array| array.trim_end_matches(']').split_once("; ")) {
                Some((element, count)) => writeln!(header, "  {} {name}[{count}];", c_type(element)).unwrap(),
                None => writeln!(header, "  {} {name};", c_type(ty)).unwrap(),
            }
        }
        writeln!(header, "}} Openmps{name};").unwrap();
    }
}

fn functions(text: &str, header: &mut String) {
    let Some((_, block)) = text.split_once("\nabi! {\n") else { return };
    let block = block.split_once("\n}\n").unwrap().0;
    let lines: Vec<&str> = block.lines().collect();
    for (index, line) in lines.iter().enumerate() {
        let Some(rest) = line.strip_prefix("    fn ") else { continue };
        let mut signature = rest.to_owned();
        for more in &lines[index + 1..] {
            if signature.contains('{') {
                break;
            }
            signature += more.trim();
        }
        let (name, rest) = signature.split_once('(').unwrap();
        let signature = rest.split_once('{').unwrap().0;
        let (arguments, result) = signature.rsplit_once(", else").map_or((signature, None), |(before, _)| {
            let (arguments, result) = before.rsplit_once(" -> ").unwrap();
            (arguments, Some(result))
        });
        let arguments = arguments.trim().strip_suffix(')').unwrap();
        let arguments: Vec<String> =
            pairs(arguments).iter().map(|(name, ty)| format!("{} {name}", c_type(ty))).collect();
        let arguments = if arguments.is_empty() { "void".to_owned() } else { arguments.join(", ") };
        let result = result.map_or_else(|| "OpenmpsStatus".to_owned(), c_type);
        writeln!(header, "\n{}{result} {name}({arguments});", docs(&lines, index)).unwrap();
    }
}

fn render() -> String {
    let mut files: Vec<PathBuf> =
        fs::read_dir(root().join("src/abi")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    // The status codes come first.
    files.sort_by_key(|file| !file.ends_with("mod.rs"));
    let mut header = String::from(
        "// Generated from src/abi/*.rs by `BLESS=1 cargo test -p openmps-torch --test header`; do not edit.\n#pragma once\n\n\
         #include <stdbool.h>\n#include <stdint.h>\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n\
         // OPENMPS_OK or the exception class to raise; the text is in openmps_error_message().\n\
         typedef int32_t OpenmpsStatus;\n\
         // An opaque handle, freed with openmps_generator_free().\ntypedef struct OpenmpsGenerator OpenmpsGenerator;\n\
         // Gets one line of the allocator's log: bytes and their number.\n\
         typedef void (*OpenmpsLogSink)(const char* text, uint64_t size_bytes);\n\
         // Tells how many threads an op of ATen would use now.\n\
         typedef int32_t (*OpenmpsThreadCount)(void);\n",
    );
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        writeln!(header, "\n// {}", file.file_name().unwrap().to_str().unwrap()).unwrap();
        constants(&lines, &mut header);
        structs(&lines, &mut header);
        functions(&text, &mut header);
    }
    header + "\n#ifdef __cplusplus\n} // extern \"C\"\n#endif\n"
}

#[test]
fn the_header_is_current() {
    let path = root().join("csrc/autogen_openmps_abi.h");
    let expected = render();
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, &expected).unwrap();
    }
    let actual = fs::read_to_string(&path).unwrap();
    assert!(actual == expected, "{} is stale: run BLESS=1 cargo test -p openmps-torch --test header", path.display());
}

#[test]
fn the_header_has_every_entry_point() {
    let header = render();
    for file in fs::read_dir(root().join("src/abi")).unwrap() {
        let text = fs::read_to_string(file.unwrap().path()).unwrap();
        for line in text.lines().filter_map(|line| line.strip_prefix("    fn openmps_")) {
            let name = line.split_once('(').unwrap().0;
            assert!(header.contains(&format!(" openmps_{name}(")), "openmps_{name} is missing");
        }
    }
}

#[test]
fn structs_have_the_sizes_that_the_shim_asserts() {
    assert_eq!((size_of::<BlockInfo>(), size_of::<BlockSlots>()), (40, 24));
    assert_eq!((size_of::<MemoryStat>(), size_of::<MemoryStats>()), (32, 64));
    assert_eq!(u64::try_from(size_of::<GeneratorState>()).unwrap(), GENERATOR_STATE_BYTES);
}
