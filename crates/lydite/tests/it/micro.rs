//! The microbenchmark through the program: runs on each family, what is refused, and checks that can fail.

use crate::program;
use crate::program::{
    Ended, Program, assert_no_panic, bytes_in, has_each, json, longer_windows, lydite, scratch, text,
    windows_from,
};
use lydite_testkit::postgres;
use rusqlite::Connection;
use serde_json::Value;
use std::fs;
use std::path::Path;

/// Little enough to be loaded at once.
const SMALL: [&str; 6] = ["--workload", "micro", "--set", "micro.tables=2", "--set", "micro.records=500"];
/// A short run without progress.
const SHORT: [&str; 5] = ["--warmup", "200ms", "--terminals", "2", "--quiet"];

/// Runs for a short time on `url`, or for the duration that is among `more`.
fn run(url: &str, more: &[&str]) -> Ended {
    let short = if more.contains(&"--duration") { &[][..] } else { &["--duration", "1s"] };
    lydite(&[["run", url, "--workload", "micro"].as_slice(), &SHORT, short, more].concat())
}

/// As [`run`], on a database that is loaded with little if it is empty.
fn run_small(url: &str, more: &[&str]) -> Ended {
    run(url, &[&SMALL[2..], more].concat())
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("no count: {value}"))
}

/// Fails unless the result is one of a complete run of the microbenchmark, checked before and after.
#[track_caller]
fn assert_complete(result: &Value) {
    assert_eq!((&result["status"], &result["nopm"]), (&"complete".into(), &0.0.into()));
    assert_eq!(result["plan"]["workload"], "micro");
    let types = result["transactions"].as_object().expect("types");
    assert_eq!(types.keys().collect::<Vec<_>>(), ["micro"]);
    let micro = &types["micro"];
    let completed = number(&micro["committed"]);
    assert!(completed > 0 && result["tps"].as_f64().expect("tps") > 0.0);
    assert_eq!(
        (&micro["failed"], &micro["unknown"], &micro["rolled_back"]),
        (&0.into(), &0.into(), &0.into())
    );
    let series: Vec<u64> = serde_json::from_value(result["series"]["micro"].clone()).expect("a series");
    assert_eq!(series.iter().sum::<u64>(), completed);
    assert_eq!(result["series"]["new_order"], Value::Array(Vec::new()));
    for empty in ["compliance", "inputs"] {
        assert_eq!(result[empty], Value::Array(Vec::new()), "{empty}");
    }
    let checks: Vec<(&str, &str, bool)> = result["checks"]
        .as_array()
        .expect("checks")
        .iter()
        .map(|check| {
            let text = |name: &str| check[name].as_str().expect("a text");
            (text("id"), text("when"), check["ok"] == true)
        })
        .collect();
    let wanted = [("records", "before", true), ("records", "after", true), ("counters", "after", true)];
    assert_eq!(checks, wanted, "{}", result["checks"]);
}

/// A run on `url` that completed transactions, and its result. If it takes several runs, what the first one loaded is in the
/// result.
#[track_caller]
fn measured(directory: &Path, url: &str, more: &[&str]) -> (Ended, Value) {
    let path = directory.join("result.json");
    let mut load = None;
    longer_windows(|window| {
        let more = [more, &["--duration", window, "--json", text(&path)]].concat();
        let ended = run_small(url, &more).code(0);
        assert_no_panic(&ended);
        let mut found = json(&path);
        found["load"] = load.get_or_insert(found["load"].clone()).clone();
        has_each(&found, &["micro"]).then_some((ended, found))
    })
}

/// The result of a run on `url` that completed transactions.
#[track_caller]
fn result(directory: &Path, url: &str, more: &[&str]) -> Value {
    measured(directory, url, more).1
}

/// A run on `url`, which updates much and fails its check.
#[track_caller]
fn run_that_fails(url: &str, more: &[&str]) -> Ended {
    longer_windows(|window| {
        let more = [&["--set", "micro.updates=10", "--duration", window], more].concat();
        let ended = run(url, &more);
        // A machine under load may make no update that the database could get wrong.
        (ended.code != Some(0)).then(|| ended.code(1))
    })
}

