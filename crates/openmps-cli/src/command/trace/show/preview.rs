//! Small pictures of buffers: how values are distributed, the first of them, and a matrix as grey levels.

use std::collections::HashMap;

use half::{bf16, f16};
use openmps_trace::{Capture, ContentNumber, Place};
use serde::Serialize;

use super::arguments::Form;

/// Bytes of a buffer that are looked at.
const LOOKED_AT_BYTES: usize = 1 << 20;
/// Values that are listed.
const VALUES: usize = 64;
/// Bars of the histogram.
const BARS: usize = 32;
/// Most pixels of an image along each side.
const IMAGE_SIDE: usize = 48;
/// Different previews in one page.
const PREVIEWS_MAX: usize = 2000;

/// What is shown of one buffer at one time.
#[derive(Serialize)]
pub(super) struct Preview {
    dtype: &'static str,
    /// Elements that there are, and how many were looked at.
    count: u64,
    looked_at: usize,
    /// Of finite values.
    minimum: Option<f64>,
    maximum: Option<f64>,
    mean: Option<f64>,
    /// Infinities and NaNs.
    odd: usize,
    histogram: Vec<u32>,
    values: Vec<Value>,
    image: Option<Image>,
}

/// A number, or the name of one that JSON has not.
#[derive(Serialize)]
#[serde(untagged)]
enum Value {
    Number(f64),
    Name(&'static str),
}

/// Grey levels, row by row.
#[derive(Serialize)]
struct Image {
    width: usize,
    height: usize,
    /// Base64.
    grey: String,
}

/// The previews of a page, each content looked at once.
pub(super) struct Previews {
    enabled: bool,
    known: HashMap<(u32, u64, u64, String), Option<usize>>,
    previews: Vec<Preview>,
    skipped: usize,
}

impl Previews {
    pub(super) fn new(enabled: bool) -> Self {
        Self { enabled, known: HashMap::new(), previews: Vec::new(), skipped: 0 }
    }

    /// All previews, and how many there was no room for.
    pub(super) fn finish(self) -> (Vec<Preview>, usize) {
        (self.previews, self.skipped)
    }

