//! The device runtime: device, buffers, caching allocator, streams, events, generator, libraries, settings.

pub mod capture;
mod engines;
pub mod event;
mod frontends;
pub mod generator;
pub mod kernel;
pub mod library;
pub mod limits;
pub mod profile;
pub mod settings;
pub mod stream;
mod stream_id;

pub use kernel::Kernel;
pub use library::{Library, LibraryError};
pub use openmps_engine::{
    Binding, Bindings, BufferIndex, CompileOptions, Grid, KernelProperties, KernelSignature, LanguageVersion, MathMode,
};
pub use settings::Settings;
pub use stream::{Stream, StreamError, StreamId};
pub mod buffer;
pub mod device;
pub mod memory;
