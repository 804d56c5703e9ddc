//! Indexes as an SQL layer uses them: ranges and seeks of any columns of their keys, in ascending and descending order,
//! with and without the rows, compared with sorted lists.

#![expect(clippy::unwrap_used, reason = "a test ends where something is not as it should be")]

use gemel::row::{
    ColumnChange, ColumnType, IndexDef, KeyColumn, OwnedValue, RowRange, RowView, Schema, Table, Value, asc,
    desc,
};
use gemel::{Database, Direction, Engine, Error, Isolation, Options, Transaction};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::cmp::Ordering;
use std::ops::{Bound, ControlFlow};

const ENGINES: [Engine; 2] = [Engine::Memory, Engine::Disk];

type Row = Vec<OwnedValue>;

/// A column of a key: its position, and true if its order is descending.
type Ordered = (usize, bool);

/// Columns of the tables: name, type, and true if nullable.
const COLUMNS: [(&str, ColumnType, bool); 6] = [
    ("number", ColumnType::I16, false),
    ("text", ColumnType::Text, true),
    ("bytes", ColumnType::Bytes, false),
    ("count", ColumnType::I64, true),
    ("long", ColumnType::Text, true),
    ("flag", ColumnType::Bool, false),
];
/// Columns that may be part of an index's key. The others may be too long.
const IN_INDEXES: [usize; 4] = [0, 1, 2, 3];
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
        3 => prop_oneof![null(), proptest::sample::select(vec![-1, 1, i64::MAX]).prop_map(OwnedValue::Int)]
            .boxed(),
        4 => {
            let long = proptest::sample::select(vec![0, 1, 2, 70_000]);
            prop_oneof![null(), long.prop_map(|length| OwnedValue::Text("x".repeat(length)))].boxed()
        }
        _ => any::<bool>().prop_map(OwnedValue::Bool).boxed(),
    }
}

fn row() -> impl Strategy<Value = Row> {
    (0..COLUMNS.len()).map(value_of).collect::<Vec<_>>()
}

/// Some of these columns in any order, at least one.
fn some_of(columns: Vec<usize>) -> impl Strategy<Value = Vec<Ordered>> {
    let most = columns.len();
    (Just(columns).prop_shuffle(), 1..=most, any::<[bool; 4]>()).prop_map(
        |(mut columns, length, descending)| {
            columns.truncate(length);
            columns.into_iter().zip(descending).collect()
        },
    )
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
    primary: Vec<Ordered>,
    index: Vec<Ordered>,
    /// Columns that the indexes include.
    included: Vec<usize>,
    /// Rows that are committed before the transaction, and rows of its own.
    rows: [Vec<Row>; 2],
    /// Rows that the transaction deletes.
    deleted: Vec<prop::sample::Index>,
    /// Changes: the row, the column, and the values of which it gets one.
    changed: Vec<(prop::sample::Index, prop::sample::Index, Row)>,
    ranges: Vec<(Limit, Limit)>,
    moves: Vec<Move>,
}

fn case() -> impl Strategy<Value = Case> {
    let rows = || proptest::collection::vec(row(), 0..12);
    let index = proptest::collection::vec(any::<prop::sample::Index>(), 0..3);
    let ranges = proptest::collection::vec((limit(), limit()), 1..6);
    let moves = proptest::collection::vec((0..8_u8, any::<prop::sample::Index>(), row()), 0..30);
    let columns = (some_of(NOT_NULL.to_vec()), some_of(IN_INDEXES.to_vec()), any::<[bool; COLUMNS.len()]>());
    let change = (any::<prop::sample::Index>(), any::<prop::sample::Index>(), row());
    let changed = proptest::collection::vec(change, 0..6);
    (columns, rows(), rows(), index, changed, ranges, moves).prop_map(
        |((primary, index, includes), committed, own, deleted, changed, ranges, moves)| {
            let is_in_key = |column| primary.iter().chain(&index).any(|(at, _)| *at == column);
            let included = (0..COLUMNS.len()).filter(|column| includes[*column] && !is_in_key(*column));
            let included = included.collect();
            Case { primary, index, included, rows: [committed, own], deleted, changed, ranges, moves }
        },
    )
}

