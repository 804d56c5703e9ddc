//! Loads are measured like runs: rows in each second, phases, tables, batches, and what was observed beside them.

use crate::loaded;
use crate::program::{Program, json, lydite, scratch, text};
use lydite_testkit::postgres;
use rusqlite::Connection;
use serde_json::Value;
use std::fs;

/// The sum of a list of whole numbers.
fn sum(list: &Value) -> u64 {
    list.as_array().expect("a list").iter().map(|value| value.as_u64().expect("a count")).sum()
}

/// Rows by table of a load.
fn rows_of(load: &Value, table: &str) -> u64 {
    let tables = load["by_table"].as_array().expect("tables");
    let of = tables.iter().find(|of| of["table"] == table).unwrap_or_else(|| panic!("{table}: {tables:?}"));
    of["rows"].as_u64().expect("rows")
}

/// Fails unless the parts of a load's measures fit each other.
#[track_caller]
fn assert_agrees(load: &Value) {
    let seconds = load["series"]["second"].as_array().expect("seconds").len();
    let (rows, time) = (load["rows"].as_u64().expect("rows"), load["seconds"].as_f64().expect("seconds"));
    assert_eq!(sum(&load["series"]["rows"]), rows, "{load}");
    assert_eq!(sum(&load["series"]["bytes"]), load["bytes"].as_u64().expect("bytes"), "{load}");
    assert!(seconds as f64 >= time - 0.5 && (seconds as f64) < time + 1.5, "{seconds} entries for {time} s");
    let tables = load["by_table"].as_array().expect("tables");
    assert_eq!(tables.iter().map(|of| of["rows"].as_u64().expect("rows")).sum::<u64>(), rows, "{tables:?}");
    let phases = load["phases"].as_array().expect("phases");
    let time_of = |phase: &Value, end: &str| phase[end].as_f64().expect("a time");
    assert_eq!(time_of(&phases[0], "from_s").round(), 0.0, "{phases:?}");
    assert!(
        phases.windows(2).all(|pair| time_of(&pair[0], "to_s") == time_of(&pair[1], "from_s")),
        "{phases:?}"
    );
    assert!((time_of(phases.last().expect("a phase"), "to_s") - time).abs() < 0.5, "{phases:?}");
    for entry in load["observed"].as_array().into_iter().flatten() {
        assert_eq!(entry["values"].as_array().expect("values").len(), seconds, "{entry}");
    }
    let batches = &load["batches"];
    assert!(batches["count"].as_u64().expect("a count") > 0, "{batches}");
    assert!(batches["latency_ms"]["p99"].as_f64() >= batches["latency_ms"]["p50"].as_f64(), "{batches}");
    assert!(load["client"]["cpu_s"].as_f64().expect("a time") > 0.0, "{load}");
}

fn phases(load: &Value) -> Vec<&str> {
    load["phases"].as_array().expect("phases").iter().map(|of| of["name"].as_str().expect("a name")).collect()
}

#[test]
fn a_load_writes_its_measures_and_a_page_with_rows_per_second_and_its_phases_as_marks() {
    let directory = scratch();
    let (document, page) = (directory.path().join("l.json"), directory.path().join("l.html"));
    let url = postgres::shared().create_database("measured_load");
    let load = ["load", &url, "-w", "2", "--size", "small", "--quiet", "--label", "two"];
    let more = ["--json", text(&document), "--report", text(&page), "--observe", "db", "--observe", "host"];
    let ended = lydite(&[&load[..], &more].concat()).code(0);
    assert!(ended.stdout.contains(&format!("report: {}", text(&page))), "{ended:?}");
    let result = json(&document);
    assert_eq!((&result["status"], &result["label"]), (&"complete".into(), &"two".into()));
    assert_eq!((&result["plan"]["warehouses"], &result["plan"]["size"]), (&2.into(), &"small".into()));
    assert_eq!(result["target"]["kind"], "postgres");
    let load = &result["load"];
    assert_agrees(load);
    for (table, rows) in [("item", 10_000), ("stock", 20_000), ("customer", 6_000), ("new_order", 1_800)] {
        assert_eq!(rows_of(load, table), rows, "{table}");
    }
    // A COPY for ITEM, and one for each other table of each warehouse.
    assert_eq!(load["batches"]["count"], 17);
    let names = phases(load);
    let known = [
        "creating tables",
        "rows",
        "building keys and indexes",
        "adding foreign keys",
        "gathering statistics",
    ];
    let places: Vec<_> = known.map(|name| names.iter().position(|found| *found == name)).to_vec();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{names:?}");
    let observed = load["observed"].as_array().expect("observed values");
    let has = |source: &str| observed.iter().any(|entry| entry["source"] == source);
    assert!(has("db") && has("host"), "{observed:?}");
    let html = fs::read_to_string(&page).expect("a page");
    assert!(html.contains("<figcaption>Rows per second</figcaption>"), "a chart");
    assert!(
        html.contains("\"events\":[{\"name\":") && html.contains("{\"name\":\"rows\",\"from_s\":"),
        "marks"
    );
    assert!(html.contains("Rows of each table") && html.contains("Latency of batches in ms"), "tables");
    // It is no result of a run.
    let refused = lydite(&["report", text(&document), "-o", text(&directory.path().join("r.html"))]).code(2);
    assert!(refused.only_error().contains("it has measures of `lydite load`"), "{refused:?}");
}

