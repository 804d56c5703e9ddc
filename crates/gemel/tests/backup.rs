//! Backups: under load, again and again into one directory, killed at each step, asked for by another process.

#![expect(clippy::unwrap_used, reason = "a test ends where something is not as it should be")]

mod copy;
mod scratch;
mod wait;

use copy::copy_directory;
use gemel::{Database, Direction, Engine, Error, Isolation, LogMode, Options};
use scratch::directory;
use std::collections::BTreeMap;
use std::fs;
use std::ops::{Bound, ControlFlow};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use wait::wait_until;

const WRITERS: usize = 3;
const MODES: [LogMode; 2] = [LogMode::Shared, LogMode::PerEngine];

fn open(path: &Path, log: LogMode) -> Database {
    let options = Options { log, cache_bytes: 1 << 20, write_buffer_bytes: 1 << 16, ..Options::default() };
    Database::open(path, options).unwrap()
}

/// Commits a key to both engines, and one more key to the disk engine that stays.
fn commit(db: &Database, key: &str, n: u64) -> gemel::Ticket {
    let [hot, cold] = [("hot", Engine::Memory), ("cold", Engine::Disk)]
        .map(|(name, engine)| db.keyspace(name, engine).unwrap());
    let mut transaction = db.begin(Isolation::Snapshot).unwrap();
    transaction.put(&hot, key.as_bytes(), &n.to_be_bytes()).unwrap();
    transaction.put(&cold, key.as_bytes(), &n.to_be_bytes()).unwrap();
    transaction.put(&cold, format!("{key}/{n:08}").as_bytes(), &[7; 500]).unwrap();
    transaction.commit().unwrap()
}

type Rows = BTreeMap<Vec<u8>, Vec<u8>>;

fn rows(db: &Database) -> [Rows; 2] {
    let mut transaction = db.begin(Isolation::Snapshot).unwrap();
    [("hot", Engine::Memory), ("cold", Engine::Disk)].map(|(name, engine)| {
        let keyspace = db.keyspace(name, engine).unwrap();
        let mut rows = Rows::new();
        let all = (Bound::Unbounded, Bound::Unbounded);
        transaction
            .scan(&keyspace, all.0, all.1, Direction::Forward, |key, value| {
                rows.insert(key.to_vec(), value.to_vec());
                ControlFlow::Continue(())
            })
            .unwrap();
        rows
    })
}

/// Opens a copy, and returns its rows. Checks it before.
fn rows_in(path: &Path) -> [Rows; 2] {
    let report = gemel::check(path).unwrap();
    assert!(report.is_good(), "{report}");
    assert_eq!(report.recovered.cut_records, 0);
    rows(&Database::open_existing(path, Options::default()).unwrap())
}

