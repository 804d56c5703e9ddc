//! dUpdateBalance and dSelectBalance in runs: what they add is checked and taken back.

use crate::loaded;
use crate::program::{Program, bytes_in, json, longer_windows, lydite, scratch, text, windows_from};
use lydite_testkit::{mariadb, postgres};
use serde_json::Value;
use std::path::Path;
use std::thread;
use std::time::Duration;

const SETTINGS: [&str; 2] = ["fsync=off", "shared_buffers=64MB"];
const MIX: &str = "new_order=30,payment=30,update_balance=30,select_balance=10";

fn run<'a>(url: &'a str, result: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let run = ["run", url, "--warehouses", "3", "--terminals", "6", "--json", result, "--quiet"];
    [&run[..], more].concat()
}

/// The check after the run, which must have been made once.
fn balances(result: &Value) -> &Value {
    let all: Vec<&Value> =
        result["checks"].as_array().unwrap().iter().filter(|check| check["id"] == "balances").collect();
    assert_eq!(all.len(), 1, "{}", result["checks"]);
    assert_eq!(all[0]["when"], "after");
    all[0]
}

fn committed(result: &Value, kind: &str) -> u64 {
    result["transactions"][kind]["committed"].as_u64().unwrap()
}

#[test]
fn what_was_added_is_counted_and_taken_back_in_every_mode() {
    let directory = scratch();
    let path = directory.path().join("r.json");
    let mariadb = loaded::mariadb(3, &mariadb::FAST);
    let urls = [
        (loaded::on_postgres("balances", 3), &["statements", "batched", "procedures"][..]),
        (mariadb.url("tpcc"), &["statements", "batched", "procedures"]),
        (loaded::in_sqlite(&directory.path().join("t.db"), 3), &["statements"]),
        (loaded::in_gemel(&directory.path().join("g"), 3), &["statements"]),
    ];
    for (url, modes) in &urls {
        for mode in *modes {
            let (ended, result) = longer_windows(|window| {
                let more = ["--mix", MIX, "--warmup", "500ms", "--duration", window, "--tx", mode];
                let more = [&more[..], &["--set", "balance_warehouses=2"]].concat();
                let ended = Program::new(&run(url, text(&path), &more)).run().code(0);
                let result = json(&path);
                let check = balances(&result);
                assert_eq!(check["ok"], true, "{url} {mode}: {check}");
                let told: u64 = check["detail"].as_str().unwrap().split(' ').next().unwrap().parse().unwrap();
                let counted = committed(&result, "update_balance");
                assert!(told >= counted, "{url} {mode}: {check}");
                let of_all = ["update_balance", "select_balance", "payment"]
                    .iter()
                    .all(|kind| committed(&result, kind) > 0);
                // The check counts those of the warm-up too.
                (of_all && told > counted).then_some((ended, result))
            });
            assert_eq!(result["plan"]["balance_order"], "ascending");
            let checks = result["checks"].as_array().unwrap();
            assert_eq!(checks.len(), 44, "{url} {mode}");
            assert!(checks.iter().all(|check| check["ok"] == true), "{url} {mode}: {checks:?}");
            assert!(ended.stdout.contains("dUpdateBalance  "), "{ended:?}");
            assert!(
                ended.stdout.contains(
                    "12/12 consistency conditions hold before the run, 12/12 after the run, balances hold, ledger holds"
                ),
                "{ended:?}"
            );
            let seconds = result["series"]["select_balance"].as_array().unwrap().len();
            assert_eq!(seconds as f64, result["window"]["measured_s"].as_f64().unwrap().round());
        }
    }
}

#[test]
fn they_are_taken_back_after_ctrl_c_and_without_checks() {
    let directory = scratch();
    let path = directory.path().join("r.json");
    let url = loaded::on_postgres("balances_cut_short", 3);
    let more = ["--mix", "update_balance=100", "--warmup", "0"];

    let unchecked = [&more[..], &["--duration", "1s", "--no-check"]].concat();
    let ended = lydite(&run(&url, text(&path), &unchecked)).code(0);
    let result = json(&path);
    assert_eq!(balances(&result)["ok"], true, "{result}");
    assert!(ended.stdout.contains("consistency was not checked, balances hold"), "{ended:?}");
    // Of types that the mix does not have nothing is told.
    assert!(!ended.stdout.contains("NOPM  ") && !ended.stdout.contains("\nPayment"), "{ended:?}");
    lydite(&["check", &url]).code(0);

    let sums = || {
        let sums = postgres::shared().psql("balances_cut_short", "SELECT sum(w_ytd) FROM warehouse");
        sums.trim().to_string()
    };
    let before = sums();
    let mut running =
        Program::new(&run(&url, text(&path), &[&more[..], &["--duration", "1h"]].concat())).start();
    running.wait_until("an update", || sums() != before);
    running.signal(libc::SIGINT);
    running.wait().code(130);
    let result = json(&path);
    assert_eq!((&result["status"], &balances(&result)["ok"]), (&"partial".into(), &true.into()));
    assert_eq!(sums(), before);
    lydite(&["check", &url]).code(0);
}

