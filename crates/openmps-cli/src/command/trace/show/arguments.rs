//! The arguments of a launch as the page shows them.

use openmps_trace::{Access, ArgumentKind, Binding, Capture, Launch, Pipeline, Place, Tensor, Texture, Written};
use serde::Serialize;

use super::preview::{Previews, numbers};

/// Inline bytes that are shown, as numbers.
const INLINE_BYTES_MAX: usize = 64;

/// One argument.
#[derive(Serialize)]
pub(super) struct Argument {
    name: String,
    /// `buffer 0`.
    slot: String,
    #[serde(rename = "type")]
    type_name: String,
    access: &'static str,
    /// `float32[2, 3]`.
    shape: String,
    size: String,
    /// Of inline bytes.
    value: String,
    /// Numbers of previews.
    before: Option<usize>,
    after: Option<usize>,
}

impl Argument {
    fn new(slot: String, declared: Option<&openmps_trace::Argument>) -> Self {
        let access = match declared.map(|argument| argument.access) {
            Some(Access::Read) => "read",
            Some(Access::Write) => "write",
            Some(Access::ReadWrite) => "read and write",
            None => "",
        };
        Self {
            name: declared.map(|argument| argument.name.clone()).unwrap_or_default(),
            slot,
            type_name: declared.map(|argument| argument.type_name.clone()).unwrap_or_default(),
            access,
            shape: String::new(),
            size: String::new(),
            value: String::new(),
            before: None,
            after: None,
        }
    }
}

impl Argument {
    /// A tensor that a trace's message tells, by device and type with sizes: which parameter it is, is not known.
    pub(super) fn tensor((device, shape): (String, String)) -> Self {
        Self { shape, ..Self::new(device, None) }
    }
}

/// Everything that `launch` binds.
pub(super) fn arguments(
    capture: &Capture,
    launch: &Launch,
    pipeline: &Pipeline,
    previews: &mut Previews,
) -> Vec<Argument> {
    let declared = |is: &dyn Fn(&ArgumentKind) -> bool| pipeline.arguments.iter().find(|argument| is(&argument.kind));
    let mut all = Vec::new();
    for (index, binding) in &launch.buffers {
        let is_this = |kind: &ArgumentKind| matches!(kind, ArgumentKind::Buffer(slot) | ArgumentKind::ArgumentBuffer(slot) if slot == index);
        let mut argument = Argument::new(format!("buffer {index}"), declared(&is_this));
        let tensor = launch.tensors.iter().find(|(slot, _)| slot == index).map(|(_, tensor)| tensor);
        argument.shape = tensor.map(shape).unwrap_or_default();
        match binding {
            Binding::Null => argument.value = "null".into(),
            Binding::Bytes(bytes) => {
                argument.size = format!("{} bytes", bytes.len());
                argument.value = inline(&argument.type_name, bytes);
            }
            Binding::Memory(place) => {
                argument.size = size(place.size_bytes);
                let dtype = tensor.map_or(argument.type_name.as_str(), |tensor| tensor.dtype.as_str());
                let form = Form { dtype: dtype.to_owned(), tensor };
                (argument.before, argument.after) = stages(capture, launch, place, &form, previews);
            }
        }
        all.push(argument);
    }
    for (index, texture) in &launch.textures {
        let is_this = |kind: &ArgumentKind| matches!(kind, ArgumentKind::Texture(slot) if slot == index);
        let mut argument = Argument::new(format!("texture {index}"), declared(&is_this));
        argument.shape = texture_shape(texture);
        argument.size = size(texture.place.size_bytes);
        let form = Form { dtype: "uint8".into(), tensor: None };
        (argument.before, argument.after) = stages(capture, launch, &texture.place, &form, previews);
        all.push(argument);
    }
    all
}

/// How bytes are to be read.
pub(super) struct Form<'a> {
    /// PyTorch's or Metal's name of the element type.
    pub(super) dtype: String,
    pub(super) tensor: Option<&'a Tensor>,
}

/// The previews of a place before the launch and, where it may write, after it.
fn stages(
    capture: &Capture,
    launch: &Launch,
    place: &Place,
    form: &Form<'_>,
    previews: &mut Previews,
) -> (Option<usize>, Option<usize>) {
    let Some(region) = launch.regions.get(place.region as usize) else { return (None, None) };
    let before = previews.of(capture, region.before, place, form);
    let after = match region.written {
        Written::No => None,
        Written::After(after) => previews.of(capture, after, place, form),
    };
    (before, after)
}

fn shape(tensor: &Tensor) -> String {
    let sizes: Vec<String> = tensor.sizes.iter().map(ToString::to_string).collect();
    format!("{}[{}]", tensor.dtype, sizes.join(", "))
}

fn texture_shape(texture: &Texture) -> String {
    let [width, height, depth] = texture.size;
    let layers = if texture.array_length > 1 { format!(", {} elements", texture.array_length) } else { String::new() };
    let levels = if texture.levels.len() > 1 { format!(", {} levels", texture.levels.len()) } else { String::new() };
    format!("{} {} {width} × {height} × {depth}{layers}{levels}", texture.texture_type, texture.format)
}

fn inline(type_name: &str, bytes: &[u8]) -> String {
    let shown = &bytes[..bytes.len().min(INLINE_BYTES_MAX)];
    let more = if shown.len() < bytes.len() { ", …" } else { "" };
    numbers(type_name, shown).join(", ") + more
}

fn size(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} B"),
        1024..1_048_576 => format!("{:.1} KiB", bytes as f64 / 1024.0),
        _ => format!("{:.1} MiB", bytes as f64 / 1_048_576.0),
    }
}
