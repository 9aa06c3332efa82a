//! `openmps run`: launches one kernel on files and made-up data, and shows or keeps what it writes.

use std::path::PathBuf;
use std::time::Instant;

use openmps::{ArgumentKind, Binding, Bindings, Buffer, BufferIndex, Grid, Kernel, Library, LibraryError, Stream};
use openmps_engine::{BufferAccess, KernelSignature};
use serde::Serialize;
use serde_json::Value;

use crate::args::Run;
use crate::array::Array;
use crate::constant_value;
use crate::data::{self, Data};
use crate::failure::Failure;
use crate::input::Input;
use crate::random::Random;
use crate::{compiler, output};

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

/// A buffer argument of the kernel.
struct Slot {
    index: u32,
    name: String,
    type_name: String,
    is_written: bool,
}

/// A buffer with what it was made from.
struct Bound {
    slot: usize,
    array: Array,
    buffer: Buffer,
}

pub(crate) fn run(run: &Run) -> Result<(), Failure> {
    let kernel = kernel(run)?;
    let slots = slots(kernel.signature());
    let (bindings, bound) = bind(run, &slots)?;
    let grid = grid(run, &kernel)?;
    let stream = Stream::current();
    let retained: Vec<*const u8> = bound.iter().map(|bound| bound.buffer.contents().as_ptr().cast_const()).collect();
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

fn slots(signature: &KernelSignature) -> Vec<Slot> {
    let slot = |argument: &openmps_engine::Argument| match argument.kind {
        ArgumentKind::Buffer { index, access, .. } => Some(Slot {
            index: index.0,
            name: argument.name.clone(),
            type_name: argument.type_name.clone(),
            is_written: access != BufferAccess::Read,
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
    slots.iter().position(|slot| slot.name == word || slot.index.to_string() == word)
}

fn there(slots: &[Slot]) -> String {
    let names: Vec<String> = slots.iter().map(|slot| format!("{} ({})", slot.name, slot.index)).collect();
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
        let slot =
            slot.ok_or_else(|| refuse(format!("kernel '{}' has no such buffer, it has {}", run.kernel, there(slots))))?;
        next = slot + 1;
        let Slot { index, type_name, .. } = &slots[slot];
        let scalar = type_name.trim_end_matches(['&', '*', ' ']);
        let binding = match data::read(text, Some(scalar), &mut random).map_err(refuse)? {
            Data::Number(number) => Binding::Bytes(number.bytes.into()),
            Data::Array(array) => {
                let buffer = Buffer::from_bytes(&array.bytes).map_err(|error| refuse(error.to_string()))?;
                let address = buffer.contents().as_ptr().expose_provenance() as u64;
                let size_bytes = buffer.len() as u64;
                bound.push(Bound { slot, array, buffer });
                if size_bytes == 0 { Binding::Null } else { Binding::Buffer { address, size_bytes } }
            }
        };
        bindings.set(BufferIndex(*index), binding);
    }
    for word in &run.threadgroup {
        let refuse = || Failure::Message(format!("--threadgroup {word}: expected INDEX=BYTES"));
        let (index, bytes) = word.split_once('=').ok_or_else(refuse)?;
        let (index, size_bytes) = (index.parse().map_err(|_| refuse())?, bytes.parse().map_err(|_| refuse())?);
        bindings.set(BufferIndex(index), Binding::ThreadgroupMemory { size_bytes });
    }
    Ok((bindings, bound))
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
            refuse(format!("no buffer '{name}' was given with --arg; kernel '{}' has {}", run.kernel, there(slots)))
        })?;
        wanted.push((one, file));
    }
    if wanted.is_empty() {
        wanted = bound.iter().filter(|bound| slots[bound.slot].is_written).map(|bound| (bound, None)).collect();
    }
    wanted.into_iter().map(|(bound, file)| output_of(&slots[bound.slot], bound, file)).collect()
}

fn output_of(slot: &Slot, bound: &Bound, file: Option<PathBuf>) -> Result<Output, Failure> {
    let array = Array { bytes: bound.buffer.to_vec(), ..bound.array.clone() };
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