fn schema(case: &Case) -> Schema {
    let mut schema = Schema::new();
    for (name, kind, nullable) in COLUMNS {
        schema = if nullable { schema.nullable(name, kind) } else { schema.column(name, kind) };
    }
    let key = |columns: &[Ordered]| {
        let column = |(at, descending): &Ordered| match descending {
            true => desc(COLUMNS[*at].0),
            false => asc(COLUMNS[*at].0),
        };
        columns.iter().map(column).collect::<Vec<KeyColumn>>()
    };
    let included = || case.included.iter().map(|at| COLUMNS[*at].0);
    schema
        .primary_key(key(&case.primary))
        .with_index(IndexDef::new("plain", key(&case.index)).include(included()))
        .with_index(IndexDef::unique("unique", key(&case.index)).include(included()))
}

fn borrowed(values: &[OwnedValue]) -> Vec<Value<'_>> {
    values.iter().map(OwnedValue::as_value).collect()
}

/// The rows of a table, and the columns of an index's order.
struct Model {
    rows: Vec<Row>,
    primary: Vec<Ordered>,
    index: Vec<Ordered>,
    order: Vec<Ordered>,
}

impl Model {
    fn new(case: &Case) -> Self {
        let is_own = |at: usize| case.index.iter().any(|(own, _)| *own == at);
        let lacked = case.primary.iter().filter(|(at, _)| !is_own(*at));
        let order = case.index.iter().chain(lacked).copied().collect();
        Self { rows: Vec::new(), primary: case.primary.clone(), index: case.index.clone(), order }
    }

    /// Adds a row, unless another one is in its way.
    fn insert(&mut self, row: &Row) -> bool {
        let same = |other: &Row, columns: &[Ordered]| columns.iter().all(|(at, _)| other[*at] == row[*at]);
        let is_exempt = self.index.iter().any(|(at, _)| row[*at] == OwnedValue::Null);
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
        self.order.iter().zip(values).fold(Ordering::Equal, |so_far, ((at, descending), value)| {
            so_far.then_with(|| ordered(row[*at].cmp(value), *descending))
        })
    }

    /// Returns the first values that a row has in the order of the index.
    fn values(&self, row: &Row, length: &prop::sample::Index) -> Vec<OwnedValue> {
        let length = length.index(self.order.len() + 1);
        self.order[..length].iter().map(|(at, _)| row[*at].clone()).collect()
    }
}

fn compare(a: &Row, b: &Row, order: &[Ordered]) -> Ordering {
    order.iter().fold(Ordering::Equal, |so_far, (at, descending)| {
        so_far.then_with(|| ordered(a[*at].cmp(&b[*at]), *descending))
    })
}

fn ordered(order: Ordering, descending: bool) -> Ordering {
    if descending { order.reverse() } else { order }
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

/// Returns the columns that an index has; null for each of the others.
fn covered(table: &Table, index: &str, row: RowView<'_>) -> gemel::Result<Row> {
    let columns = 0..table.schema().columns.len();
    let value = |column| match table.index_covers(index, column)? {
        true => {
            let value = row.get(column)?;
            assert_eq!(row.is_null(column)?, value == Value::Null);
            Ok(value.into_owned())
        }
        false => {
            let error = row.get(column).unwrap_err();
            assert!(matches!(&error, Error::Usage(text) if text.contains("include the column")), "{error}");
            assert!(row.is_null(column).is_err());
            Ok(OwnedValue::Null)
        }
    };
    columns.map(value).collect()
}

/// Returns the columns of rows that the indexes of a case have.
fn in_index(case: &Case, rows: &[Row]) -> Vec<Row> {
    let has = |column| {
        case.included.contains(&column) || case.primary.iter().chain(&case.index).any(|(at, _)| *at == column)
    };
    let cut = |row: &Row| {
        let values = row.iter().enumerate();
        values.map(|(at, value)| if has(at) { value.clone() } else { OwnedValue::Null }).collect()
    };
    rows.iter().map(cut).collect()
}

/// Compares a scan and a cursor of an index without its rows with the list of the range's rows.
fn check_index_only(
    transaction: &mut Transaction,
    table: &Table,
    (index, range): (&str, &RowRange<'_>),
    expected: &[Row],
) {
    for direction in [Direction::Forward, Direction::Backward] {
        let mut rows = Vec::new();
        let each = |row: RowView<'_>| {
            rows.push(covered(table, index, row)?);
            Ok(ControlFlow::Continue(()))
        };
        table.scan_index_only(transaction, index, range, direction, each).unwrap();
        if direction == Direction::Backward {
            rows.reverse();
        }
        assert_eq!(rows, expected, "{index} {range:?} {direction:?}");
    }
    let (mut cursor, mut rows) = (table.cursor_index_only(transaction, index, range).unwrap(), Vec::new());
    while let Some(row) = cursor.next(transaction).unwrap() {
        rows.push(covered(table, index, row).unwrap());
    }
    assert_eq!(rows, expected, "{index} {range:?}, a cursor");
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
        let order: Vec<usize> = model.order.iter().map(|(at, _)| *at).collect();
        assert_eq!(table.index_columns(index).unwrap(), order);
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
            check_index_only(transaction, table, (index, &range), &in_index(case, &expected));
        }
    }
}

