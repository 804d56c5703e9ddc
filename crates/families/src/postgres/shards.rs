//! PostgreSQL over several servers. `postgres_fdw` partitions the tables of the warehouses over shards. ITEM, which no
//! transaction writes, is on the server of the URL, the coordinator. Transactions go through the coordinator; a load
//! writes to the shards directly. Options of the URL put ITEM on one shard, or the parts of each table on other shards
//! than those of the other tables.
//!
//! Each shard has the tables under their own names, with the rows of its warehouses alone. PostgreSQL's limits remain:
//! there is no common snapshot, no atomic commit and no search for deadlocks over several servers.

use crate::postgres::config::Config;
use crate::postgres::connecting::SCHEMA;
use crate::postgres::load_lock::LoadLock;
use crate::postgres::loader::PgLoader;
use crate::postgres::partitions::over_shards;
use crate::postgres::wire::Wire;
use crate::postgres::{Postgres, create_table, session};
use lydite_database::sql::ddl;
use lydite_database::sql::meta::{Admin, CREATE_PROGRESS};
use lydite_database::sql::shards::{self, Layout, Part, ShardedLoader};
use lydite_database::{NodeSize, TargetError};
use lydite_tpcc::Placement;
use lydite_tpcc::meta::DatabaseMeta;
use lydite_tpcc::schema::Table;
use std::ops::Range;

/// Longest wait of a statement for a lock on a shard. Without it, transactions that wait for each other on two shards
/// would wait for ever, because each server sees half of the ring.
const LOCK_TIMEOUT: &str = "5s";

/// Settings of a session on the coordinator. Plans are made for the values of each call, since a plan for all values
/// queries all shards. Joins and sums run shard by shard.
pub(super) const SESSION: &str = "SET plan_cache_mode = force_custom_plan; \
     SET enable_partitionwise_join = on; SET enable_partitionwise_aggregate = on";

/// Returns the name of a shard's foreign server.
fn server(shard: usize) -> String {
    format!("lydite_shard_{}", shard + 1)
}

/// Returns the name of a table's partition on a shard, counted from 0.
pub(super) fn partition(table: Table, shard: usize) -> String {
    format!("{}_{}", table.name(), shard + 1)
}

/// Returns the numbers of warehouses as SQL: `1, 2, 3`.
pub(super) fn list(warehouses: impl IntoIterator<Item = u32>) -> String {
    let numbers: Vec<String> = warehouses.into_iter().map(|number| number.to_string()).collect();
    numbers.join(", ")
}

/// Returns a text as an SQL literal.
pub(super) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

impl Postgres {
    /// Rejects shards that already have tables of these names, and databases with too few warehouses for the shards.
    pub(super) fn check_shards(&self, wire: &mut Wire, meta: &DatabaseMeta) -> Result<(), TargetError> {
        shards::check_count(self.shards.len(), meta)?;
        if !self.shards.is_empty() {
            let servers = self.servers(wire)?;
            if !servers.is_empty() {
                return Err(TargetError::usage(format!(
                    "{}: there are entries of shards already ({}), of another schema, or of a load or drop that was \
                     stopped: if nobody needs them, --fresh drops them",
                    self.config.place(),
                    servers.join(", ")
                )));
            }
        }
        for shard in &self.shards {
            let there = shard.tables(&mut shard.connect_wire()?)?;
            shards::check_empty(&shard.config.place(), &there)?;
        }
        Ok(())
    }

