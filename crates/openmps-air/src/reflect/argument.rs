//! One argument node: `i32 position, [gate], kind, properties…`.

use openmps_engine::{
    AddressSpace, Argument, ArgumentKind, BufferAccess, BufferIndex, Builtin, BuiltinType, Presence, SamplerIndex,
    Scalar, TextureAccess, TextureComponent, TextureIndex, TextureType,
};
use openmps_llvm::{Global, Metadata, MetadataOperand, Type, Value};

use crate::limits;

/// What the properties of a node say.
#[derive(Default)]
struct Properties {
    buffer_size: Option<u32>,
    location_index: Option<u32>,
    /// How many indices it takes, from `location_index` on.
    location_count: u32,
    access: Option<BufferAccess>,
    is_sampled: bool,
    address_space: Option<u32>,
    type_name: String,
    name: String,
}

/// The parameter's number, the argument, and the variable that decides whether it exists where that has no value yet.
///
/// # Errors
/// What is wrong with the node.
pub(super) fn read<'m>(
    node: Metadata<'m>,
    parameters: &[Value<'m>],
) -> Result<(usize, Argument, Option<Global<'m>>), String> {
    let operands = node.operands();
    let mut rest = operands.iter();
    let position = rest.next().and_then(MetadataOperand::as_int).ok_or("the first operand is no position")?;
    let position = usize::try_from(position).map_err(|_| "the position is too large")?;
    let parameter = parameters
        .get(position)
        .ok_or_else(|| format!("position {position}, but the function has {} parameters", parameters.len()))?;
    let mut kind = text(rest.next(), "the kind")?;
    let (mut presence, mut open_gate) = (Presence::Always, None);
    if kind == "air.function_constant" {
        let node = rest.next().and_then(MetadataOperand::as_node).ok_or("the gate is no node")?;
        (presence, open_gate) = gate(node)?;
        kind = text(rest.next(), "the kind")?;
    }
    let properties = properties(&mut rest)?;
    let kind = argument_kind(kind, &properties, parameter.ty())?;
    let argument = Argument { presence, ..Argument::new(kind, properties.name, properties.type_name) };
    Ok((position, argument, open_gate))
}

/// `{ variable, "bool", "name" }`: what the variable says, once it cannot change any more.
fn gate(node: Metadata<'_>) -> Result<(Presence, Option<Global<'_>>), String> {
    let operands = node.operands();
    let variable = operands.first().and_then(|operand| operand.as_value()?.as_global());
    let variable = variable.ok_or("the gate's first operand is no variable")?;
    let constant = text(operands.get(2), "the gate's name")?.to_owned();
    if variable.value_type().int_bits().is_none() {
        return Err(format!("the gate '{constant}' has type {}, expected a truth value", variable.value_type()));
    }
    let value = variable.initializer().filter(|_| variable.is_constant() && !variable.is_externally_initialized());
    Ok(match value.and_then(Value::as_const_int) {
        None => (Presence::Gated { constant }, Some(variable)),
        Some(0) => (Presence::Absent, None),
        Some(_) => (Presence::Always, None),
    })
}

type Operands<'a, 'm> = std::slice::Iter<'a, MetadataOperand<'m>>;

fn text<'a>(operand: Option<&'a MetadataOperand<'_>>, what: &str) -> Result<&'a str, String> {
    operand.and_then(MetadataOperand::as_str).ok_or_else(|| format!("{what} is no string"))
}

fn number(operands: &mut Operands<'_, '_>, key: &str) -> Result<u32, String> {
    let value = operands.next().and_then(MetadataOperand::as_int);
    value.and_then(|value| u32::try_from(value).ok()).ok_or_else(|| format!("'{key}' has no 32-bit number behind it"))
}

