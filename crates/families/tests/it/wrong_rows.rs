//! Databases that change another number of rows than a transaction wants: it must report that, and be rolled back.

use crate::playing::{copy_on_postgres, inputs, load, on_mariadb, on_postgres, open, play};
use lydite_database::{Committed, TxError, TxMode};
use lydite_testkit::{mariadb, postgres};
use lydite_tpcc::StandardKind::{self, Delivery, NewOrder, OrderStatus, Payment};
use lydite_tpcc::{Outcome, Standard, Transaction};
use std::thread;
use std::time::Duration;

/// Changes of rows, and the transactions that make them.
const CHANGES: [(&str, &str, &[StandardKind]); 11] = [
    ("UPDATE", "warehouse", &[Payment]),
    ("UPDATE", "district", &[NewOrder, Payment]),
    ("UPDATE", "customer", &[Payment, Delivery]),
    ("UPDATE", "stock", &[NewOrder]),
    ("UPDATE", "orders", &[Delivery]),
    ("UPDATE", "order_line", &[Delivery]),
    ("INSERT", "history", &[Payment]),
    ("INSERT", "orders", &[NewOrder]),
    ("INSERT", "new_order", &[NewOrder]),
    ("INSERT", "order_line", &[NewOrder]),
    ("DELETE", "new_order", &[Delivery]),
];

#[test]
fn a_change_that_postgresql_drops_is_a_wrong_number_of_rows_in_every_mode() {
    let server = postgres::shared();
    on_postgres("dropping_template", 1, "?foreign_keys=off");
    let drops = "CREATE FUNCTION drops() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$";
    server.psql("dropping_template", drops);
    let counts = "SELECT (SELECT sum(d_next_o_id) FROM district), (SELECT count(*) FROM history), \
                  (SELECT count(*) FROM order_line), (SELECT sum(w_ytd) FROM warehouse)";
    for mode in TxMode::ALL {
        let name = format!("dropping_{mode}");
        let target = open(&copy_on_postgres("dropping_template", &name), mode);
        for (change, table, kinds) in CHANGES {
            server.psql(
                &name,
                &format!(
                    "CREATE TRIGGER drops BEFORE {change} ON {table} FOR EACH ROW EXECUTE FUNCTION drops()"
                ),
            );
            for &kind in kinds {
                let of_kind =
                    inputs(1, 60).into_iter().find(|input| input.kind() == kind).expect("one of them");
                let before = server.psql(&name, counts);
                // Not by `play`, which holds the counts of the database against the answers.
                let answer = target.connect().expect("a session").execute(&of_kind);
                let Err(TxError::WrongRows { committed, detail }) = &answer else {
                    panic!("{mode} {change} {table} {kind:?}: {answer:?}");
                };
                assert!(detail.contains("run lydite check"), "{mode} {change} {table}: {detail}");
                // A statement that is sent with its commit is seen too late.
                let inserts = change == "INSERT" && mode == TxMode::Batched && table != "order_line";
                assert_eq!(*committed == Committed::Unknown, inserts, "{mode} {change} {table}: {detail}");
                if !inserts {
                    assert_eq!(server.psql(&name, counts), before, "{mode} {change} {table}: {detail}");
                }
            }
            server.psql(&name, &format!("DROP TRIGGER drops ON {table}"));
        }
        for answer in play(&*target, &inputs(1, 40)) {
            assert!(!matches!(answer, Err(TxError::WrongRows { .. })), "{mode}: {answer:?}");
        }
    }
}

#[test]
fn a_delete_that_postgresql_drops_once_is_a_wrong_number_of_rows_at_every_level() {
    let server = postgres::shared();
    on_postgres("dropping_once_template", 1, "");
    // A second try would succeed.
    server.psql(
        "dropping_once_template",
        "CREATE SEQUENCE tries; \
         CREATE FUNCTION drops() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
         IF nextval('tries') = 1 THEN RETURN NULL; END IF; RETURN OLD; END $$; \
         CREATE TRIGGER drops BEFORE DELETE ON new_order FOR EACH ROW EXECUTE FUNCTION drops()",
    );
    let delivery = inputs(1, 60).into_iter().find(|input| input.kind() == Delivery).expect("one of them");
    for isolation in ["repeatable-read", "serializable", "read-committed"] {
        for mode in TxMode::ALL {
            let name = format!("dropping_once_{mode}_{}", isolation.replace('-', "_"));
            let url = format!("{}?isolation={isolation}", copy_on_postgres("dropping_once_template", &name));
            let target = open(&url, mode);
            let mut session = target.connect().expect("a session");
            let answer = session.execute(&delivery);
            let Err(TxError::WrongRows { committed: Committed::No, detail }) = &answer else {
                panic!("{mode} {isolation}: {answer:?}");
            };
            assert!(detail.starts_with("DELETE FROM new_order of order 1/1/"), "{detail}");
            assert!(
                detail.contains(" changed 0 rows instead of 1: look for a trigger, rule, view"),
                "{detail}"
            );
            let answer = session.execute(&delivery);
            assert!(answer.is_ok(), "{mode} {isolation}: {answer:?}");
        }
    }
}

