//! A file of statements: read, with the names of the tables filled in, and checked.

use super::ScriptForm;
use super::lexer::{Open, cut};
use super::rules::{Made, made, problems_of_tables, rejected};
use lydite_database::TargetError;
use lydite_database::sql::sql_error::SqlError;
use lydite_tpcc::meta::ScriptNote;
use lydite_tpcc::schema::Table;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};

/// Most bytes of a file.
const MAX_BYTES: u64 = 1 << 20;

/// Use of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScriptKind {
    /// It makes the tables.
    Schema,
    /// It follows the rows.
    AfterLoad,
}

/// A file of statements that was read and checked.
#[derive(Clone, Debug)]
pub struct Script {
    note: ScriptNote,
    text: String,
    statements: Vec<Statement>,
    made: Vec<Made>,
}

/// A statement of a file.
#[derive(Clone, Debug)]
pub(crate) struct Statement {
    /// Line of its first word, from 1.
    pub(crate) line: usize,
    /// Text with the names of the tables.
    pub(crate) text: String,
}

/// Reason why a file is rejected. Each problem is the rest of a sentence that begins with the file.
#[derive(Debug)]
pub enum ScriptError {
    /// The system can't read it.
    Unreadable(io::Error),
    /// The file's contents are wrong.
    Wrong(Vec<String>),
}

impl ScriptError {
    /// Returns the problems, each as the rest of a sentence that begins with the file.
    #[must_use]
    pub fn problems(&self) -> Vec<String> {
        match self {
            Self::Unreadable(error) => vec![format!("can't be read: {error}")],
            Self::Wrong(problems) => problems.clone(),
        }
    }
}

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.problems().join("; "))
    }
}

impl std::error::Error for ScriptError {}

impl Script {
    /// Reads a file.
    ///
    /// # Errors
    /// The file can't be read, or has statements that it may not have: all of them.
    pub(crate) fn read(path: &str, kind: ScriptKind, form: &ScriptForm<'_>) -> Result<Self, ScriptError> {
        let wrong = |problem: String| ScriptError::Wrong(vec![problem]);
        if path.len() > ScriptNote::MAX_PATH {
            let most = ScriptNote::MAX_PATH;
            return Err(wrong(format!(
                "has a path of {} bytes, and the database notes {most}: copy it closer",
                path.len()
            )));
        }
        let mut bytes = Vec::new();
        let read = File::open(path).and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut bytes));
        read.map_err(ScriptError::Unreadable)?;
        if bytes.len() as u64 > MAX_BYTES {
            return Err(wrong("is larger than 1 MiB: name a file of statements without rows".into()));
        }
        let hash = hash(&bytes);
        let text = String::from_utf8(bytes).map_err(|_| wrong("is no text in UTF-8".into()))?;
        Self::parse(ScriptNote { file: path.to_owned(), hash }, text, kind, form)
    }

    fn parse(
        note: ScriptNote,
        text: String,
        kind: ScriptKind,
        form: &ScriptForm<'_>,
    ) -> Result<Self, ScriptError> {
        // Editors of some systems begin a file with this mark.
        let text = text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text);
        let filled = fill(&text, form);
        let cuts = cut(&filled, form.syntax).map_err(|Open { line, what }| {
            ScriptError::Wrong(vec![format!("line {line}: has {what} without an end")])
        })?;
        let mut problems: Vec<String> = Vec::new();
        if cuts.is_empty() {
            problems.push("has no statements".into());
        }
        for cut in &cuts {
            let why = rejected(cut).or_else(|| {
                let brace = super::lexer::Token::Sign('{');
                let at = cut.tokens.iter().position(|token| *token == brace)?;
                let name = match cut.tokens.get(at + 1) {
                    Some(super::lexer::Token::Word(name)) => name.as_str(),
                    _ => "",
                };
                let known = Table::ALL.map(|table| format!("{{{}}}", table.name())).join(", ");
                Some(format!("{{{name}}} is no table: use {known}"))
            });
            problems.extend(why.map(|why| format!("line {}: {why}", cut.line)));
        }
        let made: Vec<Made> = cuts.iter().filter_map(made).collect();
        if kind == ScriptKind::Schema {
            problems.extend(problems_of_tables(&made));
        }
        if !problems.is_empty() {
            return Err(ScriptError::Wrong(problems));
        }
        let statements = cuts.into_iter().map(|cut| Statement { line: cut.line, text: cut.text }).collect();
        Ok(Self { note, text, statements, made })
    }

    /// Returns path and hash.
    #[must_use]
    pub fn note(&self) -> &ScriptNote {
        &self.note
    }

    /// Returns the text of the file.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the statements in their order.
    pub(crate) fn statements(&self) -> &[Statement] {
        &self.statements
    }

    /// Returns the note that the first `count` statements were executed: their number and hash.
    pub(crate) fn executed_note(&self, count: usize) -> String {
        let texts: Vec<&str> =
            self.statements.iter().take(count).map(|statement| statement.text.as_str()).collect();
        format!("{count} {}", hash(texts.join("\0").as_bytes()))
    }

    /// Returns the number of statements that a note says were executed; `None` if they were others than those here.
    pub(crate) fn executed(&self, note: &str) -> Option<usize> {
        let count = note.split(' ').next()?.parse().ok()?;
        (self.executed_note(count) == note).then_some(count)
    }

    /// Returns the names of the tables that it makes, whether or not they are there.
    pub(crate) fn made(&self) -> impl Iterator<Item = &str> {
        self.made.iter().filter(|made| !made.if_missing).map(|made| made.name.as_str())
    }

    /// Returns the names of all tables that it makes, if they are not there.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.made.iter().map(|made| made.name.as_str())
    }

    /// Returns the error of a statement, with its line. A wrong statement is the user's error, not the database's.
    pub(crate) fn failed(
        &self,
        statement: &Statement,
        error: SqlError,
        failed: &dyn Fn(SqlError, &str) -> TargetError,
    ) -> TargetError {
        let place = format!("{} line {}", self.note.file, statement.line);
        let of_user = matches!(&error, SqlError::Database { unavailable: false, .. } | SqlError::Decode(_));
        let error = failed(error, &place);
        if of_user { TargetError::usage(error.message) } else { error }
    }
}

