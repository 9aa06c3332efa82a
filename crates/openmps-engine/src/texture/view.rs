//! What a kernel's texture argument wants and what is bound to it.

use serde::{Deserialize, Serialize};

use super::format::{Numbers, PixelFormat};

/// The dimensions of a texture (`MTLTextureType`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[expect(missing_docs, reason = "each variant is MSL's texture type of the same name")]
pub enum TextureType {
    Texture1d,
    Texture1dArray,
    Texture2d,
    Texture2dArray,
    Texture3d,
    TextureCube,
    TextureCubeArray,
    TextureBuffer,
}

impl TextureType {
    /// Every type, in the order of the enum.
    pub const ALL: [Self; 8] = [
        Self::Texture1d,
        Self::Texture1dArray,
        Self::Texture2d,
        Self::Texture2dArray,
        Self::Texture3d,
        Self::TextureCube,
        Self::TextureCubeArray,
        Self::TextureBuffer,
    ];

    /// MSL's spelling without `texture` in front: `2d_array`, `buffer`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Texture1d => "1d",
            Self::Texture1dArray => "1d_array",
            Self::Texture2d => "2d",
            Self::Texture2dArray => "2d_array",
            Self::Texture3d => "3d",
            Self::TextureCube => "cube",
            Self::TextureCubeArray => "cube_array",
            Self::TextureBuffer => "buffer",
        }
    }

    /// Faces of one element of the texture: 6 for cubes.
    #[must_use]
    pub fn faces(self) -> u32 {
        match self {
            Self::TextureCube | Self::TextureCubeArray => 6,
            Self::Texture1d
            | Self::Texture1dArray
            | Self::Texture2d
            | Self::Texture2dArray
            | Self::Texture3d
            | Self::TextureBuffer => 1,
        }
    }
}

/// The type of a texture's colors in the kernel: the `T` of `texture2d<T>`; depth textures have one channel of float.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[expect(missing_docs, reason = "each variant is MSL's type of the same name")]
pub enum TextureComponent {
    Float,
    Half,
    Int,
    Uint,
    Short,
    Ushort,
    Depth,
}

/// What a kernel may do with a texture (`access::sample` and so on).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum TextureAccess {
    /// Samples and reads.
    Sample,
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Reads and writes.
    ReadWrite,
}

impl TextureAccess {
    /// AIR's spelling without `air.`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Sample => "sample",
            Self::Read => "read",
            Self::Write => "write",
            Self::ReadWrite => "read_write",
        }
    }
}

/// What a texture was made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextureUsage {
    /// Kernels may read and sample it (`MTLTextureUsageShaderRead`).
    pub shader_read: bool,
    /// Kernels may write to it (`MTLTextureUsageShaderWrite`).
    pub shader_write: bool,
}

/// Where one mip level lies. An image is a slice of a 3D texture, a layer of an array or a face of a cube.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextureLevel {
    /// From the texture's first byte.
    pub offset_bytes: u64,
    /// From row to row.
    pub bytes_per_row: u64,
    /// From image to image.
    pub bytes_per_image: u64,
}

/// A texture in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextureView {
    /// First byte. On the CPU engine device addresses are host addresses.
    pub address: u64,
    /// Its dimensions.
    pub texture_type: TextureType,
    /// Its texels.
    pub format: PixelFormat,
    /// Texels of level 0 along x, y and z; 1 where the type has no such axis.
    pub size: [u32; 3],
    /// Elements of an array, else 1; a cube counts as one.
    pub array_length: u32,
    /// Mip levels, the largest first. Level n has `max(1, size >> n)` texels on each axis.
    pub levels: Vec<TextureLevel>,
    /// What it was made for.
    pub usage: TextureUsage,
}

/// Why `view` does not fit an argument that wants the other three; `None` when it does.
pub(crate) fn texture_mismatch(
    texture_type: TextureType,
    component: TextureComponent,
    access: TextureAccess,
    view: &TextureView,
) -> Option<String> {
    if view.texture_type != texture_type {
        let (given, wanted) = (view.texture_type.name(), texture_type.name());
        return Some(format!("a texture of type {given} is bound, expected {wanted}"));
    }
    let format = view.format.name();
    let numbers = match view.format.numbers() {
        Numbers::Unorm | Numbers::UnormSrgb | Numbers::Snorm | Numbers::Float => "floating-point",
        Numbers::Sint => "signed integer",
        Numbers::Uint => "unsigned integer",
    };
    let wanted = match component {
        TextureComponent::Float | TextureComponent::Half | TextureComponent::Depth => "floating-point",
        TextureComponent::Int | TextureComponent::Short => "signed integer",
        TextureComponent::Uint | TextureComponent::Ushort => "unsigned integer",
    };
    if numbers != wanted {
        return Some(format!("the texture's format {format} has {numbers} channels, expected {wanted} ones"));
    }
    if component == TextureComponent::Depth && !view.format.is_depth() {
        return Some(format!("the texture's format {format} holds no depth"));
    }
    let (reads, writes) = match access {
        TextureAccess::Sample | TextureAccess::Read => (true, false),
        TextureAccess::Write => (false, true),
        TextureAccess::ReadWrite => (true, true),
    };
    if writes && !view.format.is_writable() {
        return Some(format!("kernels cannot write to format {format}"));
    }
    if (reads && !view.usage.shader_read) || (writes && !view.usage.shader_write) {
        let usage = if writes && !view.usage.shader_write { "write" } else { "read" };
        return Some(format!(
            "the kernel's access is {}, but the texture was not made for shader {usage}",
            access.name()
        ));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(format: PixelFormat) -> TextureView {
        TextureView {
            address: 0,
            texture_type: TextureType::Texture2d,
            format,
            size: [4, 4, 1],
            array_length: 1,
            levels: vec![TextureLevel { offset_bytes: 0, bytes_per_row: 16, bytes_per_image: 64 }],
            usage: TextureUsage { shader_read: true, shader_write: false },
        }
    }

    #[test]
    fn what_does_not_fit_is_named() {
        use TextureComponent::{Depth, Float, Half, Uint};
        let check = |component, access, format| {
            texture_mismatch(TextureType::Texture2d, component, access, &view(format)).unwrap_or_default()
        };
        assert_eq!(check(Float, TextureAccess::Sample, PixelFormat::Rgba8Unorm), "");
        assert_eq!(check(Half, TextureAccess::Read, PixelFormat::Depth32Float), "");
        assert_eq!(
            check(Uint, TextureAccess::Read, PixelFormat::R32Sint),
            "the texture's format R32Sint has signed integer channels, expected unsigned integer ones"
        );
        assert_eq!(
            check(Depth, TextureAccess::Read, PixelFormat::R32Float),
            "the texture's format R32Float holds no depth"
        );
        assert_eq!(
            check(Float, TextureAccess::ReadWrite, PixelFormat::R32Float),
            "the kernel's access is read_write, but the texture was not made for shader write"
        );
        assert_eq!(
            check(Float, TextureAccess::Write, PixelFormat::Rgb9e5Float),
            "kernels cannot write to format RGB9E5Float"
        );
        let other = texture_mismatch(TextureType::Texture3d, Float, TextureAccess::Read, &view(PixelFormat::R8Unorm));
        assert_eq!(other.as_deref(), Some("a texture of type 2d is bound, expected 3d"));
    }
}
