//! Databases that earlier versions wrote. Every later version must open them.
//!
//! Each directory below `tests/golden` is a database as the version in its name left it: `first` is the first one with
//! format 1, `marked` the first one that marks trees and closed logs, `seeded` the first one with format 2 of the log, in
//! which the checksums of a segment's batches begin with a seed, `dependent` the first one with format 3, in which records
//! of a log for each engine say how far the other log must be, `compressed` the first one with format 2 of the manifest, in
//! which tables on disk have compressed files. `copied` is a backup of `dependent`, made by that version. `incarnate` is the
//! first one whose backups, manifests and logs have incarnations (format 4 of the log), and `incarnate-copied` is a backup
//! of it that was opened and got more rows. `prepared` is the first one with format 5 of the log: it has a prepared
//! transaction that is undecided, from before a checkpoint, and has committed one and rolled one back; `prepared-copied` is
//! a backup of it with that transaction, which was opened and got more rows. `covering` is the first one with format 4 of
//! the manifest: keys have columns in descending order (format 3), and indexes include columns; `covering-copied` is a
//! backup of it that got more rows. `altered` is the first one with format 5 of the manifest: columns have defaults for
//! earlier rows, other types and other nulls than these have; `altered-copied` is a backup of it that got more rows.
//! `created` is the first one with format 6 of the manifest: transactions made tables just before the process was killed, of
//! which one has committed; `created-copied` is a backup of it to which the same happened. `changed` is the first one
//! with format 7: these transactions also dropped, renamed and truncated tables; `changed-copied` is a backup of it to
//! which the same happened. To add those of a new version: `GEMEL_GOLDEN=crates/gemel/tests/golden/NAME cargo test -p
//! gemel --test golden -- --ignored`

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod copy;

use copy::copy_directory;
use gemel::row::{ColumnChange, ColumnType, IndexDef, RowRange, Schema, Table, Value, asc, desc};
use gemel::{
    Compression, Conflict, Database, Direction, Engine, Error, Isolation, LogMode, Options, Transaction,
};
use std::collections::BTreeMap;
use std::ops::{ControlFlow, Range};
use std::path::{Path, PathBuf};

const ENGINES: [Engine; 2] = [Engine::Memory, Engine::Disk];
/// Rows of each table. The first half is in a checkpoint and in files of the disk engine, the rest in the log.
const ROWS: i64 = 40;

fn schema() -> Schema {
    Schema::new()
        .column("id", ColumnType::I32)
        .column("small", ColumnType::I16)
        .nullable("large", ColumnType::I64)
        .column("price", ColumnType::Decimal { scale: 2 })
        .column("sold", ColumnType::Bool)
        .column("name", ColumnType::Text)
        .nullable("code", ColumnType::Bytes)
        .column("made", ColumnType::Timestamp)
        .column("weight", ColumnType::F64)
        .primary_key(["id"])
        .index("by_name", ["name"])
        .unique_index("by_made", ["made"])
}

/// Returns the name of the table with keys in descending order and included columns, from `covering` on.
fn ordered(engine: Engine) -> String {
    format!("ordered in {}", engine.name())
}

fn ordered_schema() -> Schema {
    let mut schema = schema().primary_key([desc("id")]);
    schema.indexes.clear();
    schema
        .with_index(IndexDef::new("by_name", [desc("name"), asc("large")]).include(["weight", "code"]))
        .with_index(IndexDef::unique("by_large", [desc("large"), desc("sold")]).include(["name"]))
}

/// Returns the name of the table whose columns changed under the first half of its rows, from `altered` on.
fn altered(engine: Engine) -> String {
    format!("altered in {}", engine.name())
}

fn schema_before() -> Schema {
    let schema = Schema::new().column("id", ColumnType::I64).column("small", ColumnType::I16);
    let schema = schema.column("price", ColumnType::I32).nullable("mark", ColumnType::Bool);
    schema.column("town", ColumnType::Text).primary_key(["id"])
}

fn column_changes() -> Vec<ColumnChange> {
    vec![
        ColumnChange::set_type("small", ColumnType::I64),
        ColumnChange::set_type("price", ColumnType::Decimal { scale: 2 }),
        ColumnChange::set_not_null("mark"),
        ColumnChange::drop_not_null("town"),
        ColumnChange::add_not_null("level", ColumnType::I32, Value::Int(7)),
        ColumnChange::add_with("note", ColumnType::Text, "from before".into()),
        ColumnChange::add_not_null("weight", ColumnType::F64, Value::Float(f64::INFINITY)),
        ColumnChange::add_not_null("code", ColumnType::Bytes, Value::Bytes(&[0, 255])),
    ]
}