fn names(path: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Checks that the copy has for each writer a prefix of its commits, each of them whole, and those acknowledged before.
fn has_prefixes(path: &Path, acknowledged: &[u64]) {
    let [hot, cold] = rows_in(path);
    let mut count = 0;
    for (writer, acknowledged) in acknowledged.iter().enumerate() {
        let key = writer.to_string();
        assert_eq!(hot[key.as_bytes()], cold[key.as_bytes()], "writer {writer} is there in part");
        let n = u64::from_be_bytes(hot[key.as_bytes()].as_slice().try_into().unwrap());
        assert!(n >= *acknowledged, "writer {writer}: {n} of {acknowledged}");
        assert!((1..=n).all(|n| cold.contains_key(format!("{key}/{n:08}").as_bytes())), "a hole");
        count += n as usize + 1;
    }
    assert_eq!(cold.len(), count, "something from after the end");
}

#[test]
fn a_backup_under_load_has_whole_commits_and_all_that_were_acknowledged_before() {
    for log in MODES {
        let directory = directory();
        let [path, copy, other] = ["db", "copy", "other"].map(|name| directory.path().join(name));
        let db = open(&path, log);
        let (stop, done) = (AtomicBool::new(false), [const { AtomicU64::new(0) }; WRITERS]);
        let acknowledged = || done.each_ref().map(|done| done.load(Ordering::SeqCst));
        let taken = std::thread::scope(|scope| {
            for (writer, done) in done.iter().enumerate() {
                let (db, stop) = (&db, &stop);
                scope.spawn(move || {
                    for n in 1.. {
                        let ticket = commit(db, &writer.to_string(), n);
                        if n % 8 == 0 {
                            ticket.wait().unwrap();
                            done.store(n, Ordering::SeqCst);
                        }
                        if stop.load(Ordering::SeqCst) {
                            break;
                        }
                    }
                });
            }
            let until = |flushes| {
                let progress = || (db.state().disk.flushes, acknowledged());
                let is_enough = |(flushed, acknowledged): &(u64, [u64; WRITERS])| {
                    *flushed >= flushes && !acknowledged.contains(&0)
                };
                wait_until(progress, is_enough, |progress| {
                    // Otherwise the writers would go on for ever.
                    stop.store(true, Ordering::SeqCst);
                    format!("of flushes and commits, only {progress:?} come")
                });
            };
            let mut taken = Vec::new();
            for (to, flushes) in [(&copy, 2), (&other, 3), (&copy, 4)] {
                until(flushes);
                let before = acknowledged();
                db.backup(to).unwrap();
                if to == &other {
                    has_prefixes(to, &before);
                    db.checkpoint().unwrap();
                }
                taken.push(before);
            }
            stop.store(true, Ordering::SeqCst);
            taken
        });
        has_prefixes(&copy, &taken[2]);
        assert!(Database::foreign_entries(&path).unwrap().is_empty());
        assert!(!names(&path).contains(&"backup-links".to_owned()));
    }
}

#[test]
fn a_second_backup_copies_only_new_files_and_removes_old_ones() {
    for log in MODES {
        let directory = directory();
        let [path, copy] = ["db", "copy"].map(|name| directory.path().join(name));
        let db = open(&path, log);
        (1..200).for_each(|n| drop(commit(&db, "a", n)));
        db.checkpoint().unwrap();
        let first = db.backup(&copy).unwrap();
        assert_eq!((first.files_kept, first.bytes_kept), (0, 0));
        assert!(first.bytes_copied > 90_000, "{first}");
        assert!(gemel::check(&copy).unwrap().is_good(), "a check does not count as a change");
        let second = db.backup(&copy).unwrap();
        assert!(second.files_kept >= 2 && second.bytes_kept > 90_000, "{second}");
        // The log is copied again.
        assert!(second.bytes_copied < first.bytes_copied - 90_000, "{second}");
        (200..220).for_each(|n| drop(commit(&db, "a", n)));
        db.checkpoint().unwrap();
        let third = db.backup(&copy).unwrap();
        assert!(third.bytes_copied < first.bytes_copied, "{third}");
        assert_eq!(rows_in(&copy), rows(&db));
        assert_eq!(names(&copy).iter().filter(|name| name.ends_with(".gmc")).count(), 1);
        assert!(Database::foreign_entries(&copy).unwrap().is_empty());
    }
}

#[test]
fn keyspaces_and_an_empty_database_are_copied_too() {
    let directory = directory();
    let [path, copy] = ["db", "copy"].map(|name| directory.path().join(name));
    let db = open(&path, LogMode::Shared);
    db.backup(&copy).unwrap();
    assert!(gemel::check(&copy).unwrap().parts.is_empty());
    let expected = rows(&db);
    db.backup(&copy).unwrap();
    assert_eq!(rows_in(&copy), expected);
}

/// Calls a backup that must be rejected, and checks that nothing in the target's parent has changed.
fn is_rejected(db: &Database, to: &Path, within: &Path, says: &str) {
    // The database itself may be merging its files.
    let is_its_file = |path: &PathBuf| path.starts_with(db.path().join("disk"));
    let image =
        || image(within).into_iter().filter(|(path, _)| !is_its_file(path)).collect::<BTreeMap<_, _>>();
    let before = image();
    let error = db.backup(to).unwrap_err();
    assert!(
        matches!(error, Error::Usage(_) | Error::AlreadyOpen(_)) && error.to_string().contains(says),
        "{error}"
    );
    assert!(image() == before, "{} was changed: {error}", to.display());
}

fn image(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut image = BTreeMap::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            image.extend(self::image(&path));
            image.insert(path, Vec::new());
        } else {
            let content = fs::read(&path).unwrap();
            image.insert(path, content);
        }
    }
    image
}

