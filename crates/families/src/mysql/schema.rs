//! The tables, and the keys and indexes that are added after the rows.

use crate::mysql::config::Config;
use crate::mysql::product::Product;
use crate::mysql::wire::Wire;
use crate::sql_load::BY_SIZE;
use lydite_database::sql::ddl;
use lydite_database::sql::meta::{self, Admin};
use lydite_database::sql::sql_error::SqlError;
use lydite_tpcc::schema::Table;

/// Texts compare byte by byte, as in the other families.
pub(crate) const CHARACTERS: &str = " DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin";

/// Returns the kind of table that can't have foreign keys, if the tables are of such a kind.
pub(crate) fn without_foreign_keys(config: &Config, product: &Product) -> Option<String> {
    if !config.shards.is_empty() {
        return Some("tables over shards".into());
    }
    if config.partitions.is_some() && !product.foreign_keys_of_partitions {
        return Some(format!("partitioned tables of {}", product.name));
    }
    let mut engines = Table::ALL.into_iter().filter_map(|table| config.engine_of(table));
    let engine = engines.find(|engine| !engine.eq_ignore_ascii_case("innodb"))?;
    Some(format!("tables of the engine {engine}"))
}

/// Returns `CREATE TABLE` for one of the nine tables. It includes the primary key, because rows are stored in its
/// order.
pub(crate) fn create_table(table: Table, config: &Config, product: &Product) -> String {
    let key = ddl::primary_key(table).map_or(String::new(), |key| format!(", PRIMARY KEY ({key})"));
    create_with_key(table, config, product, &key)
}

/// Returns `CREATE TABLE` for HISTORY with a primary key: a column that the server fills, and that no statement names. A
/// partitioned table must have the partition's column in each key.
fn create_history_with_key(config: &Config, product: &Product) -> String {
    let parted = if config.partitions.is_some() { ", h_w_id" } else { "" };
    let key = format!(", {} bigint NOT NULL AUTO_INCREMENT, PRIMARY KEY ({0}{parted})", ddl::HISTORY_KEY);
    create_with_key(Table::History, config, product, &key)
}

/// Settings of servers that reject tables without a primary key, or changes of their rows, with the part of the value
/// that says so.
const DEMANDS: [(&str, &[&str]); 6] = [
    ("innodb_force_primary_key", &["ON"]),
    ("sql_require_primary_key", &["ON"]),
    ("wsrep_mode", &["REQUIRED_PRIMARY_KEY"]),
    ("wsrep_certify_nonpk", &["OFF"]),
    // Percona XtraDB Cluster.
    ("pxc_strict_mode", &["ENFORCING", "MASTER"]),
    // Members of a group (Group Replication) have its name, a UUID.
    ("group_replication_group_name", &["-"]),
];

/// Returns the setting that demands a primary key of each table, if the server has it on.
fn demanded(wire: &mut Wire) -> Result<Option<String>, SqlError> {
    let names: Vec<String> = DEMANDS.iter().map(|(name, _)| format!("'{name}'")).collect();
    let mut found = None;
    let sql =
        format!("SHOW GLOBAL VARIABLES WHERE lower(Variable_name) IN ({}, 'wsrep_on')", names.join(", "));
    let mut galera = false;
    let mut settings = Vec::new();
    wire.query_each(&sql, &mut |row| {
        if let [Some(name), Some(value)] = row {
            galera |= name.eq_ignore_ascii_case("wsrep_on") && *value == "ON";
            settings.push((name.to_ascii_lowercase(), (*value).to_string()));
        }
    })?;
    for (name, value) in settings {
        let asked = DEMANDS
            .iter()
            .any(|(known, parts)| *known == name && parts.iter().any(|part| value.contains(part)));
        // These matter to nodes of a cluster alone.
        if asked && (galera || !name.starts_with("wsrep_")) {
            found.get_or_insert(format!("{name}={value}"));
        }
    }
    Ok(found)
}

