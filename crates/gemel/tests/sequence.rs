//! Sequences of numbers, and entries of a layer's own: beside transactions, over openings, in backups and dumps.

#![expect(clippy::unwrap_used, reason = "a test ends where something is not as it should be")]

use gemel::row::{ColumnType, Schema, Value};
use gemel::{Database, Durability, Engine, Error, Isolation, Options, Sequence};
use std::path::Path;
use std::process::Command;

fn open(path: &Path) -> Database {
    Database::open(path, Options { durability: Durability::None, ..Options::default() }).unwrap()
}

fn take(sequence: &Sequence, count: usize) -> Vec<u64> {
    (0..count).map(|_| sequence.next().unwrap()).collect()
}

#[test]
fn threads_get_each_number_once_and_each_handle_gets_them_in_order() {
    for engine in [Engine::Memory, Engine::Disk] {
        let directory = tempfile::tempdir().unwrap();
        let db = open(&directory.path().join("db"));
        let own = db.keyspace("own", engine).unwrap();
        let shared = db.sequence(&own, "orders", 7).unwrap();
        let mut all: Vec<u64> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8)
                .map(|thread| {
                    let (db, own, shared) = (&db, &own, &shared);
                    scope.spawn(move || {
                        // Half of the threads share a handle, and each of the others has one.
                        let sequence = if thread % 2 == 0 {
                            shared.clone()
                        } else {
                            db.sequence(own, "orders", 3).unwrap()
                        };
                        let taken = take(&sequence, 500);
                        assert!(taken.is_sorted_by(|one, next| one < next));
                        taken
                    })
                })
                .collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        });
        all.sort_unstable();
        all.dedup();
        assert_eq!((all.len(), all[0]), (4000, 1));
        // Blocks leave gaps only where a handle was dropped.
        assert!(all[3999] <= 4000 + 4 * 2 + 7, "{}", all[3999]);
    }
}

#[test]
fn numbers_belong_to_no_transaction() {
    let directory = tempfile::tempdir().unwrap();
    let db = open(&directory.path().join("db"));
    let own = db.keyspace("own", Engine::Memory).unwrap();
    let schema = Schema::new().column("id", ColumnType::I64).primary_key(["id"]);
    let table = db.create_table("t", Engine::Memory, schema).unwrap();
    let sequence = db.sequence(&own, "t.id", 2).unwrap();
    let mut open: Vec<_> = (0..4).map(|_| db.begin(Isolation::Serializable).unwrap()).collect();
    for transaction in &mut open {
        let id = i64::try_from(sequence.next().unwrap()).unwrap();
        table.insert(transaction, &[Value::Int(id)]).unwrap();
    }
    open.pop().unwrap().rollback();
    for transaction in open {
        transaction.commit().unwrap().wait().unwrap();
    }
    assert_eq!(take(&sequence, 3), [5, 6, 7]);
}

#[test]
fn a_sequence_goes_on_over_openings_and_in_a_backup_and_a_wrong_one_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    let db = open(&path);
    let own = db.keyspace("own", Engine::Memory).unwrap();
    let sequence = db.sequence(&own, "s", 10).unwrap();
    assert_eq!(take(&sequence, 12), (1..=12).collect::<Vec<_>>());
    let backup = directory.path().join("backup");
    db.backup(&backup).unwrap();
    assert_eq!(take(&sequence, 9), (13..=21).collect::<Vec<_>>());
    drop(sequence);
    db.close().unwrap();
    for (path, next) in [(&path, 31), (&backup, 21)] {
        let db = open(path);
        let own = db.keyspace("own", Engine::Memory).unwrap();
        assert_eq!(db.sequence(&own, "s", 1).unwrap().next().unwrap(), next);
    }

    let db = open(&path);
    let own = db.keyspace("own", Engine::Memory).unwrap();
    let put = |name: &[u8], value: &[u8]| {
        let mut transaction = db.begin(Isolation::Snapshot).unwrap();
        transaction.put(&own, name, value).unwrap();
        transaction.commit().unwrap().wait().unwrap();
    };
    put(b"short", b"text");
    put(b"zero", &[0; 8]);
    put(b"end", &(u64::MAX - 3).to_be_bytes());
    for name in ["short", "zero"] {
        let error = db.sequence(&own, name, 1).unwrap().next().unwrap_err();
        assert!(matches!(&error, Error::Usage(text) if text.contains("is no sequence")), "{error:?}");
    }
    assert!(matches!(db.sequence(&own, "end", 4).unwrap().next(), Err(Error::Capacity(_))));
    assert_eq!(take(&db.sequence(&own, "end", 3).unwrap(), 3), [u64::MAX - 3, u64::MAX - 2, u64::MAX - 1]);
    assert!(matches!(db.sequence(&own, "end", 1).unwrap().next(), Err(Error::Capacity(_))));
    assert!(matches!(db.sequence(&own, "s", 0), Err(Error::Usage(_))));
    assert!(matches!(db.sequence(&own, "", 1), Err(Error::Usage(_))));
    let late = db.sequence(&own, "s", 1).unwrap();
    db.drop_keyspace("own").unwrap();
    assert!(late.next().unwrap_err().is_outdated());
}

/// A keyspace is the place for a layer's own entries: they change together with rows, and the tools know them.
#[test]
fn entries_of_a_layer_change_together_with_rows_and_the_command_lists_dumps_and_loads_them() {
    let directory = tempfile::tempdir().unwrap();
    let [path, copy, dump] = ["db", "copy", "dump"].map(|name| directory.path().join(name));
    let db = open(&path);
    let own = db.open_or_create_keyspace("sql.catalog", Engine::Memory).unwrap();
    let schema = Schema::new().column("id", ColumnType::I64).primary_key(["id"]);
    let table = db.create_table("t", Engine::Disk, schema).unwrap();
    let change = |id, view: &str| {
        let mut transaction = db.begin(Isolation::Snapshot).unwrap();
        table.insert(&mut transaction, &[Value::Int(id)]).unwrap();
        transaction.put(&own, b"view v", view.as_bytes()).unwrap();
        transaction
    };
    change(1, "select 1").commit().unwrap().wait().unwrap();
    change(2, "select 2").rollback();
    db.sequence(&own, "sequence s", 5).unwrap().next().unwrap();
    db.close().unwrap();

    let gemel = |arguments: &[&std::ffi::OsStr]| {
        let output = Command::new(env!("CARGO_BIN_EXE_gemel")).args(arguments).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        output.stdout
    };
    let listed = String::from_utf8(gemel(&["stat".as_ref(), path.as_ref()])).unwrap();
    assert!(listed.contains("sql.catalog"), "{listed}");
    std::fs::write(&dump, gemel(&["dump".as_ref(), path.as_ref()])).unwrap();
    gemel(&["load".as_ref(), copy.as_ref(), dump.as_ref()]);
    let entries = |path: &Path| gemel(&["scan".as_ref(), path.as_ref(), "sql.catalog".as_ref()]);
    assert_eq!(entries(&path), entries(&copy));
    let db = open(&copy);
    let own = db.open_or_create_keyspace("sql.catalog", Engine::Memory).unwrap();
    assert_eq!(db.begin(Isolation::Snapshot).unwrap().get(&own, b"view v").unwrap().unwrap(), b"select 1");
    assert_eq!(db.sequence(&own, "sequence s", 5).unwrap().next().unwrap(), 6);
}
