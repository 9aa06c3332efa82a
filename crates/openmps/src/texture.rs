//! Textures for Rust programs: a block of the process's allocator that holds every level and layer of an image.
//!
//! Texels lie row by row without gaps, levels one after another, the largest first; within a level the images (slices of a 3D
//! texture, layers of an array, faces of a cube) follow each other. Kernels write to a texture while their stream runs:
//! synchronize the stream before looking at the contents, and pass [`Texture::contents`] among the retained addresses of
//! [`Kernel::encode`](crate::Kernel::encode).

use std::ptr::NonNull;

use openmps_engine::{PixelFormat, TextureLevel, TextureType, TextureUsage, TextureView};
use thiserror::Error;

use crate::buffer::Buffer;
use crate::limits::{TEXTURE_3D_SIZE_MAX, TEXTURE_BUFFER_WIDTH_MAX, TEXTURE_LAYERS_MAX, TEXTURE_SIZE_MAX};
use crate::memory::MemoryError;

/// Alignment of a level's first byte: the largest texel's size.
const LEVEL_ALIGN_BYTES: u64 = 16;

/// What a texture is made from (`MTLTextureDescriptor`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextureDescriptor {
    /// Dimensions.
    pub texture_type: TextureType,
    /// Texels.
    pub pixel_format: PixelFormat,
    /// Texels of level 0 along x, y and z; 1 where the type has no such axis.
    pub size: [u32; 3],
    /// Elements of an array, else 1; a cube counts as one.
    pub array_length: u32,
    /// Mip levels, at least 1.
    pub mipmap_level_count: u32,
    /// What kernels may do with it.
    pub usage: TextureUsage,
}

impl TextureDescriptor {
    /// One level of one image that kernels may read and write.
    #[must_use]
    pub fn new(texture_type: TextureType, pixel_format: PixelFormat, size: [u32; 3]) -> Self {
        let usage = TextureUsage { shader_read: true, shader_write: true };
        Self { texture_type, pixel_format, size, array_length: 1, mipmap_level_count: 1, usage }
    }
}

/// Why there is no such texture, or no such part of one.
#[derive(Debug, Error)]
pub enum TextureError {
    /// A texture of this type cannot have this size.
    #[error("a texture of type {texture_type} cannot have size {size:?}: {reason}")]
    Size {
        /// MSL's name of the type, `2d_array`.
        texture_type: &'static str,
        /// The size given.
        size: [u32; 3],
        /// What is wrong with it.
        reason: String,
    },
    /// More or fewer elements than the type may have.
    #[error("a texture of type {texture_type} cannot have {given} elements, from 1 to {max} are possible")]
    ArrayLength {
        /// MSL's name of the type.
        texture_type: &'static str,
        /// The number given.
        given: u32,
        /// The largest one.
        max: u32,
    },
    /// More or fewer levels than there are sizes.
    #[error("the texture cannot have {given} mip levels, from 1 to {max} are possible")]
    LevelCount {
        /// The number given.
        given: u32,
        /// The largest one.
        max: u32,
    },
    /// The texture has no such image.
    #[error("the texture has {levels} levels of {images} images, asked for image {image} of level {level}")]
    NoSuchImage {
        /// The level asked for.
        level: u32,
        /// The image asked for.
        image: u32,
        /// Levels that there are.
        levels: usize,
        /// Images of that level.
        images: u32,
    },
    /// The bytes given are not those of an image.
    #[error("image {image} of level {level} has {expected} bytes, got {given}")]
    ByteCount {
        /// The level.
        level: u32,
        /// The image.
        image: u32,
        /// Bytes of the image.
        expected: usize,
        /// Bytes given.
        given: usize,
    },
    /// No memory for it.
    #[error(transparent)]
    Memory(#[from] MemoryError),
}

/// A texture that owns its memory.
#[derive(Debug)]
pub struct Texture {
    buffer: Buffer,
    view: TextureView,
}

impl Texture {
    /// A texture with all bytes zero, allocated for the calling thread's stream.
    ///
    /// # Errors
    /// [`TextureError`], for a descriptor that Metal would not take either, and for want of memory.
    pub fn new(descriptor: &TextureDescriptor) -> Result<Self, TextureError> {
        check(descriptor)?;
        let (levels, size_bytes) = layout(descriptor);
        let mut buffer = Buffer::new(usize::try_from(size_bytes).unwrap_or(usize::MAX))?;
        buffer.fill(0);
        let view = TextureView {
            address: buffer.contents().as_ptr().expose_provenance() as u64,
            texture_type: descriptor.texture_type,
            format: descriptor.pixel_format,
            size: descriptor.size,
            array_length: descriptor.array_length,
            levels,
            usage: descriptor.usage,
        };
        Ok(Self { buffer, view })
    }

