//! The one jump into generated code.
//!
//! [`Entry`] is made only from an object whose `openmps_kernel_info` states this runtime's ABI version and the entry's shape.

use std::sync::Arc;

use crate::abi::{ABI_VERSION, GroupContext, INFO_SYMBOL, INFO_WORDS, KERNEL_SYMBOL, KernelInfo, Mode};
use crate::jit::load::{LoadError, LoadedObject};

type LoopEntry = unsafe extern "C" fn(*const GroupContext);
pub(crate) type FiberEntry = unsafe extern "C" fn(*const GroupContext, u32);

#[derive(Clone, Copy)]
enum Function {
    Loop(LoopEntry),
    Fiber(FiberEntry),
}

/// A kernel's code, kept alive by this value. Invariant: `function` lies in `object` and has the shape of its variant.
pub(crate) struct Entry {
    function: Function,
    info: KernelInfo,
    _object: Arc<LoadedObject>,
}

impl Entry {
    /// Finds entry and facts in a loaded object.
    ///
    /// # Errors
    /// A missing symbol, or an object made for another version of this crate.
    pub(crate) fn new(object: LoadedObject) -> Result<Self, LoadError> {
        let words: [u8; 4 * INFO_WORDS] = object.bytes(object.symbol(INFO_SYMBOL)?)?;
        let word = |index: usize| u32::from_le_bytes(std::array::from_fn(|byte| words[4 * index + byte]));
        let info = KernelInfo::from_words(std::array::from_fn(word));
        if info.version != ABI_VERSION {
            let reason = format!("made for version {} of the runtime, this is {ABI_VERSION}", info.version);
            return Err(LoadError::Malformed(reason));
        }
        let address = object.pointer(object.symbol(KERNEL_SYMBOL)?);
        let function = match info.mode {
            mode if mode == Mode::Loop as u32 => {
                // SAFETY: the object states this ABI version and shape, and `openmps_kernel` is its function of that shape.
                Function::Loop(unsafe { std::mem::transmute::<*const u8, LoopEntry>(address) })
            }
            mode if mode == Mode::Fiber as u32 => {
                // SAFETY: as above.
                Function::Fiber(unsafe { std::mem::transmute::<*const u8, FiberEntry>(address) })
            }
            mode => return Err(LoadError::Malformed(format!("mode {mode} is not known"))),
        };
        Ok(Self { function, info, _object: Arc::new(object) })
    }

    /// What the code generator found out.
    pub(crate) fn info(&self) -> &KernelInfo {
        &self.info
    }

    /// The function for one thread, when the kernel needs threads that can wait for each other.
    #[inline]
    pub(crate) fn fiber(&self) -> Option<FiberEntry> {
        match self.function {
            Function::Fiber(entry) => Some(entry),
            Function::Loop(_) => None,
        }
    }

    /// Runs all threads of one threadgroup of a loop kernel on the calling thread; `false` for a fiber kernel.
    ///
    /// # Safety
    /// - `context.arguments` has a word for every parameter, and used buffers are addresses of memory that outlives the call
    ///   and is as large as the kernel's accesses: the dispatcher's caller vouches for that, as Metal's does.
    /// - `context.threadgroup_memory` has the bytes that the kernel declares plus all dynamic ones.
    #[inline]
    pub(crate) unsafe fn run_group(&self, context: &GroupContext) -> bool {
        match self.function {
            Function::Loop(entry) => {
                // SAFETY: shape by the invariant of `Entry`, memory by this function's contract.
                unsafe { entry(context) };
                true
            }
            Function::Fiber(_) => false,
        }
    }
}
