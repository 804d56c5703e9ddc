//! Indexes as an SQL layer uses them: ranges and seeks of any columns of their keys, compared with sorted lists.

#![expect(clippy::unwrap_used, reason = "a test ends where something is not as it should be")]

use gemel::row::{ColumnType, OwnedValue, RowRange, RowView, Schema, Table, Value};
use gemel::{Database, Direction, Engine, Error, Isolation, Options, Transaction};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::cmp::Ordering;
use std::ops::{Bound, ControlFlow};

const ENGINES: [Engine; 2] = [Engine::Memory, Engine::Disk];

type Row = Vec<OwnedValue>;

/// Columns of the tables: name, type, and true if nullable.
const COLUMNS: [(&str, ColumnType, bool); 4] = [
    ("number", ColumnType::I16, false),
    ("text", ColumnType::Text, true),
    ("bytes", ColumnType::Bytes, false),
    ("count", ColumnType::I64, true),
];
/// Columns that may be part of a primary key.
const NOT_NULL: [usize; 2] = [0, 2];

/// Few values, so that many rows have equal ones.
fn value_of(column: usize) -> BoxedStrategy<OwnedValue> {
    let null = || Just(OwnedValue::Null);
    match column {
        0 => proptest::sample::select(vec![-1, 0, i64::from(i16::MAX)]).prop_map(OwnedValue::Int).boxed(),
        1 => prop_oneof![
            null(),
            proptest::sample::select(vec!["", "a", "a\0"]).prop_map(|text| OwnedValue::Text(text.into()))
        ]
        .boxed(),
        2 => proptest::sample::select(vec![vec![], vec![0], vec![255], vec![255, 255]])
            .prop_map(OwnedValue::Bytes)
            .boxed(),
        _ => prop_oneof![null(), proptest::sample::select(vec![-1, 1, i64::MAX]).prop_map(OwnedValue::Int)]
            .boxed(),
    }
}

fn row() -> impl Strategy<Value = Row> {
    (0..COLUMNS.len()).map(value_of).collect::<Vec<_>>()
}

/// Some of these columns in any order, at least one.
fn some_of(columns: Vec<usize>) -> impl Strategy<Value = Vec<usize>> {
    let most = columns.len();
    (Just(columns).prop_shuffle(), 1..=most).prop_map(|(mut columns, length)| {
        columns.truncate(length);
        columns
    })
}

/// A bound: its kind, and how many values it has of which row.
type Limit = (u8, prop::sample::Index, Row);

/// A move of a cursor: its kind, and the values of a seek.
type Move = (u8, prop::sample::Index, Row);

fn limit() -> impl Strategy<Value = Limit> {
    (0..3_u8, any::<prop::sample::Index>(), row())
}

/// A table with two indexes on the same columns, one of them unique.
#[derive(Clone, Debug)]
struct Case {
    primary: Vec<usize>,
    index: Vec<usize>,
    /// Rows that are committed before the transaction, and rows of its own.
    rows: [Vec<Row>; 2],
    /// Rows that the transaction deletes.
    deleted: Vec<prop::sample::Index>,
    ranges: Vec<(Limit, Limit)>,
    moves: Vec<Move>,
}

fn case() -> impl Strategy<Value = Case> {
    let rows = || proptest::collection::vec(row(), 0..12);
    let index = proptest::collection::vec(any::<prop::sample::Index>(), 0..3);
    let ranges = proptest::collection::vec((limit(), limit()), 1..6);
    let moves = proptest::collection::vec((0..8_u8, any::<prop::sample::Index>(), row()), 0..30);
    let columns = (some_of(NOT_NULL.to_vec()), some_of((0..COLUMNS.len()).collect()));
    (columns, rows(), rows(), index, ranges, moves).prop_map(
        |((primary, index), committed, own, deleted, ranges, moves)| Case {
            primary,
            index,
            rows: [committed, own],
            deleted,
            ranges,
            moves,
        },
    )
}

