//! The golden documents: for each control, the plan and the controls of a result as the program writes them, with every key,
//! unit and type. Whatever reads results relies on them.
//!
//! A file of `golden/` holds the arguments of a run and the document that must come out. What varies from run to run stands
//! there as its type: `<whole>`, `<difference>` for a whole number that may be negative, `<float>`, `<float or null>`,
//! `<floats>` for a list of the latter, `<text>` or `<object>`.

use crate::loaded;
use crate::program::{json, lydite, scratch, text};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// Runs of a golden document that are made until one of them has all numbers.
const ATTEMPTS: u32 = 20;

/// The differences of a value from a golden one, each with its path.
fn differences(path: &str, golden: &Value, found: &Value, all: &mut Vec<String>) {
    let is_float = |value: &Value| value.is_f64();
    match (golden, found) {
        (Value::Object(wanted), Value::Object(has)) => {
            for (key, golden) in wanted {
                match has.get(key) {
                    Some(found) => differences(&format!("{path}.{key}"), golden, found, all),
                    None => all.push(format!("{path}.{key} is missing")),
                }
            }
            let more = has.keys().filter(|key| !wanted.contains_key(*key));
            all.extend(more.map(|key| format!("{path}.{key} is new")));
        }
        (Value::Array(wanted), Value::Array(has)) if wanted.len() == has.len() => {
            for (place, (golden, found)) in wanted.iter().zip(has).enumerate() {
                differences(&format!("{path}.{place}"), golden, found, all);
            }
        }
        (Value::String(kind), _) if kind.starts_with('<') => {
            let fits = match kind.as_str() {
                "<whole>" => found.is_u64(),
                "<difference>" => found.is_i64(),
                "<float>" => is_float(found),
                "<float or null>" => is_float(found) || found.is_null(),
                "<floats>" => found
                    .as_array()
                    .is_some_and(|list| list.iter().all(|value| is_float(value) || value.is_null())),
                "<object>" => found.is_object(),
                "<text>" => found.is_string(),
                _ => false,
            };
            if !fits {
                all.push(format!("{path} is {found} and not {kind}"));
            }
        }
        // 3 and 3.0 differ, too.
        _ if golden != found => all.push(format!("{path} is {found} and not {golden}")),
        _ => {}
    }
}

fn golden(name: &str) -> Value {
    json(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/golden").join(name).with_extension("json"))
}

#[track_caller]
fn assert_golden(name: &str, golden: &Value, found: &Value) {
    let mut all = Vec::new();
    differences(name, golden, found, &mut all);
    assert!(all.is_empty(), "{}", all.join("\n"));
}

/// The differences of a run's plan, controls and phases from those of its golden document.
fn differences_of_run(name: &str, golden: &Value, result: &Value) -> Vec<String> {
    let mut all = Vec::new();
    for part in ["plan", "controls"] {
        differences(&format!("{name}: {part}"), &golden[part], &result[part], &mut all);
    }
    let none = Vec::new();
    let phases = |of: &Value| of["phases"].as_array().unwrap_or(&none).clone();
    let (wanted, found) = (phases(golden), phases(result));
    assert_eq!(found.len(), wanted.len(), "{name}: {found:?}");
    for (place, (golden, found)) in wanted.iter().zip(&found).enumerate() {
        for (key, golden) in golden.as_object().expect("a phase") {
            differences(&format!("{name}: phases.{place}.{key}"), golden, &found[key], &mut all);
        }
    }
    all
}

/// Makes the runs of these golden documents, and holds what they write against them.
#[track_caller]
fn runs_write(names: &[&str]) {
    let directory = scratch();
    let path = directory.path().join("r.json");
    for name in names {
        let golden = golden(name);
        let arguments = golden["run"].as_array().expect("arguments");
        let arguments = arguments.iter().map(|argument| argument.as_str().expect("an argument"));
        let run: Vec<&str> = ["run"].into_iter().chain(arguments).collect();
        let more = ["--warmup", "0", "--quiet", "--json", text(&path), "--report"];
        let page = directory.path().join("r.html");
        let mut wrong = Vec::new();
        // There is no number of what no transaction did, and the few tenths of a second that stand in the document may
        // pass without any on a machine under load.
        for _ in 0..ATTEMPTS {
            lydite(&[&run[..], &more, &[text(&page)]].concat()).code(0);
            wrong = differences_of_run(name, &golden, &json(&path));
            if wrong.is_empty() {
                break;
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        let page = fs::read_to_string(&page).expect("the page");
        let controlled = golden["controls"].as_object().is_some_and(|controls| !controls.is_empty());
        assert_eq!(page.contains("Controls: configured and measured"), controlled, "{name}");
    }
}

#[test]
fn distribution_is_written_as_ever() {
    runs_write(&["distribution", "distribution_paper", "distribution_uncontrolled"]);
}

#[test]
fn distribution_by_phases_is_written_as_ever() {
    runs_write(&["distribution_phases", "distribution_curve"]);
}

#[test]
fn contention_is_written_as_ever() {
    runs_write(&["contention", "contention_rows", "contention_curve"]);
}

#[test]
fn imbalance_is_written_as_ever() {
    runs_write(&["imbalance", "imbalance_curve"]);
}

#[test]
fn co_access_is_written_as_ever() {
    runs_write(&["coaccess", "coaccess_phases"]);
}

#[test]
fn rate_and_queue_are_written_as_ever() {
    runs_write(&["rate", "rate_phases", "queue"]);
}

#[test]
fn balances_and_the_size_of_warehouses_are_written_as_ever() {
    runs_write(&["balances"]);
}

#[test]
fn the_microbenchmark_is_written_as_ever() {
    runs_write(&["micro", "micro_open"]);
}

#[test]
fn the_document_of_verify_is_written_as_ever() {
    let directory = scratch();
    let (database, path) = (directory.path().join("db"), directory.path().join("v.json"));
    let url = loaded::in_sqlite_of_size("small", &database, 2);
    let verify =
        ["verify", &url, "--global-snapshot", "--duration", "300ms", "--quiet", "--json", text(&path)];
    lydite(&verify).code(0);
    let mut found = json(&path);
    assert_eq!(found["target"]["url"], url, "{found}");
    found["target"]["url"] = "URL".into();
    assert_golden("verify", &golden("verify"), &found);
}
