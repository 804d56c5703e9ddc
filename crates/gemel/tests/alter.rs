//! Renaming, adding, dropping and changing columns: what handles and transactions see, and what is there after
//! reopening.

#![expect(clippy::unwrap_used, reason = "a test ends where something is not as it should be")]

mod copy;
mod outcome;

use copy::copy_directory;
use gemel::row::{ColumnChange, ColumnType, IndexDef, RowRange, Schema, Table, Value, asc};
use gemel::{Database, Direction, Engine, Error, Isolation, LogMode, Options, Transaction};
use outcome::{outdated, rejected, too_old};
use std::ops::ControlFlow;

const ENGINES: [Engine; 2] = [Engine::Memory, Engine::Disk];

fn schema() -> Schema {
    let schema = Schema::new().column("id", ColumnType::I64).column("name", ColumnType::Text);
    schema.nullable("town", ColumnType::Text).primary_key(["id"]).index("by_town", ["town"])
}

fn constraint<T: std::fmt::Debug>(outcome: gemel::Result<T>, says: &str) {
    let error = outcome.unwrap_err();
    assert!(matches!(&error, Error::Constraint(text) if text.contains(says)), "{error:?}");
}

/// Returns each row as one text.
fn rows(db: &Database, table: &Table) -> Vec<String> {
    rows_in(&mut db.begin(Isolation::Snapshot).unwrap(), table)
}

fn rows_in(transaction: &mut Transaction, table: &Table) -> Vec<String> {
    let mut rows = Vec::new();
    table
        .scan(transaction, &RowRange::all(), Direction::Forward, |row| {
            let values: Vec<_> = row.values()?.iter().map(ToString::to_string).collect();
            rows.push(values.join(" "));
            Ok(ControlFlow::Continue(()))
        })
        .unwrap();
    rows
}

fn change(db: &Database, work: impl FnOnce(&mut Transaction) -> gemel::Result<()>) {
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
        (ColumnChange::add_not_null("n", ColumnType::Bool, Value::Null), "give a default"),
        (ColumnChange::set_type("x", ColumnType::I64), "there is no column x"),
        (ColumnChange::set_type("id", ColumnType::Decimal { scale: 0 }), "part of the primary key"),
        (ColumnChange::set_type("id", ColumnType::I32), "copy the values"),
        (ColumnChange::set_type("name", ColumnType::Bytes), "copy the values"),
        (ColumnChange::drop_not_null("id"), "part of the primary key"),
        (ColumnChange::set_not_null("town"), "drop the index before, and add it again"),
        (ColumnChange::set_not_null("x"), "there is no column x"),
    ] {
        rejected(db.alter_table("t", &[add(), change]), says);
    }
    let text = ColumnChange::add_not_null("n", ColumnType::Bool, "yes".into());
    constraint(db.alter_table("t", &[text]), "expected a boolean, given text 'yes'");
    let wide = ColumnChange::add_with("n", ColumnType::I16, Value::Int(1 << 15));
    constraint(db.alter_table("t", &[wide]), "32768 does not fit a 16-bit integer");
    let long = ColumnChange::add_with("n", ColumnType::Bytes, Value::Bytes(&[0; 65_537]));
    let error = db.alter_table("t", &[long]).unwrap_err();
    assert!(matches!(&error, Error::Capacity(text) if text.contains("at most 65536")), "{error:?}");
    // What is so already is no change.
    let same = [ColumnChange::set_not_null("id"), ColumnChange::drop_not_null("town")];
    let same = [&same[..], &[ColumnChange::set_type("town", ColumnType::Text)]].concat();
    assert_eq!(*db.alter_table("t", &same).unwrap().schema(), schema());
    assert!(rows(&db, &table).is_empty(), "the handle goes on");
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