/// Reads the properties behind the kind, in any order.
fn properties(rest: &mut Operands<'_, '_>) -> Result<Properties, String> {
    let mut properties = Properties::default();
    while let Some(operand) = rest.next() {
        let key = text(Some(operand), "a property's name")?;
        match key {
            "air.buffer_size" => properties.buffer_size = Some(number(rest, key)?),
            "air.location_index" => {
                properties.location_index = Some(number(rest, key)?);
                properties.location_count = number(rest, key)?;
            }
            "air.read" => properties.access = Some(BufferAccess::Read),
            "air.write" => properties.access = Some(BufferAccess::Write),
            "air.read_write" => properties.access = Some(BufferAccess::ReadWrite),
            "air.sample" => properties.is_sampled = true,
            "air.address_space" => properties.address_space = Some(number(rest, key)?),
            "air.arg_type_name" => text(rest.next(), key)?.clone_into(&mut properties.type_name),
            "air.arg_name" => text(rest.next(), key)?.clone_into(&mut properties.name),
            "air.struct_type_info" | "air.arg_type_size" | "air.arg_type_align_size" => {
                rest.next();
            }
            "air.arg_unused" => {}
            unknown => return Err(format!("unknown property '{unknown}'")),
        }
    }
    Ok(properties)
}

fn argument_kind(kind: &str, properties: &Properties, ty: Type<'_>) -> Result<ArgumentKind, String> {
    match kind {
        "air.texture" => texture(properties, ty),
        "air.sampler" => sampler(properties, ty),
        "air.buffer" => buffer(properties, ty),
        "air.indirect_buffer" => match buffer(properties, ty)? {
            ArgumentKind::Buffer { index, address_space, access, size_bytes_min } => {
                Ok(ArgumentKind::ArgumentBuffer { index, address_space, access, size_bytes_min })
            }
            other => Err(format!("an argument buffer lives in device or constant memory, not as {other:?}")),
        },
        "air.visible_function_table" => {
            let index = properties.location_index.ok_or("a function table without 'air.location_index'")?;
            check_index("buffer", index, limits::BUFFERS_MAX)?;
            if ty.address_space() != Some(AddressSpace::Device as u32) {
                return Err(format!("the parameter has type {ty}, expected ptr addrspace(1)"));
            }
            Ok(ArgumentKind::VisibleFunctionTable { index: BufferIndex(index) })
        }
        _ => {
            let builtin = kind.strip_prefix("air.").and_then(Builtin::from_name);
            let builtin = builtin.ok_or_else(|| format!("arguments of kind '{kind}' are not supported"))?;
            let ty = builtin_type(ty).ok_or_else(|| {
                format!("'{kind}' has type {ty}, expected i16, i32 or a vector of two or three of them")
            })?;
            Ok(ArgumentKind::Builtin { builtin, ty })
        }
    }
}

fn buffer(properties: &Properties, ty: Type<'_>) -> Result<ArgumentKind, String> {
    let index = properties.location_index.ok_or("a buffer without 'air.location_index'")?;
    let address_space = match properties.address_space {
        Some(1) => AddressSpace::Device,
        Some(2) => AddressSpace::Constant,
        Some(3) => AddressSpace::Threadgroup,
        Some(other) => return Err(format!("buffers live in address spaces 1, 2 and 3, not {other}")),
        None => return Err("a buffer without 'air.address_space'".to_owned()),
    };
    if properties.location_count != 1 {
        return Err(format!("a buffer takes {} indices, expected 1", properties.location_count));
    }
    if ty.address_space() != properties.address_space {
        return Err(format!("the parameter has type {ty}, expected ptr addrspace({})", address_space as u32));
    }
    if address_space == AddressSpace::Threadgroup {
        check_index("threadgroup", index, limits::THREADGROUP_BUFFERS_MAX)?;
        return Ok(ArgumentKind::ThreadgroupMemory { index: BufferIndex(index) });
    }
    check_index("buffer", index, limits::BUFFERS_MAX)?;
    let access = properties.access.ok_or("a buffer without 'air.read', 'air.write' or 'air.read_write'")?;
    let index = BufferIndex(index);
    Ok(ArgumentKind::Buffer { index, address_space, access, size_bytes_min: properties.buffer_size })
}