    /// The number of the preview of `place` in `content`; none where nothing can be shown.
    pub(super) fn of(
        &mut self,
        capture: &Capture,
        content: ContentNumber,
        place: &Place,
        form: &Form<'_>,
    ) -> Option<usize> {
        if !self.enabled {
            return None;
        }
        let shape = form.tensor.map(|tensor| format!("{:?}", tensor.sizes)).unwrap_or_default();
        let key = (content.0, place.offset_bytes, place.size_bytes, format!("{} {shape}", form.dtype));
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        let preview = if self.previews.len() < PREVIEWS_MAX {
            make(capture, content, place, form)
        } else {
            self.skipped += 1;
            None
        };
        let number = preview.map(|preview| {
            self.previews.push(preview);
            self.previews.len() - 1
        });
        self.known.insert(key, number);
        number
    }
}

fn make(capture: &Capture, content: ContentNumber, place: &Place, form: &Form<'_>) -> Option<Preview> {
    let element = Element::of(&form.dtype)?;
    let bound = place.size_bytes / element.size_bytes as u64;
    let wanted = form.tensor.map(|tensor| tensor.sizes.iter().fold(1u64, |all, size| all.saturating_mul(*size)));
    let count = wanted.unwrap_or(bound).min(bound);
    let offset = usize::try_from(place.offset_bytes).ok()?;
    let length = usize::try_from(count).ok()?.saturating_mul(element.size_bytes).min(LOOKED_AT_BYTES);
    // Nothing is unpacked for places far behind the start of a large region.
    if offset > LOOKED_AT_BYTES * 16 {
        return None;
    }
    let bytes = capture.read_start(content, offset.checked_add(length)?).ok()?;
    let values = element.values(bytes.get(offset..)?);
    (!values.is_empty()).then(|| Preview::new(element.name, count, &values, columns(form, count)))
}

/// Elements in a row: the last dimension of a tensor, else about a square.
fn columns(form: &Form<'_>, count: u64) -> usize {
    let last = form.tensor.filter(|tensor| tensor.sizes.len() > 1).and_then(|tensor| tensor.sizes.last().copied());
    usize::try_from(last.unwrap_or_else(|| count.isqrt()).max(1)).unwrap_or(1)
}

impl Preview {
    fn new(dtype: &'static str, count: u64, values: &[f64], columns: usize) -> Self {
        let finite = || values.iter().copied().filter(|value| value.is_finite());
        let finite_count = finite().count();
        let minimum = finite().reduce(f64::min);
        let maximum = finite().reduce(f64::max);
        let mean = (finite_count > 0).then(|| finite().sum::<f64>() / finite_count as f64);
        let (low, high) = (minimum.unwrap_or(0.0), maximum.unwrap_or(0.0));
        let mut histogram = vec![0; BARS];
        for value in finite() {
            histogram[share(value, low, high, BARS)] += 1;
        }
        Self {
            dtype,
            count,
            looked_at: values.len(),
            minimum,
            maximum,
            mean,
            odd: values.len() - finite_count,
            histogram,
            values: values.iter().take(VALUES).map(|value| Value::of(*value)).collect(),
            image: image(values, columns, low, high),
        }
    }
}

impl Value {
    fn of(value: f64) -> Self {
        if value.is_nan() {
            Self::Name("NaN")
        } else if value.is_infinite() {
            Self::Name(if value > 0.0 { "∞" } else { "-∞" })
        } else {
            Self::Number(value)
        }
    }
}

/// In which of `parts` equal parts from `low` to `high` the value is.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "from 0 to the number of parts, then clamped"
)]
fn share(value: f64, low: f64, high: f64, parts: usize) -> usize {
    let share = (value / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0);
    if share.is_finite() { ((share * parts as f64) as usize).min(parts - 1) } else { 0 }
}

/// The values as an image of at most [`IMAGE_SIDE`] pixels a side, each pixel one of the elements that it stands for.
fn image(values: &[f64], columns: usize, low: f64, high: f64) -> Option<Image> {
    let rows = values.len() / columns;
    if rows < 2 || columns < 2 {
        return None;
    }
    let (width, height) = (columns.min(IMAGE_SIDE), rows.min(IMAGE_SIDE));
    let mut grey = Vec::with_capacity(width * height);
    for y in 0..height {
        for x in 0..width {
            let value = values[(y * rows / height) * columns + x * columns / width];
            grey.push(u8::try_from(share(value, low, high, 256)).unwrap_or(u8::MAX));
        }
    }
    Some(Image { width, height, grey: base64(&grey) })
}

/// Base64 as `atob` reads it.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digit = |word: u32, place: u32| char::from(DIGITS[(word >> (18 - 6 * place) & 63) as usize]);
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for part in bytes.chunks(3) {
        let byte = |place: usize| u32::from(part.get(place).copied().unwrap_or(0));
        let word = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            text.push(if place as usize <= part.len() { digit(word, place) } else { '=' });
        }
    }
    text
}

/// An element type that can be shown.
#[derive(Clone, Copy)]
struct Element {
    name: &'static str,
    size_bytes: usize,
    value: fn(&[u8]) -> f64,
}

/// The first bytes of an element.
fn first<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.first_chunk().copied().unwrap_or([0; N])
}

