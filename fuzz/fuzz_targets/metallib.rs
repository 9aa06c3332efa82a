//! Glue of the fuzz target `metallib`; its body is `openmps_suite::fuzzing::metallib`.
#![no_main]
libfuzzer_sys::fuzz_target!(|input: &[u8]| openmps_suite::fuzzing::metallib::run(input));
