//! Runs on databases that change other rows than they must: the result says that the database is broken.

use crate::loaded;
use crate::program::{check_after, json, lydite, scratch, text, total, windows_from};
use lydite_testkit::{mariadb, postgres};

#[test]
fn a_database_that_drops_a_tenth_of_its_updates_is_broken_and_ends_with_code_1() {
    drops_some("UPDATE", "warehouse", "Payment", 0.1);
}

/// A second try of the Delivery would find the order and delete it.
#[test]
fn a_database_that_drops_a_fiftieth_of_its_deletes_is_broken_and_ends_with_code_1() {
    drops_some("DELETE", "new_order", "Delivery", 0.02);
}

/// Where statements are sent together, the rows that refer to the order come to a foreign key without its row.
#[test]
fn a_database_that_drops_a_tenth_of_its_orders_is_broken_and_ends_with_code_1() {
    drops_some("INSERT", "orders", "New-Order", 0.1);
}

/// Runs on a PostgreSQL that drops a share of the changes of a table, in every mode, and asserts that each run finds it.
fn drops_some(change: &str, table: &str, kind: &str, share: f64) {
    let server = postgres::shared();
    let directory = scratch();
    let path = directory.path().join("result.json");
    let name = format!("drops_{}_{table}", change.to_lowercase());
    let url = loaded::on_postgres(&name, 1);
    let drops = format!(
        "CREATE FUNCTION drops() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
         IF random() < {share} THEN RETURN NULL; END IF; \
         IF TG_OP = 'DELETE' THEN RETURN OLD; END IF; RETURN NEW; END $$; \
         CREATE TRIGGER drops BEFORE {change} ON {table} FOR EACH ROW EXECUTE FUNCTION drops()"
    );
    server.psql(&name, &drops);
    for tx in ["statements", "batched", "procedures"] {
        let failed = windows_from("1s", |window| {
            let plan = [
                "run",
                &url,
                "--tx",
                tx,
                "--duration",
                window,
                "--warmup",
                "0",
                "--terminals",
                "3",
                "--quiet",
            ];
            let ended = lydite(&[&plan[..], &["--json", text(&path)]].concat());
            let result = json(&path);
            if total(&result, "failed") == 0 {
                return None;
            }
            let ended = ended.code(1);
            assert_eq!(result["status"], "complete");
            let (ok, detail) = check_after(&result, "rows");
            assert!(!ok, "{tx}: {detail}");
            assert!(detail.contains(&format!("the database is broken, first {kind}: ")), "{tx}: {detail}");
            assert!(detail.contains(table), "{tx}: {detail}");
            assert!(
                detail.contains("look for a trigger, rule, view or proxy on the table"),
                "{tx}: {detail}"
            );
            assert!(ended.stdout.contains("rows WRONG"), "{}", ended.stdout);
            // What was rolled back is not in the ledger.
            assert!(check_after(&result, "ledger").0, "{tx}: {result}");
            let counted: u64 = detail.split(' ').next().and_then(|count| count.parse().ok()).expect(detail);
            Some((counted, total(&result, "failed")))
        });
        assert!(failed.0 >= failed.1, "{tx}: {failed:?}");
    }
}

/// Changes of rows that leave their numbers alone, in PostgreSQL's language: the table, what the trigger does to the new
/// row, and the words by which the sampled answers find it.
const FORGERIES: [(&str, &str, &str); 5] = [
    ("UPDATE ON customer", "NEW.c_data := OLD.c_data", "C_DATA lacks "),
    ("INSERT ON order_line", "NEW.ol_quantity := NEW.ol_quantity % 10 + 1", "OL_QUANTITY is "),
    ("INSERT ON order_line", "NEW.ol_amount := NEW.ol_amount + 0.01", "OL_AMOUNT is "),
    ("UPDATE ON stock", "NEW.s_quantity := OLD.s_quantity", " modulo 91 together"),
    ("INSERT ON history", "NEW.h_data := 'somewhere else'", "H_DATA is "),
];

/// Runs until the sampled answers find what a database does to its rows, and returns the detail.
fn found_by_the_sample(url: &str) -> String {
    let directory = scratch();
    let path = directory.path().join("result.json");
    windows_from("2s", |window| {
        let plan = ["run", url, "--duration", window, "--warmup", "0", "--terminals", "3", "--quiet"];
        let ended = lydite(&[&plan[..], &["--json", text(&path)]].concat());
        let result = json(&path);
        let (ok, detail) = check_after(&result, "sample");
        // Perhaps no payment of so few was one of a customer with bad credit.
        if ok && result["transactions"]["payment"]["committed"].as_u64().unwrap_or(0) < 200 {
            return None;
        }
        assert!(!ok, "{detail}");
        assert!(ended.code(1).stdout.contains("sampled rows DIFFER"));
        Some(detail.to_owned())
    })
}

#[test]
fn a_column_that_postgresql_does_not_keep_is_found_by_sampled_answers() {
    let server = postgres::shared();
    for (number, (change, forgery, words)) in FORGERIES.into_iter().enumerate() {
        let name = format!("forges_{number}");
        let url = loaded::on_postgres(&name, 1);
        let trigger = format!(
            "CREATE FUNCTION forges() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {forgery}; RETURN NEW; END $$; \
             CREATE TRIGGER forges BEFORE {change} FOR EACH ROW EXECUTE FUNCTION forges()"
        );
        server.psql(&name, &trigger);
        let detail = found_by_the_sample(&url);
        assert!(detail.contains(words), "{change}: {detail}");
    }
}

#[test]
fn a_column_that_mariadb_does_not_keep_is_found_by_sampled_answers() {
    for (change, forgery, words) in [FORGERIES[0], FORGERIES[3]] {
        // The checks before a run find what the last forgery left.
        let server = loaded::mariadb(1, &mariadb::FAST);
        let set = forgery.replace(":=", "=");
        server.sql("tpcc", &format!("CREATE TRIGGER forges BEFORE {change} FOR EACH ROW SET {set}"));
        let detail = found_by_the_sample(&server.url("tpcc"));
        assert!(detail.contains(words), "{change}: {detail}");
    }
}

#[test]
fn sampled_answers_are_in_every_database_as_they_were_answered() {
    let directory = scratch();
    let path = directory.path().join("result.json");
    let urls = [
        loaded::on_postgres("sampled", 2),
        loaded::in_sqlite(&directory.path().join("sampled.sqlite"), 2),
        loaded::in_gemel(&directory.path().join("sampled"), 2),
    ];
    for url in &urls {
        for tx in ["statements", "batched"] {
            let plan =
                ["run", url, "--tx", tx, "--duration", "2s", "--warmup", "0", "--terminals", "3", "--quiet"];
            let plan =
                if url.starts_with("postgres") { &plan[..] } else { &[&plan[..2], &plan[4..]].concat() };
            lydite(&[plan, &["--json", text(&path)]].concat()).code(0);
            let result = json(&path);
            let (ok, detail) = check_after(&result, "sample");
            assert!(
                ok && detail.starts_with("the rows of a sample are as they were answered: "),
                "{url}: {detail}"
            );
        }
    }
}
