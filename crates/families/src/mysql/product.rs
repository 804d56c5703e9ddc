//! The databases with MySQL's protocol, as data, and their recognition by version.

use crate::catalogs::{self, Catalog};
use lydite_database::AbortReason;
use lydite_database::sql::dialect::{Batches, Dialect};
use lydite_tpcc::schema::ColumnType;

/// A database with MySQL's protocol.
#[derive(Debug)]
pub(crate) struct Product {
    /// Display name.
    pub(crate) name: &'static str,
    /// URL schemes that expect it. `mysql` accepts any product.
    pub(crate) schemes: &'static [&'static str],
    /// True if it has stored procedures.
    pub(crate) procedures: bool,
    /// True if it has JSON_TABLE, so that a procedure can work on all lines of an order at once.
    pub(crate) json_table: bool,
    /// True if it reads a statement before it has answered the previous one.
    pub(crate) pipelines: bool,
    /// True if a key that is taken is never an answer to a conflict: a New-Order locks the district, or gets an error of
    /// serialization, before it inserts under the number that it read there.
    pub(crate) keys_prove: bool,
    /// True if every commit survives the loss of power, whatever the settings. Else InnoDB's settings decide.
    pub(crate) always_durable: bool,
    /// True if a named lock is released when its connection is lost.
    pub(crate) named_locks: bool,
    /// True if its replicas are separate servers that follow a primary, not members of one cluster.
    pub(crate) follows: bool,
    /// True if commits have global ids (GTIDs) in MariaDB's form, which a replica can wait for.
    pub(crate) gtids: bool,
    /// True if partitioned tables may have foreign keys.
    pub(crate) foreign_keys_of_partitions: bool,
    /// Clause of each of the nine tables, if they are partitioned, that puts the rows of a warehouse in one place.
    pub(crate) together: &'static str,
    /// Statement that must precede [`Product::together`].
    pub(crate) before_together: &'static str,
    /// Clause of ITEM that lets every server read it locally.
    pub(crate) everywhere: &'static str,
    /// Catalogs that name the node of each warehouse; `None` for a database of one node.
    pub(crate) placement: Option<&'static Catalog>,
    /// More codes after which the same transaction may be retried.
    pub(crate) retryable: &'static [(u16, AbortReason)],
    /// Codes of a commit with unknown outcome.
    pub(crate) doubtful_commits: &'static [u16],
    /// Value of `sql_mode` in every session: a value that does not fit is an error, `||` joins texts, and no other engine
    /// than the one that is named gets a table.
    pub(crate) sql_mode: &'static str,
    /// Statement that limits a session's lock waits; `#` stands for the seconds.
    pub(crate) longest_wait: &'static str,
    /// Statement that waits until the connection sees every earlier commit on other servers of its cluster.
    pub(crate) in_step: &'static str,
    /// Query of the settings that differ from the defaults: names and values; empty if the server does not tell them
    /// apart.
    pub(crate) changed_settings: &'static str,
    /// First statements of a connection that checks conditions.
    pub(crate) check: &'static [&'static str],
    /// Statements that make a session read-only, and begin its one transaction.
    pub(crate) read_only: &'static str,
    /// Statement that sets a session's transaction mode, up to the name of the mode; empty if there is only one.
    pub(crate) set_transactions: &'static str,
    /// True if LOAD DATA is part of the current transaction; false if it commits its rows by itself.
    pub(crate) file_in_transaction: bool,
    /// Rows per transaction of a load; `None` if a warehouse is one transaction.
    pub(crate) batch: Option<u32>,
    /// Codes for a transaction that is too large.
    pub(crate) too_large: &'static [u16],
    /// SQL dialect.
    pub(crate) dialect: &'static Dialect,
    /// Dialect in which read-only transactions take the snapshots of all engines when they begin; `None` if they always
    /// do. MyRocks rejects changes in such a transaction.
    pub(crate) snapshot_dialect: Option<&'static Dialect>,
}

