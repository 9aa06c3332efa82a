//! From an argument table to the words that generated code reads: one for each kernel parameter.

use std::marker::PhantomData;
use std::ptr;
use std::sync::OnceLock;

use openmps_engine::{
    Argument, ArgumentKind, Binding, Bindings, BufferIndex, DispatchError, KernelSignature, Presence, SamplerIndex,
    TextureIndex,
};

use crate::abi::{KernelInfo, THREADGROUP_MEMORY_BYTES_MAX};

/// Zero bytes after copied constants: a kernel's reference may be of a larger type than what was given.
const SLACK_BYTES: usize = 8;
/// Alignment of copied constants and of each dynamic threadgroup memory; the largest MSL vector needs 32.
const ALIGN_BYTES: usize = 64;
/// What a null buffer binds: kernels may load speculatively from arguments that they do not use.
const DUMMY_BYTES: usize = 64 * 1024;
/// An array of textures or samplers that are not there, as long as Metal's longest table.
static NO_HANDLES: [u64; 128] = [0; 128];

/// Bound arguments, alive through a dispatch, as are the bindings that they came from.
#[derive(Debug)]
pub(crate) struct BoundArguments<'bindings> {
    /// One word for each parameter.
    pub(crate) words: Vec<u64>,
    /// Bytes of threadgroup memory, static and dynamic.
    pub(crate) threadgroup_memory_bytes: usize,
    /// Copied constants that `words` point into.
    _copies: Vec<Copied>,
    /// Arrays of the addresses of textures or samplers that `words` point to.
    _arrays: Vec<Box<[u64]>>,
    /// Words may be addresses of views and sampler words in the bindings.
    _bindings: PhantomData<&'bindings Bindings>,
}

/// Copied bytes at an aligned address.
#[derive(Debug)]
struct Copied {
    storage: Box<[u8]>,
    start: usize,
}

impl Copied {
    fn new(bytes: &[u8], size_bytes_min: usize) -> Self {
        let size = bytes.len().max(size_bytes_min) + SLACK_BYTES;
        let mut storage = vec![0_u8; size + ALIGN_BYTES].into_boxed_slice();
        let address = storage.as_ptr().addr();
        let start = address.next_multiple_of(ALIGN_BYTES) - address;
        storage[start..start + bytes.len()].copy_from_slice(bytes);
        Self { storage, start }
    }

    fn address(&mut self) -> u64 {
        // Exposed, since generated code makes a pointer of it.
        self.storage[self.start..].as_mut_ptr().expose_provenance() as u64
    }
}

/// Binds `bindings` to the parameters of `signature`.
///
/// # Errors
/// An argument that the kernel uses is not bound, is smaller than its reference type, or threadgroup memory exceeds the limit.
pub(crate) fn bind<'bindings>(
    signature: &KernelSignature,
    info: &KernelInfo,
    bindings: &'bindings Bindings,
) -> Result<BoundArguments<'bindings>, DispatchError> {
    let mut copies = Vec::new();
    let mut arrays = Vec::new();
    let mut words = Vec::with_capacity(signature.arguments.len());
    let mut memory_bytes = info.threadgroup_memory_bytes as usize;
    for (position, argument) in signature.arguments.iter().enumerate() {
        if argument.presence == Presence::Absent {
            words.push(absent(&argument.kind, &mut copies));
            continue;
        }
        let word = match &argument.kind {
            ArgumentKind::Buffer { index, size_bytes_min, .. }
            | ArgumentKind::ArgumentBuffer { index, size_bytes_min, .. } => {
                let size_bytes_min = size_bytes_min.unwrap_or(0);
                if info.compares_argument(position) && matches!(bindings.buffer(*index), Some(Binding::Null)) {
                    // The kernel asks whether the buffer is there.
                    0
                } else {
                    let used = info.uses_argument(position);
                    bind_buffer(signature, argument, *index, size_bytes_min, used, bindings, &mut copies)?
                }
            }
            ArgumentKind::ThreadgroupMemory { index } => {
                let size = bindings.threadgroup_memory_bytes(*index);
                let offset = memory_bytes.next_multiple_of(ALIGN_BYTES);
                match size {
                    Some(size) => memory_bytes = offset + size as usize,
                    None if info.uses_argument(position) => return Err(unbound(signature, argument, *index)),
                    None => {}
                }
                offset as u64
            }
            ArgumentKind::Texture { .. } | ArgumentKind::Sampler { .. } if !info.uses_argument(position) => {
                absent(&argument.kind, &mut copies)
            }
            ArgumentKind::Texture { index, count, .. } => {
                let bind = |index| {
                    let view = bindings.texture_argument(&signature.name, argument, TextureIndex(index))?;
                    Ok(ptr::from_ref(view).expose_provenance() as u64)
                };
                bind_handles(index.0, *count, bind, &mut arrays)?
            }
            ArgumentKind::Sampler { index, count } => {
                let bind = |index| {
                    let words = bindings.sampler_argument(&signature.name, argument, SamplerIndex(index))?;
                    Ok(ptr::from_ref(words).expose_provenance() as u64)
                };
                bind_handles(index.0, *count, bind, &mut arrays)?
            }
            // No table has functions: generated code never looks into one.
            ArgumentKind::VisibleFunctionTable { .. } | ArgumentKind::Builtin { .. } => 0,
        };
        words.push(word);
    }
    if memory_bytes > THREADGROUP_MEMORY_BYTES_MAX as usize {
        return Err(DispatchError::Failed {
            kernel: signature.name.clone(),
            reason: format!(
                "threadgroup memory of {memory_bytes} bytes exceeds the limit of {THREADGROUP_MEMORY_BYTES_MAX} bytes"
            ),
        });
    }
    Ok(BoundArguments {
        words,
        threadgroup_memory_bytes: memory_bytes,
        _copies: copies,
        _arrays: arrays,
        _bindings: PhantomData,
    })
}

