//! A database that is broken is found out: each of the twelve consistency conditions (clause 3.3.2), and each of Lydite's
//! own, fails when the rows say so, names the key, and no other condition is blamed for it.

use crate::loaded;
use crate::program::{
    Program, assert_checks_hold, has_each, json, longer_windows, lydite, scratch, text, total, windows_from,
};
use lydite_testkit::{mariadb, postgres};
use rusqlite::Connection;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// A change that breaks a database as it was loaded.
struct Break {
    /// The condition that it is made for; from 13 on the first of `own`.
    number: u8,
    /// In both dialects; amounts are small numbers of whatever unit.
    sql: &'static str,
    /// A key that the condition names.
    key: &'static str,
    /// All conditions of the standard that it breaks.
    broken: &'static [u8],
    /// Lydite's own conditions that it breaks besides.
    own: &'static [&'static str],
}

/// One for each condition. Orders up to 21 of a district are delivered, with amounts of zero; those from 22 on are
/// new (clause 4.3.3.1 by a hundredth).
const BREAKS: [Break; 22] = [
    Break {
        number: 1,
        sql: "UPDATE warehouse SET w_ytd = w_ytd + 1 WHERE w_id = 1",
        key: "w_id=1: w_ytd 300",
        broken: &[1, 8],
        own: &[],
    },
    Break {
        number: 2,
        sql: "UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_id = 2",
        key: "w_id=1 d_id=2: d_next_o_id 32, max o_id 30",
        broken: &[2],
        own: &[],
    },
    Break {
        number: 3,
        sql: "DELETE FROM new_order WHERE no_d_id = 3 AND no_o_id = 25",
        key: "w_id=1 d_id=3: no_o_id 22 to 30",
        broken: &[3, 5, 11],
        own: &[],
    },
    Break {
        number: 4,
        sql: "UPDATE orders SET o_ol_cnt = o_ol_cnt + 1 WHERE o_d_id = 4 AND o_id = 1",
        key: "w_id=1 d_id=4: ",
        broken: &[4, 6],
        own: &["order_line"],
    },
    Break {
        number: 5,
        sql: "UPDATE orders SET o_carrier_id = NULL WHERE o_d_id = 5 AND o_id = 7",
        key: "w_id=1 d_id=5 o_id=7: undelivered, but not in new_order",
        broken: &[5, 7],
        own: &[],
    },
    Break {
        number: 6,
        sql: "UPDATE orders SET o_ol_cnt = o_ol_cnt + CASE o_id WHEN 1 THEN 1 ELSE -1 END \
              WHERE o_d_id = 6 AND o_id IN (1, 2)",
        key: "w_id=1 d_id=6 o_id=2: o_ol_cnt",
        broken: &[6],
        own: &["order_line"],
    },
    Break {
        number: 7,
        sql: "UPDATE order_line SET ol_delivery_d = NULL WHERE ol_d_id = 7 AND ol_o_id = 9 AND ol_number = 1",
        key: "w_id=1 d_id=7 o_id=9: ",
        broken: &[7],
        own: &[],
    },
    Break {
        number: 8,
        sql: "UPDATE history SET h_amount = h_amount + 1 WHERE h_c_d_id = 8 AND h_c_id = 1",
        key: "w_id=1: w_ytd 300",
        broken: &[8, 9, 10],
        own: &["history"],
    },
    Break {
        number: 9,
        sql: "UPDATE history SET h_d_id = 10 WHERE h_c_d_id = 9 AND h_c_id = 1",
        key: "w_id=1 d_id=9: d_ytd",
        broken: &[9],
        own: &["history"],
    },
    Break {
        number: 10,
        sql: "UPDATE history SET h_c_id = 2 WHERE h_c_d_id = 10 AND h_c_id = 1",
        key: "w_id=1 d_id=10 c_id=1: c_balance",
        broken: &[10],
        own: &[],
    },
    Break {
        number: 11,
        sql: "UPDATE customer SET c_delivery_cnt = c_delivery_cnt + 1 WHERE c_d_id = 1 AND c_id = 5",
        key: "w_id=1 d_id=1: orders 30, new orders 9, deliveries 1",
        broken: &[11],
        own: &["customer"],
    },
    Break {
        number: 12,
        sql: "UPDATE customer SET c_ytd_payment = c_ytd_payment + 1 WHERE c_d_id = 2 AND c_id = 5",
        key: "w_id=1 d_id=2 c_id=5: c_balance",
        broken: &[12],
        own: &["customer"],
    },
    Break {
        number: 13,
        sql: "UPDATE item SET i_price = i_price + 1 WHERE i_id = 7",
        key: "i_id=7: i_price ",
        broken: &[],
        own: &["item"],
    },
    Break {
        number: 14,
        sql: "UPDATE stock SET s_ytd = s_ytd + 5, s_order_cnt = s_order_cnt + 1, \
              s_quantity = s_quantity + CASE WHEN s_quantity > 14 THEN -5 ELSE 86 END WHERE s_i_id = 9",
        key: "s_w_id=1 s_i_id=9: s_quantity ",
        broken: &[],
        own: &["stock"],
    },
    Break {
        number: 14,
        sql: "UPDATE stock SET s_quantity = s_quantity + CASE WHEN s_quantity < 100 THEN 1 ELSE -1 END \
              WHERE s_i_id = 11",
        key: "s_w_id=1 s_i_id=11: s_quantity ",
        broken: &[],
        own: &["stock"],
    },
    Break {
        number: 15,
        sql: "UPDATE orders SET o_all_local = 0 WHERE o_d_id = 1 AND o_id = 5",
        key: "w_id=1 d_id=1 o_id=5: o_all_local 0",
        broken: &[],
        own: &["orders"],
    },
    Break {
        number: 16,
        sql: "UPDATE order_line SET ol_quantity = 6 WHERE ol_d_id = 2 AND ol_o_id = 3 AND ol_number = 1",
        key: "w_id=1 d_id=2 o_id=3 number=1: ol_quantity 6",
        broken: &[],
        own: &["order_line"],
    },
    Break {
        number: 16,
        sql: "UPDATE order_line SET ol_amount = ol_amount + 1 WHERE ol_d_id = 3 AND ol_o_id = 25 AND ol_number = 1",
        key: "w_id=1 d_id=3: loaded lines are ",
        broken: &[],
        own: &["order_line"],
    },
    Break {
        number: 17,
        sql: "UPDATE customer SET c_payment_cnt = c_payment_cnt + 1 WHERE c_d_id = 4 AND c_id = 6",
        key: "w_id=1 d_id=4 c_id=6: c_payment_cnt 2 of 1",
        broken: &[],
        own: &["customer"],
    },
    Break {
        number: 18,
        sql: "UPDATE history SET h_data = 'a    b' WHERE h_c_d_id = 5 AND h_c_id = 6",
        // A text with blanks is that of a payment since the load, which the customer has not counted.
        key: "w_id=1 d_id=5 c_id=6: c_payment_cnt 1 of 2",
        broken: &[],
        own: &["customer", "history"],
    },
    Break {
        number: 19,
        sql: "UPDATE warehouse SET w_tax = 0 WHERE w_id = 1",
        key: "w_id=1: ",
        broken: &[],
        own: &["warehouse"],
    },
    Break {
        number: 20,
        sql: "UPDATE district SET d_city = 'x' WHERE d_id = 6",
        key: "w_id=1 d_id=6: ",
        broken: &[],
        own: &["district"],
    },
];

