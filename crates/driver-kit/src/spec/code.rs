//! Checks the pieces of code of a specification. `python3` parses Python; [`tokens`] scans Go. No piece is run.

use super::finding::{Finding, Kind};
use super::tokens;
use crate::language::Language;
use std::fmt::{self, Display};
use std::io::{self, ErrorKind, Write};
use std::process::{Command, Stdio};

const CHECK: &str = include_str!("check.py");

/// The reason why pieces can't be checked.
#[derive(Debug)]
pub(super) enum CheckError {
    /// There is no `python3`.
    NoPython,
    /// The system's error about `python3`.
    System(io::Error),
    /// `python3` failed, with these last words.
    Failed(String),
}

impl Display for CheckError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoPython => f.write_str(
                "python3: not found: install Python 3.9 or later, which reads the code of a specification and runs the \
                 driver",
            ),
            Self::System(error) => write!(f, "python3: {error}"),
            Self::Failed(words) => {
                write!(f, "python3: it can't read the code of the specification: {words}")
            }
        }
    }
}

impl From<io::Error> for CheckError {
    fn from(error: io::Error) -> Self {
        if error.kind() == ErrorKind::NotFound { Self::NoPython } else { Self::System(error) }
    }
}

/// Checks pieces and returns a finding for each, in the same order.
pub(super) fn findings(language: Language, pieces: &[(Kind, &str)]) -> Result<Vec<Finding>, CheckError> {
    match language {
        Language::Python => python_findings(pieces),
        Language::Go => Ok(pieces.iter().map(|(kind, text)| tokens::finding(*kind, text)).collect()),
    }
}

/// Checks pieces of Python with `python3`.
fn python_findings(pieces: &[(Kind, &str)]) -> Result<Vec<Finding>, CheckError> {
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
    let input = serde_json::to_vec(&input).map_err(io::Error::from)?;
    // -I: neither environment variables nor the current directory add modules.
    let mut python = Command::new("python3")
        .args(["-I", "-c", CHECK])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    if let Some(mut stdin) = python.stdin.take() {
        // Python reads all input before it writes. If it ends early, its last words are reported below.
        let _reported_below = stdin.write_all(&input);
    }
    let ended = python.wait_with_output()?;
    let findings: Result<Vec<Finding>, _> = serde_json::from_slice(&ended.stdout);
    match findings {
        Ok(findings) if ended.status.success() && findings.len() == pieces.len() => Ok(findings),
        _ => {
            let stderr = String::from_utf8_lossy(&ended.stderr);
            let last = stderr.lines().last().unwrap_or("it said nothing");
            Err(CheckError::Failed(last.to_owned()))
        }
    }
}