#[test]
fn an_order_that_another_delivery_takes_is_no_wrong_number_of_rows() {
    let server = postgres::shared();
    on_postgres("overtaken_template", 1, "");
    let delivery = inputs(1, 60).into_iter().find(|input| input.kind() == Delivery).expect("one of them");
    for mode in TxMode::ALL {
        let name = format!("overtaken_{mode}");
        let url = format!("{}?isolation=read-committed", copy_on_postgres("overtaken_template", &name));
        let target = open(&url, mode);
        let mut session = target.connect().expect("a session");
        let answer = thread::scope(|scope| {
            // Holds the oldest order until the Delivery waits for it, and takes it then.
            let other = scope.spawn(|| {
                server.psql(
                    &name,
                    "BEGIN; DELETE FROM new_order WHERE no_d_id = 1 \
                     AND no_o_id = (SELECT min(no_o_id) FROM new_order WHERE no_d_id = 1); \
                     DO $$ BEGIN WHILE NOT EXISTS (SELECT FROM pg_stat_activity \
                     WHERE datname = current_database() AND wait_event_type = 'Lock') \
                     LOOP PERFORM pg_sleep(0.01); PERFORM pg_stat_clear_snapshot(); END LOOP; END $$; COMMIT",
                )
            });
            // Not a lock of the table: the statement has that one before it has found the order.
            let holds = "SELECT count(*) FROM pg_stat_activity \
                         WHERE datname = current_database() AND wait_event = 'PgSleep'";
            while server.psql(&name, holds).trim() == "0" {
                thread::sleep(Duration::from_millis(10));
            }
            let answer = session.execute(&delivery);
            other.join().expect("the other delivery");
            answer
        });
        let aborted = matches!(answer, Err(TxError::Aborted { .. }));
        assert!(aborted || answer.is_ok(), "{mode}: {answer:?}");
        let answer = session.execute(&delivery);
        assert!(answer.is_ok(), "{mode}: {answer:?}");
    }
}

#[test]
fn an_order_without_lines_is_a_wrong_number_of_rows_in_every_mode() {
    on_postgres("lineless", 1, "");
    let postgres = postgres::shared();
    let mariadb = on_mariadb(&mariadb::FAST, 1, "");
    postgres.psql("lineless", "DELETE FROM order_line");
    mariadb.sql("tpcc", "DELETE FROM order_line");
    let status = inputs(1, 60).into_iter().find(|input| input.kind() == OrderStatus).expect("one of them");
    for url in [postgres.url("lineless"), mariadb.url("tpcc")] {
        for mode in TxMode::ALL {
            let answer = open(&url, mode).connect().expect("a session").execute(&status);
            assert!(matches!(&answer, Err(TxError::WrongRows { .. })), "{url} {mode}: {answer:?}");
        }
    }
}

/// Returns the answer to a New-Order with items that exist.
fn new_order(url: &str, mode: TxMode) -> Result<Outcome, TxError> {
    let whole = |input: &Transaction| match input {
        Transaction::Standard(Standard::NewOrder(order)) => {
            order.lines.iter().all(|line| line.i_id.0 <= 100_000)
        }
        _ => false,
    };
    let order = inputs(1, 60).into_iter().find(whole).expect("one of them");
    open(url, mode).connect().expect("a session").execute(&order)
}

