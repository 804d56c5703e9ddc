//! Tests of sizes and of merges on request.

use super::*;
use crate::files::Files as _;
use crate::files::fail_point::once_here;
use crate::files::faulty::FaultyFiles;
use crate::options::{Isolation, Options};
use crate::row::{ColumnType, RowRange, RowView, Schema, Table, Value};
use crate::wait::wait_until;
use std::sync::Arc;
use std::time::Duration;

fn schema() -> Schema {
    let schema = Schema::new().column("id", ColumnType::I32).column("name", ColumnType::Text);
    schema.primary_key(["id"]).index("by_name", ["name"])
}

fn upsert(db: &Database, table: &Table, ids: std::ops::Range<i64>, name: &str) {
    let work = |transaction: &mut Transaction| {
        ids.clone().try_for_each(|id| table.upsert(transaction, &[Value::Int(id), name.into()]).map(drop))
    };
    db.run(Isolation::Snapshot, work).unwrap();
}

#[test]
fn sizes_count_memory_and_estimate_files_and_the_exact_ones_are_those_of_a_check() {
    let directory = tempfile::tempdir().unwrap();
    let db = Database::open(directory.path(), Options::default()).unwrap();
    for engine in [Engine::Memory, Engine::Disk] {
        let table = db.create_table(engine.name(), engine, schema()).unwrap();
        upsert(&db, &table, 0..500, "Ada");
    }
    // The rows are in the write buffers first, then in files.
    for in_files in [false, true] {
        let sizes = db.sizes().unwrap();
        let rows: Vec<_> = sizes.iter().map(|part| (&*part.name, part.rows, part.is_exact)).collect();
        let expected = [
            ("memory", 500, true),
            ("memory.by_name", 500, true),
            ("disk", 500, false),
            ("disk.by_name", 500, false),
        ];
        assert_eq!(rows, expected);
        assert_eq!(sizes.iter().filter(|part| part.files > 0).count(), if in_files { 2 } else { 0 });
        assert!(sizes.iter().all(|part| (part.files > 0) == (part.file_bytes > 0)), "{sizes:?}");
        db.checkpoint().unwrap();
    }
    let exact = db.exact_sizes().unwrap();
    let report = crate::check::report(&db).unwrap();
    for (size, part) in exact.iter().zip(&report.parts) {
        assert!(size.is_exact);
        assert_eq!((&size.name, size.kind, size.engine), (&part.name, part.kind, part.engine));
        assert_eq!((size.rows, size.bytes), (part.rows, part.bytes));
    }
    assert_eq!(exact.len(), report.parts.len());
}

#[test]
fn compacting_frees_old_versions_and_deleted_rows_unless_a_transaction_may_read_them() {
    let directory = tempfile::tempdir().unwrap();
    let db = Database::open(directory.path(), Options::default()).unwrap();
    let table = db.create_table("t", Engine::Disk, schema()).unwrap();
    let note = "a longer note, so that a row takes some space ".repeat(20);
    upsert(&db, &table, 0..500, &note);
    let mut reader = db.begin(Isolation::Snapshot).unwrap();
    assert!(table.get(&mut reader, &[Value::Int(0)]).unwrap().is_some());
    upsert(&db, &table, 0..500, "short");
    let held = db.compact("t").unwrap();
    assert!(!held.is_complete && held.bytes_after > 500 * note.len() as u64, "{held:?}");
    let row = table.get(&mut reader, &[Value::Int(499)]).unwrap().unwrap();
    assert_eq!(row.view().text(1).unwrap(), note);
    drop(reader);
    let done = db.compact("t").unwrap();
    // A merge in the background may have come before, so the files may be as small before as after.
    assert!(done.is_complete && done.bytes_after < held.bytes_after / 4, "{done:?}");
    assert_eq!(db.sizes().unwrap()[0].rows, 500);

    let delete = |transaction: &mut Transaction| {
        (0..400).try_for_each(|id| table.delete(transaction, &[Value::Int(id)]).map(drop))
    };
    db.run(Isolation::Snapshot, delete).unwrap();
    assert!(db.compact("t").unwrap().is_complete);
    assert_eq!((db.sizes().unwrap()[0].rows, db.sizes().unwrap()[1].rows), (100, 100));
    drop((db, table));
    let report = crate::check(directory.path()).unwrap();
    assert!(report.is_good() && report.parts[0].rows == 100, "{report}");
}

