//! Measures the cost of the row codec with a row of TPC-C's STOCK table (17 columns): `cargo run --release -p gemel
//! --example row_codec`.

use gemel::row::{ColumnType, KeyLayout, Layout, RowView, Schema, Value};
use std::hint::black_box;
use std::time::Instant;

const BATCHES: u32 = 200;
const ROUNDS: u32 = 5_000;

fn main() -> gemel::Result<()> {
    let districts: Vec<_> = (1..=10).map(|n| format!("s_dist_{n:02}")).collect();
    let mut schema = Schema::new()
        .column("s_w_id", ColumnType::I32)
        .column("s_i_id", ColumnType::I32)
        .column("s_quantity", ColumnType::I16);
    for district in &districts {
        schema = schema.column(district, ColumnType::Text);
    }
    let schema = schema
        .column("s_ytd", ColumnType::I32)
        .column("s_order_cnt", ColumnType::I16)
        .column("s_remote_cnt", ColumnType::I16)
        .column("s_data", ColumnType::Text)
        .primary_key(["s_w_id", "s_i_id"]);
    let layout = Layout::new("stock", &schema)?;
    let key = KeyLayout::primary("stock", &schema)?;
    let (quantity, ytd) = (layout.column("s_quantity")?, layout.column("s_ytd")?);
    let (dist, data) = (layout.column("s_dist_05")?, layout.column("s_data")?);

    let mut values = vec![Value::Int(1), Value::Int(4711), Value::Int(55)];
    values.extend([Value::Text("abcdefghijklmnopqrstuvwx"); 10]);
    values.extend([
        Value::Int(0),
        Value::Int(0),
        Value::Int(0),
        Value::Text("thirty-eight letters with ORIGINAL in it"),
    ]);
    let row = layout.encode(&values)?;
    println!("a row takes {} bytes, {} of them its values' own", row.len(), 22 + 240 + 40);

    measure("encode, new memory", || layout.encode(black_box(&values)).map(drop))?;
    let mut memory = Vec::new();
    measure("encode, same memory", || layout.encode_into(black_box(&values), &mut memory))?;
    measure("decode all columns", || {
        let view = RowView::new(&layout, black_box(&row))?;
        for column in 0..layout.columns() {
            black_box(view.get(column)?);
        }
        Ok(())
    })?;
    measure("read four columns", || {
        let view = RowView::new(&layout, black_box(&row))?;
        black_box((view.int(quantity)?, view.int(ytd)?, view.text(dist)?, view.text(data)?));
        Ok(())
    })?;
    let mut changed = row.clone();
    measure("replace an integer", || layout.replace(&mut changed, quantity, black_box(Value::Int(44))))?;
    measure("replace a text", || layout.replace(&mut changed, dist, black_box(values[3])))?;
    measure("encode the key", || key.encode(black_box(&values[..2])).map(drop))
}

/// Prints the best of some batches, because other programs disturb it least.
fn measure(what: &str, mut work: impl FnMut() -> gemel::Result<()>) -> gemel::Result<()> {
    let mut best_ns = f64::INFINITY;
    for _ in 0..BATCHES {
        let start = Instant::now();
        for _ in 0..ROUNDS {
            work()?;
        }
        best_ns = best_ns.min(start.elapsed().as_nanos() as f64 / f64::from(ROUNDS));
    }
    println!("{what:<20} {best_ns:6.1} ns");
    Ok(())
}
