//! Files that are named as plans and are something else: configurations of other programs, and results of Lydite.

use lydite_import::{Source, shown, tool_of};
use lydite_report::document_kind::DocumentKind;
use serde_json::Value;
use std::path::Path;

/// Returns the error about a file that is the configuration of another program, or a JSON document; none for other
/// files. It begins with the name of the file, and names what to give instead.
#[must_use]
pub fn other_file(bytes: &[u8], path: &Path) -> Option<String> {
    let problem = configuration(bytes, path).or_else(|| document(bytes))?;
    Some(format!("{}: {problem}", shown(&path.display().to_string())))
}

/// Returns the problem of a configuration of another program.
fn configuration(bytes: &[u8], path: &Path) -> Option<String> {
    let file = path.display().to_string();
    let tool = tool_of(&Source::from_bytes(file.as_str(), bytes).ok()?)?;
    // A stream is used up, and a name of a file may have ends of lines, or be no UTF-8.
    let is_text = path.to_str().is_some_and(|name| !name.contains(char::is_control));
    let can_not_be_typed = file == "-" || file.starts_with("/dev/") || !is_text;
    let argument = if can_not_be_typed { "FILE".into() } else { shell_words::quote(&file) };
    Some(format!(
        "is a configuration of {}: make a plan of it with: lydite import {argument} -o plan.toml",
        tool.name
    ))
}

/// Returns the problem of a JSON document.
fn document(bytes: &[u8]) -> Option<String> {
    let document: Value = serde_json::from_slice(bytes).ok().filter(Value::is_object)?;
    let problem = match DocumentKind::of(&document) {
        Some(DocumentKind::Result) => {
            "is a result of Lydite, not a plan: name the plan file that the run had, or write one of the values that the result \
             has under \"plan\""
        }
        Some(DocumentKind::Plans) => {
            "has plans of `lydite import --json`: name a plan file, which `lydite import FILE -o plan.toml` writes"
        }
        Some(_) => "is a document that Lydite wrote, not a plan: name a plan file, in TOML",
        None => "is JSON, and a plan file is TOML: write a line KEY = VALUE for each key",
    };
    Some(problem.to_owned())
}
