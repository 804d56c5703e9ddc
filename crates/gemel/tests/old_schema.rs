//! Snapshots keep their schema: what transactions from before a change of the catalog read and write.

#![expect(clippy::unwrap_used, reason = "a test ends where something is not as it should be")]

mod copy;
mod wait;

use copy::copy_directory;
use gemel::row::{ColumnChange, ColumnType, IndexDef, RowRange, Schema, Table, Value};
use gemel::{Conflict, Database, Direction, Engine, Error, Isolation, Options, Transaction};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;
use wait::wait_until;

const ENGINES: [Engine; 2] = [Engine::Memory, Engine::Disk];
const SNAPSHOTS: [Isolation; 2] = [Isolation::Snapshot, Isolation::Serializable];

fn open(path: &Path) -> Database {
    Database::open(path, Options::default()).unwrap()
}

/// The columns of the tests: `id`, `name` and `town`, with an index of the towns.
fn schema() -> Schema {
    let schema = Schema::new().column("id", ColumnType::I64).column("name", ColumnType::Text);
    schema.nullable("town", ColumnType::Text).primary_key(["id"]).index("by_town", ["town"])
}

fn outdated<T: std::fmt::Debug>(outcome: gemel::Result<T>, says: &str) {
    let error = outcome.unwrap_err();
    assert!(error.is_outdated() && !error.is_retryable() && error.to_string().contains(says), "{error:?}");
}

fn too_old<T: std::fmt::Debug>(outcome: gemel::Result<T>) {
    assert!(matches!(outcome, Err(Error::TooOld(_))), "{outcome:?}");
}

fn conflict<T: std::fmt::Debug>(outcome: gemel::Result<T>, kind: Conflict) {
    assert!(matches!(outcome, Err(Error::Conflict { kind: of, .. }) if of == kind), "{outcome:?}");
}

fn commit(db: &Database, work: impl FnOnce(&mut Transaction) -> gemel::Result<()>) {
    let mut transaction = db.begin(Isolation::Snapshot).unwrap();
    work(&mut transaction).unwrap();
    transaction.commit().unwrap().wait().unwrap();
}

