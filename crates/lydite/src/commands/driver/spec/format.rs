//! The form of a specification: its keys as data, and all that can be wrong with them.

use super::code::{Finding, Kind, findings};
use super::places::{Names, OF_ONE_LANGUAGE, PLACES, Piece, SECTIONS, judged};
use super::{Code, Form, Package, Refusal, Spec, tokens};
use crate::cli::Language;
use crate::source::{Entry, Source};
use std::collections::BTreeMap;
use std::path::Path;
use toml::de::{DeTable, DeValue};

const GUARANTEES: [&str; 5] = ["none", "per-key", "atomic", "optimistic", "serializable"];

/// Reads a specification. `asked`: the language that was asked for elsewhere, which has to be its own.
///
/// # Errors
/// All that is wrong, one line each: file, line, key, and what to write.
pub(in crate::commands::driver) fn read(path: &Path, asked: Option<Language>) -> Result<Spec, Vec<String>> {
    let (mut source, text) = Source::read(path).map_err(|error| vec![error])?;
    let spec = match DeTable::parse(&text) {
        Ok(document) => {
            let lines = text.lines().collect();
            Reading { source: &mut source, lines, language: Language::Python, pieces: Vec::new() }.spec(
                document.get_ref(),
                &text,
                asked,
            )
        }
        Err(error) => {
            let line = error.span().map_or(1, |span| source.line_of(span.start));
            source.wrong(line, "", &error.message().replace('\n', " "));
            None
        }
    };
    match spec {
        Some(spec) if source.errors.is_empty() => Ok(spec),
        _ => Err(source.into_errors()),
    }
}

/// A text between its quotation marks, when it is one line.
pub(super) fn line_of_text<'t>(value: &'t DeValue<'_>) -> Option<&'t str> {
    match value {
        DeValue::String(text) if !text.trim().is_empty() && !text.contains(['\n', '\r']) => Some(text),
        _ => None,
    }
}

pub(super) struct Reading<'s> {
    pub(super) source: &'s mut Source,
    /// The lines of the file.
    lines: Vec<&'s str>,
    /// That of the code.
    pub(super) language: Language,
    pieces: Vec<Piece>,
}

/// The entries of the sections, by their whole keys.
pub(super) type Entries<'t, 'd> = BTreeMap<String, Entry<'t, 'd>>;

