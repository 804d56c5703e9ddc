//! Schemas: columns, primary key and secondary indexes, and the faults that a schema may have.

use super::column_type::{ColumnType, MAX_SCALE};
use super::key_column::KeyColumn;
use super::value::Value;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

/// Maximum number of columns in a table.
pub const MAX_COLUMNS: usize = 256;

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    /// Name of the column, unique in the table.
    pub name: String,
    /// Type of the column.
    pub kind: ColumnType,
    /// True if the column may be null.
    pub nullable: bool,
}

/// A secondary index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexDef {
    /// Name of the index, unique in the table.
    pub name: String,
    /// The indexed columns, the most significant first.
    pub columns: Vec<KeyColumn>,
    /// True if no two rows may have the same values in the indexed columns. Rows with a null there are exempt.
    pub unique: bool,
    /// Names of further columns whose values the index has, so that a scan of it reads them without the rows
    /// ([`Table::scan_index_only`](super::Table::scan_index_only)). They are no part of the order, nor of the
    /// uniqueness. A change of such a column writes the entry of the index.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub include: Vec<String>,
}

impl IndexDef {
    /// Returns an index. Several rows may have the same values in its columns.
    ///
    /// ```
    /// use gemel::row::{IndexDef, asc, desc};
    ///
    /// let by_date = IndexDef::new("by_date", [asc("customer"), desc("date")]).include(["total"]);
    /// assert_eq!(by_date.columns[1], desc("date"));
    /// ```
    #[must_use]
    pub fn new(name: &str, columns: impl IntoIterator<Item = impl Into<KeyColumn>>) -> Self {
        let columns = columns.into_iter().map(Into::into).collect();
        Self { name: name.to_owned(), columns, unique: false, include: Vec::new() }
    }

    /// Returns a unique index. It rejects a second row with the same values in its columns (unless one of them is null).
    #[must_use]
    pub fn unique(name: &str, columns: impl IntoIterator<Item = impl Into<KeyColumn>>) -> Self {
        Self { unique: true, ..Self::new(name, columns) }
    }

    /// Adds columns whose values the index has beside its own columns and the primary key.
    #[must_use]
    pub fn include<'n>(mut self, columns: impl IntoIterator<Item = &'n str>) -> Self {
        self.include.extend(columns.into_iter().map(str::to_owned));
        self
    }
}

/// The columns, primary key and indexes of a table. [`Schema::check`] validates them.
///
/// ```
/// use gemel::row::{ColumnType, Schema};
///
/// let schema = Schema::new()
///     .column("w_id", ColumnType::I32)
///     .column("c_id", ColumnType::I32)
///     .column("last", ColumnType::Text)
///     .nullable("balance", ColumnType::Decimal { scale: 2 })
///     .primary_key(["w_id", "c_id"])
///     .index("by_name", ["w_id", "last"]);
/// assert!(schema.check().is_ok());
/// assert_eq!(schema.position("last"), Some(2));
/// ```
///
/// Each column of a key has an order of its own. The newest orders of a customer come first in this index:
///
/// ```
/// use gemel::row::{ColumnType, Schema, asc, desc};
///
/// let orders = Schema::new()
///     .column("o_id", ColumnType::I64)
///     .column("o_c_id", ColumnType::I32)
///     .column("o_date", ColumnType::Timestamp)
///     .primary_key(["o_id"])
///     .index("by_date", [asc("o_c_id"), desc("o_date")]);
/// assert!(orders.indexes[0].columns[1].descending);
/// ```
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Schema {
    /// The columns, in the order of a row's values.
    pub columns: Vec<Column>,
    /// The columns of the primary key, the most significant first.
    pub primary_key: Vec<KeyColumn>,
    /// The secondary indexes.
    pub indexes: Vec<IndexDef>,
    /// The columns of rows that were written before columns were changed, the oldest first. Such rows stay as they are
    /// (`alter.rs`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) older: Vec<Vec<OldColumn>>,
    /// The values of columns in rows that were written before these columns were added. A column that is not listed is
    /// null there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) defaults: Vec<ColumnDefault>,
}

