//! What the environment asks for.

use std::ffi::{CString, c_char};
use std::ptr::null;
use std::sync::OnceLock;

use openmps::Settings;
use openmps::settings::Fallback;

use super::error::AbiError;
use super::{Out, abi};

/// Ops that the MPS backend lacks raise.
pub const FALLBACK_OFF: u32 = 0;
/// Ops that the MPS backend lacks run on the CPU with a warning.
pub const FALLBACK_ON: u32 = 1;

fn warnings() -> &'static [CString] {
    static WARNINGS: OnceLock<Vec<CString>> = OnceLock::new();
    WARNINGS.get_or_init(|| {
        let texts = Settings::process().warnings.iter();
        texts.map(|text| CString::new(text.replace('\0', "?")).unwrap_or_default()).collect()
    })
}

abi! {
    /// What `PYTORCH_ENABLE_MPS_FALLBACK` asks for; a text that is no integer is a `ValueError`.
    fn openmps_settings_fallback(fallback: Out<'_, u32>) {
        *fallback.place("fallback")? = match &Settings::process().enable_fallback {
            Fallback::Off => FALLBACK_OFF,
            Fallback::On => FALLBACK_ON,
            Fallback::Invalid(text) => return Err(AbiError::Fallback(text.clone())),
        };
        Ok(())
    }

    /// Refuses an `OPENMPS_DEVICE` that names no Mac, with a `ValueError` that lists the known ones.
    fn openmps_settings_check_device() {
        if let Some(Err(error)) = &Settings::process().device {
            return Err(error.clone().into());
        }
        Ok(())
    }

    /// What to warn the user about, from index 0 on; null past the last one. Lives as long as the process.
    fn openmps_settings_warning(index: u32) -> *const c_char, else null(), {
        usize::try_from(index).ok().and_then(|index| warnings().get(index)).map_or(null(), |text| text.as_ptr())
    }
}