#[test]
fn a_run_on_gemel_is_over_both_engines_and_shows_nothing_of_tpc_c() {
    let directory = scratch();
    let url = format!("gemel:{}", text(&directory.path().join("db")));
    let page = directory.path().join("page.html");
    let more = ["--set", "micro.disk_percent=30", "--report", text(&page)];
    let (ended, result) = measured(directory.path(), &url, &more);
    assert_complete(&result);
    let micro = &result["plan"]["micro"];
    let wanted: Value = serde_json::json!({
        "tables": 2, "records": 500, "record_bytes": 232, "accesses": 10, "updates": 2, "disk_percent": 30,
    });
    assert_eq!(micro, &wanted);
    assert_eq!((&result["load"]["rows"], &result["load"]["tables"]), (&2_000.into(), &4.into()));
    let actual = &result["controls"]["accesses"]["actual"];
    let wanted =
        serde_json::json!({ "per_transaction": 10.0, "updates_percent": 20.0, "disk_percent": 30.0 });
    assert_eq!(actual, &wanted, "three of ten accesses are on disk in every transaction");
    assert!(result["aborts"]["csr"].is_u64(), "{}", result["aborts"]);
    let settings = &result["target"]["settings"];
    assert_eq!((&settings["csr"], &settings["placement"]), (&"on".into(), &Value::Null));
    for (place, words) in [("table", &ended.stdout), ("page", &fs::read_to_string(&page).expect("a page"))] {
        // Of the page, what is beside its script and data.
        let shown = words.split("<script").next().expect("a beginning");
        for foreign in ["NOPM", "TPC-C", "warehouse", "rules", "consistency was"] {
            assert!(!shown.contains(foreign), "{foreign} in the {place}: {shown}");
        }
        assert!(shown.contains("30 % on disk"), "{place}: {shown}");
    }
}

#[test]
fn every_kind_of_transaction_and_share_runs_on_gemel_with_the_registry_on_and_off() {
    let directory = scratch();
    for (number, (updates, percent, options)) in [
        (0, 0, "csr=on"),
        (0, 50, "csr=off&commit=wait"),
        (10, 100, "durability=relaxed&isolation=serializable"),
        (10, 37, "isolation=read-committed&cache=1MB"),
    ]
    .into_iter()
    .enumerate()
    {
        let url = format!("gemel:{}?{options}", text(&directory.path().join(format!("db{number}"))));
        let (updates, percent) =
            (format!("micro.updates={updates}"), format!("micro.disk_percent={percent}"));
        assert_complete(&result(directory.path(), &url, &["--set", &updates, "--set", &percent]));
    }
}

#[test]
fn sessions_that_fight_for_one_record_abort_and_no_update_is_lost() {
    let directory = scratch();
    let url = format!("gemel:{}", text(&directory.path().join("db")));
    let path = directory.path().join("result.json");
    let hot = ["--set", "micro.tables=1", "--set", "micro.records=1", "--set", "micro.updates=10"];
    let terminals = ["--terminals", "4", "--json", text(&path)];
    longer_windows(|window| {
        let more = [hot.as_slice(), &terminals, &["--duration", window]].concat();
        run(&url, &more).code(0);
        let found = json(&path);
        if !has_each(&found, &["micro"]) {
            return None;
        }
        assert_complete(&found);
        let aborts = number(&found["aborts"]["serialization"]);
        assert_eq!(aborts > 0, number(&found["transactions"]["micro"]["retries"]) > 0);
        (aborts > 0).then_some(())
    });
}