/// Earlier columns and their values don't count: schemas are equal if new rows look the same.
impl PartialEq for Schema {
    fn eq(&self, other: &Self) -> bool {
        self.columns == other.columns
            && self.primary_key == other.primary_key
            && self.indexes == other.indexes
    }
}

impl Eq for Schema {}

impl Schema {
    /// Returns a schema without columns.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a column that is never null.
    #[must_use]
    pub fn column(mut self, name: &str, kind: ColumnType) -> Self {
        self.columns.push(Column { name: name.to_owned(), kind, nullable: false });
        self
    }

    /// Adds a column that may be null.
    #[must_use]
    pub fn nullable(mut self, name: &str, kind: ColumnType) -> Self {
        self.columns.push(Column { name: name.to_owned(), kind, nullable: true });
        self
    }

    /// Sets the primary key.
    #[must_use]
    pub fn primary_key(mut self, columns: impl IntoIterator<Item = impl Into<KeyColumn>>) -> Self {
        self.primary_key = columns.into_iter().map(Into::into).collect();
        self
    }

    /// Adds an index. Several rows may have the same values in its columns.
    #[must_use]
    pub fn index(self, name: &str, columns: impl IntoIterator<Item = impl Into<KeyColumn>>) -> Self {
        self.with_index(IndexDef::new(name, columns))
    }

    /// Adds a unique index. It rejects a second row with the same values in its columns (unless one of them is null).
    #[must_use]
    pub fn unique_index(self, name: &str, columns: impl IntoIterator<Item = impl Into<KeyColumn>>) -> Self {
        self.with_index(IndexDef::unique(name, columns))
    }

    /// Adds an index.
    #[must_use]
    pub fn with_index(mut self, index: IndexDef) -> Self {
        self.indexes.push(index);
        self
    }

    /// Returns the position of a column in a row's values.
    #[must_use]
    pub fn position(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name == name)
    }

    /// Validates the schema.
    ///
    /// # Errors
    ///
    /// All faults, at once.
    pub fn check(&self) -> Result<(), Vec<SchemaFault>> {
        let mut faults = Vec::new();
        if self.columns.is_empty() {
            faults.push(SchemaFault::NoColumns);
        }
        if self.columns.len() > MAX_COLUMNS {
            faults.push(SchemaFault::TooManyColumns(self.columns.len()));
        }
        let mut names = HashSet::new();
        for column in &self.columns {
            if column.name.is_empty() {
                faults.push(SchemaFault::UnnamedColumn);
            } else if !names.insert(&column.name) {
                faults.push(SchemaFault::DuplicateColumn(column.name.clone()));
            }
            if let ColumnType::Decimal { scale } = column.kind
                && scale > MAX_SCALE
            {
                faults.push(SchemaFault::Scale { column: column.name.clone(), scale });
            }
        }
        self.check_key("the primary key", &self.primary_key, &mut faults);
        for column in self.columns.iter().filter(|column| column.nullable) {
            if self.primary_key.iter().any(|key| key.name == column.name) {
                faults.push(SchemaFault::NullablePrimaryKey(column.name.clone()));
            }
        }
        let mut names = HashSet::new();
        for index in &self.indexes {
            if index.name.is_empty() {
                faults.push(SchemaFault::UnnamedIndex);
            } else if !names.insert(&index.name) {
                faults.push(SchemaFault::DuplicateIndex(index.name.clone()));
            }
            let key = format!("index {}", index.name);
            self.check_key(&key, &index.columns, &mut faults);
            self.check_included(&key, index, &mut faults);
        }
        if faults.is_empty() { Ok(()) } else { Err(faults) }
    }

    /// Checks the included columns of an index, which `key` names.
    fn check_included(&self, key: &str, index: &IndexDef, faults: &mut Vec<SchemaFault>) {
        let mut names: HashSet<&String> = index.columns.iter().map(|column| &column.name).collect();
        for name in &index.include {
            let (key, column) = (key.to_owned(), name.clone());
            if self.position(name).is_none() {
                faults.push(SchemaFault::UnknownColumn { key, column });
            } else if self.primary_key.iter().any(|primary| primary.name == *name) {
                faults.push(SchemaFault::IncludedPrimaryKey { key, column });
            } else if !names.insert(name) {
                faults.push(SchemaFault::RepeatedColumn { key, column });
            }
        }
    }

    fn check_key(&self, key: &str, columns: &[KeyColumn], faults: &mut Vec<SchemaFault>) {
        if columns.is_empty() {
            faults.push(SchemaFault::EmptyKey(key.to_owned()));
        }
        let mut names = HashSet::new();
        for KeyColumn { name, .. } in columns {
            if self.position(name).is_none() {
                faults.push(SchemaFault::UnknownColumn { key: key.to_owned(), column: name.clone() });
            }
            if !names.insert(name) {
                faults.push(SchemaFault::RepeatedColumn { key: key.to_owned(), column: name.clone() });
            }
        }
    }
}

