//! Loads targets and runs transactions on them, for the tests of all kinds of databases. The functions panic on
//! failure.

use crate::error::TxError;
use crate::facts::{DatabaseState, LedgerCounts};
use crate::load::{LoadProgress, LoadUnit};
use crate::load_rows::LoadRows;
use crate::target::Target;
use crate::written::{PaymentKey, Written, WrittenOrder};
use lydite_tpcc::consistency::all_conditions;
use lydite_tpcc::deck::Mix;
use lydite_tpcc::input::InputPlan;
use lydite_tpcc::meta::DatabaseMeta;
use lydite_tpcc::population::Population;
use lydite_tpcc::schema::Table;
use lydite_tpcc::{OrderId, Outcome, Size, Standard, StandardOutcome, Timestamp, Transaction};

/// Seed of rows and inputs.
pub const SEED: u64 = 7;

/// Describes a database with this number of small warehouses.
#[must_use]
pub fn meta(warehouses: u32) -> DatabaseMeta {
    DatabaseMeta { size: Size::Small, ..DatabaseMeta::uniform(warehouses, SEED, "test") }
}

/// Returns the rows of a database with this number of warehouses.
#[must_use]
pub fn population(warehouses: u32) -> Population {
    population_of(&meta(warehouses))
}

/// Returns the rows of a described database.
#[must_use]
pub fn population_of(meta: &DatabaseMeta) -> Population {
    Population::from_meta(meta, Timestamp(1_700_000_000_000_000))
}

/// Loads an empty database.
pub fn load(target: &dyn Target, warehouses: u32) {
    load_as(target, &meta(warehouses));
}

/// Loads an empty database according to a description.
pub fn load_as(target: &dyn Target, meta: &DatabaseMeta) {
    target.create_schema(meta).expect("create_schema");
    let population = population_of(meta);
    let rows = LoadRows::from(&population);
    let progress = LoadProgress::default();
    let mut loader = target.loader().expect("loader");
    loader.load(LoadUnit::Items, &rows, &progress).expect("load ITEM");
    for warehouse in population.warehouse_ids() {
        loader.load(LoadUnit::Warehouse(warehouse), &rows, &progress).expect("load a warehouse");
    }
    drop(loader);
    target.finish_load(2, &|_| ()).expect("finish_load");
    let rows: u64 = Table::ALL
        .iter()
        .flat_map(|&table| population.warehouse_ids().map(move |w| (table, w)))
        .filter(|(table, w)| *table != Table::Item || w.0 == 1)
        .map(|(table, w)| population.table_rows(table, w))
        .sum();
    assert_eq!(progress.rows(), rows);
}

/// Returns the first `count` inputs of all terminals in turn.
#[must_use]
pub fn inputs(warehouses: u32, count: usize) -> Vec<Transaction> {
    inputs_on(&meta(warehouses), count)
}

/// Returns the first `count` inputs of all terminals in turn, for a described database.
#[must_use]
pub fn inputs_on(meta: &DatabaseMeta, count: usize) -> Vec<Transaction> {
    InputPlan::on(meta, SEED, Mix::Deck).in_turn(count)
}

/// Answers of the database to inputs, without its clock.
pub type Answers = Vec<Result<Outcome, TxError>>;

/// Runs inputs one after the other in one session. The counts of orders and payments, and their rows, must grow by what
/// the answers acknowledge.
pub fn play(target: &dyn Target, inputs: &[Transaction]) -> Answers {
    let before = counts(target);
    let rows_before = written(target, None);
    let mut session = target.connect().expect("connect");
    let answers = inputs.iter().map(|input| session.execute(input).map(Outcome::without_clock)).collect();
    if let Some(before) = before {
        assert_eq!(counts(target), Some(grown(before, &answers)));
    }
    if let Some(before) = rows_before {
        assert_written(target, before, inputs, &answers);
    }
    answers
}

/// Returns the rows of New-Orders and Payments of all warehouses; `None` if the database has none.
fn written(target: &dyn Target, orders_from: Option<OrderId>) -> Option<Written> {
    let Ok(DatabaseState::Ready { meta }) = target.state() else { return None };
    Some(target.written(&(1..=meta.warehouses), orders_from).expect("orders and payments"))
}

