//! Operations on tables.

use super::*;
use crate::error::Error;
use crate::row::{RowBuf, RowRange, RowView};

/// Names of the people of a scan, in its order.
fn names(
    scan: impl FnOnce(&mut dyn FnMut(RowView<'_>) -> Result<ControlFlow<()>>) -> Result<()>,
) -> Vec<String> {
    let mut names = Vec::new();
    scan(&mut |row| {
        names.push(row.text(2)?.to_owned());
        Ok(ControlFlow::Continue(()))
    })
    .unwrap();
    names
}

/// Four people: two in town 7, one in town 8, one nowhere.
fn four() -> (Table, Map) {
    let (table, mut map) = (people(), Map::default());
    for row in [
        person(1, "Ann", Some("a@x"), Some(7)),
        person(2, "Bea", None, Some(8)),
        person(3, "Cid", None, None),
        person(4, "Abe", Some("b@x"), Some(7)),
    ] {
        table.insert(&mut map, &row).unwrap();
    }
    table.verify(&mut map).unwrap();
    (table, map)
}

fn key(id: i64) -> [Value<'static>; 2] {
    [Value::Int(1), Value::Int(id)]
}

/// Runs an operation that must be rejected and change nothing. Returns its message.
fn refused<T: std::fmt::Debug>(map: &mut Map, operation: impl FnOnce(&mut Map) -> Result<T>) -> String {
    let before = map.clone();
    let error = operation(map).unwrap_err();
    assert_eq!(*map, before, "{error}");
    error.to_string()
}

#[test]
fn a_row_is_found_by_its_primary_key() {
    let (table, mut map) = four();
    assert_eq!(table.get(&mut map, &key(2)).unwrap().unwrap().view().text(2).unwrap(), "Bea");
    let mail = table.read(&mut map, &key(1), |row| row.text(3).map(str::to_owned)).unwrap();
    assert_eq!(mail.as_deref(), Some("a@x"));
    assert!(table.get(&mut map, &key(9)).unwrap().is_none());
    assert!(table.read(&mut map, &key(9), |_| Ok(())).unwrap().is_none());
}

#[test]
fn a_primary_key_can_exist_only_once() {
    let (table, mut map) = four();
    assert_eq!(
        refused(&mut map, |map| table.insert(map, &person(4, "Eve", None, None))),
        "table people: a row with primary key (country = 1, id = 4) already exists: use another key, or upsert",
    );
}

#[test]
fn a_unique_index_rejects_a_second_row_with_the_same_values() {
    let (table, mut map) = four();
    let message = "table people, unique index by_mail: (mail = 'a@x') already belongs to the row with primary key \
                   (country = 1, id = 1): use other values";
    assert_eq!(refused(&mut map, |map| table.insert(map, &person(5, "Eve", Some("a@x"), None))), message);
    assert_eq!(refused(&mut map, |map| table.upsert(map, &person(4, "Abe", Some("a@x"), None))), message);
    assert_eq!(refused(&mut map, |map| table.set(map, &key(4), &[(3, Value::Text("a@x"))])), message);
}

#[test]
fn a_unique_value_is_free_again_once_its_row_has_left_it() {
    let (table, mut map) = four();
    assert!(table.set(&mut map, &key(1), &[(3, Value::Null)]).unwrap());
    assert!(table.set(&mut map, &key(4), &[(3, Value::Text("a@x"))]).unwrap());
    assert!(table.delete(&mut map, &key(4)).unwrap());
    table.insert(&mut map, &person(5, "Eve", Some("a@x"), None)).unwrap();
    table.verify(&mut map).unwrap();
}

#[test]
fn an_upsert_replaces_the_row_and_its_index_entries() {
    let (table, mut map) = four();
    assert!(table.upsert(&mut map, &person(1, "Anna", Some("a@x"), Some(8))).unwrap());
    assert!(!table.upsert(&mut map, &person(5, "Eve", None, Some(8))).unwrap());
    table.verify(&mut map).unwrap();
    let town = [Value::Int(8)];
    let found = names(|each| {
        table.scan_index(&mut map, "by_town", &RowRange::prefix(&town), Direction::Forward, each)
    });
    assert_eq!(found, ["Anna", "Bea", "Eve"]);
}

#[test]
fn an_update_moves_the_index_entries_of_what_it_changes() {
    let (table, mut map) = four();
    let balance = table
        .update(&mut map, &key(1), |row| {
            let balance = row.view().decimal(5)? + 50;
            row.set(5, Value::Decimal(balance))?;
            row.set(4, Value::Null)?;
            Ok(balance)
        })
        .unwrap();
    assert_eq!(balance, Some(150));
    table.verify(&mut map).unwrap();
    let nowhere = [Value::Null];
    let found = names(|each| {
        table.scan_index(&mut map, "by_town", &RowRange::prefix(&nowhere), Direction::Forward, each)
    });
    assert_eq!(found, ["Ann", "Cid"]);
    assert_eq!(table.update(&mut map, &key(9), |_| Ok(())).unwrap(), None);
    assert!(!table.set(&mut map, &key(9), &[]).unwrap());
}

#[test]
fn an_update_that_sets_nothing_or_fails_writes_nothing() {
    let (table, mut map) = four();
    let before = map.clone();
    assert_eq!(table.update(&mut map, &key(1), |row| row.view().int(1)).unwrap(), Some(1));
    assert_eq!(map, before);
    let fail = |row: &mut RowBuf<'_>| {
        row.set(2, Value::Text("Zoe"))?;
        row.set(2, Value::Int(1))
    };
    assert_eq!(
        refused(&mut map, |map| table.update(map, &key(1), fail)),
        "table people, column name: expected a text, given integer 1",
    );
}

#[test]
fn an_update_can_not_change_the_primary_key() {
    let (table, mut map) = four();
    assert_eq!(
        refused(&mut map, |map| table.set(map, &key(1), &[(1, Value::Int(11))])),
        "table people: an update can't change the primary key, from (country = 1, id = 1) to (country = 1, id = 11): \
         delete the row and insert another",
    );
    assert!(table.set(&mut map, &key(1), &[(1, Value::Int(1)), (2, Value::Text("Amy"))]).unwrap());
    table.verify(&mut map).unwrap();
}

#[test]
fn a_deleted_row_leaves_no_index_entry() {
    let (table, mut map) = four();
    for id in 1..=4 {
        assert!(table.delete(&mut map, &key(id)).unwrap());
        assert!(!table.delete(&mut map, &key(id)).unwrap());
        table.verify(&mut map).unwrap();
    }
    assert_eq!(map, Map::default());
}

#[test]
fn a_key_that_is_too_long_is_rejected_before_anything_is_written() {
    let (table, mut map) = four();
    let long = "x".repeat(crate::MAX_KEY_BYTES);
    assert_eq!(
        refused(&mut map, |map| table.insert(map, &person(5, &long, Some("e@x"), None))),
        "table people, by_town: a key of 2057 bytes is too long: shorten its texts until it has at most 2048",
    );
    assert!(refused(&mut map, |map| table.set(map, &key(1), &[(2, Value::Text(&long))])).contains("by_town"));
}

#[test]
fn a_scan_goes_both_ways_and_stops_when_told() {
    let (table, mut map) = four();
    let (low, high) = (key(2), key(4));
    let range = RowRange::new(Bound::Included(&low), Bound::Excluded(&high));
    assert_eq!(names(|each| table.scan(&mut map, &range, Direction::Forward, each)), ["Bea", "Cid"]);
    assert_eq!(names(|each| table.scan(&mut map, &range, Direction::Backward, each)), ["Cid", "Bea"]);
    let mut last = None;
    table
        .scan(&mut map, &RowRange::all(), Direction::Backward, |row| {
            last = Some(row.int(1)?);
            Ok(ControlFlow::Break(()))
        })
        .unwrap();
    assert_eq!(last, Some(4));
}

#[test]
fn an_index_scan_goes_both_ways_and_stops_when_told() {
    let (table, mut map) = four();
    let mut scan =
        |direction| names(|each| table.scan_index(&mut map, "by_town", &RowRange::all(), direction, each));
    assert_eq!(scan(Direction::Forward), ["Cid", "Abe", "Ann", "Bea"]);
    assert_eq!(scan(Direction::Backward), ["Bea", "Ann", "Abe", "Cid"]);
    let mut seen = 0;
    table
        .scan_index(&mut map, "by_mail", &RowRange::all(), Direction::Backward, |row| {
            seen += 1;
            assert_eq!(row.text(3)?, "b@x");
            Ok(ControlFlow::Break(()))
        })
        .unwrap();
    assert_eq!(seen, 1);
}

#[test]
fn an_index_scan_over_many_rows_meets_each_once() {
    let (table, mut map) = (people(), Map::default());
    for id in 0..700 {
        table.insert(&mut map, &person(id, &format!("{id:03}"), None, Some(id % 2))).unwrap();
    }
    let town = [Value::Int(1)];
    for direction in [Direction::Forward, Direction::Backward] {
        let mut expected: Vec<_> = (0..350).map(|n| format!("{:03}", 2 * n + 1)).collect();
        if direction == Direction::Backward {
            expected.reverse();
        }
        let found =
            names(|each| table.scan_index(&mut map, "by_town", &RowRange::prefix(&town), direction, each));
        assert_eq!(found, expected);
    }
}

#[test]
fn an_error_of_a_scans_callback_is_returned() {
    let (table, mut map) = four();
    let (all, forward) = (RowRange::all(), Direction::Forward);
    let stop = |_: RowView<'_>| Err(Error::Usage("enough".into()));
    assert_eq!(table.scan(&mut map, &all, forward, stop).unwrap_err().to_string(), "enough");
    assert_eq!(table.scan_index(&mut map, "by_mail", &all, forward, stop).unwrap_err().to_string(), "enough");
    assert_eq!(
        table.scan_index(&mut map, "by_age", &all, forward, stop).unwrap_err().to_string(),
        "table people: there is no index by_age, only by_mail, by_town",
    );
    let (low, high) = (key(2), key(4));
    let crossed = RowRange::new(Bound::Included(&high), Bound::Included(&low));
    assert!(table.scan(&mut map, &crossed, forward, stop).is_ok(), "a crossed range is empty");
}

#[test]
fn damaged_rows_and_entries_are_reported() {
    let (table, mut map) = four();
    let entry = map.0.keys().find(|(keyspace, _)| *keyspace == KeyspaceId(12)).cloned().unwrap();
    let mut lost = map.clone();
    lost.0.remove(&entry);
    assert!(lost.0.len() < map.0.len());
    assert!(
        table
            .verify(&mut lost)
            .unwrap_err()
            .to_string()
            .starts_with("table people: index by_town has 3 entries for 4 rows")
    );
    let mut stray = map.clone();
    table.delete(&mut stray, &key(3)).unwrap();
    stray.0.insert(entry, Vec::new());
    assert!(
        table
            .verify(&mut stray)
            .unwrap_err()
            .to_string()
            .contains("wrong entry for primary key (country = 1, id = 3)")
    );
    // The entry leads nowhere, or to a row that has changed, as it may at read committed. A scan skips it.
    let ann = table.primary_key().encode(&key(1)).unwrap();
    stray.put(&space(12), &[&[1, 0x80, 0, 0, 9, b'A', 0, 0][..], &ann].concat(), &[]).unwrap();
    let found =
        names(|each| table.scan_index(&mut stray, "by_town", &RowRange::all(), Direction::Forward, each));
    assert_eq!(found, ["Abe", "Ann", "Bea"]);
    map.put(&space(10), &table.primary_key().encode(&key(1)).unwrap(), b"rubbish").unwrap();
    let error = table.get(&mut map, &key(1)).unwrap_err();
    assert!(matches!(error, Error::Corruption { .. }), "{error}");
    assert!(error.to_string().starts_with("table people: a malformed row: "), "{error}");
}

#[test]
fn a_table_needs_a_keyspace_for_each_index() {
    let schema = people().schema().clone();
    let error = Table::new("people", schema, space(1), Vec::new(), None).unwrap_err();
    assert_eq!(error.to_string(), "table people: 0 keyspaces for 2 indexes");
    let table = people();
    assert_eq!((table.name(), table.rows().id), ("people", KeyspaceId(10)));
    assert_eq!(table.column("town").unwrap(), 4);
}
