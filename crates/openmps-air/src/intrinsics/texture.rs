//! Textures: `air.<operation>_<texture|depth>_<dimensions>[.i16][.<s|u>].<type>`.
//!
//! A texture is a pointer into device memory and a sampler one into constant memory, both opaque. Reads and samples return the
//! color and a byte that is not 0 where a sparse texture has no memory; nothing here is sparse. `.i16` forms have 16-bit
//! coordinates, layers, faces and levels. The last operand of most is the access of the texture's type: 0 sample, 1 read,
//! 2 write, 3 read and write.
//!
//! Sources: modules of Apple's compiler (32023.883, AIR 2.8) among the test files of the public projects `metal2vulkan` and a
//! study of Metal's builtins, for sample, gather, compare, queries, fences, atomics, cubes, buffers, `.i16` forms, reads with a
//! sampler; `dxmt`'s builder of AIR, which Metal accepts, for reads without a sampler and atomics without an offset. No module of
//! Apple's was found for reads of 1D and 3D textures: their forms follow those of 2D, 1D with and without an offset.

use openmps_engine::{AddressSpace, TextureType};

use super::{Effects, Lift, Operation, Reference, Row, Signature, Slot, operations};
use crate::element::{Element, Sign};

operations! {
    /// What a texture function does.
    TextureOperation {
        /// The texel at a position.
        Read = "read",
        /// Replaces the texel at a position.
        Write = "write",
        /// A filtered color; the level of detail is 0, a given one, or 0 plus a bias that has no effect in kernels.
        Sample = "sample",
        /// A filtered color; the level of detail follows from two gradients.
        SampleGradient = "sample_grad",
        /// The share of texels that compare true with a reference.
        SampleCompare = "sample_compare",
        /// The same; the level of detail follows from two gradients.
        SampleCompareGradient = "sample_compare_grad",
        /// One component of the four texels that a linear filter would use.
        Gather = "gather",
        /// How those compare with a reference.
        GatherCompare = "gather_compare",
        /// Texels along x at a level.
        Width = "get_width",
        /// Texels along y at a level.
        Height = "get_height",
        /// Texels along z at a level.
        Depth = "get_depth",
        /// Elements of an array.
        ArraySize = "get_array_size",
        /// Mip levels.
        MipLevels = "get_num_mip_levels",
        /// Makes writes visible to later reads of the same thread.
        Fence = "fence",
        /// Whether there is no texture.
        IsNull = "is_null",
        AtomicLoad = "atomic_load",
        AtomicStore = "atomic_store",
        AtomicExchange = "atomic_exchange",
        /// Returns whether it stored; else the texel goes to where the expected one came from.
        AtomicCompareExchange = "atomic_compare_exchange_weak",
        AtomicAdd = "atomic_fetch_add",
        AtomicSub = "atomic_fetch_sub",
        AtomicMin = "atomic_fetch_min",
        AtomicMax = "atomic_fetch_max",
        AtomicAnd = "atomic_fetch_and",
        AtomicOr = "atomic_fetch_or",
        AtomicXor = "atomic_fetch_xor",
    }
}

/// Which textures a function takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TextureKind {
    /// Dimensions.
    pub texture_type: TextureType,
    /// Whether its texels are depths: one channel of float.
    pub is_depth: bool,
}

/// One texture function, less the type in its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TextureFunction {
    /// What it does.
    pub operation: TextureOperation,
    /// With what.
    pub kind: TextureKind,
    /// Whether positions have 16 bits.
    pub short_positions: bool,
}

/// What an operand of a texture function is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// The texture.
    Texture,
    /// How to sample it.
    Sampler,
    /// No meaning here: the sampler of a read, the mark of a depth texture, flags, the access, an order of atomics.
    Ignored,
    /// Where: a vector of floats for samples, of integers otherwise.
    Position,
    /// Element of an array.
    Layer,
    /// Face of a cube.
    Face,
    /// Texels to add to the position; of a read too.
    Offset,
    /// Whether [`Role::Level`] is a level and no bias.
    IsLevel,
    /// A level: float for samples, integer otherwise.
    Level,
    /// Least level of detail.
    MinLevel,
    /// A color.
    Value,
    /// Which component to gather.
    Component,
    /// What depths are compared with.
    Reference,
    /// How the position changes along x of an image.
    GradientX,
    /// How the position changes along y of an image.
    GradientY,
    /// Where the expected color is and the old one goes.
    Expected,
}

