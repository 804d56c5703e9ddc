//! Renaming, adding and dropping columns: what handles and transactions see, and what is there after reopening.

#![expect(clippy::unwrap_used, reason = "a test ends where something is not as it should be")]

mod outcome;

use gemel::row::{ColumnChange, ColumnType, IndexDef, RowRange, Schema, Table, Value, asc};
use gemel::{Database, Direction, Engine, Isolation, LogMode, Options};
use outcome::{outdated, rejected, too_old};
use std::ops::ControlFlow;

const ENGINES: [Engine; 2] = [Engine::Memory, Engine::Disk];

fn schema() -> Schema {
    let schema = Schema::new().column("id", ColumnType::I64).column("name", ColumnType::Text);
    schema.nullable("town", ColumnType::Text).primary_key(["id"]).index("by_town", ["town"])
}

/// Returns each row as one text.
fn rows(db: &Database, table: &Table) -> Vec<String> {
    let (mut transaction, mut rows) = (db.begin(Isolation::Snapshot).unwrap(), Vec::new());
    table
        .scan(&mut transaction, &RowRange::all(), Direction::Forward, |row| {
            let values: Vec<_> = row.values()?.iter().map(ToString::to_string).collect();
            rows.push(values.join(" "));
            Ok(ControlFlow::Continue(()))
        })
        .unwrap();
    rows
}

fn change(db: &Database, work: impl FnOnce(&mut gemel::Transaction) -> gemel::Result<()>) {
    let mut transaction = db.begin(Isolation::Snapshot).unwrap();
    work(&mut transaction).unwrap();
    transaction.commit().unwrap().wait().unwrap();
}

#[test]
fn columns_are_renamed_added_and_dropped_under_the_rows_that_are_there() {
    for (log, engine) in
        [LogMode::Shared, LogMode::PerEngine].into_iter().flat_map(|log| ENGINES.map(|e| (log, e)))
    {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("db");
        let open = || Database::open(&path, Options { log, ..Options::default() }).unwrap();
        let db = open();
        let first = db.create_table("t", engine, schema()).unwrap();
        change(&db, |transaction| {
            first.insert(transaction, &[Value::Int(1), "Ann".into(), "Rome".into()])?;
            first.insert(transaction, &[Value::Int(2), "Bob".into(), Value::Null])
        });
        db.checkpoint().unwrap();
        change(&db, |transaction| first.insert(transaction, &[Value::Int(3), "Cid".into(), "Oslo".into()]));

        // A rename takes nothing away from anybody.
        let mut before = db.begin(Isolation::Snapshot).unwrap();
        let renamed = db.alter_table("t", &[ColumnChange::rename("town", "city")]).unwrap();
        assert_eq!((renamed.column("city").unwrap(), first.column("town").unwrap()), (2, 2));
        assert!(renamed.column("town").is_err());
        renamed.set(&mut before, &[Value::Int(1)], &[(2, "Bern".into())]).unwrap();
        first.set(&mut before, &[Value::Int(2)], &[(2, "Bonn".into())]).unwrap();
        before.commit().unwrap().wait().unwrap();
        assert_eq!(renamed.schema().indexes[0].columns, [asc("city")]);

        let mut before = db.begin(Isolation::Snapshot).unwrap();
        let mut writer = db.begin(Isolation::Snapshot).unwrap();
        first.set(&mut writer, &[Value::Int(3)], &[(1, "gone".into()), (2, "Aarhus".into())]).unwrap();
        let changes = [ColumnChange::drop("name"), ColumnChange::add("age", ColumnType::I16)];
        let table = db.alter_table("t", &changes).unwrap();
        for handle in [&first, &renamed] {
            assert!(handle.get(&mut before, &[Value::Int(1)]).unwrap().is_some());
            let mut after = db.begin(Isolation::Snapshot).unwrap();
            outdated(handle.get(&mut after, &[Value::Int(1)]), "get the table again");
            outdated(handle.set(&mut after, &[Value::Int(1)], &[(1, "lost".into())]), "get the table again");
        }
        too_old(table.get(&mut before, &[Value::Int(1)]), "after the transaction began");
        writer.commit().unwrap().wait().unwrap();
        drop(before);
        assert_eq!(rows(&db, &table), ["1 'Bern' null", "2 'Bonn' null", "3 'Aarhus' null"]);
        change(&db, |transaction| {
            table.insert(transaction, &[Value::Int(4), Value::Null, Value::Int(40)])?;
            assert!(table.set(transaction, &[Value::Int(2)], &[(2, Value::Int(20))])?);
            assert!(table.upsert(transaction, &[Value::Int(3), "Lund".into(), Value::Int(30)])?);
            Ok(())
        });
        let index = IndexDef::unique("by_age", ["age"]);
        let table = db.add_index("t", index).unwrap();
        rejected(db.alter_table("t", &[ColumnChange::drop("age")]), "part of index by_age");
        let expected = ["1 'Bern' null", "2 'Bonn' 20", "3 'Lund' 30", "4 null 40"];
        assert_eq!(rows(&db, &table), expected);
        drop((first, renamed, table, db));

        assert!(gemel::check(&path).unwrap().is_good());
        let db = open();
        rejected(db.create_table("t", engine, schema()), "another schema");
        let now = Schema::new().column("id", ColumnType::I64).nullable("city", ColumnType::Text);
        let now = now.nullable("age", ColumnType::I16).primary_key(["id"]).index("by_town", ["city"]);
        let table = db.create_table("t", engine, now.unique_index("by_age", ["age"])).unwrap();
        assert_eq!(rows(&db, &table), expected);
        for (index, value, ids) in
            [("by_town", Value::from("Bern"), vec![1]), ("by_age", Value::Int(20), vec![2])]
        {
            let (mut transaction, mut found) = (db.begin(Isolation::Snapshot).unwrap(), Vec::new());
            let range = [value];
            table
                .scan_index(&mut transaction, index, &RowRange::prefix(&range), Direction::Forward, |row| {
                    found.push(row.int(0)?);
                    Ok(ControlFlow::Continue(()))
                })
                .unwrap();
            assert_eq!(found, ids, "{index}");
        }
        let table = db.truncate_table("t").unwrap();
        change(&db, |transaction| table.insert(transaction, &[Value::Int(5), Value::Null, Value::Int(1)]));
        let table = db.alter_table("t", &[ColumnChange::add("name", ColumnType::Text)]).unwrap();
        assert_eq!(rows(&db, &table), ["5 null 1 null"]);
    }
}

