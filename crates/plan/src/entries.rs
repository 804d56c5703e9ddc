//! Entries of a plan: the values that the user wrote, in a file or as flags, each with its place.

use crate::other_file::other_file;
use lydite_database::secret;
use lydite_families::{Family, families};
use lydite_import::shown;
use lydite_report::suggest::nearest;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

/// The place of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Origin {
    /// A flag: `--warehouses`, or `--set warehouses`.
    Flag(String),
    /// A line of the plan file.
    Line { file: String, line: usize, key: String },
    /// A key of a document from another host.
    Document { name: String, key: String },
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(flag) => f.write_str(flag),
            Self::Line { file, line, key } => write!(f, "{file}, line {line}, {key}"),
            Self::Document { name, key } => write!(f, "{name}, {key}"),
        }
    }
}

/// A value as text with its place. Numbers and booleans of a file are texts too, so flags and files are read alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    text: String,
    /// The text that the user wrote, if it has a curve and `text` is its value at one moment.
    written: Option<String>,
    origin: Origin,
}

impl Entry {
    /// Returns the text.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Creates the entry of one value of this list.
    fn one(&self, text: String) -> Self {
        Self { text, written: None, origin: self.origin.clone() }
    }

    /// Creates the entry of this curve at one moment, when its text is `text`.
    pub(crate) fn at_a_moment(&self, text: String) -> Self {
        let written = (text != self.text).then(|| self.text.clone());
        Self { text, written, origin: self.origin.clone() }
    }

    /// Returns the place and the text as the user wrote it, the beginning of errors about the entry.
    fn place(&self) -> String {
        format!("{}: {:?}", self.origin, self.shown(self.written.as_ref().unwrap_or(&self.text)))
    }

    /// Returns a text of the entry without secrets.
    fn shown(&self, text: &str) -> String {
        match &self.origin {
            Origin::Flag(name) if name.ends_with("fault") => secret::shown_fault(text),
            Origin::Line { key, .. } | Origin::Document { key, .. } if key == "fault" => {
                secret::shown_fault(text)
            }
            _ => secret::shown(text),
        }
    }

    /// Returns the value as plan files have it, without secrets.
    fn shown_value(&self) -> String {
        // Numbers and truths stand without quotes, if that gives the same text again.
        let line = format!("v = {}", self.text);
        let read = DeTable::parse(&line).ok();
        let value = read.as_ref().and_then(|table| table.get_ref().get("v")).map(Spanned::get_ref);
        let is_text = matches!(value, None | Some(DeValue::String(_)));
        if !is_text && value.and_then(scalar).as_ref() == Some(&self.text) {
            return self.text.clone();
        }
        toml::Value::String(self.shown(&self.text)).to_string()
    }

    /// Returns a problem of the entry without secrets.
    fn masked(&self, problem: &str) -> String {
        let has_secret = self.shown(&self.text) != self.text;
        if has_secret { secret::mask(problem, &self.text) } else { problem.to_owned() }
    }

    /// Returns true if the value comes from a flag.
    pub(crate) fn is_flag(&self) -> bool {
        matches!(self.origin, Origin::Flag(_))
    }

    /// Splits a list at each `separator` outside brackets.
    pub(crate) fn split(&self, separator: char) -> Vec<Self> {
        let mut depth = 0_i32;
        let cut = |letter: char| {
            depth += i32::from(letter == '(') - i32::from(letter == ')');
            letter == separator && depth == 0
        };
        self.text.split(cut).map(|text| self.one(text.trim().to_owned())).collect()
    }
}

/// Returns the value of a key as text. Keys of several values may have a list. Returns none for other lists, tables and
/// dates.
#[must_use]
pub fn text_of(key: &str, value: &DeValue<'_>) -> Option<String> {
    let DeValue::Array(values) = value else { return scalar(value) };
    let (_, separator) = LISTS.iter().find(|(list, _)| *list == key)?;
    let texts: Option<Vec<String>> = values.iter().map(|value| scalar(value.get_ref())).collect();
    texts.map(|texts| texts.join(separator))
}

/// Returns a value of a file as text, or none for a list, a table or a date.
#[must_use]
pub fn scalar(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(number) => Some(number.to_string()),
        DeValue::Float(number) => Some(number.to_string()),
        DeValue::Boolean(value) => Some(value.to_string()),
        DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => None,
    }
}

/// Most names that an error lists.
const LISTED: usize = 8;
/// Names that stand for a longer list.
const EXAMPLES: usize = 3;

/// Errors about unknown names.
#[derive(Clone, Copy, Debug)]
pub struct Names {
    /// The place that lists all names of a long list.
    pub place: &'static str,
}