/// MySQL's SQL. Sessions use `||` to join texts, see [`crate::mysql::session`].
static DIALECT: Dialect = Dialect {
    column_type,
    money_text: str::to_string,
    // Somebody may have changed the collation, and any of them but `binary` ignores blanks at the end.
    exact: |text| format!("CAST(CONVERT({text} USING utf8mb4) AS BINARY)"),
    amount: |amount| amount.to_string(),
    joins_by_row: true,
    as_text: |value| format!("CAST({value} AS char(500))"),
    placeholder: '$',
    now: "CURRENT_TIMESTAMP(6)",
    for_update: " FOR UPDATE",
    // InnoDB breaks the deadlock at once.
    customer_lock: "",
    // A plain SELECT shows the transaction's snapshot, even of rows that the transaction has locked.
    newest: " FOR UPDATE",
    call: "CALL",
    procedures_commit: true,
    batches: Batches::Rows,
    delete_new_order: "DELETE FROM new_order",
    begin_write: "START TRANSACTION",
    begin_read: "START TRANSACTION READ ONLY",
};
static SNAPSHOT_DIALECT: Dialect =
    Dialect { begin_read: "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY", ..DIALECT };
/// TiDB accepts READ ONLY only if functions without effect are enabled.
static TIDB_DIALECT: Dialect = Dialect { begin_read: "START TRANSACTION", ..DIALECT };
/// seekdb breaks no deadlock before a statement's limit of time.
static SEEKDB_DIALECT: Dialect = Dialect { customer_lock: " FOR UPDATE", ..DIALECT };
/// Spider deletes the rows of a single-table DELETE but reports none. It counts the rows of the multi-table form.
pub(crate) static SPIDER_DIALECT: Dialect =
    Dialect { delete_new_order: "DELETE new_order FROM new_order", ..DIALECT };

/// Returns the SQL type of a column.
fn column_type(kind: ColumnType) -> String {
    match kind {
        ColumnType::Integer { below } if below <= 1 << 15 => "smallint".into(),
        ColumnType::Integer { below } if below <= 1 << 31 => "int".into(),
        ColumnType::Integer { .. } => "bigint".into(),
        ColumnType::Money { digits } => format!("decimal({digits}, 2)"),
        ColumnType::Rate => "decimal(4, 4)".into(),
        ColumnType::VarText(width) => format!("varchar({width})"),
        ColumnType::FixedText(width) => format!("char({width})"),
        // Not timestamp, which ends in 2038.
        ColumnType::Time => "datetime(6)".into(),
    }
}

static MYSQL: Product = Product {
    name: "MySQL",
    schemes: &["mysql", "polardb"],
    procedures: true,
    json_table: true,
    pipelines: true,
    keys_prove: true,
    always_durable: false,
    named_locks: true,
    follows: true,
    gtids: false,
    foreign_keys_of_partitions: false,
    together: "",
    before_together: "",
    everywhere: "",
    placement: None,
    retryable: &[],
    doubtful_commits: &[],
    sql_mode: "STRICT_TRANS_TABLES,PIPES_AS_CONCAT,NO_ENGINE_SUBSTITUTION",
    longest_wait: "SET SESSION innodb_lock_wait_timeout = #",
    in_step: "",
    // Lydite's own session sets some of them, which the server then counts as changed.
    changed_settings: "SELECT variable_name, variable_value FROM performance_schema.variables_info \
                       JOIN performance_schema.global_variables USING (variable_name) \
                       WHERE variable_source <> 'COMPILED' AND variable_name NOT IN ('sql_mode', 'time_zone', \
                       'transaction_isolation', 'tx_isolation', 'character_set_client', 'character_set_connection', \
                       'character_set_results', 'collation_connection')",
    check: &[],
    read_only: "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ; SET SESSION TRANSACTION READ ONLY; \
                START TRANSACTION WITH CONSISTENT SNAPSHOT",
    set_transactions: "",
    file_in_transaction: true,
    batch: None,
    // Larger than the binary log's cache.
    too_large: &[1197],
    dialect: &DIALECT,
    snapshot_dialect: Some(&SNAPSHOT_DIALECT),
};

static MARIADB: Product = Product {
    name: "MariaDB",
    schemes: &["mysql", "mariadb"],
    gtids: true,
    // For Galera. Without it, this waits for nothing.
    in_step: "SET SESSION wsrep_sync_wait = 1; SELECT 1; SET SESSION wsrep_sync_wait = DEFAULT",
    changed_settings: "SELECT lower(variable_name), global_value FROM information_schema.system_variables \
                       WHERE global_value_origin NOT IN ('COMPILE-TIME', 'AUTO') \
                       AND NOT (global_value <=> default_value)",
    // With this optimization the server may compute the sums of all order lines again for each customer, which takes
    // hours.
    check: &["SET SESSION optimizer_switch = 'split_materialized=off'"],
    ..MYSQL
};

static POLARDB: Product = Product { name: "PolarDB", schemes: &["mysql", "polardb"], ..MYSQL };