    /// Creates the tables of the shards. Returns the SQL that creates those of the coordinator.
    pub(super) fn create_shards(&self, meta: &DatabaseMeta) -> Result<String, TargetError> {
        let dialect = session::dialect(self.config.isolation);
        let mut sql = String::from("CREATE EXTENSION IF NOT EXISTS postgres_fdw; ");
        for table in Table::OF_WAREHOUSE {
            let Some(column) = table.warehouse_column() else { continue };
            sql += &format!("{} PARTITION BY LIST ({column}); ", ddl::create_table(dialect, table, ""));
        }
        let mut schemas = Vec::new();
        for (index, shard) in self.shards.iter().enumerate() {
            let mut wire = shard.connect_wire()?;
            shard.check_names(&mut wire, self.config.layout.tables_of(index))?;
            let mut tables = format!("BEGIN; {CREATE_PROGRESS}; ");
            for &table in self.config.layout.tables_of(index) {
                tables += &create_table(&shard.config, table);
            }
            wire.execute(&(tables + "COMMIT")).map_err(shard.failed("create the tables"))?;
            let schema =
                wire.column("SELECT current_schema()").map_err(shard.failed("look for the schema"))?.concat();
            schemas.push(quoted(&schema));
            sql += &self.foreign_server(&server(index), index, &shard.config, LOCK_TIMEOUT);
        }
        let on_shard = |table: Table, shard: usize| {
            let (server, schema, name) = (server(shard), &schemas[shard], table.name());
            format!("SERVER {server} OPTIONS (schema_name {schema}, table_name '{name}'); ")
        };
        if self.config.layout.items_single() {
            let item = ddl::create_table(dialect, Table::Item, "");
            let item = item.replacen("CREATE TABLE", "CREATE FOREIGN TABLE", 1);
            sql += &format!("{item} {}", on_shard(Table::Item, shards::ITEMS_SHARD));
        }
        let count = self.shards.len();
        for index in 0..count {
            let warehouses = list(shards::planned_range(count, meta.warehouses, index));
            for table in Table::OF_WAREHOUSE {
                sql += &format!(
                    "CREATE FOREIGN TABLE {} PARTITION OF {} FOR VALUES IN ({warehouses}) {}",
                    partition(table, index),
                    table.name(),
                    on_shard(table, self.config.layout.shard_of(table, index, count)),
                );
            }
        }
        Ok(sql)
    }

    /// Returns the layout of the existing partitioned tables, from the coordinator's catalog.
    pub(super) fn found_layout(&self, wire: &mut Wire) -> Result<Layout, TargetError> {
        let first: Vec<String> =
            Table::OF_WAREHOUSE.iter().map(|&table| quoted(&partition(table, 0))).collect();
        let told = wire
            .column(&format!(
                "SELECT (SELECT relkind = 'f' FROM pg_class WHERE relname = 'item' AND relnamespace = {SCHEMA}) \
                 UNION ALL SELECT count(DISTINCT ftserver) = 1 FROM pg_foreign_table JOIN pg_class ON oid = ftrelid \
                 WHERE relnamespace = {SCHEMA} AND relname IN ({})",
                first.join(", ")
            ))
            .map_err(self.failed("look for the placement of the tables"))?;
        match &told[..] {
            [single, colocated] => Ok(Layout::found(single == "t", colocated == "t")),
            _ => Err(TargetError::database(format!(
                "{}: there is no table item beside those over the shards: load again with --fresh",
                self.config.place()
            ))),
        }
    }

    /// Returns the SQL that makes a foreign server of this name for a shard, on which no wait for a lock is longer. The
    /// coordinator's sessions there inherit settings too, see [`super::inherited`].
    pub(super) fn foreign_server(
        &self,
        name: &str,
        index: usize,
        shard: &Config,
        longest_wait: &str,
    ) -> String {
        let (host, port) = &self.config.shards[index];
        format!(
            "CREATE SERVER {name} FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host {}, port '{port}', dbname {}, \
             fetch_size '10000', batch_size '100', async_capable 'true', options '-c lock_timeout={longest_wait} \
             -c statement_timeout=0 -c idle_in_transaction_session_timeout=0 -c default_transaction_read_only=off \
             -c default_transaction_deferrable=off'); ",
            quoted(host),
            quoted(&shard.database),
        )
    }

    /// Sets the user and the password with which the coordinator connects to the shards. Each shard has a statement of
    /// its own: the server logs a failed statement, and this one contains the password.
    pub(super) fn map_users(&self, coordinator: &mut Wire) -> Result<(), TargetError> {
        self.shards.iter().enumerate().try_for_each(|(index, shard)| {
            coordinator
                .execute(&map_user(&server(index), &shard.config))
                .map_err(self.failed("map the coordinator's user to the shards"))
        })
    }

