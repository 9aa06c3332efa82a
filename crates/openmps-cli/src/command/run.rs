//! `openmps run`: launches one kernel on files and made-up data, and shows or keeps what it writes.

use std::path::PathBuf;
use std::time::Instant;

use openmps::{
    ArgumentKind, Binding, Bindings, Buffer, BufferIndex, Grid, Kernel, Library, LibraryError, SamplerIndex, Stream,
    Texture, TextureIndex, TextureType,
};
use openmps_engine::{BufferAccess, KernelSignature, Presence, TextureAccess, TextureComponent};
use serde::Serialize;
use serde_json::Value;

use crate::args::Run;
use crate::array::Array;
use crate::constant_value;
use crate::data::{self, Data};
use crate::failure::Failure;
use crate::input::Input;
use crate::random::Random;
use crate::{compiler, image, output};

/// Elements of an output that people are shown.
const SHOWN_ELEMENTS_MAX: usize = 64;

/// What `--json` prints.
#[derive(Serialize)]
struct Report {
    kernel: String,
    grid: [u32; 3],
    group: [u32; 3],
    seed: u64,
    /// Milliseconds of the launch, compilation apart.
    milliseconds: f64,
    outputs: Vec<Output>,
}

#[derive(Serialize)]
struct Output {
    name: String,
    index: u32,
    dtype: &'static str,
    shape: Vec<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<PathBuf>,
    /// The elements in a flat row, unless they went to a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<Vec<Value>>,
    #[serde(skip)]
    type_text: String,
}

/// A buffer or texture argument of the kernel.
struct Slot {
    index: u32,
    name: String,
    kind: SlotKind,
    is_written: bool,
}

enum SlotKind {
    /// Metal's name of the elements.
    Buffer(String),
    Texture(TextureType, TextureComponent),
}

impl Slot {
    /// What it is called beside its name.
    fn place(&self) -> String {
        match self.kind {
            SlotKind::Buffer(_) => self.index.to_string(),
            SlotKind::Texture(..) => format!("texture{}", self.index),
        }
    }
}

/// Memory with what it was made from.
struct Bound {
    slot: usize,
    array: Array,
    memory: Memory,
}

enum Memory {
    Buffer(Buffer),
    Texture(Texture),
}

impl Memory {
    fn address(&self) -> *const u8 {
        match self {
            Self::Buffer(buffer) => buffer.contents().as_ptr().cast_const(),
            Self::Texture(texture) => texture.contents().as_ptr().cast_const(),
        }
    }
}

pub(crate) fn run(run: &Run) -> Result<(), Failure> {
    let kernel = kernel(run)?;
    refuse_what_cannot_be_typed(kernel.signature()).map_err(|problem| Failure::about(&run.file, problem))?;
    let slots = slots(kernel.signature());
    let (mut bindings, bound) = bind(run, &slots)?;
    bind_samplers(run, kernel.signature(), &mut bindings)?;
    let grid = grid(run, &kernel)?;
    let stream = Stream::current();
    let retained: Vec<*const u8> = bound.iter().map(|bound| bound.memory.address()).collect();
    let began = Instant::now();
    kernel.encode(stream, bindings, &retained, grid).map_err(|error| failure(run, &error))?;
    stream.synchronize().map_err(|error| Failure::Message(error.to_string()))?;
    let milliseconds = began.elapsed().as_secs_f64() * 1e3;
    let outputs = outputs(run, &slots, &bound)?;
    let report = Report {
        kernel: kernel.name().into(),
        grid: grid.threads,
        group: grid.group,
        seed: run.seed,
        milliseconds,
        outputs,
    };
    if run.json { output::print_json(&report) } else { output::print(&render(&report)) }
}

fn failure(run: &Run, error: &LibraryError) -> Failure {
    match error {
        LibraryError::Diagnostics { rendered, .. } => {
            output::complain(&compiler::with_file_name(&run.file, rendered));
            Failure::Said
        }
        error => Failure::about(&run.file, error),
    }
}