/// Checks a database broken in this way: exit code 1, the broken conditions and no others, the key by name.
#[track_caller]
fn assert_found(change: &Break, url: &str) {
    let ended = lydite(&["check", url]).code(1);
    let lines: Vec<&str> = ended.stdout.lines().collect();
    let verdicts = |verdict: &str| -> Vec<u8> {
        let of =
            lines.iter().filter_map(|line| line.strip_prefix(verdict)?.trim_start().strip_prefix("3.3.2."));
        of.filter_map(|rest| rest.split_whitespace().next()?.parse().ok()).collect()
    };
    assert_eq!(verdicts("FAILED "), change.broken, "{}: {ended:?}", change.sql);
    let own: Vec<&str> = lines
        .iter()
        .filter_map(|line| line.strip_prefix("FAILED ")?.split_whitespace().next())
        .filter(|id| !id.starts_with("3.3.2."))
        .collect();
    assert_eq!(own, change.own, "{}: {ended:?}", change.sql);
    let held: Vec<u8> = (1..=12).filter(|number| !change.broken.contains(number)).collect();
    assert_eq!(verdicts("ok "), held, "{}: {ended:?}", change.sql);
    let failed = match change.number {
        number @ 1..=12 => format!("FAILED 3.3.2.{number} "),
        _ => format!("FAILED {} ", change.own[0]),
    };
    let at = lines.iter().position(|line| line.starts_with(&failed)).expect("the condition");
    assert!(
        lines[at + 1..].iter().take_while(|line| line.starts_with(' ')).any(|line| line.contains(change.key)),
        "{}: {ended:?}",
        change.key
    );
    let count =
        format!("{} of 12 consistency conditions hold, {} of 8 own", held.len(), 8 - change.own.len());
    assert!(ended.stdout.contains(&count), "{count}: {ended:?}");
    let standard: Vec<String> = change.broken.iter().map(|number| format!("3.3.2.{number}")).collect();
    let parts = [
        ("failed consistency conditions", standard.join(", ")),
        ("failed conditions of Lydite's own, beside the standard's twelve", change.own.join(", ")),
    ];
    let parts: Vec<String> = parts
        .iter()
        .filter(|(_, clauses)| !clauses.is_empty())
        .map(|(what, clauses)| format!("{what}: {clauses}"))
        .collect();
    assert_eq!(ended.only_error(), parts.join("; "));
}

