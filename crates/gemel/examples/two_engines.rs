//! Two tables in two engines, one transaction over both, a crash, and a recovery that loses nothing.
//!
//! `cargo run -p gemel --example two_engines`

use gemel::row::{ColumnType, Schema, Value};
use gemel::{Database, Engine, Isolation, Options, Result};
use std::error::Error;
use std::path::Path;
use std::process::Command;

/// Opens the shop: the stock of each article in memory, the orders on disk.
fn open(path: &Path) -> Result<Database> {
    let db = Database::open(path, Options::default())?;
    let stock = Schema::new().column("article", ColumnType::Text).column("left", ColumnType::I64);
    db.create_table("stock", Engine::Memory, stock.primary_key(["article"]))?;
    let orders = Schema::new().column("number", ColumnType::I64).column("article", ColumnType::Text);
    db.create_table("orders", Engine::Disk, orders.primary_key(["number"]))?;
    Ok(db)
}

/// Sells one ring, in one transaction over both tables.
fn sell(db: &Database, order: i64) -> Result<()> {
    let (stock, orders) = (db.table("stock")?, db.table("orders")?);
    let mut transaction = db.begin(Isolation::Serializable)?;
    let left = stock.read(&mut transaction, &["ring".into()], |row| row.int(1))?.unwrap_or(10);
    stock.upsert(&mut transaction, &["ring".into(), Value::Int(left - 1)])?;
    orders.insert(&mut transaction, &[Value::Int(order), "ring".into()])?;
    transaction.commit()?.wait() // Now it is on stable storage, in both engines.
}

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::temp_dir().join("gemel-two-engines");
    if std::env::args().nth(1).as_deref() == Some("crash") {
        let db = open(&path)?;
        sell(&db, 1)?;
        sell(&db, 2)?;
        println!("sold two rings, and here the process dies");
        std::process::abort();
    }
    let _ = std::fs::remove_dir_all(&path);
    let died = Command::new(std::env::current_exe()?).arg("crash").status()?;
    println!("it ended with: {died}");

    let db = open(&path)?;
    let mut transaction = db.begin(Isolation::Snapshot)?;
    let left = db.table("stock")?.read(&mut transaction, &["ring".into()], |row| row.int(1))?;
    println!("rings left: {left:?}");
    let orders = db.table("orders")?;
    for order in 1..=2 {
        let row = orders.get(&mut transaction, &[Value::Int(order)])?;
        println!("order {order} is there: {}", row.is_some());
    }
    Ok(())
}
