//! Processes that are killed while a transaction changes the catalog, and again while the next opening decides: all changes and
//! rows are there, or none.

use crate::base::{ENGINES, begin, commit, good, insert, logs_and_homes, open, trees};
use crate::changes::{alter_by_copy, is_wider, make, names, rows, schema, write_others};
use crate::new_tables;
use crate::scratch::directory;
use gemel::row::{ColumnChange, ColumnType};
use gemel::{Database, Engine, Isolation, LogMode};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

const DIRECTORY: &str = "GEMEL_DDL_DIRECTORY";
const ACTION: &str = "GEMEL_DDL_ACTION";

/// Longest time until a process that waits is killed.
const PATIENCE: Duration = Duration::from_secs(60);

/// The place where a process is killed: a fail point, or the so-manieth replacement of a file from that of the manifest
/// on that the commit writes; what it does; true if the changes must be there afterwards, false if they must not, none if
/// they may be.
type Death = (&'static str, &'static str, Option<bool>);

const OF_NEW_TABLES: &[Death] = &[
    ("ddl.before_manifest", "commit", Some(false)),
    ("rename+0", "commit", Some(false)),
    ("ddl.after_manifest", "commit", Some(false)),
    ("ddl.leaving", "commit", Some(false)),
    ("commit.collected", "commit", Some(false)),
    ("commit.locked", "commit", Some(false)),
    ("commit.hidden", "commit", Some(false)),
    ("commit.after_append", "commit", None),
    ("commit.after_install", "commit", None),
    ("ddl.publishing", "commit", None),
    ("ddl.published", "commit", None),
    ("commit.between_publications", "commit", None),
    ("log.before_write", "commit", None),
    ("log.after_write", "commit", None),
    ("log.before_sync", "commit", None),
    ("log.after_sync", "commit", None),
    // After the commit is durable.
    ("rename+4", "table", Some(true)),
    ("catalog.before_manifest", "alter", Some(true)),
    ("catalog.after_manifest", "alter", Some(true)),
    ("checkpoint.before_rename", "checkpoint", Some(true)),
    ("checkpoint.after_rename", "checkpoint", Some(true)),
    ("checkpoint.before_manifest", "checkpoint", Some(true)),
    ("checkpoint.after_manifest", "checkpoint", Some(true)),
    ("rename+1", "close", Some(true)),
    // The transaction is rolled back.
    ("ddl.withdrawn", "rollback", Some(false)),
    ("disk.before_remove", "rollback", Some(false)),
];

const OF_CHANGES: &[Death] = &[
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

/// Returns what a process does, in words: `action` is the step at which it dies, `kind` what it changes.
fn in_words(action: &str, kind: &str, log: LogMode, home: Engine) -> String {
    format!(
        "{action} {kind} {} {}",
        if log == LogMode::Shared { "shared" } else { "per engine" },
        home.name()
    )
}

/// Starts a process that opens the database and is killed at a place. If the next opening has to decide, it is killed too,
/// at each of its steps. Returns true in that case. `first` is the number of files that are replaced before the commit
/// writes its manifest.
fn die_and_decide(path: &Path, action: &str, place: &str, first: u32) -> bool {
    let pass = place.strip_prefix("rename+").map(|after| first + after.parse::<u32>().unwrap());
    let place = pass.map_or(place.to_owned(), |pass| format!("files.before_rename:{pass}"));
    die(path, action, &place);
    let manifest = std::fs::read_to_string(path.join("gemel.manifest")).unwrap();
    let decides = manifest.contains("committing");
    if decides {
        for place in ["open.before_manifest", "files.before_rename", "open.after_manifest"] {
            die(path, &format!("open {action}"), place);
        }
    }
    decides
}

fn die(path: &Path, action: &str, place: &str) {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "deaths::the_process_that_dies"]).env(DIRECTORY, path).env(ACTION, action);
    let died = child.env("GEMEL_FAIL_POINT", place).output().unwrap();
    assert_eq!(died.status.code(), None, "{place} {action}: {}", String::from_utf8_lossy(&died.stderr));
}

