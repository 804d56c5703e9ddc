//! `gemel check`: its output for good, damaged and unreachable databases.

#![expect(clippy::unwrap_used, reason = "a test ends where something is not as it should be")]

mod copy;

use copy::copy_directory;
use gemel::row::{ColumnType, Schema, Value};
use gemel::{Database, Durability, Engine, Error, Isolation, LogMode, Options, PartKind};
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

/// Each block of such a file is good, so reading it finds nothing.
#[test]
fn a_table_file_with_the_content_of_another_one_is_found() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    {
        let db = Database::open(&path, Options::default()).unwrap();
        for name in ["one", "two"] {
            let keyspace = db.keyspace(name, Engine::Disk).unwrap();
            let mut transaction = db.begin(Isolation::Snapshot).unwrap();
            transaction.put(&keyspace, b"key", name.as_bytes()).unwrap();
            transaction.commit().unwrap().wait().unwrap();
        }
        db.checkpoint().unwrap();
        db.close().unwrap();
    }
    assert!(gemel::check(&path).unwrap().is_good());
    let mut tables = files(&path.join("disk"));
    tables.retain(|file| file.parent().unwrap().ends_with("tables"));
    tables.sort();
    let [one, two] = &tables[..] else { panic!("{tables:?}") };
    fs::copy(one, two).unwrap();
    let report = gemel::check(&path).unwrap();
    let faults: Vec<_> = report.faults().map(|part| &*part.name).collect();
    assert_eq!(faults, ["two"], "{report}");
    assert!(report.to_string().contains("it does not have the checksum that the list says"), "{report}");
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
fn wrong_usage_is_one_line_that_shows_the_right_one() {
    for arguments in [&[][..], &["check"], &["verify", "x"], &["check", "x", "y"]] {
        let (code, out, err) = gemel(arguments);
        assert_eq!((code, &*out, err.lines().count()), (2, "", 1), "{arguments:?}");
        let shown = if arguments.first() == Some(&"check") { "gemel check PATH" } else { "gemel --help" };
        assert!(err.contains(shown) && err.contains("check"), "{err}");
    }
    for arguments in [&["--help"][..], &["check", "-h"]] {
        let (code, out, err) = gemel(arguments);
        assert_eq!((code, &*err), (0, ""), "{arguments:?}");
        assert!(out.contains("Exit codes"), "{out}");
    }
    let version = format!("gemel {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(gemel(&["--version"]), (0, version, String::new()));
}

#[test]
fn the_page_of_the_manual_has_every_command_of_the_help() {
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/gemel.1")).unwrap().replace('\\', "");
    let (_, help, _) = gemel(&["--help"]);
    let commands: Vec<&str> =
        help.lines().filter_map(|line| line.strip_prefix("gemel ")?.split(' ').next()).collect();
    assert!(commands.len() >= 10, "{help}");
    for command in commands {
        assert!(page.contains(&format!(".B gemel {command}")), "{command}");
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
fn a_file_of_a_closed_database_that_is_missing_or_cut_short_is_found() {
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
            assert_eq!(found(directory.path()), None, "{name} cut to {keep:?}");
            image.restore(directory.path());
        }
    }
    assert_eq!(found(directory.path()).unwrap(), whole);
}

/// Returns the segments of a database's logs.
fn segments(directory: &Path) -> Vec<PathBuf> {
    let mut found = files(directory);
    found.retain(|path| path.extension().is_some_and(|extension| extension == "log"));
    found
}

#[track_caller]
fn assert_corrupt(path: &Path, words: &[&str]) {
    let error = Database::open_existing(path, Options::default()).unwrap_err();
    let Error::Corruption { .. } = error else { panic!("{error:?}") };
    let (code, _, said) = gemel(&["check", path.to_str().unwrap()]);
    assert_eq!(code, 1, "{said}");
    for text in [error.to_string(), said] {
        for word in words {
            assert!(text.contains(word), "{word:?} is not in {text:?}");
        }
    }
}

#[test]
fn a_log_that_ends_before_the_database_was_closed_is_found() {
    for log in [LogMode::Shared, LogMode::PerEngine] {
        let directory = tempfile::tempdir().unwrap();
        shop(directory.path(), log);
        let whole = found(directory.path()).unwrap();
        let image = Image::of(directory.path());
        for path in segments(directory.path()) {
            let content = fs::read(&path).unwrap();
            for part in 1..7 {
                fs::write(&path, &content[..64 + (content.len() - 64) * part / 7]).unwrap();
                assert_eq!(found(directory.path()), None, "{part} of 7 parts are left");
                image.restore(directory.path());
            }
            fs::write(&path, &content[..content.len() - 1]).unwrap();
            assert_corrupt(directory.path(), &["log", "closed at", "backup"]);
            image.restore(directory.path());
        }
        assert_eq!(found(directory.path()).unwrap(), whole);
    }
}

#[test]
fn damage_at_the_end_of_a_closed_log_without_syncs_is_found() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options { durability: Durability::None, ..Options::default() };
    let db = Database::open(directory.path(), options).unwrap();
    let notes = db.keyspace("notes", Engine::Memory).unwrap();
    for note in 0..3_u8 {
        let mut transaction = db.begin(Isolation::Snapshot).unwrap();
        transaction.put(&notes, &[note], b"a note").unwrap();
        transaction.commit().unwrap().wait().unwrap();
    }
    drop(db);
    gemel::check(directory.path()).unwrap();
    let image = Image::of(directory.path());
    let segment = &segments(directory.path())[0];
    let content = fs::read(segment).unwrap();
    for at in (64..content.len()).step_by(7) {
        let mut changed = content.clone();
        changed[at] ^= 1;
        fs::write(segment, changed).unwrap();
        assert_eq!(found(directory.path()), None, "byte {at} of {}", content.len());
        image.restore(directory.path());
    }
}

