//! Tables in partitions by hash of the warehouse, on one server: the URL option `partitions`.

use crate::postgres::config::Config;
use crate::postgres::connecting::SCHEMA;
use crate::postgres::wire::Wire;
use crate::postgres::{Postgres, fill_factor};
use lydite_database::TargetError;
use lydite_database::sql::meta::Admin;
use lydite_database::sql::sql_error::SqlError;
use lydite_tpcc::schema::Table;

/// Letter of the strategy in the catalog.
const HASH: &str = "h";
/// Mark of partitions on other servers. Tables of the user's own may be partitioned by lists too.
const SHARDS: &str = "shards";

/// Returns the name of a partition, counted from 1.
fn name(table: Table, number: u32) -> String {
    format!("{}_p{number}", table.name())
}

/// Returns the column by whose hash a load partitions a table; `None` if it makes a table without partitions.
pub(super) fn column(config: &Config, table: Table) -> Option<&'static str> {
    config.partitions.and(table.warehouse_column())
}

/// Returns the SQL that makes a table of partitions of `create`, the statement that makes one without. It ends in `;`.
pub(super) fn create(create: &str, (table, column, partitions): (Table, &str, u32)) -> String {
    // Tables of partitions have no storage of their own, so no storage options.
    let storage =
        fill_factor(table).map_or_else(String::new, |percent| format!(" WITH (fillfactor = {percent})"));
    let mut sql = format!("{create} PARTITION BY HASH ({column}); ");
    for number in 1..=partitions {
        sql += &format!(
            "CREATE TABLE {} PARTITION OF {} FOR VALUES WITH (MODULUS {partitions}, REMAINDER {}){storage}; ",
            name(table, number),
            table.name(),
            number - 1
        );
    }
    sql
}

/// Returns the names of all partitions that a load makes, as a list of SQL strings that begins with a comma.
pub(super) fn names(config: &Config) -> String {
    let of = |table: Table| {
        let count = column(config, table).and(config.partitions).unwrap_or(0);
        (1..=count).map(move |number| format!(", '{}'", name(table, number)))
    };
    Table::ALL.into_iter().flat_map(of).collect()
}

/// Returns the strategy of the partitions of WAREHOUSE, as the catalog has it, or [`SHARDS`], and their number; `None` if it has none.
fn found(wire: &mut Wire) -> Result<Option<(String, u32)>, SqlError> {
    let kinds = wire.column(&format!(
        "SELECT relkind FROM pg_class WHERE relname = 'warehouse' AND relnamespace = {SCHEMA}"
    ))?;
    // Not all that speaks the protocol has the other catalogs.
    if kinds != ["p"] {
        return Ok(None);
    }
    let mut found = None;
    wire.query_each(
        &format!(
            "SELECT CASE WHEN EXISTS (SELECT FROM pg_inherits JOIN pg_foreign_table ON ftrelid = inhrelid \
             WHERE inhparent = partrelid) THEN '{SHARDS}' ELSE partstrat::text END, \
             (SELECT count(*) FROM pg_inherits WHERE inhparent = partrelid) FROM pg_partitioned_table JOIN pg_class ON pg_class.oid = partrelid WHERE relname = 'warehouse' AND relnamespace = {SCHEMA}"
        ),
        &mut |row| {
            if let [Some(strategy), Some(count)] = row {
                found = count.parse().ok().map(|count| ((*strategy).to_owned(), count));
            }
        },
    )?;
    Ok(found)
}

/// Returns true if the tables of a database are partitioned over shards.
pub(super) fn over_shards(wire: &mut Wire) -> Result<bool, SqlError> {
    Ok(found(wire)?.is_some_and(|(strategy, _)| strategy == SHARDS))
}

/// Returns the number of partitions by hash of each table; `None` without any.
pub(super) fn by_hash(wire: &mut Wire) -> Result<Option<u32>, SqlError> {
    Ok(found(wire)?.filter(|(strategy, _)| strategy == HASH).map(|(_, count)| count))
}

impl Postgres {
    /// Rejects tables that have another number of partitions than the URL says, if it says one.
    pub(super) fn check_partitions(&self) -> Result<(), TargetError> {
        let Some(asked) = self.config.partitions.filter(|_| self.partitions_suit.get().is_none()) else {
            return Ok(());
        };
        let found = by_hash(&mut self.connect_wire()?).map_err(self.failed("look for partitions"))?;
        if found != Some(asked) {
            let found = found.map_or_else(|| "no".to_owned(), |count| count.to_string());
            return Err(TargetError::usage(format!(
                "{}: partitions={asked}: the tables have {found} partitions: leave the option out, or load again with \
                 --fresh",
                self.config.place()
            )));
        }
        self.partitions_suit.get_or_init(|| ());
        Ok(())
    }
}