/// Returns `CREATE TABLE` for each of these tables, with a primary key of HISTORY if the URL or the server wants one.
fn create_tables(wire: &mut Wire, config: &Config, tables: &[Table]) -> Result<Vec<String>, SqlError> {
    let product = wire.product;
    let keyed = match config.history_key {
        Some(keyed) => keyed,
        None => demanded(wire)?.is_some(),
    };
    let create = |&table: &Table| match table {
        Table::History if keyed => create_history_with_key(config, product),
        table => create_table(table, config, product),
    };
    Ok(tables.iter().map(create).collect())
}

fn create_with_key(table: Table, config: &Config, product: &Product, key: &str) -> String {
    let mut sql = ddl::create_table(product.dialect, table, key);
    sql += CHARACTERS;
    if let Some(engine) = config.engines.get(table.name()) {
        sql += &format!(" ENGINE = {engine}");
    }
    match (table.warehouse_column(), config.partitions) {
        (None, Some(_)) if !config.layout.items_single() => sql += product.everywhere,
        (None, _) => {}
        (Some(column), Some(partitions)) => {
            if config.layout.colocated() {
                sql += product.together;
            }
            sql += &format!(" PARTITION BY HASH ({column}) PARTITIONS {partitions}");
        }
        (Some(_), None) => {}
    }
    sql
}

/// Creates Lydite's own tables with these notes, and the nine tables: all or none. DDL has no transactions, so the notes
/// come first and say that the tables are being created, and after an error the tables that were made are dropped again.
pub(crate) fn create(wire: &mut Wire, config: &Config, notes: &[(&str, String)]) -> Result<(), SqlError> {
    let product = wire.product;
    let mut tables: Vec<String> = Vec::new();
    if config.partitions.is_some() && config.layout.colocated() && !product.before_together.is_empty() {
        tables.push(product.before_together.to_string());
    }
    tables.extend(create_tables(wire, config, &Table::ALL)?);
    create_noted(wire, config, notes, tables)
}

/// Creates Lydite's own tables with these notes, and these tables, as [`create`] does.
pub(crate) fn create_noted(
    wire: &mut Wire,
    config: &Config,
    notes: &[(&str, String)],
    tables: Vec<String>,
) -> Result<(), SqlError> {
    let mut statements = meta::begin_creating(notes).to_vec();
    statements.extend(tables);
    statements.push(meta::LOADING.to_string());
    create_all(wire, config, &statements)
}

/// Creates the tables of a shard.
pub(crate) fn create_of_shard(wire: &mut Wire, config: &Config, tables: &[Table]) -> Result<(), SqlError> {
    let mut statements = vec![meta::CREATE_PROGRESS.to_string()];
    statements.extend(create_tables(wire, config, tables)?);
    create_all(wire, config, &statements)
}

/// Runs the statements. After an error the tables that they made are dropped, from the last to the first.
fn create_all(wire: &mut Wire, config: &Config, statements: &[String]) -> Result<(), SqlError> {
    if let Some(engine) = &config.engine {
        wire.execute(&format!("SET SESSION default_storage_engine = {engine}"))?;
    }
    let mut made = Vec::new();
    let mut create = |wire: &mut Wire| -> Result<(), SqlError> {
        for statement in statements {
            wire.execute(statement)?;
            made.extend(statement.strip_prefix("CREATE TABLE ").and_then(|rest| rest.split(' ').next()));
        }
        Ok(())
    };
    create(wire).map_err(|mut error| {
        // The notes go last: while a table is left, they say whose it is.
        let mut drops = made.iter().rev();
        if drops.try_for_each(|table| wire.execute(&format!("DROP TABLE IF EXISTS {table}"))).is_err() {
            let (SqlError::Database { message, .. } | SqlError::Lost(message) | SqlError::Decode(message)) =
                &mut error;
            *message += "; the tables made before are still there: start over with --fresh";
        }
        error
    })
}

