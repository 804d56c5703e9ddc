//! Bytes as records of the log and of checkpoints: see `gemel::fuzzing`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| gemel::fuzzing::records(data));
