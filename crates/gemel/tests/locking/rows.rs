//! Locks of rows.

use super::shop::{Shop, shop};
use gemel::row::{ColumnType, Schema, Table, Value};
use gemel::{Database, Engine, Error, Isolation, Wait};

/// Returns a table with the row 1, whose second column is 9.
fn table(shop: &Shop) -> Table {
    let schema = Schema::new().column("id", ColumnType::I64).column("left", ColumnType::I64);
    let table = shop.db.create_table("t", Engine::Memory, schema.primary_key(["id"])).unwrap();
    let mut transaction = shop.begin(Isolation::Snapshot);
    table.insert(&mut transaction, &[Value::Int(1), Value::Int(9)]).unwrap();
    drop(transaction.commit().unwrap());
    table
}

#[test]
fn whoever_waits_for_a_row_learns_that_its_table_is_gone() {
    let changes: [fn(&Database); 3] = [
        |db| db.drop_table("t").unwrap(),
        |db| drop(db.truncate_table("t").unwrap()),
        |db| db.move_table("t", Engine::Disk).unwrap(),
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let (shop, row) = (shop(), [Value::Int(1)]);
        let table = table(&shop);
        let is_told = |error: &Error| match error {
            Error::Outdated(_) => number < 2,
            Error::Moved(_) => number == 2,
            _ => false,
        };
        let mut holder = shop.begin(Isolation::Snapshot);
        let left = table.get_locked(&mut holder, &row, Wait::No).unwrap().unwrap();
        assert_eq!(left.view().int(1).unwrap(), 9);
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| {
                let mut waiter = shop.begin(Isolation::Snapshot);
                table.get_locked(&mut waiter, &row, Wait::Forever).map(drop)
            });
            shop.until_waiting(1);
            // Another table is no reason to end the wait.
            shop.db.keyspace("other", Engine::Memory).unwrap();
            shop.db.drop_keyspace("other").unwrap();
            assert_eq!(shop.locks().waiting, 1);
            change(&shop.db);
            let error = waiter.join().unwrap().unwrap_err();
            assert!(is_told(&error), "{number}: {error:?}");
        });
        assert_eq!((shop.locks().held, shop.locks().waiting), (1, 0));
        // What the holder decided on is gone too.
        holder.put(&shop.spaces[0], b"result", b"1").unwrap();
        let error = holder.commit().map(drop).unwrap_err();
        assert!(is_told(&error), "{number}: {error:?}");
        shop.assert_free();
    }
}

#[test]
fn rows_are_locked_updated_and_skipped() {
    let shop = shop();
    let table = table(&shop);
    let (row, missing) = ([Value::Int(1)], [Value::Int(2)]);
    let (mut one, mut two) = (shop.begin(Isolation::Snapshot), shop.begin(Isolation::Snapshot));
    assert!(table.try_lock(&mut one, &row).unwrap());
    assert!(!table.try_lock(&mut two, &row).unwrap());
    assert!(table.get_locked(&mut two, &missing, Wait::No).unwrap().is_none());
    assert!(table.set(&mut one, &row, &[(1, Value::Int(8))]).unwrap());
    drop(one.commit().unwrap());
    // Nothing but locks rests on the snapshot, so it moves on.
    assert!(table.try_lock(&mut two, &row).unwrap());
    assert_eq!(table.read(&mut two, &row, |row| row.int(1)).unwrap(), Some(8));
    table.insert(&mut two, &[Value::Int(2), Value::Int(8)]).unwrap();
    drop(two.commit().unwrap());
    let error = table.get_locked(&mut shop.begin(Isolation::Snapshot), &[Value::Bool(true)], Wait::No);
    assert!(matches!(error, Err(Error::Constraint(_))));
    shop.assert_free();
}
