//! The methods that Lydite calls: transactions, and reads and writes, which convert keys and values.

use super::super::{Form, Meaning};
use super::{Generator, METHODS, OWN_LINES, Type};
use std::fmt::Write as _;

impl Generator<'_> {
    /// Returns true if the driver must remember that it has sent a commit.
    pub(super) fn committing(&self) -> bool {
        self.spec.can_be_lost() && self.spec.transactional()
    }

    /// Returns a call of a piece's method, with `db` and `tx` if they are parameters.
    fn call(&self, name: &str, arguments: &[&str]) -> String {
        let signature = METHODS.iter().find(|signature| signature.name == name);
        let mut all = vec!["s.db"];
        if signature.is_some_and(|signature| signature.tx) && self.spec.tx.is_some() {
            all.push("s.tx");
        }
        all.extend(arguments);
        format!("s.{name}({})", all.join(", "))
    }

    pub(super) fn transactions(&self) -> String {
        let mut out =
            "\n// Begin begins a transaction.\nfunc (s *session) Begin(access string) error {\n".to_string();
        if self.reconnects() {
            out += "\tif s.lost {\n";
            if self.has("connect.close") {
                out += "\t\t// Nobody is there to answer.\n\t\t_ = s.closeStore(s.db)\n";
            }
            out += "\t\tif err := s.connect(); err != nil {\n\
                    \t\t\treturn &lydite.Unavailable{Detail: err.Error(), NotCommitted: true}\n\t\t}\n\
                    \t\ts.lost = false\n\t}\n";
            if self.spec.transactional() {
                out += "\ts.begun = false\n";
            }
        }
        if self.committing() {
            out += "\ts.committing = false\n";
        }
        let begin = self.call("begin", &["access"]);
        let begun = if self.spec.transactional() { "\ts.begun = true\n" } else { "" };
        out += &match (self.has("transactions.begin"), self.spec.tx.is_some()) {
            (true, true) => format!(
                "\ttx, err := {begin}\n\tif err != nil {{\n\t\treturn s.explain(err)\n\t}}\n\ts.tx = tx\n"
            ),
            (true, false) => format!("\tif err := {begin}; err != nil {{\n\t\treturn s.explain(err)\n\t}}\n"),
            (false, _) => String::new(),
        };
        let _written = writeln!(out, "{begun}\treturn nil\n}}");
        if !self.spec.transactional() {
            return out
                + "\n// Commit has nothing to do: the store has no transactions, and all is done already.\n\
                   func (s *session) Commit() error { return nil }\n\n// Abort can't undo what is done.\n\
                   func (s *session) Abort() {}\n";
        }
        out += "\n// Commit ends the transaction, all of it stored.\nfunc (s *session) Commit() error {\n";
        if self.committing() {
            out += "\ts.committing = true\n";
        }
        let lost = if self.reconnects() { " || s.lost" } else { "" };
        let _written = writeln!(
            out,
            "\tif err := {}; err != nil {{\n\t\treturn s.explain(err)\n\t}}\n\ts.begun = false\n\treturn nil\n}}\n\n\
             // Abort ends the transaction, nothing of it stored.\nfunc (s *session) Abort() {{\n\
             \tif !s.begun{lost} {{\n\
             \t\treturn\n\t}}\n\ts.begun = false\n\
             \t// The error that matters is the one before; what stays wrong, the next transaction hears.\n\t_ = {}\n\
             }}",
            self.call("commit", &[]),
            self.call("abort", &[])
        );
        out
    }

    /// Returns the expression that converts a key for the store.
    fn key_in(&self, key: &str) -> String {
        match (self.spec.prefix, self.spec.keys) {
            (false, Form::Bytes) => key.into(),
            (false, _) => format!("hex.EncodeToString({key})"),
            (true, Form::Bytes) => format!("inTable(table, {key})"),
            (true, _) => format!("table+\"/\"+hex.EncodeToString({key})"),
        }
    }

    fn value_in(&self, value: &str) -> String {
        match self.spec.values {
            Form::Bytes => value.into(),
            Form::Hex => format!("hex.EncodeToString({value})"),
            Form::Base64 => format!("base64.StdEncoding.EncodeToString({value})"),
        }
    }

    /// Returns the expression that decodes a value of the store. It may fail. `None` if values are unchanged.
    fn value_out(&self, value: &str) -> Option<String> {
        match self.spec.values {
            Form::Bytes => None,
            Form::Hex => Some(format!("hex.DecodeString({value})")),
            Form::Base64 => Some(format!("base64.StdEncoding.DecodeString({value})")),
        }
    }

    /// Adds the table to arguments, unless it is a prefix of the key.
    fn keyed<'a>(&self, mut arguments: Vec<&'a str>) -> Vec<&'a str> {
        if !self.spec.prefix {
            arguments.insert(0, "table");
        }
        arguments
    }

    pub(super) fn reads(&self) -> String {
        let mut out =
            "\n// Get gives the value of a key.\nfunc (s *session) Get(table string, key []byte) ([]byte, \
                       error) {\n"
                .to_string();
        let key = self.key_in("key");
        let _written = writeln!(out, "\tfound, err := {}", self.call("get", &self.keyed(vec![&key])));
        if let Some(missing) = &self.spec.missing {
            let _written = writeln!(
                out,
                "//line {} in spec.toml:{}\n\tif errors.Is(err, {}) {{\n{OWN_LINES}\n\t\treturn nil, nil\n\t}}",
                missing.key,
                missing.line,
                missing.text.trim()
            );
        }
        out += "\tif err != nil {\n\t\treturn nil, s.explain(err)\n\t}\n";
        out += &match self.value_out("found") {
            None => "\treturn found, nil\n}\n".to_string(),
            Some(value) => format!("\treturn {value}\n}}\n"),
        };
        out + &self.scan()
    }

    fn scan(&self) -> String {
        let mut out = "\n// Scan gives the entries of a range.\n\
             func (s *session) Scan(table string, from, below []byte, limit int, backward bool) ([]lydite.Entry, \
             error) {\n"
            .to_string();
        out += &match (self.spec.prefix, self.spec.keys) {
            (false, Form::Bytes) => {
                "\tstart, end := from, below\n\tif below == nil {\n\t\tend = beyond\n\t}\n".to_string()
            }
            // g sorts after every hexadecimal digit.
            (false, _) => "\tstart, end := hex.EncodeToString(from), \"g\"\n\tif below != nil {\n\
                           \t\tend = hex.EncodeToString(below)\n\t}\n"
                .into(),
            // The character after / is 0.
            (true, Form::Bytes) => {
                "\tstart, end := inTable(table, from), []byte(table+\"0\")\n\tif below != nil {\n\
                                    \t\tend = inTable(table, below)\n\t}\n"
                    .into()
            }
            (true, _) => {
                "\tstart, end := table+\"/\"+hex.EncodeToString(from), table+\"0\"\n\tif below != nil {\n\
                          \t\tend = table + \"/\" + hex.EncodeToString(below)\n\t}\n"
                    .into()
            }
        };
        let scan = |name: &str, more: &[&'static str]| {
            let arguments = [&["start", "end", "limit"], more].concat();
            self.call(name, &self.keyed(arguments))
        };
        if self.has("operations.scan_backward") {
            let _written = writeln!(
                out,
                "\tvar found []entry\n\tvar err error\n\tif backward {{\n\t\tfound, err = {}\n\t}} else {{\n\
                 \t\tfound, err = {}\n\t}}",
                scan("scanBackward", &[]),
                scan("scan", &[])
            );
        } else {
            let _written = writeln!(out, "\tfound, err := {}", scan("scan", &["backward"]));
        }
        out += "\tif err != nil {\n\t\treturn nil, s.explain(err)\n\t}\n";
        let hex = self.spec.keys == Form::Hex;
        let decoded = self.value_out("each.Value");
        if !hex && decoded.is_none() && !self.spec.prefix {
            return out + "\treturn found, nil\n}\n";
        }
        out += "\tentries := make([]lydite.Entry, len(found))\n\tfor index, each := range found {\n";
        let key = if self.spec.prefix { "each.Key[len(table)+1:]" } else { "each.Key" };
        let failed = "\t\tif err != nil {\n\t\t\treturn nil, err\n\t\t}\n";
        if hex {
            let _written = write!(out, "\t\tkey, err := hex.DecodeString({key})\n{failed}");
        }
        if let Some(decoded) = &decoded {
            let _written = write!(out, "\t\tvalue, err := {decoded}\n{failed}");
        }
        let key = if hex { "key" } else { key };
        let value = if decoded.is_some() { "value" } else { "each.Value" };
        let _written = write!(
            out,
            "\t\tentries[index] = lydite.Entry{{Key: {key}, Value: {value}}}\n\t}}\n\treturn entries, nil\n}}\n"
        );
        out
    }

    pub(super) fn writes(&self) -> String {
        let (key, value) = (self.key_in("key"), self.value_in("value"));
        let mut out = format!(
            "\n// Put writes a key, new or not.\nfunc (s *session) Put(table string, key, value []byte) error {{\n\
             \treturn s.explain({})\n}}\n\n// Delete removes a key.\n\
             func (s *session) Delete(table string, key []byte) error {{\n\
             \treturn s.explain({})\n}}\n",
            self.call("put", &self.keyed(vec![&key, &value])),
            self.call("remove", &self.keyed(vec![&key]))
        );
        if self.has("operations.put_many") {
            let (key, value) = (self.key_in("each.Key"), self.value_in("each.Value"));
            let entry = if self.spec.prefix {
                format!("entry{{{}, {value}}}", key.replace("table", "each.Table"))
            } else {
                format!("row{{each.Table, {key}, {value}}}")
            };
            let _written = writeln!(
                out,
                "\n// Write does many writes at once, unless keys are removed.\n\
                 func (s *session) Write(writes []lydite.Write) error {{\n\tentries := make({}, len(writes))\n\
                 \tfor index, each := range writes {{\n\t\tif each.Value == nil {{\n\
                 \t\t\treturn lydite.WriteEach(s, writes)\n\t\t}}\n\t\tentries[index] = {entry}\n\t}}\n\
                 \treturn s.explain({})\n}}",
                self.go_type(Type::Rows),
                self.call("putMany", &["entries"])
            );
        }
        if self.has("operations.clear") {
            let bounds = match (self.spec.prefix, self.spec.keys) {
                (false, _) => vec!["table"],
                (true, Form::Bytes) => vec!["[]byte(table+\"/\")", "[]byte(table+\"0\")"],
                (true, _) => vec!["table+\"/\"", "table+\"0\""],
            };
            let _written = writeln!(
                out,
                "\n// Clear removes all keys of a table.\nfunc (s *session) Clear(table string) error {{\n\
                 \treturn s.explain({})\n}}",
                self.call("clearTable", &bounds)
            );
        }
        if self.has("operations.finish") {
            let _written = writeln!(
                out,
                "\n// FinishLoad is called after loading.\nfunc (s *session) FinishLoad(func(string) error) error {{\n\
                 \treturn s.explain({})\n}}",
                self.call("finish", &[])
            );
        }
        out
    }

    pub(super) fn end(&self) -> String {
        let close = if self.has("connect.close") {
            "\t// Nobody wants to hear of it any more.\n\t_ = s.closeStore(s.db)\n"
        } else {
            ""
        };
        format!("\n// Close ends the session.\nfunc (s *session) Close() {{\n\ts.Abort()\n{close}}}\n")
    }

    /// Returns the method that gives errors of the store their meaning.
    pub(super) fn explain(&self) -> String {
        let mut out = "\n// explain gives an error the meaning that it has for Lydite.\n\
                       func (s *session) explain(err error) error {\n"
            .to_string();
        if !self.spec.error_rules.is_empty() {
            out += "\tif err == nil {\n\t\treturn nil\n\t}\n";
        }
        for rule in &self.spec.error_rules {
            let Some(code) = rule.condition.as_ref().or(rule.class.as_ref()) else { continue };
            let condition = rule.condition.as_ref().map_or("true", |code| code.text.trim());
            let test = match &rule.class {
                Some(class) => format!(
                    "matches(s.db, err, func(db database, err {}) bool {{ return {condition} }})",
                    class.text.trim()
                ),
                None if condition.starts_with("errors.Is(err, ") => condition.to_string(),
                None => format!("func(db database, err error) bool {{ return {condition} }}(s.db, err)"),
            };
            let _written =
                writeln!(out, "//line {} in spec.toml:{}\n\tif {test} {{\n{OWN_LINES}", code.key, code.line);
            match rule.meaning {
                Meaning::Aborted(reason) => {
                    let _written = writeln!(
                        out,
                        "\t\treturn &lydite.Aborted{{Reason: \"{reason}\", Detail: err.Error()}}"
                    );
                }
                Meaning::Unavailable => {
                    if self.reconnects() {
                        out += "\t\ts.lost = true\n";
                    }
                    let known = if self.committing() { "!s.committing" } else { "false" };
                    let _written = writeln!(
                        out,
                        "\t\treturn &lydite.Unavailable{{Detail: err.Error(), NotCommitted: {known}}}"
                    );
                }
            }
            out += "\t}\n";
        }
        out += "\treturn err\n}\n";
        if self.matches() {
            out += "\n// matches says whether there is an error of this type in err for which something holds.\n\
                    func matches[E error](db database, err error, holds func(database, E) bool) bool {\n\tvar found E\n\
                    \treturn errors.As(err, &found) && holds(db, found)\n}\n";
        }
        out
    }
}
