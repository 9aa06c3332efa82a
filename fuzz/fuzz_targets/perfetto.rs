//! Glue of the fuzz target `perfetto`; its body is `openmps_suite::fuzzing::perfetto`.
#![no_main]
libfuzzer_sys::fuzz_target!(|input: &[u8]| openmps_suite::fuzzing::perfetto::run(input));