/// The keys of plans.
pub const PLAN_NAMES: Names = Names { place: "'lydite run --help' and the chapter Running of the book" };

impl Names {
    /// Returns the error text for an unknown name, with the nearest known one as a suggestion, else with all of a short
    /// list, else with examples and the place of the list.
    #[must_use]
    pub fn not_known(self, name: &str, known: &[&str]) -> String {
        // The last part of a name is what people remember: `wait_factor` of `rte.wait_factor`.
        let of_part = known.iter().find(|known| known.rsplit_once('.').is_some_and(|(_, last)| last == name));
        if let Some(known) = of_part.copied().or_else(|| nearest(name, known)) {
            return format!("is not known: did you mean {known}?");
        }
        if known.len() <= LISTED {
            return format!("is not known: use {}", known.join(", "));
        }
        let examples = known.get(..EXAMPLES).unwrap_or(known).join(", ");
        format!("is not known: use for example {examples}; all are listed by {}", self.place)
    }
}

/// Returns the problem of a key that plans do not have. `as_option` is how an option of the target is written there.
#[must_use]
pub fn unknown_key(key: &str, known: &[&str], as_option: impl Fn(&str) -> String) -> String {
    let is_option = |family: &&Family| family.options.iter().any(|option| option.name == key);
    if families().iter().any(is_option) {
        return format!("is an option of targets: write {}", as_option(key));
    }
    PLAN_NAMES.not_known(key, known)
}

/// Returns the problem of a key that a plan or `--set` does not have.
fn unknown_in_plan(key: &str, known: &[&str]) -> String {
    unknown_key(key, known, |key| format!("it in the URL of target, URL?{key}=VALUE"))
}

/// Sorts errors by the line of `file` that they begin with. Errors without a line keep their order and come last.
#[must_use]
pub fn by_line(mut errors: Vec<String>, file: &str) -> Vec<String> {
    errors.sort_by_key(|error| {
        let line = error.strip_prefix(file).and_then(|rest| rest.strip_prefix(", line "));
        let digits = line.and_then(|line| line.split(|letter: char| !letter.is_ascii_digit()).next());
        digits.and_then(|digits| digits.parse::<usize>().ok()).unwrap_or(usize::MAX)
    });
    errors
}

/// Keys whose values may be lists in a file, with what separates the values in the entry's text.
const LISTS: &[(&str, &str)] = &[("replicas", ","), ("require", ","), ("fault", ";"), ("observe", ";")];

/// Keys that a plan file may have.
#[derive(Clone, Copy, Debug)]
pub struct Keys<'a> {
    /// Keys of the file, with `a.b` for key `b` of table `a`.
    pub plan: &'a [&'a str],
    /// Keys of each table `[[phase]]`; empty if the file may have no such tables.
    pub phase: &'a [&'a str],
    /// Keys of each table `[[fault]]`, likewise.
    pub fault: &'a [&'a str],
}

/// Values by key, and the errors found in them so far.
#[derive(Clone, Debug, Default)]
pub struct Entries {
    by_key: BTreeMap<String, Entry>,
    /// Tables `[[phase]]` of the plan file: the values of each by key.
    pub(crate) phases: Vec<BTreeMap<String, Entry>>,
    /// Tables `[[fault]]`, likewise.
    pub(crate) faults: Vec<BTreeMap<String, Entry>>,
    /// The plan file, unless it is the standard input.
    pub(crate) config: Option<PathBuf>,
    /// Errors found so far, one line each.
    pub errors: Vec<String>,
    /// The plan file's name in messages.
    file: Option<String>,
    /// Places and texts of the values that could not be read: each is reported once.
    unread: BTreeSet<String>,
}

/// True if a table has no key, also in the tables within it.
fn has_no_key(table: &DeTable<'_>) -> bool {
    table.values().all(|value| matches!(value.get_ref(), DeValue::Table(inner) if has_no_key(inner)))
}

/// Returns the error about a plan file without a key. `lydite import FILE | lydite run -c -` reads one if the import
/// fails, and so does a run after `lydite import FILE > plan.toml`: neither may measure the default database. A user who
/// wants all defaults names no file.
fn empty(file: &str, from_stdin: bool) -> String {
    match from_stdin {
        true => format!("{file} is empty: the command before the pipe made no plan; its own error says why"),
        false => format!(
            "--config {}: has no key: the command that should write it made no plan, or leave --config out to take the defaults",
            shown(file)
        ),
    }
}

/// Returns the texts of entries.
fn texts(entries: &BTreeMap<String, Entry>) -> BTreeMap<String, String> {
    entries.iter().map(|(key, entry)| (key.clone(), entry.text.clone())).collect()
}

