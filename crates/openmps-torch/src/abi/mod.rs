//! `extern "C"` functions `openmps_*`: one file per noun, all entry points made by one macro.
//!
//! Every fallible function returns a [`Status`]; results go through out pointers, which are checked for null before anything
//! happens. A panic becomes [`status::PANIC`] and never crosses the border. The message of the last failure is kept per
//! thread (`error.rs`). `csrc/autogen_openmps_abi.h` is generated from these files by `tests/header.rs`.

pub mod device;
pub mod error;
pub mod event;
pub mod generator;
pub mod memory;
pub mod profile;
pub mod random;
pub mod settings;
pub mod stream;
pub mod threads;

use std::ffi::{CStr, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

use error::AbiError;
use openmps::Settings;

/// What every fallible entry point returns: [`status::OK`] or the exception class to raise.
pub type Status = i32;

/// Values of [`Status`]. All but the first have a message.
pub mod status {
    use super::Status;

    /// The call succeeded.
    pub const OK: Status = 0;
    /// `RuntimeError`.
    pub const RUNTIME_ERROR: Status = 1;
    /// `ValueError`.
    pub const VALUE_ERROR: Status = 2;
    /// `TypeError`.
    pub const TYPE_ERROR: Status = 3;
    /// `NotImplementedError`.
    pub const NOT_IMPLEMENTED_ERROR: Status = 4;
    /// `torch.AcceleratorError`, with a code and a source position.
    pub const ACCELERATOR_ERROR: Status = 5;
    /// `torch.OutOfMemoryError`.
    pub const OUT_OF_MEMORY_ERROR: Status = 6;
    /// A bug of ours; `RuntimeError`.
    pub const PANIC: Status = 7;
    /// The call succeeded, and the message is a warning for the user.
    pub const WARNING: Status = 8;
}

/// A pointer to where a result goes.
#[repr(transparent)]
pub struct Out<'a, T>(Option<&'a mut T>);

impl<'a, T> Out<'a, T> {
    /// The place, for the argument called `name`.
    ///
    /// # Errors
    ///
    /// If the caller passed null.
    pub fn place(self, name: &'static str) -> Result<&'a mut T, AbiError> {
        self.0.ok_or(AbiError::Null(name))
    }
}

/// A pointer to something the callee only reads.
#[repr(transparent)]
pub struct In<'a, T>(Option<&'a T>);

impl<'a, T> In<'a, T> {
    /// The thing, for the argument called `name`.
    ///
    /// # Errors
    ///
    /// If the caller passed null.
    pub fn thing(self, name: &'static str) -> Result<&'a T, AbiError> {
        self.0.ok_or(AbiError::Null(name))
    }
}

/// A text that ends with a zero byte.
#[repr(transparent)]
pub struct Text(*const c_char);

impl Text {
    /// The text, for the argument called `name`; bytes that are no UTF-8 are replaced.
    ///
    /// # Errors
    ///
    /// If the caller passed null.
    ///
    /// # Safety
    ///
    /// The pointer, if not null, leads to a zero-terminated text that nobody changes during the call.
    pub unsafe fn read(&self, name: &'static str) -> Result<String, AbiError> {
        if self.0.is_null() {
            return Err(AbiError::Null(name));
        }
        // SAFETY: not null, and the rest is this function's own precondition.
        let text = unsafe { CStr::from_ptr(self.0) };
        Ok(text.to_string_lossy().into_owned())
    }
}

/// Runs the body of an entry point; a failure or a panic leaves its message with the thread.
fn guard(body: impl FnOnce() -> Result<(), AbiError>) -> Status {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => status::OK,
        Ok(Err(failure)) => error::remember(&failure),
        Err(payload) => error::remember(&AbiError::Panic(panic_text(&*payload))),
    }
}

/// Runs the body of an entry point that cannot fail; a panic gives `fallback`.
fn guard_value<T>(fallback: T, body: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|payload| {
        error::remember(&AbiError::Panic(panic_text(&*payload)));
        fallback
    })
}

fn panic_text(payload: &(dyn std::any::Any + Send)) -> String {
    if Settings::process().debug.panic {
        std::process::abort();
    }
    let text = payload.downcast_ref::<&str>().copied();
    text.map(str::to_owned)
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "panic without a message".to_owned())
}

/// Declares entry points. `fn name(args) { body }` has a body of type `Result<(), AbiError>` and returns a [`Status`];
/// `fn name(args) -> T, else fallback { body }` returns the body's value and cannot fail.
macro_rules! abi {
    ($($(#[doc = $doc:literal])* fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $(-> $ret:ty, else $fallback:expr,)? $body:block)*) => {$(
        $(#[doc = $doc])*
        ///
        /// # Safety
        ///
        /// Pointers are null or valid for the call, as `csrc/autogen_openmps_abi.h` declares them; out places are
        /// initialized.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($arg: $ty),*) -> $crate::abi::abi!(@ret $($ret)?) {
            $crate::abi::abi!(@call $body $($fallback)?)
        }
    )*};
    (@ret) => { $crate::abi::Status };
    (@ret $ret:ty) => { $ret };
    (@call $body:block) => { $crate::abi::guard(move || $body) };
    (@call $body:block $fallback:expr) => { $crate::abi::guard_value($fallback, move || $body) };
}
use abi;
