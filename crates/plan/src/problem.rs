//! The problem of a value in a plan or on a command line, as the rest of a sentence.

use std::fmt;

/// The problem of a value: the rest of a sentence that begins with the value's place. It says what to write instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem(String);

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Problem {}

impl From<&str> for Problem {
    fn from(words: &str) -> Self {
        Self(words.to_owned())
    }
}

impl From<String> for Problem {
    fn from(words: String) -> Self {
        Self(words)
    }
}
