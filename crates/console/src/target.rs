//! Lines about the target of a command, before it connects.

use crate::PASSWORD;
use crate::output::complain;
use lydite_families::TargetSpec;
use std::ffi::OsString;

/// Prints the URL that a connection string of another program means, the parts that were left out, and a warning if its
/// password is on the command line.
pub fn announce(target: &TargetSpec) {
    announce_as("target", target);
}

/// Prints the same about one of several targets of a command. The lines call it `word`.
pub fn announce_as(word: &str, target: &TargetSpec) {
    if let Some(url) = target.understood() {
        complain(&format!("{word} is understood as {url}"));
    }
    if !target.notes().is_empty() {
        complain(&format!("{word}: {}", target.notes().join("; ")));
    }
    // Whoever writes a URL of Lydite's has read how; a connection string was pasted.
    if target.understood().is_none() {
        return;
    }
    let has_secret = |argument: OsString| {
        let argument = argument.to_string_lossy();
        let value = argument.rsplit_once("target=").map(|(_, value)| value);
        target.is_secret_of(&argument) || value.is_some_and(|value| target.is_secret_of(value))
    };
    if std::env::args_os().skip(1).any(has_secret) {
        complain(&format!(
            "the password is on the command line, where ps shows it: leave it out there, and set {PASSWORD} to it"
        ));
    }
}
