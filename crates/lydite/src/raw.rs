//! What the user wrote, before it is a plan: values from a file and from flags, each with the place it stands in.

use crate::phases;
use lydite_report::suggest::nearest;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};
use toml::de::{DeArray, DeTable, DeValue};

/// Where a value was written.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Origin {
    /// A flag: `--warehouses`, or `--set warehouses`.
    Flag(String),
    /// A line of the plan file.
    Line { file: String, line: usize, key: String },
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(flag) => f.write_str(flag),
            Self::Line { file, line, key } => write!(f, "{file}, line {line}, {key}"),
        }
    }
}

/// A value as text; numbers and booleans of a file too, so that flags and files are read alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Given {
    text: String,
    /// What was written, if the text is its value at one moment.
    written: Option<String>,
    origin: Origin,
}

impl Given {
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// One of the values of a list.
    fn one(&self, text: String) -> Self {
        Self { text, written: None, origin: self.origin.clone() }
    }

    /// Its value at one moment.
    pub(crate) fn at_a_moment(&self, text: String) -> Self {
        let written = (text != self.text).then(|| self.text.clone());
        Self { text, written, origin: self.origin.clone() }
    }

    /// Where it was written and as what, as errors begin that tell of it.
    fn place(&self) -> String {
        format!("{}: {:?}", self.origin, self.written.as_ref().unwrap_or(&self.text))
    }

    /// Whether it is a flag's.
    pub(crate) fn is_flag(&self) -> bool {
        matches!(self.origin, Origin::Flag(_))
    }

    /// The values of a list, which has this between them, but not within brackets.
    pub(crate) fn split(&self, between: char) -> Vec<Self> {
        let mut depth = 0_i32;
        let cut = |letter: char| {
            depth += i32::from(letter == '(') - i32::from(letter == ')');
            letter == between && depth == 0
        };
        self.text.split(cut).map(|text| self.one(text.trim().to_owned())).collect()
    }
}

/// A value of a file as text; none if it is a list, a table or a date.
pub(crate) fn scalar(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(number) => Some(number.to_string()),
        DeValue::Float(number) => Some(number.to_string()),
        DeValue::Boolean(value) => Some(value.to_string()),
        DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => None,
    }
}

/// Lists of known names that an error of this file has shown. Each is shown once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Listed(BTreeSet<String>);

impl Listed {
    /// Returns the problem of a name that is not among the known ones, with the nearest of them as a suggestion.
    pub(crate) fn not_known(&mut self, name: &str, known: &[&str]) -> String {
        let meant = nearest(name, known).map(|known| format!("did you mean {known}?"));
        let list = known.join(", ");
        let hint = match (meant, self.0.insert(list.clone())) {
            (Some(meant), true) => format!("{meant} use {list}"),
            (None, true) => format!("use {list}"),
            (Some(meant), false) => meant,
            (None, false) => "use one of the listed keys".to_owned(),
        };
        format!("is not known: {hint}")
    }
}

/// Sorts errors by the lines of `file` that they begin with. Errors without a line come last, in the order in which they
/// were found.
pub(crate) fn by_line(mut errors: Vec<String>, file: &str) -> Vec<String> {
    errors.sort_by_key(|error| {
        let line = error.strip_prefix(file).and_then(|rest| rest.strip_prefix(", line "));
        let digits = line.and_then(|line| line.split(|letter: char| !letter.is_ascii_digit()).next());
        digits.and_then(|digits| digits.parse::<usize>().ok()).unwrap_or(usize::MAX)
    });
    errors
}

/// Keys whose values may be lists in a file; elsewhere the values stand behind each other, with commas between.
const LISTS: &[&str] = &["replicas", "require"];

/// All values by key.
#[derive(Clone, Debug, Default)]
pub(crate) struct Raw {
    given: BTreeMap<String, Given>,
    /// The tables `[[phase]]` of a file: the values of each by key.
    pub(crate) phases: Vec<BTreeMap<String, Given>>,
    /// The plan file, if there is one.
    pub(crate) config: Option<PathBuf>,
    /// What is wrong so far, one line each.
    pub(crate) errors: Vec<String>,
    /// The plan file's name in messages.
    file: Option<String>,
    listed: Listed,
    /// Values that could not be read, as errors begin that tell of them.
    unread: BTreeSet<String>,
}

