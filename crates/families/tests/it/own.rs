//! Databases that break what they are told to write: triggers that drop, keep or change columns which the standard's
//! twelve conditions do not see. Lydite's own conditions find each of them, by its table.

use crate::playing::{assert_conditions, inputs, load, on_mariadb, on_postgres, open, play};
use lydite_database::TxMode;
use lydite_testkit::{mariadb, postgres};
use lydite_tpcc::consistency::{CONDITIONS, OWN_CONDITIONS};

const WAREHOUSES: u32 = 2;

/// A fault of a database, as a trigger in each dialect.
struct Fault {
    what: &'static str,
    postgres: [&'static str; 3],
    mariadb: &'static str,
    sqlite: &'static str,
    /// The conditions that it breaks.
    broken: &'static [&'static str],
}

const FAULTS: [Fault; 6] = [
    Fault {
        what: "drops a tenth of the updates of STOCK",
        postgres: ["BEFORE UPDATE", "stock", "IF NEW.s_i_id % 10 = 0 THEN RETURN OLD; END IF;"],
        mariadb: "BEFORE UPDATE ON stock FOR EACH ROW SET \
                  NEW.s_quantity = if(NEW.s_i_id % 10, NEW.s_quantity, OLD.s_quantity), \
                  NEW.s_ytd = if(NEW.s_i_id % 10, NEW.s_ytd, OLD.s_ytd), \
                  NEW.s_order_cnt = if(NEW.s_i_id % 10, NEW.s_order_cnt, OLD.s_order_cnt), \
                  NEW.s_remote_cnt = if(NEW.s_i_id % 10, NEW.s_remote_cnt, OLD.s_remote_cnt)",
        sqlite: "AFTER UPDATE ON stock WHEN NEW.s_i_id % 10 = 0 BEGIN UPDATE stock SET s_quantity = OLD.s_quantity, \
                 s_ytd = OLD.s_ytd, s_order_cnt = OLD.s_order_cnt, s_remote_cnt = OLD.s_remote_cnt \
                 WHERE s_w_id = NEW.s_w_id AND s_i_id = NEW.s_i_id; END",
        broken: &["stock"],
    },
    Fault {
        what: "keeps old quantities",
        postgres: [
            "BEFORE UPDATE",
            "stock",
            "IF NEW.s_i_id % 10 = 0 THEN NEW.s_quantity := OLD.s_quantity; END IF;",
        ],
        mariadb: "BEFORE UPDATE ON stock FOR EACH ROW SET \
                  NEW.s_quantity = if(NEW.s_i_id % 10, NEW.s_quantity, OLD.s_quantity)",
        sqlite: "AFTER UPDATE ON stock WHEN NEW.s_i_id % 10 = 0 BEGIN UPDATE stock SET s_quantity = OLD.s_quantity \
                 WHERE s_w_id = NEW.s_w_id AND s_i_id = NEW.s_i_id; END",
        broken: &["stock"],
    },
    Fault {
        what: "changes OL_AMOUNT",
        postgres: [
            "BEFORE INSERT",
            "order_line",
            "IF NEW.ol_i_id % 10 = 0 THEN NEW.ol_amount := NEW.ol_amount + 1; END IF;",
        ],
        mariadb: "BEFORE INSERT ON order_line FOR EACH ROW SET \
                  NEW.ol_amount = NEW.ol_amount + if(NEW.ol_i_id % 10, 0, 1)",
        sqlite: "AFTER INSERT ON order_line WHEN NEW.ol_i_id % 10 = 0 BEGIN UPDATE order_line \
                 SET ol_amount = ol_amount + 100 WHERE ol_w_id = NEW.ol_w_id AND ol_d_id = NEW.ol_d_id \
                 AND ol_o_id = NEW.ol_o_id AND ol_number = NEW.ol_number; END",
        broken: &["order_line"],
    },
    Fault {
        what: "changes OL_QUANTITY",
        postgres: [
            "BEFORE INSERT",
            "order_line",
            "IF NEW.ol_i_id % 10 = 0 THEN NEW.ol_quantity := NEW.ol_quantity + 1; END IF;",
        ],
        mariadb: "BEFORE INSERT ON order_line FOR EACH ROW SET \
                  NEW.ol_quantity = NEW.ol_quantity + if(NEW.ol_i_id % 10, 0, 1)",
        sqlite: "AFTER INSERT ON order_line WHEN NEW.ol_i_id % 10 = 0 BEGIN UPDATE order_line \
                 SET ol_quantity = ol_quantity + 1 WHERE ol_w_id = NEW.ol_w_id AND ol_d_id = NEW.ol_d_id \
                 AND ol_o_id = NEW.ol_o_id AND ol_number = NEW.ol_number; END",
        broken: &["stock", "order_line"],
    },
    Fault {
        what: "keeps old C_PAYMENT_CNT",
        postgres: [
            "BEFORE UPDATE",
            "customer",
            "IF NEW.c_id % 3 = 0 THEN NEW.c_payment_cnt := OLD.c_payment_cnt; END IF;",
        ],
        mariadb: "BEFORE UPDATE ON customer FOR EACH ROW SET \
                  NEW.c_payment_cnt = if(NEW.c_id % 3, NEW.c_payment_cnt, OLD.c_payment_cnt)",
        sqlite: "AFTER UPDATE ON customer WHEN NEW.c_id % 3 = 0 BEGIN UPDATE customer \
                 SET c_payment_cnt = OLD.c_payment_cnt WHERE c_w_id = NEW.c_w_id AND c_d_id = NEW.c_d_id \
                 AND c_id = NEW.c_id; END",
        broken: &["customer"],
    },
    Fault {
        what: "keeps old C_DATA",
        postgres: ["BEFORE UPDATE", "customer", "NEW.c_data := OLD.c_data;"],
        mariadb: "BEFORE UPDATE ON customer FOR EACH ROW SET NEW.c_data = OLD.c_data",
        sqlite: "AFTER UPDATE ON customer BEGIN UPDATE customer SET c_data = OLD.c_data WHERE c_w_id = NEW.c_w_id \
                 AND c_d_id = NEW.c_d_id AND c_id = NEW.c_id; END",
        broken: &["customer"],
    },
];