fn schema(case: &Case) -> Schema {
    let mut schema = Schema::new();
    for (name, kind, nullable) in COLUMNS {
        schema = if nullable { schema.nullable(name, kind) } else { schema.column(name, kind) };
    }
    let names = |columns: &[usize]| columns.iter().map(|column| COLUMNS[*column].0).collect::<Vec<_>>();
    schema
        .primary_key(names(&case.primary))
        .index("plain", names(&case.index))
        .unique_index("unique", names(&case.index))
}

fn borrowed(values: &[OwnedValue]) -> Vec<Value<'_>> {
    values.iter().map(OwnedValue::as_value).collect()
}

/// The rows of a table, and the columns of an index's order.
struct Model {
    rows: Vec<Row>,
    primary: Vec<usize>,
    index: Vec<usize>,
    order: Vec<usize>,
}

impl Model {
    fn new(case: &Case) -> Self {
        let lacked = case.primary.iter().filter(|column| !case.index.contains(column));
        let order = case.index.iter().chain(lacked).copied().collect();
        Self { rows: Vec::new(), primary: case.primary.clone(), index: case.index.clone(), order }
    }

    /// Adds a row, unless another one is in its way.
    fn insert(&mut self, row: &Row) -> bool {
        let same = |other: &Row, columns: &[usize]| columns.iter().all(|at| other[*at] == row[*at]);
        let is_exempt = self.index.iter().any(|at| row[*at] == OwnedValue::Null);
        let is_taken = self
            .rows
            .iter()
            .any(|other| same(other, &self.primary) || !is_exempt && same(other, &self.index));
        if !is_taken {
            self.rows.push(row.clone());
            self.rows.sort_by(|a, b| compare(a, b, &self.order));
        }
        !is_taken
    }

    fn within(&self, lower: Bound<&[OwnedValue]>, upper: Bound<&[OwnedValue]>) -> Vec<Row> {
        let is_within = |row: &&Row| {
            let to = |values: &[OwnedValue]| self.to(row, values);
            (match lower {
                Bound::Unbounded => true,
                Bound::Included(values) => to(values).is_ge(),
                Bound::Excluded(values) => to(values).is_gt(),
            }) && (match upper {
                Bound::Unbounded => true,
                Bound::Included(values) => to(values).is_le(),
                Bound::Excluded(values) => to(values).is_lt(),
            })
        };
        self.rows.iter().filter(is_within).cloned().collect()
    }

    /// Compares the first columns of a row, in the order of the index, with these values.
    fn to(&self, row: &Row, values: &[OwnedValue]) -> Ordering {
        self.order
            .iter()
            .zip(values)
            .fold(Ordering::Equal, |so_far, (at, value)| so_far.then_with(|| row[*at].cmp(value)))
    }

    /// Returns the first values that a row has in the order of the index.
    fn values(&self, row: &Row, length: &prop::sample::Index) -> Vec<OwnedValue> {
        let length = length.index(self.order.len() + 1);
        self.order[..length].iter().map(|at| row[*at].clone()).collect()
    }
}

fn compare(a: &Row, b: &Row, order: &[usize]) -> Ordering {
    order.iter().fold(Ordering::Equal, |so_far, at| so_far.then_with(|| a[*at].cmp(&b[*at])))
}

fn owned(row: RowView<'_>) -> gemel::Result<Row> {
    Ok(row.values()?.into_iter().map(Value::into_owned).collect())
}

fn scanned(
    transaction: &mut Transaction,
    table: &Table,
    index: &str,
    range: &RowRange<'_>,
    direction: Direction,
) -> Vec<Row> {
    let mut rows = Vec::new();
    let each = |row: RowView<'_>| {
        rows.push(owned(row)?);
        Ok(ControlFlow::Continue(()))
    };
    table.scan_index(transaction, index, range, direction, each).unwrap();
    rows
}