#[test]
fn changes_that_do_not_fit_are_refused_as_a_whole() {
    let directory = tempfile::tempdir().unwrap();
    let db = Database::open(directory.path().join("db"), Options::default()).unwrap();
    let table = db.create_table("t", Engine::Memory, schema()).unwrap();
    let add = || ColumnChange::add("good", ColumnType::Bool);
    for (change, says) in [
        (ColumnChange::rename("x", "y"), "there is no column x"),
        (ColumnChange::rename("name", "id"), "there is a column id already"),
        (ColumnChange::rename("name", ""), "has no name"),
        (ColumnChange::add("name", ColumnType::Text), "there is a column name already"),
        (ColumnChange::add("", ColumnType::Text), "has no name"),
        (ColumnChange::add("d", ColumnType::Decimal { scale: 19 }), "scale 19"),
        (ColumnChange::drop("x"), "there is no column x"),
        (ColumnChange::drop("id"), "part of the primary key"),
        (ColumnChange::drop("town"), "part of index by_town"),
    ] {
        rejected(db.alter_table("t", &[add(), change]), says);
    }
    rejected(db.alter_table("other", &[add()]), "there is no table");
    assert_eq!(*db.table("t").unwrap().schema(), schema());
    change(&db, |transaction| table.insert(transaction, &[Value::Int(1), "Ann".into(), Value::Null]));
    let many: Vec<_> = (0..300).map(|n| ColumnChange::add(&format!("c{n}"), ColumnType::Bool)).collect();
    rejected(db.alter_table("t", &many), "at most 256");
    assert_eq!(rows(&db, &table), ["1 'Ann' null"]);
}

#[test]
fn a_table_with_changed_columns_moves_and_its_columns_change_again() {
    for engine in ENGINES {
        let other = if engine == Engine::Memory { Engine::Disk } else { Engine::Memory };
        let directory = tempfile::tempdir().unwrap();
        let open = || Database::open(directory.path(), Options::default()).unwrap();
        let db = open();
        let first = db.create_table("t", engine, schema()).unwrap();
        change(&db, |transaction| first.insert(transaction, &[Value::Int(1), "Ann".into(), "Rome".into()]));
        let second = db.alter_table("t", &[ColumnChange::add("age", ColumnType::I16)]).unwrap();
        change(&db, |transaction| {
            second.insert(transaction, &[Value::Int(2), "Bob".into(), Value::Null, Value::Int(40)])
        });
        db.move_table("t", other).unwrap();
        change(&db, |transaction| {
            second.insert(transaction, &[Value::Int(3), "Cid".into(), "Oslo".into(), Value::Null])
        });
        let third = db.alter_table("t", &[ColumnChange::drop("name")]).unwrap();
        for old in [&first, &second] {
            let mut transaction = db.begin(Isolation::Snapshot).unwrap();
            outdated(old.get(&mut transaction, &[Value::Int(1)]), "get the table again");
            outdated(
                old.set(&mut transaction, &[Value::Int(1)], &[(1, "lost".into())]),
                "get the table again",
            );
        }
        let rows = |db: &Database, table: &Table| {
            let mut transaction = db.begin(Isolation::Snapshot).unwrap();
            table.verify(&mut transaction).unwrap();
            let row = |id| table.get(&mut transaction, &[Value::Int(id)]).unwrap().unwrap();
            let values = [1, 2, 3].map(row).map(|row| format!("{:?}", row.view().values().unwrap()));
            values.to_vec()
        };
        let expected = rows(&db, &third);
        assert_eq!(expected[0], format!("{:?}", [Value::Int(1), "Rome".into(), Value::Null]));
        assert_eq!(expected[1], format!("{:?}", [Value::Int(2), Value::Null, Value::Int(40)]));
        db.move_table("t", engine).unwrap();
        assert_eq!(rows(&db, &third), expected);
        db.close().unwrap();
        let db = open();
        assert_eq!(rows(&db, &db.table("t").unwrap()), expected);
        assert_eq!(db.tables(), [("t".to_string(), engine)]);
    }
}
