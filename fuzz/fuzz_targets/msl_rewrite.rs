//! Glue of the fuzz target `msl_rewrite`; its body is `openmps_suite::fuzzing::msl_rewrite`.
#![no_main]
libfuzzer_sys::fuzz_target!(|input: &[u8]| openmps_suite::fuzzing::msl_rewrite::run(input));
