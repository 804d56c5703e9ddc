//! Sizes and parts of the tables in the documents of runs and loads.

use crate::program::{assert_checks_hold, json, lydite, scratch, text};
use crate::unread::{complete, postgres_without, run};
use lydite_testkit::{mariadb, postgres};
use serde_json::Value;
use std::fs;

/// The nine tables in the order of the documents.
const TABLES: [&str; 9] =
    ["warehouse", "district", "customer", "history", "new_order", "orders", "order_line", "item", "stock"];

/// The title of their table on the page.
const CAPTION: &str = "<p class=\"caption\">Tables at the end";

/// Fails unless a document has all nine tables with their columns. Returns one of them.
#[track_caller]
fn table<'a>(result: &'a Value, name: &str) -> &'a Value {
    let tables =
        result["target"]["tables"].as_array().unwrap_or_else(|| panic!("tables: {}", result["target"]));
    let mut names: Vec<&str> = tables.iter().filter_map(|of| of["name"].as_str()).collect();
    names.sort_unstable();
    let mut all = TABLES;
    all.sort_unstable();
    assert_eq!(names, all);
    assert!(
        tables.iter().all(|of| of["columns"].as_u64() > Some(2) && of["bytes"].as_u64() > Some(0)),
        "{tables:?}"
    );
    tables.iter().find(|of| of["name"] == name).unwrap_or_else(|| panic!("{name}"))
}

#[test]
fn documents_of_loads_and_runs_have_the_tables_of_the_database() {
    let directory = scratch();
    let (document, page) = (directory.path().join("of.json"), directory.path().join("of.html"));
    let outputs = ["--quiet", "--json", text(&document), "--report", text(&page)];
    for (url, partitions) in [
        (postgres::shared().create_database("shaped") + "?partitions=2", Some(2)),
        (mariadb::shared().create_database("shaped"), None),
    ] {
        lydite(&[&["load", &url, "-w", "1", "--size", "tiny"][..], &outputs].concat()).code(0);
        let loaded = json(&document);
        let stock = table(&loaded, "stock");
        assert_eq!(stock["partitions"].as_u64(), partitions, "{stock}");
        assert_eq!((&stock["columns"], stock.get("ranges")), (&17.into(), None), "{stock}");
        assert!(table(&loaded, "item").get("partitions").is_none(), "{loaded}");
        assert!(fs::read_to_string(&page).expect("a page").contains(CAPTION), "{url}");

        lydite(&[&["run", &url, "-d", "1s", "--warmup", "0s"][..], &outputs].concat()).code(0);
        let run = json(&document);
        assert_checks_hold(&run, &["before", "after"]);
        assert_eq!(table(&run, "stock")["columns"], 17);
        let html = fs::read_to_string(&page).expect("a page");
        let begin = html.find(CAPTION).unwrap_or_else(|| panic!("a table: {url}"));
        let shown = &html[begin..begin + html[begin..].find("</table>").expect("its end")];
        assert!(shown.contains("rows (estimate)") && shown.contains("size with indexes"), "{shown}");
        assert_eq!(shown.contains("partitions"), partitions.is_some(), "{shown}");
        assert!(!shown.contains("ranges"), "{shown}");
    }
    lydite(&[&["run", "null:", "-w", "1", "-d", "1s", "--warmup", "0s"][..], &outputs].concat()).code(0);
    assert!(json(&document)["target"].get("tables").is_none(), "a target that can't tell leaves them out");
}

#[test]
fn a_run_without_the_right_to_ask_for_sizes_warns_and_is_complete() {
    let url = postgres_without("unsized", &[]);
    postgres::shared().psql("unsized", "REVOKE EXECUTE ON FUNCTION pg_total_relation_size FROM PUBLIC");
    let directory = scratch();
    let document = directory.path().join("of.json");
    let ended = lydite(&run(&url, "1", &document)).code(0);
    let result = complete(&document);
    assert!(result["target"].get("tables").is_none(), "{}", result["target"]);
    let warnings = result["warnings"].as_array().expect("warnings");
    let about = warnings.iter().filter_map(Value::as_str);
    let about: Vec<&str> =
        about.filter(|words| words.starts_with("Not known: the sizes of the tables")).collect();
    assert_eq!(about.len(), 1, "{warnings:?}");
    assert!(about[0].contains("permission denied") && ended.stderr.contains(about[0]), "{ended:?}");
}

#[test]
fn interleaved_tables_are_rejected_with_the_reason_and_what_to_use() {
    for command in ["run", "load"] {
        let rejected = lydite(&[command, "cockroach://h/d", "-w", "1", "--interleaved"]).code(2);
        let error = rejected.only_error();
        for words in [
            "--interleaved: CockroachDB removed interleaved tables in version 21.2",
            "split=N",
            "zones=",
            "archive=",
        ] {
            assert!(error.contains(words), "{words}: {error}");
        }
    }
}
