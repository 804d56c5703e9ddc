//! A program's start, its own errors, its handles and its ranges, through the public interface.

#![expect(clippy::unwrap_used, reason = "a test ends where something is not as it should be")]

use gemel::row::{ColumnChange, ColumnType, IndexDef, RowRange, Schema, Table, Value};
use gemel::{Database, Direction, Engine, Error, Isolation, Keyspace, Options, Transaction};
use std::ops::{Bound, ControlFlow};
use std::path::Path;

const ENGINES: [Engine; 2] = [Engine::Memory, Engine::Disk];
const LEVELS: [Isolation; 3] = [Isolation::ReadCommitted, Isolation::Snapshot, Isolation::Serializable];

fn open(path: &Path) -> Database {
    Database::open(path, Options::default()).unwrap()
}

fn schema() -> Schema {
    let schema = Schema::new().column("id", ColumnType::I64).column("place", ColumnType::I64);
    schema.primary_key(["id"]).index("by_place", ["place"])
}

/// The start of a program, which does the same each time.
fn start(db: &Database) -> gemel::Result<(Table, Keyspace)> {
    Ok((
        db.open_or_create_table("t", Engine::Memory, schema())?,
        db.open_or_create_keyspace("k", Engine::Memory)?,
    ))
}

fn row(id: i64, place: i64) -> [Value<'static>; 2] {
    [Value::Int(id), Value::Int(place)]
}

#[test]
fn a_program_starts_again_after_its_tables_have_moved() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    let db = open(&path);
    let (table, keyspace) = start(&db).unwrap();
    let mut transaction = db.begin(Isolation::Snapshot).unwrap();
    table.insert(&mut transaction, &row(1, 10)).unwrap();
    transaction.put(&keyspace, b"key", b"value").unwrap();
    transaction.commit().unwrap().wait().unwrap();
    for engine in [Engine::Disk, Engine::Memory, Engine::Disk] {
        db.move_table("t", engine).unwrap();
        db.move_keyspace("k", engine).unwrap();
        let (table, keyspace) = start(&db).unwrap();
        let mut reader = db.begin(Isolation::Snapshot).unwrap();
        assert!(table.get(&mut reader, &[Value::Int(1)]).unwrap().is_some());
        assert_eq!(reader.get(&keyspace, b"key").unwrap().unwrap(), b"value");
        assert_eq!(db.tables(), [("t".to_owned(), engine)]);
    }
    db.close().unwrap();
    let db = open(&path);
    let (table, _) = start(&db).unwrap();
    assert!(table.get(&mut db.begin(Isolation::Snapshot).unwrap(), &[Value::Int(1)]).unwrap().is_some());
    // It keeps its place, which a program may still insist on.
    assert_eq!(db.tables(), [("t".to_owned(), Engine::Disk)]);
    assert!(matches!(db.create_table("t", Engine::Memory, schema()), Err(Error::Usage(_))));
    assert!(matches!(db.keyspace("k", Engine::Memory), Err(Error::Usage(_))));
    assert!(matches!(db.open_or_create_keyspace("t", Engine::Memory), Err(Error::Usage(_))));
}

#[test]
fn the_error_of_a_start_with_another_schema_lists_each_difference() {
    let directory = tempfile::tempdir().unwrap();
    let db = open(&directory.path().join("db"));
    start(&db).unwrap();
    let changes = [ColumnChange::rename("place", "seat"), ColumnChange::add("note", ColumnType::Text)];
    db.alter_table("t", &changes).unwrap();
    let index = IndexDef::new("by_note", ["note"]);
    db.add_index("t", index.clone()).unwrap();
    let error = start(&db).unwrap_err();
    assert!(matches!(error, Error::Usage(_)), "{error:?}");
    for words in [
        "column 2 is named seat, not place",
        "there is a further column note (a text, nullable)",
        "index by_place is on seat, not on place",
        "there is a further index by_note (on note)",
        "alter_table",
    ] {
        assert!(error.to_string().contains(words), "{words:?} is not in {error}");
    }
    // The order in which indexes were added does not matter.
    let mut now = db.table("t").unwrap().schema().clone();
    now.indexes.reverse();
    assert_eq!(now.indexes[0], index);
    db.open_or_create_table("t", Engine::Disk, now.clone()).unwrap();
    db.create_table("t", Engine::Memory, now).unwrap();
}