#[test]
fn a_target_that_is_not_an_unchanged_backup_is_rejected_and_left_as_it_is() {
    let directory = directory();
    let root = directory.path();
    let [path, copy, foreign, file] = ["db", "copy", "foreign", "file"].map(|name| root.join(name));
    let db = open(&path, LogMode::Shared);
    commit(&db, "a", 1).wait().unwrap();
    fs::create_dir(&foreign).unwrap();
    fs::write(foreign.join("letter"), b"mine").unwrap();
    fs::write(&file, b"mine").unwrap();
    drop(open(&root.join("another"), LogMode::Shared));
    let other = open(&root.join("open"), LogMode::Shared);
    is_rejected(&db, &foreign, root, "holds letter");
    is_rejected(&db, &file, root, "not a directory");
    is_rejected(&db, &root.join("another"), root, "holds another database");
    is_rejected(&db, other.path(), root, "is open already");
    is_rejected(&db, &path, root, "own directory");
    is_rejected(&db, &path.join("backups/today"), root, "own directory");
    is_rejected(&db, &root.join("new/../db"), root, "without '..'");
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(&path, root.join("link")).unwrap();
        let to = root.join("link/inside");
        let error = db.backup(&to).unwrap_err();
        assert!(error.to_string().contains("own directory") && !to.exists(), "{error}");
        fs::remove_file(root.join("link")).unwrap();
    }
    db.backup(&copy).unwrap();
    drop(db);
    // The arguments in the wrong order.
    let swapped = Database::open_existing(&copy, Options::default()).unwrap();
    is_rejected(&swapped, &path, root, "not a backup of it");
    // The copy is used as a database of its own.
    commit(&swapped, "a", 2).wait().unwrap();
    drop(swapped);
    let db = open(&path, LogMode::Shared);
    is_rejected(&db, &copy, root, "was changed after");
}

fn logs(path: &Path) -> Vec<String> {
    names(path).into_iter().filter(|name| name.ends_with(".log")).collect()
}

#[test]
fn copies_of_one_backup_do_not_overwrite_each_others_backups() {
    for log in MODES {
        let directory = directory();
        let root = directory.path();
        let [path, first, of_one] = ["db", "first", "of one"].map(|name| root.join(name));
        let db = open(&path, log);
        commit(&db, "a", 1).wait().unwrap();
        db.backup(&first).unwrap();
        // A look at a backup is no change of it.
        assert!(gemel::check(&first).unwrap().is_good());
        drop(open(&first, log));
        let [one, two] = ["one", "two"].map(|name| {
            copy_directory(&first, &root.join(name));
            let copy = open(&root.join(name), log);
            commit(&copy, name, 1).wait().unwrap();
            copy
        });
        db.backup(&first).unwrap();
        one.backup(&of_one).unwrap();
        commit(&one, "b", 2).wait().unwrap();
        let kept = one.backup(&of_one).unwrap().files_kept;
        assert!(kept > 0 || log == LogMode::Shared);
        for (copy, to) in [(&two, &of_one), (&db, &of_one), (&one, &first), (&two, &first)] {
            is_rejected(copy, to, to, "a backup of another copy of this database");
        }
        let of_two = two.keyspace("hot", Engine::Memory).unwrap();
        let error = one.begin(Isolation::Snapshot).unwrap().get(&of_two, b"one").unwrap_err();
        assert!(error.to_string().contains("belongs to another database"), "{error}");
        let expected = rows(&one);
        drop(one);
        let one = open(&root.join("one"), log);
        one.backup(&of_one).unwrap();
        assert_eq!(rows_in(&of_one), expected);
        // A copy of a copy.
        let third = open(&of_one, log);
        commit(&third, "c", 3).wait().unwrap();
        let expected = rows(&third);
        is_rejected(&third, &first, &first, "a backup of another copy of this database");
        third.backup(root.join("of three")).unwrap();
        drop(third);
        assert_eq!(rows_in(&of_one), expected);
        assert_eq!(rows_in(&root.join("of three")), expected);
        is_rejected(&one, &of_one, &of_one, "was changed after");
    }
}

