//! The description of an extracted launch: `case.txt`, one line a fact, which both runners read.
//!
//! Lines are words with spaces between. File names are made here; nothing of a capture becomes one.

use std::fmt::Write as _;

use openmps_trace::{Binding, Holder, Launch, Pipeline, Place, Texture, Written};

/// How the runners get the kernel.
pub(super) struct Program<'a> {
    /// Version and whether math is fast, where there is source text that can be compiled without function constants.
    pub(super) source: Option<(&'a str, bool)>,
}

/// The file of a region's bytes before the launch.
pub(super) fn before_file(region: usize) -> String {
    format!("region{region}.before")
}

/// The file of a region's bytes after the launch.
pub(super) fn after_file(region: usize) -> String {
    format!("region{region}.after")
}

/// The text of `case.txt`.
pub(super) fn describe(launch: &Launch, pipeline: &Pipeline, program: &Program<'_>) -> String {
    let mut text = format!("openmps case 1\nkernel {}\n", one_line(&pipeline.name));
    match program.source {
        Some((version, fast)) => line(&mut text, &format!("source {version} {}", if fast { "fast" } else { "safe" })),
        None => line(&mut text, "library"),
    }
    let [x, y, z] = launch.threads;
    let [gx, gy, gz] = launch.group;
    line(&mut text, &format!("threads {x} {y} {z}"));
    line(&mut text, &format!("group {gx} {gy} {gz}"));
    for (number, region) in launch.regions.iter().enumerate() {
        let state = match region.written {
            Written::No => "read",
            Written::After(_) => "written",
        };
        line(&mut text, &format!("region {number} {} {state}", region.address));
    }
    for (index, binding) in &launch.buffers {
        line(&mut text, &format!("buffer {index} {}", bound(binding)));
    }
    for (index, size_bytes) in &launch.threadgroup {
        line(&mut text, &format!("threadgroup {index} {size_bytes}"));
    }
    for (index, texture) in &launch.textures {
        line(&mut text, &format!("texture {index} {}", textured(texture)));
    }
    for (index, [first, second]) in &launch.samplers {
        line(&mut text, &format!("sampler {index} {first} {second}"));
    }
    for relocation in &launch.relocations {
        let holder = match relocation.holder {
            Holder::Region(number) => format!("region {number}"),
            Holder::Bytes(index) => format!("bytes {index}"),
        };
        let (offset, region, target) = (relocation.offset_bytes, relocation.region, relocation.target_bytes);
        line(&mut text, &format!("address {holder} {offset} {region} {target}"));
    }
    for (index, tensor) in &launch.tensors {
        let sizes: Vec<String> = tensor.sizes.iter().map(ToString::to_string).collect();
        line(&mut text, &format!("tensor {index} {} [{}]", one_line(&tensor.dtype), sizes.join(", ")));
    }
    if let Some(error) = &launch.error {
        line(&mut text, &format!("error {}", one_line(error)));
    }
    text
}

fn line(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

/// What comes from a capture may hold anything.
fn one_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}

fn place(place: &Place) -> String {
    format!("{} {} {}", place.region, place.offset_bytes, place.size_bytes)
}

fn bound(binding: &Binding) -> String {
    match binding {
        Binding::Memory(range) => format!("region {}", place(range)),
        Binding::Bytes(bytes) => bytes.iter().fold("bytes ".to_owned(), |mut text, byte| {
            write!(text, "{byte:02x}").expect("a String takes all text");
            text
        }),
        Binding::Null => "null".into(),
    }
}

fn textured(texture: &Texture) -> String {
    let [width, height, depth] = texture.size;
    let usage = match (texture.shader_read, texture.shader_write) {
        (true, true) => "read_write",
        (true, false) => "read",
        (false, true) => "write",
        (false, false) => "none",
    };
    let levels: Vec<String> = texture
        .levels
        .iter()
        .map(|level| format!("{},{},{}", level.offset_bytes, level.bytes_per_row, level.bytes_per_image))
        .collect();
    format!(
        "{} {} {} {width} {height} {depth} {} {usage} {}",
        place(&texture.place),
        one_line(&texture.texture_type),
        one_line(&texture.format),
        texture.array_length,
        levels.join(" ")
    )
}
