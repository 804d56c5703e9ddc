//! Tables that are dropped, renamed, truncated and altered within a transaction, together with rows: all of it, or
//! nothing.

#![expect(clippy::unwrap_used, reason = "a test ends where something is not as it should be")]

mod copy;
mod outcome;
mod scratch;

use copy::copy_directory;
use gemel::row::{ColumnChange, ColumnType, IndexDef, RowRange, Schema, Table, Value};
use gemel::{
    Conflict, Database, Direction, Durability, Engine, Error, Isolation, LogMode, Options, Result,
    Transaction, Wait,
};
use outcome::{conflict, outdated, rejected, too_old};
use scratch::directory;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

const ENGINES: [Engine; 2] = [Engine::Memory, Engine::Disk];
const LOGS: [LogMode; 2] = [LogMode::Shared, LogMode::PerEngine];
const LEVELS: [Isolation; 3] = [Isolation::ReadCommitted, Isolation::Snapshot, Isolation::Serializable];
const SNAPSHOTS: [Isolation; 2] = [Isolation::Snapshot, Isolation::Serializable];

fn open(path: &Path, log: LogMode) -> Database {
    Database::open(path, Options { log, ..Options::default() }).unwrap()
}

fn schema() -> Schema {
    let schema = Schema::new().column("id", ColumnType::I32).nullable("value", ColumnType::I64);
    schema.primary_key(["id"]).index("by_value", ["value"]).unique_index("once", ["value", "id"])
}

/// The schema after the copy: its key has another type.
fn wider() -> Schema {
    let schema = Schema::new().column("id", ColumnType::I64).nullable("value", ColumnType::I64);
    schema.primary_key(["id"]).index("by_value", ["value"])
}

fn insert(transaction: &mut Transaction, table: &Table, ids: std::ops::Range<i64>) -> Result<()> {
    ids.into_iter().try_for_each(|id| table.insert(transaction, &[Value::Int(id), Value::Int(id % 7)]))
}

