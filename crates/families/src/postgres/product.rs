//! The databases with PostgreSQL's protocol, as data, and their recognition by version and extension.
//!
//! Tests run only PostgreSQL's own servers. The entries of the others follow their documentation, which the book's page
//! about targets lists.

use crate::postgres::config::Config;
use lydite_database::TxMode;
use lydite_database::sql::isolation::Isolation;
use lydite_tpcc::schema::Table;

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
    /// True if it copies a whole database by `CREATE DATABASE … TEMPLATE`.
    pub(crate) copies_databases: bool,
    /// True if it has advisory locks. Loads use them to exclude each other.
    pub(crate) advisory_locks: bool,
    /// True if several connections can read one snapshot, and the catalogs name the tables that a view shows.
    pub(crate) exports_snapshots: bool,
    /// True if foreign keys are declared by default.
    pub(crate) foreign_keys: bool,
    /// True if every commit survives the loss of power, whatever the settings.
    pub(crate) always_durable: bool,
    /// Rows per COPY, each in a transaction of its own; `None` for all rows of a warehouse.
    pub(crate) batch: Option<u32>,
    /// True if loading distributes the tables over nodes.
    pub(crate) distributes: bool,
    /// Function that returns the SQL to distribute a new table of so many warehouses over the nodes.
    pub(crate) distribution: fn(&Config, Table, u32) -> Vec<String>,
    /// Query of the node that has `{warehouse}`; `None` for a database of one node.
    pub(crate) placement: Option<&'static str>,
    /// Query of the nodes, named as by `placement`, and the bytes that each one holds; `None` if they do not report
    /// sizes, or for a database of one node.
    pub(crate) sizes: Option<&'static str>,
}

/// Returns no statements: the database has one node, or distributes tables by itself.
fn nothing(_: &Config, _: Table, _: u32) -> Vec<String> {
    Vec::new()
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
    copies_databases: true,
    advisory_locks: true,
    exports_snapshots: true,
    foreign_keys: true,
    always_durable: false,
    batch: None,
    distributes: false,
    distribution: nothing,
    placement: None,
    sizes: None,
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
    copies_databases: false,
    advisory_locks: false,
    exports_snapshots: false,
    always_durable: true,
    batch: Some(10_000),
    distribution: ranges,
    placement: Some(
        "SELECT 'n' || lease_holder::text || coalesce(' (' || lease_holder_locality || ')', '') \
         FROM [SHOW RANGE FROM TABLE warehouse FOR ROW ({warehouse})]",
    ),
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
    always_durable: true,
    batch: Some(10_000),
    placement: Some(
        "SELECT leader FROM yb_tablet_metadata WHERE relname = 'warehouse' \
         AND yb_hash_code({warehouse}::int) >= coalesce(start_hash_code, 0) \
         AND yb_hash_code({warehouse}::int) < coalesce(end_hash_code, 65536)",
    ),
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
    distribution: distributed,
    placement: Some(
        "SELECT nodename || ':' || nodeport FROM citus_shards \
         WHERE shardid = get_shard_id_for_distribution_column('warehouse', {warehouse})",
    ),
    sizes: Some(
        "SELECT nodename || ':' || nodeport, sum(shard_size)::bigint FROM citus_shards GROUP BY 1 ORDER BY 1",
    ),
    ..POSTGRES
};

/// Distributes a table for Citus: all rows of a warehouse go to one worker, ITEM goes to every worker. If ITEM is to be
/// on one node, it stays a local table of the coordinator.
fn distributed(config: &Config, table: Table, _: u32) -> Vec<String> {
    let name = table.name();
    let layout = config.layout;
    vec![match table.warehouse_column() {
        None if layout.items_single() => return Vec::new(),
        Some(column) if !layout.colocated() => {
            format!("SELECT create_distributed_table('{name}', '{column}', colocate_with => 'none')")
        }
        None => format!("SELECT create_reference_table('{name}')"),
        Some(column) if table == Table::Warehouse => {
            format!("SELECT create_distributed_table('{name}', '{column}')")
        }
        Some(column) => {
            format!("SELECT create_distributed_table('{name}', '{column}', colocate_with => 'warehouse')")
        }
    }]
}

