//! Cursors that are kept: beside their transaction and on other threads, with a transaction that is not theirs, and over
//! rollbacks and changes of their table.

#![expect(clippy::unwrap_used, reason = "a test ends where something is not as it should be")]

use gemel::row::{ColumnChange, ColumnType, IndexDef, RowCursor, RowRange, Schema, Table, Value};
use gemel::{Database, Durability, Engine, Error, Isolation, Options, Transaction};
use std::collections::BTreeMap;
use std::path::Path;

const ENGINES: [Engine; 2] = [Engine::Memory, Engine::Disk];
const LEVELS: [Isolation; 3] = [Isolation::ReadCommitted, Isolation::Snapshot, Isolation::Serializable];

fn open(path: &Path) -> Database {
    Database::open(path, Options { durability: Durability::None, ..Options::default() }).unwrap()
}

fn schema() -> Schema {
    let schema = Schema::new().column("id", ColumnType::I64).column("rank", ColumnType::I64);
    schema.nullable("note", ColumnType::Text).primary_key(["id"]).index("by_rank", ["rank"])
}

/// Adds rows with ranks in the opposite order.
fn insert(transaction: &mut Transaction, table: &Table, ids: impl Iterator<Item = i64>) {
    for id in ids {
        table.insert(transaction, &[Value::Int(id), Value::Int(-id), Value::Null]).unwrap();
    }
}

fn filled(db: &Database, engine: Engine) -> Table {
    let table = db.create_table("t", engine, schema()).unwrap();
    let mut transaction = db.begin(Isolation::Snapshot).unwrap();
    insert(&mut transaction, &table, 0..100);
    transaction.commit().unwrap().wait().unwrap();
    table
}

fn next(cursor: &mut RowCursor, transaction: &mut Transaction) -> Option<i64> {
    cursor.next(transaction).unwrap().map(|row| row.int(0).unwrap())
}

fn prev(cursor: &mut RowCursor, transaction: &mut Transaction) -> Option<i64> {
    cursor.prev(transaction).unwrap().map(|row| row.int(0).unwrap())
}

/// A transaction and its open cursors by name.
struct Session {
    transaction: Transaction,
    portals: BTreeMap<String, RowCursor>,
}

impl Session {
    fn fetch(&mut self, portal: &str, most: usize) -> Vec<i64> {
        let cursor = self.portals.get_mut(portal).unwrap();
        std::iter::from_fn(|| next(cursor, &mut self.transaction)).take(most).collect()
    }
}

#[test]
fn cursors_in_a_map_go_on_in_turns_on_any_thread_without_the_handle_that_made_them() {
    for (engine, level) in ENGINES.into_iter().flat_map(|engine| LEVELS.map(|level| (engine, level))) {
        let directory = tempfile::tempdir().unwrap();
        let db = open(&directory.path().join("db"));
        let table = filled(&db, engine);
        let mut session = Session { transaction: db.begin(level).unwrap(), portals: BTreeMap::new() };
        for tens in 0..10 {
            let bounds = [[Value::Int(10 * tens)], [Value::Int(10 * tens + 10)]];
            let range =
                RowRange::new(std::ops::Bound::Included(&bounds[0]), std::ops::Bound::Excluded(&bounds[1]));
            let cursor = table.cursor(&session.transaction, &range).unwrap();
            session.portals.insert(format!("from {tens}0"), cursor);
        }
        let down = table.cursor_index(&session.transaction, "by_rank", &RowRange::all()).unwrap();
        session.portals.insert("down".to_owned(), down);
        drop(table);
        for round in 0..10 {
            // Each round is on a thread of its own.
            session = std::thread::spawn(move || {
                for tens in 0..10 {
                    let row = session.fetch(&format!("from {tens}0"), 1);
                    assert_eq!(row, [10 * tens + round], "{engine:?} {level:?}");
                }
                let from = 99 - 10 * round;
                assert_eq!(session.fetch("down", 10), (from - 9..=from).rev().collect::<Vec<_>>());
                session
            })
            .join()
            .unwrap();
        }
        for cursor in session.portals.values_mut() {
            assert_eq!(next(cursor, &mut session.transaction), None);
        }
        session.transaction.commit().unwrap().wait().unwrap();
    }
}

