//! Changes of columns: what transactions from before read, write and commit.

use super::outcome::{conflict, outdated, too_old};
use super::people::{BEFORE, ENGINES, SNAPSHOTS, alter, commit, open, people, rows, rows_now};
use gemel::row::{ColumnChange, ColumnType, IndexDef, Value};
use gemel::{Conflict, Database, Engine, Error, Isolation, Options};

/// The reader takes its snapshot of the table's engine only after others have written rows of the new form.
#[test]
fn a_snapshot_reads_and_writes_on_with_the_columns_that_it_began_with() {
    for (engine, level) in ENGINES.into_iter().flat_map(|engine| SNAPSHOTS.map(|level| (engine, level))) {
        let directory = tempfile::tempdir().unwrap();
        let db = open(directory.path());
        let old = people(&db, engine);
        let mut reader = db.begin(level).unwrap();
        let mut writer = db.begin(level).unwrap();
        let mut loser = db.begin(level).unwrap();
        let new = alter(&db);
        commit(&db, |transaction| {
            new.insert(transaction, &[Value::Int(9), "Oslo".into(), Value::Int(90)])?;
            assert!(new.set(transaction, &[Value::Int(1)], &[(2, Value::Int(10))])?);
            Ok(())
        });
        assert_eq!(rows(&mut reader, &old).unwrap(), BEFORE);
        too_old(rows(&mut reader, &new), "after the transaction began");
        assert_eq!(rows(&mut reader, &old).unwrap(), BEFORE);
        // It sees what it writes itself.
        old.insert(&mut writer, &[Value::Int(4), "Dan".into(), "Riga".into()]).unwrap();
        assert!(old.set(&mut writer, &[Value::Int(2)], &[(1, "lost".into()), (2, "Bonn".into())]).unwrap());
        assert!(old.delete(&mut writer, &[Value::Int(3)]).unwrap());
        assert_eq!(rows(&mut writer, &old).unwrap(), ["1 'Ann' 'Rome'", "2 'lost' 'Bonn'", "4 'Dan' 'Riga'"]);
        // The others have written row 1, and the serializable writer has read it.
        if level == Isolation::Serializable {
            conflict(writer.commit(), Conflict::Read);
            writer = db.begin(Isolation::Snapshot).unwrap();
            outdated(rows(&mut writer, &old), "get the table again");
            outdated(old.delete(&mut writer, &[Value::Int(3)]), "get the table again");
            continue;
        }
        writer.commit().unwrap().wait().unwrap();
        old.set(&mut loser, &[Value::Int(1)], &[(2, "lost".into())]).unwrap();
        conflict(loser.commit(), Conflict::Write);
        let after = ["1 'Rome' 10", "2 'Bonn' null", "4 'Riga' null", "9 'Oslo' 90"];
        assert_eq!(rows_now(&db, &new), after);
        outdated(rows(&mut db.begin(level).unwrap(), &old), "get the table again");
        assert_eq!(rows(&mut reader, &old).unwrap(), BEFORE);
        drop((reader, old, new, db));
        let db = open(directory.path());
        assert_eq!(rows_now(&db, &db.table("people").unwrap()), after);
        drop(db);
        assert!(gemel::check(directory.path()).unwrap().is_good());
    }
}

