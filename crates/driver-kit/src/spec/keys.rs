//! The keys of a specification as data: the sections, and the names that each piece of code may and must use.

use super::finding::{Finding, Kind};
use crate::language::Language;

/// The sections and their keys.
pub(super) const SECTIONS: &[(&str, &[&str])] = &[
    ("store", &["name", "version", "guarantee", "isolation", "durable", "packages", "imports", "language"]),
    ("options", &[]),
    ("connect", &["open", "setup", "close", "type", "shared"]),
    ("data", &["tables", "keys", "values", "missing", "value", "entry"]),
    ("operations", &["get", "put", "delete", "scan", "scan_backward", "put_many", "clear", "finish"]),
    ("transactions", &["begin", "commit", "abort", "type"]),
    ("errors", &["serialization", "deadlock", "lock_timeout", "other", "unavailable"]),
];

/// Keys for one language only, and what to write instead in the other language.
pub(super) const ONE_LANGUAGE_KEYS: &[(&str, Language, &str)] = &[
    ("data.value", Language::Python, "give the value in operations.get"),
    ("data.entry", Language::Python, "give entry{Key, Value} in operations.scan"),
    ("connect.type", Language::Go, "leave it out"),
    ("connect.shared", Language::Go, "leave it out"),
    ("transactions.type", Language::Go, "leave it out"),
];

/// A key whose value is code.
pub(super) struct CodeKey {
    pub(super) key: &'static str,
    pub(super) kind: Kind,
    /// Names that the code may use, besides imports and options.
    pub(super) may_use: &'static [&'static str],
    /// Names that the code must use.
    pub(super) must_use: &'static [&'static str],
    /// True if Lydite needs the value. In Go every piece returns at least an error.
    pub(super) answers: bool,
    /// Examples in Python and in Go, if the key is required.
    required: Option<(&'static str, &'static str)>,
}

const fn code_key(
    key: &'static str,
    kind: Kind,
    may_use: &'static [&'static str],
    must_use: &'static [&'static str],
) -> CodeKey {
    CodeKey { key, kind, may_use, must_use, answers: false, required: None }
}

impl CodeKey {
    const fn answers(self) -> Self {
        Self { answers: true, ..self }
    }

    const fn required(self, python: &'static str, go: &'static str) -> Self {
        Self { required: Some((python, go)), ..self }
    }

    /// Returns an example, if the key is required.
    pub(super) fn example(&self, language: Language) -> Option<&'static str> {
        self.required.map(|(python, go)| match language {
            Language::Python => python,
            Language::Go => go,
        })
    }
}

/// The keys whose values are code.
pub(super) const CODE_KEYS: &[CodeKey] = &[
    code_key("store.version", Kind::Expression, &["db"], &[])
        .required("version = \"mystore.__version__\"", "version = '\"1.0\", nil'"),
    code_key("connect.open", Kind::Expression, &[], &[])
        .required("open = \"mystore.connect('localhost')\"", "open = 'mystore.Open(\"localhost\")'"),
    code_key("connect.setup", Kind::Code, &["db"], &[]),
    code_key("connect.close", Kind::Code, &["db"], &[]),
    code_key("data.value", Kind::Expression, &["found"], &["found"]),
    code_key("data.entry", Kind::Expression, &["found"], &["found"]),
    code_key("operations.get", Kind::Code, &["db", "tx", "table", "key"], &["table", "key"])
        .answers()
        .required("get = \"db.get(table, key)\"", "get = \"db.Get(table, key)\""),
    code_key(
        "operations.put",
        Kind::Code,
        &["db", "tx", "table", "key", "value"],
        &["table", "key", "value"],
    )
    .required("put = \"db.put(table, key, value)\"", "put = \"db.Put(table, key, value)\""),
    code_key("operations.delete", Kind::Code, &["db", "tx", "table", "key"], &["table", "key"])
        .required("delete = \"db.delete(table, key)\"", "delete = \"db.Delete(table, key)\""),
    code_key(
        "operations.scan",
        Kind::Code,
        &["db", "tx", "table", "start", "end", "limit", "backward"],
        &["table", "start", "end", "limit"],
    )
    .answers()
    .required(
        "scan = \"db.scan(table, start, end, limit, reverse=backward)\"",
        "scan = \"db.Scan(table, start, end, limit, backward)\"",
    ),
    code_key(
        "operations.scan_backward",
        Kind::Code,
        &["db", "tx", "table", "start", "end", "limit"],
        &["table", "start", "end", "limit"],
    )
    .answers(),
    code_key("operations.put_many", Kind::Code, &["db", "tx", "entries"], &["entries"]),
    code_key("operations.clear", Kind::Code, &["db", "table"], &["table"]),
    code_key("operations.finish", Kind::Code, &["db"], &[]),
    code_key("transactions.begin", Kind::Code, &["db", "access"], &[]),
    code_key("transactions.commit", Kind::Code, &["db", "tx"], &[]),
    code_key("transactions.abort", Kind::Code, &["db", "tx"], &[]),
];

/// A piece of code and its place in the file.
pub(super) struct Piece {
    pub(super) key: String,
    /// The line of its key.
    pub(super) line: usize,
    /// The line where its text begins.
    pub(super) text_line: usize,
    pub(super) kind: Kind,
    pub(super) text: String,
    pub(super) may_use: Vec<&'static str>,
    pub(super) must_use: Vec<&'static str>,
    pub(super) answers: bool,
}

/// The names that all pieces share.
pub(super) struct Names<'a> {
    pub(super) language: Language,
    /// Names from imports and options.
    pub(super) brought: &'a [String],
    /// True if there is `transactions.begin`, whose value is `tx`.
    pub(super) begins: bool,
    /// True if a table is a prefix of keys.
    pub(super) prefix: bool,
}

/// Returns everything that is wrong with a piece.
pub(super) fn problems(piece: &Piece, found: &Finding, names: &Names<'_>) -> Vec<String> {
    let &Names { language, brought, begins, prefix } = names;
    if let Some(problem) = found.problem() {
        return vec![format!("{} does not read it: {problem}", language.name())];
    }
    let mut problems = Vec::new();
    for name in &found.uses {
        let known = piece.may_use.contains(&name.as_str()) || brought.contains(name);
        if name == "tx" && known && !begins {
            problems.push("uses `tx`, which is the value of transactions.begin: write that too".to_string());
        }
        if known {
            continue;
        }
        let given = match piece.may_use.as_slice() {
            [] => String::new(),
            names => format!("{}, or ", names.join(", ")),
        };
        let hint = match (name.as_str(), prefix) {
            ("table", true) => " (with tables = \"prefix\" it stands in front of the key)",
            _ => "",
        };
        problems.push(format!(
            "uses `{name}`, which is not defined{hint}: use {given}names of store.imports and [options]"
        ));
    }
    for name in piece.must_use.iter().filter(|name| !found.mentions.contains(**name)) {
        problems.push(match (*name, language) {
            ("table", _) => {
                "does not use `table`: hand it on, or write tables = \"prefix\" below [data]".to_string()
            }
            ("limit", Language::Python) => {
                "does not use `limit`, the maximum number of entries: hand it on, or cut with itertools.islice"
                    .into()
            }
            ("limit", Language::Go) => {
                "does not use `limit`, the maximum number of entries: hand it on, or stop there".into()
            }
            (name, _) => format!("does not use `{name}`: hand it on"),
        });
    }
    if piece.answers && !found.answers {
        problems.push(match language {
            Language::Python => "returns no value: write an expression, or `return` the result".into(),
            Language::Go => "returns no value: `return` the result, and an error last".into(),
        });
    }
    problems
}