fn text(values: &[Value<'_>]) -> String {
    values.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

/// Returns each row as one text, read in four ways that must agree.
fn rows(transaction: &mut Transaction, table: &Table) -> gemel::Result<Vec<String>> {
    let (mut rows, mut ids) = (Vec::new(), Vec::new());
    table.scan(transaction, &RowRange::all(), Direction::Forward, |row| {
        rows.push(text(&row.values()?));
        ids.push(row.int(0)?);
        Ok(ControlFlow::Continue(()))
    })?;
    for (id, row) in ids.iter().zip(&rows) {
        assert_eq!(text(&table.get(transaction, &[Value::Int(*id)])?.unwrap().view().values()?), *row);
    }
    let mut cursor = table.cursor(transaction, &RowRange::all())?;
    let mut next = 0;
    while let Some(row) = cursor.next(transaction)? {
        assert_eq!(text(&row.values()?), rows[next]);
        next += 1;
    }
    assert_eq!(next, rows.len());
    if table.schema().indexes.iter().any(|index| index.name == "by_town") {
        let mut by_town = Vec::new();
        table.scan_index(transaction, "by_town", &RowRange::all(), Direction::Forward, |row| {
            by_town.push(text(&row.values()?));
            Ok(ControlFlow::Continue(()))
        })?;
        by_town.sort();
        let mut sorted = rows.clone();
        sorted.sort();
        assert_eq!(by_town, sorted);
    }
    Ok(rows)
}

fn rows_now(db: &Database, table: &Table) -> Vec<String> {
    rows(&mut db.begin(Isolation::Snapshot).unwrap(), table).unwrap()
}

/// Makes the table with the rows 1 to 3.
fn people(db: &Database, engine: Engine) -> Table {
    let table = db.create_table("people", engine, schema()).unwrap();
    commit(db, |transaction| {
        table.insert(transaction, &[Value::Int(1), "Ann".into(), "Rome".into()])?;
        table.insert(transaction, &[Value::Int(2), "Bob".into(), "Bern".into()])?;
        table.insert(transaction, &[Value::Int(3), "Cid".into(), Value::Null])
    });
    table
}

/// Drops `name` and adds `age`.
fn alter(db: &Database) -> Table {
    let changes = [ColumnChange::drop("name"), ColumnChange::add("age", ColumnType::I16)];
    db.alter_table("people", &changes).unwrap()
}

/// The reader takes its snapshot of the table's engine only after others have written rows of the new form.
#[test]
fn a_snapshot_reads_and_writes_on_with_the_columns_that_it_began_with() {
    for (engine, level) in ENGINES.into_iter().flat_map(|engine| SNAPSHOTS.map(|level| (engine, level))) {
        let directory = tempfile::tempdir().unwrap();
        let db = open(directory.path());
        let old = people(&db, engine);
        let before = ["1 'Ann' 'Rome'", "2 'Bob' 'Bern'", "3 'Cid' null"];
        let mut reader = db.begin(level).unwrap();
        let mut writer = db.begin(level).unwrap();
        let mut loser = db.begin(level).unwrap();
        let new = alter(&db);
        commit(&db, |transaction| {
            new.insert(transaction, &[Value::Int(9), "Oslo".into(), Value::Int(90)])?;
            assert!(new.set(transaction, &[Value::Int(1)], &[(2, Value::Int(10))])?);
            Ok(())
        });
        assert_eq!(rows(&mut reader, &old).unwrap(), before);
        too_old(rows(&mut reader, &new));
        assert_eq!(rows(&mut reader, &old).unwrap(), before);
        // It sees what it writes itself.
        old.insert(&mut writer, &[Value::Int(4), "Dan".into(), "Riga".into()]).unwrap();
        assert!(old.set(&mut writer, &[Value::Int(2)], &[(1, "lost".into()), (2, "Bonn".into())]).unwrap());
        assert!(old.delete(&mut writer, &[Value::Int(3)]).unwrap());
        assert_eq!(rows(&mut writer, &old).unwrap(), ["1 'Ann' 'Rome'", "2 'lost' 'Bonn'", "4 'Dan' 'Riga'"]);
        // The others have written row 1, and the serializable writer has read it.
        if level == Isolation::Serializable {
            conflict(writer.commit(), Conflict::Read);
            writer = db.begin(Isolation::Snapshot).unwrap();
            outdated(rows(&mut writer, &old), "get the table again");
            outdated(old.delete(&mut writer, &[Value::Int(3)]), "get the table again");
            continue;
        }
        writer.commit().unwrap().wait().unwrap();
        old.set(&mut loser, &[Value::Int(1)], &[(2, "lost".into())]).unwrap();
        conflict(loser.commit(), Conflict::Write);
        let after = ["1 'Rome' 10", "2 'Bonn' null", "4 'Riga' null", "9 'Oslo' 90"];
        assert_eq!(rows_now(&db, &new), after);
        outdated(rows(&mut db.begin(level).unwrap(), &old), "get the table again");
        assert_eq!(rows(&mut reader, &old).unwrap(), before);
        drop((reader, old, new, db));
        let db = open(directory.path());
        assert_eq!(rows_now(&db, &db.table("people").unwrap()), after);
        drop(db);
        assert!(gemel::check(directory.path()).unwrap().is_good());
    }
}

#[test]
fn each_snapshot_has_the_columns_of_its_time_over_several_changes() {
    for engine in ENGINES {
        let directory = tempfile::tempdir().unwrap();
        let db = open(directory.path());
        let mut tables = vec![people(&db, engine)];
        let mut snapshots = Vec::new();
        for n in 0..5 {
            snapshots.push(db.begin(Isolation::Snapshot).unwrap());
            let change = if n % 2 == 0 {
                ColumnChange::add(&format!("c{n}"), ColumnType::I64)
            } else {
                ColumnChange::drop(&format!("c{}", n - 1))
            };
            tables.push(db.alter_table("people", &[change]).unwrap());
        }
        // Each writes one row, the oldest last.
        for (n, mut transaction) in snapshots.into_iter().enumerate().rev() {
            for (of, table) in tables.iter().enumerate() {
                let found = rows(&mut transaction, table);
                match of.cmp(&n) {
                    std::cmp::Ordering::Less => outdated(found, "get the table again"),
                    std::cmp::Ordering::Equal => assert_eq!(found.unwrap().len(), 3),
                    std::cmp::Ordering::Greater => too_old(found),
                }
            }
            let mut row = vec![Value::Int(10 + n as i64), "new".into(), Value::Null];
            row.resize(tables[n].schema().columns.len(), Value::Int(n as i64));
            tables[n].insert(&mut transaction, &row).unwrap();
            transaction.commit().unwrap().wait().unwrap();
        }
        let expected: Vec<_> = (0..5).map(|n| format!("{} 'new' null null", 10 + n)).collect();
        assert_eq!(rows_now(&db, &tables[5])[3..], expected);
    }
}

#[test]
fn a_read_committed_transaction_goes_on_with_the_new_handle() {
    for engine in ENGINES {
        let directory = tempfile::tempdir().unwrap();
        let db = open(directory.path());
        let old = people(&db, engine);
        let mut transaction = db.begin(Isolation::ReadCommitted).unwrap();
        assert!(old.set(&mut transaction, &[Value::Int(1)], &[(2, "Ulm".into())]).unwrap());
        assert!(old.get(&mut transaction, &[Value::Int(2)]).unwrap().is_some());
        let new = alter(&db);
        commit(&db, |transaction| new.insert(transaction, &[Value::Int(9), "Oslo".into(), Value::Int(90)]));
        outdated(rows(&mut transaction, &old), "get the table again");
        outdated(old.delete(&mut transaction, &[Value::Int(3)]), "get the table again");
        let seen = rows(&mut transaction, &new).unwrap();
        assert_eq!(seen, ["1 'Ulm' null", "2 'Bern' null", "3 null null", "9 'Oslo' 90"]);
        assert!(new.set(&mut transaction, &[Value::Int(3)], &[(2, Value::Int(30))]).unwrap());
        transaction.commit().unwrap().wait().unwrap();
        assert_eq!(rows_now(&db, &new), ["1 'Ulm' null", "2 'Bern' null", "3 null 30", "9 'Oslo' 90"]);
        // An index is another matter: what it wrote before lacks the entries.
        let mut transaction = db.begin(Isolation::ReadCommitted).unwrap();
        assert!(new.delete(&mut transaction, &[Value::Int(1)]).unwrap());
        let index = IndexDef::new("by_age", ["age"]);
        let indexed = db.add_index("people", index).unwrap();
        too_old(rows(&mut transaction, &indexed));
        outdated(transaction.commit(), "indexes of the table");
    }
}

#[test]
fn reads_for_an_update_are_checked_over_a_change_of_columns() {
    for engine in ENGINES {
        for meets in [false, true] {
            let directory = tempfile::tempdir().unwrap();
            let db = open(directory.path());
            let old = people(&db, engine);
            let mut transaction = db.begin(Isolation::Snapshot).unwrap();
            let row = |id| [Value::Int(id)];
            assert!(old.get_for_update(&mut transaction, &row(1)).unwrap().is_some());
            let new = alter(&db);
            let changed = if meets { 2 } else { 3 };
            commit(&db, |transaction| {
                new.set(transaction, &row(changed), &[(2, Value::Int(5))]).map(|found| assert!(found))
            });
            let read = old.get_for_update(&mut transaction, &row(2)).unwrap().unwrap();
            assert_eq!(read.view().text(1).unwrap(), "Bob");
            assert!(old.set(&mut transaction, &row(1), &[(2, "Ulm".into())]).unwrap());
            match meets {
                true => conflict(transaction.commit(), Conflict::Read),
                false => drop(transaction.commit().unwrap()),
            }
        }
    }
}

#[test]
fn an_index_or_a_move_after_the_change_ends_the_writes_of_earlier_transactions() {
    for engine in ENGINES {
        let directory = tempfile::tempdir().unwrap();
        let db = open(directory.path());
        let old = people(&db, engine);
        let mut reader = db.begin(Isolation::Snapshot).unwrap();
        let mut writer = db.begin(Isolation::Snapshot).unwrap();
        let before = rows(&mut reader, &old).unwrap();
        assert!(old.delete(&mut writer, &[Value::Int(2)]).unwrap());
        let new = alter(&db);
        assert!(old.delete(&mut writer, &[Value::Int(1)]).unwrap());
        let index = IndexDef::new("by_age", ["age"]);
        let indexed = db.add_index("people", index).unwrap();
        assert_eq!(rows(&mut reader, &old).unwrap(), before);
        outdated(old.delete(&mut reader, &[Value::Int(3)]), "other indexes");
        outdated(old.delete(&mut writer, &[Value::Int(3)]), "other indexes");
        outdated(writer.commit(), "indexes of the table");
        assert_eq!(rows_now(&db, &new).len(), 3);

        let mut writer = db.begin(Isolation::Snapshot).unwrap();
        assert!(indexed.delete(&mut writer, &[Value::Int(2)]).unwrap());
        let other = if engine == Engine::Memory { Engine::Disk } else { Engine::Memory };
        db.move_table("people", other).unwrap();
        for lost in [
            rows(&mut reader, &old).map(drop),
            rows(&mut writer, &indexed).map(drop),
            writer.commit().map(drop),
        ] {
            assert!(matches!(lost, Err(Error::Moved(_))), "{lost:?}");
        }
        outdated(rows(&mut db.begin(Isolation::Snapshot).unwrap(), &old), "get the table again");
        assert_eq!(rows_now(&db, &indexed).len(), 3);
    }
}

#[test]
fn a_transaction_prepared_with_earlier_columns_commits_after_the_change_and_after_a_crash() {
    for engine in ENGINES {
        let directory = tempfile::tempdir().unwrap();
        let db = open(directory.path());
        let old = people(&db, engine);
        let begin = |id: i64| {
            let mut transaction = db.begin(Isolation::Serializable).unwrap();
            old.insert(&mut transaction, &[Value::Int(id), "Eve".into(), "Ulm".into()]).unwrap();
            transaction
        };
        let (first, second, third) = (begin(11), begin(12), begin(13));
        first.prepare("before").unwrap().wait().unwrap();
        let new = alter(&db);
        second.prepare("after").unwrap().wait().unwrap();
        third.prepare("never").unwrap().wait().unwrap();
        commit(&db, |transaction| new.insert(transaction, &[Value::Int(9), Value::Null, Value::Int(90)]));
        db.commit_prepared("before").unwrap().wait().unwrap();
        drop((old, new, db));
        let db = open(directory.path());
        db.commit_prepared("after").unwrap().wait().unwrap();
        db.roll_back_prepared("never").unwrap().wait().unwrap();
        let table = db.table("people").unwrap();
        let expected = ["9 null 90", "11 'Ulm' null", "12 'Ulm' null"];
        assert_eq!(rows_now(&db, &table)[3..], expected);
    }
}

fn missing<T: std::fmt::Debug>(outcome: gemel::Result<T>, says: &str) {
    assert!(matches!(&outcome, Err(Error::Usage(text)) if text.contains(says)), "{outcome:?}");
}

fn names(db: &Database, transaction: &Transaction) -> Vec<String> {
    let mut names: Vec<_> = db.tables_in(transaction).unwrap().into_iter().map(|(name, _)| name).collect();
    names.sort();
    names
}

#[test]
fn a_transaction_finds_the_tables_of_its_snapshot() {
    for (engine, level) in ENGINES.into_iter().flat_map(|engine| SNAPSHOTS.map(|level| (engine, level))) {
        let directory = tempfile::tempdir().unwrap();
        let db = open(directory.path());
        let read_committed = db.begin(Isolation::ReadCommitted).unwrap();
        let zeroth = db.begin(level).unwrap();
        people(&db, engine);
        let mut first = db.begin(level).unwrap();
        db.alter_table("people", &[ColumnChange::rename("town", "city")]).unwrap();
        let mut second = db.begin(level).unwrap();
        let altered = alter(&db);
        commit(&db, |transaction| altered.insert(transaction, &[Value::Int(9), Value::Null, Value::Int(90)]));
        let mut third = db.begin(level).unwrap();
        let index = IndexDef::new("by_age", ["age"]);
        db.add_index("people", index).unwrap();
        db.create_table("more", engine, schema()).unwrap();
        let mut fourth = db.begin(level).unwrap();
        for (transaction, columns, indexes, last) in [
            (&mut first, "id name town", 1, "3 'Cid' null"),
            (&mut second, "id name city", 1, "3 'Cid' null"),
            (&mut third, "id city age", 1, "9 null 90"),
            (&mut fourth, "id city age", 2, "9 null 90"),
        ] {
            let table = db.table_in(transaction, "people").unwrap();
            let found: Vec<_> = table.schema().columns.iter().map(|column| &*column.name).collect();
            assert_eq!((&*found.join(" "), table.schema().indexes.len()), (columns, indexes));
            let all = rows(transaction, &table).unwrap();
            assert_eq!(all.last().unwrap(), last);
        }
        for transaction in [&first, &second, &third] {
            assert_eq!(names(&db, transaction), ["people"]);
            missing(db.table_in(transaction, "more"), "a later transaction finds this one");
            missing(db.table_in(transaction, "none"), "there is no table");
        }
        assert!(names(&db, &zeroth).is_empty());
        missing(db.table_in(&zeroth, "people"), "in the snapshot of the transaction");
        for transaction in [&fourth, &read_committed] {
            assert_eq!(names(&db, transaction), ["more", "people"]);
            assert_eq!(db.table_in(transaction, "people").unwrap().schema().indexes.len(), 2);
        }
        let another = tempfile::tempdir().unwrap();
        missing(open(another.path()).table_in(&first, "people"), "another database");
    }
}

/// Each thread looks up the table in its transaction, so no look-up is of another time than the rows.
#[test]
fn rows_fit_the_table_of_the_transaction_while_columns_come_and_go() {
    for engine in ENGINES {
        let directory = tempfile::tempdir().unwrap();
        let db = open(directory.path());
        let schema = Schema::new().column("id", ColumnType::I64).nullable("c0", ColumnType::I64);
        let table = db.create_table("t", engine, schema.primary_key(["id"])).unwrap();
        commit(&db, |transaction| table.insert(transaction, &[Value::Int(1), Value::Int(0)]));
        let (stop, looks) = (AtomicBool::new(false), AtomicI64::new(0));
        std::thread::scope(|scope| {
            for level in SNAPSHOTS {
                let (db, stop, looks) = (&db, &stop, &looks);
                scope.spawn(move || {
                    while !stop.load(Ordering::SeqCst) {
                        let mut transaction = db.begin(level).unwrap();
                        let table = db.table_in(&transaction, "t").unwrap();
                        let found = rows(&mut transaction, &table).unwrap();
                        // The column's name has the value that was written with it, or its row is not there yet.
                        let name = &table.schema().columns[1].name;
                        let value = found[0].strip_prefix("1 ").unwrap();
                        assert!(value == "null" || format!("c{value}") == *name, "{found:?} {name}");
                        looks.fetch_add(1, Ordering::SeqCst);
                    }
                });
            }
            for n in 1..40 {
                let changes = [
                    ColumnChange::add(&format!("c{n}"), ColumnType::I64),
                    ColumnChange::drop(&format!("c{}", n - 1)),
                ];
                let table = db.alter_table("t", &changes).unwrap();
                commit(&db, |transaction| {
                    table.set(transaction, &[Value::Int(1)], &[(1, Value::Int(n))]).map(|set| assert!(set))
                });
                let before = looks.load(Ordering::SeqCst);
                while looks.load(Ordering::SeqCst) < before + 2 {
                    std::thread::yield_now();
                }
            }
            stop.store(true, Ordering::SeqCst);
        });
    }
}

const BEFORE: [&str; 3] = ["1 'Ann' 'Rome'", "2 'Bob' 'Bern'", "3 'Cid' null"];

/// Returns the records in memory and the trees on disk.
fn held(db: &Database) -> (u64, usize) {
    (db.state().memory.records, std::fs::read_dir(db.path().join("disk")).unwrap().count())
}

fn wait_for(db: &Database, left: (u64, usize)) {
    wait_until(|| held(db), |held| *held == left, |held| format!("{held:?} instead of {left:?}"));
}

/// The readers take their snapshot of the disk engine only after the change.
#[test]
fn a_snapshot_reads_on_in_what_was_dropped_or_truncated_and_its_end_frees_the_rows() {
    for (engine, level) in ENGINES.into_iter().flat_map(|engine| SNAPSHOTS.map(|level| (engine, level))) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("db");
        let db = open(&path);
        let old = people(&db, engine);
        let notes = db.keyspace("notes", engine).unwrap();
        let cities = db.create_table("cities", engine, schema()).unwrap();
        commit(&db, |transaction| {
            transaction.put(&notes, b"k", b"v")?;
            cities.insert(transaction, &[Value::Int(7), "Rome".into(), Value::Null])
        });
        let begin = |level| db.begin(level).unwrap();
        let (mut reader, mut writer, mut second) = (begin(level), begin(level), begin(level));
        let mut read_committed = begin(Isolation::ReadCommitted);
        old.delete(&mut writer, &[Value::Int(1)]).unwrap();
        second.put(&notes, b"k", b"lost").unwrap();
        let held_before = held(&db);
        db.drop_table("people").unwrap();
        db.drop_keyspace("notes").unwrap();
        let new_cities = db.truncate_table("cities").unwrap();
        // The name may have another meaning by now.
        let people = db.create_table("people", Engine::Memory, schema()).unwrap();
        commit(&db, |transaction| people.insert(transaction, &[Value::Int(9), "Eve".into(), Value::Null]));
        for _ in 0..2 {
            assert_eq!(rows(&mut reader, &old).unwrap(), BEFORE);
            assert_eq!(reader.get(&notes, b"k").unwrap().unwrap(), b"v");
            assert_eq!(rows(&mut reader, &cities).unwrap(), ["7 'Rome' null"]);
            let found = db.table_in(&reader, "people").unwrap();
            assert_eq!(rows(&mut reader, &found).unwrap(), BEFORE);
            assert_eq!(names(&db, &reader), ["cities", "people"]);
            // A new look at everything.
            db.checkpoint().unwrap();
        }
        assert_eq!(rows(&mut writer, &old).unwrap(), BEFORE[1..]);
        too_old(rows(&mut reader, &new_cities));
        outdated(old.delete(&mut reader, &[Value::Int(1)]), "was dropped");
        outdated(cities.delete(&mut reader, &[Value::Int(7)]), "was truncated");
        outdated(reader.put(&notes, b"k", b"lost"), "was dropped");
        outdated(writer.commit(), "dropped or truncated");
        outdated(second.commit(), "dropped or truncated");
        for late in [&mut read_committed, &mut begin(level)] {
            outdated(rows(late, &old), "was dropped");
            outdated(rows(late, &cities), "was truncated");
            outdated(late.get(&notes, b"k"), "was dropped");
        }
        drop(read_committed);
        let (records, trees) = held(&db);
        assert!(records >= held_before.0 && trees >= held_before.1);
        // A process that is killed here leaves nothing of the tables.
        let killed = directory.path().join("killed");
        db.sync().unwrap();
        copy_directory(&path, &killed);
        let left = (2, if engine == Engine::Disk { 2 } else { 0 });
        let opened = open(&killed);
        assert_eq!(held(&opened), left);
        assert_eq!(rows_now(&opened, &opened.table("people").unwrap()), ["9 'Eve' null"]);
        drop(opened);
        assert!(gemel::check(&killed).unwrap().is_good());
        drop(reader);
        wait_for(&db, left);
        assert_eq!(rows_now(&db, &people), ["9 'Eve' null"]);
        assert!(rows_now(&db, &new_cities).is_empty());
    }
}

#[test]
fn a_serializable_transaction_that_read_a_table_that_is_gone_commits_no_write() {
    for engine in ENGINES {
        let directory = tempfile::tempdir().unwrap();
        let db = open(directory.path());
        let old = people(&db, engine);
        let notes = db.keyspace("notes", engine).unwrap();
        for truncates in [true, false] {
            let handle = db.table("people").unwrap();
            let mut transaction = db.begin(Isolation::Serializable).unwrap();
            let mut late = db.begin(Isolation::Serializable).unwrap();
            rows(&mut transaction, &handle).unwrap();
            if truncates {
                db.truncate_table("people").unwrap();
            } else {
                db.drop_table("people").unwrap();
            }
            rows(&mut late, &handle).unwrap();
            for mut transaction in [transaction, late] {
                transaction.put(&notes, b"k", b"decided").unwrap();
                outdated(transaction.commit(), "dropped or truncated");
            }
        }
        drop(old);
        // One that wrote nothing changes nothing.
        let table = db.create_table("people", engine, schema()).unwrap();
        let mut transaction = db.begin(Isolation::Serializable).unwrap();
        db.drop_table("people").unwrap();
        assert!(rows(&mut transaction, &table).unwrap().is_empty());
        transaction.commit().unwrap().wait().unwrap();
    }
}

#[test]
fn a_snapshot_that_is_too_old_does_not_keep_a_dropped_table() {
    for engine in ENGINES {
        let directory = tempfile::tempdir().unwrap();
        // The rows are written without the limit, however long that takes.
        people(&open(directory.path()), engine);
        let options = Options { max_snapshot_age: Some(Duration::from_secs(1)), ..Options::default() };
        let db = Database::open(directory.path(), options).unwrap();
        let old = db.table("people").unwrap();
        let mut reader = db.begin(Isolation::Snapshot).unwrap();
        db.drop_table("people").unwrap();
        wait_for(&db, (0, 0));
        too_old(rows(&mut reader, &old));
        too_old(db.table_in(&reader, "people"));
    }
}

/// Readers of a table that is truncated again and again see all rows that one commit wrote, or none.
#[test]
fn readers_race_with_truncations_and_see_no_table_in_part() {
    for engine in ENGINES {
        let directory = tempfile::tempdir().unwrap();
        let db = open(directory.path());
        people(&db, engine);
        let (stop, looks) = (AtomicBool::new(false), AtomicI64::new(0));
        std::thread::scope(|scope| {
            for level in SNAPSHOTS {
                let (db, stop, looks) = (&db, &stop, &looks);
                scope.spawn(move || {
                    while !stop.load(Ordering::SeqCst) {
                        let mut transaction = db.begin(level).unwrap();
                        let table = db.table_in(&transaction, "people").unwrap();
                        std::thread::yield_now();
                        let found = rows(&mut transaction, &table).unwrap();
                        assert!(found.is_empty() || found == BEFORE, "{found:?}");
                        assert_eq!(rows(&mut transaction, &table).unwrap(), found);
                        looks.fetch_add(1, Ordering::SeqCst);
                    }
                });
            }
            for _ in 0..40 {
                let table = db.truncate_table("people").unwrap();
                commit(&db, |transaction| {
                    table.insert(transaction, &[Value::Int(1), "Ann".into(), "Rome".into()])?;
                    table.insert(transaction, &[Value::Int(2), "Bob".into(), "Bern".into()])?;
                    table.insert(transaction, &[Value::Int(3), "Cid".into(), Value::Null])
                });
                let before = looks.load(Ordering::SeqCst);
                while looks.load(Ordering::SeqCst) < before + 2 {
                    std::thread::yield_now();
                }
            }
            stop.store(true, Ordering::SeqCst);
        });
        let left = if engine == Engine::Memory { (6, 0) } else { (0, 2) };
        wait_for(&db, left);
    }
}

#[test]
fn a_dropped_index_serves_the_snapshots_from_before_and_ends_their_writes() {
    for engine in ENGINES {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("db");
        let db = open(&path);
        people(&db, engine);
        let name = IndexDef { unique: true, ..IndexDef::new("by_name", ["name"]) };
        let old = db.add_index("people", name.clone()).unwrap();
        let full = held(&db);
        let (mut reader, mut writer) = (db.begin(SNAPSHOTS[0]).unwrap(), db.begin(SNAPSHOTS[1]).unwrap());
        assert!(old.delete(&mut writer, &[Value::Int(2)]).unwrap());
        missing(db.drop_index("people", "none"), "there is no index none");
        missing(db.drop_index("none", "by_town"), "there is no table");
        let new = db.drop_index("people", "by_town").unwrap();
        assert_eq!(new.schema().indexes, [name]);
        commit(&db, |transaction| {
            assert!(new.delete(transaction, &[Value::Int(3)])?);
            new.insert(transaction, &[Value::Int(4), "Dan".into(), "Riga".into()])
        });
        // `rows` reads by the index too.
        assert_eq!(rows(&mut reader, &old).unwrap(), BEFORE);
        outdated(old.delete(&mut reader, &[Value::Int(1)]), "\"people.by_town\" was dropped");
        too_old(rows(&mut reader, &new));
        outdated(writer.commit(), "before the commit");
        let mut late = db.begin(Isolation::Snapshot).unwrap();
        outdated(rows(&mut late, &old), "was dropped");
        assert!(old.get(&mut late, &[Value::Int(1)]).unwrap().is_some());
        outdated(old.delete(&mut late, &[Value::Int(1)]), "was dropped");
        let renamed = [(1, "Dora".into())];
        outdated(old.set(&mut late, &[Value::Int(4)], &renamed), "other indexes");
        assert_eq!(rows(&mut late, &new).unwrap(), [BEFORE[0], BEFORE[1], "4 'Dan' 'Riga'"]);
        missing(new.cursor_index(&late, "by_town", &RowRange::all()).map(drop), "there is no index");
        drop((reader, late));
        match engine {
            Engine::Memory => wait_for(&db, (full.0 - 3, full.1)),
            Engine::Disk => wait_for(&db, (full.0, full.1 - 1)),
        }
        // The column is free now, and so is the name.
        let new = db.alter_table("people", &[ColumnChange::drop("town")]).unwrap();
        assert_eq!(rows_now(&db, &new), ["1 'Ann'", "2 'Bob'", "4 'Dan'"]);
        let index = IndexDef::new("by_town", ["name"]);
        let new = db.add_index("people", index).unwrap();
        assert_eq!(rows_now(&db, &new).len(), 3);
        drop((old, new, db));
        assert!(gemel::check(&path).unwrap().is_good());
    }
}

#[test]
fn a_table_is_renamed_under_its_handles_and_snapshots_find_the_earlier_name() {
    for engine in ENGINES {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("db");
        let db = open(&path);
        let old = people(&db, engine);
        db.keyspace("taken", engine).unwrap();
        db.keyspace("half.by_town", engine).unwrap();
        let mut reader = db.begin(Isolation::Serializable).unwrap();
        let mut writer = db.begin(Isolation::Serializable).unwrap();
        assert!(old.delete(&mut writer, &[Value::Int(2)]).unwrap());
        let long = "x".repeat(199);
        for (to, says) in [
            ("taken", "is a keyspace already"),
            ("half", "is a keyspace already"),
            ("people.by_town", "is an index of table"),
            ("", "not a valid name"),
            (&*long, "not a valid name"),
        ] {
            missing(db.rename_table("people", to), says);
        }
        missing(db.rename_table("none", "persons"), "there is no table");
        assert_eq!(db.rename_table("people", "people").unwrap().name(), "people");
        let new = db.rename_table("people", "persons").unwrap();
        assert_eq!((new.name(), old.name()), ("persons", "people"));
        missing(db.table("people"), "there is no table");
        // The earlier name may get another meaning.
        let other = db.create_table("people", engine, schema()).unwrap();
        assert!(new.delete(&mut writer, &[Value::Int(3)]).unwrap());
        writer.commit().unwrap().wait().unwrap();
        assert_eq!((names(&db, &reader), db.tables().len()), (vec!["people".to_owned()], 2));
        let found = db.table_in(&reader, "people").unwrap();
        missing(db.table_in(&reader, "persons"), "in the snapshot of the transaction");
        assert_eq!(rows(&mut reader, &found).unwrap(), BEFORE);
        assert_eq!(rows(&mut reader, &new).unwrap(), BEFORE);
        for handle in [&old, &new, &db.table("persons").unwrap()] {
            assert_eq!(rows_now(&db, handle), BEFORE[..1]);
        }
        assert!(rows_now(&db, &other).is_empty());
        let error = new.insert(&mut reader, &[Value::Int(1), "Ann".into(), Value::Null]).unwrap_err();
        assert!(error.to_string().contains("table persons"), "{error}");
        let mut spaces: Vec<_> = db.keyspaces().into_iter().map(|(name, _)| name).collect();
        spaces.sort();
        let expected = ["half.by_town", "people", "people.by_town", "persons", "persons.by_town", "taken"];
        assert_eq!(spaces, expected);
        drop((reader, old, new, other, found));
        drop(db);
        let db = open(&path);
        assert_eq!(rows_now(&db, &db.table("persons").unwrap()), BEFORE[..1]);
        db.drop_table("people").unwrap();
        db.rename_table("persons", "people").unwrap();
        drop(db);
        assert!(gemel::check(&path).unwrap().is_good());
    }
}

#[test]
fn without_the_registry_earlier_handles_end_with_the_change() {
    for engine in ENGINES {
        let directory = tempfile::tempdir().unwrap();
        let db = Database::open(directory.path(), Options { csr: false, ..Options::default() }).unwrap();
        let old = people(&db, engine);
        let mut reader = db.begin(Isolation::Snapshot).unwrap();
        let mut writer = db.begin(Isolation::Snapshot).unwrap();
        assert!(old.set(&mut writer, &[Value::Int(1)], &[(2, "Ulm".into())]).unwrap());
        let new = alter(&db);
        outdated(rows(&mut reader, &old), "get the table again");
        too_old(rows(&mut reader, &new));
        writer.commit().unwrap().wait().unwrap();
        assert_eq!(rows_now(&db, &new)[0], "1 'Ulm' null");
    }
}

/// Threads count in a row, at each level, while columns come and go.
#[test]
fn transactions_race_with_changes_of_columns_and_no_update_is_lost() {
    for engine in ENGINES {
        let directory = tempfile::tempdir().unwrap();
        let db = open(directory.path());
        let schema = Schema::new().column("id", ColumnType::I64).column("count", ColumnType::I64);
        let first = db.create_table("t", engine, schema.primary_key(["id"])).unwrap();
        commit(&db, |transaction| first.insert(transaction, &[Value::Int(1), Value::Int(0)]));
        let (stop, counted, changes) = (AtomicBool::new(false), AtomicI64::new(0), AtomicI64::new(0));
        std::thread::scope(|scope| {
            for level in [Isolation::ReadCommitted, Isolation::Snapshot, Isolation::Serializable] {
                let (db, stop, counted) = (&db, &stop, &counted);
                scope.spawn(move || {
                    while !stop.load(Ordering::SeqCst) {
                        let outcome = (|| {
                            let table = db.table("t")?;
                            let mut transaction = db.begin(level)?;
                            std::thread::yield_now();
                            table.update(&mut transaction, &[Value::Int(1)], |row| {
                                let count = row.view().int(1)?;
                                row.set(1, Value::Int(count + 1))
                            })?;
                            transaction.commit()?.wait()
                        })();
                        match outcome {
                            Ok(()) => drop(counted.fetch_add(1, Ordering::SeqCst)),
                            Err(error) if error.is_retryable() || error.is_outdated() => {}
                            Err(error) => panic!("{error}"),
                        }
                    }
                });
            }
            for n in 0..40 {
                let change = if n % 2 == 0 {
                    ColumnChange::add("more", ColumnType::Text)
                } else {
                    ColumnChange::drop("more")
                };
                db.alter_table("t", &[change]).unwrap();
                changes.store(n, Ordering::SeqCst);
                let before = counted.load(Ordering::SeqCst);
                while counted.load(Ordering::SeqCst) < before + 3 {
                    std::thread::yield_now();
                }
            }
            stop.store(true, Ordering::SeqCst);
        });
        let table = db.table("t").unwrap();
        assert_eq!(rows_now(&db, &table), [format!("1 {}", counted.into_inner())]);
    }
}