    /// Builds the shards' keys and indexes and gathers their statistics.
    pub(super) fn finish_shards(&self, jobs: usize) -> Result<(), TargetError> {
        for (index, shard) in self.shards.iter().enumerate() {
            let tables = self.config.layout.tables_of(index);
            shard.run_all(&shard.keys_and_indexes(tables)?, jobs)?;
            shard.run_all(&super::vacuums(&shard.config, tables), jobs)?;
            let _only_superusers_may = shard.connect_wire()?.execute("CHECKPOINT");
        }
        // The coordinator plans joins over rows of a shard by statistics of its own. To gather them it reads the
        // shard's tables.
        let item = self.config.layout.items_single().then(|| "ANALYZE item".to_string());
        let analyze: Vec<String> = (0..self.shards.len())
            .flat_map(|shard| Table::OF_WAREHOUSE.map(|table| format!("ANALYZE {}", partition(table, shard))))
            .chain(item)
            .collect();
        self.run_all(&analyze, jobs)
    }

    /// Returns the coordinator's foreign servers for shards.
    fn servers(&self, coordinator: &mut Wire) -> Result<Vec<String>, TargetError> {
        coordinator
            .column(
                "SELECT srvname FROM pg_foreign_server WHERE srvname ~ '^lydite_shard_[0-9]+$' ORDER BY 1",
            )
            .map_err(self.failed("look for shards"))
    }

    /// Drops the coordinator's foreign servers for the shards.
    pub(super) fn drop_servers(&self, coordinator: &mut Wire) -> Result<(), TargetError> {
        for server in self.servers(coordinator)? {
            // Other objects that depend on the server were not made by Lydite. They stay, and the drop fails.
            coordinator
                .execute(&format!(
                    "DROP USER MAPPING IF EXISTS FOR CURRENT_USER SERVER {server}; DROP SERVER {server}"
                ))
                .map_err(self.failed(&format!("drop the server {server}")))?;
        }
        Ok(())
    }

    /// Returns the shard of each warehouse, from the coordinator's catalog. `None` if the tables are not partitioned.
    pub(super) fn read_placement(&self, warehouses: u32) -> Result<Option<Placement>, TargetError> {
        let mut wire = self.connect_wire()?;
        let mut parts = Vec::new();
        wire.query_each(
            &format!(
                "SELECT srvname, pg_get_expr(child.relpartbound, child.oid), \
                 (SELECT string_agg(option, ' ' ORDER BY option) FROM unnest(srvoptions) AS option \
                 WHERE option LIKE 'host=%' OR option LIKE 'port=%') \
                 FROM pg_class AS parent JOIN pg_inherits ON inhparent = parent.oid JOIN pg_class AS child \
                 ON child.oid = inhrelid JOIN pg_foreign_table ON ftrelid = child.oid JOIN pg_foreign_server AS server \
                 ON server.oid = ftserver WHERE parent.relname = 'warehouse' AND parent.relnamespace = {SCHEMA} \
                 ORDER BY length(srvname), srvname"
            ),
            &mut |row| {
                if let [Some(name), Some(bounds), options] = row {
                    parts.push(Part {
                        node: format!("{name} ({})", options.unwrap_or_default()),
                        warehouses: warehouses_of(bounds),
                    });
                }
            },
        )
        .map_err(self.failed("look for shards"))?;
        shards::placement(parts, warehouses, &self.config.place())
    }
}

/// Returns the SQL that sets the user and the password with which the coordinator connects to a shard.
pub(super) fn map_user(server: &str, shard: &Config) -> String {
    let password =
        shard.password().map_or_else(String::new, |password| format!(", password {}", quoted(&password)));
    let user = quoted(&shard.user);
    format!("CREATE USER MAPPING FOR CURRENT_USER SERVER {server} OPTIONS (user {user}{password})")
}

/// Reads a size in bytes from a row of the catalog.
fn size(node: String, bytes: Option<&str>, place: &str) -> Result<NodeSize, TargetError> {
    let known = bytes.and_then(|bytes| bytes.parse().ok()).map(|bytes| NodeSize { node, bytes });
    known.ok_or_else(|| {
        TargetError::database(format!("{place}: the server does not report the size of its data"))
    })
}

