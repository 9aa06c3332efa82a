//! What machine code made here runs on, as a text for cache keys. Found without LLVM.

use crate::abi::ABI_VERSION;

/// Identifies CPU model, CPU features, the features that the operating system enables, and the version of the contract between
/// code and runtime. Objects may be shared between machines with the same text.
#[must_use]
pub fn target_id() -> String {
    let words: Vec<String> = cpu_words().iter().map(|word| format!("{word:08x}")).collect();
    format!("{}-abi{ABI_VERSION}-{}", std::env::consts::ARCH, words.join(""))
}

/// Model and feature words of CPUID. What differs between the cores of one machine (APIC ids, cache sharing) is left out.
#[cfg(target_arch = "x86_64")]
fn cpu_words() -> Vec<u32> {
    use std::arch::x86_64::{__cpuid, __cpuid_count};

    let highest = __cpuid(0).eax;
    let vendor = __cpuid(0);
    let model = __cpuid(1);
    let mut words = vec![vendor.ebx, vendor.ecx, vendor.edx, model.eax, model.ecx, model.edx];
    if highest >= 7 {
        let (extended, more) = (__cpuid_count(7, 0), __cpuid_count(7, 1));
        // Bit 15 of edx says that cores differ, per core on some machines.
        words.extend([extended.ebx, extended.ecx, extended.edx & !(1 << 15), more.eax, more.edx]);
    }
    if __cpuid(0x8000_0000).eax >= 0x8000_0001 {
        let extended = __cpuid(0x8000_0001);
        words.extend([extended.ecx, extended.edx]);
    }
    words.push(enabled_state(model.ecx));
    words
}

/// XCR0: which vector registers the operating system saves.
#[cfg(target_arch = "x86_64")]
fn enabled_state(model_ecx: u32) -> u32 {
    if model_ecx >> 27 & 1 == 0 {
        return 0;
    }
    let low: u32;
    // SAFETY: CPUID says that the operating system has enabled XGETBV; register 0 exists wherever it has.
    unsafe { std::arch::asm!("xgetbv", in("ecx") 0, out("eax") low, out("edx") _, options(nomem, nostack)) };
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_stable_and_plain() {
        let id = target_id();
        assert_eq!(id, target_id());
        assert!(id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')), "{id}");
    }
}
