//! `gemel check`: its output for good, damaged and unreachable databases.

#![expect(clippy::unwrap_used, reason = "a test ends where something is not as it should be")]

use gemel::row::{ColumnType, Schema, Value};
use gemel::{Database, Engine, Error, Isolation, LogMode, Options, PartKind};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Makes a shop with two tables, an index and a keyspace, all of it in files as well as in the log.
fn shop(path: &Path, log: LogMode) {
    let db = Database::open(path, Options { log, ..Options::default() }).unwrap();
    let stock = Schema::new().column("article", ColumnType::Text).column("left", ColumnType::I64);
    let stock = db.create_table("stock", Engine::Memory, stock.primary_key(["article"])).unwrap();
    let orders = Schema::new().column("number", ColumnType::I64).column("article", ColumnType::Text);
    let orders = orders.primary_key(["number"]).index("by_article", ["article"]);
    let orders = db.create_table("orders", Engine::Disk, orders).unwrap();
    let notes = db.keyspace("notes", Engine::Disk).unwrap();
    let mut transaction = db.begin(Isolation::Snapshot).unwrap();
    stock.insert(&mut transaction, &["ring".into(), Value::Int(9)]).unwrap();
    for number in 0..1000 {
        orders.insert(&mut transaction, &[Value::Int(number), "ring".into()]).unwrap();
    }
    transaction.put(&notes, b"note", b"a note").unwrap();
    transaction.commit().unwrap().wait().unwrap();
    db.checkpoint().unwrap();
    let mut transaction = db.begin(Isolation::Snapshot).unwrap();
    stock.upsert(&mut transaction, &["ring".into(), Value::Int(8)]).unwrap();
    transaction.commit().unwrap().wait().unwrap();
}

/// Runs `gemel` with these arguments. Returns its exit code and its output.
fn gemel(arguments: &[&str]) -> (i32, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_gemel")).args(arguments).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found
}

#[test]
fn a_good_database_is_listed_part_by_part_whatever_its_log_mode() {
    for log in [LogMode::Shared, LogMode::PerEngine] {
        let directory = tempfile::tempdir().unwrap();
        shop(directory.path(), log);
        let report = gemel::check(directory.path()).unwrap();
        assert!(report.is_good(), "{report}");
        assert_eq!(report.log, log);
        assert_eq!((report.recovered.checkpoint_rows, report.recovered.records), (1, 1));
        let parts: Vec<_> = report.parts.iter().map(|part| (&*part.name, part.kind, part.rows)).collect();
        let expected = [
            ("stock", PartKind::Table, 1),
            ("orders", PartKind::Table, 1000),
            ("orders.by_article", PartKind::Index, 1000),
            ("notes", PartKind::Keyspace, 1),
        ];
        assert_eq!(parts, expected);
        assert_eq!((report.parts[3].bytes, report.parts[3].engine), (10, Engine::Disk));
        let (code, out, err) = gemel(&["check", directory.path().to_str().unwrap()]);
        assert_eq!((code, &*err), (0, ""), "{out}");
        assert!(out.contains("orders.by_article  index     disk    1000"), "{out}");
        assert!(out.ends_with("all 4 parts are good\n"), "{out}");
    }
}

#[test]
fn a_damaged_block_is_found_and_the_other_parts_are_read_all_the_same() {
    let directory = tempfile::tempdir().unwrap();
    shop(directory.path(), LogMode::Shared);
    // Keyspace 2 is the rows of the orders. Their file begins with the blocks of data.
    let tables = files(&directory.path().join("disk/ks-2/tables"));
    assert_eq!(tables.len(), 1, "{tables:?}");
    let mut content = fs::read(&tables[0]).unwrap();
    content[100] ^= 1;
    fs::write(&tables[0], content).unwrap();
    let report = gemel::check(directory.path()).unwrap();
    let damaged: Vec<_> = report.faults().map(|part| &*part.name).collect();
    assert_eq!(damaged, ["orders"], "{report}");
    assert_eq!(report.parts[2].rows, 1000);
    let (code, out, err) = gemel(&["check", directory.path().to_str().unwrap()]);
    assert_eq!((code, &*err), (1, ""), "{out}");
    assert!(out.contains("DAMAGED") && out.contains("1 of 4 parts are damaged"), "{out}");
    assert!(out.contains("ks-2"), "{out}");
}

#[test]
fn damage_that_keeps_a_database_from_opening_is_damage_too() {
    let directory = tempfile::tempdir().unwrap();
    shop(directory.path(), LogMode::Shared);
    let is_checkpoint = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "gmc");
    let checkpoint = files(directory.path()).into_iter().find(is_checkpoint).unwrap();
    let mut content = fs::read(&checkpoint).unwrap();
    let middle = content.len() / 2;
    content[middle] ^= 1;
    fs::write(&checkpoint, content).unwrap();
    let (code, out, err) = gemel(&["check", directory.path().to_str().unwrap()]);
    assert_eq!((code, &*out), (1, ""), "{err}");
    assert!(err.contains(checkpoint.to_str().unwrap()) && err.contains("backup"), "{err}");
}