/// Sets columns of rows, and does the same to the list.
fn change(transaction: &mut Transaction, table: &Table, model: &mut Model, case: &Case) {
    for (place, column, values) in &case.changed {
        let column = column.index(COLUMNS.len());
        if model.rows.is_empty() || case.primary.iter().any(|(at, _)| *at == column) {
            continue;
        }
        let old = model.rows.remove(place.index(model.rows.len()));
        let mut new = old.clone();
        new[column] = values[column].clone();
        let key: Vec<Value<'_>> = case.primary.iter().map(|(at, _)| old[*at].as_value()).collect();
        match table.set(transaction, &key, &[(column, new[column].as_value())]) {
            Ok(found) => assert!(found && model.insert(&new), "{new:?}"),
            Err(Error::Constraint(_)) => assert!(!model.insert(&new) && model.insert(&old), "{new:?}"),
            Err(error) => panic!("{error}"),
        }
    }
}

/// Compares scans by the primary key, and the deletion of a range, with the list of rows.
fn check_primary_key(transaction: &mut Transaction, table: &Table, model: &mut Model, case: &Case) {
    model.order.clone_from(&case.primary);
    model.rows.sort_by(|a, b| compare(a, b, &case.primary));
    for ((lower, some, lowest), (upper, more, highest)) in &case.ranges {
        let (low, high) = (model.values(lowest, some), model.values(highest, more));
        let expected = model.within(bound(*lower, &low[..]), bound(*upper, &high[..]));
        let (low, high) = (borrowed(&low), borrowed(&high));
        let range = RowRange::new(bound(*lower, &low[..]), bound(*upper, &high[..]));
        for direction in [Direction::Forward, Direction::Backward] {
            let mut rows = Vec::new();
            let each = |row: RowView<'_>| {
                rows.push(owned(row)?);
                Ok(ControlFlow::Continue(()))
            };
            table.scan(transaction, &range, direction, each).unwrap();
            if direction == Direction::Backward {
                rows.reverse();
            }
            assert_eq!(rows, expected, "{range:?} {direction:?}");
        }
        assert_eq!(table.delete_range(transaction, &range).unwrap(), expected.len());
        model.rows.retain(|row| !expected.contains(row));
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
                let key: Vec<Value<'_>> = case.primary.iter().map(|(at, _)| row[*at].as_value()).collect();
                assert!(table.delete(&mut transaction, &key).unwrap());
            }
        }
        change(&mut transaction, &table, &mut model, &case);
        check(&mut transaction, &table, &model, &case);
        check_primary_key(&mut transaction, &table, &mut model, &case);
        table.verify(&mut transaction).unwrap();
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