fn bind_buffer(
    signature: &KernelSignature,
    argument: &Argument,
    index: BufferIndex,
    size_bytes_min: u32,
    used: bool,
    bindings: &Bindings,
    copies: &mut Vec<Copied>,
) -> Result<u64, DispatchError> {
    match bindings.buffer(index) {
        Some(Binding::Buffer { address, size_bytes }) => {
            if used && *size_bytes < u64::from(size_bytes_min) {
                return Err(DispatchError::Failed {
                    kernel: signature.name.clone(),
                    reason: format!(
                        "argument '{}' at buffer index {} has {size_bytes} bytes, but its type {} needs {size_bytes_min}",
                        argument.name, index.0, argument.type_name
                    ),
                });
            }
            Ok(*address)
        }
        Some(Binding::Bytes(bytes)) => {
            let mut copied = Copied::new(bytes, size_bytes_min as usize);
            let address = copied.address();
            copies.push(copied);
            Ok(address)
        }
        Some(Binding::Null) => Ok(dummy_address()),
        Some(Binding::ThreadgroupMemory { .. }) | None if used => Err(unbound(signature, argument, index)),
        Some(Binding::ThreadgroupMemory { .. }) | None => Ok(dummy_address()),
    }
}

/// The word of an argument that a function constant turned off: zeros that the kernel may load before it knows that it does
/// not need them. Threadgroup memory of no size lies at offset 0.
fn absent(kind: &ArgumentKind, copies: &mut Vec<Copied>) -> u64 {
    match kind {
        ArgumentKind::Buffer { size_bytes_min, .. } | ArgumentKind::ArgumentBuffer { size_bytes_min, .. } => {
            let size_bytes = size_bytes_min.map_or(0, |size| size as usize);
            if size_bytes <= DUMMY_BYTES {
                return dummy_address();
            }
            let mut zeros = Copied::new(&[], size_bytes);
            let address = zeros.address();
            copies.push(zeros);
            address
        }
        ArgumentKind::Texture { count: Some(_), .. } | ArgumentKind::Sampler { count: Some(_), .. } => {
            NO_HANDLES.as_ptr().expose_provenance() as u64
        }
        ArgumentKind::Texture { count: None, .. }
        | ArgumentKind::Sampler { count: None, .. }
        | ArgumentKind::VisibleFunctionTable { .. }
        | ArgumentKind::ThreadgroupMemory { .. }
        | ArgumentKind::Builtin { .. } => 0,
    }
}

/// One handle, or the address of an array of them.
fn bind_handles(
    first: u32,
    count: Option<u32>,
    bind: impl Fn(u32) -> Result<u64, DispatchError>,
    arrays: &mut Vec<Box<[u64]>>,
) -> Result<u64, DispatchError> {
    let Some(count) = count else { return bind(first) };
    let mut array = (first..first + count).map(bind).collect::<Result<Box<[u64]>, _>>()?;
    let address = array.as_mut_ptr().expose_provenance() as u64;
    arrays.push(array);
    Ok(address)
}

fn unbound(signature: &KernelSignature, argument: &Argument, index: BufferIndex) -> DispatchError {
    DispatchError::Unbound { kernel: signature.name.clone(), index: index.0, argument: argument.name.clone() }
}

