//! The contract between generated code and this crate's runtime: two structures, two symbols, two entry shapes.
//!
//! An object exports `openmps_kernel_info` (a [`KernelInfo`], constant) and `openmps_kernel`:
//! - [`Mode::Loop`]: `void openmps_kernel(const GroupContext *)` runs every thread of one threadgroup.
//! - [`Mode::Fiber`]: `void openmps_kernel(const GroupContext *, uint32_t thread)` runs one thread, whose linear index in its
//!   threadgroup is `thread`; it calls `openmps_barrier` and `openmps_lane`, which suspend it.
//!
//! The code generator writes these layouts as constants below; a test compares them with the Rust structures.

use std::fmt;

/// The function that an object exports.
pub const KERNEL_SYMBOL: &str = "openmps_kernel";
/// The constant that an object exports.
pub const INFO_SYMBOL: &str = "openmps_kernel_info";
/// Changed whenever generated code and runtime would misunderstand each other; part of cache keys.
pub const ABI_VERSION: u32 = 11;

/// Threads of one SIMD-group.
pub const SIMD_WIDTH: usize = 32;
/// Most threads of one threadgroup (Metal feature set tables, Apple7 and later).
pub const THREADS_PER_GROUP_MAX: u32 = 1024;
/// Most threadgroup memory of one threadgroup, static and dynamic together (Metal feature set tables: 32 KiB).
pub const THREADGROUP_MEMORY_BYTES_MAX: u32 = 32 * 1024;
/// Most private memory of one thread, frame included; a kernel with larger arrays is refused.
pub const PRIVATE_BYTES_MAX: u64 = 1024 * 1024;

/// What generated code knows about the threadgroup it runs.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct GroupContext {
    /// One word for each kernel parameter: a buffer's address, the offset of dynamic threadgroup memory in
    /// `threadgroup_memory`, the address of a texture's view or a sampler's words, for arrays of them that of their addresses,
    /// 0 for built-ins.
    pub(crate) arguments: *const u64,
    /// The threadgroup's memory: static variables first, then dynamic ones. 128-byte aligned.
    pub(crate) threadgroup_memory: *mut u8,
    /// Threads of the grid.
    pub(crate) threads_per_grid: [u32; 3],
    /// Threadgroups of the grid.
    pub(crate) groups_per_grid: [u32; 3],
    /// The threadgroup size that the dispatch asked for.
    pub(crate) dispatch_size: [u32; 3],
    /// Position of this threadgroup.
    pub(crate) position: [u32; 3],
    /// Size of this threadgroup, smaller at the upper edges.
    pub(crate) size: [u32; 3],
    /// [`KernelInfo::frame_bytes`] for each step of the threadgroup. 128-byte aligned.
    pub(crate) frames: *mut u8,
}

/// Bytes of a [`GroupContext`], for the code generator.
#[cfg(any(feature = "codegen", test))]
pub(crate) const CONTEXT_BYTES: u64 = 88;

/// Byte offsets in [`GroupContext`], for the code generator.
#[cfg(any(feature = "codegen", test))]
pub(crate) mod offset {
    pub(crate) const ARGUMENTS: u64 = 0;
    pub(crate) const THREADGROUP_MEMORY: u64 = 8;
    pub(crate) const THREADS_PER_GRID: u64 = 16;
    pub(crate) const GROUPS_PER_GRID: u64 = 28;
    pub(crate) const DISPATCH_SIZE: u64 = 40;
    pub(crate) const POSITION: u64 = 52;
    pub(crate) const SIZE: u64 = 64;
    pub(crate) const FRAMES: u64 = 80;
}

/// How an object wants to be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// One call a threadgroup.
    Loop = 0,
    /// One call a thread, each on its own stack.
    Fiber = 1,
}

/// Which threadgroups the code of whole SIMD-groups is right for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WholeSimdgroups {
    /// All: the kernel cannot tell which threads form a SIMD-group.
    Never = 0,
    /// Those whose rows are whole SIMD-groups, or that have one row.
    InThreadgroup = 1,
    /// As before, and each SIMD-group starts at a multiple of 32 in the grid.
    InGrid = 2,
}

impl WholeSimdgroups {
    /// From [`KernelInfo::whole_simdgroups`]; the most careful where the number means nothing.
    pub(crate) fn from_number(number: u32) -> Self {
        match number {
            0 => Self::Never,
            1 => Self::InThreadgroup,
            _ => Self::InGrid,
        }
    }
}

/// Whether the runtime may make threadgroups of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Cut {
    /// No: the kernel can observe them.
    AsAsked = 0,
    /// It cannot: anywhere.
    Anywhere = 1,
    /// Anywhere, and a row's threads write far from each other, as when a matrix is transposed.
    Narrow = 2,
}

impl Cut {
    /// The enumerator of a stored number.
    pub(crate) fn from_number(number: u32) -> Self {
        match number {
            1 => Self::Anywhere,
            2 => Self::Narrow,
            _ => Self::AsAsked,
        }
    }
}

