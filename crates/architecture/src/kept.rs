//! Files of the repository that are made from the sources: a test compares them, or writes them anew.

use crate::workspace::Workspace;
use std::fs;

/// The variable of the environment that has such files written anew.
pub const RENEW: &str = "LYDITE_RENEW_ARCHITECTURE";

/// Compares a file of the repository with what it must be; if [`RENEW`] is set, writes it.
///
/// # Errors
/// The first line that differs, and the command that renews the file.
pub fn compare(workspace: &Workspace, path: &str, wanted: &str) -> Result<(), String> {
    let there = workspace.text(path).unwrap_or_default();
    if there == wanted {
        return Ok(());
    }
    if std::env::var_os(RENEW).is_some() {
        return fs::write(workspace.root.join(path), wanted).map_err(|error| format!("{path}: {error}"));
    }
    let difference = there.lines().zip(wanted.lines()).position(|(there, wanted)| there != wanted);
    let line = difference.unwrap_or_else(|| there.lines().count().min(wanted.lines().count()));
    Err(format!(
        "{path} is old: line {} is\n  {}\nand must be\n  {}\nrenew it: {RENEW}=1 cargo test -p lydite-architecture",
        line + 1,
        there.lines().nth(line).unwrap_or("(the end)"),
        wanted.lines().nth(line).unwrap_or("(the end)"),
    ))
}