impl Entries {
    /// Makes entries of texts. `origin` names their place in errors.
    pub(crate) fn from_texts(
        origin: &str,
        values: &BTreeMap<String, String>,
        phases: &[BTreeMap<String, String>],
    ) -> Self {
        let table = |texts: &BTreeMap<String, String>| {
            let entry = |(key, text): (&String, &String)| {
                let origin = Origin::Document { name: origin.to_owned(), key: key.clone() };
                (key.clone(), Entry { text: text.clone(), written: None, origin })
            };
            texts.iter().map(entry).collect()
        };
        Self { by_key: table(values), phases: phases.iter().map(table).collect(), ..Self::default() }
    }

    /// Returns the texts of all keys. They may have secrets.
    #[must_use]
    pub fn texts(&self) -> BTreeMap<String, String> {
        texts(&self.by_key)
    }

    /// Returns the texts of each table `[[phase]]`.
    pub(crate) fn phase_texts(&self) -> Vec<BTreeMap<String, String>> {
        self.phases.iter().map(texts).collect()
    }

    /// Adds the value of a flag, if the user set it. Flags win over the file, so add them after it.
    pub fn flag(&mut self, key: &str, value: Option<String>) {
        if let Some(text) = value {
            let flag =
                if key == "target" { "TARGET".to_string() } else { format!("--{}", key.replace('_', "-")) };
            if let Some(Entry { origin: Origin::Flag(set), .. }) = self.by_key.get(key) {
                self.errors.push(format!("{set}: is given as {flag} too: give one"));
            }
            self.by_key.insert(key.to_string(), Entry { text, written: None, origin: Origin::Flag(flag) });
        }
    }

    /// Adds the value of `--set KEY=VALUE`. The last one of a key wins, also over the file, so add settings between the
    /// file and the flags.
    pub fn set(&mut self, setting: &str, known: &[&str]) {
        let Some((key, value)) = setting.split_once('=') else {
            self.errors.push(format!("--set {:?} has no value: write KEY=VALUE", secret::shown(setting)));
            return;
        };
        let key = key.trim();
        if !known.contains(&key) {
            let problem = unknown_in_plan(key, known);
            self.errors.push(format!("--set {}: {problem}", secret::shown(key)));
            return;
        }
        let origin = Origin::Flag(format!("--set {key}"));
        self.by_key.insert(key.to_string(), Entry { text: value.to_string(), written: None, origin });
    }

