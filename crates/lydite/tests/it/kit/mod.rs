//! The conformance kit as tests call it: scaffolds, verdicts, and what drivers run with.

use crate::program::{Ended, Program, lydite};
use lydite_testkit::Directory;

/// The SDK for Python.
pub(crate) const SDK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../sdk/python");

/// A directory that goes with the test.
pub(crate) fn directory() -> Directory {
    Directory::new("e2e")
}

/// Runs the kit to its end. It does what many commands do, several times over.
pub(crate) fn kit(arguments: &[&str]) -> Ended {
    Program::new(&[&["driver", "test"], arguments].concat()).run()
}

/// Makes a driver in a directory and gives its URL.
pub(crate) fn scaffold(place: &Directory, name: &str, arguments: &[&str]) -> String {
    let path = place.path().join(name);
    let path = path.to_str().expect("a path in UTF-8");
    let made = lydite(&[&["driver", "new", path], arguments].concat()).code(0);
    assert!(made.stdout.contains(&format!("lydite driver test driver:{path}")), "{}", made.stdout);
    format!("driver:{path}")
}

/// Each of the cases (what stands in a specification, what is wrong instead, words of the error) is refused with these words
/// and the place in `store.toml`. `errors_of`: the errors of a specification.
pub(crate) fn assert_each_is_named(
    right: &str,
    cases: &[(&str, &str, &str)],
    errors_of: impl Fn(&str) -> String,
) {
    for (part, wrong, words) in cases {
        assert!(right.contains(part), "{part}");
        let errors = errors_of(&right.replacen(part, wrong, 1));
        assert!(errors.contains(words), "{words:?} is wanted: {errors}");
        assert!(errors.contains("store.toml, "), "{errors}");
    }
}

/// The verdict on a step and its reason.
pub(crate) fn step<'a>(ended: &'a Ended, name: &str) -> (&'a str, &'a str) {
    let line = ended.stdout.lines().find(|line| line[15..].trim_start().starts_with(name));
    let line = line.unwrap_or_else(|| panic!("no step {name}: {}", ended.stdout));
    (line[..15].trim(), line.split_once(" s  ").map_or("", |(_, reason)| reason))
}

/// All steps passed.
pub(crate) fn assert_green(ended: &Ended) {
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stdout.contains(" 0 failed, 0 skipped"), "{}", ended.stdout);
    for name in
        ["New-Order", "Delivery", "rollback", "contention", "lost update", "dirty read", "conditions after"]
    {
        assert_eq!(step(ended, name).0, "passed", "{name}: {}", ended.stdout);
    }
}

/// A Python that has the libraries of `scripts/psycopg-python.sh`: the one that `make test` makes, else that of the system.
pub(crate) fn python_with_libraries() -> String {
    let python = std::env::var("PSYCOPG_PYTHON").unwrap_or_else(|_| "python3".into());
    let found = std::process::Command::new(&python)
        .args([
            "-c",
            "import psycopg, psycopg2, sqlalchemy, asyncpg, redis, msgpack, prometheus_client, mypy",
        ])
        .output();
    let found = found.expect("a Python");
    assert!(
        found.status.success(),
        "{python} lacks a library: run `make test`, or set PSYCOPG_PYTHON: {found:?}"
    );
    python
}

/// True if drivers of this Python pack messages by the package `msgpack`; `path` comes before the SDK.
pub(crate) fn uses_package_msgpack(python: &str, path: &str) -> bool {
    let asked = std::process::Command::new(python)
        .args(["-c", "import lydite._msgpack as used; print(used._fast is not None)"])
        .env("PYTHONPATH", format!("{path}:{SDK}"))
        .output()
        .expect("a Python");
    match String::from_utf8_lossy(&asked.stdout).trim() {
        "True" => true,
        "False" => false,
        _ => panic!("{python}: {}", String::from_utf8_lossy(&asked.stderr)),
    }
}
