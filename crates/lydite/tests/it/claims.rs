//! Drivers that declare more than they give: the kit finds them, and a run does not repeat their word.

use crate::kit::{SDK, assert_green, directory, kit, python_with_libraries, step};
use crate::program::{Ended, json, lydite, text};
use serde_json::Value;
use std::path::Path;
use std::thread;

const CLAIMS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/drivers/claims.py");

/// The URL of a store that gives something and declares something.
fn claims(place: &Path, gives: &str, declares: &str) -> String {
    let log = place.join(format!("{gives}.log"));
    let python = python_with_libraries();
    format!("driver:env PYTHONPATH={SDK} STORE_FILE={} {python} {CLAIMS} {gives} '{declares}'", log.display())
}

/// Runs the kit on several stores at the same time.
fn kits<const N: usize>(place: &Path, stores: [(&str, &str); N]) -> [Ended; N] {
    thread::scope(|scope| {
        let run = |(gives, declares)| {
            let url = claims(place, gives, declares);
            scope.spawn(move || kit(&[&url]))
        };
        stores.map(run).map(|running| running.join().expect("a kit"))
    })
}

/// A step failed for this reason, which has no form that only Rust knows.
#[track_caller]
fn assert_fails(ended: &Ended, name: &str, words: &[&str]) {
    let (verdict, reason) = step(ended, name);
    assert!(verdict == "FAILED" && words.iter().all(|words| reason.contains(words)), "{}", ended.stdout);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert_plain(ended);
}

/// No line has what `{:?}` makes of values.
#[track_caller]
pub(crate) fn assert_plain(ended: &Ended) {
    for form in ["Some(", "None", "Ok(", "Err(", "{ ", "\\\"", "WarehouseId", "Cents", "Outcome", "Order {"] {
        assert!(!ended.stdout.contains(form), "{form:?}: {}", ended.stdout);
    }
}

#[test]
fn the_kit_leads_drivers_into_the_anomalies_that_their_declared_level_excludes() {
    let place = directory();
    let [skew, reader, phantom, committed, dirty] = kits(
        place.path(),
        [
            ("snapshot", "serializable/serializable"),
            ("no-reader-snapshot", "serializable/serializable"),
            ("no-phantoms", "serializable/serializable"),
            ("read-committed", "atomic/repeatable read"),
            ("dirty", "atomic/READ COMMITTED"),
        ],
    );
    let provoked = "isolation, provoked";
    assert_fails(
        &skew,
        provoked,
        &["serializable is declared", "led into write skew show write skew (G2-item)"],
    );
    assert_fails(&reader, provoked, &["led into an unrepeatable read show "]);
    assert_fails(&phantom, provoked, &["led into a phantom show phantom (G2)"]);
    assert_fails(&committed, provoked, &["repeatable read is declared", "unrepeatable read"]);
    assert_fails(&dirty, provoked, &["READ COMMITTED is declared", "led into a dirty read show "]);
    // The same transactions in the words of the standard show nothing of it.
    for name in ["contention", "lost update", "dirty read"] {
        assert_eq!(step(&skew, name).0, "passed", "{}", skew.stdout);
    }
}

#[test]
fn a_driver_that_gives_what_it_declares_passes_at_every_level() {
    let place = directory();
    // The strongest level is that of the driver of another test.
    let [snapshot, committed, atomic] = kits(
        place.path(),
        [
            ("snapshot", "optimistic/snapshot isolation"),
            ("read-committed", "atomic/read committed"),
            ("dirty", "atomic/"),
        ],
    );
    assert_green(&snapshot);
    assert_eq!(committed.code, Some(0), "{}", committed.stdout);
    assert_eq!(step(&committed, "isolation, provoked").0, "passed", "{}", committed.stdout);
    // Nothing is declared, so nothing is tested.
    assert_eq!(atomic.code, Some(0), "{}", atomic.stdout);
    let (verdict, reason) = step(&atomic, "isolation, random");
    assert!(verdict == "not supported" && reason.contains("no level is declared"), "{}", atomic.stdout);
}

#[test]
fn a_driver_whose_commits_end_with_its_process_is_not_durable() {
    let place = directory();
    let declared = "serializable/serializable/durable";
    let [never, seldom, some] = kits(
        place.path(),
        [("never-flushes", declared), ("flushes-seldom", declared), ("loses-some", declared)],
    );
    for ended in [&never, &seldom, &some] {
        // Which of its rounds finds it depends on which commits the driver loses.
        assert_fails(ended, "durability", &["SIGKILL after ", " loses commits: "]);
    }
}

/// The verdict of a run on a rule, and its reason; and the result.
fn judged(url: &str, place: &Path) -> (Value, String) {
    let result = place.join("result.json");
    let run =
        ["run", url, "--warehouses", "1", "--duration", "1s", "--warmup", "0s", "--no-check", "--quiet"];
    let ran = lydite(&[&run[..], &["--set", "size=tiny", "--verbose", "--json", text(&result)]].concat());
    let ran = ran.code(0);
    (json(&result), ran.stdout)
}

fn rule<'a>(result: &'a Value, name: &str) -> &'a Value {
    let rules = result["compliance"].as_array().expect("rules");
    rules.iter().find(|rule| rule["rule"] == name).expect("the rule")
}

#[test]
fn a_run_says_declared_not_tested_until_the_driver_passed_the_kit() {
    let place = directory();
    let url = claims(place.path(), "serializable", "serializable/strict serializable/durable");
    let (before, shown) = judged(&url, place.path());
    assert_eq!(rule(&before, "isolation")["met"], Value::Null, "{before}");
    let untested = "strict serializable is declared by the driver, not tested: run lydite driver test";
    assert_eq!(rule(&before, "isolation")["note"], untested);
    let durability = rule(&before, "durability");
    assert!(durability["note"].to_string().contains("declared by the driver, not tested"), "{durability}");
    assert!(before["warnings"].to_string().contains("declared, not tested"), "{}", before["warnings"]);
    // The table breaks its lines.
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains(&format!("not judged: isolation (3.4.1): {untested}")), "{shown}");

    let proved = kit(&[&url, "--fresh"]);
    assert_green(&proved);
    let (_, durability) = step(&proved, "durability");
    assert!(durability.contains("a loss of power is not tested"), "{durability}");
    let (after, _) = judged(&url, place.path());
    assert_eq!(rule(&after, "isolation")["met"], true);
    let note = rule(&after, "isolation")["note"].to_string();
    assert!(note.contains("declared by the driver, tested by the kit"), "{note}");
    assert_eq!(rule(&after, "durability")["met"], Value::Null);
    let note = rule(&after, "durability")["note"].to_string();
    assert!(note.contains("a loss of power was not tested"), "{note}");
    assert!(!after["warnings"].to_string().contains("kit"), "{}", after["warnings"]);
}