/// The row of a table with changed columns, as it is read.
fn altered_values(id: i64) -> Vec<Value<'static>> {
    let is_before = id <= ROWS / 2;
    vec![
        Value::Int(id),
        Value::Int(if is_before { -id } else { id << 40 }),
        Value::Decimal(if is_before { id * 100 } else { id }),
        Value::Bool(id % 2 == 0),
        if is_before || id % 3 == 0 { "Bern".into() } else { Value::Null },
        Value::Int(if is_before { 7 } else { id }),
        if is_before { "from before".into() } else { Value::Null },
        Value::Float(if is_before { f64::INFINITY } else { 0.5 }),
        Value::Bytes(if is_before { &[0, 255] } else { &[1] }),
    ]
}

/// Writes a row of the tables whose columns change.
fn write_altered(db: &Database, id: i64) {
    for engine in ENGINES {
        let name = altered(engine);
        let table = db.table(&name).or_else(|_| db.create_table(&name, engine, schema_before())).unwrap();
        let mut values = altered_values(id);
        if id <= ROWS / 2 {
            values.truncate(5);
            values[2] = Value::Int(id);
        }
        let mut transaction = db.begin(Isolation::Snapshot).unwrap();
        table.insert(&mut transaction, &values).unwrap();
        transaction.commit().unwrap().wait().unwrap();
        if id == ROWS / 2 {
            db.alter_table(&name, &column_changes()).unwrap();
        }
    }
}

fn check_altered(db: &Database, engine: Engine) {
    let table = db.table(&altered(engine)).unwrap();
    let mut transaction = db.begin(Isolation::Snapshot).unwrap();
    for id in 0..ROWS {
        let row = table.get(&mut transaction, &[Value::Int(id)]).unwrap().unwrap();
        assert_eq!(row.view().values().unwrap(), altered_values(id), "{id}");
    }
    let strict = [0, 1, 2, 3, 5, 7, 8];
    let nullable = |at: usize| table.schema().columns[at].nullable;
    assert!((0..9).all(|at| nullable(at) != strict.contains(&at)));
}

/// A row of both tables whose transaction made tables, from `created` on.
const CREATED: i64 = 70;

/// Returns the name of a table that a transaction made just before the process was killed.
fn created(engine: Engine, is_committed: bool) -> String {
    format!("created in {}{}", engine.name(), if is_committed { "" } else { " in vain" })
}

/// Returns the name of a table that a transaction changed just before the process was killed.
fn changed(engine: Engine, what: &str) -> String {
    format!("{what} in {}", engine.name())
}

/// Makes the tables that transactions change, with a row each.
fn make_changed(db: &Database) {
    for engine in ENGINES {
        for what in ["dropped", "to rename", "truncated", "kept"] {
            let table = db.create_table(&changed(engine, what), engine, schema()).unwrap();
            let mut transaction = db.begin(Isolation::Snapshot).unwrap();
            table.insert(&mut transaction, &values(1, &parts(1))).unwrap();
            transaction.commit().unwrap().wait().unwrap();
        }
    }
}

/// Returns the numbers of the rows of a table.
fn ids(db: &Database, name: &str) -> Vec<i64> {
    let (mut ids, table) = (Vec::new(), db.table(name).unwrap());
    let mut transaction = db.begin(Isolation::Snapshot).unwrap();
    table.verify(&mut transaction).unwrap();
    let each = |row: gemel::row::RowView<'_>| {
        ids.push(row.int(0)?);
        Ok(ControlFlow::Continue(()))
    };
    table.scan(&mut transaction, &RowRange::all(), Direction::Forward, each).unwrap();
    ids
}

fn check_changed(db: &Database) {
    for engine in ENGINES {
        assert!(["dropped", "to rename"].iter().all(|what| db.table(&changed(engine, what)).is_err()));
        assert_eq!(ids(db, &changed(engine, "renamed")), [1, CREATED]);
        assert_eq!(ids(db, &changed(engine, "truncated")), [CREATED]);
        assert_eq!(ids(db, &changed(engine, "kept")), [1]);
    }
}