/// Each value of a default, or of a type: one that JSON has no number for, the least one, texts with signs.
fn defaults() -> [(ColumnChange, &'static str); 7] {
    let add = ColumnChange::add_not_null;
    [
        (add("level", ColumnType::I16, Value::Int(-32_768)), "-32768"),
        (
            ColumnChange::add_with("note", ColumnType::Text, "a \"quoted\"\n\u{1f642}".into()),
            "'a \\\"quoted\\\"\\n\u{1f642}'",
        ),
        (ColumnChange::add("more", ColumnType::Bytes), "null"),
        (add("code", ColumnType::Bytes, Value::Bytes(b"\0\xff")), "'\\x00\\xff'"),
        (add("weight", ColumnType::F64, Value::Float(f64::NEG_INFINITY)), "-inf"),
        (add("good", ColumnType::Bool, Value::Bool(true)), "true"),
        (add("price", ColumnType::Decimal { scale: 2 }, Value::Decimal(i64::MIN)), "-9223372036854775808"),
    ]
}

#[test]
fn an_added_column_has_its_default_in_the_rows_that_are_there() {
    for (log, engine) in
        [LogMode::Shared, LogMode::PerEngine].into_iter().flat_map(|log| ENGINES.map(|e| (log, e)))
    {
        let directory = tempfile::tempdir().unwrap();
        let [path, copied] = ["db", "copy"].map(|name| directory.path().join(name));
        let open = |path| Database::open(path, Options { log, ..Options::default() }).unwrap();
        let db = open(&path);
        let old = db.create_table("t", engine, schema()).unwrap();
        change(&db, |transaction| old.insert(transaction, &[Value::Int(1), "Ann".into(), Value::Null]));
        db.checkpoint().unwrap();
        change(&db, |transaction| old.insert(transaction, &[Value::Int(2), "Bob".into(), "Bern".into()]));
        let [mut reader, mut writer] = [(); 2].map(|()| db.begin(Isolation::Serializable).unwrap());
        let (changes, texts): (Vec<_>, Vec<_>) = defaults().into_iter().unzip();
        let new = db.alter_table("t", &changes).unwrap();
        assert!(!new.schema().columns[3].nullable && new.schema().columns[4].nullable);

        // Whoever is from before goes on with the columns of then, and writes rows of then.
        old.insert(&mut writer, &[Value::Int(3), "Cid".into(), "Oslo".into()]).unwrap();
        writer.commit().unwrap().wait().unwrap();
        assert_eq!(rows_in(&mut reader, &old), ["1 'Ann' null", "2 'Bob' 'Bern'"]);
        assert_eq!(db.table_in(&reader, "t").unwrap().schema().columns.len(), 3);
        let texts = texts.join(" ");
        let mut expected =
            ["1 'Ann' null", "2 'Bob' 'Bern'", "3 'Cid' 'Oslo'"].map(|row| format!("{row} {texts}"));
        assert_eq!(rows(&db, &new), expected);

        // A row keeps the value when another column is written, and can get another one, but null.
        let level = new.column("level").unwrap();
        change(&db, |transaction| {
            assert!(new.set(transaction, &[Value::Int(1)], &[(1, "Anna".into())])?);
            assert!(new.set(transaction, &[Value::Int(2)], &[(level, Value::Int(7))])?);
            Ok(())
        });
        expected[0] = expected[0].replace("Ann", "Anna");
        expected[1] = expected[1].replace("-32768", "7");
        let mut nulls = db.begin(Isolation::Snapshot).unwrap();
        constraint(new.set(&mut nulls, &[Value::Int(3)], &[(level, Value::Null)]), "not nullable");
        drop((reader, nulls));

        // As a killed process leaves the files.
        copy_directory(&path, &copied);
        let check = |db: &Database| {
            let table = db.table("t").unwrap();
            assert_eq!(rows(db, &table), expected);
            table.verify(&mut db.begin(Isolation::Snapshot).unwrap()).unwrap();
        };
        check(&db);
        drop((old, new, db));
        for path in [&path, &copied] {
            assert!(gemel::check(path).unwrap().is_good());
            let db = open(path);
            check(&db);
            db.checkpoint().unwrap();
            let found = |db: &Database, value| {
                let (table, value, mut ids) = (db.table("t").unwrap(), [value], Vec::new());
                let mut transaction = db.begin(Isolation::Snapshot).unwrap();
                let range = RowRange::prefix(&value);
                table
                    .scan_index(&mut transaction, "by_level", &range, Direction::Forward, |row| {
                        ids.push(row.int(0)?);
                        Ok(ControlFlow::Continue(()))
                    })
                    .unwrap();
                ids
            };
            db.add_index("t", IndexDef::new("by_level", ["level"]).include(["note"])).unwrap();
            assert_eq!((found(&db, Value::Int(-32_768)), found(&db, Value::Int(7))), (vec![1, 3], vec![2]));
            // A dropped column takes its default with it, also from a later column of the name.
            let again = [ColumnChange::drop("code"), ColumnChange::add("code", ColumnType::Bytes)];
            let table = db.alter_table("t", &again).unwrap();
            let row = rows(&db, &table).remove(2);
            assert!(row.contains("-inf true -9223372036854775808") && row.ends_with(" null"), "{row}");
        }
    }
}

#[test]
fn a_column_becomes_not_nullable_if_no_row_is_null_there_and_nullable_again() {
    for engine in ENGINES {
        let directory = tempfile::tempdir().unwrap();
        let [path, copied] = ["db", "copy"].map(|name| directory.path().join(name));
        let open = |path| Database::open(path, Options::default()).unwrap();
        let db = open(&path);
        let named = Schema::new().column("id", ColumnType::I64).nullable("name", ColumnType::Text);
        let old = db.create_table("t", engine, named.primary_key(["id"])).unwrap();
        change(&db, |transaction| {
            (0..50).try_for_each(|id| {
                let name = if id == 33 { Value::Null } else { "x".into() };
                old.insert(transaction, &[Value::Int(id), name])
            })
        });
        let strict = [ColumnChange::set_not_null("name")];
        constraint(db.alter_table("t", &strict), "the row with primary key (id = 33) is null there");
        // The handle goes on, with nulls.
        change(&db, |transaction| old.insert(transaction, &[Value::Int(50), Value::Null]));
        change(&db, |transaction| old.delete(transaction, &[Value::Int(50)]).map(drop));
        change(&db, |transaction| old.set(transaction, &[Value::Int(33)], &[(1, "y".into())]).map(drop));
        let mut added = strict.to_vec();
        added.push(ColumnChange::add("more", ColumnType::Bool));
        added.push(ColumnChange::set_not_null("more"));
        constraint(db.alter_table("t", &added), "column more can't become not nullable");

        let [mut reader, mut writer, mut late] = [(); 3].map(|()| db.begin(Isolation::Snapshot).unwrap());
        let mut moving = db.begin(Isolation::ReadCommitted).unwrap();
        old.set(&mut writer, &[Value::Int(1)], &[(1, Value::Null)]).unwrap();
        let new = db.alter_table("t", &strict).unwrap();
        outdated(writer.commit(), "begin a new transaction");
        outdated(old.set(&mut late, &[Value::Int(1)], &[(1, Value::Null)]), "not nullable any more");
        outdated(old.set(&mut moving, &[Value::Int(1)], &[(1, Value::Null)]), "not nullable any more");
        too_old(new.get(&mut moving, &[Value::Int(1)]), "after the transaction began");
        assert_eq!(rows_in(&mut reader, &old).len(), 50);
        too_old(new.get(&mut reader, &[Value::Int(1)]), "after the transaction began");
        assert!(db.table_in(&reader, "t").unwrap().schema().columns[1].nullable);
        let mut after = db.begin(Isolation::Snapshot).unwrap();
        outdated(old.get(&mut after, &[Value::Int(1)]), "not nullable any more");
        constraint(new.insert(&mut after, &[Value::Int(60), Value::Null]), "it is not nullable");
        constraint(new.set(&mut after, &[Value::Int(1)], &[(1, Value::Null)]), "it is not nullable");
        new.insert(&mut after, &[Value::Int(60), "z".into()]).unwrap();
        after.commit().unwrap().wait().unwrap();
        drop((reader, moving, late));

        // An index has no byte for nulls now; with it the column can't change.
        let new = db.add_index("t", IndexDef::unique("by_name_and_id", ["name", "id"])).unwrap();
        rejected(db.alter_table("t", &[ColumnChange::drop_not_null("name")]), "part of index by_name_and_id");
        let expected = rows(&db, &new);
        assert_eq!((expected.len(), &*expected[33], &*expected[50]), (51, "33 'y'", "60 'z'"));
        copy_directory(&path, &copied);
        drop((old, new, db));
        for path in [&path, &copied] {
            assert!(gemel::check(path).unwrap().is_good());
            let db = open(path);
            let table = db.table("t").unwrap();
            assert_eq!(rows(&db, &table), expected);
            let mut transaction = db.begin(Isolation::Snapshot).unwrap();
            constraint(table.insert(&mut transaction, &[Value::Int(61), Value::Null]), "it is not nullable");
            drop(transaction);
            db.drop_index("t", "by_name_and_id").unwrap();
            let mut before = db.begin(Isolation::Snapshot).unwrap();
            let table = db.table("t").unwrap();
            let new = db.alter_table("t", &[ColumnChange::drop_not_null("name")]).unwrap();
            // Nothing that the earlier handle writes is null.
            assert!(table.set(&mut before, &[Value::Int(2)], &[(1, "two".into())]).unwrap());
            before.commit().unwrap().wait().unwrap();
            change(&db, |transaction| new.set(transaction, &[Value::Int(3)], &[(1, Value::Null)]).map(drop));
            let found = rows(&db, &new);
            assert_eq!((&*found[2], &*found[3], &*found[4]), ("2 'two'", "3 null", "4 'x'"));
            constraint(db.alter_table("t", &strict), "(id = 3)");
        }
    }
}

#[test]
fn a_column_gets_a_wider_type_under_the_rows_that_are_there() {
    for engine in ENGINES {
        let directory = tempfile::tempdir().unwrap();
        let [path, copied] = ["db", "copy"].map(|name| directory.path().join(name));
        let open = |path| Database::open(path, Options::default()).unwrap();
        let db = open(&path);
        let small = Schema::new().column("id", ColumnType::I64).column("n", ColumnType::I16);
        let small = small.nullable("d", ColumnType::I32).primary_key(["id"]);
        let first = db.create_table("t", engine, small).unwrap();
        let row = |id, n, d| [Value::Int(id), Value::Int(n), d];
        change(&db, |transaction| {
            first.insert(transaction, &row(1, -32_768, Value::Int(-2_147_483_648)))?;
            first.insert(transaction, &row(2, 32_767, Value::Null))
        });
        let mut before = db.begin(Isolation::Snapshot).unwrap();
        let decimal = ColumnType::Decimal { scale: 9 };
        let changes = [ColumnChange::set_type("n", ColumnType::I32), ColumnChange::set_type("d", decimal)];
        let second = db.alter_table("t", &changes).unwrap();
        constraint(first.insert(&mut before, &row(3, 70_000, Value::Null)), "does not fit a 16-bit integer");
        assert_eq!(rows_in(&mut before, &first), ["1 -32768 -2147483648", "2 32767 null"]);
        first.insert(&mut before, &row(3, 3, Value::Int(3))).unwrap();
        before.commit().unwrap().wait().unwrap();
        change(&db, |transaction| {
            assert!(second.set(transaction, &[Value::Int(2)], &[(1, Value::Int(70_000))])?);
            second.insert(transaction, &row(4, -70_000, Value::Decimal(i64::MAX)))
        });
        let third = db.alter_table("t", &[ColumnChange::set_type("n", ColumnType::I64)]).unwrap();
        change(&db, |transaction| third.insert(transaction, &row(5, i64::MIN, Value::Null)));
        rejected(db.alter_table("t", &[ColumnChange::set_type("n", ColumnType::I32)]), "copy the values");
        let expected = [
            "1 -32768 -2147483648000000000",
            "2 70000 null",
            "3 3 3000000000",
            "4 -70000 9223372036854775807",
            "5 -9223372036854775808 null",
        ];
        assert_eq!(rows(&db, &third), expected);
        let indexed = db.add_index("t", IndexDef::unique("by_n", ["n"]).include(["d"])).unwrap();
        rejected(
            db.alter_table("t", &[ColumnChange::set_type("n", ColumnType::Decimal { scale: 0 })]),
            "drop the index before, and add it again",
        );
        indexed.verify(&mut db.begin(Isolation::Snapshot).unwrap()).unwrap();
        copy_directory(&path, &copied);
        drop((first, second, third, indexed, db));
        for path in [&path, &copied] {
            assert!(gemel::check(path).unwrap().is_good());
            let db = open(path);
            assert_eq!(rows(&db, &db.table("t").unwrap()), expected);
        }
    }
}
