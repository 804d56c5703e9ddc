//! `lydite audit` on real databases: those that keep clause 3 pass, and those that do not fail exactly the tests that they
//! must.

use crate::loaded;
use crate::program::{Ended, Program, assert_no_panic, json, lydite, scratch, text};
use crate::success_log::{freeze_writers, orders};
use lydite_testkit::mariadb;
use lydite_testkit::postgres::Server;
use serde_json::Value;
use std::fs;
use std::thread;
use std::time::Duration;

/// Runs an audit with short loads and waits. The result as JSON, too.
pub(crate) fn audit(url: &str, more: &[&str]) -> (Ended, Value) {
    let directory = scratch();
    let file = directory.path().join("audit.json");
    let arguments = [&["audit", url, "--quick", "--json", text(&file)], more].concat();
    let ended = Program::new(&arguments).run();
    println!("{}{}", ended.stdout, ended.stderr);
    assert_no_panic(&ended);
    let found = json(&file);
    assert_eq!(found["status"], "complete", "{found}");
    (ended, found)
}

/// The tests of a verdict, each as `isolation-7 local`.
pub(crate) fn with_verdict(found: &Value, verdict: &str) -> Vec<String> {
    let tests = found["tests"].as_array().expect("tests").iter();
    let name = |test: &Value| format!("{} {}", test["id"].as_str().unwrap(), test["scope"].as_str().unwrap());
    tests.filter(|test| test["verdict"] == verdict).map(name).collect()
}

#[track_caller]
pub(crate) fn test_of<'a>(found: &'a Value, id: &str, scope: &str) -> &'a Value {
    let mut tests = found["tests"].as_array().expect("tests").iter();
    tests
        .find(|test| test["id"] == id && test["scope"] == scope)
        .unwrap_or_else(|| panic!("no {id}: {found}"))
}

/// All tests of the properties passed, and each names its clause and its steps.
#[track_caller]
fn assert_passed((ended, found): &(Ended, Value), count: usize) {
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(with_verdict(found, "passed").len(), count, "{found}");
    for test in found["tests"].as_array().expect("tests") {
        let is_about_data = test["id"].as_str().is_some_and(|id| id.starts_with("data-"));
        // Clause 1.4.6 is about replicas.
        let is_acid =
            test["clause"].as_str().is_some_and(|clause| clause.starts_with("3.") || clause == "1.4.6");
        assert!(is_about_data || is_acid, "{test}");
        // The loss of power can't be shown here, and nothing is done for it.
        let is_missing = test["id"] == "durability-4" && test["verdict"] == "not_run";
        let least = if is_about_data || is_missing { 0 } else { 3 };
        assert!(test["steps"].as_array().is_some_and(|steps| steps.len() >= least), "{test}");
        assert!(!test["seen"].as_str().expect("words").is_empty(), "{test}");
    }
}

/// Clauses 3.2 and 3.4: what waits is seen to wait, and the cases of an MVCC database are named.
#[test]
fn postgresql_at_repeatable_read_passes_atomicity_and_isolation() {
    let url = loaded::on_postgres("audited", 2);
    let all = audit(&url, &["--only", "atomicity,isolation"]);
    assert_passed(&all, 13);
    let waits = test_of(&all.1, "isolation-3", "local")["seen"].as_str().expect("words");
    assert!(waits.contains("the database reports that 1 session waits for a lock"), "{waits}");
    for (id, case) in [("isolation-7", "D"), ("isolation-8", "B"), ("isolation-9", "B")] {
        assert_eq!(test_of(&all.1, id, "local")["case"], case, "{}", all.1);
    }
}

/// `disclose` compares these settings with those of a run, which finds the database loaded.
#[test]
fn an_audit_that_loads_the_database_tells_its_settings_as_a_later_one_does() {
    let url = lydite_testkit::postgres::shared().create_database("audited_empty");
    let (_, first) = audit(&url, &["--only", "atomicity", "--warehouses", "1", "--size", "tiny"]);
    let (_, second) = audit(&url, &["--only", "atomicity"]);
    assert_eq!(first["audit"]["target"], second["audit"]["target"]);
}