/// Returns the first digits of the SHA-256 of bytes.
fn hash(bytes: &[u8]) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, bytes);
    let digits: String = digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    digits[..ScriptNote::HASH_DIGITS].to_owned()
}

/// Replaces `{table}` by the name of the table in the target.
fn fill(text: &str, form: &ScriptForm<'_>) -> String {
    let schema =
        form.schema.map(|schema| format!("\"{}\".", schema.replace('"', "\"\""))).unwrap_or_default();
    let mut filled = text.to_owned();
    for table in Table::ALL {
        let name = table.name();
        filled = filled.replace(&format!("{{{name}}}"), &format!("{schema}{name}"));
    }
    filled
}

#[cfg(test)]
mod tests {
    use super::super::Syntax;
    use super::*;

    const FORM: ScriptForm<'static> =
        ScriptForm { syntax: Syntax::Postgres, schema: Some("My \"One"), shapes: |_| false };

    fn parse(text: &str, kind: ScriptKind) -> Result<Script, Vec<String>> {
        let note = ScriptNote { file: "own.sql".into(), hash: hash(text.as_bytes()) };
        Script::parse(note, text.into(), kind, &FORM).map_err(|error| error.problems())
    }

    fn all_tables() -> String {
        Table::ALL.map(|table| format!("CREATE TABLE {{{}}} (x int);\n", table.name())).concat()
    }

    #[test]
    fn the_names_of_the_tables_are_filled_in_with_the_schema_of_the_url() {
        let text = all_tables() + "CREATE TABLE {stock}_p1 PARTITION OF {stock} DEFAULT; SELECT f('{item}')";
        let script = parse(&text, ScriptKind::Schema).expect("good");
        let texts: Vec<&str> = script.statements().iter().map(|statement| statement.text.as_str()).collect();
        assert_eq!(
            texts[9],
            "CREATE TABLE \"My \"\"One\".stock_p1 PARTITION OF \"My \"\"One\".stock DEFAULT"
        );
        assert_eq!(texts[10], "SELECT f('\"My \"\"One\".item')");
        assert!(script.made().any(|name| name == "stock_p1"), "{script:?}");
        assert_eq!(script.note().hash.len(), 16);
    }

