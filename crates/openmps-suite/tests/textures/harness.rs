//! Compiles Metal source, binds, runs; random images.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use openmps::{
    Binding, Bindings, Buffer, BufferIndex, CompileOptions, Grid, Library, PixelFormat, SamplerIndex, SamplerState,
    Stream, Texture, TextureDescriptor, TextureIndex, TextureType,
};
use openmps_cpu::{CpuEngine, LlvmCodeGenerator};
use openmps_msl::{DriverConfig, MslCompiler};

/// Compiles `source`, which must be right.
pub(crate) fn library(source: &str) -> Library {
    static COMPILER: OnceLock<MslCompiler> = OnceLock::new();
    let compiler = COMPILER.get_or_init(|| {
        MslCompiler::new(DriverConfig {
            include_dir: Path::new(env!("CARGO_MANIFEST_DIR")).join("../openmps-msl/include"),
            installed_pch_dir: None,
            pch_cache_dir: Some(Path::new(env!("CARGO_TARGET_TMPDIR")).join("pch")),
        })
    });
    let engine = Arc::new(CpuEngine::new(Arc::new(LlvmCodeGenerator)));
    let source = format!("#include <metal_stdlib>\nusing namespace metal;\n{source}");
    Library::with(compiler, engine, &source, &CompileOptions::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// What a launch binds, each at its place in the list.
#[derive(Default)]
pub(crate) struct Bound<'a> {
    pub(crate) textures: Vec<&'a Texture>,
    pub(crate) samplers: Vec<SamplerState>,
    pub(crate) buffers: Vec<&'a Buffer>,
}

impl Bound<'_> {
    pub(crate) fn bindings(&self) -> Bindings {
        let mut bindings = Bindings::default();
        for (index, texture) in (0..).zip(&self.textures) {
            bindings.set_texture(TextureIndex(index), texture.view());
        }
        for (index, sampler) in (0..).zip(&self.samplers) {
            bindings.set_sampler(SamplerIndex(index), sampler);
        }
        for (index, buffer) in (0..).zip(&self.buffers) {
            let address = buffer.contents().as_ptr().expose_provenance() as u64;
            bindings.set(BufferIndex(index), Binding::Buffer { address, size_bytes: buffer.len() as u64 });
        }
        bindings
    }

    /// Runs kernel `name` over `threads` and waits.
    pub(crate) fn run(&self, library: &Library, name: &str, threads: [u32; 3]) {
        let kernel = library.kernel(name).unwrap_or_else(|error| panic!("{error}"));
        let stream = Stream::default_stream();
        let grid = Grid { threads, group: [8.min(threads[0]), 4.min(threads[1]), 1] };
        kernel.encode(stream, self.bindings(), &[], grid).unwrap_or_else(|error| panic!("{error}"));
        stream.synchronize().unwrap_or_else(|error| panic!("{error}"));
    }
}

/// The type's name in MSL.
pub(crate) fn msl_name(texture_type: TextureType) -> String {
    match texture_type {
        TextureType::TextureBuffer => "texture_buffer".to_owned(),
        other => format!("texture{}", other.name()),
    }
}

/// Axes of a position in the texture.
pub(crate) fn axes(texture_type: TextureType) -> usize {
    match texture_type {
        TextureType::Texture1d | TextureType::Texture1dArray | TextureType::TextureBuffer => 1,
        TextureType::Texture2d
        | TextureType::Texture2dArray
        | TextureType::TextureCube
        | TextureType::TextureCubeArray => 2,
        TextureType::Texture3d => 3,
    }
}

/// A small texture of the type, with `levels` levels.
pub(crate) fn texture(texture_type: TextureType, format: PixelFormat, levels: u32) -> Texture {
    let size = match texture_type {
        TextureType::TextureBuffer | TextureType::Texture1d | TextureType::Texture1dArray => [13, 1, 1],
        TextureType::Texture2d | TextureType::Texture2dArray => [9, 6, 1],
        TextureType::Texture3d => [5, 6, 4],
        TextureType::TextureCube | TextureType::TextureCubeArray => [7, 7, 1],
    };
    let is_array = texture_type.name().ends_with("array");
    let descriptor = TextureDescriptor {
        array_length: if is_array { 3 } else { 1 },
        mipmap_level_count: levels,
        ..TextureDescriptor::new(texture_type, format, size)
    };
    Texture::new(&descriptor).unwrap()
}

pub(crate) fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|word| f32::from_le_bytes(word.try_into().unwrap())).collect()
}

pub(crate) fn bytes_of(floats: &[f32]) -> Vec<u8> {
    floats.iter().flat_map(|float| float.to_le_bytes()).collect()
}

/// Random numbers (SplitMix64) whose seed a failing test prints.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn fresh() -> Self {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        let seed = u64::try_from(now.as_nanos() & u128::from(u64::MAX)).unwrap();
        println!("seed {seed}");
        Self(seed)
    }

    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From `low` to `high`.
    pub(crate) fn float(&mut self, low: f32, high: f32) -> f32 {
        low + (high - low) * f32::from(u16::try_from(self.bits() >> 48).unwrap()) / 65535.0
    }

    pub(crate) fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.bits().to_le_bytes()[3]).collect()
    }

    /// Fills every image of every level with floats from -1 to 1; the format has 32-bit floats.
    pub(crate) fn fill(&mut self, texture: &mut Texture) {
        for level in (0..).take_while(|&level| texture.level_size(level).is_some()).collect::<Vec<u32>>() {
            for image in 0..texture.image_count(level) {
                let count = texture.to_vec(level, image).unwrap().len() / 4;
                let values: Vec<f32> = (0..count).map(|_| self.float(-1.0, 1.0)).collect();
                texture.replace(level, image, &bytes_of(&values)).unwrap();
            }
        }
    }
}
