//! The device runtime: device, buffers, caching allocator, streams, events, generator, libraries, settings.
