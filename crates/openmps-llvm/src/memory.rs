//! What happens when LLVM gets no memory. By default it aborts, which looks like any other crash.

use std::ffi::c_int;

/// From now on the process ends with `status`, at once and without running anything, when LLVM, clang or C++'s `new`
/// gets no memory.
pub fn exit_when_out_of_memory(status: c_int) {
    // SAFETY: the bridge installs handlers that live as long as the process; it has no preconditions.
    unsafe { openmps_exit_when_out_of_memory(status) };
}

unsafe extern "C" {
    fn openmps_exit_when_out_of_memory(status: c_int);
}