#[test]
fn compacting_beside_writers_and_readers_loses_no_row() {
    const ACCOUNTS: i64 = 200;
    let directory = tempfile::tempdir().unwrap();
    let options = Options { write_buffer_bytes: 1 << 16, ..Options::default() };
    let db = Database::open(directory.path(), options.clone()).unwrap();
    let schema = Schema::new().column("id", ColumnType::I32).column("amount", ColumnType::I64);
    let table = db.create_table("accounts", Engine::Disk, schema.primary_key(["id"])).unwrap();
    let fill = |transaction: &mut Transaction| {
        (0..ACCOUNTS).try_for_each(|id| table.insert(transaction, &[Value::Int(id), Value::Int(100)]))
    };
    db.run(Isolation::Snapshot, fill).unwrap();
    let sum = |db: &Database| {
        let (mut transaction, mut sum) = (db.begin(Isolation::Snapshot).unwrap(), (0, 0));
        let each = |row: RowView<'_>| {
            sum = (sum.0 + 1, sum.1 + row.int(1)?);
            Ok(ControlFlow::Continue(()))
        };
        table.scan(&mut transaction, &RowRange::all(), Direction::Forward, each).unwrap();
        sum
    };
    std::thread::scope(|scope| {
        let writers = [7, 11].map(|step| {
            let (db, table) = (&db, &table);
            scope.spawn(move || {
                for n in 0..1500 {
                    let (from, to) = (n * step % ACCOUNTS, (n * step + 1 + n % 50) % ACCOUNTS);
                    let transfer = |transaction: &mut Transaction| {
                        for (id, by) in [(from, -1), (to, 1)] {
                            table.update(transaction, &[Value::Int(id)], |row| {
                                let amount = row.view().int(1)?;
                                row.set(1, Value::Int(amount + by))
                            })?;
                        }
                        Ok(())
                    };
                    drop(db.run_pipelined(Isolation::Snapshot, transfer).unwrap());
                }
            })
        });
        while writers.iter().any(|writer| !writer.is_finished()) {
            db.compact("accounts").unwrap();
            assert_eq!(sum(&db), (ACCOUNTS, 100 * ACCOUNTS));
        }
    });
    assert!(db.compact("accounts").unwrap().is_complete);
    assert_eq!((db.sizes().unwrap()[0].rows, sum(&db)), (200, (ACCOUNTS, 100 * ACCOUNTS)));
    drop((db, table));
    let report = crate::check(directory.path()).unwrap();
    assert!(report.is_good() && report.parts[0].rows == 200, "{report}");
}

#[test]
fn what_has_no_files_is_not_compacted_and_a_full_disk_changes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let db = Database::open(directory.path(), Options::default()).unwrap();
    db.create_table("hot", Engine::Memory, schema()).unwrap();
    let cold = db.create_table("cold", Engine::Disk, schema()).unwrap();
    upsert(&db, &cold, 0..10, "Ada");
    for (name, words) in
        [("hot", "memory engine"), ("none", "there is no table"), ("cold.by_name", "an index of table")]
    {
        let error = db.compact(name).unwrap_err();
        assert!(matches!(&error, Error::Usage(text) if text.contains(words)), "{error}");
    }
    db.checkpoint().unwrap();
    db.inner.disk.declare_free(1 << 10);
    let error = db.compact("cold").unwrap_err();
    assert!(error.is_for_lack_of_space() && error.to_string().contains("make space"), "{error}");
    assert_eq!(db.exact_sizes().unwrap()[2].rows, 10);
    upsert(&db, &cold, 10..11, "Bob");
    db.inner.disk.declare_free(u64::MAX);
    assert!(db.compact("cold").unwrap().is_complete);
    assert_eq!(db.exact_sizes().unwrap()[2].rows, 11);
}

#[test]
fn sizes_never_show_the_remains_of_a_table_that_is_dropped_or_moved_meanwhile() {
    for engine in [Engine::Memory, Engine::Disk] {
        for (change, exact) in (0..3).flat_map(|change| [(change, false), (change, true)]) {
            let directory = tempfile::tempdir().unwrap();
            let db = Database::open(directory.path(), Options::default()).unwrap();
            let table = db.create_table("t", engine, schema()).unwrap();
            upsert(&db, &table, 0..100, "Ada");
            let other = db.clone();
            once_here("sizes.begun", move || match change {
                0 => other.drop_table("t").unwrap(),
                1 => drop(other.truncate_table("t").unwrap()),
                _ => {
                    let to = if engine == Engine::Memory { Engine::Disk } else { Engine::Memory };
                    other.move_table("t", to).unwrap();
                }
            });
            let sizes = if exact { db.exact_sizes() } else { db.sizes() };
            match sizes {
                // The exact sizes are those of a snapshot from before.
                Ok(sizes) if exact && change < 2 => {
                    assert!(sizes.iter().all(|part| part.rows == 100), "{sizes:?}");
                }
                Err(Error::Outdated(_)) if !exact && change < 2 => {}
                Err(Error::Moved(_)) if change == 2 => {}
                other => panic!("{other:?} after change {change} in the {} engine", engine.name()),
            }
            let again = db.exact_sizes().unwrap();
            let rows: Vec<u64> = again.iter().map(|part| part.rows).collect();
            assert_eq!(rows, if change == 2 { vec![100; 2] } else { vec![0; rows.len()] });
        }
    }
}

