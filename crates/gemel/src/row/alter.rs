//! Changes of a table's columns, without a change of its rows.
//!
//! The first byte of a row has the number of times that columns had been changed when the row was written. The schema
//! keeps the columns of each such time, with their positions of today. A row is read by the columns that it was written
//! with. A column that was added later is null in it, or has its default; one that was dropped is passed over; one that
//! has another type now is read by the old type. A change of the row writes it with the columns of today.

use super::column_type::{ColumnType, shifted};
use super::layout::Layout;
use super::schema::{Column, ColumnDefault, IndexDef, OldColumn, Schema, StoredValue};
use super::table::Table;
use super::value::{OwnedValue, Value};
use super::view::RowView;
use super::{Bytes, misfit, try_scan};
use crate::error::{Error, Result};
use crate::ids::Direction;
use std::ops::{Bound, ControlFlow};

/// Maximum number of changes after which old rows can still be told apart. The first byte of a row has seven bits for
/// the number.
const MAX_CHANGES: usize = 127;
/// Maximum bytes of the default of an added column. The manifest has it, and is written as a whole at each change.
const MAX_DEFAULT_BYTES: usize = 64 << 10;

/// A change of a table's columns. See [`Database::alter_table`](crate::Database::alter_table).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ColumnChange {
    /// Gives a column another name, also in the primary key and the indexes.
    Rename {
        /// Name of the column.
        from: String,
        /// New name.
        to: String,
    },
    /// Adds a column behind the others.
    Add {
        /// Name of the column.
        name: String,
        /// Type of the column.
        kind: ColumnType,
        /// True if the column may be null.
        nullable: bool,
        /// Value of the column in the existing rows, at most 64 KiB. Null only if the column may be null.
        default: OwnedValue,
    },
    /// Drops a column that is not part of the primary key or an index.
    Drop {
        /// Name of the column.
        name: String,
    },
    /// Makes a column not nullable. No row may be null there. The column is not part of an index.
    SetNotNull {
        /// Name of the column.
        name: String,
    },
    /// Makes a column nullable that is not part of the primary key or an index.
    DropNotNull {
        /// Name of the column.
        name: String,
    },
    /// Gives a column another type that has all values of the old one: a wider integer type, or a decimal with room for
    /// all values of an integer type. The column is not part of the primary key or an index.
    SetType {
        /// Name of the column.
        name: String,
        /// New type.
        kind: ColumnType,
    },
}

impl ColumnChange {
    /// Returns the change that gives a column another name.
    #[must_use]
    pub fn rename(from: &str, to: &str) -> Self {
        Self::Rename { from: from.to_owned(), to: to.to_owned() }
    }

    /// Returns the change that adds a nullable column, which is null in the existing rows.
    #[must_use]
    pub fn add(name: &str, kind: ColumnType) -> Self {
        Self::add_with(name, kind, Value::Null)
    }

    /// Returns the change that adds a nullable column with a value in the existing rows. Rows that are written later give
    /// a value for each column, as always.
    #[must_use]
    pub fn add_with(name: &str, kind: ColumnType, default: Value<'_>) -> Self {
        Self::Add { name: name.to_owned(), kind, nullable: true, default: default.into_owned() }
    }

    /// Returns the change that adds a column that is never null, with its value in the existing rows.
    #[must_use]
    pub fn add_not_null(name: &str, kind: ColumnType, default: Value<'_>) -> Self {
        Self::Add { name: name.to_owned(), kind, nullable: false, default: default.into_owned() }
    }

    /// Returns the change that drops a column.
    #[must_use]
    pub fn drop(name: &str) -> Self {
        Self::Drop { name: name.to_owned() }
    }

    /// Returns the change that makes a column not nullable.
    #[must_use]
    pub fn set_not_null(name: &str) -> Self {
        Self::SetNotNull { name: name.to_owned() }
    }

    /// Returns the change that makes a column nullable.
    #[must_use]
    pub fn drop_not_null(name: &str) -> Self {
        Self::DropNotNull { name: name.to_owned() }
    }

    /// Returns the change that gives a column another type.
    #[must_use]
    pub fn set_type(name: &str, kind: ColumnType) -> Self {
        Self::SetType { name: name.to_owned(), kind }
    }
}