/// Returns the name of a foreign key and of its index.
fn key_name(table: Table, number: usize) -> String {
    format!("{}_fkey_{}", table.name(), number + 1)
}

/// Returns one `ALTER TABLE` for each table that lacks indexes. It adds all of them, so the rows are read once.
///
/// A foreign key needs an index on its columns. If no other index begins with them, the server would build one when the
/// key is added, table by table.
pub(crate) fn add_indexes(there: &[String], foreign_keys: bool) -> Vec<String> {
    let alter = |table: Table| {
        let schema = table.schema();
        let mut wanted: Vec<(String, &[&str])> =
            schema.indexes.iter().map(|index| (index.name.to_string(), index.columns)).collect();
        if foreign_keys {
            for (number, key) in schema.foreign_keys.iter().enumerate() {
                let served = schema.primary_key.starts_with(key.columns)
                    || schema.indexes.iter().any(|index| index.columns.starts_with(key.columns));
                if !served {
                    wanted.push((key_name(table, number), key.columns));
                }
            }
        }
        let adds: Vec<String> = wanted
            .into_iter()
            .filter(|(name, _)| !there.contains(name))
            .map(|(name, columns)| format!("ADD INDEX {name} ({})", columns.join(", ")))
            .collect();
        (!adds.is_empty()).then(|| format!("ALTER TABLE {} {}", table.name(), adds.join(", ")))
    };
    BY_SIZE.into_iter().filter_map(alter).collect()
}

/// Returns an `ALTER TABLE` for each missing foreign key.
pub(crate) fn add_foreign_keys(there: &[String]) -> Vec<String> {
    let mut adds = Vec::new();
    for table in BY_SIZE {
        for (number, key) in table.schema().foreign_keys.iter().enumerate() {
            let name = key_name(table, number);
            if !there.contains(&name) {
                adds.push(format!(
                    "ALTER TABLE {} ADD CONSTRAINT {name} {}",
                    table.name(),
                    ddl::foreign_key(key)
                ));
            }
        }
    }
    adds
}

#[cfg(test)]
mod tests {
    use super::*;
    use lydite_database::TxMode;
    use lydite_database::target_url::ParsedUrl;

    #[test]
    fn oceanbase_is_told_which_partitions_belong_together_and_what_is_everywhere_unless_the_url_says_no() {
        let product = crate::mysql::product::of("5.7.25-OceanBase-v4.3.5.3", "OceanBase_CE 4.3.5.3");
        let text = |options: &str, table: Table| {
            let url = format!("oceanbase://h/db?partitions=3{options}");
            let parsed = ParsedUrl::new(&url, &mut Vec::new());
            let config = crate::mysql::config::parse(&parsed, TxMode::Statements).expect("a good URL");
            create_table(table, &config, product)
        };
        assert!(text("", Table::Item).ends_with(product.everywhere));
        assert!(text("", Table::Stock).contains(product.together));
        assert!(!text("&items=single", Table::Item).contains(product.everywhere));
        assert!(text("&items=single", Table::Stock).contains(product.together));
        assert!(!text("&colocated=off", Table::Stock).contains(product.together));
        assert!(text("&colocated=off", Table::Stock).ends_with("PARTITION BY HASH (s_w_id) PARTITIONS 3"));
    }

    #[test]
    fn indexes_that_are_there_are_not_made_again() {
        let all = add_indexes(&[], true);
        assert!(all.iter().any(|sql| sql.contains("orders_by_customer")), "{all:?}");
        assert!(all.iter().any(|sql| sql.contains("order_line_fkey_2 (ol_supply_w_id, ol_i_id)")), "{all:?}");
        // The key of STOCK begins with the warehouse.
        assert!(!all.iter().any(|sql| sql.contains("(s_w_id)")), "{all:?}");
        let there = ["customer_by_name", "orders_by_customer"].map(String::from);
        assert!(add_indexes(&there, false).is_empty());
    }
}
