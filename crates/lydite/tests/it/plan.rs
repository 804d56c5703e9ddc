//! `lydite plan`: published arithmetic, sizes measured on a loaded database, prices, and the verdict on a result.

use crate::program::{lydite, scratch, text};
use serde_json::{Value, json as value};
use std::fs;
use std::path::Path;

fn document(arguments: &[&str]) -> Value {
    let ended = lydite(arguments).code(0);
    serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {ended:?}"))
}

/// Writes the result of a run of an hour of 10 warehouses with `change` merged into it.
fn result(path: &Path, change: &Value) -> String {
    let mut result = value!({
        "lydite": "0.1.0",
        "format": 1,
        "nopm": 125.0,
        "plan": { "warehouses": 10, "mode": "rte", "terminals": 100, "wait_factor": 1.0 },
        "transactions": {
            "new_order": { "committed": 300, "service_ms": { "mean": 40.0 } },
            "payment": { "committed": 100, "service_ms": { "mean": 20.0 } }
        },
        "checks": [{ "id": "3.3.2.1", "ok": true, "detail": "", "when": "after", "seconds": 0.1 }],
        "nodes": { "names": ["one"], "second": [], "ops": [], "bytes": { "second": [0.0], "of": [[700_000_000_u64]] } }
    });
    for (key, new) in change.as_object().unwrap() {
        result[key] = new.clone();
    }
    fs::write(path, result.to_string()).unwrap();
    text(path).to_owned()
}

#[test]
fn published_throughputs_have_their_published_warehouses_bytes_and_hosts() {
    let plan = document(&["plan", "--nopm", "1500000", "--json", "-"]);
    assert_eq!(plan["warehouses"], 120_000, "{plan:#}");
    assert_eq!(plan["bytes"], 8_400_000_000_000_u64);
    let run =
        ["plan", "--nopm", "60880800", "--warehouses", "4794240", "--kind", "oceanbase", "--copies", "2"];
    let plan = document(&[&run[..], &["--json", "-"]].concat());
    assert_eq!(plan["terminals"], 47_942_400, "{plan:#}");
    assert_eq!(plan["rte"], value!({ "hosts": 64, "processes": 960, "terminals_each": 49_940 }));
    assert_eq!(plan["copies"], 2);
    let ended = lydite(&run).code(0);
    assert!(ended.stdout.contains("960 processes on 64 hosts, 49,940 terminals each"), "{ended:?}");
}

#[test]
fn a_plan_takes_its_numbers_from_a_result_and_a_price_sheet() {
    let directory = scratch();
    let result = result(&directory.path().join("r.json"), &value!({}));
    let sheet = directory.path().join("prices.toml");
    fs::write(
        &sheet,
        "currency = 'USD'\n[[part]]\npart = 'server'\ncount = 2\nprice = 1000\nmaintenance = 100\ndiscount = 10\n",
    )
    .unwrap();
    let plan = document(&["plan", "--from", &result, "--prices", text(&sheet), "--json", "-"]);
    assert_eq!((&plan["warehouses"], &plan["nopm_per_warehouse"]), (&value!(10), &value!(12.5)), "{plan:#}");
    // 700 MB on ten warehouses, less the part of ITEM.
    assert_eq!(plan["bytes_per_warehouse"], 69_173_423, "{plan:#}");
    // 4.63 transactions per second take 35 ms each.
    assert_eq!(plan["sessions"], 1);
    assert_eq!(plan["prices"]["total"], 2_340);
    assert_eq!(plan["prices"]["per_nopm"], "18.72");
}

#[test]
fn a_result_passes_by_its_data_and_space_or_exits_with_1() {
    let directory = scratch();
    let path = directory.path().join("r.json");
    let sound = result(&path, &value!({}));
    let ended = lydite(&["plan", "--check", &sound, "--disk", "100GB"]).code(0);
    assert_eq!(ended.stdout.matches("ok  ").count(), 5, "{ended:?}");
    let ended = lydite(&["plan", "--check", &sound, "--disk", "2GB"]).code(1);
    assert!(ended.stdout.contains("FAILED  4.2.3"), "{ended:?}");
    let before = value!([{ "id": "3.3.2.1", "ok": true, "detail": "", "when": "before", "seconds": 0.1 }]);
    // Conditions that hold before the run say nothing about its data.
    for checks in [value!([]), before] {
        let fast = result(&path, &value!({ "nopm": 9000.0, "checks": checks }));
        let ended = lydite(&["plan", "--check", &fast]).code(1);
        assert!(
            ended.stdout.contains("FAILED  4.1.3") && ended.stdout.contains("unknown 3.3.2"),
            "{ended:?}"
        );
    }
}

#[test]
fn a_size_is_measured_on_standard_warehouses_and_all_wrong_flags_are_named() {
    let directory = scratch();
    let path = directory.path().join("small.db");
    let url = crate::loaded::in_sqlite(&path, 1);
    let ended = lydite(&["plan", "--nopm", "1000", "--target", &url]).code(2);
    assert!(ended.stderr.contains("has other rows than the standard's"), "{ended:?}");
    let empty = format!("sqlite:{}", text(&directory.path().join("none.db")));
    let ended = lydite(&["plan", "--nopm", "1000", "--target", &empty]).code(2);
    assert!(ended.stderr.contains("load some warehouses first with `lydite load"), "{ended:?}");
    let ended = lydite(&["plan", "--nopm", "many", "--kind", "paper", "--copies", "0"]).code(2);
    for wrong in ["--nopm: ", "--kind: \"paper\" is not known", "--copies: "] {
        assert!(ended.stderr.contains(wrong), "{wrong}: {ended:?}");
    }
    let ended = lydite(&["plan", "--nopm", "1000", "--nopm-per-warehouse", "20"]).code(2);
    assert!(ended.stderr.contains("must be from 9 to 12.86"), "{ended:?}");
}
