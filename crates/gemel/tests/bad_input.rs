//! Wrong use by callers, full memory and full disks: each is rejected in one line, and nothing else suffers.

#![expect(clippy::unwrap_used, reason = "a test ends where something is not as it should be")]

mod place;
mod wait;

use gemel::row::{ColumnType, RowRange, Schema, Value};
use gemel::{Database, Direction, Engine, Error, Isolation, MAX_KEY_BYTES, MAX_VALUE_BYTES, Options};
use place::{CHILD, assert_words, child, open, options, place, put, usage};
use std::ops::{Bound, ControlFlow};
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use wait::wait_until;

/// Waits until `so` is true: garbage is collected in the background.
#[track_caller]
fn eventually(what: &str, so: impl Fn() -> bool) {
    wait_until(so, |so| *so, |_| format!("it never comes that {what}"));
}

fn person() -> Schema {
    Schema::new().column("id", ColumnType::I32).column("name", ColumnType::Text).primary_key(["id"])
}

#[test]
fn a_table_is_not_made_again_with_another_schema_or_in_the_other_engine() {
    let place = place();
    let db = open(&place);
    let table = db.create_table("person", Engine::Memory, person().index("by_name", ["name"])).unwrap();
    assert_words(&usage(db.create_table("person", Engine::Memory, person())), &["another schema"]);
    let other = db.create_table("person", Engine::Disk, person().index("by_name", ["name"]));
    assert_words(&usage(other), &["in the memory engine, not in the disk engine"]);
    assert_words(&usage(db.table("nobody")), &["no table \"nobody\""]);
    assert_words(&usage(db.create_table("", Engine::Disk, person())), &["is not a valid name"]);
    assert_words(&usage(db.create_table("x", Engine::Disk, person().primary_key(["y"]))), &["y"]);
    // The rejected calls have left nothing behind.
    assert_eq!(db.tables(), [("person".to_string(), Engine::Memory)]);
    assert_eq!(db.keyspaces().len(), 2);
    // The same call again is no error.
    let same = db.create_table("person", Engine::Memory, person().index("by_name", ["name"])).unwrap();
    assert_eq!(same.schema(), table.schema());
}

#[test]
fn a_keyspace_is_not_opened_in_the_other_engine_nor_behind_a_tables_back() {
    let place = place();
    let db = open(&place);
    db.keyspace("k", Engine::Disk).unwrap();
    assert_words(&usage(db.keyspace("k", Engine::Memory)), &["in the disk engine, not in the memory"]);
    assert_words(&usage(db.keyspace(&"n".repeat(201), Engine::Memory)), &["1 to 200 bytes"]);
    assert_words(&usage(db.create_table("k", Engine::Disk, person())), &["is a keyspace already"]);
    db.create_table("person", Engine::Memory, person().index("by_name", ["name"])).unwrap();
    for name in ["person", "person.by_name"] {
        assert_words(&usage(db.keyspace(name, Engine::Memory)), &["part of table \"person\""]);
    }
}

#[test]
fn keys_and_values_have_limits_and_bounds_an_order() {
    let place = place();
    let db = open(&place);
    for engine in [Engine::Memory, Engine::Disk] {
        let keyspace = db.keyspace(engine.name(), engine).unwrap();
        let mut transaction = db.begin(Isolation::Serializable).unwrap();
        assert_words(&usage(transaction.put(&keyspace, b"", b"v")), &["at least one byte"]);
        assert_words(&usage(transaction.get(&keyspace, b"")), &["at least one byte"]);
        assert_words(&usage(transaction.delete(&keyspace, b"")), &["at least one byte"]);
        let (longest, longer) = (vec![255; MAX_KEY_BYTES], vec![255; MAX_KEY_BYTES + 1]);
        transaction.put(&keyspace, &longest, b"v").unwrap();
        let largest = vec![7; MAX_VALUE_BYTES + 1];
        transaction.put(&keyspace, b"large", &largest[1..]).unwrap();
        for error in [
            transaction.put(&keyspace, &longer, b"v").unwrap_err(),
            transaction.get(&keyspace, &longer).unwrap_err(),
            transaction.put(&keyspace, b"larger", &largest).unwrap_err(),
        ] {
            assert!(matches!(error, Error::Capacity(_)), "{error:?}");
            assert_words(&error.to_string(), &["at most"]);
        }
        let mut scan = |lower: &[u8], upper: &[u8]| {
            let mut keys = 0;
            let (lower, upper) = (Bound::Included(lower), Bound::Excluded(upper));
            let count = |_: &[u8], _: &[u8]| {
                keys += 1;
                ControlFlow::Continue(())
            };
            transaction.scan(&keyspace, lower, upper, Direction::Forward, count).map(|()| keys)
        };
        assert_eq!(scan(b"b", b"a").unwrap(), 0, "a crossed range is empty");
        assert_eq!(scan(b"a", b"a").unwrap(), 0);
        assert_eq!(scan(b"a", b"z").unwrap(), 1);
        // None of the errors has spoilt the transaction.
        transaction.commit().unwrap().wait().unwrap();
        let mut reader = db.begin(Isolation::Snapshot).unwrap();
        assert_eq!(reader.get(&keyspace, &longest).unwrap().unwrap(), b"v");
        assert_eq!(reader.read(&keyspace, b"large", <[u8]>::len).unwrap(), Some(MAX_VALUE_BYTES));
        assert_eq!(reader.get(&keyspace, b"larger").unwrap(), None);
    }
}