fn count(transaction: &mut Transaction, table: &Table) -> Result<usize> {
    let mut rows = 0;
    table.scan(transaction, &RowRange::all(), Direction::Forward, |_| {
        rows += 1;
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(rows)
}

fn rows(db: &Database, name: &str) -> usize {
    count(&mut db.begin(Isolation::Snapshot).unwrap(), &db.table(name).unwrap()).unwrap()
}

/// Returns the number of rows of the table that has this name in the catalog of a transaction.
fn count_in(db: &Database, transaction: &mut Transaction, name: &str) -> usize {
    let table = db.table_in(transaction, name).unwrap();
    count(transaction, &table).unwrap()
}

fn names(db: &Database) -> Vec<String> {
    let mut names: Vec<String> = db.tables().into_iter().map(|(name, _)| name).collect();
    names.sort();
    names
}

fn names_in(db: &Database, transaction: &Transaction) -> Vec<String> {
    let mut names: Vec<String> =
        db.tables_in(transaction).unwrap().into_iter().map(|(name, _)| name).collect();
    names.sort();
    names
}

fn trees(path: &Path) -> usize {
    std::fs::read_dir(path.join("disk")).unwrap().count()
}

/// Waits until so many trees are there: the last transaction that needs the others has ended.
fn wait_for_trees(path: &Path, number: usize) {
    while trees(path) != number {
        std::thread::yield_now();
    }
}

fn good(path: &Path) {
    let report = gemel::check(path).unwrap();
    assert!(report.is_good(), "{report}");
}

fn commit(transaction: Transaction) {
    transaction.commit().unwrap().wait().unwrap();
}

fn begin(db: &Database) -> Transaction {
    db.begin(Isolation::Snapshot).unwrap()
}

/// Makes a table "t" with the rows 0..30, and a table in each engine, named after it.
fn make(db: &Database, home: Engine) -> Table {
    for engine in ENGINES {
        db.create_table(engine.name(), engine, schema()).unwrap();
    }
    let table = db.create_table("t", home, schema()).unwrap();
    db.run(Isolation::Snapshot, |transaction| insert(transaction, &table, 0..30)).unwrap();
    table
}

/// Writes 20 rows to each of the tables that are named after the engines.
fn write_others(db: &Database, transaction: &mut Transaction) -> Result<()> {
    ENGINES
        .iter()
        .try_for_each(|engine| insert(transaction, &db.table_in(transaction, engine.name())?, 0..20))
}

/// Copies the rows of "t" into a new table of another schema, which then has the name.
fn alter_by_copy(db: &Database, transaction: &mut Transaction, home: Engine) -> Result<Table> {
    let old = db.table_in(transaction, "t")?;
    let new = db.create_table_in(transaction, "t (copy)", home, wider())?;
    let mut rows = old.cursor(transaction, &RowRange::all())?;
    while let Some(row) = rows.next(transaction)? {
        new.insert(transaction, &row.values()?)?;
    }
    db.drop_table_in(transaction, "t")?;
    db.rename_table_in(transaction, "t (copy)", "t")
}

fn is_wider(table: &Table) -> bool {
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
fn a_drop_conflicts_with_writes_of_the_table_since_it_was_read() {
    for (home, level) in ENGINES.into_iter().flat_map(|home| LEVELS.map(|level| (home, level))) {
        let directory = directory();
        let db = open(directory.path(), LogMode::Shared);
        let old = make(&db, home);
        let write = |id| db.run(Isolation::Snapshot, |other| insert(other, &old, id..id + 1)).unwrap();
        for is_truncated in [false, true] {
            let mut transaction = db.begin(level).unwrap();
            let before = count(&mut transaction, &old).unwrap() as i64;
            write(before);
            if is_truncated {
                db.truncate_table_in(&mut transaction, "t").unwrap();
            } else {
                db.drop_table_in(&mut transaction, "t").unwrap();
            }
            conflict(transaction.commit(), Conflict::Read);
            assert_eq!(rows(&db, "t") as i64, before + 1);
        }
        // After the call.
        let mut transaction = db.begin(level).unwrap();
        db.drop_table_in(&mut transaction, "t").unwrap();
        write(100);
        conflict(transaction.commit(), Conflict::Read);
        // A change of an existing row, and its deletion.
        for row in [100, 101] {
            let mut transaction = db.begin(level).unwrap();
            db.drop_table_in(&mut transaction, "t").unwrap();
            db.run(Isolation::Snapshot, |other| {
                let key = [Value::Int(100)];
                if row == 100 {
                    old.set(other, &key, &[(1, Value::Null)]).map(drop)
                } else {
                    old.delete(other, &key).map(drop)
                }
            })
            .unwrap();
            conflict(transaction.commit(), Conflict::Read);
        }
        // The lock of a row, although it is not there.
        let mut holder = begin(&db);
        old.get_locked(&mut holder, &[Value::Int(999)], Wait::No).unwrap();
        let mut transaction = db.begin(level).unwrap();
        db.drop_table_in(&mut transaction, "t").unwrap();
        conflict(transaction.commit(), Conflict::Locked);
        drop(holder);
        // Writes that are rolled back do not matter, nor do reads, nor own writes and locks.
        let mut transaction = db.begin(level).unwrap();
        insert(&mut transaction, &old, 700..710).unwrap();
        old.get_locked(&mut transaction, &[Value::Int(3)], Wait::No).unwrap();
        db.drop_table_in(&mut transaction, "t").unwrap();
        insert(&mut begin(&db), &old, 800..801).unwrap();
        count(&mut db.begin(Isolation::Serializable).unwrap(), &old).unwrap();
        // These two come too late.
        let (mut writer, mut reader) = (begin(&db), db.begin(Isolation::Serializable).unwrap());
        insert(&mut writer, &old, 900..901).unwrap();
        count(&mut reader, &old).unwrap();
        insert(&mut reader, &db.table(home.name()).unwrap(), 0..1).unwrap();
        commit(transaction);
        outdated(writer.commit(), "dropped or truncated");
        outdated(reader.commit(), "dropped or truncated");
        assert_eq!(names(&db), ["disk", "memory"]);
    }
}

#[test]
fn names_are_exchanged_and_tables_replaced_at_once() {
    for (log, home) in LOGS.into_iter().flat_map(|log| ENGINES.map(|home| (log, home))) {
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
    for (log, home) in LOGS.into_iter().flat_map(|log| ENGINES.map(|home| (log, home))) {
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
fn a_table_that_a_transaction_changes_is_taken_for_others_until_its_end() {
    for home in ENGINES {
        let directory = directory();
        let db = open(directory.path(), LogMode::Shared);
        let old = make(&db, home);
        let taken = |db: &Database| {
            conflict(db.drop_table("t"), Conflict::Locked);
            conflict(db.truncate_table("t"), Conflict::Locked);
            conflict(db.drop_index("t", "once"), Conflict::Locked);
            conflict(db.rename_table("t", "other"), Conflict::Locked);
            conflict(db.alter_table("t", &[ColumnChange::drop("value")]), Conflict::Locked);
            conflict(db.add_index("t", IndexDef::new("third", ["value"])), Conflict::Locked);
            let other = if home == Engine::Memory { Engine::Disk } else { Engine::Memory };
            conflict(db.move_table("t", other), Conflict::Locked);
            let mut second = begin(db);
            conflict(db.drop_table_in(&mut second, "t"), Conflict::Locked);
            conflict(db.rename_table_in(&mut begin(db), "t", "other"), Conflict::Locked);
            conflict(db.truncate_table_in(&mut begin(db), "t"), Conflict::Locked);
        };
        for change in [
            |db: &Database, one: &mut Transaction| db.drop_table_in(one, "t"),
            |db: &Database, one: &mut Transaction| db.rename_table_in(one, "t", "new").map(drop),
            |db: &Database, one: &mut Transaction| db.truncate_table_in(one, "t").map(drop),
            |db: &Database, one: &mut Transaction| db.drop_index_in(one, "t", "once").map(drop),
            |db: &Database, one: &mut Transaction| {
                db.alter_table_in(one, "t", &[ColumnChange::rename("value", "price")]).map(drop)
            },
        ] {
            let mut transaction = begin(&db);
            change(&db, &mut transaction).unwrap();
            taken(&db);
            // Its rows are not.
            db.run(Isolation::Serializable, |other| {
                old.set(other, &[Value::Int(1)], &[(1, Value::Null)]).map(|set| assert!(set))
            })
            .unwrap();
            drop(transaction);
        }
        // Its new name is taken too, with those of its indexes.
        let mut transaction = begin(&db);
        db.rename_table_in(&mut transaction, "t", "new").unwrap();
        for name in ["new", "new.once"] {
            conflict(db.keyspace(name, home), Conflict::Locked);
            conflict(db.create_table(name, home, schema()), Conflict::Locked);
            conflict(db.create_table_in(&mut begin(&db), name, home, schema()), Conflict::Locked);
            conflict(db.rename_table("disk", name), Conflict::Locked);
        }
        rejected(db.keyspace("t.once", home), "part of table \"t\"");
        drop(transaction);
        // What was changed since the transaction began is not changed by it.
        let (mut old, mut newest) = (begin(&db), db.begin(Isolation::ReadCommitted).unwrap());
        db.rename_table("t", "new").unwrap();
        too_old(db.drop_table_in(&mut old, "t"), "was changed after the transaction began");
        too_old(db.drop_table_in(&mut begin_before(&db), "new"), "was changed after the transaction began");
        db.drop_table_in(&mut newest, "new").unwrap();
        commit(newest);
        assert_eq!(names(&db), ["disk", "memory"]);
        // Prepared transactions.
        let mut user = begin(&db);
        insert(&mut user, &db.table(home.name()).unwrap(), 0..1).unwrap();
        user.prepare("p").unwrap().wait().unwrap();
        let name = home.name();
        let mut transaction = begin(&db);
        let says = "the prepared transaction \"p\" that used it is undecided";
        rejected(db.drop_table_in(&mut transaction, name), says);
        rejected(db.truncate_table_in(&mut transaction, name), says);
        rejected(db.drop_index_in(&mut transaction, name, "once"), says);
        db.rename_table_in(&mut transaction, name, "renamed").unwrap();
        rejected(transaction.prepare("q"), "a transaction that has changed the catalog can't prepare");
        let mut transaction = begin(&db);
        db.roll_back_prepared("p").unwrap().wait().unwrap();
        db.drop_table_in(&mut transaction, name).unwrap();
        let mut user = db.begin(Isolation::Serializable).unwrap();
        count(&mut user, &db.table(name).unwrap()).unwrap();
        user.prepare("p").unwrap().wait().unwrap();
        rejected(transaction.commit(), says);
        db.commit_prepared("p").unwrap().wait().unwrap();
        db.run(Isolation::Snapshot, |transaction| db.drop_table_in(transaction, name)).unwrap();
        assert_eq!(names(&db).len(), 1);
        // Misuse.
        let mut reader = db.begin_read_only().unwrap();
        rejected(db.drop_table_in(&mut reader, name), "the transaction is read-only");
        let elsewhere = self::directory();
        let other = open(elsewhere.path(), LogMode::Shared);
        rejected(db.drop_table_in(&mut begin(&other), name), "one of another database");
    }
}

/// Begins a transaction that does not have the last change of the catalog.
fn begin_before(db: &Database) -> Transaction {
    let transaction = begin(db);
    db.rename_table("new", "newer").unwrap();
    db.rename_table("newer", "new").unwrap();
    transaction
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

/// Threads add rows while the table is copied and replaced again and again. No row that was acknowledged is lost.
#[test]
fn writers_race_with_copies_and_no_row_is_lost() {
    const COPIES: usize = 25;
    for (log, home) in LOGS.into_iter().flat_map(|log| ENGINES.map(|home| (log, home))) {
        let directory = directory();
        let path = directory.path().join("db");
        let db = Database::open(&path, Options { log, durability: Durability::None, ..Options::default() });
        let db = db.unwrap();
        make(&db, home);
        let is_done = AtomicBool::new(false);
        let written: usize = std::thread::scope(|scope| {
            let threads: Vec<_> = LEVELS
                .into_iter()
                .enumerate()
                .map(|(thread, level)| {
                    let (db, is_done) = (&db, &is_done);
                    scope.spawn(move || {
                        let mut rows = 0;
                        while !is_done.load(Ordering::SeqCst) {
                            let id = 1000 + rows * 3 + thread as i64;
                            let write = || {
                                let mut transaction = db.begin(level)?;
                                let table = db.table_in(&transaction, "t")?;
                                insert(&mut transaction, &table, id..id + 1)?;
                                transaction.commit().map(drop)
                            };
                            match write() {
                                Ok(()) => rows += 1,
                                Err(error) => {
                                    assert!(error.is_retryable() || error.is_outdated(), "{error}");
                                }
                            }
                            // The copies must get their turn.
                            std::thread::sleep(std::time::Duration::from_millis(1 << (rows % 5)));
                        }
                        rows as usize
                    })
                })
                .collect();
            scope.spawn(|| {
                while !is_done.load(Ordering::SeqCst) {
                    db.checkpoint().unwrap();
                }
            });
            for number in 0..COPIES {
                let level = SNAPSHOTS[number % 2];
                loop {
                    let mut transaction = db.begin(level).unwrap();
                    let done = alter_by_copy(&db, &mut transaction, home).and_then(|_| transaction.commit());
                    match done {
                        Ok(_) => break,
                        Err(error) => assert!(error.is_retryable(), "{error}"),
                    }
                }
            }
            is_done.store(true, Ordering::SeqCst);
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!(rows(&db, "t"), 30 + written);
        db.table("t").unwrap().verify(&mut begin(&db)).unwrap();
        drop(db);
        good(&path);
        assert_eq!(rows(&open(&path, log), "t"), 30 + written);
    }
}

#[test]
fn backups_and_checkpoints_have_the_table_before_or_after_its_copy() {
    for (log, home) in LOGS.into_iter().flat_map(|log| ENGINES.map(|home| (log, home))) {
        let directory = directory();
        let [path, early, late] = ["db", "early", "late"].map(|name| directory.path().join(name));
        let db = open(&path, log);
        make(&db, home);
        let mut transaction = begin(&db);
        write_others(&db, &mut transaction).unwrap();
        alter_by_copy(&db, &mut transaction, home).unwrap();
        db.checkpoint().unwrap();
        db.backup(&early).unwrap();
        commit(transaction);
        db.backup(&late).unwrap();
        for (backup, is_new) in [(&early, false), (&late, true)] {
            good(backup);
            let copy = open(backup, log);
            assert_eq!((names(&copy).len(), rows(&copy, "t")), (3, 30));
            assert_eq!(is_wider(&copy.table("t").unwrap()), is_new);
            assert_eq!(rows(&copy, "disk"), if is_new { 20 } else { 0 });
            drop(copy);
            // One that was only opened is still a backup.
            db.backup(backup).unwrap();
            assert!(is_wider(&open(backup, log).table("t").unwrap()));
        }
        db.checkpoint().unwrap();
        drop(db);
        good(&path);
    }
}

const DIRECTORY: &str = "GEMEL_DDL_DIRECTORY";
const ACTION: &str = "GEMEL_DDL_ACTION";

/// The place where a process is killed, what it does, and true if the changes must be there afterwards, false if they
/// must not, none if they may be.
const DEATHS: &[(&str, &str, Option<bool>)] = &[
    ("ddl.before_manifest", "commit", Some(false)),
    ("rename+0", "commit", Some(false)),
    ("ddl.after_manifest", "commit", Some(false)),
    ("ddl.leaving", "commit", Some(false)),
    ("commit.collected", "commit", Some(false)),
    ("commit.locked", "commit", Some(false)),
    ("commit.validated_early", "commit", Some(false)),
    ("commit.hidden", "commit", Some(false)),
    ("commit.after_append", "commit", None),
    ("ddl.publishing", "commit", None),
    ("ddl.published", "commit", None),
    ("commit.between_publications", "commit", None),
    ("log.before_write", "commit", None),
    ("log.after_write", "commit", None),
    ("log.before_sync", "commit", None),
    ("log.after_sync", "commit", None),
    // After the commit is durable.
    ("catalog.freeing", "wait", Some(true)),
    ("rename+1", "wait", Some(true)),
    ("disk.before_remove", "wait", Some(true)),
    ("catalog.before_manifest", "alter", Some(true)),
    ("catalog.after_manifest", "alter", Some(true)),
    ("checkpoint.before_rename", "checkpoint", Some(true)),
    ("checkpoint.after_rename", "checkpoint", Some(true)),
    ("checkpoint.before_manifest", "checkpoint", Some(true)),
    ("checkpoint.after_manifest", "checkpoint", Some(true)),
    ("ddl.withdrawn", "rollback", Some(false)),
    ("ddl.withdrawn", "conflict", Some(false)),
];

/// The process that is killed. As a test by itself it does nothing.
#[test]
fn the_process_that_dies() {
    let (Ok(path), Ok(action)) = (std::env::var(DIRECTORY), std::env::var(ACTION)) else { return };
    let words: Vec<&str> = action.split(' ').collect();
    let log = if words.contains(&"shared") { LogMode::Shared } else { LogMode::PerEngine };
    let home = if words.contains(&"memory") { Engine::Memory } else { Engine::Disk };
    let db = open(Path::new(&path), log);
    if words.contains(&"open") {
        return;
    }
    let mut transaction = db.begin(Isolation::Serializable).unwrap();
    write_others(&db, &mut transaction).unwrap();
    alter_by_copy(&db, &mut transaction, home).unwrap();
    db.rename_table_in(&mut transaction, "memory", "renamed").unwrap();
    db.truncate_table_in(&mut transaction, "old").unwrap();
    db.drop_index_in(&mut transaction, "disk", "once").unwrap();
    match words[0] {
        "rollback" => return drop(transaction),
        "conflict" => {
            let other = db.table("disk").unwrap();
            db.run(Isolation::Snapshot, |one| insert(one, &other, 0..1)).unwrap();
            return drop(transaction.commit());
        }
        _ => commit(transaction),
    }
    match words[0] {
        "alter" => drop(db.alter_table("t", &[ColumnChange::add("more", ColumnType::Text)]).unwrap()),
        "checkpoint" => db.checkpoint().unwrap(),
        "wait" => std::thread::sleep(std::time::Duration::from_secs(60)),
        _ => {}
    }
}

fn die(path: &Path, action: &str, place: &str) {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "the_process_that_dies"]).env(DIRECTORY, path).env(ACTION, action);
    let died = child.env("GEMEL_FAIL_POINT", place).output().unwrap();
    assert_eq!(died.status.code(), None, "{place} {action}: {}", String::from_utf8_lossy(&died.stderr));
}

#[test]
fn all_changes_and_rows_are_there_or_none_wherever_the_process_dies() {
    let mut decided = [0; 2];
    for (place, action, expected) in DEATHS {
        for (log, home) in LOGS.into_iter().flat_map(|log| ENGINES.map(|home| (log, home))) {
            // The process has opened the database, and each new tree has a file of its own.
            let first = if home == Engine::Memory { 2 } else { 2 + 2 + 3 };
            let pass = place.strip_prefix("rename+").map(|after| first + after.parse::<u32>().unwrap());
            let place = pass.map_or((*place).to_owned(), |pass| format!("files.before_rename:{pass}"));
            let directory = directory();
            let path = directory.path().join("db");
            let db = open(&path, log);
            make(&db, home);
            let old = db.create_table("old", home, schema()).unwrap();
            db.run(Isolation::Snapshot, |transaction| insert(transaction, &old, 0..10)).unwrap();
            drop((old, db));
            let words =
                format!("{} {}", if log == LogMode::Shared { "shared" } else { "per engine" }, home.name());
            die(&path, &format!("{action} {words}"), &place);
            // If opening has to decide, it dies too.
            let manifest = std::fs::read_to_string(path.join("gemel.manifest")).unwrap();
            let decides = manifest.contains("committing");
            if decides {
                for place in ["open.before_manifest", "files.before_rename", "open.after_manifest"] {
                    die(&path, &format!("open {words}"), place);
                }
            }
            let db = open(&path, log);
            let context = format!("{place} {action} {words}");
            let is_new = is_wider(&db.table("t").unwrap());
            assert!(expected.is_none_or(|expected| expected == is_new), "{context}");
            decided[usize::from(is_new)] += u32::from(decides);
            let conflicting = usize::from(*action == "conflict");
            assert_eq!(rows(&db, "t"), 30, "{context}");
            assert_eq!(rows(&db, "old"), if is_new { 0 } else { 10 }, "{context}");
            assert_eq!(rows(&db, "disk"), if is_new { 20 } else { conflicting }, "{context}");
            let renamed = if is_new { "renamed" } else { "memory" };
            assert_eq!(
                names(&db),
                ["disk", if is_new { "old" } else { "memory" }, if is_new { "renamed" } else { "old" }, "t"]
            );
            assert_eq!(rows(&db, renamed), if is_new { 20 } else { 0 }, "{context}");
            let indexes = |name: &str| db.table(name).unwrap().schema().indexes.len();
            assert_eq!((indexes("t"), indexes("disk")), if is_new { (1, 1) } else { (2, 2) }, "{context}");
            let of_home = match (home, is_new) {
                (Engine::Memory, _) => 0,
                (Engine::Disk, true) => 2 + 3,
                (Engine::Disk, false) => 3 + 3,
            };
            assert_eq!(trees(&path), of_home + if is_new { 2 } else { 3 }, "{context}");
            // Everything goes on.
            db.run(Isolation::Snapshot, |transaction| {
                db.drop_table_in(transaction, "old")?;
                db.rename_table_in(transaction, "t", "old").map(drop)
            })
            .unwrap();
            assert_eq!(rows(&db, "old"), 30, "{context}");
            drop(db);
            good(&path);
        }
    }
    assert!(decided[0] >= 20 && decided[1] >= 6, "{decided:?} are few");
}
