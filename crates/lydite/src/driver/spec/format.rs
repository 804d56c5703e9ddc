//! The form of a specification: its keys as data, and all that can be wrong with them.

use super::code::{Finding, Kind, findings};
use super::{Code, Form, Meaning, Refusal, Spec};
use crate::source::{Entry, Source};
use std::collections::BTreeMap;
use std::path::Path;
use toml::de::{DeTable, DeValue};

/// The sections and their keys.
const SECTIONS: &[(&str, &[&str])] = &[
    ("store", &["name", "version", "guarantee", "isolation", "durable", "packages", "imports"]),
    ("options", &[]),
    ("connect", &["open", "setup", "close"]),
    ("data", &["tables", "keys", "values", "missing", "value", "entry"]),
    ("operations", &["get", "put", "delete", "scan", "scan_backward", "put_many", "clear", "finish"]),
    ("transactions", &["begin", "commit", "abort"]),
    ("errors", &["serialization", "deadlock", "lock_timeout", "other", "unavailable"]),
];

const GUARANTEES: [&str; 5] = ["none", "per-key", "atomic", "optimistic", "serializable"];

/// A key whose value is code.
struct Place {
    key: &'static str,
    kind: Kind,
    /// The names that it may use.
    has: &'static [&'static str],
    /// Those that it has to use.
    needs: &'static [&'static str],
    /// Whether its value is wanted.
    answers: bool,
    /// What to write, if it must be there.
    required: Option<&'static str>,
}

const fn place(
    key: &'static str,
    kind: Kind,
    has: &'static [&'static str],
    needs: &'static [&'static str],
) -> Place {
    Place { key, kind, has, needs, answers: false, required: None }
}

impl Place {
    const fn answers(self) -> Self {
        Self { answers: true, ..self }
    }

    const fn required(self, example: &'static str) -> Self {
        Self { required: Some(example), ..self }
    }
}

const PLACES: &[Place] = &[
    place("store.version", Kind::Expression, &["db"], &[]).required("version = \"mystore.__version__\""),
    place("connect.open", Kind::Expression, &[], &[]).required("open = \"mystore.connect('localhost')\""),
    place("connect.setup", Kind::Code, &["db"], &[]),
    place("connect.close", Kind::Code, &["db"], &[]),
    place("data.value", Kind::Expression, &["found"], &["found"]),
    place("data.entry", Kind::Expression, &["found"], &["found"]),
    place("operations.get", Kind::Code, &["db", "tx", "table", "key"], &["table", "key"])
        .answers()
        .required("get = \"db.get(table, key)\""),
    place("operations.put", Kind::Code, &["db", "tx", "table", "key", "value"], &["table", "key", "value"])
        .required("put = \"db.put(table, key, value)\""),
    place("operations.delete", Kind::Code, &["db", "tx", "table", "key"], &["table", "key"])
        .required("delete = \"db.delete(table, key)\""),
    place(
        "operations.scan",
        Kind::Code,
        &["db", "tx", "table", "start", "end", "limit", "backward"],
        &["table", "start", "end", "limit"],
    )
    .answers()
    .required("scan = \"db.scan(table, start, end, limit, reverse=backward)\""),
    place(
        "operations.scan_backward",
        Kind::Code,
        &["db", "tx", "table", "start", "end", "limit"],
        &["table", "start", "end", "limit"],
    )
    .answers(),
    place("operations.put_many", Kind::Code, &["db", "tx", "entries"], &["entries"]),
    place("operations.clear", Kind::Code, &["db", "table"], &["table"]),
    place("operations.finish", Kind::Code, &["db"], &[]),
    place("transactions.begin", Kind::Code, &["db", "access"], &[]),
    place("transactions.commit", Kind::Code, &["db", "tx"], &[]),
    place("transactions.abort", Kind::Code, &["db", "tx"], &[]),
];

/// A piece of code where it stands in the file.
struct Piece {
    key: String,
    line: usize,
    kind: Kind,
    text: String,
    has: Vec<&'static str>,
    needs: Vec<&'static str>,
    answers: bool,
}

/// Reads a specification.
///
/// # Errors
/// All that is wrong, one line each: file, line, key, and what to write.
pub(in crate::driver) fn read(path: &Path) -> Result<Spec, Vec<String>> {
    let (mut source, text) = Source::read(path).map_err(|error| vec![error])?;
    let spec = match DeTable::parse(&text) {
        Ok(document) => Reading { source: &mut source, pieces: Vec::new() }.spec(document.get_ref(), &text),
        Err(error) => {
            let line = error.span().map_or(1, |span| source.line_of(span.start));
            source.wrong(line, "", &error.message().replace('\n', " "));
            None
        }
    };
    match spec {
        Some(spec) if source.errors.is_empty() => Ok(spec),
        _ => Err(source.errors),
    }
}