#[test]
fn a_path_without_a_database_is_rejected_and_nothing_is_made() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("nothing");
    let (code, out, err) = gemel(&["check", path.to_str().unwrap()]);
    assert_eq!((code, &*out, err.lines().count()), (3, "", 1), "{err}");
    assert!(err.contains("no Gemel database"), "{err}");
    assert!(!path.exists());
}

#[test]
fn wrong_usage_shows_the_help() {
    for arguments in [&[][..], &["check"], &["verify", "x"], &["check", "x", "y"]] {
        let (code, out, err) = gemel(arguments);
        assert_eq!((code, &*out), (2, ""), "{arguments:?}");
        assert!(err.contains("gemel check PATH"), "{err}");
    }
    for arguments in [&["--help"][..], &["check", "-h"]] {
        let (code, out, err) = gemel(arguments);
        assert_eq!((code, &*err), (0, ""), "{arguments:?}");
        assert!(out.contains("Exit codes"), "{out}");
    }
}

/// Returns the bytes of the database as `check` counts them, or none if it finds damage.
fn found(path: &Path) -> Option<Vec<(u64, u64)>> {
    match gemel::check(path) {
        Ok(report) if report.is_good() => {
            Some(report.parts.iter().map(|part| (part.rows, part.bytes)).collect())
        }
        Ok(_) | Err(Error::Corruption { .. } | Error::Usage(_)) => None,
        Err(error) => panic!("{error:?}"),
    }
}

/// The files of a database, to be restored after each damage.
struct Image(Vec<(PathBuf, Vec<u8>)>);

impl Image {
    fn of(directory: &Path) -> Self {
        let read = |path: PathBuf| (path.clone(), fs::read(path).unwrap());
        Self(files(directory).into_iter().map(read).collect())
    }

    /// Undoes the damage, and everything that opening cut, wrote or removed.
    fn restore(&self, directory: &Path) {
        for path in files(directory) {
            if !self.0.iter().any(|(known, _)| *known == path) {
                fs::remove_file(path).unwrap();
            }
        }
        for (path, content) in &self.0 {
            if fs::read(path).ok().as_ref() != Some(content) {
                fs::write(path, content).unwrap();
            }
        }
    }
}

#[test]
fn a_changed_byte_anywhere_is_found_or_changes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    shop(directory.path(), LogMode::PerEngine);
    let whole = found(directory.path()).unwrap();
    let image = Image::of(directory.path());
    let (mut tried, mut noticed) = (0, 0);
    for (path, content) in &image.0 {
        let from_the_end = (1..=8).map(|back| content.len().wrapping_sub(back * back));
        for at in [0, 1, 7, 16, 40, 70, 90, 200, 1000, 5000].into_iter().chain(from_the_end) {
            let mut changed = content.clone();
            let Some(byte) = changed.get_mut(at) else { continue };
            *byte ^= 0x41;
            fs::write(path, changed).unwrap();
            tried += 1;
            match found(directory.path()) {
                None => noticed += 1,
                Some(now) => assert_eq!(now, whole, "{} byte {at} of {}", path.display(), content.len()),
            }
            image.restore(directory.path());
        }
    }
    assert!(noticed * 10 > tried * 8, "{noticed} of {tried}");
    assert_eq!(found(directory.path()).unwrap(), whole);
}

#[test]
fn a_file_that_is_missing_or_cut_short_is_found_unless_it_is_the_end_of_a_log() {
    let directory = tempfile::tempdir().unwrap();
    shop(directory.path(), LogMode::Shared);
    let whole = found(directory.path()).unwrap();
    let image = Image::of(directory.path());
    for (path, content) in &image.0 {
        let name = path.strip_prefix(directory.path()).unwrap().display().to_string();
        for keep in [None, Some(0), Some(content.len() / 2), Some(content.len().saturating_sub(1))] {
            match keep {
                None => fs::remove_file(path).unwrap(),
                Some(length) => fs::write(path, &content[..length]).unwrap(),
            }
            // A log that lacks its very end can come from a crash while it was written.
            let torn = name.ends_with(".log") && keep.is_some_and(|length| length + 1 == content.len());
            assert_eq!(found(directory.path()).is_some(), torn, "{name} cut to {keep:?}");
            image.restore(directory.path());
        }
    }
    assert_eq!(found(directory.path()).unwrap(), whole);
}
