//! Opening and closing while something else is under way, stopped at the critical places.

use super::*;
use crate::copy::copy_directory;
use crate::files::fail_point::{on_fail_point, once_here};
use crate::files::faulty::FaultyFiles;
use crate::keyspace::Keyspace;
use crate::options::{Durability, LogMode};
use crate::order::active::RunningTransaction;
use crate::wait::wait_until;
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
    let db = Database::open(path, with_checkpoints()).unwrap();
    begin_a_checkpoint_that(&db, place, step);
    put(&db, b"last");
    db
}

fn with_checkpoints() -> Options {
    Options {
        checkpoint_log_bytes: 1 << 20,
        durability: Durability::Relaxed(Duration::from_secs(3600)),
        ..Options::default()
    }
}

/// Returns when the housekeeper begins to take a step at a fail point of its first checkpoint.
fn begin_a_checkpoint_that(db: &Database, place: &'static str, step: impl Fn() + Send + Sync + 'static) {
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
    // On a busy machine a snapshot with a maximum age may expire meanwhile.
    db.run(Isolation::Snapshot, |transaction| transaction.put(&keyspace, b"large", &vec![7; 2 << 20]))
        .unwrap();
    standing.recv().unwrap();
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

#[test]
fn a_housekeeper_that_panicked_goes_on_and_holds_back_no_garbage() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    let db = with_a_checkpoint_that("checkpoint.after_piece", &path, || panic!("as the test wants it"));
    let state = wait_until(|| db.state().checkpoints, |state| state.done > 0, |state| format!("{state:?}"));
    assert_eq!((state.done, state.failure), (1, None));
    put(&db, b"later");
    let core = &db.inner.core;
    assert_eq!(core.watermark(0), core.engines[0].clock().horizon());
}

/// A callback that waited for the log would hang it for good.
#[test]
fn a_callback_that_would_wait_for_the_log_gets_an_error() {
    let directory = tempfile::tempdir().unwrap();
    // The log gathers commits, so the callback is there before the log writes, and runs on the log's thread.
    let gather = Some(Duration::from_secs(1));
    let options = Options { gather, write_buffer_bytes: 1 << 16, ..Options::default() };
    let db = Database::open(directory.path().join("db"), options).unwrap();
    let disk = db.keyspace("disk", crate::Engine::Disk).unwrap();
    let last = Arc::new(AtomicU64::new(0));
    let commit = move |db: &Database| {
        let mut transaction = db.begin(Isolation::Snapshot)?;
        transaction.put(&disk, &last.fetch_add(1, Ordering::Relaxed).to_le_bytes(), &vec![7; 10_000])?;
        transaction.commit()
    };
    let refused = |outcome: Result<()>| match outcome {
        Err(Error::Usage(text)) => assert!(text.contains("on another thread"), "{text}"),
        outcome => panic!("{outcome:?}"),
    };
    let (called, calls) = mpsc::channel();
    let try_a_callback = || {
        let (other, called, commit) = (db.clone(), called.clone(), commit.clone());
        commit(&db).unwrap().on_done(move |outcome| {
            outcome.unwrap();
            if !other.inner.core.logs.is_thread_of_one() {
                return;
            }
            refused(commit(&other).unwrap().wait());
            refused(other.sync());
            refused(other.checkpoint());
            refused(other.run(Isolation::Snapshot, |_| panic!("it must not begin")));
            // The write buffers fill up, because a flush waits for the log.
            refused((0..100).find_map(|_| commit(&other).err()).map_or(Ok(()), Err));
            called.send(true).unwrap();
        });
        db.hurry();
        calls.try_recv().unwrap_or(false)
    };
    wait_until(try_a_callback, |has_run| *has_run, |_| "no callback runs on the log's thread".into());
    commit(&db).unwrap().wait().unwrap();
}

