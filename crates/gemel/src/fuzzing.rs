//! Bodies of the fuzz targets in `fuzz/`. They pass arbitrary bytes to the code that reads files, which a disk may have
//! damaged. The same bodies run as tests, with random bytes and with the inputs in `fuzz/seeds`.

pub mod closed;
mod source;

use crate::LogMode;
use closed::Closed;
pub(crate) use source::Source;
use std::path::Path;

/// Reads bytes as a log, and reads logs that were written and then damaged.
pub fn log(data: &[u8]) {
    crate::log::fuzz::bytes_as_a_log(data);
    crate::log::fuzz::a_damaged_log(data);
}

/// Reads bytes as a row and as a key of some schema.
pub fn rows(data: &[u8]) {
    crate::row::fuzz::bytes_as_a_row(data);
}

/// Reads bytes as a record of the log, and as a block of a checkpoint.
pub fn records(data: &[u8]) {
    crate::record::fuzz(data);
    for entry in crate::checkpoint::entries(data) {
        let Ok(entry) = entry else { return };
        assert!(entry.key.len() + entry.value.len() <= data.len());
    }
}

/// Makes the databases that [`directories`] damages, below an empty directory.
#[must_use]
pub fn databases(directory: &Path) -> [Closed; 2] {
    [("shared", LogMode::Shared), ("per-engine", LogMode::PerEngine)]
        .map(|(name, log)| Closed::new(&directory.join(name), log))
}

/// Damages the files of a closed database as the bytes say, and opens it.
pub fn directories(databases: &[Closed], data: &[u8]) {
    closed::damage(databases, data);
}

#[cfg(test)]
mod tests {
    use crate::scratch::directory;
    use proptest::prelude::*;

    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        proptest::collection::vec(prop_oneof![0..8_u8, any::<u8>()], 0..300)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

        #[test]
        fn arbitrary_logs_are_read_or_rejected(data in bytes()) {
            super::log(&data);
        }

        #[test]
        fn arbitrary_rows_and_keys_are_read_or_rejected(data in bytes()) {
            super::rows(&data);
        }

        #[test]
        fn arbitrary_records_and_checkpoints_are_read_or_rejected(data in bytes()) {
            super::records(&data);
        }
    }

    /// Makes the databases for a test.
    fn databases() -> (tempfile::TempDir, [super::Closed; 2]) {
        let directory = directory();
        let databases = super::databases(directory.path());
        (directory, databases)
    }

    #[test]
    fn damaged_directories_are_opened_with_all_rows_or_rejected() {
        let (_directory, databases) = databases();
        let cases = std::env::var("GEMEL_FUZZ").map_or(500, |cases| cases.parse().unwrap());
        let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
        proptest!(config, |(data in proptest::collection::vec(any::<u8>(), 4..40))| {
            super::directories(&databases, &data);
        });
    }

    /// Runs the inputs that the fuzzer kept because each takes a path of its own.
    #[test]
    fn the_fuzzers_inputs_are_read_or_rejected() {
        let (_directory, databases) = databases();
        for target in ["log", "rows", "records", "directories"] {
            let run = |data: &[u8]| match target {
                "log" => super::log(data),
                "rows" => super::rows(data),
                "records" => super::records(data),
                _ => super::directories(&databases, data),
            };
            let directory = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds").join(target);
            let mut inputs = 0;
            for entry in std::fs::read_dir(directory).unwrap() {
                run(&std::fs::read(entry.unwrap().path()).unwrap());
                inputs += 1;
            }
            assert!(inputs > 0, "{target} has no inputs");
        }
    }
}
