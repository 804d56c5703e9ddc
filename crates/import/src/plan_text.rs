//! A plan as a TOML file that says where each value comes from, and what became of all settings.

use crate::draft::Entry;
use crate::fate::Kind;
use crate::import::Import;
use crate::setting::{Setting, shown};
use serde_json::Value;
use std::fmt::Write;

/// The order of keys in the file. Keys of tables stand behind all others.
const ORDER: &[&str] = &[
    "mode",
    "warehouses",
    "active_warehouses",
    "size",
    "terminals",
    "sessions",
    "rate",
    "arrival",
    "warmup",
    "duration",
    "mix",
    "tx",
    "seed",
    "jobs",
];
/// Length of a line of comment.
const WIDTH: usize = 120;

/// Returns a value as TOML writes it. Texts of a plan are numbers, names and URLs: JSON's escapes are TOML's.
fn toml(value: &Value) -> String {
    value.to_string()
}

/// Writes a line with a comment behind it.
fn line(out: &mut String, key: &str, entry: &Entry) {
    let value = format!("{key} = {}", toml(&entry.value));
    // Writing to a string can't fail.
    let _ = match entry.origin.as_str() {
        "" => writeln!(out, "{value}"),
        origin => writeln!(out, "{value:<30}  # {origin}"),
    };
}

/// Writes a comment over as many lines as it needs.
fn comment(out: &mut String, first: &str, text: &str) {
    let mut begin = format!("# {first}");
    let indent = format!("# {}", " ".repeat(first.chars().count()));
    let mut length = begin.chars().count();
    let text = shown(text);
    for word in text.split(' ') {
        let word_length = word.chars().count();
        if length + word_length + 1 > WIDTH && length > indent.len() {
            out.push_str(begin.trim_end());
            out.push('\n');
            begin.clone_from(&indent);
            length = begin.chars().count();
        }
        begin += word;
        begin.push(' ');
        length += word_length + 1;
    }
    out.push_str(begin.trim_end());
    out.push('\n');
}

impl Import {
    /// Returns the plan as a file: values with the settings that they come from, then all settings as comments.
    #[must_use]
    pub fn toml(&self) -> String {
        let mut out = String::new();
        comment(&mut out, "", &format!("Made from {} of {}", self.files.join(", "), self.tool.name));
        for note in &self.notes {
            comment(&mut out, "- ", note);
        }
        let _ = writeln!(out, "\n{}", target(self));
        if self.has_password() {
            comment(&mut out, "", "The password stands nowhere here: set LYDITE_PASSWORD to it.");
        }
        if self.lacks_warehouses {
            out.push_str(
                "# warehouses = NUMBER: set it, the files don't say it in a way that Lydite understands\n",
            );
        }
        let place = |key: &str| ORDER.iter().position(|known| *known == key).unwrap_or(ORDER.len());
        let mut keys: Vec<(&&str, &Entry)> =
            self.draft.keys.iter().filter(|(key, _)| !key.contains('.')).collect();
        keys.sort_by_key(|(key, _)| place(key));
        for (key, entry) in keys {
            line(&mut out, key, entry);
        }
        let mut table = "";
        for (key, entry) in &self.draft.keys {
            let Some((of, key)) = key.split_once('.') else { continue };
            if of != table {
                let _ = writeln!(out, "\n[{of}]");
                table = of;
            }
            line(&mut out, key, entry);
        }
        for phase in &self.draft.phases {
            out.push_str("\n[[phase]]\n");
            for (key, value) in phase {
                let _ = writeln!(out, "{key} = {}", toml(value));
            }
        }
        out.push('\n');
        settings(&mut out, self);
        out
    }
}

/// Returns the line of the database. A plan without the key would run on the default database, so the value is empty if
/// the files do not say enough for a URL, and a comment says what they lack.
fn target(import: &Import) -> String {
    if let Some(target) = import.target.as_deref() {
        return format!("target = {}", toml(&Value::from(target)));
    }
    let lacking = match import.draft.place.url_of_unknown_host() {
        Some(url) => format!("put in {url} with the host, which the files don't name"),
        None if import.draft.place.undriven.is_some() => {
            "put the URL in: the files name no database that Lydite drives".to_owned()
        }
        None => "put the URL in: the files don't say where the database is".to_owned(),
    };
    format!("target = \"\"  # {lacking}")
}

/// Writes the settings by what became of them.
fn settings(out: &mut String, import: &Import) {
    let kinds = [Kind::NotUnderstood, Kind::NoCounterpart, Kind::Secret, Kind::Translated, Kind::Dropped];
    for kind in kinds {
        let of: Vec<&Setting> = import.settings.iter().filter(|setting| setting.fate.kind == kind).collect();
        if of.is_empty() {
            continue;
        }
        let _ = writeln!(out, "# {}:", kind.words());
        for setting in of {
            let place = match (setting.line, &setting.file) {
                (Some(line), Some(file)) if import.files.len() > 1 => format!("{file}:{line}"),
                (Some(line), _) => format!("line {line}"),
                (None, _) => "default".to_owned(),
            };
            let mark = if kind == Kind::NotUnderstood { ":" } else { "" };
            comment(out, "  ", &format!("{place}{mark} {}", setting.sentence_without_place()));
        }
    }
}
