//! The signpost profiler.

use openmps::profile;

use super::{Text, abi};

abi! {
    /// Constructs the profiler, so that a bad mask in the environment is reported.
    fn openmps_profile_initialize() { Ok(profile::initialize()?) }

    /// Starts a trace; `mode` has words `interval` and `event`, separated by commas.
    fn openmps_profile_start(mode: Text, wait_until_completed: bool) {
        // SAFETY: the caller keeps the text for the call.
        let mode = unsafe { mode.read("mode") }?;
        Ok(profile::start_trace(&mode, wait_until_completed)?)
    }

    /// Stops a trace, if one runs.
    fn openmps_profile_stop() {
        profile::stop_trace();
        Ok(())
    }
}
