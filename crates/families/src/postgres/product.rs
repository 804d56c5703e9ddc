//! The databases with PostgreSQL's protocol, as data, and their recognition by version and extension.
//!
//! Tests run only PostgreSQL's own servers. The entries of the others follow their documentation, which the book's page
//! about targets lists.

use crate::catalogs::{self, Catalog};
use lydite_database::TxMode;
use lydite_database::sql::isolation::Isolation;

/// Kind of statements that distribute a new table over the nodes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Distribution {
    /// No statements: the database has one node, or distributes tables by itself.
    None,
    /// CockroachDB's ranges and zones.
    Ranges,
    /// Workers of Citus.
    Workers,
}

/// A database with PostgreSQL's protocol.
#[derive(Debug)]
pub(crate) struct Product {
    /// Display name.
    pub(crate) name: &'static str,
    /// URL schemes of it. Messages advise the first one.
    pub(crate) schemes: &'static [&'static str],
    /// Port if the URL has none.
    pub(crate) port: u16,
    /// User if neither the URL nor the environment has one.
    pub(crate) user: &'static str,
    /// Supported values of `--tx`.
    pub(crate) modes: &'static [TxMode],
    /// Supported isolation levels, the default first.
    pub(crate) isolation: &'static [Isolation],
    /// True if a transaction over several nodes reads one snapshot and commits everywhere or nowhere.
    pub(crate) global_transactions: bool,
    /// True if tables are PostgreSQL's own: with fill factors, VACUUM, keys that are built after the rows, and settings
    /// for memory and compilation.
    pub(crate) heap: bool,
    /// True if it has the role `pg_monitor`.
    pub(crate) has_monitor: bool,
    /// True if it copies a whole database by `CREATE DATABASE … TEMPLATE`.
    pub(crate) copies_databases: bool,
    /// True if it has advisory locks. Loads use them to exclude each other.
    pub(crate) advisory_locks: bool,
    /// True if several connections can read one snapshot, and the catalogs name the tables that a view shows.
    pub(crate) exports_snapshots: bool,
    /// True if foreign keys are declared by default.
    pub(crate) foreign_keys: bool,
    /// True if a key that is taken is never an answer to a conflict: a New-Order locks the district, or gets an error of
    /// serialization, before it inserts under the number that it read there.
    pub(crate) keys_prove: bool,
    /// True if every commit survives the loss of power, whatever the settings.
    pub(crate) always_durable: bool,
    /// Rows per COPY, each in a transaction of its own; `None` for all rows of a warehouse.
    pub(crate) batch: Option<u32>,
    /// True if loading distributes the tables over nodes.
    pub(crate) distributes: bool,
    /// Statements that distribute a new table over the nodes.
    pub(crate) distribution: Distribution,
    /// Catalogs that name the node of each warehouse; `None` for a database of one node.
    pub(crate) placement: Option<&'static Catalog>,
    /// Query of sizes and parts of tables, see [`catalogs::shapes`]; `None` if the catalogs lack them.
    pub(crate) shapes: Option<&'static str>,
    /// Query of a text that the servers of one cluster have in common.
    pub(crate) cluster: &'static str,
    /// Query of the isolation level of the current transaction.
    pub(crate) effective_isolation: &'static str,
    /// Query of the name that a server has as a node of `placement`; `None` for a database of one node.
    pub(crate) own_node: Option<&'static str>,
}

/// PostgreSQL itself.
pub(crate) static POSTGRES: Product = Product {
    name: "PostgreSQL",
    schemes: &["postgres", "postgresql"],
    port: 5432,
    user: "postgres",
    modes: &TxMode::ALL,
    isolation: &[Isolation::RepeatableRead, Isolation::Serializable, Isolation::ReadCommitted],
    global_transactions: true,
    heap: true,
    has_monitor: true,
    copies_databases: true,
    advisory_locks: true,
    exports_snapshots: true,
    foreign_keys: true,
    keys_prove: true,
    always_durable: false,
    batch: None,
    distributes: false,
    distribution: Distribution::None,
    placement: None,
    shapes: Some(catalogs::SHAPES_OF_POSTGRES),
    // One server: a copy of its files has the same identifier, but not the same start.
    cluster: "SELECT system_identifier || ' ' || pg_postmaster_start_time() FROM pg_control_system()",
    effective_isolation: "SELECT current_setting('transaction_isolation')",
    own_node: None,
};

