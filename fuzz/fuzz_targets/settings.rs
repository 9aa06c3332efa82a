//! Glue of the fuzz target `settings`; its body is `openmps_suite::fuzzing::settings`.
#![no_main]
libfuzzer_sys::fuzz_target!(|input: &[u8]| openmps_suite::fuzzing::settings::run(input));