/// A text between its quotation marks, when it is one line.
fn line_of_text<'t>(value: &'t DeValue<'_>) -> Option<&'t str> {
    match value {
        DeValue::String(text) if !text.trim().is_empty() && !text.contains(['\n', '\r']) => Some(text),
        _ => None,
    }
}

struct Reading<'s> {
    source: &'s mut Source,
    pieces: Vec<Piece>,
}

/// The entries of the sections, by their whole keys.
type Entries<'t, 'd> = BTreeMap<String, Entry<'t, 'd>>;

impl Reading<'_> {
    fn spec(mut self, document: &DeTable<'_>, text: &str) -> Option<Spec> {
        let (entries, sections) = self.entries(document);
        let name = self.text(&entries, "store.name").unwrap_or_else(|| {
            if !entries.contains_key("store.name") {
                self.missing(&sections, "store.name", "name = \"mystore\"");
            }
            String::new()
        });
        let prefix = self.choice(&entries, "data.tables", &["argument", "prefix"]) == "prefix";
        let (keys, values) = (self.form(&entries, "data.keys"), self.form(&entries, "data.values"));
        let guarantee = self.guarantee(&entries, &sections);
        let isolation = self.text(&entries, "store.isolation");
        let durable = self.flag(&entries, "store.durable");
        let packages = self.texts(&entries, "store.packages", "packages = [\"mystore>=1.0\"]");
        for (line, package) in &packages {
            if package.starts_with('-') {
                self.source.wrong(
                    *line,
                    "store.packages",
                    &format!("{package:?} is an option of pip: name packages"),
                );
            }
        }
        let imports = self.texts(&entries, "store.imports", "imports = [\"import mystore\"]");
        let options = self.options(&entries);
        let missing = self.exception(&entries);
        let places = self.places(&entries, &sections, prefix);
        let refusals = self.refusals(&entries);
        self.verbs(&entries);

        // Everything that is Python, at once.
        let asked: Vec<(Kind, &str)> = (imports.iter().map(|(_, text)| (Kind::Import, text.as_str())))
            .chain(self.pieces.iter().map(|piece| (piece.kind, piece.text.as_str())))
            .collect();
        let found = match findings(&asked) {
            Ok(found) => found,
            Err(problem) => {
                self.source.add(problem);
                return None;
            }
        };
        let (found_imports, found) = found.split_at(imports.len());
        let mut brought = Vec::new();
        for ((line, text), finding) in imports.iter().zip(found_imports) {
            if let Some(problem) = finding.problem() {
                let problem =
                    format!("{text:?}: {problem}: write it as in Python, for example import mystore");
                self.source.wrong(*line, "store.imports", &problem);
            }
            brought.extend(finding.binds.iter().cloned());
        }
        let complete = found_imports.iter().all(|finding| finding.problem().is_none());
        brought.extend(options.iter().map(|(name, _)| name.clone()));
        let begins = entries.contains_key("transactions.begin");
        for (piece, finding) in self.pieces.iter().zip(found) {
            for problem in judged(piece, finding, &brought, begins, prefix) {
                // Names of an import that is wrong would be told as unknown.
                if complete || finding.problem().is_some() {
                    self.source.wrong(piece.line, &piece.key, &problem);
                }
            }
        }
        self.directions(&entries, found);
        if !self.source.errors.is_empty() {
            return None;
        }
        let mut codes: Vec<Option<Code>> = self
            .pieces
            .into_iter()
            .zip(found)
            .map(|(piece, found)| Some(Code { text: piece.text, found: found.clone() }))
            .collect();
        let mut take = |index: usize| codes.get_mut(index).and_then(Option::take);
        let missing = missing.and_then(&mut take);
        let codes = places.into_iter().filter_map(|(key, index)| Some((key, take(index)?))).collect();
        let refusals = refusals
            .into_iter()
            .filter_map(|(meaning, class, condition)| {
                Some(Refusal { meaning, class: take(class)?, condition: condition.and_then(&mut take) })
            })
            .collect();
        Some(Spec {
            text: text.into(),
            name,
            guarantee,
            isolation,
            durable,
            packages: packages.into_iter().map(|(_, text)| text).collect(),
            imports: imports.into_iter().map(|(_, text)| text).collect(),
            options,
            prefix,
            keys,
            values,
            missing,
            codes,
            refusals,
        })
    }

    /// All entries by their whole keys, and the lines of the sections. What is not known is told.
    fn entries<'t, 'd>(&mut self, document: &'t DeTable<'d>) -> (Entries<'t, 'd>, BTreeMap<String, usize>) {
        let (mut all, mut sections) = (BTreeMap::new(), BTreeMap::new());
        for section in self.source.entries(document) {
            let Some((name, keys)) = SECTIONS.iter().find(|(name, _)| *name == section.key) else {
                let known: Vec<_> = SECTIONS.iter().map(|(name, _)| format!("[{name}]")).collect();
                let problem = format!("is not known: use {}", known.join(", "));
                self.source.wrong(section.line, &section.key, &problem);
                continue;
            };
            sections.insert((*name).to_string(), section.line);
            let DeValue::Table(table) = section.value else {
                self.source.wrong(section.line, name, &format!("has to be a section: write [{name}]"));
                continue;
            };
            for entry in self.source.entries(table) {
                let key = format!("{name}.{}", entry.key);
                if !keys.is_empty() && !keys.contains(&entry.key.as_str()) {
                    let problem = format!("is not known: [{name}] has {}", keys.join(", "));
                    self.source.wrong(entry.line, &key, &problem);
                } else {
                    all.insert(key.clone(), Entry { key, ..entry });
                }
            }
        }
        (all, sections)
    }

    fn missing(&mut self, sections: &BTreeMap<String, usize>, key: &str, example: &str) {
        let (section, _) = key.split_once('.').unwrap_or((key, ""));
        let (line, below) = match sections.get(section) {
            Some(line) => (*line, String::new()),
            None => (1, format!(" below [{section}]")),
        };
        self.source.wrong(line, key, &format!("is missing: write for example {example}{below}"));
    }

    /// A text of one line.
    fn text(&mut self, entries: &Entries<'_, '_>, key: &str) -> Option<String> {
        let entry = entries.get(key)?;
        let text = line_of_text(entry.value);
        if text.is_none() {
            self.source.wrong(entry.line, key, "has to be a text of one line, between quotation marks");
        }
        text.map(str::to_string)
    }

    /// One of some words; the first if there is none.
    fn choice(&mut self, entries: &Entries<'_, '_>, key: &str, words: &[&'static str]) -> &'static str {
        let Some(entry) = entries.get(key) else { return words[0] };
        let given = line_of_text(entry.value).unwrap_or_default();
        let chosen = words.iter().find(|word| **word == given);
        if chosen.is_none() {
            let problem = format!("is not known: use {}", words.join(" or "));
            let given = if given.is_empty() { String::new() } else { format!("{given:?} ") };
            self.source.wrong(entry.line, key, &format!("{given}{problem}"));
        }
        chosen.unwrap_or(&words[0])
    }

    fn form(&mut self, entries: &Entries<'_, '_>, key: &str) -> Form {
        let Some(entry) = entries.get(key) else { return Form::Bytes };
        if key == "data.keys" && line_of_text(entry.value) == Some("base64") {
            let problem = "base64 does not keep the order of keys, which scans need: use hex";
            self.source.wrong(entry.line, key, problem);
            return Form::Hex;
        }
        let words: &[&str] = if key == "data.keys" { &["bytes", "hex"] } else { &["bytes", "hex", "base64"] };
        match self.choice(entries, key, words) {
            "hex" => Form::Hex,
            "base64" => Form::Base64,
            _ => Form::Bytes,
        }
    }

    fn flag(&mut self, entries: &Entries<'_, '_>, key: &str) -> bool {
        match entries.get(key).map(|entry| (entry.value, entry.line)) {
            None => false,
            Some((DeValue::Boolean(value), _)) => *value,
            Some((_, line)) => {
                self.source.wrong(line, key, "has to be true or false");
                false
            }
        }
    }

    /// A list of texts, each with its line.
    fn texts(&mut self, entries: &Entries<'_, '_>, key: &str, example: &str) -> Vec<(usize, String)> {
        let Some(entry) = entries.get(key) else { return Vec::new() };
        let list = match entry.value {
            DeValue::Array(values) => values
                .iter()
                .map(|value| {
                    let line = self.source.line_of(value.span().start);
                    line_of_text(value.get_ref()).map(|text| (line, text.to_string()))
                })
                .collect(),
            _ => None,
        };
        list.unwrap_or_else(|| {
            self.source.wrong(entry.line, key, &format!("has to be a list of texts, as {example}"));
            Vec::new()
        })
    }

    fn guarantee(&mut self, entries: &Entries<'_, '_>, sections: &BTreeMap<String, usize>) -> &'static str {
        let key = "store.guarantee";
        let Some(entry) = entries.get(key) else {
            let example = format!("guarantee = \"none\", or one of {}", GUARANTEES[1..].join(", "));
            self.missing(sections, key, &example);
            return GUARANTEES[0];
        };
        let guarantee = self.choice(entries, key, &GUARANTEES);
        if !["none", "per-key"].contains(&guarantee) && !entries.contains_key("transactions.commit") {
            let problem = format!(
                "{guarantee:?} needs transactions: write commit and abort below [transactions], or guarantee = \
                 \"per-key\" or \"none\""
            );
            self.source.wrong(entry.line, key, &problem);
        }
        guarantee
    }

    fn options(&mut self, entries: &Entries<'_, '_>) -> Vec<(String, String)> {
        let mut options = Vec::new();
        for (key, entry) in entries.iter().filter(|(key, _)| key.starts_with("options.")) {
            let name = key.strip_prefix("options.").unwrap_or(key);
            let letters = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
            if !name.starts_with(|c: char| c.is_ascii_uppercase()) || !name.chars().all(letters) {
                let problem = "has to be the name of a variable of the environment, as ADDRESS or PGHOST";
                self.source.wrong(entry.line, key, problem);
            } else if name.starts_with("LYDITE_") {
                self.source.wrong(entry.line, key, "is a name of Lydite's own: choose another one");
            }
            match entry.value {
                DeValue::String(default) => options.push((entry.line, name.to_string(), default.to_string())),
                _ => self.source.wrong(entry.line, key, "has to be a text, its default"),
            }
        }
        options.sort();
        options.into_iter().map(|(_, name, default)| (name, default)).collect()
    }

    fn piece(&mut self, piece: Piece) -> usize {
        self.pieces.push(piece);
        self.pieces.len() - 1
    }

    /// `data.missing`, if it is the class of an error.
    fn exception(&mut self, entries: &Entries<'_, '_>) -> Option<usize> {
        let text = self.text(entries, "data.missing")?;
        if text.trim() == "None" {
            return None;
        }
        let line = entries.get("data.missing").map_or(1, |entry| entry.line);
        let key = "data.missing".to_string();
        let piece =
            Piece { key, line, kind: Kind::Expression, text, has: vec![], needs: vec![], answers: true };
        Some(self.piece(piece))
    }

    /// All other code.
    fn places(
        &mut self,
        entries: &Entries<'_, '_>,
        sections: &BTreeMap<String, usize>,
        prefix: bool,
    ) -> Vec<(&'static str, usize)> {
        let mut places = Vec::new();
        for place in PLACES {
            let Some(entry) = entries.get(place.key) else {
                if let Some(example) = place.required {
                    self.missing(sections, place.key, example);
                }
                continue;
            };
            let text = match entry.value {
                DeValue::String(text) if !text.trim().is_empty() => text.trim_end().to_string(),
                _ => {
                    let problem = "has to be a text: an expression of Python, or lines of it between '''";
                    self.source.wrong(entry.line, place.key, problem);
                    continue;
                }
            };
            let text = text.strip_prefix("\r\n").or(text.strip_prefix('\n')).unwrap_or(&text).to_string();
            let names = |names: &[&'static str]| -> Vec<&'static str> {
                let clear = place.key == "operations.clear";
                names
                    .iter()
                    .flat_map(|name| match *name {
                        "table" if prefix && clear => vec!["start", "end"],
                        "table" if prefix => vec![],
                        name => vec![name],
                    })
                    .collect()
            };
            let index = self.piece(Piece {
                key: place.key.into(),
                line: entry.line,
                kind: place.kind,
                text,
                has: names(place.has),
                needs: names(place.needs),
                answers: place.answers,
            });
            places.push((place.key, index));
        }
        places
    }

    /// Transactions need their verbs.
    fn verbs(&mut self, entries: &Entries<'_, '_>) {
        for (verb, without) in [("begin", "commit"), ("commit", "abort"), ("abort", "commit")] {
            let (key, other) = (format!("transactions.{verb}"), format!("transactions.{without}"));
            if let Some(entry) = entries.get(&key).filter(|_| !entries.contains_key(&other)) {
                let problem = format!(
                    "is there without {without}: write {without} too, as {without} = \"tx.{without}()\""
                );
                self.source.wrong(entry.line, &key, &problem);
            }
        }
    }

    /// What errors mean, in the order of the file.
    fn refusals(&mut self, entries: &Entries<'_, '_>) -> Vec<(Meaning, usize, Option<usize>)> {
        let form =
            "has to be a class of errors, { class = \"…\", where = \"… error …\" }, or a list of these";
        let mut ordered: Vec<_> = entries.iter().filter(|(key, _)| key.starts_with("errors.")).collect();
        ordered.sort_by_key(|(_, entry)| entry.line);
        let mut all = Vec::new();
        for (key, entry) in ordered {
            let meaning = match key.strip_prefix("errors.").unwrap_or(key) {
                "serialization" => Meaning::Aborted("serialization"),
                "deadlock" => Meaning::Aborted("deadlock"),
                "lock_timeout" => Meaning::Aborted("lock_timeout"),
                "unavailable" => Meaning::Unavailable,
                _ => Meaning::Aborted("other"),
            };
            let values: Vec<(usize, &DeValue<'_>)> = match entry.value {
                DeValue::Array(values) => values
                    .iter()
                    .map(|value| (self.source.line_of(value.span().start), value.get_ref()))
                    .collect(),
                value => vec![(entry.line, value)],
            };
            for (line, value) in values {
                let (class, condition) = match value {
                    DeValue::Table(table) => {
                        let inner = self.source.entries(table);
                        if let Some(other) =
                            inner.iter().find(|entry| !["class", "where"].contains(&entry.key.as_str()))
                        {
                            let key = format!("{key}.{}", other.key);
                            self.source.wrong(other.line, &key, "is not known: an error has class and where");
                            continue;
                        }
                        let text = |name: &str| {
                            inner
                                .iter()
                                .find(|entry| entry.key == name)
                                .and_then(|entry| line_of_text(entry.value))
                        };
                        (text("class"), inner.iter().any(|entry| entry.key == "where").then(|| text("where")))
                    }
                    value => (line_of_text(value), None),
                };
                let (Some(class), false) = (class, condition == Some(None)) else {
                    self.source.wrong(line, key, form);
                    continue;
                };
                let mut add = |text: &str, has: Vec<&'static str>| {
                    let (key, text, needs) = (key.clone(), text.to_string(), has.clone());
                    self.piece(Piece { key, line, kind: Kind::Expression, text, has, needs, answers: true })
                };
                let class = add(class, vec![]);
                all.push((meaning, class, condition.flatten().map(|text| add(text, vec!["error"]))));
            }
        }
        all
    }

    /// Scans have to go both ways.
    fn directions(&mut self, entries: &Entries<'_, '_>, found: &[Finding]) {
        let Some(scan) = entries.get("operations.scan") else { return };
        let both = entries.contains_key("operations.scan_backward");
        let scans = self.pieces.iter().position(|piece| piece.key == "operations.scan");
        let Some(finding) =
            scans.and_then(|index| found.get(index)).filter(|found| found.problem().is_none())
        else {
            return;
        };
        match (finding.mentions.contains("backward"), both) {
            (false, false) => self.source.wrong(
                scan.line,
                "operations.scan",
                "goes one way only: use `backward` in it, or write scan_backward too",
            ),
            (true, true) => self.source.wrong(
                scan.line,
                "operations.scan",
                "uses `backward`, and there is scan_backward too: keep one of them",
            ),
            _ => {}
        }
    }
}

