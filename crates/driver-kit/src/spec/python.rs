//! Generates a driver in Python from a specification: `store.py`, a class that users can change by hand.

use super::{Code, Form, Meaning, Spec};
use std::fmt::Write as _;

/// Returns a string literal of Python. Python reads all escapes of JSON.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Returns a piece of code, indented, with `lead` before its first line. Lines inside strings are not indented.
fn indented(code: &Code, lead: &str, indent: usize) -> String {
    let space = " ".repeat(indent);
    let mut out = String::new();
    let text = if code.found.expression { code.text.trim() } else { &code.text };
    for (number, line) in (1..).zip(text.lines()) {
        let lead = if number == 1 { lead } else { "" };
        let continued = code.found.continued.contains(&number);
        out += &match line.is_empty() || continued {
            true => format!("{line}\n"),
            false => format!("{space}{lead}{line}\n"),
        };
    }
    out
}

/// Returns one line of a method.
fn line(text: &str) -> String {
    format!("        {text}\n")
}

/// Returns the assignments of `db` and `tx`, if the code uses them.
fn prelude(codes: &[&Code]) -> String {
    let uses = |name: &str| codes.iter().any(|code| code.found.mentions.contains(name));
    match (uses("db"), uses("tx")) {
        (true, true) => line("db, tx = self.db, self.tx"),
        (true, false) => line("db = self.db"),
        (false, true) => line("tx = self.tx"),
        (false, false) => String::new(),
    }
}

/// Returns a class for `except` and `isinstance`; several classes become a tuple.
fn class(code: &Code) -> String {
    let text = code.text.trim();
    if text.contains(',') && !text.starts_with('(') { format!("({text})") } else { text.into() }
}

/// The arguments of a scan's own method.
const SCANNED: &str = "table, start, end, limit, backward";

struct Generator<'s> {
    spec: &'s Spec,
}