#[test]
fn a_log_of_another_copy_is_rejected() {
    for log in MODES {
        let directory = directory();
        let root = directory.path();
        let [path, first, one, two] = ["db", "first", "one", "two"].map(|name| root.join(name));
        let db = open(&path, log);
        commit(&db, "a", 1).wait().unwrap();
        db.backup(&first).unwrap();
        // The ends of all logs are the same, as far as their lengths go.
        commit(&db, "a", 2).wait().unwrap();
        for copy in [&one, &two] {
            copy_directory(&first, copy);
            commit(&open(copy, log), "a", 2).wait().unwrap();
        }
        drop(db);
        assert_eq!(logs(&one).len(), 2 * logs(&path).len(), "each copy has begun segments of its own");
        let mut tried = 0;
        for from in [&one, &path] {
            for name in logs(from) {
                let (there, mine) = (from.join(&name), two.join(&name));
                let whole = fs::read(&mine).unwrap();
                if fs::read(&there).unwrap() == whole {
                    continue;
                }
                fs::copy(there, &mine).unwrap();
                let error = Database::open_existing(&two, Options::default()).unwrap_err();
                assert!(
                    matches!(&error, Error::Corruption { path, .. } if *path == mine)
                        && error.to_string().contains("from another copy of the database"),
                    "{error}"
                );
                fs::write(&mine, whole).unwrap();
                tried += 1;
            }
        }
        assert_eq!(tried, 2 * logs(&path).len());
        assert_eq!(rows_in(&two), rows_in(&one));
    }
}

/// Nothing distinguishes such a copy, until one of the two has more commits.
#[test]
fn a_plain_copy_that_went_another_way_takes_no_files_of_the_other_way() {
    let tables = |path: &Path| {
        let tables = image(&path.join("disk/ks-2/tables")).into_iter();
        tables
            .map(|(path, content)| (path.file_name().unwrap().to_owned(), content.len()))
            .collect::<Vec<_>>()
    };
    let went = |path: &Path, value| {
        let db = Database::open(path, Options::default()).unwrap();
        let cold = db.keyspace("cold", Engine::Disk).unwrap();
        let mut transaction = db.begin(Isolation::Snapshot).unwrap();
        (0..100_u8).for_each(|n| transaction.put(&cold, &[n], &[value; 50]).unwrap());
        transaction.commit().unwrap().wait().unwrap();
        db.checkpoint().unwrap();
        db
    };
    for attempt in 0.. {
        let directory = directory();
        let [path, copy, one, two] = ["db", "copy", "one", "two"].map(|name| directory.path().join(name));
        let db = open(&path, LogMode::Shared);
        commit(&db, "a", 1).wait().unwrap();
        drop(db);
        copy_directory(&path, &one);
        copy_directory(&path, &two);
        went(&one, 7).backup(&copy).unwrap();
        let db = went(&two, 8);
        if tables(&two) != tables(&copy) {
            // Files of the tree's crate differ in length now and then, although their rows don't.
            assert!(attempt < 50);
            continue;
        }
        db.backup(&copy).unwrap();
        assert_eq!(rows_in(&copy), rows(&db));
        drop(db);
        let db = open(&one, LogMode::Shared);
        db.backup(&copy).unwrap();
        commit(&db, "a", 2).wait().unwrap();
        db.backup(&copy).unwrap();
        drop(db);
        is_rejected(&open(&two, LogMode::Shared), &copy, &copy, "a backup of a later state");
        return;
    }
}

