//! Error codes of MySQL's family and their meaning for a transaction.

use crate::mysql::product::Product;
use lydite_database::AbortReason;
use lydite_database::sql::UNUSED_ITEM;
use lydite_database::sql::meta::is_ours;
use lydite_database::sql::sql_error::SqlError;

/// Codes after which the same transaction may be retried. The SQLSTATE does not matter: some servers send HY000 with
/// every code.
const RETRYABLE: [(u16, AbortReason); 7] = [
    (1213, AbortReason::Deadlock),
    (1205, AbortReason::LockTimeout),
    // NOWAIT.
    (3572, AbortReason::LockTimeout),
    // The row has changed since the snapshot.
    (1020, AbortReason::Serialization),
    // The group's certification found a conflict (SQLSTATE 40000).
    (3101, AbortReason::Serialization),
    // The server's time for a statement is over: MariaDB's, and MySQL's.
    (1969, AbortReason::Other),
    (3024, AbortReason::Other),
];

/// Code of a statement that was cancelled.
pub(super) const CANCELLED: u16 = 1317;
/// Code for a variable that the server does not have.
pub(super) const UNKNOWN_VARIABLE: u16 = 1193;
/// Code of a lock that the server did not get in time.
pub(super) const LOCK_WAIT: u16 = 1205;

/// Code for a user that may not connect so.
pub(super) const DENIED: u16 = 1045;

/// Code for a database that the server does not have.
pub(super) const UNKNOWN_DATABASE: u16 = 1049;

/// Code for a node that is not in its cluster, or not yet.
pub(super) const NOT_IN_ITS_CLUSTER: u16 = 1047;

/// SQLSTATE of a transaction that lost against another one. It is used if the code is unknown.
const SERIALIZATION: &str = "40001";

/// MyRocks's text for a deadlock error that is none: the row has changed since the snapshot.
const SNAPSHOT_CONFLICT: &str = "snapshot conflict";

/// Codes of a server that shuts down or takes no connections now.
const UNAVAILABLE: [u16; 15] = [
    1040, // too many connections
    NOT_IN_ITS_CLUSTER,
    1053, // shutting down
    1077,
    1079, // the same in other words
    1129, // the host is blocked
    1152,
    1158,
    1159,
    1160,
    1161, // the network
    1429,
    12701, // of Spider: a shard can't be reached, or has gone; others may have committed
    1180, // a commit that failed on its way, as that of a node that has left its cluster: nobody knows its end
    1927, // the connection was killed
];

/// Returns true for the server's error with this code.
pub(super) fn has_code(error: &SqlError, wanted: u16) -> bool {
    matches!(error, SqlError::Database { code, .. } if *code == wanted.to_string())
}

/// Converts an error that the server sent.
pub(crate) fn error(product: Option<&Product>, code: u16, state: &str, message: &str) -> SqlError {
    if state == UNUSED_ITEM {
        return SqlError::Database {
            retry: None,
            unavailable: false,
            doubtful: false,
            code: state.to_string(),
            message: "item number is not valid".into(),
            detail: Some(message.to_string()),
        };
    }
    let message = message.replace('\n', " ");
    SqlError::Database {
        retry: retryable(product, code, state).map(|reason| {
            // MyRocks has one code for both.
            if message.contains(SNAPSHOT_CONFLICT) { AbortReason::Serialization } else { reason }
        }),
        unavailable: UNAVAILABLE.contains(&code),
        doubtful: product.is_some_and(|product| product.doubtful_commits.contains(&code)),
        code: code.to_string(),
        message: match advice_always(code, &message) {
            Some(advice) => format!("{message}: {advice}"),
            None => message,
        },
        detail: None,
    }
}

/// Returns the abort reason if the same transaction may be retried.
fn retryable(product: Option<&Product>, code: u16, state: &str) -> Option<AbortReason> {
    let of_product = product.map_or(&[][..], |product| product.retryable);
    RETRYABLE
        .iter()
        .chain(of_product)
        .find(|(known, _)| *known == code)
        .map(|(_, reason)| *reason)
        .or_else(|| (state == SERIALIZATION).then_some(AbortReason::Serialization))
}

/// Returns advice about an error that any statement may get, including those of a transaction.
fn advice_always(code: u16, message: &str) -> Option<&'static str> {
    Some(match code {
        1146 if names_own_table(message) => NO_TABLE,
        1153 => {
            "raise max_allowed_packet on the server to 1M at least (SET GLOBAL max_allowed_packet = 16777216)"
        }
        1203 | 1226 => {
            "raise the account's limit (ALTER USER … WITH, or max_user_connections), or use fewer sessions"
        }
        1665 => "set binlog_format to ROW or MIXED on the server, or use ?isolation=repeatable-read",
        1792 => {
            "let transactions write (SET GLOBAL tx_read_only = OFF, transaction_read_only), or connect to the primary"
        }
        1969 | 3024 => "raise max_statement_time (MariaDB) or max_execution_time (MySQL)",
        1021 | 1114 => "make room on the server's disk",
        1461 => "use fewer sessions, or raise max_prepared_stmt_count",
        1197 => "load in smaller transactions with ?batch=, or raise max_binlog_cache_size",
        8004 => "load in smaller transactions with ?batch=, or raise txn-total-size-limit",
        8048 => "TiDB has no such level: use ?isolation=repeatable-read or read-committed",
        4057 => "this engine has no such level: use ?isolation=repeatable-read or read-committed",
        _ => return None,
    })
}

