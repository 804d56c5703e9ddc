//! Checks the pieces of code of a specification. `python3` parses Python; [`tokens`] scans Go. No piece is run.

use super::tokens;
use crate::cli::Language;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::io::{ErrorKind, Write};
use std::process::{Command, Stdio};

const CHECK: &str = include_str!("check.py");

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

/// Checks pieces and returns a finding for each, in the same order.
pub(super) fn findings(language: Language, pieces: &[(Kind, &str)]) -> Result<Vec<Finding>, String> {
    match language {
        Language::Python => python_findings(pieces),
        Language::Go => Ok(pieces.iter().map(|(kind, text)| tokens::finding(*kind, text)).collect()),
    }
}

/// Checks pieces of Python with `python3`.
fn python_findings(pieces: &[(Kind, &str)]) -> Result<Vec<Finding>, String> {
    let input: Vec<(&str, &str)> = pieces
        .iter()
        .map(|(kind, text)| {
            let kind = match kind {
                Kind::Import => "import",
                Kind::Expression => "expression",
                Kind::Code => "code",
            };
            (kind, *text)
        })
        .collect();
    let input = serde_json::to_vec(&input).map_err(|error| error.to_string())?;
    let failed = |error: std::io::Error| match error.kind() {
        ErrorKind::NotFound => "python3: not found: install Python 3.9 or later, which reads the code of a \
                                specification and runs the driver"
            .to_string(),
        _ => format!("python3: {error}"),
    };
    // -I: neither environment variables nor the current directory add modules.
    let mut python = Command::new("python3")
        .args(["-I", "-c", CHECK])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    if let Some(mut stdin) = python.stdin.take() {
        // Python reads all input before it writes. If it ends early, its last words are reported below.
        let _reported_below = stdin.write_all(&input);
    }
    let ended = python.wait_with_output().map_err(failed)?;
    let findings: Result<Vec<Finding>, _> = serde_json::from_slice(&ended.stdout);
    match findings {
        Ok(findings) if ended.status.success() && findings.len() == pieces.len() => Ok(findings),
        _ => {
            let stderr = String::from_utf8_lossy(&ended.stderr);
            let last = stderr.lines().last().unwrap_or("it said nothing");
            Err(format!("python3: it can't read the code of the specification: {last}"))
        }
    }
}