static TIDB: Product = Product {
    name: "TiDB",
    placement: Some(&catalogs::TIDB),
    changed_settings: "",
    schemes: &["mysql", "tidb"],
    procedures: false,
    json_table: false,
    follows: false,
    keys_prove: false,
    always_durable: true,
    retryable: &[
        // Write conflicts, of statements and of the commit. An optimistic transaction gets them only at its commit.
        (9007, AbortReason::Serialization),
        // The same for rows that were read FOR UPDATE.
        (8002, AbortReason::Serialization),
        // A commit that was rolled back.
        (8022, AbortReason::Serialization),
        // The schema or a region of the store was changed or moved during the transaction.
        (8028, AbortReason::Other),
        (8005, AbortReason::Serialization),
        (9001, AbortReason::Other),
        (9002, AbortReason::Other),
        (9003, AbortReason::Other),
        (9004, AbortReason::LockTimeout),
        (9005, AbortReason::Other),
    ],
    // It rejects READ ONLY, so nothing but Lydite's own queries keeps this session from changes.
    read_only: "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ; START TRANSACTION WITH CONSISTENT SNAPSHOT",
    set_transactions: "SET SESSION tidb_txn_mode = ",
    batch: Some(10_000),
    // A transaction that is too large, and an entry that is too large.
    too_large: &[8004, 8025],
    dialect: &TIDB_DIALECT,
    snapshot_dialect: None,
    ..MYSQL
};

static OCEANBASE: Product = Product {
    name: "OceanBase",
    placement: Some(&catalogs::OCEANBASE),
    changed_settings: "",
    schemes: &["mysql", "oceanbase"],
    // Not in all of its versions.
    json_table: false,
    file_in_transaction: false,
    keys_prove: false,
    always_durable: true,
    named_locks: false,
    follows: false,
    foreign_keys_of_partitions: true,
    // Partitions of the same number go to the same server.
    together: " TABLEGROUP = lydite",
    before_together: "CREATE TABLEGROUP IF NOT EXISTS lydite SHARDING = 'PARTITION'",
    everywhere: " DUPLICATE_SCOPE = 'cluster'",
    retryable: &[
        // Another transaction changed the row since the snapshot.
        (6235, AbortReason::Serialization),
        // Rolled back by the server: a leader moved, or a deadlock was broken.
        (6002, AbortReason::Other),
        (6003, AbortReason::LockTimeout),
    ],
    // A commit that took too long, and a transaction in an unknown state.
    doubtful_commits: &[4012, 6225],
    sql_mode: "STRICT_TRANS_TABLES,PIPES_AS_CONCAT",
    longest_wait: "SET SESSION ob_trx_lock_timeout = #000000",
    ..MYSQL
};

/// OceanBase on one node, where all tables have the same place.
static SEEKDB: Product = Product {
    name: "OceanBase seekdb",
    together: "",
    before_together: "",
    everywhere: "",
    placement: None,
    dialect: &SEEKDB_DIALECT,
    ..OCEANBASE
};

/// Returns the product of a server, by its version and version comment.
pub(crate) fn of(version: &str, comment: &str) -> &'static Product {
    let told = |word: &str| [version, comment].iter().any(|text| text.to_ascii_lowercase().contains(word));
    if told("tidb") {
        &TIDB
    } else if told("seekdb") {
        &SEEKDB
    } else if told("oceanbase") {
        &OCEANBASE
    } else if told("polardb") {
        &POLARDB
    } else if told("mariadb") {
        &MARIADB
    } else {
        &MYSQL
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_known_by_their_versions() {
        for (version, comment, name) in [
            ("8.0.39", "MySQL Community Server - GPL", "MySQL"),
            ("8.4.3", "Source distribution", "MySQL"),
            ("10.11.19-MariaDB-0+deb12u1", "Debian 12", "MariaDB"),
            ("8.0.11-TiDB-v8.5.0", "TiDB Server (Apache License 2.0)", "TiDB"),
            ("5.7.25-OceanBase-v4.3.5.3", "OceanBase_CE 4.3.5.3", "OceanBase"),
            ("5.7.25-OceanBase seekdb-v1.4.0.0", "OceanBase 4.3.5.3 seekdb (r1.4.0.0)", "OceanBase seekdb"),
            ("8.0.32", "PolarDB for MySQL", "PolarDB"),
        ] {
            assert_eq!(of(version, comment).name, name, "{version}");
        }
    }
}
