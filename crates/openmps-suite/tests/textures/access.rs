//! Reads, writes, sizes, atomics, arrays of textures.

use openmps::{Buffer, PixelFormat, TextureType};

use crate::harness::{Bound, Random, axes, library, msl_name, texture};

/// Component types of MSL with a format that holds them exactly.
const COMPONENTS: [(&str, PixelFormat); 6] = [
    ("float", PixelFormat::Rgba32Float),
    ("half", PixelFormat::Rgba16Float),
    ("int", PixelFormat::Rgba32Sint),
    ("uint", PixelFormat::Rgba32Uint),
    ("short", PixelFormat::Rgba16Sint),
    ("ushort", PixelFormat::Rgba16Uint),
];

/// The position of a thread in a texture of this type, and what follows it: face and layer.
fn place(texture_type: TextureType) -> (&'static str, &'static str) {
    match texture_type {
        TextureType::Texture1d | TextureType::TextureBuffer => ("at.x", ""),
        TextureType::Texture1dArray => ("at.x", ", at.z"),
        TextureType::Texture2d => ("at.xy", ""),
        TextureType::Texture2dArray => ("at.xy", ", at.z"),
        TextureType::Texture3d => ("at", ""),
        TextureType::TextureCube => ("at.xy", ", at.z"),
        TextureType::TextureCubeArray => ("at.xy", ", at.z % 6, at.z / 6"),
    }
}

/// Every kind of texture with every component type: texels arrive as they left, threads beyond the texture read zeros and
/// write nothing.
#[test]
fn reads_and_writes_move_texels() {
    let mut random = Random::fresh();
    let mut source = String::new();
    for texture_type in TextureType::ALL {
        let (name, (position, behind)) = (msl_name(texture_type), place(texture_type));
        for (component, _) in COMPONENTS {
            source += &format!(
                "kernel void copy_{name}_{component}({name}<{component}, access::read> from [[texture(0)]],
                     {name}<{component}, access::write> to [[texture(1)]], device {component}4* outside [[buffer(0)]],
                     uint3 at [[thread_position_in_grid]]) {{
                   {component}4 color = from.read({position}{behind});
                   to.write(color, {position}{behind});
                   if (at.x == 40) outside[0] += color;
                 }}\n"
            );
        }
    }
    let library = library(&source);
    for texture_type in TextureType::ALL {
        for (component, format) in COMPONENTS {
            let mut from = texture(texture_type, format, 1);
            let to = texture(texture_type, format, 1);
            let mut expected = Vec::new();
            for image in 0..from.image_count(0) {
                // No NaN and no subnormal float: both may change on their way through a kernel.
                let mut bytes = random.bytes(from.to_vec(0, image).unwrap().len());
                let high = if component == "float" { 4 } else { 2 };
                if component == "float" || component == "half" {
                    bytes.iter_mut().skip(high - 1).step_by(high).for_each(|byte| *byte = *byte & 0x8f | 0x30);
                }
                from.replace(0, image, &bytes).unwrap();
                expected.push(bytes);
            }
            let outside = Buffer::from_bytes(&[0; 16]).unwrap();
            let bound = Bound { textures: vec![&from, &to], buffers: vec![&outside], ..Bound::default() };
            let name = format!("copy_{}_{component}", msl_name(texture_type));
            bound.run(&library, &name, [41, if axes(texture_type) > 1 { 8 } else { 1 }, 20]);
            for (image, expected) in (0..).zip(expected) {
                assert_eq!(to.to_vec(0, image).unwrap(), expected, "{name}, image {image}");
            }
            assert_eq!(outside.to_vec(), [0; 16], "{name}: reads out of range");
        }
    }
}

#[test]
fn positions_of_16_bits_and_levels() {
    let mut random = Random::fresh();
    let library = library(
        "kernel void k(texture2d<float> from [[texture(0)]], texture2d<float, access::write> to [[texture(1)]],
                       ushort2 at [[thread_position_in_grid]]) {
           to.write(from.read(at, 1), at, 2);
         }",
    );
    let mut from = texture(TextureType::Texture2d, PixelFormat::Rgba32Float, 3);
    let to = texture(TextureType::Texture2d, PixelFormat::Rgba32Float, 3);
    random.fill(&mut from);
    Bound { textures: vec![&from, &to], ..Bound::default() }.run(&library, "k", [4, 3, 1]);
    let level_1 = from.to_vec(1, 0).unwrap();
    // 4 x 3 texels, of which level 2 has 2 x 1.
    assert_eq!(to.to_vec(2, 0).unwrap(), level_1[..32]);
    assert!(to.to_vec(0, 0).unwrap().iter().chain(&to.to_vec(1, 0).unwrap()).all(|&byte| byte == 0));
}