impl Generator<'_> {
    fn file(&self) -> String {
        let spec = self.spec;
        let mut out = format!(
            "#!/usr/bin/env python3\n\"\"\"{}, as a key-value store of Lydite. Made from spec.toml; change it by hand \
             as you like.\"\"\"\n\n",
            spec.name.replace(['"', '\\'], "'")
        );
        let mut imports: Vec<&str> = spec.imports.iter().map(|(_, text)| text.as_str()).collect();
        if !spec.options.is_empty() {
            imports.push("import os");
        }
        if spec.values == Form::Base64 {
            imports.push("import base64");
        }
        imports.sort_unstable();
        imports.dedup();
        for import in imports {
            out += &format!("{import}\n");
        }
        out += "\nimport lydite\n";
        if !spec.options.is_empty() {
            out += "\n# Options, which the environment may set.\n";
        }
        for (name, default) in &spec.options {
            let _written = writeln!(out, "{name} = os.environ.get({}, {})", quoted(name), quoted(default));
        }
        if !spec.prefix && spec.keys == Form::Bytes {
            out += "\n#: Behind every key of Lydite: where a scan without an end ends.\nBEYOND = b\"\\xff\" * 256\n";
        }
        out +=
            "\n\nclass Store(lydite.KeyValue):\n    \"\"\"A session, with a connection of its own.\"\"\"\n\n";
        let isolation = spec.isolation.as_deref().map_or("None".to_string(), quoted);
        for (name, value) in [
            ("name", quoted(&spec.name)),
            ("guarantee", quoted(spec.guarantee)),
            ("isolation", isolation),
            ("durable", if spec.durable { "True" } else { "False" }.to_string()),
        ] {
            out += &format!("    {name} = {value}\n");
        }
        if spec.can_be_lost() {
            out += "    #: Whether the connection is lost, and the next transaction wants another one.\n\
                    \x20   lost = False\n";
            if spec.transactional() {
                out += "    #: Whether the commit is on its way: what becomes of it is not known if the connection is \
                        lost.\n";
                out += "    committing = False\n";
            }
        }
        if self.ends_by_tx() {
            out += "    #: The transaction; none until it has begun.\n    tx = None\n";
        }
        let methods = [
            self.connect(),
            self.begin(),
            self.get(),
            self.simple("operations.put", "put(self, table, key, value)", &self.put_conversions()),
            self.simple("operations.delete", "delete(self, table, key)", &self.key_conversion()),
            self.scan(),
            self.commit(),
            self.abort(),
            self.put_many(),
            self.clear(),
            self.simple("operations.finish", "finish_load(self)", ""),
            self.explain(),
            self.simple("connect.close", "close(self)", ""),
            self.helpers(),
        ];
        out += &methods.concat();
        out += "\n\nif __name__ == \"__main__\":\n    lydite.serve(Store)\n";
        out
    }

    fn method(signature: &str, body: &str) -> String {
        let body = if body.is_empty() { line("pass") } else { body.to_string() };
        format!("\n    def {signature}:\n{body}")
    }

    /// Returns a method that runs a piece and returns nothing.
    fn simple(&self, key: &str, signature: &str, conversions: &str) -> String {
        let Some(code) = self.spec.code(key) else { return String::new() };
        let body = format!("{}{conversions}{}", prelude(&[code]), indented(code, "", 8));
        Self::method(signature, &body)
    }

    fn connect(&self) -> String {
        let mut body = String::new();
        if let Some(open) = self.spec.code("connect.open") {
            body += &indented(open, "db = self.db = ", 8);
        }
        if let Some(version) = self.spec.code("store.version") {
            body += &indented(version, "self.version = ", 8);
        }
        if let Some(setup) = self.spec.code("connect.setup") {
            body += &indented(setup, "", 8);
        }
        // No other code in this method uses `db`.
        let used = ["store.version", "connect.setup"]
            .iter()
            .any(|key| self.spec.code(key).is_some_and(|code| code.found.mentions.contains("db")));
        if !used {
            body = body.replacen("db = self.db = ", "self.db = ", 1);
        }
        Self::method("__init__(self)", &line("self.connect()")) + &Self::method("connect(self)", &body)
    }

    fn begin(&self) -> String {
        let mut body = String::new();
        if self.spec.can_be_lost() {
            body += &line("if self.lost:");
            body += &line("    self.connect()");
            body += &line("    self.lost = False");
            if self.spec.transactional() {
                body += &line("self.committing = False");
            }
        }
        if let Some(begin) = self.spec.code("transactions.begin") {
            if self.ends_by_tx() {
                body += &line("self.tx = None");
            }
            let tx_is_used = self.spec.codes.values().any(|code| code.found.mentions.contains("tx"));
            body += &match (tx_is_used, begin.found.expression) {
                (true, false) => line("self.tx = self._begin(access)"),
                _ => prelude(&[begin]) + &indented(begin, if tx_is_used { "self.tx = " } else { "" }, 8),
            };
        }
        Self::method("begin(self, access)", &body)
    }

    /// Returns the expression that converts a key for the store.
    fn key_in(&self, key: &str) -> String {
        match (self.spec.prefix, self.spec.keys) {
            (false, Form::Bytes) => key.into(),
            (false, _) => format!("{key}.hex()"),
            (true, Form::Bytes) => format!("table.encode() + b\"/\" + {key}"),
            (true, _) => format!("f\"{{table}}/{{{key}.hex()}}\""),
        }
    }

    /// Returns the expression that converts a key of the store back.
    fn key_out(&self, key: &str) -> String {
        let key = if self.spec.prefix { format!("{key}[len(table) + 1:]") } else { key.to_string() };
        if self.spec.keys == Form::Bytes { key } else { format!("bytes.fromhex({key})") }
    }

    fn value_in(&self, value: &str) -> String {
        match self.spec.values {
            Form::Bytes => value.into(),
            Form::Hex => format!("{value}.hex()"),
            Form::Base64 => format!("base64.b64encode({value}).decode()"),
        }
    }

    fn value_out(&self, value: &str) -> String {
        match self.spec.values {
            Form::Bytes => value.into(),
            Form::Hex => format!("bytes.fromhex({value})"),
            Form::Base64 => format!("base64.b64decode({value})"),
        }
    }

    fn key_conversion(&self) -> String {
        let key = self.key_in("key");
        if key == "key" { String::new() } else { line(&format!("key = {key}")) }
    }

    fn put_conversions(&self) -> String {
        let value = self.value_in("value");
        let value = if value == "value" { String::new() } else { line(&format!("value = {value}")) };
        self.key_conversion() + &value
    }

    /// Returns the lines that convert the bounds of a scan for the store.
    fn bounds(&self) -> String {
        match (self.spec.prefix, self.spec.keys) {
            (false, Form::Bytes) => line("end = BEYOND if end is None else end"),
            // g sorts after every hexadecimal digit.
            (false, _) => line("start, end = start.hex(), \"g\" if end is None else end.hex()"),
            // The character after / is 0.
            (true, Form::Bytes) => {
                line("start = table.encode() + b\"/\" + start")
                    + &line("end = table.encode() + (b\"0\" if end is None else b\"/\" + end)")
            }
            (true, _) => {
                line("start = f\"{table}/{start.hex()}\"")
                    + &line("end = f\"{table}0\" if end is None else f\"{table}/{end.hex()}\"")
            }
        }
    }

    fn get(&self) -> String {
        let Some(get) = self.spec.code("operations.get") else { return String::new() };
        let value = self.spec.code("data.value").map_or("found", |code| code.text.trim());
        let out = self.value_out(value);
        let plain = out == "found" && self.spec.missing.is_none();
        let mut body = String::new();
        if get.found.expression || plain {
            body += &prelude(&[get]);
        }
        body += &self.key_conversion();
        let (call, nested);
        let call = if get.found.expression {
            (call, nested) = (indented(get, "found = ", 8), indented(get, "found = ", 12));
            (call, nested)
        } else {
            let own = "found = self._get(table, key)".to_string();
            (line(&own), line(&format!("    {own}")))
        };
        body += &match (&self.spec.missing, plain) {
            (None, true) if get.found.expression => indented(get, "return ", 8),
            (None, true) => indented(get, "", 8),
            (None, false) => call.0 + &line(&format!("return None if found is None else {out}")),
            (Some(missing), _) => {
                let except = format!("except {}:", class(missing));
                line("try:")
                    + &call.1
                    + &line(&except)
                    + &line("    return None")
                    + &line(&format!("return {out}"))
            }
        };
        Self::method("get(self, table, key)", &body)
    }

    fn scan_is_plain(&self) -> bool {
        self.spec.code("data.entry").is_none()
            && self.key_out("key") == "key"
            && self.value_out("value") == "value"
    }

    fn scan(&self) -> String {
        let Some(scan) = self.spec.code("operations.scan") else { return String::new() };
        let other = self.spec.code("operations.scan_backward");
        let plain = self.scan_is_plain();
        let here: Vec<&Code> =
            [Some(scan), other].into_iter().flatten().filter(|code| self.is_inside_scan(code)).collect();
        let mut body = prelude(&here) + &self.bounds();
        let lead = if plain { "return " } else { "rows = " };
        let call = |name: &str, code: &Code, indent: usize| {
            if code.found.expression {
                indented(code, lead, indent)
            } else if self.is_inside_scan(code) {
                indented(code, "", indent)
            } else {
                format!("{}{lead}self.{name}({SCANNED})\n", " ".repeat(indent))
            }
        };
        body += &match other {
            None => call("_scan", scan, 8),
            Some(other) => {
                let (back, forth) = (call("_scan_backward", other, 12), call("_scan", scan, 12));
                if plain {
                    format!("{}{back}{}", line("if backward:"), call("_scan", scan, 8))
                } else {
                    format!("{}{back}{}{forth}", line("if backward:"), line("else:"))
                }
            }
        };
        if !plain {
            let pair = format!("({}, {})", self.key_out("key"), self.value_out("value"));
            let entry = self.spec.code("data.entry").map(|code| code.text.trim());
            body += &line(&match entry {
                None => format!("return [{pair} for key, value in rows]"),
                Some(entry) if pair == "(key, value)" => format!("return [{entry} for found in rows]"),
                Some(entry) => format!("return [{pair} for key, value in ({entry} for found in rows)]"),
            });
        }
        Self::method("scan(self, table, start, end, limit, backward)", &body)
    }

    /// Returns true if code stands inside `scan`. Other code has its own method, because its lines may `yield`.
    fn is_inside_scan(&self, code: &Code) -> bool {
        code.found.expression
            || (self.scan_is_plain() && self.spec.code("operations.scan_backward").is_none())
    }

    fn commit(&self) -> String {
        let Some(commit) = self.spec.code("transactions.commit") else {
            return Self::method(
                "commit(self)",
                &line("pass  # the store has no transactions: all is done already"),
            );
        };
        let begun = if self.spec.can_be_lost() { line("self.committing = True") } else { String::new() };
        Self::method("commit(self)", &format!("{}{begun}{}", prelude(&[commit]), indented(commit, "", 8)))
    }

    fn abort(&self) -> String {
        let Some(abort) = self.spec.code("transactions.abort") else { return String::new() };
        let mut body = String::new();
        if self.spec.can_be_lost() {
            body += &line("if self.lost:");
            body += &line("    return");
        }
        if self.ends_by_tx() {
            body += &line("if self.tx is None:");
            body += &line("    return");
        }
        Self::method("abort(self)", &(body + &prelude(&[abort]) + &indented(abort, "", 8)))
    }

    /// Returns true if `abort` uses the value of `begin`: a transaction that did not begin has nothing to abort.
    fn ends_by_tx(&self) -> bool {
        self.spec.code("transactions.abort").is_some_and(|abort| abort.found.mentions.contains("tx"))
    }

    fn put_many(&self) -> String {
        let Some(many) = self.spec.code("operations.put_many") else { return String::new() };
        let (key, value) = (self.key_in("key"), self.value_in("value"));
        let entry =
            if self.spec.prefix { format!("({key}, {value})") } else { format!("(table, {key}, {value})") };
        let body = line("if any(value is None for _, _, value in writes):")
            + &line("    super().write(writes)")
            + &line("    return")
            + &prelude(&[many])
            + &line(&format!("entries = [{entry} for table, key, value in writes]"))
            + &indented(many, "", 8);
        Self::method("write(self, writes)", &body)
    }

    fn clear(&self) -> String {
        let bounds = match (self.spec.prefix, self.spec.keys) {
            (false, _) => String::new(),
            (true, Form::Bytes) => line("start, end = table.encode() + b\"/\", table.encode() + b\"0\""),
            (true, _) => line("start, end = f\"{table}/\", f\"{table}0\""),
        };
        self.simple("operations.clear", "clear(self, table)", &bounds)
    }

    fn explain(&self) -> String {
        if self.spec.error_rules.is_empty() {
            return String::new();
        }
        let mut body = String::new();
        for rule in &self.spec.error_rules {
            let mut test = rule
                .class
                .as_ref()
                .map_or_else(|| "True".into(), |of| format!("isinstance(error, {})", class(of)));
            if let Some(condition) = &rule.condition {
                let _written = write!(test, " and ({})", condition.text.trim());
            }
            body += &line(&format!("if {test}:"));
            match rule.meaning {
                Meaning::Aborted(reason) => {
                    body += &line(&format!("    return lydite.Aborted(\"{reason}\", str(error))"));
                }
                Meaning::Unavailable => {
                    let known =
                        if self.spec.transactional() { ", None if self.committing else False" } else { "" };
                    body += &line("    self.lost = True");
                    body += &line(&format!("    return lydite.Unavailable(str(error){known})"));
                }
            }
        }
        body += &line("return None");
        Self::method("explain(self, error)", &body)
    }

    /// Returns methods for pieces of several lines whose value `store.py` converts.
    fn helpers(&self) -> String {
        let mut out = String::new();
        let mut helper = |key: &str, signature: &str| {
            if let Some(code) = self.spec.code(key).filter(|code| !code.found.expression) {
                out += &Self::method(signature, &(prelude(&[code]) + &indented(code, "", 8)));
            }
        };
        if self.spec.codes.values().any(|code| code.found.mentions.contains("tx")) {
            helper("transactions.begin", "_begin(self, access)");
        }
        let value = self.spec.code("data.value").map_or("found", |code| code.text.trim());
        if self.value_out(value) != "found" || self.spec.missing.is_some() {
            helper("operations.get", "_get(self, table, key)");
        }
        for (key, name) in [("operations.scan", "_scan"), ("operations.scan_backward", "_scan_backward")] {
            if self.spec.code(key).is_some_and(|code| !self.is_inside_scan(code)) {
                helper(key, &format!("{name}(self, {SCANNED})"));
            }
        }
        out
    }
}

