//! Samples against the plain reference: dimensions, address modes, filters, coordinates, levels, gathers, comparisons, and samplers
//! in the source.

use openmps::{
    AddressMode, BorderColor, Buffer, CompareFunction, Library, MinMagFilter, MipFilter, PixelFormat, SamplerState,
    Texture, TextureDescriptor, TextureType,
};

use crate::harness::{Bound, Random, axes, bytes_of, floats, library, msl_name, texture};
use crate::reference::Image;

/// Colors are from -1 to 1 and weights are products of up to three floats: a few roundings of float's 2^-24 each.
const TOLERANCE: f64 = 4e-6;
/// Samples of one launch.
const COUNT: u32 = 64;

const DIMENSIONS: [TextureType; 5] = [
    TextureType::Texture1d,
    TextureType::Texture1dArray,
    TextureType::Texture2d,
    TextureType::Texture2dArray,
    TextureType::Texture3d,
];

const ADDRESS_MODES: [(AddressMode, BorderColor); 6] = [
    (AddressMode::ClampToEdge, BorderColor::TransparentBlack),
    (AddressMode::ClampToZero, BorderColor::TransparentBlack),
    (AddressMode::Repeat, BorderColor::TransparentBlack),
    (AddressMode::MirroredRepeat, BorderColor::TransparentBlack),
    (AddressMode::ClampToBorderColor, BorderColor::OpaqueBlack),
    (AddressMode::ClampToBorderColor, BorderColor::OpaqueWhite),
];

/// The coordinate of a sample and the layer behind it, in MSL.
fn place(texture_type: TextureType) -> &'static str {
    match texture_type {
        TextureType::Texture1d => "p.x",
        TextureType::Texture1dArray => "p.x, uint(p.w)",
        TextureType::Texture2d => "p.xy",
        TextureType::Texture2dArray => "p.xy, uint(p.w)",
        TextureType::Texture3d | TextureType::TextureCube => "p.xyz",
        TextureType::TextureCubeArray => "p.xyz, uint(p.w)",
        TextureType::TextureBuffer => panic!("texture buffers cannot be sampled"),
    }
}

/// A library with a kernel `sample_<type>` for each type: thread i samples at position i of buffer 0; w is the layer.
fn samplers_library(component: &str, options: &str) -> Library {
    let mut source = String::new();
    for texture_type in TextureType::ALL.into_iter().filter(|of| *of != TextureType::TextureBuffer) {
        let (name, place) = (msl_name(texture_type), place(texture_type));
        source += &format!(
            "kernel void sample_{name}({name}<{component}> t [[texture(0)]], sampler s [[sampler(0)]],
                 device const float4* positions [[buffer(0)]], device float4* out [[buffer(1)]],
                 uint i [[thread_position_in_grid]]) {{
               float4 p = positions[i];
               out[i] = float4(t.sample(s, {place}{options}));
             }}\n"
        );
    }
    library(&source)
}

/// Samples at each of `positions`.
fn run(
    library: &Library,
    kernel: &str,
    texture: &Texture,
    state: &SamplerState,
    positions: &[[f32; 4]],
) -> Vec<[f32; 4]> {
    let positions = Buffer::from_bytes(&bytes_of(positions.as_flattened())).unwrap();
    let out = Buffer::new(positions.len()).unwrap();
    let bound = Bound { textures: vec![texture], samplers: vec![*state], buffers: vec![&positions, &out] };
    let count = u32::try_from(positions.len() / 16).unwrap();
    bound.run(library, kernel, [count, 1, 1]);
    floats(&out.to_vec()).as_chunks::<4>().0.to_vec()
}

fn assert_close(got: [f32; 4], expected: [f64; 4], what: &dyn Fn() -> String) {
    for (got, expected) in got.into_iter().zip(expected) {
        assert!((f64::from(got) - expected).abs() <= TOLERANCE, "{}: got {got}, expected {expected}", what());
    }
}

/// Random positions inside and around the texture, not on a border between texels, where rounding decides; w is a layer.
fn random_positions(random: &mut Random, size: [u32; 3], normalized: bool, layers: u32) -> Vec<[f32; 4]> {
    (0..COUNT)
        .map(|_| {
            let mut position = [0.0; 4];
            for (axis, coordinate) in position.iter_mut().take(3).enumerate() {
                let size = f32::from(u16::try_from(size[axis]).unwrap());
                let texel = random.float(-1.6 * size, 2.6 * size).floor() + random.float(0.05, 0.95);
                *coordinate = if normalized { texel / size } else { texel };
            }
            position[3] = f32::from(u16::try_from(random.bits() % u64::from(layers)).unwrap());
            position
        })
        .collect()
}

