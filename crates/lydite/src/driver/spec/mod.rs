//! A specification: the data-access API of a store in a short TOML file, from which a key-value driver is made. It is read
//! and validated as a whole here; [`python`] makes the driver of it.

mod code;
mod format;
mod python;

pub(super) use format::read;
pub(super) use python::{readme, requirements, store};

use code::Finding;
use std::collections::BTreeMap;

/// A piece of Python.
#[derive(Debug)]
struct Code {
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
    class: Code,
    /// What must hold of `error` beside its class.
    condition: Option<Code>,
}

/// A specification that has been found good.
#[derive(Debug)]
pub(super) struct Spec {
    /// The file, as it stands.
    pub(super) text: String,
    name: String,
    guarantee: &'static str,
    isolation: Option<String>,
    durable: bool,
    packages: Vec<String>,
    imports: Vec<String>,
    /// Names of variables of the environment, and their defaults.
    options: Vec<(String, String)>,
    /// Whether a table is a prefix of keys, and not handed on.
    prefix: bool,
    keys: Form,
    values: Form,
    /// The class of the error that means that a key is not there; else `None` means it.
    missing: Option<Code>,
    /// All other code, by its key in the file: `operations.get`.
    codes: BTreeMap<&'static str, Code>,
    refusals: Vec<Refusal>,
}

impl Spec {
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