#[test]
fn postgresql_at_read_committed_fails_the_tests_that_read_twice_and_no_others() {
    let url = loaded::on_postgres("audited_committed", 2) + "?isolation=read-committed";
    let (ended, found) = audit(&url, &["--only", "isolation", "--quiet"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let failed = ["isolation-7 local", "isolation-8 local", "isolation-9 local", "snapshot local"];
    assert_eq!(with_verdict(&found, "failed"), failed);
    assert_eq!(with_verdict(&found, "passed").len(), 6, "{found}");
    let phantom = test_of(&found, "isolation-8", "local")["seen"].as_str().expect("words");
    assert!(phantom.contains("a phantom"), "{phantom}");
    assert_eq!(ended.stdout.lines().count(), 4, "only failures are printed: {}", ended.stdout);
}

/// Clause 3.1.3: the nine tests pass over nodes that lock their own rows, and the one read of two nodes shows that they
/// have no common snapshot.
#[test]
fn postgresql_over_shards_has_no_snapshot_over_its_nodes() {
    let servers: Vec<Server> = (0..3).map(|_| Server::start(&["fsync=off", "shared_buffers=64MB"])).collect();
    let shards: Vec<String> =
        servers[1..].iter().map(|shard| format!("127.0.0.1:{}", shard.port())).collect();
    let url = format!("{}?shards={}", servers[0].url("postgres"), shards.join(","));
    let only = ["--only", "isolation", "--warehouses", "2", "--size", "tiny"];
    let (ended, found) = audit(&url, &only);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert_eq!(found["audit"]["nodes"], 2, "{found}");
    assert_eq!(with_verdict(&found, "failed"), ["snapshot nodes"]);
    // Each node has one warehouse.
    assert_eq!(with_verdict(&found, "not_run"), ["snapshot local"]);
}

#[test]
fn a_database_within_the_process_passes_all_tests_and_survives_the_end_of_its_process() {
    let directory = scratch();
    let page = directory.path().join("audit.html");
    let all = audit("gemel:", &["--duration", "1s", "--terminals", "3", "--report", text(&page)]);
    assert_passed(&all, 19);
    // A key-value store has no aggregates, Gemel is on no node, and its power can't be cut without this process.
    let without = ["data-2 local", "data-3 local", "data-4 local", "data-7 local", "durability-4 local"];
    assert_eq!(with_verdict(&all.1, "not_run"), without);
    for id in ["consistency-2", "durability-1"] {
        let load = &test_of(&all.1, id, "local")["load"];
        assert!(load["nopm"].as_f64().is_some_and(|nopm| nopm > 0.0), "{id}: {load}");
    }
    // One load serves both.
    let nopm = |id: &str| test_of(&all.1, id, "local")["load"]["nopm"].clone();
    assert_eq!(nopm("consistency-2"), nopm("durability-1"));
    let first = &test_of(&all.1, "consistency-2", "local")["steps"][0];
    assert!(
        first.as_str().is_some_and(|step| step.starts_with("the load of durability-1, load of ")),
        "{first}"
    );
    assert_eq!(all.1["audit"]["terminals"], 3);
    let durability = test_of(&all.1, "durability-1", "local")["seen"].as_str().expect("words");
    assert!(durability.contains("committed New-Orders is there"), "{durability}");
    assert!(all.0.stdout.contains("19 passed, 0 failed, 0 skipped, 5 not run"), "{}", all.0.stdout);
    let page = fs::read_to_string(page).expect("the page");
    assert!(page.contains("isolation-9") && page.contains("19 passed"), "{page}");
    let how = "the loss of power can't be shown here, since Lydite cuts that of a lab's own disk alone: audit a lab that \
               has one, as of lydite lab up KIND --disk 2G";
    assert_eq!(test_of(&all.1, "durability-4", "local")["seen"], how);
    assert!(page.contains("lydite lab up KIND --disk 2G"), "{page}");
}

/// Clause 1.4.6: each copy is consistent.
#[test]
fn the_conditions_hold_on_a_replica_of_postgresql_too() {
    let settings = ["fsync=off", "shared_buffers=64MB"];
    let primary = Server::start(&settings);
    let url = primary.create_database("tpcc");
    let replica = primary.replica(&settings);
    let with_password = replica.url("tpcc").replace("postgres@", "postgres:s3cret@");
    let only = ["--only", "consistency", "--duration", "1s", "--replicas", &with_password];
    let all = audit(&url, &[&only[..], &["--warehouses", "1", "--size", "tiny"]].concat());
    assert_passed(&all, 3);
    let test = test_of(&all.1, "consistency-3", "local");
    assert_eq!(
        test["seen"],
        "all 12 conditions hold on the replica; orders and payments are as many as on the primary"
    );
    assert_eq!(all.1["audit"]["replicas"][0], replica.url("tpcc"));
    assert!(!all.1.to_string().contains("s3cret"), "{}", all.1);
}

/// A replica of MariaDB accepts writes of its own.
#[test]
fn a_replica_that_differs_from_its_primary_fails() {
    let (primary, replica) = mariadb::Server::with_replica(&mariadb::FAST);
    let url = primary.create_database("tpcc");
    let replica_url = replica.url("tpcc");
    let only = ["--only", "consistency", "--duration", "1s", "--replicas", &replica_url];
    assert_passed(&audit(&url, &[&only[..], &["--warehouses", "2", "--size", "tiny"]].concat()), 3);
    // No transaction of the load touches these rows.
    for (damage, says) in [
        (
            "DELETE FROM order_line WHERE ol_w_id = 1 AND ol_d_id = 3 AND ol_o_id = 1 AND ol_number = 1",
            "3.3.2.6 is broken by 1 keys",
        ),
        ("DELETE FROM history LIMIT 1", "the rows of HISTORY are "),
    ] {
        replica.sql("tpcc", damage);
        let (ended, found) = audit(&url, &only);
        assert_eq!(ended.code, Some(1), "{damage}: {ended:?}");
        assert_eq!(with_verdict(&found, "failed"), ["consistency-3 local"], "{damage}");
        let seen = test_of(&found, "consistency-3", "local")["seen"].as_str().expect("words");
        assert!(
            seen.contains(&format!("replica {replica_url}: ")) && seen.contains(says),
            "{damage}: {seen}"
        );
    }
    // A replica that goes away ends its own test, not the audit.
    let directory = scratch();
    let file = directory.path().join("audit.json");
    let both = ["--only", "consistency,isolation", "--duration", "1s", "--quick", "--replicas", &replica_url];
    let more = ["--json", text(&file)];
    let mut running = Program::new(&[&["audit", &url][..], &both, &more].concat()).start();
    // It writes its document right before the first test.
    assert!(running.reaches("its tests", || file.exists()));
    replica.kill();
    let ended = running.wait();
    assert_eq!(ended.code, Some(3), "{ended:?}");
    let found = json(&file);
    assert_eq!(with_verdict(&found, "not_run"), ["consistency-3 local"], "{found}");
    assert_eq!(with_verdict(&found, "passed").len(), 2 + 9 + 1, "{found}");
}

/// Makes the durability test of a server that `kill` kills, and that is started again.
fn killed(server: &Server, kill: impl FnOnce(&Server)) -> (Ended, Value) {
    let directory = scratch();
    let place = |name: &str| directory.path().join(name);
    let file = place("audit.json");
    // The commands tell this test, which kills and starts the server, and wait for it.
    let command =
        |name: &str| format!("touch {0}; until test -e {0}.done; do sleep 0.02; done", text(&place(name)));
    let url = server.url("tpcc");
    let only = ["audit", &url, "--quick", "--only", "durability", "--duration", "1s", "--json", text(&file)];
    let commands = ["--kill", &command("kill"), "--restart", &command("restart")];
    let mut running = Program::new(&[&only[..], &commands].concat()).start();
    assert!(running.reaches("its failure", || place("kill").exists()));
    kill(server);
    fs::write(place("kill.done"), "").expect("a file");
    assert!(running.reaches("its recovery", || place("restart").exists()));
    server.restart();
    fs::write(place("restart.done"), "").expect("a file");
    let ended = running.wait();
    println!("{}{}", ended.stdout, ended.stderr);
    (ended, json(&file))
}

/// Clause 3.5.4.
#[test]
fn a_server_that_waits_for_its_disk_passes_durability() {
    let (ended, found) = killed(&loaded::postgres(1, &[]), Server::kill);
    assert_passed(&(ended, found), 1);
}

/// Clause 3.5.4: its last commits are in memory alone.
#[test]
fn a_server_that_does_not_wait_for_its_disk_fails_durability() {
    let server = loaded::postgres(1, &["synchronous_commit=off", "autovacuum=off"]);
    let (ended, found) = killed(&server, |server| {
        freeze_writers(server);
        let frozen_at = orders(server);
        let grows = (0..3_000).any(|_| {
            thread::sleep(Duration::from_millis(20));
            orders(server) >= frozen_at + 20
        });
        assert!(grows, "the load goes on while the command waits");
        server.kill();
    });
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let durability = test_of(&found, "durability-1", "local");
    assert_eq!(durability["verdict"], "failed", "{durability}");
    let seen = durability["seen"].as_str().expect("words");
    assert!(seen.contains("committed New-Orders are lost: order "), "{seen}");
}

#[test]
fn a_kill_that_ends_no_server_proves_nothing() {
    let server = loaded::postgres(1, &[]);
    let directory = scratch();
    let file = directory.path().join("audit.json");
    let url = server.url("tpcc");
    let only = ["audit", &url, "--quick", "--only", "durability", "--duration", "1s", "--json", text(&file)];
    // The load goes on for a while.
    let only = [&only[..], &["--terminals", "1"]].concat();
    let ended = lydite(&[&only[..], &["--kill", "true", "--restart", "true"]].concat()).code(3);
    let durability = test_of(&json(&file), "durability-1", "local").clone();
    assert_eq!(durability["verdict"], "not_run", "{durability} {}", ended.stderr);
    let seen = durability["seen"].as_str().expect("words");
    assert!(seen.contains("'true' ended, but the database answered all terminals"), "{seen}");

    // A command that fails may have done its work in part.
    let again = directory.path().join("again");
    let restart = format!("touch {}", text(&again));
    let ended = lydite(&[&only[..], &["--kill", "exit 7", "--restart", &restart]].concat()).code(3);
    let seen = test_of(&json(&file), "durability-1", "local")["seen"].clone();
    assert!(seen.as_str().is_some_and(|seen| seen.contains("exit status: 7")), "{seen}");
    assert!(again.exists(), "the database is started again");
    assert!(ended.stderr.contains("not tested: durability"), "{ended:?}");
}

#[test]
fn commands_that_the_shell_can_not_read_are_rejected_before_the_audit() {
    let commands = ["audit", "postgres://127.0.0.1:1/none", "--kill", "if true", "--restart", "true"];
    lydite(&commands).code(2).told(&[&["--kill, --restart: ", "the shell can't read"]]);
}

#[test]
fn everything_that_is_wrong_is_rejected_together() {
    let wrong = [
        "audit",
        "null:",
        "--only",
        "isolation,beauty",
        "--duration",
        "0",
        "--warehouses",
        "none",
        "--kill",
        "true",
        "--size",
        "huge",
        "--replicas",
        "oracle://h/tpcc",
        "--json",
        "/nonexistent/audit.json",
    ];
    let ended = lydite(&wrong).code(2);
    let said = [
        "--only: \"beauty\" is not known",
        "--duration: must be longer than 0",
        "--warehouses: must be a whole number",
        "--kill: needs --restart",
        "size",
        "--replicas: target scheme \"oracle\" is not known",
        "--replicas: needs the tests of consistency",
        "--json: ",
        "null: stores nothing",
    ];
    for words in said {
        assert!(ended.stderr.contains(words), "{words}: {}", ended.stderr);
    }
    assert!(ended.stdout.is_empty(), "{}", ended.stdout);
}

/// Makes the tests of the data, of which `data-7` can't be made on these databases. Returns those that fail.
fn data_that_fails(url: &str) -> (Vec<String>, Value) {
    let (ended, found) = audit(url, &["--only", "data", "--quiet"]);
    let failed = with_verdict(&found, "failed");
    assert_eq!(ended.code, Some(i32::from(!failed.is_empty())), "{ended:?}");
    assert_eq!(found["tests"].as_array().map(Vec::len), Some(7), "{found}");
    (failed, found)
}

/// Clauses 4.2 and 4.3: a fresh database is as its scale says, and so is one after transactions, without what they
/// change. Rows of other kinds are found, each by its test.
#[test]
fn stored_data_is_judged_as_loaded_and_after_transactions_and_wrong_rows_are_found() {
    let server = lydite_testkit::postgres::shared();
    let url = loaded::on_postgres_of_size("small", "audited_data", 1);
    let (failed, found) = data_that_fails(&url);
    assert_eq!(failed, Vec::<String>::new(), "{found}");
    let steps = |found: &Value, id: &str| test_of(found, id, "local")["steps"].to_string();
    assert!(steps(&found, "data-1").contains("customer: 3000 rows, 3000 demanded"), "{found}");
    assert!(steps(&found, "data-2").contains("ORDER has 300 rows per district"), "{found}");

    let run = lydite(&["run", &url, "--duration", "1s", "--warmup", "0s", "--quiet"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    let (failed, found) = data_that_fails(&url);
    assert_eq!(failed, Vec::<String>::new(), "{found}");
    assert!(steps(&found, "data-2").contains("transactions have run since the load"), "{found}");

    for (change, id) in [
        ("DELETE FROM order_line", "data-1 local"),
        ("UPDATE stock SET s_data = replace(s_data, 'ORIGINAL', 'original')", "data-2 local"),
        ("UPDATE customer SET c_zip = '123411112' WHERE c_w_id = 1 AND c_id = 7", "data-3 local"),
        ("UPDATE order_line SET ol_i_id = 100 + ol_number", "data-4 local"),
    ] {
        let name = id.replace(['-', ' '], "_");
        let url = loaded::copy_on(server, "audited_data", &name);
        server.psql(&name, change);
        let (failed, found) = data_that_fails(&url);
        assert_eq!(failed, [id], "{found}");
    }
}

/// Each statement reports one changed row, and one of them changed nothing.
#[test]
fn a_payment_of_which_a_half_is_lost_is_named_as_half_a_commit() {
    let server = lydite_testkit::postgres::shared();
    let url = loaded::on_postgres("audited_half", 1);
    server.psql(
        "audited_half",
        "CREATE FUNCTION keeps() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
         NEW.d_ytd := OLD.d_ytd; RETURN NEW; END $$; \
         CREATE TRIGGER keeps BEFORE UPDATE ON district FOR EACH ROW EXECUTE FUNCTION keeps()",
    );
    let seen = |found: &Value, id: &str| test_of(found, id, "local")["seen"].as_str().unwrap().to_owned();
    let (ended, found) = audit(&url, &["--only", "atomicity"]);
    ended.code(1);
    let words = "half a commit of a Payment: C_BALANCE, W_YTD, HISTORY changed, and D_YTD did not: expected C_BALANCE ";
    assert!(seen(&found, "atomicity-1").starts_with(words), "{found}");
    let (ended, found) = audit(&url, &["--only", "consistency"]);
    ended.code(1);
    let words = "sides of transactions differ, as after half a commit or rows changed by hand: half a commit of a \
                 Payment: Σ H_AMOUNT is ";
    assert!(seen(&found, "consistency-1").starts_with(words), "{found}");
}

#[test]
fn an_order_without_lines_fails_the_tests_of_isolation_that_read_it() {
    let server = lydite_testkit::postgres::shared();
    let postgres = loaded::on_postgres("audited_lineless", 1);
    server.psql("audited_lineless", "DELETE FROM order_line");
    let (ended, found) = audit(&postgres, &["--only", "isolation"]);
    ended.code(1);
    for id in ["isolation-1", "isolation-2"] {
        let test = test_of(&found, id, "local");
        assert_eq!(test["verdict"], "failed", "{found}");
        assert!(test["seen"].as_str().unwrap().contains("a line of order 1/"), "{found}");
    }
}

/// SQLite keeps whole cents and ten-thousandths, and MariaDB has texts of fixed width of its own.
#[test]
fn stored_data_of_sqlite_and_mariadb_is_judged_as_that_of_postgresql() {
    let directory = scratch();
    let sqlite = loaded::in_sqlite_of_size("small", &directory.path().join("data.sqlite"), 1);
    let mariadb = lydite_testkit::mariadb::shared().create_database("audited_data");
    // These tests only read, so they load nothing.
    let ended = lydite(&["audit", &mariadb, "--quick", "--only", "data"]).code(2);
    assert!(ended.stderr.contains("load it first with `lydite load"), "{ended:?}");
    lydite(&["load", &mariadb, "--warehouses", "1", "--size", "small", "--quiet"]).code(0);
    for url in [sqlite, mariadb] {
        let (failed, found) = data_that_fails(&url);
        assert_eq!(failed, Vec::<String>::new(), "{url}: {found}");
        assert_eq!(test_of(&found, "data-4", "local")["seen"], "all 9 distributions hold", "{url}: {found}");
    }
}
