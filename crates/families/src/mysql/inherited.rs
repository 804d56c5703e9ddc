//! Settings that a session inherits from the server, from `init_connect` and from option files, and that Lydite replaces.
//!
//! Some of them change what a transaction does, others end a statement or a connection. Lydite reads the values after
//! connecting and sets only those that differ: each product lacks some settings, and an account may lack the right to
//! set one that is as it should be. Choices of speed and of durability stay as the user made them.

use crate::mysql::errors::{UNKNOWN_VARIABLE, has_code};
use crate::net::{self, Purpose};
use lydite_database::sql::isolation::Isolation;
use lydite_database::sql::meta::Admin;
use lydite_database::sql::sql_error::SqlError;

/// Value that Lydite needs.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wanted {
    /// This value, as SQL.
    Is(&'static str),
    /// This number or a larger one.
    AtLeast(u64),
}

/// A setting and the value that Lydite needs.
#[derive(Debug)]
pub(crate) struct Inherited {
    pub(crate) name: &'static str,
    pub(crate) wanted: Wanted,
    /// True if connections for transactions keep their value.
    pub(crate) administration: bool,
    /// Reason, as the book has it.
    pub(crate) why: &'static str,
}

const fn all(name: &'static str, value: &'static str, why: &'static str) -> Inherited {
    Inherited { name, wanted: Wanted::Is(value), administration: false, why }
}

const fn patient(name: &'static str, least: u64, why: &'static str) -> Inherited {
    Inherited { name, wanted: Wanted::AtLeast(least), administration: true, why }
}

/// No limit of rows. OceanBase takes no larger number.
const UNLIMITED: u64 = i64::MAX as u64;

/// The settings, beside the character set, `sql_mode`, the time zone and the isolation level, which each session gets.
pub(crate) const INHERITED: &[Inherited] = &[
    all("autocommit", "1", "a statement outside of a transaction is stored"),
    all("completion_type", "0", "a commit neither ends the connection nor begins a transaction"),
    all("transaction_read_only", "0", "transactions may write"),
    all("tx_read_only", "0", "the same, as older versions call it"),
    Inherited { administration: false, ..patient("sql_select_limit", UNLIMITED, "queries return all rows") },
    Inherited { administration: false, ..patient("max_join_size", UNLIMITED, "large joins are allowed") },
    all("sql_big_selects", "1", "large joins are allowed"),
    all("sql_safe_updates", "0", "updates need no key"),
    all("sql_auto_is_null", "0", "`IS NULL` finds nulls"),
    all("foreign_key_checks", "1", "foreign keys act"),
    all("unique_checks", "1", "keys are unique"),
    all("check_constraint_checks", "1", "constraints act"),
    all("div_precision_increment", "4", "digits of quotients"),
    Inherited {
        administration: false,
        ..patient("max_sort_length", 1024, "texts are sorted by all their characters")
    },
    Inherited { administration: false, ..patient("group_concat_max_len", 65_536, "lists are whole") },
    all("max_execution_time", "0", "it would cut off the slowest answers, and loads"),
    all("max_statement_time", "0", "it would cut off the slowest answers, and loads"),
    all("idle_transaction_timeout", "0", "it would end a transaction that waits for Lydite"),
    all("idle_write_transaction_timeout", "0", "it would end a transaction that waits for Lydite"),
    all("idle_readonly_transaction_timeout", "0", "it would end a transaction that waits for Lydite"),
    all("tidb_idle_transaction_timeout", "0", "it would end a transaction that waits for Lydite"),
    Inherited {
        administration: false,
        ..patient("wait_timeout", 28_800, "it would end a session that waits for its next transaction")
    },
    all("rocksdb_bulk_load", "0", "rows are checked and belong to their transaction"),
    all("rocksdb_commit_in_the_middle", "0", "a transaction is stored whole or not at all"),
    all("tidb_snapshot", "''", "reads are not of the past"),
    all("tidb_read_staleness", "0", "reads are not of the past"),
    all("tidb_low_resolution_tso", "0", "reads are not of the past"),
    all("tidb_batch_insert", "0", "a transaction is stored whole or not at all"),
    all("tidb_batch_delete", "0", "a transaction is stored whole or not at all"),
    all("tidb_batch_commit", "0", "a transaction is stored whole or not at all"),
    all("tidb_dml_type", "'standard'", "a transaction is stored whole or not at all"),
    all("tidb_skip_isolation_level_check", "0", "a level that does not exist is an error"),
    all("ob_read_consistency", "'STRONG'", "reads are not of the past"),
    patient("lock_wait_timeout", 86_400, "loads wait for the locks of tables"),
    patient("innodb_lock_wait_timeout", 50, "loads wait for the locks of rows"),
    patient("net_read_timeout", 600, "the server waits for the next rows of a load"),
    patient("net_write_timeout", 600, "the server waits while a check reads many rows"),
    patient("ob_query_timeout", 3_600_000_000, "one hour, in microseconds, for loads and checks"),
    patient("ob_trx_timeout", 3_600_000_000, "one hour, in microseconds, for loads and checks"),
];

