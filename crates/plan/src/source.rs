//! A TOML file for error messages: its values with their lines, and the errors in them.

use crate::entries::{Names, by_line, scalar, text_of};
use std::error::Error;
use std::path::Path;
use std::{fmt, io};
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

/// A value of a table, with its full key and its line.
pub struct Entry<'t, 'd> {
    /// The key, its parts divided by dots.
    pub key: String,
    /// The line of the key.
    pub line: usize,
    /// The value of the key.
    pub value: &'t DeValue<'d>,
}

/// A file that can't be read.
#[derive(Debug)]
pub struct Unreadable {
    file: String,
    error: io::Error,
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: name a file that can be read", self.file, self.error)
    }
}

impl Error for Unreadable {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.error)
    }
}

/// A file, and the errors found in it so far.
pub struct Source {
    file: String,
    /// The beginning of each line, in bytes.
    lines: Vec<usize>,
    /// Errors found so far, one line each.
    pub errors: Vec<String>,
    /// The place of the lists of known names.
    pub names: Names,
}

impl Source {
    /// Reads a file, and returns its text for the caller to parse. `place` lists the names that it may have.
    ///
    /// # Errors
    /// The file can't be read.
    pub fn read(path: &Path, place: &'static str) -> Result<(Self, String), Unreadable> {
        let file = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|error| Unreadable { file: file.clone(), error })?;
        let newlines = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        let lines = std::iter::once(0).chain(newlines).collect();
        Ok((Self { file, lines, errors: Vec::new(), names: Names { place } }, text))
    }

    /// Returns the name of the file for messages.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Returns the line of a byte position in the text, from 1.
    pub fn line_of(&self, position: usize) -> usize {
        self.lines.partition_point(|begin| *begin <= position)
    }

    /// Adds an error about a key.
    pub fn wrong(&mut self, line: usize, key: &str, problem: &str) {
        let key = if key.is_empty() { String::new() } else { format!(", {key}") };
        self.add(format!("{}, line {line}{key}: {problem}", self.file));
    }

    /// Adds an error about a key of the file, or about `flag` if the value has no line.
    pub fn wrong_by(&mut self, flag: &str, line: Option<usize>, key: &str, problem: &str) {
        match line {
            Some(line) => self.wrong(line, key, problem),
            None => self.add(format!("{flag}: {problem}")),
        }
    }

    /// Adds an error, unless it is there already.
    pub fn add(&mut self, error: String) {
        if !self.errors.contains(&error) {
            self.errors.push(error);
        }
    }

    /// Adds an error about an unknown name.
    pub fn not_known(&mut self, line: usize, key: &str, name: &str, known: &[&str]) {
        let problem = self.names.not_known(name, known);
        self.wrong(line, key, &problem);
    }

    /// Returns the errors in the order of the lines.
    pub fn into_errors(self) -> Vec<String> {
        by_line(self.errors, &self.file)
    }

    /// Returns the entries of a table in the order of the file; inner tables are entries.
    pub fn entries<'t, 'd>(&self, table: &'t DeTable<'d>) -> Vec<Entry<'t, 'd>> {
        let mut all: Vec<(usize, &Spanned<DeString<'d>>, &'t Spanned<DeValue<'d>>)> =
            table.iter().map(|(name, value)| (name.span().start, name, value)).collect();
        all.sort_by_key(|(place, ..)| *place);
        all.into_iter()
            .map(|(place, name, value)| Entry {
                key: name.get_ref().to_string(),
                line: self.line_of(place),
                value: value.get_ref(),
            })
            .collect()
    }

    /// Returns the entries of a table and of all its inner tables, with their full keys.
    pub fn leaves<'t, 'd>(&self, table: &'t DeTable<'d>) -> Vec<Entry<'t, 'd>> {
        let mut all = Vec::new();
        for entry in self.entries(table) {
            match entry.value {
                DeValue::Table(inner) => all.extend(
                    self.leaves(inner)
                        .into_iter()
                        .map(|leaf| Entry { key: format!("{}.{}", entry.key, leaf.key), ..leaf }),
                ),
                _ => all.push(entry),
            }
        }
        all
    }

    /// Returns a string, number or boolean as text; none, with an error, for other values.
    pub fn scalar(&mut self, entry: &Entry<'_, '_>) -> Option<String> {
        let text = scalar(entry.value);
        if text.is_none() {
            self.wrong(entry.line, &entry.key, "must be a text, a number or true/false");
        }
        text
    }

    /// Returns the value of a key of the plan as text; none, with an error, for values that no key has.
    pub fn plan_text(&mut self, entry: &Entry<'_, '_>) -> Option<String> {
        let text = text_of(&entry.key, entry.value);
        match (&text, entry.value) {
            (None, DeValue::Array(_)) if entry.key == "fault" => {
                self.wrong(entry.line, "fault", "must be texts here, not tables: \"KIND@FROM..TO/WHERE\"");
            }
            (None, _) => self.wrong(entry.line, &entry.key, "must be a text, a number or true/false"),
            (Some(_), _) => {}
        }
        text
    }

    /// Returns one such value or a list of them as texts; none, with an error, for other values and empty lists.
    pub fn scalars(&mut self, entry: &Entry<'_, '_>) -> Option<Vec<String>> {
        let texts = match entry.value {
            DeValue::Array(values) => values.iter().map(|value| scalar(value.get_ref())).collect(),
            value => scalar(value).map(|text| vec![text]),
        };
        match texts {
            Some(texts) if !texts.is_empty() => Some(texts),
            _ => {
                self.wrong(entry.line, &entry.key, "must be a value or a list of values");
                None
            }
        }
    }
}