fn replace_directory(from: &Path, to: &Path) {
    fs::remove_dir_all(to).unwrap();
    copy_directory(from, to);
}

#[test]
fn a_tree_of_another_database_or_keyspace_is_found() {
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    shop(one.path(), LogMode::Shared);
    shop(other.path(), LogMode::Shared);
    let tree = one.path().join("disk/ks-4");
    replace_directory(&other.path().join("disk/ks-4"), &tree);
    assert_corrupt(one.path(), &["ks-4", "belongs to", "backup"]);
    replace_directory(&one.path().join("disk/ks-3"), &tree);
    assert_corrupt(one.path(), &["ks-4", "belongs to", "backup"]);
    fs::remove_dir_all(&tree).unwrap();
    assert_corrupt(one.path(), &["ks-4", "missing", "backup"]);
}

#[test]
fn an_older_copy_of_a_tree_is_found_after_closing_and_after_a_crash() {
    let (directory, copy) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = directory.path();
    shop(path, LogMode::Shared);
    copy_directory(path, copy.path());
    let db = Database::open(path, Options::default()).unwrap();
    let notes = db.keyspace("notes", Engine::Disk).unwrap();
    let mut transaction = db.begin(Isolation::Snapshot).unwrap();
    transaction.put(&notes, b"note", b"a newer note").unwrap();
    transaction.commit().unwrap().wait().unwrap();
    db.checkpoint().unwrap();
    // As a crash would leave the files.
    let crashed = tempfile::tempdir().unwrap();
    copy_directory(path, crashed.path());
    drop(db);
    for path in [path, crashed.path()] {
        let (tree, newer) = (path.join("disk/ks-4"), tempfile::tempdir().unwrap());
        copy_directory(&tree, newer.path());
        replace_directory(&copy.path().join("disk/ks-4"), &tree);
        assert_corrupt(path, &["\"notes\"", "older than the database", "backup"]);
        replace_directory(newer.path(), &tree);
        assert!(gemel::check(path).unwrap().is_good());
    }
}

#[test]
fn a_database_without_marks_opens_and_gets_them() {
    let directory = tempfile::tempdir().unwrap();
    shop(directory.path(), LogMode::Shared);
    let rows = found(directory.path()).unwrap();
    let manifest = directory.path().join("gemel.manifest");
    let text = fs::read_to_string(&manifest).unwrap();
    // As a version without these marks wrote it.
    let body = text.split_once('\n').unwrap().1;
    let mut fields: serde_json::Value = serde_json::from_str(body).unwrap();
    for field in ["closed", "trees", "identified"] {
        fields.as_object_mut().unwrap().remove(field);
    }
    let body = fields.to_string();
    fs::write(&manifest, format!("gemel 1 {:08x}\n{body}", crc32fast::hash(body.as_bytes()))).unwrap();
    let identity = directory.path().join("disk/ks-4/gemel.id");
    fs::remove_file(&identity).unwrap();
    assert_eq!(found(directory.path()).unwrap(), rows);
    assert!(identity.exists());
    fs::remove_file(&identity).unwrap();
    assert_corrupt(directory.path(), &["ks-4", "gemel.id", "missing"]);
}

#[test]
fn only_checkpoints_of_gemel_are_removed() {
    let directory = tempfile::tempdir().unwrap();
    shop(directory.path(), LogMode::Shared);
    let strays = ["checkpoint-00000000000000ee.gmc", "checkpoint-00000000000000ff.gmc.new"];
    let others =
        ["checkpoint-notes.txt", "checkpoint-1.gmc", "checkpoint-000000000000000g.gmc", "checkpoint-"];
    for name in strays.iter().chain(&others) {
        fs::write(directory.path().join(name), "").unwrap();
    }
    drop(Database::open_existing(directory.path(), Options::default()).unwrap());
    assert!(strays.iter().all(|name| !directory.path().join(name).exists()));
    assert!(others.iter().all(|name| directory.path().join(name).exists()));
}