/// The transaction keeps the engines, whose files another opening would change.
#[test]
fn a_transaction_keeps_the_directory_locked() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    let db = Database::open(&path, Options::default()).unwrap();
    put(&db, b"k");
    let keyspace = db.keyspace("k", crate::Engine::Memory).unwrap();
    let mut transaction = db.begin(Isolation::Snapshot).unwrap();
    db.close().unwrap();
    let error = Database::open(&path, Options::default()).unwrap_err();
    assert!(error.to_string().contains("is open already"), "{error}");
    assert!(transaction.get(&keyspace, b"k").unwrap().is_some());
    transaction.put(&keyspace, b"k", b"w").unwrap();
    let refused = transaction.commit().map(drop);
    assert!(matches!(&refused, Err(Error::Usage(text)) if text.contains("closed")), "{refused:?}");
    assert!(has(&Database::open(&path, Options::default()).unwrap(), b"k"));
}

#[test]
fn a_tree_that_no_manifest_named_is_removed_although_a_keyspace_in_memory_has_its_number() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    let open = || Database::open(&path, Options::default()).unwrap();
    let db = open();
    let number = db.keyspace("k", crate::Engine::Memory).unwrap().id;
    // What is left if the tree was made first, for a keyspace on disk, and the manifest could not be written then.
    db.inner.core.engines[1].open_keyspace(number).unwrap();
    drop(db);
    let tree = path.join(format!("disk/ks-{}", number.0));
    assert!(tree.exists());
    drop(open());
    assert!(!tree.exists());
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
    let open = || Database::open(path, Options::default());
    wait_until(open, Result::is_ok, |opened| format!("{opened:?}")).unwrap()
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

#[test]
fn snapshots_expire_while_a_checkpoint_is_due_and_a_backup_copies_the_log() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options {
        checkpoint_log_bytes: 1 << 20,
        max_snapshot_age: Some(Duration::from_secs(1)),
        ..Options::default()
    };
    let db = Database::open(directory.path().join("db"), options).unwrap();
    let keyspace = db.keyspace("k", crate::Engine::Memory).unwrap();
    let (stands, standing) = mpsc::channel();
    let (go, going) = mpsc::channel::<()>();
    let (db, going, copy) = (&db, Mutex::new(going), directory.path().join("copy"));
    let until = |is_so: &dyn Fn() -> bool| {
        wait_until(is_so, |so| *so, |_| "it never comes".into());
    };
    std::thread::scope(|scope| {
        // A failure below drops the sender, and the backup goes on.
        let go = go;
        let backup = scope.spawn(move || {
            once_here("backup.linked", move || {
                stands.send(()).unwrap();
                let _ = going.lock().recv();
            });
            db.backup(copy)
        });
        standing.recv().unwrap();
        until(&|| {
            let mut transaction = db.begin(Isolation::Snapshot).unwrap();
            transaction.put(&keyspace, b"large", &vec![7; 2 << 20]).unwrap();
            // On a busy machine it may expire.
            transaction.commit().is_ok_and(|commit| commit.wait().is_ok())
        });
        let before = db.state().expired;
        let old = db.begin(Isolation::Snapshot).unwrap();
        until(&|| db.state().expired > before);
        assert_eq!(db.state().checkpoints.done, 0);
        drop(old);
        go.send(()).unwrap();
        backup.join().unwrap().unwrap();
        until(&|| db.state().checkpoints.done > 0);
    });
}

#[test]
fn a_checkpoint_in_the_background_keeps_to_the_limit_and_one_that_somebody_waits_for_does_not() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options {
        checkpoint_log_bytes: 1 << 20,
        background_bytes_per_second: Some(1 << 20),
        ..Options::default()
    };
    let db = Database::open(directory.path().join("db"), options).unwrap();
    let keyspace = db.keyspace("k", crate::Engine::Memory).unwrap();
    // Enough log for a checkpoint, and less than makes it late.
    let mut transaction = db.begin(Isolation::Snapshot).unwrap();
    transaction.put(&keyspace, b"large", &vec![7; 5 << 18]).unwrap();
    transaction.commit().unwrap().wait().unwrap();
    wait_until(|| db.state().checkpoints, |state| state.done > 0, |state| format!("{state:?}"));
    let first = db.state().background;
    assert!(first.checkpoint_bytes > 5 << 18 && first.paused > Duration::ZERO, "{first:?}");
    assert_eq!(first.unlimited_bytes, 0);
    db.checkpoint().unwrap();
    let both = db.state().background;
    assert_eq!(both.checkpoint_bytes, 2 * first.checkpoint_bytes);
    assert_eq!((both.unlimited_bytes, both.paused), (first.checkpoint_bytes, first.paused));
}