#[test]
fn rows_that_do_not_fit_their_table_are_rejected_and_the_transaction_goes_on() {
    let place = place();
    let db = open(&place);
    let table = db.create_table("person", Engine::Disk, person().unique_index("by_name", ["name"])).unwrap();
    let mut transaction = db.begin(Isolation::Snapshot).unwrap();
    table.insert(&mut transaction, &[Value::Int(1), "Ada".into()]).unwrap();
    for values in [
        vec![Value::Int(1), "Bob".into()],
        vec![Value::Int(2), "Ada".into()],
        vec![Value::Int(2)],
        vec![Value::Int(1 << 40), "Bob".into()],
        vec![Value::Int(2), Value::Null],
        vec!["2".into(), "Bob".into()],
    ] {
        let error = table.insert(&mut transaction, &values).unwrap_err();
        assert!(matches!(error, Error::Constraint(_)), "{values:?}: {error:?}");
    }
    let (high, low) = ([Value::Int(9)], [Value::Int(1)]);
    let crossed = RowRange::new(Bound::Included(&high), Bound::Included(&low));
    let scan = table.scan(&mut transaction, &crossed, Direction::Forward, |_| Ok(ControlFlow::Continue(())));
    scan.unwrap();
    transaction.commit().unwrap().wait().unwrap();
    table.verify(&mut db.begin(Isolation::Snapshot).unwrap()).unwrap();
}

#[test]
fn a_lost_commit_leaves_nothing_and_is_counted_by_its_reason() {
    let place = place();
    let db = open(&place);
    let (hot, cold) = (db.keyspace("h", Engine::Memory).unwrap(), db.keyspace("c", Engine::Disk).unwrap());
    let mut loser = db.begin(Isolation::Snapshot).unwrap();
    loser.put(&hot, b"k", b"lost").unwrap();
    loser.put(&cold, b"k", b"lost").unwrap();
    put(&db, &cold, b"k", b"won").unwrap();
    let error = loser.commit().unwrap_err();
    assert!(error.is_retryable(), "{error:?}");
    assert_words(&error.to_string(), &["write conflict", "disk engine", "a key of c", "retry"]);
    let mut reader = db.begin(Isolation::Snapshot).unwrap();
    assert_eq!(reader.get(&hot, b"k").unwrap(), None);
    assert_eq!(reader.get(&cold, b"k").unwrap().unwrap(), b"won");
    assert_eq!(db.state().aborted.write_conflict, 1);
    drop(reader);
    assert_eq!(db.state().rolled_back, 1);
}

#[test]
fn a_transaction_left_open_is_listed_and_holds_old_versions_until_it_ends() {
    let place = place();
    let db = open(&place);
    let (hot, cold) = (db.keyspace("h", Engine::Memory).unwrap(), db.keyspace("c", Engine::Disk).unwrap());
    for keyspace in [&hot, &cold] {
        put(&db, keyspace, b"k", b"old").unwrap();
    }
    let mut forgotten = db.begin(Isolation::Snapshot).unwrap();
    let number = forgotten.number();
    std::thread::sleep(Duration::from_millis(60));
    for round in 0..500_u32 {
        for keyspace in [&hot, &cold] {
            put(&db, keyspace, b"k", &[round as u8; 1000]).unwrap();
            put(&db, keyspace, &round.to_be_bytes(), b"v").unwrap();
        }
    }
    let state = db.state();
    assert_eq!(state.running.len(), 1);
    assert_eq!(state.running[0].number, number);
    assert!(state.running[0].age >= Duration::from_millis(60), "{:?}", state.running);
    assert_eq!(state.running[0].isolation, Isolation::Snapshot);
    assert!(state.disk.recent_keys >= 500, "{:?}", state.disk);
    // Whatever happened meanwhile, the transaction sees the state at its begin.
    for keyspace in [&hot, &cold] {
        assert_eq!(forgotten.get(keyspace, b"k").unwrap().unwrap(), b"old");
        assert_eq!(forgotten.get(keyspace, &7_u32.to_be_bytes()).unwrap(), None);
    }
    // Only the newest version and the one that it sees must stay; but nothing that it sees was collected.
    drop(forgotten);
    assert!(db.state().running.is_empty());
    eventually("versions are collected", || {
        let state = db.state();
        state.memory.versions_collected >= 499 && state.disk.recent_keys == 0
    });
}

