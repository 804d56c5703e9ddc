//! Wrong use by callers, other programs and full disks: each is rejected in one line, and nothing else suffers.

#![expect(clippy::unwrap_used, reason = "a test ends where something is not as it should be")]

use gemel::row::{ColumnType, RowRange, Schema, Value};
use gemel::{
    Database, Direction, Durability, Engine, Error, Isolation, Keyspace, LogMode, MAX_KEY_BYTES,
    MAX_VALUE_BYTES, Options, Result,
};
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::ops::{Bound, ControlFlow};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

struct Place {
    path: PathBuf,
    _directory: tempfile::TempDir,
}

fn place() -> Place {
    let directory = tempfile::tempdir().unwrap();
    Place { path: directory.path().join("db"), _directory: directory }
}

/// Fast options: these tests have no power cuts.
fn options() -> Options {
    Options { durability: Durability::None, ..Options::default() }
}

fn open(place: &Place) -> Database {
    Database::open(&place.path, options()).unwrap()
}

fn put(db: &Database, keyspace: &Keyspace, key: &[u8], value: &[u8]) -> Result<()> {
    let mut transaction = db.begin(Isolation::Snapshot)?;
    transaction.put(keyspace, key, value)?;
    transaction.commit()?.wait()
}

/// Returns the text of a usage error, which must be one line.
#[track_caller]
fn usage<T: std::fmt::Debug>(result: Result<T>) -> String {
    match result.unwrap_err() {
        Error::Usage(text) if !text.contains('\n') => text,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn assert_words(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "{word:?} is not in {text:?}");
    }
}

fn listing(path: &Path) -> Vec<String> {
    let names = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    names
}

