//! The device runtime: device, buffers, caching allocator, streams, events, generator, libraries, settings.

pub mod buffer;
pub mod capture;
pub mod device;
mod engines;
pub mod event;
mod frontends;
pub mod generator;
pub mod kernel;
pub mod library;
pub mod limits;
pub mod memory;
pub mod observe;
pub mod profile;
pub mod replay;
pub mod settings;
pub mod stream;
mod stream_id;
pub mod texture;

pub use buffer::Buffer;
pub use device::Device;
pub use kernel::{Kernel, Notes};
pub use library::{Library, LibraryError};
pub use openmps_engine::{
    AddressMode, ArgumentKind, Binding, Bindings, BorderColor, BufferIndex, CompareFunction, CompileOptions,
    ConstantScalar, ConstantType, ConstantValue, ConstantValues, Grid, KernelProperties, KernelSignature,
    LanguageVersion, MathMode, MinMagFilter, MipFilter, PixelFormat, SamplerIndex, SamplerState, TextureIndex,
    TextureLevel, TextureType, TextureUsage, TextureView,
};
pub use settings::Settings;
pub use stream::{Stream, StreamError, StreamId};
pub use texture::{Texture, TextureDescriptor, TextureError};