#[test]
fn a_key_of_a_row_that_the_database_lost_is_a_wrong_number_of_rows_in_every_mode() {
    let postgres = postgres::shared();
    on_postgres("keys_template", 1, "");
    let mariadb = on_mariadb(&mariadb::FAST, 1, "");
    let directory = tempfile::tempdir().expect("a directory");
    for (change, trigger, words) in [
        // The order gets another number than its rows in the other tables. There is an order of the number already.
        ("", true, "it was loaded, or this transaction inserted it: look for a trigger, rule, view or proxy"),
        (
            "UPDATE district SET d_next_o_id = d_next_o_id - 1",
            false,
            "D_NEXT_O_ID gave the number of an order that is there already: run lydite check",
        ),
    ] {
        for mode in TxMode::ALL {
            let name = format!("keys_{mode}_{trigger}");
            let url = copy_on_postgres("keys_template", &name);
            if trigger {
                postgres.psql(
                    &name,
                    "CREATE FUNCTION moves() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
                     NEW.o_id := NEW.o_id + 100000; RETURN NEW; END $$; \
                     CREATE TRIGGER moves BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION moves()",
                );
                mariadb.sql(
                    "tpcc",
                    "CREATE OR REPLACE TRIGGER moves BEFORE INSERT ON orders FOR EACH ROW \
                     SET NEW.o_id = NEW.o_id + 100000",
                );
            } else {
                postgres.psql(&name, change);
                mariadb.sql("tpcc", &format!("DROP TRIGGER IF EXISTS moves; {change}"));
            }
            for url in [&url, &mariadb.url("tpcc")] {
                let answer = new_order(url, mode);
                let wrong = matches!(&answer, Err(TxError::WrongRows { committed: Committed::No, detail })
                    if detail.contains(words));
                assert!(wrong, "{url} {mode}: {answer:?}");
            }
        }
    }
    let sqlite = format!("sqlite:{}", directory.path().join("keys").display());
    let target = open(&sqlite, TxMode::Statements);
    load(&*target, 1);
    let file = rusqlite::Connection::open(directory.path().join("keys")).expect("the file");
    file.execute_batch("UPDATE district SET d_next_o_id = d_next_o_id - 1").expect("an update");
    let answer = new_order(&sqlite, TxMode::Statements);
    assert!(
        matches!(&answer, Err(TxError::WrongRows { detail, .. }) if detail.contains("is there already")),
        "{answer:?}"
    );
}

#[test]
fn a_row_that_is_there_twice_is_a_wrong_number_of_rows() {
    let server = postgres::shared();
    let url = on_postgres("twofold", 1, "?foreign_keys=off");
    // A view shows each warehouse twice. The rule keeps updates at one row.
    server.psql(
        "twofold",
        "ALTER TABLE warehouse RENAME TO warehouse_once; \
         CREATE VIEW warehouse AS SELECT * FROM warehouse_once UNION ALL SELECT * FROM warehouse_once; \
         CREATE RULE one AS ON UPDATE TO warehouse DO INSTEAD \
         UPDATE warehouse_once SET w_ytd = NEW.w_ytd WHERE w_id = OLD.w_id",
    );
    let target = open(&url, TxMode::Statements);
    for input in inputs(1, 40) {
        if matches!(input.kind().standard(), Some(NewOrder | Payment)) {
            let answer = play(&*target, std::slice::from_ref(&input)).remove(0);
            assert!(
                matches!(&answer, Err(TxError::WrongRows { detail, .. }) if detail.contains("instead of 1")),
                "{answer:?}"
            );
        }
    }
}

#[test]
fn a_stored_procedure_of_mariadb_counts_the_rows_that_it_changes() {
    // A view drops what is beyond its condition, and the procedures update through it.
    let server = on_mariadb(&mariadb::FAST, 1, "?foreign_keys=off");
    let target = open(&server.url("tpcc"), TxMode::Procedures);
    for (table, condition, kind) in [
        ("warehouse", "w_id > 1", Payment),
        ("district", "d_id > 100", NewOrder),
        ("customer", "c_id > 90000", Payment),
        ("orders", "o_id > 90000", Delivery),
        ("stock", "s_i_id > 900000", NewOrder),
    ] {
        server.sql(
            "tpcc",
            &format!(
                "RENAME TABLE {table} TO hidden; CREATE VIEW {table} AS SELECT * FROM hidden WHERE {condition}"
            ),
        );
        let of_kind = inputs(1, 60).into_iter().find(|input| input.kind() == kind).expect("one of them");
        let answer = play(&*target, &[of_kind]).remove(0);
        assert!(
            matches!(&answer, Err(TxError::WrongRows { committed: Committed::No, .. })),
            "{table}: {answer:?}"
        );
        server.sql("tpcc", &format!("DROP VIEW {table}; RENAME TABLE hidden TO {table}"));
    }
    for answer in play(&*target, &inputs(1, 40)) {
        assert!(!matches!(answer, Err(TxError::WrongRows { .. })), "{answer:?}");
    }
}