/// Changes a byte of a data file. Returns the file's path, and its content before.
fn with_another_byte(path: &Path) -> (PathBuf, Vec<u8>) {
    let table = fs::read_dir(path.join("disk/ks-2/tables")).unwrap().next().unwrap().unwrap().path();
    let whole = fs::read(&table).unwrap();
    let mut changed = whole.clone();
    changed[50] ^= 1;
    fs::write(&table, changed).unwrap();
    (table, whole)
}

#[test]
fn a_damaged_file_is_not_backed_up_and_the_earlier_backup_stays() {
    let directory = directory();
    let [path, copy] = ["db", "copy"].map(|name| directory.path().join(name));
    let db = open(&path, LogMode::Shared);
    commit(&db, "a", 1).wait().unwrap();
    db.backup(&copy).unwrap();
    let before = rows(&db);
    commit(&db, "a", 2).wait().unwrap();
    db.checkpoint().unwrap();
    let (table, _) = with_another_byte(&path);
    let error = db.backup(&copy).unwrap_err();
    assert!(matches!(&error, Error::Corruption { path, .. } if *path == table), "{error}");
    assert_eq!(rows_in(&copy), before);
}

/// Nobody reads a backup until it is needed.
#[test]
fn a_file_of_a_backup_that_was_damaged_is_copied_again() {
    let directory = directory();
    let [path, copy] = ["db", "copy"].map(|name| directory.path().join(name));
    let db = open(&path, LogMode::Shared);
    commit(&db, "a", 1).wait().unwrap();
    db.checkpoint().unwrap();
    db.backup(&copy).unwrap();
    let (table, whole) = with_another_byte(&copy);
    let name = format!("tables/{}", table.file_name().unwrap().display());
    let report = gemel::check(&copy).unwrap();
    assert!(!report.is_good() && report.to_string().contains(&name), "the check names no file: {report}");
    db.backup(&copy).unwrap();
    assert_eq!(fs::read(&table).unwrap(), whole);
    assert!(gemel::check(&copy).unwrap().is_good());
}

fn gemel(arguments: &[&Path], fail_point: Option<&str>) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gemel"));
    command.arg("backup").args(arguments);
    if let Some(place) = fail_point {
        command.env("GEMEL_FAIL_POINT", place);
    }
    command.output().unwrap()
}

#[test]
fn a_killed_backup_leaves_the_earlier_backup_or_the_new_one_and_can_be_repeated() {
    let places = [
        ("backup.linked", false),
        ("backup.copied_logs", false),
        ("backup.before_record", false),
        ("backup.staged", true),
        ("backup.moved", true),
        ("backup.moved:3", true),
        ("backup.before_removal", true),
        ("backup.before_end", true),
    ];
    for (index, (place, is_new)) in places.into_iter().enumerate() {
        let directory = directory();
        let [path, copy, fresh] = ["db", "copy", "fresh"].map(|name| directory.path().join(name));
        let db = open(&path, MODES[index % 2]);
        commit(&db, "a", 1).wait().unwrap();
        db.checkpoint().unwrap();
        db.backup(&copy).unwrap();
        let old = rows(&db);
        commit(&db, "b", 2).wait().unwrap();
        db.checkpoint().unwrap();
        commit(&db, "b", 3).wait().unwrap();
        let new = rows(&db);
        drop(db);
        for to in [&copy, &fresh] {
            let killed = gemel(&[&path, to], Some(place));
            assert_eq!(killed.status.code(), None, "{place}: {killed:?}");
        }
        assert_eq!(rows_in(&copy), if is_new { new.clone() } else { old }, "{place}");
        if is_new {
            assert_eq!(rows_in(&fresh), new, "{place}");
        } else {
            let error = gemel::check(&fresh).unwrap_err();
            assert!(error.to_string().contains("run the backup again"), "{place}: {error}");
            assert!(Database::open(&fresh, Options::default()).is_err(), "{place}");
        }
        // The second time without another process's help: the last one may have moved the files.
        for to in [&copy, &fresh] {
            let killed = gemel(&[&path, to], Some(place));
            assert_eq!(killed.status.code(), None, "{place}: {killed:?}");
            let done = gemel(&[&path, to], None);
            assert_eq!(done.status.code(), Some(0), "{place}: {done:?}");
            assert_eq!(rows_in(to), new, "{place}");
            assert!(!to.join("backup-new").exists(), "{place}");
        }
        drop(open(&path, MODES[index % 2]));
        assert!(!path.join("backup-links").exists(), "{place}");
    }
}

