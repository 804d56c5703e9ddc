//! Specifications: a short TOML file names the calls of a key-value store, and becomes a driver. [`read`] reads and
//! validates the whole file. [`Spec`] then writes the driver: [`python`] and [`go`] generate its code.

mod code;
mod error_rules;
mod finding;
mod format;
mod go;
mod keys;
mod python;
mod tokens;

pub(crate) use format::read;

use crate::language::Language;
use finding::Finding;
use std::collections::BTreeMap;

/// A piece of code and its place in the file.
#[derive(Debug)]
struct Code {
    key: String,
    /// The line where the text begins.
    line: usize,
    text: String,
    found: Finding,
}

/// The form of keys or values in the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// Unchanged.
    Bytes,
    /// Text with two hexadecimal digits for each byte, which keeps the order of keys.
    Hex,
    /// Text in base64, which does not keep the order.
    Base64,
}

/// The meaning of an error of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meaning {
    /// The transaction was aborted, for this reason.
    Aborted(&'static str),
    /// The connection to the store is lost.
    Unavailable,
}

/// A rule that gives errors of the store a meaning.
#[derive(Debug)]
struct ErrorRule {
    meaning: Meaning,
    /// The class of the error; in Go its type, if the rule names one.
    class: Option<Code>,
    /// A condition on the error.
    condition: Option<Code>,
}

/// A package to fetch: for pip a requirement, for Go a module and its version.
#[derive(Debug)]
struct Package {
    name: String,
    version: String,
}

/// A valid specification.
#[derive(Debug)]
pub(crate) struct Spec {
    /// The language of the code.
    pub(crate) language: Language,
    /// The file, unchanged.
    pub(crate) text: String,
    name: String,
    guarantee: &'static str,
    isolation: Option<String>,
    durable: bool,
    packages: Vec<Package>,
    /// Imports, each with its line.
    imports: Vec<(usize, String)>,
    /// The type of the value of `open` (Go).
    db: Option<Code>,
    /// The type of the value of `begin` (Go).
    tx: Option<Code>,
    /// True if all sessions share the value of `open` (Go).
    shared: bool,
    /// Names of environment variables, and their defaults.
    options: Vec<(String, String)>,
    /// True if a table is a prefix of keys, and not an argument of calls.
    prefix: bool,
    keys: Form,
    values: Form,
    /// The error for a missing key, in Python its class. Without it, `None` or `nil` means a missing key.
    missing: Option<Code>,
    /// All other code, by its key in the file, such as `operations.get`.
    codes: BTreeMap<&'static str, Code>,
    error_rules: Vec<ErrorRule>,
}

impl Spec {
    /// Returns the files that are specific to this driver: path, text, and true for a program.
    pub(crate) fn files(&self, name: &str) -> Vec<(&'static str, String, bool)> {
        let mut files = match self.language {
            Language::Python => python::files(self),
            Language::Go => go::files(self, name),
        };
        files.push(("spec.toml", self.text.clone(), false));
        files
    }

    /// Returns the text of `README.md`.
    pub(crate) fn readme(&self, name: &str, url: &str) -> String {
        let mut out = match self.language {
            Language::Python => python::readme(self, name, url),
            Language::Go => go::readme(self, name, url),
        };
        if !self.options.is_empty() {
            out += "\n| environment variable | default |\n|---|---|\n";
            for (name, default) in &self.options {
                out += &format!("| `{name}` | `{}` |\n", default.replace('|', "\\|"));
            }
        }
        out + &format!(
            "\nThe driver declares the guarantee `{}`, and the tests check it. `./test` runs them again, on an\n\
             empty database.\n",
            self.guarantee
        )
    }

    /// Returns true if the user must install packages first.
    pub(crate) fn installs(&self) -> bool {
        self.language == Language::Python && !self.packages.is_empty()
    }

    /// Returns the code of a key.
    fn code(&self, key: &str) -> Option<&Code> {
        self.codes.get(key)
    }

    /// Returns true if the store has transactions.
    fn transactional(&self) -> bool {
        self.codes.contains_key("transactions.commit")
    }

    /// Returns true if a rule recognizes lost connections.
    fn can_be_lost(&self) -> bool {
        self.error_rules.iter().any(|rule| rule.meaning == Meaning::Unavailable)
    }
}
