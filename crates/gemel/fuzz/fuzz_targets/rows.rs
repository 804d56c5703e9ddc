//! Bytes as rows and keys: see `gemel::fuzzing`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| gemel::fuzzing::rows(data));
