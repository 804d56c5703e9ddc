//! Generates a driver in Go from a specification: `store.go`, which users can change by hand.
//!
//! Each piece of code is a method. A comment `//line` before it makes Go's compiler report errors by the key and the
//! line in the specification.

mod calls;

use super::{Code, Form, Spec, tokens};
use std::fmt::Write as _;

/// The module path of the SDK.
const SDK: &str = "lydite.dev/driver";

/// The program `driver`, which Lydite starts.
const DRIVER: &str = "#!/bin/sh\n# Builds the driver if its sources are newer, and becomes it.\nset -e\n\
     here=$(cd \"$(dirname \"$0\")\" && pwd)\n\"$here/build\" >&2\nexec \"$here/.build/driver\" \"$@\"\n";
/// The script `build`. `-mod=mod` lets Go add the packages' own requirements and checksums to the module files.
const BUILD: &str = "#!/bin/sh\n# Builds the driver; Go fetches the packages that are not there yet.\n\
     cd \"$(dirname \"$0\")\" && exec go build -mod=mod -buildvcs=false -o .build/driver .\n";

/// The end of a piece: from here on the compiler reports lines of `store.go`.
const OWN_LINES: &str = "//line store.go:";

/// Returns `driver`, `build`, `store.go` and `go.mod`.
pub(super) fn files(spec: &Spec, name: &str) -> Vec<(&'static str, String, bool)> {
    let mut module = format!("module {name}\n\ngo 1.19\n\nrequire {SDK} v0.0.0\n");
    for package in &spec.packages {
        let _written = writeln!(module, "\nrequire {} {}", package.name, package.version);
    }
    let _written = writeln!(module, "\nreplace {SDK} => ./lydite");
    vec![
        ("driver", DRIVER.into(), true),
        ("build", BUILD.into(), true),
        ("store.go", Generator { spec }.file(), false),
        ("go.mod", module, false),
    ]
}

/// Returns the beginning of the README.
pub(super) fn readme(spec: &Spec, name: &str, url: &str) -> String {
    let fetches = if spec.packages.is_empty() { "" } else { ", for which Go fetches its packages" };
    format!(
        "# {name}\n\n{}, as a key-value store for Lydite, which plays the transactions of TPC-C on it. `store.go` was \
         made from\n`spec.toml` by `lydite driver new --spec`. No command overwrites it, so change it as you like.\n\n\
         ```sh\nlydite driver test {url}    # a table of all steps, with the reason of each failure\n\
         lydite run {url} --duration 30s\n```\n\n\
         `driver` is the program that Lydite starts: one process, with a goroutine for each session. It is built when \
         its sources\nare newer{fetches}; `./build`, in this directory, only builds it and shows the compiler's \
         messages.\n\
         The compiler reports code of the specification by its key and its line there; delete the comments `//line` in \
         `store.go`\nwhen you begin to change it. `lydite/` is the SDK, for Go 1.19 or later.\n",
        spec.name
    )
}

/// Returns a string literal of Go. Go reads all escapes of JSON.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The method for a piece of code.
struct Signature {
    name: &'static str,
    key: &'static str,
    /// Parameters after `db` and `tx`.
    more: &'static [(&'static str, Type)],
    /// True if `db` is a parameter.
    db: bool,
    /// True if `tx` is a parameter, in specifications with a transaction type.
    tx: bool,
    /// The result, besides the error.
    answers: Type,
}

/// The type of a parameter or result. The specification decides the Go type of keys, values and rows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Type {
    Nothing,
    Table,
    Key,
    Value,
    Entries,
    Rows,
    Count,
    Flag,
    Text,
    Db,
    Tx,
}

const fn method(
    name: &'static str,
    key: &'static str,
    tx: bool,
    more: &'static [(&'static str, Type)],
    answers: Type,
) -> Signature {
    Signature { name, key, more, db: true, tx, answers }
}

