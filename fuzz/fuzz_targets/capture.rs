//! Glue of the fuzz target `capture`; its body is `openmps_suite::fuzzing::capture`.
#![no_main]
libfuzzer_sys::fuzz_target!(|input: &[u8]| openmps_suite::fuzzing::capture::run(input));