/// Does all breaks, two at a time.
fn for_each_break(work: impl Fn(&Break) + Sync) {
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(change) = BREAKS.get(next.fetch_add(1, Ordering::Relaxed)) {
                    work(change);
                }
            });
        }
    });
}

/// Returns the place of a break in the table.
fn place(change: &Break) -> usize {
    BREAKS.iter().position(|other| other.sql == change.sql).expect("one of the table")
}

fn change_sqlite(path: &Path, sql: &str) {
    let database = Connection::open(path).expect("the file");
    assert!(database.execute(sql, []).expect("a change") > 0, "{sql}");
}

/// A loaded SQLite database of one warehouse.
fn load_sqlite(directory: &Path) -> (std::path::PathBuf, String) {
    let path = directory.join("tpcc.sqlite");
    let url = loaded::in_sqlite(&path, 1);
    (path, url)
}

/// A loaded database whose payments leave a cent too much in D_YTD, as a lost update would; `more`: other triggers.
fn load_sqlite_that_books_wrong_amounts(directory: &Path, more: &str) -> (std::path::PathBuf, String) {
    let (path, url) = load_sqlite(directory);
    let triggers = format!(
        "CREATE TRIGGER wrong AFTER INSERT ON history BEGIN \
         UPDATE district SET d_ytd = d_ytd + 1 WHERE d_w_id = NEW.h_w_id AND d_id = NEW.h_d_id; END; {more}"
    );
    Connection::open(&path).expect("the file").execute_batch(&triggers).expect("triggers");
    (path, url)
}

#[test]
fn each_condition_is_found_broken_in_postgres_by_its_key() {
    let server = postgres::shared();
    for_each_break(|change| {
        let name = format!("broken_{}", place(change));
        let url = loaded::on_postgres(&name, 1);
        server.psql(&name, change.sql);
        assert_found(change, &url);
        server.psql("postgres", &format!("DROP DATABASE {name}"));
    });
}

#[test]
fn each_condition_is_found_broken_in_sqlite_by_its_key() {
    let directory = scratch();
    let (sound, _) = load_sqlite(directory.path());
    for_each_break(|change| {
        let path = directory.path().join(format!("broken_{}.sqlite", place(change)));
        fs::copy(&sound, &path).expect("a copy");
        change_sqlite(&path, change.sql);
        assert_found(change, &format!("sqlite:{}", text(&path)));
        fs::remove_file(&path).expect("the copy");
    });
}

