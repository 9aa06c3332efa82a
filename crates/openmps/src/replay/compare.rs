//! Comparing what a launch wrote with what the capture says that it wrote.

use std::fmt;

use openmps_trace::{Binding, Launch, Place, Tensor};

/// A region that holds other bytes than the capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The region's number in its launch.
    pub region: usize,
    /// Bytes that differ.
    pub bytes: u64,
    /// Bytes of the region.
    pub size_bytes: u64,
    /// The first byte that differs, from the region's first.
    pub offset_bytes: u64,
    /// The buffer index that it is bound at, if it is.
    pub buffer: Option<u32>,
    /// The element there as the capture has it, and as it is now.
    pub expected: String,
    /// See `expected`.
    pub found: String,
    /// The element's number in its tensor, and the tensor's type, where the caller said it.
    pub element: Option<(u64, String)>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { bytes, size_bytes, offset_bytes, expected, found, .. } = self;
        match self.buffer {
            Some(index) => write!(f, "buffer {index}: ")?,
            None => write!(f, "region {}: ", self.region)?,
        }
        write!(f, "{bytes} of {size_bytes} bytes differ, first ")?;
        match &self.element {
            Some((element, dtype)) => write!(f, "{dtype} element {element}")?,
            None => write!(f, "byte {offset_bytes}")?,
        }
        write!(f, ": expected {expected}, got {found}")
    }
}

/// How `found` differs from `expected` in a region of `launch`.
pub(super) fn compare(launch: &Launch, region: usize, expected: &[u8], found: &[u8]) -> Option<Difference> {
    let differ = expected.iter().zip(found).filter(|(a, b)| a != b).count();
    let first = expected.iter().zip(found).position(|(a, b)| a != b)?;
    let bound = bound_at(launch, region, first as u64);
    let element = bound.and_then(|(_, place, tensor)| element(tensor?, first as u64 - place.offset_bytes));
    let (start, length) = element.as_ref().map_or((first, 1), |element| (first - element.byte, element.size_bytes));
    let show = |bytes: &[u8]| {
        let bytes = bytes.get(start..start + length).unwrap_or(&bytes[first..=first]);
        element.as_ref().map_or_else(|| hex(bytes), |element| number(&element.dtype, bytes))
    };
    Some(Difference {
        region,
        bytes: differ as u64,
        size_bytes: expected.len() as u64,
        offset_bytes: first as u64,
        buffer: bound.map(|(index, _, _)| index),
        expected: show(expected),
        found: show(found),
        element: element.map(|element| (element.number, element.dtype)),
    })
}

/// The buffer that covers the byte of the region, where it lies, and what is known of its tensor.
fn bound_at(launch: &Launch, region: usize, byte: u64) -> Option<(u32, Place, Option<&Tensor>)> {
    launch.buffers.iter().find_map(|(index, binding)| match binding {
        Binding::Memory(place) if place.region as usize == region => {
            let covers = (place.offset_bytes..place.offset_bytes + place.size_bytes).contains(&byte);
            let tensor = launch.tensors.iter().find(|(slot, _)| slot == index).map(|(_, tensor)| tensor);
            covers.then_some((*index, *place, tensor))
        }
        Binding::Memory(_) | Binding::Bytes(_) | Binding::Null => None,
    })
}

struct Element {
    /// In memory, from the tensor's first.
    number: u64,
    dtype: String,
    size_bytes: usize,
    /// The byte of it.
    byte: usize,
}

fn element(tensor: &Tensor, byte: u64) -> Option<Element> {
    let size_bytes = size_of(&tensor.dtype)?;
    Some(Element {
        number: byte / size_bytes as u64,
        dtype: tensor.dtype.clone(),
        size_bytes,
        byte: usize::try_from(byte % size_bytes as u64).ok()?,
    })
}

/// Bytes of an element of PyTorch's type `dtype`, where this module can print one.
fn size_of(dtype: &str) -> Option<usize> {
    match dtype {
        "float32" | "int32" | "uint32" => Some(4),
        "float16" | "bfloat16" | "int16" | "uint16" => Some(2),
        "int64" | "uint64" => Some(8),
        "int8" | "uint8" | "bool" => Some(1),
        _ => None,
    }
}

/// Bytes from a tensor's first element to its last, where the element's size is known.
pub(super) fn span_bytes(tensor: &Tensor) -> Option<u64> {
    let size_bytes = size_of(&tensor.dtype)? as u64;
    if tensor.sizes.contains(&0) {
        return Some(0);
    }
    let last = tensor
        .sizes
        .iter()
        .zip(&tensor.strides)
        .try_fold(0u64, |last, (size, stride)| last.checked_add((size - 1).checked_mul(stride.unsigned_abs())?))?;
    last.checked_add(1)?.checked_mul(size_bytes)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().rev().fold("0x".to_owned(), |text, byte| text + &format!("{byte:02x}"))
}

/// A number with its bits, which tell NaNs and zeros apart.
fn number(dtype: &str, bytes: &[u8]) -> String {
    let bits = hex(bytes);
    let word = bytes.iter().rev().fold(0u64, |word, byte| word << 8 | u64::from(*byte));
    let low32 = u32::try_from(word & u64::from(u32::MAX)).unwrap_or_default();
    let low16 = u16::try_from(word & u64::from(u16::MAX)).unwrap_or_default();
    match dtype {
        "float32" => format!("{} ({bits})", f32::from_bits(low32)),
        "float16" => format!("{} ({bits})", half::f16::from_bits(low16)),
        "bfloat16" => format!("{} ({bits})", half::bf16::from_bits(low16)),
        "int64" => word.cast_signed().to_string(),
        "int32" => low32.cast_signed().to_string(),
        "int16" => low16.cast_signed().to_string(),
        "int8" => i64::from(bytes[0].cast_signed()).to_string(),
        _ => word.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use openmps_trace::PipelineNumber;

    use super::*;

    fn launch(dtype: &str) -> Launch {
        Launch {
            stream: 0,
            position: 1,
            pipeline: PipelineNumber(0),
            started_ns: 0,
            ended_ns: 0,
            threads: [1; 3],
            group: [1; 3],
            buffers: vec![(3, Binding::Memory(Place { region: 0, offset_bytes: 4, size_bytes: 8 }))],
            threadgroup: vec![],
            textures: vec![],
            samplers: vec![],
            regions: vec![],
            relocations: vec![],
            tensors: vec![(3, Tensor { dtype: dtype.into(), sizes: vec![2], strides: vec![1] })],
            error: None,
        }
    }

    #[test]
    fn a_difference_is_told_in_the_tensors_terms() {
        let text = |dtype, place: usize| {
            let (expected, mut found) = ([0; 12], [0; 12]);
            found[place] = 0x80;
            compare(&launch(dtype), 0, &expected, &found).unwrap().to_string()
        };
        assert_eq!(
            text("float32", 11),
            "buffer 3: 1 of 12 bytes differ, first float32 element 1: expected 0 (0x00000000), got -0 (0x80000000)"
        );
        assert_eq!(text("int16", 5), "buffer 3: 1 of 12 bytes differ, first int16 element 0: expected 0, got -32768");
        assert_eq!(text("complex64", 4), "buffer 3: 1 of 12 bytes differ, first byte 4: expected 0x00, got 0x80");
        assert_eq!(text("float32", 0), "region 0: 1 of 12 bytes differ, first byte 0: expected 0x00, got 0x80");
        assert_eq!(compare(&launch("int8"), 0, &[1, 2], &[1, 2]), None);
    }
}
