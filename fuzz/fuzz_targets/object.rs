//! Glue of the fuzz target `object`; its body is `openmps_suite::fuzzing::object`.
#![no_main]
libfuzzer_sys::fuzz_target!(|input: &[u8]| openmps_suite::fuzzing::object::run(input));