#[test]
fn each_snapshot_has_the_columns_of_its_time_over_several_changes() {
    for engine in ENGINES {
        let directory = tempfile::tempdir().unwrap();
        let db = open(directory.path());
        let mut tables = vec![people(&db, engine)];
        let mut snapshots = Vec::new();
        for n in 0..5 {
            snapshots.push(db.begin(Isolation::Snapshot).unwrap());
            let change = if n % 2 == 0 {
                ColumnChange::add(&format!("c{n}"), ColumnType::I64)
            } else {
                ColumnChange::drop(&format!("c{}", n - 1))
            };
            tables.push(db.alter_table("people", &[change]).unwrap());
        }
        // Each writes one row, the oldest last.
        for (n, mut transaction) in snapshots.into_iter().enumerate().rev() {
            for (of, table) in tables.iter().enumerate() {
                let found = rows(&mut transaction, table);
                match of.cmp(&n) {
                    std::cmp::Ordering::Less => outdated(found, "get the table again"),
                    std::cmp::Ordering::Equal => assert_eq!(found.unwrap().len(), 3),
                    std::cmp::Ordering::Greater => too_old(found, "after the transaction began"),
                }
            }
            let mut row = vec![Value::Int(10 + n as i64), "new".into(), Value::Null];
            row.resize(tables[n].schema().columns.len(), Value::Int(n as i64));
            tables[n].insert(&mut transaction, &row).unwrap();
            transaction.commit().unwrap().wait().unwrap();
        }
        let expected: Vec<_> = (0..5).map(|n| format!("{} 'new' null null", 10 + n)).collect();
        assert_eq!(rows_now(&db, &tables[5])[3..], expected);
    }
}

#[test]
fn a_read_committed_transaction_goes_on_with_the_new_handle() {
    for engine in ENGINES {
        let directory = tempfile::tempdir().unwrap();
        let db = open(directory.path());
        let old = people(&db, engine);
        let mut transaction = db.begin(Isolation::ReadCommitted).unwrap();
        assert!(old.set(&mut transaction, &[Value::Int(1)], &[(2, "Ulm".into())]).unwrap());
        assert!(old.get(&mut transaction, &[Value::Int(2)]).unwrap().is_some());
        let new = alter(&db);
        commit(&db, |transaction| new.insert(transaction, &[Value::Int(9), "Oslo".into(), Value::Int(90)]));
        outdated(rows(&mut transaction, &old), "get the table again");
        outdated(old.delete(&mut transaction, &[Value::Int(3)]), "get the table again");
        let seen = rows(&mut transaction, &new).unwrap();
        assert_eq!(seen, ["1 'Ulm' null", "2 'Bern' null", "3 null null", "9 'Oslo' 90"]);
        assert!(new.set(&mut transaction, &[Value::Int(3)], &[(2, Value::Int(30))]).unwrap());
        transaction.commit().unwrap().wait().unwrap();
        assert_eq!(rows_now(&db, &new), ["1 'Ulm' null", "2 'Bern' null", "3 null 30", "9 'Oslo' 90"]);
        // An index is another matter: what it wrote before lacks the entries.
        let mut transaction = db.begin(Isolation::ReadCommitted).unwrap();
        assert!(new.delete(&mut transaction, &[Value::Int(1)]).unwrap());
        let index = IndexDef::new("by_age", ["age"]);
        let indexed = db.add_index("people", index).unwrap();
        too_old(rows(&mut transaction, &indexed), "after the transaction began");
        outdated(transaction.commit(), "indexes of the table");
    }
}

#[test]
fn reads_for_an_update_are_checked_over_a_change_of_columns() {
    for engine in ENGINES {
        for meets in [false, true] {
            let directory = tempfile::tempdir().unwrap();
            let db = open(directory.path());
            let old = people(&db, engine);
            let mut transaction = db.begin(Isolation::Snapshot).unwrap();
            let row = |id| [Value::Int(id)];
            assert!(old.get_for_update(&mut transaction, &row(1)).unwrap().is_some());
            let new = alter(&db);
            let changed = if meets { 2 } else { 3 };
            commit(&db, |transaction| {
                new.set(transaction, &row(changed), &[(2, Value::Int(5))]).map(|found| assert!(found))
            });
            let read = old.get_for_update(&mut transaction, &row(2)).unwrap().unwrap();
            assert_eq!(read.view().text(1).unwrap(), "Bob");
            assert!(old.set(&mut transaction, &row(1), &[(2, "Ulm".into())]).unwrap());
            match meets {
                true => conflict(transaction.commit(), Conflict::Read),
                false => drop(transaction.commit().unwrap()),
            }
        }
    }
}