/// Lets a transaction make a table in each engine, change others, and write a row to each of them and of the others.
fn create(db: &Database, is_committed: bool) -> Transaction {
    let mut transaction = db.begin(Isolation::Snapshot).unwrap();
    let id = CREATED + i64::from(!is_committed);
    for engine in ENGINES {
        if is_committed {
            let [gone, from, to, truncated] =
                ["dropped", "to rename", "renamed", "truncated"].map(|what| changed(engine, what));
            db.drop_table_in(&mut transaction, &gone).unwrap();
            let renamed = db.rename_table_in(&mut transaction, &from, &to).unwrap();
            let truncated = db.truncate_table_in(&mut transaction, &truncated).unwrap();
            for table in [renamed, truncated] {
                table.insert(&mut transaction, &values(id, &parts(id))).unwrap();
            }
        } else {
            db.drop_table_in(&mut transaction, &changed(engine, "kept")).unwrap();
        }
        let new = created(engine, is_committed);
        let new = db.create_table_in(&mut transaction, &new, engine, schema()).unwrap();
        for table in [new, db.table(engine.name()).unwrap()] {
            table.insert(&mut transaction, &values(id, &parts(id))).unwrap();
        }
    }
    transaction
}

fn check_created(db: &Database) {
    let parts = parts(CREATED);
    for engine in ENGINES {
        for name in [engine.name(), &created(engine, true)] {
            let mut transaction = db.begin(Isolation::Snapshot).unwrap();
            let table = db.table(name).unwrap();
            let row = table.get(&mut transaction, &[Value::Int(CREATED)]).unwrap().unwrap();
            assert_eq!(row.view().values().unwrap(), values(CREATED, &parts), "{name}");
            assert!(table.get(&mut transaction, &[Value::Int(CREATED + 1)]).unwrap().is_none());
            table.verify(&mut transaction).unwrap();
        }
        assert!(db.table(&created(engine, false)).is_err());
    }
}

/// Makes the files of a closed database what a crash leaves: one transaction that changes the catalog has committed, another
/// one was still running.
fn crash(path: &Path, log: LogMode) {
    let directory = tempfile::tempdir().unwrap();
    let crashed = directory.path().join("crashed");
    let db = Database::open(path, options(log)).unwrap();
    make_changed(&db);
    // As long as it runs, no manifest with the changes of the other one is written.
    let running = create(&db, false);
    create(&db, true).commit().unwrap().wait().unwrap();
    copy_directory(path, &crashed);
    drop((running, db));
    std::fs::remove_dir_all(path).unwrap();
    copy_directory(&crashed, path);
    // The zeros after the end of a log are of no use.
    for (name, content) in logs(path) {
        std::fs::write(path.join(name), content).unwrap();
    }
}

/// The texts and bytes of a row.
fn parts(id: i64) -> (String, Vec<u8>) {
    (format!("thing number {}", id % 7), vec![id as u8; id as usize * 5])
}

fn values<'a>(id: i64, (name, code): &'a (String, Vec<u8>)) -> Vec<Value<'a>> {
    vec![
        Value::Int(id),
        Value::Int(-id),
        if id % 3 == 0 { Value::Null } else { Value::Int(id << 40) },
        Value::Decimal(id * 199),
        Value::Bool(id % 2 == 0),
        name.as_str().into(),
        if id % 4 == 0 { Value::Null } else { Value::Bytes(code) },
        Value::Timestamp(1_700_000_000_000_000 + id),
        Value::Float(id as f64 / 8.0),
    ]
}

fn options(log: LogMode) -> Options {
    Options { log, ..Options::default() }
}

/// Rows of prepared transactions, whose names are these numbers.
const UNDECIDED: i64 = 60;
const COMMITTED: i64 = 61;
const ROLLED_BACK: i64 = 62;

/// Prepares a transaction that adds a row to both tables and has read their first row.
fn prepare(db: &Database, tables: &[Table; 2], id: i64) {
    let mut transaction = db.begin(Isolation::Serializable).unwrap();
    for table in tables {
        assert!(table.first(&mut transaction, &RowRange::all()).unwrap().is_some());
        table.insert(&mut transaction, &values(id, &parts(id))).unwrap();
    }
    transaction.prepare(&id.to_string()).unwrap().wait().unwrap();
}

