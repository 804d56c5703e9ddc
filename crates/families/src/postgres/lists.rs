//! The workload of isolation checks on PostgreSQL, with a table on each shard if the URL names shards.

use crate::postgres::Postgres;
use crate::postgres::connecting::{SCHEMA, TABLE_KINDS};
use crate::postgres::session::dialect;
use crate::postgres::shards::{self, quoted};
use crate::postgres::wire::Wire;
use lydite_database::lists::{check_none, is_table_name, table_name};
use lydite_database::sql::lists::{ListSession, ListStatement, create_table, insert};
use lydite_database::sql::meta::Admin;
use lydite_database::sql::sql_error::SqlError;
use lydite_database::{ListTarget, Lists, Session, TargetError};
use std::ops::Range;
use std::time::Duration;

/// Longest wait of a statement for a lock on a shard. Rings over two shards end by it, and sessions that wait see nothing.
const LOCK_TIMEOUT: &str = "1s";

/// Primary key of a table.
const KEY: &str = " PRIMARY KEY";

/// Returns the name of a shard's foreign server. Those of a load, if there is one, stay as they are.
fn server(shard: usize) -> String {
    format!("{}_shard", table_name(shard))
}

/// Drops all tables of isolation checks on a server.
fn drop_list_tables(wire: &mut Wire) -> Result<(), SqlError> {
    let mut drops = Vec::new();
    wire.query_each(
        &format!(
            "SELECT relname, CASE relkind WHEN 'f' THEN 'FOREIGN TABLE' WHEN 'v' THEN 'VIEW' \
             WHEN 'm' THEN 'MATERIALIZED VIEW' ELSE 'TABLE' END \
             FROM pg_class WHERE relnamespace = {SCHEMA} AND relkind IN {TABLE_KINDS}"
        ),
        &mut |row| {
            if let [Some(name), Some(kind)] = row
                && is_table_name(name)
            {
                drops.push(format!("DROP {kind} IF EXISTS {name}"));
            }
        },
    )?;
    drops.iter().try_for_each(|drop| wire.execute(drop))
}

impl Postgres {
    /// Creates the tables of the shards and of the coordinator, which must not exist.
    fn create_list_tables(&self) -> Result<(), TargetError> {
        let dialect = dialect(self.config.isolation);
        let mut wire = self.connect_wire()?;
        if self.shards.is_empty() {
            let sql = create_table(dialect, "CREATE TABLE", 0, KEY);
            return wire.execute(&sql).map_err(self.failed("create a table for the isolation check"));
        }
        let failed = self.failed("prepare the shards for the isolation check");
        wire.execute("CREATE EXTENSION IF NOT EXISTS postgres_fdw").map_err(&failed)?;
        for (number, shard) in self.shards.iter().enumerate() {
            let mut on_shard = shard.connect_wire()?;
            let failed_there = shard.failed("create a table for the isolation check");
            on_shard.execute(&create_table(dialect, "CREATE TABLE", number, KEY)).map_err(&failed_there)?;
            let schema = on_shard.column("SELECT current_schema()").map_err(&failed_there)?.concat();
            let name = server(number);
            wire.execute(&self.foreign_server(&name, number, &shard.config, LOCK_TIMEOUT))
                .map_err(&failed)?;
            wire.execute(&shards::map_user(&name, &shard.config)).map_err(&failed)?;
            wire.execute(&format!(
                "{} SERVER {name} OPTIONS (schema_name {}, table_name '{}')",
                create_table(dialect, "CREATE FOREIGN TABLE", number, ""),
                quoted(&schema),
                table_name(number)
            ))
            .map_err(&failed)?;
        }
        Ok(())
    }
}

impl ListTarget for Postgres {
    fn places(&self) -> Result<Vec<String>, TargetError> {
        Ok((1..=self.shards.len()).map(|shard| format!("shard {shard}")).collect())
    }

    fn create_lists(&self) -> Result<(), TargetError> {
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
        (0..self.shards.len().max(1)).try_for_each(|place| {
            wire.execute(&insert(place, numbers.clone())).map_err(self.failed("add keys"))
        })
    }

    fn connect_lists(&self, longest_wait: Duration) -> Result<Box<dyn Session<Lists>>, TargetError> {
        let statements = ListStatement::all(dialect(self.config.isolation), self.shards.len().max(1));
        let (connection, _) = self.opening("", &statements).waiting(longest_wait).open()?;
        Ok(Box::new(ListSession::new(connection)))
    }

    fn drop_lists(&self) -> Result<(), TargetError> {
        let mut wire = self.connect_wire()?;
        let failed = self.failed("drop the tables of the isolation check");
        // Those of another URL too: of other shards, or without any.
        drop_list_tables(&mut wire).map_err(&failed)?;
        for (number, shard) in self.shards.iter().enumerate() {
            let server = server(number);
            wire.execute(&format!(
                "DROP USER MAPPING IF EXISTS FOR CURRENT_USER SERVER {server}; DROP SERVER IF EXISTS {server}"
            ))
            .map_err(&failed)?;
            drop_list_tables(&mut shard.connect_wire()?)
                .map_err(shard.failed("drop the tables of the isolation check"))?;
        }
        Ok(())
    }
}