    /// What [`Bindings::set_texture`](crate::Bindings::set_texture) takes. The texture must live until the launch has run.
    #[must_use]
    pub fn view(&self) -> TextureView {
        self.view.clone()
    }

    /// The first address, for the retained addresses of a launch.
    #[must_use]
    pub fn contents(&self) -> NonNull<u8> {
        self.buffer.contents()
    }

    /// Texels of level `level` along x, y and z, if there is such a level.
    #[must_use]
    pub fn level_size(&self, level: u32) -> Option<[u32; 3]> {
        self.view.levels.get(level as usize)?;
        Some(size_at(self.view.size, level))
    }

    /// Images of level `level`: slices of a 3D texture, else layers times faces.
    #[must_use]
    pub fn image_count(&self, level: u32) -> u32 {
        let depth = size_at(self.view.size, level)[2];
        self.view.array_length * self.view.texture_type.faces() * depth
    }

    /// Overwrites an image of a level with texels row by row without gaps.
    ///
    /// # Errors
    /// [`TextureError::NoSuchImage`], [`TextureError::ByteCount`].
    pub fn replace(&mut self, level: u32, image: u32, bytes: &[u8]) -> Result<(), TextureError> {
        let (offset, expected) = self.place(level, image)?;
        if bytes.len() != expected {
            return Err(TextureError::ByteCount { level, image, expected, given: bytes.len() });
        }
        self.buffer.write(offset, bytes);
        Ok(())
    }

    /// The texels of an image of a level, row by row without gaps.
    ///
    /// # Errors
    /// [`TextureError::NoSuchImage`].
    pub fn to_vec(&self, level: u32, image: u32) -> Result<Vec<u8>, TextureError> {
        let (offset, size) = self.place(level, image)?;
        Ok(self.buffer.read(offset, size))
    }

