//! Changes of tables that a prepared transaction used.

use super::outcome::rejected;
use super::scratch::directory;
use gemel::row::{ColumnType, IndexDef, Schema, Value};
use gemel::{Database, Engine, Isolation, Options};

fn schema() -> Schema {
    Schema::new().column("id", ColumnType::I64).column("name", ColumnType::Text).primary_key(["id"])
}

#[test]
fn a_table_that_a_prepared_transaction_used_is_not_changed() {
    for engine in [Engine::Memory, Engine::Disk] {
        for reads in [false, true] {
            let directory = directory();
            let open = || Database::open(directory.path(), Options::default()).unwrap();
            let mut db = open();
            let table = db.create_table("t", engine, schema().index("by_name", ["name"])).unwrap();
            let space = db.keyspace("s", engine).unwrap();
            let mut transaction = db.begin(Isolation::Serializable).unwrap();
            if reads {
                table.get(&mut transaction, &[Value::Int(1)]).unwrap();
                transaction.get(&space, b"k").unwrap();
            } else {
                table.insert(&mut transaction, &[Value::Int(1), "Ann".into()]).unwrap();
                transaction.put(&space, b"k", b"v").unwrap();
            }
            transaction.prepare("p").unwrap().wait().unwrap();
            let other = if engine == Engine::Memory { Engine::Disk } else { Engine::Memory };
            for _ in 0..2 {
                let says = "can't be changed while the prepared transaction \"p\"";
                let index = IndexDef::new("more", ["name"]);
                rejected(db.drop_table("t"), says);
                rejected(db.truncate_table("t"), says);
                rejected(db.add_index("t", index), says);
                rejected(db.drop_index("t", "by_name"), says);
                rejected(db.move_table("t", other), says);
                rejected(db.drop_keyspace("s"), says);
                rejected(db.move_keyspace("s", other), says);
                // Opening shows that nothing of that has begun.
                drop((table.clone(), space.clone()));
                db.close().unwrap();
                db = open();
            }
            db.create_table("u", engine, schema()).unwrap();
            db.truncate_table("u").unwrap();
            db.commit_prepared("p").unwrap().wait().unwrap();
            assert_eq!(
                db.exact_sizes().unwrap().iter().map(|part| part.rows).sum::<u64>(),
                if reads { 0 } else { 3 }
            );
            db.move_table("t", other).unwrap();
            db.truncate_table("t").unwrap();
            db.drop_keyspace("s").unwrap();
            drop(db);
            assert!(gemel::check(directory.path()).unwrap().is_good());
        }
    }
}
