//! Files of the repository that are made from the sources: a test compares them, or writes them anew.

use std::fs;
use std::path::Path;

/// The variable of the environment that has such files written anew.
pub const RENEW: &str = "LYDITE_RENEW_PAGES";

/// Compares a file of the repository with what it must be; if [`RENEW`] is set, writes it.
///
/// # Errors
/// The first line that differs, and how to renew the file.
pub fn compare(path: &str, wanted: &str) -> Result<(), String> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    let there = fs::read_to_string(&file).unwrap_or_default();
    if there == wanted {
        return Ok(());
    }
    if std::env::var_os(RENEW).is_some() {
        return fs::write(&file, wanted).map_err(|error| format!("{path}: {error}"));
    }
    let difference = there.lines().zip(wanted.lines()).position(|(there, wanted)| there != wanted);
    let line = difference.unwrap_or_else(|| there.lines().count().min(wanted.lines().count()));
    Err(format!(
        "{path} is old: line {} is\n  {}\nand must be\n  {}\nrenew it: run this test with {RENEW}=1",
        line + 1,
        there.lines().nth(line).unwrap_or("(the end)"),
        wanted.lines().nth(line).unwrap_or("(the end)"),
    ))
}
