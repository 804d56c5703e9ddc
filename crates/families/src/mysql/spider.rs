//! MariaDB over several servers. The engine Spider partitions the tables of the warehouses over shards. ITEM, which no
//! transaction writes, is on the server of the URL, the coordinator. Transactions go through the coordinator; a load
//! writes to the shards directly. Options of the URL put ITEM on one shard, or the parts of each table on other shards
//! than those of the other tables.
//!
//! Spider's limits remain: there is no common snapshot and no search for deadlocks over several servers, and a commit
//! is atomic only if the server's `spider_internal_xa` says so.

use crate::mysql::config::Config;
use crate::mysql::load_lock::LoadLock;
use crate::mysql::loader::MysqlLoader;
use crate::mysql::wire::Wire;
use crate::mysql::{Mysql, schema};
use lydite_database::kv::meta::notes;
use lydite_database::sql::ddl;
use lydite_database::sql::meta::Admin;
use lydite_database::sql::shards::{self, Layout, Part, ShardedLoader};
use lydite_database::sql::sql_error::SqlError;
use lydite_database::{NodeSize, Target, TargetError};
use lydite_tpcc::Placement;
use lydite_tpcc::meta::DatabaseMeta;
use lydite_tpcc::schema::Table;
use std::sync::PoisonError;

/// Prefix of the names of Lydite's servers. It contains the database, because these names belong to the coordinator as
/// a whole.
const PREFIX: &str = "concat('lydite_', left(md5(database()), 12), '_')";

/// Settings of a session. Spider may word queries that it sends whole to a shard in a way that the shard does not
/// understand (an ORDER BY in a window function).
pub(super) const SESSION: &str = "SET SESSION spider_disable_group_by_handler = ON";

/// True if the engine keeps its rows on other servers.
pub(super) fn is_spider(engine: &str) -> bool {
    engine.eq_ignore_ascii_case("spider")
}

/// Returns the names of the coordinator's entries for the shards of a load into this database.
pub(super) fn server_names(coordinator: &mut Wire) -> Result<Vec<String>, SqlError> {
    coordinator.column(&format!(
        "SELECT server_name FROM mysql.servers WHERE left(server_name, 20) = {PREFIX} \
         AND substr(server_name, 21) REGEXP '^[0-9]+$'"
    ))
}

/// Returns a text as an SQL literal.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}

/// Returns `CREATE SERVER` for a shard.
pub(super) fn create_server(name: &str, shard: &Config, (host, port): &(String, u16)) -> String {
    let password =
        shard.password().map_or_else(String::new, |password| format!(", PASSWORD {}", quoted(&password)));
    format!(
        "CREATE OR REPLACE SERVER {name} FOREIGN DATA WRAPPER mysql OPTIONS (HOST {}, PORT {port}, DATABASE {}, USER \
         {}{password})",
        quoted(host),
        quoted(&shard.database),
        quoted(&shard.user)
    )
}

/// Returns `CREATE TABLE` for a table whose rows are on the shards. Spider uses its keys and indexes to query the
/// shards.
fn create_parted(
    wire: &Wire,
    (table, layout): (Table, Layout),
    column: &str,
    servers: &[String],
    warehouses: u32,
) -> String {
    let mut keys = ddl::primary_key(table).map_or(String::new(), |key| format!(", PRIMARY KEY ({key})"));
    for index in table.schema().indexes {
        keys += &format!(", INDEX {} ({})", index.name, index.columns.join(", "));
    }
    let parts: Vec<String> = servers
        .iter()
        .enumerate()
        .map(|(shard, server)| {
            let end = shards::planned_range(servers.len(), warehouses, shard).end;
            let on = &servers[layout.shard_of(table, shard, servers.len())];
            format!("PARTITION {server} VALUES LESS THAN ({end}) COMMENT = 'srv \"{on}\"'")
        })
        .collect();
    format!(
        "{}{} ENGINE = SPIDER COMMENT = 'wrapper \"mysql\", table \"{}\"' PARTITION BY RANGE ({column}) ({})",
        ddl::create_table(wire.product.dialect, table, &keys),
        schema::CHARACTERS,
        table.name(),
        parts.join(", ")
    )
}

/// Returns `CREATE TABLE` for ITEM with its rows on one shard.
fn create_items(wire: &Wire, server: &str) -> String {
    let key = ddl::primary_key(Table::Item).map_or(String::new(), |key| format!(", PRIMARY KEY ({key})"));
    format!(
        "{}{} ENGINE = SPIDER COMMENT = 'wrapper \"mysql\", table \"item\", srv \"{server}\"'",
        ddl::create_table(wire.product.dialect, Table::Item, &key),
        schema::CHARACTERS,
    )
}