/// The error type of an application.
#[derive(Debug)]
enum ShopError {
    SoldOut(i64),
    Database(String),
}

impl From<Error> for ShopError {
    fn from(error: Error) -> Self {
        // It keeps nothing by which a retryable error could be recognized.
        Self::Database(error.to_string())
    }
}

#[test]
fn a_programs_own_error_rolls_back_and_is_passed_through() {
    let directory = tempfile::tempdir().unwrap();
    let db = open(&directory.path().join("db"));
    let (table, _) = start(&db).unwrap();
    let sell = |id: i64| {
        db.try_run(Isolation::Serializable, |transaction| {
            let left = table.read(transaction, &[Value::Int(id)], |row| row.int(1))?.unwrap_or(0);
            table.upsert(transaction, &row(id, left - 1))?;
            if left == 0 { Err(ShopError::SoldOut(id)) } else { Ok(left - 1) }
        })
    };
    assert!(matches!(sell(1), Err(ShopError::SoldOut(1))));
    assert!(table.get(&mut db.begin(Isolation::Snapshot).unwrap(), &[Value::Int(1)]).unwrap().is_none());
    db.run(Isolation::Snapshot, |transaction| table.insert(transaction, &row(1, 2))).unwrap();
    assert_eq!((sell(1).unwrap(), sell(1).unwrap()), (1, 0));
    assert!(matches!(sell(1), Err(ShopError::SoldOut(1))));
    assert_eq!(db.state().rolled_back, 3);

    // An error of the database becomes one of the application. `Box<dyn Error>` will do too.
    let outcome = db.try_run(Isolation::Snapshot, |transaction| -> Result<(), ShopError> {
        Ok(table.insert(transaction, &row(1, 5))?)
    });
    assert!(
        matches!(&outcome, Err(ShopError::Database(text)) if text.contains("already exists")),
        "{outcome:?}"
    );
    let boxed = db.try_run_pipelined(Isolation::Snapshot, |transaction| {
        table.upsert(transaction, &row(1, "7".parse()?))?;
        Ok::<_, Box<dyn std::error::Error>>(())
    });
    boxed.unwrap().1.wait().unwrap();
}

#[test]
fn a_lost_transaction_is_retried_though_the_program_has_hidden_the_error() {
    let directory = tempfile::tempdir().unwrap();
    let db = open(&directory.path().join("db"));
    let (table, keyspace) = start(&db).unwrap();
    let mut runs = 0;
    // A move ends during the transaction: its next call fails, and only a new transaction can use the table.
    db.try_run(Isolation::Snapshot, |transaction| -> Result<(), ShopError> {
        runs += 1;
        transaction.put(&keyspace, b"run", &[runs])?;
        if runs == 1 {
            db.move_table("t", Engine::Disk)?;
        }
        Ok(table.insert(transaction, &row(1, 1))?)
    })
    .unwrap();
    assert_eq!(runs, 2);
    // A conflict shows at the commit.
    db.try_run(Isolation::Snapshot, |transaction| -> Result<(), ShopError> {
        runs += 1;
        transaction.put(&keyspace, b"run", &[runs])?;
        if runs == 3 {
            db.run(Isolation::Snapshot, |other| other.put(&keyspace, b"run", b"theirs"))?;
        }
        Ok(())
    })
    .unwrap();
    assert_eq!(runs, 4);
    assert_eq!(db.begin(Isolation::Snapshot).unwrap().get(&keyspace, b"run").unwrap().unwrap(), [4]);
}

/// Returns the first columns of the rows of a range, by the primary key or an index.
fn ids(transaction: &mut Transaction, table: &Table, index: Option<&str>, range: &RowRange<'_>) -> Vec<i64> {
    let mut ids = Vec::new();
    let each = |row: gemel::row::RowView<'_>| {
        ids.push(row.int(0)?);
        Ok(ControlFlow::Continue(()))
    };
    match index {
        None => table.scan(transaction, range, Direction::Forward, each),
        Some(index) => table.scan_index(transaction, index, range, Direction::Forward, each),
    }
    .unwrap();
    ids
}