#[test]
fn every_dimension_address_mode_and_filter() {
    let mut random = Random::fresh();
    let library = samplers_library("float", "");
    for texture_type in DIMENSIONS {
        let mut texture = texture(texture_type, PixelFormat::Rgba32Float, 1);
        random.fill(&mut texture);
        let image = Image::new(&texture, texture_type, 0);
        let layers = if axes(texture_type) == 3 { 1 } else { texture.image_count(0) };
        for (mode, border_color) in ADDRESS_MODES {
            for filter in [MinMagFilter::Nearest, MinMagFilter::Linear] {
                let repeats = matches!(mode, AddressMode::Repeat | AddressMode::MirroredRepeat);
                for normalized_coordinates in if repeats { vec![true] } else { vec![true, false] } {
                    let state = SamplerState {
                        address_modes: [mode; 3],
                        border_color,
                        mag_filter: filter,
                        normalized_coordinates,
                        ..SamplerState::default()
                    };
                    let size = texture.level_size(0).unwrap();
                    let positions = random_positions(&mut random, size, normalized_coordinates, layers);
                    let name = format!("sample_{}", msl_name(texture_type));
                    let got = run(&library, &name, &texture, &state, &positions);
                    for (got, [x, y, z, layer]) in got.into_iter().zip(positions) {
                        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a layer")]
                        let expected = image.sample(&state, filter, [x, y, z], layer as u32);
                        assert_close(got, expected, &|| format!("{name} at {x} {y} {z} layer {layer}, {state:?}"));
                    }
                }
            }
        }
    }
}

#[test]
fn each_axis_has_its_own_address_mode() {
    let mut random = Random::fresh();
    let library = samplers_library("half", "");
    let mut texture = texture(TextureType::Texture3d, PixelFormat::Rgba32Float, 1);
    random.fill(&mut texture);
    let image = Image::new(&texture, TextureType::Texture3d, 0);
    let state = SamplerState {
        address_modes: [AddressMode::Repeat, AddressMode::ClampToEdge, AddressMode::MirroredRepeat],
        mag_filter: MinMagFilter::Linear,
        ..SamplerState::default()
    };
    let positions = random_positions(&mut random, [5, 6, 4], true, 1);
    for (got, [x, y, z, _]) in
        run(&library, "sample_texture3d", &texture, &state, &positions).into_iter().zip(&positions)
    {
        let expected = image.sample(&state, MinMagFilter::Linear, [*x, *y, *z], 0);
        for (got, expected) in got.into_iter().zip(expected) {
            // Half has 11 bits.
            assert!((f64::from(got) - expected).abs() <= 2.0_f64.powi(-11), "got {got}, expected {expected}");
        }
    }
}

/// Integer textures have no linear filter.
#[test]
fn integers_are_sampled_as_they_are() {
    let mut random = Random::fresh();
    let library = samplers_library("int", "");
    let mut texture = texture(TextureType::Texture2d, PixelFormat::R8Sint, 1);
    let bytes = random.bytes(54);
    texture.replace(0, 0, &bytes).unwrap();
    let state = SamplerState {
        mag_filter: MinMagFilter::Linear,
        address_modes: [AddressMode::ClampToBorderColor; 3],
        border_color: BorderColor::OpaqueWhite,
        ..SamplerState::default()
    };
    let got = run(&library, "sample_texture2d", &texture, &state, &[[0.5, 0.5, 0.0, 0.0], [-0.5, 0.5, 0.0, 0.0]]);
    let middle = f32::from(bytes[9 * 3 + 4].cast_signed());
    assert_eq!(got, [[middle, 0.0, 0.0, 1.0], [1.0; 4]]);
}

