//! Changes of a table's columns, without a change of its rows.
//!
//! The first byte of a row has the number of times that columns had been added or dropped when the row was written. The
//! schema keeps the columns of each such time, with their positions of today. A row is read by the columns that it was
//! written with. A column that was added later is null in it, and one that was dropped is passed over. A change of the
//! row writes it with the columns of today.

use super::schema::{Column, ColumnType, IndexDef, OldColumn, Schema};
use crate::error::{Error, Result};

/// Maximum number of changes after which old rows can still be told apart. The first byte of a row has seven bits for
/// the number.
const MAX_CHANGES: usize = 127;

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
    /// Adds a nullable column behind the others. It is null in the existing rows.
    Add {
        /// Name of the column.
        name: String,
        /// Type of the column.
        kind: ColumnType,
    },
    /// Drops a column that is not part of the primary key or an index.
    Drop {
        /// Name of the column.
        name: String,
    },
}

impl ColumnChange {
    /// Returns the change that gives a column another name.
    #[must_use]
    pub fn rename(from: &str, to: &str) -> Self {
        Self::Rename { from: from.to_owned(), to: to.to_owned() }
    }

    /// Returns the change that adds a nullable column.
    #[must_use]
    pub fn add(name: &str, kind: ColumnType) -> Self {
        Self::Add { name: name.to_owned(), kind }
    }

    /// Returns the change that drops a column.
    #[must_use]
    pub fn drop(name: &str) -> Self {
        Self::Drop { name: name.to_owned() }
    }
}

impl Column {
    /// Returns the column as it is in a row, at a position of today.
    pub(super) fn stored(&self, now: usize) -> OldColumn {
        OldColumn { kind: self.kind, nullable: self.nullable, now: Some(now) }
    }
}

impl Schema {
    /// Returns the schema after changes, which are applied one after the other, and true if new rows have another form.
    ///
    /// # Errors
    /// A change does not fit the schema, or there were too many. Faults that [`Schema::check`] finds are not reported.
    pub(crate) fn altered(&self, table: &str, changes: &[ColumnChange]) -> Result<(Self, bool)> {
        let mut next = self.clone();
        next.older.push(self.columns.iter().enumerate().map(|(at, column)| column.stored(at)).collect());
        for change in changes {
            match change {
                ColumnChange::Rename { from, to } => {
                    let at = next.known(table, from)?;
                    next.free(table, to)?;
                    next.columns[at].name.clone_from(to);
                    let keys = next.indexes.iter_mut().map(|index| &mut index.columns);
                    let columns = keys.chain([&mut next.primary_key]).flatten();
                    let names = columns.map(|column| &mut column.name);
                    names.filter(|name| *name == from).for_each(|name| name.clone_from(to));
                    let included = next.indexes.iter_mut().flat_map(|index| &mut index.include);
                    included.filter(|name| *name == from).for_each(|name| name.clone_from(to));
                }
                ColumnChange::Add { name, kind } => {
                    next.free(table, name)?;
                    next.columns.push(Column { name: name.clone(), kind: *kind, nullable: true });
                }
                ColumnChange::Drop { name } => {
                    let at = next.known(table, name)?;
                    next.unused(table, name)?;
                    next.columns.remove(at);
                    for column in next.older.iter_mut().flatten() {
                        column.now =
                            column.now.filter(|now| *now != at).map(|now| now - usize::from(now > at));
                    }
                }
            }
        }
        let rows_change = changes.iter().any(|change| !matches!(change, ColumnChange::Rename { .. }));
        if !rows_change {
            next.older.pop();
        } else if next.older.len() > MAX_CHANGES {
            return Err(Error::Capacity(format!(
                "table {table}: columns were added or dropped {MAX_CHANGES} times, the maximum: \
                 copy the rows into a new table"
            )));
        }
        Ok((next, rows_change))
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

    fn unused(&self, table: &str, name: &str) -> Result<()> {
        if self.primary_key.iter().any(|column| column.name == name) {
            return Err(Error::Usage(format!(
                "table {table}: column {name} is part of the primary key and can't be dropped: \
                 copy the rows into a new table"
            )));
        }
        let has = |index: &&IndexDef| {
            index.columns.iter().map(|column| &column.name).chain(&index.include).any(|column| column == name)
        };
        match self.indexes.iter().find(has) {
            None => Ok(()),
            Some(index) => Err(Error::Usage(format!(
                "table {table}: column {name} is part of index {} and can't be dropped: \
                 drop the index before",
                index.name
            ))),
        }
    }
}