impl Wanted {
    /// Returns the SQL of the value to set; `None` if the server's text of the current value says the same.
    fn instead_of(self, shown: &str) -> Option<String> {
        match self {
            Self::Is(value) => (plain(shown) != plain(value)).then(|| value.to_string()),
            Self::AtLeast(least) => {
                shown.parse::<u64>().is_ok_and(|shown| shown < least).then(|| least.to_string())
            }
        }
    }
}

/// Returns one text for all texts of a value: `OFF`, `0`, `0.000000` and `NO_CHAIN`.
fn plain(value: &str) -> String {
    let value = value.trim_matches('\'').to_ascii_uppercase();
    match value.as_str() {
        "ON" | "YES" | "TRUE" => return "1".into(),
        "OFF" | "NO" | "FALSE" | "NO_CHAIN" => return "0".into(),
        _ => {}
    }
    match value.split_once('.') {
        Some((whole, zeros)) if zeros.bytes().all(|digit| digit == b'0') => whole.to_string(),
        _ => value,
    }
}

/// Settings that change the answers to the first queries.
const FIRST: [&str; 2] = ["SESSION sql_select_limit = 9223372036854775807", "SESSION sql_big_selects = 1"];

/// Makes a new connection answer queries, before anything is asked.
pub(super) fn begin(wire: &mut impl Admin) -> Result<(), SqlError> {
    let known = |set: Result<(), SqlError>| match set {
        Err(error) if has_code(&error, UNKNOWN_VARIABLE) => Ok(false),
        set => set.map(|()| true),
    };
    if !known(wire.execute(&format!("SET {}", FIRST.join(", "))))? {
        for set in FIRST {
            known(wire.execute(&format!("SET {set}")))?;
        }
    }
    Ok(())
}

/// Replaces the inherited settings of a new connection. `sql_mode` is that of the product.
pub(super) fn replace(
    wire: &mut impl Admin,
    sql_mode: &str,
    isolation: Isolation,
    purpose: Purpose,
) -> Result<(), SqlError> {
    let names: Vec<String> = INHERITED.iter().map(|setting| format!("'{}'", setting.name)).collect();
    let query = format!("SHOW SESSION VARIABLES WHERE Variable_name IN ({})", names.join(", "));
    let mut found = Vec::new();
    wire.query_each(&query, &mut |row| {
        if let [Some(name), Some(value)] = row {
            found.push(((*name).to_ascii_lowercase(), (*value).to_string()));
        }
    })?;
    let mut sets =
        vec![format!("SESSION sql_mode = '{sql_mode}'"), "SESSION time_zone = '+00:00'".to_string()];
    // In the order of the table: another value of max_join_size switches sql_big_selects off.
    for setting in
        INHERITED.iter().filter(|setting| purpose == Purpose::Administration || !setting.administration)
    {
        let shown = found.iter().find(|(name, _)| name == setting.name);
        if let Some(value) = shown.and_then(|(_, shown)| setting.wanted.instead_of(shown)) {
            sets.push(format!("SESSION {} = {value}", setting.name));
            if setting.name == "max_join_size" {
                sets.push("SESSION sql_big_selects = 1".into());
            }
        }
    }
    let sql = format!(
        "SET NAMES utf8mb4 COLLATE utf8mb4_bin; SET {}; SET SESSION TRANSACTION ISOLATION LEVEL {}",
        sets.join(", "),
        isolation.sql()
    );
    net::set(wire, &sql, INHERITED.iter().map(|setting| (setting.name, setting.why)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_book_has_each_setting() {
        let book = include_str!("../../../../docs/src/targets/mysql.md");
        for Inherited { name, wanted, administration, why } in INHERITED {
            let value = match wanted {
                Wanted::Is("''") => "empty".into(),
                Wanted::Is(value) => format!("`{}`", value.trim_matches('\'')),
                Wanted::AtLeast(least) => format!("at least {least}"),
            };
            let whom = if *administration { "administration" } else { "all" };
            let row = format!("| `{name}` | {value} | {whom} | {why} |");
            assert!(book.contains(&row), "docs/src/targets/mysql.md lacks: {row}");
        }
    }

    #[test]
    fn a_value_is_known_in_all_its_spellings() {
        for (wanted, shown, set) in [
            (Wanted::Is("1"), "ON", None),
            (Wanted::Is("1"), "OFF", Some("1")),
            (Wanted::Is("0"), "NO_CHAIN", None),
            (Wanted::Is("0"), "RELEASE", Some("0")),
            (Wanted::Is("0"), "0.000000", None),
            (Wanted::Is("0"), "0.300000", Some("0")),
            (Wanted::Is("''"), "", None),
            (Wanted::Is("'STRONG'"), "weak", Some("'STRONG'")),
            (Wanted::AtLeast(50), "50", None),
            (Wanted::AtLeast(50), "1", Some("50")),
        ] {
            assert_eq!(wanted.instead_of(shown).as_deref(), set, "{wanted:?} {shown}");
        }
    }
}
