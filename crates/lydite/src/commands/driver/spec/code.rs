//! What is found in the pieces of code of a specification. Python itself reads those that are Python; nothing of them is run.

use super::tokens;
use crate::cli::Language;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::io::{ErrorKind, Write};
use std::process::{Command, Stdio};

const CHECK: &str = include_str!("check.py");

/// What a piece has to be.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// `import x`, or `from x import y`.
    Import,
    /// An expression.
    Expression,
    /// An expression, or lines that may `return` something.
    Code,
}

/// What a language says of a piece.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Finding {
    /// Why it is refused, and its line within the piece.
    error: Option<String>,
    line: usize,
    /// The names that an import brings.
    pub(super) binds: Vec<String>,
    /// Whether it is an expression, and no lines.
    pub(super) expression: bool,
    /// Whether it gives a value.
    pub(super) answers: bool,
    /// The names that it takes from outside, but for Python's own. Of Go its compiler finds those that nothing brings.
    pub(super) uses: BTreeSet<String>,
    /// All names that it reads.
    pub(super) mentions: BTreeSet<String>,
    /// Lines that begin within a text over several lines, from 1.
    pub(super) continued: BTreeSet<usize>,
}

impl Finding {
    /// Of a piece that is refused, in this line of it.
    pub(super) fn refused(error: &str, line: usize) -> Self {
        Self { error: Some(error.into()), line, ..Self::default() }
    }

    /// Why it is refused.
    pub(super) fn problem(&self) -> Option<String> {
        let error = self.error.as_ref()?;
        Some(if self.line > 1 { format!("line {} of it: {error}", self.line) } else { error.clone() })
    }
}

/// Reads pieces, in their order.
pub(super) fn findings(language: Language, pieces: &[(Kind, &str)]) -> Result<Vec<Finding>, String> {
    match language {
        Language::Python => of_python(pieces),
        Language::Go => Ok(pieces.iter().map(|(kind, text)| tokens::finding(*kind, text)).collect()),
    }
}

/// Asks Python.
fn of_python(pieces: &[(Kind, &str)]) -> Result<Vec<Finding>, String> {
    let asked: Vec<(&str, &str)> = pieces
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
    let asked = serde_json::to_vec(&asked).map_err(|error| error.to_string())?;
    let failed = |error: std::io::Error| match error.kind() {
        ErrorKind::NotFound => "python3: not found: install Python 3.9 or later, which reads the code of a \
                                specification and runs the driver"
            .to_string(),
        _ => format!("python3: {error}"),
    };
    // Isolated: neither the environment nor the directory brings modules.
    let mut python = Command::new("python3")
        .args(["-I", "-c", CHECK])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    if let Some(mut input) = python.stdin.take() {
        // It reads all before it writes. If it ends early, what it says below tells why.
        let _told_below = input.write_all(&asked);
    }
    let ended = python.wait_with_output().map_err(failed)?;
    let findings: Result<Vec<Finding>, _> = serde_json::from_slice(&ended.stdout);
    match findings {
        Ok(findings) if ended.status.success() && findings.len() == pieces.len() => Ok(findings),
        _ => {
            let said = String::from_utf8_lossy(&ended.stderr);
            let last = said.lines().last().unwrap_or("it said nothing");
            Err(format!("python3: it can't read the code of the specification: {last}"))
        }
    }
}