    /// Offset and size of an image in bytes.
    fn place(&self, level: u32, image: u32) -> Result<(usize, usize), TextureError> {
        let levels = self.view.levels.len();
        let images = self.image_count(level);
        match self.view.levels.get(level as usize) {
            Some(at) if image < images => {
                let inside = |bytes: u64| usize::try_from(bytes).expect("inside the buffer");
                let offset = at.offset_bytes + u64::from(image) * at.bytes_per_image;
                Ok((inside(offset), inside(at.bytes_per_image)))
            }
            _ => Err(TextureError::NoSuchImage { level, image, levels, images }),
        }
    }
}

fn size_at(size: [u32; 3], level: u32) -> [u32; 3] {
    size.map(|size| size.checked_shr(level).unwrap_or(0).max(1))
}

/// The levels, and the bytes of all of them.
fn layout(descriptor: &TextureDescriptor) -> (Vec<TextureLevel>, u64) {
    let layers = u64::from(descriptor.array_length) * u64::from(descriptor.texture_type.faces());
    let mut end = 0_u64;
    let mut levels = Vec::new();
    for level in 0..descriptor.mipmap_level_count {
        let [width, height, depth] = size_at(descriptor.size, level).map(u64::from);
        let offset_bytes = end.next_multiple_of(LEVEL_ALIGN_BYTES);
        // The limits keep all of this far below 2^64.
        let bytes_per_row = width * u64::from(descriptor.pixel_format.bytes_per_texel());
        let bytes_per_image = bytes_per_row * height;
        end = offset_bytes + bytes_per_image * depth * layers;
        levels.push(TextureLevel { offset_bytes, bytes_per_row, bytes_per_image });
    }
    (levels, end)
}

/// Metal's rules for descriptors.
fn check(descriptor: &TextureDescriptor) -> Result<(), TextureError> {
    let TextureDescriptor { texture_type, size, array_length, mipmap_level_count, .. } = *descriptor;
    let name = texture_type.name();
    let (axes, limit, is_array) = match texture_type {
        TextureType::Texture1d => (1, TEXTURE_SIZE_MAX, false),
        TextureType::Texture1dArray => (1, TEXTURE_SIZE_MAX, true),
        TextureType::Texture2d | TextureType::TextureCube => (2, TEXTURE_SIZE_MAX, false),
        TextureType::Texture2dArray | TextureType::TextureCubeArray => (2, TEXTURE_SIZE_MAX, true),
        TextureType::Texture3d => (3, TEXTURE_3D_SIZE_MAX, false),
        TextureType::TextureBuffer => (1, TEXTURE_BUFFER_WIDTH_MAX, false),
    };
    let wrong = |reason: String| Err(TextureError::Size { texture_type: name, size, reason });
    if size[axes..].iter().any(|&size| size != 1) {
        return wrong(format!("it has {axes} axes, the others must be 1"));
    }
    if size[..axes].iter().any(|&size| size == 0 || size > limit) {
        return wrong(format!("each axis has from 1 to {limit} texels"));
    }
    if texture_type.faces() == 6 && size[0] != size[1] {
        return wrong("the faces of a cube are squares".to_owned());
    }
    let max = if is_array { TEXTURE_LAYERS_MAX / texture_type.faces() } else { 1 };
    if array_length == 0 || array_length > max {
        return Err(TextureError::ArrayLength { texture_type: name, given: array_length, max });
    }
    let largest = size.into_iter().max().unwrap_or(1);
    let max = if axes == 1 { 1 } else { 32 - largest.leading_zeros() };
    if mipmap_level_count == 0 || mipmap_level_count > max {
        return Err(TextureError::LevelCount { given: mipmap_level_count, max });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texture_2d(size: [u32; 2]) -> TextureDescriptor {
        TextureDescriptor::new(TextureType::Texture2d, PixelFormat::Rgba8Unorm, [size[0], size[1], 1])
    }

    #[test]
    fn every_image_of_every_level_has_bytes_of_its_own() {
        let descriptor = TextureDescriptor {
            texture_type: TextureType::TextureCubeArray,
            array_length: 2,
            mipmap_level_count: 3,
            ..texture_2d([5, 5])
        };
        let mut texture = Texture::new(&descriptor).unwrap();
        assert_eq!((texture.level_size(1), texture.level_size(3)), (Some([2, 2, 1]), None));
        let mut number = 0_u8;
        for level in 0..3 {
            assert_eq!(texture.image_count(level), 12);
            for image in 0..12 {
                let bytes = texture.to_vec(level, image).unwrap();
                assert!(bytes.iter().all(|&byte| byte == 0), "no image overlaps one that was written");
                number += 1;
                texture.replace(level, image, &vec![number; bytes.len()]).unwrap();
            }
        }
        for (index, expected) in (1..=number).enumerate() {
            let (level, image) = (u32::try_from(index / 12).unwrap(), u32::try_from(index % 12).unwrap());
            assert!(texture.to_vec(level, image).unwrap().iter().all(|&byte| byte == expected));
        }
    }

    #[test]
    fn images_that_do_not_exist_are_named() {
        let mut texture = Texture::new(&texture_2d([4, 2])).unwrap();
        let error = texture.to_vec(1, 0).unwrap_err().to_string();
        assert_eq!(error, "the texture has 1 levels of 1 images, asked for image 0 of level 1");
        let error = texture.replace(0, 0, &[0; 31]).unwrap_err().to_string();
        assert_eq!(error, "image 0 of level 0 has 32 bytes, got 31");
    }

    #[test]
    fn descriptors_that_metal_refuses_are_refused() {
        let refused = |change: fn(&mut TextureDescriptor)| {
            let mut descriptor = texture_2d([16, 8]);
            change(&mut descriptor);
            Texture::new(&descriptor).unwrap_err().to_string()
        };
        assert_eq!(
            refused(|it| it.size = [0, 8, 1]),
            "a texture of type 2d cannot have size [0, 8, 1]: each axis has from 1 to 16384 texels"
        );
        assert_eq!(
            refused(|it| it.size[2] = 2),
            "a texture of type 2d cannot have size [16, 8, 2]: it has 2 axes, the others must be 1"
        );
        assert_eq!(
            refused(|it| it.texture_type = TextureType::TextureCube),
            "a texture of type cube cannot have size [16, 8, 1]: the faces of a cube are squares"
        );
        assert_eq!(
            refused(|it| it.array_length = 2),
            "a texture of type 2d cannot have 2 elements, from 1 to 1 are possible"
        );
        assert_eq!(
            refused(|it| it.mipmap_level_count = 6),
            "the texture cannot have 6 mip levels, from 1 to 5 are possible"
        );
    }
}
