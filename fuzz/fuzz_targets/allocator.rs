//! Glue of the fuzz target `allocator`; its body is `openmps_suite::fuzzing::allocator`.
#![no_main]
libfuzzer_sys::fuzz_target!(|input: &[u8]| openmps_suite::fuzzing::allocator::run(input));
