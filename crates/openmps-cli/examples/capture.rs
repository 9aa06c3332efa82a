//! Captures three launches from Rust: a kernel over buffers that overlap, one with a function constant, and one with a texture.
//! Run it with `MTL_CAPTURE_ENABLED=1`; it prints the folder.
#![expect(clippy::print_stdout, reason = "an example shows its result")]

use openmps::{
    Binding, Bindings, Buffer, BufferIndex, CompileOptions, Grid, Kernel, Library, PixelFormat, SamplerIndex,
    SamplerState, Stream, Texture, TextureDescriptor, TextureIndex, TextureType, capture,
};
use openmps_engine::ConstantValues;

const SOURCE: &str = "
#include <metal_stdlib>
using namespace metal;

kernel void add(device const float* a, device const float* b, device float* sum, uint i [[thread_position_in_grid]]) {
  sum[i] = a[i] + b[i];
}

constant int factor [[function_constant(0)]];
kernel void scale(device float* x, threadgroup float* shared [[threadgroup(0)]], uint i [[thread_position_in_grid]],
                  uint lane [[thread_position_in_threadgroup]]) {
  shared[lane] = x[i];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  x[i] = shared[lane ^ 1] * float(factor);
}

kernel void shrink(texture2d<float> image [[texture(0)]], sampler linear [[sampler(0)]], device float4* out,
                   uint2 place [[thread_position_in_grid]]) {
  out[place.y * 4 + place.x] = image.sample(linear, (float2(place) + 0.5f) / 4.0f);
}
";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let name = std::env::args().nth(1).unwrap_or_else(|| "example".into());
    let library = Library::from_source(SOURCE, &CompileOptions::default())?;
    let numbers: Vec<u8> = (0..1024_u16).flat_map(|value| f32::from(value).to_le_bytes()).collect();
    let buffer = Buffer::from_bytes(&numbers)?;
    let colors = Buffer::new(256)?;
    let mut image = Texture::new(&TextureDescriptor::new(TextureType::Texture2d, PixelFormat::Rgba8Unorm, [8, 8, 1]))?;
    let texels: Vec<u8> = (0..=255).collect();
    image.replace(0, 0, &texels)?;

    capture::start(&name)?;
    let mut bindings = Bindings::default();
    for (index, offset) in [(0, 0), (1, 512), (2, 2048)] {
        bindings.set(BufferIndex(index), part(&buffer, offset));
    }
    launch(&library.kernel("add")?, bindings, &[buffer.contents()], [256, 1, 1], [64, 1, 1])?;

    let mut values = ConstantValues::default();
    values.set_index(0, 3_i32);
    let mut bindings = Bindings::default();
    bindings.set(BufferIndex(0), part(&buffer, 0));
    bindings.set(BufferIndex(0), Binding::ThreadgroupMemory { size_bytes: 128 });
    launch(&library.kernel_with_constants("scale", &values)?, bindings, &[buffer.contents()], [512, 1, 1], [32, 1, 1])?;

    let mut bindings = Bindings::default();
    bindings.set_texture(TextureIndex(0), image.view());
    bindings.set_sampler(SamplerIndex(0), &SamplerState::default());
    bindings.set(BufferIndex(0), part(&colors, 0));
    let held = [image.contents(), colors.contents()];
    launch(&library.kernel("shrink")?, bindings, &held, [4, 4, 1], [4, 4, 1])?;
    capture::stop()?;
    println!("0000-{name}.gputrace");
    Ok(())
}

/// The buffer from a byte on.
fn part(buffer: &Buffer, offset: u64) -> Binding {
    let address = buffer.contents().as_ptr().expose_provenance() as u64 + offset;
    Binding::Buffer { address, size_bytes: buffer.len() as u64 - offset }
}

fn launch(
    kernel: &Kernel,
    bindings: Bindings,
    held: &[std::ptr::NonNull<u8>],
    threads: [u32; 3],
    group: [u32; 3],
) -> Result<(), Box<dyn std::error::Error>> {
    let held: Vec<*const u8> = held.iter().map(|address| address.as_ptr().cast_const()).collect();
    kernel.encode(Stream::default_stream(), bindings, &held, Grid { threads, group })?;
    Ok(Stream::default_stream().synchronize()?)
}