fn kernel(run: &Run) -> Result<Kernel, Failure> {
    let library = match Input::open(&run.file)? {
        Input::Source(source) => Library::from_source(&source, &run.language.options()),
        Input::Library(_) => Library::from_metallib_file(&run.file),
    };
    let library = library.map_err(|error| failure(run, &error))?;
    if !library.kernel_names().contains(&run.kernel) {
        let names = library.kernel_names().join(", ");
        return Err(Failure::about(&run.file, format!("has no kernel '{}', it has {names}", run.kernel)));
    }
    if run.constants.is_empty() {
        return library.kernel(&run.kernel).map_err(|error| failure(run, &error));
    }
    let signature = compiler::signature(&run.file, &run.kernel, &run.language.options())?;
    let values = constant_value::parse(&run.constants, &signature).map_err(Failure::Message)?;
    library.kernel_with_constants(&run.kernel, &values).map_err(|error| failure(run, &error))
}

/// Refuses kernels with arguments for which no value can be typed; what binds them instead.
fn refuse_what_cannot_be_typed(signature: &KernelSignature) -> Result<(), String> {
    for argument in signature.arguments.iter().filter(|argument| argument.presence != Presence::Absent) {
        let (what, binder) = match argument.kind {
            ArgumentKind::ArgumentBuffer { .. } => ("an argument buffer", "Python binds a list of tensors there"),
            ArgumentKind::Texture { count: Some(_), .. } => ("an array of textures", "the crate openmps binds it"),
            ArgumentKind::VisibleFunctionTable { .. } => ("a function table", "nothing can bind it yet"),
            ArgumentKind::Buffer { .. }
            | ArgumentKind::ThreadgroupMemory { .. }
            | ArgumentKind::Texture { count: None, .. }
            | ArgumentKind::Sampler { .. }
            | ArgumentKind::Builtin { .. } => continue,
        };
        let (kernel, name) = (&signature.name, &argument.name);
        return Err(format!("kernel '{kernel}' takes '{name}', {what}, for which --arg has no value; {binder}"));
    }
    Ok(())
}

fn slots(signature: &KernelSignature) -> Vec<Slot> {
    let slot = |argument: &openmps_engine::Argument| match argument.kind {
        ArgumentKind::Buffer { index, access, .. } => Some(Slot {
            index: index.0,
            name: argument.name.clone(),
            kind: SlotKind::Buffer(argument.type_name.clone()),
            is_written: access != BufferAccess::Read,
        }),
        ArgumentKind::Texture { index, count: None, texture_type, component, access } => Some(Slot {
            index: index.0,
            name: argument.name.clone(),
            kind: SlotKind::Texture(texture_type, component),
            is_written: matches!(access, TextureAccess::Write | TextureAccess::ReadWrite),
        }),
        ArgumentKind::ArgumentBuffer { .. }
        | ArgumentKind::ThreadgroupMemory { .. }
        | ArgumentKind::Texture { .. }
        | ArgumentKind::Sampler { .. }
        | ArgumentKind::VisibleFunctionTable { .. }
        | ArgumentKind::Builtin { .. } => None,
    };
    signature.arguments.iter().filter_map(slot).collect()
}

/// The slot that `word` names, by name or index.
fn find(slots: &[Slot], word: &str) -> Option<usize> {
    slots.iter().position(|slot| slot.name == word || slot.place() == word)
}

fn there(slots: &[Slot]) -> String {
    let names: Vec<String> = slots.iter().map(|slot| format!("{} ({})", slot.name, slot.place())).collect();
    if names.is_empty() { "none".into() } else { names.join(", ") }
}