impl Raw {
    /// Takes a flag, if it was given. Flags win over the file, so they come after it.
    pub(crate) fn flag(&mut self, key: &str, value: Option<String>) {
        if let Some(text) = value {
            let flag =
                if key == "target" { "TARGET".to_string() } else { format!("--{}", key.replace('_', "-")) };
            if let Some(Given { origin: Origin::Flag(set), .. }) = self.given.get(key) {
                self.errors.push(format!("{set}: is given as {flag} too: give one"));
            }
            self.given.insert(key.to_string(), Given { text, written: None, origin: Origin::Flag(flag) });
        }
    }

    /// Takes a `--set KEY=VALUE`. Those of the same key win over each other in their order, as flags do, and over the
    /// file; so they come between the file and the flags.
    pub(crate) fn set(&mut self, setting: &str, known: &[&str]) {
        let Some((key, value)) = setting.split_once('=') else {
            self.errors.push(format!("--set {setting:?} has no value: write KEY=VALUE"));
            return;
        };
        let key = key.trim();
        if !known.contains(&key) {
            let problem = self.listed.not_known(key, known);
            self.errors.push(format!("--set {key}: {problem}"));
            return;
        }
        let origin = Origin::Flag(format!("--set {key}"));
        self.given.insert(key.to_string(), Given { text: value.to_string(), written: None, origin });
    }

    /// Refuses keys that are given though they mean nothing with the workload at hand.
    pub(crate) fn only_for(&mut self, workload: &str, keys: &[&str]) {
        for key in keys {
            if self.given.contains_key(*key) {
                self.wrong(key, &format!("is for --workload {workload} only: leave it out"));
            }
        }
    }

    /// Takes what a sweep's `--set KEY=VALUE` says.
    pub(crate) fn put(&mut self, key: &str, text: String) {
        self.given.insert(
            key.to_string(),
            Given { text, written: None, origin: Origin::Flag(format!("--set {key}")) },
        );
    }

    /// Takes a value that stands in a line of a file.
    pub(crate) fn line(&mut self, key: &str, text: String, file: &str, line: usize) {
        let origin = Origin::Line { file: file.to_string(), line, key: key.to_string() };
        self.given.insert(key.to_string(), Given { text, written: None, origin });
    }

    /// Reads a plan file, or the standard input for `-`. `known` are the keys that it may have; `a.b` stands for key b of table a.
    pub(crate) fn file(&mut self, path: &Path, known: &[&str]) {
        let from_stdin = path == Path::new("-");
        let file = if from_stdin { "standard input".into() } else { path.display().to_string() };
        self.file = Some(file.clone());
        let mut text = String::new();
        let read = if from_stdin {
            std::io::stdin().read_to_string(&mut text).map(|_| text)
        } else {
            self.config = Some(path.to_owned());
            std::fs::read_to_string(path)
        };
        let text = match read {
            Ok(text) => text,
            Err(error) => {
                self.errors.push(format!("--config {file}: {error}: name a plan file that can be read"));
                return;
            }
        };
        let line_of = |position: usize| text.bytes().take(position).filter(|&byte| byte == b'\n').count() + 1;
        match DeTable::parse(&text) {
            Ok(table) => self.table(table.get_ref(), "", &file, &line_of, known),
            Err(error) => {
                let line = error.span().map_or(1, |span| line_of(span.start));
                self.errors.push(format!("{file}, line {line}: {}", error.message().replace('\n', " ")));
            }
        }
    }

