//! Textures of `openmps run`: arrays and PNG files as textures, and textures as arrays.
//!
//! An array is a texture whose axes are those of the texture's type, outermost first: height and width for 2D, the element in front
//! for arrays. One more axis at the end is that of the channels: 1, 2 or 4. Texels have the array's type of elements; where the
//! kernel reads floats, integers of 8 and 16 bits stand for 0 to 1, as in image files.

use std::fs::File;
use std::io::{BufReader, BufWriter, Cursor};
use std::path::Path;

use openmps::texture::{Texture, TextureDescriptor};
use openmps_engine::texture::{Numbers, Packing};
use openmps_engine::{AddressMode, MinMagFilter, PixelFormat, SamplerState, TextureComponent, TextureType};

use crate::array::{Array, Dtype};

/// A texture with the texels of `array`.
pub(crate) fn texture(array: &Array, ty: TextureType, component: TextureComponent) -> Result<Texture, String> {
    let (axes, channels) = axes(array, ty)?;
    let format = format(array.dtype, channels, component)?;
    let size = |axis: Option<&usize>| u32::try_from(axis.copied().unwrap_or(1)).map_err(|_| "is too large".to_owned());
    let mut descriptor = TextureDescriptor::new(ty, format, [1; 3]);
    // Innermost first.
    let mut sizes = axes.iter().rev();
    descriptor.size[0] = size(sizes.next())?;
    if !matches!(ty, TextureType::Texture1d | TextureType::Texture1dArray) {
        descriptor.size[1] = size(sizes.next())?;
    }
    let outer = size(sizes.next())?;
    match ty {
        TextureType::Texture3d => descriptor.size[2] = outer,
        TextureType::TextureCube | TextureType::TextureCubeArray => {
            if outer % 6 != 0 {
                return Err(format!("a cube has 6 faces, the array has {outer}"));
            }
            descriptor.array_length = outer / 6;
        }
        TextureType::Texture1dArray | TextureType::Texture2dArray => descriptor.array_length = outer,
        TextureType::Texture1d | TextureType::Texture2d | TextureType::TextureBuffer => {}
    }
    let mut texture = Texture::new(&descriptor).map_err(|error| error.to_string())?;
    let images = texture.image_count(0);
    let image_bytes = array.bytes.len() / images.max(1) as usize;
    for (image, bytes) in (0..images).zip(array.bytes.chunks(image_bytes.max(1))) {
        texture.replace(0, image, bytes).map_err(|error| error.to_string())?;
    }
    Ok(texture)
}

/// The texels of `texture` as an array like the one that it was made from.
pub(crate) fn array(texture: &Texture, like: &Array) -> Result<Array, String> {
    let images = (0..texture.image_count(0)).map(|image| texture.to_vec(0, image));
    let images: Vec<Vec<u8>> = images.collect::<Result<_, _>>().map_err(|error| error.to_string())?;
    Ok(Array { bytes: images.concat(), ..like.clone() })
}

/// The axes of the texture in `array`, and the number of channels.
fn axes(array: &Array, ty: TextureType) -> Result<(&[usize], u8), String> {
    let rank = match ty {
        TextureType::Texture1d => 1,
        TextureType::Texture2d | TextureType::Texture1dArray => 2,
        TextureType::Texture3d
        | TextureType::Texture2dArray
        | TextureType::TextureCube
        | TextureType::TextureCubeArray => 3,
        TextureType::TextureBuffer => return Err("textures over buffers cannot be given".into()),
    };
    let shape = array.shape.as_slice();
    match (shape.len().checked_sub(rank), shape.last()) {
        (Some(0), _) => Ok((shape, 1)),
        (Some(1), Some(1)) => Ok((&shape[..rank], 1)),
        (Some(1), Some(2)) => Ok((&shape[..rank], 2)),
        (Some(1), Some(4)) => Ok((&shape[..rank], 4)),
        _ => Err(format!(
            "a texture of type {} is an array of {rank} axes, or of one more with 1, 2 or 4 channels, not {}",
            ty.name(),
            array.type_text()
        )),
    }
}

