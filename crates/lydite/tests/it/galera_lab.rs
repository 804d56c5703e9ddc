//! A node of a Galera lab that loses its disk: it copies all rows from the other nodes, and the audit reads them there.

use crate::faults::Lab;
use crate::program::{json, text};
use serde_json::Value;
use std::fs;

#[test]
fn a_node_that_loses_its_disk_gets_each_acknowledged_order_from_the_others() {
    let lab = Lab::try_start_of("galera", &[]).unwrap_or_else(|ended| panic!("{ended:?}"));
    for (fault, word) in [
        ("disk-loss@0.5s/lab:galera/2", "needs an end, when the server gets a new disk: write FROM..TO"),
        ("disk-loss:1@0.5s..1s/lab:galera/2", "takes no arguments"),
        ("disk-loss@0.5s..1s/nodes=2", "1 of 3 running servers would be left"),
        (
            "disk-loss@0.5s..1s/lab:galera",
            "0 of 3 running servers would be left, and only more than half of them go on",
        ),
    ] {
        let ended = lab.run("2s", &[fault], &[]).wait().code(2);
        assert!(ended.errors().join("\n").contains(word), "{fault}: {ended:?}");
    }
    let server = lab.directory().join("server-2");
    let old = server.join("data/of-the-lost-disk");
    fs::write(&old, "").unwrap();

    let file = lab.place.file("audit.json");
    let audit = ["audit", &lab.url, "--quick", "--only", "durability", "--json", text(&file)];
    // durability-1 kills all nodes. Lydite can't start such a cluster again, so the test does not run.
    let ended = lab.place.lydite(&audit).code(3);
    let found = json(&file);
    let [all, one] = &found["tests"].as_array().expect("tests")[..] else { panic!("{found}") };
    assert_eq!(all["verdict"], "not_run", "{found}");
    assert_eq!([&one["id"], &one["clause"]], ["durability-2", "3.5.3.1"], "{found}");
    assert_eq!(one["verdict"], "passed", "{found}\n{ended:?}");
    let steps: Vec<&str> = one["steps"].as_array().expect("steps").iter().filter_map(Value::as_str).collect();
    let lost = "the last node is killed and loses its data: killed ";
    assert!(steps.iter().any(|step| step.starts_with(lost) && step.contains(", removed ")), "{steps:?}");
    assert!(!old.exists(), "the old disk is gone");
    let names: Vec<String> = fs::read_dir(&server)
        .expect("the server's directory")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    assert!(names.iter().all(|name| !name.starts_with("data.")), "nothing half is left: {names:?}");
    assert_eq!(lab.place.list(), "no active faults\n");
}
