//! Tests of the row codec.

use super::*;
use crate::error::Error;
use crate::row::{Layout, RowBuf, RowView};

/// A schema, a row of it, and another value for each column.
fn rows() -> impl Strategy<Value = (Schema, Vec<OwnedValue>, Vec<OwnedValue>)> {
    columns().prop_flat_map(|mut columns| {
        let schema = schema_of(&columns);
        columns.push((ColumnType::Bool, false));
        (Just(schema), values_of(&columns), values_of(&columns))
    })
}

fn is_corruption<T>(result: Result<T>) -> bool {
    matches!(result, Err(Error::Corruption { .. }))
}

proptest! {
    #[test]
    fn a_row_reads_as_it_was_written((schema, values, _) in rows()) {
        let layout = Layout::new("t", &schema).unwrap();
        let row = layout.encode(&borrowed(&values)).unwrap();
        let view = RowView::new(&layout, &row).unwrap();
        prop_assert_eq!(view.values().unwrap(), borrowed(&values));
        for (column, value) in values.iter().enumerate() {
            prop_assert_eq!(view.get(column).unwrap(), value.as_value());
            prop_assert_eq!(view.is_null(column).unwrap(), *value == OwnedValue::Null);
        }
    }

    #[test]
    fn a_replaced_column_leaves_the_row_as_if_written_so((schema, mut values, others) in rows(), at in 0_usize..8) {
        let layout = Layout::new("t", &schema).unwrap();
        let mut row = layout.encode(&borrowed(&values)).unwrap();
        let column = at % values.len();
        values[column] = others[column].clone();
        layout.replace(&mut row, column, values[column].as_value()).unwrap();
        prop_assert_eq!(&row, &layout.encode(&borrowed(&values)).unwrap());
    }

    #[test]
    fn arbitrary_bytes_are_read_or_refused(
        (schema, values, others) in rows(),
        bytes in proptest::collection::vec(prop_oneof![0..4_u8, any::<u8>()], 0..60),
        flip in any::<(usize, u8)>(),
    ) {
        let layout = Layout::new("t", &schema).unwrap();
        let mut damaged = layout.encode(&borrowed(&values)).unwrap();
        let at = flip.0 % damaged.len();
        damaged[at] ^= flip.1;
        for bytes in [bytes, damaged] {
            let Ok(view) = RowView::new(&layout, &bytes) else { continue };
            for (column, other) in others.iter().enumerate() {
                let read = view.get(column);
                prop_assert!(read.is_ok() || is_corruption(read));
                let mut changed = bytes.clone();
                let replaced = layout.replace(&mut changed, column, other.as_value());
                match replaced {
                    Ok(()) => prop_assert_eq!(
                        RowView::new(&layout, &changed).unwrap().get(column).unwrap(), other.as_value()
                    ),
                    Err(error) => {
                        prop_assert!(is_corruption::<()>(Err(error)));
                        prop_assert_eq!(&changed, &bytes);
                    }
                }
            }
        }
    }
}

#[test]
fn a_row_becomes_wide_and_narrow_again_as_its_texts_grow_and_shrink() {
    let schema = Schema::new()
        .column("id", ColumnType::I32)
        .column("a", ColumnType::Text)
        .nullable("b", ColumnType::Bytes)
        .primary_key(["id"]);
    let layout = Layout::new("t", &schema).unwrap();
    let long = "x".repeat(70_000);
    let narrow = [Value::Int(1), Value::Text("short"), Value::Bytes(b"end")];
    let wide = [Value::Int(1), Value::Text(&long), Value::Bytes(b"end")];
    let mut row = layout.encode(&narrow).unwrap();
    layout.replace(&mut row, 1, wide[1]).unwrap();
    assert_eq!(row, layout.encode(&wide).unwrap());
    assert_eq!(RowView::new(&layout, &row).unwrap().values().unwrap(), wide);
    layout.replace(&mut row, 2, Value::Null).unwrap();
    assert_eq!(RowView::new(&layout, &row).unwrap().text(1).unwrap(), long);
    layout.replace(&mut row, 2, narrow[2]).unwrap();
    layout.replace(&mut row, 1, narrow[1]).unwrap();
    assert_eq!(row, layout.encode(&narrow).unwrap());
}

