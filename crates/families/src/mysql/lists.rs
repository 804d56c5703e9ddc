//! The workload of isolation checks on MySQL's family: a table in each engine that the URL names, or on each shard.

use crate::mysql::config::Config;
use crate::mysql::wire::Wire;
use crate::mysql::{Mysql, schema, spider};
use lydite_database::lists::{check_none, is_table_name, table_name};
use lydite_database::sql::lists::{ListSession, ListStatement, create_table, insert};
use lydite_database::sql::meta::Admin;
use lydite_database::sql::sql_error::SqlError;
use lydite_database::{ListTarget, Lists, Session, TargetError};
use lydite_tpcc::schema::Table;
use std::collections::BTreeSet;
use std::ops::Range;
use std::time::Duration;

/// Name of the coordinator's entry for a shard, up to the number. It contains the database, because these names belong
/// to the coordinator as a whole.
const PREFIX: &str = "concat('lydite_isolation_', left(md5(database()), 12), '_')";

/// Returns the names of the coordinator's entries for the shards of an isolation check in this database.
pub(super) fn server_names(coordinator: &mut Wire) -> Result<Vec<String>, SqlError> {
    coordinator.column(&format!(
        "SELECT server_name FROM mysql.servers WHERE left(server_name, 30) = {PREFIX} \
         AND substr(server_name, 31) REGEXP '^[0-9]+$'"
    ))
}

impl Config {
    /// Returns the engines of the tables, as the URL has them; `None` stands for the server's default. On one server, an
    /// isolation check makes a table in each.
    pub(super) fn list_engines(&self) -> Vec<Option<String>> {
        let engine = |table| self.engine_of(table).map(str::to_ascii_lowercase);
        let engines: BTreeSet<Option<String>> = Table::ALL.into_iter().map(engine).collect();
        engines.into_iter().collect()
    }
}

impl Mysql {
    /// Returns the number of tables.
    fn list_tables(&self) -> usize {
        if self.shards.is_empty() { self.config.list_engines().len() } else { self.shards.len() }
    }

    /// Returns `CREATE TABLE` for a place.
    fn list_table(&self, wire: &Wire, place: usize) -> String {
        create_table(wire.product.dialect, "CREATE TABLE", place, " PRIMARY KEY") + schema::CHARACTERS
    }

    /// Returns the names of the coordinator's entries for the shards.
    fn list_servers(&self, wire: &mut Wire) -> Result<Vec<String>, TargetError> {
        let prefix =
            wire.column(&format!("SELECT {PREFIX}")).map_err(self.failed("name the shards"))?.concat();
        Ok((1..=self.shards.len()).map(|shard| format!("{prefix}{shard}")).collect())
    }

    /// Creates the tables, which must not exist.
    fn create_list_tables(&self) -> Result<(), TargetError> {
        let mut wire = self.connect_wire()?;
        let failed = self.failed("create a table for the isolation check");
        if self.shards.is_empty() {
            for (place, engine) in self.config.list_engines().into_iter().enumerate() {
                let engine = engine.map_or_else(String::new, |engine| format!(" ENGINE = {engine}"));
                let parts = self.config.partitions.map_or_else(String::new, |partitions| {
                    format!(" PARTITION BY HASH (id) PARTITIONS {partitions}")
                });
                let sql = self.list_table(&wire, place) + &engine + &parts;
                wire.execute(&sql).map_err(&failed)?;
            }
            return Ok(());
        }
        self.check_spider(&mut wire)?;
        let servers = self.list_servers(&mut wire)?;
        for (place, (shard, name)) in self.shards.iter().zip(&servers).enumerate() {
            let mut on_shard = shard.connect_wire()?;
            let sql = self.list_table(&on_shard, place);
            on_shard.execute(&sql).map_err(shard.failed("create a table for the isolation check"))?;
            wire.execute(&spider::create_server(name, &shard.config, &self.config.shards[place]))
                .map_err(&failed)?;
            let table = table_name(place);
            let there = format!("'wrapper \"mysql\", table \"{table}\", srv \"{name}\"'");
            let sql = format!("{} ENGINE = SPIDER COMMENT = {there}", self.list_table(&wire, place));
            wire.execute(&sql).map_err(&failed)?;
        }
        Ok(())
    }
}

impl ListTarget for Mysql {
    fn places(&self) -> Result<Vec<String>, TargetError> {
        if !self.shards.is_empty() {
            return Ok((1..=self.shards.len()).map(|shard| format!("shard {shard}")).collect());
        }
        let engines = self.config.list_engines();
        if engines.len() == 1 {
            return Ok(Vec::new());
        }
        let default = self
            .connect_wire()?
            .column("SELECT @@default_storage_engine")
            .map_err(self.failed("ask for the engine"))?
            .concat();
        Ok(engines.into_iter().map(|engine| engine.unwrap_or_else(|| default.to_ascii_lowercase())).collect())
    }

    fn create_lists(&self) -> Result<(), TargetError> {
        self.check_engines()?;
        for server in std::iter::once(self).chain(&self.shards) {
            let there = server.tables(&mut server.connect_wire()?)?;
            check_none(&server.config.place(), there.iter().map(String::as_str))?;
        }
        let created = self.create_list_tables();
        if created.is_err() {
            // The first error is the one that matters.
            let _dropped = self.drop_lists();
        }
        created
    }

    fn add_keys(&self, numbers: Range<u32>) -> Result<(), TargetError> {
        let mut wire = self.connect_wire()?;
        (0..self.list_tables()).try_for_each(|place| {
            wire.execute(&insert(place, numbers.clone())).map_err(self.failed("add keys"))
        })
    }

    fn connect_lists(&self, longest_wait: Duration) -> Result<Box<dyn Session<Lists>>, TargetError> {
        let product = self.product()?;
        let statements = ListStatement::all(self.own_dialect(product), self.list_tables());
        let settings = vec![Self::limit_of_waits(product, longest_wait)];
        let (connection, _) = self.opening(settings, &statements, false).open()?;
        Ok(Box::new(ListSession::new(connection)))
    }

    fn drop_lists(&self) -> Result<(), TargetError> {
        let mut wire = self.connect_wire()?;
        // Those of another URL too: of other engines, or of other shards.
        let drop_tables = |server: &Self, wire: &mut Wire| {
            server.tables(wire)?.iter().filter(|name| is_table_name(name)).try_for_each(|name| {
                wire.execute(&format!("DROP TABLE IF EXISTS {name}"))
                    .map_err(server.failed("drop the tables of the isolation check"))
            })
        };
        drop_tables(self, &mut wire)?;
        for server in self.list_servers(&mut wire)? {
            wire.execute(&format!("DROP SERVER IF EXISTS {server}"))
                .map_err(self.failed(&format!("drop the server {server}")))?;
        }
        self.shards.iter().try_for_each(|shard| drop_tables(shard, &mut shard.connect_wire()?))
    }
}
