//! Opening and closing while something else is under way, stopped at the critical places.

use super::*;
use crate::files::fail_point::{on_fail_point, once_here};
use crate::options::Durability;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;

/// Calls `step` at the first pass of a fail point by a thread for which `who` is true.
fn once_at(
    name: &'static str,
    who: impl Fn() -> bool + Send + Sync + 'static,
    step: impl Fn() + Send + Sync + 'static,
) {
    let done = AtomicBool::new(false);
    on_fail_point(name, move || {
        if who() && !done.swap(true, Ordering::SeqCst) {
            step();
        }
    });
}

fn put(db: &Database, key: &[u8]) {
    let keyspace = db.keyspace("k", crate::Engine::Memory).unwrap();
    let mut transaction = db.begin(Isolation::Snapshot).unwrap();
    transaction.put(&keyspace, key, b"v").unwrap();
    transaction.commit().unwrap().wait().unwrap();
}

fn has(db: &Database, key: &[u8]) -> bool {
    let keyspace = db.keyspace("k", crate::Engine::Memory).unwrap();
    db.begin(Isolation::Snapshot).unwrap().get(&keyspace, key).unwrap().is_some()
}

#[test]
fn a_database_made_just_before_the_lock_is_taken_is_opened_and_not_made_again() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    let (here, other) = (std::thread::current().id(), path.clone());
    once_at(
        "open.before_lock",
        move || std::thread::current().id() == here,
        move || put(&Database::open(&other, Options::default()).unwrap(), b"other's"),
    );
    let db = Database::open(&path, Options::default()).unwrap();
    assert!(has(&db, b"other's"), "the other's database was overwritten");
}

/// Opens a database whose housekeeper waits at a fail point of its first checkpoint until something is sent. Only
/// closing makes its last commit durable.
fn with_a_checkpoint_at(place: &'static str, path: &Path) -> (Database, mpsc::Sender<()>) {
    let (go, going) = mpsc::channel();
    let going = Mutex::new(going);
    let db = with_a_checkpoint_that(place, path, move || {
        let _ = going.lock().recv();
    });
    (db, go)
}

/// Opens a database whose housekeeper takes a step at a fail point of its first checkpoint. Only closing makes its last
/// commit durable.
fn with_a_checkpoint_that(
    place: &'static str,
    path: &Path,
    step: impl Fn() + Send + Sync + 'static,
) -> Database {
    let options = Options {
        checkpoint_log_bytes: 1 << 20,
        durability: Durability::Relaxed(Duration::from_secs(3600)),
        ..Options::default()
    };
    let db = Database::open(path, options).unwrap();
    let housekeeper = db.housekeeper();
    let (stands, standing) = mpsc::channel();
    once_at(
        place,
        move || std::thread::current().id() == housekeeper,
        move || {
            stands.send(()).unwrap();
            step();
        },
    );
    let keyspace = db.keyspace("k", crate::Engine::Memory).unwrap();
    let mut transaction = db.begin(Isolation::Snapshot).unwrap();
    transaction.put(&keyspace, b"large", &vec![7; 2 << 20]).unwrap();
    transaction.commit().unwrap().wait().unwrap();
    standing.recv().unwrap();
    put(&db, b"last");
    db
}

#[test]
fn closing_waits_for_a_checkpoint_in_progress_and_makes_the_last_commit_durable() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    let (db, go) = with_a_checkpoint_at("checkpoint.before_sync", &path);
    let other = db.clone();
    drop(db);
    let closing = std::thread::spawn(move || other.close());
    // A close that does not wait would nearly always be done by now.
    std::thread::sleep(Duration::from_millis(100));
    assert!(!closing.is_finished(), "closed while a checkpoint was being written");
    go.send(()).unwrap();
    closing.join().unwrap().unwrap();
    assert!(has(&Database::open(&path, Options::default()).unwrap(), b"last"));
}

/// The log's thread can't wait for the housekeeper, which may be waiting for the log.
#[test]
fn a_database_closes_when_a_callback_of_the_log_drops_the_last_handle() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    let (db, go) = with_a_checkpoint_at("checkpoint.before_rename", &path);
    let_go_in_a_callback_of_the_log(db);
    go.send(()).unwrap();
    assert!(has(&opened_once_it_is_closed(&path), b"last"));
}