impl TextureKind {
    /// Every kind with AIR's name for it.
    fn all() -> impl Iterator<Item = Self> {
        let depths = [
            TextureType::Texture2d,
            TextureType::Texture2dArray,
            TextureType::TextureCube,
            TextureType::TextureCubeArray,
        ];
        let textures = TextureType::ALL.into_iter().map(|texture_type| Self { texture_type, is_depth: false });
        textures.chain(depths.into_iter().map(|texture_type| Self { texture_type, is_depth: true }))
    }

    fn name(self) -> String {
        match self {
            Self { texture_type: TextureType::TextureBuffer, .. } => "texture_buffer_1d".to_owned(),
            Self { texture_type, is_depth: false } => format!("texture_{}", texture_type.name()),
            Self { texture_type, is_depth: true } => format!("depth_{}", texture_type.name()),
        }
    }

    /// Components of a position of reads and writes.
    fn position_lanes(self) -> u32 {
        match self.texture_type {
            TextureType::Texture1d | TextureType::Texture1dArray | TextureType::TextureBuffer => 1,
            TextureType::Texture2d | TextureType::Texture2dArray => 2,
            TextureType::TextureCube | TextureType::TextureCubeArray => 2,
            TextureType::Texture3d => 3,
        }
    }

    /// Components of a position of samples: a direction for cubes.
    fn sample_lanes(self) -> u32 {
        if self.is_cube() { 3 } else { self.position_lanes() }
    }

    fn is_cube(self) -> bool {
        self.texture_type.faces() == 6
    }

    fn is_array(self) -> bool {
        match self.texture_type {
            TextureType::Texture1dArray | TextureType::Texture2dArray | TextureType::TextureCubeArray => true,
            TextureType::Texture1d
            | TextureType::Texture2d
            | TextureType::Texture3d
            | TextureType::TextureCube
            | TextureType::TextureBuffer => false,
        }
    }

    fn is_buffer(self) -> bool {
        self.texture_type == TextureType::TextureBuffer
    }

    fn has(self, operation: TextureOperation) -> bool {
        use TextureOperation as Op;
        let is_flat = self.position_lanes() == 2;
        match operation {
            Op::Read | Op::Width | Op::IsNull => true,
            Op::Write | Op::Fence => !self.is_depth,
            Op::Sample => !self.is_buffer(),
            Op::SampleGradient => !self.is_buffer() && !self.is_cube(),
            Op::SampleCompare | Op::GatherCompare => self.is_depth,
            Op::SampleCompareGradient => self.is_depth && !self.is_cube(),
            Op::Gather | Op::Height => is_flat || (operation == Op::Height && self.position_lanes() == 3),
            Op::Depth => self.position_lanes() == 3,
            Op::ArraySize => self.is_array(),
            Op::MipLevels => !self.is_buffer(),
            Op::AtomicLoad
            | Op::AtomicStore
            | Op::AtomicExchange
            | Op::AtomicCompareExchange
            | Op::AtomicAdd
            | Op::AtomicSub
            | Op::AtomicMin
            | Op::AtomicMax
            | Op::AtomicAnd
            | Op::AtomicOr
            | Op::AtomicXor => !self.is_depth && !self.is_cube(),
        }
    }
}

impl TextureOperation {
    /// Whether it is an atomic access of a texel.
    #[must_use]
    pub fn is_atomic(self) -> bool {
        self.name().starts_with("atomic")
    }

    fn is_query(self) -> bool {
        self.name().starts_with("get_") || self == Self::IsNull
    }

    fn has_sampler(self) -> bool {
        self.name().starts_with("sample") || self.name().starts_with("gather")
    }
}

/// The elements of an operation's colors, with the sign letter of their names; one without meaning where names have none.
fn elements(operation: TextureOperation, kind: TextureKind) -> Vec<(Option<Sign>, Element)> {
    let integer = |element| [Sign::Signed, Sign::Unsigned].map(|sign| (Some(sign), element));
    if operation.is_atomic() {
        return integer(Element::I32).to_vec();
    }
    if operation.is_query() || operation == TextureOperation::Fence || kind.is_depth {
        return vec![(None, Element::F32)];
    }
    let floats = [(None, Element::F32), (None, Element::F16)];
    floats.into_iter().chain(integer(Element::I32)).chain(integer(Element::I16)).collect()
}

