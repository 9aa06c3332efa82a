//! What a dispatch binds: buffers by device address, small constants by value, threadgroup memory by size, textures, samplers.

use serde::{Deserialize, Serialize};

use crate::error::DispatchError;
use crate::signature::{Argument, ArgumentKind};
use crate::texture::{SamplerState, TextureView, texture_mismatch};

/// An index in Metal's buffer argument table (0 to 30).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct BufferIndex(pub u32);

/// An index in Metal's texture argument table (0 to 127).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TextureIndex(pub u32);

/// An index in Metal's sampler argument table (0 to 15).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SamplerIndex(pub u32);

/// One entry of the buffer argument table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Binding {
    /// Device memory. On the CPU engine device addresses are host addresses; other engines need not have that.
    Buffer {
        /// First byte that the kernel sees (buffer address plus offset).
        address: u64,
        /// Bytes from `address` to the end of the buffer.
        size_bytes: u64,
    },
    /// Bytes copied into the command, `setBytes:length:atIndex:` in Metal.
    Bytes(Box<[u8]>),
    /// Dynamic threadgroup memory of this many bytes.
    ThreadgroupMemory {
        /// Bytes for each threadgroup.
        size_bytes: u32,
    },
    /// A null buffer: what an empty tensor binds. Reading it is the kernel's mistake.
    Null,
}

/// The argument tables of one dispatch, dense from index 0; `None` where nothing was bound.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bindings {
    buffers: Vec<Option<Binding>>,
    threadgroup: Vec<Option<u32>>,
    textures: Vec<Option<TextureView>>,
    samplers: Vec<Option<[u64; 2]>>,
}

impl Bindings {
    /// Binds `binding` at `index`, replacing what was there.
    pub fn set(&mut self, index: BufferIndex, binding: Binding) {
        match binding {
            Binding::ThreadgroupMemory { size_bytes } => put(&mut self.threadgroup, index.0, size_bytes),
            Binding::Buffer { .. } | Binding::Bytes(_) | Binding::Null => put(&mut self.buffers, index.0, binding),
        }
    }

    /// Binds `texture` at `index`, replacing what was there.
    pub fn set_texture(&mut self, index: TextureIndex, texture: TextureView) {
        put(&mut self.textures, index.0, texture);
    }

    /// Binds `sampler` at `index`, replacing what was there.
    pub fn set_sampler(&mut self, index: SamplerIndex, sampler: &SamplerState) {
        put(&mut self.samplers, index.0, sampler.words());
    }

    /// What is bound at texture index `index`.
    #[must_use]
    pub fn texture(&self, index: TextureIndex) -> Option<&TextureView> {
        self.textures.get(index.0 as usize)?.as_ref()
    }

    /// AIR's words of the sampler that is bound at `index`; see [`SamplerState::words`].
    #[must_use]
    pub fn sampler(&self, index: SamplerIndex) -> Option<&[u64; 2]> {
        self.samplers.get(index.0 as usize)?.as_ref()
    }

    /// What is bound at buffer index `index`.
    #[must_use]
    pub fn buffer(&self, index: BufferIndex) -> Option<&Binding> {
        self.buffers.get(index.0 as usize)?.as_ref()
    }

    /// The texture at `index` for `argument` of kernel `kernel`, or for one element of it where it is an array.
    ///
    /// # Errors
    /// [`DispatchError::UnboundResource`], [`DispatchError::TextureMismatch`].
    pub fn texture_argument(
        &self,
        kernel: &str,
        argument: &Argument,
        index: TextureIndex,
    ) -> Result<&TextureView, DispatchError> {
        let (kernel, name, index) = (kernel.to_owned(), argument.name.clone(), index.0);
        let Some(view) = self.texture(TextureIndex(index)) else {
            return Err(DispatchError::UnboundResource { kernel, resource: "texture", index, argument: name });
        };
        let reason = match argument.kind {
            ArgumentKind::Texture { texture_type, component, access, .. } => {
                texture_mismatch(texture_type, component, access, view)
            }
            ArgumentKind::Buffer { .. }
            | ArgumentKind::ThreadgroupMemory { .. }
            | ArgumentKind::Sampler { .. }
            | ArgumentKind::ArgumentBuffer { .. }
            | ArgumentKind::VisibleFunctionTable { .. }
            | ArgumentKind::Builtin { .. } => Some("the argument is no texture".to_owned()),
        };
        match reason {
            None => Ok(view),
            Some(reason) => Err(DispatchError::TextureMismatch { kernel, index, argument: name, reason }),
        }
    }