/// Levels that are given, between levels and beyond them; filters of kernels follow the level.
#[test]
fn levels_are_chosen_and_mixed() {
    let mut random = Random::fresh();
    let library = samplers_library("float", ", level(p.w)");
    let mut texture = texture(TextureType::Texture2d, PixelFormat::Rgba32Float, 4);
    random.fill(&mut texture);
    let images: Vec<Image> = (0..4).map(|level| Image::new(&texture, TextureType::Texture2d, level)).collect();
    for mip_filter in [MipFilter::NotMipmapped, MipFilter::Nearest, MipFilter::Linear] {
        for (lod_min_clamp, lod_max_clamp) in [(0.0, f32::MAX), (1.25, 1.75)] {
            let state = SamplerState {
                mip_filter,
                mag_filter: MinMagFilter::Nearest,
                min_filter: MinMagFilter::Linear,
                lod_min_clamp,
                lod_max_clamp,
                ..SamplerState::default()
            };
            let levels = [-1.0, 0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.3, 3.0, 3.5, 100.0];
            let positions = levels.map(|level| [0.37, 0.61, 0.0, level]);
            let got = run(&library, "sample_texture2d", &texture, &state, &positions);
            for (got, level) in got.into_iter().zip(levels) {
                let lod = f64::from(level.clamp(lod_min_clamp, lod_max_clamp));
                let filter = if lod > 0.0 { state.min_filter } else { state.mag_filter };
                let at = |level: f64| {
                    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a level")]
                    let level = level.clamp(0.0, 3.0) as usize;
                    images[level].sample(&state, filter, [0.37, 0.61, 0.0], 0)
                };
                let expected = match mip_filter {
                    MipFilter::NotMipmapped => at(0.0),
                    MipFilter::Nearest => at((lod + 0.5).floor()),
                    MipFilter::Linear => {
                        let lod = lod.clamp(0.0, 3.0);
                        let (near, far) = (at(lod.floor()), at(lod.floor() + 1.0));
                        std::array::from_fn(|index| near[index] + (far[index] - near[index]) * lod.fract())
                    }
                };
                assert_close(got, expected, &|| format!("level {level}, {state:?}"));
            }
        }
    }
}

/// Options in the source: offsets, gradients, a least level, and a bias, which kernels ignore.
#[test]
fn options_of_samples() {
    let mut random = Random::fresh();
    let library = library(
        "kernel void k(texture2d<float> t [[texture(0)]], device float4* out [[buffer(0)]]) {
           constexpr sampler s(mip_filter::nearest, filter::linear);
           float2 p(0.4, 0.3);
           out[0] = t.sample(s, p);
           out[1] = t.sample(s, p, bias(3));
           out[2] = t.sample(s, p, int2(2, -1));
           out[3] = t.sample(s, p, level(1), int2(-1, 1));
           out[4] = t.sample(s, p, gradient2d(float2(4.0 / 9, 0), float2(0, 1.0 / 6)));
           out[5] = t.sample(s, p, gradient2d(float2(1.0 / 9, 0), float2(0, 1.0 / 6)), min_lod_clamp(1));
           out[6] = t.sample(s, p, min_lod_clamp(2));
         }",
    );
    let mut texture = texture(TextureType::Texture2d, PixelFormat::Rgba32Float, 4);
    random.fill(&mut texture);
    let images: Vec<Image> = (0..4).map(|level| Image::new(&texture, TextureType::Texture2d, level)).collect();
    let out = Buffer::new(7 * 16).unwrap();
    Bound { textures: vec![&texture], buffers: vec![&out], ..Bound::default() }.run(&library, "k", [1, 1, 1]);
    let got = floats(&out.to_vec());
    let state = SamplerState::default();
    let sample = |level: usize, dx: f32, dy: f32| {
        let [width, height, _] = texture.level_size(u32::try_from(level).unwrap()).unwrap();
        let shift = |texels: f32, size: u32| texels / f32::from(u16::try_from(size).unwrap());
        let position = [0.4 + shift(dx, width), 0.3 + shift(dy, height), 0.0];
        images[level].sample(&state, MinMagFilter::Linear, position, 0)
    };
    let expected = [
        sample(0, 0.0, 0.0),
        sample(0, 0.0, 0.0),
        sample(0, 2.0, -1.0),
        sample(1, -1.0, 1.0),
        sample(2, 0.0, 0.0),
        sample(1, 0.0, 0.0),
        sample(2, 0.0, 0.0),
    ];
    for (number, (got, expected)) in got.as_chunks::<4>().0.iter().zip(expected).enumerate() {
        assert_close(*got, expected, &|| format!("sample {number}"));
    }
}

