//! What the one device is.

use std::ffi::{CString, c_char};
use std::sync::OnceLock;

use openmps::Device;

use super::error::AbiError;
use super::{Out, abi};

fn name() -> &'static CString {
    static NAME: OnceLock<CString> = OnceLock::new();
    NAME.get_or_init(|| CString::new(Device::shared().name()).unwrap_or_default())
}

abi! {
    /// The device's name. Lives as long as the process.
    fn openmps_device_name() -> *const c_char, else c"".as_ptr(), { name().as_ptr() }

    /// Number of GPU cores that the device reports.
    fn openmps_device_core_count() -> u32, else 1, { Device::shared().core_count() }

    /// Metal's recommended maximum working set, in bytes.
    fn openmps_device_recommended_max_working_set_bytes() -> u64, else 0, {
        Device::shared().recommended_max_working_set_bytes()
    }

    /// Metal's maximum buffer length, in bytes.
    fn openmps_device_max_buffer_length_bytes() -> u64, else 0, { Device::shared().max_buffer_length_bytes() }

    /// Whether the announced macOS is that version or newer. `OPENMPS_WARNING` when PyTorch warns that it cannot tell
    /// exactly; the answer is valid then.
    fn openmps_device_is_os_at_least(major: u32, minor: u32, is_at_least: Out<'_, bool>) {
        let is_at_least = is_at_least.place("is_at_least")?;
        let answer = Device::shared().is_os_at_least(major.into(), minor.into());
        *is_at_least = answer.is_at_least;
        answer.warning.map_or(Ok(()), |text| Err(AbiError::Warning(text)))
    }
}