impl Postgres {
    /// Returns the size of the database on each server. `None` if the servers do not report it, or if the URL does not
    /// name the shards.
    pub(super) fn read_sizes(&self) -> Result<Option<Vec<NodeSize>>, TargetError> {
        let place = self.config.place();
        if let Some(catalog) = self.config.product.placement {
            let errors = (&*place, self.failed("ask the nodes for their sizes"));
            return catalog.sizes(&mut self.connect_wire()?, errors);
        }
        if !self.shards.is_empty() {
            let sizes = self.shards.iter().zip(&self.config.shards).enumerate().map(
                |(index, (shard, (host, port)))| {
                    shard.size(format!("{} (host={host} port={port})", server(index)))
                },
            );
            return sizes.collect::<Result<_, _>>().map(Some);
        }
        if over_shards(&mut self.connect_wire()?).map_err(self.failed("look for tables"))? {
            return Ok(None);
        }
        Ok(Some(vec![self.size(place)?]))
    }

    /// Returns the size of the database on this server.
    fn size(&self, node: String) -> Result<NodeSize, TargetError> {
        let bytes = self
            .connect_wire()?
            .column("SELECT pg_database_size(current_database())")
            .map_err(self.failed("ask for the size of the database"))?
            .concat();
        size(node, Some(&bytes), &self.config.place())
    }
}

/// Reads the warehouses of a partition: `FOR VALUES IN (1, 2, 3)`, as a load makes them, or `FOR VALUES FROM (1) TO (4)`.
/// Empty if the bounds are others.
pub(super) fn warehouses_of(bounds: &str) -> Vec<Range<u32>> {
    let number = |text: &str| text.trim().trim_matches('\'').parse::<u32>().ok();
    let read = || {
        if let Some(list) = bounds.strip_prefix("FOR VALUES IN (") {
            let numbers = list.strip_suffix(')')?.split(',').map(number);
            return numbers.map(|number| number.map(|number| number..number + 1)).collect();
        }
        let (from, to) = bounds.strip_prefix("FOR VALUES FROM (")?.split_once(") TO (")?;
        Some(std::iter::once(number(from)?..number(to.strip_suffix(')')?)?).collect())
    };
    read().unwrap_or_default()
}

/// Returns a loader for the coordinator and its shards.
pub(super) fn loader(coordinator: &Postgres) -> Result<ShardedLoader<PgLoader>, TargetError> {
    let shards =
        coordinator.shards.iter().map(|shard| PgLoader::open(&shard.config)).collect::<Result<_, _>>()?;
    let layout = coordinator.config.layout;
    // An interrupted load may have begun with another layout.
    let found = coordinator.found_layout(&mut coordinator.connect_wire()?)?;
    layout.check_load(found, &coordinator.config.place())?;
    Ok(ShardedLoader { coordinator: PgLoader::open(&coordinator.config)?, shards, layout })
}

/// Takes the right to load on all servers.
pub(super) fn lock(postgres: &Postgres) -> Result<Vec<LoadLock>, TargetError> {
    std::iter::once(&postgres.config)
        .chain(postgres.shards.iter().map(|shard| &shard.config))
        .map(LoadLock::take)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bounds_of_a_partition_are_read_as_the_catalog_writes_them() {
        assert_eq!(warehouses_of("FOR VALUES IN (1, 2, 5)"), [1..2, 2..3, 5..6]);
        assert_eq!(warehouses_of("FOR VALUES IN ('1', '5')"), [1..2, 5..6]);
        assert_eq!(warehouses_of("FOR VALUES IN (1, NULL)"), []);
        let range = std::slice::from_ref(&(1..4));
        assert_eq!(warehouses_of("FOR VALUES FROM (1) TO (4)"), range);
        assert_eq!(warehouses_of("FOR VALUES FROM ('1') TO ('4')"), range);
        assert_eq!(warehouses_of("FOR VALUES FROM (MINVALUE) TO (4)"), []);
        assert_eq!(warehouses_of("DEFAULT"), []);
    }
}
