//! The device runtime: device, buffers, caching allocator, streams, events, generator, libraries, settings.

pub mod capture;
pub mod event;
pub mod generator;
pub mod limits;
pub mod settings;
pub mod stream;
mod stream_id;
