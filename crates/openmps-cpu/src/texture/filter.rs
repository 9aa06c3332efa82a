//! Samples: levels, filters, comparisons, gathers.
//!
//! Texel i covers coordinates from i to i + 1; a linear filter weighs the two texels on each axis whose centers are nearest, by
//! distance. The level of detail of kernels is 0 unless given or made from gradients. Integer formats have no linear filter.

use openmps_engine::texture::Numbers;
use openmps_engine::{
    AddressMode, BorderColor, CompareFunction, MinMagFilter, MipFilter, SamplerState, TextureType, TextureView,
};

use super::address::{self, cube_face, cube_texel, level_size, wrap};
use super::texel::{self, Color};

/// Where the level of detail comes from.
pub(super) enum Level {
    /// This.
    Given(f32),
    /// How the position changes from pixel to pixel of an image, along both of its axes.
    Gradient([f32; 3], [f32; 3]),
}

/// One sample.
pub(super) struct Sample<'view> {
    pub(super) view: &'view TextureView,
    pub(super) state: &'view SamplerState,
    pub(super) position: [f32; 3],
    pub(super) layer: u32,
    pub(super) offset: [i32; 3],
    pub(super) level: Level,
    pub(super) min_level: f32,
    /// What depths are compared with.
    pub(super) reference: Option<f32>,
}

/// Positions that are farther out than any texture are as good as this one.
const FAR_TEXELS: f64 = 1e12;

/// A position on a level: on each axis the texel below, and the share of the one above.
struct Footprint {
    axes: usize,
    /// Face of a cube, else 0.
    face: u32,
    below: [i64; 3],
    share: [f64; 3],
}

/// The color, or the share of texels that compare true.
///
/// # Safety
/// The view's memory is as large as its levels say.
pub(super) unsafe fn sample(sample: &Sample<'_>) -> Color {
    let lod = sample.level_of_detail();
    let filter = if lod > 0.0 { sample.state.min_filter } else { sample.state.mag_filter };
    let last = u32::try_from(sample.view.levels.len() - 1).expect("a few levels");
    // SAFETY: by this function's contract.
    let at = |level: u32| unsafe { sample.at_level(level.min(last), filter) };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to the levels that exist")]
    let whole = |level: f32| level.clamp(0.0, f32::from(u16::try_from(last).unwrap_or(u16::MAX))) as u32;
    match sample.state.mip_filter {
        MipFilter::NotMipmapped => at(0),
        MipFilter::Nearest => at(whole((lod + 0.5).floor())),
        MipFilter::Linear => {
            let below = whole(lod.floor());
            let share = if below == last { 0.0 } else { lod.max(0.0) - lod.max(0.0).floor() };
            if share == 0.0 || sample.has_integers() {
                return at(below);
            }
            let (near, far) = (at(below).map(f32::from_bits), at(below + 1).map(f32::from_bits));
            std::array::from_fn(|index| (near[index] * (1.0 - share) + far[index] * share).to_bits())
        }
    }
}

/// One component of the four texels that a linear filter would use, in Metal's order: from the lower left, against the clock,
/// if y counts upwards; or how they compare.
///
/// # Safety
/// As [`sample`].
pub(super) unsafe fn gather(sample: &Sample<'_>, component: u32) -> Color {
    let Some(size) = level_size(sample.view, 0) else { return [0; 4] };
    let footprint = sample.footprint(size, true);
    let component = if sample.reference.is_some() { 0 } else { component as usize & 3 };
    [[0, 1], [1, 1], [1, 0], [0, 0]].map(|[x, y]| {
        // SAFETY: by this function's contract.
        let corner = unsafe { sample.corner(0, size, &footprint, [x, y, 0]) };
        corner[component]
    })
}