/// Samplers of the source: in a function, at program scope, as argument of a function, chosen by a thread.
#[test]
fn samplers_of_the_source() {
    let mut random = Random::fresh();
    let library = library(
        "constexpr sampler everywhere(coord::pixel, address::clamp_to_zero);
         constexpr sampler repeated(s_address::repeat, t_address::mirrored_repeat, mag_filter::linear);
         float4 look(texture2d<float> t, sampler s, float2 p) { return t.sample(s, p); }
         kernel void k(texture2d<float> t [[texture(0)]], sampler bound [[sampler(0)]], device const float4* positions [[buffer(0)]],
                       device float4* out [[buffer(1)]], uint i [[thread_position_in_grid]]) {
           constexpr sampler local(address::clamp_to_border, border_color::opaque_white);
           const sampler all[] = {local, repeated, bound};
           const float2 p = positions[i].xy;
           out[4 * i] = look(t, everywhere, p);
           out[4 * i + 1] = look(t, local, p);
           out[4 * i + 2] = t.sample(i % 2 ? repeated : bound, p);
           out[4 * i + 3] = all[i % 3].__p == bound.__p ? t.sample(all[i % 3], p) : look(t, all[i % 3], p);
         }",
    );
    let mut texture = texture(TextureType::Texture2d, PixelFormat::Rgba32Float, 1);
    random.fill(&mut texture);
    let image = Image::new(&texture, TextureType::Texture2d, 0);
    let default = SamplerState::default();
    let everywhere =
        SamplerState { normalized_coordinates: false, address_modes: [AddressMode::ClampToZero; 3], ..default };
    let local = SamplerState {
        address_modes: [AddressMode::ClampToBorderColor; 3],
        border_color: BorderColor::OpaqueWhite,
        ..default
    };
    let repeated = SamplerState {
        address_modes: [AddressMode::Repeat, AddressMode::MirroredRepeat, AddressMode::ClampToEdge],
        mag_filter: MinMagFilter::Linear,
        ..default
    };
    let bound = SamplerState { mag_filter: MinMagFilter::Linear, ..default };
    let positions = random_positions(&mut random, [9, 6, 1], true, 1);
    let buffer = Buffer::from_bytes(&bytes_of(positions.as_flattened())).unwrap();
    let out = Buffer::new(4 * buffer.len()).unwrap();
    let bindings = Bound { textures: vec![&texture], samplers: vec![bound], buffers: vec![&buffer, &out] };
    bindings.run(&library, "k", [COUNT, 1, 1]);
    let got = floats(&out.to_vec());
    for (number, got) in got.as_chunks::<4>().0.iter().enumerate() {
        let (thread, which) = (number / 4, number % 4);
        let chosen = match which {
            0 => everywhere,
            1 => local,
            2 => [bound, repeated][thread % 2],
            _ => [local, repeated, bound][thread % 3],
        };
        let [x, y, ..] = positions[thread];
        let expected = image.sample(&chosen, chosen.mag_filter, [x, y, 0.0], 0);
        assert_close(*got, expected, &|| format!("sampler {which} at {x} {y}"));
    }
}

#[test]
fn gathers_take_one_component_of_four_texels() {
    let mut random = Random::fresh();
    let library = library(
        "kernel void k(texture2d_array<float> t [[texture(0)]], sampler s [[sampler(0)]], device float4* out [[buffer(0)]]) {
           out[0] = t.gather(s, float2(0.5, 0.5), 2);
           out[1] = t.gather(s, float2(0.5, 0.5), 1, int2(1, -2), component::w);
           out[2] = t.gather(s, float2(0.01, 0.99), 0, int2(0), component::y);
         }",
    );
    let mut texture = texture(TextureType::Texture2dArray, PixelFormat::Rgba32Float, 1);
    random.fill(&mut texture);
    let image = Image::new(&texture, TextureType::Texture2dArray, 0);
    let out = Buffer::new(48).unwrap();
    let state = SamplerState { address_modes: [AddressMode::Repeat; 3], ..SamplerState::default() };
    Bound { textures: vec![&texture], samplers: vec![state], buffers: vec![&out] }.run(&library, "k", [1, 1, 1]);
    let gather = |[x0, x1]: [u32; 2], [y0, y1]: [u32; 2], layer: u32, component: usize| {
        [[x0, y1], [x1, y1], [x1, y0], [x0, y0]].map(|[x, y]| image.texel([x, y, 0], layer)[component])
    };
    // The middle of 9 x 6 texels is the center of texel 4 and the border of texels 2 and 3.
    let expected = [gather([4, 5], [2, 3], 2, 0), gather([5, 6], [0, 1], 1, 3), gather([8, 0], [5, 0], 0, 1)];
    for (got, expected) in floats(&out.to_vec()).as_chunks::<4>().0.iter().zip(expected) {
        assert_close(*got, expected, &|| "gather".to_owned());
    }
}

