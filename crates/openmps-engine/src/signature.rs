//! What a kernel takes, as AIR metadata states it (`!air.kernel`): arguments in parameter order, built-ins, memory.

use serde::{Deserialize, Serialize};

use crate::bindings::{BufferIndex, SamplerIndex, TextureIndex};
use crate::constants::FunctionConstant;
use crate::texture::{TextureAccess, TextureComponent, TextureType};

/// AIR's address spaces; the discriminants are the numbers in LLVM IR.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum AddressSpace {
    /// Private to one thread.
    Thread = 0,
    /// Buffers.
    Device = 1,
    /// Read-only buffers and tables.
    Constant = 2,
    /// Shared by one threadgroup.
    Threadgroup = 3,
}

/// Whether a kernel may write through a buffer argument (`air.read`, `air.write`, `air.read_write`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum BufferAccess {
    /// Only loads.
    Read,
    /// Only stores.
    Write,
    /// Loads and stores.
    ReadWrite,
}

/// The scalar of a built-in argument; MSL allows `ushort` and `uint` forms of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Scalar {
    /// 16-bit unsigned.
    U16,
    /// 32-bit unsigned.
    U32,
}

/// The LLVM type of a built-in argument: `i16`/`i32` (lanes 1) or a vector of 2 or 3 of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct BuiltinType {
    /// Element type.
    pub scalar: Scalar,
    /// 1, 2 or 3.
    pub lanes: u8,
}

/// Attributes of MSL section 5.2.3.6 "position in grid" and relatives, named as AIR spells them (`air.<name>`).
///
/// `threads_per_threadgroup` is the size of the *current* threadgroup, smaller at the edges of a non-uniform dispatch;
/// `dispatch_threads_per_threadgroup` is the size that the dispatch asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[expect(missing_docs, reason = "each variant is MSL's attribute of the same name")]
pub enum Builtin {
    ThreadPositionInGrid,
    ThreadPositionInThreadgroup,
    ThreadIndexInThreadgroup,
    ThreadIndexInSimdgroup,
    ThreadIndexInQuadgroup,
    ThreadgroupPositionInGrid,
    ThreadgroupsPerGrid,
    ThreadsPerGrid,
    ThreadsPerThreadgroup,
    ThreadsPerSimdgroup,
    ThreadExecutionWidth,
    SimdgroupIndexInThreadgroup,
    SimdgroupsPerThreadgroup,
    QuadgroupIndexInThreadgroup,
    QuadgroupsPerThreadgroup,
    DispatchThreadsPerThreadgroup,
    DispatchSimdgroupsPerThreadgroup,
    DispatchQuadgroupsPerThreadgroup,
    GridOrigin,
    GridSize,
}

impl Builtin {
    /// Every built-in, in the order of the enum.
    pub const ALL: [Self; 20] = [
        Self::ThreadPositionInGrid,
        Self::ThreadPositionInThreadgroup,
        Self::ThreadIndexInThreadgroup,
        Self::ThreadIndexInSimdgroup,
        Self::ThreadIndexInQuadgroup,
        Self::ThreadgroupPositionInGrid,
        Self::ThreadgroupsPerGrid,
        Self::ThreadsPerGrid,
        Self::ThreadsPerThreadgroup,
        Self::ThreadsPerSimdgroup,
        Self::ThreadExecutionWidth,
        Self::SimdgroupIndexInThreadgroup,
        Self::SimdgroupsPerThreadgroup,
        Self::QuadgroupIndexInThreadgroup,
        Self::QuadgroupsPerThreadgroup,
        Self::DispatchThreadsPerThreadgroup,
        Self::DispatchSimdgroupsPerThreadgroup,
        Self::DispatchQuadgroupsPerThreadgroup,
        Self::GridOrigin,
        Self::GridSize,
    ];

    /// AIR's spelling without the `air.` prefix, which is MSL's attribute name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ThreadPositionInGrid => "thread_position_in_grid",
            Self::ThreadPositionInThreadgroup => "thread_position_in_threadgroup",
            Self::ThreadIndexInThreadgroup => "thread_index_in_threadgroup",
            Self::ThreadIndexInSimdgroup => "thread_index_in_simdgroup",
            Self::ThreadIndexInQuadgroup => "thread_index_in_quadgroup",
            Self::ThreadgroupPositionInGrid => "threadgroup_position_in_grid",
            Self::ThreadgroupsPerGrid => "threadgroups_per_grid",
            Self::ThreadsPerGrid => "threads_per_grid",
            Self::ThreadsPerThreadgroup => "threads_per_threadgroup",
            Self::ThreadsPerSimdgroup => "threads_per_simdgroup",
            Self::ThreadExecutionWidth => "thread_execution_width",
            Self::SimdgroupIndexInThreadgroup => "simdgroup_index_in_threadgroup",
            Self::SimdgroupsPerThreadgroup => "simdgroups_per_threadgroup",
            Self::QuadgroupIndexInThreadgroup => "quadgroup_index_in_threadgroup",
            Self::QuadgroupsPerThreadgroup => "quadgroups_per_threadgroup",
            Self::DispatchThreadsPerThreadgroup => "dispatch_threads_per_threadgroup",
            Self::DispatchSimdgroupsPerThreadgroup => "dispatch_simdgroups_per_threadgroup",
            Self::DispatchQuadgroupsPerThreadgroup => "dispatch_quadgroups_per_threadgroup",
            Self::GridOrigin => "grid_origin",
            Self::GridSize => "grid_size",
        }
    }

    /// The built-in that AIR spells `air.<name>`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|builtin| builtin.name() == name)
    }
}

