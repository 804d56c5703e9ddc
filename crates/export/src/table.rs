//! A kind of tables, and a table: rows of all results with the same columns.

use crate::cell::Cell;
use crate::column::{Column, Kind, Role};
use crate::error::ExportError;
use crate::run::{Run, Span};
use std::fmt;

/// The columns that each table begins with.
const FIRST: [Column; 3] = [
    Column::key("run", "path of the result's file, as it was named"),
    Column::key("label", "`--label` of the run; null without one"),
    Column {
        name: "time",
        role: Role::Time,
        kind: Kind::Time,
        about: "begin of the time that the row covers, UTC; null if the result has no start",
    },
];

/// Adds the rows of a result to its table.
type Fill = for<'a> fn(&'a Run<'a>, &mut Rows<'_, 'a>) -> Result<(), ExportError>;

/// A kind of table.
pub struct TableKind {
    /// Name: that of its file.
    pub name: &'static str,
    /// Description of one line.
    pub about: &'static str,
    /// Columns after `run`, `label` and `time`.
    pub(crate) own: &'static [Column],
    /// The function that adds the rows.
    pub(crate) fill: Fill,
}

impl TableKind {
    /// Returns the columns, from `run` on.
    #[must_use]
    pub fn columns(&self) -> Vec<Column> {
        FIRST.iter().chain(self.own).copied().collect()
    }
}

impl fmt::Debug for TableKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// A table of several results.
#[derive(Debug)]
pub struct Table<'a> {
    /// The row in [`TABLES`](crate::TABLES).
    pub kind: &'static TableKind,
    columns: Vec<Column>,
    cells: Vec<Cell<'a>>,
    spans: Vec<Option<Span>>,
}

/// A row of a table.
#[derive(Debug, Clone, Copy)]
pub struct Row<'t, 'a> {
    /// Values, in the order of the columns.
    pub cells: &'t [Cell<'a>],
    /// The time that it covers; none if its result has no start.
    pub span: Option<Span>,
}

impl<'a> Table<'a> {
    /// Makes a table of the results.
    ///
    /// # Errors
    /// A count is too large, or a part of a result has no written form.
    pub fn of(kind: &'static TableKind, runs: &'a [Run<'a>]) -> Result<Self, ExportError> {
        let mut table = Self { kind, columns: kind.columns(), cells: Vec::new(), spans: Vec::new() };
        for run in runs {
            (kind.fill)(run, &mut Rows { table: &mut table, run })?;
        }
        Ok(table)
    }

    /// Returns the columns.
    #[must_use]
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Returns the number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Returns true if the table has no row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// Returns the rows: those of a result together, in the order of their times.
    pub fn rows<'t>(&'t self) -> impl Iterator<Item = Row<'t, 'a>> {
        let cells = self.cells.chunks(self.columns.len().max(1));
        cells.zip(&self.spans).map(|(cells, span)| Row { cells, span: *span })
    }
}

/// The rows that a result adds to a table.
pub(crate) struct Rows<'t, 'a> {
    table: &'t mut Table<'a>,
    run: &'a Run<'a>,
}

impl<'a> Rows<'_, 'a> {
    /// Adds a row with a value for each column of its own.
    pub(crate) fn push<const N: usize>(
        &mut self,
        span: Option<Span>,
        own: [Cell<'a>; N],
    ) -> Result<(), ExportError> {
        let names = self.table.kind.own.iter().zip(&own);
        for (column, cell) in names {
            if let Cell::TooLarge(value) = cell {
                return Err(ExportError::TooLarge {
                    run: self.run.name.clone(),
                    column: column.name,
                    value: *value,
                });
            }
        }
        let time = span.map_or(Cell::Null, |span| Cell::Time(span.from_us));
        let first = [Cell::from(&self.run.name), self.run.result.label.as_deref().into(), time];
        self.table.cells.extend(first.into_iter().chain(own));
        self.table.spans.push(span);
        Ok(())
    }

    /// Returns the failure of a part of the result that has no written form.
    pub(crate) fn unwritten(&self, part: &'static str, source: serde_json::Error) -> ExportError {
        ExportError::Json { run: self.run.name.clone(), part, source }
    }
}
