//! A launch as a capture records it: which memory it can reach, and what is bound where.

use std::collections::BTreeSet;

use openmps_engine::{
    ArgumentKind as EngineKind, Binding as EngineBinding, Bindings, BufferAccess, KernelSignature, Presence,
    TextureAccess, TextureView,
};
use openmps_trace::{Access, Argument, ArgumentKind, Binding, Holder, Place, Relocation, Texture, TextureLevel};

use super::snapshot::{Range, join, texture_range};
use crate::memory::existing_allocator;

/// An address takes this many bytes.
const WORD_BYTES: usize = 8;
/// How much of an argument buffer is looked through for addresses.
const ADDRESSES_BYTES_MAX: usize = 64 * 1024;

/// The tables of a launch in terms of regions.
pub(super) struct Layout {
    /// Without overlaps, in order of address, each with whether the kernel may write there.
    pub(super) regions: Vec<(Range, bool)>,
    pub(super) buffers: Vec<(u32, Binding)>,
    pub(super) textures: Vec<(u32, Texture)>,
    pub(super) relocations: Vec<Relocation>,
}

/// An address that was found in memory or in inline bytes.
struct Pointer {
    /// The range that holds it, else the index of the inline bytes.
    holder: Result<Range, u32>,
    offset_bytes: u64,
    target: u64,
}

impl Layout {
    /// The layout of a launch. Calls the allocator.
    pub(super) fn of(signature: &KernelSignature, bindings: &Bindings) -> Self {
        let pointers = pointers(signature, bindings);
        let written = written_ranges(signature, bindings, &pointers);
        let mut ranges: Vec<Range> = bindings.iter().filter_map(|(_, binding)| memory_of(binding)).collect();
        ranges.extend(bindings.textures().map(|(_, view)| texture_range(view)));
        ranges.extend(pointers.iter().filter_map(|pointer| block_of(pointer.target)));
        let regions = join(ranges);
        let is_written = |region: Range| written.iter().any(|range| range.size_bytes != 0 && region.contains(*range));
        Self {
            buffers: bindings.iter().map(|(index, binding)| (index.0, bound(binding, &regions))).collect(),
            textures: bindings.textures().map(|(index, view)| (index.0, texture(view, &regions))).collect(),
            relocations: pointers.iter().filter_map(|pointer| relocation(pointer, &regions)).collect(),
            regions: regions.iter().map(|region| (*region, is_written(*region))).collect(),
        }
    }
}

/// The memory of a buffer binding.
fn memory_of(binding: &EngineBinding) -> Option<Range> {
    match binding {
        EngineBinding::Buffer { address, size_bytes } => Some(Range::new(*address, *size_bytes)),
        EngineBinding::Bytes(_) | EngineBinding::ThreadgroupMemory { .. } | EngineBinding::Null => None,
    }
}

/// The allocator's block that `address` lies in.
fn block_of(address: u64) -> Option<Range> {
    let pointer = std::ptr::without_provenance(usize::try_from(address).ok()?);
    let block = existing_allocator()?.block_containing(pointer)?;
    Some(Range::new(block.base.as_ptr().addr() as u64, block.size_bytes))
}

/// Addresses of the allocator's blocks in inline bytes and argument buffers, where kernels expect addresses.
fn pointers(signature: &KernelSignature, bindings: &Bindings) -> Vec<Pointer> {
    let tables: BTreeSet<u32> = signature
        .arguments
        .iter()
        .filter_map(|argument| match argument.kind {
            EngineKind::ArgumentBuffer { index, .. } => Some(index.0),
            _ => None,
        })
        .collect();
    let mut found = Vec::new();
    for (index, binding) in bindings.iter() {
        match binding {
            EngineBinding::Bytes(bytes) => words(bytes, |offset_bytes, target| {
                found.push(Pointer { holder: Err(index.0), offset_bytes, target });
            }),
            EngineBinding::Buffer { address, size_bytes } if tables.contains(&index.0) => {
                let range = Range::new(*address, *size_bytes);
                let length = usize::try_from(range.size_bytes).unwrap_or(usize::MAX).min(ADDRESSES_BYTES_MAX);
                let mut bytes = vec![0; length];
                // SAFETY: who launched the kernel bound this memory, and the command keeps it.
                unsafe { range.read(0, &mut bytes) };
                words(&bytes, |offset_bytes, target| {
                    found.push(Pointer { holder: Ok(range), offset_bytes, target });
                });
            }
            EngineBinding::Buffer { .. } | EngineBinding::ThreadgroupMemory { .. } | EngineBinding::Null => {}
        }
    }
    found
}

/// Calls `found` for every aligned word that is an address of the allocator.
fn words(bytes: &[u8], mut found: impl FnMut(u64, u64)) {
    let Some(allocator) = existing_allocator() else { return };
    for (number, word) in bytes.as_chunks::<WORD_BYTES>().0.iter().enumerate() {
        let target = u64::from_le_bytes(*word);
        let Ok(address) = usize::try_from(target) else { continue };
        let pointer = std::ptr::without_provenance(address);
        if allocator.contains(pointer) && allocator.block_containing(pointer).is_some() {
            found((number * WORD_BYTES) as u64, target);
        }
    }
}

