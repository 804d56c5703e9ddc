//! Speed of this crate's data generation: `cargo run --release -p lydite-tpcc --example speed`.

use lydite_tpcc::consistency::Evaluator;
use lydite_tpcc::nurand::CLoad;
use lydite_tpcc::population::{Population, RowWriter};
use lydite_tpcc::rows::Row;
use lydite_tpcc::schema::Table;
use lydite_tpcc::{InputPlan, InputStatistics, Mix, Timestamp, WarehouseId};
use std::convert::Infallible;
use std::hint::black_box;
use std::time::Instant;

struct Discard;

impl RowWriter for Discard {
    type Error = Infallible;
    fn write<R: Row>(&mut self, row: &R) -> Result<(), Infallible> {
        black_box(row);
        Ok(())
    }
}

fn main() {
    let population = Population::new(1, 42, Timestamp(0));
    let whole = Instant::now();
    for table in Table::ALL {
        let start = Instant::now();
        let Ok(rows) = population.write_table(table, WarehouseId(1), &mut Discard);
        let seconds = start.elapsed().as_secs_f64();
        println!(
            "{:>10} {rows:>8} rows {:>8.2} ms {:>6.0} ns/row",
            table.name(),
            seconds * 1e3,
            seconds * 1e9 / rows as f64
        );
    }
    println!("one warehouse and the items: {:.3} s", whole.elapsed().as_secs_f64());

    let start = Instant::now();
    let mut check = Evaluator::new();
    for table in Table::ALL {
        let Ok(_) = population.write_table(table, WarehouseId(1), &mut check);
    }
    let ok = check.finish(1).iter().all(|finding| finding.ok);
    println!("made and checked: {:.3} s, consistent: {ok}", start.elapsed().as_secs_f64());

    const TRANSACTIONS: u32 = 5_000_000;
    let plan = InputPlan::new(42, 100, CLoad::from_seed(42), Mix::Deck);
    let mut terminal = plan.terminal(0);
    let start = Instant::now();
    for _ in 0..TRANSACTIONS {
        black_box(terminal.next(&plan));
    }
    let alone = start.elapsed().as_secs_f64() * 1e9 / f64::from(TRANSACTIONS);
    let mut statistics = InputStatistics::default();
    let start = Instant::now();
    for _ in 0..TRANSACTIONS {
        statistics.record(black_box(&terminal.next(&plan)));
    }
    let counted = start.elapsed().as_secs_f64() * 1e9 / f64::from(TRANSACTIONS);
    println!(
        "input: {alone:.0} ns per transaction, {counted:.0} ns with statistics; a terminal has {} bytes",
        size_of_val(&terminal)
    );
}
