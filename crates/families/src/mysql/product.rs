//! The databases that speak MySQL's protocol, as data, and how one is known by its version.

use lydite_database::AbortReason;
use lydite_database::sql::dialect::{Batches, Dialect};
use lydite_tpcc::schema::ColumnType;

/// A database that speaks MySQL's protocol.
#[derive(Debug)]
pub(crate) struct Product {
    /// Its name for people.
    pub(crate) name: &'static str,
    /// URL schemes that expect it. `mysql` takes any.
    pub(crate) schemes: &'static [&'static str],
    /// Whether it has stored procedures.
    pub(crate) procedures: bool,
    /// Whether it reads a statement before the one before it is answered.
    pub(crate) pipelines: bool,
    /// Whether every commit survives the loss of power whatever the settings; else InnoDB's settings tell.
    pub(crate) always_durable: bool,
    /// Whether a lock by name is given back when its connection is gone.
    pub(crate) named_locks: bool,
    /// Whether its replicas are servers of their own that follow a primary, and not the members of one cluster.
    pub(crate) follows: bool,
    /// Whether commits have global ids (GTIDs) that can be waited for on a replica, in MariaDB's words.
    pub(crate) gtids: bool,
    /// Whether partitioned tables may have foreign keys.
    pub(crate) foreign_keys_of_partitions: bool,
    /// What stands behind each of the nine tables, if they are partitioned, so that a warehouse's rows are in one place.
    pub(crate) together: &'static str,
    /// A statement that must come before [`Product::together`] can be used.
    pub(crate) before_together: &'static str,
    /// What stands behind ITEM, so that it can be read everywhere.
    pub(crate) everywhere: &'static str,
    /// Codes after which the same transaction may be tried again, beside those of all.
    pub(crate) retryable: &'static [(u16, AbortReason)],
    /// Codes that leave open what came of a commit that they answer.
    pub(crate) doubtful_commits: &'static [u16],
    /// Statements that a connection begins with whose statements may take long: without the server's limits.
    pub(crate) patient: &'static [&'static str],
    /// Ends statements of a session that wait for a lock longer than so many seconds, which take the place of `#`.
    pub(crate) longest_wait: &'static str,
    /// Has a connection wait for what the other servers of its cluster had committed before.
    pub(crate) in_step: &'static str,
    /// Statements that a connection begins with that checks conditions.
    pub(crate) check: &'static [&'static str],
    /// Sets how a session's transactions are run, up to the name of the way; empty if there is one way only.
    pub(crate) set_transactions: &'static str,
    /// Rows that loading sends in a transaction of their own; all of a warehouse in one if none.
    pub(crate) batch: Option<u32>,
    /// Codes with which it says that a transaction is larger than it takes.
    pub(crate) too_large: &'static [u16],
    /// Its SQL.
    pub(crate) dialect: &'static Dialect,
    /// The same with read-only transactions that take the snapshots of all engines when they begin; none if they always do.
    /// MyRocks refuses to change anything in such a transaction.
    pub(crate) snapshot_dialect: Option<&'static Dialect>,
}

/// MySQL's SQL. Sessions take `||` for joining texts, see [`crate::mysql::session`].
macro_rules! dialect {
    ($begin_write:literal, $begin_read:literal, $delete_new_order:expr) => {
        Dialect {
            column_type,
            money_text: str::to_string,
            joins_by_row: true,
            as_text: |value| format!("CAST({value} AS char(500))"),
            placeholder: '$',
            now: "CURRENT_TIMESTAMP(6)",
            for_update: " FOR UPDATE",
            // A plain SELECT shows the transaction's snapshot, whatever the transaction has locked.
            newest: " FOR UPDATE",
            call: "CALL",
            procedures_commit: true,
            batches: Batches::Rows,
            delete_new_order: $delete_new_order,
            begin_write: $begin_write,
            begin_read: $begin_read,
        }
    };
}

/// As the procedures have it too.
pub(crate) const DELETE_NEW_ORDER: &str = "DELETE FROM new_order";

static DIALECT: Dialect = dialect!("START TRANSACTION", "START TRANSACTION READ ONLY", DELETE_NEW_ORDER);
static SNAPSHOT_DIALECT: Dialect =
    dialect!("START TRANSACTION", "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY", DELETE_NEW_ORDER);