#[test]
fn depths_are_compared() {
    let mut random = Random::fresh();
    let source =
        "kernel void k(depth2d<float> t [[texture(0)]], sampler s [[sampler(0)]], device float* out [[buffer(0)]]) {
           float2 p(0.53, 0.41);
           out[0] = t.sample(s, p);
           out[1] = t.read(uint2(3, 2));
           out[2] = t.sample_compare(s, p, 0.5);
           float4 four = t.gather_compare(s, p, 0.5);
           float4 depths = t.gather(s, p);
           for (int i = 0; i < 4; ++i) out[3 + i] = four[i], out[7 + i] = depths[i];
         }";
    let library = library(source);
    let descriptor = TextureDescriptor {
        usage: openmps::TextureUsage { shader_read: true, shader_write: false },
        ..TextureDescriptor::new(TextureType::Texture2d, PixelFormat::Depth32Float, [8, 8, 1])
    };
    let mut texture = Texture::new(&descriptor).unwrap();
    let depths: Vec<f32> = (0..64).map(|_| random.float(0.0, 1.0)).collect();
    texture.replace(0, 0, &bytes_of(&depths)).unwrap();
    type Passes = fn(f32) -> bool;
    let functions: [(CompareFunction, Passes); 4] = [
        (CompareFunction::Less, |depth| 0.5 < depth),
        (CompareFunction::GreaterEqual, |depth| 0.5 >= depth),
        (CompareFunction::Always, |_| true),
        (CompareFunction::Never, |_| false),
    ];
    for (compare_function, passes) in functions {
        let state = SamplerState { compare_function, mag_filter: MinMagFilter::Linear, ..SamplerState::default() };
        let out = Buffer::new(44).unwrap();
        Bound { textures: vec![&texture], samplers: vec![state], buffers: vec![&out] }.run(&library, "k", [1, 1, 1]);
        let got = floats(&out.to_vec());
        // 0.53 * 8 - 0.5 = 3.74 and 0.41 * 8 - 0.5 = 2.78.
        let corners = [[3, 3], [4, 3], [4, 2], [3, 2]].map(|[x, y]| depths[8 * y + x]);
        let weights = [0.26 * 0.78, 0.74 * 0.78, 0.74 * 0.22, 0.26 * 0.22];
        let mean = |values: [f32; 4]| values.iter().zip(weights).map(|(value, weight)| value * weight).sum::<f32>();
        let results = corners.map(|depth| if passes(depth) { 1.0 } else { 0.0 });
        let mut expected = vec![mean(corners), depths[8 * 2 + 3], mean(results)];
        expected.extend(results);
        expected.extend(corners);
        for (number, (got, expected)) in got.iter().zip(expected).enumerate() {
            assert!(
                (got - expected).abs() < 1e-5,
                "{compare_function:?}, value {number}: got {got}, expected {expected}"
            );
        }
    }
}