/// The address of zero bytes that nobody else uses; writes there are lost.
fn dummy_address() -> u64 {
    static DUMMY: OnceLock<usize> = OnceLock::new();
    let address = DUMMY.get_or_init(|| {
        let words = vec![0_u64; DUMMY_BYTES / 8].into_boxed_slice();
        ptr::from_mut(Box::leak(words)).cast::<u64>().expose_provenance()
    });
    *address as u64
}

#[cfg(test)]
mod tests {
    use openmps_engine::{AddressSpace, BufferAccess};

    use super::*;
    use crate::abi::INFO_WORDS;

    fn signature(kinds: &[ArgumentKind]) -> KernelSignature {
        let argument =
            |(position, kind): (usize, &ArgumentKind)| Argument::new(kind.clone(), format!("a{position}"), "float");
        KernelSignature::new("k", kinds.iter().enumerate().map(argument).collect())
    }

    fn buffer(index: u32, size_bytes_min: Option<u32>) -> ArgumentKind {
        let (address_space, access) = (AddressSpace::Device, BufferAccess::Read);
        ArgumentKind::Buffer { index: BufferIndex(index), address_space, access, size_bytes_min }
    }

    fn info(used: u32, threadgroup_memory_bytes: u32) -> KernelInfo {
        let none = KernelInfo::from_words([0; INFO_WORDS]);
        KernelInfo { threadgroup_memory_bytes, cost: 1, used_arguments: [used, 0, 0, 0], step_threads: 1, ..none }
    }

    #[test]
    fn words_follow_parameters_not_indices() {
        let mut bindings = Bindings::default();
        bindings.set(BufferIndex(7), Binding::Buffer { address: 0x1000, size_bytes: 16 });
        bindings.set(BufferIndex(0), Binding::Buffer { address: 0x2000, size_bytes: 16 });
        let bound = bind(&signature(&[buffer(7, None), buffer(0, Some(16))]), &info(3, 0), &bindings).unwrap();
        assert_eq!(bound.words, [0x1000, 0x2000]);
    }

    #[test]
    fn small_buffers_and_missing_ones_are_errors_only_when_used() {
        let mut bindings = Bindings::default();
        bindings.set(BufferIndex(0), Binding::Buffer { address: 0x1000, size_bytes: 15 });
        let signature = signature(&[buffer(0, Some(16)), buffer(1, None)]);
        let error = bind(&signature, &info(0b01, 0), &bindings).unwrap_err();
        assert_eq!(
            error.to_string(),
            "kernel 'k': argument 'a0' at buffer index 0 has 15 bytes, but its type float needs 16"
        );
        let error = bind(&signature, &info(0b10, 0), &bindings).unwrap_err();
        assert_eq!(error.to_string(), "kernel 'k': nothing is bound at buffer index 1 (argument 'a1')");
        assert!(bind(&signature, &info(0, 0), &bindings).is_ok());
    }

    #[test]
    fn null_is_null_for_kernels_that_ask_and_zeros_for_others() {
        let mut bindings = Bindings::default();
        bindings.set(BufferIndex(0), Binding::Null);
        let signature = signature(&[buffer(0, None)]);
        let asks = KernelInfo { compared_arguments: [1, 0, 0, 0], ..info(1, 0) };
        assert_eq!(bind(&signature, &asks, &bindings).unwrap().words, [0]);
        assert_ne!(bind(&signature, &info(1, 0), &bindings).unwrap().words, [0]);
    }

    #[test]
    fn threadgroup_memory_is_placed_after_static_memory_and_limited() {
        let memory = |index| ArgumentKind::ThreadgroupMemory { index: BufferIndex(index) };
        let mut bindings = Bindings::default();
        bindings.set(BufferIndex(0), Binding::ThreadgroupMemory { size_bytes: 100 });
        bindings.set(BufferIndex(1), Binding::ThreadgroupMemory { size_bytes: 32 * 1024 - 192 });
        let signature = signature(&[memory(0), memory(1)]);
        let bound = bind(&signature, &info(3, 4), &bindings).unwrap();
        assert_eq!(bound.words, [64, 192]);
        assert_eq!(bound.threadgroup_memory_bytes, 32 * 1024);
        let error = bind(&signature, &info(3, 65), &bindings).unwrap_err();
        assert_eq!(error.to_string(), "kernel 'k': threadgroup memory of 32832 bytes exceeds the limit of 32768 bytes");
    }

    #[test]
    fn copies_are_aligned_and_followed_by_zeros() {
        let mut copied = Copied::new(&[1, 2, 3], 16);
        assert!(copied.address().is_multiple_of(64));
        assert_eq!(copied.storage[copied.start..copied.start + 24][..4], [1, 2, 3, 0]);
    }
}
