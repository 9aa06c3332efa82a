//! What a dispatch binds: buffers by device address, small constants by value, threadgroup memory by size.

use serde::{Deserialize, Serialize};

/// An index in Metal's buffer argument table (0 to 30).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct BufferIndex(pub u32);

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

/// The argument table of one dispatch, dense from index 0; `None` where nothing was bound.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bindings {
    buffers: Vec<Option<Binding>>,
    threadgroup: Vec<Option<u32>>,
}

impl Bindings {
    /// Binds `binding` at `index`, replacing what was there.
    pub fn set(&mut self, index: BufferIndex, binding: Binding) {
        let slot = index.0 as usize;
        if let Binding::ThreadgroupMemory { size_bytes } = binding {
            if self.threadgroup.len() <= slot {
                self.threadgroup.resize(slot + 1, None);
            }
            self.threadgroup[slot] = Some(size_bytes);
            return;
        }
        if self.buffers.len() <= slot {
            self.buffers.resize(slot + 1, None);
        }
        self.buffers[slot] = Some(binding);
    }

    /// What is bound at buffer index `index`.
    #[must_use]
    pub fn buffer(&self, index: BufferIndex) -> Option<&Binding> {
        self.buffers.get(index.0 as usize)?.as_ref()
    }

    /// The size of the dynamic threadgroup memory at `index`.
    #[must_use]
    pub fn threadgroup_memory_bytes(&self, index: BufferIndex) -> Option<u32> {
        *self.threadgroup.get(index.0 as usize)?
    }

    /// Every bound buffer with its index, in order of index.
    pub fn iter(&self) -> impl Iterator<Item = (BufferIndex, &Binding)> {
        (0u32..).map(BufferIndex).zip(&self.buffers).filter_map(|(index, binding)| Some((index, binding.as_ref()?)))
    }
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
}