fn bind(run: &Run, slots: &[Slot]) -> Result<(Bindings, Vec<Bound>), Failure> {
    let (mut bindings, mut bound) = (Bindings::default(), Vec::new());
    let mut random = Random::new(run.seed);
    let mut next = 0;
    for word in &run.arguments {
        let refuse = |problem: String| Failure::Message(format!("--arg {word}: {problem}"));
        // A name in front of the value; values have no equals sign.
        let (slot, text) = match word.split_once('=') {
            Some((name, text)) => (find(slots, name), text),
            None => ((next < slots.len()).then_some(next), word.as_str()),
        };
        let slot = slot.ok_or_else(|| {
            refuse(format!("kernel '{}' has no such buffer or texture, it has {}", run.kernel, there(slots)))
        })?;
        next = slot + 1;
        bind_one(&slots[slot], slot, text, &mut random, &mut bindings, &mut bound).map_err(refuse)?;
    }
    for word in &run.threadgroup {
        let refuse = || Failure::Message(format!("--threadgroup {word}: expected INDEX=BYTES"));
        let (index, bytes) = word.split_once('=').ok_or_else(refuse)?;
        let (index, size_bytes) = (index.parse().map_err(|_| refuse())?, bytes.parse().map_err(|_| refuse())?);
        bindings.set(BufferIndex(index), Binding::ThreadgroupMemory { size_bytes });
    }
    Ok((bindings, bound))
}

/// Binds the value that was typed as `text` to a slot, which has the number `number`.
fn bind_one(
    slot: &Slot,
    number: usize,
    text: &str,
    random: &mut Random,
    bindings: &mut Bindings,
    bound: &mut Vec<Bound>,
) -> Result<(), String> {
    let memory = match &slot.kind {
        SlotKind::Buffer(type_name) => {
            let scalar = type_name.trim_end_matches(['&', '*', ' ']);
            match data::read(text, Some(scalar), random)? {
                Data::Number(number) => {
                    bindings.set(BufferIndex(slot.index), Binding::Bytes(number.bytes.into()));
                    return Ok(());
                }
                Data::Array(array) => {
                    let buffer = Buffer::from_bytes(&array.bytes).map_err(|error| error.to_string())?;
                    let address = buffer.contents().as_ptr().expose_provenance() as u64;
                    let size_bytes = buffer.len() as u64;
                    let binding = if size_bytes == 0 { Binding::Null } else { Binding::Buffer { address, size_bytes } };
                    bindings.set(BufferIndex(slot.index), binding);
                    (array, Memory::Buffer(buffer))
                }
            }
        }
        SlotKind::Texture(ty, component) => match data::read(text, None, random)? {
            Data::Number(_) => return Err("a texture takes an array or an image".into()),
            Data::Array(array) => {
                let texture = image::texture(&array, *ty, *component)?;
                bindings.set_texture(TextureIndex(slot.index), texture.view());
                (array, Memory::Texture(texture))
            }
        },
    };
    let (array, memory) = memory;
    bound.push(Bound { slot: number, array, memory });
    Ok(())
}

/// Every sampler of the kernel is the one that was typed.
fn bind_samplers(run: &Run, signature: &KernelSignature, bindings: &mut Bindings) -> Result<(), Failure> {
    let state = image::sampler(&run.sampler);
    let state = state.map_err(|problem| Failure::Message(format!("--sampler {}: {problem}", run.sampler)))?;
    for argument in &signature.arguments {
        if let ArgumentKind::Sampler { index, count } = argument.kind {
            (0..count.unwrap_or(1)).for_each(|more| bindings.set_sampler(SamplerIndex(index.0 + more), &state));
        }
    }
    Ok(())
}

/// The sizes that were typed; a group takes as much of the first axis as the kernel allows.
fn grid(run: &Run, kernel: &Kernel) -> Result<Grid, Failure> {
    let threads = sizes(&run.grid).map_err(|problem| Failure::Message(format!("--grid {}: {problem}", run.grid)))?;
    let max = kernel.properties().max_total_threads_per_threadgroup;
    let group = match &run.group {
        Some(text) => sizes(text).map_err(|problem| Failure::Message(format!("--group {text}: {problem}")))?,
        None => [threads[0].clamp(1, max), 1, 1],
    };
    Ok(Grid { threads, group })
}

