//! Databases that change another number of rows than a transaction wants: it must report that, and be rolled back.

use crate::playing::{copy_on_postgres, inputs, on_mariadb, on_postgres, open, play};
use lydite_database::{Committed, TxError, TxMode};
use lydite_testkit::{mariadb, postgres};
use lydite_tpcc::TransactionKind::{self, Delivery, NewOrder, Payment};

/// Changes of rows, and the transactions that make them.
const CHANGES: [(&str, &str, &[TransactionKind]); 11] = [
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
        if matches!(input.kind(), NewOrder | Payment) {
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
