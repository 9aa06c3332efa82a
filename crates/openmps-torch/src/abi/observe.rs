//! Operators that run on the CPU, for those who listen.

use openmps::observe::{self, HostOp};

use super::{Text, abi};

abi! {
    /// Not 0 when someone wants to know of operators: one relaxed load.
    fn openmps_observers() -> u32, else 0, { observe::observers() }

    /// Nanoseconds on a clock that never goes back.
    fn openmps_observe_now() -> u64, else 0, { observe::now_ns() }

    /// Tells those who listen that an operator has just ended; `tensors` has a line for each of its tensors.
    fn openmps_observe_host_op(name: Text, tensors: Text, started_ns: u64) {
        // SAFETY: the caller keeps the text for the call.
        let name = unsafe { name.read("name") }?;
        // SAFETY: the caller keeps the text for the call.
        let tensors = unsafe { tensors.read("tensors") }?;
        observe::host_op(&HostOp { name: &name, tensors: &tensors, started_ns, ended_ns: observe::now_ns() });
        Ok(())
    }
}
