//! Results of format 1 as earlier versions wrote them, one for each control: they load without a loss, render and compare.

use lydite_report::{RunResult, compare, render_comparison, render_html, render_table};
use serde_json::Value;
use std::path::Path;

fn text(name: &str) -> String {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/fixtures").join(name).with_extension("json");
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The result of a fixture. Its plan, controls and phases are written again as they were read.
#[track_caller]
fn result(name: &str) -> RunResult {
    let written = text(name);
    let result = RunResult::from_json(&written, Path::new(name)).unwrap();
    let (written, again): (Value, Value) =
        (serde_json::from_str(&written).unwrap(), serde_json::from_str(&result.to_json().unwrap()).unwrap());
    for part in ["plan", "controls", "phases"] {
        assert_eq!(again[part], written[part], "{name}: {part}");
    }
    result
}

/// Both renderings of a fixture have these words, and it is no other than itself.
#[track_caller]
fn shows(name: &str, in_table: &[&str], in_page: &[&str]) {
    let result = result(name);
    let (table, page) = (render_table(&result, 250, false), render_html(std::slice::from_ref(&result)));
    for words in in_table {
        assert!(table.contains(words), "{words}: {table}");
    }
    for words in in_page {
        assert!(page.contains(words), "{name}: the page has no {words}");
    }
    let compared = render_comparison(&compare(&result, &result));
    assert!(compared.contains("transactions/s") && !compared.contains("The plans differ"), "{compared}");
}

#[test]
fn distribution() {
    shows(
        "distribution",
        &[
            "nodes    ",
            " % of New-Orders over several nodes (50 % configured), ",
            " nodes each (2 configured, strategy paper)",
        ],
        &[">degree_short_by<", ">theorem_4_1_short_by<", ">0.25<", ">Distribution, more: nodes<", ">paper<"],
    );
    shows(
        "distribution_phases",
        &["phase    1, 0 to 0.3 s, dis_ratio 10: ", " % of New-Orders over 2.000 nodes"],
        &[">ratio_percent<"],
    );
    assert_eq!(result("distribution").node_count(), Some(4));
}

#[test]
fn contention() {
    shows(
        "contention",
        &[
            "contend  1.47 (3 configured), never settled; 1.51 (1 configured), settled after 0.5 s",
            "phase    1, 0 to 1 s, ci 3+1: 490,072 tx/s, 1.47 + 0.71 competing",
        ],
        &[
            "data-chart=\"contention\"",
            "3 configured, 1.47 measured",
            "district 1/10",
            "district 2/10",
            ">Contention: rows<",
        ],
    );
    let mut long = result("contention");
    let words = "The contention for the hot row did not settle at the configured intensity";
    assert!(!render_table(&long, 250, false).contains(words), "a phase of a second may be too short");
    for phase in long.controls.contention.iter_mut().flat_map(|contention| &mut contention.phases) {
        phase.to_s = phase.from_s + 2.0;
    }
    assert!(render_table(&long, 250, false).contains(words));
}

#[test]
fn imbalance() {
    shows(
        "imbalance",
        &[
            "data     zipf(1): 25 districts at the largest warehouse, 4 at the smallest, 60 in all",
            "homes    hotspot(0.5,0.8): ",
            " % of the transactions at the most frequent warehouse (26.67 % configured), ",
        ],
        &[">greatest_deviation_points<", ">Imbalance, more<", ">41.6667<"],
    );
}

#[test]
fn co_access() {
    shows(
        "coaccess",
        &[" % of dUpdateStocks on a whole group of 2 warehouses (50 % configured), ", " nodes on average"],
        &[">nodes_mean<", ">rounds<"],
    );
}

#[test]
fn rate_and_queue() {
    shows(
        "rate",
        &["phase    2, 0.3 to 0.6 s, rate 2000: "],
        &[">backlog<", ">due_per_s<", ">completed_per_s<"],
    );
}

#[test]
fn accesses_of_the_microbenchmark() {
    shows(
        "accesses",
        &["2 tables in each engine of 100 records, 232 bytes each, 10 accesses with 2 updates, 50 % on disk"],
        &[">per_transaction<", ">disk_percent<"],
    );
}

#[test]
fn replicas() {
    shows(
        "replicas",
        &[
            "staleness 5s: 42 reads answered by 2 replicas, 3 by the primary, 2 waited for a replica, 0.250 s in all, \
             0.500 s behind on average, 2.000 s at most",
        ],
        &[">to_primary<", ">30, 12<"],
    );
}

#[test]
fn function_tests() {
    shows("functions", &["complete"], &[">Functions<", ">nobody was chosen<", ">timeout<"]);
}

#[test]
fn a_control_of_another_version_is_kept_and_shown() {
    let mut document: Value = serde_json::from_str(&text("distribution")).unwrap();
    let tides =
        serde_json::json!({ "asked": { "height_m": 3 }, "actual": { "height_m": 2.5 }, "moons": [1, "new"] });
    document["controls"]["tides"] = tides.clone();
    document["controls"]["distribution"]["salt_percent"] = 3.5.into();
    document["plan"]["tides"] = "spring".into();
    let result = RunResult::from_json(&document.to_string(), Path::new("newer.json")).unwrap();
    let again = serde_json::to_value(&result).unwrap();
    assert_eq!(again["controls"]["tides"], tides);
    assert_eq!(again["plan"]["tides"], "spring");
    let page = render_html(std::slice::from_ref(&result));
    for words in [">Tides<", ">height_m<", ">spring<"] {
        assert!(page.contains(words), "{words}");
    }
    assert!(render_table(&result, 250, false).contains("strategy paper"));
}

#[test]
fn a_control_that_lacks_everything_is_no_error() {
    let controls =
        ["distribution", "contention", "imbalance", "coaccess", "rate", "queue", "accesses", "replicas"];
    for name in controls {
        for within in ["{}", r#"{"asked": {}, "actual": {}}"#] {
            let text = format!(
                r#"{{"lydite": "0.1.0", "format": 1, "transactions": {{}}, "controls": {{"{name}": {within}}},
                     "phases": [{{"from_s": 0, "to_s": 1, "controls": {{}}}}]}}"#
            );
            let result = RunResult::from_json(&text, Path::new("old.json")).unwrap();
            assert!(render_table(&result, 100, false).contains("complete"), "{name}");
            assert!(render_html(&[result]).contains("</html>"), "{name}");
        }
    }
}
