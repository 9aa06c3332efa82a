//! Glue of the fuzz target `verify`; its body is `openmps_suite::fuzzing::verify`.
#![no_main]
libfuzzer_sys::fuzz_target!(|input: &[u8]| openmps_suite::fuzzing::verify::run(input));