#[test]
fn a_range_with_crossed_bounds_is_empty_with_own_writes_too() {
    for (engine, level) in ENGINES.into_iter().flat_map(|engine| LEVELS.map(|level| (engine, level))) {
        let directory = tempfile::tempdir().unwrap();
        let db = open(&directory.path().join("db"));
        let table = db.open_or_create_table("t", engine, schema()).unwrap();
        let mut transaction = db.begin(level).unwrap();
        let (low, high) = ([Value::Int(2)], [Value::Int(4)]);
        let crossed = RowRange::new(Bound::Included(&high), Bound::Included(&low));
        for id in 1..=300 {
            assert!(ids(&mut transaction, &table, None, &crossed).is_empty());
            assert!(ids(&mut transaction, &table, Some("by_place"), &crossed).is_empty());
            table.insert(&mut transaction, &row(id, id)).unwrap();
        }
        let mut cursors = [
            table.cursor(&transaction, &crossed).unwrap(),
            table.cursor_index(&transaction, "by_place", &crossed).unwrap(),
        ];
        for cursor in &mut cursors {
            cursor.seek(&[Value::Int(3)]).unwrap();
            assert!(cursor.next(&mut transaction).unwrap().is_none());
            assert!(cursor.prev(&mut transaction).unwrap().is_none());
        }
        transaction.commit().unwrap().wait().unwrap();
        let mut reader = db.begin(level).unwrap();
        assert!(ids(&mut reader, &table, None, &crossed).is_empty());
        assert!(ids(&mut reader, &table, Some("by_place"), &crossed).is_empty());
    }
}

#[test]
fn a_read_only_transaction_rejects_writes_and_has_no_conflicts() {
    for engine in ENGINES {
        let directory = tempfile::tempdir().unwrap();
        let db = open(&directory.path().join("db"));
        let table = db.open_or_create_table("t", engine, schema()).unwrap();
        let keyspace = db.open_or_create_keyspace("k", engine).unwrap();
        db.run(Isolation::Snapshot, |transaction| {
            transaction.put(&keyspace, b"a", b"1")?;
            table.insert(transaction, &row(1, 1))
        })
        .unwrap();
        let mut reader = db.begin_read_only().unwrap();
        assert_eq!(reader.get_for_update(&keyspace, b"a").unwrap().unwrap(), b"1");
        let refusals = [
            reader.put(&keyspace, b"a", b"2"),
            reader.delete(&keyspace, b"a"),
            reader.insert(&keyspace, b"b", b"2"),
            reader.update(&keyspace, b"a", |value| value.clear()).map(drop),
            reader.update_in_place(&keyspace, b"a", |value| value[0] = 0).map(drop),
            reader.update_each(&keyspace, ["a"], |_, value| value[0] = 0),
            table.insert(&mut reader, &row(2, 2)),
            table.upsert(&mut reader, &row(1, 2)).map(drop),
            table.set(&mut reader, &[Value::Int(1)], &[(1, Value::Int(2))]).map(drop),
            table.delete(&mut reader, &[Value::Int(1)]).map(drop),
        ];
        for refusal in refusals {
            assert!(matches!(&refusal, Err(Error::Usage(text)) if text.contains("read-only")), "{refusal:?}");
        }
        db.run(Isolation::Snapshot, |transaction| {
            transaction.put(&keyspace, b"a", b"3")?;
            table.upsert(transaction, &row(1, 3)).map(drop)
        })
        .unwrap();
        // It goes on with its snapshot.
        assert_eq!(reader.get(&keyspace, b"a").unwrap().unwrap(), b"1");
        assert_eq!(ids(&mut reader, &table, Some("by_place"), &RowRange::prefix(&[Value::Int(1)])), [1]);
        let before = db.state();
        reader.commit().unwrap().wait().unwrap();
        let after = db.state();
        assert_eq!(after.committed.read_only, before.committed.read_only + 1);
        assert_eq!(db.begin_read_only().unwrap().get(&keyspace, b"a").unwrap().unwrap(), b"3");
    }
}

