//! Reads a specification and reports everything that is wrong in it.

use super::code::findings;
use super::finding::{Finding, Kind};
use super::keys::{CODE_KEYS, Names, ONE_LANGUAGE_KEYS, Piece, SECTIONS, problems};
use super::{Code, ErrorRule, Form, Package, Spec, tokens};
use crate::language::Language;
use lydite_plan::source::{Entry, Source};
use std::collections::BTreeMap;
use std::path::Path;
use toml::de::{DeTable, DeValue};

const GUARANTEES: [&str; 5] = ["none", "per-key", "atomic", "optimistic", "serializable"];

/// Reads a specification. `language_flag` is the value of `--lang`, which must agree with the specification.
///
/// # Errors
/// Everything that is wrong, one line each: file, line, key, and what to write.
pub(crate) fn read(path: &Path, language_flag: Option<Language>) -> Result<Spec, Vec<String>> {
    let (mut source, text) = Source::read(path, "the chapter A driver from a specification of the book")
        .map_err(|error| vec![error.to_string()])?;
    let spec = match DeTable::parse(&text) {
        Ok(document) => {
            let lines = text.lines().collect();
            Reader { source: &mut source, lines, language: Language::Python, pieces: Vec::new() }.spec(
                document.get_ref(),
                &text,
                language_flag,
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

/// Returns a string value if it is one line and not blank.
pub(super) fn line_of_text<'t>(value: &'t DeValue<'_>) -> Option<&'t str> {
    match value {
        DeValue::String(text) if !text.trim().is_empty() && !text.contains(['\n', '\r']) => Some(text),
        _ => None,
    }
}

/// A specification while it is read.
pub(super) struct Reader<'s> {
    pub(super) source: &'s mut Source,
    /// The lines of the file.
    lines: Vec<&'s str>,
    /// The language of the code.
    pub(super) language: Language,
    /// The pieces of code read so far. Others refer to them by their index.
    pieces: Vec<Piece>,
}

/// The entries of all sections by their whole keys, such as `store.name`.
pub(super) type Entries<'t, 'd> = BTreeMap<String, Entry<'t, 'd>>;

impl Reader<'_> {
    /// Reads and validates the whole document. Returns `None` if anything in it is wrong.
    fn spec(mut self, document: &DeTable<'_>, text: &str, language_flag: Option<Language>) -> Option<Spec> {
        let (entries, sections) = self.entries(document);
        self.language = self.language(&entries, &sections, language_flag)?;
        let language = self.language;
        let name = self.name(&entries, &sections);
        let prefix = self.choice(&entries, "data.tables", &["argument", "prefix"]) == "prefix";
        let (keys, values) = (self.form(&entries, "data.keys"), self.form(&entries, "data.values"));
        let guarantee = self.guarantee(&entries, &sections);
        let isolation = self.text(&entries, "store.isolation");
        let durable = self.flag(&entries, "store.durable");
        let packages = self.packages(&entries);
        let imports = self.imports(&entries);
        let options = self.options(&entries);
        let missing = self.missing_error(&entries);
        let codes = self.codes(&entries, &sections, prefix);
        let rules = self.error_rules(&entries);
        self.verbs(&entries);
        let (db, tx, shared) = match language {
            Language::Python => Default::default(),
            Language::Go => self.go_types(&entries, &sections, values),
        };
        let begins = entries.contains_key("transactions.begin");
        let findings = self.check_code(&imports, &options, begins, prefix)?;
        self.directions(&entries, &findings);
        if !self.source.errors.is_empty() {
            return None;
        }
        let mut pieces: Vec<Option<Code>> = self
            .pieces
            .into_iter()
            .zip(findings)
            .map(|(piece, found)| {
                Some(Code { key: piece.key, line: piece.text_line, text: piece.text, found })
            })
            .collect();
        let mut take = |index: usize| pieces.get_mut(index).and_then(Option::take);
        let missing = missing.and_then(&mut take);
        let codes = codes.into_iter().filter_map(|(key, index)| Some((key, take(index)?))).collect();
        let error_rules = rules
            .into_iter()
            .map(|(meaning, class, condition)| ErrorRule {
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
            error_rules,
        })
    }

    /// Checks all imports and pieces of code at once. Returns a finding for each piece, or `None` if the language's
    /// interpreter can't check them.
    fn check_code(
        &mut self,
        imports: &[(usize, String)],
        options: &[(String, String)],
        begins: bool,
        prefix: bool,
    ) -> Option<Vec<Finding>> {
        let texts: Vec<(Kind, &str)> = (imports.iter().map(|(_, text)| (Kind::Import, text.as_str())))
            .chain(self.pieces.iter().map(|piece| (piece.kind, piece.text.as_str())))
            .collect();
        let mut import_findings = match findings(self.language, &texts) {
            Ok(findings) => findings,
            Err(problem) => {
                self.source.add(problem.to_string());
                return None;
            }
        };
        let piece_findings = import_findings.split_off(imports.len());
        let imports_are_right = self.check_imports(imports, &import_findings);
        let brought: Vec<String> = (import_findings.into_iter().flat_map(|finding| finding.binds))
            .chain(options.iter().map(|(name, _)| name.clone()))
            .collect();
        let names = Names { language: self.language, brought: &brought, begins, prefix };
        for (piece, finding) in self.pieces.iter().zip(&piece_findings) {
            for problem in problems(piece, finding, &names) {
                // A wrong import brings no names: code that uses them would be reported too.
                if imports_are_right || finding.problem().is_some() {
                    self.source.wrong(piece.line, &piece.key, &problem);
                }
            }
        }
        Some(piece_findings)
    }

    /// Reports wrong imports. Returns true if there are none.
    fn check_imports(&mut self, imports: &[(usize, String)], findings: &[Finding]) -> bool {
        let example = match self.language {
            Language::Python => "write it as in Python, for example import mystore",
            Language::Go => "write a path, for example example.org/mystore, perhaps behind a name",
        };
        let mut all_right = true;
        for ((line, text), finding) in imports.iter().zip(findings) {
            if let Some(problem) = finding.problem() {
                all_right = false;
                self.source.wrong(*line, "store.imports", &format!("{text:?}: {problem}: {example}"));
            }
        }
        all_right
    }

    fn name(&mut self, entries: &Entries<'_, '_>, sections: &BTreeMap<String, usize>) -> String {
        if !entries.contains_key("store.name") {
            self.missing(sections, "store.name", "name = \"mystore\"");
        }
        self.text(entries, "store.name").unwrap_or_default()
    }

    fn imports(&mut self, entries: &Entries<'_, '_>) -> Vec<(usize, String)> {
        let example = match self.language {
            Language::Python => "imports = [\"import mystore\"]",
            Language::Go => "imports = [\"example.org/mystore\"]",
        };
        self.texts(entries, "store.imports", example)
    }

    /// Returns all entries, and the lines of the sections. Reports unknown keys and sections.
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

    /// Reports that a required key is missing.
    fn missing(&mut self, sections: &BTreeMap<String, usize>, key: &str, example: &str) {
        let (section, _) = key.split_once('.').unwrap_or((key, ""));
        let (line, below) = match sections.get(section) {
            Some(line) => (*line, String::new()),
            None => (1, format!(" below [{section}]")),
        };
        self.source.wrong(line, key, &format!("is missing: write for example {example}{below}"));
    }

    /// Reads a string of one line.
    fn text(&mut self, entries: &Entries<'_, '_>, key: &str) -> Option<String> {
        let entry = entries.get(key)?;
        let text = line_of_text(entry.value);
        if text.is_none() {
            self.source.wrong(entry.line, key, "has to be a text of one line, between quotation marks");
        }
        text.map(str::to_string)
    }

    /// Reads one of several words; the first is the default.
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

    /// Reads the form of keys or values.
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

    /// Reads a boolean, by default false.
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

    /// Reads a list of strings, each with its line.
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

    /// Reads the guarantee. Guarantees about transactions need transactions.
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

    /// Reads the names and defaults of options, in the order of the file.
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

    /// Adds a piece of code and returns its index.
    pub(super) fn add_piece(&mut self, piece: Piece) -> usize {
        self.pieces.push(piece);
        self.pieces.len() - 1
    }

    /// Reads `data.missing`, if it names an error.
    fn missing_error(&mut self, entries: &Entries<'_, '_>) -> Option<usize> {
        let text = self.text(entries, "data.missing")?;
        let nothing = match self.language {
            Language::Python => "None",
            Language::Go => "nil",
        };
        if text.trim() == nothing {
            return None;
        }
        let line = entries.get("data.missing").map_or(1, |entry| entry.line);
        let (key, kind) = ("data.missing".to_string(), Kind::Expression);
        let (may_use, must_use) = (vec![], vec![]);
        Some(self.add_piece(Piece {
            key,
            line,
            text_line: line,
            kind,
            text,
            may_use,
            must_use,
            answers: true,
        }))
    }

    /// Reads the language of the code, which must agree with `--lang`.
    fn language(
        &mut self,
        entries: &Entries<'_, '_>,
        sections: &BTreeMap<String, usize>,
        flag: Option<Language>,
    ) -> Option<Language> {
        let key = "store.language";
        let errors_before = self.source.errors.len();
        let own = match self.choice(entries, key, &["python", "go"]) {
            "go" => Language::Go,
            _ => Language::Python,
        };
        // Without its language nothing else can be judged.
        if self.source.errors.len() > errors_before {
            return None;
        }
        if let Some(flag) = flag.filter(|flag| *flag != own) {
            let (own_name, flag) = (own.option(), flag.option());
            let (line, problem) = match entries.get(key) {
                Some(entry) => (
                    entry.line,
                    format!(
                        "is {own_name}, but --lang says {flag}: leave --lang out, or say --lang {own_name}"
                    ),
                ),
                None => (
                    sections.get("store").copied().unwrap_or(1),
                    format!(
                        "is {own_name} by default, but --lang says {flag}: leave --lang out, or write \
                         language = \"{flag}\" below [store], and all code in it"
                    ),
                ),
            };
            self.source.wrong(line, key, &problem);
            return None;
        }
        for (key, only, instead) in ONE_LANGUAGE_KEYS {
            if let Some(entry) = entries.get(*key).filter(|_| *only != own) {
                let problem = format!("is for specifications in {} only: {instead}", only.name());
                self.source.wrong(entry.line, key, &problem);
            }
        }
        Some(own)
    }

    /// Reads the packages to fetch.
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

    /// Reads the keys for Go only: the types of `db` and `tx`, and true if all sessions share `db`.
    fn go_types(
        &mut self,
        entries: &Entries<'_, '_>,
        sections: &BTreeMap<String, usize>,
        values: Form,
    ) -> (Option<Code>, Option<Code>, bool) {
        let db = self.go_type(entries, "connect.type");
        if !entries.contains_key("connect.type") {
            self.missing(sections, "connect.type", "type = \"*mystore.DB\", that of what open gives");
        }
        let tx = self.go_type(entries, "transactions.type");
        if let Some(entry) =
            entries.get("transactions.type").filter(|_| !entries.contains_key("transactions.begin"))
        {
            let problem = "is the type of what begin gives: write begin too";
            self.source.wrong(entry.line, "transactions.type", problem);
        }
        let shared = self.flag(entries, "connect.shared");
        if let Some(entry) = entries.get("connect.close").filter(|_| shared) {
            let problem =
                "has no use with shared = true: the shared store ends with the process; leave it out";
            self.source.wrong(entry.line, "connect.close", problem);
        }
        if let Some(entry) = entries.get("data.values").filter(|_| values != Form::Bytes)
            && !entries.contains_key("data.missing")
        {
            let problem = "a text can't be nil, which stands for a missing key: write missing too, its error";
            self.source.wrong(entry.line, "data.values", problem);
        }
        (db, tx, shared)
    }

    /// Reads a type of Go.
    fn go_type(&mut self, entries: &Entries<'_, '_>, key: &'static str) -> Option<Code> {
        let text = self.text(entries, key)?;
        let line = entries.get(key).map_or(1, |entry| entry.line);
        let found = tokens::finding(Kind::Expression, &text);
        if let Some(problem) = found.problem() {
            self.source.wrong(line, key, &format!("Go does not read it: {problem}"));
        }
        Some(Code { key: key.into(), line, text, found })
    }

    /// Reads the code of all [`CODE_KEYS`]. Returns the keys and the indexes of their pieces.
    fn codes(
        &mut self,
        entries: &Entries<'_, '_>,
        sections: &BTreeMap<String, usize>,
        prefix: bool,
    ) -> Vec<(&'static str, usize)> {
        let mut codes = Vec::new();
        for code in CODE_KEYS {
            let Some(entry) = entries.get(code.key) else {
                if let Some(example) = code.example(self.language) {
                    self.missing(sections, code.key, example);
                }
                continue;
            };
            let text = match entry.value {
                DeValue::String(text) if !text.trim().is_empty() => text.trim_end().to_string(),
                _ => {
                    let language = self.language.name();
                    let problem =
                        format!("has to be a text: an expression of {language}, or lines of it between '''");
                    self.source.wrong(entry.line, code.key, &problem);
                    continue;
                }
            };
            // A text of several lines may begin in the line below its key.
            let line = self.lines.get(entry.line - 1).and_then(|line| line.split_once('='));
            let opens = line.is_some_and(|(_, mark)| matches!(mark.trim(), "'''" | "\"\"\""));
            let mut text_line = entry.line + usize::from(opens);
            let below = text.strip_prefix("\r\n").or(text.strip_prefix('\n'));
            text_line += usize::from(below.is_some());
            let text = below.unwrap_or(&text).to_string();
            let names = |names: &[&'static str]| -> Vec<&'static str> {
                let clear = code.key == "operations.clear";
                names
                    .iter()
                    .flat_map(|name| match *name {
                        "table" if prefix && clear => vec!["start", "end"],
                        "table" if prefix => vec![],
                        name => vec![name],
                    })
                    .collect()
            };
            let index = self.add_piece(Piece {
                key: code.key.into(),
                line: entry.line,
                text_line,
                kind: code.kind,
                text,
                may_use: names(code.may_use),
                must_use: names(code.must_use),
                answers: code.answers || self.language == Language::Go,
            });
            codes.push((code.key, index));
        }
        codes
    }

    /// Checks that `begin`, `commit` and `abort` come with the verbs that they need.
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

    /// Checks that scans go both ways.
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