#[test]
fn a_loaded_database_is_run_again_and_one_that_does_not_fit_is_refused_with_advice() {
    let directory = scratch();
    let file = directory.path().join("micro.sqlite");
    for url in [format!("sqlite:{}", text(&file)), format!("gemel:{}", text(&directory.path().join("db")))] {
        assert!(result(directory.path(), &url, &[])["load"].is_object(), "{url}");
        let again = result(directory.path(), &url, &["--mode", "open", "--rate", "200"]);
        assert_complete(&again);
        assert!(again["load"].is_null(), "{url} was loaded");
        assert_eq!(again["controls"]["rate"]["asked"]["per_s"], 200.0);
        let error = run(&url, &["--set", "micro.records=501", "--seed", "2"]).code(2);
        let error = error.only_error();
        assert!(error.contains("holds tables=2, records=500, record_bytes=232 from seed 1"), "{error}");
        assert!(error.contains("wants micro.records = 501 and not 500, seed = 2 and not 1"), "{error}");
        assert!(error.contains("load again with --fresh"), "{error}");
        // Without the keys it is taken as it is, and the check says how it stands.
        run(&url, &[]).code(0);
        let checked = lydite(&["check", &url]).code(0);
        assert!(checked.stdout.contains("ok     records"), "{checked:?}");
        // The same size again, unless another is asked for.
        let fresh = result(directory.path(), &url, &["--fresh", "--set", "micro.records=7"]);
        assert_complete(&fresh);
        assert_eq!(
            (&fresh["plan"]["micro"]["records"], &fresh["plan"]["micro"]["tables"]),
            (&7.into(), &2.into())
        );
    }
}

#[test]
fn the_same_seed_loads_the_same_records_and_another_one_others() {
    let directory = scratch();
    let texts = |name: &str, seed: &str, jobs: &str| -> Vec<String> {
        let path = directory.path().join(name);
        let url = format!("sqlite:{}", text(&path));
        let load = ["load", &url, "--seed", seed, "--jobs", jobs, "--quiet"];
        lydite(&[load.as_slice(), &SMALL].concat()).code(0);
        let database = Connection::open(&path).expect("the file");
        let sql =
            "SELECT payload FROM lydite_micro_1 UNION ALL SELECT payload FROM lydite_micro_2 ORDER BY 1";
        let mut rows = database.prepare(sql).expect("the tables");
        rows.query_map([], |row| row.get(0)).expect("rows").map(|row| row.expect("a text")).collect()
    };
    let one = texts("a", "1", "1");
    assert_eq!(one.len(), 1_000);
    assert!(one.iter().all(|payload| payload.len() == 216), "two integers of eight bytes are beside it");
    assert_eq!(one, texts("b", "1", "3"), "whatever the number of connections");
    assert_ne!(one, texts("c", "2", "1"));
}

#[test]
fn an_update_that_the_database_loses_or_doubles_fails_the_check() {
    let directory = scratch();
    let path = directory.path().join("micro.sqlite");
    let url = format!("sqlite:{}", text(&path));
    lydite(&[["load", &url, "--quiet"].as_slice(), &SMALL].concat()).code(0);
    let database = Connection::open(&path).expect("the file");
    for (name, change) in [("loses", "old.counter"), ("doubles", "old.counter + 2")] {
        // Of every record: the first transaction is enough, however few a slow machine plays.
        for table in ["lydite_micro_1", "lydite_micro_2"] {
            let trigger = format!(
                "CREATE TRIGGER {name}_{table} AFTER UPDATE ON {table} WHEN new.counter = old.counter + 1 \
                 BEGIN UPDATE {table} SET counter = {change} WHERE id = new.id; END"
            );
            database.execute_batch(&trigger).expect("a trigger");
        }
        let json_path = directory.path().join("result.json");
        let ended = run_that_fails(&url, &["--json", text(&json_path)]);
        assert!(ended.stdout.contains("counters: the counters rose by"), "{ended:?}");
        let found = json(&json_path);
        let checks = found["checks"].as_array().expect("checks");
        assert_eq!((&checks[2]["id"], &checks[2]["ok"]), (&"counters".into(), &false.into()), "{name}");
        assert_eq!(checks[1]["ok"], true, "the records themselves are whole");
        for table in ["lydite_micro_1", "lydite_micro_2"] {
            database.execute_batch(&format!("DROP TRIGGER {name}_{table}")).expect("no trigger");
        }
    }
    run(&url, &[]).code(0);
    // What is missing is told before anything is measured.
    database.execute("UPDATE lydite_micro_2 SET payload = 'cut' WHERE id = 1", []).expect("a cut text");
    database.execute("DELETE FROM lydite_micro_1 WHERE id = 2", []).expect("a lost record");
    let ended = run(&url, &[]).code(1);
    assert!(ended.only_error().contains("records does not hold before the run: 999 records instead of 1000"));
    let checked = lydite(&["check", &url]).code(1);
    assert!(checked.stdout.contains("FAILED records: 999 records instead of 1000"), "{checked:?}");
}