impl Element {
    const ALL: [Self; 12] = [
        Self { name: "float32", size_bytes: 4, value: |bytes| f32::from_le_bytes(first(bytes)).into() },
        Self { name: "float16", size_bytes: 2, value: |bytes| f16::from_le_bytes(first(bytes)).into() },
        Self { name: "bfloat16", size_bytes: 2, value: |bytes| bf16::from_le_bytes(first(bytes)).into() },
        Self { name: "int64", size_bytes: 8, value: |bytes| i64::from_le_bytes(first(bytes)) as f64 },
        Self { name: "int32", size_bytes: 4, value: |bytes| i32::from_le_bytes(first(bytes)).into() },
        Self { name: "int16", size_bytes: 2, value: |bytes| i16::from_le_bytes(first(bytes)).into() },
        Self { name: "int8", size_bytes: 1, value: |bytes| i8::from_le_bytes(first(bytes)).into() },
        Self { name: "uint64", size_bytes: 8, value: |bytes| u64::from_le_bytes(first(bytes)) as f64 },
        Self { name: "uint32", size_bytes: 4, value: |bytes| u32::from_le_bytes(first(bytes)).into() },
        Self { name: "uint16", size_bytes: 2, value: |bytes| u16::from_le_bytes(first(bytes)).into() },
        Self { name: "uint8", size_bytes: 1, value: |bytes| bytes.first().copied().unwrap_or(0).into() },
        Self { name: "bool", size_bytes: 1, value: |bytes| bytes.first().copied().unwrap_or(0).into() },
    ];

    /// The type that PyTorch or Metal calls `name`; vectors count as their elements, structs as bytes.
    fn of(name: &str) -> Option<Self> {
        let scalar =
            name.trim_end_matches(['*', '&', ' ']).trim_start_matches("packed_").trim_end_matches(['2', '3', '4']);
        let exact = |wanted: &str| Self::ALL.into_iter().find(|element| element.name == wanted);
        exact(name).or_else(|| {
            exact(match scalar.strip_prefix("atomic_").unwrap_or(scalar) {
                "float" => "float32",
                "half" => "float16",
                "bfloat" => "bfloat16",
                "long" => "int64",
                "int" => "int32",
                "short" => "int16",
                "char" => "int8",
                "ulong" => "uint64",
                "uint" => "uint32",
                "ushort" => "uint16",
                "bool" => "bool",
                _ => "uint8",
            })
        })
    }

    fn values(self, bytes: &[u8]) -> Vec<f64> {
        bytes.chunks_exact(self.size_bytes).map(self.value).collect()
    }
}

/// `bytes` as numbers of the type that is called `type_name`; what is left over is dropped.
pub(super) fn numbers(type_name: &str, bytes: &[u8]) -> Vec<String> {
    let element = Element::of(type_name).filter(|element| bytes.len() >= element.size_bytes);
    let element = element.unwrap_or(Element::ALL[10]);
    element.values(bytes).into_iter().map(|value| value.to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_the_usual_one() {
        assert_eq!(
            ["", "f", "fo", "foo", "foob"].map(|text| base64(text.as_bytes())),
            ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg=="]
        );
    }

    #[test]
    fn statistics_leave_out_what_is_not_finite() {
        let values = [1.0, 3.0, f64::NAN, f64::INFINITY];
        let preview = Preview::new("float32", 4, &values, 2);
        assert_eq!((preview.minimum, preview.maximum, preview.mean, preview.odd), (Some(1.0), Some(3.0), Some(2.0), 2));
        assert_eq!((preview.histogram[0], preview.histogram[31], preview.histogram.iter().sum::<u32>()), (1, 1, 2));
        let image = preview.image.unwrap();
        assert_eq!((image.width, image.height, image.grey.as_str()), (2, 2, base64(&[0, 255, 0, 0]).as_str()));
        let extremes = Preview::new("float32", 2, &[f64::MIN, f64::MAX], 1);
        assert_eq!((extremes.histogram[0], extremes.histogram[31]), (1, 1));
    }

    #[test]
    fn types_are_found_by_either_name() {
        let name = |text| Element::of(text).map(|element| element.name);
        assert_eq!(
            [name("float32"), name("packed_half3"), name("atomic_uint"), name("Params")],
            [Some("float32"), Some("float16"), Some("uint32"), Some("uint8")]
        );
        assert_eq!(numbers("float", &2.5f32.to_le_bytes()), ["2.5"]);
        assert_eq!(numbers("long", &[1, 2]), ["1", "2"]);
    }
}