/// A fault of a schema.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaFault {
    /// There are no columns.
    #[error("there are no columns: give at least one")]
    NoColumns,
    /// There are more than [`MAX_COLUMNS`] columns.
    #[error("there are {0} columns: use at most {MAX_COLUMNS}")]
    TooManyColumns(usize),
    /// A column has an empty name.
    #[error("a column has no name: give it one")]
    UnnamedColumn,
    /// Two columns have the same name.
    #[error("column {0} exists twice: rename one")]
    DuplicateColumn(String),
    /// A decimal has a scale above [`MAX_SCALE`].
    #[error("column {column} has scale {scale}: use at most {MAX_SCALE}")]
    Scale {
        /// Name of the column.
        column: String,
        /// Scale of the column.
        scale: u8,
    },
    /// The primary key or an index has no columns.
    #[error("{0} has no columns: name at least one")]
    EmptyKey(String),
    /// The primary key or an index names a column that does not exist.
    #[error("{key} names column {column}, which does not exist: add or rename it")]
    UnknownColumn {
        /// The primary key or the index.
        key: String,
        /// Unknown name.
        column: String,
    },
    /// The primary key or an index names a column more than once.
    #[error("{key} names column {column} twice: drop one")]
    RepeatedColumn {
        /// The primary key or the index.
        key: String,
        /// Name of the column.
        column: String,
    },
    /// An index includes a column of the primary key.
    #[error("{key} includes column {column} of the primary key, which each index has: leave it out")]
    IncludedPrimaryKey {
        /// The index.
        key: String,
        /// Name of the column.
        column: String,
    },
    /// A column of the primary key may be null.
    #[error("column {0} of the primary key is nullable: make it not nullable")]
    NullablePrimaryKey(String),
    /// An index has an empty name.
    #[error("an index has no name: give it one")]
    UnnamedIndex,
    /// Two indexes have the same name.
    #[error("index {0} exists twice: rename one")]
    DuplicateIndex(String),
}

#[cfg(test)]
mod tests {
    use super::super::key_column::{asc, desc};
    use super::*;

    #[test]
    fn a_check_reports_all_faults_at_once() {
        let schema = Schema::new()
            .column("a", ColumnType::I32)
            .column("a", ColumnType::Decimal { scale: 19 })
            .nullable("b", ColumnType::Text)
            .column("", ColumnType::Bool)
            .primary_key(["b", "x", "b"])
            .index("i", [""; 0])
            .unique_index("i", ["y"])
            .index("", ["b"])
            .with_index(IndexDef::new("k", ["a"]).include(["a", "b", "z"]));
        let key = || "the primary key".to_owned();
        let mut faults = schema.check().unwrap_err();
        let mut expected = vec![
            SchemaFault::DuplicateColumn("a".into()),
            SchemaFault::Scale { column: "a".into(), scale: 19 },
            SchemaFault::UnnamedColumn,
            SchemaFault::UnknownColumn { key: key(), column: "x".into() },
            SchemaFault::RepeatedColumn { key: key(), column: "b".into() },
            SchemaFault::NullablePrimaryKey("b".into()),
            SchemaFault::EmptyKey("index i".into()),
            SchemaFault::DuplicateIndex("i".into()),
            SchemaFault::UnknownColumn { key: "index i".into(), column: "y".into() },
            SchemaFault::UnnamedIndex,
            SchemaFault::RepeatedColumn { key: "index k".into(), column: "a".into() },
            SchemaFault::IncludedPrimaryKey { key: "index k".into(), column: "b".into() },
            SchemaFault::UnknownColumn { key: "index k".into(), column: "z".into() },
        ];
        let order = |fault: &SchemaFault| fault.to_string();
        faults.sort_by_key(order);
        expected.sort_by_key(order);
        assert_eq!(faults, expected);
    }