impl Column {
    /// Returns the column as it is in a row, at a position of today.
    pub(super) fn stored(&self, now: usize) -> OldColumn {
        OldColumn { kind: self.kind, nullable: self.nullable, now: Some(now) }
    }
}

/// The outcome of changes of a table's columns.
#[derive(Debug)]
pub(crate) struct Altered {
    pub(crate) schema: Schema,
    /// True if new rows have another form.
    pub(crate) rows_change: bool,
    /// Positions of columns that are not nullable, and that existing rows may have null.
    pub(crate) not_null: Vec<usize>,
}

impl Schema {
    /// Returns the schema after changes, which are applied one after the other.
    ///
    /// # Errors
    /// A change does not fit the schema, or there were too many. Faults that [`Schema::check`] finds are not reported.
    pub(crate) fn altered(&self, table: &str, changes: &[ColumnChange]) -> Result<Altered> {
        let mut next = self.clone();
        next.older.push(self.stored());
        changes.iter().try_for_each(|change| next.apply(table, change))?;
        let last = next.older.last().map(Vec::as_slice).unwrap_or_default();
        let rows_change = *last != next.stored();
        let may_be_null = |at: usize| match last.iter().find(|column| column.now == Some(at)) {
            Some(before) => before.nullable,
            None => next.defaults.iter().all(|default| default.now != at),
        };
        let columns = next.columns.iter().enumerate();
        let not_null = columns.filter(|(at, column)| !column.nullable && may_be_null(*at));
        let not_null = not_null.map(|(at, _)| at).collect();
        if !rows_change {
            next.older.pop();
        } else if next.older.len() > MAX_CHANGES {
            return Err(Error::Capacity(format!(
                "table {table}: columns were added, dropped or changed {MAX_CHANGES} times, the maximum: \
                 copy the rows into a new table"
            )));
        }
        Ok(Altered { schema: next, rows_change, not_null })
    }

    /// Returns true if `newer`, which changes have made of this schema, has rows of the same form.
    pub(crate) fn has_same_rows(&self, newer: &Self) -> bool {
        self.older.len() == newer.older.len()
    }

    /// Returns the columns as they are in new rows.
    pub(super) fn stored(&self) -> Vec<OldColumn> {
        self.columns.iter().enumerate().map(|(at, column)| column.stored(at)).collect()
    }

    fn apply(&mut self, table: &str, change: &ColumnChange) -> Result<()> {
        match change {
            ColumnChange::Rename { from, to } => {
                let at = self.known(table, from)?;
                self.free(table, to)?;
                self.columns[at].name.clone_from(to);
                let keys = self.indexes.iter_mut().map(|index| &mut index.columns);
                let columns = keys.chain([&mut self.primary_key]).flatten();
                let names = columns.map(|column| &mut column.name);
                names.filter(|name| *name == from).for_each(|name| name.clone_from(to));
                let included = self.indexes.iter_mut().flat_map(|index| &mut index.include);
                included.filter(|name| *name == from).for_each(|name| name.clone_from(to));
            }
            ColumnChange::Add { name, kind, nullable, default } => {
                self.free(table, name)?;
                let column = Column { name: name.clone(), kind: *kind, nullable: *nullable };
                self.add(table, column, default.as_value())?;
            }
            ColumnChange::Drop { name } => {
                let at = self.known(table, name)?;
                self.unused(table, name, "be dropped", "drop the index before")?;
                self.columns.remove(at);
                let moved = |now: usize| now - usize::from(now > at);
                for column in self.older.iter_mut().flatten() {
                    column.now = column.now.filter(|now| *now != at).map(moved);
                }
                self.defaults.retain(|default| default.now != at);
                self.defaults.iter_mut().for_each(|default| default.now = moved(default.now));
            }
            ColumnChange::SetNotNull { name } => self.set_nullable(table, name, false)?,
            ColumnChange::DropNotNull { name } => self.set_nullable(table, name, true)?,
            ColumnChange::SetType { name, kind } => self.set_type(table, name, *kind)?,
        }
        Ok(())
    }