/// The format whose texels are such elements.
fn format(dtype: Dtype, channels: u8, component: TextureComponent) -> Result<PixelFormat, String> {
    let is_float = match component {
        TextureComponent::Float | TextureComponent::Half | TextureComponent::Depth => true,
        TextureComponent::Int | TextureComponent::Uint | TextureComponent::Short | TextureComponent::Ushort => false,
    };
    let numbers = match dtype {
        Dtype::U8 | Dtype::U16 if is_float => Some(Numbers::Unorm),
        Dtype::I8 | Dtype::I16 if is_float => Some(Numbers::Snorm),
        Dtype::F16 | Dtype::F32 if is_float => Some(Numbers::Float),
        Dtype::U8 | Dtype::U16 | Dtype::U32 if !is_float => Some(Numbers::Uint),
        Dtype::I8 | Dtype::I16 | Dtype::I32 if !is_float => Some(Numbers::Sint),
        _ => None,
    };
    let bits = u8::try_from(8 * dtype.bytes()).unwrap_or(0);
    let wanted = Packing::Channels { count: channels, bits };
    let is_depth = |format: &PixelFormat| format.name().starts_with("Depth");
    let fits = |format: &&PixelFormat| {
        format.packing() == wanted
            && Some(format.numbers()) == numbers
            && is_depth(format) == (component == TextureComponent::Depth)
    };
    PixelFormat::ALL.iter().find(fits).copied().ok_or_else(|| {
        let kind = if is_float { "floats" } else { "integers" };
        format!("no pixel format has {channels} channels of type {} that a kernel reads as {kind}", dtype.name())
    })
}

/// The image in the bytes of a PNG file: 8 bits a channel, height, width and 1, 2 or 4 channels.
pub(crate) fn read_png(bytes: &[u8]) -> Result<Array, String> {
    let mut decoder = png::Decoder::new(BufReader::new(Cursor::new(bytes)));
    decoder.set_transformations(png::Transformations::normalize_to_color8());
    let mut reader = decoder.read_info().map_err(|error| error.to_string())?;
    let size = reader.output_buffer_size().ok_or("is too large")?;
    let mut texels = vec![0; size];
    let info = reader.next_frame(&mut texels).map_err(|error| error.to_string())?;
    texels.truncate(info.buffer_size());
    let channels = match info.color_type {
        png::ColorType::Grayscale => 1,
        png::ColorType::GrayscaleAlpha => 2,
        png::ColorType::Rgba => 4,
        // Metal has no format of three channels.
        png::ColorType::Rgb => {
            texels = texels.chunks_exact(3).flat_map(|texel| [texel[0], texel[1], texel[2], u8::MAX]).collect();
            4
        }
        png::ColorType::Indexed => return Err("has a palette that cannot be expanded".into()),
    };
    Ok(Array { dtype: Dtype::U8, shape: vec![info.height as usize, info.width as usize, channels], bytes: texels })
}

/// Writes `array`, an image of 8 bits a channel, to a PNG file.
pub(crate) fn write_png(path: &Path, array: &Array) -> Result<(), String> {
    let color = |channels: usize| match channels {
        1 => Some(png::ColorType::Grayscale),
        2 => Some(png::ColorType::GrayscaleAlpha),
        4 => Some(png::ColorType::Rgba),
        _ => None,
    };
    let (height, width, color) = match array.shape.as_slice() {
        [height, width] => (*height, *width, Some(png::ColorType::Grayscale)),
        [height, width, channels] => (*height, *width, color(*channels)),
        _ => (0, 0, None),
    };
    let size = u32::try_from(width).ok().zip(u32::try_from(height).ok());
    let (Some(color), Some((width, height)), Dtype::U8) = (color, size, array.dtype) else {
        return Err(format!(
            "a PNG file takes u8[height,width,channels] with 1, 2 or 4 channels, not {}",
            array.type_text()
        ));
    };
    let file = File::create(path).map_err(|error| error.to_string())?;
    let mut encoder = png::Encoder::new(BufWriter::new(file), width, height);
    encoder.set_color(color);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header().map_err(|error| error.to_string())?;
    writer.write_image_data(&array.bytes).map_err(|error| error.to_string())?;
    writer.finish().map_err(|error| error.to_string())
}