/// Checks the prepared transactions of a database. Commits the undecided one if `decides`.
fn check_prepared(db: &Database, decides: bool) {
    let names: Vec<_> = db.prepared().into_iter().map(|prepared| prepared.name).collect();
    assert_eq!(names, [UNDECIDED.to_string()]);
    for round in 0..2 {
        for engine in ENGINES {
            let table = db.table(engine.name()).unwrap();
            let mut transaction = db.begin(Isolation::Snapshot).unwrap();
            for (id, is_there) in [(UNDECIDED, round == 1), (COMMITTED, true), (ROLLED_BACK, false)] {
                let row = table.get(&mut transaction, &[Value::Int(id)]).unwrap();
                let parts = parts(id);
                let found = row.as_ref().map(|row| row.view().values().unwrap());
                assert_eq!(found, is_there.then(|| values(id, &parts)), "{id}");
            }
            if round == 0 {
                // It has read this row.
                table.upsert(&mut transaction, &values(0, &parts(0))).unwrap();
                assert!(matches!(transaction.commit(), Err(Error::Conflict { kind: Conflict::Locked, .. })));
            }
        }
        if !decides {
            return;
        }
        if round == 0 {
            db.commit_prepared(&UNDECIDED.to_string()).unwrap().wait().unwrap();
        }
    }
}

/// Writes some rows of a database. Every tenth row is deleted again.
fn write(path: &Path, log: LogMode, ids: Range<i64>) -> Database {
    let options = Options { compression: Compression::Lz4, ..options(log) };
    let db = Database::open(path, options).unwrap();
    let tables = ENGINES.map(|engine| db.create_table(engine.name(), engine, schema()).unwrap());
    let in_order = ENGINES.map(|engine| db.create_table(&ordered(engine), engine, ordered_schema()).unwrap());
    for id in ids {
        let mut transaction = db.begin(Isolation::Serializable).unwrap();
        for table in tables.iter().chain(&in_order) {
            table.insert(&mut transaction, &values(id, &parts(id))).unwrap();
            if id % 10 == 9 {
                table.delete(&mut transaction, &[Value::Int(id - 1)]).unwrap();
            }
        }
        transaction.commit().unwrap().wait().unwrap();
        write_altered(&db, id);
        if id == ROWS / 2 {
            prepare(&db, &tables, UNDECIDED);
            db.checkpoint().unwrap();
        }
        if id == ROWS - 1 {
            prepare(&db, &tables, ROLLED_BACK);
            db.roll_back_prepared(&ROLLED_BACK.to_string()).unwrap().wait().unwrap();
            prepare(&db, &tables, COMMITTED);
            db.commit_prepared(&COMMITTED.to_string()).unwrap().wait().unwrap();
        }
    }
    db
}

fn check(db: &Database, table: &Table) {
    let mut transaction = db.begin(Isolation::Snapshot).unwrap();
    for id in 0..ROWS {
        let row = table.get(&mut transaction, &[Value::Int(id)]).unwrap();
        let found = row.as_ref().map(|row| row.view().values().unwrap());
        let parts = parts(id);
        assert_eq!(found, (id % 10 != 8).then(|| values(id, &parts)), "{} {id}", table.name());
    }
}

/// Checks that the indexes of a table with keys in descending order have their rows in their order, with the included
/// columns.
fn check_order(db: &Database, table: &Table) {
    let mut transaction = db.begin(Isolation::Snapshot).unwrap();
    // Null is last in descending order, and first in ascending order.
    let large = |id: i64| (id % 3 != 0).then_some(id << 40);
    let mut by_name: Vec<i64> = (0..ROWS).filter(|id| id % 10 != 8).collect();
    let mut by_large = by_name.clone();
    by_name.sort_by_key(|id| (std::cmp::Reverse(parts(*id).0), large(*id), -id));
    by_large.sort_by_key(|id| (std::cmp::Reverse(large(*id)), std::cmp::Reverse(id % 2 == 0), -id));
    for (index, expected) in [("by_name", by_name), ("by_large", by_large)] {
        let mut found = Vec::new();
        let each = |row: gemel::row::RowView<'_>| {
            let id = row.int(0)?;
            let parts = parts(id);
            for (column, value) in values(id, &parts).into_iter().enumerate() {
                if table.index_covers(index, column)? {
                    assert_eq!(row.get(column)?, value, "{index} {id} {column}");
                }
            }
            found.push(id);
            Ok(ControlFlow::Continue(()))
        };
        assert!(table.index_covers(index, if index == "by_name" { 8 } else { 5 }).unwrap());
        table.scan_index_only(&mut transaction, index, &RowRange::all(), Direction::Forward, each).unwrap();
        found.retain(|id| *id < ROWS);
        assert_eq!(found, expected, "{index}");
    }
}

