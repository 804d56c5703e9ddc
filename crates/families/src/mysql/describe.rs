//! Description of a server: its version, and the settings that affect the numbers.

use crate::mysql::wire::Wire;
use crate::mysql::{Mysql, config, spider};
use crate::net::Purpose;
use crate::per_transaction;
use crate::statement_limit;
use crate::unread::Unread;
use lydite_database::sql::ddl;
use lydite_database::sql::isolation::Isolation;
use lydite_database::sql::meta::Admin;
use lydite_database::sql::shards::Layout;
use lydite_database::sql::sql_error::SqlError;
use lydite_database::{Description, Target, TargetError, TxMode};
use lydite_tpcc::schema::Table;
use std::collections::{BTreeMap, BTreeSet};

/// Server settings that affect the numbers.
const SETTINGS: [&str; 36] = [
    "innodb_buffer_pool_size",
    "innodb_flush_log_at_trx_commit",
    "innodb_flush_method",
    "innodb_doublewrite",
    "innodb_log_file_size",
    "innodb_redo_log_capacity",
    "innodb_io_capacity",
    "innodb_page_size",
    "innodb_lock_wait_timeout",
    "innodb_deadlock_detect",
    "innodb_snapshot_isolation",
    "rocksdb_flush_log_at_trx_commit",
    "rocksdb_block_cache_size",
    "rocksdb_write_disable_wal",
    "lock_wait_timeout",
    "log_bin",
    "sync_binlog",
    "binlog_format",
    "max_connections",
    "thread_handling",
    "query_cache_type",
    "performance_schema",
    "wsrep_on",
    "wsrep_sync_wait",
    "wsrep_trx_fragment_size",
    "spider_internal_xa",
    "spider_use_consistent_snapshot",
    "spider_sync_trx_isolation",
    "tidb_txn_mode",
    "tidb_disable_txn_auto_retry",
    "tidb_enable_1pc",
    "tidb_enable_async_commit",
    "ob_query_timeout",
    "ob_trx_timeout",
    "ob_trx_lock_timeout",
    "max_allowed_packet",
];

/// Reads the server settings that affect the numbers.
pub(super) fn settings(wire: &mut Wire) -> Result<BTreeMap<String, String>, SqlError> {
    let mut settings = BTreeMap::new();
    let names: Vec<String> = SETTINGS.iter().map(|name| format!("'{name}'")).collect();
    let sql = format!("SHOW VARIABLES WHERE Variable_name IN ({})", names.join(", "));
    wire.query_each(&sql, &mut |row| {
        if let [Some(name), Some(value)] = row {
            settings.insert((*name).to_string(), (*value).to_string());
        }
    })?;
    Ok(settings)
}

/// Returns true if a commit survives the loss of power, by the settings of InnoDB or RocksDB.
pub(super) fn engines_are_durable(settings: &BTreeMap<String, String>, engines: &[String]) -> bool {
    let is = |name: &str, wanted: &str| settings.get(name).is_none_or(|value| value == wanted);
    let log = |engine: &str| match engine.to_ascii_lowercase().as_str() {
        "innodb" => is("innodb_flush_log_at_trx_commit", "1"),
        "rocksdb" => is("rocksdb_flush_log_at_trx_commit", "1") && is("rocksdb_write_disable_wal", "OFF"),
        // Unknown for other engines.
        _ => false,
    };
    let binlog = settings.get("log_bin").is_none_or(|value| value == "OFF") || is("sync_binlog", "1");
    // Without doublewrite, power loss can damage whole pages.
    let pages = settings
        .get("innodb_doublewrite")
        .is_none_or(|value| !["OFF", "0", "DETECT_ONLY"].contains(&value.as_str()));
    let synced = settings.get("innodb_flush_method").is_none_or(|value| value != "nosync");
    !engines.is_empty() && engines.iter().all(|engine| log(engine)) && binlog && pages && synced
}