/// A checkpoint of a large table takes long, and one on a slow disk too.
#[test]
fn garbage_is_collected_and_snapshots_expire_while_a_checkpoint_waits() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options { max_snapshot_age: Some(Duration::from_secs(1)), ..with_checkpoints() };
    let db = Database::open(directory.path().join("db"), options).unwrap();
    let (go, going) = mpsc::channel::<()>();
    let going = Mutex::new(going);
    begin_a_checkpoint_that(&db, "checkpoint.before_sync", move || {
        let _ = going.lock().recv();
    });
    // Nobody commits from here on, so no commit collects.
    let old = db.begin(Isolation::Snapshot).unwrap();
    let is_old = |running: &RunningTransaction| running.number == old.number() && running.expired;
    wait_until(
        || db.state().running,
        |running| running.iter().any(is_old),
        |running| format!("it waits for the checkpoint: {running:?}"),
    );
    assert_eq!(db.state().checkpoints.done, 0);
    drop(old);
    go.send(()).unwrap();
}

pub(super) fn set_next_number(path: &Path, next: u32) {
    let manifest = Manifest::read(&RealFiles, path).unwrap().unwrap();
    Manifest { next_keyspace: next, ..manifest }.write(&RealFiles, path).unwrap();
}

/// Otherwise a database would end after a million changes of its tables.
#[test]
fn numbers_of_dropped_keyspaces_are_used_again_once_the_log_has_none_of_their_rows() {
    use crate::Engine::{Disk, Memory};
    let directory = tempfile::tempdir().unwrap();
    let [path, crashed, again] = ["db", "crashed", "again"].map(|name| directory.path().join(name));
    let fill = |db: &Database, keyspace: &Keyspace, value: &[u8]| {
        let mut transaction = db.begin(Isolation::Snapshot).unwrap();
        for n in 0..10_u8 {
            transaction.put(keyspace, &[n], value).unwrap();
        }
        transaction.commit().unwrap().wait().unwrap();
    };
    let db = Database::open(&path, Options::default()).unwrap();
    let kept = db.keyspace("kept", Memory).unwrap();
    // Two that are dropped after a checkpoint: one has rows in it, and the other one in files that the manifest knows.
    let [first, second] = [("first", Memory), ("second", Disk)].map(|(name, engine)| {
        let keyspace = db.keyspace(name, engine).unwrap();
        fill(&db, &keyspace, b"old");
        keyspace.id.0
    });
    db.checkpoint().unwrap();
    fill(&db, &kept, b"kept");
    // One whose rows are in the log.
    let third = db.keyspace("third", Memory).unwrap();
    fill(&db, &third, b"old");
    for name in ["first", "second", "third"] {
        db.drop_keyspace(name).unwrap();
    }
    assert_eq!((kept.id.0, first, second, third.id.0), (1, 2, 3, 4));
    // As a crash at this moment would leave it: the manifest still has the states of all trees.
    copy_directory(&path, &crashed);
    drop(db);
    let path = crashed;
    set_next_number(&path, crate::keyspaces::ROOM - 1);
    let open = || Database::open(&path, Options::default()).unwrap();
    let db = open();
    let number = |name: &str, engine| {
        let keyspace = db.keyspace(name, engine).unwrap();
        fill(&db, &keyspace, b"new");
        keyspace.id.0
    };
    assert_eq!(number("last", Memory), crate::keyspaces::ROOM - 1);
    assert_eq!((number("a", Disk), number("b", Disk)), (second, 5), "a row has the other numbers");
    copy_directory(&path, &again);
    let left = Database::open(&again, Options::default()).unwrap();
    let a = left.keyspace("a", Disk).unwrap();
    assert_eq!(left.begin(Isolation::Snapshot).unwrap().get(&a, &[9]).unwrap().as_deref(), Some(&b"new"[..]));
    drop(left);
    db.drop_keyspace("b").unwrap();
    assert_eq!(number("c", Memory), 6, "the log has rows of number 5");
    db.checkpoint().unwrap();
    drop(db);
    for round in 0..2 {
        let db = open();
        let number = |name: &str, engine| db.keyspace(name, engine).unwrap().id.0;
        let expected = if round == 0 { (first, third.id.0, 5) } else { (7, 8, 9) };
        let names = [1, 2, 3].map(|n| format!("new {round} {n}"));
        assert_eq!((number(&names[0], Disk), number(&names[1], Disk), number(&names[2], Memory)), expected);
        for (name, engine, value) in [
            ("kept", Memory, &b"kept"[..]),
            ("last", Memory, b"new"),
            ("a", Disk, b"new"),
            ("c", Memory, b"new"),
        ] {
            let keyspace = db.keyspace(name, engine).unwrap();
            let mut transaction = db.begin(Isolation::Snapshot).unwrap();
            assert_eq!(transaction.get(&keyspace, &[9]).unwrap().as_deref(), Some(value), "{name}");
        }
        let mut transaction = db.begin(Isolation::Snapshot).unwrap();
        let emptied = db.keyspace("new 0 1", Disk).unwrap();
        assert_eq!(transaction.get(&emptied, &[9]).unwrap(), None);
        drop((transaction, db));
        let report = crate::check(&path).unwrap();
        assert!(report.is_good(), "{report}");
    }
}