/// The process that is killed. As a test by itself it does nothing.
#[test]
fn the_process_that_dies() {
    let (Ok(path), Ok(action)) = (std::env::var(DIRECTORY), std::env::var(ACTION)) else { return };
    let words: Vec<&str> = action.split(' ').collect();
    let log = if words.contains(&"shared") { LogMode::Shared } else { LogMode::PerEngine };
    let home = if words.contains(&"memory") { Engine::Memory } else { Engine::Disk };
    let db = open(Path::new(&path), log);
    let does = |word| words[0] == word;
    if does("open") {
        return;
    }
    let mut transaction = db.begin(Isolation::Serializable).unwrap();
    let altered = if words.contains(&"create") {
        new_tables::make_new(&db, &mut transaction, home).unwrap();
        "new"
    } else {
        change_all(&db, &mut transaction, home);
        "t"
    };
    if does("rollback") {
        return drop(transaction);
    }
    if does("conflict") {
        let other = db.table("disk").unwrap();
        db.run(Isolation::Snapshot, |one| insert(one, &other, 0..1)).unwrap();
        return drop(transaction.commit());
    }
    commit(transaction);
    match words[0] {
        "table" => drop(db.create_table("later", Engine::Disk, new_tables::schema()).unwrap()),
        "alter" => drop(db.alter_table(altered, &[ColumnChange::add("more", ColumnType::Text)]).unwrap()),
        "checkpoint" => db.checkpoint().unwrap(),
        "close" => db.close().unwrap(),
        "wait" => std::thread::sleep(PATIENCE),
        _ => {}
    }
}

/// Makes each kind of change, with rows.
fn change_all(db: &Database, transaction: &mut gemel::Transaction, home: Engine) {
    write_others(db, transaction).unwrap();
    alter_by_copy(db, transaction, home).unwrap();
    db.rename_table_in(transaction, "memory", "renamed").unwrap();
    db.truncate_table_in(transaction, "old").unwrap();
    db.drop_index_in(transaction, "disk", "once").unwrap();
}

#[test]
fn a_table_and_its_rows_are_there_or_not_wherever_the_process_dies() {
    let mut decided = 0;
    for (place, action, expected) in OF_NEW_TABLES {
        for (log, home) in logs_and_homes() {
            if *action == "rollback" && *place != "ddl.withdrawn" && home == Engine::Memory {
                // It has no files.
                continue;
            }
            let directory = directory();
            let path = directory.path().join("db");
            let db = open(&path, log);
            new_tables::make_old(&db);
            drop(db);
            // The process has opened the database, and each tree has a file of its own.
            let first = if home == Engine::Memory { 2 } else { 5 };
            let action = in_words(action, "create", log, home);
            decided += u32::from(die_and_decide(&path, &action, place, first));
            let db = open(&path, log);
            let context = format!("{place} {action}");
            let is_there = db.table("new").is_ok();
            assert!(expected.is_none_or(|expected| expected == is_there), "{context}");
            for engine in ENGINES {
                let expected = if is_there { 20 } else { 0 };
                assert_eq!(new_tables::rows(&db, engine.name()), expected, "{context}");
            }
            let of_tables = 3 + if is_there && home == Engine::Disk { 3 } else { 0 };
            let of_later = if db.table("later").is_ok() { 3 } else { 0 };
            assert_eq!(trees(&path), of_tables + of_later, "{context}");
            if is_there {
                assert_eq!(new_tables::rows(&db, "new"), 50, "{context}");
            } else {
                // The name is free.
                let mut transaction = begin(&db);
                new_tables::make_new(&db, &mut transaction, home).unwrap();
                commit(transaction);
            }
            drop(db);
            good(&path);
        }
    }
    assert!(decided >= 40, "{decided} are few");
}

#[test]
fn all_changes_and_rows_are_there_or_none_wherever_the_process_dies() {
    let mut decided = [0; 2];
    for (place, action, expected) in OF_CHANGES {
        for (log, home) in logs_and_homes() {
            let directory = directory();
            let path = directory.path().join("db");
            let db = open(&path, log);
            make(&db, home);
            let old = db.create_table("old", home, schema()).unwrap();
            db.run(Isolation::Snapshot, |transaction| insert(transaction, &old, 0..10)).unwrap();
            drop((old, db));
            // The process has opened the database, and each new tree has a file of its own.
            let first = if home == Engine::Memory { 2 } else { 2 + 2 + 3 };
            let words = in_words(action, "change", log, home);
            let decides = die_and_decide(&path, &words, place, first);
            let db = open(&path, log);
            let context = format!("{place} {words}");
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
