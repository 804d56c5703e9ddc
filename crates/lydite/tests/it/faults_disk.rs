//! Faults of disks: injected into a run on a lab, and gone without a trace.

use crate::faults::{Lab, assert_injected};
use crate::program::{json, text};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// Fails unless the proof of a fault has a number above zero after each of these words.
#[track_caller]
fn assert_more_than_nothing(fault: &Value, words: &[&str]) {
    let detail = fault["detail"].as_str().expect("a detail");
    for word in words {
        let (_, number) = detail.split_once(word).unwrap_or_else(|| panic!("{word}: {detail}"));
        let number = number.split(' ').next().and_then(|number| number.parse::<f64>().ok());
        assert!(number.is_some_and(|number| number > 0.0), "{word}: {detail}");
    }
}

/// The helper processes that keep the disk of a directory busy.
fn helpers(directory: &Path) -> Vec<String> {
    let processes = fs::read_dir("/proc").expect("/proc").flatten();
    let line = |entry: fs::DirEntry| fs::read(entry.path().join("cmdline")).ok();
    let lines = processes.filter_map(line).map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
    lines.filter(|line| line.contains(" faults disk ") && line.contains(text(directory))).collect()
}

#[test]
fn a_busy_disk_is_busy_by_a_helper_that_leaves_nothing() {
    let lab = Lab::new();
    let file = lab.place.file("result.json");
    let files = || fs::read_dir(lab.directory().join("server-0/data")).expect("the data").count();
    let before = files();
    let faults = ["disk-read:2@0.2s..1.5s/lab:pg", "disk-write:1@0.2s..1.5s/lab:pg"];
    lab.run("3s", &faults, &["--no-check", "--json", text(&file)]).wait().code(0);
    let result = json(&file);
    assert_injected(
        &result["faults"][0],
        &["2 threads reading beside the data in ", "/server-0/data; read "],
    );
    assert_more_than_nothing(&result["faults"][0], &["; read ", " MB, "]);
    assert_injected(
        &result["faults"][1],
        &["1 thread writing beside the data in ", "/server-0/data; wrote "],
    );
    assert_more_than_nothing(&result["faults"][1], &["; wrote ", " MB, "]);
    assert_eq!(helpers(&lab.directory()), Vec::<String>::new());
    assert_eq!(files(), before, "no scratch file is left");
    assert_eq!(lab.place.list(), "no active faults\n");
}