/// CockroachDB. It does not offer repeatable read: servers run such transactions as serializable unless a setting says
/// otherwise.
pub(crate) static COCKROACH: Product = Product {
    name: "CockroachDB",
    schemes: &["cockroach"],
    port: 26257,
    user: "root",
    modes: &[TxMode::Statements, TxMode::Batched],
    isolation: &[Isolation::Serializable, Isolation::ReadCommitted],
    heap: false,
    has_monitor: false,
    copies_databases: false,
    advisory_locks: false,
    exports_snapshots: false,
    keys_prove: false,
    always_durable: true,
    batch: Some(10_000),
    distribution: Distribution::Ranges,
    placement: Some(&catalogs::COCKROACH),
    shapes: Some(catalogs::SHAPES_OF_COCKROACH),
    cluster: "SELECT crdb_internal.cluster_id()::text",
    own_node: Some("SELECT 'n' || crdb_internal.node_id()::text"),
    ..POSTGRES
};

/// YugabyteDB's YSQL. The first column of a key is hashed, the others are ordered.
pub(crate) static YUGABYTE: Product = Product {
    name: "YugabyteDB",
    schemes: &["yugabyte"],
    port: 5433,
    user: "yugabyte",
    heap: false,
    copies_databases: false,
    advisory_locks: false,
    exports_snapshots: false,
    keys_prove: false,
    always_durable: true,
    batch: Some(10_000),
    placement: Some(&catalogs::YUGABYTE),
    shapes: None,
    cluster: "SELECT host || ':' || port FROM yb_servers() ORDER BY 1",
    // The server maps levels to others, depending on its flags.
    effective_isolation: "SELECT coalesce(current_setting('yb_effective_transaction_isolation_level', true), \
                          current_setting('transaction_isolation'))",
    own_node: Some("SELECT host(inet_server_addr()) || ':' || inet_server_port()"),
    ..POSTGRES
};

/// Citus: PostgreSQL with tables that are distributed over workers. Rows of ORDER-LINE and HISTORY refer to rows of
/// other warehouses; Citus can't declare such foreign keys.
pub(crate) static CITUS: Product = Product {
    copies_databases: false,
    name: "Citus",
    schemes: &["citus"],
    modes: &[TxMode::Statements],
    global_transactions: false,
    foreign_keys: false,
    distributes: true,
    distribution: Distribution::Workers,
    placement: Some(&catalogs::CITUS),
    // The coordinator has no rows of distributed tables.
    shapes: None,
    cluster: "SELECT nodename || ':' || nodeport FROM pg_dist_node ORDER BY 1",
    own_node: Some(
        "SELECT nodename || ':' || nodeport FROM pg_dist_node \
         WHERE groupid = (SELECT groupid FROM pg_dist_local_group)",
    ),
    ..POSTGRES
};

impl Product {
    /// Returns the product of a server by its version and by the extension of Citus.
    fn of(version: &str, citus: bool) -> &'static Self {
        if version.contains("CockroachDB") {
            &COCKROACH
        } else if version.contains("-YB-") {
            &YUGABYTE
        } else if citus {
            &CITUS
        } else {
            &POSTGRES
        }
    }

    /// Checks that a server is of the kind that the URL names; the error names the right scheme. A server with Citus is
    /// PostgreSQL too.
    pub(crate) fn suits(&'static self, version: &str, citus: bool) -> Result<(), String> {
        let found = Self::of(version, citus);
        let name = |product: &Self| product.schemes[0];
        if name(found) == name(self) || (name(found) == "citus" && name(self) == "postgres") {
            Ok(())
        } else if name(self) == "citus" && name(found) == "postgres" {
            Err("this database has no extension citus: CREATE EXTENSION citus first, or write postgres://"
                .into())
        } else {
            Err(format!(
                "the server is {}: write {}:// instead of {}://",
                found.name,
                name(found),
                name(self)
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: &str = "PostgreSQL 15.18 (Debian 15.18-0+deb12u1) on x86_64-pc-linux-gnu";
    const CRDB: &str = "CockroachDB CCL v24.1.0 (x86_64-pc-linux-gnu, built 2024/05/15, go1.22.2)";
    const YB: &str = "PostgreSQL 11.2-YB-2.20.1.0-b0 on x86_64-pc-linux-gnu";

    #[test]
    fn a_scheme_takes_the_server_that_it_means_and_names_the_right_one_for_others() {
        assert_eq!(POSTGRES.suits(PLAIN, false), Ok(()));
        assert_eq!(POSTGRES.suits(PLAIN, true), Ok(()));
        assert_eq!(CITUS.suits(PLAIN, true), Ok(()));
        assert_eq!(COCKROACH.suits(CRDB, false), Ok(()));
        assert_eq!(YUGABYTE.suits(YB, false), Ok(()));
        for (product, version, advice) in [
            (&POSTGRES, CRDB, "write cockroach:// instead of postgres://"),
            (&POSTGRES, YB, "write yugabyte:// instead of postgres://"),
            (&COCKROACH, PLAIN, "write postgres:// instead of cockroach://"),
            (&CITUS, PLAIN, "CREATE EXTENSION citus first"),
        ] {
            let refused = product.suits(version, false).expect_err("another server");
            assert!(refused.contains(advice), "{refused}");
        }
    }
}