/// The methods for all pieces of code.
const METHODS: &[Signature] = &[
    Signature { db: false, ..method("openStore", "connect.open", false, &[], Type::Db) },
    method("setUp", "connect.setup", false, &[], Type::Nothing),
    method("versionOf", "store.version", false, &[], Type::Text),
    method("closeStore", "connect.close", false, &[], Type::Nothing),
    method("begin", "transactions.begin", false, &[("access", Type::Text)], Type::Tx),
    method("commit", "transactions.commit", true, &[], Type::Nothing),
    method("abort", "transactions.abort", true, &[], Type::Nothing),
    method("get", "operations.get", true, &[("table", Type::Table), ("key", Type::Key)], Type::Value),
    method(
        "put",
        "operations.put",
        true,
        &[("table", Type::Table), ("key", Type::Key), ("value", Type::Value)],
        Type::Nothing,
    ),
    method("remove", "operations.delete", true, &[("table", Type::Table), ("key", Type::Key)], Type::Nothing),
    method(
        "scan",
        "operations.scan",
        true,
        &[
            ("table", Type::Table),
            ("start", Type::Key),
            ("end", Type::Key),
            ("limit", Type::Count),
            ("backward", Type::Flag),
        ],
        Type::Entries,
    ),
    method(
        "scanBackward",
        "operations.scan_backward",
        true,
        &[("table", Type::Table), ("start", Type::Key), ("end", Type::Key), ("limit", Type::Count)],
        Type::Entries,
    ),
    method("putMany", "operations.put_many", true, &[("entries", Type::Rows)], Type::Nothing),
    method("clearTable", "operations.clear", false, &[("table", Type::Table)], Type::Nothing),
    method("finish", "operations.finish", false, &[], Type::Nothing),
];

struct Generator<'s> {
    spec: &'s Spec,
}