    /// AIR's words of the sampler at `index` for `argument` of kernel `kernel`.
    ///
    /// # Errors
    /// [`DispatchError::UnboundResource`].
    pub fn sampler_argument(
        &self,
        kernel: &str,
        argument: &Argument,
        index: SamplerIndex,
    ) -> Result<&[u64; 2], DispatchError> {
        self.sampler(index).ok_or_else(|| DispatchError::UnboundResource {
            kernel: kernel.to_owned(),
            resource: "sampler",
            index: index.0,
            argument: argument.name.clone(),
        })
    }

    /// The size of the dynamic threadgroup memory at `index`.
    #[must_use]
    pub fn threadgroup_memory_bytes(&self, index: BufferIndex) -> Option<u32> {
        *self.threadgroup.get(index.0 as usize)?
    }

    /// Every size of dynamic threadgroup memory with its index, in order of index.
    pub fn threadgroup_memory(&self) -> impl Iterator<Item = (BufferIndex, u32)> {
        (0u32..).map(BufferIndex).zip(&self.threadgroup).filter_map(|(index, size)| Some((index, (*size)?)))
    }

    /// Every bound texture with its index, in order of index.
    pub fn textures(&self) -> impl Iterator<Item = (TextureIndex, &TextureView)> {
        (0u32..).map(TextureIndex).zip(&self.textures).filter_map(|(index, view)| Some((index, view.as_ref()?)))
    }

    /// AIR's words of every bound sampler with its index, in order of index.
    pub fn samplers(&self) -> impl Iterator<Item = (SamplerIndex, [u64; 2])> {
        (0u32..).map(SamplerIndex).zip(&self.samplers).filter_map(|(index, words)| Some((index, (*words)?)))
    }

    /// Binds a sampler by AIR's words at `index`, replacing what was there; see [`SamplerState::words`].
    pub fn set_sampler_words(&mut self, index: SamplerIndex, words: [u64; 2]) {
        put(&mut self.samplers, index.0, words);
    }

    /// Every bound buffer with its index, in order of index.
    pub fn iter(&self) -> impl Iterator<Item = (BufferIndex, &Binding)> {
        (0u32..).map(BufferIndex).zip(&self.buffers).filter_map(|(index, binding)| Some((index, binding.as_ref()?)))
    }
}

/// Puts `value` at `index` of a table that grows as needed.
fn put<T: Clone>(table: &mut Vec<Option<T>>, index: u32, value: T) {
    let slot = index as usize;
    if table.len() <= slot {
        table.resize(slot + 1, None);
    }
    table[slot] = Some(value);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threadgroup_memory_has_its_own_table() {
        let mut bindings = Bindings::default();
        bindings.set(BufferIndex(1), Binding::Bytes(Box::new([1, 2])));
        bindings.set(BufferIndex(1), Binding::ThreadgroupMemory { size_bytes: 64 });
        assert_eq!(bindings.buffer(BufferIndex(0)), None);
        assert_eq!(bindings.buffer(BufferIndex(1)), Some(&Binding::Bytes(Box::new([1, 2]))));
        assert_eq!(bindings.threadgroup_memory_bytes(BufferIndex(1)), Some(64));
        assert_eq!(bindings.iter().count(), 1);
    }

    #[test]
    fn samplers_and_textures_have_tables_of_their_own() {
        let mut bindings = Bindings::default();
        bindings.set_sampler(SamplerIndex(2), &SamplerState::default());
        assert_eq!(bindings.sampler(SamplerIndex(2)), Some(&SamplerState::default().words()));
        assert_eq!((bindings.sampler(SamplerIndex(1)), bindings.sampler(SamplerIndex(3))), (None, None));
        assert_eq!(bindings.texture(TextureIndex(2)), None);
        assert_eq!(bindings.iter().count(), 0);
    }
}
