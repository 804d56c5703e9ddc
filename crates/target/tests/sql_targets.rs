//! The SQL targets on real databases: loading, the three ways of sending transactions, conditions and checksums.

use lydite_target::{DatabaseState, LoadProgress, TableChecksum, Target, TargetSpec, TxError, TxMode};
use lydite_testkit::postgres;
use lydite_tpcc::consistency::CONDITIONS;
use lydite_tpcc::deck::Mix;
use lydite_tpcc::input::InputPlan;
use lydite_tpcc::meta::{DatabaseMeta, POPULATION_VERSION};
use lydite_tpcc::nurand::CLoad;
use lydite_tpcc::population::Population;
use lydite_tpcc::schema::Table;
use lydite_tpcc::{Outcome, Timestamp, Transaction};

const SEED: u64 = 7;

fn open(url: &str, mode: TxMode) -> Box<dyn Target> {
    TargetSpec::parse(url, mode).expect("a good URL").open().expect("a target")
}

fn meta(warehouses: u32) -> DatabaseMeta {
    DatabaseMeta {
        warehouses,
        seed: SEED,
        c_load: CLoad::from_seed(SEED),
        population: POPULATION_VERSION,
        lydite: "test".into(),
    }
}

fn load(target: &dyn Target, warehouses: u32) {
    let meta = meta(warehouses);
    target.create_schema(&meta).expect("create_schema");
    let population = Population::from_meta(&meta, Timestamp(1_700_000_000_000_000));
    let progress = LoadProgress::default();
    let mut loader = target.loader().expect("loader");
    loader.load_items(&population, &progress).expect("load_items");
    for warehouse in population.warehouse_ids() {
        loader.load_warehouse(&population, warehouse, &progress).expect("load_warehouse");
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

fn inputs(warehouses: u32, count: usize) -> Vec<Transaction> {
    let plan = InputPlan::new(SEED, warehouses, CLoad::from_seed(SEED), Mix::Deck);
    let mut terminals: Vec<_> = (0..plan.terminals()).map(|index| plan.terminal(index)).collect();
    (0..count)
        .map(|number| {
            let terminal = number % terminals.len();
            terminals[terminal].next(&plan)
        })
        .collect()
}

/// The outcome with the database's clock taken out, for comparison between runs.
fn timeless(mut outcome: Outcome) -> Outcome {
    match &mut outcome {
        Outcome::NewOrder(order) => order.entry_d = Timestamp(0),
        Outcome::Payment(payment) => {
            payment.h_date = Timestamp(0);
        }
        Outcome::OrderStatus(status) => {
            status.entry_d = Timestamp(0);
            for line in &mut status.lines {
                line.delivery_d = line.delivery_d.map(|_| Timestamp(0));
            }
        }
        Outcome::Delivery(_) | Outcome::StockLevel(_) => {}
    }
    outcome
}

fn play(target: &dyn Target, inputs: &[Transaction]) -> Vec<Result<Outcome, TxError>> {
    let mut session = target.connect().expect("connect");
    inputs.iter().map(|input| session.execute(input).map(timeless)).collect()
}

fn assert_conditions(target: &dyn Target) {
    let findings = target.check(&CONDITIONS, &|_| ()).expect("check");
    assert_eq!(findings.len(), 12);
    for finding in findings {
        assert!(
            finding.holds(),
            "{} {}: {:?}",
            finding.condition.clause,
            finding.condition.title,
            finding.examples
        );
    }
}

#[test]
fn the_same_inputs_leave_the_same_database_in_every_mode_and_in_sqlite() {
    let server = postgres::shared();
    let warehouses = 2;
    let inputs = inputs(warehouses, 600);
    let mut runs: Vec<(String, Vec<TableChecksum>, Vec<Result<Outcome, TxError>>)> = Vec::new();

    let template = server.create_database("modes_template");
    load(&*open(&template, TxMode::Statements), warehouses);
    for mode in [TxMode::Statements, TxMode::Batched, TxMode::Procedures] {
        let name = format!("modes_{mode}");
        server.psql("postgres", &format!("CREATE DATABASE {name} TEMPLATE modes_template"));
        let target = open(&server.url(&name), mode);
        let outcomes = play(&*target, &inputs);
        assert_conditions(&*target);
        runs.push((mode.to_string(), target.checksums().expect("checksums"), outcomes));
    }
    let target = open("sqlite:", TxMode::Statements);
    load(&*target, warehouses);
    let loaded = target.checksums().expect("checksums");
    assert_eq!(
        loaded,
        open(&template, TxMode::Statements).checksums().expect("checksums"),
        "the loaded rows"
    );
    let outcomes = play(&*target, &inputs);
    assert_conditions(&*target);
    runs.push(("sqlite".into(), target.checksums().expect("checksums"), outcomes));

    let (_, first_sums, first_outcomes) = &runs[0];
    assert_ne!(first_sums, &loaded, "the transactions changed something");
    let rolled_back =
        first_outcomes.iter().filter(|outcome| matches!(outcome, Err(TxError::RolledBack(_)))).count();
    assert!(rolled_back > 0, "600 transactions hold a rollback");
    assert!(first_outcomes.iter().all(|outcome| matches!(outcome, Ok(_) | Err(TxError::RolledBack(_)))));
    for (name, sums, outcomes) in &runs[1..] {
        for (number, (a, b)) in first_outcomes.iter().zip(outcomes).enumerate() {
            assert_eq!(a, b, "statements and {name} answer input {number} differently: {:?}", inputs[number]);
        }
        assert_eq!(first_sums, sums, "statements and {name} leave different databases");
    }
}

#[test]
fn an_order_with_the_same_stock_in_several_lines_is_booked_line_by_line() {
    // A line for each stock quantity that makes the replenishing rule of clause 2.4.2.2 go both ways.
    let server = postgres::shared();
    let template = server.create_database("repeat_template");
    load(&*open(&template, TxMode::Statements), 1);
    let mut inputs = inputs(1, 40);
    for input in &mut inputs {
        if let Transaction::NewOrder(order) = input {
            let first = order.lines[0];
            for line in order.lines.iter_mut().step_by(2) {
                (line.i_id, line.supply_w_id) = (first.i_id, first.supply_w_id);
            }
        }
    }
    let mut runs = Vec::new();
    for mode in [TxMode::Statements, TxMode::Batched, TxMode::Procedures] {
        let name = format!("repeat_{mode}");
        server.psql("postgres", &format!("CREATE DATABASE {name} TEMPLATE repeat_template"));
        let target = open(&server.url(&name), mode);
        let outcomes = play(&*target, &inputs);
        runs.push((outcomes, target.checksums().expect("checksums")));
    }
    assert!(
        runs[0].0.iter().all(|outcome| matches!(outcome, Ok(_) | Err(TxError::RolledBack(_)))),
        "{:?}",
        runs[0].0
    );
    assert_eq!(runs[0], runs[1], "statements and batched");
    assert_eq!(runs[0], runs[2], "statements and procedures");
}

#[test]
fn the_state_of_a_database_is_told_from_its_tables() {
    let server = postgres::shared();
    let url = server.create_database("states");
    let target = open(&url, TxMode::Statements);
    assert_eq!(target.state(), Ok(DatabaseState::Empty));
    server.psql("states", "CREATE TABLE stock (mine int)");
    assert_eq!(target.state(), Ok(DatabaseState::Foreign { tables: vec!["stock".into()] }));
    server.psql("states", "DROP TABLE stock");
    target.create_schema(&meta(2)).expect("create_schema");
    let empty = DatabaseState::Loading { meta: meta(2), items: false, warehouses: vec![] };
    assert_eq!(target.state(), Ok(empty));
    target.reset().expect("reset");
    assert_eq!(target.state(), Ok(DatabaseState::Empty));
}
