//! Scans of a table, by its primary key or by a secondary index.

use super::Bytes;
use super::keys::{RowRange, Span};
use super::table::{Index, Table};
use super::view::RowView;
use crate::engine::Direction;
use crate::error::Result;
use std::ops::{Bound, ControlFlow};

/// Entries of an index that are read ahead of their rows. The first read is of one entry, since many scans want one
/// row, and a serializable transaction answers for all that it read.
const READ_AHEAD: usize = 256;
const READ_AHEAD_GROWTH: usize = 4;

/// An entry of an index: its key and the primary key to which it leads.
type Found = (Vec<u8>, Vec<u8>);

impl Table {
    /// Hands the rows whose primary key lies in `range` to `each`, in the order of the key, until it breaks.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`](crate::Error::Usage) if the bounds are crossed, [`Error::Constraint`](crate::Error::Constraint) if their
    /// values do not fit the key, whatever `each` returns, and those of the layers below.
    pub fn scan<B: Bytes + ?Sized>(
        &self,
        bytes: &mut B,
        range: &RowRange<'_>,
        direction: Direction,
        mut each: impl FnMut(RowView<'_>) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let Some(span) = self.primary_key().span(range)? else { return Ok(()) };
        let mut failure = Ok(());
        bytes.scan(self.rows(), span.lower(), span.upper(), direction, &mut |_, row| {
            RowView::new(self.layout(), row).and_then(&mut each).unwrap_or_else(|error| {
                failure = Err(error);
                ControlFlow::Break(())
            })
        })?;
        failure
    }

    /// Hands the rows whose index columns lie in `range` to `each`, in the order of the index (rows alike in its columns in
    /// that of the primary key), until it breaks.
    ///
    /// A row that changes between reading its index entry and reading it, as it may for a transaction at read committed,
    /// is passed over if the entry does not lead to it any more.
    ///
    /// # Errors
    ///
    /// As [`Table::scan`], and [`Error::Usage`](crate::Error::Usage) if there is no such index.
    pub fn scan_index<B: Bytes + ?Sized>(
        &self,
        bytes: &mut B,
        index: &str,
        range: &RowRange<'_>,
        direction: Direction,
        mut each: impl FnMut(RowView<'_>) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let index = self.index(index)?;
        let Some(span) = index.key.span(range)? else { return Ok(()) };
        self.walk(bytes, index, &span, direction, &mut |bytes, (entry, key)| {
            let row = self.read_encoded(bytes, &key, |row| {
                if index.entry(&row, &key)?.key == entry { each(row) } else { Ok(ControlFlow::Continue(())) }
            })?;
            Ok(row.unwrap_or(ControlFlow::Continue(())))
        })
    }

    /// Whether each row has its entries in all indexes, and each entry its row.
    ///
    /// # Errors
    ///
    /// [`Error::Corruption`](crate::Error::Corruption) naming the first that does not, and those of the layers below.
    pub fn verify<B: Bytes + ?Sized>(&self, bytes: &mut B) -> Result<()> {
        let mut rows = 0_u64;
        self.scan(bytes, &RowRange::all(), Direction::Forward, |row| {
            rows += 1;
            row.values().map(|_| ControlFlow::Continue(()))
        })?;
        // As many entries as rows, and each leads to a row whose entry it is: then no row lacks one.
        for index in self.indexes() {
            let mut entries = 0_u64;
            let all = Span { lower: Vec::new(), upper: None };
            self.walk(bytes, index, &all, Direction::Forward, &mut |bytes, (entry, key)| {
                entries += 1;
                let right =
                    self.read_encoded(bytes, &key, |row| Ok(index.entry(&row, &key)?.key == entry))?;
                if right == Some(true) {
                    return Ok(ControlFlow::Continue(()));
                }
                let key = self.primary_key().describe(&key);
                Err(self
                    .corrupt(format_args!("index {} has a wrong entry for primary key ({key})", index.name)))
            })?;
            if entries != rows {
                return Err(
                    self.corrupt(format_args!("index {} has {entries} entries for {rows} rows", index.name))
                );
            }
        }
        Ok(())
    }

    /// Hands the entries of an index to `each`, which may read rows.
    fn walk<B: Bytes + ?Sized>(
        &self,
        bytes: &mut B,
        index: &Index,
        span: &Span,
        direction: Direction,
        each: &mut dyn FnMut(&mut B, Found) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let (mut done, mut ahead) = (None::<Vec<u8>>, 1);
        loop {
            let (mut lower, mut upper) = (span.lower(), span.upper());
            if let Some(done) = &done {
                match direction {
                    Direction::Forward => lower = Bound::Excluded(done),
                    Direction::Backward => upper = Bound::Excluded(done),
                }
            }
            let found = read_ahead(bytes, index, (lower, upper), direction, ahead)?;
            let full = found.len() == ahead;
            done = found.last().map(|(entry, _)| entry.clone());
            for entry in found {
                if each(bytes, entry)?.is_break() {
                    return Ok(());
                }
            }
            if !full {
                return Ok(());
            }
            ahead = (ahead * READ_AHEAD_GROWTH).min(READ_AHEAD);
        }
    }
}

/// The first entries of a range, at most `limit`.
fn read_ahead<B: Bytes + ?Sized>(
    bytes: &mut B,
    index: &Index,
    (lower, upper): (Bound<&[u8]>, Bound<&[u8]>),
    direction: Direction,
    limit: usize,
) -> Result<Vec<Found>> {
    let (mut found, mut failure) = (Vec::new(), Ok(()));
    bytes.scan(&index.keyspace, lower, upper, direction, &mut |entry, value| {
        match index.primary_key(entry, value) {
            Ok(key) => found.push((entry.to_vec(), key.to_vec())),
            Err(error) => {
                failure = Err(error);
                return ControlFlow::Break(());
            }
        }
        if found.len() < limit { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    failure.map(|()| found)
}

impl Span {
    fn lower(&self) -> Bound<&[u8]> {
        if self.lower.is_empty() { Bound::Unbounded } else { Bound::Included(&self.lower) }
    }

    fn upper(&self) -> Bound<&[u8]> {
        self.upper.as_deref().map_or(Bound::Unbounded, Bound::Excluded)
    }
}
