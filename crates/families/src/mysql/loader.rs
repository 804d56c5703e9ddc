//! Loading by `LOAD DATA LOCAL INFILE`, streamed from memory, or by INSERT of many rows where the server forbids that or
//! commits its rows by itself.
//!
//! A warehouse is one transaction, so it is stored whole or not at all. Databases that are not made for large
//! transactions load in batches with a transaction each.

use crate::mysql::config::Config;
use crate::mysql::connecting::{advised, connected};
use crate::mysql::copy::{Way, copy_in, way};
use crate::mysql::wire::Wire;
use lydite_database::sql::batch;
use lydite_database::sql::ddl;
use lydite_database::sql::meta::{self, Admin};
use lydite_database::sql::shards::ShardLoader;
use lydite_database::sql::sql_error::SqlError;
use lydite_database::{LoadProgress, LoadRows, LoadUnit, Loader, TargetError};
use lydite_tpcc::WarehouseId;
use lydite_tpcc::schema::Table;

pub(crate) struct MysqlLoader {
    wire: Wire,
    place: String,
    way: Way,
    /// Rows per batch; `None` if a warehouse is one transaction.
    batch: Option<u32>,
}

impl MysqlLoader {
    pub(crate) fn open(config: &Config) -> Result<Self, TargetError> {
        let place = config.place();
        let mut wire = connected(config)?;
        let way = way(&mut wire).map_err(|error| advised(error, "ask for local_infile", &place))?;
        let batch = config.batch.or(wire.product.batch);
        // Tables of the user's own may have foreign keys, and ITEM comes beside the first warehouses.
        wire.execute("SET SESSION foreign_key_checks = 0")
            .map_err(|error| advised(error, "set foreign_key_checks", &place))?;
        Ok(Self { wire, place, way, batch })
    }

    fn fill(
        &mut self,
        (unit, tables): (LoadUnit, &[Table]),
        rows: &LoadRows,
        progress: &LoadProgress,
    ) -> Result<(), SqlError> {
        self.wire.execute("START TRANSACTION")?;
        for &table in tables {
            self.table(rows, table, unit.warehouse(), progress).map_err(|error| match error {
                SqlError::Decode(detail) => SqlError::Decode(format!("{}: {detail}", table.name())),
                other => other,
            })?;
        }
        self.wire.execute(&format!("{}; COMMIT", meta::loaded(unit)))
    }

    fn table(
        &mut self,
        rows: &LoadRows,
        table: Table,
        warehouse: WarehouseId,
        progress: &LoadProgress,
    ) -> Result<(), SqlError> {
        let columns = ddl::column_list(table);
        copy_in(&mut self.wire, self.way, (table.name(), &columns), None, progress, |copy| {
            rows.write_table(table, warehouse, copy)
        })
    }

    fn in_batches(
        &mut self,
        mut batch: u32,
        (unit, tables): (LoadUnit, &[Table]),
        rows: &LoadRows,
        progress: &LoadProgress,
    ) -> Result<(), TargetError> {
        let Self { wire, place, way, .. } = self;
        let failed = |error, doing: &str| advised(error, doing, place);
        batch::load_unit(wire, (unit, tables), failed, |wire, table| {
            let columns = ddl::column_list(table);
            copy_in(wire, *way, (table.name(), &columns), Some(&mut batch), progress, |copy| {
                rows.write_table(table, unit.warehouse(), copy)
            })
        })?;
        // A batch that was too large is too large for the next unit too.
        self.batch = Some(batch);
        Ok(())
    }
}

impl Loader for MysqlLoader {
    fn load(&mut self, unit: LoadUnit, rows: &LoadRows, progress: &LoadProgress) -> Result<(), TargetError> {
        self.load_tables(unit, unit.tables(), rows, progress)
    }
}

impl ShardLoader for MysqlLoader {
    fn load_tables(
        &mut self,
        unit: LoadUnit,
        tables: &[Table],
        rows: &LoadRows,
        progress: &LoadProgress,
    ) -> Result<(), TargetError> {
        if let Some(batch) = self.batch {
            return self.in_batches(batch, (unit, tables), rows, progress);
        }
        let loaded = self.fill((unit, tables), rows, progress);
        if loaded.is_err() {
            // The first error is the one that matters.
            let _undone = self.wire.execute("ROLLBACK");
        }
        loaded.map_err(|error| advised(error, &format!("load {unit}"), &self.place))
    }

    fn has_loaded(&mut self, unit: LoadUnit) -> Result<bool, TargetError> {
        let noted =
            self.wire.column(&format!("SELECT unit FROM lydite_load WHERE unit = {}", unit.warehouse()));
        let noted = noted.map_err(|error| advised(error, "look for what is loaded", &self.place))?;
        Ok(!noted.is_empty())
    }

    fn note(&mut self, unit: LoadUnit) -> Result<(), TargetError> {
        let noted = self.wire.execute(&meta::loaded(unit));
        noted.map_err(|error| advised(error, &format!("note {unit} as loaded"), &self.place))
    }
}