#[test]
fn an_index_in_descending_order_has_the_greatest_values_first_and_null_last() {
    let directory = tempfile::tempdir().unwrap();
    let db = Database::open(directory.path(), Options::default()).unwrap();
    for engine in ENGINES {
        let schema = Schema::new()
            .column("id", ColumnType::I64)
            .column("customer", ColumnType::I32)
            .nullable("date", ColumnType::Timestamp)
            .primary_key([desc("id")])
            .index("by_date", [asc("customer"), desc("date")]);
        let table = db.create_table(engine.name(), engine, schema.clone()).unwrap();
        let mut transaction = db.begin(Isolation::Snapshot).unwrap();
        for (id, customer, date) in [
            (1, 7, Some(10)),
            (2, 7, None),
            (3, 7, Some(30)),
            (4, 8, Some(5)),
            (5, 7, Some(10)),
            (6, 7, Some(20)),
        ] {
            let date = date.map_or(Value::Null, Value::Timestamp);
            table.insert(&mut transaction, &[Value::Int(id), Value::Int(customer), date]).unwrap();
        }
        let mut ids = |range: &RowRange<'_>| {
            let rows = scanned(&mut transaction, &table, "by_date", range, Direction::Forward);
            rows.iter().map(|row| row[0].clone()).collect::<Vec<_>>()
        };
        let numbers = |ids: &[i64]| ids.iter().map(|id| OwnedValue::Int(*id)).collect::<Vec<_>>();
        let customer = [Value::Int(7)];
        assert_eq!(ids(&RowRange::prefix(&customer)), numbers(&[3, 6, 5, 1, 2]));
        // From the later date to the earlier one.
        let [later, earlier] = [20, 10].map(|date| [Value::Int(7), Value::Timestamp(date)]);
        assert_eq!(
            ids(&RowRange::new(Bound::Included(&later), Bound::Included(&earlier))),
            numbers(&[6, 5, 1])
        );
        assert_eq!(ids(&RowRange::new(Bound::Included(&earlier), Bound::Included(&later))), numbers(&[]));
        // After a row with the same date.
        let seen = [Value::Int(7), Value::Timestamp(10), Value::Int(5)];
        assert_eq!(ids(&RowRange::new(Bound::Excluded(&seen), Bound::Included(&customer))), numbers(&[1, 2]));
        transaction.commit().unwrap().wait().unwrap();
        // Another order is another schema.
        let mut other = schema.clone();
        other.indexes[0].columns[1].descending = false;
        let error = db.open_or_create_table(engine.name(), engine, other).unwrap_err();
        assert!(error.to_string().contains("is on customer, date desc, not on customer, date"), "{error}");
        db.open_or_create_table(engine.name(), engine, schema).unwrap();
        // Renamed columns keep their order, and added indexes have theirs.
        db.alter_table(engine.name(), &[ColumnChange::rename("date", "day")]).unwrap();
        let by_day = IndexDef::unique("by_day", [desc("day"), desc("id")]);
        let table = db.add_index(engine.name(), by_day).unwrap();
        assert_eq!(table.schema().indexes[0].columns, [asc("customer"), desc("day")]);
        let mut transaction = db.begin(Isolation::Snapshot).unwrap();
        let rows = scanned(&mut transaction, &table, "by_day", &RowRange::all(), Direction::Forward);
        assert_eq!(rows.iter().map(|row| row[0].clone()).collect::<Vec<_>>(), numbers(&[3, 6, 5, 1, 4, 2]));
    }
    drop(db);
    let report = gemel::check(directory.path()).unwrap();
    assert!(report.is_good(), "{report}");
}