/// The log's thread can't close a database itself either, because closing ends that thread.
#[test]
fn a_database_with_a_dead_housekeeper_closes_when_a_callback_of_the_log_drops_the_last_handle() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    let db = with_a_checkpoint_that("checkpoint.before_manifest", &path, || panic!("as the test wants it"));
    let_go_in_a_callback_of_the_log(db);
    assert!(has(&opened_once_it_is_closed(&path), b"last"));
}

/// Drops the last handle on a log's thread. Until that thread has ended, its log may lack bytes, so nobody may open the
/// directory.
fn let_go_in_a_callback_of_the_log(db: Database) {
    let path = db.path().to_path_buf();
    let waiter = Arc::new(crate::log::waiter::Waiter::new(1));
    let (dropped, dropping) = mpsc::channel();
    let log = Arc::clone(&db.inner.core.logs.all()[0]);
    waiter.on_done(Box::new(move |_| {
        drop(db);
        dropped.send(Database::open(&path, Options::default()).is_ok()).unwrap();
    }));
    log.place(log.end()).enqueue(&waiter, true);
    let opened = dropping.recv_timeout(Duration::from_secs(60)).expect("the log's thread hangs");
    assert!(!opened, "the lock was given up before the log had ended");
}

fn opened_once_it_is_closed(path: &Path) -> Database {
    let begun = Instant::now();
    loop {
        match Database::open(path, Options::default()) {
            Ok(db) => return db,
            Err(error) => assert!(begun.elapsed() < Duration::from_secs(60), "{error}"),
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn an_old_snapshot_makes_the_disk_engine_remember_a_limited_number_of_writes() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options { remembered_writes: 100, durability: Durability::None, ..Options::default() };
    let db = Database::open(directory.path().join("db"), options).unwrap();
    let cold = db.keyspace("cold", crate::Engine::Disk).unwrap();
    let put = |transaction: &mut Transaction, number: u32| {
        transaction.put(&cold, &number.to_be_bytes(), b"v").unwrap();
    };
    let commit = |number| {
        let mut transaction = db.begin(Isolation::Snapshot).unwrap();
        put(&mut transaction, number);
        transaction.commit().map(drop)
    };
    commit(0).unwrap();
    let mut reader = db.begin(Isolation::Serializable).unwrap();
    assert_eq!(reader.get(&cold, &1_u32.to_be_bytes()).unwrap(), None);
    let mut writer = db.begin(Isolation::Snapshot).unwrap();
    put(&mut writer, 9999);
    for number in 1..1000 {
        commit(number).unwrap();
    }
    let remembered = db.state().disk.recent_keys;
    assert!((50..=132).contains(&remembered), "{remembered} writes are remembered");
    let error = writer.commit().unwrap_err();
    assert!(matches!(error, Error::TooOld(_)) && error.is_retryable(), "{error:?}");
    assert!(
        error.to_string().contains("retry") && error.to_string().contains("remembered_writes"),
        "{error}"
    );
    assert_eq!(db.state().aborted.too_old, 1);
    commit(9999).unwrap();
    assert_eq!(reader.get(&cold, &2_u32.to_be_bytes()).unwrap(), None, "a reader goes on");
    drop(reader.commit().unwrap());
}

/// Otherwise every commit during a long checkpoint would leave a version that nothing can collect.
#[test]
fn a_checkpoint_holds_a_snapshot_only_as_long_as_it_reads_one_piece() {
    let directory = tempfile::tempdir().unwrap();
    let db = Database::open(directory.path().join("db"), Options::default()).unwrap();
    for n in 0..3 * CHECKPOINT_PIECE {
        put(&db, format!("row {n}").as_bytes());
    }
    let collected = Arc::new(AtomicU64::new(0));
    once_here("checkpoint.after_piece", {
        let db = db.clone();
        move || put(&db, b"row 0")
    });
    once_here("checkpoint.after_piece", {
        let (db, collected) = (db.clone(), Arc::clone(&collected));
        move || {
            // The housekeeper may be collecting the version at this moment.
            for _ in 0..100_000 {
                db.inner.core.collect_now();
                collected.store(db.state().memory.versions_collected, Ordering::Relaxed);
                if collected.load(Ordering::Relaxed) > 0 {
                    break;
                }
                std::thread::yield_now();
            }
        }
    });
    db.checkpoint().unwrap();
    assert_eq!(collected.load(Ordering::Relaxed), 1, "the replaced version is kept for the checkpoint");
}