fn bound<T: ?Sized>(kind: u8, values: &T) -> Bound<&T> {
    match kind {
        0 => Bound::Included(values),
        1 => Bound::Excluded(values),
        _ => Bound::Unbounded,
    }
}

/// Moves a cursor over a range, and compares each step with the list of the range's rows.
fn walk(
    transaction: &mut Transaction,
    table: &Table,
    (index, range): (&str, &RowRange<'_>),
    (model, expected, moves): (&Model, &[Row], &[Move]),
) {
    let mut cursor = table.cursor_index(transaction, index, range).unwrap();
    let mut place = 0;
    for (kind, length, row) in moves {
        match kind {
            0..=2 => {
                let found = cursor.next(transaction).unwrap().map(|row| owned(row).unwrap());
                assert_eq!(found.as_ref(), expected.get(place), "{index}: next at {place}");
                place += usize::from(found.is_some());
            }
            3 | 4 => {
                let found = cursor.prev(transaction).unwrap().map(|row| owned(row).unwrap());
                let before = place.checked_sub(1);
                assert_eq!(
                    found.as_ref(),
                    before.map(|before| &expected[before]),
                    "{index}: prev at {place}"
                );
                place = before.unwrap_or(0);
            }
            5 => {
                cursor.seek_to_end();
                place = expected.len();
            }
            _ => {
                let values = model.values(row, length);
                cursor.seek(&borrowed(&values)).unwrap();
                place = expected.iter().filter(|row| model.to(row, &values).is_lt()).count();
            }
        }
    }
}

fn check(transaction: &mut Transaction, table: &Table, model: &Model, case: &Case) {
    for index in ["plain", "unique"] {
        assert_eq!(table.index_columns(index).unwrap(), model.order);
        for ((lower, some, lowest), (upper, more, highest)) in &case.ranges {
            let (low, high) = (model.values(lowest, some), model.values(highest, more));
            let expected = model.within(bound(*lower, &low[..]), bound(*upper, &high[..]));
            let (low, high) = (borrowed(&low), borrowed(&high));
            let range = RowRange::new(bound(*lower, &low[..]), bound(*upper, &high[..]));
            let forward = scanned(transaction, table, index, &range, Direction::Forward);
            assert_eq!(forward, expected, "{index} {range:?}");
            let mut backward = scanned(transaction, table, index, &range, Direction::Backward);
            backward.reverse();
            assert_eq!(backward, expected, "{index} {range:?}, backward");
            walk(transaction, table, (index, &range), (model, &expected, &case.moves));
        }
    }
}

#[test]
fn ranges_and_cursors_of_an_index_do_as_a_sorted_list_would_also_behind_its_own_columns() {
    let directory = tempfile::tempdir().unwrap();
    let db = Database::open(directory.path().join("db"), Options::default()).unwrap();
    let mut runner = TestRunner::new(Config { cases: 60, ..Config::default() });
    let outcome = runner.run(&(case(), proptest::sample::select(ENGINES.to_vec())), |(case, engine)| {
        let table = db.create_table("t", engine, schema(&case)).unwrap();
        let mut model = Model::new(&case);
        let mut transaction = db.begin(Isolation::Snapshot).unwrap();
        for (part, rows) in case.rows.iter().enumerate() {
            for row in rows {
                match table.insert(&mut transaction, &borrowed(row)) {
                    Ok(()) => assert!(model.insert(row), "{row:?}"),
                    Err(Error::Constraint(_)) => assert!(!model.insert(row), "{row:?}"),
                    Err(error) => panic!("{error}"),
                }
            }
            if part == 0 {
                transaction.commit().unwrap().wait().unwrap();
                transaction = db.begin(Isolation::Snapshot).unwrap();
            }
        }
        for place in &case.deleted {
            if !model.rows.is_empty() {
                let row = model.rows.remove(place.index(model.rows.len()));
                let key: Vec<Value<'_>> = case.primary.iter().map(|at| row[*at].as_value()).collect();
                assert!(table.delete(&mut transaction, &key).unwrap());
            }
        }
        check(&mut transaction, &table, &model, &case);
        drop(transaction);
        db.drop_table("t").unwrap();
        Ok(())
    });
    outcome.unwrap();
}

#[test]
fn too_many_values_of_a_bound_are_refused_with_the_columns_that_it_may_have() {
    let directory = tempfile::tempdir().unwrap();
    let db = Database::open(directory.path(), Options::default()).unwrap();
    let schema = Schema::new()
        .column("country", ColumnType::I16)
        .column("id", ColumnType::I64)
        .column("town", ColumnType::Text)
        .primary_key(["country", "id"])
        .index("by_town", ["town", "country"])
        .unique_index("by_place", ["town", "country"]);
    let table = db.create_table("people", Engine::Memory, schema).unwrap();
    let mut transaction = db.begin(Isolation::Snapshot).unwrap();
    for index in ["by_town", "by_place"] {
        let values = ["Graz".into(), Value::Int(43), Value::Int(1), Value::Int(2)];
        let range = RowRange::prefix(&values);
        let error = table.first_index(&mut transaction, index, &range).unwrap_err();
        let expected = format!(
            "table people, index {index}: 4 values given for the columns (town, country, id): give at most 3"
        );
        assert_eq!(error.to_string(), expected);
        let refused = table.cursor_index(&transaction, index, &range).unwrap_err();
        assert_eq!(refused.to_string(), expected);
        let mut cursor = table.cursor_index(&transaction, index, &RowRange::all()).unwrap();
        assert_eq!(cursor.seek(&values).unwrap_err().to_string(), expected);
        // A value of the primary key must fit its column.
        let error = cursor.seek(&["Graz".into(), Value::Int(43), "x".into()]).unwrap_err();
        assert_eq!(error.to_string(), "table people, column id: expected a 64-bit integer, given text 'x'");
    }
}

/// A cursor that sought a place among the rows with the same unique values finds the place as they are at its step.
#[test]
fn a_sought_place_within_a_unique_index_depends_on_the_row_that_is_there_at_the_step() {
    let directory = tempfile::tempdir().unwrap();
    let db = Database::open(directory.path().join("db"), Options::default()).unwrap();
    for engine in ENGINES {
        let schema = Schema::new().column("id", ColumnType::I64).column("seat", ColumnType::I64);
        let schema = schema.primary_key(["id"]).unique_index("by_seat", ["seat"]);
        let table = db.create_table(engine.name(), engine, schema).unwrap();
        let mut transaction = db.begin(Isolation::Serializable).unwrap();
        let row = |id, seat| [Value::Int(id), Value::Int(seat)];
        for (id, seat) in [(1, 10), (5, 20), (9, 30)] {
            table.insert(&mut transaction, &row(id, seat)).unwrap();
        }
        let mut cursor = table.cursor_index(&transaction, "by_seat", &RowRange::all()).unwrap();
        cursor.seek(&row(20, 6)).unwrap();
        let id = |row: Option<RowView<'_>>| row.map(|row| row.int(0).unwrap());
        assert_eq!(id(cursor.next(&mut transaction).unwrap()), Some(9));
        cursor.seek(&row(20, 6)).unwrap();
        assert_eq!(id(cursor.prev(&mut transaction).unwrap()), Some(5));
        cursor.seek(&row(20, 6)).unwrap();
        table.delete(&mut transaction, &[Value::Int(5)]).unwrap();
        table.insert(&mut transaction, &row(7, 20)).unwrap();
        assert_eq!(id(cursor.prev(&mut transaction).unwrap()), Some(1));
        assert_eq!(id(cursor.next(&mut transaction).unwrap()), Some(1));
        assert_eq!(id(cursor.next(&mut transaction).unwrap()), Some(7));
        transaction.commit().unwrap().wait().unwrap();
    }
}
