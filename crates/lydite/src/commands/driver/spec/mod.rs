//! A specification: the data-access API of a store in a short TOML file, from which a key-value driver is made. It is read
//! and validated as a whole here; [`python`] and [`go`] make the driver of it.

mod code;
mod format;
mod go;
mod places;
mod python;
mod refusals;
mod tokens;

pub(super) use format::read;

use crate::cli::Language;
use code::Finding;
use std::collections::BTreeMap;

/// A piece of code, and where it stands in the file.
#[derive(Debug)]
struct Code {
    key: String,
    /// The line in which its text begins.
    line: usize,
    text: String,
    found: Finding,
}

/// How keys, or values, are handed to the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// As they are.
    Bytes,
    /// As text, two digits for each byte, which keeps their order.
    Hex,
    /// As text in base64, which does not.
    Base64,
}

/// What an error of the store means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meaning {
    /// The transaction was given up, for this reason.
    Aborted(&'static str),
    /// The store went away.
    Unavailable,
}

/// Which errors of the store mean what.
#[derive(Debug)]
struct Refusal {
    meaning: Meaning,
    /// The class of the error; in Go its type, if that matters.
    class: Option<Code>,
    /// What must hold of the error beside that.
    condition: Option<Code>,
}

/// What has to be fetched: for pip a requirement, for Go a module and its version.
#[derive(Debug)]
struct Package {
    name: String,
    version: String,
}

/// A specification that has been found good.
#[derive(Debug)]
pub(super) struct Spec {
    /// That of its code.
    pub(super) language: Language,
    /// The file, as it stands.
    pub(super) text: String,
    name: String,
    guarantee: &'static str,
    isolation: Option<String>,
    durable: bool,
    packages: Vec<Package>,
    /// Imports, each with its line.
    imports: Vec<(usize, String)>,
    /// In Go, the types of what `open` and `begin` give.
    db: Option<Code>,
    tx: Option<Code>,
    /// In Go, whether all sessions share what `open` gives.
    shared: bool,
    /// Names of variables of the environment, and their defaults.
    options: Vec<(String, String)>,
    /// Whether a table is a prefix of keys, and not handed on.
    prefix: bool,
    keys: Form,
    values: Form,
    /// The error that means that a key is not there, in Python its class; else `None` or `nil` means it.
    missing: Option<Code>,
    /// All other code, by its key in the file: `operations.get`.
    codes: BTreeMap<&'static str, Code>,
    refusals: Vec<Refusal>,
}

impl Spec {
    /// The files of the driver but for the SDK and those that every driver has: path, text, and whether it can be run.
    pub(super) fn files(&self, name: &str) -> Vec<(&'static str, String, bool)> {
        let mut files = match self.language {
            Language::Python => python::files(self),
            Language::Go => go::files(self, name),
        };
        files.push(("spec.toml", self.text.clone(), false));
        files
    }

    /// `README.md`.
    pub(super) fn readme(&self, name: &str, url: &str) -> String {
        let mut out = match self.language {
            Language::Python => python::readme(self, name, url),
            Language::Go => go::readme(self, name, url),
        };
        if !self.options.is_empty() {
            out += "\n| variable of the environment | default |\n|---|---|\n";
            for (name, default) in &self.options {
                out += &format!("| `{name}` | `{}` |\n", default.replace('|', "\\|"));
            }
        }
        out + &format!(
            "\nIts transactions are said to be worth `{}`; the check shows whether that is true. `./test` runs the proof \
             again, on an\nempty database.\n",
            self.guarantee
        )
    }

    /// Whether anything has to be installed by hand first.
    pub(super) fn installs(&self) -> bool {
        self.language == Language::Python && !self.packages.is_empty()
    }

    fn code(&self, key: &str) -> Option<&Code> {
        self.codes.get(key)
    }

    fn transactional(&self) -> bool {
        self.codes.contains_key("transactions.commit")
    }

    /// Whether there are errors that mean that the store went away.
    fn can_be_lost(&self) -> bool {
        self.refusals.iter().any(|refusal| refusal.meaning == Meaning::Unavailable)
    }
}