#[test]
fn the_tool_backs_up_a_database_that_is_closed_or_open_in_another_process() {
    let directory = directory();
    let [path, copy, other] = ["db", "copy", "other"].map(|name| directory.path().join(name));
    let db = open(&path, LogMode::Shared);
    commit(&db, "a", 1).wait().unwrap();
    let output = gemel(&[&path, &copy], None);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(String::from_utf8(output.stderr).unwrap().contains("has the database open"));
    assert!(String::from_utf8(output.stdout).unwrap().contains("bytes copied"));
    let output = gemel(&[&path, &path], None);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    assert!(String::from_utf8(output.stderr).unwrap().contains("own directory"));
    assert_eq!(names(&path), ["disk", "gemel.manifest", "log-0000000000000000.log"]);
    let expected = rows(&db);
    drop(db);
    let output = gemel(&[&path, &other], None);
    assert_eq!((output.status.code(), &*output.stderr), (Some(0), &b""[..]), "{output:?}");
    assert_eq!((rows_in(&copy), rows_in(&other)), (expected.clone(), expected));
}

#[test]
fn a_request_that_nobody_waits_for_is_removed_and_not_followed() {
    let directory = directory();
    let [path, copy] = ["db", "copy"].map(|name| directory.path().join(name));
    drop(open(&path, LogMode::Shared));
    let request = format!("{{\"number\":1,\"target\":{:?}}}", copy.to_str().unwrap());
    let leave = || {
        fs::write(path.join("backup-answer"), b"cut").unwrap();
        fs::write(path.join("backup-request"), &request).unwrap();
    };
    leave();
    assert!(Database::foreign_entries(&path).unwrap().is_empty());
    let db = open(&path, LogMode::Shared);
    assert!(!path.join("backup-request").exists() && !path.join("backup-answer").exists());
    leave();
    let left = || ["backup-request", "backup-answer"].map(|name| path.join(name).exists());
    wait_until(left, |left| *left == [false; 2], |left| format!("request and answer stay: {left:?}"));
    drop(db);
    assert!(!copy.exists());
}

/// What another user wrote must not make this process write where that user may not.
#[test]
#[cfg(unix)]
fn a_request_that_others_can_write_is_rejected() {
    use std::os::unix::fs::PermissionsExt;
    let directory = directory();
    let [path, copy] = ["db", "copy"].map(|name| directory.path().join(name));
    let db = open(&path, LogMode::Shared);
    let waits = fs::File::open(path.join("disk")).unwrap();
    waits.lock().unwrap();
    let request = format!("{{\"number\":1,\"target\":{:?}}}", copy.to_str().unwrap());
    let new = path.join("backup-request.new");
    fs::write(&new, request).unwrap();
    fs::set_permissions(&new, fs::Permissions::from_mode(0o666)).unwrap();
    fs::rename(&new, path.join("backup-request")).unwrap();
    wait_until(|| path.join("backup-answer").exists(), |is_there| *is_there, |_| "no answer comes".into());
    let answer = fs::read_to_string(path.join("backup-answer")).unwrap();
    assert!(answer.contains("not from the owner"), "{answer}");
    assert_eq!(fs::metadata(path.join("backup-answer")).unwrap().permissions().mode() & 0o777, 0o600);
    drop(db);
    assert!(!copy.exists());
}
