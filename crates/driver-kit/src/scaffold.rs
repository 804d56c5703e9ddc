//! New drivers: makes a directory with a working driver. The directory contains the SDK, so nothing needs to be installed.

use crate::language::Language;
use crate::spec;
use lydite_console::exit::{Failure, Outcome};
use lydite_console::output::print;
use lydite_console::shell::typed;
use lydite_families::{GO_SDK, PYTHON_RUNS, PYTHON_SDK};
use std::borrow::Cow;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// A file of a driver: path, text, and true for a program.
type File = (String, Cow<'static, str>, bool);

const PYTHON_TRANSACTIONS: &str = include_str!("../../../sdk/python/examples/sqlite_driver.py");
const PYTHON_STORE: &str = include_str!("../../../sdk/python/examples/sqlite_kv.py");
const GO_STORE: &str = include_str!("../../../sdk/go/examples/store/main.go");
const GO_TRANSACTIONS: &str = include_str!("../../../sdk/go/examples/memory/main.go");
const GO_TABLES: &str = include_str!("../../../sdk/go/examples/memory/store.go");
const GO_LIST: &str = include_str!("../../../sdk/go/examples/store/list.go");
const GO_DRIVER: &str = include_str!("../../../sdk/go/examples/pgx/driver");

/// Returns the files of an example driver.
fn files(name: &str, lang: Language, kv: bool) -> Vec<File> {
    let file = |path: &str, text: &'static str, runs| (path.to_string(), Cow::Borrowed(text), runs);
    let mut made = match (lang, kv) {
        (Language::Python, true) => vec![file("driver", PYTHON_STORE, true)],
        (Language::Python, false) => vec![file("driver", PYTHON_TRANSACTIONS, true)],
        (Language::Go, true) => vec![file("main.go", GO_STORE, false), file("list.go", GO_LIST, false)],
        (Language::Go, false) => {
            vec![file("main.go", GO_TRANSACTIONS, false), file("store.go", GO_TABLES, false)]
        }
    };
    if matches!(lang, Language::Go) {
        let module = format!(
            "module {name}\n\ngo 1.19\n\nrequire lydite.dev/driver v0.0.0\n\nreplace lydite.dev/driver => ./lydite\n"
        );
        made.extend([file("driver", GO_DRIVER, true), ("go.mod".into(), module.into(), false)]);
    }
    made.extend(sdk(lang));
    made
}

/// Returns the files of the SDK. Python's is the whole package, since a copy beside a driver hides an installed one.
fn sdk(lang: Language) -> impl Iterator<Item = File> {
    let (parts, folder) = match lang {
        Language::Python => ([PYTHON_SDK, PYTHON_RUNS], ""),
        Language::Go => ([GO_SDK, &[]], "lydite/"),
    };
    parts
        .into_iter()
        .flatten()
        .map(move |(path, text)| (format!("{folder}{path}"), Cow::Borrowed(*text), false))
}

/// Returns the files of a driver for a specification.
fn specified_files(spec: &spec::Spec, name: &str) -> Vec<File> {
    let files = spec.files(name).into_iter();
    files.map(|(path, text, runs)| (path.into(), text.into(), runs)).chain(sdk(spec.language)).collect()
}

/// A driver to make.
#[derive(Clone, Debug)]
pub struct NewDriver {
    /// Directory to make; its last part is the driver's name.
    pub path: PathBuf,
    /// Language; a specification names its own.
    pub language: Option<Language>,
    /// True for a driver of a key-value store: Lydite plays the transactions on it.
    pub kv: bool,
    /// File with the specification of a key-value driver.
    pub spec: Option<PathBuf>,
}

/// Makes the directory of a driver, and prints what to do with it.
///
/// # Errors
/// The name, the language or the specification is wrong, or the disk rejects a file.
pub fn make(driver: &NewDriver) -> Outcome {
    let name = driver.path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let good = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
    if name.is_empty() || !name.chars().all(good) || name.starts_with('-') {
        return Err(Failure::usage(format!(
            "NAME {:?}: use letters, digits, - and _, perhaps behind a directory",
            driver.path.display().to_string()
        )));
    }
    let spec = match &driver.spec {
        None => None,
        Some(path) => Some(spec::read(path, driver.language).map_err(Failure::Usage)?),
    };
    let (files, lang) = match (&spec, driver.language) {
        (Some(spec), _) => (specified_files(spec, name), spec.language),
        (None, Some(lang)) => (files(name, lang, driver.kv), lang),
        (None, None) => return Err(Failure::usage("--lang: say python or go, or name a --spec")),
    };
    let path = &driver.path;
    let failed = |path: &Path, error: io::Error| Failure::usage(format!("{}: {error}", path.display()));
    fs::create_dir(path).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            Failure::usage(format!("{}: exists already: choose another name", path.display()))
        }
        _ => failed(path, error),
    })?;
    // A path without a directory would name a program on the PATH.
    let shown = path.display().to_string();
    let url = format!("driver:{}{shown}", if shown.contains('/') { "" } else { "./" });
    let url = typed(&url);
    let readme = match &spec {
        Some(spec) => spec.readme(name, &url),
        None => readme(name, &url, lang, driver.kv),
    };
    let test = "#!/bin/sh\n# Tests the driver. Drops the tables of earlier tests first.\n\
                exec \"${LYDITE:-lydite}\" driver test --fresh \"driver:$(dirname \"$0\")\"\n";
    let ignored = "store.sqlite*\nstore.bolt\n__pycache__/\n.build/\n.venv/\n";
    let made = files.into_iter().chain([
        ("README.md".into(), readme.into(), false),
        ("test".into(), test.into(), true),
        (".gitignore".into(), ignored.into(), false),
    ]);
    for (file, text, runs) in made {
        let file = path.join(file);
        write(&file, &text, runs).map_err(|error| failed(&file, error))?;
    }
    let (over, then, tells) = match &spec {
        Some(spec) if spec.installs() => (
            "as specified",
            "Install its packages and test it:",
            "how to install them, and lists its options",
        ),
        Some(_) => ("as specified", "Test it:", "which options it has"),
        None => (
            "that works, over an example store",
            "Test it, then replace the store by your database:",
            "where",
        ),
    };
    print(&format!(
        "{shown} is a driver {over}. {then}\n\n    lydite driver test {url}\n    lydite run {url} --duration 10s\n\n\
         {shown}/README.md says {tells}.\n"
    ))
}