#[test]
fn kernels_see_sizes() {
    let library = library(
        "kernel void k(texture2d_array<float> a [[texture(0)]], texture3d<uint, access::write> b [[texture(1)]],
                       texture_buffer<int> c [[texture(2)]], texturecube_array<float> d [[texture(3)]],
                       texture1d<half> e [[texture(4)]], device uint* out [[buffer(0)]]) {
           uint values[] = {a.get_width(), a.get_height(), a.get_width(1), a.get_height(2), a.get_array_size(),
                            a.get_num_mip_levels(), b.get_width(), b.get_height(), b.get_depth(), c.get_width(),
                            d.get_width(), d.get_array_size(), e.get_width(), e.get_num_mip_levels(), a.get_width(7),
                            uint(is_null_texture(a))};
           for (uint i = 0; i < 16; ++i) out[i] = values[i];
         }",
    );
    let a = texture(TextureType::Texture2dArray, PixelFormat::R8Unorm, 4);
    let b = texture(TextureType::Texture3d, PixelFormat::Rgba8Uint, 1);
    let c = texture(TextureType::TextureBuffer, PixelFormat::R32Sint, 1);
    let d = texture(TextureType::TextureCubeArray, PixelFormat::R8Unorm, 1);
    let e = texture(TextureType::Texture1d, PixelFormat::R16Float, 1);
    let out = Buffer::new(64).unwrap();
    Bound { textures: vec![&a, &b, &c, &d, &e], buffers: vec![&out], ..Bound::default() }.run(&library, "k", [1, 1, 1]);
    let values: Vec<u32> =
        out.to_vec().chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect();
    assert_eq!(values, [9, 6, 4, 1, 3, 4, 5, 6, 4, 13, 7, 3, 13, 1, 0, 0]);
}

#[test]
fn a_thread_sees_what_it_wrote() {
    let library = library(
        "kernel void k(texture2d<uint, access::read_write> t [[texture(0)]], uint2 at [[thread_position_in_grid]]) {
           t.write(uint4(at.x + 1, 0, 0, 0), at);
           t.fence();
           t.write(t.read(at) * 2, at);
         }",
    );
    let t = texture(TextureType::Texture2d, PixelFormat::R8Uint, 1);
    Bound { textures: vec![&t], ..Bound::default() }.run(&library, "k", [9, 6, 1]);
    let row: Vec<u8> = (1..=9).map(|x| 2 * x).collect();
    assert_eq!(t.to_vec(0, 0).unwrap(), row.repeat(6));
}

#[test]
fn arrays_of_textures_are_indexed_by_threads() {
    let library = library(
        "kernel void k(array<texture2d<float, access::read>, 3> many [[texture(1)]],
                       texture2d<float, access::write> to [[texture(0)]], uint2 at [[thread_position_in_grid]]) {
           to.write(many[at.x % 3].read(at), at);
         }",
    );
    let mut random = Random::fresh();
    let mut many = [0; 3].map(|_| texture(TextureType::Texture2d, PixelFormat::Rgba32Float, 1));
    many.iter_mut().for_each(|texture| random.fill(texture));
    let to = texture(TextureType::Texture2d, PixelFormat::Rgba32Float, 1);
    let mut textures = vec![&to];
    textures.extend(&many);
    Bound { textures, ..Bound::default() }.run(&library, "k", [9, 6, 1]);
    let all = many.each_ref().map(|texture| texture.to_vec(0, 0).unwrap());
    for (texel, color) in to.to_vec(0, 0).unwrap().chunks_exact(16).enumerate() {
        let x = texel % 9;
        assert_eq!(color, &all[x % 3][16 * texel..][..16], "texel {texel}");
    }
}

#[test]
fn atomic_accesses_count_every_thread() {
    let library = library(
        "kernel void k(texture2d<uint, access::read_write> t [[texture(0)]], texture1d<int, access::read_write> s [[texture(1)]],
                       device atomic_uint* swapped [[buffer(0)]], uint at [[thread_position_in_grid]]) {
           t.atomic_fetch_add(uint2(at % 3, 1), uint4(2));
           t.atomic_fetch_max(uint2(4, 0), uint4(at));
           t.atomic_fetch_xor(uint2(5, 0), uint4(at));
           s.atomic_fetch_min(2, int4(5 - int(at)));
           uint4 expected = uint4(0);
           if (t.atomic_compare_exchange_weak(uint2(6, 0), &expected, uint4(at + 1)))
             atomic_fetch_add_explicit(swapped, 1, memory_order_relaxed);
           if (at == 0) t.atomic_store(uint4(77), uint2(7, 0));
           t.atomic_fetch_add(uint2(100, 100), uint4(1));
         }",
    );
    let t = texture(TextureType::Texture2d, PixelFormat::R32Uint, 1);
    let s = texture(TextureType::Texture1d, PixelFormat::R32Sint, 1);
    let swapped = Buffer::from_bytes(&[0; 4]).unwrap();
    Bound { textures: vec![&t, &s], buffers: vec![&swapped], ..Bound::default() }.run(&library, "k", [3000, 1, 1]);
    let words = |bytes: Vec<u8>| -> Vec<u32> {
        bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
    };
    let texels = words(t.to_vec(0, 0).unwrap());
    assert_eq!(texels[9..12], [2000, 2000, 2000]);
    assert_eq!((texels[4], texels[5], texels[7]), (2999, (0..3000).fold(0, |all, at| all ^ at), 77));
    assert!((1..=3000).contains(&texels[6]));
    assert_eq!(words(swapped.to_vec()), [1]);
    assert_eq!(words(s.to_vec(0, 0).unwrap())[2].cast_signed(), 5 - 2999);
}