/// Directions through the centers of texels give the texels; between faces a linear filter mixes both sides.
#[test]
fn cubes_are_seamless() {
    let mut random = Random::fresh();
    let library = samplers_library("float", "");
    for texture_type in [TextureType::TextureCube, TextureType::TextureCubeArray] {
        let mut texture = texture(texture_type, PixelFormat::Rgba32Float, 1);
        random.fill(&mut texture);
        let image = Image::new(&texture, texture_type, 0);
        let name = format!("sample_{}", msl_name(texture_type));
        let layer = if texture_type == TextureType::TextureCube { 0_u16 } else { 2 };
        let center = |index: u16| (2.0 * f32::from(index) + 1.0) / 7.0 - 1.0;
        let mut positions = Vec::new();
        let mut expected = Vec::new();
        for face in 0..6_u16 {
            for (x, y) in [(0, 0), (3, 5), (6, 2)] {
                let (s, t) = (center(x), center(y));
                let [dx, dy, dz] = match face {
                    0 => [1.0, -t, -s],
                    1 => [-1.0, -t, s],
                    2 => [s, 1.0, t],
                    3 => [s, -1.0, -t],
                    4 => [s, -t, 1.0],
                    _ => [-s, -t, -1.0],
                };
                positions.push([2.5 * dx, 2.5 * dy, 2.5 * dz, f32::from(layer)]);
                expected.push(image.texel([x.into(), y.into(), 0], u32::from(layer * 6 + face)));
            }
        }
        for filter in [MinMagFilter::Nearest, MinMagFilter::Linear] {
            let state = SamplerState { mag_filter: filter, ..SamplerState::default() };
            for (got, expected) in run(&library, &name, &texture, &state, &positions).into_iter().zip(&expected) {
                assert_close(got, *expected, &|| format!("{name}, {filter:?}"));
            }
        }
        // The middle of the edge between +x (its left column) and +z (its right column), at the height of texel row 3.
        let state = SamplerState { mag_filter: MinMagFilter::Linear, ..SamplerState::default() };
        let got = run(&library, &name, &texture, &state, &[[1.0, 0.0, 1.0, f32::from(layer)]]);
        let sides = [image.texel([0, 3, 0], u32::from(layer * 6)), image.texel([6, 3, 0], u32::from(layer * 6 + 4))];
        let mean = std::array::from_fn(|index| (sides[0][index] + sides[1][index]) / 2.0);
        assert_close(got[0], mean, &|| format!("{name}, edge"));
    }
}

/// Formats are decoded where they are read and encoded where they are written, sRGB and swapped channels too.
#[test]
fn formats_convert_on_the_way() {
    let library = library(
        "kernel void k(texture2d<float> from [[texture(0)]], texture2d<float, access::write> to [[texture(1)]],
                       uint2 at [[thread_position_in_grid]]) { to.write(from.read(at), at); }",
    );
    let copy = |from: PixelFormat, bytes: &[u8], to: PixelFormat| {
        let descriptor = |format| TextureDescriptor::new(TextureType::Texture2d, format, [1, 1, 1]);
        let mut source = Texture::new(&descriptor(from)).unwrap();
        source.replace(0, 0, bytes).unwrap();
        let target = Texture::new(&descriptor(to)).unwrap();
        Bound { textures: vec![&source, &target], ..Bound::default() }.run(&library, "k", [1, 1, 1]);
        target.to_vec(0, 0).unwrap()
    };
    let color = [10, 120, 250, 200];
    assert_eq!(copy(PixelFormat::Rgba8Unorm, &color, PixelFormat::Bgra8Unorm), [250, 120, 10, 200]);
    assert_eq!(copy(PixelFormat::Rgba8UnormSrgb, &color, PixelFormat::Rgba8UnormSrgb), color);
    // 120/255 in sRGB is 0.1878 linear, 250/255 is 0.9559, 10/255 is 0.003035.
    assert_eq!(copy(PixelFormat::Rgba8UnormSrgb, &color, PixelFormat::Rgba8Unorm), [1, 48, 244, 200]);
    assert_eq!(copy(PixelFormat::R8Unorm, &[255], PixelFormat::Rgba8Snorm), [127, 0, 0, 127]);
    assert_eq!(copy(PixelFormat::A8Unorm, &[51], PixelFormat::Rgba8Unorm), [0, 0, 0, 51]);
    assert_eq!(copy(PixelFormat::Rgba8Unorm, &color, PixelFormat::Rgb10a2Unorm), {
        let ten = |value: u32| (value * 1023 + 127) / 255;
        (ten(10) | ten(120) << 10 | ten(250) << 20 | 2 << 30).to_le_bytes()
    });
    let halves = [0x3c00_u16, 0x4000, 0xc000, 0x3800];
    let halves: Vec<u8> = halves.iter().flat_map(|half| half.to_le_bytes()).collect();
    // 1, 2 and, without a sign, 0.
    assert_eq!(copy(PixelFormat::Rgba16Float, &halves, PixelFormat::Rg11b10Float), [0xc0, 0x03, 0x20, 0x00]);
}
