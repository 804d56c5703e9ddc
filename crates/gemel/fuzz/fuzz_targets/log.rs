//! Bytes as a log: see `gemel::fuzzing`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| gemel::fuzzing::log(data));
