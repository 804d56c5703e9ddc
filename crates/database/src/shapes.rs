//! Sizes and parts of tables, as the catalog of a database has them.

use crate::error::TargetError;
use lydite_tpcc::schema::Table;

/// A table as the catalog of its database has it. Numbers that the catalog lacks are `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableShape {
    /// The table.
    pub table: Table,
    /// Bytes of its rows and indexes.
    pub bytes: Option<u64>,
    /// Number of its rows, as the catalog estimates it.
    pub rows: Option<u64>,
    /// Partitions; `None` if it has none, too.
    pub partitions: Option<u64>,
    /// Ranges of keys that the database stores apart; `None` if it does not store tables in ranges, too.
    pub ranges: Option<u64>,
    /// Columns.
    pub columns: Option<u64>,
    /// Indexes, with that of the primary key.
    pub indexes: Option<u64>,
}

/// A database whose catalog has sizes and parts of tables.
pub trait TableShapes: Send + Sync {
    /// Returns those of the nine tables that are there, in the order of [`Table::ALL`], over a connection of its own. Empty
    /// if the catalog does not have them.
    ///
    /// # Errors
    /// See [`crate::Target::describe`].
    fn shapes(&self) -> Result<Vec<TableShape>, TargetError>;
}

/// Combines the tables of a coordinator with those of the shards that have their rows: bytes and rows are the sums over the
/// shards, indexes those of a shard. A table without a part on a shard stays as it is.
#[must_use]
pub fn over_shards(coordinator: Vec<TableShape>, shards: &[Vec<TableShape>]) -> Vec<TableShape> {
    let combined = |own: TableShape| {
        let parts: Vec<&TableShape> =
            shards.iter().flatten().filter(|part| part.table == own.table).collect();
        if parts.is_empty() {
            return own;
        }
        TableShape {
            bytes: parts.iter().map(|part| part.bytes).sum(),
            rows: parts.iter().map(|part| part.rows).sum(),
            indexes: parts.iter().filter_map(|part| part.indexes).max(),
            ..own
        }
    };
    coordinator.into_iter().map(combined).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(table: Table, bytes: u64, rows: Option<u64>) -> TableShape {
        TableShape {
            table,
            bytes: Some(bytes),
            rows,
            partitions: None,
            ranges: None,
            columns: Some(3),
            indexes: Some(1),
        }
    }

    #[test]
    fn tables_over_shards_have_the_sums_of_their_parts() {
        let parted = TableShape { partitions: Some(2), indexes: Some(0), ..shape(Table::Stock, 0, None) };
        let item = shape(Table::Item, 7, Some(100));
        let shards = [vec![shape(Table::Stock, 10, Some(5))], vec![shape(Table::Stock, 20, Some(6))]];
        let all = TableShape { indexes: Some(1), bytes: Some(30), rows: Some(11), ..parted };
        assert_eq!(over_shards(vec![parted, item], &shards), [all, item]);
        let unknown = [vec![shape(Table::Stock, 10, Some(5))], vec![shape(Table::Stock, 20, None)]];
        assert_eq!(over_shards(vec![parted], &unknown)[0].rows, None, "a part of a sum is no estimate");
    }
}
