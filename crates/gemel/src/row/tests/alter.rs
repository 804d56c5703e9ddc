//! Rows that were written before the columns of their table were changed.

use super::*;
use crate::error::Error;
use crate::row::{Column, ColumnChange, Layout, RowBuf, RowView};

/// A step: its kind, a place, a kind of column, the columns to set to null, and a value for each kind of column.
type Step = (u8, prop::sample::Index, usize, u16, Vec<OwnedValue>);

fn step() -> impl Strategy<Value = Step> {
    let values = values_of(&KINDS.map(|kind| (kind, false)));
    (0..10_u8, any::<prop::sample::Index>(), 0..KINDS.len(), any::<u16>(), values)
}

/// A table's schema, its rows, and the values that they must have.
struct Model {
    schema: Schema,
    rows: Vec<(Vec<u8>, Vec<OwnedValue>)>,
    named: usize,
}

impl Model {
    fn value(&self, column: usize, nulls: u16, values: &[OwnedValue]) -> OwnedValue {
        let column_of = &self.schema.columns[column];
        let kind = KINDS.iter().position(|kind| *kind == column_of.kind).unwrap();
        if column_of.nullable && nulls >> (column % 16) & 1 == 1 {
            OwnedValue::Null
        } else {
            values[kind].clone()
        }
    }

    fn alter(&mut self, change: ColumnChange) {
        let altered = self.schema.altered("t", std::slice::from_ref(&change)).unwrap();
        assert_eq!(
            altered.rows_change,
            self.schema.columns.len() != altered.schema.columns.len() || {
                let form = |column: &Column| (column.kind, column.nullable);
                !self.schema.columns.iter().map(form).eq(altered.schema.columns.iter().map(form))
            }
        );
        self.schema = altered.schema;
    }

    fn apply(&mut self, (kind, at, of, nulls, values): Step) {
        let columns = self.schema.columns.len();
        // Column 0 is the primary key.
        let column = if columns > 1 { Some(1 + at.index(columns - 1)) } else { None };
        self.named += 1;
        let name = format!("n{}", self.named);
        match (kind, column) {
            (0, _) => {
                let default = if nulls & 1 == 0 { OwnedValue::Null } else { values[of].clone() };
                let add = if nulls & 2 == 0 { ColumnChange::add_with } else { ColumnChange::add_not_null };
                let default = if nulls & 2 == 0 { default } else { values[of].clone() };
                self.alter(add(&name, KINDS[of], default.as_value()));
                self.rows.iter_mut().for_each(|(_, values)| values.push(default.clone()));
            }
            (6, Some(column)) => {
                self.alter(ColumnChange::drop_not_null(&self.schema.columns[column].name.clone()));
            }
            (7, Some(column)) => {
                let change = ColumnChange::set_not_null(&self.schema.columns[column].name);
                let altered = self.schema.altered("t", std::slice::from_ref(&change)).unwrap();
                let was_nullable = self.schema.columns[column].nullable;
                assert_eq!(altered.not_null, if was_nullable { vec![column] } else { Vec::new() });
                if self.rows.iter().all(|(_, values)| values[column] != OwnedValue::Null) {
                    self.alter(change);
                }
            }
            (8 | 9, Some(column)) => {
                let (is, kinds) = (self.schema.columns[column].clone(), KINDS.iter().cycle().skip(of));
                let wider = |kind: &&ColumnType| **kind != is.kind && is.kind.zeros_in(**kind).is_some();
                let Some(kind) = kinds.take(KINDS.len()).find(wider) else { return };
                self.alter(ColumnChange::set_type(&is.name, *kind));
                for (_, values) in &mut self.rows {
                    if let (OwnedValue::Int(n), ColumnType::Decimal { scale }) = (&values[column], kind) {
                        values[column] = OwnedValue::Decimal(n * 10_i64.pow(u32::from(*scale)));
                    }
                }
            }
            (1, Some(column)) => {
                self.alter(ColumnChange::drop(&self.schema.columns[column].name.clone()));
                self.rows.iter_mut().for_each(|(_, values)| drop(values.remove(column)));
            }
            (2, _) => {
                let column = at.index(columns);
                self.alter(ColumnChange::rename(&self.schema.columns[column].name.clone(), &name));
            }
            (3, Some(column)) if !self.rows.is_empty() => {
                let value = self.value(column, nulls, &values);
                let layout = Layout::new("t", &self.schema).unwrap();
                let row = at.index(self.rows.len());
                let (bytes, expected) = &mut self.rows[row];
                layout.replace(bytes, column, value.as_value()).unwrap();
                expected[column] = value;
                assert_eq!(
                    *bytes,
                    layout.encode(&borrowed(expected)).unwrap(),
                    "it has the columns of today"
                );
            }
            _ => {
                let values: Vec<_> = (0..columns).map(|column| self.value(column, nulls, &values)).collect();
                let layout = Layout::new("t", &self.schema).unwrap();
                self.rows.push((layout.encode(&borrowed(&values)).unwrap(), values));
            }
        }
    }

