//! What figures show, and what they are refused for.

use super::{Bench, GRID, assert_near};
use crate::program::{self, has_each, json, longer_windows};
use serde_json::Value;

#[test]
fn a_figure_must_say_where_each_axis_goes() {
    let bench = Bench::new(&GRID.replace("series = \"mix\"\n", ""));
    let ended = bench.sweep(&[]).run().code(2);
    assert!(ended.only_error().contains("leaves axis mix open"), "{ended:?}");
    bench.change(&GRID.replace("{ mix = \"deck\" }", "{ mix = \"mixed\" }"));
    let ended = bench.sweep(&[]).run().code(2);
    assert!(ended.only_error().contains("mix has no value \"mixed\""), "{ended:?}");
}

#[test]
fn a_box_plot_is_of_the_nodes_and_the_nodes_are_of_a_box_plot() {
    let plan = "[plan]\ntarget = \"null:?nodes=2\"\nwarmup = \"0s\"\nduration = \"1s\"\n[axes]\nterminals = [1, 2]\n[[figure]]\ntitle = \"a\"\nx = \"terminals\"\n";
    let bench = Bench::new(&format!("{plan}kind = \"boxplot\"\ny = [\"tps\", \"nodes.ops\"]\n"));
    let ended = bench.sweep(&["--dry-run"]).run().code(2);
    assert!(
        ended.only_error().contains("\"tps\" is one number, and a box plot shows those of all nodes"),
        "{ended:?}"
    );
    bench.change(&format!("{plan}y = \"nodes.bytes\"\n"));
    let ended = bench.sweep(&["--dry-run"]).run().code(2);
    assert!(ended.only_error().contains("use kind = \"boxplot\", or nodes.bytes.median"), "{ended:?}");
    bench
        .change(&format!("{plan}kind = \"boxplot\"\ny = \"nodes.ops\"\nrelative_to = {{ terminals = 1 }}\n"));
    let ended = bench.sweep(&["--dry-run"]).run().code(2);
    assert!(ended.only_error().contains("relative_to: can't be used in a box plot"), "{ended:?}");
    bench.change(&format!("{plan}y = \"tps_per_node\"\n"));
    bench.sweep(&[]).run().code(0);
    for point in bench.summary()["points"].as_array().unwrap() {
        let run = &point["runs"][0];
        let result = json(&bench.out().join(run["file"].as_str().unwrap()));
        let told = run["values"]["tps_per_node"].as_f64().unwrap();
        assert_near(told, result["tps"].as_f64().unwrap() / 2.0);
    }
}

#[test]
fn a_figure_over_time_has_the_seconds_of_each_run() {
    let bench = Bench::new(
        r#"
[plan]
target = "null:?nodes=3"
warmup = "0s"
phase = "1s"
dis_ratio = "0,50,100"

[axes]
terminals = [1, 2]

[[figure]]
title = "Throughput over time"
x = "second"
series = "terminals"
y = ["tps", "tps.payment", "controls.distribution.per_second.ratio_percent"]
"#,
    );
    bench.sweep(&[]).run().code(0);
    let summary = bench.summary();
    let panels = summary["figures"][0]["panels"].as_array().unwrap();
    assert_eq!(panels.len(), 3, "one for each metric");
    for (number, point) in summary["points"].as_array().unwrap().iter().enumerate() {
        let result = json(&bench.out().join(point["runs"][0]["file"].as_str().unwrap()));
        let list = |at: &Value| -> Vec<f64> {
            at.as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect()
        };
        let types = ["new_order", "payment", "order_status", "delivery", "stock_level"];
        let all: Vec<Vec<f64>> = types.iter().map(|of| list(&result["series"][of])).collect();
        let sums: Vec<f64> = (0..3).map(|second| all.iter().map(|of| of[second]).sum()).collect();
        let ratios = list(&result["controls"]["distribution"]["per_second"]["ratio_percent"]);
        for (panel, expected) in panels.iter().zip([sums, all[1].clone(), ratios]) {
            assert_eq!(panel["x"], serde_json::json!(["0", "1", "2"]));
            let cells = panel["series"][number]["cells"].as_array().unwrap();
            let drawn: Vec<f64> =
                cells.iter().map(|cell| cell["value"]["median"].as_f64().unwrap()).collect();
            assert_eq!(drawn, expected, "{}", panel["metric"]);
        }
    }
    let ratios = &panels[2]["series"][0]["cells"];
    // An order at the border of two seconds may belong to either.
    let ratio = |second: usize| ratios[second]["value"]["median"].as_f64().unwrap();
    assert!(ratio(0) < 10.0 && ratio(2) > 90.0, "the phases are told apart: {ratios}");
    let columns = summary["metrics"].as_array().unwrap();
    assert!(!columns.iter().any(|name| name.as_str().unwrap().starts_with("controls.")), "{columns:?}");
}

#[test]
fn a_figure_over_time_is_a_line_of_what_is_known_by_second() {
    let bench = Bench::new(
        r#"[plan]
target = "null:"

[axes]
terminals = [1, 2]

[[figure]]
title = "Over time"
kind = "bar"
x = "second"
y = ["tps", "latency.p95"]
relative_to = { terminals = 1 }
x_scale = "log"
"#,
    );
    bench.sweep(&["--dry-run"]).run().code(2).told(&[
        &["grid.toml, line 7, figure", "leaves axis terminals open"],
        &["grid.toml, line 9, kind", "must be line"],
        &["grid.toml, line 11, y", "\"latency.p95\" exists for whole runs only"],
        &["grid.toml, line 12, relative_to", "can't be used in a figure over time"],
        &["grid.toml, line 13, x_scale", "needs numbers above 0, and second has others"],
    ]);
}

#[test]
fn aborts_are_drawn_in_percent_of_attempts() {
    // More sessions than warehouses: all Payments write the same row.
    let experiment = r#"
[plan]
target = "gemel:?durability=none"
warehouses = 1
duration = "1s"
warmup = "0s"
check = false
mix = "0,100,0,0,0"
[axes]
terminals = [4]
[[figure]]
title = "Aborts"
kind = "bar"
x = "terminals"
y = ["abort_rate", "abort_rate.serialization", "abort_rate.csr"]
"#;
    let (bench, result) = longer_windows(|window| {
        let bench = Bench::new(&experiment.replace("\"1s\"", &format!("\"{window}\"")));
        bench.sweep(&[]).run().code(0);
        let result: Value = serde_json::from_str(bench.results().values().next().unwrap()).unwrap();
        let enough = has_each(&result, &["payment"]) && result["aborts"]["serialization"].as_u64() > Some(0);
        enough.then_some((bench, result))
    });
    let completed = program::total(&result, "committed") + program::total(&result, "rolled_back");
    let aborts = |reason: &str| result["aborts"][reason].as_u64().unwrap();
    let all: u64 = result["aborts"].as_object().unwrap().values().map(|count| count.as_u64().unwrap()).sum();
    let panels = &bench.summary()["figures"][0]["panels"];
    for (n, counted) in [all, aborts("serialization"), aborts("csr")].into_iter().enumerate() {
        let drawn = panels[n]["series"][0]["cells"][0]["value"]["median"].as_f64().unwrap();
        assert_near(drawn, 100.0 * counted as f64 / (completed + all) as f64);
    }
}