/// Facts about a generated kernel, found by the code generator.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KernelInfo {
    /// [`ABI_VERSION`] of the generator.
    pub(crate) version: u32,
    /// A [`Mode`].
    pub(crate) mode: u32,
    /// A [`Cut`].
    pub(crate) flat: u32,
    /// Bytes of static threadgroup memory.
    pub(crate) threadgroup_memory_bytes: u32,
    /// Bytes of private memory of one thread, before register spills.
    pub(crate) private_bytes: u32,
    /// Rough number of instructions that one thread runs.
    pub(crate) cost: u32,
    /// Bit i set: parameter i is used.
    pub(crate) used_arguments: [u32; 4],
    /// Bit i set: parameter i is compared with another address, which may be null.
    pub(crate) compared_arguments: [u32; 4],
    /// Bytes that a step keeps while it waits at a barrier.
    pub(crate) frame_bytes: u32,
    /// Threads of a step: 1, or 32 where SIMD-groups are vectors.
    pub(crate) step_threads: u32,
    /// Not 0 when a call runs the threads of a SIMD-group together.
    pub(crate) vectorized: u32,
    /// A [`WholeSimdgroups`].
    pub(crate) whole_simdgroups: u32,
    /// Not 0 when the code runs threadgroups alone whose rows are whole SIMD-groups.
    pub(crate) whole_rows: u32,
    /// Why it was not vectorised though asked for; 0 for no reason. Under [`EngineChoice::Auto`](openmps_engine::EngineChoice) the
    /// object holds nothing else.
    pub(crate) refusal: u32,
    /// Not 0 when threads never wait and have no loops, so that LLVM may have made vectors of scalar code as well.
    pub(crate) straight: u32,
}

/// Words of [`KernelInfo`] in memory order.
pub(crate) const INFO_WORDS: usize = 21;

impl KernelInfo {
    /// The words as the object stores them.
    #[must_use]
    #[cfg(any(feature = "codegen", test))]
    pub(crate) fn to_words(self) -> [u32; INFO_WORDS] {
        let [a, b, c, d] = self.used_arguments;
        let [e, f, g, h] = self.compared_arguments;
        let memory = self.threadgroup_memory_bytes;
        let (frame, step, whole) = (self.frame_bytes, self.step_threads, self.whole_simdgroups);
        let (version, mode, flat) = (self.version, self.mode, self.flat);
        let (private, cost) = (self.private_bytes, self.cost);
        [
            version,
            mode,
            flat,
            memory,
            private,
            cost,
            a,
            b,
            c,
            d,
            e,
            f,
            g,
            h,
            frame,
            step,
            self.vectorized,
            whole,
            self.whole_rows,
            self.refusal,
            self.straight,
        ]
    }

    /// Reads words that an object stored.
    #[must_use]
    pub(crate) fn from_words(words: [u32; INFO_WORDS]) -> Self {
        let [version, mode, flat, threadgroup_memory_bytes, private_bytes, cost, words @ ..] = words;
        let [a, b, c, d, e, f, g, h, frame_bytes, step_threads, vectorized, words @ ..] = words;
        let [whole_simdgroups, whole_rows, refusal, straight] = words;
        Self {
            version,
            mode,
            flat,
            threadgroup_memory_bytes,
            private_bytes,
            cost,
            used_arguments: [a, b, c, d],
            compared_arguments: [e, f, g, h],
            frame_bytes,
            step_threads,
            vectorized,
            whole_simdgroups,
            whole_rows,
            refusal,
            straight,
        }
    }

    /// Whether parameter `position` is used.
    #[must_use]
    pub(crate) fn uses_argument(&self, position: usize) -> bool {
        self.used_arguments.get(position / 32).is_none_or(|word| word >> (position % 32) & 1 == 1)
    }

    /// Whether parameter `position` is compared with an address, so that the kernel may ask whether it is null.
    #[must_use]
    pub(crate) fn compares_argument(&self, position: usize) -> bool {
        self.compared_arguments.get(position / 32).is_some_and(|word| word >> (position % 32) & 1 == 1)
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Loop => "loop",
            Self::Fiber => "fiber",
        })
    }
}

#[cfg(test)]
mod tests {
    use std::mem::{offset_of, size_of};

    use super::*;

    #[test]
    fn offsets_are_those_of_the_structure() {
        let stated = [
            (offset::ARGUMENTS, offset_of!(GroupContext, arguments)),
            (offset::THREADGROUP_MEMORY, offset_of!(GroupContext, threadgroup_memory)),
            (offset::THREADS_PER_GRID, offset_of!(GroupContext, threads_per_grid)),
            (offset::GROUPS_PER_GRID, offset_of!(GroupContext, groups_per_grid)),
            (offset::DISPATCH_SIZE, offset_of!(GroupContext, dispatch_size)),
            (offset::POSITION, offset_of!(GroupContext, position)),
            (offset::SIZE, offset_of!(GroupContext, size)),
            (offset::FRAMES, offset_of!(GroupContext, frames)),
        ];
        for (constant, actual) in stated {
            assert_eq!(constant, actual as u64);
        }
        assert_eq!(size_of::<KernelInfo>(), 4 * INFO_WORDS);
        assert_eq!(size_of::<GroupContext>() as u64, CONTEXT_BYTES);
    }

    #[test]
    fn info_survives_its_words() {
        let info = KernelInfo::from_words([1, 1, 0, 64, 128, 7, 0b101, 0, 0, 0, 0b100, 0, 0, 0, 48, 1, 1, 0, 1, 3, 1]);
        assert_eq!(KernelInfo::from_words(info.to_words()), info);
        assert!(info.uses_argument(0) && !info.uses_argument(1) && info.uses_argument(2));
        assert!(info.uses_argument(500), "what the mask cannot say counts as used");
        assert!(info.compares_argument(2) && !info.compares_argument(0) && !info.compares_argument(500));
    }
}