fn texture(properties: &Properties, ty: Type<'_>) -> Result<ArgumentKind, String> {
    let index = properties.location_index.ok_or("a texture without 'air.location_index'")?;
    let count = array_length(properties, ty, AddressSpace::Device)?;
    check_last_index("texture", index, properties.location_count, limits::TEXTURES_MAX)?;
    let access = match (properties.is_sampled, properties.access) {
        (true, _) => TextureAccess::Sample,
        (false, Some(BufferAccess::Read)) => TextureAccess::Read,
        (false, Some(BufferAccess::Write)) => TextureAccess::Write,
        (false, Some(BufferAccess::ReadWrite)) => TextureAccess::ReadWrite,
        (false, None) => return Err("a texture without 'air.sample', 'air.read' or the like".to_owned()),
    };
    let unknown = || format!("'{}' is no texture type that this program knows", properties.type_name);
    let (texture_type, component) = texture_type(&properties.type_name).ok_or_else(unknown)?;
    Ok(ArgumentKind::Texture { index: TextureIndex(index), count, texture_type, component, access })
}

fn sampler(properties: &Properties, ty: Type<'_>) -> Result<ArgumentKind, String> {
    let index = properties.location_index.ok_or("a sampler without 'air.location_index'")?;
    let count = array_length(properties, ty, AddressSpace::Constant)?;
    check_last_index("sampler", index, properties.location_count, limits::SAMPLERS_MAX)?;
    Ok(ArgumentKind::Sampler { index: SamplerIndex(index), count })
}

/// `None` where the parameter is one handle, else the handles of the array in thread memory that it points to.
fn array_length(properties: &Properties, ty: Type<'_>, handle_space: AddressSpace) -> Result<Option<u32>, String> {
    let count = properties.location_count;
    match ty.address_space() {
        // The discriminants of address spaces are AIR's numbers.
        Some(space) if space == handle_space as u32 && count == 1 => Ok(None),
        Some(space) if space == AddressSpace::Thread as u32 && count > 0 => Ok(Some(count)),
        _ => Err(format!("takes {count} indices, but the parameter has type {ty}")),
    }
}

/// Dimensions and component of `texture2d<float, sample>`, `depth2d<float, sample>`, `array<texture2d<half, read>, 4>`.
fn texture_type(name: &str) -> Option<(TextureType, TextureComponent)> {
    let name = name.strip_prefix("array<").unwrap_or(name);
    let (kind, rest) = name.split_once('<')?;
    let component = rest.split([',', '>']).next()?;
    let component = match component {
        "float" => TextureComponent::Float,
        "half" => TextureComponent::Half,
        "int" => TextureComponent::Int,
        "uint" => TextureComponent::Uint,
        "short" => TextureComponent::Short,
        "ushort" => TextureComponent::Ushort,
        _ => return None,
    };
    let named = |name: &str| TextureType::ALL.into_iter().find(|texture_type| texture_type.name() == name);
    if let Some(name) = kind.strip_prefix("depth") {
        return Some((named(name)?, TextureComponent::Depth));
    }
    let name = kind.strip_prefix("texture")?;
    Some((named(name.strip_prefix('_').unwrap_or(name))?, component))
}

fn check_last_index(table: &str, index: u32, count: u32, limit: u32) -> Result<(), String> {
    check_index(table, index.saturating_add(count.max(1) - 1), limit)
}

fn check_index(table: &str, index: u32, limit: u32) -> Result<(), String> {
    if index < limit { Ok(()) } else { Err(format!("{table} index {index}, the largest is {}", limit - 1)) }
}

fn builtin_type(ty: Type<'_>) -> Option<BuiltinType> {
    let scalar = match ty.scalar().int_bits()? {
        16 => Scalar::U16,
        32 => Scalar::U32,
        _ => return None,
    };
    let lanes = u8::try_from(ty.lanes()).ok().filter(|lanes| (1..=3).contains(lanes))?;
    Some(BuiltinType { scalar, lanes })
}
