//! A directory for the database of a test, and helpers of the tests of wrong use.

use gemel::{Database, Durability, Error, Isolation, Keyspace, Options, Result};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub(crate) struct Place {
    pub(crate) path: PathBuf,
    _directory: tempfile::TempDir,
}

pub(crate) fn place() -> Place {
    let directory = tempfile::tempdir().unwrap();
    Place { path: directory.path().join("db"), _directory: directory }
}

/// Fast options: these tests have no power cuts.
pub(crate) fn options() -> Options {
    Options { durability: Durability::None, ..Options::default() }
}

pub(crate) fn open(place: &Place) -> Database {
    Database::open(&place.path, options()).unwrap()
}

pub(crate) fn put(db: &Database, keyspace: &Keyspace, key: &[u8], value: &[u8]) -> Result<()> {
    let mut transaction = db.begin(Isolation::Snapshot)?;
    transaction.put(keyspace, key, value)?;
    transaction.commit()?.wait()
}

/// Returns the text of a usage error, which must be one line.
#[track_caller]
pub(crate) fn usage<T: std::fmt::Debug>(result: Result<T>) -> String {
    match result.unwrap_err() {
        Error::Usage(text) if !text.contains('\n') => text,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
pub(crate) fn assert_words(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "{word:?} is not in {text:?}");
    }
}

pub(crate) const CHILD: &str = "GEMEL_TEST_CHILD";

/// Runs this test binary as another process, with one test that finds a path in the environment.
pub(crate) fn child(command: &mut Command, test: &str, path: &Path) -> String {
    let output = command
        .args(["--exact", test, "--nocapture"])
        .env(CHILD, path)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}