pub(super) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for &operation in TextureOperation::ALL {
        let with_short = operation.is_atomic() || matches!(operation, TextureOperation::Read | TextureOperation::Write);
        for kind in TextureKind::all().filter(|kind| kind.has(operation)) {
            for short_positions in [false, true].into_iter().filter(|&short| with_short || !short) {
                let function = TextureFunction { operation, kind, short_positions };
                let colors = elements(operation, kind).into_iter();
                rows.extend(colors.map(|(sign, element)| row(function, sign, element)));
            }
        }
    }
    rows
}

fn row(function: TextureFunction, sign: Option<Sign>, element: Element) -> Row {
    use TextureOperation as Op;
    let reference = Reference::ByEngine("textures are memory that the host lays out");
    let name = name(function, sign, element);
    let mut row = Row::pure(name, Operation::Texture(function), element, reference);
    row.sign = sign;
    row.lift = Lift::None;
    row.effects = Effects::Memory;
    row.convergent = matches!(function.operation, Op::Sample | Op::SampleCompare);
    row.signatures = forms(function, element)
        .into_iter()
        .map(|form| Signature {
            result: result(function, element),
            operands: form.into_iter().map(|(_, slot)| slot).collect(),
        })
        .collect();
    row
}

fn name(function: TextureFunction, sign: Option<Sign>, element: Element) -> String {
    use TextureOperation as Op;
    let TextureFunction { operation, kind, short_positions } = function;
    let texture = kind.name();
    if operation.is_query() || operation == Op::Fence {
        return format!("air.{}_{texture}", operation.name());
    }
    let (operation_name, texture) = match operation {
        Op::SampleGradient => ("sample", format!("{texture}_grad")),
        Op::SampleCompareGradient => ("sample_compare", format!("{texture}_grad")),
        _ if operation.is_atomic() => (operation.name(), format!("explicit_{texture}")),
        _ => (operation.name(), texture),
    };
    let short = if short_positions { ".i16" } else { "" };
    let sign = sign.map_or(String::new(), |sign| format!(".{}", sign.letter()));
    let is_scalar = kind.is_depth && operation != Op::Gather;
    let lanes = if is_scalar { "" } else { "v4" };
    format!("air.{operation_name}_{texture}{short}{sign}.{lanes}{element}")
}

fn result(function: TextureFunction, element: Element) -> Slot {
    use TextureOperation as Op;
    match function.operation {
        Op::Write | Op::Fence | Op::AtomicStore => Slot::Void,
        Op::Gather | Op::GatherCompare => Slot::WithStatus(element, 4),
        Op::Read | Op::Sample | Op::SampleGradient | Op::SampleCompare | Op::SampleCompareGradient => {
            Slot::WithStatus(element, if function.kind.is_depth { 1 } else { 4 })
        }
        Op::Width | Op::Height | Op::Depth | Op::ArraySize | Op::MipLevels => Slot::Scalar(Element::I32),
        Op::IsNull | Op::AtomicCompareExchange => Slot::Scalar(Element::I1),
        Op::AtomicLoad
        | Op::AtomicExchange
        | Op::AtomicAdd
        | Op::AtomicSub
        | Op::AtomicMin
        | Op::AtomicMax
        | Op::AtomicAnd
        | Op::AtomicOr
        | Op::AtomicXor => Slot::Vector(element, 4),
    }
}

/// Operands of one form, in order.
type Form = Vec<(Role, Slot)>;

fn vector(element: Element, lanes: u32) -> Slot {
    if lanes == 1 { Slot::Scalar(element) } else { Slot::Vector(element, lanes) }
}

/// The forms of `function` whose colors are of `element`: operands in order. They differ in their number.
#[must_use]
pub fn forms(function: TextureFunction, element: Element) -> Vec<Form> {
    use TextureOperation as Op;
    let TextureFunction { operation, kind, .. } = function;
    let texture = (Role::Texture, Slot::Pointer(AddressSpace::Device));
    match operation {
        Op::Read => read_forms(function, texture),
        Op::Write => {
            let mut form = vec![texture];
            form.extend(position(function));
            form.push((Role::Value, Slot::Vector(element, 4)));
            form.extend(integer_level(function));
            form.push((Role::Ignored, Slot::Scalar(Element::I32)));
            vec![form]
        }
        Op::Width | Op::Height | Op::Depth => {
            let with_level = vec![texture, (Role::Level, Slot::Scalar(Element::I32))];
            if kind.is_buffer() { vec![vec![texture]] } else { vec![with_level] }
        }
        Op::ArraySize | Op::MipLevels | Op::Fence | Op::IsNull => vec![vec![texture]],
        _ if operation.has_sampler() => vec![sample_form(function, texture)],
        _ => atomic_forms(function, texture, element),
    }
}