impl Mysql {
    /// Returns the layout of the existing partitioned tables, from the coordinator's catalogs.
    pub(super) fn found_layout(&self, wire: &mut Wire) -> Result<Layout, TargetError> {
        let told = wire
            .column(
                "SELECT engine = 'SPIDER' FROM information_schema.tables WHERE table_schema = database() \
                 AND table_name = 'item' UNION ALL SELECT count(DISTINCT partition_comment) = 1 \
                 FROM information_schema.partitions WHERE table_schema = database() AND partition_ordinal_position = 1",
            )
            .map_err(self.failed("look for the placement of the tables"))?;
        match &told[..] {
            [single, colocated] => Ok(Layout::found(single == "1", colocated == "1")),
            _ => Err(TargetError::database(format!(
                "{}: there is no table item beside those over the shards: load again with --fresh",
                self.config.place()
            ))),
        }
    }

    /// Creates the tables of the shards and of the coordinator, all or none.
    pub(super) fn create_over_shards(&self, meta: &DatabaseMeta) -> Result<(), TargetError> {
        shards::check_count(self.shards.len(), meta)?;
        for shard in &self.shards {
            shards::check_empty(&shard.config.place(), &shard.tables(&mut shard.connect_wire()?)?)?;
        }
        let mut wire = self.connect_wire()?;
        self.check_spider(&mut wire)?;
        // Another load may have made tables meanwhile. They must not be dropped.
        if self.tables(&mut wire)?.iter().any(|name| name == "lydite_meta") {
            return Err(TargetError::usage(format!("{}: the tables exist already", self.config.place())));
        }
        let made = self.create_parts(&mut wire, meta);
        if made.is_err() {
            for shard in &self.shards {
                // The first error is the one that matters. The load has the lock already.
                let dropped =
                    shard.connect_wire().and_then(|mut wire| shard.drop_tables(&mut wire, |_| Ok(())));
                let _dropped = dropped;
            }
            let _dropped = self.drop_servers(&mut wire);
        }
        made
    }

    /// Rejects a server without the engine Spider.
    pub(super) fn check_spider(&self, wire: &mut Wire) -> Result<(), TargetError> {
        let engines = wire.column(
            "SELECT engine FROM information_schema.engines WHERE engine = 'SPIDER' AND support IN ('YES', 'DEFAULT')",
        );
        if engines.map_err(self.failed("look for the engine Spider"))?.is_empty() {
            return Err(TargetError::usage(format!(
                "{}: shards= needs the engine Spider, which this server lacks: load its plugin (INSTALL SONAME \
                 'ha_spider'; Debian: mariadb-plugin-spider)",
                self.config.place()
            )));
        }
        Ok(())
    }

    fn create_parts(&self, wire: &mut Wire, meta: &DatabaseMeta) -> Result<(), TargetError> {
        let prefix =
            wire.column(&format!("SELECT {PREFIX}")).map_err(self.failed("name the shards"))?.concat();
        let servers: Vec<String> = (1..=self.shards.len()).map(|shard| format!("{prefix}{shard}")).collect();
        for (number, ((shard, server), name)) in
            self.shards.iter().zip(&self.config.shards).zip(&servers).enumerate()
        {
            let mut on_shard = shard.connect_wire()?;
            schema::create_of_shard(&mut on_shard, &shard.config, self.config.layout.tables_of(number))
                .map_err(shard.failed("create the tables"))?;
            wire.execute(&create_server(name, &shard.config, server))
                .map_err(self.failed("make a server of each shard"))?;
        }
        let layout = self.config.layout;
        let mut statements = vec![if layout.items_single() {
            create_items(wire, &servers[shards::ITEMS_SHARD])
        } else {
            schema::create_table(Table::Item, &self.config, wire.product)
        }];
        for table in Table::OF_WAREHOUSE {
            let Some(column) = table.warehouse_column() else { continue };
            statements.push(create_parted(wire, (table, layout), column, &servers, meta.warehouses));
        }
        schema::create_noted(wire, &self.config, &notes(meta), statements)
            .map_err(self.failed("create the tables"))
    }

    /// Builds the shards' indexes and gathers their statistics.
    pub(super) fn finish_shards(&self, jobs: usize) -> Result<(), TargetError> {
        for (number, shard) in self.shards.iter().enumerate() {
            let there = shard.catalogue(&mut shard.connect_wire()?, "index_name", "statistics")?;
            let indexes: Vec<String> = schema::add_indexes(&there, false);
            shard.run_all(&indexes, jobs)?;
            let tables = self.config.layout.tables_of(number).iter();
            let analyze: Vec<String> =
                tables.map(|table| format!("ANALYZE TABLE {}", table.name())).collect();
            shard.run_all(&analyze, jobs)?;
        }
        Ok(())
    }

    /// Drops a load's tables on the shards, and the coordinator's server entries for the shards.
    pub(super) fn reset_shards(&self, coordinator: &mut Wire) -> Result<(), TargetError> {
        if self.shards.is_empty() {
            return Ok(());
        }
        self.shards.iter().try_for_each(Self::reset)?;
        self.drop_servers(coordinator)
    }