/// TiDB takes READ ONLY only where functions that do nothing are switched on.
static TIDB_DIALECT: Dialect = dialect!("START TRANSACTION", "START TRANSACTION", DELETE_NEW_ORDER);
/// Spider deletes rows of a single-table DELETE and says that there were none; rows of the other form it counts.
pub(crate) static SPIDER_DIALECT: Dialect =
    dialect!("START TRANSACTION", "START TRANSACTION READ ONLY", "DELETE new_order FROM new_order");

/// A column's type.
fn column_type(kind: ColumnType) -> String {
    match kind {
        ColumnType::Integer { below } if below <= 1 << 15 => "smallint".into(),
        ColumnType::Integer { .. } => "int".into(),
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
    pipelines: true,
    always_durable: false,
    named_locks: true,
    follows: true,
    gtids: false,
    foreign_keys_of_partitions: false,
    together: "",
    before_together: "",
    everywhere: "",
    retryable: &[],
    doubtful_commits: &[],
    patient: &["SET SESSION max_execution_time = 0"],
    longest_wait: "SET SESSION innodb_lock_wait_timeout = #",
    in_step: "",
    check: &[],
    set_transactions: "",
    batch: None,
    // More than the binary log's cache takes.
    too_large: &[1197],
    dialect: &DIALECT,
    snapshot_dialect: Some(&SNAPSHOT_DIALECT),
};

static MARIADB: Product = Product {
    name: "MariaDB",
    schemes: &["mysql", "mariadb"],
    gtids: true,
    patient: &["SET SESSION max_statement_time = 0"],
    // Galera's; without it nothing is waited for.
    in_step: "SET SESSION wsrep_sync_wait = 1; SELECT 1; SET SESSION wsrep_sync_wait = DEFAULT",
    // Else it may evaluate the sums of all order lines anew for each customer, which takes hours.
    check: &["SET SESSION optimizer_switch = 'split_materialized=off'"],
    ..MYSQL
};

static POLARDB: Product = Product { name: "PolarDB", schemes: &["mysql", "polardb"], ..MYSQL };

static TIDB: Product = Product {
    name: "TiDB",
    schemes: &["mysql", "tidb"],
    procedures: false,
    follows: false,
    always_durable: true,
    retryable: &[
        // Write conflicts, of statements and of the commit: an optimistic transaction hears of them there only.
        (9007, AbortReason::Serialization),
        // The same where it had read rows FOR UPDATE.
        (8002, AbortReason::Serialization),
        // A commit that was rolled back.
        (8022, AbortReason::Serialization),
        // The schema, or a region of the store, was changed or moved under it.
        (8028, AbortReason::Other),
        (8005, AbortReason::Serialization),
        (9001, AbortReason::Other),
        (9002, AbortReason::Other),
        (9003, AbortReason::Other),
        (9004, AbortReason::LockTimeout),
        (9005, AbortReason::Other),
    ],
    set_transactions: "SET SESSION tidb_txn_mode = ",
    batch: Some(10_000),
    // A transaction, and an entry.
    too_large: &[8004, 8025],
    dialect: &TIDB_DIALECT,
    snapshot_dialect: None,
    ..MYSQL
};

static OCEANBASE: Product = Product {
    name: "OceanBase",
    schemes: &["mysql", "oceanbase"],
    always_durable: true,
    named_locks: false,
    follows: false,
    foreign_keys_of_partitions: true,
    // Partitions of the same number on the same server.
    together: " TABLEGROUP = lydite",
    before_together: "CREATE TABLEGROUP IF NOT EXISTS lydite SHARDING = 'PARTITION'",
    everywhere: " DUPLICATE_SCOPE = 'cluster'",
    retryable: &[
        // Another transaction changed the row since the snapshot.
        (6235, AbortReason::Serialization),
        // Rolled back by the server (a leader that moved, a deadlock that was broken).
        (6002, AbortReason::Other),
        (6003, AbortReason::LockTimeout),
    ],
    // A commit that took too long, and a transaction whose state is not known.
    doubtful_commits: &[4012, 6225],
    // In microseconds: an hour.
    patient: &["SET SESSION ob_query_timeout = 3600000000", "SET SESSION ob_trx_timeout = 3600000000"],
    longest_wait: "SET SESSION ob_trx_lock_timeout = #000000",
    ..MYSQL
};

/// OceanBase on one node: tables have one place only.
static SEEKDB: Product =
    Product { name: "OceanBase seekdb", together: "", before_together: "", everywhere: "", ..OCEANBASE };

/// Which product a server is, by its version and its comment on that.
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
