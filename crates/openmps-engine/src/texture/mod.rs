//! Textures and samplers as kernels and engines see them: plain data, no memory of their own.

mod format;
mod sampler;
mod view;

pub use format::{Numbers, Packing, PixelFormat};
pub use sampler::{AddressMode, BorderColor, CompareFunction, MinMagFilter, MipFilter, SamplerState};
pub(crate) use view::texture_mismatch;
pub use view::{TextureAccess, TextureComponent, TextureLevel, TextureType, TextureUsage, TextureView};
