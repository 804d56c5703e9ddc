//! Random operations on a table against a model of it.

use super::*;
use crate::error::Error;
use crate::row::RowRange;

#[derive(Clone, Debug)]
enum Operation {
    Insert(Row),
    Upsert(Row),
    /// Sets name, mail or town (columns 2 to 4) of a row.
    Set(i64, Vec<(usize, OwnedValue)>),
    Delete(i64),
    /// Deletes the rows from an id up to before another one.
    DeleteRange(i64, i64),
}

type Row = (i64, String, Option<String>, Option<i64>);

fn operations() -> impl Strategy<Value = Vec<Operation>> {
    let name = || proptest::sample::select(vec!["", "a", "a\0", "b"]).prop_map(str::to_owned);
    let mail = || proptest::option::of(proptest::sample::select(vec!["x", "y", "z"]).prop_map(str::to_owned));
    let town = || proptest::option::of(-1..2_i64);
    let row = move || (0..6_i64, name(), mail(), town());
    let change = prop_oneof![
        name().prop_map(|name| (2, OwnedValue::Text(name))),
        mail().prop_map(|mail| (3, mail.map_or(OwnedValue::Null, OwnedValue::Text))),
        town().prop_map(|town| (4, town.map_or(OwnedValue::Null, OwnedValue::Int))),
    ];
    let operation = prop_oneof![
        3 => row().prop_map(Operation::Insert),
        2 => row().prop_map(Operation::Upsert),
        4 => (0..6_i64, proptest::collection::vec(change, 0..4)).prop_map(|(id, set)| Operation::Set(id, set)),
        1 => (0..6_i64).prop_map(Operation::Delete),
        1 => (0..6_i64, 0..7_i64).prop_map(|(from, until)| Operation::DeleteRange(from, until)),
    ];
    proptest::collection::vec(operation, 0..40)
}

fn values((id, name, mail, town): &Row) -> Vec<OwnedValue> {
    person(*id, name, mail.as_deref(), *town).map(Value::into_owned).into()
}

/// Rows by id.
type Model = BTreeMap<i64, Vec<OwnedValue>>;

/// Returns true if another row has the mail of this one.
fn taken(model: &Model, id: i64, row: &[OwnedValue]) -> bool {
    row[3] != OwnedValue::Null && model.iter().any(|(other, values)| *other != id && values[3] == row[3])
}

/// Applies the operation to the model. Returns none if it must be rejected.
fn expect(model: &mut Model, operation: &Operation) -> Option<bool> {
    let (id, row, there) = match operation {
        Operation::Insert(row) | Operation::Upsert(row) => (row.0, values(row), model.contains_key(&row.0)),
        Operation::Delete(id) => return Some(model.remove(id).is_some()),
        Operation::DeleteRange(from, until) => {
            let before = model.len();
            model.retain(|id, _| id < from || id >= until);
            return Some(model.len() < before);
        }
        Operation::Set(id, set) => {
            let Some(mut row) = model.get(id).cloned() else { return Some(false) };
            set.iter().for_each(|(column, value)| row[*column] = value.clone());
            (*id, row, true)
        }
    };
    if taken(model, id, &row) || (there && matches!(operation, Operation::Insert(_))) {
        return None;
    }
    model.insert(id, row);
    Some(there)
}

fn apply(table: &Table, map: &mut Map, operation: &Operation) -> Result<bool> {
    match operation {
        Operation::Insert(row) => table.insert(map, &borrowed(&values(row))).map(|()| false),
        Operation::Upsert(row) => table.upsert(map, &borrowed(&values(row))),
        Operation::Delete(id) => table.delete(map, &[Value::Int(1), Value::Int(*id)]),
        Operation::DeleteRange(from, until) => {
            let [from, until] = [*from, *until].map(|id| [Value::Int(1), Value::Int(id)]);
            let range = RowRange::new(Bound::Included(&from), Bound::Excluded(&until));
            Ok(table.delete_range(map, &range)? > 0)
        }
        Operation::Set(id, set) => {
            let set: Vec<_> = set.iter().map(|(column, value)| (*column, value.as_value())).collect();
            table.set(map, &[Value::Int(1), Value::Int(*id)], &set)
        }
    }
}

/// The rows of an index or, without one, of the primary key, in the order of a scan.
fn scanned(table: &Table, map: &mut Map, index: Option<&str>, direction: Direction) -> Vec<Vec<OwnedValue>> {
    let mut rows = Vec::new();
    let each = |row: crate::row::RowView<'_>| {
        rows.push(row.values()?.into_iter().map(Value::into_owned).collect());
        Ok(ControlFlow::Continue(()))
    };
    match index {
        None => table.scan(map, &RowRange::all(), direction, each),
        Some(index) => table.scan_index(map, index, &RowRange::all(), direction, each),
    }
    .unwrap();
    rows
}

proptest! {
    #[test]
    fn a_table_and_its_indexes_do_as_a_sorted_list_of_rows_would(operations in operations()) {
        let (table, mut map, mut model) = (people(), Map::default(), Model::new());
        for operation in &operations {
            let before = map.clone();
            let expected = expect(&mut model, operation);
            match apply(&table, &mut map, operation) {
                Ok(there) => prop_assert_eq!(Some(there), expected, "{:?}", operation),
                Err(Error::Constraint(_)) => {
                    prop_assert_eq!(None, expected, "{:?}", operation);
                    prop_assert_eq!(&map, &before, "a rejected operation has changed something");
                }
                Err(error) => return Err(TestCaseError::fail(error.to_string())),
            }
            table.verify(&mut map).unwrap();
        }
        for (index, order) in [(None, vec![0, 1]), (Some("by_mail"), vec![3, 1]), (Some("by_town"), vec![4, 2, 1])] {
            let mut expected: Vec<_> = model.values().cloned().collect();
            expected.sort_by_key(|row| order.iter().map(|column| row[*column].clone()).collect::<Vec<_>>());
            prop_assert_eq!(&scanned(&table, &mut map, index, Direction::Forward), &expected);
            expected.reverse();
            prop_assert_eq!(&scanned(&table, &mut map, index, Direction::Backward), &expected);
        }
    }
}
