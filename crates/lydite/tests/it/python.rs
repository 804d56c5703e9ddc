//! The package for Python: its own tests and the examples of its documentation, with the program that was built.

use crate::kit::{SDK, python_with_libraries};
use std::path::Path;
use std::process::Command;

const TESTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/python");

#[test]
fn the_package_runs_the_program_reads_its_results_and_its_examples_are_true() {
    passes("module_test.py");
}

#[test]
fn the_package_rejects_broken_documents_and_its_results_can_not_be_changed() {
    passes("documents_test.py");
}

#[test]
fn a_run_ends_with_the_python_that_started_it() {
    passes("lifetime_test.py");
}

#[test]
fn the_types_of_the_package_are_consistent() {
    let package = format!("{SDK}/lydite");
    let arguments = ["-m", "mypy", "--strict", "--cache-dir=/dev/null", &package];
    let ended = Command::new(python_with_libraries()).args(arguments).output().expect("mypy");
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stdout));
}

/// Runs the tests of a file.
fn passes(file: &str) {
    let program = Path::new(env!("CARGO_BIN_EXE_lydite"));
    let beside = program.parent().expect("the directory of the program");
    let path = std::env::var("PATH").unwrap_or_default();
    let ended = Command::new("python3")
        .args([&format!("{TESTS}/{file}"), "-v"])
        .env("PYTHONPATH", SDK)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("PATH", format!("{}:{path}", beside.display()))
        .env("LYDITE_PROGRAM", program)
        .output()
        .expect("Python");
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{said}");
    assert!(!said.contains("Ran 0 tests"), "{said}");
}
