//! What samples should be, in the plainest form: 64-bit floats, one texel after another.

use openmps::{AddressMode, BorderColor, MinMagFilter, SamplerState, Texture, TextureType};

use crate::harness::{axes, floats};

/// One level of a texture of format RGBA32Float.
pub(crate) struct Image {
    axes: usize,
    size: [u32; 3],
    /// Colors of image 0, 1, …
    images: Vec<Vec<f32>>,
}

impl Image {
    pub(crate) fn new(texture: &Texture, texture_type: TextureType, level: u32) -> Self {
        let images = (0..texture.image_count(level)).map(|image| floats(&texture.to_vec(level, image).unwrap()));
        Self { axes: axes(texture_type), size: texture.level_size(level).unwrap(), images: images.collect() }
    }

    pub(crate) fn texel(&self, position: [u32; 3], layer: u32) -> [f64; 4] {
        let image = if self.axes == 3 { position[2] } else { layer };
        let first = 4 * (position[1] * self.size[0] + position[0]) as usize;
        std::array::from_fn(|component| f64::from(self.images[image as usize][first + component]))
    }

    /// The sample at `position` with this filter.
    pub(crate) fn sample(
        &self,
        state: &SamplerState,
        filter: MinMagFilter,
        position: [f32; 3],
        layer: u32,
    ) -> [f64; 4] {
        let taps: Vec<Vec<(i64, f64)>> = (0..3)
            .map(|axis| {
                if axis >= self.axes {
                    return vec![(0, 1.0)];
                }
                let scale = if state.normalized_coordinates { f64::from(self.size[axis]) } else { 1.0 };
                let place = f64::from(position[axis]) * scale;
                match filter {
                    MinMagFilter::Nearest => vec![(floor(place), 1.0)],
                    MinMagFilter::Linear => {
                        let below = floor(place - 0.5);
                        let share = place - 0.5 - (place - 0.5).floor();
                        vec![(below, 1.0 - share), (below + 1, share)]
                    }
                }
            })
            .collect();
        let mut sum = [0.0; 4];
        for &(z, wz) in &taps[2] {
            for &(y, wy) in &taps[1] {
                for &(x, wx) in &taps[0] {
                    let color = self.at(state, [x, y, z], layer);
                    for component in 0..4 {
                        sum[component] += color[component] * wx * wy * wz;
                    }
                }
            }
        }
        sum
    }

    /// The texel that indices mean, or the border.
    fn at(&self, state: &SamplerState, indices: [i64; 3], layer: u32) -> [f64; 4] {
        let mut position = [0; 3];
        for axis in 0..self.axes {
            match resolve(state.address_modes[axis], indices[axis], i64::from(self.size[axis])) {
                Some(index) => position[axis] = index,
                None => {
                    return match (state.address_modes[axis], state.border_color) {
                        (AddressMode::ClampToBorderColor, BorderColor::OpaqueBlack) => [0.0, 0.0, 0.0, 1.0],
                        (AddressMode::ClampToBorderColor, BorderColor::OpaqueWhite) => [1.0; 4],
                        _ => [0.0; 4],
                    };
                }
            }
        }
        self.texel(position, layer)
    }
}

#[expect(clippy::cast_possible_truncation, reason = "small numbers")]
fn floor(value: f64) -> i64 {
    value.floor() as i64
}

fn resolve(mode: AddressMode, mut index: i64, size: i64) -> Option<u32> {
    while index < 0 || index >= size {
        index = match mode {
            AddressMode::ClampToEdge => {
                if index < 0 {
                    0
                } else {
                    size - 1
                }
            }
            AddressMode::Repeat if index < 0 => index + size,
            AddressMode::Repeat => index - size,
            AddressMode::MirroredRepeat if index < 0 => -1 - index,
            AddressMode::MirroredRepeat => 2 * size - 1 - index,
            AddressMode::ClampToZero | AddressMode::ClampToBorderColor => return None,
        };
    }
    u32::try_from(index).ok()
}
