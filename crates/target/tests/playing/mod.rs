//! Loading targets and playing transactions on them, for the tests of SQL databases.
#![allow(dead_code, reason = "not every test file uses all")]

use lydite_target::{LoadProgress, LoadUnit, Target, TargetSpec, TxError, TxMode};
use lydite_testkit::mariadb;
use lydite_tpcc::consistency::CONDITIONS;
use lydite_tpcc::deck::Mix;
use lydite_tpcc::input::InputPlan;
use lydite_tpcc::meta::{DatabaseMeta, POPULATION_VERSION};
use lydite_tpcc::nurand::CLoad;
use lydite_tpcc::population::Population;
use lydite_tpcc::schema::Table;
use lydite_tpcc::{Districts, Outcome, Timestamp, Transaction};

pub(crate) const SEED: u64 = 7;

pub(crate) fn open(url: &str, mode: TxMode) -> Box<dyn Target> {
    TargetSpec::parse(url, mode).expect("a good URL").open().expect("a target")
}

pub(crate) fn meta(warehouses: u32) -> DatabaseMeta {
    DatabaseMeta {
        warehouses,
        districts: Districts::uniform(),
        seed: SEED,
        c_load: CLoad::from_seed(SEED),
        population: POPULATION_VERSION,
        lydite: "test".into(),
    }
}

pub(crate) fn population(warehouses: u32) -> Population {
    population_of(&meta(warehouses))
}

fn population_of(meta: &DatabaseMeta) -> Population {
    Population::from_meta(meta, Timestamp(1_700_000_000_000_000))
}

/// A server for each mode, all with the same database `tpcc`, which `prepare` fills.
pub(crate) fn mariadb_for_each_mode(
    prepare: impl FnOnce(&mariadb::Server, &str),
) -> Vec<(TxMode, mariadb::Server)> {
    let server = mariadb::Server::start(&mariadb::FAST);
    prepare(&server, &server.create_database("tpcc"));
    let mut servers: Vec<_> = TxMode::ALL[1..].iter().map(|mode| (*mode, server.copy())).collect();
    servers.insert(0, (TxMode::ALL[0], server));
    servers
}

pub(crate) fn load(target: &dyn Target, warehouses: u32) {
    load_as(target, &meta(warehouses));
}

pub(crate) fn load_as(target: &dyn Target, meta: &DatabaseMeta) {
    target.create_schema(meta).expect("create_schema");
    let population = population_of(meta);
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

pub(crate) fn inputs(warehouses: u32, count: usize) -> Vec<Transaction> {
    inputs_on(&meta(warehouses), count)
}

pub(crate) fn inputs_on(meta: &DatabaseMeta, count: usize) -> Vec<Transaction> {
    let plan = InputPlan {
        districts: meta.districts.clone(),
        ..InputPlan::new(SEED, meta.warehouses, meta.c_load, Mix::Deck)
    };
    let mut terminals: Vec<_> = (0..plan.terminals()).map(|index| plan.terminal(index)).collect();
    (0..count)
        .map(|number| {
            let terminal = number % terminals.len();
            terminals[terminal].next(&plan)
        })
        .collect()
}

pub(crate) type Answers = Vec<Result<Outcome, TxError>>;

/// The outcome with the database's clock taken out, for comparison between runs.
pub(crate) fn timeless(mut outcome: Outcome) -> Outcome {
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
        _ => {}
    }
    outcome
}

pub(crate) fn play(target: &dyn Target, inputs: &[Transaction]) -> Answers {
    let mut session = target.connect().expect("connect");
    inputs.iter().map(|input| session.execute(input).map(timeless)).collect()
}

pub(crate) fn assert_conditions(target: &dyn Target) {
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

/// Plays one terminal until it has had enough answers; what is aborted is sent again.
pub(crate) fn fight(target: &dyn Target, terminal: u32) -> usize {
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
