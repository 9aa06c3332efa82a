//! Memory that LLVM allocated and we free: messages and buffers.

use std::ffi::{CStr, CString, c_char};
use std::ptr::NonNull;

use llvm_sys::core::{LLVMDisposeMemoryBuffer, LLVMDisposeMessage, LLVMGetBufferSize, LLVMGetBufferStart};
use llvm_sys::{LLVMMemoryBuffer, core};

/// A message that `LLVMDisposeMessage` frees. Invariant: null-terminated, live, owned.
pub(crate) struct Message(NonNull<c_char>);

impl Message {
    /// Takes a message that LLVM handed over to its caller.
    pub(crate) fn take(raw: *mut c_char) -> Option<Self> {
        NonNull::new(raw).map(Self)
    }
}

impl std::fmt::Display for Message {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // SAFETY: live and null-terminated by the invariant of `Message`.
        let text = unsafe { CStr::from_ptr(self.0.as_ptr()) };
        f.write_str(&text.to_string_lossy())
    }
}

impl Drop for Message {
    fn drop(&mut self) {
        // SAFETY: owned by the invariant of `Message`, and dropped once.
        unsafe { LLVMDisposeMessage(self.0.as_ptr()) }
    }
}

/// The text of an owned LLVM message; empty when LLVM gave none.
pub(crate) fn owned(raw: *mut c_char) -> String {
    Message::take(raw).map(|message| message.to_string()).unwrap_or_default()
}

/// Copies `len` bytes that LLVM keeps, as text.
///
/// # Safety
/// `data` points to `len` live bytes, or `len` is 0.
pub(crate) unsafe fn borrowed(data: *const c_char, len: usize) -> String {
    if len == 0 {
        return String::new();
    }
    // SAFETY: the caller's promise.
    let bytes = unsafe { std::slice::from_raw_parts(data.cast::<u8>(), len) };
    String::from_utf8_lossy(bytes).into_owned()
}

/// `text` as C text. Text with a NUL inside ends there, as it would for LLVM.
pub(crate) fn c_text(text: &str) -> CString {
    let end = text.find('\0').unwrap_or(text.len());
    CString::new(&text[..end]).expect("cut before the first NUL")
}

/// Bytes that LLVM made: bitcode or an object file. Freed when dropped.
pub struct ObjectCode {
    /// Invariant: a live memory buffer that this owns.
    raw: NonNull<LLVMMemoryBuffer>,
}

impl ObjectCode {
    pub(crate) fn take(raw: *mut LLVMMemoryBuffer) -> Self {
        Self { raw: NonNull::new(raw).expect("LLVM returns a buffer here") }
    }

    /// The bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        // SAFETY: live by the invariant.
        let start = unsafe { LLVMGetBufferStart(self.raw.as_ptr()) };
        // SAFETY: live by the invariant.
        let size = unsafe { LLVMGetBufferSize(self.raw.as_ptr()) };
        if size == 0 {
            return &[];
        }
        // SAFETY: the buffer owns `size` bytes from `start` and changes no more while it lives.
        unsafe { std::slice::from_raw_parts(start.cast::<u8>(), size) }
    }
}

impl std::fmt::Debug for ObjectCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ObjectCode").field("size_bytes", &self.as_bytes().len()).finish()
    }
}

impl Drop for ObjectCode {
    fn drop(&mut self) {
        // SAFETY: owned by the invariant, and dropped once.
        unsafe { LLVMDisposeMemoryBuffer(self.raw.as_ptr()) }
    }
}

/// A memory buffer with a copy of `bytes` (LLVM wants a NUL behind them, which the copy has).
pub(crate) fn copied_buffer(bytes: &[u8], name: &str) -> ObjectCode {
    let name = c_text(name);
    // SAFETY: `bytes` and `name` live through the call, which copies both.
    ObjectCode::take(unsafe {
        core::LLVMCreateMemoryBufferWithMemoryRangeCopy(bytes.as_ptr().cast(), bytes.len(), name.as_ptr())
    })
}

impl ObjectCode {
    pub(crate) fn raw(&self) -> *mut LLVMMemoryBuffer {
        self.raw.as_ptr()
    }
}