/// Polls until `so` is true: garbage is collected in the background.
#[track_caller]
fn eventually(what: &str, so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !so() {
        assert!(begun.elapsed() < Duration::from_secs(20), "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

const CHILD: &str = "GEMEL_BAD_INPUT_CHILD";

/// Runs this test binary as another process, with one test that finds a path in the environment.
fn child(command: &mut Command, test: &str, path: &Path) -> String {
    let output = command
        .args(["--exact", test, "--nocapture"])
        .env(CHILD, path)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_database_that_is_open_here_or_in_another_process_is_not_opened_again() {
    if let Some(path) = std::env::var_os(CHILD) {
        assert_words(&usage(Database::open(path, options())), &["is open already", "close it there first"]);
        return;
    }
    let place = place();
    let db = open(&place);
    assert_words(&usage(Database::open(&place.path, options())), &["is open already"]);
    assert_words(&usage(gemel::check(&place.path)), &["is open already"]);
    let test = "a_database_that_is_open_here_or_in_another_process_is_not_opened_again";
    child(&mut Command::new(std::env::current_exe().unwrap()), test, &place.path);
    let other = db.clone();
    drop(db);
    usage(Database::open(&place.path, options()));
    other.close().unwrap();
    open(&place);
}

#[test]
fn a_database_stays_locked_while_its_files_are_deleted() {
    let place = place();
    let db = open(&place);
    for name in listing(&place.path) {
        // Removes everything except the directory of the disk engine.
        let _ = fs::remove_file(place.path.join(name));
    }
    assert_words(&usage(Database::open(&place.path, options())), &["is open already"]);
    let test = "a_database_that_is_open_here_or_in_another_process_is_not_opened_again";
    child(&mut Command::new(std::env::current_exe().unwrap()), test, &place.path);
    drop(db);
    assert_eq!(listing(&place.path), ["disk"], "closing writes nothing in place of deleted files");
}

/// Opens each directory that the parent names on standard input, as soon as possible, and writes a row there.
fn race(racer: &str) {
    for path in std::io::stdin().lines() {
        let path = path.unwrap();
        let db = loop {
            match Database::open(&path, options()) {
                Ok(db) => break db,
                Err(Error::Usage(text)) if text.contains("is open already") => std::thread::yield_now(),
                Err(error) => panic!("{error}"),
            }
        };
        put(&db, &db.keyspace("racers", Engine::Memory).unwrap(), racer.as_bytes(), b"was here").unwrap();
        db.close().unwrap();
        println!("closed {path}");
    }
}

/// `GEMEL_RACES=200` runs that many races.
#[test]
fn two_processes_that_make_a_database_at_the_same_time_make_one() {
    if let Some(racer) = std::env::var_os(CHILD) {
        return race(racer.to_str().unwrap());
    }
    let races = std::env::var("GEMEL_RACES").ok().and_then(|races| races.parse().ok()).unwrap_or(20);
    let test = "two_processes_that_make_a_database_at_the_same_time_make_one";
    let mut racers = ["one", "two"].map(|racer| {
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", test, "--nocapture"])
            .env(CHILD, racer)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    });
    let mut outputs = racers.each_mut().map(|racer| BufReader::new(racer.stdout.take().unwrap()).lines());
    let directory = tempfile::tempdir().unwrap();
    for race in 0..races {
        let path = directory.path().join(race.to_string());
        for racer in &mut racers {
            writeln!(racer.stdin.as_mut().unwrap(), "{}", path.display()).unwrap();
        }
        for output in &mut outputs {
            let closed = format!("closed {}", path.display());
            assert!(output.any(|line| line.unwrap() == closed), "race {race}: a racer ended");
        }
        let db = Database::open(&path, options()).unwrap();
        let keyspace = db.keyspace("racers", Engine::Memory).unwrap();
        let mut reader = db.begin(Isolation::Snapshot).unwrap();
        for racer in [b"one", b"two"] {
            assert!(reader.get(&keyspace, racer).unwrap().is_some(), "race {race}: a database was lost");
        }
    }
    for racer in &mut racers {
        drop(racer.stdin.take());
        assert!(racer.wait().unwrap().success());
    }
}

#[test]
fn a_database_of_a_newer_format_is_rejected_by_its_number() {
    let place = place();
    drop(open(&place));
    fs::write(place.path.join("gemel.manifest"), "gemel 7 00000000\n{\"whatever\":1}").unwrap();
    assert_words(&usage(Database::open(&place.path, options())), &["format 7", "reads format 1"]);
}

#[test]
fn a_manifest_that_is_cut_short_or_changed_is_reported_as_damaged() {
    let place = place();
    drop(open(&place));
    let file = place.path.join("gemel.manifest");
    let whole = fs::read(&file).unwrap();
    let mut changed = whole.clone();
    *changed.last_mut().unwrap() ^= 1;
    for content in [&[][..], &whole[..whole.len() / 2], &whole[..9], &changed, b"\xff\xfe\n"] {
        fs::write(&file, content).unwrap();
        match Database::open(&place.path, options()).unwrap_err() {
            Error::Corruption { path, what } => {
                assert_eq!(path, file);
                assert_words(&what, &["restore the directory from a backup"]);
            }
            other => panic!("{other:?}"),
        }
    }
    // Without the manifest, a log shows that there was a database.
    fs::remove_file(&file).unwrap();
    for outcome in [Database::open(&place.path, options()).map(drop), gemel::check(&place.path).map(drop)] {
        match outcome.unwrap_err() {
            Error::Corruption { path, what } => {
                assert_eq!(path, file);
                assert_words(
                    &what,
                    &["missing", ".log of a database is there", "restore the directory from a backup"],
                );
            }
            other => panic!("{other:?}"),
        }
    }
    fs::write(&file, whole).unwrap();
    open(&place);
}

#[test]
fn a_file_where_the_directory_should_be_stays_as_it_is() {
    let place = place();
    fs::write(&place.path, "a letter").unwrap();
    assert_words(&usage(Database::open(&place.path, options())), &["is not a directory"]);
    assert_eq!(fs::read(&place.path).unwrap(), b"a letter");
}

#[test]
fn a_directory_with_other_things_in_it_stays_as_it_is() {
    let place = place();
    fs::create_dir(&place.path).unwrap();
    fs::write(place.path.join("letter"), "dear reader").unwrap();
    assert_words(&usage(Database::open(&place.path, options())), &["holds letter", "empty directory"]);
    assert_eq!(listing(&place.path), ["letter"]);
    assert_words(&usage(Database::open_existing(&place.path, options())), &["no Gemel database"]);
    assert_words(&usage(gemel::check(&place.path)), &["no Gemel database"]);
    assert_eq!(listing(&place.path), ["letter"]);
}

#[test]
fn open_existing_makes_nothing_if_there_is_no_database() {
    let place = place();
    usage(Database::open_existing(&place.path, options()));
    assert!(!place.path.exists());
}

#[cfg(unix)]
#[test]
fn a_directory_that_can_not_be_written_is_named() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = place();
    drop(open(&place));
    let allow = |mode| fs::set_permissions(&place.path, fs::Permissions::from_mode(mode)).unwrap();
    allow(0o555);
    if fs::write(place.path.join("probe"), "").is_ok() {
        // The superuser can write anywhere, except to this place on Linux.
        let path = Path::new("/proc/self/gemel");
        if path.parent().unwrap().exists() {
            let error = Database::open(path, options()).unwrap_err();
            assert!(matches!(error, Error::Io { what: "can't make the directory", .. }), "{error:?}");
        }
    } else {
        let error = Database::open(&place.path, options()).unwrap_err();
        assert!(matches!(error, Error::Io { .. }), "{error:?}");
        assert_words(&error.to_string(), &[&*place.path.to_string_lossy()]);
    }
    allow(0o755);
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
fn open_rejects_another_log_mode_and_open_existing_needs_none() {
    for (made, other) in [(LogMode::Shared, LogMode::PerEngine), (LogMode::PerEngine, LogMode::Shared)] {
        let place = place();
        let with = |log| Options { log, ..options() };
        let db = Database::open(&place.path, with(made)).unwrap();
        put(&db, &db.keyspace("h", Engine::Memory).unwrap(), b"k", b"v").unwrap();
        db.close().unwrap();
        let text = usage(Database::open(&place.path, with(other)));
        let words = |log| if log == LogMode::Shared { "one shared log" } else { "a log for each engine" };
        assert_words(
            &text,
            &[&format!("made with {}", words(made)), &format!("opened with {}", words(other))],
        );
        let db = Database::open_existing(&place.path, with(other)).unwrap();
        let mut reader = db.begin(Isolation::Snapshot).unwrap();
        assert!(reader.get(&db.keyspace("h", Engine::Memory).unwrap(), b"k").unwrap().is_some());
    }
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
    assert_words(&usage(cursor.next(&mut other)), &["belongs to another transaction"]);
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

#[test]
fn invalid_options_are_reported_all_at_once_before_anything_is_made() {
    let place = place();
    let options = Options {
        csr_capacity: 0,
        csr_recycle: 0,
        write_buffer_bytes: 0,
        remembered_writes: 0,
        max_snapshot_age: Some(Duration::from_millis(999)),
        memory_limit_bytes: 0,
        pending_limit_bytes: 0,
        checkpoint_log_bytes: 0,
        durability: Durability::Relaxed(Duration::ZERO),
        ..Options::default()
    };
    let text = usage(Database::open(&place.path, options));
    assert_words(
        &text,
        &[
            "csr_capacity",
            "csr_recycle",
            "write_buffer_bytes",
            "remembered_writes",
            "max_snapshot_age",
            "memory_limit_bytes",
            "pending_limit_bytes",
            "checkpoint_log_bytes",
            "relaxed",
        ],
    );
    for interval in [Duration::MAX, Duration::from_secs(86_401)] {
        let options = Options { durability: Durability::Relaxed(interval), ..Options::default() };
        assert_words(&usage(Database::open(&place.path, options)), &["relaxed", "at most one day"]);
    }
    for (gather, durability, words) in [
        (Duration::ZERO, Durability::Full, "more than zero"),
        (Duration::from_millis(1_001), Durability::Full, "at most one second"),
        (Duration::from_millis(1), Durability::None, "full durability"),
    ] {
        let options = Options { gather: Some(gather), durability, ..Options::default() };
        assert_words(&usage(Database::open(&place.path, options)), &["gather", words]);
    }
    assert!(!place.path.exists());
    // Without a cache the engine is slow, but correct.
    let db = Database::open(&place.path, Options { cache_bytes: 0, ..self::options() }).unwrap();
    let cold = db.keyspace("c", Engine::Disk).unwrap();
    put(&db, &cold, b"k", b"v").unwrap();
    db.checkpoint().unwrap();
    assert!(db.begin(Isolation::Snapshot).unwrap().get(&cold, b"k").unwrap().is_some());
}

#[test]
fn the_largest_values_of_all_options_work() {
    for durability in [Durability::Full, Durability::None, Durability::Relaxed(Duration::from_secs(86_400))] {
        let place = place();
        let options = Options {
            durability,
            csr_capacity: usize::MAX,
            csr_recycle: u64::MAX,
            cache_bytes: u64::MAX,
            write_buffer_bytes: u64::MAX,
            memory_limit_bytes: u64::MAX,
            pending_limit_bytes: u64::MAX,
            checkpoint_log_bytes: u64::MAX,
            ..Options::default()
        };
        for row in 0..3_u8 {
            let db = Database::open(&place.path, options.clone()).unwrap();
            let keyspaces =
                [Engine::Memory, Engine::Disk].map(|engine| db.keyspace(engine.name(), engine).unwrap());
            let mut transaction = db.begin(Isolation::Serializable).unwrap();
            for keyspace in &keyspaces {
                for earlier in 0..row {
                    assert!(
                        transaction.get(keyspace, &[earlier]).unwrap().is_some(),
                        "row {earlier} is lost"
                    );
                }
                transaction.put(keyspace, &[row], b"v").unwrap();
            }
            transaction.commit().unwrap().wait().unwrap();
            db.checkpoint().unwrap();
            put(&db, &keyspaces[0], b"k", b"v").unwrap();
        }
    }
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
