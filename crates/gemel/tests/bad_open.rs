//! Directories that can't be opened as a database, wrong options, and processes that open one database at once.

#![expect(clippy::unwrap_used, reason = "a test ends where something is not as it should be")]

mod place;

use gemel::{Database, Durability, Engine, Error, Isolation, LogMode, Options};
use place::{CHILD, assert_words, child, open, options, place, put, usage};
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Checks that a database is not opened because it is open.
#[track_caller]
fn is_open<T: std::fmt::Debug>(result: gemel::Result<T>, path: &Path) {
    match result.unwrap_err() {
        Error::AlreadyOpen(open) => assert_eq!(open, path),
        other => panic!("{other:?}"),
    }
}

fn listing(path: &Path) -> Vec<String> {
    let names = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_database_that_is_open_here_or_in_another_process_is_not_opened_again() {
    if let Some(path) = std::env::var_os(CHILD) {
        is_open(Database::open(&path, options()), Path::new(&path));
        return;
    }
    let place = place();
    let db = open(&place);
    is_open(Database::open(&place.path, options()), &place.path);
    is_open(gemel::check(&place.path), &place.path);
    assert_words(
        &gemel::check(&place.path).unwrap_err().to_string(),
        &["is open already", "close it there first"],
    );
    let test = "a_database_that_is_open_here_or_in_another_process_is_not_opened_again";
    child(&mut Command::new(std::env::current_exe().unwrap()), test, &place.path);
    let other = db.clone();
    drop(db);
    is_open(Database::open(&place.path, options()), &place.path);
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
    is_open(Database::open(&place.path, options()), &place.path);
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
                Err(Error::AlreadyOpen(_)) => std::thread::yield_now(),
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
    fs::write(place.path.join("gemel.manifest"), "gemel 8 00000000\n{\"whatever\":1}").unwrap();
    assert_words(&usage(Database::open(&place.path, options())), &["format 8", "reads formats 1 to 7"]);
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
        background_bytes_per_second: Some(0),
        prepared_limit_bytes: (512 << 20) + 1,
        checkpoint_log_bytes: 0,
        log_segment_bytes: (1 << 30) + 1,
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
            "background_bytes_per_second",
            "prepared_limit_bytes",
            "checkpoint_log_bytes",
            "log_segment_bytes",
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
    let options = Options { log_segment_bytes: 4095, ..Options::default() };
    assert_words(&usage(Database::open(&place.path, options)), &["log_segment_bytes", "4096"]);
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
            background_bytes_per_second: Some(u64::MAX),
            prepared_limit: usize::MAX,
            prepared_limit_bytes: 512 << 20,
            checkpoint_log_bytes: u64::MAX,
            log_segment_bytes: 1 << 30,
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