    fn check(&self) {
        // As the manifest keeps it.
        let stored = serde_json::to_string(&self.schema).unwrap();
        let schema: Schema = serde_json::from_str(&stored).unwrap();
        assert_eq!(schema.older, self.schema.older);
        let layout = Layout::new("t", &schema).unwrap();
        for (bytes, expected) in &self.rows {
            let view = RowView::new(&layout, bytes).unwrap();
            assert_eq!(view.values().unwrap(), borrowed(expected));
            for (column, value) in expected.iter().enumerate() {
                assert_eq!(view.is_null(column).unwrap(), *value == OwnedValue::Null);
            }
            assert!(view.get(expected.len()).is_err());
            let row = RowBuf::from_bytes(&layout, bytes.clone()).unwrap();
            assert_eq!(row.view().values().unwrap(), borrowed(expected));
        }
    }
}

proptest! {
    #[test]
    fn rows_are_read_as_written_whatever_becomes_of_their_columns(steps in proptest::collection::vec(step(), 1..40)) {
        let schema = Schema::new().column("id", ColumnType::I32).column("text", ColumnType::Text);
        let mut model = Model { schema: schema.primary_key(["id"]), rows: Vec::new(), named: 0 };
        for step in steps {
            model.apply(step);
            model.check();
        }
    }

    /// A layout does not know the rows that later ones write.
    #[test]
    fn damaged_rows_of_earlier_columns_are_rejected_and_never_misread(
        steps in proptest::collection::vec(step(), 1..20), place: prop::sample::Index, byte: u8,
    ) {
        let schema = Schema::new().column("id", ColumnType::I32).column("text", ColumnType::Text);
        let mut model = Model { schema: schema.primary_key(["id"]), rows: Vec::new(), named: 0 };
        steps.into_iter().for_each(|step| model.apply(step));
        let layout = Layout::new("t", &model.schema).unwrap();
        for (bytes, _) in &mut model.rows {
            let place = place.index(bytes.len());
            bytes[place] = byte;
            for cut in [bytes.len(), place] {
                match RowView::new(&layout, &bytes[..cut]).and_then(|view| view.values().map(drop)) {
                    Ok(()) => {}
                    Err(error) => prop_assert!(matches!(error, Error::Corruption { .. }), "{error}"),
                }
            }
        }
    }
}

#[test]
fn columns_change_a_limited_number_of_times_and_can_be_renamed_for_ever() {
    let mut schema = Schema::new().column("id", ColumnType::I32).primary_key(["id"]);
    let first = Layout::new("t", &schema).unwrap().encode(&[Value::Int(7)]).unwrap();
    for round in 0..127 {
        let change =
            if round % 2 == 0 { ColumnChange::add("a", ColumnType::Text) } else { ColumnChange::drop("a") };
        schema = schema.altered("t", &[change]).unwrap().schema;
    }
    let layout = Layout::new("t", &schema).unwrap();
    let newest = layout.encode(&[Value::Int(8), Value::Null]).unwrap();
    for (row, id) in [(first, 7), (newest, 8)] {
        let view = RowView::new(&layout, &row).unwrap();
        assert_eq!(view.values().unwrap(), [Value::Int(id), Value::Null]);
    }
    let error = schema.altered("t", &[ColumnChange::drop("a")]).unwrap_err();
    assert!(matches!(&error, Error::Capacity(text) if text.contains("127 times")), "{error}");
    let renamed = schema.altered("t", &[ColumnChange::rename("id", "key")]).unwrap();
    assert_eq!((renamed.schema.primary_key, renamed.rows_change), (vec![crate::row::asc("key")], false));
}

#[test]
fn a_type_becomes_one_that_has_all_its_values_and_no_other() {
    let schema = |kind| Schema::new().column("id", ColumnType::I32).column("n", kind).primary_key(["id"]);
    let decimal = |scale| ColumnType::Decimal { scale };
    for (kind, least, wider, scale) in [
        (ColumnType::I16, i64::from(i16::MIN), &[ColumnType::I32, ColumnType::I64][..], 14),
        (ColumnType::I32, i64::from(i32::MIN), &[ColumnType::I64][..], 9),
        (ColumnType::I64, i64::MIN, &[][..], 0),
    ] {
        let row =
            Layout::new("t", &schema(kind)).unwrap().encode(&[Value::Int(1), Value::Int(least)]).unwrap();
        let read = |kind_now| {
            let altered = schema(kind).altered("t", &[ColumnChange::set_type("n", kind_now)])?;
            let layout = Layout::new("t", &altered.schema)?;
            let value = RowView::new(&layout, &row)?.get(1)?.into_owned();
            assert_eq!(layout.encode(&[Value::Int(1), value.as_value()])?.len() % 2, 1);
            Ok::<_, Error>(value)
        };
        for wider in wider {
            assert_eq!(read(*wider).unwrap(), OwnedValue::Int(least));
        }
        assert_eq!(read(decimal(scale)).unwrap(), OwnedValue::Decimal(least * 10_i64.pow(scale.into())));
        for other in [decimal(scale + 1), ColumnType::Text, ColumnType::F64, ColumnType::Timestamp] {
            let error = read(other).unwrap_err();
            assert!(matches!(&error, Error::Usage(text) if text.contains("copy the values")), "{error}");
        }
    }
    for (from, to) in
        [(decimal(2), decimal(3)), (ColumnType::I64, ColumnType::I32), (ColumnType::Text, ColumnType::Bytes)]
    {
        schema(from).altered("t", &[ColumnChange::set_type("n", to)]).unwrap_err();
    }
}