/// What one kernel parameter is.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ArgumentKind {
    /// A pointer or reference into device or constant memory, bound at a buffer index.
    Buffer {
        /// Metal's buffer index, which need not be the parameter's position.
        index: BufferIndex,
        /// `Device` or `Constant`.
        address_space: AddressSpace,
        /// What the kernel may do with it.
        access: BufferAccess,
        /// Bytes that the kernel may assume to be there; only references state it.
        size_bytes_min: Option<u32>,
    },
    /// A buffer that holds addresses of other buffers (`air.indirect_buffer`, an argument buffer). It is memory like any other:
    /// the host writes device addresses as 64-bit words where the struct has pointers.
    ArgumentBuffer {
        /// Metal's buffer index.
        index: BufferIndex,
        /// `Device` or `Constant`.
        address_space: AddressSpace,
        /// What the kernel may do with it.
        access: BufferAccess,
        /// Bytes that the kernel may assume to be there; only references state it.
        size_bytes_min: Option<u32>,
    },
    /// A table of visible functions, bound at an index of the buffer table. No engine links functions, so every table is
    /// empty and calling one of its functions ends the dispatch with an error.
    VisibleFunctionTable {
        /// Metal's buffer index.
        index: BufferIndex,
    },
    /// Dynamic threadgroup memory, sized by the dispatch (`setThreadgroupMemoryLength:atIndex:`).
    ThreadgroupMemory {
        /// Index among the threadgroup buffers.
        index: BufferIndex,
    },
    /// A texture, or an array of textures at consecutive indices.
    Texture {
        /// Index of the first in the texture table.
        index: TextureIndex,
        /// `None` for one texture, else the length of the array.
        count: Option<u32>,
        /// Its dimensions.
        texture_type: TextureType,
        /// The type of its colors.
        component: TextureComponent,
        /// What the kernel may do with it.
        access: TextureAccess,
    },
    /// A sampler, or an array of samplers at consecutive indices.
    Sampler {
        /// Index of the first in the sampler table.
        index: SamplerIndex,
        /// `None` for one sampler, else the length of the array.
        count: Option<u32>,
    },
    /// A position or size that the dispatch supplies.
    Builtin {
        /// Which one.
        builtin: Builtin,
        /// Its LLVM type.
        ty: BuiltinType,
    },
}

impl ArgumentKind {
    /// The index in the buffer argument table of what is bound there.
    #[must_use]
    pub fn buffer_index(&self) -> Option<BufferIndex> {
        match self {
            Self::Buffer { index, .. } | Self::ArgumentBuffer { index, .. } | Self::VisibleFunctionTable { index } => {
                Some(*index)
            }
            Self::ThreadgroupMemory { .. } | Self::Texture { .. } | Self::Sampler { .. } | Self::Builtin { .. } => None,
        }
    }
}

/// Whether an argument exists: MSL's `[[function_constant(name)]]` on a parameter makes that depend on a bool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Presence {
    /// It does.
    #[default]
    Always,
    /// As the bool constant of this name says, once the kernel is specialised.
    Gated {
        /// The constant's name, which need not be a function constant itself.
        constant: String,
    },
    /// It does not: the host binds nothing, and an engine passes zeroed memory, which the kernel may load from without using
    /// what it gets.
    Absent,
}

/// One kernel parameter; its place in [`KernelSignature::arguments`] is its place in the LLVM function.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Argument {
    /// What it is.
    pub kind: ArgumentKind,
    /// The name in the source, for messages.
    pub name: String,
    /// The type as the source spells it, for messages only.
    pub type_name: String,
    /// Whether it exists.
    pub presence: Presence,
}

impl Argument {
    /// An argument that always exists.
    #[must_use]
    pub fn new(kind: ArgumentKind, name: impl Into<String>, type_name: impl Into<String>) -> Self {
        Self { kind, name: name.into(), type_name: type_name.into(), presence: Presence::Always }
    }
}

/// One kernel of a library.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct KernelSignature {
    /// Host name: `[[host_name("…")]]`, else the function's name. Also the symbol in the AIR module.
    pub name: String,
    /// Parameters in order.
    pub arguments: Vec<Argument>,
    /// `[[max_total_threads_per_threadgroup(n)]]`.
    pub max_total_threads_per_threadgroup: Option<u32>,
    /// Bytes of threadgroup memory that the kernel declares itself.
    pub static_threadgroup_memory_bytes: u32,
    /// Function constants that the kernel depends on, sorted by index; none once it is specialised.
    pub constants: Vec<FunctionConstant>,
}

impl KernelSignature {
    /// A kernel without limits, threadgroup memory or function constants.
    #[must_use]
    pub fn new(name: impl Into<String>, arguments: Vec<Argument>) -> Self {
        Self {
            name: name.into(),
            arguments,
            max_total_threads_per_threadgroup: None,
            static_threadgroup_memory_bytes: 0,
            constants: Vec::new(),
        }
    }

    /// Whether an engine needs the kernel specialised before it can compile it.
    #[must_use]
    pub fn needs_specialization(&self) -> bool {
        !self.constants.is_empty()
            || self.arguments.iter().any(|argument| matches!(argument.presence, Presence::Gated { .. }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn builtin_names_are_distinct_and_resolve() {
        for builtin in Builtin::ALL {
            assert_eq!(Builtin::from_name(builtin.name()), Some(builtin));
        }
        assert_eq!(Builtin::from_name("position"), None);
    }
}
