//! Connection strings of databases without a server.

use crate::pasted::apply::{Parameter, conclude};
use crate::pasted::draft::Draft;
use crate::pasted::findings::Findings;
use crate::pasted::row::Dialect;

/// Makes the target of a database without a server. A parameter may name the path.
pub(super) fn draft(
    path: &str,
    parameters: Vec<Parameter>,
    dialect: &'static Dialect,
    scheme: &str,
    findings: &mut Findings,
) -> Draft {
    let path = path.strip_prefix("file:").unwrap_or(path);
    let mut draft = Draft { path: (!path.is_empty()).then(|| path.to_owned()), ..Draft::new(scheme) };
    conclude(dialect, parameters, &mut draft, findings);
    let path = draft.path.get_or_insert_default();
    if path == ":memory:" {
        findings.error(in_memory(scheme));
    }
    if path.starts_with("|DataDirectory|") {
        findings
            .error("has |DataDirectory|, which only a program for .NET knows: write the path of the file");
    }
    draft
}

/// Error of a database in memory.
pub(super) fn in_memory(scheme: &str) -> String {
    format!(
        "names a database in memory, which is for one session alone: write {scheme}: for a temporary file"
    )
}