#[test]
fn a_cursor_is_rejected_by_every_transaction_but_its_own() {
    for engine in ENGINES {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("db");
        let db = open(&path);
        let table = filled(&db, engine);
        let elsewhere = open(&directory.path().join("elsewhere"));
        filled(&elsewhere, engine);

        // So that the other databases, too, come to the number.
        (0..20).for_each(|_| db.begin(Isolation::Snapshot).unwrap().rollback());
        let mut own = db.begin(Isolation::Snapshot).unwrap();
        let number = own.number();
        // They have read rows ahead, which another transaction must not get.
        let mut cursors = [
            table.cursor(&own, &RowRange::all()).unwrap(),
            table.cursor_index(&own, "by_rank", &RowRange::all()).unwrap(),
        ];
        let first = cursors.each_mut().map(|cursor| {
            let first = next(cursor, &mut own);
            (first, next(cursor, &mut own)).0
        });
        assert_eq!(first, [Some(0), Some(99)]);
        let refused = |cursors: &mut [RowCursor; 2], other: &mut Transaction, says: &str| {
            for cursor in cursors {
                let errors = [cursor.next(other).map(drop), cursor.prev(other).map(drop)];
                for error in errors.map(Result::unwrap_err) {
                    assert!(matches!(&error, Error::Usage(text) if text.contains(says)), "{error:?}");
                }
            }
        };
        let belongs = format!("belongs to transaction {number}, ");
        refused(&mut cursors, &mut db.begin(Isolation::Snapshot).unwrap(), &belongs);
        let mut foreign = elsewhere.begin(Isolation::Snapshot).unwrap();
        while foreign.number() < number {
            foreign = elsewhere.begin(Isolation::Snapshot).unwrap();
        }
        assert_eq!(foreign.number(), number);
        refused(&mut cursors, &mut foreign, "belongs to another database");
        // None of this has moved them.
        assert_eq!(cursors.each_mut().map(|cursor| next(cursor, &mut own)), [Some(2), Some(97)]);

        own.commit().unwrap().wait().unwrap();
        refused(&mut cursors, &mut db.begin(Isolation::Snapshot).unwrap(), &belongs);
        // After the next opening another transaction has the number.
        db.close().unwrap();
        let db = open(&path);
        let again = db.table("t").unwrap();
        let mut later = db.begin(Isolation::Snapshot).unwrap();
        again.delete_range(&mut later, &RowRange::all()).unwrap();
        later.commit().unwrap().wait().unwrap();
        let mut same = db.begin(Isolation::Snapshot).unwrap();
        while same.number() < number {
            same = db.begin(Isolation::Snapshot).unwrap();
        }
        assert_eq!(same.number(), number);
        refused(&mut cursors, &mut same, "an earlier opening of this one");
        // So are the handles and the savepoints of the earlier opening.
        let error = table.get(&mut same, &[Value::Int(1)]).unwrap_err();
        assert!(matches!(&error, Error::Usage(text) if text.contains("an earlier opening")), "{error:?}");
    }
}

#[test]
fn a_savepoint_of_an_earlier_opening_is_rejected() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    let savepoint_of = |db: &Database| {
        let mut transaction = db.begin(Isolation::Snapshot).unwrap();
        (transaction.savepoint().unwrap(), transaction)
    };
    let db = open(&path);
    let (before, transaction) = savepoint_of(&db);
    let number = transaction.number();
    drop(transaction);
    db.close().unwrap();
    let db = open(&path);
    let (_own, mut transaction) = savepoint_of(&db);
    assert_eq!(transaction.number(), number);
    assert!(matches!(transaction.rollback_to(&before), Err(Error::Usage(_))));
}