/// Advice about one of Lydite's own tables, or TPC-C's, that is missing.
const NO_TABLE: &str =
    "a table of a loaded database is missing: load it again with `lydite load URL --warehouses N --fresh`";

/// True if the server's message about a missing table names one of those that a load makes.
fn names_own_table(message: &str) -> bool {
    message.split(['\'', '`', '"', '.', ' ']).any(is_ours)
}

/// Returns advice about an error at connecting or administration.
pub(crate) fn advice(code: &str) -> Option<&'static str> {
    Some(match code {
        "1045" | "1698" => {
            "give user and password in the URL, or the password in LYDITE_PASSWORD or ~/.my.cnf"
        }
        "1044" | "1142" | "1227" | "1370" => "connect as a user with all rights on the database (GRANT ALL)",
        "1049" => "create it first (CREATE DATABASE), or name another one in the URL",
        "3159" | "4151" => "leave sslmode=disable out: the server takes connections with TLS alone",
        "1130" => "allow the user to connect from this host",
        "1040" => "use fewer sessions, or raise max_connections",
        "1148" | "3948" | "4166" => {
            "let clients send rows (SET GLOBAL local_infile = ON), or switch it off: INSERT is used then"
        }
        "1286" | "1911" => "load the engine's plugin on the server, or use another ?engine=",
        "1477" | "12701" | "1429" => {
            "let the server of the URL reach the shards by the names in ?shards=, as this user"
        }
        "1290" | "1836" => "connect to the primary: this server only reads",
        "1419" => "set log_bin_trust_function_creators on the server, or use --tx statements",
        "3730" | "1217" | "1451" => "drop what refers to it first, or name another database",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mysql::product;
    use lydite_database::{Committed, TxError};

    #[test]
    fn conflicts_are_known_by_code_or_state() {
        let seekdb = product::of("5.7.25-OceanBase seekdb-v1.4.0.0", "");
        let tidb = product::of("8.0.11-TiDB-v8.5.0", "");
        for (product, code, state, reason) in [
            (None, 1213, "40001", Some(AbortReason::Deadlock)),
            (None, 1205, "HY000", Some(AbortReason::LockTimeout)),
            (None, 1020, "HY000", Some(AbortReason::Serialization)),
            (None, 3572, "HY000", Some(AbortReason::LockTimeout)),
            (None, 9999, "40001", Some(AbortReason::Serialization)),
            (Some(seekdb), 6235, "25000", Some(AbortReason::Serialization)),
            (None, 6235, "25000", None),
            (Some(seekdb), 1062, "23000", None),
            // Errors of an optimistic transaction of TiDB at its commit.
            (Some(tidb), 9007, "HY000", Some(AbortReason::Serialization)),
            (Some(tidb), 8002, "HY000", Some(AbortReason::Serialization)),
            (Some(tidb), 8022, "HY000", Some(AbortReason::Serialization)),
            (Some(tidb), 8005, "HY000", Some(AbortReason::Serialization)),
            (Some(tidb), 8028, "HY000", Some(AbortReason::Other)),
            // A retry would be as large again.
            (Some(tidb), 8004, "HY000", None),
            (Some(tidb), 8025, "HY000", None),
            (None, 9007, "HY000", None),
        ] {
            let SqlError::Database { retry, .. } = error(product, code, state, "") else {
                panic!("an answer of the server's")
            };
            assert_eq!(retry, reason, "{code} {state}");
        }
        let words = "Deadlock found when trying to get lock; try restarting transaction (snapshot conflict)";
        assert!(matches!(
            error(None, 1213, "40001", words),
            SqlError::Database { retry: Some(AbortReason::Serialization), .. }
        ));
    }

    #[test]
    fn codes_of_limits_and_missing_tables_come_with_a_way_out() {
        for (code, message, words) in [
            (1226, "User 'me' has exceeded the 'max_questions' resource (current value: 9)", "ALTER USER"),
            (
                1203,
                "User me already has more than 'max_user_connections' active connections",
                "max_user_connections",
            ),
            (1153, "Got a packet bigger than 'max_allowed_packet' bytes", "max_allowed_packet = 16777216"),
            (1665, "Cannot execute statement: impossible to write to binary log", "ROW or MIXED"),
            (1792, "Cannot execute statement in a READ ONLY transaction", "tx_read_only = OFF"),
            (1146, "Table 'tpcc.lydite_meta' doesn't exist", "--fresh"),
            (1146, "Table 'tpcc.stock' doesn't exist", "--fresh"),
            (1146, "Table 'mysql.gtid_slave_pos' doesn't exist", "doesn't exist"),
        ] {
            let line = error(None, code, "HY000", message).line();
            assert!(line.contains(words), "{line}");
            assert_eq!(line.contains("--fresh"), words == "--fresh", "{line}");
        }
    }

    /// Spider commits shard by shard. If a shard is lost, its error says nothing about the others.
    #[test]
    fn a_shard_that_is_gone_leaves_open_what_came_of_the_commit() {
        let mariadb = product::of("10.11.19-MariaDB-0+deb12u1", "Debian 12");
        for code in [12701, 1429, 1158] {
            for (committing, wanted) in [(true, Committed::Unknown), (false, Committed::No)] {
                let told = error(Some(mariadb), code, "HY000", "gone").in_transaction(committing);
                assert!(
                    matches!(told, TxError::Unavailable { committed, .. } if committed == wanted),
                    "{code} {committing}: {told:?}"
                );
            }
        }
    }
}