/// Cuts the power before each step of the first opening of a backup, and once more before each step of the next one.
#[test]
fn a_backup_whose_first_opening_is_interrupted_anywhere_opens_with_all_rows() {
    let directory = tempfile::tempdir().unwrap();
    for log in [LogMode::Shared, LogMode::PerEngine] {
        let [path, copy] = ["db", "copy"].map(|name| directory.path().join(format!("{name} {log:?}")));
        let files = FaultyFiles::default();
        let options = || Options { log, ..Options::default() };
        let open =
            |files: &FaultyFiles, path: &Path| Database::open_with(Arc::new(files.clone()), path, options());
        let db = open(&files, &path).unwrap();
        put(&db, b"first");
        db.checkpoint().unwrap();
        put(&db, b"second");
        db.backup(&copy).unwrap();
        drop(db);
        let whole = files.power_cut(0);
        let incarnation = |files: &FaultyFiles| Manifest::read(files, &copy).unwrap().unwrap().incarnation;
        let has_all = |db: &Database, files: &FaultyFiles| {
            assert!(has(db, b"first") && has(db, b"second"));
            assert_ne!(incarnation(files), 0);
            put(db, b"third");
        };
        let mut steps = 0;
        for nth in 1.. {
            let first = whole.power_cut(0);
            first.cut_power(nth, nth);
            drop(open(&first, &copy));
            let Some(left) = first.image() else { break };
            steps += 1;
            for again in 1.. {
                let second = left.power_cut(0);
                second.cut_power(again, nth + again);
                drop(open(&second, &copy));
                let Some(left) = second.image() else { break };
                let db = open(&left, &copy).unwrap();
                has_all(&db, &left);
                drop(db);
                let now = incarnation(&left);
                let db = open(&left, &copy).unwrap();
                assert!(has(&db, b"third"));
                assert_eq!(incarnation(&left), now, "a database in use becomes another incarnation");
            }
        }
        assert!(steps > 5, "{steps}");
        let db = open(&whole, &copy).unwrap();
        has_all(&db, &whole);
        assert_eq!(Manifest::read(&whole, &copy).unwrap().unwrap().inherited.len(), 1);
        db.checkpoint().unwrap();
        put(&db, b"third");
        db.checkpoint().unwrap();
        assert_eq!(Manifest::read(&whole, &copy).unwrap().unwrap().inherited, []);
        drop(db);
        assert!(has(&open(&whole, &copy).unwrap(), b"third"));
    }
}
