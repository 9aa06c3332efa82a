//! The shape shared by all borrowed handles: a non-null pointer that the borrow `'m` keeps alive.

/// Declares a copyable handle over an LLVM-C reference.
///
/// Invariant of every such type: the pointer is live for `'m`, the borrow of the module (or context) that owns the object.
/// Only this crate makes them, from pointers that LLVM has just returned for a borrowed owner. Objects are deleted only with
/// the owner or through `&mut` of it, which no handle survives; [`Module::erase`](crate::Module::erase) unlinks
/// instructions and frees them with the module.
macro_rules! handle {
    ($(#[$doc:meta])* $name:ident, $pointee:ty) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name<'m> {
            raw: std::ptr::NonNull<$pointee>,
            owner: std::marker::PhantomData<&'m ()>,
        }

        impl<'m> $name<'m> {
            pub(crate) fn wrap(raw: *mut $pointee) -> Self {
                Self::wrap_option(raw).expect("LLVM returns no null pointer here")
            }

            pub(crate) fn wrap_option(raw: *mut $pointee) -> Option<Self> {
                Some(Self { raw: std::ptr::NonNull::new(raw)?, owner: std::marker::PhantomData })
            }

            pub(crate) fn raw(self) -> *mut $pointee {
                self.raw.as_ptr()
            }
        }
    };
}

pub(crate) use handle;

/// A length as LLVM-C wants it. No slice of ours comes near the limit.
pub(crate) fn count(len: usize) -> u32 {
    u32::try_from(len).expect("fewer than 2^32 elements")
}
