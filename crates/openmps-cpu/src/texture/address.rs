//! Where texels lie, and which texel a coordinate outside a texture means.

use openmps_engine::{AddressMode, TextureType, TextureView};

/// A texel that exists.
pub(super) struct Place {
    /// Bytes from the texture's first.
    pub(super) offset_bytes: u64,
}

/// Texels of level `level` on each axis; `None` if there is no such level.
pub(super) fn level_size(view: &TextureView, level: u32) -> Option<[u32; 3]> {
    view.levels.get(level as usize)?;
    Some(view.size.map(|size| size.checked_shr(level).unwrap_or(0).max(1)))
}

/// The texel at `position`; `image` is a layer or face, and z counts images of 3D textures.
pub(super) fn place(view: &TextureView, level: u32, position: [u32; 3], image: u32) -> Option<Place> {
    let size = level_size(view, level)?;
    let dimensions = match view.texture_type {
        TextureType::Texture1d | TextureType::Texture1dArray | TextureType::TextureBuffer => 1,
        TextureType::Texture2d
        | TextureType::Texture2dArray
        | TextureType::TextureCube
        | TextureType::TextureCubeArray => 2,
        TextureType::Texture3d => 3,
    };
    if (0..dimensions).any(|axis| position[axis] >= size[axis]) {
        return None;
    }
    let at = |axis: usize| if axis < dimensions { u64::from(position[axis]) } else { 0 };
    let layout = view.levels[level as usize];
    let image = if dimensions == 3 { at(2) } else { u64::from(image) };
    let row = at(1) * layout.bytes_per_row;
    let texel = at(0) * u64::from(view.format.bytes_per_texel());
    Some(Place { offset_bytes: layout.offset_bytes + image * layout.bytes_per_image + row + texel })
}

/// The texel that `index` means on an axis of `size` texels; `None` for the border.
pub(super) fn wrap(mode: AddressMode, index: i64, size: u32) -> Option<u32> {
    let size = i64::from(size);
    let index = match mode {
        AddressMode::ClampToZero | AddressMode::ClampToBorderColor => index,
        AddressMode::ClampToEdge => index.clamp(0, size - 1),
        AddressMode::Repeat => index.rem_euclid(size),
        AddressMode::MirroredRepeat => {
            let index = index.rem_euclid(2 * size);
            if index < size { index } else { 2 * size - 1 - index }
        }
    };
    u32::try_from(index).ok().filter(|&index| i64::from(index) < size)
}

/// The face that a direction points to, and the position on it, each from -1 to 1. Faces are +x, -x, +y, -y, +z, -z; the
/// largest component decides, the earlier axis among equal ones.
pub(super) fn cube_face([x, y, z]: [f64; 3]) -> (u32, [f64; 2]) {
    let [ax, ay, az] = [x.abs(), y.abs(), z.abs()];
    let (face, s, t, major) = if ax >= ay && ax >= az {
        if x >= 0.0 { (0, -z, -y, ax) } else { (1, z, -y, ax) }
    } else if ay >= az {
        if y >= 0.0 { (2, x, z, ay) } else { (3, x, -z, ay) }
    } else if z >= 0.0 {
        (4, x, -y, az)
    } else {
        (5, -x, -y, az)
    };
    let major = if major > 0.0 { major } else { 1.0 };
    (face, [s / major, t / major])
}

/// The texel of a cube of `size` that `x` and `y` on `face` mean: beyond an edge, that of the neighbor face. Beyond a corner,
/// where three texels meet, one of the two that are left.
pub(super) fn cube_texel(face: u32, [x, y]: [i64; 2], size: u32) -> (u32, [u32; 2]) {
    let inside = |index: i64| u32::try_from(index).ok().filter(|&index| index < size);
    if let (Some(x), Some(y)) = (inside(x), inside(y)) {
        return (face, [x, y]);
    }
    #[expect(clippy::cast_precision_loss, reason = "within a texel of a texture's edge")]
    let coordinate = |index: i64| (2.0 * index as f64 + 1.0) / f64::from(size) - 1.0;
    let (s, t) = (coordinate(x), coordinate(y));
    let direction = match face {
        0 => [1.0, -t, -s],
        1 => [-1.0, -t, s],
        2 => [s, 1.0, t],
        3 => [s, -1.0, -t],
        4 => [s, -t, 1.0],
        _ => [-s, -t, -1.0],
    };
    let (face, position) = cube_face(direction);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to the face")]
    let index = |position: f64| {
        let texel = ((position + 1.0) / 2.0 * f64::from(size)).floor();
        texel.clamp(0.0, f64::from(size - 1)) as u32
    };
    (face, position.map(index))
}