impl Generator<'_> {
    fn file(&self) -> String {
        let parts = [
            self.head(),
            self.types(),
            self.session(),
            self.transactions(),
            self.reads(),
            self.writes(),
            self.end(),
            self.explain(),
            "\n// What stands behind a line //line is from spec.toml.\n".into(),
            METHODS.iter().map(|signature| self.method(signature)).collect(),
            "\nfunc main() {\n\tlydite.ServeStore(func() (lydite.Store, error) {\n\t\ts := &session{}\n\
             \t\treturn s, s.connect()\n\t})\n}\n"
                .into(),
        ];
        with_own_lines(&parts.concat())
    }

    fn has(&self, key: &str) -> bool {
        self.spec.codes.contains_key(key)
    }

    /// Returns true if any piece uses a name.
    fn uses(&self, name: &str) -> bool {
        let conditions = self.spec.error_rules.iter().filter_map(|rule| rule.condition.as_ref());
        self.spec.codes.values().chain(conditions).any(|code| code.found.mentions.contains(name))
    }

    /// Returns true if the driver replaces a lost connection.
    fn reconnects(&self) -> bool {
        self.spec.can_be_lost() && !self.spec.shared
    }

    /// Returns the Go type, or an empty string for none.
    fn go_type(&self, kind: Type) -> String {
        let form = |form: Form| if form == Form::Bytes { "[]byte" } else { "string" };
        match kind {
            Type::Nothing => "",
            Type::Table | Type::Text => "string",
            Type::Key => form(self.spec.keys),
            Type::Value => form(self.spec.values),
            Type::Entries => "[]entry",
            Type::Rows if self.spec.prefix => "[]entry",
            Type::Rows => "[]row",
            Type::Count => "int",
            Type::Flag => "bool",
            Type::Db => "database",
            Type::Tx if self.spec.tx.is_some() => "transaction",
            Type::Tx => "",
        }
        .to_string()
    }

    /// Returns the package clause, imports and options.
    fn head(&self) -> String {
        let spec = self.spec;
        let mut out = format!(
            "// Package main is {}, as a key-value store of Lydite. Made from spec.toml; change it by hand as you \
             like.\n\
             package main\n\nimport (\n",
            spec.name
        );
        let bytes = spec.keys == Form::Bytes && !spec.prefix;
        let mut conditions = spec.error_rules.iter().filter_map(|rule| rule.condition.as_ref());
        let errors = conditions.any(|code| code.found.mentions.contains("errors"))
            || spec.missing.is_some()
            || self.matches();
        let own = [
            ("bytes", bytes),
            ("context", self.uses("ctx")),
            ("encoding/base64", spec.values == Form::Base64),
            ("encoding/hex", spec.keys == Form::Hex || spec.values == Form::Hex),
            ("errors", errors),
            ("os", !spec.options.is_empty()),
            ("sync", spec.shared),
        ];
        let theirs: Vec<(usize, String)> =
            spec.imports.iter().filter_map(|(line, text)| Some((*line, tokens::import(text)?))).collect();
        for (path, _) in own.iter().filter(|(_, used)| *used) {
            if !theirs.iter().any(|(_, import)| *import == format!("\"{path}\"")) {
                let _written = writeln!(out, "\t\"{path}\"");
            }
        }
        if !out.ends_with("(\n") {
            out.push('\n');
        }
        let _written = writeln!(out, "\tlydite \"{SDK}\"\n)");
        for (line, import) in &theirs {
            let _written = writeln!(out, "\n//line store.imports in spec.toml:{line}\nimport {import}");
        }
        if !theirs.is_empty() {
            let _written = writeln!(out, "\n{OWN_LINES}");
        }
        if !spec.options.is_empty() {
            out += "\n// Options, which the environment may set.\nvar (\n";
            let longest = spec.options.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
            for (name, default) in &spec.options {
                let _written =
                    writeln!(out, "\t{name:longest$} = option({}, {})", quoted(name), quoted(default));
            }
            out += ")\n\nfunc option(name, fallback string) string {\n\tif value, set := os.LookupEnv(name); set {\n\
                    \t\treturn value\n\t}\n\treturn fallback\n}\n";
        }
        if self.uses("ctx") {
            out += "\n// ctx is the context of every call.\nvar ctx = context.Background()\n";
        }
        out
    }

    /// Returns true if a rule recognizes errors by their type.
    fn matches(&self) -> bool {
        self.spec.error_rules.iter().any(|rule| rule.class.is_some())
    }

    /// Returns the types of keys, values and entries.
    fn types(&self) -> String {
        let spec = self.spec;
        let (key, value) = (self.go_type(Type::Key), self.go_type(Type::Value));
        let mut out = alias("database is the store, as it is opened", "database", spec.db.as_ref())
            + &alias("transaction is what begins one", "transaction", spec.tx.as_ref());
        out += "\n// entry is a key and its value, as the store is given them.\n";
        if key == "[]byte" && value == "[]byte" {
            out += "type entry = lydite.Entry\n";
        } else if key == value {
            let _written = writeln!(out, "type entry struct {{\n\tKey, Value {key}\n}}");
        } else {
            let width = "Value".len();
            let _written =
                writeln!(out, "type entry struct {{\n\t{:width$} {key}\n\tValue {value}\n}}", "Key");
        }
        if self.has("operations.put_many") && !spec.prefix {
            let _written = writeln!(
                out,
                "\n// row is an entry with its table.\ntype row struct {{\n\tTable string\n\tKey   {key}\n\
                 \tValue {value}\n}}"
            );
        }
        if spec.keys == Form::Bytes && !spec.prefix {
            out += "\n// beyond is behind every key of Lydite: where a scan without an end ends.\n\
                    var beyond = bytes.Repeat([]byte{0xff}, 256)\n";
        }
        if spec.keys == Form::Bytes && spec.prefix {
            out += "\nfunc inTable(table string, key []byte) []byte {\n\treturn append([]byte(table+\"/\"), key...)\n\
                    }\n";
        }
        out
    }

    /// Returns the session type and its connection.
    fn session(&self) -> String {
        let spec = self.spec;
        let mut out = String::new();
        if spec.shared {
            let _written = writeln!(
                out,
                "\n// What all sessions share, and why it could not be opened.\nvar (\n\tonce   sync.Once\n\
                 \tshared session\n\
                 \tfailed error\n)"
            );
        }
        out += "\n// session plays one transaction at a time.\ntype session struct {\n";
        out += "\tdb database\n\t// version is the store's.\n\tversion string\n";
        if spec.tx.is_some() {
            out += "\t// tx is the transaction at hand, or the last one.\n\ttx transaction\n";
        }
        if spec.transactional() {
            out += "\t// begun says that there is a transaction.\n\tbegun bool\n";
        }
        if self.reconnects() {
            out += "\t// lost says that the next transaction wants another connection.\n\tlost bool\n";
        }
        if self.committing() {
            out += "\t// committing says that what becomes of the transaction is not known if the store goes away.\n\
                    \tcommitting bool\n";
        }
        out += "}\n";
        let isolation = spec
            .isolation
            .as_deref()
            .map_or(String::new(), |level| format!("\n\t\tIsolation: {},", quoted(level)));
        let _written = writeln!(
            out,
            "\n// Info is what Lydite shows of the store.\nfunc (s *session) Info() lydite.Info {{\n\
             \treturn lydite.Info{{\n\
             \t\tName:      {},\n\t\tVersion:   s.version,\n\t\tGuarantee: {},{isolation}\n\t\tDurable:   {},\n\t}}\n\
             }}",
            quoted(&spec.name),
            quoted(spec.guarantee),
            spec.durable
        );
        let mut connect = "\tdb, err := s.openStore()\n\tif err != nil {\n\t\treturn err\n\t}\n".to_string();
        if self.has("connect.setup") {
            connect += "\tif err := s.setUp(db); err != nil {\n\t\treturn err\n\t}\n";
        }
        connect += "\tversion, err := s.versionOf(db)\n\tif err != nil {\n\t\treturn err\n\t}\n\
                    \ts.db, s.version = db, version\n\treturn nil\n";
        if spec.shared {
            let _written = writeln!(
                out,
                "\nfunc (s *session) connect() error {{\n\tonce.Do(func() {{ failed = shared.open() }})\n\
                 \ts.db, s.version = shared.db, shared.version\n\treturn failed\n}}\n\n\
                 func (s *session) open() error {{\n{connect}}}"
            );
        } else {
            let _written = writeln!(out, "\nfunc (s *session) connect() error {{\n{connect}}}");
        }
        out
    }

    /// Returns the method for a piece of code; nothing if the specification has no such piece.
    fn method(&self, signature: &Signature) -> String {
        let Some(code) = self.spec.code(signature.key) else { return String::new() };
        let mut parameters = Vec::new();
        if signature.db {
            parameters.push("db database".to_string());
        }
        if signature.tx && self.spec.tx.is_some() {
            parameters.push("tx transaction".to_string());
        }
        for (name, kind) in signature.more {
            match (*name, self.spec.prefix) {
                ("table", true) if signature.key == "operations.clear" => {
                    parameters.push(format!("start, end {}", self.go_type(Type::Key)));
                }
                ("table", true) => {}
                // With scan_backward, each direction has its own method.
                ("backward", _) if self.has("operations.scan_backward") => {}
                (name, _) => parameters.push(format!("{name} {}", self.go_type(*kind))),
            }
        }
        let answers = match self.go_type(signature.answers).as_str() {
            "" => "error".to_string(),
            kind => format!("({kind}, error)"),
        };
        format!(
            "\nfunc (s *session) {}({}) {answers} {{\n//line {} in spec.toml:{}\n{}{OWN_LINES}\n}}\n",
            signature.name,
            parameters.join(", "),
            code.key,
            code.line,
            body(code)
        )
    }
}

/// Returns a type alias for a type of the specification, if it has one.
fn alias(about: &str, name: &str, of: Option<&Code>) -> String {
    of.map_or_else(String::new, |Code { key, line, text, .. }| {
        format!(
            "\n// {about}.\n//\n//line {key} in spec.toml:{line}\ntype {name} = {}\n\n{OWN_LINES}\n",
            text.trim()
        )
    })
}

/// Returns a piece as the body of a function. Lines inside strings are not indented.
fn body(code: &Code) -> String {
    let mut out = String::new();
    let lead = if code.found.expression { "return " } else { "" };
    for (number, line) in (1..).zip(code.text.lines()) {
        let lead = if number == 1 { lead } else { "" };
        out += &match line.is_empty() || code.found.continued.contains(&number) {
            true => format!("{line}\n"),
            false => format!("\t{lead}{line}\n"),
        };
    }
    out
}

/// Adds the real line numbers after pieces.
fn with_own_lines(text: &str) -> String {
    let mut out = String::new();
    for (number, line) in (1..).zip(text.lines()) {
        let _written = match line {
            OWN_LINES => writeln!(out, "{OWN_LINES}{}", number + 1),
            line => writeln!(out, "{line}"),
        };
    }
    out
}