/// The memory that the kernel may write to. What addresses lead to counts, since nothing says how the kernel uses them.
fn written_ranges(signature: &KernelSignature, bindings: &Bindings, pointers: &[Pointer]) -> Vec<Range> {
    let mut written: Vec<Range> = pointers.iter().filter_map(|pointer| block_of(pointer.target)).collect();
    for argument in &signature.arguments {
        match argument.kind {
            EngineKind::Buffer { index, access, .. } | EngineKind::ArgumentBuffer { index, access, .. } => {
                if access != BufferAccess::Read {
                    written.extend(bindings.buffer(index).and_then(memory_of));
                }
            }
            EngineKind::Texture { index, count, access, .. } => {
                let indices = index.0..index.0.saturating_add(count.unwrap_or(1));
                let views = bindings.textures().filter(|(slot, _)| indices.contains(&slot.0));
                if matches!(access, TextureAccess::Write | TextureAccess::ReadWrite) {
                    written.extend(views.map(|(_, view)| texture_range(view)));
                }
            }
            EngineKind::VisibleFunctionTable { .. }
            | EngineKind::ThreadgroupMemory { .. }
            | EngineKind::Sampler { .. }
            | EngineKind::Builtin { .. } => {}
        }
    }
    written
}

/// Where `range` lies in the regions that were made from it.
fn place(range: Range, regions: &[Range]) -> Option<Place> {
    let number = regions.iter().position(|region| region.contains(range))?;
    Some(Place {
        region: u32::try_from(number).ok()?,
        offset_bytes: range.start - regions[number].start,
        size_bytes: range.size_bytes,
    })
}

fn bound(binding: &EngineBinding, regions: &[Range]) -> Binding {
    match binding {
        EngineBinding::Bytes(bytes) => Binding::Bytes(bytes.to_vec()),
        EngineBinding::Buffer { .. } | EngineBinding::ThreadgroupMemory { .. } | EngineBinding::Null => {
            memory_of(binding).and_then(|range| place(range, regions)).map_or(Binding::Null, Binding::Memory)
        }
    }
}

fn texture(view: &TextureView, regions: &[Range]) -> Texture {
    let level = |level: &openmps_engine::TextureLevel| TextureLevel {
        offset_bytes: level.offset_bytes,
        bytes_per_row: level.bytes_per_row,
        bytes_per_image: level.bytes_per_image,
    };
    Texture {
        // A texture has a texel, so its range is among the regions.
        place: place(texture_range(view), regions).unwrap_or(Place { region: 0, offset_bytes: 0, size_bytes: 0 }),
        texture_type: view.texture_type.name().into(),
        format: view.format.name().into(),
        size: view.size,
        array_length: view.array_length,
        levels: view.levels.iter().map(level).collect(),
        shader_read: view.usage.shader_read,
        shader_write: view.usage.shader_write,
    }
}

fn relocation(pointer: &Pointer, regions: &[Range]) -> Option<Relocation> {
    let target = place(Range::new(pointer.target, 0), regions)?;
    let (holder, offset_bytes) = match pointer.holder {
        Ok(range) => {
            let holder = place(range, regions)?;
            (Holder::Region(holder.region), holder.offset_bytes + pointer.offset_bytes)
        }
        Err(index) => (Holder::Bytes(index), pointer.offset_bytes),
    };
    Some(Relocation { holder, offset_bytes, region: target.region, target_bytes: target.offset_bytes })
}

/// A kernel's parameters as a capture describes them.
pub(super) fn arguments(signature: &KernelSignature) -> Vec<Argument> {
    let describe = |argument: &openmps_engine::Argument| {
        let access = match argument.kind {
            EngineKind::Buffer { access, .. } | EngineKind::ArgumentBuffer { access, .. } => match access {
                BufferAccess::Read => Access::Read,
                BufferAccess::Write => Access::Write,
                BufferAccess::ReadWrite => Access::ReadWrite,
            },
            EngineKind::Texture { access, .. } => match access {
                TextureAccess::Sample | TextureAccess::Read => Access::Read,
                TextureAccess::Write => Access::Write,
                TextureAccess::ReadWrite => Access::ReadWrite,
            },
            EngineKind::ThreadgroupMemory { .. } => Access::ReadWrite,
            EngineKind::VisibleFunctionTable { .. } | EngineKind::Sampler { .. } | EngineKind::Builtin { .. } => {
                Access::Read
            }
        };
        let kind = match argument.kind {
            _ if argument.presence == Presence::Absent => ArgumentKind::Absent,
            EngineKind::Buffer { index, .. } => ArgumentKind::Buffer(index.0),
            EngineKind::ArgumentBuffer { index, .. } => ArgumentKind::ArgumentBuffer(index.0),
            EngineKind::VisibleFunctionTable { index } => ArgumentKind::FunctionTable(index.0),
            EngineKind::ThreadgroupMemory { index } => ArgumentKind::ThreadgroupMemory(index.0),
            EngineKind::Texture { index, .. } => ArgumentKind::Texture(index.0),
            EngineKind::Sampler { index, .. } => ArgumentKind::Sampler(index.0),
            EngineKind::Builtin { builtin, .. } => ArgumentKind::Builtin(builtin.name().into()),
        };
        Argument { name: argument.name.clone(), type_name: argument.type_name.clone(), kind, access }
    };
    signature.arguments.iter().map(describe).collect()
}
