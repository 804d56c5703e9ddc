//! Loading, a warehouse at a time.
//!
//! `COPY` loads a warehouse in one transaction, so it is stored whole or not at all. Databases that are not made for
//! large transactions load in batches with a transaction each.

use crate::postgres::config::Config;
use crate::postgres::connecting::{SCHEMA, advised, connected};
use crate::postgres::copy::{Batches, copy_in};
use crate::postgres::load_lock;
use crate::postgres::wire::Wire;
use lydite_database::sql::batch;
use lydite_database::sql::ddl;
use lydite_database::sql::meta::{self, Admin};
use lydite_database::sql::shards::ShardLoader;
use lydite_database::sql::sql_error::SqlError;
use lydite_database::{LoadProgress, LoadRows, LoadUnit, Loader, TargetError};
use lydite_tpcc::WarehouseId;
use lydite_tpcc::schema::{Column, ColumnType, Table};
use std::collections::HashMap;

pub(crate) struct PgLoader {
    wire: Wire,
    place: String,
    /// Rows per batch; `None` if a warehouse is one transaction.
    batch: Option<u32>,
    /// Bounds of the columns with whole numbers, by name. Tables of the user's own, and those of an older Lydite whose
    /// load is resumed, may have other lengths than new ones.
    bounds: HashMap<String, u64>,
}

/// Bounds of the values of PostgreSQL's types of whole numbers.
const BOUNDS: [(&str, u64); 3] = [("smallint", 1 << 15), ("integer", 1 << 31), ("bigint", 1 << 63)];

impl PgLoader {
    pub(crate) fn open(config: &Config) -> Result<Self, TargetError> {
        let place = config.place();
        let mut wire = connected(config)?;
        load_lock::share(&mut wire, config.product)
            .map_err(|error| advised(error, "join the load", &place))?;
        let mut bounds = HashMap::new();
        wire.query_each(
            &format!(
                "SELECT attname, format_type(atttypid, NULL) FROM pg_attribute JOIN pg_class \
                 ON pg_class.oid = attrelid WHERE relnamespace = {SCHEMA} AND relname IN ({})",
                ddl::table_names()
            ),
            &mut |row| {
                if let [Some(name), Some(kind)] = row
                    && let Some((_, bound)) = BOUNDS.iter().find(|(known, _)| known == kind)
                {
                    bounds.insert((*name).to_owned(), *bound);
                }
            },
        )
        .map_err(|error| advised(error, "look for the types of the columns", &place))?;
        Ok(Self { wire, place, batch: config.batch, bounds })
    }

    fn table(
        &mut self,
        rows: &LoadRows,
        table: Table,
        warehouse: WarehouseId,
        progress: &LoadProgress,
    ) -> Result<(), SqlError> {
        let types = types(table, &self.bounds);
        copy_in(&mut self.wire, table.name(), &ddl::column_list(table), types, progress, |copy| {
            rows.write_table(table, warehouse, copy)
        })
    }

    fn failed(&self, doing: impl Into<String>) -> impl Fn(SqlError) -> TargetError {
        let (doing, place) = (doing.into(), self.place.clone());
        move |error| advised(error, &doing, &place)
    }

    fn whole(
        &mut self,
        (unit, tables): (LoadUnit, &[Table]),
        rows: &LoadRows,
        progress: &LoadProgress,
    ) -> Result<(), TargetError> {
        self.wire.execute("BEGIN").map_err(self.failed("begin"))?;
        for &table in tables {
            let copied = self.table(rows, table, unit.warehouse(), progress);
            copied.map_err(self.failed(format!("load {unit}: {}", table.name())))?;
        }
        self.wire
            .execute(&format!("{}; COMMIT", meta::loaded(unit)))
            .map_err(self.failed(format!("commit {unit}")))
    }

    fn in_batches(
        &mut self,
        mut batch: u32,
        (unit, tables): (LoadUnit, &[Table]),
        rows: &LoadRows,
        progress: &LoadProgress,
    ) -> Result<(), TargetError> {
        let Self { wire, place, bounds, .. } = self;
        let failed = |error, doing: &str| advised(error, doing, place);
        batch::load_unit(wire, (unit, tables), failed, |wire, table| {
            let mut batches = Batches::new(wire, (table, types(table, bounds)), &mut batch, progress);
            rows.write_table(table, unit.warehouse(), &mut batches).and_then(|()| batches.end())
        })?;
        // A batch that was too large is too large for the next unit too.
        self.batch = Some(batch);
        Ok(())
    }
}

/// Returns the types of a table's columns. The names of columns are different in all tables.
fn types(table: Table, bounds: &HashMap<String, u64>) -> Vec<ColumnType> {
    let of = |column: &Column| match (column.kind, bounds.get(column.name)) {
        (ColumnType::Integer { .. }, Some(&below)) => ColumnType::Integer { below },
        (kind, _) => kind,
    };
    table.schema().columns.iter().map(of).collect()
}

impl Loader for PgLoader {
    fn load(&mut self, unit: LoadUnit, rows: &LoadRows, progress: &LoadProgress) -> Result<(), TargetError> {
        self.load_tables(unit, unit.tables(), rows, progress)
    }
}

impl ShardLoader for PgLoader {
    fn load_tables(
        &mut self,
        unit: LoadUnit,
        tables: &[Table],
        rows: &LoadRows,
        progress: &LoadProgress,
    ) -> Result<(), TargetError> {
        match self.batch {
            None => self.whole((unit, tables), rows, progress),
            Some(batch) => self.in_batches(batch, (unit, tables), rows, progress),
        }
    }

    fn has_loaded(&mut self, unit: LoadUnit) -> Result<bool, TargetError> {
        let noted =
            self.wire.column(&format!("SELECT unit FROM lydite_load WHERE unit = {}", unit.warehouse()));
        let noted = noted.map_err(self.failed("look for what is loaded"))?;
        Ok(!noted.is_empty())
    }

    fn note(&mut self, unit: LoadUnit) -> Result<(), TargetError> {
        let noted = self.wire.execute(&meta::loaded(unit));
        noted.map_err(self.failed(format!("note {unit} as loaded")))
    }
}