/// Returns the engines, that of most of the nine tables first; behind each other one stands which of them it has:
/// `InnoDB, ROCKSDB (district)`.
fn engines_in_words(of_tables: &[(String, String)]) -> String {
    let mut engines: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, engine) in of_tables {
        let tables = engines.entry(engine).or_default();
        tables.extend(Table::ALL.map(Table::name).iter().find(|table| *table == name));
    }
    let mut engines: Vec<(&str, Vec<&str>)> = engines.into_iter().collect();
    engines.sort_by_key(|(_, tables)| std::cmp::Reverse(tables.len()));
    let words = engines.iter().enumerate().map(|(at, (engine, tables))| {
        let mut tables = tables.clone();
        tables.sort_unstable();
        if at == 0 || tables.is_empty() {
            (*engine).to_string()
        } else {
            format!("{engine} ({})", tables.join(", "))
        }
    });
    words.collect::<Vec<_>>().join(", ")
}

impl Mysql {
    /// Connects and describes the database; see [`Target::describe`].
    pub(super) fn read_description(&self) -> Result<Description, TargetError> {
        // The settings that a session for transactions has.
        let mut wire = self.connect_wire_for(Purpose::Transactions)?;
        let product = wire.product;
        let mut unread = Unread::default();
        let found = unread.or_empty("its settings", settings(&mut wire));
        let mut settings = found.map_err(self.failed("ask for settings"))?;
        // An isolation check may have left tables behind.
        let mut of_tables = Vec::new();
        let engines = wire.query_each(
            "SELECT table_name, engine FROM information_schema.tables WHERE table_schema = database() \
             AND table_name NOT LIKE 'lydite\\_isolation\\_%' ORDER BY 1",
            &mut |row| {
                if let [Some(name), Some(engine)] = row {
                    of_tables.push(((*name).to_string(), (*engine).to_string()));
                }
            },
        );
        unread
            .or_empty("the engines of its tables", engines)
            .map_err(self.failed("look for the engines of the tables"))?;
        // Nobody knows whether unknown settings lose commits.
        let known = unread.is_empty();
        let keys = wire.column(
            "SELECT count(*) FROM information_schema.table_constraints \
             WHERE constraint_schema = database() AND constraint_type = 'FOREIGN KEY'",
        );
        let keys = unread.or_empty("its foreign keys", keys);
        let keys = keys.map_err(self.failed("look for foreign keys"))?.concat();
        if of_tables.is_empty() {
            let default =
                wire.column("SELECT @@default_storage_engine").map_err(self.failed("ask for the engine"))?;
            let default = default.concat();
            let of = |table: Table| {
                let engine = self.config.engine_of(table).unwrap_or(&default);
                (table.name().to_string(), engine.to_string())
            };
            of_tables = Table::ALL.map(of).into();
        }
        let engines: BTreeSet<&String> = of_tables.iter().map(|(_, engine)| engine).collect();
        let engines: Vec<String> = engines.into_iter().cloned().collect();
        let isolation = self.config.isolation;
        if isolation == Isolation::Serializable && engines.iter().any(|engine| config::is_rocksdb(engine)) {
            return Err(TargetError::usage(format!("{}: {}", self.config.place(), config::NO_SERIALIZABLE)));
        }
        let parted = !self.shards.is_empty() || engines.iter().any(|engine| spider::is_spider(engine));
        let own = product.always_durable || self.is_durable(&settings, &engines)?;
        let durable = self.nodes_are_durable(&mut settings, &engines, &mut unread)? && own && known;
        settings.insert("server".into(), product.name.into());
        settings.insert("engine".into(), engines_in_words(&of_tables));
        if self.config.snapshot_at_begin {
            settings.insert("snapshot".into(), "begin".into());
        }
        if !keys.is_empty() {
            settings.insert("foreign keys".into(), keys);
        }
        settings.insert("isolation".into(), isolation.sql().to_lowercase());
        if let Some(level) = self.effective.get() {
            settings.insert("isolation_effective".into(), level.clone());
        }
        settings.insert("tx".into(), self.config.mode.name().into());
        settings.extend(statement_limit::setting(self.config.statement_timeout));
        settings.extend(per_transaction::setting(self.config.life));
        if self.config.mode == TxMode::Procedures {
            let arrays = self.procedures_have_arrays(product)?;
            settings.insert("procedures".into(), if arrays { "arrays" } else { "rows" }.into());
        }
        let keyed = wire
            .column(&format!(
                "SELECT count(*) FROM information_schema.columns WHERE table_schema = database() \
                 AND table_name = 'history' AND column_name = '{}'",
                ddl::HISTORY_KEY
            ))
            .map_err(self.failed("look for a key of HISTORY"))?;
        if keyed.concat() != "0" {
            settings.insert("history_key".into(), "on".into());
        }
        // The partitions that the tables have, whatever the URL says.
        let partitions = wire.column(
            "SELECT count(*) FROM information_schema.partitions WHERE table_schema = database() \
             AND table_name = 'stock' AND partition_name IS NOT NULL",
        );
        let partitions = unread.or_empty("its partitions", partitions);
        let partitions = partitions.map_err(self.failed("look for partitions"))?.concat();
        if !partitions.is_empty() && partitions != "0" {
            settings.insert("partitions".into(), partitions);
        }
        if !self.shards.is_empty() {
            settings.insert("shards".into(), self.shards.len().to_string());
        }
        if engines.iter().any(|engine| spider::is_spider(engine)) {
            let found = self.found_layout(&mut wire)?;
            settings.extend(found.settings().map(|(name, value)| (name.to_string(), value.to_string())));
        } else if !product.together.is_empty() && self.config.layout != Layout::default() {
            let asked = self.config.layout.settings();
            settings.extend(asked.map(|(name, value)| (format!("{name}, as asked"), value.to_string())));
        }
        if self.nodes.len() > 1 {
            settings.insert("nodes".into(), self.nodes.len().to_string());
        }
        let version = &wire.version;
        Ok(Description {
            kind: self.config.scheme.clone(),
            version: if version.contains(product.name) {
                version.clone()
            } else {
                format!("{} {version}", product.name)
            },
            url: self.config.url.clone(),
            settings,
            isolation: isolation.sql().to_lowercase(),
            embedded: false,
            // Spider's shards take their snapshots one by one.
            isolation_is_level_3: match isolation {
                Isolation::ReadCommitted => false,
                Isolation::RepeatableRead => !parted,
                Isolation::Serializable => true,
            },
            durable,
            in_memory: None,
            unread: unread.into_warnings(),
        })
    }