/// Plays transactions on a database with a fault, and checks that the own conditions find it and the twelve do not.
fn assert_found(fault: &Fault, url: &str) {
    let target = open(url, TxMode::Statements);
    play(&*target, &inputs(WAREHOUSES, 300));
    let broken = |conditions: &[_]| -> Vec<&str> {
        let findings = target.check(conditions, &|_| ()).expect("check");
        let broken = findings.into_iter().filter(|finding| !finding.holds());
        broken
            .map(|finding| {
                assert!(finding.examples[0].contains("w_id=") && finding.examples[0].contains("_id="));
                finding.condition.clause
            })
            .collect()
    };
    assert_eq!(broken(&OWN_CONDITIONS), fault.broken, "{url}: {}", fault.what);
    assert_eq!(broken(&CONDITIONS), Vec::<&str>::new(), "{url}: {}", fault.what);
}

#[test]
fn a_postgresql_that_breaks_what_it_writes_is_found_by_its_table() {
    let server = postgres::shared();
    for (fault, number) in FAULTS.iter().zip(0..) {
        let name = format!("own_{number}");
        let url = on_postgres(&name, WAREHOUSES, "");
        let [event, table, body] = fault.postgres;
        server.psql(
            &name,
            &format!(
                "CREATE FUNCTION broken() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {body} RETURN NEW; END $$; \
                 CREATE TRIGGER broken {event} ON {table} FOR EACH ROW EXECUTE FUNCTION broken()"
            ),
        );
        assert_found(fault, &url);
    }
}

#[test]
fn a_mariadb_that_breaks_what_it_writes_is_found_by_its_table() {
    for fault in &FAULTS {
        let server = on_mariadb(&mariadb::FAST, WAREHOUSES, "");
        server.sql("tpcc", &format!("CREATE TRIGGER broken {}", fault.mariadb));
        assert_found(fault, &server.url("tpcc"));
    }
}

#[test]
fn an_sqlite_that_breaks_what_it_writes_is_found_by_its_table() {
    let directory = tempfile::tempdir().expect("a directory");
    let loaded = directory.path().join("loaded.sqlite");
    load(&*open(&format!("sqlite:{}", loaded.display()), TxMode::Statements), WAREHOUSES);
    for (fault, number) in FAULTS.iter().zip(0..) {
        let path = directory.path().join(format!("{number}.sqlite"));
        std::fs::copy(&loaded, &path).expect("a copy");
        let file = rusqlite::Connection::open(&path).expect("the file");
        file.execute_batch(&format!("CREATE TRIGGER broken {}", fault.sqlite)).expect("a trigger");
        drop(file);
        assert_found(fault, &format!("sqlite:{}", path.display()));
    }
}

#[test]
fn transactions_of_all_kinds_keep_the_own_conditions_on_every_kind_of_database() {
    let url = on_postgres("own_sound", WAREHOUSES, "");
    let server = on_mariadb(&mariadb::FAST, WAREHOUSES, "");
    for url in [url, server.url("tpcc"), "sqlite:".into(), "gemel:".into()] {
        let target = open(&url, TxMode::Statements);
        if url.ends_with(':') {
            load(&*target, WAREHOUSES);
        }
        assert_conditions(&*target);
        play(&*target, &inputs(WAREHOUSES, 1_500));
        assert_conditions(&*target);
    }
}
