//! The tables of a snapshot: after drops, truncations, dropped indexes and renames.

use super::copy::copy_directory;
use super::outcome::{outdated, rejected, too_old};
use super::people::{
    BEFORE, ENGINES, SNAPSHOTS, alter, commit, held, names, open, people, rows, rows_now, schema, wait_for,
};
use gemel::row::{ColumnChange, IndexDef, RowRange, Value};
use gemel::{Database, Engine, Isolation, Options};
use std::time::Duration;

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
            rejected(db.table_in(transaction, "more"), "a later transaction finds this one");
            rejected(db.table_in(transaction, "none"), "there is no table");
        }
        assert!(names(&db, &zeroth).is_empty());
        rejected(db.table_in(&zeroth, "people"), "in the snapshot of the transaction");
        for transaction in [&fourth, &read_committed] {
            assert_eq!(names(&db, transaction), ["more", "people"]);
            assert_eq!(db.table_in(transaction, "people").unwrap().schema().indexes.len(), 2);
        }
        let another = tempfile::tempdir().unwrap();
        rejected(open(another.path()).table_in(&first, "people"), "another database");
    }
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
        too_old(rows(&mut reader, &new_cities), "after the transaction began");
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
        too_old(rows(&mut reader, &old), "max_snapshot_age");
        too_old(db.table_in(&reader, "people"), "max_snapshot_age");
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
        rejected(db.drop_index("people", "none"), "there is no index none");
        rejected(db.drop_index("none", "by_town"), "there is no table");
        let new = db.drop_index("people", "by_town").unwrap();
        assert_eq!(new.schema().indexes, [name]);
        commit(&db, |transaction| {
            assert!(new.delete(transaction, &[Value::Int(3)])?);
            new.insert(transaction, &[Value::Int(4), "Dan".into(), "Riga".into()])
        });
        // `rows` reads by the index too.
        assert_eq!(rows(&mut reader, &old).unwrap(), BEFORE);
        outdated(old.delete(&mut reader, &[Value::Int(1)]), "\"people.by_town\" was dropped");
        too_old(rows(&mut reader, &new), "after the transaction began");
        outdated(writer.commit(), "before the commit");
        let mut late = db.begin(Isolation::Snapshot).unwrap();
        outdated(rows(&mut late, &old), "was dropped");
        assert!(old.get(&mut late, &[Value::Int(1)]).unwrap().is_some());
        outdated(old.delete(&mut late, &[Value::Int(1)]), "was dropped");
        let renamed = [(1, "Dora".into())];
        outdated(old.set(&mut late, &[Value::Int(4)], &renamed), "other indexes");
        assert_eq!(rows(&mut late, &new).unwrap(), [BEFORE[0], BEFORE[1], "4 'Dan' 'Riga'"]);
        rejected(new.cursor_index(&late, "by_town", &RowRange::all()).map(drop), "there is no index");
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
            rejected(db.rename_table("people", to), says);
        }
        rejected(db.rename_table("none", "persons"), "there is no table");
        assert_eq!(db.rename_table("people", "people").unwrap().name(), "people");
        let new = db.rename_table("people", "persons").unwrap();
        assert_eq!((new.name(), old.name()), ("persons", "people"));
        rejected(db.table("people"), "there is no table");
        // The earlier name may get another meaning.
        let other = db.create_table("people", engine, schema()).unwrap();
        assert!(new.delete(&mut writer, &[Value::Int(3)]).unwrap());
        writer.commit().unwrap().wait().unwrap();
        assert_eq!((names(&db, &reader), db.tables().len()), (vec!["people".to_owned()], 2));
        let found = db.table_in(&reader, "people").unwrap();
        rejected(db.table_in(&reader, "persons"), "in the snapshot of the transaction");
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
