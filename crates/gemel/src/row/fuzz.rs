//! Fuzzing of the codecs with arbitrary bytes.

use super::keys::KeyLayout;
use super::{ColumnType, KeyColumn, Layout, RowView, Schema, Value};
use crate::error::Error;
use crate::fuzzing::Source;

const KINDS: [ColumnType; 9] = [
    ColumnType::I16,
    ColumnType::I32,
    ColumnType::I64,
    ColumnType::Decimal { scale: 2 },
    ColumnType::Bool,
    ColumnType::Text,
    ColumnType::Bytes,
    ColumnType::Timestamp,
    ColumnType::F64,
];

fn is_corruption(error: &Error) -> bool {
    matches!(error, Error::Corruption { .. })
}

/// Reads a schema from the first bytes, and the rest as a row and as a key. Values that can be read are encoded again,
/// to the same bytes.
pub(crate) fn bytes_as_a_row(data: &[u8]) {
    let mut source = Source(data);
    let columns = 1 + usize::from(source.byte() % 8);
    let (mut schema, mut key) = (Schema::new(), Vec::new());
    for column in 0..columns {
        let byte = source.byte();
        let (name, kind) = (format!("c{column}"), KINDS[usize::from(byte) % KINDS.len()]);
        // A primary key is never null.
        schema =
            if column > 0 && byte >= 128 { schema.nullable(&name, kind) } else { schema.column(&name, kind) };
        key.push(KeyColumn { name, descending: byte & 64 != 0 });
    }
    schema = schema.primary_key(["c0"]);
    let Ok(layout) = Layout::new("t", &schema) else { return };
    match RowView::new(&layout, source.0) {
        Ok(view) => read(&layout, view),
        Err(error) => assert!(is_corruption(&error), "{error}"),
    }
    let Ok(keys) = KeyLayout::new("t", &schema, &key) else { return };
    match keys.decode(source.0) {
        Ok(values) => {
            let values: Vec<Value<'_>> = values.iter().map(super::OwnedValue::as_value).collect();
            let again = keys.encode(&values).unwrap_or_else(|error| panic!("{values:?}: {error}"));
            assert_eq!(again, source.0, "the key of {values:?}");
        }
        Err(error) => assert!(is_corruption(&error), "{error}"),
    }
}

fn read(layout: &Layout, view: RowView<'_>) {
    let values = match view.values() {
        Ok(values) => values,
        Err(error) => return assert!(is_corruption(&error), "{error}"),
    };
    let again = layout.encode(&values).unwrap_or_else(|error| panic!("{values:?}: {error}"));
    let same = |bytes: &[u8]| {
        RowView::new(layout, bytes).and_then(|view| Ok(view.values()? == values)).unwrap_or(false)
    };
    assert!(same(&again), "{values:?} are other values once they were written");
    for (column, value) in values.iter().enumerate() {
        let mut row = view.as_bytes().to_vec();
        match layout.replace(&mut row, column, *value) {
            Ok(()) => assert!(same(&row), "column {column} of {values:?} written over itself"),
            // What stands under a null may be seen only now.
            Err(error) => {
                assert!(is_corruption(&error) && row == view.as_bytes(), "column {column}: {error}")
            }
        }
    }
}