impl Reading<'_> {
    fn spec(mut self, document: &DeTable<'_>, text: &str, asked: Option<Language>) -> Option<Spec> {
        let (entries, sections) = self.entries(document);
        self.language = self.language(&entries, &sections, asked)?;
        let language = self.language;
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
        let packages = self.packages(&entries);
        let example = match language {
            Language::Python => "imports = [\"import mystore\"]",
            Language::Go => "imports = [\"example.org/mystore\"]",
        };
        let imports = self.texts(&entries, "store.imports", example);
        let options = self.options(&entries);
        let missing = self.exception(&entries);
        let places = self.places(&entries, &sections, prefix);
        let refusals = self.refusals(&entries);
        self.verbs(&entries);
        let (db, tx, shared) = match language {
            Language::Python => Default::default(),
            Language::Go => self.of_go(&entries, &sections, values),
        };

        // All code at once.
        let asked: Vec<(Kind, &str)> = (imports.iter().map(|(_, text)| (Kind::Import, text.as_str())))
            .chain(self.pieces.iter().map(|piece| (piece.kind, piece.text.as_str())))
            .collect();
        let found = match findings(language, &asked) {
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
                let example = match language {
                    Language::Python => "write it as in Python, for example import mystore",
                    Language::Go => "write a path, for example example.org/mystore, perhaps behind a name",
                };
                let problem = format!("{text:?}: {problem}: {example}");
                self.source.wrong(*line, "store.imports", &problem);
            }
            brought.extend(finding.binds.iter().cloned());
        }
        let complete = found_imports.iter().all(|finding| finding.problem().is_none());
        brought.extend(options.iter().map(|(name, _)| name.clone()));
        let begins = entries.contains_key("transactions.begin");
        let names = Names { language, brought: &brought, begins, prefix };
        for (piece, finding) in self.pieces.iter().zip(found) {
            for problem in judged(piece, finding, &names) {
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
            .map(|(piece, found)| {
                let Piece { key, text, text_line: line, .. } = piece;
                Some(Code { key, line, text, found: found.clone() })
            })
            .collect();
        let mut take = |index: usize| codes.get_mut(index).and_then(Option::take);
        let missing = missing.and_then(&mut take);
        let codes = places.into_iter().filter_map(|(key, index)| Some((key, take(index)?))).collect();
        let refusals = refusals
            .into_iter()
            .map(|(meaning, class, condition)| Refusal {
                meaning,
                class: class.and_then(&mut take),
                condition: condition.and_then(&mut take),
            })
            .collect();
        Some(Spec {
            language,
            text: text.into(),
            name,
            guarantee,
            isolation,
            durable,
            packages,
            imports,
            db,
            tx,
            shared,
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
                let known: Vec<_> = known.iter().map(String::as_str).collect();
                self.source.not_known(section.line, &section.key, &section.key, &known);
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
                    self.source.not_known(entry.line, &key, &entry.key, keys);
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

    pub(super) fn piece(&mut self, piece: Piece) -> usize {
        self.pieces.push(piece);
        self.pieces.len() - 1
    }

    /// `data.missing`, if it is an error.
    fn exception(&mut self, entries: &Entries<'_, '_>) -> Option<usize> {
        let text = self.text(entries, "data.missing")?;
        let nothing = match self.language {
            Language::Python => "None",
            Language::Go => "nil",
        };
        if text.trim() == nothing {
            return None;
        }
        let line = entries.get("data.missing").map_or(1, |entry| entry.line);
        let (key, kind, has) = ("data.missing".to_string(), Kind::Expression, vec![]);
        Some(self.piece(Piece { key, line, text_line: line, kind, text, has, needs: vec![], answers: true }))
    }

    /// The language: what the file says, which must not be other than what was asked for.
    fn language(
        &mut self,
        entries: &Entries<'_, '_>,
        sections: &BTreeMap<String, usize>,
        asked: Option<Language>,
    ) -> Option<Language> {
        let key = "store.language";
        let told = self.source.errors.len();
        let own = match self.choice(entries, key, &["python", "go"]) {
            "go" => Language::Go,
            _ => Language::Python,
        };
        // All else would be judged by the wrong one.
        if self.source.errors.len() > told {
            return None;
        }
        if let Some(asked) = asked.filter(|asked| *asked != own) {
            let (own_name, asked) = (own.option(), asked.option());
            let (line, problem) = match entries.get(key) {
                Some(entry) => (
                    entry.line,
                    format!(
                        "is {own_name}, but --lang says {asked}: leave --lang out, or say --lang {own_name}"
                    ),
                ),
                None => (
                    sections.get("store").copied().unwrap_or(1),
                    format!(
                        "is {own_name} where nothing else is said, but --lang says {asked}: leave --lang out, or write \
                         language = \"{asked}\" below [store], and all code in it"
                    ),
                ),
            };
            self.source.wrong(line, key, &problem);
            return None;
        }
        for (key, only, instead) in OF_ONE_LANGUAGE {
            if let Some(entry) = entries.get(*key).filter(|_| *only != own) {
                let problem = format!("is for specifications in {} only: {instead}", only.name());
                self.source.wrong(entry.line, key, &problem);
            }
        }
        Some(own)
    }

    /// What has to be fetched.
    fn packages(&mut self, entries: &Entries<'_, '_>) -> Vec<Package> {
        let key = "store.packages";
        let example = match self.language {
            Language::Python => "packages = [\"mystore>=1.0\"]",
            Language::Go => "packages = [\"example.org/mystore@v1.0.0\"]",
        };
        let mut packages = Vec::new();
        for (line, text) in self.texts(entries, key, example) {
            match self.language {
                Language::Python if text.starts_with('-') => {
                    self.source.wrong(line, key, &format!("{text:?} is an option of pip: name packages"));
                }
                Language::Python => packages.push(Package { name: text, version: String::new() }),
                Language::Go => {
                    let good = |part: &str| {
                        !part.is_empty()
                            && part.chars().all(|c| c.is_ascii_alphanumeric() || "._~/-+".contains(c))
                    };
                    match text.split_once('@') {
                        Some((name, version)) if good(name) && good(version) && version.starts_with('v') => {
                            packages.push(Package { name: name.into(), version: version.into() });
                        }
                        _ => {
                            let problem = format!(
                                "{text:?} is no module with its version: write for example example.org/mystore@v1.0.0"
                            );
                            self.source.wrong(line, key, &problem);
                        }
                    }
                }
            }
        }
        packages
    }

    /// What a specification in Go has beside: the types of `db` and `tx`, and whether `db` is shared.
    fn of_go(
        &mut self,
        entries: &Entries<'_, '_>,
        sections: &BTreeMap<String, usize>,
        values: Form,
    ) -> (Option<Code>, Option<Code>, bool) {
        let db = self.kind(entries, "connect.type");
        if !entries.contains_key("connect.type") {
            self.missing(sections, "connect.type", "type = \"*mystore.DB\", that of what open gives");
        }
        let tx = self.kind(entries, "transactions.type");
        if let Some(entry) =
            entries.get("transactions.type").filter(|_| !entries.contains_key("transactions.begin"))
        {
            let problem = "is the type of what begin gives: write begin too";
            self.source.wrong(entry.line, "transactions.type", problem);
        }
        let shared = self.flag(entries, "connect.shared");
        if let Some(entry) = entries.get("connect.close").filter(|_| shared) {
            let problem =
                "is there with shared = true: what all sessions share ends with the process; leave it out";
            self.source.wrong(entry.line, "connect.close", problem);
        }
        if let Some(entry) = entries.get("data.values").filter(|_| values != Form::Bytes)
            && !entries.contains_key("data.missing")
        {
            let problem = "a text can't be nil, which says that a key is not there: write missing too, the error that does";
            self.source.wrong(entry.line, "data.values", problem);
        }
        (db, tx, shared)
    }

    /// A type of Go's.
    fn kind(&mut self, entries: &Entries<'_, '_>, key: &'static str) -> Option<Code> {
        let text = self.text(entries, key)?;
        let line = entries.get(key).map_or(1, |entry| entry.line);
        let found = tokens::finding(Kind::Expression, &text);
        if let Some(problem) = found.problem() {
            self.source.wrong(line, key, &format!("Go does not read it: {problem}"));
        }
        Some(Code { key: key.into(), line, text, found })
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
                if let Some(example) = place.example(self.language) {
                    self.missing(sections, place.key, example);
                }
                continue;
            };
            let text = match entry.value {
                DeValue::String(text) if !text.trim().is_empty() => text.trim_end().to_string(),
                _ => {
                    let language = self.language.name();
                    let problem =
                        format!("has to be a text: an expression of {language}, or lines of it between '''");
                    self.source.wrong(entry.line, place.key, &problem);
                    continue;
                }
            };
            // Several lines may begin behind that of the key.
            let line = self.lines.get(entry.line - 1).and_then(|line| line.split_once('='));
            let opens = line.is_some_and(|(_, mark)| matches!(mark.trim(), "'''" | "\"\"\""));
            let mut text_line = entry.line + usize::from(opens);
            let lines = text.strip_prefix("\r\n").or(text.strip_prefix('\n'));
            text_line += usize::from(lines.is_some());
            let text = lines.unwrap_or(&text).to_string();
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
                text_line,
                kind: place.kind,
                text,
                has: names(place.has),
                needs: names(place.needs),
                answers: place.answers || self.language == Language::Go,
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