/// Position, face and layer of a texel.
fn position(function: TextureFunction) -> Form {
    let TextureFunction { kind, short_positions, .. } = function;
    let integer = if short_positions { Element::I16 } else { Element::I32 };
    let mut form = vec![(Role::Position, vector(integer, kind.position_lanes()))];
    if kind.is_cube() {
        form.push((Role::Face, Slot::Scalar(integer)));
    }
    if kind.is_array() {
        form.push((Role::Layer, Slot::Scalar(integer)));
    }
    form
}

fn integer_level(function: TextureFunction) -> Option<(Role, Slot)> {
    let integer = if function.short_positions { Element::I16 } else { Element::I32 };
    (!function.kind.is_buffer()).then_some((Role::Level, Slot::Scalar(integer)))
}

fn read_forms(function: TextureFunction, texture: (Role, Slot)) -> Vec<Form> {
    let kind = function.kind;
    let mark = kind.is_depth.then_some((Role::Ignored, Slot::Scalar(Element::I32)));
    let access = (Role::Ignored, Slot::Scalar(Element::I32));
    let integer = if function.short_positions { Element::I16 } else { Element::I32 };
    let offset = (Role::Offset, vector(integer, kind.position_lanes()));
    let form = |has_sampler: bool, has_offset: bool| {
        let sampler = (Role::Ignored, Slot::Pointer(AddressSpace::Constant));
        let mut form = vec![texture];
        form.extend(has_sampler.then_some(sampler));
        form.extend(mark);
        form.extend(position(function));
        form.extend(has_offset.then_some(offset));
        form.extend(integer_level(function));
        form.push(access);
        form
    };
    let may_have_offset = !kind.is_cube() && !kind.is_buffer();
    let must_have_offset = may_have_offset && kind.position_lanes() > 1;
    let mut forms = vec![form(false, false)];
    if !must_have_offset {
        forms.push(form(true, false));
    }
    if may_have_offset {
        forms.push(form(true, true));
    }
    forms
}

fn sample_form(function: TextureFunction, texture: (Role, Slot)) -> Form {
    use TextureOperation as Op;
    const FLOAT: Slot = Slot::Scalar(Element::F32);
    const WORD: Slot = Slot::Scalar(Element::I32);
    const TRUTH: Slot = Slot::Scalar(Element::I1);
    let TextureFunction { operation, kind, .. } = function;
    let position = vector(Element::F32, kind.sample_lanes());
    let mut form = vec![texture, (Role::Sampler, Slot::Pointer(AddressSpace::Constant))];
    form.extend(kind.is_depth.then_some((Role::Ignored, WORD)));
    form.push((Role::Position, position));
    form.extend(kind.is_array().then_some((Role::Layer, WORD)));
    if matches!(operation, Op::SampleCompare | Op::SampleCompareGradient | Op::GatherCompare) {
        form.push((Role::Reference, FLOAT));
    }
    if matches!(operation, Op::SampleGradient | Op::SampleCompareGradient) {
        form.extend([(Role::GradientX, position), (Role::GradientY, position), (Role::MinLevel, FLOAT)]);
    }
    if !kind.is_cube() {
        form.extend([(Role::Ignored, TRUTH), (Role::Offset, vector(Element::I32, kind.position_lanes()))]);
    }
    if matches!(operation, Op::Sample | Op::SampleCompare) {
        form.extend([(Role::IsLevel, TRUTH), (Role::Level, FLOAT), (Role::MinLevel, FLOAT)]);
    }
    if operation == Op::Gather && !kind.is_depth {
        form.push((Role::Component, WORD));
    }
    form.push((Role::Ignored, WORD));
    form
}

