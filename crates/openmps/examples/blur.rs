//! Textures from Rust: a blur that samples one texture and writes another. Run it after `./dev build`:
//!
//! `OPENMPS_COMPILER=python/openmps/_native/openmps-compiler cargo run -p openmps --example blur`
#![expect(clippy::print_stdout, reason = "an example shows its result")]

use openmps::{
    Bindings, CompileOptions, Grid, Library, MinMagFilter, PixelFormat, SamplerIndex, SamplerState, Stream, Texture,
    TextureDescriptor, TextureIndex, TextureType,
};

const SOURCE: &str = "
#include <metal_stdlib>
using namespace metal;
kernel void blur(texture2d<float> source [[texture(0)]], texture2d<float, access::write> target [[texture(1)]],
                 sampler linear [[sampler(0)]], uint2 at [[thread_position_in_grid]]) {
  float2 size(source.get_width(), source.get_height());
  // A corner between four texels is their mean.
  target.write(source.sample(linear, float2(at) / size), at);
}";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    const SIZE: u32 = 64;
    let descriptor = TextureDescriptor::new(TextureType::Texture2d, PixelFormat::Rgba8Unorm, [SIZE, SIZE, 1]);
    let (mut source, target) = (Texture::new(&descriptor)?, Texture::new(&descriptor)?);
    // White and black columns take turns.
    let row: Vec<u8> = (0..SIZE).flat_map(|x| if x % 2 == 0 { [255; 4] } else { [0, 0, 0, 255] }).collect();
    source.replace(0, 0, &row.repeat(SIZE as usize))?;

    let kernel = Library::from_source(SOURCE, &CompileOptions::default())?.kernel("blur")?;
    let mut bindings = Bindings::default();
    bindings.set_texture(TextureIndex(0), source.view());
    bindings.set_texture(TextureIndex(1), target.view());
    let linear = SamplerState { mag_filter: MinMagFilter::Linear, ..SamplerState::default() };
    bindings.set_sampler(SamplerIndex(0), &linear);
    let held = [&source, &target].map(|texture| texture.contents().as_ptr().cast_const());
    let stream = Stream::default_stream();
    kernel.encode(stream, bindings, &held, Grid { threads: [SIZE, SIZE, 1], group: [32, 8, 1] })?;
    stream.synchronize()?;

    let blurred = target.to_vec(0, 0)?;
    // The first column is at the edge; all others are between a white and a black one.
    assert_eq!(blurred[..4], [255; 4], "the edge");
    assert!(blurred[4..4 * SIZE as usize].chunks_exact(4).all(|texel| *texel == [128, 128, 128, 255]), "the means");
    println!("{SIZE} rows of {SIZE} texels are blurred");
    Ok(())
}
