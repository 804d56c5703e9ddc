//! The keys of a specification as data: sections, and what code may and must use.

use super::code::{Finding, Kind};
use crate::cli::Language;

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

/// Keys that mean something in one language only, and what to do instead in the other.
pub(super) const OF_ONE_LANGUAGE: &[(&str, Language, &str)] = &[
    ("data.value", Language::Python, "give the value in operations.get"),
    ("data.entry", Language::Python, "give entry{Key, Value} in operations.scan"),
    ("connect.type", Language::Go, "leave it out"),
    ("connect.shared", Language::Go, "leave it out"),
    ("transactions.type", Language::Go, "leave it out"),
];

/// A key whose value is code.
pub(super) struct Place {
    pub(super) key: &'static str,
    pub(super) kind: Kind,
    /// The names that it may use.
    pub(super) has: &'static [&'static str],
    /// Those that it has to use.
    pub(super) needs: &'static [&'static str],
    /// Whether its value is wanted; that of Go always is, for its error.
    pub(super) answers: bool,
    /// What to write in Python and in Go, if it must be there.
    required: Option<(&'static str, &'static str)>,
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

    const fn required(self, python: &'static str, go: &'static str) -> Self {
        Self { required: Some((python, go)), ..self }
    }

    /// What to write, if it must be there.
    pub(super) fn example(&self, language: Language) -> Option<&'static str> {
        self.required.map(|(python, go)| match language {
            Language::Python => python,
            Language::Go => go,
        })
    }
}

pub(super) const PLACES: &[Place] = &[
    place("store.version", Kind::Expression, &["db"], &[])
        .required("version = \"mystore.__version__\"", "version = '\"1.0\", nil'"),
    place("connect.open", Kind::Expression, &[], &[])
        .required("open = \"mystore.connect('localhost')\"", "open = 'mystore.Open(\"localhost\")'"),
    place("connect.setup", Kind::Code, &["db"], &[]),
    place("connect.close", Kind::Code, &["db"], &[]),
    place("data.value", Kind::Expression, &["found"], &["found"]),
    place("data.entry", Kind::Expression, &["found"], &["found"]),
    place("operations.get", Kind::Code, &["db", "tx", "table", "key"], &["table", "key"])
        .answers()
        .required("get = \"db.get(table, key)\"", "get = \"db.Get(table, key)\""),
    place("operations.put", Kind::Code, &["db", "tx", "table", "key", "value"], &["table", "key", "value"])
        .required("put = \"db.put(table, key, value)\"", "put = \"db.Put(table, key, value)\""),
    place("operations.delete", Kind::Code, &["db", "tx", "table", "key"], &["table", "key"])
        .required("delete = \"db.delete(table, key)\"", "delete = \"db.Delete(table, key)\""),
    place(
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
pub(super) struct Piece {
    pub(super) key: String,
    /// The line of its key, and the one in which its text begins.
    pub(super) line: usize,
    pub(super) text_line: usize,
    pub(super) kind: Kind,
    pub(super) text: String,
    pub(super) has: Vec<&'static str>,
    pub(super) needs: Vec<&'static str>,
    pub(super) answers: bool,
}

/// What the names that a piece uses are judged by.
pub(super) struct Names<'a> {
    pub(super) language: Language,
    /// Those that imports and options bring.
    pub(super) brought: &'a [String],
    /// Whether there is `transactions.begin`, which gives `tx`.
    pub(super) begins: bool,
    /// Whether a table is a prefix of keys.
    pub(super) prefix: bool,
}

/// What is wrong with a piece.
pub(super) fn judged(piece: &Piece, found: &Finding, names: &Names<'_>) -> Vec<String> {
    let &Names { language, brought, begins, prefix } = names;
    if let Some(problem) = found.problem() {
        return vec![format!("{} does not read it: {problem}", language.name())];
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
        problems.push(match (*name, language) {
            ("table", _) => {
                "does not use `table`: hand it on, or write tables = \"prefix\" below [data]".to_string()
            }
            ("limit", Language::Python) => {
                "does not use `limit`, the most entries wanted: hand it on, or cut with itertools.islice"
                    .into()
            }
            ("limit", Language::Go) => {
                "does not use `limit`, the most entries wanted: hand it on, or stop there".into()
            }
            (name, _) => format!("does not use `{name}`: hand it on"),
        });
    }
    if piece.answers && !found.answers {
        problems.push(match language {
            Language::Python => "gives nothing: write an expression, or `return` what was found".into(),
            Language::Go => "gives nothing: `return` what is asked for, and an error last".into(),
        });
    }
    problems
}
