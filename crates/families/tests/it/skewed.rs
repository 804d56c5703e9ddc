//! Databases with unequal numbers of districts per warehouse: loading, running, conditions.

use crate::playing::{Answers, assert_conditions, copy_on_postgres, inputs_on, load_as, meta, open, play};
use lydite_database::{DatabaseState, TableChecksum, Target, TxError, TxMode};
use lydite_testkit::{mariadb, postgres, redis};
use lydite_tpcc::consistency::CONDITIONS;
use lydite_tpcc::meta::DatabaseMeta;
use lydite_tpcc::schema::Table;
use lydite_tpcc::{
    DistrictId, Districts, Outcome, Size, Standard, StandardOutcome, Transaction, WarehouseId,
};
use std::sync::Arc;

/// Describes a database of two warehouses with 16 and with 4 districts, with so many new orders that each Delivery finds
/// one in each district.
fn skewed() -> DatabaseMeta {
    let districts = Districts::spread("zipf(2)".parse().expect("a distribution"), 2).expect("few enough");
    assert_eq!([1, 2].map(|w| districts.of(WarehouseId(w))), [16, 4]);
    DatabaseMeta { districts, size: Size::Small, ..meta(2) }
}

fn load_skewed(url: &str) -> Arc<dyn Target> {
    let target = open(url, TxMode::Statements);
    load_as(&*target, &skewed());
    assert_conditions(&*target);
    target
}

/// Runs the transactions and checks the database afterwards.
fn run(target: &dyn Target, inputs: &[Transaction]) -> (Vec<TableChecksum>, Answers) {
    assert_eq!(target.state(), Ok(DatabaseState::Ready { meta: skewed() }));
    let answers = play(target, inputs);
    assert_conditions(target);
    (target.checksums().expect("checksums"), answers)
}

#[test]
fn skewed_data_gives_the_same_answers_and_rows_in_every_mode_and_kind_of_database() {
    let mut inputs = inputs_on(&skewed(), 600);
    // Every other Stock-Level counts in the other warehouse, too: once in one of its districts, once in all four.
    let mut number = 0;
    for input in &mut inputs {
        if let Transaction::Standard(Standard::StockLevel(level)) = input {
            let other = WarehouseId(3 - level.w_id.0);
            let districts = [0, 1, 0, 4][number % 4];
            level.others.extend((1..=districts).map(|d| (other, DistrictId(d))));
            number += 1;
        }
    }
    assert!(number > 8, "{number} Stock-Levels");
    let mut runs: Vec<(String, Vec<TableChecksum>, Answers)> = Vec::new();
    let mut add = |name: String, (sums, answers)| runs.push((name, sums, answers));

    let postgres = postgres::shared();
    load_skewed(&postgres.create_database("skewed_template"));
    for mode in TxMode::ALL {
        let url = copy_on_postgres("skewed_template", &format!("skewed_{mode}"));
        add(format!("postgres {mode}"), run(&*open(&url, mode), &inputs));
    }
    for mode in TxMode::ALL {
        let server = mariadb::Server::start_filled("skewed", &mariadb::FAST, |server| {
            drop(load_skewed(&server.create_database("tpcc")));
        });
        add(format!("mariadb {mode}"), run(&*open(&server.url("tpcc"), mode), &inputs));
    }
    let redis = redis::Server::start(&[]);
    for url in ["sqlite:".to_string(), "gemel:".to_string(), redis.url(0)] {
        add(url.clone(), run(&*load_skewed(&url), &inputs));
    }

    let (_, first_sums, first_answers) = &runs[0];
    let districts = first_sums.iter().find(|sum| sum.table == Table::District).expect("a sum");
    assert_eq!(districts.rows, 20);
    assert!(first_answers.iter().all(|answer| matches!(answer, Ok(_) | Err(TxError::RolledBack(_)))));
    let delivered = |answer: &Result<Outcome, TxError>| match answer {
        Ok(Outcome::Standard(StandardOutcome::Delivery(delivery))) => Some(delivery.delivered.len()),
        _ => None,
    };
    let mut delivered: Vec<usize> = first_answers.iter().filter_map(delivered).collect();
    delivered.sort_unstable();
    delivered.dedup();
    assert_eq!(delivered, [4, 16], "an order of each district there is");
    for (name, sums, answers) in &runs[1..] {
        for (number, (a, b)) in first_answers.iter().zip(answers).enumerate() {
            assert_eq!(
                a, b,
                "{} and {name} answer input {number} differently: {:?}",
                runs[0].0, inputs[number]
            );
        }
        assert_eq!(first_sums, sums, "{} and {name} leave different databases", runs[0].0);
    }
}

#[test]
fn a_district_too_many_or_too_few_breaks_the_first_condition() {
    let postgres = postgres::shared();
    let target = open(&postgres.create_database("skewed_broken"), TxMode::Statements);
    load_as(&*target, &skewed());
    let broken = || -> Vec<(u8, String)> {
        let findings = target.check(&CONDITIONS, &|_| ()).expect("check");
        let broken = findings.into_iter().filter(|finding| !finding.holds());
        broken.map(|finding| (finding.condition.number, finding.examples.concat())).collect()
    };
    assert_eq!(broken(), []);
    postgres.psql(
        "skewed_broken",
        "CREATE TEMPORARY TABLE one AS SELECT * FROM district WHERE d_w_id = 2 AND d_id = 4; \
         UPDATE one SET d_id = 5, d_ytd = 0, d_next_o_id = 1; INSERT INTO district SELECT * FROM one",
    );
    let found = broken();
    assert_eq!(found[0], (1, "w_id=2: 5 districts instead of 4".to_string()));
}
