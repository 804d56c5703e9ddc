//! The result of checking a piece of code.

use serde::Deserialize;
use std::collections::BTreeSet;

/// The required form of a piece.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// An import: `import x` or `from x import y` in Python, a path in Go.
    Import,
    /// An expression.
    Expression,
    /// An expression, or lines that may `return` a value.
    Code,
}

/// The result of checking a piece.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Finding {
    /// The error, if the piece is wrong.
    error: Option<String>,
    /// The line of the error within the piece, from 1.
    line: usize,
    /// Names that an import binds.
    pub(super) binds: Vec<String>,
    /// True for an expression, false for lines.
    pub(super) expression: bool,
    /// True if the piece returns a value.
    pub(super) answers: bool,
    /// Free names, without Python's own. Empty for Go, whose compiler finds undefined names.
    pub(super) uses: BTreeSet<String>,
    /// All names that the piece reads.
    pub(super) mentions: BTreeSet<String>,
    /// Lines, from 1, that begin inside a string over several lines.
    pub(super) continued: BTreeSet<usize>,
}

impl Finding {
    /// Returns the finding for a wrong piece. `line` is the line within it, from 1.
    pub(super) fn wrong(error: &str, line: usize) -> Self {
        Self { error: Some(error.into()), line, ..Self::default() }
    }

    /// Returns the error, if the piece is wrong.
    pub(super) fn problem(&self) -> Option<String> {
        let error = self.error.as_ref()?;
        Some(if self.line > 1 { format!("line {} of it: {error}", self.line) } else { error.clone() })
    }
}
