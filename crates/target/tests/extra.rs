//! The Dike paper's transactions beside the standard's, on real databases.
#![expect(clippy::expect_used, reason = "a test may panic")]

mod playing;

use lydite_target::{TableChecksum, Target, TxError, TxMode};
use lydite_testkit::{mariadb, postgres, redis};
use lydite_tpcc::input::InputPlan;
use lydite_tpcc::transaction::{OrderLineInput, UpdateStock};
use lydite_tpcc::{ItemId, Outcome, Transaction, TransactionKind, WarehouseId};
use playing::{Answers, SEED, assert_conditions, load, meta, open, play};

const WAREHOUSES: u32 = 2;

/// Orders, and dUpdateStocks over both warehouses.
fn plan(mix: &str) -> InputPlan {
    let mix = mix.parse().expect("a mix");
    InputPlan { update_stock_rounds: 2, ..InputPlan::new(SEED, WAREHOUSES, meta(WAREHOUSES).c_load, mix) }
}

fn inputs() -> Vec<Transaction> {
    let plan = plan("new_order=40,payment=10,update_stock=50");
    let mut terminals: Vec<_> = (0..plan.terminals()).map(|index| plan.terminal(index)).collect();
    let count = terminals.len();
    let mut inputs: Vec<Transaction> = (0..300).map(|number| terminals[number % count].next(&plan)).collect();
    // The same row again and again, so that it is replenished, and by one warehouse and by the other.
    let round =
        |w_id, quantity| OrderLineInput { i_id: ItemId(77), supply_w_id: WarehouseId(w_id), quantity };
    inputs.extend((0..60).map(|number| {
        let w_id = WarehouseId(number % 2 + 1);
        let rounds = [round(1, (number % 10 + 1) as u8), round(2, 10)].into_iter().collect();
        Transaction::UpdateStock(UpdateStock { w_id, rounds })
    }));
    inputs
}

fn run(target: &dyn Target, inputs: &[Transaction]) -> (Vec<TableChecksum>, Answers) {
    let answers = play(target, inputs);
    assert_conditions(target);
    (target.checksums().expect("checksums"), answers)
}

#[test]
fn they_leave_the_same_rows_and_answers_in_every_mode_and_kind_of_database() {
    let inputs = inputs();
    let of = |kind| inputs.iter().filter(|input| input.kind() == kind).count();
    assert!(of(TransactionKind::UpdateStock) > 180 && of(TransactionKind::NewOrder) > 80);
    let mut runs: Vec<(String, Vec<TableChecksum>, Answers)> = Vec::new();
    let mut add = |name: String, (sums, answers)| runs.push((name, sums, answers));

    let postgres = postgres::shared();
    load(&*open(&postgres.create_database("extra_template"), TxMode::Statements), WAREHOUSES);
    for mode in TxMode::ALL {
        let name = format!("extra_{mode}");
        postgres.psql("postgres", &format!("CREATE DATABASE {name} TEMPLATE extra_template"));
        add(format!("postgres {mode}"), run(&*open(&postgres.url(&name), mode), &inputs));
    }
    let mariadb = mariadb::Server::start(&mariadb::FAST);
    load(&*open(&mariadb.create_database("tpcc"), TxMode::Statements), WAREHOUSES);
    let copies = [mariadb.copy(), mariadb.copy()];
    for (mode, server) in TxMode::ALL.into_iter().zip([&mariadb, &copies[0], &copies[1]]) {
        add(format!("mariadb {mode}"), run(&*open(&server.url("tpcc"), mode), &inputs));
    }
    let redis = redis::Server::start(&[]);
    for url in ["sqlite:".to_string(), "gemel:".to_string(), redis.url(0)] {
        let target = open(&url, TxMode::Statements);
        load(&*target, WAREHOUSES);
        add(url.clone(), run(&*target, &inputs));
    }

    let (_, first_sums, first_answers) = &runs[0];
    assert!(first_answers.iter().all(|answer| matches!(answer, Ok(_) | Err(TxError::RolledBack(_)))));
    let last: Vec<i32> = first_answers[300..]
        .iter()
        .filter_map(|answer| match answer {
            Ok(Outcome::UpdateStock(update)) => Some(update.quantities[1]),
            _ => None,
        })
        .collect();
    assert_eq!(last.len(), 60);
    // Ten less each time, or ten less and 91 more (clause 2.4.2.2).
    let steps: Vec<i32> = last.windows(2).map(|two| two[1] - two[0]).collect();
    assert!(steps.iter().all(|step| [-10, 81].contains(step)) && steps.contains(&81), "{steps:?}");
    for (name, sums, answers) in &runs[1..] {
        for (number, (a, b)) in first_answers.iter().zip(answers).enumerate() {
            assert_eq!(a, b, "{} and {name} answer input {number}: {:?}", runs[0].0, inputs[number]);
        }
        assert_eq!(first_sums, sums, "{} and {name} leave different databases", runs[0].0);
    }
}

#[test]
fn a_round_without_its_row_undoes_the_rounds_before_it() {
    let (postgres, mariadb) = (postgres::shared(), mariadb::shared());
    let hole = "DELETE FROM stock WHERE s_w_id = 2 AND s_i_id = 5";
    let untouched = "SELECT count(*) FROM stock WHERE s_ytd <> 0";
    let at = |w_id, i_id| OrderLineInput { i_id: ItemId(i_id), supply_w_id: WarehouseId(w_id), quantity: 3 };
    let input = Transaction::UpdateStock(UpdateStock {
        w_id: WarehouseId(1),
        rounds: [at(1, 5), at(2, 5)].into_iter().collect(),
    });
    let urls = [postgres.create_database("no_stock"), mariadb.create_database("no_stock")]
        .map(|url| url + "?foreign_keys=off");
    for url in &urls {
        load(&*open(url, TxMode::Statements), WAREHOUSES);
    }
    postgres.psql("no_stock", hole);
    mariadb.sql("no_stock", hole);
    for url in &urls {
        for mode in TxMode::ALL {
            let answer = play(&*open(url, mode), std::slice::from_ref(&input)).remove(0);
            assert!(
                matches!(&answer, Err(TxError::Fatal(why)) if why.contains("missing: run lydite check")),
                "{url} {mode}: {answer:?}"
            );
        }
    }
    assert_eq!(postgres.psql("no_stock", untouched).trim(), "0");
    assert_eq!(mariadb.sql("no_stock", untouched).trim(), "0");
    let gemel = open("gemel:", TxMode::Statements);
    load(&*gemel, 1);
    let before = gemel.checksums().expect("checksums");
    let answer = play(&*gemel, std::slice::from_ref(&input)).remove(0);
    assert!(
        matches!(&answer, Err(TxError::Fatal(why)) if why.contains("stock 2/5 is missing")),
        "{answer:?}"
    );
    assert_eq!(gemel.checksums().expect("checksums"), before);
}