    /// Rejects `keys`, which belong to `workload`, another one than the plan's.
    pub fn only_for<'k>(&mut self, workload: &str, keys: impl Iterator<Item = &'k str>) {
        for key in keys {
            if self.by_key.contains_key(key) {
                self.wrong(key, &format!("is for --workload {workload} only: leave it out"));
            }
        }
    }

    /// Adds the value of a flag that has another name than its key, such as `--a-set KEY=VALUE`. It wins over all that
    /// were added before. Messages name it `origin`.
    pub fn set_by(&mut self, origin: &str, key: &str, text: String) {
        let origin = Origin::Flag(origin.to_owned());
        self.by_key.insert(key.to_string(), Entry { text, written: None, origin });
    }

    /// Returns the tables `[[phase]]` and `[[fault]]` as text of a plan file; empty without tables.
    #[must_use]
    pub fn written_tables(&self) -> String {
        let phases = self.phases.iter().map(|table| ("phase", table));
        let faults = self.faults.iter().map(|table| ("fault", table));
        let table = |(name, values): (&str, &BTreeMap<String, Entry>)| {
            let text = |entry: &Entry| toml::Value::String(entry.text.clone());
            let lines = values.iter().map(|(key, entry)| format!("{key} = {}\n", text(entry)));
            format!("[[{name}]]\n{}", lines.collect::<String>())
        };
        phases.chain(faults).map(table).collect()
    }

    /// Returns all values but the target as text of a plan file, in the order of [`keys`](crate::keys), without secrets.
    #[must_use]
    pub fn shown_values(&self) -> String {
        let place = |key: &str| crate::keys().plan.iter().position(|known| *known == key);
        let mut values: Vec<_> = self.by_key.iter().filter(|(key, _)| *key != "target").collect();
        values.sort_by_key(|(key, _)| place(key));
        let line = |(key, entry): (&String, &Entry)| format!("{key} = {}\n", entry.shown_value());
        let tables = [("phase", &self.phases), ("fault", &self.faults)];
        let tables =
            tables.into_iter().flat_map(|(name, tables)| tables.iter().map(move |table| (name, table)));
        let table = |(name, table): (&str, &BTreeMap<String, Entry>)| {
            format!("\n[[{name}]]\n{}", table.iter().map(line).collect::<String>())
        };
        values.into_iter().map(line).chain(tables.map(table)).collect()
    }

    /// Adds the value of a sweep's `--set KEY=VALUE`.
    pub fn put(&mut self, key: &str, text: String) {
        self.by_key.insert(
            key.to_string(),
            Entry { text, written: None, origin: Origin::Flag(format!("--set {key}")) },
        );
    }

    /// Adds a value from a line of a file.
    pub fn line(&mut self, key: &str, text: String, file: &str, line: usize) {
        let origin = Origin::Line { file: file.to_string(), line, key: key.to_string() };
        self.by_key.insert(key.to_string(), Entry { text, written: None, origin });
    }

    /// Adds the values of a plan file, or of the standard input for `-`.
    pub fn file(&mut self, path: &Path, keys: Keys<'_>) {
        let from_stdin = path == Path::new("-");
        let file = if from_stdin { "standard input".into() } else { path.display().to_string() };
        self.file = Some(file.clone());
        let mut bytes = Vec::new();
        let read = if from_stdin {
            std::io::stdin().read_to_end(&mut bytes).map(|_| bytes)
        } else {
            self.config = Some(path.to_owned());
            std::fs::read(path)
        };
        let bytes = match read {
            Ok(bytes) => bytes,
            Err(error) => {
                self.errors.push(format!("--config {file}: {error}: name a plan file that can be read"));
                return;
            }
        };
        let text = std::str::from_utf8(&bytes);
        let table = text.ok().and_then(|text| DeTable::parse(text).ok());
        if table.as_ref().is_some_and(|table| has_no_key(table.get_ref())) {
            self.errors.push(empty(&file, from_stdin));
            return;
        }
        let other = if table.is_some() { None } else { other_file(&bytes, path) };
        match (other, text) {
            (Some(problem), _) => self.errors.push(format!("--config {problem}")),
            (None, Ok(text)) => self.toml(&file, text, keys),
            (None, Err(_)) => self.errors.push(format!(
                "--config {file}: stream did not contain valid UTF-8: name a plan file that can be read"
            )),
        }
    }

    /// Adds the values of a plan file's text. `file` names it in errors.
    pub fn toml(&mut self, file: &str, text: &str, keys: Keys<'_>) {
        let line_of = |position: usize| text.bytes().take(position).filter(|&byte| byte == b'\n').count() + 1;
        match DeTable::parse(text) {
            Ok(table) => self.table(table.get_ref(), "", file, &line_of, keys),
            Err(error) => {
                let line = error.span().map_or(1, |span| line_of(span.start));
                // The parser may quote what it did not expect.
                let problem = secret::mask(
                    &error.message().replace('\n', " "),
                    text.lines().nth(line - 1).unwrap_or(""),
                );
                self.errors.push(format!("{file}, line {line}: {problem}"));
            }
        }
    }

    /// Adds the values of a table, whose keys begin with `prefix`.
    fn table(
        &mut self,
        table: &DeTable<'_>,
        prefix: &str,
        file: &str,
        line_of: &dyn Fn(usize) -> usize,
        keys: Keys<'_>,
    ) {
        let known = keys.plan;
        let mut entries: Vec<_> = table.iter().collect();
        entries.sort_by_key(|(name, _)| name.span().start);
        for (name, value) in entries {
            let key = format!("{prefix}{}", name.get_ref());
            let line = line_of(name.span().start);
            if let DeValue::Table(inner) = value.get_ref()
                && known.iter().any(|known| known.starts_with(&format!("{key}.")))
            {
                self.table(inner, &format!("{key}."), file, line_of, keys);
                continue;
            }
            if let (DeValue::Array(tables), "phase") = (value.get_ref(), key.as_str())
                && !keys.phase.is_empty()
            {
                let known: Vec<&str> = ["name", "from", "lasts"].iter().chain(keys.phase).copied().collect();
                let not_tables = "phase must be a time, or tables [[phase]]";
                let tables = self.tables(tables, file, line_of, &known, not_tables);
                self.phases.extend(tables);
                continue;
            }
            if let (DeValue::Array(tables), "fault") = (value.get_ref(), key.as_str())
                && !keys.fault.is_empty()
                && tables.iter().any(|table| matches!(table.get_ref(), DeValue::Table(_)))
            {
                let not_tables = "fault must be a list of texts, or tables [[fault]]";
                let tables = self.tables(tables, file, line_of, keys.fault, not_tables);
                self.faults.extend(tables);
                continue;
            }
            if !known.contains(&key.as_str()) {
                let problem = unknown_in_plan(&key, known);
                self.errors.push(format!("{file}, line {line}: {} {problem}", secret::shown(&key)));
                continue;
            }
            match text_of(&key, value.get_ref()) {
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

    /// Reads tables of a file, which may have the keys `known`: the values of each by key. `not_tables` is the error of
    /// anything else.
    fn tables(
        &mut self,
        tables: &DeArray<'_>,
        file: &str,
        line_of: &dyn Fn(usize) -> usize,
        known: &[&str],
        not_tables: &str,
    ) -> Vec<BTreeMap<String, Entry>> {
        let mut read = Vec::new();
        for table in tables {
            let DeValue::Table(values) = table.get_ref() else {
                let line = line_of(table.span().start);
                self.errors.push(format!("{file}, line {line}: {not_tables}"));
                continue;
            };
            let mut own = Self::default();
            own.table(values, "", file, line_of, Keys { plan: known, phase: &[], fault: &[] });
            self.errors.extend(own.errors);
            read.push(own.by_key);
        }
        read
    }

    /// Returns the errors, in the order of the plan file's lines.
    #[must_use]
    pub fn into_errors(self) -> Vec<String> {
        match &self.file {
            Some(file) => by_line(self.errors, file),
            None => self.errors,
        }
    }

    /// Returns the entry of a key.
    pub(crate) fn entry(&self, key: &str) -> Option<Entry> {
        self.by_key.get(key).cloned()
    }

    /// Sets the entry of a key.
    pub(crate) fn put_entry(&mut self, key: &str, entry: Entry) {
        self.by_key.insert(key.to_owned(), entry);
    }

    /// Returns the entries of a step: those of `base`, replaced by `values` where these have the key, and no errors.
    /// Unreadable values that are reported here are not reported again there.
    pub(crate) fn for_step(&self, base: &Self, values: &BTreeMap<String, Entry>) -> Self {
        let mut by_key = base.by_key.clone();
        by_key.extend(values.clone());
        Self { by_key, unread: self.unread.clone(), ..Self::default() }
    }

    /// Adds an error about an entry, with its place.
    pub(crate) fn wrong_entry(&mut self, entry: &Entry, problem: &str) {
        self.errors.push(format!("{}: {}", entry.origin, entry.masked(problem)));
    }

    /// Reads an entry with `read`, whose error text continues "KEY: VALUE …", as in "must be a whole number".
    pub(crate) fn read_entry<T, E: fmt::Display>(
        &mut self,
        entry: &Entry,
        read: impl FnOnce(&str) -> Result<T, E>,
    ) -> Option<T> {
        let problem = match read(entry.text.trim()) {
            Ok(value) => return Some(value),
            Err(problem) => entry.masked(&problem.to_string()),
        };
        let value = entry.place();
        // Several readers may reject the same value, such as those of the plan and of a step.
        if self.unread.insert(value.clone()) {
            self.errors.push(match &entry.written {
                Some(_) => {
                    format!("{value} is {:?} at one moment, which {problem}", entry.shown(&entry.text))
                }
                None => format!("{value} {problem}"),
            });
        }
        None
    }

    /// Returns the problem of an unknown name, with the nearest of the known ones as a suggestion.
    pub(crate) fn unknown(name: &str, known: &[&str]) -> String {
        PLAN_NAMES.not_known(name, known)
    }

    /// Suppresses further errors about the value of a key.
    pub(crate) fn silence(&mut self, key: &str) {
        if let Some(entry) = self.by_key.get(key) {
            self.unread.insert(entry.place());
        }
    }

    /// Returns the text of a key.
    #[must_use]
    pub fn text(&self, key: &str) -> Option<String> {
        self.by_key.get(key).map(|entry| entry.text.clone())
    }

    /// True if a table `[[phase]]` has the key.
    #[must_use]
    pub fn phase_has(&self, key: &str) -> bool {
        self.phases.iter().any(|phase| phase.contains_key(key))
    }

    /// Adds an error about a key, with the place of its value.
    pub fn wrong(&mut self, key: &str, problem: &str) {
        let message = match self.by_key.get(key) {
            Some(entry) => format!("{}: {}", entry.origin, entry.masked(problem)),
            None => problem.to_string(),
        };
        self.errors.push(message);
    }

    /// Reads the value of a key with `read`, whose error text continues "KEY: VALUE …"; none if it is unset or wrong.
    pub fn read<T, E: fmt::Display>(
        &mut self,
        key: &str,
        read: impl FnOnce(&str) -> Result<T, E>,
    ) -> Option<T> {
        let entry = self.entry(key)?;
        self.read_entry(&entry, read)
    }
}