    #[test]
    fn an_empty_schema_has_neither_columns_nor_a_key() {
        let faults = Schema::new().check().unwrap_err();
        assert_eq!(faults, [SchemaFault::NoColumns, SchemaFault::EmptyKey("the primary key".into())]);
    }

    #[test]
    fn more_columns_than_the_limit_are_rejected() {
        let mut schema = Schema::new().primary_key(["c0"]);
        for n in 0..=MAX_COLUMNS {
            schema = schema.column(&format!("c{n}"), ColumnType::Bool);
        }
        assert_eq!(schema.check().unwrap_err(), [SchemaFault::TooManyColumns(MAX_COLUMNS + 1)]);
        schema.columns.pop();
        assert_eq!(schema.check(), Ok(()));
    }

    #[test]
    fn a_schema_survives_the_catalog() {
        let schema = Schema::new()
            .column("id", ColumnType::I64)
            .nullable("price", ColumnType::Decimal { scale: 2 })
            .primary_key(["id"])
            .unique_index("by_price", ["price"]);
        let json = serde_json::to_string(&schema).unwrap();
        assert_eq!(serde_json::from_str::<Schema>(&json).unwrap(), schema);
        // A column in ascending order looks as in formats that know no other order.
        assert!(
            json.contains("\"primary_key\":[\"id\"]") && json.contains("\"columns\":[\"price\"]"),
            "{json}"
        );
        let ordered = schema.index("by_both", [desc("price"), asc("id")]);
        let json = serde_json::to_string(&ordered).unwrap();
        assert!(json.contains("\"columns\":[{\"name\":\"price\",\"descending\":true},\"id\"]"), "{json}");
        assert_eq!(serde_json::from_str::<Schema>(&json).unwrap(), ordered);
        assert!(!json.contains("include"), "{json}");
        let covering = ordered.with_index(IndexDef::unique("covering", ["id"]).include(["price"]));
        let json = serde_json::to_string(&covering).unwrap();
        assert!(json.contains("\"unique\":true,\"include\":[\"price\"]"), "{json}");
        assert_eq!(serde_json::from_str::<Schema>(&json).unwrap(), covering);
    }
}

/// A column of rows that were written before columns were changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct OldColumn {
    pub(super) kind: ColumnType,
    pub(super) nullable: bool,
    /// Position among the columns of today; none if the column was dropped.
    pub(super) now: Option<usize>,
}

/// The value of a column in rows that were written before the column was added.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ColumnDefault {
    /// Position among the columns of today.
    pub(super) now: usize,
    pub(super) value: StoredValue,
}

/// A value in the catalog that is not null.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum StoredValue {
    /// The bits of a column of fixed width, as a row has them. JSON has no number for some floats.
    Bits(i64),
    Text(String),
    Bytes(Vec<u8>),
}

impl StoredValue {
    /// Returns the form of a value of a column of this type. Returns none for null, and if the value does not fit.
    pub(super) fn new(kind: ColumnType, value: Value<'_>) -> Option<Self> {
        match value {
            Value::Text(text) if kind == ColumnType::Text => Some(Self::Text(text.to_owned())),
            Value::Bytes(bytes) if kind == ColumnType::Bytes => Some(Self::Bytes(bytes.to_owned())),
            value => value.to_bits(kind).map(Self::Bits),
        }
    }

    /// Returns the value in a column of this type, or none if no such column can have it.
    pub(super) fn value(&self, kind: ColumnType) -> Option<Value<'_>> {
        match self {
            Self::Bits(bits) => Value::from_bits(kind, *bits),
            Self::Text(text) => (kind == ColumnType::Text).then_some(Value::Text(text)),
            Self::Bytes(bytes) => (kind == ColumnType::Bytes).then_some(Value::Bytes(bytes)),
        }
    }
}
