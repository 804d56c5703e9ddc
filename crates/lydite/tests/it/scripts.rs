//! Scripts that `make` calls.

use crate::program::{scratch, write_program};
use std::process::{Command, Output};

/// Runs the check of free space with a `df` that reports so many free GiB on every disk.
fn free_space(free_gib: u64, arguments: &[&str]) -> Output {
    let directory = scratch();
    let place = directory.path();
    let said = format!("/dev/x 1 1 {} 99% /disk", free_gib * 1024 * 1024);
    write_program(&place.join("df"), &format!("#!/bin/sh\necho Filesystem\necho '{said}'\n"));
    let path = std::env::var("PATH").expect("a path");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/free-space.sh");
    let mut command = Command::new(script);
    command.args(arguments).env("PATH", format!("{}:{path}", place.display()));
    // Nothing is built there.
    command.env("CARGO_TARGET_DIR", place.join("target")).env("TMPDIR", place);
    command.output().expect("the script")
}

#[test]
fn a_build_or_a_test_run_on_a_full_disk_stops_with_one_line_that_says_how_much_is_missing() {
    let plenty = free_space(100, &["build", "lint"]);
    assert!(plenty.status.success() && plenty.stderr.is_empty(), "{plenty:?}");
    // Enough for the tests, and too little for a build before them.
    assert!(free_space(5, &["tests"]).status.success());
    for (free, arguments) in [(1, &["tests"][..]), (5, &["build"]), (9, &["build", "lint"])] {
        let ended = free_space(free, arguments);
        let error = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(1), "{ended:?}");
        assert_eq!(error.lines().count(), 1, "{error}");
        for words in
            ["error: /disk has ", " GB free, and the build and the tests need ", "cargo clean", "lydite-*"]
        {
            assert!(error.contains(words), "{words}: {error}");
        }
    }
}