#[test]
fn each_kind_is_read_by_its_own_name() {
    let mut schema = Schema::new();
    for (n, kind) in KINDS.into_iter().enumerate() {
        schema = schema.column(&format!("c{n}"), kind);
    }
    let layout = Layout::new("t", &schema.primary_key(["c0"])).unwrap();
    let row = RowBuf::new(
        &layout,
        &[
            Value::Int(-1),
            Value::Int(-2),
            Value::Int(-3),
            Value::Decimal(-4),
            Value::Bool(true),
            Value::Text("text"),
            Value::Bytes(b"bytes"),
            Value::Timestamp(5),
            Value::Float(6.5),
        ],
    )
    .unwrap();
    let view = row.view();
    assert_eq!([0, 1, 2].map(|column| view.int(column).unwrap()), [-1, -2, -3]);
    assert_eq!(view.decimal(3).unwrap(), -4);
    assert!(view.bool(4).unwrap());
    assert_eq!((view.text(5).unwrap(), view.bytes(6).unwrap()), ("text", &b"bytes"[..]));
    assert_eq!((view.timestamp(7).unwrap(), view.float(8).unwrap()), (5, 6.5));
    assert_eq!(
        view.int(5).unwrap_err().to_string(),
        "table t, column c5: read as an integer, but it holds text 'text'",
    );
    assert_eq!(view.get(9).unwrap_err().to_string(), "table t: there is no column 9, only 0 to 8");
    assert!(format!("{row:?}").contains("\"c5\": 'text'"));
}

#[test]
fn values_that_do_not_fit_are_refused_with_the_columns_name() {
    let layout = people().layout().clone();
    let refused = |at: usize, value| {
        let mut values = person(1, "Ann", None, None);
        values[at] = value;
        let encoded = layout.encode(&values).unwrap_err().to_string();
        let mut row = layout.encode(&person(1, "Ann", None, None)).unwrap();
        let before = row.clone();
        assert_eq!(layout.replace(&mut row, at, value).unwrap_err().to_string(), encoded);
        assert_eq!(row, before);
        encoded
    };
    assert_eq!(
        refused(0, Value::Int(40_000)),
        "table people, column country: 40000 does not fit a 16-bit integer"
    );
    assert_eq!(
        refused(1, Value::Text("x")),
        "table people, column id: expected a 32-bit integer, given text 'x'"
    );
    assert_eq!(
        refused(2, Value::Null),
        "table people, column name: expected a text, given null; it is not nullable",
    );
    assert_eq!(refused(3, Value::Int(1)), "table people, column mail: expected a text, given integer 1");
    assert_eq!(
        refused(5, Value::Int(1)),
        "table people, column balance: expected a decimal of scale 2, given integer 1",
    );
    assert_eq!(
        layout.encode(&[Value::Int(1)]).unwrap_err().to_string(),
        "table people: 1 values given for 6 columns",
    );
    assert_eq!(layout.column("nick").unwrap_err().to_string(), "table people: there is no column nick");
}

#[test]
fn a_row_longer_than_a_value_may_be_is_refused() {
    let layout = people().layout().clone();
    let long = "x".repeat(crate::MAX_VALUE_BYTES);
    assert!(matches!(layout.encode(&person(1, &long, None, None)), Err(Error::Capacity(_))));
    let mut row = layout.encode(&person(1, "Ann", None, None)).unwrap();
    assert!(matches!(layout.replace(&mut row, 2, Value::Text(&long)), Err(Error::Capacity(_))));
    assert_eq!(row, layout.encode(&person(1, "Ann", None, None)).unwrap());
}

#[test]
fn a_schema_that_is_wrong_makes_no_layout() {
    let schema = Schema::new().column("a", ColumnType::Bool).primary_key(["b"]);
    assert_eq!(
        Layout::new("t", &schema).unwrap_err().to_string(),
        "table t: the schema can't be used: the primary key names column b, which does not exist: add or rename it",
    );
}