/// Writes a new file, executable if it is a program.
fn write(path: &Path, text: &str, runs: bool) -> io::Result<()> {
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)?;
    }
    let mode = if runs { 0o777 } else { 0o666 };
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
    file.write_all(text.as_bytes())
}

/// Returns the README of an example driver.
fn readme(name: &str, url: &str, lang: Language, kv: bool) -> String {
    let (store, processes, sdk) = match lang {
        Language::Python => (
            "an SQLite file beside it",
            "one process for each session",
            "`lydite/` is the SDK, for Python 3.9 or later; it runs Lydite from Python, too",
        ),
        Language::Go => (
            "tables in memory and a log in `.build`, since Go has no database in its standard library",
            "built when its sources are newer: one process, with a goroutine for each session",
            "`lydite/` is the SDK, for Go 1.19 or later",
        ),
    };
    let (what, change) = if kv {
        (
            "A key-value store for Lydite, which plays the transactions of TPC-C on it.",
            "Lydite needs six functions and `abort`: replace their bodies by calls of your store. Do the same\n\
             with the functions for speed, or delete them. Turn errors that mean \"try again\" into `Aborted`. Declare\n\
             in `guarantee` what its transactions guarantee; the tests check it.",
        )
    } else {
        (
            "A database for Lydite, with the five transactions of TPC-C.",
            "Replace the bodies by statements of your database, method by method, and turn its errors that\n\
             mean \"try again\" into `Aborted`. Money is whole cents, never a float.",
        )
    };
    format!(
        "# {name}\n\n{what}\nIt works as it stands, over {store}.\n\n```sh\nlydite driver test {url}    # a table of \
         all steps, with the reason of each failure\nlydite run {url} --duration 30s\n```\n\n`driver` is the program that \
         Lydite starts, {processes}.\n{change}\n{sdk}. `./test` runs the tests\nagain, on an empty database.\n"
    )
}