    fn table(
        &mut self,
        table: &DeTable<'_>,
        prefix: &str,
        file: &str,
        line_of: &dyn Fn(usize) -> usize,
        known: &[&str],
    ) {
        let mut entries: Vec<_> = table.iter().collect();
        entries.sort_by_key(|(name, _)| name.span().start);
        for (name, value) in entries {
            let key = format!("{prefix}{}", name.get_ref());
            let line = line_of(name.span().start);
            if let DeValue::Table(inner) = value.get_ref()
                && known.iter().any(|known| known.starts_with(&format!("{key}.")))
            {
                self.table(inner, &format!("{key}."), file, line_of, known);
                continue;
            }
            if let (DeValue::Array(tables), "phase") = (value.get_ref(), key.as_str())
                && known.contains(&"phase")
            {
                self.phase_tables(tables, file, line_of);
                continue;
            }
            if !known.contains(&key.as_str()) {
                let problem = self.listed.not_known(&key, known);
                self.errors.push(format!("{file}, line {line}: {key} {problem}"));
                continue;
            }
            let texts = |value: &DeValue<'_>| match value {
                DeValue::Array(values) if LISTS.contains(&key.as_str()) => {
                    let texts: Option<Vec<String>> =
                        values.iter().map(|value| scalar(value.get_ref())).collect();
                    texts.map(|texts| texts.join(","))
                }
                other => scalar(other),
            };
            match texts(value.get_ref()) {
                Some(text) => self.line(&key, text, file, line),
                None if key == "phase" => self.errors.push(format!(
                    "{file}, line {line}: phase must be a time, or tables with two brackets, [[phase]]"
                )),
                None => self
                    .errors
                    .push(format!("{file}, line {line}: {key} must be a text, a number or true/false")),
            }
        }
    }

    fn phase_tables(&mut self, tables: &DeArray<'_>, file: &str, line_of: &dyn Fn(usize) -> usize) {
        for table in tables {
            let DeValue::Table(table_of) = table.get_ref() else {
                let line = line_of(table.span().start);
                self.errors.push(format!("{file}, line {line}: phase must be a time, or tables [[phase]]"));
                continue;
            };
            let mut known = vec!["name", "from", "lasts"];
            known.extend(phases::keys().map(|key| key.name));
            let mut own = Self { listed: std::mem::take(&mut self.listed), ..Self::default() };
            own.table(table_of, "", file, line_of, &known);
            self.listed = own.listed;
            self.errors.extend(own.errors);
            self.phases.push(own.given);
        }
    }

    /// Returns what is wrong, in the order of the plan file's lines.
    pub(crate) fn into_errors(self) -> Vec<String> {
        match &self.file {
            Some(file) => by_line(self.errors, file),
            None => self.errors,
        }
    }

    /// What was given for a key.
    pub(crate) fn given(&self, key: &str) -> Option<Given> {
        self.given.get(key).cloned()
    }

    /// Takes what was given elsewhere for a key.
    pub(crate) fn take_given(&mut self, key: &str, given: Given) {
        self.given.insert(key.to_owned(), given);
    }

    /// What was given to begin with and other values of some keys, without errors; but of values whose errors are here nothing
    /// more is told.
    pub(crate) fn but(&self, base: &Self, values: &BTreeMap<String, Given>) -> Self {
        let mut given = base.given.clone();
        given.extend(values.clone());
        Self { given, unread: self.unread.clone(), ..Self::default() }
    }

    /// Notes an error about a value.
    pub(crate) fn wrong_given(&mut self, given: &Given, problem: &str) {
        self.errors.push(format!("{}: {problem}", given.origin));
    }

    /// A value, read by `read`, whose error tells what it must be.
    pub(crate) fn read_given<T>(
        &mut self,
        given: &Given,
        read: impl FnOnce(&str) -> Result<T, String>,
    ) -> Option<T> {
        let problem = match read(given.text.trim()) {
            Ok(value) => return Some(value),
            Err(problem) => problem,
        };
        let value = given.place();
        // Who reads it a second time, as something else, would only be wrong about it.
        if self.unread.insert(value.clone()) {
            self.errors.push(match &given.written {
                Some(_) => format!("{value} is {:?} at one moment, which {problem}", given.text),
                None => format!("{value} {problem}"),
            });
        }
        None
    }

    /// Nothing more is told of the value of a key: what is wrong with it was.
    pub(crate) fn let_be(&mut self, key: &str) {
        if let Some(given) = self.given.get(key) {
            self.unread.insert(given.place());
        }
    }

    /// The text of a key.
    pub(crate) fn text(&self, key: &str) -> Option<String> {
        self.given.get(key).map(|given| given.text.clone())
    }

    /// Notes an error about a key, with the place of its value.
    pub(crate) fn wrong(&mut self, key: &str, problem: &str) {
        let message = match self.given.get(key) {
            Some(given) => format!("{}: {problem}", given.origin),
            None => problem.to_string(),
        };
        self.errors.push(message);
    }

    /// The value of a key, read by `read`, whose error tells what it must be.
    pub(crate) fn read<T>(&mut self, key: &str, read: impl FnOnce(&str) -> Result<T, String>) -> Option<T> {
        let given = self.given(key)?;
        self.read_given(&given, read)
    }
}