#[test]
fn the_ends_of_a_range_are_found_among_committed_rows_and_own_ones() {
    for (engine, level) in ENGINES.into_iter().flat_map(|engine| LEVELS.map(|level| (engine, level))) {
        let directory = tempfile::tempdir().unwrap();
        let db = open(&directory.path().join("db"));
        let table = db.open_or_create_table("t", engine, schema()).unwrap();
        let keyspace = db.open_or_create_keyspace("k", engine).unwrap();
        let all = Bound::Unbounded;
        let mut transaction = db.begin(level).unwrap();
        assert_eq!(transaction.first(&keyspace, all, all).unwrap(), None);
        assert_eq!(transaction.last(&keyspace, all, all).unwrap(), None);
        assert!(table.first(&mut transaction, &RowRange::all()).unwrap().is_none());
        assert!(table.last_index(&mut transaction, "by_place", &RowRange::all()).unwrap().is_none());
        for id in 2..=8_u8 {
            transaction.put(&keyspace, &[id], &[id]).unwrap();
            table.insert(&mut transaction, &row(id.into(), 100 - i64::from(id))).unwrap();
        }
        transaction.commit().unwrap().wait().unwrap();

        let mut transaction = db.begin(level).unwrap();
        transaction.delete(&keyspace, &[8]).unwrap();
        transaction.put(&keyspace, &[1], &[1]).unwrap();
        table.delete(&mut transaction, &[Value::Int(8)]).unwrap();
        table.insert(&mut transaction, &row(1, 0)).unwrap();
        let first = transaction.first(&keyspace, all, all).unwrap().unwrap();
        let last = transaction.last(&keyspace, all, all).unwrap().unwrap();
        assert_eq!((first, last), ((vec![1], vec![1]), (vec![7], vec![7])));
        let (lower, upper) = (Bound::Excluded(&[2][..]), Bound::Excluded(&[5][..]));
        assert_eq!(transaction.first(&keyspace, lower, upper).unwrap().unwrap().0, [3]);
        assert_eq!(transaction.last(&keyspace, lower, upper).unwrap().unwrap().0, [4]);

        let id = |row: Option<gemel::row::RowBuf<'_>>| row.map(|row| row.view().int(0).unwrap());
        let (all, none) = (RowRange::all(), [Value::Int(50)]);
        let none = RowRange::prefix(&none);
        assert_eq!(id(table.first(&mut transaction, &all).unwrap()), Some(1));
        assert_eq!(id(table.last(&mut transaction, &all).unwrap()), Some(7));
        assert_eq!(id(table.first_index(&mut transaction, "by_place", &all).unwrap()), Some(1));
        assert_eq!(id(table.last_index(&mut transaction, "by_place", &all).unwrap()), Some(2));
        assert_eq!(id(table.first(&mut transaction, &none).unwrap()), None);
        assert_eq!(id(table.last_index(&mut transaction, "by_place", &none).unwrap()), None);
        assert!(matches!(table.first_index(&mut transaction, "none", &all), Err(Error::Usage(_))));
        drop(transaction);

        // A commit validates only what was read: what is beyond the first key may change.
        for (changed, succeeds) in [(9, true), (1, level != Isolation::Serializable)] {
            let mut transaction = db.begin(level).unwrap();
            assert_eq!(
                transaction.first(&keyspace, Bound::Unbounded, Bound::Unbounded).unwrap().unwrap().0,
                [2]
            );
            transaction.put(&keyspace, b"other", b"value").unwrap();
            db.run(Isolation::Snapshot, |other| other.put(&keyspace, &[changed], &[0])).unwrap();
            let outcome = transaction.commit();
            assert_eq!(outcome.is_ok(), succeeds, "{engine:?} {level:?} {changed}: {outcome:?}");
        }
    }
}