#[test]
fn all_kinds_of_databases_count_the_same_rows_of_each_table() {
    let directory = scratch();
    let place = |name: &str| text(&directory.path().join(name)).to_owned();
    let document = place("l.json");
    for url in
        [format!("sqlite:{}", place("tpcc.sqlite")), format!("gemel:{}", place("gemel")), "null:".to_owned()]
    {
        let load = ["load", &url, "-w", "1", "--size", "tiny", "--quiet", "--json", &document];
        lydite(&load).code(0);
        let result = json(document.as_ref());
        assert_agrees(&result["load"]);
        for (table, rows) in [("item", 1_000), ("stock", 1_000), ("customer", 300), ("warehouse", 1)] {
            assert_eq!(rows_of(&result["load"], table), rows, "{url}: {table}");
        }
    }
    let url = format!("sqlite:{}", place("micro.sqlite"));
    let load =
        ["load", &url, "--workload", "micro", "--set", "micro.records=500", "--quiet", "--json", &document];
    lydite(&load).code(0);
    let result = json(document.as_ref());
    assert_eq!(result["plan"]["workload"], "micro");
    assert_eq!(sum(&result["load"]["series"]["rows"]), result["load"]["rows"].as_u64().expect("rows"));
    assert!(phases(&result["load"]).contains(&"rows"), "{result}");
}

#[test]
fn the_load_of_a_run_has_the_same_measures_in_its_result() {
    let directory = scratch();
    let (document, page) = (directory.path().join("r.json"), directory.path().join("r.html"));
    let url = format!("sqlite:{}", text(&directory.path().join("tpcc.sqlite")));
    let run = [
        "run",
        &url,
        "-w",
        "1",
        "--size",
        "tiny",
        "--warmup",
        "0s",
        "--duration",
        "1s",
        "--no-check",
        "--quiet",
    ];
    lydite(&[&run[..], &["--json", text(&document), "--report", text(&page)]].concat()).code(0);
    let result = json(&document);
    assert_agrees(&result["load"]);
    assert_eq!(rows_of(&result["load"], "stock"), 1_000);
    let html = fs::read_to_string(&page).expect("a page");
    assert!(html.contains("The load before the run") && html.contains("Phases of the load"), "a section");
}

#[test]
fn an_interrupted_load_writes_what_was_measured() {
    let directory = scratch();
    let path = directory.path().join("tpcc.sqlite");
    let document = directory.path().join("l.json");
    let url = format!("sqlite:{}", text(&path));
    let load = [&["load", &url], &loaded::SLOWLY[..], &["--json", text(&document)]].concat();
    let mut running = Program::new(&load).start();
    running.wait_until("the first warehouse is loaded", || {
        let units = || {
            let database = Connection::open(&path)?;
            database.query_row("SELECT count(*) FROM lydite_load", [], |row| row.get::<_, u32>(0))
        };
        path.exists() && units().unwrap_or(0) >= 2
    });
    running.signal(libc::SIGINT);
    let ended = running.wait().code(130);
    assert!(ended.only_error().contains("--resume"), "{ended:?}");
    let result = json(&document);
    assert_eq!(result["status"], "partial");
    assert!(result["load"]["rows"].as_u64().expect("rows") > 10_000, "{result}");
    assert_eq!(phases(&result["load"]).last(), Some(&"rows"), "{result}");
}

#[test]
fn bad_documents_and_sources_are_rejected_together_before_the_first_row() {
    let directory = scratch();
    let path = directory.path().join("tpcc.sqlite");
    let url = format!("sqlite:{}", text(&path));
    let load = ["load", &url, "-w", "1", "--size", "tiny"];
    let one = text(&directory.path().join("one")).to_owned();
    for (more, errors) in [
        (
            &["--json", "/nowhere/l.json", "--report", &one, "--observe", "everything"][..],
            &["/nowhere/l.json", "use db, host"][..],
        ),
        (&["--json", &one, "--report", &one], &["one of them would be lost"]),
        (&["--json", text(&path)], &["belongs to the database"]),
        (
            &["--observe", "host", "--label", "x"],
            &["name --json or --report too", "name --json or --report too"],
        ),
    ] {
        let ended = lydite(&[&load[..], more].concat()).code(2);
        let told = ended.errors();
        assert_eq!(told.len(), errors.len(), "{told:?}");
        assert!(errors.iter().all(|error| told.iter().any(|line| line.contains(error))), "{told:?}");
        assert!(!path.exists(), "{more:?}");
    }
}