fn atomic_forms(function: TextureFunction, texture: (Role, Slot), element: Element) -> Vec<Form> {
    use TextureOperation as Op;
    const WORD: Slot = Slot::Scalar(Element::I32);
    let TextureFunction { operation, kind, short_positions } = function;
    let value = (Role::Value, Slot::Vector(element, 4));
    let integer = if short_positions { Element::I16 } else { Element::I32 };
    let offset = (Role::Offset, vector(integer, kind.position_lanes()));
    let form = |has_offset: bool| {
        let mut form = vec![texture];
        form.extend((operation == Op::AtomicStore).then_some(value));
        form.extend(position(function));
        form.extend(has_offset.then_some(offset));
        match operation {
            Op::AtomicLoad | Op::AtomicStore => {}
            Op::AtomicCompareExchange => {
                form.extend([(Role::Expected, Slot::Pointer(AddressSpace::Thread)), value, (Role::Ignored, WORD)]);
            }
            _ => form.push(value),
        }
        form.extend([(Role::Ignored, WORD), (Role::Ignored, WORD)]);
        form
    };
    if kind.position_lanes() > 1 { vec![form(false), form(true)] } else { vec![form(false)] }
}

#[cfg(test)]
mod tests {
    use openmps_engine::AddressSpace;

    use super::*;
    use crate::intrinsics::lookup;

    fn spell(slot: &Slot) -> String {
        match *slot {
            Slot::Void => "void".to_owned(),
            Slot::Pointer(AddressSpace::Thread) => "ptr".to_owned(),
            Slot::Pointer(space) => format!("ptr{}", space as u32),
            Slot::Lifted(element) | Slot::Scalar(element) => element.to_string(),
            Slot::Vector(element, lanes) => format!("<{lanes} x {element}>"),
            Slot::WithStatus(element, 1) => format!("{{{element}, i8}}"),
            Slot::WithStatus(element, lanes) => format!("{{<{lanes} x {element}>, i8}}"),
        }
    }

