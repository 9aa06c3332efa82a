//! Glue of the fuzz target `protocol`; its body is `openmps_suite::fuzzing::protocol`.
#![no_main]
libfuzzer_sys::fuzz_target!(|input: &[u8]| openmps_suite::fuzzing::protocol::run(input));