    /// Returns true if a commit survives the loss of power, on the shards too. Shards that the URL does not name count
    /// as not durable, because their settings are unknown.
    fn is_durable(
        &self,
        settings: &BTreeMap<String, String>,
        engines: &[String],
    ) -> Result<bool, TargetError> {
        let shards: Vec<Description> = self.shards.iter().map(Self::describe).collect::<Result<_, _>>()?;
        let own: Vec<String> = engines
            .iter()
            .filter(|engine| shards.is_empty() || !spider::is_spider(engine))
            .cloned()
            .collect();
        Ok(engines_are_durable(settings, &own) && shards.iter().all(|shard| shard.durable))
    }
}

#[cfg(test)]
mod tests {
    use super::engines_in_words;

    #[test]
    fn each_table_outside_of_the_main_engine_is_named() {
        let words = |of_tables: &[(&str, &str)]| {
            let owned = |(name, engine): &(&str, &str)| ((*name).to_string(), (*engine).to_string());
            engines_in_words(&of_tables.iter().map(owned).collect::<Vec<_>>())
        };
        let mixed = [
            ("district", "ROCKSDB"),
            ("stock", "InnoDB"),
            ("item", "InnoDB"),
            ("customer", "ROCKSDB"),
            ("orders", "InnoDB"),
        ];
        assert_eq!(words(&mixed), "InnoDB, ROCKSDB (customer, district)");
        assert_eq!(words(&[("stock", "ROCKSDB"), ("lydite_meta", "InnoDB")]), "ROCKSDB, InnoDB");
        assert_eq!(words(&[("stock", "InnoDB"), ("lydite_meta", "InnoDB")]), "InnoDB");
    }
}
