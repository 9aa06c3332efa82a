//! The argument tables of a captured launch, over new memory.

use std::collections::HashMap;

use openmps_engine::{
    Binding as EngineBinding, Bindings, BufferIndex, PixelFormat, SamplerIndex, TextureIndex, TextureLevel,
    TextureType, TextureUsage, TextureView,
};
use openmps_trace::{Binding, Launch, Texture};

/// Replaces the word at `offset_bytes` if it is `old`; ranges were checked when the capture was opened.
pub(super) fn replace_word(bytes: &mut [u8], offset_bytes: u64, old: u64, new: u64) {
    let word = usize::try_from(offset_bytes).ok().and_then(|start| bytes.get_mut(start..)?.first_chunk_mut::<8>());
    if let Some(word) = word
        && *word == old.to_le_bytes()
    {
        *word = new.to_le_bytes();
    }
}

/// The tables of `launch`, whose regions start at `addresses` and whose inline bytes are `inline`.
pub(super) fn bindings(
    launch: &Launch,
    addresses: &[u64],
    inline: &mut HashMap<u32, Vec<u8>>,
) -> Result<Bindings, String> {
    let mut bindings = Bindings::default();
    for (index, binding) in &launch.buffers {
        let binding = match binding {
            Binding::Memory(place) => EngineBinding::Buffer {
                address: addresses[place.region as usize] + place.offset_bytes,
                size_bytes: place.size_bytes,
            },
            Binding::Bytes(_) => EngineBinding::Bytes(inline.remove(index).unwrap_or_default().into()),
            Binding::Null => EngineBinding::Null,
        };
        bindings.set(BufferIndex(*index), binding);
    }
    for (index, size_bytes) in &launch.threadgroup {
        bindings.set(BufferIndex(*index), EngineBinding::ThreadgroupMemory { size_bytes: *size_bytes });
    }
    for (index, texture) in &launch.textures {
        bindings.set_texture(TextureIndex(*index), view(texture, addresses)?);
    }
    for (index, words) in &launch.samplers {
        bindings.set_sampler_words(SamplerIndex(*index), *words);
    }
    Ok(bindings)
}

fn view(texture: &Texture, addresses: &[u64]) -> Result<TextureView, String> {
    let texture_type = TextureType::ALL.into_iter().find(|ty| ty.name() == texture.texture_type);
    let format = PixelFormat::ALL.iter().find(|format| format.name() == texture.format);
    let view = TextureView {
        address: addresses[texture.place.region as usize] + texture.place.offset_bytes,
        texture_type: texture_type.ok_or_else(|| format!("unknown texture type '{}'", texture.texture_type))?,
        format: *format.ok_or_else(|| format!("unknown pixel format '{}'", texture.format))?,
        size: texture.size,
        array_length: texture.array_length,
        levels: texture
            .levels
            .iter()
            .map(|level| TextureLevel {
                offset_bytes: level.offset_bytes,
                bytes_per_row: level.bytes_per_row,
                bytes_per_image: level.bytes_per_image,
            })
            .collect(),
        usage: TextureUsage { shader_read: texture.shader_read, shader_write: texture.shader_write },
    };
    if fits(&view, texture.place.size_bytes) {
        Ok(view)
    } else {
        Err(format!("a texture of size {:?} does not fit in {} bytes", texture.size, texture.place.size_bytes))
    }
}

/// Whether every texel of every level lies in the first `size_bytes` bytes.
fn fits(view: &TextureView, size_bytes: u64) -> bool {
    let end = |level: &TextureLevel, number: u32| {
        let size = view.size.map(|size| u64::from(size.checked_shr(number).unwrap_or(0).max(1)));
        let images =
            size[2].checked_mul(u64::from(view.array_length))?.checked_mul(view.texture_type.faces().into())?;
        let row = size[0].checked_mul(view.format.bytes_per_texel().into())?;
        let image = level.bytes_per_row.checked_mul(size[1] - 1)?.checked_add(row)?;
        level.bytes_per_image.checked_mul(images - 1)?.checked_add(image)?.checked_add(level.offset_bytes)
    };
    view.levels.iter().zip(0u32..).all(|(level, number)| end(level, number).is_some_and(|end| end <= size_bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_expected_word_is_replaced() {
        let mut bytes = [0; 20];
        bytes[4..12].copy_from_slice(&7u64.to_le_bytes());
        replace_word(&mut bytes, 4, 8, 9);
        assert_eq!(bytes[4], 7);
        replace_word(&mut bytes, 4, 7, u64::MAX);
        assert_eq!(bytes[4..12], [255; 8]);
        replace_word(&mut bytes, 13, 0, 9);
        replace_word(&mut bytes, u64::MAX, 0, 9);
        assert_eq!(bytes[12..], [0; 8]);
    }

    #[test]
    fn a_texture_that_ends_outside_of_its_memory_is_refused() {
        let level = |offset_bytes, bytes_per_row| TextureLevel { offset_bytes, bytes_per_row, bytes_per_image: 64 };
        let mut view = TextureView {
            address: 0,
            texture_type: TextureType::Texture2d,
            format: PixelFormat::Rgba8Unorm,
            size: [4, 4, 1],
            array_length: 1,
            levels: vec![level(0, 16), level(64, 8)],
            usage: TextureUsage { shader_read: true, shader_write: false },
        };
        assert!(fits(&view, 80) && !fits(&view, 79));
        view.levels[1].offset_bytes = u64::MAX;
        assert!(!fits(&view, u64::MAX));
    }
}