/// Deletes the rows from 3 on up to before 6, of the table and of the keyspace. Returns their numbers.
fn delete_some(
    transaction: &mut Transaction,
    table: &Table,
    keyspace: &Keyspace,
) -> gemel::Result<[usize; 2]> {
    let (from, until) = ([Value::Int(3)], [Value::Int(6)]);
    let rows = RowRange::new(Bound::Included(&from), Bound::Excluded(&until));
    let (from, until) = (Bound::Included(&[3][..]), Bound::Excluded(&[6][..]));
    Ok([table.delete_range(transaction, &rows)?, transaction.delete_range(keyspace, from, until)?])
}

fn keys(transaction: &mut Transaction, keyspace: &Keyspace) -> Vec<u8> {
    let mut keys = Vec::new();
    let each = |key: &[u8], _: &[u8]| {
        keys.extend(key);
        ControlFlow::Continue(())
    };
    transaction.scan(keyspace, Bound::Unbounded, Bound::Unbounded, Direction::Forward, each).unwrap();
    keys
}

/// Makes a table and a keyspace with the rows 1 to 8.
fn eight(db: &Database, engine: Engine) -> (Table, Keyspace) {
    let schema = schema().unique_index("unique", ["place"]);
    let table = db.open_or_create_table("t", engine, schema).unwrap();
    let keyspace = db.open_or_create_keyspace("k", engine).unwrap();
    db.run(Isolation::Snapshot, |transaction| {
        (1..=8_u8).try_for_each(|id| {
            transaction.put(&keyspace, &[id], &[id])?;
            table.insert(transaction, &row(id.into(), id.into()))
        })
    })
    .unwrap();
    (table, keyspace)
}

#[test]
fn a_range_is_deleted_with_own_rows_and_index_entries_and_a_savepoint_brings_it_back() {
    for (engine, level) in ENGINES.into_iter().flat_map(|engine| LEVELS.map(|level| (engine, level))) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("db");
        let db = open(&path);
        let (table, keyspace) = eight(&db, engine);
        let mut transaction = db.begin(level).unwrap();
        // One of the keys is gone already, one is new, and one has a new value.
        transaction.delete(&keyspace, &[3]).unwrap();
        transaction.put(&keyspace, &[4], b"new").unwrap();
        transaction.put(&keyspace, &[5, 5], b"new").unwrap();
        table.delete(&mut transaction, &[Value::Int(3)]).unwrap();
        table.set(&mut transaction, &[Value::Int(4)], &[(1, Value::Int(44))]).unwrap();
        let savepoint = transaction.savepoint().unwrap();
        assert_eq!(delete_some(&mut transaction, &table, &keyspace).unwrap(), [2, 3]);
        assert_eq!(delete_some(&mut transaction, &table, &keyspace).unwrap(), [0, 0]);
        let left = [1, 2, 6, 7, 8];
        assert_eq!(ids(&mut transaction, &table, None, &RowRange::all()), left);
        assert_eq!(ids(&mut transaction, &table, Some("by_place"), &RowRange::all()), left);
        assert_eq!(keys(&mut transaction, &keyspace), [1, 2, 6, 7, 8]);
        // The value of a deleted row's unique index is free again.
        table.insert(&mut transaction, &row(9, 44)).unwrap();
        table.verify(&mut transaction).unwrap();

        transaction.rollback_to(&savepoint).unwrap();
        assert_eq!(ids(&mut transaction, &table, Some("unique"), &RowRange::all()), [1, 2, 5, 6, 7, 8, 4]);
        assert_eq!(keys(&mut transaction, &keyspace), [1, 2, 4, 5, 5, 5, 6, 7, 8]);
        table.verify(&mut transaction).unwrap();
        assert_eq!(delete_some(&mut transaction, &table, &keyspace).unwrap(), [2, 3]);
        transaction.commit().unwrap().wait().unwrap();
        db.close().unwrap();
        drop((table, keyspace));

        assert!(gemel::check(&path).unwrap().is_good());
        let db = open(&path);
        let mut reader = db.begin(level).unwrap();
        assert_eq!(ids(&mut reader, &db.table("t").unwrap(), Some("by_place"), &RowRange::all()), left);
        let keyspace = db.open_or_create_keyspace("k", engine).unwrap();
        assert_eq!(keys(&mut reader, &keyspace), [1, 2, 6, 7, 8]);
        // Nothing, and nothing for crossed bounds.
        let crossed = (Bound::Included(&[9][..]), Bound::Included(&[1][..]));
        assert_eq!(reader.delete_range(&keyspace, crossed.0, crossed.1).unwrap(), 0);
    }
}