    /// Declarations in modules of Apple's compiler.
    #[test]
    fn functions_have_the_signatures_of_apples_modules() {
        for line in [
            "air.sample_texture_2d.v4f32 {<4 x f32>, i8} (ptr1, ptr2, <2 x f32>, i1, <2 x i32>, i1, f32, f32, i32)",
            "air.sample_texture_1d_array.v4f32 {<4 x f32>, i8} (ptr1, ptr2, f32, i32, i1, i32, i1, f32, f32, i32)",
            "air.sample_texture_2d_array.v4f32 {<4 x f32>, i8} (ptr1, ptr2, <2 x f32>, i32, i1, <2 x i32>, i1, f32, f32, i32)",
            "air.sample_texture_2d.s.v4i16 {<4 x i16>, i8} (ptr1, ptr2, <2 x f32>, i1, <2 x i32>, i1, f32, f32, i32)",
            "air.sample_texture_3d.u.v4i32 {<4 x i32>, i8} (ptr1, ptr2, <3 x f32>, i1, <3 x i32>, i1, f32, f32, i32)",
            "air.sample_texture_cube.v4f32 {<4 x f32>, i8} (ptr1, ptr2, <3 x f32>, i1, f32, f32, i32)",
            "air.sample_texture_cube_array.v4f32 {<4 x f32>, i8} (ptr1, ptr2, <3 x f32>, i32, i1, f32, f32, i32)",
            "air.sample_texture_3d_grad.v4f32 {<4 x f32>, i8} (ptr1, ptr2, <3 x f32>, <3 x f32>, <3 x f32>, f32, i1, <3 x i32>, i32)",
            "air.sample_depth_2d_grad.f32 {f32, i8} (ptr1, ptr2, i32, <2 x f32>, <2 x f32>, <2 x f32>, f32, i1, <2 x i32>, i32)",
            "air.sample_depth_cube.f32 {f32, i8} (ptr1, ptr2, i32, <3 x f32>, i1, f32, f32, i32)",
            "air.sample_compare_depth_2d.f32 {f32, i8} (ptr1, ptr2, i32, <2 x f32>, f32, i1, <2 x i32>, i1, f32, f32, i32)",
            "air.sample_compare_depth_2d_array_grad.f32 {f32, i8} (ptr1, ptr2, i32, <2 x f32>, i32, f32, <2 x f32>, <2 x f32>, f32, i1, <2 x i32>, i32)",
            "air.gather_texture_2d.s.v4i32 {<4 x i32>, i8} (ptr1, ptr2, <2 x f32>, i1, <2 x i32>, i32, i32)",
            "air.gather_texture_cube_array.v4f32 {<4 x f32>, i8} (ptr1, ptr2, <3 x f32>, i32, i32, i32)",
            "air.gather_depth_2d.v4f32 {<4 x f32>, i8} (ptr1, ptr2, i32, <2 x f32>, i1, <2 x i32>, i32)",
            "air.gather_compare_depth_cube_array.f32 {<4 x f32>, i8} (ptr1, ptr2, i32, <3 x f32>, i32, f32, i32)",
            "air.read_texture_2d.v4f32 {<4 x f32>, i8} (ptr1, ptr2, <2 x i32>, <2 x i32>, i32, i32)",
            "air.read_texture_2d.v4f16 {<4 x f16>, i8} (ptr1, <2 x i32>, i32, i32)",
            "air.read_texture_2d.i16.v4f32 {<4 x f32>, i8} (ptr1, <2 x i16>, i16, i32)",
            "air.read_texture_2d_array.u.v4i16 {<4 x i16>, i8} (ptr1, ptr2, <2 x i32>, i32, <2 x i32>, i32, i32)",
            "air.read_texture_cube_array.v4f32 {<4 x f32>, i8} (ptr1, ptr2, <2 x i32>, i32, i32, i32, i32)",
            "air.read_texture_buffer_1d.v4f16 {<4 x f16>, i8} (ptr1, ptr2, i32, i32)",
            "air.read_depth_2d_array.i16.f32 {f32, i8} (ptr1, ptr2, i32, <2 x i16>, i16, <2 x i16>, i16, i32)",
            "air.read_depth_cube.f32 {f32, i8} (ptr1, ptr2, i32, <2 x i32>, i32, i32, i32)",
            "air.write_texture_2d.u.v4i32 void (ptr1, <2 x i32>, <4 x i32>, i32, i32)",
            "air.write_texture_2d_array.i16.s.v4i32 void (ptr1, <2 x i16>, i16, <4 x i32>, i16, i32)",
            "air.write_texture_1d.i16.v4f32 void (ptr1, i16, <4 x f32>, i16, i32)",
            "air.write_texture_3d.i16.v4f16 void (ptr1, <3 x i16>, <4 x f16>, i16, i32)",
            "air.write_texture_cube_array.i16.v4f32 void (ptr1, <2 x i16>, i16, i16, <4 x f32>, i16, i32)",
            "air.write_texture_buffer_1d.v4f16 void (ptr1, i32, <4 x f16>, i32)",
            "air.get_width_texture_2d i32 (ptr1, i32)",
            "air.get_height_depth_2d_array i32 (ptr1, i32)",
            "air.get_num_mip_levels_texture_3d i32 (ptr1)",
            "air.get_array_size_texture_cube_array i32 (ptr1)",
            "air.is_null_texture_1d i1 (ptr1)",
            "air.fence_texture_buffer_1d void (ptr1)",
            "air.get_read_sampler ptr2 ()",
            "air.atomic_fetch_add_explicit_texture_buffer_1d.u.v4i32 <4 x i32> (ptr1, i32, <4 x i32>, i32, i32)",
            "air.atomic_fetch_max_explicit_texture_2d.i16.u.v4i32 <4 x i32> (ptr1, <2 x i16>, <2 x i16>, <4 x i32>, i32, i32)",
            "air.atomic_load_explicit_texture_buffer_1d.u.v4i32 <4 x i32> (ptr1, i32, i32, i32)",
            "air.atomic_store_explicit_texture_buffer_1d.u.v4i32 void (ptr1, <4 x i32>, i32, i32, i32)",
            "air.atomic_compare_exchange_weak_explicit_texture_2d_array.u.v4i32 i1 (ptr1, <2 x i32>, i32, <2 x i32>, ptr, <4 x i32>, i32, i32, i32)",
        ] {
            let (name, signature) = line.split_once(' ').unwrap();
            let resolved = lookup(name).unwrap_or_else(|| panic!("{name} is unknown"));
            let known: Vec<String> = resolved
                .row
                .signatures
                .iter()
                .map(|known| {
                    let operands: Vec<String> = known.operands.iter().map(spell).collect();
                    format!("{} ({})", spell(&known.result), operands.join(", "))
                })
                .collect();
            assert!(known.iter().any(|known| known == signature), "{name}: {signature} is not among {known:?}");
        }
    }

    #[test]
    fn forms_of_a_function_differ_in_their_number_of_operands() {
        for row in rows() {
            let Operation::Texture(function) = row.operation else { panic!("{} is a texture's", row.name) };
            let mut counts: Vec<usize> = forms(function, row.element).iter().map(Vec::len).collect();
            counts.sort_unstable();
            counts.dedup();
            assert_eq!(counts.len(), row.signatures.len(), "{}", row.name);
        }
    }
}
