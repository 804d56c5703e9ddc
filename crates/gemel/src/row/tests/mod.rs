//! Tests of the row layer, over a map of bytes.

mod alter;
mod codec;
mod keys;
mod model;
mod tables;

use super::{Bytes, ColumnType, Each, OwnedValue, Schema, Table, Value};
use crate::error::Result;
use crate::ids::{Direction, KeyspaceId};
use crate::keyspace::Keyspace;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};

/// A keyspace of that number.
fn space(id: u32) -> Keyspace {
    Keyspace { owner: 1, id: KeyspaceId(id), engine: 0, name: "".into(), gate: Default::default() }
}

/// A transaction over a map, which is all that the row layer needs.
#[derive(Clone, Debug, Default, PartialEq)]
struct Map(BTreeMap<(KeyspaceId, Vec<u8>), Vec<u8>>);

impl Bytes for Map {
    fn get(&mut self, keyspace: &Keyspace, key: &[u8]) -> Result<Option<Vec<u8>>> {
        Ok(self.0.get(&(keyspace.id, key.to_vec())).cloned())
    }

    fn put(&mut self, keyspace: &Keyspace, key: &[u8], value: &[u8]) -> Result<()> {
        self.0.insert((keyspace.id, key.to_vec()), value.to_vec());
        Ok(())
    }

    fn delete(&mut self, keyspace: &Keyspace, key: &[u8]) -> Result<()> {
        self.0.remove(&(keyspace.id, key.to_vec()));
        Ok(())
    }

    fn scan(
        &mut self,
        keyspace: &Keyspace,
        lower: Bound<&[u8]>,
        upper: Bound<&[u8]>,
        direction: Direction,
        each: &mut Each<'_>,
    ) -> Result<()> {
        let within = |key: &[u8]| {
            let above = match lower {
                Bound::Included(lower) => key >= lower,
                Bound::Excluded(lower) => key > lower,
                Bound::Unbounded => true,
            };
            above
                && match upper {
                    Bound::Included(upper) => key <= upper,
                    Bound::Excluded(upper) => key < upper,
                    Bound::Unbounded => true,
                }
        };
        let mut found: Vec<_> =
            self.0.iter().filter(|((space, key), _)| *space == keyspace.id && within(key)).collect();
        if direction == Direction::Backward {
            found.reverse();
        }
        for ((_, key), value) in found {
            if each(key, value).is_break() {
                break;
            }
        }
        Ok(())
    }
}

/// All kinds of columns, each also nullable.
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

/// Any value of a kind; small ones often, so that equal beginnings and zero bytes are met.
fn value_of(kind: ColumnType) -> BoxedStrategy<OwnedValue> {
    let int = || prop_oneof![-3..3_i64, any::<i64>()];
    match kind {
        ColumnType::I16 => any::<i16>().prop_map(|n| OwnedValue::Int(n.into())).boxed(),
        ColumnType::I32 => any::<i32>().prop_map(|n| OwnedValue::Int(n.into())).boxed(),
        ColumnType::I64 => int().prop_map(OwnedValue::Int).boxed(),
        ColumnType::Decimal { .. } => int().prop_map(OwnedValue::Decimal).boxed(),
        ColumnType::Timestamp => int().prop_map(OwnedValue::Timestamp).boxed(),
        ColumnType::Bool => any::<bool>().prop_map(OwnedValue::Bool).boxed(),
        ColumnType::Text => prop_oneof![
            proptest::collection::vec(proptest::sample::select(vec!['\0', '\u{1}', 'a', 'ÿ']), 0..4)
                .prop_map(|chars| OwnedValue::Text(chars.into_iter().collect())),
            any::<String>().prop_map(OwnedValue::Text),
        ]
        .boxed(),
        ColumnType::Bytes => {
            let byte = proptest::sample::select(vec![0_u8, 1, 254, 255]);
            proptest::collection::vec(byte, 0..4).prop_map(OwnedValue::Bytes).boxed()
        }
        ColumnType::F64 => prop_oneof![any::<u64>().prop_map(f64::from_bits), Just(0.0), Just(-0.0)]
            .prop_map(OwnedValue::Float)
            .boxed(),
    }
}

/// Any value of a column.
fn column_value(kind: ColumnType, nullable: bool) -> BoxedStrategy<OwnedValue> {
    if nullable {
        prop_oneof![1 => Just(OwnedValue::Null), 3 => value_of(kind)].boxed()
    } else {
        value_of(kind)
    }
}

/// One to six columns of any kinds.
fn columns() -> impl Strategy<Value = Vec<(ColumnType, bool)>> {
    proptest::collection::vec((proptest::sample::select(KINDS.to_vec()), any::<bool>()), 1..7)
}

/// A schema of these columns, named `c0`, `c1`, …, with a column `id` behind them as its key.
fn schema_of(columns: &[(ColumnType, bool)]) -> Schema {
    let mut schema = Schema::new();
    for (n, (kind, nullable)) in columns.iter().enumerate() {
        let name = format!("c{n}");
        schema = if *nullable { schema.nullable(&name, *kind) } else { schema.column(&name, *kind) };
    }
    schema.column("id", ColumnType::Bool).primary_key(["id"])
}

/// A strategy for the values of these columns.
fn values_of(columns: &[(ColumnType, bool)]) -> Vec<BoxedStrategy<OwnedValue>> {
    columns.iter().map(|(kind, nullable)| column_value(*kind, *nullable)).collect()
}

fn borrowed(values: &[OwnedValue]) -> Vec<Value<'_>> {
    values.iter().map(OwnedValue::as_value).collect()
}

/// A table of people: unique by mail (which may be null), found by town and name.
fn people() -> Table {
    let schema = Schema::new()
        .column("country", ColumnType::I16)
        .column("id", ColumnType::I32)
        .column("name", ColumnType::Text)
        .nullable("mail", ColumnType::Text)
        .nullable("town", ColumnType::I32)
        .column("balance", ColumnType::Decimal { scale: 2 })
        .primary_key(["country", "id"])
        .unique_index("by_mail", ["mail"])
        .index("by_town", ["town", "name"]);
    Table::new("people", schema, space(10), vec![space(11), space(12)], None).unwrap()
}

/// A row of [`people`].
fn person<'a>(id: i64, name: &'a str, mail: Option<&'a str>, town: Option<i64>) -> [Value<'a>; 6] {
    [Value::Int(1), Value::Int(id), name.into(), mail.into(), town.into(), Value::Decimal(100)]
}