#[test]
fn a_rollback_to_a_savepoint_leaves_a_cursor_where_it_is_among_the_rows_that_are_left() {
    for (engine, level) in ENGINES.into_iter().flat_map(|engine| LEVELS.map(|level| (engine, level))) {
        let directory = tempfile::tempdir().unwrap();
        let db = open(&directory.path().join("db"));
        let table = filled(&db, engine);
        let mut transaction = db.begin(level).unwrap();
        let savepoint = transaction.savepoint().unwrap();
        insert(&mut transaction, &table, 100..103);
        table.delete(&mut transaction, &[Value::Int(98)]).unwrap();
        table.set(&mut transaction, &[Value::Int(97)], &[(2, "new".into())]).unwrap();
        let mut cursor = table.cursor(&transaction, &RowRange::all()).unwrap();
        cursor.seek(&[Value::Int(97)]).unwrap();
        let row = cursor.next(&mut transaction).unwrap().unwrap();
        assert_eq!((row.int(0).unwrap(), row.text(2).unwrap()), (97, "new"));
        assert_eq!(next(&mut cursor, &mut transaction), Some(99));
        assert_eq!(next(&mut cursor, &mut transaction), Some(100));
        let mut down = table.cursor_index(&transaction, "by_rank", &RowRange::all()).unwrap();
        assert_eq!([(); 4].map(|()| next(&mut down, &mut transaction)), [102, 101, 100, 99].map(Some));

        // Both were made after the savepoint. The row where the first one is goes, and one comes back before it.
        transaction.rollback_to(&savepoint).unwrap();
        assert_eq!(next(&mut cursor, &mut transaction), None, "{engine:?} {level:?}");
        assert_eq!([(); 2].map(|()| prev(&mut cursor, &mut transaction)), [Some(99), Some(98)]);
        let row = cursor.prev(&mut transaction).unwrap().unwrap();
        assert_eq!((row.int(0).unwrap(), row.is_null(2).unwrap()), (97, true));
        assert_eq!([(); 3].map(|()| next(&mut down, &mut transaction)), [98, 97, 96].map(Some));
        assert_eq!([(); 4].map(|()| prev(&mut down, &mut transaction)), [96, 97, 98, 99].map(Some));
        assert_eq!(prev(&mut down, &mut transaction), None);
        transaction.commit().unwrap().wait().unwrap();
    }
}

#[test]
fn a_cursor_returns_the_right_rows_or_an_error_after_its_table_has_changed() {
    type Change = fn(&Database) -> gemel::Result<()>;
    let goes_on: [Change; 2] = [
        |db| db.alter_table("t", &[ColumnChange::rename("note", "text")]).map(drop),
        |db| {
            let index = IndexDef::new("by_note", ["note"]);
            db.add_index("t", index).map(drop)
        },
    ];
    let ends: [Change; 5] = [
        |db| db.alter_table("t", &[ColumnChange::drop("note")]).map(drop),
        |db| db.alter_table("t", &[ColumnChange::add("more", ColumnType::I64)]).map(drop),
        |db| db.truncate_table("t").map(drop),
        |db| db.drop_table("t"),
        |db| {
            let engine = db.tables()[0].1;
            db.move_table("t", if engine == Engine::Memory { Engine::Disk } else { Engine::Memory })
        },
    ];
    let changes = goes_on.map(|change| (change, true)).into_iter().chain(ends.map(|change| (change, false)));
    for (number, (change, goes_on)) in changes.enumerate() {
        for (engine, level) in ENGINES.into_iter().flat_map(|engine| LEVELS.map(|level| (engine, level))) {
            let directory = tempfile::tempdir().unwrap();
            let db = open(&directory.path().join("db"));
            let table = filled(&db, engine);
            let mut transaction = db.begin(level).unwrap();
            let mut up = table.cursor(&transaction, &RowRange::all()).unwrap();
            let mut down = table.cursor_index(&transaction, "by_rank", &RowRange::all()).unwrap();
            // Up to here, rows are read ahead.
            for id in 0..3 {
                assert_eq!(next(&mut up, &mut transaction), Some(id));
                assert_eq!(next(&mut down, &mut transaction), Some(99 - id));
            }
            change(&db).unwrap();
            for cursor in [&mut up, &mut down] {
                for forward in [true, false] {
                    let case = format!("change {number}, {engine:?}, {level:?}");
                    let step =
                        if forward { cursor.next(&mut transaction) } else { cursor.prev(&mut transaction) };
                    match step {
                        Ok(row) => {
                            let id = row.unwrap().int(0).unwrap();
                            // The same row in both directions.
                            assert!([3, 96].contains(&id), "{case}: {id}");
                        }
                        Err(error) => {
                            let known = error.is_outdated() || error.is_retryable();
                            assert!(!goes_on && known, "{case}: {error:?}");
                        }
                    }
                }
            }
        }
    }
}