/// A collation decides which texts are equal in a query. Lydite's tables have one that compares characters, but somebody
/// may have changed it.
#[test]
fn texts_that_differ_in_case_or_blanks_only_are_found_whatever_the_collation() {
    let server = mariadb::shared();
    let url = server.create_database("collated");
    lydite(&["load", &url, "-w", "1", "--size", "tiny", "--quiet"]).code(0);
    lydite(&["run", &url, "-d", "1s", "--warmup", "0", "--quiet"]).code(0);
    for table in ["warehouse", "district", "history", "customer"] {
        let convert = "CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci";
        server.sql("collated", &format!("ALTER TABLE {table} {convert}"));
    }
    lydite(&["check", &url, "--quiet"]).code(0);
    let changes = [
        ("UPDATE history SET h_data = swapcased WHERE h_data LIKE '% %' LIMIT 1", "history"),
        ("UPDATE history SET h_data = concat(trim(h_data), ' ') WHERE h_data LIKE '% %' LIMIT 1", "history"),
        ("UPDATE customer SET c_credit = 'gc' WHERE c_credit = 'GC' LIMIT 1", "customer"),
    ];
    for (change, table) in changes {
        server.sql("collated", &format!("CREATE TABLE kept AS SELECT * FROM {table}"));
        // Letters of both cases: one of the two differs.
        let swapped =
            "CASE WHEN BINARY h_data = BINARY lower(h_data) THEN upper(h_data) ELSE lower(h_data) END";
        server.sql("collated", &change.replace("swapcased", swapped));
        let ended = lydite(&["check", &url, "--quiet"]).code(1);
        assert!(ended.only_error().contains(table), "{change}: {ended:?}");
        let restore =
            "SET foreign_key_checks = 0; DELETE FROM {}; INSERT INTO {} SELECT * FROM kept; DROP TABLE kept";
        server.sql("collated", &restore.replace("{}", table));
    }
    lydite(&["check", &url, "--quiet"]).code(0);
}

#[test]
fn a_missing_column_is_named_with_its_table_and_the_condition_by_its_id() {
    let server = postgres::shared();
    let url = loaded::on_postgres("lacks_column", 1);
    server.psql("lacks_column", "ALTER TABLE stock RENAME COLUMN s_order_cnt TO orders");
    let directory = scratch();
    let (path, in_sqlite) = load_sqlite(directory.path());
    let file = Connection::open(path).expect("the file");
    file.execute_batch("ALTER TABLE stock RENAME COLUMN s_order_cnt TO orders").expect("a change");
    for url in [url, in_sqlite] {
        let ended = lydite(&["check", &url]).code(3);
        let error = ended.only_error();
        assert!(error.contains("check condition stock: "), "{error}");
        assert!(
            error.contains("table stock has no column s_order_cnt: its schema was changed by hand"),
            "{error}"
        );
        assert!(error.contains("load again with --fresh"), "{error}");
    }
}

#[test]
fn a_run_refuses_a_broken_database_unless_told_not_to_check() {
    let directory = scratch();
    let (path, url) = load_sqlite(directory.path());
    change_sqlite(&path, BREAKS[0].sql);
    let result = directory.path().join("result.json");
    let plan =
        ["--terminals", "1", "--duration", "500ms", "--warmup", "0", "--quiet", "--json", text(&result)];
    let run = |more: &[&str]| lydite(&[["run", url.as_str()].as_slice(), &plan, more].concat());
    let ended = run(&[]).code(1);
    let error = ended.only_error();
    assert!(error.contains("condition 3.3.2.1 does not hold before the run"), "{error}");
    assert!(error.contains("w_id=1") && error.contains("--fresh") && error.contains("--no-check"), "{error}");
    assert!(!result.exists(), "there is no result of a run that was not made");
    run(&["--no-check"]).code(0);
    assert_checks_hold(&json(&result), &[]);
    let conditions = json(&result)["compliance"]
        .as_array()
        .expect("rules")
        .iter()
        .find(|line| line["clause"] == "3.3.2")
        .cloned();
    assert!(conditions.expect("the conditions")["met"].is_null(), "nobody looked");
    run(&["--fresh"]).code(0);
    assert_checks_hold(&json(&result), &["before", "after"]);
}

#[test]
fn a_database_that_breaks_during_the_run_is_told_with_the_result() {
    // The database's failure is a result.
    let (ended, result) = longer_windows(|window| {
        let directory = scratch();
        let (_path, url) = load_sqlite_that_books_wrong_amounts(directory.path(), "");
        let result = directory.path().join("result.json");
        let plan = ["--terminals", "1", "--duration", window, "--warmup", "0", "--quiet"];
        let ended = lydite(&[["run", url.as_str(), "--json", text(&result)].as_slice(), &plan].concat());
        let result = json(&result);
        has_each(&result, &["payment"]).then_some((ended.code(1), result))
    });
    assert_eq!(result["status"], "complete");
    let broken: Vec<&str> = result["checks"]
        .as_array()
        .expect("checks")
        .iter()
        .filter(|check| check["ok"] == false)
        .map(|check| {
            assert_eq!(check["when"], "after");
            assert!(check["detail"].as_str().expect("a detail").contains("w_id=1"), "{check}");
            check["id"].as_str().expect("an id")
        })
        .collect();
    assert_eq!(broken, ["3.3.2.1", "3.3.2.9"]);
    assert!(ended.stdout.contains("3.3.2.1"), "the table tells it: {}", ended.stdout);
}