#[test]
fn a_run_on_postgresql_keeps_every_update_through_conflicts_and_lost_connections() {
    let server = postgres::shared();
    let url = server.create_database("micro");
    let directory = scratch();
    let found = result(directory.path(), &url, &["--set", "micro.updates=4"]);
    assert_complete(&found);
    assert_eq!(found["plan"]["micro"]["disk_percent"], Value::Null, "one engine has no share on disk");
    assert_eq!(
        server.psql(
            "micro",
            "SELECT string_agg(relname, ' ' ORDER BY relname) FROM pg_class WHERE relkind = 'r' \
                              AND relname LIKE 'lydite%'"
        ),
        "lydite_load lydite_meta lydite_micro_1 lydite_micro_2"
    );
    let sum = "SELECT (SELECT sum(counter) FROM lydite_micro_1) + (SELECT sum(counter) FROM lydite_micro_2)";
    let updates = || server.psql("micro", sum).parse::<u64>().expect("a sum");
    let path = directory.path().join("lost.json");
    let found = windows_from("3s", |window| {
        let before = updates();
        let arguments = ["run", &url, "--workload", "micro", "--set", "micro.updates=10"];
        let more = ["--duration", window, "--warmup", "0", "--terminals", "4", "--quiet"];
        let run = [arguments.as_slice(), &more, &["--json", text(&path)]].concat();
        let mut running = Program::new(&run).start();
        if !running.reaches("updates", || updates() > before + 100) {
            return None;
        }
        server.psql(
            "micro",
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = 'micro' \
             AND pid <> pg_backend_pid()",
        );
        // A check whose connection was ended ends the run otherwise.
        (running.wait().code == Some(0)).then(|| json(&path))
    });
    let counters = found["checks"].as_array().expect("checks").last().expect("a check");
    assert_eq!((&counters["id"], &counters["ok"]), (&"counters".into(), &true.into()), "{counters}");
}

#[test]
fn a_counter_that_somebody_else_changes_on_postgresql_fails_the_check() {
    let server = postgres::shared();
    let url = server.create_database("micro_tampered");
    lydite(&[["load", &url, "--quiet"].as_slice(), &SMALL].concat()).code(0);
    server.psql(
        "micro_tampered",
        "CREATE FUNCTION lose() RETURNS trigger LANGUAGE plpgsql AS \
         'BEGIN IF new.id % 100 = 7 THEN new.counter := old.counter; END IF; RETURN new; END'; \
         CREATE TRIGGER lose BEFORE UPDATE ON lydite_micro_2 FOR EACH ROW EXECUTE FUNCTION lose()",
    );
    let ended = run_that_fails(&url, &[]);
    assert!(ended.stdout.contains("counters: the counters rose by"), "{ended:?}");
}