#[test]
fn the_deletion_of_a_range_conflicts_with_changes_of_its_rows_and_at_serializable_with_new_ones() {
    type Other = fn(&mut Transaction, &Table, &Keyspace) -> gemel::Result<()>;
    let changed: Other =
        |other, table, _| table.set(other, &[Value::Int(4)], &[(1, Value::Int(44))]).map(drop);
    let deleted: Other = |other, table, _| table.delete(other, &[Value::Int(5)]).map(drop);
    let put: Other = |other, _, keyspace| other.put(keyspace, &[5], b"new");
    let new_row: Other = |other, table, _| {
        table.delete(other, &[Value::Int(8)])?;
        table.insert(other, &row(-1, 8))
    };
    let new_key: Other = |other, _, keyspace| other.put(keyspace, &[4, 4], b"new");
    let outside: Other = |other, _, keyspace| other.put(keyspace, &[6], b"new");
    let all = [(changed, "never"), (deleted, "never"), (put, "never"), (new_row, "always")];
    let all = all.into_iter().chain([(new_key, "unless serializable"), (outside, "always")]);
    let cases = all.flat_map(|case| ENGINES.map(|engine| (case, engine)));
    for (((other, commits), engine), level) in cases.flat_map(|case| LEVELS.map(|level| (case, level))) {
        let directory = tempfile::tempdir().unwrap();
        let db = open(&directory.path().join("db"));
        let (table, keyspace) = eight(&db, engine);
        let mut transaction = db.begin(level).unwrap();
        assert_eq!(delete_some(&mut transaction, &table, &keyspace).unwrap(), [3, 3]);
        db.run(Isolation::Snapshot, |transaction| other(transaction, &table, &keyspace)).unwrap();
        let outcome = transaction.commit();
        let expected = match commits {
            "always" => true,
            "never" => false,
            _ => level != Isolation::Serializable,
        };
        assert_eq!(outcome.is_ok(), expected, "{engine:?} {level:?} {commits}: {outcome:?}");
        let mut reader = db.begin_read_only().unwrap();
        table.verify(&mut reader).unwrap();
        match outcome {
            Ok(_) => {
                let phantom = commits == "unless serializable";
                let within: Vec<u8> = keys(&mut reader, &keyspace);
                assert_eq!(within.contains(&4), phantom, "{within:?}");
            }
            Err(error) => {
                assert!(error.is_retryable(), "{error:?}");
                assert!(ids(&mut reader, &table, None, &RowRange::all()).contains(&3));
            }
        }
    }
}

#[test]
fn many_rows_are_deleted_at_once_while_others_are_written() {
    for engine in ENGINES {
        let directory = tempfile::tempdir().unwrap();
        let db = open(&directory.path().join("db"));
        let table = db.open_or_create_table("t", engine, schema()).unwrap();
        db.run(Isolation::Snapshot, |transaction| {
            (0..3_000).try_for_each(|id| table.insert(transaction, &row(id, id % 7)))
        })
        .unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for id in 3_000..3_200 {
                    db.run(Isolation::Serializable, |transaction| table.insert(transaction, &row(id, 1)))
                        .unwrap();
                }
            });
            let until = [Value::Int(2_990)];
            let range = RowRange::new(Bound::Unbounded, Bound::Excluded(&until));
            let delete = |transaction: &mut Transaction| table.delete_range(transaction, &range);
            assert_eq!(db.run(Isolation::Serializable, delete).unwrap(), 2_990);
        });
        let mut reader = db.begin_read_only().unwrap();
        table.verify(&mut reader).unwrap();
        assert_eq!(ids(&mut reader, &table, None, &RowRange::all()), Vec::from_iter(2_990..3_200));
    }
}
