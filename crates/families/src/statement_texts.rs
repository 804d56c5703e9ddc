//! Pins the texts of all statements, as each family sends them, and the round trips of all transactions: the files in
//! `statement_texts/` must not change by accident.

mod round_trips;

use crate::postgres::session;
use crate::{mysql::product, sqlite};
use lydite_database::TxMode;
use lydite_database::sql::dialect::Dialect;
use lydite_database::sql::isolation::Isolation;
use lydite_database::sql::statement::Statement;
use ring::digest::{SHA256, digest};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// Environment variable that makes the tests write the files again.
const RENEW: &str = "LYDITE_RENEW_STATEMENT_TEXTS";

/// A dialect with its name in the files.
struct Sent {
    name: &'static str,
    dialect: &'static Dialect,
    text: fn(Statement, &Dialect) -> String,
}

impl Sent {
    fn new(name: &'static str, dialect: &'static Dialect) -> Self {
        Self { name, dialect, text: Statement::text }
    }

    /// Returns the statements by name: the modes that prepare each one, and its text.
    fn statements(&self, modes: &[TxMode]) -> BTreeMap<String, String> {
        let mut lines = BTreeMap::new();
        for &mode in modes {
            for statement in Statement::of_mode(mode, self.dialect) {
                let text = (self.text)(statement, self.dialect);
                let (of, _) = lines.entry(format!("{statement:?}")).or_insert((Vec::new(), text));
                of.push(mode.name());
            }
        }
        lines.into_iter().map(|(name, (of, text))| (name, format!("{}\n    {text}", of.join(", ")))).collect()
    }
}

/// Returns all statements of the first dialect, and those of the other dialects that differ.
fn written(sent: &[Sent], modes: &[TxMode], procedures: impl Fn(&Dialect) -> String) -> String {
    let mut out = format!("-- Made by a test: see {RENEW}.\n");
    let first = sent[0].statements(modes);
    for (place, of) in sent.iter().enumerate() {
        write!(out, "\n-- {}\n\n", of.name).expect("a text takes all");
        for (name, line) in of.statements(modes) {
            if place == 0 || first.get(&name) != Some(&line) {
                writeln!(out, "{name}: {line}").expect("a text takes all");
            }
        }
        let procedures = procedures(of.dialect);
        // Leaves out the comment at the beginning of the file.
        let sent = procedures.find("CREATE").map(|start| &procedures[start..]);
        if let Some(sent) = sent {
            let hash = digest(&SHA256, sent.as_bytes());
            let hash: String = hash.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
            writeln!(out, "procedures, SHA-256:\n    {hash}").expect("a text takes all");
        }
    }
    out
}

fn assert_as_before(file: &str, now: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/statement_texts").join(file);
    if std::env::var_os(RENEW).is_some() {
        std::fs::write(&path, now).expect("a file to write");
    }
    let before = std::fs::read_to_string(&path).expect("the file of this family");
    for (before, now) in before.lines().zip(now.lines()) {
        assert_eq!(now, before, "{file}: if it is to be so, run the test with {RENEW}=1");
    }
    assert_eq!(now, before, "{file}: if it is to be so, run the test with {RENEW}=1");
}

#[test]
fn postgres_gets_the_same_texts_as_before() {
    let over_shards = Sent {
        name: "over shards",
        dialect: session::dialect(Isolation::RepeatableRead),
        text: Statement::text_over_shards,
    };
    let sent = [
        Sent::new("repeatable read", session::dialect(Isolation::RepeatableRead)),
        Sent::new("serializable", session::dialect(Isolation::Serializable)),
        Sent::new("read committed", session::dialect(Isolation::ReadCommitted)),
        over_shards,
    ];
    let procedures = |_: &Dialect| crate::postgres::PROCEDURES.to_string();
    assert_as_before("postgres.sql", &written(&sent, &TxMode::ALL, procedures));
}

#[test]
fn mysql_and_its_kin_get_the_same_texts_as_before() {
    let mysql = product::of("8.4.3", "Source distribution");
    let sent = [
        Sent::new("MySQL", mysql.dialect),
        Sent::new("snapshots of all engines", mysql.snapshot_dialect.expect("MySQL has it")),
        Sent::new("TiDB", product::of("8.0.11-TiDB-v8.5.0", "").dialect),
        Sent::new("OceanBase", product::of("5.7.25-OceanBase-v4.3.5.3", "").dialect),
        Sent::new("seekdb", product::of("5.7.25-OceanBase seekdb-v1.4.0.0", "").dialect),
        Sent::new("Spider", &product::SPIDER_DIALECT),
    ];
    assert_as_before("mysql.sql", &written(&sent, &TxMode::ALL, crate::mysql::procedures));
}

#[test]
fn sqlite_gets_the_same_texts_as_before() {
    let sent = [Sent::new("SQLite", &sqlite::config::DIALECT)];
    assert_as_before("sqlite.sql", &written(&sent, &[TxMode::Statements], |_| String::new()));
}
