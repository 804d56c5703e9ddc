//! Settings of a file with what became of them, as messages show them.

use crate::fate::{Fate, Kind};

/// Longest name of a setting that messages repeat.
const LONGEST_NAME: usize = 60;

/// A setting, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Name of the file; none for a default of the program.
    pub file: Option<String>,
    /// Line in the file, from 1.
    pub line: Option<usize>,
    /// Name in the words of the program.
    pub name: String,
    /// Fate of the setting.
    pub fate: Fate,
}

impl Setting {
    /// Returns what became of the setting as a line of its own, with its place.
    #[must_use]
    pub fn sentence(&self) -> String {
        let fate = self.sentence_without_place();
        match (&self.file, self.line) {
            (Some(file), Some(line)) => format!("{}, line {line}: {fate}", shown(file)),
            _ => fate,
        }
    }

    /// Returns what became of the setting. Reasons of settings that are not understood are predicates.
    pub(crate) fn sentence_without_place(&self) -> String {
        match (self.fate.kind, self.name.as_str()) {
            (Kind::NotUnderstood, "…") => format!("the text there {}", self.fate.text),
            (Kind::NotUnderstood, name) => format!("{name} {}", self.fate.text),
            (_, name) => format!("{name}: {}", self.fate.text),
        }
    }
}

/// Returns a name of a file as messages have it. A name of a file may have any letter, also ends of lines.
#[must_use]
pub fn shown(file: &str) -> String {
    file.replace(char::is_control, "?")
}

/// Returns a name of a setting as messages have it: what does not look like a name may be a part of a password.
pub(crate) fn named(name: &str) -> String {
    let part = |letter: char| letter.is_ascii_alphanumeric() || "-_./ []@()".contains(letter);
    let looks = !name.is_empty() && name.len() <= LONGEST_NAME && name.chars().all(part);
    if !looks {
        return "…".to_owned();
    }
    // A flag and its value may stand together without a mark between them.
    let lower = name.to_ascii_lowercase();
    let end = ["password", "passwd", "pass", "pwd", "secret", "token"]
        .iter()
        .filter_map(|word| lower.find(word).map(|at| at + word.len()))
        .max();
    match end {
        Some(end) if end < name.len() => format!("{}…", name.get(..end).unwrap_or_default()),
        _ => name.to_owned(),
    }
}