/// Distributes a table for CockroachDB: ranges that begin at certain warehouses, placed at random, and partitions that
/// are kept in zones.
fn ranges(config: &Config, table: Table, warehouses: u32) -> Vec<String> {
    let Some(column) = table.warehouse_column() else { return Vec::new() };
    let name = table.name();
    let mut statements = Vec::new();
    let zones = config.zones.len() as u32;
    if zones > 0 {
        let first = |zone: u32| 1 + u64::from(zone) * u64::from(warehouses) / u64::from(zones);
        let parts: Vec<String> = (0..zones)
            .map(|zone| {
                let from = if zone == 0 { "MINVALUE".to_string() } else { first(zone).to_string() };
                let to = if zone + 1 == zones { "MAXVALUE".to_string() } else { first(zone + 1).to_string() };
                format!("PARTITION zone_{} VALUES FROM ({from}) TO ({to})", zone + 1)
            })
            .collect();
        let parted = format!("PARTITION BY RANGE ({column}) ({})", parts.join(", "));
        // HISTORY has no key of Lydite's, so it can't be partitioned.
        let indexes = table.schema().indexes.iter().map(|index| format!("INDEX {name}@{}", index.name));
        let tables = (table != Table::History).then(|| format!("TABLE {name}"));
        for of in tables.into_iter().chain(indexes) {
            statements.push(format!("ALTER {of} {parted}"));
            for (number, zone) in config.zones.iter().enumerate() {
                let zone = zone.replace('\'', "''");
                let settings = if config.zone_leases {
                    format!("lease_preferences = '[[+zone={zone}]]'")
                } else {
                    format!("constraints = '[+zone={zone}]'")
                };
                statements.push(format!(
                    "ALTER PARTITION zone_{} OF {of} CONFIGURE ZONE USING {settings}",
                    number + 1
                ));
            }
        }
    }
    if let Some(step) = config.split.filter(|_| table != Table::History) {
        let bounds: Vec<String> = (1 + step..=warehouses)
            .step_by(step as usize)
            .map(|warehouse| format!("({warehouse})"))
            .collect();
        if !bounds.is_empty() {
            statements.push(format!("ALTER TABLE {name} SPLIT AT VALUES {}", bounds.join(", ")));
        }
        statements.push(format!("ALTER TABLE {name} SCATTER"));
    }
    statements
}

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
    use lydite_database::target_url::ParsedUrl;

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

    fn config(url: &str) -> Config {
        let parsed = ParsedUrl::new(url, &mut Vec::new());
        crate::postgres::config::parse(&parsed, TxMode::Statements, &COCKROACH).expect("a good URL")
    }

    #[test]
    fn cockroach_is_told_where_ranges_begin_and_which_zones_keep_them() {
        let split = config("cockroach://h/db?split=2");
        assert_eq!(
            ranges(&split, Table::Stock, 6),
            ["ALTER TABLE stock SPLIT AT VALUES (3), (5)", "ALTER TABLE stock SCATTER"]
        );
        assert_eq!(ranges(&split, Table::Item, 6), Vec::<String>::new());
        let zones = config("cockroach://h/db?zones=a,b&zone_strategy=leases");
        assert_eq!(
            ranges(&zones, Table::District, 5),
            [
                "ALTER TABLE district PARTITION BY RANGE (d_w_id) (PARTITION zone_1 VALUES FROM (MINVALUE) TO (3), \
                 PARTITION zone_2 VALUES FROM (3) TO (MAXVALUE))",
                "ALTER PARTITION zone_1 OF TABLE district CONFIGURE ZONE USING lease_preferences = '[[+zone=a]]'",
                "ALTER PARTITION zone_2 OF TABLE district CONFIGURE ZONE USING lease_preferences = '[[+zone=b]]'",
            ]
        );
    }

    #[test]
    fn citus_keeps_the_rows_of_a_warehouse_together() {
        let config = config("cockroach://h/db");
        let apart = ParsedUrl::new("citus://h/db?items=single&colocated=off", &mut Vec::new());
        let apart = crate::postgres::config::parse(&apart, TxMode::Statements, &CITUS).expect("a good URL");
        assert_eq!(distributed(&apart, Table::Item, 1), Vec::<String>::new());
        assert_eq!(
            distributed(&apart, Table::Stock, 1),
            ["SELECT create_distributed_table('stock', 's_w_id', colocate_with => 'none')"]
        );
        assert_eq!(distributed(&config, Table::Item, 1), ["SELECT create_reference_table('item')"]);
        assert_eq!(
            distributed(&config, Table::OrderLine, 1),
            ["SELECT create_distributed_table('order_line', 'ol_w_id', colocate_with => 'warehouse')"]
        );
    }
}