impl Sample<'_> {
    fn has_integers(&self) -> bool {
        matches!(self.view.format.numbers(), Numbers::Uint | Numbers::Sint)
    }

    fn level_of_detail(&self) -> f32 {
        let level = match self.level {
            Level::Given(level) => level,
            Level::Gradient(dx, dy) => {
                let length = |gradient: [f32; 3]| {
                    let texels = |axis: usize| {
                        let scale = if self.state.normalized_coordinates { self.view.size[axis] } else { 1 };
                        f64::from(gradient[axis]) * f64::from(scale)
                    };
                    (0..self.axes()).map(|axis| texels(axis).powi(2)).sum::<f64>().sqrt()
                };
                #[expect(clippy::cast_possible_truncation, reason = "a level of detail")]
                let level = length(dx).max(length(dy)).log2() as f32;
                level
            }
        };
        let level = if level.is_nan() { 0.0 } else { level };
        level.max(self.min_level).max(self.state.lod_min_clamp).min(self.state.lod_max_clamp)
    }

    /// Axes of a filter.
    fn axes(&self) -> usize {
        match self.view.texture_type {
            TextureType::Texture1d | TextureType::Texture1dArray | TextureType::TextureBuffer => 1,
            TextureType::Texture2d
            | TextureType::Texture2dArray
            | TextureType::TextureCube
            | TextureType::TextureCubeArray => 2,
            TextureType::Texture3d => 3,
        }
    }

    fn is_cube(&self) -> bool {
        self.view.texture_type.faces() == 6
    }

    /// The texels around the position on a level of `size`; the ones that it lies in, with no share of others, if not `linear`.
    fn footprint(&self, size: [u32; 3], linear: bool) -> Footprint {
        let (mut face, mut position) = (0, self.position.map(f64::from));
        if self.is_cube() {
            let (of, [s, t]) = cube_face(position);
            (face, position) = (of, [(s + 1.0) / 2.0, (t + 1.0) / 2.0, 0.0]);
        }
        let mut footprint = Footprint { axes: self.axes(), face, below: [0; 3], share: [0.0; 3] };
        for axis in 0..footprint.axes {
            let normalized = self.state.normalized_coordinates || self.is_cube();
            let scale = if normalized { f64::from(size[axis]) } else { 1.0 };
            let texels = position[axis] * scale - if linear { 0.5 } else { 0.0 };
            let texels = if texels.is_nan() { 0.0 } else { texels.clamp(-FAR_TEXELS, FAR_TEXELS) };
            #[expect(clippy::cast_possible_truncation, reason = "far below 2^63")]
            let below = texels.floor() as i64;
            footprint.below[axis] = below + i64::from(self.offset[axis]);
            footprint.share[axis] = if linear { texels - texels.floor() } else { 0.0 };
        }
        footprint
    }

    /// The filtered color of one level.
    ///
    /// # Safety
    /// As [`sample`].
    unsafe fn at_level(&self, level: u32, filter: MinMagFilter) -> Color {
        let Some(size) = level_size(self.view, level) else { return [0; 4] };
        let linear = filter == MinMagFilter::Linear && !self.has_integers();
        let footprint = self.footprint(size, linear);
        if !linear {
            // SAFETY: by this function's contract.
            return unsafe { self.corner(level, size, &footprint, [0; 3]) };
        }
        let mut sum = [0.0_f32; 4];
        for corner in 0..1 << footprint.axes {
            let above = [0, 1, 2].map(|axis| corner >> axis & 1);
            let mut weight = 1.0;
            for (&above, &share) in above.iter().zip(&footprint.share).take(footprint.axes) {
                weight *= if above == 1 { share } else { 1.0 - share };
            }
            // A texel without weight may be infinite.
            if weight == 0.0 {
                continue;
            }
            // SAFETY: by this function's contract.
            let color = unsafe { self.corner(level, size, &footprint, above) };
            #[expect(clippy::cast_possible_truncation, reason = "a weight from 0 to 1")]
            let weight = weight as f32;
            for (sum, component) in sum.iter_mut().zip(color) {
                *sum += f32::from_bits(component) * weight;
            }
        }
        sum.map(f32::to_bits)
    }

    /// The texel `above` the footprint's lower one on each axis where that is 1, or how it compares.
    ///
    /// # Safety
    /// As [`sample`].
    unsafe fn corner(&self, level: u32, size: [u32; 3], footprint: &Footprint, above: [i64; 3]) -> Color {
        let index = |axis: usize| footprint.below[axis] + above[axis];
        let faces = self.view.texture_type.faces();
        let place = if self.is_cube() {
            let (face, [x, y]) = cube_texel(footprint.face, [index(0), index(1)], size[0]);
            address::place(self.view, level, [x, y, 0], self.layer * faces + face)
        } else {
            let mut position = Some([0; 3]);
            for axis in 0..footprint.axes {
                let wrapped = wrap(self.state.address_modes[axis], index(axis), size[axis]);
                position = position.zip(wrapped).map(|(mut position, index)| {
                    position[axis] = index;
                    position
                });
            }
            position.and_then(|position| address::place(self.view, level, position, self.layer))
        };
        let color = match place {
            // SAFETY: by this function's contract.
            Some(place) => unsafe { texel::load(self.view, &place) },
            None => self.border(),
        };
        match self.reference {
            None => color,
            Some(reference) => {
                let depth = f32::from_bits(color[0]);
                let passes = compare(self.state.compare_function, reference, depth);
                [if passes { 1.0_f32 } else { 0.0 }.to_bits(), 0, 0, 0]
            }
        }
    }

    /// The color outside.
    fn border(&self) -> Color {
        let has_border = self.state.address_modes.contains(&AddressMode::ClampToBorderColor);
        let one = if self.has_integers() { 1 } else { 1.0_f32.to_bits() };
        let clear = if self.view.format.has_alpha() { 0 } else { one };
        match self.state.border_color {
            _ if !has_border => [0, 0, 0, clear],
            BorderColor::TransparentBlack => [0; 4],
            BorderColor::OpaqueBlack => [0, 0, 0, one],
            BorderColor::OpaqueWhite => [one; 4],
        }
    }
}

fn compare(function: CompareFunction, reference: f32, depth: f32) -> bool {
    match function {
        CompareFunction::Never => false,
        CompareFunction::Less => reference < depth,
        CompareFunction::LessEqual => reference <= depth,
        CompareFunction::Greater => reference > depth,
        CompareFunction::GreaterEqual => reference >= depth,
        CompareFunction::Equal => reference == depth,
        CompareFunction::NotEqual => reference != depth,
        CompareFunction::Always => true,
    }
}
