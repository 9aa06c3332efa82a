//! Glue of the fuzz target `msl_compile`; its body is `openmps_suite::fuzzing::msl_compile`.
#![no_main]
libfuzzer_sys::fuzz_target!(|input: &[u8]| openmps_suite::fuzzing::msl_compile::run(input));