#[test]
fn a_broken_database_outweighs_whatever_else_went_wrong() {
    // Deliveries fail all the time, and a trigger books wrong amounts; the page can't be written besides.
    let never =
        "CREATE TRIGGER never BEFORE DELETE ON new_order BEGIN SELECT raise(ABORT, 'no deliveries'); END";
    windows_from("3s", |window| {
        let directory = scratch();
        let (path, url) = load_sqlite_that_books_wrong_amounts(directory.path(), never);
        let pages = directory.path().join("pages");
        fs::create_dir(&pages).expect("a directory");
        let (result, page) = (directory.path().join("result.json"), pages.join("page.html"));
        let plan = ["--terminals", "1", "--duration", window, "--warmup", "0", "--mix", "40,40,0,20,0"];
        let files = ["--quiet", "--json", text(&result), "--report", text(&page)];
        let run = Program::new(&[["run", url.as_str()].as_slice(), &plan, &files].concat());
        // Where the page goes instead.
        let mut running = run.env("TMPDIR", directory.path()).start();
        let paid = running.reaches("the first payment", || {
            let count = Connection::open(&path).and_then(|file| {
                file.query_row("SELECT count(*) FROM history", [], |row| row.get::<_, i64>(0))
            });
            count.is_ok_and(|count| count > 300)
        });
        if !paid || page.exists() {
            return None;
        }
        fs::remove_dir(&pages).expect("the directory");
        let ended = running.wait();
        let found = json(&result);
        if !has_each(&found, &["payment"]) || total(&found, "failed") == 0 {
            return None;
        }
        let ended = ended.code(1);
        ended.told(&[
            &["Delivery transactions did not succeed", "no deliveries"],
            &["failed checks: 3.3.2.1"],
            &["page.html", "it was written to"],
        ]);
        assert!(ended.stdout.contains("3.3.2.1") && ended.stdout.contains("NOPM"), "{ended:?}");
        assert_eq!(found["status"], "partial");
        Some(())
    });
}

#[test]
fn a_run_on_a_database_that_drops_updates_of_stock_names_the_table() {
    let (ended, result) = longer_windows(|window| {
        let directory = scratch();
        let (path, url) = load_sqlite(directory.path());
        let drops = "CREATE TRIGGER drops AFTER UPDATE ON stock WHEN NEW.s_i_id % 10 = 0 BEGIN UPDATE stock \
                     SET s_quantity = OLD.s_quantity, s_ytd = OLD.s_ytd, s_order_cnt = OLD.s_order_cnt, \
                     s_remote_cnt = OLD.s_remote_cnt WHERE s_w_id = NEW.s_w_id AND s_i_id = NEW.s_i_id; END";
        Connection::open(&path).expect("the file").execute_batch(drops).expect("a trigger");
        let result = directory.path().join("result.json");
        let plan = ["--terminals", "1", "--duration", window, "--warmup", "0", "--quiet"];
        let ended = lydite(&[["run", url.as_str(), "--json", text(&result)].as_slice(), &plan].concat());
        let result = json(&result);
        (total(&result, "committed") > 200).then_some((ended.code(1), result))
    });
    assert_eq!(result["status"], "complete");
    let broken: Vec<&str> = result["checks"]
        .as_array()
        .expect("checks")
        .iter()
        .filter(|check| check["ok"] == false)
        .map(|check| {
            assert!(check["detail"].as_str().expect("a detail").contains("s_w_id=1 s_i_id="), "{check}");
            check["id"].as_str().expect("an id")
        })
        .collect();
    assert_eq!(broken, ["stock"]);
    assert!(
        ended.stdout.contains("12/12 after the run") && ended.stdout.contains("own conditions FAIL"),
        "{ended:?}"
    );
    assert!(ended.stdout.contains("stock: "), "the table names it: {ended:?}");
}