    #[test]
    fn a_file_that_drops_fills_or_lacks_tables_is_rejected_with_all_its_lines() {
        let text = all_tables().replace("CREATE TABLE {orders} (x int);\n", "")
            + "DROP TABLE IF EXISTS {item};\n/* fine */ DO $$ BEGIN EXECUTE 'drop  table x'; END $$;\nCOMMIT;\n\
               INSERT INTO {item} VALUES (1);\nALTER TABLE {item} DROP CONSTRAINT x;\nCREATE TABLE {oder} (x int);\n\
               CREATE TABLE lydite_meta (x int);";
        let problems = parse(&text, ScriptKind::Schema).expect_err("bad").join("\n");
        for wanted in [
            "line 9: DROP drops or empties",
            "line 10: DROP TABLE drops",
            "line 11: COMMIT begins or ends",
            "line 12: INSERT changes rows",
            "line 14: {oder} is no table",
            "has no CREATE TABLE for {orders}",
            "makes lydite_meta",
        ] {
            assert!(problems.contains(wanted), "{wanted} in {problems}");
        }
        assert!(!problems.contains("line 13"), "{problems}");
        assert!(parse("", ScriptKind::AfterLoad).expect_err("empty")[0].contains("has no statements"));
        assert!(parse("CREATE INDEX x ON {stock} (s_quantity)", ScriptKind::AfterLoad).is_ok());
    }

    #[test]
    fn texts_that_nobody_executes_may_have_any_words() {
        let of = |statement: &str| parse(statement, ScriptKind::AfterLoad);
        for fine in [
            "\u{feff}COMMENT ON TABLE {stock} IS 'Never DROP TABLE this'",
            "CREATE TABLE more (x varchar(30) DEFAULT 'truncate' COMMENT 'DELETE FROM nothing')",
            "CREATE TABLE more (x int) COMMENT = 'drop table'",
            "ALTER TABLE {stock} RENAME CONSTRAINT a TO b",
            "ALTER INDEX a RENAME TO b",
            "ALTER TABLE {stock} ATTACH PARTITION more DEFAULT",
        ] {
            assert!(of(fine).is_ok(), "{fine}: {:?}", of(fine));
        }
        for (statement, words) in [
            ("DO 'DROP TABLE x'", "DROP TABLE drops"),
            ("SELECT f('drop table x')", "DROP TABLE drops"),
            ("ALTER TABLE {stock} RENAME TO stocks", "ALTER TABLE RENAME takes a name"),
            ("ALTER TABLE {stock} RENAME COLUMN s_data TO x", "ALTER TABLE RENAME takes a name"),
            ("ATTACH DATABASE 'x' AS y", "ATTACH is not for the database"),
            ("ALTER SYSTEM SET fsync = off", "ALTER SYSTEM changes the whole server"),
            ("SET GLOBAL max_connections = 3", "SET GLOBAL changes the whole server"),
            ("SET @@global.max_connections = 3", "SET GLOBAL changes the whole server"),
        ] {
            let problems = of(statement).expect_err(statement);
            assert!(problems[0].contains(words), "{words}: {problems:?}");
        }
    }

    #[test]
    fn temporary_tables_and_views_are_no_tables_of_the_load() {
        let text = all_tables().replace("CREATE TABLE {item}", "CREATE TEMPORARY TABLE {item}");
        assert!(parse(&text, ScriptKind::Schema).expect_err("temporary")[0].contains("{item}"));
        let text =
            all_tables().replace("CREATE TABLE {item}", "create unlogged table if not exists \"s\" . {item}");
        assert!(parse(&text, ScriptKind::Schema).is_ok());
    }
}