#[test]
fn a_full_memory_engine_rejects_only_writes_that_grow_it() {
    let place = place();
    let options = Options { memory_limit_bytes: 1 << 20, ..options() };
    let db = Database::open(&place.path, options).unwrap();
    let (hot, cold) = (db.keyspace("h", Engine::Memory).unwrap(), db.keyspace("c", Engine::Disk).unwrap());
    let value = vec![7; 10_000];
    let mut rows = 0_u32;
    let error = loop {
        match put(&db, &hot, &rows.to_be_bytes(), &value) {
            Ok(()) => rows += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(error, Error::Capacity(_)) && !error.is_retryable(), "{error:?}");
    assert_words(&error.to_string(), &["memory_limit_bytes", "delete rows"]);
    assert!((50..110).contains(&rows), "{rows}");
    assert_eq!(db.state().aborted.failed, 1);
    // A transaction over both engines is rejected as a whole.
    let mut both = db.begin(Isolation::Snapshot).unwrap();
    both.put(&cold, b"half", b"").unwrap();
    both.put(&hot, b"half", &value).unwrap();
    assert!(matches!(both.commit(), Err(Error::Capacity(_))));
    // Reads, the other engine and deletes still work.
    let mut reader = db.begin(Isolation::Snapshot).unwrap();
    assert_eq!(reader.get(&hot, &0_u32.to_be_bytes()).unwrap().unwrap(), value);
    assert_eq!(reader.get(&cold, b"half").unwrap(), None);
    drop(reader);
    put(&db, &cold, b"k", &value).unwrap();
    let mut delete = db.begin(Isolation::Snapshot).unwrap();
    for row in 0..rows / 2 {
        delete.delete(&hot, &row.to_be_bytes()).unwrap();
    }
    delete.commit().unwrap().wait().unwrap();
    eventually("there is room again", || put(&db, &hot, b"again", &value).is_ok());
}

#[test]
fn handles_of_another_database_are_rejected() {
    let (here, there) = (place(), place());
    let (db, other) = (open(&here), open(&there));
    let mine = db.keyspace("k", Engine::Memory).unwrap();
    let keyspace = other.keyspace("k", Engine::Memory).unwrap();
    let table = other.create_table("person", Engine::Memory, person()).unwrap();
    let mut transaction = db.begin(Isolation::Snapshot).unwrap();
    transaction.put(&mine, b"k", b"mine").unwrap();
    assert_words(&usage(transaction.get(&keyspace, b"k")), &["\"k\" belongs to another database"]);
    usage(transaction.put(&keyspace, b"k", b"v"));
    usage(transaction.delete(&keyspace, b"k"));
    let (all, forward) = (Bound::Unbounded, Direction::Forward);
    usage(transaction.scan(&keyspace, all, all, forward, |_, _| ControlFlow::Continue(())));
    usage(table.insert(&mut transaction, &[Value::Int(1), "Ada".into()]));
    usage(transaction.get_for_update(&keyspace, b"k"));
    usage(transaction.cursor(&keyspace, all, all));
    usage(table.cursor(&transaction, &RowRange::all()));
    transaction.commit().unwrap().wait().unwrap();
    let mut reader = other.begin(Isolation::Snapshot).unwrap();
    assert_eq!(reader.get(&keyspace, b"k").unwrap(), None);
}

#[test]
fn savepoints_and_cursors_of_another_transaction_and_savepoints_that_are_gone_are_rejected() {
    let (here, there) = (place(), place());
    let (db, elsewhere) = (open(&here), open(&there));
    let keyspace = db.keyspace("k", Engine::Disk).unwrap();
    let begin = || db.begin(Isolation::Serializable).unwrap();
    let (mut transaction, mut other) = (begin(), begin());
    let mut foreign = elsewhere.begin(Isolation::Serializable).unwrap();
    transaction.put(&keyspace, b"a", b"0").unwrap();
    let first = transaction.savepoint().unwrap();
    transaction.put(&keyspace, b"a", b"1").unwrap();
    for theirs in [other.savepoint().unwrap(), foreign.savepoint().unwrap()] {
        assert_words(&usage(transaction.rollback_to(&theirs)), &["another transaction"]);
        assert_words(&usage(transaction.release(theirs)), &["another transaction"]);
    }
    let second = transaction.savepoint().unwrap();
    transaction.delete(&keyspace, b"a").unwrap();
    transaction.rollback_to(&second).unwrap();
    assert_eq!(transaction.get(&keyspace, b"a").unwrap().unwrap(), b"1");
    transaction.rollback_to(&first).unwrap();
    assert_words(&usage(transaction.rollback_to(&second)), &["the savepoint is gone"]);
    assert_words(&usage(transaction.release(second)), &["the savepoint is gone"]);

    let all = Bound::Unbounded;
    let mut cursor = transaction.cursor(&keyspace, all, all).unwrap();
    assert_words(&usage(cursor.next(&mut other)), &["belongs to transaction", "this is transaction"]);
    usage(cursor.prev(&mut foreign));
    let crossed = (Bound::Included(&b"b"[..]), Bound::Excluded(&b"a"[..]));
    let mut nowhere = transaction.cursor(&keyspace, crossed.0, crossed.1).unwrap();
    nowhere.seek(b"a1").unwrap();
    assert_eq!(nowhere.next(&mut transaction).unwrap(), None);
    assert_eq!(nowhere.prev(&mut transaction).unwrap(), None);
    assert!(matches!(cursor.seek(&vec![7; MAX_KEY_BYTES + 1]), Err(Error::Capacity(_))));
    let mut empty = transaction.cursor(&keyspace, Bound::Included(b"a"), Bound::Excluded(b"a")).unwrap();
    assert_eq!(empty.next(&mut transaction).unwrap(), None);
    empty.seek_to_end();
    assert_eq!(empty.prev(&mut transaction).unwrap(), None);

    // None of the errors has spoilt the transaction.
    assert_eq!(cursor.next(&mut transaction).unwrap(), Some((&b"a"[..], &b"0"[..])));
    transaction.commit().unwrap().wait().unwrap();
    assert_eq!(begin().get(&keyspace, b"a").unwrap().unwrap(), b"0");
}

/// A log that can't grow, as on a full disk. The system's limit of a file's size causes it, in a process of its own.
#[cfg(unix)]
#[test]
fn when_the_log_can_not_be_written_nothing_is_acknowledged_any_more_and_nothing_acknowledged_is_lost() {
    if let Some(path) = std::env::var_os(CHILD) {
        return write_until_the_log_fails(Path::new(&path));
    }
    let place = place();
    let test =
        "when_the_log_can_not_be_written_nothing_is_acknowledged_any_more_and_nothing_acknowledged_is_lost";
    let mut shell = Command::new("sh");
    shell.args(["-c", "trap '' XFSZ; ulimit -f 4096; exec \"$0\" \"$@\""]);
    let out = child(shell.arg(std::env::current_exe().unwrap()), test, &place.path);
    let acknowledged: u32 =
        out.split("acknowledged ").nth(1).unwrap().split_whitespace().next().unwrap().parse().unwrap();
    assert!(acknowledged > 0);
    let db = open(&place);
    let (hot, cold) = (db.keyspace("h", Engine::Memory).unwrap(), db.keyspace("c", Engine::Disk).unwrap());
    let mut reader = db.begin(Isolation::Snapshot).unwrap();
    for row in 0..acknowledged {
        for keyspace in [&hot, &cold] {
            assert!(reader.get(keyspace, &row.to_be_bytes()).unwrap().is_some(), "row {row}");
        }
    }
    drop(reader);
    put(&db, &hot, b"and", b"on").unwrap();
}

#[cfg(unix)]
fn write_until_the_log_fails(path: &Path) {
    let db = Database::open(path, Options::default()).unwrap();
    let (hot, cold) = (db.keyspace("h", Engine::Memory).unwrap(), db.keyspace("c", Engine::Disk).unwrap());
    let value = vec![7; 50_000];
    let mut row = 0_u32;
    let error = loop {
        let mut transaction = db.begin(Isolation::Snapshot).unwrap();
        transaction.put(&hot, &row.to_be_bytes(), &value).unwrap();
        transaction.put(&cold, &row.to_be_bytes(), &value).unwrap();
        match transaction.commit().unwrap().wait() {
            Ok(()) => row += 1,
            Err(error) => break error,
        }
        assert!(row < 10_000, "the file's size is not limited");
    };
    assert!(matches!(error, Error::Unknown(_)) && !error.is_retryable(), "{error:?}");
    assert_words(&error.to_string(), &["outcome of this transaction is unknown"]);
    let error = put(&db, &hot, b"later", b"v").unwrap_err();
    assert!(matches!(error, Error::Poisoned(_)), "{error:?}");
    assert_words(&error.to_string(), &["rejects transactions since", "open the database again"]);
    assert!(matches!(db.sync(), Err(Error::Poisoned(_) | Error::Unknown(_))));
    assert!(db.checkpoint().is_err());
    // Existing rows can still be read.
    let mut reader = db.begin(Isolation::Snapshot).unwrap();
    assert!(reader.get(&cold, &0_u32.to_be_bytes()).unwrap().is_some());
    drop(reader);
    println!("acknowledged {row} ");
    assert!(db.close().is_err());
}