#[test]
fn keys_of_the_other_workload_and_bad_values_are_told_at_once_with_their_places() {
    let directory = scratch();
    let url = format!("sqlite:{}", text(&directory.path().join("micro.sqlite")));
    let plan = directory.path().join("plan.toml");
    fs::write(
        &plan,
        "workload = \"micro\"\nwarehouses = 3\n[micro]\ntables = 0\ndisk_percent = 30\nrows = 5\n",
    )
    .expect("a plan");
    let file = text(&plan);
    lydite(&[
        "run",
        &url,
        "--config",
        file,
        "--mix",
        "deck",
        "--tx",
        "batched",
        "--mode",
        "rte",
        "--set",
        "micro.accesses=3",
        "--set",
        "micro.updates=4",
        "--set",
        "micro.record_bytes=5",
        "--set",
        "nonsense",
        "--set",
        "colour=red",
        "--set",
        "seed=1",
        "--seed",
        "2",
    ])
    .code(2)
    .told(&[
        &[&format!("{file}, line 2, warehouses"), "is for --workload tpcc only"],
        &[&format!("{file}, line 4, micro.tables"), "must be a whole number from 1"],
        &[&format!("{file}, line 5, micro.disk_percent"), "two engines (gemel:)"],
        &[&format!("{file}, line 6"), "micro.rows is not known"],
        &["--mix: is for --workload tpcc only"],
        &["--tx: is for --workload tpcc only"],
        &["--mode: is for --workload tpcc only", "use direct or open"],
        &["--set micro.updates", "4 updates are more than the accesses (3)"],
        &["--set micro.record_bytes: \"5\" must be a whole number from 17"],
        &["--set \"nonsense\" has no value"],
        &["--set colour: is not known"],
        &["--set seed: is given as --seed too"],
    ]);
    lydite(&["run", &url, "--set", "micro.updates=1"])
        .code(2)
        .told(&[&["--set micro.updates: is for --workload micro only"]]);
    lydite(&["run", &url, "--workload", "ycsb"])
        .code(2)
        .told(&[&["--workload: \"ycsb\"", "use tpcc or micro"]]);
    lydite(&["run", "gemel:?placement=all-disk&stock=disk", "--workload", "micro"])
        .code(2)
        .told(&[&["\"placement\" is about TPC-C's tables"], &["\"stock\" is about TPC-C's tables"]]);
    lydite(&["load", &url, "--workload", "micro", "-w", "2", "--resume", "--set", "micro.updates=1"])
        .code(2)
        .told(&[
            &["--warehouses: is for --workload tpcc only"],
            &["--resume"],
            &["micro.updates: is not known"],
        ]);
    lydite(&["load", &url]).code(2).told(&[&["--warehouses: is missing"]]);
    assert!(!directory.path().join("micro.sqlite").exists(), "nothing is touched");
}

#[test]
fn a_key_that_is_set_is_a_key_of_the_plan_and_wins_over_the_file() {
    let directory = scratch();
    let (plan, path) = (directory.path().join("plan.toml"), directory.path().join("result.json"));
    fs::write(&plan, "target = \"null:\"\nduration = \"1h\"\nseed = 3\n[micro]\naccesses = 4\n")
        .expect("a plan");
    let json_set = format!("json={}", text(&path));
    let found = longer_windows(|window| {
        let duration = format!("duration={window}");
        let set = ["workload=micro", &duration, "warmup=0", "micro.accesses=5", "micro.disk_percent=100"];
        let mut arguments = vec!["run", "--config", text(&plan), "--quiet", "--set", &json_set];
        arguments.extend(set.iter().flat_map(|setting| ["--set", *setting]));
        lydite(&arguments).code(0);
        let found = json(&path);
        assert_eq!(format!("{}s", found["plan"]["duration_s"]), window.replace('s', ".0s"));
        (number(&found["transactions"]["micro"]["committed"]) > 0).then_some(found)
    });
    let (plan, accesses) = (&found["plan"], &found["controls"]["accesses"]["actual"]);
    assert_eq!(plan["seed"], 3);
    assert_eq!((&accesses["per_transaction"], &accesses["disk_percent"]), (&5.0.into(), &100.0.into()));
}