/// The program `driver`, which Lydite starts.
const DRIVER: &str = "#!/bin/sh\n# Becomes the store's program, with the Python of .venv if there is one.\n\
     here=$(dirname \"$0\")\npython=python3\n[ -x \"$here/.venv/bin/python\" ] && python=$here/.venv/bin/python\n\
     exec \"$python\" \"$here/store.py\" \"$@\"\n";

/// Returns `driver`, `store.py` and, if the store needs packages, `requirements.txt`.
pub(super) fn files(spec: &Spec) -> Vec<(&'static str, String, bool)> {
    let mut files = vec![("driver", DRIVER.into(), true), ("store.py", Generator { spec }.file(), false)];
    if !spec.packages.is_empty() {
        let packages = spec.packages.iter().map(|package| format!("{}\n", package.name)).collect();
        files.push(("requirements.txt", packages, false));
    }
    files
}

/// Returns the beginning of the README.
pub(super) fn readme(spec: &Spec, name: &str, url: &str) -> String {
    let mut out = format!(
        "# {name}\n\n{}, as a key-value store for Lydite, which plays the transactions of TPC-C on it. `store.py` was \
         made from\n`spec.toml` by `lydite driver new --spec`. No command overwrites it, so change it as you like.\n\n",
        spec.name
    );
    if !spec.packages.is_empty() {
        out += "Install its packages once, in this directory (`driver` uses the Python of `.venv` if it exists, else \
                `python3`):\n\n```sh\n";
        out += "python3 -m venv .venv && .venv/bin/pip install -r requirements.txt\n```\n\n";
    }
    out + &format!(
        "Then:\n\n```sh\nlydite driver test {url}    # a table of all steps, with the reason of each failure\n\
         lydite run {url} \
         --duration 30s\n```\n\n`driver` is the program that Lydite starts, one process for each session. `lydite/` is \
         the SDK, for Python 3.9 or later.\n"
    )
}