#[test]
fn an_index_or_a_move_after_the_change_ends_the_writes_of_earlier_transactions() {
    for engine in ENGINES {
        let directory = tempfile::tempdir().unwrap();
        let db = open(directory.path());
        let old = people(&db, engine);
        let mut reader = db.begin(Isolation::Snapshot).unwrap();
        let mut writer = db.begin(Isolation::Snapshot).unwrap();
        let before = rows(&mut reader, &old).unwrap();
        assert!(old.delete(&mut writer, &[Value::Int(2)]).unwrap());
        let new = alter(&db);
        assert!(old.delete(&mut writer, &[Value::Int(1)]).unwrap());
        let index = IndexDef::new("by_age", ["age"]);
        let indexed = db.add_index("people", index).unwrap();
        assert_eq!(rows(&mut reader, &old).unwrap(), before);
        outdated(old.delete(&mut reader, &[Value::Int(3)]), "other indexes");
        outdated(old.delete(&mut writer, &[Value::Int(3)]), "other indexes");
        outdated(writer.commit(), "indexes of the table");
        assert_eq!(rows_now(&db, &new).len(), 3);

        let mut writer = db.begin(Isolation::Snapshot).unwrap();
        assert!(indexed.delete(&mut writer, &[Value::Int(2)]).unwrap());
        let other = if engine == Engine::Memory { Engine::Disk } else { Engine::Memory };
        db.move_table("people", other).unwrap();
        for lost in [
            rows(&mut reader, &old).map(drop),
            rows(&mut writer, &indexed).map(drop),
            writer.commit().map(drop),
        ] {
            assert!(matches!(lost, Err(Error::Moved(_))), "{lost:?}");
        }
        outdated(rows(&mut db.begin(Isolation::Snapshot).unwrap(), &old), "get the table again");
        assert_eq!(rows_now(&db, &indexed).len(), 3);
    }
}

#[test]
fn a_transaction_prepared_with_earlier_columns_commits_after_the_change_and_after_a_crash() {
    for engine in ENGINES {
        let directory = tempfile::tempdir().unwrap();
        let db = open(directory.path());
        let old = people(&db, engine);
        let begin = |id: i64| {
            let mut transaction = db.begin(Isolation::Serializable).unwrap();
            old.insert(&mut transaction, &[Value::Int(id), "Eve".into(), "Ulm".into()]).unwrap();
            transaction
        };
        let (first, second, third) = (begin(11), begin(12), begin(13));
        first.prepare("before").unwrap().wait().unwrap();
        let new = alter(&db);
        second.prepare("after").unwrap().wait().unwrap();
        third.prepare("never").unwrap().wait().unwrap();
        commit(&db, |transaction| new.insert(transaction, &[Value::Int(9), Value::Null, Value::Int(90)]));
        db.commit_prepared("before").unwrap().wait().unwrap();
        drop((old, new, db));
        let db = open(directory.path());
        db.commit_prepared("after").unwrap().wait().unwrap();
        db.roll_back_prepared("never").unwrap().wait().unwrap();
        let table = db.table("people").unwrap();
        let expected = ["9 null 90", "11 'Ulm' null", "12 'Ulm' null"];
        assert_eq!(rows_now(&db, &table)[3..], expected);
    }
}

#[test]
fn without_the_registry_earlier_handles_end_with_the_change() {
    for engine in ENGINES {
        let directory = tempfile::tempdir().unwrap();
        let db = Database::open(directory.path(), Options { csr: false, ..Options::default() }).unwrap();
        let old = people(&db, engine);
        let mut reader = db.begin(Isolation::Snapshot).unwrap();
        let mut writer = db.begin(Isolation::Snapshot).unwrap();
        assert!(old.set(&mut writer, &[Value::Int(1)], &[(2, "Ulm".into())]).unwrap());
        let new = alter(&db);
        outdated(rows(&mut reader, &old), "get the table again");
        too_old(rows(&mut reader, &new), "after the transaction began");
        writer.commit().unwrap().wait().unwrap();
        assert_eq!(rows_now(&db, &new)[0], "1 'Ulm' null");
    }
}
