//! Statements that distribute a new table over the nodes of a database.

use crate::postgres::archive;
use crate::postgres::config::Config;
use crate::postgres::product::Distribution;
use lydite_tpcc::meta::DatabaseMeta;
use lydite_tpcc::schema::Table;

/// Reason against CockroachDB's interleaved tables, and what keeps rows together or apart instead.
pub const NOT_INTERLEAVED: &str = "--interleaved: CockroachDB removed interleaved tables in version 21.2: leave it out; \
     split=N in the URL puts N warehouses into a range of each table, and zones=… or archive=… keeps rows in a zone";

/// Longest part of a statement in a message: one with all partitions has many.
const SHOWN: usize = 160;

/// Returns the begin of a statement, for a message of one line.
pub(super) fn shown(statement: &str) -> String {
    let begin: String = statement.chars().take(SHOWN).collect();
    let more = if begin.len() < statement.len() { "…" } else { "" };
    begin + more
}

/// Returns the statements that distribute a new table.
pub(crate) fn statements(config: &Config, table: Table, meta: &DatabaseMeta) -> Vec<String> {
    match config.product.distribution {
        Distribution::None => Vec::new(),
        Distribution::Ranges => {
            let mut all = archive::statements(config.archive.as_deref(), table, meta);
            all.extend(ranges(config, table, meta.warehouses));
            all
        }
        Distribution::Workers => workers(config, table),
    }
}

/// Distributes a table for Citus: all rows of a warehouse go to one worker, ITEM goes to every worker. If ITEM is to be
/// on one node, it stays a local table of the coordinator.
fn workers(config: &Config, table: Table) -> Vec<String> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::postgres::config::parse;
    use crate::postgres::product::{CITUS, COCKROACH};
    use lydite_database::TxMode;
    use lydite_database::target_url::ParsedUrl;

    fn config(url: &str) -> Config {
        let parsed = ParsedUrl::new(url, &mut Vec::new());
        parse(&parsed, TxMode::Statements, &COCKROACH).expect("a good URL")
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
        let apart = parse(&apart, TxMode::Statements, &CITUS).expect("a good URL");
        assert_eq!(workers(&apart, Table::Item), Vec::<String>::new());
        assert_eq!(
            workers(&apart, Table::Stock),
            ["SELECT create_distributed_table('stock', 's_w_id', colocate_with => 'none')"]
        );
        assert_eq!(workers(&config, Table::Item), ["SELECT create_reference_table('item')"]);
        assert_eq!(
            workers(&config, Table::OrderLine),
            ["SELECT create_distributed_table('order_line', 'ol_w_id', colocate_with => 'warehouse')"]
        );
    }
}
