//! The rows of a load: made from a seed, or read from files.

use crate::error::TargetError;
use lydite_tpcc::WarehouseId;
use lydite_tpcc::meta::{DatabaseMeta, POPULATION_VERSION, Played, Scripts};
use lydite_tpcc::population::{Population, RowWriter};
use lydite_tpcc::rows::AnyRow;
use lydite_tpcc::schema::Table;
use std::fmt::Debug;
use std::ops::ControlFlow;
use std::sync::Arc;

/// The rows of a load. Cheap to clone.
#[derive(Clone, Debug)]
pub enum LoadRows {
    /// Rows that are made from a seed.
    Made(Population),
    /// Rows that are read from files.
    Read(Arc<dyn RowFiles>),
}

/// Files with the rows of all warehouses. They were checked before the load.
pub trait RowFiles: Send + Sync + Debug {
    /// Returns the description of a database with these rows.
    fn meta(&self) -> &DatabaseMeta;

    /// Passes the rows of `table` for warehouse `w`, of ITEM all rows, to `take` until it breaks.
    ///
    /// # Errors
    /// A file can't be read, or was changed since it was checked.
    fn read(
        &self,
        table: Table,
        w: WarehouseId,
        take: &mut dyn FnMut(AnyRow<'_>) -> ControlFlow<()>,
    ) -> Result<(), RowsLost>;
}

/// A file of rows that can't be read during a load.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct RowsLost(pub String);

impl From<RowsLost> for TargetError {
    fn from(RowsLost(message): RowsLost) -> Self {
        Self::usage(message)
    }
}

impl From<&Population> for LoadRows {
    fn from(population: &Population) -> Self {
        Self::Made(population.clone())
    }
}

impl LoadRows {
    /// Returns the description of a database with these rows that version `lydite` of Lydite loads.
    #[must_use]
    pub fn meta(&self, lydite: &str) -> DatabaseMeta {
        match self {
            Self::Made(population) => DatabaseMeta {
                warehouses: population.warehouses,
                districts: population.districts.clone(),
                size: population.size,
                seed: population.seed,
                c_load: population.c_load,
                population: POPULATION_VERSION,
                lydite: lydite.to_owned(),
                played: Played::default(),
                scripts: Scripts::default(),
                files: None,
            },
            Self::Read(files) => DatabaseMeta { lydite: lydite.to_owned(), ..files.meta().clone() },
        }
    }

    /// Returns the number of warehouses. They are numbered from 1.
    #[must_use]
    pub fn warehouses(&self) -> u32 {
        match self {
            Self::Made(population) => population.warehouses,
            Self::Read(files) => files.meta().warehouses,
        }
    }

    /// Writes the rows of `table` for warehouse `w`; for ITEM all rows, whatever `w` is.
    ///
    /// # Errors
    /// The writer's error at the first row that it does not take; a file of rows can't be read.
    pub fn write_table<W: RowWriter<Error: From<RowsLost>>>(
        &self,
        table: Table,
        w: WarehouseId,
        writer: &mut W,
    ) -> Result<(), W::Error> {
        let files = match self {
            Self::Made(population) => return population.write_table(table, w, writer).map(|_| ()),
            Self::Read(files) => files,
        };
        let mut rejected = None;
        let read = files.read(table, w, &mut |row| match write_any(row, writer) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                rejected = Some(error);
                ControlFlow::Break(())
            }
        });
        match rejected {
            Some(error) => Err(error),
            None => Ok(read?),
        }
    }
}

/// Writes a row of any table.
///
/// # Errors
/// The writer's error.
pub fn write_any<W: RowWriter>(row: AnyRow<'_>, writer: &mut W) -> Result<(), W::Error> {
    match row {
        AnyRow::Item(row) => writer.write(row),
        AnyRow::Warehouse(row) => writer.write(row),
        AnyRow::District(row) => writer.write(row),
        AnyRow::Customer(row) => writer.write(row),
        AnyRow::History(row) => writer.write(row),
        AnyRow::Order(row) => writer.write(row),
        AnyRow::NewOrder(row) => writer.write(row),
        AnyRow::OrderLine(row) => writer.write(row),
        AnyRow::Stock(row) => writer.write(row),
    }
}
