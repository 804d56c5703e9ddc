//! Checksums of the tables, equal to those of an SQL database with the same rows.

use crate::facts::TableChecksum;
use crate::kv::codec::KvRow;
use crate::kv::columns::FromColumns;
use crate::kv::scan::RowSource;
use crate::kv::store_error::StoreError;
use lydite_tpcc::rows::{self, ColumnSink};
use lydite_tpcc::schema::{Column, ColumnType, Table};
use lydite_tpcc::{Cents, Rate, Timestamp};
use std::fmt::Write;

/// Returns the checksums of all nine tables.
pub fn checksums(source: &mut impl RowSource) -> Result<Vec<TableChecksum>, StoreError> {
    Table::ALL
        .into_iter()
        .map(|table| match table {
            Table::Item => sum::<rows::Item>(source),
            Table::Warehouse => sum::<rows::Warehouse>(source),
            Table::District => sum::<rows::District>(source),
            Table::Customer => sum::<rows::Customer>(source),
            Table::History => sum::<rows::History>(source),
            Table::Orders => sum::<rows::Order>(source),
            Table::NewOrder => sum::<rows::NewOrder>(source),
            Table::OrderLine => sum::<rows::OrderLine>(source),
            Table::Stock => sum::<rows::Stock>(source),
        })
        .collect()
}

fn sum<R: KvRow + FromColumns>(source: &mut impl RowSource) -> Result<TableChecksum, StoreError> {
    let mut checksum = TableChecksum::empty(R::TABLE);
    let mut text = CanonicalRow { text: String::new(), columns: R::TABLE.schema().columns.iter() };
    source.rows(None, |row: &R| {
        text.text.clear();
        text.columns = R::TABLE.schema().columns.iter();
        row.emit(&mut text);
        checksum.add(&text.text);
    })?;
    Ok(checksum)
}

/// A row as the text that [`crate::sql::checksum`] hashes: amounts are whole cents, rates whole ten-thousandths, of a
/// time only its presence counts, `-` stands for other nulls, and `|` separates columns.
struct CanonicalRow {
    text: String,
    /// Columns that follow.
    columns: std::slice::Iter<'static, Column>,
}

impl CanonicalRow {
    fn column(&mut self, value: impl std::fmt::Display) {
        if !self.text.is_empty() {
            self.text.push('|');
        }
        self.columns.next();
        // Writing to a string can't fail.
        let _written = write!(self.text, "{value}");
    }
}

impl ColumnSink for CanonicalRow {
    fn int(&mut self, value: i64) {
        self.column(value);
    }

    fn money(&mut self, value: Cents) {
        self.column(value.0);
    }

    fn rate(&mut self, value: Rate) {
        self.column(value.0);
    }

    fn text(&mut self, value: &str) {
        self.column(value);
    }

    fn time(&mut self, _value: Timestamp) {
        self.column(1);
    }

    fn null(&mut self) {
        let is_time = self.columns.as_slice().first().is_some_and(|column| column.kind == ColumnType::Time);
        self.column(if is_time { '0' } else { '-' });
    }
}