/// What is wrong with a piece.
fn judged(piece: &Piece, found: &Finding, brought: &[String], begins: bool, prefix: bool) -> Vec<String> {
    if let Some(problem) = found.problem() {
        return vec![format!("Python does not read it: {problem}")];
    }
    let mut problems = Vec::new();
    for name in &found.uses {
        let known = piece.has.contains(&name.as_str()) || brought.contains(name);
        if name == "tx" && known && !begins {
            problems.push("uses `tx`, which is the value of transactions.begin: write that too".to_string());
        }
        if known {
            continue;
        }
        let has = match piece.has.as_slice() {
            [] => "nothing is given here but".to_string(),
            names => format!("what is given here is {}, beside", names.join(", ")),
        };
        let hint = match (name.as_str(), prefix) {
            ("table", true) => " (with tables = \"prefix\" it stands in front of the key)",
            _ => "",
        };
        problems.push(format!(
            "uses `{name}`, which nothing brings{hint}: {has} what store.imports and [options] bring"
        ));
    }
    for name in piece.needs.iter().filter(|name| !found.mentions.contains(**name)) {
        problems.push(match *name {
            "table" => {
                "does not use `table`: hand it on, or write tables = \"prefix\" below [data]".to_string()
            }
            "limit" => {
                "does not use `limit`, the most entries wanted: hand it on, or cut with itertools.islice"
                    .into()
            }
            name => format!("does not use `{name}`: hand it on"),
        });
    }
    if piece.answers && !found.answers {
        problems.push("gives nothing: write an expression, or `return` what was found".into());
    }
    problems
}