/// `X`, `X,Y` or `X,Y,Z`.
fn sizes(text: &str) -> Result<[u32; 3], String> {
    let sizes: Vec<u32> = text
        .split([',', 'x'])
        .map(|size| size.trim().parse())
        .collect::<Result<_, _>>()
        .map_err(|_| "expected one to three sizes, like 64 or 16,16".to_owned())?;
    match *sizes.as_slice() {
        [x] => Ok([x, 1, 1]),
        [x, y] => Ok([x, y, 1]),
        [x, y, z] => Ok([x, y, z]),
        _ => Err("expected one to three sizes, like 64 or 16,16".into()),
    }
}

/// The buffers that are asked for, else those that the kernel may write.
fn outputs(run: &Run, slots: &[Slot], bound: &[Bound]) -> Result<Vec<Output>, Failure> {
    let mut wanted = Vec::new();
    for word in &run.outputs {
        let refuse = |problem: String| Failure::Message(format!("--out {word}: {problem}"));
        let (name, file) = match word.split_once('=') {
            Some((name, file)) => (name, Some(PathBuf::from(file))),
            None => (word.as_str(), None),
        };
        let slot = find(slots, name);
        let one = slot.and_then(|slot| bound.iter().find(|bound| bound.slot == slot));
        let one = one.ok_or_else(|| {
            refuse(format!(
                "no buffer or texture '{name}' was given with --arg; kernel '{}' has {}",
                run.kernel,
                there(slots)
            ))
        })?;
        wanted.push((one, file));
    }
    if wanted.is_empty() {
        wanted = bound.iter().filter(|bound| slots[bound.slot].is_written).map(|bound| (bound, None)).collect();
    }
    wanted.into_iter().map(|(bound, file)| output_of(&slots[bound.slot], bound, file)).collect()
}

fn output_of(slot: &Slot, bound: &Bound, file: Option<PathBuf>) -> Result<Output, Failure> {
    let array = match &bound.memory {
        Memory::Buffer(buffer) => Array { bytes: buffer.to_vec(), ..bound.array.clone() },
        Memory::Texture(texture) => image::array(texture, &bound.array).map_err(Failure::Message)?,
    };
    if let Some(file) = &file {
        data::write(file, &slot.name, &array).map_err(|problem| Failure::about(file, problem))?;
    }
    Ok(Output {
        name: slot.name.clone(),
        index: slot.index,
        dtype: array.dtype.name(),
        shape: array.shape.clone(),
        data: file.is_none().then(|| array.values().collect()),
        file,
        type_text: array.type_text(),
    })
}

fn render(report: &Report) -> String {
    let line = |output: &Output| {
        let Output { name, type_text, .. } = output;
        match (&output.file, &output.data) {
            (Some(file), _) => format!("{name} {type_text}: {}\n", file.display()),
            (None, data) => {
                let values = data.as_deref().unwrap_or_default();
                let shown: Vec<String> = values.iter().take(SHOWN_ELEMENTS_MAX).map(Value::to_string).collect();
                let rest = values.len().saturating_sub(SHOWN_ELEMENTS_MAX);
                let rest = if rest > 0 { format!(" and {rest} more") } else { String::new() };
                format!("{name} {type_text} = {}{rest}\n", shown.join(" "))
            }
        }
    };
    report.outputs.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_one_to_three_numbers() {
        assert_eq!(sizes("64"), Ok([64, 1, 1]));
        assert_eq!(sizes("8, 4"), Ok([8, 4, 1]));
        assert_eq!(sizes("8x4x2"), Ok([8, 4, 2]));
        for text in ["", "1,2,3,4", "-1", "a", "1,,2", "4294967296"] {
            assert_eq!(sizes(text), Err("expected one to three sizes, like 64 or 16,16".into()), "{text}");
        }
    }
}