/// Asserts that the database has exactly the orders and payments that these answers acknowledge, beside those before.
fn assert_written(target: &dyn Target, before: Written, inputs: &[Transaction], answers: &Answers) {
    assert!(before.orders.is_empty(), "no orders without a first number");
    let mut found = written(target, before.next_orders.values().min().copied()).expect("orders and payments");
    found.orders.retain(|order| order.o_id >= before.next_orders[&(order.w_id, order.d_id)]);
    found.orders.sort_unstable();
    let mut expected = before;
    for (input, answer) in inputs.iter().zip(answers) {
        match (input, answer) {
            (
                Transaction::Standard(Standard::NewOrder(input)),
                Ok(Outcome::Standard(StandardOutcome::NewOrder(outcome))),
            ) => {
                let (w_id, d_id, o_id, c_id) = (input.w_id, input.d_id, outcome.o_id, input.c_id);
                expected.orders.push(WrittenOrder { w_id, d_id, o_id, c_id });
                expected.next_orders.insert((w_id, d_id), OrderId(o_id.0 + 1));
            }
            (
                Transaction::Standard(Standard::Payment(input)),
                Ok(Outcome::Standard(StandardOutcome::Payment(outcome))),
            ) => {
                let (w_id, d_id, c_w_id, c_d_id) = (input.w_id, input.d_id, input.c_w_id, input.c_d_id);
                let key = PaymentKey { w_id, d_id, c_w_id, c_d_id, amount: input.amount };
                expected.payments.entry(key).or_default().add(outcome.c_id);
            }
            _ => {}
        }
    }
    expected.orders.sort_unstable();
    assert_eq!(found, expected);
}

/// Returns the counts of all warehouses of a database; `None` if it has none.
fn counts(target: &dyn Target) -> Option<LedgerCounts> {
    let Ok(DatabaseState::Ready { meta }) = target.state() else { return None };
    let all = target.counts(&(1..=meta.warehouses)).expect("counts");
    let each = (1..=meta.warehouses).map(|w_id| target.counts(&(w_id..=w_id)).expect("counts"));
    let sum = each.fold(LedgerCounts::default(), |sum, of| LedgerCounts {
        next_order_ids: sum.next_order_ids + of.next_order_ids,
        payments: sum.payments + of.payments,
        new_orders: sum.new_orders + of.new_orders,
    });
    assert_eq!(all, sum, "all warehouses and each of them");
    Some(all)
}

/// Returns the counts of a database that has done what these answers acknowledge.
fn grown(mut counts: LedgerCounts, answers: &Answers) -> LedgerCounts {
    for answer in answers {
        match answer {
            Ok(Outcome::Standard(StandardOutcome::NewOrder(_))) => {
                counts.next_order_ids += 1;
                counts.new_orders += 1;
            }
            Ok(Outcome::Standard(StandardOutcome::Payment(_))) => counts.payments += 1,
            Ok(Outcome::Standard(StandardOutcome::Delivery(outcome))) => {
                counts.new_orders -= outcome.delivered.len() as u64
            }
            _ => {}
        }
    }
    counts
}

/// Asserts that all twelve consistency conditions and Lydite's own hold.
pub fn assert_conditions(target: &dyn Target) {
    let findings = target.check(&all_conditions(), &|_| ()).expect("check");
    assert_eq!(findings.len(), 20);
    for finding in findings {
        let condition = finding.condition;
        assert!(finding.holds(), "{} {}: {:?}", condition.clause, condition.title, finding.examples);
    }
}

/// Runs `count` inputs of a terminal of the first warehouse, with twice as many Deliveries as usual, because they go
/// wrong below repeatable read. `meta` describes a database of one warehouse. Retries aborted transactions, and returns
/// the committed ones.
pub fn fight(target: &dyn Target, meta: &DatabaseMeta, terminal: u32, count: usize) -> Vec<Transaction> {
    let mix = Mix::weights([40.0, 40.0, 5.0, 10.0, 5.0]).expect("shares of 100");
    let plan = InputPlan::on(meta, SEED, mix);
    let mut terminal = plan.terminal(terminal);
    let mut session = target.connect().expect("connect");
    let mut committed = Vec::new();
    for _ in 0..count {
        let input = terminal.next(&plan);
        loop {
            match session.execute(&input) {
                Ok(_) => committed.push(input),
                Err(TxError::RolledBack(_)) => {}
                Err(TxError::Aborted { .. }) => continue,
                Err(error) => panic!("{input:?}: {error}"),
            }
            break;
        }
    }
    committed
}