/// Copies the databases of every version. Returns the copies with their log modes. Each is in a directory of its version's
/// name.
fn copies() -> Vec<(PathBuf, LogMode, tempfile::TempDir)> {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let versions = std::fs::read_dir(golden).unwrap().map(|version| version.unwrap().path());
    let copies = versions.flat_map(|version| {
        [("shared", LogMode::Shared), ("per-engine", LogMode::PerEngine)].map(|(name, log)| {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join(version.file_name().unwrap()).join(name);
            copy_directory(&version.join(name), &path);
            (path, log, directory)
        })
    });
    copies.collect()
}

/// An earlier version rejects a log that this one has continued, by the format of the newest segment.
fn newest_segments_have_the_newest_format(path: &Path) {
    let names =
        std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut logs: Vec<String> = names.filter(|name| name.ends_with(".log")).collect();
    logs.sort_unstable();
    let kind = |name: &str| name.split('-').next().unwrap().to_owned();
    for (index, name) in logs.iter().enumerate() {
        if logs.get(index + 1).is_none_or(|next| kind(next) != kind(name)) {
            let header = std::fs::read(path.join(name)).unwrap();
            assert_eq!(header[8..12], 5_u32.to_le_bytes(), "{name}");
        }
    }
}

#[test]
fn databases_of_every_version_open_with_all_their_rows_and_take_more() {
    let copies = copies();
    let mut prepared = 0;
    for (path, log, _directory) in &copies {
        let (path, log) = (path.as_path(), *log);
        let version = path.parent().unwrap().file_name().unwrap();
        let is_one_of = |names: &[&str]| names.iter().any(|name| version == *name);
        let is_changed = is_one_of(&["changed", "changed-copied"]);
        let is_created = is_changed || is_one_of(&["created", "created-copied"]);
        let is_altered = is_created || is_one_of(&["altered", "altered-copied"]);
        let is_ordered = is_altered || is_one_of(&["covering", "covering-copied"]);
        let has_prepared = is_ordered || is_one_of(&["prepared", "prepared-copied"]);
        let is_compressed = has_prepared || is_one_of(&["compressed"]);
        let has_incarnations = has_prepared || is_one_of(&["incarnate", "incarnate-copied"]);
        let format = match (is_altered, is_ordered, is_compressed || has_incarnations) {
            _ if is_changed => "gemel 7 ",
            _ if is_created => "gemel 6 ",
            (true, ..) => "gemel 5 ",
            (_, true, _) => "gemel 4 ",
            (.., true) => "gemel 2 ",
            _ => "gemel 1 ",
        };
        let head = std::fs::read_to_string(path.join("gemel.manifest")).unwrap();
        assert!(head.starts_with(format), "{}", path.display());
        assert_eq!(head.contains("\"new_tables\":"), is_created && !is_changed);
        assert_eq!(head.contains("\"committing\":"), is_changed);
        let report = gemel::check(path).unwrap();
        assert!(report.is_good(), "{report}");
        let db = Database::open_existing(path, Options::default()).unwrap();
        let compressed = db.sizes().unwrap().iter().map(|part| part.compressed_bytes).sum::<u64>();
        assert_eq!(compressed > 0, is_compressed, "{}", path.display());
        drop(db);
        for more in [ROWS, ROWS + 1] {
            let db = Database::open(path, options(log)).unwrap();
            if has_prepared {
                check_prepared(&db, more > ROWS);
            }
            if is_created {
                check_created(&db);
            }
            if is_changed {
                check_changed(&db);
            }
            for engine in ENGINES {
                let mut tables = vec![db.create_table(engine.name(), engine, schema()).unwrap()];
                if is_ordered {
                    tables.push(db.create_table(&ordered(engine), engine, ordered_schema()).unwrap());
                    check_order(&db, &tables[1]);
                }
                if is_altered {
                    check_altered(&db, engine);
                }
                for table in tables {
                    check(&db, &table);
                    let mut transaction = db.begin(Isolation::Snapshot).unwrap();
                    table.insert(&mut transaction, &values(more, &parts(more))).unwrap();
                    transaction.commit().unwrap().wait().unwrap();
                }
            }
        }
        let report = gemel::check(path).unwrap();
        assert!(report.is_good(), "{report}");
        newest_segments_have_the_newest_format(path);
        prepared += u32::from(has_prepared);
    }
    assert!(copies.len() >= 36 && prepared == 20, "{} databases are few", copies.len());
}

/// The files of the logs with their contents, by name. Zeros at the end are left out: an opening cuts them.
fn logs(path: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
    let logs = files.filter(|file| file.extension().is_some_and(|kind| kind == "log"));
    let named = logs.map(|file| {
        let mut content = std::fs::read(&file).unwrap();
        let end = content.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        content.truncate(end);
        (file.file_name().unwrap().to_str().unwrap().to_owned(), content)
    });
    named.collect()
}