#[test]
fn drawn_orders_end_in_deadlocks_that_the_database_breaks() {
    let directory = scratch();
    let path = directory.path().join("r.json");
    // It looks for deadlocks at once.
    let server = loaded::mariadb(3, &mariadb::FAST);
    let url = server.url("tpcc");
    let more = ["--mix", "update_balance=100", "--warmup", "0", "--duration"];
    let drawn = ["--set", "balance_order=drawn", "--set", "balance_warehouses=3"];
    windows_from("2s", |window| {
        let ascending = [&more[..], &[window], &drawn[2..]].concat();
        lydite(&run(&url, text(&path), &[&more[..], &[window], &drawn].concat())).code(0);
        let result = json(&path);
        assert_eq!(balances(&result)["ok"], true, "{result}");
        if committed(&result, "update_balance") == 0 || result["aborts"]["deadlock"].as_u64().unwrap() == 0 {
            return None;
        }
        lydite(&run(&url, text(&path), &ascending)).code(0);
        assert_eq!(json(&path)["aborts"]["deadlock"], 0);
        Some(())
    });
}

#[test]
fn a_lost_update_is_found_and_is_no_update_of_a_payment() {
    let directory = scratch();
    let path = directory.path().join("r.json");
    let server = postgres::shared();
    let url = loaded::on_postgres("balances_lost", 3);
    // A database that loses the additions to one warehouse now and then, and says that it has made them.
    let loses = "CREATE FUNCTION lose() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
                 IF NEW.w_ytd - OLD.w_ytd = 10 AND random() < 0.1 THEN NEW.w_ytd := OLD.w_ytd; END IF; RETURN NEW; END $$; \
                 CREATE TRIGGER lose BEFORE UPDATE ON warehouse FOR EACH ROW EXECUTE FUNCTION lose()";
    server.psql("balances_lost", loses);
    let result = longer_windows(|window| {
        let more = ["--mix", MIX, "--warmup", "0", "--duration", window];
        let ended = lydite(&run(&url, text(&path), &more));
        let result = json(&path);
        // Chance spares the few updates that a machine under load makes.
        (ended.code == Some(1) || committed(&result, "update_balance") > 100).then(|| {
            ended.code(1);
            result
        })
    });
    let check = balances(&result);
    assert_eq!(check["ok"], false, "{check}");
    assert!(check["detail"].as_str().unwrap().contains("an update was lost, or is half done"), "{check}");
    // What is there of them is taken back all the same: the twelve are about payments again.
    assert!(
        result["checks"]
            .as_array()
            .unwrap()
            .iter()
            .all(|check| check["ok"] == true || check["id"] == "balances")
    );
    server.psql("balances_lost", "DROP TRIGGER lose ON warehouse");
    lydite(&["check", &url]).code(0);
}

#[test]
fn a_server_that_goes_away_keeps_them_and_the_result_says_so() {
    let directory = scratch();
    let path = directory.path().join("r.json");
    let server = loaded::postgres(3, &SETTINGS);
    let url = server.url("tpcc");
    let changed = || server.psql("tpcc", "SELECT count(*) FROM warehouse WHERE w_ytd <> 3000").trim() != "0";
    windows_from("8s", |window| {
        let more = ["--mix", "update_balance=100", "--warmup", "0", "--duration", window];
        let mut running = Program::new(&run(&url, text(&path), &more)).start();
        if !running.reaches("an update", changed) {
            return None;
        }
        server.kill();
        let ended = running.wait();
        if ended.code == Some(0) {
            // The updates were taken back before the server was killed.
            server.restart();
            return None;
        }
        let ended = ended.code(3);
        assert!(ended.stderr.contains("will not hold until another run with update_balance"), "{ended:?}");
        Some(())
    });
    let result = json(&path);
    let check = balances(&result);
    assert!(check["detail"].as_str().unwrap().starts_with("could not be checked: "), "{check}");
    server.restart();
    thread::sleep(Duration::from_millis(100));
    let broken = lydite(&["check", &url]).code(1);
    assert!(
        broken.stdout.contains("FAILED 3.3.2.1 ") && broken.stdout.contains("FAILED 3.3.2.8 "),
        "{broken:?}"
    );
    let other = lydite(&["run", &url, "--duration", "1s", "--warmup", "0", "--quiet"]).code(1);
    assert!(other.stderr.contains("repair it by another run with update_balance"), "{other:?}");
    assert_mended(&url, &path);
}

