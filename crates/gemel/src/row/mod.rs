//! Typed tables over keyspaces of bytes: schemas, values, the codecs of keys and rows, tables with secondary indexes.
//!
//! The codecs stand on their own, for applications that keep rows in another store:
//!
//! ```
//! use gemel::row::{ColumnType, KeyLayout, Layout, RowView, Schema, Value};
//!
//! # fn main() -> gemel::Result<()> {
//! let schema = Schema::new()
//!     .column("id", ColumnType::I32)
//!     .column("name", ColumnType::Text)
//!     .nullable("email", ColumnType::Text)
//!     .primary_key(["id"]);
//! let layout = Layout::new("person", &schema)?;
//! let key = KeyLayout::primary("person", &schema)?;
//!
//! let values = [Value::Int(7), Value::Text("Ada"), Value::Null];
//! let stored_key = key.encode(&values[..1])?;
//! let stored_row = layout.encode(&values)?;
//!
//! assert_eq!(stored_key, [0x80, 0, 0, 7]);
//! let row = RowView::new(&layout, &stored_row)?;
//! assert_eq!(row.text(1)?, "Ada");
//! assert!(row.is_null(2)?);
//! # Ok(())
//! # }
//! ```

mod alter;
mod build;
mod column_type;
mod cursor;
mod difference;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzz;
mod index;
mod key_column;
mod keys;
mod layout;
mod scan;
mod schema;
mod statistics;
mod table;
#[cfg(test)]
mod tests;
mod value;
mod view;

pub(crate) use alter::Altered;
pub use alter::ColumnChange;
pub use column_type::{ColumnType, MAX_SCALE};
pub use cursor::RowCursor;
pub use key_column::{KeyColumn, asc, desc};
pub use keys::{KeyLayout, RowRange};
pub use layout::Layout;
pub use schema::{Column, IndexDef, MAX_COLUMNS, Schema, SchemaFault};
pub(crate) use statistics::Sample;
pub use statistics::{ColumnStatistics, CommonValue, KeyStatistics, Sampling, TableStatistics};
pub use table::Table;
pub use value::{OwnedValue, Value};
pub use view::{RowBuf, RowView};

pub use crate::pending::{Deletions, EachToDelete};

use crate::error::{Error, Result};
use crate::ids::Direction;
use crate::keyspace::Keyspace;
use crate::transaction::Transaction;
use std::ops::{Bound, ControlFlow};
use std::path::PathBuf;

/// A callback for a key and its value, in the order of a scan.
pub type Each<'a> = dyn FnMut(&[u8], &[u8]) -> ControlFlow<()> + 'a;

/// The interface of the transaction below tables: ordered maps of bytes that include the transaction's own writes.
///
/// If a transaction puts or deletes a key that it has read, the commit must check that key against the snapshot of the
/// read, because constraints and index entries follow from the value that was read.
pub trait Bytes {
    /// Returns the value of `key`.
    ///
    /// # Errors
    /// The errors of the transaction. The same holds for the other methods.
    fn get(&mut self, keyspace: &Keyspace, key: &[u8]) -> Result<Option<Vec<u8>>>;

    /// Passes the value of `key` to `found`, without a copy if possible. Returns false if there is no value.
    fn read(&mut self, keyspace: &Keyspace, key: &[u8], found: &mut dyn FnMut(&[u8])) -> Result<bool> {
        Ok(self.get(keyspace, key)?.inspect(|value| found(value)).is_some())
    }

    /// Sets the value of `key`.
    fn put(&mut self, keyspace: &Keyspace, key: &[u8], value: &[u8]) -> Result<()>;

    /// Deletes `key`, if it exists.
    fn delete(&mut self, keyspace: &Keyspace, key: &[u8]) -> Result<()>;

    /// Makes room for a number of writes in a keyspace or in others of its engine, with so many bytes of keys and
    /// values in total. A store that may lack room for a write rejects it here. Then an operation that makes several
    /// writes makes all or none.
    fn make_room(&mut self, keyspace: &Keyspace, writes: usize, keys: usize, values: usize) -> Result<()> {
        let _ = (keyspace, writes, keys, values);
        Ok(())
    }

    /// Passes keys and values between the bounds, which leave room for a key, to `each`, until it breaks.
    fn scan(
        &mut self,
        keyspace: &Keyspace,
        lower: Bound<&[u8]>,
        upper: Bound<&[u8]>,
        direction: Direction,
        each: &mut Each<'_>,
    ) -> Result<()>;