    fn add(&mut self, table: &str, column: Column, default: Value<'_>) -> Result<()> {
        let bytes = match default {
            Value::Text(text) => text.len(),
            Value::Bytes(bytes) => bytes.len(),
            _ => 0,
        };
        if bytes > MAX_DEFAULT_BYTES {
            return Err(Error::Capacity(format!(
                "table {table}, column {}: a default of {bytes} bytes is too long: use at most {MAX_DEFAULT_BYTES}",
                column.name
            )));
        }
        match (StoredValue::new(column.kind, default), default) {
            (Some(value), _) => self.defaults.push(ColumnDefault { now: self.columns.len(), value }),
            (None, Value::Null) if column.nullable => {}
            (None, Value::Null) => {
                return Err(Error::Usage(format!(
                    "table {table}, column {}: it is not nullable, so existing rows need a value: give a default",
                    column.name
                )));
            }
            (None, _) => return Err(misfit(table, &column, default)),
        }
        self.columns.push(column);
        Ok(())
    }

    fn set_nullable(&mut self, table: &str, name: &str, nullable: bool) -> Result<()> {
        let at = self.known(table, name)?;
        if self.columns[at].nullable != nullable {
            let what = if nullable { "become nullable" } else { "become not nullable" };
            self.unused(table, name, what, "drop the index before, and add it again")?;
            self.columns[at].nullable = nullable;
        }
        Ok(())
    }

    fn set_type(&mut self, table: &str, name: &str, kind: ColumnType) -> Result<()> {
        let at = self.known(table, name)?;
        let before = self.columns[at].kind;
        if before == kind {
            return Ok(());
        }
        let Some(zeros) = before.zeros_in(kind) else {
            return Err(Error::Usage(format!(
                "table {table}: column {name} is {before} and can't become {kind}, which does not have all these \
                 values: add a column of the new type, copy the values, and drop the old column"
            )));
        };
        self.unused(table, name, "get another type", "drop the index before, and add it again")?;
        self.columns[at].kind = kind;
        for default in self.defaults.iter_mut().filter(|default| default.now == at) {
            if let StoredValue::Bits(bits) = &mut default.value {
                // Each value of the old type fits the new one.
                *bits = shifted(*bits, zeros).unwrap_or(*bits);
            }
        }
        Ok(())
    }

    fn known(&self, table: &str, name: &str) -> Result<usize> {
        self.position(name).ok_or_else(|| Error::Usage(format!("table {table}: there is no column {name}")))
    }

    fn free(&self, table: &str, name: &str) -> Result<()> {
        match self.position(name) {
            None => Ok(()),
            Some(_) => Err(Error::Usage(format!(
                "table {table}: there is a column {name} already: use another name"
            ))),
        }
    }

    /// Fails if a column is part of a key. `what` is what can't be done with it then, and `instead` what to do about an
    /// index.
    fn unused(&self, table: &str, name: &str, what: &str, instead: &str) -> Result<()> {
        if self.primary_key.iter().any(|column| column.name == name) {
            return Err(Error::Usage(format!(
                "table {table}: column {name} is part of the primary key and can't {what}: \
                 copy the rows into a new table"
            )));
        }
        let has = |index: &&IndexDef| {
            index.columns.iter().map(|column| &column.name).chain(&index.include).any(|column| column == name)
        };
        match self.indexes.iter().find(has) {
            None => Ok(()),
            Some(index) => Err(Error::Usage(format!(
                "table {table}: column {name} is part of index {} and can't {what}: {instead}",
                index.name
            ))),
        }
    }
}

impl Table {
    /// Fails if a row is null in one of some columns, which are positions in `layout`. This is another layout of the
    /// table's rows.
    ///
    /// # Errors
    /// [`Error::Constraint`] with the primary key of such a row, and the errors of the transaction.
    pub(crate) fn check_not_null<B: Bytes + ?Sized>(
        &self,
        bytes: &mut B,
        layout: &Layout,
        columns: &[usize],
    ) -> Result<()> {
        let all = (Bound::Unbounded, Bound::Unbounded);
        try_scan(bytes, self.rows(), all, Direction::Forward, |key, row| {
            let row = RowView::new(layout, row)?;
            for column in columns {
                if row.is_null(*column)? {
                    return Err(Error::Constraint(format!(
                        "table {}: column {} can't become not nullable, because the row with primary key ({}) is \
                         null there: give the row a value, or delete it",
                        self.name(),
                        layout.described()[*column].name,
                        self.primary_key().describe(key),
                    )));
                }
            }
            Ok(ControlFlow::Continue(()))
        })
    }
}