fn number(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

/// Appends an empty segment of an earlier format to each log, as an earlier version leaves it that has opened the
/// database and has written nothing. Returns the names of these segments.
fn append_empty_segments(path: &Path) -> Vec<String> {
    let logs = logs(path);
    let kind = |name: &str| name.split('-').next().unwrap().to_owned();
    let mut appended = Vec::new();
    for (name, content) in &logs {
        if logs.keys().any(|other| kind(other) == kind(name) && other > name) {
            continue;
        }
        // The batches: magic, checksum, bytes of records, position, durable position.
        let (mut end, mut at) = (number(content, 24), 64);
        while content
            .get(at + 16..at + 24)
            .is_some_and(|_| number(content, at + 16) == end && content[at] == 0xB7)
        {
            let bytes = 32 + number(content, at + 8);
            (end, at) = (end + bytes, at + bytes as usize);
        }
        assert!(end > number(content, 24), "{name} has batches");
        let mut header = content[..64].to_vec();
        header[8..12].copy_from_slice(&2_u32.to_le_bytes());
        header[24..32].copy_from_slice(&end.to_le_bytes());
        let sum = crc32fast::hash(&header[..60]);
        header[60..].copy_from_slice(&sum.to_le_bytes());
        let empty = format!("{}-{end:016x}.log", kind(name));
        std::fs::write(path.join(&empty), header).unwrap();
        appended.push(empty);
    }
    appended
}

#[test]
fn reading_a_database_of_an_earlier_version_leaves_its_logs_as_they_were() {
    for (path, log, _directory) in copies() {
        for with_empty in [false, true] {
            if with_empty {
                append_empty_segments(&path);
            }
            let before = logs(&path);
            assert!(gemel::check(&path).unwrap().is_good());
            let db = Database::open(&path, options(log)).unwrap();
            ENGINES.iter().for_each(|engine| check(&db, &db.table(engine.name()).unwrap()));
            db.sizes().unwrap();
            db.close().unwrap();
            assert!(
                logs(&path) == before,
                "{}: {:?} became {:?}",
                path.display(),
                before.keys(),
                logs(&path).keys()
            );
        }
    }
}

#[test]
fn an_empty_segment_of_an_earlier_format_is_replaced_before_it_gets_records() {
    for (path, log, _directory) in copies() {
        let empty = append_empty_segments(&path);
        for more in [ROWS, ROWS + 1] {
            let db = Database::open(&path, options(log)).unwrap();
            let mut transaction = db.begin(Isolation::Snapshot).unwrap();
            for engine in ENGINES {
                let table = db.table(engine.name()).unwrap();
                check(&db, &table);
                table.insert(&mut transaction, &values(more, &parts(more))).unwrap();
            }
            transaction.commit().unwrap().wait().unwrap();
            drop(db);
            let logs = logs(&path);
            for name in &empty {
                assert!(logs[name].len() > 64, "{name} has no record");
                assert_eq!(logs[name][8..12], 5_u32.to_le_bytes(), "{name}");
            }
        }
        newest_segments_have_the_newest_format(&path);
        let report = gemel::check(&path).unwrap();
        assert!(report.is_good(), "{report}");
    }
}

#[test]
#[ignore = "writes the databases of this version; the module's comment says how"]
fn write_the_databases_of_this_version() {
    let to = std::env::var("GEMEL_GOLDEN").unwrap();
    // Relative paths are those of the workspace.
    let to = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(to);
    for (name, log) in [("shared", LogMode::Shared), ("per-engine", LogMode::PerEngine)] {
        let path = to.join(name);
        let copied = to.with_file_name(format!("{}-copied", to.file_name().unwrap().display())).join(name);
        assert!(!path.exists() && !copied.exists(), "{} or its copy exists", path.display());
        for path in [&path, &copied] {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        }
        let db = write(&path, log, 0..ROWS * 3 / 4);
        db.backup(&copied).unwrap();
        db.close().unwrap();
        write(&path, log, ROWS * 3 / 4..ROWS).close().unwrap();
        write(&copied, log, ROWS * 3 / 4..ROWS).close().unwrap();
        // Opening cuts the zeros after the end of a log.
        for path in [&path, &copied] {
            Database::open(path, options(log)).unwrap().close().unwrap();
            crash(path, log);
        }
    }
}