    /// Passes all keys and values between the bounds to `each`, and makes room for the deletions that `each` returns,
    /// in the keyspace or in others of its engine. A store that may lack room for them stops as soon as it does, so the
    /// caller never collects more keys than there is room for.
    fn scan_to_delete(
        &mut self,
        keyspace: &Keyspace,
        lower: Bound<&[u8]>,
        upper: Bound<&[u8]>,
        each: &mut EachToDelete<'_>,
    ) -> Result<()> {
        let mut all = Deletions::default();
        try_scan(self, keyspace, (lower, upper), Direction::Forward, |key, value| {
            all.add(each(key, value)?);
            Ok(ControlFlow::Continue(()))
        })?;
        self.make_room(keyspace, all.keys, all.bytes, 0)
    }
}

impl Bytes for Transaction {
    fn get(&mut self, keyspace: &Keyspace, key: &[u8]) -> Result<Option<Vec<u8>>> {
        Self::get(self, keyspace, key)
    }

    fn read(&mut self, keyspace: &Keyspace, key: &[u8], found: &mut dyn FnMut(&[u8])) -> Result<bool> {
        Ok(Self::read(self, keyspace, key, found)?.is_some())
    }

    fn put(&mut self, keyspace: &Keyspace, key: &[u8], value: &[u8]) -> Result<()> {
        Self::put(self, keyspace, key, value)
    }

    fn delete(&mut self, keyspace: &Keyspace, key: &[u8]) -> Result<()> {
        Self::delete(self, keyspace, key)
    }

    fn make_room(&mut self, keyspace: &Keyspace, writes: usize, keys: usize, values: usize) -> Result<()> {
        Self::make_room_for_writes(self, keyspace, writes, keys, values)
    }

    fn scan(
        &mut self,
        keyspace: &Keyspace,
        lower: Bound<&[u8]>,
        upper: Bound<&[u8]>,
        direction: Direction,
        each: &mut Each<'_>,
    ) -> Result<()> {
        Self::scan(self, keyspace, lower, upper, direction, each)
    }

    fn scan_to_delete(
        &mut self,
        keyspace: &Keyspace,
        lower: Bound<&[u8]>,
        upper: Bound<&[u8]>,
        each: &mut EachToDelete<'_>,
    ) -> Result<()> {
        Self::scan_to_delete(self, keyspace, lower, upper, each)
    }
}

/// Passes keys and values between the bounds to `each`, until it breaks or fails.
pub(crate) fn try_scan<B: Bytes + ?Sized>(
    bytes: &mut B,
    keyspace: &Keyspace,
    (lower, upper): (Bound<&[u8]>, Bound<&[u8]>),
    direction: Direction,
    mut each: impl FnMut(&[u8], &[u8]) -> Result<ControlFlow<()>>,
) -> Result<()> {
    let mut failure = Ok(());
    bytes.scan(keyspace, lower, upper, direction, &mut |key, value| {
        each(key, value).unwrap_or_else(|error| {
            failure = Err(error);
            ControlFlow::Break(())
        })
    })?;
    failure
}

/// Returns the error for stored bytes of `table` that its schema can't have written.
#[cold]
fn corrupt(table: &str, what: impl std::fmt::Display) -> Error {
    Error::Corruption {
        path: PathBuf::from(format!("table {table}")),
        what: format!(
            "{what}; either another schema wrote it or the storage is damaged: restore the database from a backup"
        ),
    }
}

/// Returns the error for a `value` that does not fit `column` of `table`.
#[cold]
fn misfit(table: &str, column: &Column, value: Value<'_>) -> Error {
    let Column { name, kind, nullable } = column;
    Error::Constraint(match value {
        Value::Null if !nullable => {
            format!("table {table}, column {name}: expected {kind}, given null; it is not nullable")
        }
        Value::Int(n) if matches!(kind, ColumnType::I16 | ColumnType::I32) => {
            format!("table {table}, column {name}: {n} does not fit {kind}")
        }
        _ => format!("table {table}, column {name}: expected {kind}, given {} {value}", value.kind()),
    })
}

/// Returns the error for an invalid schema, with all its faults.
#[cold]
fn unusable(table: &str, faults: &[SchemaFault]) -> Error {
    let faults: Vec<_> = faults.iter().map(ToString::to_string).collect();
    Error::Usage(format!("table {table}: the schema can't be used: {}", faults.join("; ")))
}