    /// Drops the coordinator's server entries for the shards.
    fn drop_servers(&self, coordinator: &mut Wire) -> Result<(), TargetError> {
        for server in server_names(coordinator).map_err(self.failed("look for shards"))? {
            coordinator
                .execute(&format!("DROP SERVER {server}"))
                .map_err(self.failed(&format!("drop the server {server}")))?;
        }
        Ok(())
    }

    /// Returns true if the existing tables are Spider's.
    pub(super) fn is_parted(&self) -> Result<bool, TargetError> {
        let mut known = self.parted.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(parted) = *known {
            return Ok(parted);
        }
        let engines = self.connect_wire()?.column(
            "SELECT engine FROM information_schema.tables WHERE table_schema = database() \
             AND table_name = 'warehouse'",
        );
        let engines = engines.map_err(self.failed("look for shards"))?;
        // Missing tables will be as the URL says.
        let Some(engine) = engines.first() else { return Ok(!self.shards.is_empty()) };
        Ok(*known.insert(is_spider(engine)))
    }

    /// Returns the shard of each warehouse, from the coordinator's catalogue. `None` if the tables are not Spider's.
    pub(super) fn read_placement(
        &self,
        mut wire: Wire,
        warehouses: u32,
    ) -> Result<Option<Placement>, TargetError> {
        if !self.is_parted()? {
            return Ok(None);
        }
        let mut parts = Vec::new();
        let mut from = 0;
        wire.query_each(
            "SELECT partition_description, concat(server, coalesce(concat(' (host=', servers.host, ' port=', \
             servers.port, ')'), '')) FROM information_schema.partitions JOIN mysql.spider_tables AS part \
             ON part.db_name = table_schema AND part.table_name = concat('warehouse#P#', partition_name) \
             LEFT JOIN mysql.servers AS servers ON server_name = server WHERE table_schema = database() \
             AND partitions.table_name = 'warehouse' AND partition_method = 'RANGE' \
             ORDER BY partition_ordinal_position",
            &mut |row| {
                if let [Some(below), node] = row {
                    let end = below.parse().ok();
                    parts.push(Part {
                        node: node.unwrap_or("a shard without a server").to_string(),
                        warehouses: end.map(|end| from..end).into_iter().collect(),
                    });
                    from = end.unwrap_or(u32::MAX);
                }
            },
        )
        .map_err(self.failed("look for shards (this wants SELECT on the database mysql)"))?;
        shards::placement(parts, warehouses, &self.config.place())
    }
}

impl Mysql {
    /// Returns the size of the database on each shard of the URL, as the engine there estimates it.
    pub(super) fn read_sizes(&self) -> Result<Option<Vec<NodeSize>>, TargetError> {
        let prefix = self.connect_wire()?.column(&format!("SELECT {PREFIX}"));
        let prefix = prefix.map_err(self.failed("name the shards"))?.concat();
        let size = |(number, (shard, (host, port))): (usize, (&Self, &(String, u16)))| {
            let bytes = shard
                .connect_wire()?
                .column(
                    "SELECT cast(coalesce(sum(data_length + index_length), 0) AS unsigned) \
                     FROM information_schema.tables WHERE table_schema = database()",
                )
                .map_err(shard.failed("ask for the size of the database"))?
                .concat();
            let bytes = bytes.parse().map_err(|_| {
                let place = shard.config.place();
                TargetError::database(format!("{place}: the server does not report the size of its data"))
            })?;
            Ok(NodeSize { node: format!("{prefix}{number} (host={host} port={port})"), bytes })
        };
        (1..).zip(self.shards.iter().zip(&self.config.shards)).map(size).collect::<Result<_, _>>().map(Some)
    }
}

/// Returns a loader for the coordinator and its shards.
pub(super) fn loader(coordinator: &Mysql) -> Result<ShardedLoader<MysqlLoader>, TargetError> {
    let shards =
        coordinator.shards.iter().map(|shard| MysqlLoader::open(&shard.config)).collect::<Result<_, _>>()?;
    let layout = coordinator.config.layout;
    // An interrupted load may have begun with another layout.
    let found = coordinator.found_layout(&mut coordinator.connect_wire()?)?;
    layout.check_load(found, &coordinator.config.place())?;
    Ok(ShardedLoader { coordinator: MysqlLoader::open(&coordinator.config)?, shards, layout })
}

/// Takes the right to load on all servers.
pub(super) fn lock(mysql: &Mysql) -> Result<Vec<LoadLock>, TargetError> {
    std::iter::once(&mysql.config)
        .chain(mysql.shards.iter().map(|shard| &shard.config))
        .map(LoadLock::take)
        .collect()
}