#[test]
fn a_database_of_the_other_workload_or_half_loaded_is_left_alone_unless_told_fresh() {
    let directory = scratch();
    let file = directory.path().join("one.sqlite");
    for url in [format!("sqlite:{}", text(&file)), format!("gemel:{}", text(&directory.path().join("db")))] {
        lydite(&["load", &url, "--warehouses", "1", "--size", "small", "--quiet"]).code(0);
        let ended = run_small(&url, &[]).code(2);
        assert!(ended.only_error().contains("holds TPC-C's tables (1 small warehouse)"), "{ended:?}");
        assert!(ended.only_error().contains("--fresh"), "{ended:?}");
        lydite(&[["load", &url, "--quiet"].as_slice(), &SMALL].concat()).code(2);
        program::assert_consistent(&url);
        run_small(&url, &["--fresh"]).code(0);
        for arguments in [vec!["run", &url, "--quiet"], vec!["load", &url, "-w", "1", "--quiet"]] {
            let ended = lydite(&arguments).code(2);
            assert!(ended.only_error().contains("the microbenchmark's tables (tables=2"), "{ended:?}");
        }
        lydite(&["check", &url]).code(0);
        lydite(&["load", &url, "--warehouses", "1", "--size", "small", "--fresh", "--quiet"]).code(0);
        program::assert_consistent(&url);
    }
    let url = format!("sqlite:{}", text(&file));
    lydite(&[["load", &url, "--quiet", "--fresh"].as_slice(), &SMALL].concat()).code(0);
    let database = Connection::open(&file).expect("the file");
    database.execute("UPDATE lydite_meta SET value = 'loading' WHERE name = 'state'", []).expect("a note");
    let ended = run_small(&url, &[]).code(2);
    assert!(ended.only_error().contains("is running or was interrupted"), "{ended:?}");
    // Without its notes it is no database.
    database.execute_batch("DROP TABLE lydite_meta").expect("no notes");
    let ended = run_small(&url, &[]).code(2);
    assert!(ended.only_error().contains("(lydite_load, lydite_micro_1, lydite_micro_2)"), "{ended:?}");
    run_small(&url, &["--fresh"]).code(0);
}

#[test]
fn an_interrupted_run_leaves_what_was_measured_as_a_partial_result() {
    let directory = scratch();
    let (database, path) = (directory.path().join("db"), directory.path().join("result.json"));
    let url = format!("gemel:{}", text(&database));
    let arguments = ["run", &url, "--duration", "1h", "--warmup", "0", "--json", text(&path)];
    let mut running = Program::new(&[arguments.as_slice(), &SMALL].concat()).start();
    let said = running.said();
    running.wait_until("it measures", || said.has("measuring"));
    // What was measured is known by the database's log only.
    let loaded = bytes_in(&database);
    running.wait_until("transactions", || bytes_in(&database) > loaded + 50_000);
    running.signal(libc::SIGINT);
    let ended = running.wait().code(130);
    assert!(ended.errors().iter().any(|error| error.contains("the result is partial")), "{ended:?}");
    let found = json(&path);
    assert_eq!(found["status"], "partial");
    assert!(number(&found["transactions"]["micro"]["committed"]) > 0);
}

#[test]
fn results_are_compared_and_reported_and_those_of_different_workloads_told_apart() {
    let directory = scratch();
    let path = |name: &str| directory.path().join(name);
    let null = |name: &str, more: &[&str]| {
        let file = path(name);
        let arguments =
            ["run", "null:", "--duration", "200ms", "--warmup", "0", "--quiet", "--json", text(&file)];
        lydite(&[arguments.as_slice(), more].concat()).code(0);
    };
    null("a.json", &["--workload", "micro"]);
    null("b.json", &["--workload", "micro", "--set", "micro.disk_percent=80"]);
    null("tpcc.json", &[]);
    let compared = lydite(&["compare", text(&path("a.json")), text(&path("b.json"))]).code(0);
    assert!(compared.stdout.contains("transactions/s"), "{compared:?}");
    assert!(compared.stdout.contains("micro.disk_percent (50 / 80)"), "{compared:?}");
    assert!(!compared.stdout.contains("NOPM"), "{compared:?}");
    let compared = lydite(&["compare", text(&path("a.json")), text(&path("tpcc.json"))]).code(0);
    assert!(compared.stdout.contains("different workloads (micro and tpcc)"), "{compared:?}");
    for results in [vec!["a.json"], vec!["a.json", "b.json"], vec!["a.json", "tpcc.json"]] {
        let files: Vec<_> = results.iter().map(|name| path(name)).collect();
        let page = path("page.html");
        let mut arguments = vec!["report"];
        arguments.extend(files.iter().map(|file| text(file)));
        arguments.extend(["-o", text(&page)]);
        lydite(&arguments).code(0);
        let page = fs::read_to_string(&page).expect("a page");
        assert!(page.contains("Micro"), "{results:?}");
    }
}
