//! The SQL targets on real databases: loading, the three ways of sending transactions, conditions and checksums.
#![expect(clippy::expect_used, reason = "a test may panic")]

use lydite_target::{
    DatabaseState, LoadProgress, LoadUnit, TableChecksum, Target, TargetSpec, TxError, TxMode,
};
use lydite_testkit::postgres;
use lydite_tpcc::consistency::CONDITIONS;
use lydite_tpcc::deck::Mix;
use lydite_tpcc::input::InputPlan;
use lydite_tpcc::meta::{DatabaseMeta, POPULATION_VERSION};
use lydite_tpcc::nurand::CLoad;
use lydite_tpcc::outcome::StockLevelOutcome;
use lydite_tpcc::population::Population;
use lydite_tpcc::schema::Table;
use lydite_tpcc::transaction::StockLevel;
use lydite_tpcc::{DistrictId, Outcome, Timestamp, Transaction, WarehouseId};

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
    loader.load(LoadUnit::Items, &population, &progress).expect("load ITEM");
    for warehouse in population.warehouse_ids() {
        loader.load(LoadUnit::Warehouse(warehouse), &population, &progress).expect("load a warehouse");
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

type Answers = Vec<Result<Outcome, TxError>>;

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

fn play(target: &dyn Target, inputs: &[Transaction]) -> Answers {
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
    let mut runs: Vec<(String, Vec<TableChecksum>, Answers)> = Vec::new();

    let template = server.create_database("modes_template");
    load(&*open(&template, TxMode::Statements), warehouses);
    for mode in TxMode::ALL {
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
    for mode in TxMode::ALL {
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

#[test]
fn sessions_that_fight_for_one_warehouse_keep_the_conditions_at_every_isolation_level() {
    // Clause 3.4: New-Order, Payment and Delivery of one warehouse collide on its rows all the time.
    let server = postgres::shared();
    let template = server.create_database("fight_template");
    load(&*open(&template, TxMode::Statements), 1);
    for isolation in ["read-committed", "repeatable-read", "serializable"] {
        for mode in TxMode::ALL {
            let name = format!("fight_{mode}_{}", isolation.replace('-', "_"));
            server.psql("postgres", &format!("CREATE DATABASE {name} TEMPLATE fight_template"));
            let target = open(&format!("{}?isolation={isolation}", server.url(&name)), mode);
            let committed: usize = std::thread::scope(|scope| {
                let fighters: Vec<_> = (0..6)
                    .map(|fighter| {
                        scope.spawn({
                            let target = &target;
                            move || fight(&**target, fighter)
                        })
                    })
                    .collect();
                fighters.into_iter().map(|fighter| fighter.join().expect("no panic")).sum()
            });
            assert!(committed > 0, "{name}");
            assert_conditions(&*target);
        }
    }
}

/// Plays one terminal until it has had enough answers; what is aborted is sent again.
fn fight(target: &dyn Target, terminal: u32) -> usize {
    // Twice as many deliveries as usual: they are what goes wrong below repeatable read.
    let mix = Mix::weights([40.0, 40.0, 5.0, 10.0, 5.0]).expect("shares of 100");
    let plan = InputPlan::new(SEED, 1, CLoad::from_seed(SEED), mix);
    let mut terminal = plan.terminal(terminal);
    let mut session = target.connect().expect("connect");
    let mut committed = 0;
    for _ in 0..60 {
        let input = terminal.next(&plan);
        loop {
            match session.execute(&input) {
                Ok(_) => committed += 1,
                Err(TxError::RolledBack(_)) => {}
                Err(TxError::Aborted { .. }) => continue,
                Err(error) => panic!("{input:?}: {error}"),
            }
            break;
        }
    }
    committed
}

#[test]
fn an_item_that_is_missing_from_the_database_is_an_error_and_no_wanted_rollback() {
    // Clause 2.4.1.4: only an item that the terminal entered wrongly rolls an order back.
    let server = postgres::shared();
    let template = server.create_database("no_items_template");
    load(&*open(&format!("{template}?foreign_keys=off"), TxMode::Statements), 1);
    server.psql("no_items_template", "DELETE FROM item");
    for mode in TxMode::ALL {
        let name = format!("no_items_{mode}");
        server.psql("postgres", &format!("CREATE DATABASE {name} TEMPLATE no_items_template"));
        for (input, outcome) in
            inputs(1, 40).iter().zip(play(&*open(&server.url(&name), mode), &inputs(1, 40)))
        {
            if let Transaction::NewOrder(order) = input {
                let wanted = order.lines.iter().any(|line| line.i_id.0 > 100_000);
                assert_eq!(matches!(outcome, Err(TxError::RolledBack(_))), wanted, "{mode}: {outcome:?}");
                assert_eq!(matches!(outcome, Err(TxError::Fatal(_))), !wanted, "{mode}: {outcome:?}");
            }
        }
    }
}

#[test]
fn a_missing_row_is_never_committed_over() {
    // Clause 2.3.6: a missing row must be detected, and the transaction rolled back.
    let server = postgres::shared();
    let template = server.create_database("no_rows_template");
    load(&*open(&format!("{template}?foreign_keys=off"), TxMode::Statements), 1);
    server.psql(
        "no_rows_template",
        "DELETE FROM stock WHERE s_i_id % 2 = 0; DELETE FROM customer WHERE c_id % 2 = 0",
    );
    for mode in TxMode::ALL {
        let name = format!("no_rows_{mode}");
        server.psql("postgres", &format!("CREATE DATABASE {name} TEMPLATE no_rows_template"));
        let count = || {
            server.psql(
                &name,
                "SELECT (SELECT count(*) FROM orders) || ' ' || (SELECT count(*) FROM new_order) || ' ' \
                || (SELECT count(*) FROM order_line)",
            )
        };
        let target = open(&server.url(&name), mode);
        for input in inputs(1, 60) {
            let before = count();
            let outcome = play(&*target, std::slice::from_ref(&input)).remove(0);
            if outcome.is_err() {
                assert_eq!(count(), before, "{mode}: {input:?}: {outcome:?}");
            }
        }
    }
}

#[test]
fn a_broken_condition_is_told_in_the_same_words_by_every_database() {
    // Amounts are decimals in PostgreSQL and whole cents in SQLite; those who read of them need not know.
    let server = postgres::shared();
    let on_server = open(&server.create_database("words"), TxMode::Statements);
    load(&*on_server, 1);
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("tpcc.sqlite");
    let in_file = open(&format!("sqlite:{}", path.display()), TxMode::Statements);
    load(&*in_file, 1);
    let changes = |cent: &str| {
        format!(
            "UPDATE warehouse SET w_ytd = w_ytd + 1234 * {cent}; \
             UPDATE district SET d_ytd = 7 * {cent} WHERE d_id = 2; \
             UPDATE customer SET c_balance = -5 * {cent} WHERE c_d_id = 3 AND c_id = 1; \
             DELETE FROM history WHERE h_d_id = 4"
        )
    };
    server.psql("words", &changes("0.01"));
    rusqlite::Connection::open(&path).expect("the file").execute_batch(&changes("1")).expect("a change");
    let examples = |target: &dyn Target| -> Vec<Vec<String>> {
        let findings = target.check(&CONDITIONS, &|_| ()).expect("check");
        findings.into_iter().map(|finding| finding.examples).collect()
    };
    let told = examples(&*on_server);
    assert_eq!(told[0], ["w_id=1: w_ytd 300012.34, sum of d_ytd 270000.07"]);
    assert_eq!(told[8][1], "w_id=1 d_id=4: d_ytd 30000.00, sum of h_amount 0.00");
    assert_eq!(told[9][0], "w_id=1 d_id=3 c_id=1: c_balance -0.05, delivered 0.00, paid 10.00");
    assert_eq!(examples(&*in_file), told);
}

#[test]
fn a_reset_drops_whatever_has_the_name_of_a_table_of_ours() {
    let server = postgres::shared();
    let url = server.create_database("views");
    server.psql(
        "views",
        "CREATE TABLE item (mine int); CREATE VIEW stock AS SELECT * FROM item; \
         CREATE MATERIALIZED VIEW orders AS SELECT * FROM item; CREATE VIEW untouched AS SELECT 1",
    );
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("views.sqlite");
    let database = rusqlite::Connection::open(&path).expect("a file");
    database
        .execute_batch("CREATE TABLE item (mine int); CREATE VIEW stock AS SELECT * FROM item")
        .expect("tables");
    drop(database);
    for url in [url, format!("sqlite:{}", path.display())] {
        let target = open(&url, TxMode::Statements);
        assert!(matches!(target.state(), Ok(DatabaseState::Foreign { .. })), "{url}");
        target.reset().expect("reset");
        assert_eq!(target.state(), Ok(DatabaseState::Empty), "{url}");
        target.reset().expect("a reset of nothing");
    }
    assert_eq!(
        server.psql("views", "SELECT count(*) FROM pg_views WHERE viewname = 'untouched'").trim(),
        "1"
    );
}

#[test]
fn a_district_without_order_lines_has_no_low_stock() {
    let server = postgres::shared();
    let url = server.create_database("no_lines");
    open(&url, TxMode::Statements).create_schema(&meta(1)).expect("create_schema");
    server.psql("no_lines", "INSERT INTO district VALUES (1, 1, '', '', '', '', '', '', 0, 0, 1)");
    let input = StockLevel { w_id: WarehouseId(1), d_id: DistrictId(1), threshold: 20 };
    for mode in TxMode::ALL {
        let answers = play(&*open(&url, mode), &[Transaction::StockLevel(input)]);
        assert_eq!(answers, [Ok(Outcome::StockLevel(StockLevelOutcome { low_stock: 0 }))], "{mode}");
    }
}