#[test]
fn sizes_beside_a_thread_that_drops_and_moves_are_those_of_some_moment() {
    const ROWS: u64 = 300;
    let directory = tempfile::tempdir().unwrap();
    let db = Database::open(directory.path(), Options::default()).unwrap();
    let make = |name: &str, engine| {
        let table = db.create_table(name, engine, schema()).unwrap();
        upsert(&db, &table, 0..ROWS as i64, "Ada");
    };
    make("moving", Engine::Memory);
    let dropped: Vec<String> = (0..20).map(|number| format!("dropped {number}")).collect();
    dropped
        .iter()
        .zip([Engine::Memory, Engine::Disk].into_iter().cycle())
        .for_each(|(name, engine)| make(name, engine));
    let changes = || {
        for (name, engine) in dropped.iter().zip([Engine::Disk, Engine::Memory].into_iter().cycle()) {
            db.move_table("moving", engine).unwrap();
            db.drop_table(name).unwrap();
        }
    };
    std::thread::scope(|scope| {
        let changing = scope.spawn(changes);
        let mut exact = false;
        while !changing.is_finished() {
            exact = !exact;
            match if exact { db.exact_sizes() } else { db.sizes() } {
                Ok(sizes) => {
                    for part in sizes {
                        // Estimates count a row of each file, and a moved row may be in several.
                        assert!(part.rows == ROWS || !part.is_exact && part.rows > 0, "{part:?}");
                    }
                }
                Err(Error::Outdated(_) | Error::Moved(_) | Error::TooOld(_)) => {}
                Err(error) => panic!("{error:?}"),
            }
        }
    });
    let sizes = db.exact_sizes().unwrap();
    assert_eq!(
        sizes.iter().map(|part| (&*part.name, part.rows)).collect::<Vec<_>>(),
        [("moving", ROWS), ("moving.by_name", ROWS)]
    );
}

#[test]
fn exact_sizes_keep_to_the_maximum_age_and_sizes_need_no_old_snapshot() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options { max_snapshot_age: Some(Duration::from_secs(1)), ..Options::default() };
    let db = Database::open(directory.path(), options).unwrap();
    for engine in [Engine::Memory, Engine::Disk] {
        db.create_table(engine.name(), engine, schema()).unwrap();
    }
    let other = db.clone();
    once_here("sizes.begun", move || {
        let running = || other.state().running;
        wait_until(running, |all| all.iter().any(|one| one.expired), |all| format!("{all:?}"));
    });
    let error = db.exact_sizes().unwrap_err();
    assert!(matches!(&error, Error::TooOld(text) if text.contains("max_snapshot_age")), "{error:?}");
    // No call of these has a maximum age.
    assert_eq!(db.sizes().unwrap().len(), 4);
}

#[test]
fn a_merge_on_request_leaves_space_for_flushes_and_its_errors_do_not_say_that_commits_are_rejected() {
    let directory = tempfile::tempdir().unwrap();
    let db = Database::open(directory.path(), Options::default()).unwrap();
    let table = db.create_table("t", Engine::Disk, schema()).unwrap();
    upsert(&db, &table, 0..1000, &"Ada ".repeat(500));
    let disk = &db.inner.disk;
    let assert_no_space = |is_flush: bool| {
        let error = db.compact("t").unwrap_err();
        let text = error.to_string();
        assert!(matches!(error, Error::Io { .. }) && error.is_for_lack_of_space(), "{error:?}");
        assert!(text.contains("make space") && !text.contains("no commit"), "{text}");
        assert_eq!(disk.state().sealed_bytes + disk.state().memtable_bytes > 0, is_flush);
    };
    // The rows are in the write buffers, and there is no space to flush them.
    disk.declare_free(1 << 10);
    assert_no_space(true);
    disk.declare_free(u64::MAX);
    db.checkpoint().unwrap();
    // The merged files would fit, and nothing else.
    let bytes = db.sizes().unwrap().iter().map(|part| part.file_bytes).max().unwrap();
    disk.declare_free(bytes + bytes / 2 + (4 << 20));
    assert_no_space(false);
    disk.declare_free(2 * bytes + (4 << 20));
    assert!(db.compact("t").unwrap().is_complete);
}

#[test]
fn a_merge_on_request_without_space_removes_the_spare_files_of_the_log() {
    let (directory, files) = (tempfile::tempdir().unwrap(), FaultyFiles::default());
    let path = directory.path().join("db");
    let db = Database::open_with(Arc::new(files.clone()), &path, Options::default()).unwrap();
    let table = db.create_table("t", Engine::Disk, schema()).unwrap();
    // Spares take all of the disk.
    let is_spare = |name: &String| name.ends_with(".spare");
    db.inner.disk.declare_free_by(
        move || {
            if files.list(&path).unwrap().iter().any(is_spare) { 0 } else { u64::MAX }
        },
    );
    for must_flush in [false, true] {
        (0..40).for_each(|id| upsert(&db, &table, id..id + 1, &"Ada ".repeat(100)));
        db.checkpoint().unwrap();
        if must_flush {
            upsert(&db, &table, 40..41, "Bob");
        }
        assert!(db.state().log_spare_bytes > 0);
        assert!(db.compact("t").unwrap().is_complete);
        assert_eq!(db.state().log_spare_bytes, 0);
    }
    assert_eq!(db.exact_sizes().unwrap()[0].rows, 41);
}