/// An earlier version would take the columns for ascending ones, if it could read them.
#[test]
fn a_database_has_a_manifest_of_a_format_that_versions_without_descending_columns_reject() {
    let directory = tempfile::tempdir().unwrap();
    let db = Database::open(directory.path(), Options::default()).unwrap();
    let schema = Schema::new().column("id", ColumnType::I64).primary_key([desc("id")]);
    db.create_table("t", Engine::Memory, schema).unwrap();
    let manifest = std::fs::read_to_string(directory.path().join("gemel.manifest")).unwrap();
    assert!(manifest.starts_with("gemel 7 "), "{manifest}");
    assert!(manifest.contains(r#""primary_key":[{"name":"id","descending":true}]"#), "{manifest}");
}

/// Reads the included column of all entries.
fn totals(transaction: &mut Transaction, table: &Table, index: &str) -> Vec<(i64, OwnedValue)> {
    let mut found = Vec::new();
    let each = |row: RowView<'_>| {
        found.push((row.int(0)?, row.get(2)?.into_owned()));
        Ok(ControlFlow::Continue(()))
    };
    table.scan_index_only(transaction, index, &RowRange::all(), Direction::Forward, each).unwrap();
    found
}

/// An included column is part of the index: a change of it alone is found by a reader of the index, by a serializable
/// transaction that has read it, by a new index, and after an opening.
#[test]
fn an_index_has_the_newest_values_of_its_included_columns() {
    let directory = tempfile::tempdir().unwrap();
    let db = Database::open(directory.path(), Options::default()).unwrap();
    let indexes = || {
        let by_customer = IndexDef::new("by_customer", ["customer"]).include(["total"]);
        [by_customer, IndexDef::unique("by_number", ["number"]).include(["total"])]
    };
    for engine in ENGINES {
        let schema = Schema::new()
            .column("id", ColumnType::I64)
            .column("customer", ColumnType::I32)
            .nullable("total", ColumnType::I64)
            .nullable("number", ColumnType::I64)
            .primary_key(["id"]);
        let mut table = db.create_table(engine.name(), engine, schema).unwrap();
        let mut transaction = db.begin(Isolation::Snapshot).unwrap();
        for (id, number) in [(1, Value::Int(1)), (2, Value::Null), (3, Value::Int(3))] {
            let row = [Value::Int(id), Value::Int(7), Value::Int(10 * id), number];
            table.insert(&mut transaction, &row).unwrap();
        }
        transaction.commit().unwrap().wait().unwrap();
        for index in indexes() {
            table = db.add_index(engine.name(), index).unwrap();
        }
        let numbers = |totals: [(i64, i64); 3]| totals.map(|(id, total)| (id, OwnedValue::Int(total)));
        let mut transaction = db.begin(Isolation::Snapshot).unwrap();
        assert_eq!(totals(&mut transaction, &table, "by_customer"), numbers([(1, 10), (2, 20), (3, 30)]));
        assert_eq!(totals(&mut transaction, &table, "by_number"), numbers([(2, 20), (1, 10), (3, 30)]));
        drop(transaction);

        for index in ["by_customer", "by_number"] {
            let mut reader = db.begin(Isolation::Serializable).unwrap();
            totals(&mut reader, &table, index);
            table.set(&mut reader, &[Value::Int(3)], &[(3, Value::Int(4))]).unwrap();
            let set = |transaction: &mut Transaction| {
                let total = table.read(transaction, &[Value::Int(1)], |row| row.int(2))?.unwrap();
                table.set(transaction, &[Value::Int(1)], &[(2, Value::Int(total + 1))]).map(drop)
            };
            db.run(Isolation::Snapshot, set).unwrap();
            assert!(matches!(reader.commit(), Err(Error::Conflict { .. })));
        }
        let mut transaction = db.begin(Isolation::Snapshot).unwrap();
        table.set(&mut transaction, &[Value::Int(2)], &[(2, Value::Null)]).unwrap();
        let mut expected = numbers([(1, 12), (2, 0), (3, 30)]);
        expected[1].1 = OwnedValue::Null;
        assert_eq!(totals(&mut transaction, &table, "by_customer"), expected);
        expected.swap(0, 1);
        assert_eq!(totals(&mut transaction, &table, "by_number"), expected);
        transaction.commit().unwrap().wait().unwrap();

        let error = db.alter_table(engine.name(), &[ColumnChange::drop("total")]).unwrap_err();
        assert!(error.to_string().contains("column total is part of index by_customer"), "{error}");
        db.alter_table(engine.name(), &[ColumnChange::rename("total", "sum")]).unwrap();
        db.alter_table(engine.name(), &[ColumnChange::add("note", ColumnType::Text)]).unwrap();
        let table = db.table(engine.name()).unwrap();
        assert_eq!(table.schema().indexes[0].include, ["sum"]);
        let error = db.add_index(engine.name(), IndexDef::new("more", ["sum"]).include(["sum"])).unwrap_err();
        assert!(error.to_string().contains("index more names column sum twice"), "{error}");
    }
    drop(db);
    let report = gemel::check(directory.path()).unwrap();
    assert!(report.is_good(), "{report}");
    let db = Database::open(directory.path(), Options::default()).unwrap();
    for engine in ENGINES {
        let table = db.table(engine.name()).unwrap();
        let mut transaction = db.begin(Isolation::Snapshot).unwrap();
        let sums: Vec<_> =
            totals(&mut transaction, &table, "by_customer").into_iter().map(|(_, sum)| sum).collect();
        assert_eq!(sums, [OwnedValue::Int(12), OwnedValue::Null, OwnedValue::Int(30)]);
        let error = table.scan_index_only(
            &mut transaction,
            "by_customer",
            &RowRange::all(),
            Direction::Forward,
            |row| row.values().map(|_| ControlFlow::Continue(())),
        );
        let error = error.unwrap_err().to_string();
        assert!(error.contains("index by_customer does not have column number"), "{error}");
        assert!(!table.index_covers("by_customer", 9).unwrap());
    }
}