/// Another run with update_balance takes back what one has left.
fn assert_mended(url: &str, result: &Path) {
    let more = ["--mix", "update_balance=100", "--warmup", "0", "--duration", "1s"];
    let ended = lydite(&run(url, text(result), &more)).code(0);
    assert!(
        ended.stderr.contains("a killed run with update_balance left this, and it is taken back now"),
        "{ended:?}"
    );
    let result = json(result);
    assert!(result["checks"].as_array().unwrap().iter().all(|check| check["ok"] == true), "{result}");
    lydite(&["check", url]).code(0);
}

#[test]
fn what_a_killed_run_leaves_the_next_one_takes_back() {
    let directory = scratch();
    let path = directory.path().join("r.json");
    for url in [loaded::on_postgres("balances_killed", 3), loaded::in_gemel(&directory.path().join("g"), 3)] {
        let more = ["--mix", "update_balance=100", "--warmup", "0", "--duration", "1h", "--no-check"];
        let before = url.strip_prefix("gemel:").map_or(0, |directory| bytes_in(Path::new(directory)));
        let mut running = Program::new(&run(&url, text(&path), &more)).start();
        let changed = || match url.strip_prefix("gemel:") {
            // Its log, which a run that has not begun its window leaves alone.
            Some(directory) => bytes_in(Path::new(directory)) > before + 50_000,
            None => {
                // 3,000 each as loaded.
                let sum = "SELECT sum(w_ytd) > 10000 FROM warehouse";
                postgres::shared().psql("balances_killed", sum) == "t"
            }
        };
        running.wait_until("some updates", changed);
        if url.starts_with("postgres") {
            // What a run adds that goes on is not taken from it.
            let other = directory.path().join("other.json");
            let more = ["--mix", "update_balance=100", "--warmup", "0", "--duration", "1s"];
            let refused = lydite(&run(&url, text(&other), &more)).code(2);
            assert!(refused.stderr.contains("another run changes these warehouses"), "{refused:?}");
            assert!(!refused.stderr.contains("taken back") && !other.exists(), "{refused:?}");
        }
        running.signal(libc::SIGKILL);
        running.wait();
        assert!(lydite(&["check", &url]).code(1).stdout.contains("FAILED 3.3.2.1 "));
        assert_mended(&url, &path);
    }
}

#[test]
fn what_can_not_be_had_is_refused_before_anything_is_touched() {
    for (arguments, said) in [
        (
            &["--set", "balance_warehouses=2"][..],
            "balance_warehouses: needs a mix with update_balance or select_balance",
        ),
        (
            &["--mix", "update_balance=100", "--set", "balance_warehouses=16"],
            "balance_warehouses: \"16\" must be a whole number from 1 to 15",
        ),
        (
            &["--mix", "update_balance=100", "--set", "balance_order=random"],
            "--set balance_order: \"random\" must be ascending or drawn",
        ),
        (
            &["--mix", "select_balance=100", "--set", "balance_warehouses=4"],
            "balance_warehouses: each transaction needs 4 warehouses, and 3 are active: use more warehouses",
        ),
        (
            &["--mix", "update_balance=100", "--set", "active_warehouses=2-2"],
            "balance_warehouses: each transaction needs 2 warehouses, and 1 is active: use more warehouses",
        ),
        (
            &["--mix", "update_balance=100", "--mode", "rte"],
            "has update_balance, for which the standard has no keying and think times",
        ),
    ] {
        let run = ["run", "gemel:", "--warehouses", "3"];
        let refused = lydite(&[&run[..], arguments].concat()).code(2);
        assert!(refused.stderr.contains(said) && !refused.stderr.contains("oading"), "{said}: {refused:?}");
    }
}
