//! The Dike paper's transactions together with the standard's, on real databases.

use crate::playing::{
    Answers, SEED, assert_conditions, load, mariadb_for_each_mode, meta, on_mariadb, on_postgres, open, play,
};
use lydite_database::{TableChecksum, Target, TxError, TxMode};
use lydite_testkit::{mariadb, postgres, redis};
use lydite_tpcc::consistency::{CONDITIONS, OWN_CONDITIONS};
use lydite_tpcc::input::InputPlan;
use lydite_tpcc::meta::Played;
use lydite_tpcc::transactions::{
    NewOrder, OrderLineInput, UpdateBalanceOutcome, UpdateItem, UpdateStock, WarehouseBalances,
};
use lydite_tpcc::{
    CustomerId, Dike, DikeKind, DikeOutcome, DistrictId, ItemId, Outcome, Standard, StandardKind,
    StandardOutcome, Transaction, TransactionKind, WarehouseId,
};

const WAREHOUSES: u32 = 2;

/// Function that runs SQL in a database by the server's own client.
type Change<'a> = &'a dyn Fn(&str);

/// Calls a function for a loaded PostgreSQL, MariaDB and SQLite, with the URL, the target, a way to change rows, and one
/// cent in the unit of the database's prices. `name` is that of PostgreSQL's database.
fn on_each_sql_database(name: &str, mut each: impl FnMut(&str, &dyn Target, Change<'_>, &str)) {
    let (postgres, mariadb) = (postgres::shared(), on_mariadb(&mariadb::FAST, WAREHOUSES, ""));
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("tpcc.sqlite");
    let in_file = |sql: &str| {
        let file = rusqlite::Connection::open(&path).expect("the file");
        file.execute_batch(sql).expect("a change");
    };
    let in_postgres = |sql: &str| drop(postgres.psql(name, sql));
    let in_mariadb = |sql: &str| drop(mariadb.sql("tpcc", sql));
    let databases: [(String, Change<'_>, &str); 3] = [
        (on_postgres(name, WAREHOUSES, ""), &in_postgres, "0.01"),
        (mariadb.url("tpcc"), &in_mariadb, "0.01"),
        (format!("sqlite:{}", path.display()), &in_file, "1"),
    ];
    load(&*open(&databases[2].0, TxMode::Statements), WAREHOUSES);
    for (url, change, cent) in databases {
        each(&url, &*open(&url, TxMode::Statements), change, cent);
    }
}

/// Returns inputs with orders and dUpdateStocks over both warehouses.
fn plan(mix: &str) -> InputPlan {
    let mix = mix.parse().expect("a mix");
    let usual = InputPlan::on(&meta(WAREHOUSES), SEED, mix);
    InputPlan { update_stock_rounds: 2, update_item_rounds: 3, ..usual }
}

fn inputs() -> Vec<Transaction> {
    let mut inputs = plan("new_order=35,payment=10,update_stock=40,update_item=15").in_turn(300);
    // The same few items, whose changed prices the orders then have.
    inputs.extend((0..30).flat_map(|number| {
        let items = [ItemId(number % 3 + 1), ItemId(number % 2 + 4)];
        let line = |i_id| OrderLineInput { i_id, supply_w_id: WarehouseId(1), quantity: 1 };
        let order = NewOrder {
            w_id: WarehouseId(1),
            d_id: DistrictId(1),
            c_id: CustomerId(1),
            lines: (1..=5).map(|id| line(ItemId(id))).collect(),
        };
        let swap = UpdateItem::once(WarehouseId(1), items);
        [Transaction::Dike(Dike::UpdateItem(swap)), Transaction::Standard(Standard::NewOrder(order))]
    }));
    // The same row by both warehouses, until it is replenished.
    let round =
        |w_id, quantity| OrderLineInput { i_id: ItemId(77), supply_w_id: WarehouseId(w_id), quantity };
    inputs.extend((0..60).map(|number| {
        let w_id = WarehouseId(number % 2 + 1);
        let rounds = [round(1, (number % 10 + 1) as u8), round(2, 10)].into_iter().collect();
        Transaction::Dike(Dike::UpdateStock(UpdateStock { w_id, rounds }))
    }));
    inputs
}

fn of_warehouses(warehouses: &[u32]) -> WarehouseBalances {
    WarehouseBalances {
        w_id: WarehouseId(warehouses[0]),
        warehouses: warehouses.iter().copied().map(WarehouseId).collect(),
    }
}

/// Returns transactions that add more to the second warehouse than to the first, with reads before and after.
fn balances() -> Vec<Transaction> {
    let update = |warehouses: &[u32]| Transaction::Dike(Dike::UpdateBalance(of_warehouses(warehouses)));
    let select = |warehouses: &[u32]| Transaction::Dike(Dike::SelectBalance(of_warehouses(warehouses)));
    vec![select(&[1, 2]), update(&[2, 1]), update(&[2]), select(&[1]), select(&[2, 1])]
}

/// Returns the failed conditions that the standard does not have.
fn broken(target: &dyn Target) -> Vec<String> {
    let findings = target.check(&OWN_CONDITIONS, &|_| ()).expect("check");
    assert_eq!(findings.len(), OWN_CONDITIONS.len());
    findings
        .iter()
        .flat_map(|finding| {
            assert_eq!(finding.examples.len() as u64, finding.offenders.min(5), "{finding:?}");
            finding.examples.iter().map(|example| format!("{}: {example}", finding.condition.clause))
        })
        .collect()
}

fn run(target: &dyn Target, inputs: &[Transaction]) -> (Vec<TableChecksum>, Answers) {
    target.note_played(&Played::NOTED).expect("notes");
    target.note_played(&Played::NOTED).expect("notes that are there stay");
    let mut answers = play(target, inputs);
    assert_conditions(target);
    assert_eq!(broken(target), Vec::<String>::new());
    // The balances come last: after them W_YTD does not match the payments.
    answers.extend(play(target, &balances()));
    (target.checksums().expect("checksums"), answers)
}

#[test]
fn they_leave_the_same_rows_and_answers_in_every_mode_and_kind_of_database() {
    let inputs = inputs();
    let of = |kind: TransactionKind| inputs.iter().filter(|input| input.kind() == kind).count();
    assert!(of(DikeKind::UpdateStock.into()) > 140 && of(StandardKind::NewOrder.into()) > 70);
    assert!(of(DikeKind::UpdateItem.into()) > 70);
    let mut runs: Vec<(String, Vec<TableChecksum>, Answers)> = Vec::new();
    let mut add = |name: String, (sums, answers)| runs.push((name, sums, answers));

    for mode in TxMode::ALL {
        let url = on_postgres(&format!("extra_{mode}"), WAREHOUSES, "");
        add(format!("postgres {mode}"), run(&*open(&url, mode), &inputs));
    }
    for (mode, server) in mariadb_for_each_mode(WAREHOUSES) {
        add(format!("mariadb {mode}"), run(&*open(&server.url("tpcc"), mode), &inputs));
    }
    let redis = redis::Server::start(&[]);
    for url in ["sqlite:".to_string(), "gemel:".to_string(), redis.url(0)] {
        let target = open(&url, TxMode::Statements);
        load(&*target, WAREHOUSES);
        add(url.clone(), run(&*target, &inputs));
    }

    let (_, first_sums, first_answers) = &runs[0];
    let (first_answers, seen) = first_answers.split_at(inputs.len());
    let seen: Vec<Vec<i64>> = seen
        .iter()
        .map(|answer| match answer {
            Ok(Outcome::Dike(DikeOutcome::SelectBalance(select))) => {
                select.balances.iter().map(|cents| cents.0).collect()
            }
            Ok(Outcome::Dike(DikeOutcome::UpdateBalance(UpdateBalanceOutcome))) => Vec::new(),
            other => panic!("{other:?}"),
        })
        .collect();
    let [one, two] = seen[0][..] else { panic!("{seen:?}") };
    assert_eq!(seen[1..], [vec![], vec![], vec![one + 1_000], vec![two + 2_000, one + 1_000]]);
    assert!(first_answers.iter().all(|answer| matches!(answer, Ok(_) | Err(TxError::RolledBack(_)))));
    let last: Vec<i32> = first_answers[360..]
        .iter()
        .filter_map(|answer| match answer {
            Ok(Outcome::Dike(DikeOutcome::UpdateStock(update))) => Some(update.quantities[1]),
            _ => None,
        })
        .collect();
    assert_eq!(last.len(), 60);
    // An order has the price that its item got before.
    for pair in 150..180 {
        let (
            Transaction::Dike(Dike::UpdateItem(swap)),
            Ok(Outcome::Dike(DikeOutcome::UpdateItem(swapped))),
            Ok(Outcome::Standard(StandardOutcome::NewOrder(order))),
        ) = (&inputs[2 * pair], &first_answers[2 * pair], &first_answers[2 * pair + 1])
        else {
            panic!("{:?}", inputs[2 * pair]);
        };
        for (item, price) in swap.rounds.iter().flatten().zip(swapped.prices.iter().flatten()) {
            assert_eq!(order.lines[item.0 as usize - 1].i_price, *price);
        }
    }
    // Ten less each time, or ten less and 91 more (clause 2.4.2.2).
    let steps: Vec<i32> = last.windows(2).map(|two| two[1] - two[0]).collect();
    assert!(steps.iter().all(|step| [-10, 81].contains(step)) && steps.contains(&81), "{steps:?}");
    for (name, sums, answers) in &runs[1..] {
        for (number, (a, b)) in runs[0].2.iter().zip(answers).enumerate() {
            assert_eq!(a, b, "{} and {name} answer input {number}: {:?}", runs[0].0, inputs.get(number));
        }
        assert_eq!(first_sums, sums, "{} and {name} leave different databases", runs[0].0);
    }
}

#[test]
fn a_round_without_its_row_undoes_the_rounds_before_it() {
    let postgres = postgres::shared();
    let mariadb = on_mariadb(&mariadb::FAST, WAREHOUSES, "?foreign_keys=off");
    let hole = "DELETE FROM stock WHERE s_w_id = 2 AND s_i_id = 5";
    let untouched = "SELECT count(*) FROM stock WHERE s_ytd <> 0";
    let at = |w_id, i_id| OrderLineInput { i_id: ItemId(i_id), supply_w_id: WarehouseId(w_id), quantity: 3 };
    let input = Transaction::Dike(Dike::UpdateStock(UpdateStock {
        w_id: WarehouseId(1),
        rounds: [at(1, 5), at(2, 5)].into_iter().collect(),
    }));
    let urls = [on_postgres("no_stock", WAREHOUSES, "?foreign_keys=off"), mariadb.url("tpcc")]
        .map(|url| url + "?foreign_keys=off");
    let items = "DELETE FROM item WHERE i_id = 6";
    for hole in [hole, items] {
        postgres.psql("no_stock", hole);
        mariadb.sql("tpcc", hole);
    }
    let items = [ItemId(5), ItemId(6)];
    let swap = Transaction::Dike(Dike::UpdateItem(UpdateItem::once(WarehouseId(1), items)));
    // The third warehouse does not exist.
    let update = Transaction::Dike(Dike::UpdateBalance(of_warehouses(&[1, 3])));
    let select = Transaction::Dike(Dike::SelectBalance(of_warehouses(&[1, 3])));
    for url in &urls {
        for mode in TxMode::ALL {
            for input in [&input, &swap, &update, &select] {
                let answer = play(&*open(url, mode), std::slice::from_ref(input)).remove(0);
                assert!(
                    matches!(&answer, Err(TxError::WrongRows { detail: why, .. }) if why.contains("run lydite check")),
                    "{url} {mode} {input:?}: {answer:?}"
                );
            }
        }
    }
    assert_eq!(postgres.psql("no_stock", untouched).trim(), "0");
    assert_eq!(mariadb.sql("tpcc", untouched).trim(), "0");
    let updated = "SELECT count(*) FROM warehouse WHERE w_ytd <> 3000";
    assert_eq!(postgres.psql("no_stock", updated).trim(), "0");
    assert_eq!(mariadb.sql("tpcc", updated).trim(), "0");
    let gemel = open("gemel:", TxMode::Statements);
    load(&*gemel, 1);
    let before = gemel.checksums().expect("checksums");
    let answer = play(&*gemel, std::slice::from_ref(&input)).remove(0);
    assert!(
        matches!(&answer, Err(TxError::WrongRows { detail: why, .. }) if why.contains("stock 2/5 is missing")),
        "{answer:?}"
    );
    let answer = play(&*gemel, &[update]).remove(0);
    assert!(
        matches!(&answer, Err(TxError::WrongRows { detail: why, .. }) if why.contains("warehouse 3 is missing")),
        "{answer:?}"
    );
    assert_eq!(gemel.checksums().expect("checksums"), before);
}

/// Returns W_YTD of both warehouses.
fn w_ytd(target: &dyn Target) -> Vec<i64> {
    match play(target, &[Transaction::Dike(Dike::SelectBalance(of_warehouses(&[1, 2])))]).remove(0) {
        Ok(Outcome::Dike(DikeOutcome::SelectBalance(select))) => {
            select.balances.iter().map(|cents| cents.0).collect()
        }
        other => panic!("{other:?}"),
    }
}

/// Sessions compete for few rows. Aborted transactions are retried.
fn fight(target: &dyn Target) {
    std::thread::scope(|scope| {
        for fighter in 0..6_u32 {
            scope.spawn(move || {
                let mut session = target.connect().expect("connect");
                for number in 0..40 {
                    let (one, other) = ((fighter + number) % 3 + 1, (fighter * number) % 2 + 4);
                    let w_id = WarehouseId(number % WAREHOUSES + 1);
                    let take = |w_id| OrderLineInput {
                        i_id: ItemId(one),
                        supply_w_id: WarehouseId(w_id),
                        quantity: (number % 10 + 1) as u8,
                    };
                    let input = match number % 4 {
                        0 | 2 => Transaction::Dike(Dike::UpdateItem(UpdateItem::once(
                            w_id,
                            [ItemId(one), ItemId(other)],
                        ))),
                        1 => Transaction::Dike(Dike::UpdateStock(UpdateStock {
                            w_id,
                            rounds: [take(1), take(2)].into_iter().collect(),
                        })),
                        // Half of the sessions use the opposite order.
                        _ => Transaction::Dike(Dike::UpdateBalance(of_warehouses(
                            [[1, 2], [2, 1]][fighter as usize % 2].as_slice(),
                        ))),
                    };
                    loop {
                        match session.execute(&input) {
                            Ok(_) => break,
                            Err(TxError::Aborted { .. }) => {}
                            Err(error) => panic!("{input:?}: {error}"),
                        }
                    }
                }
            });
        }
    });
}

#[test]
fn sessions_that_fight_for_few_rows_lose_no_update_in_any_mode() {
    let postgres = on_postgres("extra_fights", WAREHOUSES, "");
    // Opposite orders end in deadlocks, which the server looks for after this time.
    let soon = "ALTER DATABASE extra_fights SET deadlock_timeout = '20ms'";
    postgres::shared().psql("postgres", soon);
    let server = on_mariadb(&mariadb::FAST, WAREHOUSES, "");
    let mariadb = server.url("tpcc");
    for isolation in ["read-committed", "serializable"] {
        for url in [&postgres, &mariadb] {
            for mode in TxMode::ALL {
                let target = open(&format!("{url}?isolation={isolation}"), mode);
                target.note_played(&Played::NOTED).expect("notes");
                let before = w_ytd(&*target);
                fight(&*target);
                assert_eq!(broken(&*target), Vec::<String>::new(), "{url} {isolation} {mode}");
                // Six sessions with ten each.
                let wanted: Vec<i64> = before.iter().map(|cents| cents + 60 * 1_000).collect();
                assert_eq!(w_ytd(&*target), wanted, "{url} {isolation} {mode}");
            }
        }
    }
    for url in ["sqlite:", "gemel:"] {
        let target = open(url, TxMode::Statements);
        load(&*target, WAREHOUSES);
        target.note_played(&Played::NOTED).expect("notes");
        let before = w_ytd(&*target);
        fight(&*target);
        assert_eq!(broken(&*target), Vec::<String>::new(), "{url}");
        let wanted: Vec<i64> = before.iter().map(|cents| cents + 60 * 1_000).collect();
        assert_eq!(w_ytd(&*target), wanted, "{url}");
        let findings = target.check(&CONDITIONS, &|_| ()).expect("check");
        assert_eq!(findings.len(), 12, "{url}");
    }
}

#[test]
fn a_lost_update_of_a_price_or_of_stock_is_found() {
    let mut told: Vec<Vec<String>> = Vec::new();
    on_each_sql_database("extra_errors", |url, target, change, cent| {
        assert_eq!(broken(target), Vec::<String>::new(), "{url}");
        let of = |sql: &str| {
            change(sql);
            broken(target)
        };
        let mut found = Vec::new();
        // Simulates a swap whose first half was overwritten.
        found.extend(of(&format!("UPDATE item SET i_price = i_price + {cent} WHERE i_id = 7")));
        found.extend(of(&format!("UPDATE item SET i_price = i_price - {cent} WHERE i_id = 7")));
        // Simulates a read of S_QUANTITY without a lock.
        let take = "UPDATE stock SET s_quantity = 50, s_ytd = s_ytd + 3, s_order_cnt = s_order_cnt + 1 \
                    WHERE s_w_id = 2 AND s_i_id = 9";
        found.extend(of(take));
        // Simulates an S_REMOTE_CNT that counts an order that was rolled back.
        found.extend(of("UPDATE stock SET s_remote_cnt = 1 WHERE s_w_id = 1 AND s_i_id = 4"));
        told.push(found);
    });
    let [items, item, taken, stock, count, taken_again, stock_again] = &told[0][..] else {
        panic!("{told:?}")
    };
    assert!(items.starts_with("item: all: 1000 items, sum of i_price "), "{items}");
    assert!(item.starts_with("item: i_id=7: i_price "), "{item}");
    assert!(taken.contains("stock: s_w_id=2 s_i_id=9: s_quantity 50, s_ytd 3, s_order_cnt 1"), "{taken}");
    assert!(taken.ends_with("lines since the load: quantity 0, number 0, remote 0"), "{taken}");
    assert!(
        stock.starts_with("stock: s_w_id=2 s_i_id=9: s_quantity 50, s_ytd 3, loaded s_quantity "),
        "{stock}"
    );
    assert!(count.starts_with("stock: s_w_id=1 s_i_id=4: s_quantity"), "{count}");
    assert_eq!((taken_again, stock_again), (taken, stock));
    assert_eq!((&told[1], &told[2]), (&told[0], &told[0]), "in the same words everywhere");
}

#[test]
fn exchanged_prices_without_a_note_are_named_as_those_of_a_killed_audit() {
    let mariadb = on_mariadb(&mariadb::FAST, WAREHOUSES, "");
    let urls = [
        on_postgres("extra_exchanged", WAREHOUSES, ""),
        mariadb.url("tpcc"),
        "sqlite:".into(),
        "gemel:".into(),
    ];
    let swap = Transaction::Dike(Dike::UpdateItem(UpdateItem::once(WarehouseId(1), [ItemId(8), ItemId(9)])));
    for (url, is_empty) in urls.iter().zip([false, false, true, true]) {
        let target = open(url, TxMode::Statements);
        if is_empty {
            load(&*target, WAREHOUSES);
        }
        play(&*target, std::slice::from_ref(&swap));
        let found = broken(&*target);
        assert_eq!(found.len(), 2, "{url}: {found:?}");
        assert!(!found[0].contains("audit"), "{url}: {found:?}");
        let words = "have each other's price, as a killed `lydite audit` leaves them (isolation-7): set both prices back";
        assert!(found[1].starts_with("item: ") && found[1].contains(words), "{url}: {found:?}");
    }
}

#[test]
fn an_amount_that_is_no_multiple_of_its_quantity_is_found_after_prices_were_exchanged() {
    let inputs = inputs();
    on_each_sql_database("extra_amounts", |url, target, change, cent| {
        target.note_played(&Played::NOTED).expect("notes");
        play(target, &inputs[..60]);
        assert_eq!(broken(target), Vec::<String>::new(), "{url}");
        // The first order since the load.
        let first = "(SELECT o FROM (SELECT min(ol_o_id) AS o FROM order_line WHERE ol_quantity > 1 \
                     AND ol_o_id > (SELECT max(no_o_id) - 60 FROM new_order)) AS least)";
        change(&format!(
            "UPDATE order_line SET ol_amount = ol_amount + {cent} WHERE ol_o_id = {first} AND ol_quantity > 1"
        ));
        let found = broken(target);
        assert!(!found.is_empty(), "{url}");
        assert!(found.iter().all(|line| line.starts_with("order_line: ")), "{url}: {found:?}");
    });
}
