//! Tables that are dropped, renamed, truncated and altered within a transaction: what it sees itself, and what others have
//! before and after.

use crate::base::{ENGINES, LEVELS, LOGS, begin, commit, good, insert, logs_and_homes, open, trees};
use crate::copy::copy_directory;
use crate::outcome::{conflict, outdated, rejected, too_old};
use crate::scratch::directory;
use gemel::row::{ColumnChange, ColumnType, IndexDef, RowRange, Schema, Table, Value};
use gemel::{Conflict, Database, Direction, Engine, Error, Isolation, Result, Transaction};
use std::ops::ControlFlow;
use std::path::Path;

pub(crate) fn schema() -> Schema {
    let schema = Schema::new().column("id", ColumnType::I32).nullable("value", ColumnType::I64);
    schema.primary_key(["id"]).index("by_value", ["value"]).unique_index("once", ["value", "id"])
}

/// The schema after the copy: its key has another type.
pub(crate) fn wider() -> Schema {
    let schema = Schema::new().column("id", ColumnType::I64).nullable("value", ColumnType::I64);
    schema.primary_key(["id"]).index("by_value", ["value"])
}

pub(crate) fn count(transaction: &mut Transaction, table: &Table) -> Result<usize> {
    let mut rows = 0;
    table.scan(transaction, &RowRange::all(), Direction::Forward, |_| {
        rows += 1;
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(rows)
}

pub(crate) fn rows(db: &Database, name: &str) -> usize {
    count(&mut db.begin(Isolation::Snapshot).unwrap(), &db.table(name).unwrap()).unwrap()
}

/// Returns the number of rows of the table that has this name in the catalog of a transaction.
pub(crate) fn count_in(db: &Database, transaction: &mut Transaction, name: &str) -> usize {
    let table = db.table_in(transaction, name).unwrap();
    count(transaction, &table).unwrap()
}

pub(crate) fn names(db: &Database) -> Vec<String> {
    let mut names: Vec<String> = db.tables().into_iter().map(|(name, _)| name).collect();
    names.sort();
    names
}

pub(crate) fn names_in(db: &Database, transaction: &Transaction) -> Vec<String> {
    let mut names: Vec<String> =
        db.tables_in(transaction).unwrap().into_iter().map(|(name, _)| name).collect();
    names.sort();
    names
}

/// Waits until so many trees are there: the last transaction that needs the others has ended.
pub(crate) fn wait_for_trees(path: &Path, number: usize) {
    while trees(path) != number {
        std::thread::yield_now();
    }
}

/// Makes a table "t" with the rows 0..30, and a table in each engine, named after it.
pub(crate) fn make(db: &Database, home: Engine) -> Table {
    for engine in ENGINES {
        db.create_table(engine.name(), engine, schema()).unwrap();
    }
    let table = db.create_table("t", home, schema()).unwrap();
    db.run(Isolation::Snapshot, |transaction| insert(transaction, &table, 0..30)).unwrap();
    table
}

/// Writes 20 rows to each of the tables that are named after the engines.
pub(crate) fn write_others(db: &Database, transaction: &mut Transaction) -> Result<()> {
    ENGINES
        .iter()
        .try_for_each(|engine| insert(transaction, &db.table_in(transaction, engine.name())?, 0..20))
}

/// Copies the rows of "t" into a new table of another schema, which then has the name.
pub(crate) fn alter_by_copy(db: &Database, transaction: &mut Transaction, home: Engine) -> Result<Table> {
    let old = db.table_in(transaction, "t")?;
    let new = db.create_table_in(transaction, "t (copy)", home, wider())?;
    let mut rows = old.cursor(transaction, &RowRange::all())?;
    while let Some(row) = rows.next(transaction)? {
        new.insert(transaction, &row.values()?)?;
    }
    db.drop_table_in(transaction, "t")?;
    db.rename_table_in(transaction, "t (copy)", "t")
}

pub(crate) fn is_wider(table: &Table) -> bool {
    table.schema().columns[0].kind == ColumnType::I64
}

#[test]
fn a_copy_replaces_its_table_together_with_rows_of_other_tables() {
    for (log, home, level) in LOGS
        .into_iter()
        .flat_map(|log| ENGINES.map(|home| (log, home)))
        .flat_map(|(log, home)| LEVELS.map(|level| (log, home, level)))
    {
        let directory = directory();
        let [path, crashed] = ["db", "crashed"].map(|name| directory.path().join(name));
        let db = open(&path, log);
        let old = make(&db, home);
        let mut before = begin(&db);
        let mut transaction = db.begin(level).unwrap();
        write_others(&db, &mut transaction).unwrap();
        // It has no effect: the table is dropped.
        old.insert(&mut transaction, &[Value::Int(1000), Value::Null]).unwrap();
        let new = alter_by_copy(&db, &mut transaction, home).unwrap();
        insert(&mut transaction, &new, 100..105).unwrap();
        // The transaction has the new table alone.
        assert_eq!(count(&mut transaction, &new).unwrap(), 36);
        assert!(is_wider(&db.table_in(&transaction, "t").unwrap()));
        assert_eq!(names_in(&db, &transaction), ["disk", "memory", "t"]);
        rejected(db.table_in(&transaction, "t (copy)"), "there is no table");
        outdated(count(&mut transaction, &old), "itself has dropped");
        outdated(insert(&mut transaction, &old, 200..201), "itself has dropped");
        // All others have the old one.
        for other in [&mut before, &mut db.begin(Isolation::ReadCommitted).unwrap()] {
            let found = db.table_in(other, "t").unwrap();
            assert!(!is_wider(&found));
            assert_eq!((count(other, &found).unwrap(), count(other, &old).unwrap()), (30, 30));
            rejected(count(other, &new), "is being made by another transaction");
        }
        assert!(!is_wider(&db.table("t").unwrap()));
        commit(transaction);
        // A snapshot from before goes on with the old one.
        let found = db.table_in(&before, "t").unwrap();
        assert!(!is_wider(&found));
        assert_eq!((count(&mut before, &found).unwrap(), count(&mut before, &old).unwrap()), (30, 30));
        assert_eq!(names_in(&db, &before), ["disk", "memory", "t"]);
        too_old(count(&mut before, &new), "was changed after the transaction began");
        // Later ones have the new one.
        outdated(count(&mut begin(&db), &old), "was dropped");
        outdated(insert(&mut begin(&db), &old, 300..301), "was dropped");
        let check = |db: &Database, context: &str| {
            assert_eq!(names(db), ["disk", "memory", "t"], "{context}");
            let found = db.table("t").unwrap();
            assert!(is_wider(&found));
            assert_eq!(rows(db, "t"), 36, "{log:?} {home:?} {level:?} {context}");
            assert_eq!(["memory", "disk"].map(|name| rows(db, name)), [20, 20], "{context}");
            found.verify(&mut begin(db)).unwrap();
            // The keyspaces of the indexes have its name too.
            rejected(db.keyspace("t.by_value", home), "is part of table \"t\"");
            db.run(Isolation::Snapshot, |transaction| {
                insert(transaction, &found, 500..501)?;
                found.delete(transaction, &[Value::Int(500)]).map(drop)
            })
            .unwrap();
        };
        check(&db, "now");
        insert(&mut begin(&db), &new, 500..501).unwrap();
        copy_directory(&path, &crashed);
        check(&open(&crashed, log), "after a crash");
        good(&crashed);
        drop(before);
        let of_t = if home == Engine::Disk { 2 } else { 0 };
        wait_for_trees(&path, 3 + of_t);
        // Everything can be done with it.
        db.alter_table("t", &[ColumnChange::add("more", ColumnType::Text)]).unwrap();
        db.add_index("t", IndexDef::new("third", ["value"])).unwrap();
        db.move_table("t", if home == Engine::Memory { Engine::Disk } else { Engine::Memory }).unwrap();
        drop((old, new, found, db));
        let db = open(&path, log);
        assert_eq!(rows(&db, "t"), 36);
        db.drop_table("t").unwrap();
        drop(db);
        good(&path);
    }
}

/// A row that another transaction commits after the copy was made must not be lost with the table.
#[test]
fn names_are_exchanged_and_tables_replaced_at_once() {
    for (log, home) in logs_and_homes() {
        let directory = directory();
        let path = directory.path().join("db");
        let db = open(&path, log);
        let first = make(&db, home);
        let mut before = begin(&db);
        // RENAME TABLE t TO x, memory TO t, x TO memory.
        let mut transaction = begin(&db);
        let moved = db.rename_table_in(&mut transaction, "t", "x").unwrap();
        assert_eq!((moved.name(), count(&mut transaction, &moved).unwrap()), ("x", 30));
        rejected(db.table_in(&transaction, "t"), "has dropped it, or given it another name");
        db.rename_table_in(&mut transaction, "memory", "t").unwrap();
        let moved = db.rename_table_in(&mut transaction, "x", "memory").unwrap();
        assert_eq!(names_in(&db, &transaction), ["disk", "memory", "t"]);
        insert(&mut transaction, &moved, 30..32).unwrap();
        commit(transaction);
        assert_eq!((rows(&db, "memory"), rows(&db, "t")), (32, 0));
        // Handles go on.
        assert_eq!(count(&mut begin(&db), &first).unwrap(), 32);
        assert_eq!(count_in(&db, &mut before, "t"), 30);
        assert_eq!(count_in(&db, &mut before, "memory"), 0);
        // CREATE OR REPLACE, of a table that was replaced by this transaction already.
        let mut transaction = begin(&db);
        for number in 0..3 {
            db.drop_table_in(&mut transaction, "memory").unwrap();
            rejected(db.drop_table_in(&mut transaction, "memory"), "has dropped it");
            let new = db.create_table_in(&mut transaction, "memory", home, wider()).unwrap();
            insert(&mut transaction, &new, 0..number).unwrap();
        }
        // A rename of one that it has made, of one to its own name, and over a name that is taken.
        db.rename_table_in(&mut transaction, "t", "t").unwrap();
        rejected(db.rename_table_in(&mut transaction, "memory", "t"), "table \"t\" exists already");
        rejected(db.rename_table_in(&mut transaction, "none", "t"), "there is no table \"none\"");
        rejected(db.rename_table_in(&mut transaction, "t", ""), "not a valid name");
        db.rename_table_in(&mut transaction, "memory", "new").unwrap();
        // One that comes and goes leaves nothing.
        db.create_table_in(&mut transaction, "gone", home, schema()).unwrap();
        db.drop_table_in(&mut transaction, "gone").unwrap();
        rejected(db.table_in(&transaction, "gone"), "there is no table \"gone\": Database::tables");
        commit(transaction);
        drop((before, first, moved));
        assert_eq!(names(&db), ["disk", "new", "t"]);
        assert_eq!((rows(&db, "new"), rows(&db, "t")), (2, 0));
        let of_new = if home == Engine::Disk { 2 } else { 0 };
        wait_for_trees(&path, 3 + of_new);
        drop(db);
        let db = open(&path, log);
        assert_eq!((names(&db).len(), rows(&db, "new"), rows(&db, "t")), (3, 2, 0));
        drop(db);
        good(&path);
    }
}

#[test]
fn a_rollback_leaves_every_table_as_it_was() {
    for (log, home) in logs_and_homes() {
        let directory = directory();
        let path = directory.path().join("db");
        let db = open(&path, log);
        let old = make(&db, home);
        let (manifest, before) = (std::fs::read(path.join("gemel.manifest")).unwrap(), trees(&path));
        let change = |transaction: &mut Transaction| {
            alter_by_copy(&db, transaction, home)?;
            db.rename_table_in(transaction, "memory", "renamed")?;
            db.truncate_table_in(transaction, "disk").map(drop)
        };
        let check = || {
            assert_eq!((names(&db), rows(&db, "t")), (vec!["disk".into(), "memory".into(), "t".into()], 30));
            assert!(!is_wider(&db.table("t").unwrap()));
            assert_eq!(trees(&path), before);
            // Nobody holds anything.
            db.run(Isolation::Snapshot, |other| {
                insert(other, &old, 50..51)?;
                old.delete(other, &[Value::Int(50)]).map(drop)
            })
            .unwrap();
            db.keyspace("renamed", home).unwrap();
            db.drop_keyspace("renamed").unwrap();
        };
        let mut transaction = begin(&db);
        change(&mut transaction).unwrap();
        drop(transaction);
        // It has cost no manifest.
        assert_eq!(std::fs::read(path.join("gemel.manifest")).unwrap(), manifest);
        check();
        // A conflict over a row of another table.
        let mut transaction = begin(&db);
        let other = db.table_in(&transaction, "memory").unwrap();
        insert(&mut transaction, &other, 0..1).unwrap();
        change(&mut transaction).unwrap();
        db.run(Isolation::Snapshot, |one| insert(one, &other, 0..1)).unwrap();
        conflict(transaction.commit(), Conflict::Write);
        check();
        // A rollback to a savepoint, and what comes after it.
        let mut transaction = begin(&db);
        db.rename_table_in(&mut transaction, "memory", "kept").unwrap();
        let savepoint = transaction.savepoint().unwrap();
        change(&mut transaction).unwrap_err();
        let inner = transaction.savepoint().unwrap();
        db.rename_table_in(&mut transaction, "kept", "lost").unwrap();
        db.drop_table_in(&mut transaction, "disk").unwrap();
        transaction.rollback_to(&inner).unwrap();
        assert_eq!(names_in(&db, &transaction), ["disk", "kept", "t"]);
        transaction.rollback_to(&savepoint).unwrap();
        assert_eq!(names_in(&db, &transaction), ["disk", "kept", "t"]);
        assert_eq!(count(&mut transaction, &old).unwrap(), 30);
        insert(&mut transaction, &old, 30..32).unwrap();
        let savepoint = transaction.savepoint().unwrap();
        db.truncate_table_in(&mut transaction, "t").unwrap();
        transaction.rollback_to(&savepoint).unwrap();
        assert_eq!(count(&mut transaction, &old).unwrap(), 32);
        commit(transaction);
        assert_eq!(names(&db), ["disk", "kept", "t"]);
        assert_eq!((rows(&db, "t"), rows(&db, "kept"), trees(&path)), (32, 1, before));
        drop((old, other, db));
        good(&path);
    }
}

#[test]
fn a_truncated_table_gets_new_rows_in_the_same_transaction() {
    for (log, home, level) in LOGS
        .into_iter()
        .flat_map(|log| ENGINES.map(|home| (log, home)))
        .flat_map(|(log, home)| LEVELS.map(|level| (log, home, level)))
    {
        let directory = directory();
        let path = directory.path().join("db");
        let db = open(&path, log);
        let old = make(&db, home);
        let mut before = begin(&db);
        let mut transaction = db.begin(level).unwrap();
        let first = db.truncate_table_in(&mut transaction, "t").unwrap();
        insert(&mut transaction, &first, 0..3).unwrap();
        let new = db.truncate_table_in(&mut transaction, "t").unwrap();
        outdated(count(&mut transaction, &first), "itself has dropped or truncated");
        insert(&mut transaction, &new, 0..5).unwrap();
        write_others(&db, &mut transaction).unwrap();
        assert_eq!((rows(&db, "t"), count(&mut transaction, &new).unwrap()), (30, 5));
        commit(transaction);
        assert_eq!(count(&mut before, &old).unwrap(), 30);
        assert_eq!(count_in(&db, &mut before, "t"), 30);
        outdated(count(&mut begin(&db), &old), "was dropped");
        insert(&mut begin(&db), &new, 5..6).unwrap();
        assert_eq!(["t", "memory", "disk"].map(|name| rows(&db, name)), [5, 20, 20]);
        drop((before, old, first, new));
        wait_for_trees(&path, if home == Engine::Disk { 6 } else { 3 });
        drop(db);
        let db = open(&path, log);
        assert_eq!(["t", "memory", "disk"].map(|name| rows(&db, name)), [5, 20, 20]);
        drop(db);
        good(&path);
    }
}

#[test]
fn an_index_and_columns_change_with_rows() {
    for (log, home, level) in LOGS
        .into_iter()
        .flat_map(|log| ENGINES.map(|home| (log, home)))
        .flat_map(|(log, home)| LEVELS.map(|level| (log, home, level)))
    {
        let directory = directory();
        let path = directory.path().join("db");
        let db = open(&path, log);
        let old = make(&db, home);
        let (mut before, mut writer) = (begin(&db), begin(&db));
        insert(&mut writer, &old, 60..61).unwrap();
        // Now its snapshot on disk is taken.
        assert_eq!(count(&mut before, &old).unwrap(), 30);
        let mut transaction = db.begin(level).unwrap();
        rejected(db.drop_index_in(&mut transaction, "t", "none"), "there is no index none");
        let narrow = db.drop_index_in(&mut transaction, "t", "once").unwrap();
        assert_eq!(narrow.schema().indexes.len(), 1);
        // By both handles: what the old one writes to the index is of no use.
        insert(&mut transaction, &old, 30..32).unwrap();
        insert(&mut transaction, &narrow, 32..34).unwrap();
        let changes = [ColumnChange::rename("value", "price"), ColumnChange::add("note", ColumnType::Text)];
        let new = db.alter_table_in(&mut transaction, "t", &changes).unwrap();
        let strict = ColumnChange::set_not_null("note");
        rejected(db.alter_table_in(&mut transaction, "t", &[strict]), "can't become not nullable within");
        new.insert(&mut transaction, &[Value::Int(34), Value::Int(1), "new".into()]).unwrap();
        // Others write the table meanwhile.
        db.run(Isolation::Snapshot, |other| insert(other, &old, 50..51)).unwrap();
        let by_others = usize::from(level == Isolation::ReadCommitted);
        if level != Isolation::Serializable {
            // Such a transaction would conflict with them.
            assert_eq!(count(&mut transaction, &new).unwrap(), 35 + by_others);
        }
        commit(transaction);
        outdated(writer.commit(), "");
        assert_eq!(count(&mut before, &old).unwrap(), 30);
        assert_eq!(db.table_in(&before, "t").unwrap().schema().indexes.len(), 2);
        for outdated_one in [&old, &narrow, &new] {
            let error = insert(&mut begin(&db), outdated_one, 70..71).unwrap_err();
            assert!(error.is_outdated() || matches!(error, Error::Constraint(_)), "{error:?}");
        }
        let check = |db: &Database| {
            let table = db.table("t").unwrap();
            assert_eq!((table.schema().indexes.len(), table.schema().columns.len()), (1, 3));
            let mut transaction = begin(db);
            assert_eq!(count(&mut transaction, &table).unwrap(), 36);
            table.verify(&mut transaction).unwrap();
            for (id, note) in [(0, Value::Null), (31, Value::Null), (34, "new".into()), (50, Value::Null)] {
                let row = table.get(&mut transaction, &[Value::Int(id)]).unwrap().unwrap();
                assert_eq!(row.view().get(2).unwrap(), note, "{id}");
            }
            table.insert(&mut transaction, &[Value::Int(90), Value::Null, Value::Null]).unwrap();
            db.table("t").unwrap()
        };
        drop(check(&db));
        drop((before, old, narrow, new));
        wait_for_trees(&path, if home == Engine::Disk { 5 } else { 3 });
        drop(db);
        let db = open(&path, log);
        drop(check(&db));
        // One of each alone.
        db.run(Isolation::Snapshot, |transaction| {
            let table = db.alter_table_in(transaction, "t", &[ColumnChange::drop("note")])?;
            insert(transaction, &table, 40..41)
        })
        .unwrap();
        db.run(Isolation::Snapshot, |transaction| {
            let table = db.drop_index_in(transaction, "t", "by_value")?;
            insert(transaction, &table, 41..42)
        })
        .unwrap();
        assert_eq!(rows(&db, "t"), 38);
        drop(db);
        good(&path);
        let db = open(&path, log);
        assert_eq!((rows(&db, "t"), db.table("t").unwrap().schema().columns.len()), (38, 2));
    }
}
