//! What does not fit is named before anything runs.

use openmps::{Buffer, Grid, PixelFormat, SamplerState, Stream, TextureDescriptor, TextureType, TextureUsage};

use crate::harness::{Bound, library, texture};

const SOURCE: &str = "
kernel void k(texture2d<float> from [[texture(2)]], texture2d<float, access::write> to [[texture(0)]],
              sampler smp [[sampler(1)]], array<texture1d<uint, access::read>, 2> many [[texture(3)]],
              device float* out, uint2 at [[thread_position_in_grid]]) {
  to.write(from.sample(smp, float2(at)) + float4(many[at.x].read(0)), at);
  out[0] = 1;
}";

/// The text of the error of a launch that binds these.
fn refusal(bound: &Bound<'_>) -> String {
    let kernel = library(SOURCE).kernel("k").unwrap();
    let grid = Grid { threads: [1, 1, 1], group: [1, 1, 1] };
    kernel.encode(Stream::default_stream(), bound.bindings(), &[], grid).map(|_| ()).unwrap_err().to_string()
}

#[test]
fn what_is_missing_or_does_not_fit_is_named() {
    let color = texture(TextureType::Texture2d, PixelFormat::Rgba8Unorm, 1);
    let volume = texture(TextureType::Texture3d, PixelFormat::Rgba8Unorm, 1);
    let line = texture(TextureType::Texture1d, PixelFormat::R32Uint, 1);
    let line_of_floats = texture(TextureType::Texture1d, PixelFormat::R32Float, 1);
    let out = Buffer::new(4).unwrap();
    let samplers = vec![SamplerState::default(); 2];
    let with = |textures: Vec<_>| Bound { textures, samplers: samplers.clone(), buffers: vec![&out] };
    assert_eq!(refusal(&with(vec![])), "kernel 'k': no texture is bound at texture index 2 (argument 'from')");
    assert_eq!(
        refusal(&with(vec![&color, &color, &volume])),
        "kernel 'k': argument 'from' at texture index 2: a texture of type 3d is bound, expected 2d"
    );
    let read_only = TextureDescriptor {
        usage: TextureUsage { shader_read: true, shader_write: false },
        ..TextureDescriptor::new(TextureType::Texture2d, PixelFormat::R32Float, [4, 4, 1])
    };
    let read_only = openmps::Texture::new(&read_only).unwrap();
    assert_eq!(
        refusal(&with(vec![&read_only, &color, &color, &line, &line])),
        "kernel 'k': argument 'to' at texture index 0: the kernel's access is write, but the texture was not made for shader \
         write"
    );
    assert_eq!(
        refusal(&with(vec![&color, &color, &color, &line, &line_of_floats])),
        "kernel 'k': argument 'many' at texture index 4: the texture's format R32Float has floating-point channels, expected \
         unsigned integer ones"
    );
    let without_sampler = Bound {
        textures: vec![&color, &color, &color, &line, &line],
        samplers: vec![SamplerState::default()],
        buffers: vec![&out],
    };
    assert_eq!(refusal(&without_sampler), "kernel 'k': no sampler is bound at sampler index 1 (argument 'smp')");
}