/// A sampler of words with commas between: a filter and an address mode, each at most once.
pub(crate) fn sampler(text: &str) -> Result<SamplerState, String> {
    let mut state = SamplerState::default();
    for word in text.split(',') {
        let (filter, mode) = match word {
            "nearest" => (Some(MinMagFilter::Nearest), None),
            "linear" => (Some(MinMagFilter::Linear), None),
            "clamp_to_edge" => (None, Some(AddressMode::ClampToEdge)),
            "clamp_to_zero" => (None, Some(AddressMode::ClampToZero)),
            "repeat" => (None, Some(AddressMode::Repeat)),
            "mirrored_repeat" => (None, Some(AddressMode::MirroredRepeat)),
            "pixel" => {
                state.normalized_coordinates = false;
                continue;
            }
            _ => {
                return Err(format!(
                    "'{word}' is none of nearest, linear, clamp_to_edge, clamp_to_zero, repeat, mirrored_repeat, pixel"
                ));
            }
        };
        if let Some(filter) = filter {
            (state.mag_filter, state.min_filter) = (filter, filter);
        }
        if let Some(mode) = mode {
            state.address_modes = [mode; 3];
        }
    }
    Ok(state)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::Pattern;
    use crate::random::Random;

    fn iota(dtype: Dtype, shape: &[usize]) -> Array {
        Array::patterned(Pattern::Iota, dtype, shape.to_vec(), &mut Random::new(0)).unwrap()
    }

    #[test]
    fn arrays_become_textures_and_come_back() {
        let cases = [
            (TextureType::Texture2d, Dtype::U8, vec![3, 5, 4], "RGBA8Unorm"),
            (TextureType::Texture2d, Dtype::F32, vec![3, 5], "R32Float"),
            (TextureType::Texture1d, Dtype::F16, vec![7, 2], "RG16Float"),
            (TextureType::Texture3d, Dtype::U16, vec![2, 3, 5], "R16Unorm"),
            (TextureType::Texture2dArray, Dtype::I8, vec![4, 3, 5, 2], "RG8Snorm"),
            (TextureType::TextureCube, Dtype::U8, vec![6, 2, 2, 1], "R8Unorm"),
        ];
        for (ty, dtype, shape, format) in cases {
            let given = iota(dtype, &shape);
            let texture = texture(&given, ty, TextureComponent::Float).unwrap();
            assert_eq!(texture.view().format.name(), format);
            assert_eq!(array(&texture, &given).unwrap(), given, "{format}");
        }
        let view = texture(&iota(Dtype::U32, &[3, 5]), TextureType::Texture2d, TextureComponent::Uint).unwrap().view();
        assert_eq!((view.size, view.format.name()), ([5, 3, 1], "R32Uint"));
    }

    #[test]
    fn what_is_no_texture_is_told() {
        let error = |dtype, shape: &[usize], ty, component| texture(&iota(dtype, shape), ty, component).unwrap_err();
        assert_eq!(
            error(Dtype::U8, &[2, 2, 3], TextureType::Texture2d, TextureComponent::Float),
            "a texture of type 2d is an array of 2 axes, or of one more with 1, 2 or 4 channels, not u8[2,2,3]"
        );
        assert_eq!(
            error(Dtype::F32, &[2, 2], TextureType::Texture2d, TextureComponent::Uint),
            "no pixel format has 1 channels of type f32 that a kernel reads as integers"
        );
        assert_eq!(
            error(Dtype::U8, &[5, 2, 2], TextureType::TextureCube, TextureComponent::Half),
            "a cube has 6 faces, the array has 5"
        );
    }

    #[test]
    fn images_go_through_files() {
        let folder = std::env::temp_dir();
        for shape in [vec![3, 5], vec![3, 5, 1], vec![2, 2, 2], vec![4, 3, 4]] {
            let path = folder.join(format!("openmps-image-{}-{shape:?}.png", std::process::id()));
            let given = iota(Dtype::U8, &shape);
            write_png(&path, &given).unwrap();
            let bytes = std::fs::read(&path).unwrap();
            std::fs::remove_file(&path).unwrap();
            let read = read_png(&bytes).unwrap();
            assert_eq!((read.bytes, &read.shape[..2]), (given.bytes, &shape[..2]));
            assert!(read_png(&bytes[..bytes.len() / 2]).is_err());
        }
        let refused = write_png(Path::new("/none/x.png"), &iota(Dtype::F32, &[2, 2])).unwrap_err();
        assert_eq!(refused, "a PNG file takes u8[height,width,channels] with 1, 2 or 4 channels, not f32[2,2]");
    }

    #[test]
    fn samplers_are_words() {
        let state = sampler("linear,repeat,pixel").unwrap();
        assert_eq!((state.mag_filter, state.address_modes[1]), (MinMagFilter::Linear, AddressMode::Repeat));
        assert!(!state.normalized_coordinates);
        assert!(sampler("smooth").unwrap_err().starts_with("'smooth' is none of nearest, linear,"));
    }
}
